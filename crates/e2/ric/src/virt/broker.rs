//! Mailbox between the virtualization iApp and the operators' agents.
use super::functions;
use super::station::{Command, SharedBaseStation, TenantView};
use super::tenants::Tenants;
use crate::lock;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, AgentConfig, UeId};
use ranlab_e2::ric::RequestHandle;
use ranlab_e2_codec::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, E2NodeGnb,
    GlobalE2NodeId, GlobalGnbId, InterfaceNg,
};
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::rrc::{self, RrcEvent};
use ranlab_e2_codec::e2sm::slice::{self, SliceIndication};
use ranlab_e2_codec::per::ShortBits;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// Maximum number of base stations shown to operators, each with one agent per operator for the lifetime of
/// the process. Further base stations are counted but not shown.
pub const STATIONS_MAX: usize = 4_096;

/// View of a base station for one operator, served by one agent. It is never deleted, but may be closed and
/// opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantNodeId(pub u32);

/// Work for the owner of the mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerTask {
    /// Start the agent of a view if it does not exist yet ([`TenantBroker::agent`]) and connect it to its operator.
    Open(TenantNodeId),
    /// Disconnect the agent from its operator: the base station is lost.
    Close(TenantNodeId),
    /// Call [`TenantBroker::tend`]: there is work for the agent.
    Tend(TenantNodeId),
    /// Call [wake_iapp](ranlab_e2::ric::Ric::wake_iapp) for the iApp: there is work for it.
    Rouse,
}

/// State shared by the iApp and the agents.
pub(super) struct State {
    pub(super) tenants: Tenants,
    stations: BTreeMap<GlobalE2NodeId, SharedBaseStation>,
    /// Number of base stations beyond [`STATIONS_MAX`].
    beyond: u64,
    /// Base station and operator index of each view.
    faces: Vec<(GlobalE2NodeId, usize)>,
    open: BTreeSet<TenantNodeId>,
    errands: VecDeque<BrokerTask>,
    dirty: BTreeSet<TenantNodeId>,
    rouse: bool,
    on_errand: Option<Box<dyn Fn() + Send>>,
}

/// Handle of the state that the iApp and the agents share.
#[derive(Clone)]
pub struct TenantBroker(Arc<Mutex<State>>);

impl fmt::Debug for TenantBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}

impl State {
    pub(super) fn new(tenants: Tenants) -> Self {
        Self {
            tenants,
            stations: BTreeMap::new(),
            beyond: 0,
            faces: Vec::new(),
            open: BTreeSet::new(),
            errands: VecDeque::new(),
            dirty: BTreeSet::new(),
            rouse: false,
            on_errand: None,
        }
    }

    /// Notifies the owner that there is work.
    fn call(&self) {
        let any = self.rouse || !self.errands.is_empty() || !self.dirty.is_empty();
        if let Some(call) = self.on_errand.as_ref().filter(|_| any) {
            call();
        }
    }

    /// Requests a run of the iApp.
    pub(super) fn rouse(&mut self) {
        self.rouse = true;
        self.call();
    }

    /// Returns the base station and operator of a view, if the base station is present.
    pub(super) fn station_of(&self, face: TenantNodeId) -> Option<(&SharedBaseStation, usize)> {
        let (id, tenant) = self.faces.get(face.0 as usize)?;
        self.stations.get(id).map(|station| (station, *tenant))
    }

    pub(super) fn of_mut(&mut self, face: TenantNodeId) -> Option<(&mut SharedBaseStation, usize)> {
        let (id, tenant) = self.faces.get(face.0 as usize)?;
        self.stations.get_mut(id).map(|station| (station, *tenant))
    }

    /// Opens or closes the views of a base station according to its state, and schedules work for the open views.
    fn show(&mut self, id: GlobalE2NodeId) {
        let ready = self.stations.get(&id).is_some_and(SharedBaseStation::is_ready);
        for tenant in 0..self.tenants.leases.len() {
            let known = self.faces.iter().position(|face| *face == (id, tenant));
            let n = match known {
                Some(n) => n,
                None if ready => {
                    self.faces.push((id, tenant));
                    self.faces.len() - 1
                }
                None => continue,
            };
            let face = TenantNodeId(n as u32);
            if ready && self.open.insert(face) {
                self.errands.push_back(BrokerTask::Open(face));
            } else if !ready && self.open.remove(&face) {
                self.errands.push_back(BrokerTask::Close(face));
            }
            self.dirty.insert(face);
        }
        self.call();
    }

    fn show_all(&mut self, of: impl Fn(&GlobalE2NodeId, &SharedBaseStation) -> bool) {
        let ids: Vec<_> = self.stations.iter().filter(|(id, it)| of(id, it)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.show(id));
    }

    /// Returns the identity under which one of several DUs of a base station is shown. It is unique and stays
    /// the same while the DU is known. `None` for kinds of base stations without DUs.
    pub(super) fn identity_of(
        &self,
        base: &GlobalE2NodeId,
        part: &GlobalE2NodeId,
        nth: u64,
    ) -> Option<GlobalE2NodeId> {
        let known = self.stations.iter().find(|(_, station)| station.part == *part).map(|(id, _)| *id);
        let GlobalE2NodeId::Gnb(gnb) = *base else { return known };
        let identity = |value: u64| {
            let gnb_id = ShortBits::new(value & u64::from(u32::MAX), 32);
            let gnb_id = GlobalGnbId { plmn: gnb.gnb.plmn, gnb_id };
            GlobalE2NodeId::Gnb(E2NodeGnb { gnb: gnb_id, cu_up_id: None, du_id: None, ..gnb })
        };
        let first = (gnb.gnb.gnb_id.value << 4) + nth;
        let free = |id: &GlobalE2NodeId| !self.stations.contains_key(id);
        // A free number exists, because there are fewer base stations than numbers.
        known.or_else(|| (first..=first + u64::from(u32::MAX)).map(identity).find(free))
    }

    /// Registers a base station that is complete.
    pub(super) fn on_station_complete(
        &mut self,
        id: GlobalE2NodeId,
        part: GlobalE2NodeId,
        cu: GlobalE2NodeId,
        components: &[ComponentConfigItem],
    ) {
        if self.stations.len() >= STATIONS_MAX && !self.stations.contains_key(&id) {
            self.beyond += 1;
            return;
        }
        let tenants = &self.tenants;
        let station = self.stations.entry(id).or_insert_with(|| SharedBaseStation::new(part, cu, tenants));
        (station.part, station.cu, station.up) = (part, cu, true);
        // Interfaces towards the core and other base stations. Interfaces between E2 nodes of the base station do not
        // concern the operators.
        let core = |item: &&ComponentConfigItem| {
            matches!(
                item.id,
                ComponentId::Ng(_) | ComponentId::S1(_) | ComponentId::Xn(_) | ComponentId::X2(_)
            )
        };
        station.components = components.iter().filter(core).cloned().collect();
        self.show(id);
    }

    /// Handles the loss of an E2 node, and with it of its base station.
    pub(super) fn lose_part(&mut self, part: &GlobalE2NodeId) {
        self.lose_base(&part.base_station());
    }

    pub(super) fn lose_base(&mut self, base: &GlobalE2NodeId) {
        let of_base = |station: &SharedBaseStation| station.part.base_station() == *base;
        for station in self.stations.values_mut().filter(|station| of_base(station)) {
            station.forget();
        }
        self.show_all(|_, station| of_base(station));
    }

    /// Forgets all base stations when the controller restarts.
    pub(super) fn forget_all(&mut self) {
        let tenants = &self.tenants;
        for station in self.stations.values_mut() {
            *station = SharedBaseStation::new(station.part, station.cu, tenants);
        }
        self.show_all(|_, _| true);
    }

    /// Applies a SLICE report of an E2 node. Returns whether further cells are now known to belong to this E2 node.
    pub(super) fn report(
        &mut self,
        part: &GlobalE2NodeId,
        report: SliceIndication,
        cells: BTreeSet<u16>,
    ) -> bool {
        // A cell belongs to the first E2 node that reported a UE in it. An old report of another E2 node may contain a
        // UE that has just moved to this cell.
        let base = part.base_station();
        let others =
            || self.stations.values().filter(|it| it.part != *part && it.part.base_station() == base);
        let cells: BTreeSet<_> =
            cells.into_iter().filter(|cell| !others().any(|other| other.cells.contains(cell))).collect();
        let found = self.stations.iter_mut().find(|(_, station)| station.part == *part);
        let Some((&id, station)) = found else { return false };
        let was_ready = station.is_ready();
        station.report = Some(report);
        let more = !cells.is_subset(&station.cells);
        station.cells.extend(cells);
        if station.is_ready() != was_ready {
            self.show(id);
        }
        more || !was_ready
    }

    /// Registers a UE and reports it to the operators of its base station.
    pub(super) fn place(&mut self, part: &GlobalE2NodeId, event: &RrcEvent) {
        let base = part.base_station();
        let tenant = self.tenants.tenant_of(event);
        let of_base = |station: &SharedBaseStation| station.part.base_station() == base;
        let several = self.stations.values().filter(|station| of_base(station)).count() > 1;
        for (id, station) in self.stations.iter_mut().filter(|(_, station)| of_base(station)) {
            let tenant = tenant.filter(|_| !several || station.cells.contains(&event.cell_id));
            let known = tenant.and_then(|tenant| station.views[tenant].ues.get(&event.rnti));
            if known != Some(event) {
                station.on_rrc_event(tenant, event);
                self.dirty.extend(faces_of(&self.faces, id));
            }
        }
        self.call();
    }

    /// Removes a UE.
    pub(super) fn lose(&mut self, part: &GlobalE2NodeId, event: &RrcEvent) {
        let base = part.base_station();
        for (id, station) in self.stations.iter_mut().filter(|(_, it)| it.part.base_station() == base) {
            station.lose(event);
            self.dirty.extend(faces_of(&self.faces, id));
        }
        self.call();
    }

    /// Stores a statistics message. A message of a DU belongs to its base station, and a message of a shared CU belongs
    /// to the base stations of all its DUs.
    pub(super) fn keep(&mut self, part: &GlobalE2NodeId, oid: &'static str, message: Bytes) {
        let is_carrier = self.stations.values().any(|station| station.part == *part);
        let base = part.base_station();
        let its = |station: &&mut SharedBaseStation| {
            if is_carrier { station.part == *part } else { station.part.base_station() == base }
        };
        for station in self.stations.values_mut().filter(its) {
            station.keep(oid, message.clone());
        }
    }

    pub(super) fn go_on(
        &mut self,
        mut send: impl FnMut(&SharedBaseStation, &Command) -> Option<RequestHandle>,
    ) {
        for (id, station) in &mut self.stations {
            station.go_on(&self.tenants, &mut send);
            if station.views.iter().any(|view| !(view.ended.is_empty() && view.handed_over.is_empty())) {
                self.dirty.extend(faces_of(&self.faces, id));
            }
        }
        self.call();
    }

    pub(super) fn done(&mut self, request: RequestHandle, end: &Result<(), Refusal>) {
        self.stations.values_mut().for_each(|station| station.done(request, end));
    }

    pub(super) fn is_refused(&self) -> bool {
        self.stations.values().any(|station| station.refused.is_some())
    }

    pub(super) fn try_again(&mut self) {
        self.stations.values_mut().for_each(|station| station.refused = None);
    }

    pub(super) fn stations_as_json(&self) -> Json {
        let station = |(id, station): (&GlobalE2NodeId, &SharedBaseStation)| {
            let view = |(name, view): (&String, &TenantView)| {
                let slices: Vec<_> = view.set.slices.iter().map(|slice| slice.id).collect();
                (name.clone(), json!({ "ues": view.ues.keys().collect::<Vec<_>>(), "slices": slices }))
            };
            let views: serde_json::Map<_, _> =
                self.tenants.names.iter().zip(&station.views).map(view).collect();
            json!({
                "node": id.to_string(),
                "part": station.part.to_string(),
                "ready": station.is_ready(),
                "refused": station.refused,
                "tenants": views,
            })
        };
        json!({ "nodes": self.stations.iter().map(station).collect::<Vec<_>>(), "beyond": self.beyond })
    }
}

/// Returns the views of a base station.
fn faces_of<'a>(
    faces: &'a [(GlobalE2NodeId, usize)],
    id: &'a GlobalE2NodeId,
) -> impl Iterator<Item = TenantNodeId> + 'a {
    (0..).zip(faces).filter(move |(_, (station, _))| station == id).map(|(n, _)| TenantNodeId(n))
}

impl TenantBroker {
    pub(super) fn new(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Sets a callback for new [`BrokerTask`]s; it must not call this mailbox.
    pub fn on_errand(&self, call: impl Fn() + Send + 'static) {
        self.state().on_errand = Some(Box::new(call));
    }

    /// Returns the next item of work for the owner.
    pub fn next_errand(&self) -> Option<BrokerTask> {
        let mut state = self.state();
        if let Some(errand) = state.errands.pop_front() {
            return Some(errand);
        }
        if std::mem::take(&mut state.rouse) {
            return Some(BrokerTask::Rouse);
        }
        let face = state.dirty.pop_first()?;
        Some(BrokerTask::Tend(face))
    }

    /// Returns the names of the operators, in order.
    pub fn tenants(&self) -> Vec<String> {
        self.state().tenants.names.clone()
    }

    /// Returns base station and operator index (see [`tenants`](Self::tenants)) of a view.
    pub fn face(&self, face: TenantNodeId) -> Option<(GlobalE2NodeId, usize)> {
        self.state().faces.get(face.0 as usize).copied()
    }

    /// Returns whether a view is open.
    pub fn is_open(&self, face: TenantNodeId) -> bool {
        self.state().open.contains(&face)
    }

    /// Returns the agent of a view, without controllers; `None` if there is no such view. Call
    /// [`tend`](Self::tend) for it immediately.
    pub fn agent(&self, face: TenantNodeId) -> Option<Agent> {
        let (id, _) = self.face(face)?;
        let mut components =
            self.state().station_of(face).map(|(station, _)| station.components.clone()).unwrap_or_default();
        if components.is_empty() {
            // An E2 Setup contains at least one component (O-RAN.WG3.E2AP).
            let id = ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() });
            let configuration = ComponentConfiguration::default();
            components.push(ComponentConfigItem { interface: ComponentInterfaceType::Ng, id, configuration });
        }
        let mut agent = Agent::new(AgentConfig::new(id, components));
        for (function, id) in functions::all(self, face) {
            // The ids are distinct and few, so registration at a new agent cannot fail.
            let registered = agent.register(function, Some(id));
            debug_assert!(registered.is_ok(), "{registered:?}");
        }
        Some(agent)
    }

    /// Passes UE changes and outcomes of controls to the agent of a view.
    pub fn tend(&self, face: TenantNodeId, agent: &mut Agent, now: Time) {
        let there: BTreeSet<_> = match self.state().station_of(face) {
            Some((station, tenant)) => {
                station.views[tenant].ues.keys().map(|rnti| UeId((*rnti).into())).collect()
            }
            None => BTreeSet::new(),
        };
        for gone in agent.ues().iter().filter(|ue| !there.contains(ue)).collect::<Vec<_>>() {
            agent.ue_left(gone);
        }
        for ue in there {
            // A base station has fewer UEs than an agent supports.
            let _ = agent.ue_arrived(ue);
        }
        // The other functions report periodically.
        for function in [rrc::DEFAULT_FUNCTION_ID, slice::DEFAULT_FUNCTION_ID] {
            agent.wake_function(now, function);
        }
    }
}
