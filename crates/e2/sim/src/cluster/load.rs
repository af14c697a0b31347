//! Counts the messages that several RICs read and write in a simulation without faults. Its state machines are those
//! that run on sockets. Processor time per message can only be measured in a live run. The number of messages does not
//! depend on the network, so a simulation is enough.
use super::trial::{ClusterTrial, Run};
use crate::world::Violation;
use ranlab_e2::Time;
use std::time::Duration;

/// A world of several RICs without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterLoad {
    /// Number of RICs.
    pub rics: usize,
    /// Number of base stations, each of which reports twice per second.
    pub nodes: u32,
    /// Number of xApps that subscribe to all base stations. They are distributed over the RICs.
    pub xapps: usize,
    /// Time until all parties have found each other.
    pub settle: Duration,
    /// Duration of the measured period.
    pub counted: Duration,
}

/// Counters of one RIC in the measured period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RicLoad {
    /// Number of indications read from base stations and other RICs.
    pub read: u64,
    /// Number of indications written to xApps and other RICs.
    pub written: u64,
}

/// Counters of all RICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterLoadOutcome {
    /// Counters of each RIC.
    pub rics: Vec<RicLoad>,
    /// Number of indications that arrived at xApps.
    pub delivered: u64,
}

impl ClusterLoadOutcome {
    /// Returns the number of messages read and written by all RICs.
    pub fn messages(&self) -> u64 {
        self.rics.iter().map(|ric| ric.read + ric.written).sum()
    }
}

impl ClusterLoad {
    /// Simulates the RICs with the random numbers of a seed, and returns the counters of the measured period.
    ///
    /// # Errors
    ///
    /// Returns the first violated invariant of the world.
    pub fn run(&self, seed: u64) -> Result<ClusterLoadOutcome, Violation> {
        let trial = ClusterTrial {
            rics: self.rics.max(1),
            nodes: self.nodes,
            xapps: self.xapps,
            faults: 0,
            ..ClusterTrial::default()
        };
        let mut run = trial.begin(ClusterTrial::world(seed));
        run.pass(Time::ZERO + self.settle)?;
        let before = loads(&run);
        let delivered_before = run.watcher.indications;
        run.pass(Time::ZERO + self.settle + self.counted)?;
        let rics = loads(&run)
            .into_iter()
            .zip(before)
            .map(|(now, then)| RicLoad { read: now.read - then.read, written: now.written - then.written });
        Ok(ClusterLoadOutcome { rics: rics.collect(), delivered: run.watcher.indications - delivered_before })
    }
}

fn loads(run: &Run) -> Vec<RicLoad> {
    let counters = |party: &_| run.world.look_at_ric(*party).map(|ric| ric.counters()).unwrap_or_default();
    let loads = run.watcher.rics.iter().map(counters);
    loads.map(|it| RicLoad { read: it.indications, written: it.indications_forwarded }).collect()
}
