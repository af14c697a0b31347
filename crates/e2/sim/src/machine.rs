//! Common interface of RICs, agents, xApps and the impostor.
use crate::action::Action;
use crate::impostor::Impostor;
use bytes::Bytes;
use ranlab_e2::agent::{Agent, AgentInput, AgentOutput, ControllerId};
use ranlab_e2::ric::{ConnId, Ric, RicEvent, RicInput, RicOutput};
use ranlab_e2::xapp::{Xapp, XappInput, XappOutput};
use ranlab_e2::{Frame, LinkLoss, Time};

/// A machine of a party. The key of a connection is a controller number at an agent, a connection number at a RIC,
/// and 0 at an xApp.
#[derive(Debug)]
pub(crate) enum Machine {
    Agent(Box<Agent>),
    Ric(Box<Ric>),
    Xapp(Box<Xapp>),
    Impostor(Box<Impostor>),
}

fn controller(key: u64) -> ControllerId {
    ControllerId(u32::try_from(key).unwrap_or(u32::MAX))
}

impl Machine {
    pub(crate) fn connected(&mut self, now: Time, key: u64) {
        match self {
            Self::Agent(m) => m.handle(now, AgentInput::Connected { controller: controller(key) }),
            Self::Xapp(m) => m.handle(now, XappInput::Connected),
            Self::Impostor(m) => m.connected(now),
            Self::Ric(m) => m.handle(now, RicInput::Dialled { conn: ConnId(key) }),
        }
    }

    pub(crate) fn received(&mut self, now: Time, key: u64, pdu: Bytes) {
        match self {
            Self::Agent(m) => m.handle(now, AgentInput::Received { controller: controller(key), pdu }),
            Self::Ric(m) => m.handle(now, RicInput::Received { conn: ConnId(key), pdu }),
            Self::Xapp(m) => m.handle(now, XappInput::Received { pdu }),
            Self::Impostor(m) => m.received(now, &pdu),
        }
    }

    pub(crate) fn disconnected(&mut self, now: Time, key: u64) {
        let why = LinkLoss::ClosedByPeer;
        match self {
            Self::Agent(m) => m.handle(now, AgentInput::Disconnected { controller: controller(key), why }),
            Self::Ric(m) => m.handle(now, RicInput::Disconnected { conn: ConnId(key), why }),
            Self::Xapp(m) => m.handle(now, XappInput::Disconnected { why }),
            Self::Impostor(m) => m.disconnected(now),
        }
    }

    /// Reports to a RIC the end of a connection that the RIC has closed. Other machines discard a connection when they
    /// close it.
    pub(crate) fn closed(&mut self, now: Time, key: u64) {
        if let Self::Ric(m) = self {
            m.handle(now, RicInput::Disconnected { conn: ConnId(key), why: LinkLoss::ClosedByPeer });
        }
    }

    pub(crate) fn wake(&mut self, now: Time) {
        match self {
            Self::Agent(m) => m.handle(now, AgentInput::Wake),
            Self::Ric(m) => m.handle(now, RicInput::Wake),
            Self::Xapp(m) => m.handle(now, XappInput::Wake),
            Self::Impostor(m) => m.wake(now),
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Time> {
        match self {
            Self::Agent(m) => m.wake_at(),
            Self::Ric(m) => m.wake_at(),
            Self::Xapp(m) => m.wake_at(),
            Self::Impostor(m) => Some(m.wake_at()),
        }
    }

    pub(crate) fn transmit(&mut self, now: Time, key: u64) -> Option<Frame> {
        match self {
            Self::Agent(m) => m.transmit(now, controller(key)),
            Self::Ric(m) => m.transmit(now, ConnId(key)),
            Self::Xapp(m) => m.transmit(now),
            Self::Impostor(m) => m.transmit(),
        }
    }

    pub(crate) fn transport_full(&mut self, key: u64) {
        match self {
            Self::Agent(m) => m.transport_full(controller(key)),
            Self::Ric(m) => m.transport_full(ConnId(key)),
            Self::Xapp(m) => m.transport_full(),
            Self::Impostor(_) => {}
        }
    }

    /// Returns the next action. With `noting`, events include a text for the trace.
    pub(crate) fn poll(&mut self, noting: bool) -> Option<Action> {
        let note = |event: &dyn std::fmt::Debug| {
            Action::Note(if noting { format!("{event:?}") } else { String::new() })
        };
        Some(match self {
            Self::Agent(m) => match m.poll()? {
                AgentOutput::Connect { controller, address } => Action::Connect(controller.0.into(), address),
                AgentOutput::Transmit { controller } => Action::Transmit(controller.0.into()),
                AgentOutput::Close { controller, reason } => {
                    Action::Close(controller.0.into(), reason.to_string())
                }
                AgentOutput::Event(event) => note(&event),
            },
            Self::Ric(m) => match m.poll()? {
                RicOutput::Transmit(conn) => Action::Transmit(conn.0),
                RicOutput::Connect { conn, address } => Action::Connect(conn.0, address),
                RicOutput::Close { conn, reason } => Action::Close(conn.0, reason),
                RicOutput::Event(RicEvent::Reply(reply)) => Action::Reply(reply),
                RicOutput::Event(RicEvent::Bus(ask)) => Action::Bus(ask),
                RicOutput::Event(event) => note(&event),
            },
            Self::Xapp(m) => match m.poll()? {
                XappOutput::Connect { address } => Action::Connect(0, address),
                XappOutput::Transmit => Action::Transmit(0),
                XappOutput::Close { reason } => Action::Close(0, reason.to_string()),
                XappOutput::Event(event) => Action::Xapp(event),
            },
            Self::Impostor(m) => m.poll()?,
        })
    }
}
