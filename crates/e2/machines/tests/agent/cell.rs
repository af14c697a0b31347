//! A cell without a radio that records its commands, for tests of the functions that control one.
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, UeFilter, UeId};
use ranlab_e2::functions::rrc::RrcSource;
use ranlab_e2::functions::slice::{Progress, SliceControl};
use ranlab_e2::functions::traffic::TrafficControl;
use ranlab_e2::functions::{rrc, slice, traffic};
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{RrcChange, RrcEvent, RrcHandover};
use ranlab_e2_codec::e2sm::slice::{
    Slice, SliceAllocation, SliceCommand, SliceIndication, SliceSet, SliceShare, UeSlice,
};
use ranlab_e2_codec::e2sm::traffic::{
    BearerId, BearerTraffic, Queue, QueueState, TrafficCommand, TrafficConfig, TrafficIndication,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) set: SliceSet,
    /// UEs and their slices.
    pub(crate) slices: BTreeMap<u16, u16>,
    pub(crate) bearers: BTreeMap<BearerId, TrafficConfig>,
    pub(crate) allocations: Vec<SliceAllocation>,
    /// Mean queueing time in each bearer's RLC buffer, in microseconds.
    pub(crate) rlc_sojourn_us: u32,
    ues: BTreeMap<u16, RrcEvent>,
    events: Vec<RrcEvent>,
}

#[derive(Clone, Default)]
pub(crate) struct MockCell(Arc<Mutex<State>>);

pub(crate) const PRBS: u16 = 106;
pub(crate) const SLICE: u16 = e2sm::slice::DEFAULT_FUNCTION_ID;
pub(crate) const TRAFFIC: u16 = e2sm::traffic::DEFAULT_FUNCTION_ID;
pub(crate) const RRC: u16 = e2sm::rrc::DEFAULT_FUNCTION_ID;

impl MockCell {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Registers all three functions.
    pub(crate) fn register(&self, agent: &mut Agent) {
        agent.register(slice::function(self.clone()), Some(SLICE)).unwrap();
        agent.register(traffic::function(self.clone()), Some(TRAFFIC)).unwrap();
        agent.register(rrc::function(self.clone()), Some(RRC)).unwrap();
    }

    pub(crate) fn attach(&self, agent: &mut Agent, rnti: u16, plmn: Plmn, snssai: Option<Snssai>) {
        let snssais = snssai.into_iter().collect();
        let event = RrcEvent { change: RrcChange::Attach, rnti, cell_id: 0, plmn, snssais, other: None };
        agent.ue_arrived(UeId(rnti.into())).unwrap();
        let mut state = self.state();
        state.ues.insert(rnti, RrcEvent { change: RrcChange::Connected, ..event.clone() });
        state.bearers.insert(BearerId { rnti, rbid: 1 }, TrafficConfig::default());
        state.events.push(event);
    }

    /// Attaches the UE of a CU in one of its cells; see [`attach`](Self::attach).
    #[allow(dead_code)] // unused by some crates that include this file
    pub(crate) fn connect(&self, agent: &mut Agent, rnti: u16, cell_id: u16, plmn: Plmn) {
        self.attach(agent, rnti, plmn, None);
        let mut state = self.state();
        state.events.iter_mut().filter(|it| it.rnti == rnti).for_each(|it| it.cell_id = cell_id);
        state.ues.get_mut(&rnti).into_iter().for_each(|it| it.cell_id = cell_id);
    }

    pub(crate) fn release(&self, agent: &mut Agent, rnti: u16) {
        agent.ue_left(UeId(rnti.into()));
        let mut state = self.state();
        let Some(event) = state.ues.remove(&rnti) else { return };
        state.slices.remove(&rnti);
        state.bearers.remove(&BearerId { rnti, rbid: 1 });
        state.events.push(RrcEvent { change: RrcChange::Release, ..event });
    }
}

fn sees(ues: UeFilter<'_>, rnti: u16) -> bool {
    ues.is_all() || ues.contains(UeId(rnti.into()))
}

impl SliceControl for MockCell {
    fn prbs(&self) -> u16 {
        PRBS
    }
    fn set(&self) -> SliceSet {
        self.state().set.clone()
    }
    fn has_ue(&self, rnti: u16) -> bool {
        self.state().ues.contains_key(&rnti)
    }
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> SliceIndication {
        let state = self.state();
        let seen = state.slices.iter().filter(|(rnti, _)| sees(ues, **rnti));
        let share = |slice: &Slice| SliceShare {
            slice: slice.id,
            ues: state.slices.values().filter(|id| **id == slice.id).count() as u16,
            prbs: 0,
            bytes: 0,
            queue_bytes: 0,
            sojourn_us: 0,
            sojourn_max_us: 0,
        };
        SliceIndication {
            tstamp_us: now.as_nanos() / 1_000,
            prbs: PRBS,
            prbs_offered: 0,
            ues: seen.map(|(&rnti, &slice)| UeSlice { rnti, slice }).collect(),
            got: state.set.slices.iter().map(share).collect(),
            set: state.set.clone(),
            slot: None,
            slot_us: None,
        }
    }
    fn control(&mut self, _: Time, command: &SliceCommand, next: &SliceSet) -> Result<Progress, Refusal> {
        let mut state = self.state();
        state.set = next.clone();
        if let SliceCommand::Associate(ues) = command {
            state.slices.extend(ues.iter().map(|ue| (ue.rnti, ue.slice)));
        }
        if let SliceCommand::Allocate(allocation) = command {
            state.allocations.push(allocation.clone());
        }
        state.slices.retain(|_, slice| next.slice(*slice).is_some());
        Ok(Progress::Done)
    }
}

impl TrafficControl for MockCell {
    fn config(&self, bearer: BearerId) -> Option<TrafficConfig> {
        self.state().bearers.get(&bearer).cloned()
    }
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> TrafficIndication {
        let state = self.state();
        let queue = |queue: &Queue| QueueState {
            id: queue.id,
            bytes: 0,
            packets: 0,
            sent_bytes: 0,
            sent_packets: 0,
            dropped_packets: 0,
            policed_packets: 0,
            sojourn_us: 0,
            sojourn_max_us: 0,
        };
        let bearers = state.bearers.iter().filter(|(id, _)| sees(ues, id.rnti));
        let bearers = bearers.map(|(&bearer, config)| BearerTraffic {
            bearer,
            queues: config.queues.iter().map(queue).collect(),
            config: config.clone(),
            rlc_bytes: 1_000,
            rlc_sojourn_us: if config.pacer.bdp.is_some() { 1_000 } else { state.rlc_sojourn_us },
            rlc_sojourn_max_us: state.rlc_sojourn_us,
            paced_kbps: 0,
            stages: None,
        });
        TrafficIndication { tstamp_us: now.as_nanos() / 1_000, bearers: bearers.collect() }
    }
    fn control(&mut self, _: Time, command: &TrafficCommand, next: &TrafficConfig) -> Result<(), Refusal> {
        self.state().bearers.insert(command.bearer, next.clone());
        Ok(())
    }
}

impl RrcSource for MockCell {
    fn connected(&mut self, _: Time) -> Vec<RrcEvent> {
        self.state().ues.values().cloned().collect()
    }
    fn events(&mut self, _: Time) -> Vec<RrcEvent> {
        std::mem::take(&mut self.state().events)
    }
    /// Hands a UE over between cells 0 and 1; the UE keeps its RNTI.
    fn hand_over(&mut self, _: Time, handover: &RrcHandover) -> Result<Progress, Refusal> {
        let mut state = self.state();
        let Some(event) = state.ues.get_mut(&handover.rnti) else {
            return Err(Refusal::new(Reason::UnknownUe, "no such UE"));
        };
        if event.cell_id != handover.cell_id || handover.target_cell_id > 1 {
            return Err(Refusal::new(Reason::Invalid, "no such cell"));
        }
        event.cell_id = handover.target_cell_id;
        let event = RrcEvent { change: RrcChange::Handover, ..event.clone() };
        state.events.push(event);
        Ok(Progress::Done)
    }
    fn tstamp_us(&self, now: Time) -> u64 {
        now.as_nanos() / 1_000
    }
}
