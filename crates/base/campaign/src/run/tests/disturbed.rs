//! Tests of measurements that are disturbed by other work on the machine.

use std::collections::BTreeSet;

use super::*;
use crate::record::Recorder;
use crate::rig::{RigDescription, Run};

/// A rig whose first measurements are disturbed.
#[derive(Debug)]
struct Disturbed {
    disturbances: u32,
    rig: MockRig,
}

impl Rig for Disturbed {
    fn describe(&self) -> RigDescription {
        self.rig.describe()
    }
    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.rig.prepare(run)
    }
    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.rig.warm_up(run)
    }
    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let outcome = self.rig.measure(run, recorder)?;
        let disturbed = self.disturbances > 0;
        self.disturbances = self.disturbances.saturating_sub(1);
        Ok(if disturbed { Outcome::Invalid } else { outcome })
    }
    fn tear_down(&mut self) {
        self.rig.tear_down();
    }
}

#[test]
fn disturbed_repeats_are_measured_again_within_limits() {
    let scenario = scenario("[sweep.axes]\n\"load.workers\" = [1, 2, 3, 4]\n[measure]\nrepeats = 2");
    let plan = Plan::new(&scenario, &MockRig::default().describe());
    // 8 repeats allow two retries. With three disturbances, one repeat stays invalid.
    for (disturbances, invalid) in [(2, 0), (3, 1)] {
        let mut journal = MemoryJournal::default();
        let rig = Disturbed { disturbances, rig: MockRig::default() };
        let mut left = Vec::new();
        let session = run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |event| {
            if let Event::Finished { left: now, .. } = event {
                left.push(now);
            }
        });
        assert_eq!(session.unwrap(), SessionSummary { finished: 8, stopped: false });
        assert_eq!((left.len(), left.last()), (10, Some(&0)), "two attempts more than repeats");
        let keys: BTreeSet<_> = journal.finished.iter().map(|one| (one.point, one.repeat)).collect();
        assert_eq!(keys.len(), 8, "each repeat is stored once");
        let stored = journal.finished.iter().filter(|one| one.outcome == Outcome::Invalid).count();
        assert_eq!(stored, invalid);
    }
}
