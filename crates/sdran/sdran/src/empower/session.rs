//! Functions common to the sessions of both versions: the connection, the peer's identity, and its last activity.
use super::{EmpowerEvent, EmpowerSessionSettings, SILENT_INTERVALS};
use crate::Time;
use crate::agent::{ControllerInput, ControllerOutput, SouthboundController, StreamBuffer};
use crate::empower::protocol::{EmpowerError, Mac};
use std::collections::VecDeque;
use std::time::Duration;

/// A controller's endpoint of one connection in one version. `own` is the state that is specific to the version. See the [module](super).
/// Messages are processed at once. A policy that accepts only known peers must check the hello first. It reads [`EmpowerEvent::Hello`], and
/// drops the session of an unknown peer.
#[derive(Debug)]
pub struct Session<V> {
    pub(super) settings: EmpowerSessionSettings,
    buffer: StreamBuffer,
    outputs: VecDeque<ControllerOutput<EmpowerEvent>>,
    pub(super) agent: Option<Mac>,
    /// Interval of the agent's hellos.
    interval: Duration,
    heard: Time,
    seq: u32,
    xid: u32,
    pub(super) own: V,
}

impl<V: Default> Session<V> {
    /// Creates a session before its start.
    pub fn new(settings: EmpowerSessionSettings) -> Self {
        Self {
            settings,
            buffer: StreamBuffer::default(),
            outputs: VecDeque::new(),
            agent: None,
            interval: Duration::ZERO,
            heard: Time::ZERO,
            seq: 0,
            xid: 0,
            own: V::default(),
        }
    }
}

impl<V> Session<V> {
    /// Returns the MAC address of the agent, after its hello.
    pub fn mac(&self) -> Option<Mac> {
        self.agent
    }

    /// Returns the time at which silence ends the connection. Returns `None` before the first hello.
    pub fn silent_at(&self) -> Option<Time> {
        self.agent.map(|_| self.heard + self.interval * SILENT_INTERVALS)
    }

    /// Buffers bytes from the socket, without processing them.
    pub fn hold(&mut self, octets: &[u8]) {
        self.buffer.extend(octets);
    }

    /// Returns the number of buffered, unprocessed bytes.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Records a hello. Returns whether it is the first one.
    pub(super) fn greeted(&mut self, now: Time, mac: Mac, interval: Duration) -> bool {
        self.interval = interval.max(Duration::from_millis(1));
        self.heard = now;
        self.event(EmpowerEvent::Hello { mac, interval });
        self.agent.replace(mac).is_none()
    }

    pub(super) fn event(&mut self, event: EmpowerEvent) {
        self.outputs.push_back(ControllerOutput::Event(event));
    }

    pub(super) fn next_xid(&mut self) -> u32 {
        self.xid = self.xid.wrapping_add(1);
        self.xid
    }

    /// Sends the message that `encode` writes. `encode` receives the address of the base station and the sequence number. Sends nothing
    /// before the hello of the base station.
    pub(super) fn send_octets(
        &mut self,
        encode: impl FnOnce(Mac, u32, &mut Vec<u8>) -> Result<(), EmpowerError>,
    ) {
        let Some(mac) = self.agent else { return };
        self.seq = self.seq.wrapping_add(1);
        let mut octets = Vec::new();
        match encode(mac, self.seq, &mut octets) {
            Ok(()) => self.outputs.push_back(ControllerOutput::Send(octets)),
            Err(error) => self.event(EmpowerEvent::Fault(format!("cannot encode a message: {error}"))),
        }
    }

    fn broken(&mut self, what: String) {
        self.event(EmpowerEvent::Fault(what));
        self.buffer.clear();
        self.outputs.push_back(ControllerOutput::Close);
    }
}

/// Functions specific to a version.
pub trait Version {
    /// Type of decoded messages.
    type Pdu;
    /// Function that returns the length of the message at the start of these bytes.
    const MESSAGE_BYTES: fn(&[u8]) -> Result<Option<usize>, EmpowerError>;
    /// Function that decodes a message.
    const DECODE: fn(&[u8]) -> Result<Self::Pdu, EmpowerError>;
    /// Processes a message.
    fn take(&mut self, now: Time, pdu: Self::Pdu);
    /// Sends requests that are due.
    fn ask_due(&mut self, now: Time);
    /// Returns the time of the next action that is not triggered by a message.
    fn due_at(&self) -> Option<Time>;
}

impl<V> Session<V>
where
    Self: Version,
{
    /// Processes at most one message. Returns whether a message was processed. The published controller runs on one thread, so a policy
    /// that models its time processes messages one by one.
    pub fn process_one(&mut self, now: Time) -> bool {
        let pdu = match self.buffer.next(Self::MESSAGE_BYTES) {
            Ok(None) => return false,
            Ok(Some(message)) => Self::DECODE(message),
            Err(error) => {
                self.broken(error.to_string());
                return false;
            }
        };
        match pdu {
            Ok(pdu) => self.take(now, pdu),
            Err(error) => self.event(EmpowerEvent::Fault(error.to_string())),
        }
        true
    }
}

impl<V: Default> SouthboundController for Session<V>
where
    Self: Version,
{
    type Event = EmpowerEvent;

    fn handle(&mut self, now: Time, input: ControllerInput<'_>) {
        match input {
            ControllerInput::Connected => {}
            ControllerInput::Received(octets) => {
                self.hold(octets);
                while self.process_one(now) {}
            }
            ControllerInput::Closed => {
                let outputs = std::mem::take(&mut self.outputs);
                *self = Self { outputs, ..Self::new(self.settings) };
            }
            ControllerInput::Wake => {
                if self.silent_at().is_some_and(|at| at <= now) {
                    self.agent = None;
                    return self.broken("the base station was silent for three hello intervals".to_owned());
                }
                self.ask_due(now);
            }
        }
    }

    fn poll(&mut self) -> Option<ControllerOutput<EmpowerEvent>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        [self.silent_at(), self.due_at()].into_iter().flatten().min()
    }
}
