//! What both versions' agents have in common: connection, timing, UEs, measurements.
use crate::Time;
use crate::southbound::{AgentCounters, AgentEvent, AgentOutput, Beat, StreamBuffer, UeTable};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Measurements held; more are refused with a fault.
pub(super) const MAX_MEASUREMENTS: usize = 20_000;

/// A periodical measurement of one UE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    pub(super) beat: Beat,
    /// Reports still to send; `None`: without end.
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
    pub(super) hello: Option<Beat>,
    pub(super) cell: Option<(Beat, u32)>,
    /// Measurements by C-RNTI and number; by deadline for the next one.
    pub(super) measurements: BTreeMap<(u16, u16), Measurement>,
    deadlines: std::collections::BTreeSet<(Time, u16, u16)>,
    connecting_at: Time,
    requested_at: Option<Time>,
    reporting: bool,
    /// The hello that is to be answered.
    pub(super) unanswered_since: Option<Time>,
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
        }
    }

    pub(super) fn connecting(&mut self, now: Time) {
        self.connecting_at = now;
    }

    pub(super) fn connected(&mut self, now: Time, hello: Duration) {
        self.connected = true;
        self.counters.connections += 1;
        self.seq = 0;
        self.unanswered_since = Some(now);
        self.hello = Some(Beat { due: now, period: hello.max(Duration::from_millis(1)) });
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
    }

    pub(super) fn next_seq(&mut self) -> u32 {
        self.seq = self.seq.wrapping_add(1);
        self.seq
    }

    pub(super) fn send(&mut self, octets: Vec<u8>, due: Option<Time>) {
        if self.connected {
            self.counters.sent += 1;
            self.counters.sent_bytes += octets.len() as u64;
            self.counters.reports += u64::from(due.is_some());
            self.outputs.push_back(AgentOutput::Send { octets, due });
        }
    }

    pub(super) fn fault(&mut self, what: String) {
        self.counters.faults += 1;
        self.outputs.push_back(AgentOutput::Event(AgentEvent::Fault(what)));
    }

    pub(super) fn broken(&mut self, what: String) {
        self.fault(what);
        self.buffer.clear();
        self.outputs.push_back(AgentOutput::Close);
    }

    /// A configuration request came.
    pub(super) fn requested(&mut self, now: Time) {
        self.requested_at = Some(now);
    }

    /// The first request for reports came.
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

    /// Measurements that `which` names end.
    pub(super) fn stop_all(&mut self, which: impl Fn(u16, &Measurement) -> bool) {
        let ended: Vec<(u16, u16)> =
            self.measurements.iter().filter(|((rnti, _), m)| which(*rnti, m)).map(|(key, _)| *key).collect();
        ended.into_iter().for_each(|(rnti, id)| self.stop(rnti, id));
    }

    /// A measurement that is due, moved on to its next time; with the time that it was due at.
    pub(super) fn due(&mut self, now: Time) -> Option<(u16, Measurement, Time)> {
        let &(due, rnti, id) = self.deadlines.first().filter(|(due, ..)| *due <= now)?;
        self.deadlines.pop_first();
        let measurement = self.measurements.get_mut(&(rnti, id))?;
        let told = *measurement;
        self.counters.skipped += measurement.beat.advance(now);
        let left = measurement.left.map(|left| left.saturating_sub(1));
        measurement.left = left;
        let next = measurement.beat.due;
        if left == Some(0) {
            self.measurements.remove(&(rnti, id));
        } else {
            self.deadlines.insert((next, rnti, id));
        }
        Some((rnti, told, due))
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let cell = self.cell.map(|(beat, _)| beat.due);
        let ue = self.deadlines.first().map(|(due, ..)| *due);
        [self.hello.map(|beat| beat.due), cell, ue].into_iter().flatten().min()
    }

    /// Whether a beat is due; moves it on.
    pub(super) fn strike(beat: &mut Beat, now: Time, skipped: &mut u64) -> Option<Time> {
        (beat.due <= now).then(|| {
            let due = beat.due;
            *skipped += beat.advance(now);
            due
        })
    }
}
