//! Waiting for a future of the SDK without the interpreter lock.
use crate::errors::{Class, Fault};
use pyo3::prelude::*;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Interval at which Ctrl-C is checked.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future, at most for `timeout` (`None`: without limit). Returns `None` after the timeout. The timeout and
/// Ctrl-C drop the future, which cancels it.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    timeout: Option<Duration>,
    future: impl Future<Output = T> + Send,
) -> PyResult<Option<T>> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let left = until.map_or(SIGNAL_INTERVAL, |until| until.saturating_duration_since(Instant::now()));
        let polled = py.detach(|| {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_pending() {
                // This returns immediately if the future was woken after it was polled.
                std::thread::park_timeout(left.min(SIGNAL_INTERVAL));
            }
            polled
        });
        match polled {
            Poll::Ready(value) => return Ok(Some(value)),
            Poll::Pending if left.is_zero() => return Ok(None),
            Poll::Pending => py.check_signals()?,
        }
    }
}

/// Waits for a result. A timeout is an error. See [`wait`].
pub(crate) fn result<T: Send, E: Into<Fault> + Send>(
    py: Python<'_>,
    timeout: Duration,
    future: impl Future<Output = Result<T, E>> + Send,
) -> PyResult<T> {
    let late = || Fault::new(Class::Timeout, format!("no answer within {timeout:?}"));
    let result = wait(py, Some(timeout), future)?.ok_or_else(late)?;
    Ok(result.map_err(Into::into)?)
}
