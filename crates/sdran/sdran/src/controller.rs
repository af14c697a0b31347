//! Common parts of the SD-RAN controllers: connections, an injected clock, and northbound responses.
//!
//! A controller is sans-IO. It receives and returns bytes of connections, and works in time slices that are measured with a [`Clock`]. A
//! server connects it to sockets. A test provides a clock with simulated costs.
use ranlab_machine::Time;
use serde::Serialize;
use std::time::Duration;

/// Connection id, in order of acceptance.
pub type ConnectionId = u64;

/// Clock that also accounts for the cost of work.
pub trait Clock {
    /// Returns the current time.
    fn now(&mut self) -> Time;
    /// Accounts for a processed message of `octets` bytes. A real clock ignores this call.
    fn message(&mut self, octets: usize);
    /// Accounts for `ues` UEs that were visited. A real clock ignores this call.
    fn visit(&mut self, ues: usize);
    /// Spends time deliberately, to emulate the interpreter of a published controller.
    fn spend(&mut self, time: Duration);
}

/// Action on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Closes the connection.
    Close,
}

/// Counters of a controller. They are the same for all protocols, so that controllers can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ControllerCounters {
    /// Connections accepted.
    pub connections: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Messages processed.
    pub processed: u64,
    /// Messages sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Messages dropped because the queue was full.
    pub dropped: u64,
    /// Bytes of dropped messages that are still allocated (the memory leak of the published controller).
    pub leaked_bytes: u64,
    /// Messages lost at the end of a full batch, as in the published controller.
    pub lost_at_batch_end: u64,
    /// Reports that were discarded, because they were not requested or their UE is unknown.
    pub discarded: u64,
    /// Protocol violations of agents.
    pub faults: u64,
    /// Agents declared dead although they were connected.
    pub declared_dead: u64,
    /// Connections refused because the base station is not registered.
    pub refused: u64,
    /// Connections closed because the agent did not read.
    pub not_reading: u64,
    /// Cycles in which the applications ran.
    pub app_runs: u64,
    /// Cycles in which the applications did not run, because the RIB updater had exhausted its share of the cycle.
    pub throttled: u64,
    /// Connections closed because the agent sent no message after the hello.
    pub silent: u64,
    /// Number of times that a connection was not read because the queue was full.
    pub back_pressure: u64,
    /// Messages in the queue now.
    pub queued: u64,
}

/// Returns the kinds of overload that the counters show.
pub fn overload(counters: &ControllerCounters) -> Vec<&'static str> {
    let signs = [
        (counters.dropped > 0, "drops"),
        (counters.declared_dead > 0, "declares agents dead"),
        (counters.leaked_bytes > 0, "memory grows"),
        (counters.throttled > counters.app_runs, "starves its applications"),
        (counters.back_pressure > 0, "holds agents back"),
    ];
    signs.into_iter().filter_map(|(shown, name)| shown.then_some(name)).collect()
}

/// Returns advice derived from the counters. These are the applicable design guidelines of the MARC paper, with the measured numbers.
pub fn guidelines(counters: &ControllerCounters) -> Vec<String> {
    let c = counters;
    let mut advice = Vec::new();
    let cycles = c.app_runs + c.throttled;
    if c.throttled > c.app_runs {
        let share = 100 * c.throttled / cycles.max(1);
        advice.push(format!(
            "In {share} % of the cycles the applications waited for the RIB updater: give it a larger share of the cycle, \
             or an adaptive one."
        ));
    }
    if c.dropped > 0 {
        let share = 100 * c.dropped / c.received.max(1);
        advice.push(format!(
            "{} messages ({share} % of those received) were dropped because the queue was full: bound the queue and let the transport \
             slow down the agents, or request reports less often.",
            c.dropped
        ));
    }
    if c.leaked_bytes > 0 {
        advice.push(format!(
            "{} MB of dropped messages are still allocated: free the memory of a dropped message.",
            c.leaked_bytes.div_ceil(1_000_000)
        ));
    }
    if c.lost_at_batch_end > 0 {
        advice.push(format!(
            "{} messages were taken off the queue after a full batch and lost, as in the published controller; an agent whose hello or \
             configuration is among them never receives a report request: check the count before taking a message, as the \
             bounded queue does.",
            c.lost_at_batch_end
        ));
    }
    if c.declared_dead > 0 {
        advice.push(format!(
            "{} agents were declared dead although they were connected: read keep-alives before reports, or put all UEs of \
             a base station into one message.",
            c.declared_dead
        ));
    }
    if c.back_pressure > 0 && c.dropped == 0 {
        advice.push(
            "Agents were slowed down, but no message was lost: reports are older than their period; use a longer period."
                .to_owned(),
        );
    }
    if c.discarded > 0 {
        // A FlexRAN message contains a report per UE, so the number of reports is not a share of the
        // messages.
        advice.push(format!(
            "{} reports in {} messages were of unknown UEs, or had a transaction that the controller did not \
             begin: processing them was wasted work.",
            c.discarded, c.processed
        ));
    }
    advice
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Clock in virtual time with a cost per unit of work, independent of the machine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct PricedClock {
        pub(crate) now: Time,
        pub(crate) per_message: Duration,
        pub(crate) per_octet_ns: u64,
        pub(crate) per_ue_ns: u64,
    }

    impl Clock for PricedClock {
        fn now(&mut self) -> Time {
            self.now
        }
        fn message(&mut self, octets: usize) {
            self.now += self.per_message + Duration::from_nanos(self.per_octet_ns * octets as u64);
        }
        fn visit(&mut self, ues: usize) {
            self.now += Duration::from_nanos(self.per_ue_ns * ues as u64);
        }
        fn spend(&mut self, time: Duration) {
            self.now += time;
        }
    }

    #[test]
    fn guideline_texts_contain_counter_values() {
        assert!(guidelines(&ControllerCounters::default()).is_empty());
        let bad = ControllerCounters {
            received: 200,
            dropped: 50,
            throttled: 90,
            app_runs: 10,
            leaked_bytes: 1_500_000,
            declared_dead: 3,
            lost_at_batch_end: 4,
            ..ControllerCounters::default()
        };
        let advice = guidelines(&bad).join("\n");
        for part in [
            "In 90 % of the cycles",
            "50 messages (25 %",
            "2 MB of dropped",
            "3 agents were declared dead",
            "4 messages were taken off the queue",
        ] {
            assert!(advice.contains(part), "{advice}");
        }
        let signs = ["drops", "declares agents dead", "memory grows", "starves its applications"];
        assert_eq!(overload(&bad), signs);
        // A message contains reports of many UEs.
        let unknown =
            ControllerCounters { processed: 100, discarded: 1_148, ..ControllerCounters::default() };
        let advice = guidelines(&unknown).join("\n");
        assert!(advice.contains("1148 reports in 100 messages") && !advice.contains('%'), "{advice}");
        let held = ControllerCounters { back_pressure: 1, ..ControllerCounters::default() };
        assert_eq!((overload(&held).len(), guidelines(&held).len()), (1, 1));
    }
}
