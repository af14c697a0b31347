//! Common parts of the SD-RAN protocols other than E2. Each base station has an agent, which is connected to one controller by a TCP
//! stream.
//!
//! A further protocol needs a codec and a [`SouthboundAgent`]. The emulator, the benchmark and [`StreamPair`] accept any of them. The five
//! phases are those of the MARC benchmark: initialisation, configuration, reporting, UE activation, UE deactivation.
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

/// Input of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentInput<'a> {
    /// The driver starts to connect. The time of the initialisation is measured from here.
    Connecting,
    /// The stream is established.
    Connected,
    /// Received bytes, with arbitrary boundaries.
    Received(&'a [u8]),
    /// The stream ended.
    Closed,
    /// A UE was activated, deactivated or updated.
    Ue(UeEvent),
    /// Control of the UEs was delegated to the base station (`true`), or taken back (`false`). No reports are sent while it is delegated.
    Delegated(bool),
    /// The handover of [`AgentEvent::Handover`] was executed or refused.
    HandoverEnded {
        /// C-RNTI of the UE.
        rnti: u16,
        /// Reason of the refusal. `None`: the handover was executed.
        refusal: Option<Refusal>,
    },
    /// The time of [`SouthboundAgent::wake_at`] was reached.
    Wake,
}

/// Output of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentOutput {
    /// Requests to send bytes. If the driver reaches its limit, it drops and counts reports, which have a due time. If it must drop any
    /// other message, the connection ends.
    Send {
        /// Complete messages.
        octets: Vec<u8>,
        /// Due time of a periodic report. `None` for other messages.
        due: Option<Time>,
    },
    /// Requests to end the connection, because the controller violated the protocol.
    Close,
    /// An event for the driver.
    Event(AgentEvent),
}

/// An event of an agent for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The controller requests reports, so the agent is in its database. Times are measured from [`AgentInput::Connecting`].
    Initialised {
        /// Time until the last configuration *request*, at which MARC stops its clock.
        to_requests: Duration,
        /// Time until the first request for reports. Controllers do not send it to an unknown agent.
        to_reporting: Duration,
    },
    /// The controller commands a handover.
    Handover {
        /// C-RNTI of the UE.
        rnti: u16,
        /// Target base station, if the protocol names it.
        target_station: Option<u64>,
        /// Physical identity of the target cell.
        target_pci: u16,
    },
    /// The controller set a slice, or removed it (zero resource block groups).
    Slice {
        /// Number or code point of the slice.
        slice: u32,
        /// Number of resource block groups.
        rbgs: u16,
    },
    /// The controller uses the dialect of this name, instead of the configured one. An agent that supports this dialect uses it from now
    /// on.
    Speaks(&'static str),
    /// The controller sent a command that the base station cannot execute. No state has changed.
    Refused(String),
    /// The controller violated the protocol.
    Fault(String),
}

/// Period at which an agent sends reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportPeriod {
    /// The agent uses the period that the controller requests.
    #[default]
    Honour,
    /// The agent always uses this period, as in MARC (50 ms although FlexRAN requests 4 ms).
    Override(Duration),
}

impl ReportPeriod {
    /// Returns the effective period, which is never zero.
    pub fn effective_period(self, requested: Duration) -> Duration {
        let period = match self {
            Self::Honour => requested,
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
    /// Messages created for the stream, including reports. The driver knows whether they were sent.
    pub sent: u64,
    /// Bytes of the created messages.
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
    /// Number of times that the controller requested logical channels, or the report of a UE after a change.
    pub rounds: u64,
    /// Scheduling and slicing commands.
    pub commands: u64,
    /// Subframes reported to the controller, so that it can decide on these or later ones.
    pub triggers: u64,
    /// Scheduling decisions of the controller that the cell accepted.
    pub decisions: u64,
    /// Controller commands and decisions that the cell refused, including late decisions.
    pub refused_commands: u64,
    /// Protocol violations by the controller.
    pub faults: u64,
    /// UE events that could not be processed, because the table was full or the UE was unknown.
    pub refused_ues: u64,
}

/// An agent of any SD-RAN protocol. It is used like all state machines: call `handle`, then `poll` until it returns `None`, then `handle`
/// with [`AgentInput::Wake`] no later than `wake_at`.
pub trait SouthboundAgent {
    /// Handles an event.
    fn handle(&mut self, now: Time, input: AgentInput<'_>);
    /// Returns the next output. `None` if no output is queued.
    fn poll(&mut self) -> Option<AgentOutput>;
    /// Returns the latest time at which to call `handle` with [`AgentInput::Wake`].
    fn wake_at(&self) -> Option<Time>;
    /// Returns whether the controller has requested reports on this connection.
    fn is_reporting(&self) -> bool;
    /// Returns the current counters.
    fn counters(&self) -> &AgentCounters;
    /// Returns the number of active UEs.
    fn ues(&self) -> usize;
    /// Returns the number of active UEs that were reported to the controller on this connection.
    fn announced_ues(&self) -> usize;
    /// Returns the time since which a response is pending that the published controllers send at once.
    fn unanswered_since(&self) -> Option<Time> {
        None
    }
    /// Returns the UE with a C-RNTI. Protocols without handover need not implement this function.
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

/// Input of a controller's endpoint of one connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ControllerInput<'a> {
    /// An agent connected.
    Connected,
    /// Received bytes, with arbitrary boundaries.
    Received(&'a [u8]),
    /// The stream ended.
    Closed,
    /// The time of [`SouthboundController::wake_at`] was reached.
    Wake,
}

/// Output of a controller's endpoint.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerOutput<E> {
    /// Requests to send bytes.
    Send(Vec<u8>),
    /// Requests to end the connection.
    Close,
    /// An event for the policy.
    Event(E),
}

/// A controller's endpoint of one connection.
pub trait SouthboundController {
    /// Type of the events for the policy.
    type Event;
    /// Handles an event.
    fn handle(&mut self, now: Time, input: ControllerInput<'_>);
    /// Returns the next output. `None` if no output is queued.
    fn poll(&mut self) -> Option<ControllerOutput<Self::Event>>;
    /// Returns the latest time at which to call `handle` with [`ControllerInput::Wake`].
    fn wake_at(&self) -> Option<Time>;
}

/// A periodic deadline that keeps its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeriodicTimer {
    pub(crate) due: Time,
    pub(crate) period: Duration,
}

impl PeriodicTimer {
    /// Advances the deadline beyond `now`. Returns the number of missed deadlines.
    pub(crate) fn advance(&mut self, now: Time) -> u64 {
        self.due += self.period;
        let behind = now.since(self.due);
        if behind.is_zero() && self.due > now {
            return 0;
        }
        // The period is at least one nanosecond, because periods are never zero.
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
    fn timer_keeps_phase_and_counts_missed_deadlines() {
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut beat = PeriodicTimer { due: ms(100), period: Duration::from_millis(50) };
        assert_eq!((beat.advance(ms(101)), beat.due), (0, ms(150)));
        assert_eq!((beat.advance(ms(199)), beat.due), (0, ms(200)));
        assert_eq!((beat.advance(ms(310)), beat.due), (2, ms(350)));
        assert_eq!((beat.advance(ms(400)), beat.due), (1, ms(450)));
    }

    #[test]
    fn effective_period_is_never_zero() {
        let requested = Duration::from_millis(4);
        let own = Duration::from_millis(50);
        assert_eq!(ReportPeriod::Honour.effective_period(requested), requested);
        assert_eq!(ReportPeriod::Override(own).effective_period(requested), own);
        assert_eq!(ReportPeriod::Honour.effective_period(Duration::ZERO), Duration::from_millis(1));
    }
}
