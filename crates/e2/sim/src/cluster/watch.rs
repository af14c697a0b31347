//! Observes ownership after each step, acknowledgements, and received reports.
use super::history::History;
use crate::party::PartyId;
use crate::tracer_function::TracerLog;
use crate::world::World;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::xapp::{ControlHandle, XappEvent};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// A node of the world, and the controls that its functions executed.
pub(super) struct Station {
    pub(super) node: GlobalE2NodeId,
    pub(super) logbook: TracerLog,
    executed: BTreeSet<u64>,
}

impl Station {
    pub(super) fn new(node: GlobalE2NodeId, logbook: TracerLog) -> Self {
        Self { node, logbook, executed: BTreeSet::new() }
    }
}

/// Observed state of a world with several RICs.
#[derive(Default)]
pub(super) struct Watcher {
    pub(super) history: History,
    pub(super) rics: Vec<PartyId>,
    pub(super) clients: Vec<PartyId>,
    pub(super) stations: Vec<Station>,
    /// Pending controls by client and handle: the station, and the number in the control message.
    pending: BTreeMap<(PartyId, ControlHandle), (usize, u64)>,
    next_control: u64,
    /// Time at which each client last received a report from each node.
    pub(super) last_report: BTreeMap<(PartyId, GlobalE2NodeId), Time>,
    pub(super) acknowledged: u64,
    pub(super) refused: u64,
    pub(super) indications: u64,
}

impl Watcher {
    /// Observes all state that may have changed in the last step.
    pub(super) fn observe(&mut self, world: &mut World) -> Result<(), String> {
        let now = world.now();
        for (at, &party) in self.rics.iter().enumerate() {
            let Some(directory) = world.look_at_ric(party).and_then(|ric| ric.directory()) else {
                self.history.gone(now, at);
                continue;
            };
            let until = directory.lease_until().map_or(Time::ZERO, |until| world.true_time(party, until));
            let owned: Vec<_> = directory.held().map(|(node, _)| (*node, until)).collect();
            self.history.see(now, (at, world.life_of(party)), &owned)?;
        }
        for (client, event) in world.take_heard() {
            self.on_event(now, client, event)?;
        }
        Ok(())
    }

    fn on_event(&mut self, now: Time, client: PartyId, event: XappEvent) -> Result<(), String> {
        match event {
            XappEvent::Indication { node, .. } => {
                self.indications += 1;
                self.last_report.insert((client, node), now);
            }
            XappEvent::ControlAcknowledged { handle, .. } => {
                let Some((station, number)) = self.pending.remove(&(client, handle)) else { return Ok(()) };
                self.acknowledged += 1;
                self.read(station)?;
                let station = &self.stations[station];
                if !station.executed.contains(&number) {
                    return Err(format!(
                        "control {number} is acknowledged, but {} never received it",
                        station.node
                    ));
                }
            }
            XappEvent::ControlFailed { handle, .. } => {
                self.refused += u64::from(self.pending.remove(&(client, handle)).is_some());
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the control messages that a station's functions received since the last call.
    fn read(&mut self, station: usize) -> Result<(), String> {
        let station = &mut self.stations[station];
        for message in station.logbook.take_controls() {
            let Some(number) = message.get(..8).and_then(|it| it.try_into().ok()).map(u64::from_le_bytes)
            else {
                continue;
            };
            if !station.executed.insert(number) {
                return Err(format!("control {number} reached {} twice", station.node));
            }
        }
        Ok(())
    }

    /// Sends a control from a client to a station, if the client knows it.
    pub(super) fn control(&mut self, world: &mut World, client: PartyId, station: usize, function: &str) {
        self.next_control += 1;
        let number = self.next_control;
        let node = self.stations[station].node;
        let message = Bytes::copy_from_slice(&number.to_le_bytes());
        let sent = world.with_client(client, |xapp, now| {
            let sent = xapp.control(now, node, function, Bytes::new(), message, true);
            xapp.handle(now, ranlab_e2::xapp::XappInput::Wake);
            sent
        });
        if let Some(Ok(handle)) = sent {
            self.pending.insert((client, handle), (station, number));
        }
    }
}
