//! Timer for deadlines with a precision of some tens of microseconds.
use crate::clock::{instant, now};
use ranlab_machine::Time;
use ranlab_net::Timer;
use std::io;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Deadlines within this time use a precise timer. For later ones, tokio's timer with its millisecond precision is
/// sufficient.
const PRECISE_WITHIN: Duration = Duration::from_millis(50);

/// A timer for one waiting task. It opens a timer descriptor at the first deadline that needs one.
#[derive(Debug, Default)]
pub struct Alarm {
    timer: Option<AsyncFd<Timer>>,
    /// Whether no descriptor could be opened, so that only tokio's timer is used.
    refused: bool,
}

impl Alarm {
    /// Waits for the deadline. Never returns early. Returns within some tens of microseconds if the deadline is at
    /// most 50 ms away, and within 1 to 2 ms otherwise. Cancel-safe.
    pub async fn wait(&mut self, at: Time) {
        let after = at.since(now());
        if after < PRECISE_WITHIN
            && let Some(timer) = self.timer()
            && timer.get_ref().arm(after).is_ok()
            && passed(timer).await.is_ok()
        {
            return;
        }
        tokio::time::sleep_until(instant(at)).await;
    }

    fn timer(&mut self) -> Option<&AsyncFd<Timer>> {
        if self.timer.is_none() && !self.refused {
            // tokio replaces this function by an unsafe one, because a descriptor might change while it is registered.
            // The descriptor of a timer never changes.
            #[allow(deprecated)]
            let timer = Timer::new().and_then(AsyncFd::new);
            match timer {
                Ok(timer) => self.timer = Some(timer),
                Err(error) => {
                    tracing::warn!(%error, "no precise timer is available; deadlines are met within one or two milliseconds");
                    self.refused = true;
                }
            }
        }
        self.timer.as_ref()
    }
}

async fn passed(timer: &AsyncFd<Timer>) -> io::Result<()> {
    loop {
        let mut ready = timer.readable().await?;
        // The descriptor may be ready because of an earlier deadline that was cancelled. Then the loop continues to
        // wait.
        if let Ok(done) = ready.try_io(|timer| timer.get_ref().passed()) {
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_is_never_early_and_wait_is_cancel_safe() {
        crate::run(async {
            let mut alarm = Alarm::default();
            for micros in [0, 300, 1_700] {
                let at = now() + Duration::from_micros(micros);
                alarm.wait(at).await;
                assert!(now() >= at, "{micros}");
            }
            let near = now() + Duration::from_micros(200);
            let far = now() + Duration::from_secs(3_600);
            tokio::select! {
                () = alarm.wait(far) => panic!("a wait of an hour must not end yet"),
                () = tokio::time::sleep(Duration::from_millis(3)) => {}
            }
            alarm.wait(near).await;
            // The readiness of the cancelled deadline must not end the wait for the next one.
            let next = now() + Duration::from_millis(4);
            alarm.wait(next).await;
            assert!(now() >= next);
        });
    }
}
