//! Waits for a machine's deadline to some tens of microseconds.
use crate::clock::{instant, now};
use ranlab_e2::Time;
use ranlab_net::Timer;
use std::io;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Deadlines nearer than this are met precisely; further ones are a matter of patience, and tokio's milliseconds do.
const PRECISE_WITHIN: Duration = Duration::from_millis(50);

/// An alarm clock for one waiter on its thread. Its descriptor comes with the first near deadline: who never has one needs none.
#[derive(Debug, Default)]
pub struct Alarm {
    timer: Option<AsyncFd<Timer>>,
    /// There are no descriptors: milliseconds have to do.
    refused: bool,
}

impl Alarm {
    /// Returns at the deadline, never before it: to some tens of microseconds if that is near, to a millisecond or two if it
    /// is further than 50 ms. May be dropped at any time and asked for another one.
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
            // Its successor is an unsafe function, for types whose descriptor may change while they are registered; a
            // timer's never does.
            #[allow(deprecated)]
            let timer = Timer::new().and_then(AsyncFd::new);
            match timer {
                Ok(timer) => self.timer = Some(timer),
                Err(error) => {
                    tracing::warn!(%error, "no precise timer: deadlines are met to a millisecond or two");
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
        // Ready for a deadline that is forgotten by now: waits on.
        if let Ok(done) = ready.try_io(|timer| timer.get_ref().passed()) {
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_deadline_is_met_early_and_a_dropped_wait_does_no_harm() {
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
                () = alarm.wait(far) => panic!("an hour has not passed"),
                () = tokio::time::sleep(Duration::from_millis(3)) => {}
            }
            alarm.wait(near).await;
            // The near deadline's readiness is not the next one's.
            let next = now() + Duration::from_millis(4);
            alarm.wait(next).await;
            assert!(now() >= next);
        });
    }
}
