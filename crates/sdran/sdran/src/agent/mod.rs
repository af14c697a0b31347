//! Common parts of the SD-RAN protocols other than E2: an agent at each base station, one controller, one TCP
//! stream.
//!
//! A further protocol needs a codec and one [`SouthboundAgent`]; the emulator, the benchmark and
//! [`StreamPair`] take any of them. The five phases are MARC's: initialisation, configuration, reporting, UE
//! activation, UE deactivation.
mod buffer;
mod cell;
mod dialect;
mod pair;
mod ue;

pub use buffer::{MAX_BUFFER_BYTES, StreamBuffer, StreamFault};
pub use cell::{Allocation, CellControl};
pub use dialect::{DIALECTS, Framing, PublishedBehaviour};
pub use pair::{StreamFaults, StreamPair};
pub use ue::{Radio, Ue, UeChange, UeEvent, UeTable};

use crate::Time;
use ranlab_e2_codec::e2sm::control::Refusal;
use std::time::Duration;

/// Event reported to an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentInput<'a> {
    /// The driver starts to connect: initialisation is timed from here.
    Connecting,
    /// The stream is established.
    Connected,
    /// Received bytes, with arbitrary boundaries.
    Received(&'a [u8]),
    /// The stream ended.
    Closed,
    /// A UE was activated, deactivated or updated.
    Ue(UeEvent),
    /// Control of the UEs was delegated to the base station (`true`): no reports are sent until it is taken
    /// back.
    Delegated(bool),
    /// The handover of [`AgentEvent::Handover`] was carried out, or refused.
    HandoverEnded {
        /// C-RNTI of the UE.
        rnti: u16,
        /// Reason of the refusal; `None`: carried out.
        refusal: Option<Refusal>,
    },
    /// The time of [`SouthboundAgent::wake_at`].
    Wake,
}

/// Action of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentOutput {
    /// Bytes to send. A driver at its limit drops reports (those with a due time) and counts them; dropping
    /// anything else ends the connection.
    Send {
        /// Whole messages.
        octets: Vec<u8>,
        /// Due time of a periodical report.
        due: Option<Time>,
    },
    /// End the connection: the controller broke the protocol.
    Close,
    /// An event to report.
    Event(AgentEvent),
}

/// An event of an agent to report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The controller requests reports: the agent is in its database. Measured from
    /// [`AgentInput::Connecting`].
    Initialised {
        /// Time to the last configuration *request*, at which MARC stops its clock.
        to_requests: Duration,
        /// Time to the first request for reports, which no controller sends to an unknown agent.
        to_reporting: Duration,
    },
    /// The controller commands a handover.
    Handover {
        /// C-RNTI of the UE.
        rnti: u16,
        /// Target base station, if the protocol names it.
        target_station: Option<u64>,
        /// Target cell.
        target_pci: u16,
    },
    /// The controller set (or removed: zero) a slice.
    Slice {
        /// Its number or code point.
        slice: u32,
        /// Resource block groups.
        rbgs: u16,
    },
    /// The controller uses the dialect of this name, and not the configured one. An agent that supports it
    /// uses it from here on.
    Speaks(&'static str),
    /// A command that the base station cannot execute; no state has changed.
    Refused(String),
    /// The controller broke the protocol.
    Fault(String),
}

/// Whether the controller's reporting period applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportPeriod {
    /// The requested period.
    #[default]
    Honour,
    /// Always this period, as in MARC (50 ms where FlexRAN requests 4 ms).
    Override(Duration),
}

impl ReportPeriod {
    /// The effective period; never zero.
    pub fn effective_period(self, asked: Duration) -> Duration {
        let period = match self {
            Self::Honour => asked,
            Self::Override(period) => period,
        };
        period.max(Duration::from_millis(1))
    }
}

/// Counters of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentCounters {
    /// Number of times that the stream was established.
    pub connections: u64,
    /// Number of times that the controller requested reports.
    pub initialised: u64,
    /// Messages created for the stream, including reports; the driver knows their outcome.
    pub sent: u64,
    /// Bytes of these messages.
    pub sent_bytes: u64,
    /// Periodic reports among the created messages.
    pub reports: u64,
    /// Reports that were skipped because the driver was late.
    pub skipped: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes of the received messages.
    pub received_bytes: u64,
    /// Bytes of pushed code that were discarded.
    pub discarded_bytes: u64,
    /// Number of times that the controller requested logical channels or a UE's report after a change.
    pub rounds: u64,
    /// Scheduling and slicing commands.
    pub commands: u64,
    /// Subframes reported to the controller, to decide on them or on later ones.
    pub triggers: u64,
    /// Controller decisions on subframes that the cell accepted.
    pub decisions: u64,
    /// Controller commands and decisions that the cell refused, including late decisions.
    pub refused_commands: u64,
    /// Protocol violations by the controller.
    pub faults: u64,
    /// UE events that could not be processed: the table was full, or the UE unknown.
    pub refused_ues: u64,
}

/// An agent of any SD-RAN protocol. The contract is that of all machines: `handle`, then `poll` until `None`,
/// then `handle` with [`AgentInput::Wake`] no later than `wake_at`.
pub trait SouthboundAgent {
    /// Handles an event.
    fn handle(&mut self, now: Time, input: AgentInput<'_>);
    /// Returns the next action; `None` when there is nothing more.
    fn poll(&mut self) -> Option<AgentOutput>;
    /// Latest time of the next wake-up.
    fn wake_at(&self) -> Option<Time>;
    /// Whether the controller has requested reports on this connection.
    fn is_reporting(&self) -> bool;
    /// Counters so far.
    fn counters(&self) -> &AgentCounters;
    /// Number of active UEs.
    fn ues(&self) -> usize;
    /// UEs among them that were reported to the controller on this connection.
    fn announced_ues(&self) -> usize;
    /// Time since which the controller has not answered a request that the published ones answer at once.
    fn unanswered_since(&self) -> Option<Time> {
        None
    }
    /// The UE with a C-RNTI; optional in protocols without handover.
    fn ue(&self, _rnti: u16) -> Option<Ue> {
        None
    }
}

impl<A: SouthboundAgent + ?Sized> SouthboundAgent for Box<A> {
    fn handle(&mut self, now: Time, input: AgentInput<'_>) {
        (**self).handle(now, input);
    }
    fn poll(&mut self) -> Option<AgentOutput> {
        (**self).poll()
    }
    fn wake_at(&self) -> Option<Time> {
        (**self).wake_at()
    }
    fn is_reporting(&self) -> bool {
        (**self).is_reporting()
    }
    fn counters(&self) -> &AgentCounters {
        (**self).counters()
    }
    fn ues(&self) -> usize {
        (**self).ues()
    }
    fn announced_ues(&self) -> usize {
        (**self).announced_ues()
    }
    fn unanswered_since(&self) -> Option<Time> {
        (**self).unanswered_since()
    }
    fn ue(&self, rnti: u16) -> Option<Ue> {
        (**self).ue(rnti)
    }
}

/// Event reported to a controller's endpoint of one connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ControllerInput<'a> {
    /// An agent connected.
    Connected,
    /// Received bytes, with arbitrary boundaries.
    Received(&'a [u8]),
    /// The stream ended.
    Closed,
    /// The time of [`SouthboundController::wake_at`].
    Wake,
}

/// Action of a controller's endpoint.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerOutput<E> {
    /// Bytes to send.
    Send(Vec<u8>),
    /// End the connection.
    Close,
    /// An event for the policy.
    Event(E),
}

/// A controller's endpoint of one connection.
pub trait SouthboundController {
    /// Event for the policy.
    type Event;
    /// Handles an event.
    fn handle(&mut self, now: Time, input: ControllerInput<'_>);
    /// Returns the next action; `None` when there is nothing more.
    fn poll(&mut self) -> Option<ControllerOutput<Self::Event>>;
    /// Latest time of the next wake-up.
    fn wake_at(&self) -> Option<Time>;
}

/// A periodical deadline that keeps its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeriodicTimer {
    pub(crate) due: Time,
    pub(crate) period: Duration,
}

impl PeriodicTimer {
    /// Advances beyond `now`; returns the number of missed beats.
    pub(crate) fn advance(&mut self, now: Time) -> u64 {
        self.due += self.period;
        let behind = now.since(self.due);
        if behind.is_zero() && self.due > now {
            return 0;
        }
        // At least one nanosecond: periods are never zero.
        let missed = behind.as_nanos() / self.period.as_nanos().max(1) + 1;
        let missed = u64::try_from(missed).unwrap_or(u64::MAX);
        self.due += self.period.saturating_mul(u32::try_from(missed).unwrap_or(u32::MAX));
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beat_keeps_phase_and_counts_missed_ones() {
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut beat = PeriodicTimer { due: ms(100), period: Duration::from_millis(50) };
        assert_eq!((beat.advance(ms(101)), beat.due), (0, ms(150)));
        assert_eq!((beat.advance(ms(199)), beat.due), (0, ms(200)));
        assert_eq!((beat.advance(ms(310)), beat.due), (2, ms(350)));
        assert_eq!((beat.advance(ms(400)), beat.due), (1, ms(450)));
    }

    #[test]
    fn period_is_honoured_or_overridden_never_zero() {
        let asked = Duration::from_millis(4);
        let own = Duration::from_millis(50);
        assert_eq!(ReportPeriod::Honour.effective_period(asked), asked);
        assert_eq!(ReportPeriod::Override(own).effective_period(asked), own);
        assert_eq!(ReportPeriod::Honour.effective_period(Duration::ZERO), Duration::from_millis(1));
    }
}
