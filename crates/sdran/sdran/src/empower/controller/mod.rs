//! Controller with the behaviour of 5G-EmPOWER. It accepts only registered base stations, receives one message per UE and measurement, and
//! has one thread.
//!
//! The message rate limits the controller. An interpreter that needs about 350 us per message ([`EmpowerControllerSettings::message_cost`])
//! processes 2,900 messages per second. Above that rate, hello messages wait in the socket buffers behind reports. From three times that
//! rate on, two hellos are processed more than three intervals apart. The heartbeat check then runs **before** the next read. It finds all
//! base stations silent, declares them dead and removes their UEs.

use crate::agent::{ControllerInput, ControllerOutput, SouthboundController};
use crate::controller::{Action, Clock, ConnectionId, ControllerCounters};
use crate::empower::protocol::Mac;
use crate::empower::{EmpowerEvent, EmpowerSession1, EmpowerSession2, EmpowerSessionSettings};
use ranlab_machine::Time;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Interval of the published controller's check for silent base stations.
pub const HEARTBEAT: Duration = Duration::from_millis(500);
/// Number of buffered bytes of a connection above which the connection is no longer read.
pub const MAX_HELD_BYTES: usize = 256 << 10;

/// Protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EmpowerVersion {
    /// The version measured in the MARC paper.
    #[default]
    V1,
    /// The current version, which keeps only one connection per source address.
    V2,
}

/// Base stations that may join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registry {
    /// All base stations may join. This extends the published controller.
    Everybody,
    /// Only the listed base stations may join.
    Registered(BTreeSet<Mac>),
}

/// Configuration of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmpowerControllerSettings {
    /// Protocol version.
    pub version: EmpowerVersion,
    /// Base stations that may join.
    pub registry: Registry,
    /// Requests to base stations.
    pub session: EmpowerSessionSettings,
    /// CPU time per message in addition to the actual processing. 350 us emulate the published controller, 0 adds no time.
    pub message_cost: Duration,
}

impl Default for EmpowerControllerSettings {
    fn default() -> Self {
        Self {
            version: EmpowerVersion::V1,
            registry: Registry::Registered(BTreeSet::new()),
            session: EmpowerSessionSettings::default(),
            message_cost: Duration::ZERO,
        }
    }
}

/// UE known to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KnownUe {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// IMSI of the UE.
    pub imsi: u64,
    /// Last RSRP report.
    pub rsrp: Option<i16>,
    /// Last RSRQ report.
    pub rsrq: Option<i16>,
    /// Number of measurements.
    pub measured: u64,
}

/// Base station known to the controller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vbs {
    /// Whether the base station is connected.
    pub online: bool,
    /// Physical cell id, if it is known.
    pub pci: Option<u16>,
    /// Number of resource blocks of the cell.
    pub prbs: u16,
    /// Resource blocks in use at the last measurement, in downlink and uplink.
    pub used: (u32, u32),
    /// UEs by C-RNTI.
    pub ues: BTreeMap<u16, KnownUe>,
    /// Resource block groups of each slice, by DSCP.
    pub slices: BTreeMap<u8, u16>,
}

#[derive(Debug)]
enum Session {
    V1(EmpowerSession1),
    V2(EmpowerSession2),
}

impl Session {
    fn hold(&mut self, octets: &[u8]) {
        match self {
            Self::V1(session) => session.hold(octets),
            Self::V2(session) => session.hold(octets),
        }
    }
    fn held_bytes(&self) -> usize {
        match self {
            Self::V1(session) => session.held_bytes(),
            Self::V2(session) => session.held_bytes(),
        }
    }
    fn process_one(&mut self, now: Time) -> bool {
        match self {
            Self::V1(session) => session.process_one(now),
            Self::V2(session) => session.process_one(now),
        }
    }
    fn wake(&mut self, now: Time) {
        match self {
            Self::V1(session) => session.handle(now, ControllerInput::Wake),
            Self::V2(session) => session.handle(now, ControllerInput::Wake),
        }
    }
    fn silent_at(&self) -> Option<Time> {
        match self {
            Self::V1(session) => session.silent_at(),
            Self::V2(session) => session.silent_at(),
        }
    }
    fn mac(&self) -> Option<Mac> {
        match self {
            Self::V1(session) => session.mac(),
            Self::V2(session) => session.mac(),
        }
    }
    fn poll(&mut self) -> Option<ControllerOutput<EmpowerEvent>> {
        match self {
            Self::V1(session) => session.poll(),
            Self::V2(session) => session.poll(),
        }
    }
}

#[derive(Debug)]
struct Connection {
    session: Session,
    source: String,
    ready: bool,
}

/// Controller without transport; see the [module](self).
#[derive(Debug)]
pub struct EmpowerController {
    settings: EmpowerControllerSettings,
    connections: BTreeMap<ConnectionId, Connection>,
    ready: VecDeque<ConnectionId>,
    stations: BTreeMap<Mac, Vbs>,
    actions: VecDeque<(ConnectionId, Action)>,
    counters: ControllerCounters,
    next_heartbeat: Time,
}

impl EmpowerController {
    /// Returns a controller without base stations.
    pub fn new(settings: EmpowerControllerSettings) -> Self {
        Self {
            settings,
            connections: BTreeMap::new(),
            ready: VecDeque::new(),
            stations: BTreeMap::new(),
            actions: VecDeque::new(),
            counters: ControllerCounters::default(),
            next_heartbeat: Time::ZERO,
        }
    }

    /// Registers a connection from `source`, an address without port.
    pub fn connected(&mut self, id: ConnectionId, source: &str) {
        self.counters.connections += 1;
        let session = match self.settings.version {
            EmpowerVersion::V1 => Session::V1(EmpowerSession1::new(self.settings.session)),
            EmpowerVersion::V2 => {
                // The older connection is closed, because the published controller keeps only one connection per source address.
                let older: Vec<ConnectionId> = self
                    .connections
                    .iter()
                    .filter(|(_, connection)| connection.source == source)
                    .map(|(id, _)| *id)
                    .collect();
                older.into_iter().for_each(|older| self.end(older));
                Session::V2(EmpowerSession2::new(self.settings.session))
            }
        };
        let source = source.to_owned();
        self.connections.insert(id, Connection { session, source, ready: false });
    }

    /// Buffers received bytes until [`Self::work`] processes them.
    pub fn received(&mut self, id: ConnectionId, octets: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.session.hold(octets);
        self.counters.received_bytes += octets.len() as u64;
        if !std::mem::replace(&mut connection.ready, true) {
            self.ready.push_back(id);
        }
    }

    /// Returns whether a connection may be read now.
    pub fn may_read(&mut self, id: ConnectionId) -> bool {
        let room = self
            .connections
            .get(&id)
            .is_none_or(|connection| connection.session.held_bytes() < MAX_HELD_BYTES);
        self.counters.back_pressure += u64::from(!room);
        room
    }

    /// Handles the end of a connection.
    pub fn closed(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        if let Some(station) = connection.session.mac().and_then(|mac| self.stations.get_mut(&mac)) {
            station.online = false;
            station.ues.clear();
        }
    }

    fn end(&mut self, id: ConnectionId) {
        self.closed(id);
        self.actions.push_back((id, Action::Close));
    }

    /// Works for at most `budget`, on one message per connection in rotation. Returns `true` if there is more work. As in the published
    /// controller, the heartbeat check comes first.
    pub fn work(&mut self, clock: &mut dyn Clock, budget: Duration) -> bool {
        let began = clock.now();
        if self.next_heartbeat <= began {
            self.next_heartbeat = began + HEARTBEAT;
            self.heartbeat(began);
        }
        while clock.now().since(began) < budget {
            let Some(id) = self.ready.pop_front() else { return false };
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            let before = connection.session.held_bytes();
            let now = clock.now();
            let more = connection.session.process_one(now);
            let octets = before - connection.session.held_bytes();
            connection.ready = more;
            if more {
                self.ready.push_back(id);
                self.counters.received += 1;
                self.counters.processed += 1;
                clock.message(octets);
                clock.spend(self.settings.message_cost);
            }
            self.drain(id);
        }
        !self.ready.is_empty()
    }

    /// Returns the time at which [`Self::work`] must be called. While messages are buffered, it is the current time. Otherwise, it is the
    /// time of the next heartbeat check.
    pub fn wake_at(&self) -> Time {
        if self.ready.is_empty() { self.next_heartbeat } else { Time::ZERO }
    }

    fn heartbeat(&mut self, now: Time) {
        let silent = |connection: &Connection| connection.session.silent_at().is_some_and(|at| at <= now);
        let dead: Vec<ConnectionId> =
            self.connections.iter().filter(|(_, connection)| silent(connection)).map(|(id, _)| *id).collect();
        for id in dead {
            self.counters.declared_dead += 1;
            self.end(id);
        }
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.session.wake(now);
            }
            self.drain(id);
        }
    }

    fn drain(&mut self, id: ConnectionId) {
        loop {
            let Some(connection) = self.connections.get_mut(&id) else { return };
            let Some(output) = connection.session.poll() else { return };
            match output {
                ControllerOutput::Send(octets) => {
                    self.counters.sent += 1;
                    self.counters.sent_bytes += octets.len() as u64;
                    self.actions.push_back((id, Action::Send(octets)));
                }
                ControllerOutput::Close => return self.end(id),
                ControllerOutput::Event(event) => {
                    let mac = connection.session.mac();
                    self.take(id, mac, event);
                }
            }
        }
    }

    fn take(&mut self, id: ConnectionId, mac: Option<Mac>, event: EmpowerEvent) {
        if let EmpowerEvent::Hello { mac, .. } = event {
            let known = match &self.settings.registry {
                Registry::Everybody => true,
                Registry::Registered(macs) => macs.contains(&mac),
            };
            if !known {
                // The published controller logs "Unknown VBS, closing connection" in this case.
                self.counters.refused += 1;
                return self.end(id);
            }
            self.stations.entry(mac).or_default().online = true;
            return;
        }
        let Some(station) = mac.and_then(|mac| self.stations.get_mut(&mac)) else { return };
        match event {
            EmpowerEvent::Capabilities { pci, prbs } => (station.pci, station.prbs) = (Some(pci), prbs),
            EmpowerEvent::UeUp(ue) => {
                let rnti = ue.rnti;
                let imsi = ue.imsi;
                station.ues.insert(rnti, KnownUe { rnti, imsi, rsrp: None, rsrq: None, measured: 0 });
            }
            EmpowerEvent::UeDown(ue) => {
                station.ues.remove(&ue.rnti);
            }
            EmpowerEvent::UeMeasured { rnti, rsrp, rsrq } => match station.ues.get_mut(&rnti) {
                Some(ue) => {
                    (ue.rsrp, ue.rsrq) = (Some(rsrp), Some(rsrq));
                    ue.measured += 1;
                }
                None => self.counters.discarded += 1,
            },
            EmpowerEvent::CellMeasured { dl_prbs, ul_prbs } => station.used = (dl_prbs, ul_prbs),
            EmpowerEvent::Slice { dscp, rbgs } => {
                station.slices.insert(dscp, rbgs);
            }
            EmpowerEvent::Discarded => self.counters.discarded += 1,
            EmpowerEvent::Fault(_) => self.counters.faults += 1,
            _ => {}
        }
    }

    /// Returns the next action on a connection.
    pub fn poll(&mut self) -> Option<(ConnectionId, Action)> {
        self.actions.pop_front()
    }

    /// Counts a connection that was closed because the base station did not read.
    pub fn not_reading(&mut self) {
        self.counters.not_reading += 1;
    }

    /// Registers a base station.
    pub fn register(&mut self, mac: Mac) {
        if let Registry::Registered(macs) = &mut self.settings.registry {
            macs.insert(mac);
        }
        self.stations.entry(mac).or_default();
    }

    /// Returns the base stations that are registered, or that have connected.
    pub fn stations(&self) -> &BTreeMap<Mac, Vbs> {
        &self.stations
    }

    /// Returns the counters.
    pub fn counters(&self) -> &ControllerCounters {
        &self.counters
    }
}

#[cfg(test)]
mod tests;
