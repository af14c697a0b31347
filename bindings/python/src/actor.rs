//! A thread with a runtime and the objects on it; Python sends requests to it.
use crate::errors::{Class, Fault};
use pyo3::prelude::*;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum number of outstanding requests of an object. Further ones wait.
const REQUESTS_MAX: usize = 64;
/// Interval at which Ctrl-C is checked.
const SIGNAL_LOOK: Duration = Duration::from_millis(50);

type Local<T> = Pin<Box<dyn Future<Output = T>>>;
type Job<S> = Box<dyn FnOnce(Rc<S>) -> Local<()> + Send>;

/// Handle of the thread. Dropping it ends the thread and waits for it.
pub(crate) struct Actor<S> {
    jobs: Option<tokio::sync::mpsc::Sender<Job<S>>>,
    thread: Option<JoinHandle<()>>,
    name: &'static str,
}

impl<S: 'static> Actor<S> {
    /// Starts the thread and creates the object with `make`. Fails if `make` fails.
    pub(crate) fn start<F>(
        py: Python<'_>,
        name: &'static str,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> PyResult<Self>
    where
        F: Future<Output = Result<S, Fault>> + 'static,
    {
        let (jobs, mut inbox) = tokio::sync::mpsc::channel::<Job<S>>(REQUESTS_MAX);
        let (tell, told) = mpsc::sync_channel(1);
        let main = move || {
            ranlab_sdk::run(async move {
                let made = tokio::select! {
                    made = make() => made,
                    // The caller was interrupted.
                    _ = inbox.recv() => return,
                };
                let state = match made {
                    Ok(state) => Rc::new(state),
                    // The caller may have been interrupted.
                    Err(fault) => return drop(tell.send(Err(fault))),
                };
                if tell.send(Ok(())).is_err() {
                    return;
                }
                while let Some(job) = inbox.recv().await {
                    tokio::task::spawn_local(job(Rc::clone(&state)));
                }
            });
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(main);
        let thread =
            thread.map_err(|error| Fault::new(Class::Environment, format!("no thread for it: {error}")))?;
        let actor = Self { jobs: Some(jobs), thread: Some(thread), name };
        wait(py, told, None)?.unwrap_or_else(|| Err(actor.gone()))?;
        Ok(actor)
    }

    /// Runs a function on the thread without waiting. It is dropped if the queue is full.
    pub(crate) fn post(&self, act: impl FnOnce(&S) + Send + 'static) {
        let job: Job<S> = Box::new(|state| Box::pin(async move { act(&state) }));
        if let Some(jobs) = &self.jobs {
            let _ = jobs.try_send(job);
        }
    }

    fn gone(&self) -> Fault {
        Fault::new(Class::Closed, format!("{}: it is closed", self.name))
    }

    /// Runs a function on the thread and waits for its result, with a timeout.
    pub(crate) fn ask<T, F>(
        &self,
        py: Python<'_>,
        patience: Duration,
        act: impl FnOnce(Rc<S>) -> F + Send + 'static,
    ) -> PyResult<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + 'static,
    {
        let (tell, told) = mpsc::sync_channel(1);
        let job: Job<S> = Box::new(|state| {
            Box::pin(async move {
                let answer = act(state);
                // The caller may have been interrupted.
                let _ = tell.send(answer.await);
            })
        });
        let jobs = self.jobs.as_ref().ok_or_else(|| self.gone())?;
        py.detach(|| jobs.blocking_send(job)).map_err(|_| self.gone())?;
        let late = || Fault::new(Class::Timeout, format!("{}: no answer within {patience:?}", self.name));
        let answer = wait(py, told, Some(patience))?.unwrap_or_else(|| Err(late()));
        Ok(answer?)
    }
}

impl<S> Drop for Actor<S> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread has ended already, so there is nothing to stop.
            let _ = thread.join();
        }
    }
}

/// Waits for the result. Returns `None` after the timeout. If the thread has ended, returns an internal error.
fn wait<T: Send>(
    py: Python<'_>,
    mut told: mpsc::Receiver<Result<T, Fault>>,
    patience: Option<Duration>,
) -> PyResult<Option<Result<T, Fault>>> {
    let until = patience.and_then(|patience| Instant::now().checked_add(patience));
    loop {
        let left = until.map_or(SIGNAL_LOOK, |until| until.saturating_duration_since(Instant::now()));
        let lent = &mut told;
        match py.detach(move || lent.recv_timeout(left.min(SIGNAL_LOOK))) {
            Ok(answer) => return Ok(Some(answer)),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Some(Err(Fault::new(Class::Closed, "its thread has ended"))));
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}
