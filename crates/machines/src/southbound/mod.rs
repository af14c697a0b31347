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
pub use dialect::{DIALECTS, Dialect, Language};
pub use pair::{StreamFaults, StreamPair};
pub use ue::{Radio, Ue, UeChange, UeEvent, UeTable};

use crate::Time;
use ranlab_wire::e2sm::control::Refusal;
use std::time::Duration;

/// Event reported to an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentInput<'a> {
    /// The driver begins to connect: initialisation is timed from here.
    Connecting,
    /// The stream stands.
    Connected,
    /// Octets came, cut anywhere.
    Received(&'a [u8]),
    /// The stream ended.
    Closed,
    /// A UE came, went or changed.
    Ue(UeEvent),
    /// Control of the UEs was delegated to the base station (`true`): nothing is reported until it is taken back.
    Delegated(bool),
    /// The handover of [`AgentEvent::Handover`] was carried out, or refused.
    HandoverEnded {
        /// Who.
        rnti: u16,
        /// Why not.
        refusal: Option<Refusal>,
    },
    /// [`SouthboundAgent::wake_at`] has come.
    Wake,
}

/// Action of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentOutput {
    /// Octets to send. A driver whose bound is reached drops reports (those with a due time) and counts them; anything
    /// else ends the connection.
    Send {
        /// Whole messages.
        octets: Vec<u8>,
        /// Due time of a periodical report.
        due: Option<Time>,
    },
    /// End the connection: the controller broke the protocol.
    Close,
    /// Something worth telling.
    Event(AgentEvent),
}

/// Something worth telling of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The controller asks for reports: the agent is in its data base. Measured from [`AgentInput::Connecting`].
    Initialised {
        /// To the last configuration *request*, where MARC stops its clock.
        to_requests: Duration,
        /// To the first request for reports, which no controller sends to an agent that it does not know.
        to_reporting: Duration,
    },
    /// The controller commands a handover.
    Handover {
        /// Who.
        rnti: u16,
        /// Target base station, where the protocol names it.
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
    /// A command that the base station cannot carry out; nothing has changed.
    Refused(String),
    /// The controller broke the protocol.
    Fault(String),
}

/// Whether the controller's reporting period applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportPeriod {
    /// As asked for.
    #[default]
    Honour,
    /// Always this, as MARC does (50 ms where FlexRAN asks for 4 ms).
    Override(Duration),
}

impl ReportPeriod {
    /// The period in force; never zero.
    pub fn of(self, asked: Duration) -> Duration {
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
    /// Times that the stream stood.
    pub connections: u64,
    /// Times that the controller asked for reports.
    pub initialised: u64,
    /// Messages made for the stream, reports among them; what became of them the driver knows.
    pub sent: u64,
    /// Their octets.
    pub sent_bytes: u64,
    /// Periodical reports among them.
    pub reports: u64,
    /// Reports whose time passed unused because the driver came late.
    pub skipped: u64,
    /// Messages received.
    pub received: u64,
    /// Their octets.
    pub received_bytes: u64,
    /// Octets of pushed code that were thrown away.
    pub discarded_bytes: u64,
    /// Times that the controller asked for logical channels or a UE's report after a change.
    pub rounds: u64,
    /// Scheduling and slicing commands.
    pub commands: u64,
    /// Subframes reported to the controller, to decide on them or on later ones.
    pub triggers: u64,
    /// Its decisions on subframes that the cell took.
    pub decisions: u64,
    /// Its commands and decisions that the cell refused, decisions that came too late among them.
    pub refused_commands: u64,
    /// Breaches of the protocol by the controller.
    pub faults: u64,
    /// UE events that could not be served: the table was full, the UE unknown.
    pub refused_ues: u64,
}

/// An agent of any SD-RAN protocol. The contract is that of all machines: `handle`, then `poll` until `None`, then
/// `handle` with [`AgentInput::Wake`] no later than `wake_at`.
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
    /// UEs active now.
    fn ues(&self) -> usize;
    /// UEs among them that were reported to the controller on this connection.
    fn announced_ues(&self) -> usize;
    /// Since when the controller owes an answer that the published ones give at once.
    fn unanswered_since(&self) -> Option<Time> {
        None
    }
    /// The UE with a C-RNTI; protocols without handover need not say.
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
    /// Octets came, cut anywhere.
    Received(&'a [u8]),
    /// The stream ended.
    Closed,
    /// [`SouthboundController::wake_at`] has come.
    Wake,
}

/// Action of a controller's endpoint.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerOutput<E> {
    /// Octets to send.
    Send(Vec<u8>),
    /// End the connection.
    Close,
    /// Something for the policy.
    Event(E),
}

/// A controller's end of one connection.
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
pub(crate) struct Beat {
    pub(crate) due: Time,
    pub(crate) period: Duration,
}

impl Beat {
    /// Moves past `now`; says how many beats were missed on the way.
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
        let mut beat = Beat { due: ms(100), period: Duration::from_millis(50) };
        assert_eq!((beat.advance(ms(101)), beat.due), (0, ms(150)));
        assert_eq!((beat.advance(ms(199)), beat.due), (0, ms(200)));
        assert_eq!((beat.advance(ms(310)), beat.due), (2, ms(350)));
        assert_eq!((beat.advance(ms(400)), beat.due), (1, ms(450)));
    }

    #[test]
    fn period_is_honoured_or_overridden_never_zero() {
        let asked = Duration::from_millis(4);
        let own = Duration::from_millis(50);
        assert_eq!(ReportPeriod::Honour.of(asked), asked);
        assert_eq!(ReportPeriod::Override(own).of(asked), own);
        assert_eq!(ReportPeriod::Honour.of(Duration::ZERO), Duration::from_millis(1));
    }
}
