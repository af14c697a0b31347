//! Checks periodically how much of the sent data the controller has read.
use super::deadlines::now;
use super::incidents::IncidentKind;
use super::line::{ControllerLink, STILL};
use super::meters::Meters;
use ranlab_machine::Time;
use ranlab_net::Readers;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Minimum interval between two checks. It limits the resolution of delays after the kernel has accepted the data.
const INTERVAL: Duration = Duration::from_millis(2);
/// Minimum interval between two checks for each connection, because a check of a connection costs system calls.
const INTERVAL_PER_LINE: Duration = Duration::from_micros(500);

pub(super) struct Watch {
    pub(super) lines: RefCell<Vec<Rc<RefCell<ControllerLink>>>>,
    readers: RefCell<Option<Readers>>,
    meters: Rc<Meters>,
    looked: Cell<Time>,
}

impl Watch {
    pub(super) fn new(meters: Rc<Meters>) -> Self {
        let lines = RefCell::default();
        let readers = RefCell::new(Readers::open().ok());
        Self { lines, readers, meters, looked: Cell::new(Time::ZERO) }
    }

    fn interval(&self) -> Duration {
        let lines = u32::try_from(self.lines.borrow().len()).unwrap_or(u32::MAX);
        INTERVAL.max(INTERVAL_PER_LINE.saturating_mul(lines))
    }

    /// Checks all connections periodically. The function never returns, and must run in parallel with the base stations.
    pub(super) async fn keep(&self) {
        let mut last = now();
        loop {
            let interval = self.interval();
            tokio::time::sleep(interval).await;
            let now = now();
            // A suspension of this process by half a second or more does not count as a delay of the controller.
            let late = now.since(last).saturating_sub(interval);
            self.check_lines(now, if late >= STILL / 2 { late } else { Duration::ZERO });
            last = now;
        }
    }

    /// Checks all connections, unless the last check was recent.
    pub(super) fn refresh(&self, now: Time) {
        if now.since(self.looked.get()) >= self.interval() {
            self.check_lines(now, Duration::ZERO);
        }
    }

    fn check_lines(&self, now: Time, excused: Duration) {
        self.looked.set(now);
        let mut readers = self.readers.borrow_mut();
        let mut observed: [Option<(Time, u32)>; 3] = [None; 3];
        for line in &*self.lines.borrow() {
            let mut line = line.borrow_mut();
            line.update_progress(&self.meters, now, excused, readers.as_mut());
            let unanswered = line.unanswered_since.filter(|since| now.since(*since) >= STILL);
            let troubles = [line.still_since(now), unanswered, line.lost_at];
            for (all, since) in observed.iter_mut().zip(troubles) {
                let Some(since) = since else { continue };
                let (first, connections) = all.unwrap_or((since, 0));
                *all = Some((first.min(since), connections + 1));
            }
        }
        let mut incidents = self.meters.incidents.borrow_mut();
        for (what, observed) in
            [IncidentKind::StoppedReading, IncidentKind::StoppedAnswering, IncidentKind::Lost]
                .into_iter()
                .zip(observed)
        {
            incidents.observe(what, now, observed);
        }
    }
}
