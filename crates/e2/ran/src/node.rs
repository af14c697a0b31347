//! An emulated E2 node: its identity, components and RAN functions.
use crate::functions::{StationContext, StationFunction, functions};
use crate::radio::{
    BaseStation, CellPlacement, DUS_MAX, Fidelity, FluidRadio, InterfaceIdentity, Neighbours, Radio,
    RadioConfig, RadioError, SharedRadio, cell_of, first_ue,
};
use crate::stats::{CellSource, UeIdType};
use ranlab_e2::agent::{Agent, AgentConfig};
use ranlab_e2::functions::stats::ReportCounters;
use ranlab_e2::{OutboxLimits, Time};
use ranlab_e2_codec::e2ap::{
    ComponentConfigItem, E2NodeEnb, E2NodeGnb, E2NodeNgEnb, EnbId, GlobalE2NodeId, GlobalEnbId, GlobalGnbId,
    GlobalNgEnbId, GlobalNgRanNodeId, NgEnbId, Plmn, Version,
};
use ranlab_e2_codec::e2sm::Encoding;
use ranlab_e2_codec::e2sm::common::{Cgi, EutraCgi, NrCgi};
use ranlab_e2_codec::flat::Coding;
use ranlab_e2_codec::per::ShortBits;
use ranlab_radio::{Cell, CellConfig, CellError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Name of the AMF to which every node is connected.
const AMF: &str = "amf";
/// Name of the MME to which every node is connected.
const MME: &str = "mme";

/// Reason why a node cannot be created.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The cell of the node is invalid.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// The radio of the node is invalid.
    #[error(transparent)]
    Radio(#[from] RadioError),
}

/// Kind of base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NodeKind {
    /// A complete gNB.
    #[default]
    Gnb,
    /// A split gNB: CU-CP, CU-UP and DUs are separate E2 nodes.
    Split,
    /// A complete ng-eNB.
    NgEnb,
    /// A complete eNB.
    Enb,
    /// One base station of each kind above, in rotation.
    Mixed,
}

/// Unit of a split base station; each unit is an E2 node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// CU-CP, which knows the slices of the UEs.
    CuCp,
    /// CU-UP, with PDCP and the tunnels.
    CuUp,
    /// DU, with the cell, its scheduler, RLC, and traffic control.
    Du,
}

/// Layout of a fleet: the E2 nodes that form each base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeLayout {
    /// Kind of the base stations.
    pub kind: NodeKind,
    /// Number of DUs per split base station, at least 1.
    pub dus: u32,
}

/// Converts a kind to its usual layout, with one DU.
impl From<NodeKind> for NodeLayout {
    fn from(kind: NodeKind) -> Self {
        Self { kind, dus: 1 }
    }
}

impl NodeLayout {
    /// Returns the number of E2 nodes per base station.
    pub fn parts(self) -> u32 {
        if self.kind == NodeKind::Split { 2 + self.dus } else { 1 }
    }

    /// Returns the base station to which the `index`th node of a fleet belongs.
    pub fn station(self, index: u32) -> u32 {
        index / self.parts()
    }

    /// Returns the unit of the `index`th node, or `None` if the node is a complete base station or kinds are mixed.
    pub fn unit(self, index: u32) -> Option<Unit> {
        let part = match index % self.parts() {
            0 => Unit::CuCp,
            1 => Unit::CuUp,
            _ => Unit::Du,
        };
        (self.kind == NodeKind::Split).then_some(part)
    }

    /// Returns the number of the DU, from 0, or `None` if the `index`th node is not a DU.
    pub fn du(self, index: u32) -> Option<usize> {
        let du = (index % self.parts()).checked_sub(2)?;
        Some(du as usize)
    }

    /// Returns the number of a base station's cell, from 1. Cells and DUs are numbered throughout the fleet.
    fn cell_id(self, station: u32, du: u32) -> u32 {
        if self.kind == NodeKind::Split { station * self.dus + du } else { station }
    }

    /// Returns identity and components of the `index`th node of a fleet. Nodes of one kind with different indices
    /// have different identities.
    pub fn identity(self, plmn: Plmn, index: u32) -> (GlobalE2NodeId, Vec<ComponentConfigItem>) {
        let whole_gnb = |id: u32, cu_up_id, du_id| {
            let gnb = GlobalGnbId { plmn, gnb_id: ShortBits::new(u64::from(id), 32) };
            GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id })
        };
        let number = index + 1;
        match self.kind {
            NodeKind::Gnb => (whole_gnb(number, None, None), vec![ComponentConfigItem::ng(AMF)]),
            NodeKind::Split => {
                let station = self.station(index);
                let gnb = station + 1;
                let id = u64::from(station + 1);
                let du_id = |du| u64::from(self.cell_id(station, du)) + 1;
                match index % self.parts() {
                    0 => {
                        let dus = (0..self.dus).map(|du| ComponentConfigItem::f1(du_id(du)));
                        let components = [ComponentConfigItem::ng(AMF)]
                            .into_iter()
                            .chain(dus)
                            .chain([ComponentConfigItem::e1(id)]);
                        (whole_gnb(gnb, None, None), components.collect())
                    }
                    1 => (whole_gnb(gnb, Some(id), None), vec![ComponentConfigItem::e1(id)]),
                    part => (
                        whole_gnb(gnb, None, Some(du_id(part - 2))),
                        vec![ComponentConfigItem::f1(du_id(part - 2))],
                    ),
                }
            }
            NodeKind::NgEnb => {
                let enb_id = NgEnbId::Macro(ShortBits::new(u64::from(number), 20));
                let ng_enb = GlobalNgEnbId { plmn, enb_id };
                (
                    GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id: None }),
                    vec![ComponentConfigItem::ng(AMF)],
                )
            }
            NodeKind::Enb => {
                let enb_id = EnbId::Macro(ShortBits::new(u64::from(number), 20));
                (
                    GlobalE2NodeId::Enb(E2NodeEnb { enb: GlobalEnbId { plmn, enb_id } }),
                    vec![ComponentConfigItem::s1(MME)],
                )
            }
            // Each group of six nodes has three nodes of a split station, then one of each complete kind. Numbers are
            // unique within a kind.
            NodeKind::Mixed => match (index / 6, index % 6) {
                (round, part @ 0..3) => identity(NodeKind::Split, plmn, round * 3 + part),
                (round, 3) => identity(NodeKind::Gnb, plmn, (1 << 24) + round),
                (round, 4) => identity(NodeKind::NgEnb, plmn, round),
                (round, _) => identity(NodeKind::Enb, plmn, round),
            },
        }
    }
}

/// Returns identity and components of the `index`th node, in the usual layout of a kind.
pub fn identity(kind: NodeKind, plmn: Plmn, index: u32) -> (GlobalE2NodeId, Vec<ComponentConfigItem>) {
    NodeLayout::from(kind).identity(plmn, index)
}

/// Settings that all nodes of a fleet share.
#[derive(Clone)]
pub struct NodeTemplate {
    /// Kind of the nodes.
    pub kind: NodeKind,
    /// Network of the nodes.
    pub plmn: Plmn,
    /// Number of UEs per node.
    pub ues: u16,
    /// Configuration of the radio; `None`: statistics are generated without a radio, for `ues` UEs.
    pub radio: Option<RadioConfig>,
    /// RAN functions of statistics and control models, offered to every controller.
    pub service_models: Vec<&'static dyn StationFunction>,
    /// Whether HW and the association function are offered to every controller. Otherwise only controllers of this
    /// project see them.
    pub own_functions: bool,
    /// E2AP version of the nodes.
    pub version: Version,
    /// Encoding of E2AP messages.
    pub coding: Coding,
    /// Preferred encoding of service-model messages; `None`: the usual encoding of each model.
    pub sm_encoding: Option<Encoding>,
    /// Seed of all random numbers. Each node derives its own seed.
    pub seed: u64,
    /// Time of day at time zero, in microseconds since the Unix epoch.
    pub epoch_us: i64,
    /// Start time of the nodes, in microseconds.
    pub start_us: u64,
    /// Limits of the outbox per controller.
    pub outbox: OutboxLimits,
    /// Counters of reports, shared by all nodes.
    pub reports: Arc<ReportCounters>,
    /// Callback that receives the send delay of each report.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
    /// Registry of gNB radios to which UEs can be handed over. Each radio is added together with its agent.
    pub neighbours: Neighbours,
    /// Callback for each executed ping that a control request delivered, with the node and the number of the ping.
    pub pinged: Option<PingCallback>,
}

/// Callback for executed pings ([`NodeTemplate::pinged`]).
pub type PingCallback = Arc<dyn Fn(GlobalE2NodeId, u32) + Send + Sync>;

impl Default for NodeTemplate {
    /// Returns a template of gNBs in network 505.01. They have no UEs, radio or named functions, and offer this
    /// project's own functions to every controller.
    fn default() -> Self {
        Self {
            kind: NodeKind::Gnb,
            plmn: Plmn::new(505, 1, 2),
            ues: 0,
            radio: None,
            service_models: Vec::new(),
            own_functions: true,
            version: Version::V2_03,
            coding: Coding::Per,
            sm_encoding: None,
            seed: 1,
            epoch_us: 0,
            start_us: 0,
            outbox: OutboxLimits::default(),
            reports: Arc::default(),
            lateness: Arc::new(|_| {}),
            neighbours: Neighbours::default(),
            pinged: None,
        }
    }
}

impl NodeTemplate {
    /// Returns the agent of the `index`th node, with registered functions and attached UEs, and its radio if it has
    /// one. The radio's time begins at `now`, and the caller must drive the radio.
    pub fn agent(&self, index: u32, now: Time) -> Result<(Agent, Option<SharedRadio>), NodeError> {
        let cell = self.cell(index, now)?;
        let agent = self.agent_over(index, &cell);
        Ok((agent, if let CellSource::Radio(radio) = cell { Some(radio) } else { None }))
    }

    /// Returns the source of the `index`th node's statistics. It is the radio of its base station, or the radios of its
    /// DUs. Their time begins at `now`. Without radios, it is a separate cell that only generates statistics.
    pub fn cell(&self, index: u32, now: Time) -> Result<CellSource, NodeError> {
        let Some(config) = &self.radio else {
            let ues = self.ues;
            let start_us = self.start_us;
            let seed = self.seed_of(index);
            let cell_id = index as u16;
            let cell = Cell::new(CellConfig { cell_id, ues, seed, start_us, ..CellConfig::default() })?;
            return Ok(CellSource::Cell(Arc::new(Mutex::new(cell))));
        };
        let layout = self.layout();
        let start_us = now.as_nanos() / 1_000;
        let station = layout.station(index);
        let place = |du| CellPlacement {
            // There are fewer than 65,536 cells.
            cell_id: layout.cell_id(station, du) as u16,
            seed: self.seed_of(station),
            du,
            first_ue: first_ue(station as u16),
        };
        let radio = |du| {
            let mut radio = Radio::new(config, place(du), self.plmn, start_us, self.epoch_us)?;
            if let Some(called) = self.called(index, du) {
                radio.set_identity(called);
            }
            radio.pass(now);
            Ok::<_, RadioError>(Arc::new(Mutex::new(radio)))
        };
        Ok(match config.fidelity {
            Fidelity::Slot if layout.kind == NodeKind::Split && layout.dus > 1 => {
                CellSource::Site(BaseStation::new((0..layout.dus).map(radio).collect::<Result<_, _>>()?))
            }
            Fidelity::Slot => CellSource::Radio(radio(0)?),
            Fidelity::Fluid => {
                let CellPlacement { cell_id, seed, .. } = place(0);
                let radio = FluidRadio::new(config, (cell_id, seed), self.plmn, start_us)?;
                CellSource::Fluid(Arc::new(Mutex::new(radio)))
            }
        })
    }

    /// Returns the identities of a cell on its base station's interfaces, or `None` if the base station is not a gNB.
    pub(crate) fn called(&self, index: u32, du: u32) -> Option<InterfaceIdentity> {
        let layout = self.layout();
        let GlobalE2NodeId::Gnb(node) = layout.identity(self.plmn, index).0 else { return None };
        let first = cell_of(self.plmn, node.gnb.gnb_id.value as u32);
        let id = u64::from(layout.cell_id(layout.station(index), du)) + 1;
        Some(InterfaceIdentity {
            station: GlobalNgRanNodeId::Gnb(node.gnb),
            du: (self.kind == NodeKind::Split).then_some(id),
            cell: NrCgi { cell: first.cell + u64::from(du), ..first },
        })
    }

    /// Returns the layout of the base stations.
    pub fn layout(&self) -> NodeLayout {
        let dus = self.radio.as_ref().map_or(1, |radio| radio.dus.clamp(1, DUS_MAX));
        NodeLayout { kind: self.kind, dus }
    }

    /// Returns whether the `index`th node serves the UEs of a cell of its base station; cells are counted from 0.
    pub fn has_cell(&self, index: u32, cell: usize) -> bool {
        self.layout().du(index).is_none_or(|du| du == cell)
    }

    /// Returns the agent of the `index`th node, for a source of statistics. The units of a base station share the
    /// source, but a DU reports about its own cell only. After an agent has crashed, another agent can be created for
    /// the same source, which continues.
    pub fn agent_over(&self, index: u32, cell: &CellSource) -> Agent {
        let (node_id, components) = self.layout().identity(self.plmn, index);
        let part = self.layout().unit(index).filter(|_| self.radio.is_some());
        let own = match (cell, self.layout().du(index)) {
            (CellSource::Site(site), Some(du)) => site.cells().get(du).cloned().map(CellSource::Radio),
            _ => None,
        };
        let cell = own.as_ref().unwrap_or(cell);
        let mut agent = Agent::new(AgentConfig::new(node_id, components).with(|it| {
            it.version = self.version;
            it.coding = self.coding;
            it.seed = self.seed_of(index);
            it.limits.outbox = self.outbox;
        }));
        let station = StationContext { template: self, node: node_id, index, unit: part, cell };
        // A setup must contain at least one function, so a unit without named functions offers all functions openly.
        let is_named = self.service_models.iter().any(|function| station.is_named(*function));
        let open = self.own_functions || (!is_named && part.is_some());
        for offered in functions().filter(|function| station.offers(*function)) {
            let Some(function) = offered.function(&station) else { continue };
            // Ids are distinct and few, so registration at a new agent cannot fail.
            let registered = match offered.is_open() || open {
                true => agent.register(function, Some(offered.id())),
                false => agent.register_reserved(function, offered.id()),
            };
            debug_assert!(registered.is_ok());
            if offered.is_woken() {
                agent.wake_function(Time::ZERO, offered.id());
            }
        }
        for ue in cell.ues() {
            // Arrival cannot fail: a cell has fewer UEs than an agent's maximum.
            let arrived = agent.ue_arrived(ue);
            debug_assert!(arrived.is_ok());
        }
        agent
    }

    /// Returns the identity of the cell of the `index`th node.
    pub(crate) fn cell_id(&self, node: GlobalE2NodeId, index: u32) -> Cgi {
        self.cell_id_at(node, index, self.layout().du(index).unwrap_or(0))
    }

    /// Returns the cell identity of a DU of the `index`th node; DUs are counted from 0.
    pub(crate) fn cell_id_at(&self, node: GlobalE2NodeId, index: u32, du: usize) -> Cgi {
        match node {
            GlobalE2NodeId::Gnb(gnb) => {
                let first = cell_of(self.plmn, gnb.gnb.gnb_id.value as u32);
                // Each DU has one cell, so a base station has at most eight cells.
                Cgi::Nr(NrCgi { cell: first.cell + du as u64, ..first })
            }
            // Each eNB has one cell. The 20-bit eNB number is the number of the node.
            _ => Cgi::Eutra(EutraCgi { plmn: self.plmn, cell: (index + 1) << 8 }),
        }
    }

    /// Returns the type of UE identifiers that the `index`th node uses.
    pub(crate) fn names(&self, index: u32) -> UeIdType {
        match self.layout().identity(self.plmn, index).0 {
            GlobalE2NodeId::Gnb(gnb) if gnb.du_id.is_some() => UeIdType::GnbDu,
            GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => UeIdType::Gnb,
            GlobalE2NodeId::NgEnb(_) => UeIdType::NgEnb,
            GlobalE2NodeId::Enb(_) => UeIdType::Enb,
        }
    }

    /// Returns a separate seed for each index.
    fn seed_of(&self, index: u32) -> u64 {
        self.seed.wrapping_add(u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn identities_are_distinct_in_every_kind() {
        let plmn = Plmn::new(1, 1, 2);
        for kind in [NodeKind::Gnb, NodeKind::Split, NodeKind::NgEnb, NodeKind::Enb, NodeKind::Mixed] {
            let ids: BTreeSet<_> = (0..3_000).map(|i| identity(kind, plmn, i).0).collect();
            assert_eq!(ids.len(), 3_000, "{kind:?}");
        }
        for (dus, stations) in [(1, 10), (4, 5), (8, 3)] {
            let layout = NodeLayout { kind: NodeKind::Split, dus };
            let nodes: BTreeSet<_> = (0..30).map(|i| layout.identity(plmn, i).0).collect();
            let bases: BTreeSet<_> = nodes.iter().map(|id| id.base_station()).collect();
            assert_eq!((nodes.len(), bases.len()), (30, stations), "{dus} DUs");
        }
    }
}
