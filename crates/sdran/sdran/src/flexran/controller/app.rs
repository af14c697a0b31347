//! Monitoring application. It reads the whole RIB in each run, and requests statistics from new agents.
use super::rib::Rib;
use crate::controller::{Clock, ConnectionId};
use crate::flexran::protocol::Csi;
use ranlab_machine::Time;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Report period requested from agents. Agents that override the period, as in the MARC paper, ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatePolicy {
    /// Fixed period. The published application requests 4 ms.
    Fixed(Duration),
    /// Period that depends on the load. It is `fast` while the controller keeps up, and `slow` after 1,000 messages were queued. It is
    /// `fast` again after the queue has been empty for a second.
    Adaptive {
        /// Period while the controller keeps up.
        fast: Duration,
        /// Period under overload.
        slow: Duration,
    },
}

/// Queue length above which the controller counts as overloaded.
const BUSY_MESSAGES: usize = 1_000;
/// Time for which the queue must be short before the period is shortened again.
const CALM: Duration = Duration::from_secs(1);

/// Result of the application's last run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LastRun {
    /// Number of connected agents.
    pub agents: usize,
    /// Number of UEs of the connected agents.
    pub ues: usize,
    /// Number of UEs that have reported.
    pub reporting: usize,
    /// Mean wideband CQI of the UEs that have reported.
    pub mean_cqi: f64,
    /// Number of bytes in all their downlink queues.
    pub queue_bytes: u64,
    /// Age of the oldest report, in microseconds.
    pub oldest_us: u64,
}

/// Monitoring application.
#[derive(Debug)]
pub struct Monitor {
    rate: RatePolicy,
    asked: BTreeMap<ConnectionId, Duration>,
    slow: bool,
    busy_until: Time,
    seen: LastRun,
}

impl Monitor {
    /// Returns an application without agents.
    pub fn new(rate: RatePolicy) -> Self {
        Self { rate, asked: BTreeMap::new(), slow: false, busy_until: Time::ZERO, seen: LastRun::default() }
    }

    /// Returns the result of the last run.
    pub fn view(&self) -> &LastRun {
        &self.seen
    }

    pub(super) fn forget(&mut self, id: ConnectionId) {
        self.asked.remove(&id);
    }

    fn period(&mut self, now: Time, waiting: usize) -> Duration {
        match self.rate {
            RatePolicy::Fixed(period) => period,
            RatePolicy::Adaptive { fast, slow } => {
                if waiting >= BUSY_MESSAGES {
                    self.slow = true;
                }
                if waiting > 0 && self.slow && waiting >= BUSY_MESSAGES / 10 {
                    self.busy_until = now + CALM;
                }
                self.slow &= now < self.busy_until;
                if self.slow { slow } else { fast }
            }
        }
    }

    /// Runs the application. Returns the agents from which statistics must be requested, with the period.
    pub fn run(&mut self, rib: &Rib, waiting: usize, clock: &mut dyn Clock) -> Vec<(ConnectionId, Duration)> {
        let now = clock.now();
        let period = self.period(now, waiting);
        let mut ask = Vec::new();
        let mut last_run = LastRun::default();
        let mut cqis = 0_u64;
        for (id, agent) in rib.agents().iter().filter(|(_, agent)| agent.alive) {
            last_run.agents += 1;
            last_run.ues += agent.ues.len();
            if self.asked.get(id) != Some(&period) {
                self.asked.insert(*id, period);
                ask.push((*id, period));
            }
            for ue in agent.ues.values() {
                let Some(report) = &ue.report else { continue };
                last_run.reporting += 1;
                let queues = report.rlc_report.iter().filter_map(|queue| queue.tx_queue_size);
                last_run.queue_bytes += queues.map(u64::from).sum::<u64>();
                let csi = report.dl_cqi_report.iter().flat_map(|cqi| &cqi.csi_report);
                for csi in csi {
                    if let Some(Csi::P10(csi)) = &csi.report {
                        cqis += u64::from(csi.wb_cqi.unwrap_or(0));
                    }
                }
                let age = u64::try_from(now.since(ue.reported_at).as_micros()).unwrap_or(u64::MAX);
                last_run.oldest_us = last_run.oldest_us.max(age);
            }
        }
        clock.visit(last_run.ues);
        last_run.mean_cqi =
            if last_run.reporting == 0 { 0.0 } else { cqis as f64 / last_run.reporting as f64 };
        self.seen = last_run;
        ask
    }
}
