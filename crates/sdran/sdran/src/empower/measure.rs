//! Functions common to the agents of both versions: connection, timing, UEs, measurements.
use super::EmpowerAgentSettings;
use crate::Time;
use crate::agent::{
    AgentCounters, AgentEvent, AgentInput, AgentOutput, PeriodicTimer, SouthboundAgent, StreamBuffer, Ue,
    UeEvent, UeTable,
};
use crate::empower::protocol::EmpowerError;
use ranlab_machine::support::Element;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Maximum number of measurements. Further measurements are refused with a fault.
pub(super) const MAX_MEASUREMENTS: usize = 20_000;

/// A periodic measurement of one UE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    pub(super) beat: PeriodicTimer,
    /// Number of remaining reports. `None`: unlimited.
    pub(super) left: Option<u32>,
    pub(super) xid: u32,
    pub(super) id: u16,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) buffer: StreamBuffer,
    pub(super) outputs: VecDeque<AgentOutput>,
    pub(super) ues: UeTable,
    pub(super) counters: AgentCounters,
    pub(super) connected: bool,
    pub(super) delegated: bool,
    pub(super) seq: u32,
    pub(super) hello: Option<PeriodicTimer>,
    pub(super) cell: Option<(PeriodicTimer, u32)>,
    /// Measurements by C-RNTI and number. The next field orders them by deadline.
    pub(super) measurements: BTreeMap<(u16, u16), Measurement>,
    deadlines: std::collections::BTreeSet<(Time, u16, u16)>,
    connecting_at: Time,
    requested_at: Option<Time>,
    reporting: bool,
    /// Time of the first hello that has no response yet.
    pub(super) unanswered_since: Option<Time>,
    /// Transaction id of UE reports, if they were requested.
    pub(super) report_xid: Option<u32>,
    used_prbs: (u32, u32),
}

impl Core {
    pub(super) fn new(max_ues: usize) -> Self {
        Self {
            buffer: StreamBuffer::default(),
            outputs: VecDeque::new(),
            ues: UeTable::new(max_ues),
            counters: AgentCounters::default(),
            connected: false,
            delegated: false,
            seq: 0,
            hello: None,
            cell: None,
            measurements: BTreeMap::new(),
            deadlines: std::collections::BTreeSet::new(),
            connecting_at: Time::ZERO,
            requested_at: None,
            reporting: false,
            unanswered_since: None,
            report_xid: None,
            used_prbs: (0, 0),
        }
    }

    /// Adds the resource blocks in the last reports of all UEs to the totals of the cell. Returns the totals of downlink and uplink.
    pub(super) fn use_prbs(&mut self) -> (u32, u32) {
        let used: u32 = self.ues.iter().map(|(_, ue)| u32::from(ue.radio.prbs)).sum();
        self.used_prbs = (self.used_prbs.0.wrapping_add(used), self.used_prbs.1.wrapping_add(used / 2));
        self.used_prbs
    }

    pub(super) fn connecting(&mut self, now: Time) {
        self.connecting_at = now;
    }

    pub(super) fn connected(&mut self, now: Time, hello: Duration) {
        self.connected = true;
        self.counters.connections += 1;
        self.seq = 0;
        self.unanswered_since = Some(now);
        self.hello = Some(PeriodicTimer { due: now, period: hello.max(Duration::from_millis(1)) });
    }

    pub(super) fn closed(&mut self) {
        self.connected = false;
        self.buffer.clear();
        self.hello = None;
        self.cell = None;
        self.measurements.clear();
        self.deadlines.clear();
        self.requested_at = None;
        self.reporting = false;
        self.unanswered_since = None;
        self.report_xid = None;
    }

    pub(super) fn next_seq(&mut self) -> u32 {
        self.seq = self.seq.wrapping_add(1);
        self.seq
    }

    /// Sends the bytes that `encode` writes.
    pub(super) fn send(
        &mut self,
        due_at: Option<Time>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), EmpowerError>,
    ) {
        let mut octets = Vec::new();
        if let Err(error) = encode(&mut octets) {
            return self.fault(format!("cannot encode a message: {error}"));
        }
        if self.connected {
            self.counters.sent += 1;
            self.counters.sent_bytes += octets.len() as u64;
            self.counters.reports += u64::from(due_at.is_some());
            self.outputs.push_back(AgentOutput::Send { octets, due: due_at });
        }
    }

    pub(super) fn fault(&mut self, what: String) {
        self.counters.faults += 1;
        self.outputs.push_back(AgentOutput::Event(AgentEvent::Fault(what)));
    }

    /// Reports that a message contains an element that is not supported.
    pub(super) fn refuse(&mut self, element: &Element) {
        self.counters.refused_commands += 1;
        let what = format!("the base station does not support {element}");
        self.outputs.push_back(AgentOutput::Event(AgentEvent::Refused(what)));
    }

    pub(super) fn broken(&mut self, what: String) {
        self.fault(what);
        self.buffer.clear();
        self.outputs.push_back(AgentOutput::Close);
    }

    /// Records a configuration request.
    pub(super) fn requested(&mut self, now: Time) {
        self.requested_at = Some(now);
    }

    /// Records the first request for reports.
    pub(super) fn initialised(&mut self, now: Time) {
        if !std::mem::replace(&mut self.reporting, true) {
            self.counters.initialised += 1;
            let to_reporting = now.since(self.connecting_at);
            let to_requests = self.requested_at.map_or(to_reporting, |at| at.since(self.connecting_at));
            self.outputs.push_back(AgentOutput::Event(AgentEvent::Initialised { to_requests, to_reporting }));
        }
    }

    pub(super) fn is_reporting(&self) -> bool {
        self.reporting
    }

    pub(super) fn measure(&mut self, rnti: u16, measurement: Measurement) {
        self.stop(rnti, measurement.id);
        if self.measurements.len() >= MAX_MEASUREMENTS {
            return self.fault(format!("more than {MAX_MEASUREMENTS} measurements"));
        }
        self.deadlines.insert((measurement.beat.due, rnti, measurement.id));
        self.measurements.insert((rnti, measurement.id), measurement);
    }

    pub(super) fn stop(&mut self, rnti: u16, id: u16) {
        if let Some(old) = self.measurements.remove(&(rnti, id)) {
            self.deadlines.remove(&(old.beat.due, rnti, id));
        }
    }

    /// Ends the measurements that `which` selects.
    pub(super) fn stop_all(&mut self, which: impl Fn(u16, &Measurement) -> bool) {
        let ended: Vec<(u16, u16)> =
            self.measurements.iter().filter(|((rnti, _), m)| which(*rnti, m)).map(|(key, _)| *key).collect();
        ended.into_iter().for_each(|(rnti, id)| self.stop(rnti, id));
    }

    /// Returns a measurement that is due, with its due time. Schedules its next report.
    pub(super) fn due(&mut self, now: Time) -> Option<(u16, Measurement, Time)> {
        let &(due_at, rnti, id) = self.deadlines.first().filter(|(due_at, ..)| *due_at <= now)?;
        self.deadlines.pop_first();
        let measurement = self.measurements.get_mut(&(rnti, id))?;
        let answered = *measurement;
        self.counters.skipped += measurement.beat.advance(now);
        let left = measurement.left.map(|left| left.saturating_sub(1));
        measurement.left = left;
        let next = measurement.beat.due;
        if left == Some(0) {
            self.measurements.remove(&(rnti, id));
        } else {
            self.deadlines.insert((next, rnti, id));
        }
        Some((rnti, answered, due_at))
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let cell = self.cell.map(|(beat, _)| beat.due);
        let ue = self.deadlines.first().map(|(due_at, ..)| *due_at);
        [self.hello.map(|beat| beat.due), cell, ue].into_iter().flatten().min()
    }

    /// Returns the due time of a timer if it is due, and advances the timer.
    pub(super) fn strike(beat: &mut PeriodicTimer, now: Time, skipped: &mut u64) -> Option<Time> {
        (beat.due <= now).then(|| {
            let due_at = beat.due;
            *skipped += beat.advance(now);
            due_at
        })
    }
}

/// An agent of one version. `own` is the state that is specific to the version, in addition to the [`Core`]. See the [module](super).
#[derive(Debug)]
pub struct Agent<V> {
    pub(super) settings: EmpowerAgentSettings,
    pub(super) core: Core,
    pub(super) own: V,
}

impl<V: Default> Agent<V> {
    /// Creates a disconnected agent.
    pub fn new(settings: EmpowerAgentSettings) -> Self {
        Self { core: Core::new(settings.max_ues), own: V::default(), settings }
    }
}

/// Functions specific to a version.
pub(super) trait Station {
    /// Type of decoded messages.
    type Pdu;
    /// Function that returns the length of the message at the start of these bytes.
    const MESSAGE_BYTES: fn(&[u8]) -> Result<Option<usize>, EmpowerError>;
    /// Function that decodes a message.
    const DECODE: fn(&[u8]) -> Result<Self::Pdu, EmpowerError>;
    /// Processes a message.
    fn take(&mut self, now: Time, pdu: Self::Pdu);
    /// Processes a change of a UE.
    fn changed(&mut self, event: UeEvent);
    /// Sends messages that are due.
    fn wake(&mut self, now: Time);
}

fn receive<V>(agent: &mut Agent<V>, now: Time, octets: &[u8])
where
    Agent<V>: Station,
{
    agent.core.buffer.extend(octets);
    loop {
        let (pdu, len) = match agent.core.buffer.next(Agent::<V>::MESSAGE_BYTES) {
            Ok(None) => return,
            Ok(Some(message)) => (Agent::<V>::DECODE(message), message.len()),
            Err(error) => return agent.core.broken(error.to_string()),
        };
        agent.core.counters.received += 1;
        agent.core.counters.received_bytes += len as u64;
        match pdu {
            Ok(pdu) => agent.take(now, pdu),
            Err(error) => agent.core.fault(error.to_string()),
        }
    }
}

impl<V> SouthboundAgent for Agent<V>
where
    Self: Station,
{
    fn handle(&mut self, now: Time, input: AgentInput<'_>) {
        match input {
            AgentInput::Connecting => self.core.connecting(now),
            AgentInput::Connected => self.core.connected(now, self.settings.hello),
            AgentInput::Received(octets) => receive(self, now, octets),
            AgentInput::Closed => self.core.closed(),
            AgentInput::Ue(event) => self.changed(event),
            AgentInput::Delegated(to_agent) => self.core.delegated = to_agent,
            AgentInput::HandoverEnded { .. } | AgentInput::Wake => {}
        }
        self.wake(now);
    }

    fn poll(&mut self) -> Option<AgentOutput> {
        self.core.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        self.core.wake_at()
    }

    fn is_reporting(&self) -> bool {
        self.core.is_reporting()
    }

    fn counters(&self) -> &AgentCounters {
        &self.core.counters
    }

    fn ues(&self) -> usize {
        self.core.ues.len()
    }

    fn announced_ues(&self) -> usize {
        self.core.report_xid.map_or(0, |_| self.core.ues.len())
    }

    fn unanswered_since(&self) -> Option<Time> {
        self.core.unanswered_since
    }

    fn ue(&self, rnti: u16) -> Option<Ue> {
        self.core.ues.get(rnti).copied()
    }
}
