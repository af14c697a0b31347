//! One emulated base station: identity, components, RAN functions.
use crate::radio::{
    Called, Configured, DUS_MAX, Fidelity, FluidRadio, Neighbours, Place, Radio, RadioConfig, RadioError,
    SharedRadio, Site, Steered, Watched, cell_of, first_ue,
};
use crate::stats::{CellStats, MeasuredCell, Names, Source, Tells, Told};
use ranlab_radio::{Cell, CellConfig, CellError};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::functions::association::Association;
use ranlab_sdk::e2::functions::hw::Hw;
use ranlab_sdk::e2::functions::stats::{PeriodicReport, ReportCounters};
use ranlab_sdk::e2::functions::{ccc, kpm, ni, rc};
use ranlab_sdk::e2::{OutboxLimits, agent::RanFunction};
use ranlab_sdk::wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, E2NodeEnb, E2NodeGnb,
    E2NodeNgEnb, EnbId, GlobalE2NodeId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, GlobalNgRanNodeId,
    InterfaceE1, InterfaceF1, InterfaceNg, InterfaceS1, NgEnbId, Plmn, RanFunctionId, Version,
};
use ranlab_sdk::wire::e2sm::common::{Cgi, EutraCgi, NrCgi};
use ranlab_sdk::wire::e2sm::{self, Encoding, Model, hw};
use ranlab_sdk::wire::flat::Coding;
use ranlab_sdk::wire::per::ShortBits;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// There can be no such node.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// Its cell.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// Its radio.
    #[error(transparent)]
    Radio(#[from] RadioError),
}

/// What kind of base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NodeKind {
    /// A whole gNB.
    #[default]
    Gnb,
    /// A gNB in parts: CU-CP, CU-UP and DUs, each an E2 node.
    Split,
    /// A whole ng-eNB.
    NgEnb,
    /// A whole eNB.
    Enb,
    /// One after the other of the kinds above.
    Mixed,
}

/// What an E2 node is of a base station in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Knows what UEs chose.
    CuCp,
    /// PDCP and the tunnels.
    CuUp,
    /// The cell: its scheduler, RLC, and the traffic control in front of it.
    Du,
}

impl Part {
    /// Whether it offers a function over a radio that it shares with the others; what is not about the radio all offer.
    pub fn has(self, function: RanFunctionId) -> bool {
        let whose = match function {
            e2sm::rrc::DEFAULT_FUNCTION_ID | e2sm::ni::DEFAULT_FUNCTION_ID => Self::CuCp,
            e2sm::pdcp::DEFAULT_FUNCTION_ID | e2sm::gtp::DEFAULT_FUNCTION_ID => Self::CuUp,
            e2sm::mac::DEFAULT_FUNCTION_ID
            | e2sm::rlc::DEFAULT_FUNCTION_ID
            | e2sm::cell::DEFAULT_FUNCTION_ID
            | e2sm::kpm::DEFAULT_FUNCTION_ID
            | e2sm::slice::DEFAULT_FUNCTION_ID
            | e2sm::traffic::DEFAULT_FUNCTION_ID
            | e2sm::rc::DEFAULT_FUNCTION_ID
            | e2sm::ccc::DEFAULT_FUNCTION_ID => Self::Du,
            _ => self,
        };
        self == whose
    }
}

/// Of which E2 nodes the base stations of a fleet are, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Kind.
    pub kind: NodeKind,
    /// DUs of those in parts, 1 at least.
    pub dus: u32,
}

/// A kind as it is usually: with one DU.
impl From<NodeKind> for Layout {
    fn from(kind: NodeKind) -> Self {
        Self { kind, dus: 1 }
    }
}

impl Layout {
    /// E2 nodes of a base station.
    pub fn parts(self) -> u32 {
        if self.kind == NodeKind::Split { 2 + self.dus } else { 1 }
    }

    /// Which base station the `index`th node of a fleet is of.
    pub fn station(self, index: u32) -> u32 {
        index / self.parts()
    }

    /// What the `index`th node of a fleet is of its base station; `None`: all of it, or of kinds that differ.
    pub fn part(self, index: u32) -> Option<Part> {
        let part = match index % self.parts() {
            0 => Part::CuCp,
            1 => Part::CuUp,
            _ => Part::Du,
        };
        (self.kind == NodeKind::Split).then_some(part)
    }

    /// Which DU of its base station the `index`th node is, from 0; `None` if it is none.
    pub fn du(self, index: u32) -> Option<usize> {
        let du = (index % self.parts()).checked_sub(2)?;
        Some(du as usize)
    }

    /// The number of a base station's cell: cells are counted throughout the fleet, and so are DUs, from 1.
    fn cell_id(self, station: u32, du: u32) -> u32 {
        if self.kind == NodeKind::Split { station * self.dus + du } else { station }
    }

    /// The identity and the components of the `index`th node of a fleet; distinct for distinct indices of one kind.
    pub fn identity(self, plmn: Plmn, index: u32) -> (GlobalE2NodeId, Vec<ComponentConfigItem>) {
        let whole_gnb = |id: u32, cu_up_id, du_id| {
            let gnb = GlobalGnbId { plmn, gnb_id: ShortBits::new(u64::from(id), 32) };
            GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id })
        };
        let number = index + 1;
        match self.kind {
            NodeKind::Gnb => (whole_gnb(number, None, None), vec![ng()]),
            NodeKind::Split => {
                let station = self.station(index);
                let (gnb, id) = (station + 1, u64::from(station + 1));
                let du_id = |du| u64::from(self.cell_id(station, du)) + 1;
                match index % self.parts() {
                    0 => {
                        let dus = (0..self.dus).map(|du| f1(du_id(du)));
                        let components = [ng()].into_iter().chain(dus).chain([e1(id)]);
                        (whole_gnb(gnb, None, None), components.collect())
                    }
                    1 => (whole_gnb(gnb, Some(id), None), vec![e1(id)]),
                    part => (whole_gnb(gnb, None, Some(du_id(part - 2))), vec![f1(du_id(part - 2))]),
                }
            }
            NodeKind::NgEnb => {
                let enb_id = NgEnbId::Macro(ShortBits::new(u64::from(number), 20));
                let ng_enb = GlobalNgEnbId { plmn, enb_id };
                (GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id: None }), vec![ng()])
            }
            NodeKind::Enb => {
                let enb_id = EnbId::Macro(ShortBits::new(u64::from(number), 20));
                (GlobalE2NodeId::Enb(E2NodeEnb { enb: GlobalEnbId { plmn, enb_id } }), vec![s1()])
            }
            // Three of a split station, then one of each whole kind; the numbers of their own kind stay distinct.
            NodeKind::Mixed => match (index / 6, index % 6) {
                (round, part @ 0..3) => identity(NodeKind::Split, plmn, round * 3 + part),
                (round, 3) => identity(NodeKind::Gnb, plmn, (1 << 24) + round),
                (round, 4) => identity(NodeKind::NgEnb, plmn, round),
                (round, _) => identity(NodeKind::Enb, plmn, round),
            },
        }
    }
}

/// The identity and the components of the `index`th node of a fleet of a kind as it is usually.
pub fn identity(kind: NodeKind, plmn: Plmn, index: u32) -> (GlobalE2NodeId, Vec<ComponentConfigItem>) {
    Layout::from(kind).identity(plmn, index)
}

fn component(interface: ComponentInterfaceType, id: ComponentId) -> ComponentConfigItem {
    ComponentConfigItem { interface, id, configuration: ComponentConfiguration::default() }
}
fn ng() -> ComponentConfigItem {
    component(ComponentInterfaceType::Ng, ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() }))
}
fn s1() -> ComponentConfigItem {
    component(ComponentInterfaceType::S1, ComponentId::S1(InterfaceS1 { mme_name: "mme".to_owned() }))
}
fn f1(du_id: u64) -> ComponentConfigItem {
    component(ComponentInterfaceType::F1, ComponentId::F1(InterfaceF1 { du_id }))
}
fn e1(cu_up_id: u64) -> ComponentConfigItem {
    component(ComponentInterfaceType::E1, ComponentId::E1(InterfaceE1 { cu_up_id }))
}

/// What all nodes of a fleet share.
#[derive(Clone)]
pub struct NodeTemplate {
    /// Kind.
    pub kind: NodeKind,
    /// Network.
    pub plmn: Plmn,
    /// UEs per node.
    pub ues: u16,
    /// A radio of its own, instead of the light generator and its UEs.
    pub radio: Option<RadioConfig>,
    /// Statistics offered to every controller.
    pub service_models: Vec<&'static Source>,
    /// HW and the association control too, which only controllers of this project are offered otherwise.
    pub own_functions: bool,
    /// Version spoken.
    pub version: Version,
    /// How E2AP is octets.
    pub coding: Coding,
    /// How service models' messages are octets, where a model has that encoding; `None`: as customary.
    pub sm_encoding: Option<Encoding>,
    /// Seed of everything random; each node derives its own.
    pub seed: u64,
    /// Microseconds since the Unix epoch at the machines' time zero.
    pub epoch_us: i64,
    /// The machines' time of birth in microseconds.
    pub start_us: u64,
    /// What may wait for a controller.
    pub outbox: OutboxLimits,
    /// Shared counters of all reports.
    pub reports: Arc<ReportCounters>,
    /// Hears how late each report was.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
    /// Radios of gNBs to which UEs can be handed over; each is entered with its agent.
    pub neighbours: Neighbours,
    /// Hears each ping that a control has brought and that was executed: at which node, and its number.
    pub pinged: Option<Pinged>,
}

/// Whoever hears of executed pings ([`NodeTemplate::pinged`]).
pub type Pinged = Arc<dyn Fn(GlobalE2NodeId, u32) + Send + Sync>;

impl NodeTemplate {
    /// The agent of the `index`th node, with its functions registered and its UEs attached, and its radio if it has one,
    /// whose time begins `now`: somebody has to drive it.
    pub fn agent(&self, index: u32, now: Time) -> Result<(Agent, Option<SharedRadio>), NodeError> {
        let cell = self.cell(index, now)?;
        let agent = self.agent_over(index, &cell);
        Ok((agent, if let Told::Radio(radio) = cell { Some(radio) } else { None }))
    }

    /// What the `index`th node tells of: the radio of its base station or those of its DUs, whose time begins `now`, or
    /// without radios a cell of its own.
    pub fn cell(&self, index: u32, now: Time) -> Result<Told, NodeError> {
        let Some(config) = &self.radio else {
            let (ues, start_us, seed, cell_id) = (self.ues, self.start_us, self.seed_of(index), index as u16);
            let cell = Cell::new(CellConfig { cell_id, ues, seed, start_us, ..CellConfig::default() })?;
            return Ok(Told::Cell(Arc::new(Mutex::new(cell))));
        };
        let (layout, start_us) = (self.layout(), now.as_nanos() / 1_000);
        let station = layout.station(index);
        let place = |du| Place {
            // Cells are fewer than 65,536.
            cell_id: layout.cell_id(station, du) as u16,
            seed: self.seed_of(station),
            du,
            first_ue: first_ue(station as u16),
        };
        let radio = |du| {
            let mut radio = Radio::new(config, place(du), self.plmn, start_us, self.epoch_us)?;
            if let Some(called) = self.called(index, du) {
                radio.be_called(called);
            }
            radio.pass(now);
            Ok::<_, RadioError>(Arc::new(Mutex::new(radio)))
        };
        Ok(match config.fidelity {
            Fidelity::Slot if layout.kind == NodeKind::Split && layout.dus > 1 => {
                Told::Site(Site::new((0..layout.dus).map(radio).collect::<Result<_, _>>()?))
            }
            Fidelity::Slot => Told::Radio(radio(0)?),
            Fidelity::Fluid => {
                let Place { cell_id, seed, .. } = place(0);
                let radio = FluidRadio::new(config, (cell_id, seed), self.plmn, start_us)?;
                Told::Fluid(Arc::new(Mutex::new(radio)))
            }
        })
    }

    /// What a cell of the base station of the `index`th node is called where interfaces end; `None` if it is no gNB's.
    fn called(&self, index: u32, du: u32) -> Option<Called> {
        let layout = self.layout();
        let GlobalE2NodeId::Gnb(node) = layout.identity(self.plmn, index).0 else { return None };
        let first = cell_of(self.plmn, node.gnb.gnb_id.value as u32);
        let id = u64::from(layout.cell_id(layout.station(index), du)) + 1;
        Some(Called {
            station: GlobalNgRanNodeId::Gnb(node.gnb),
            du: (self.kind == NodeKind::Split).then_some(id),
            cell: NrCgi { cell: first.cell + u64::from(du), ..first },
        })
    }

    /// Of which E2 nodes its base stations are.
    pub fn layout(&self) -> Layout {
        let dus = self.radio.as_ref().map_or(1, |radio| radio.dus.clamp(1, DUS_MAX));
        Layout { kind: self.kind, dus }
    }

    /// Whether the `index`th node has the UEs of a cell of its base station, counted from 0.
    pub fn has_cell(&self, index: u32, cell: usize) -> bool {
        self.layout().du(index).is_none_or(|du| du == cell)
    }

    /// The agent of the `index`th node over what it tells of; the parts of a base station share it, and a DU tells of its
    /// own cell alone. A further one may come after the death of an agent whose cell goes on.
    pub fn agent_over(&self, index: u32, cell: &Told) -> Agent {
        let (node_id, components) = self.layout().identity(self.plmn, index);
        let part = self.layout().part(index).filter(|_| self.radio.is_some());
        let own = match (cell, self.layout().du(index)) {
            (Told::Site(site), Some(du)) => site.cells().get(du).cloned().map(Told::Radio),
            _ => None,
        };
        let cell = own.as_ref().unwrap_or(cell);
        let mut agent = Agent::new(AgentConfig::new(node_id, components).with(|it| {
            it.version = self.version;
            it.coding = self.coding;
            it.seed = self.seed_of(index);
            it.limits.outbox = self.outbox;
        }));
        let has = |id| part.is_none_or(|part| part.has(id));
        let told = self.service_models.iter().filter(|source| has(source.model.default_function_id()));
        let told: Vec<_> = told.copied().collect();
        for &source in &told {
            let (epoch_us, lateness) = (self.epoch_us, self.lateness.clone());
            let function: Box<dyn RanFunction> = match source.tells {
                Tells::Statistics(fill) => {
                    let encoding = source.model.encoding_or(self.sm_encoding);
                    let stats = CellStats { cell: cell.clone(), fill, encoding, epoch_us, lateness };
                    Box::new(PeriodicReport::of(source.model, stats).counting(self.reports.clone()))
                }
                Tells::Mobility | Tells::Configuration | Tells::Interfaces => continue,
                Tells::Measurements => {
                    let (cell, names, plmn) = (cell.clone(), self.names(index), self.plmn);
                    let cell_id = (!matches!(cell, Told::Site(_))).then(|| self.cell_id(node_id, index));
                    kpm::function(MeasuredCell { cell, names, plmn, cell_id, epoch_us, lateness })
                }
            };
            // Ids are distinct and few: registration of a fresh agent cannot fail.
            let registered = agent.register(function, Some(source.model.default_function_id()));
            debug_assert!(registered.is_ok());
        }
        let pings = if self.sm_encoding == Some(Encoding::Flat) { Coding::Flat } else { Coding::Per };
        let hw = match self.pinged.clone() {
            Some(pinged) => Hw::new().encoded(pings).heard_by(move |number| pinged(node_id, number)),
            None => Hw::new().encoded(pings),
        };
        let own: [(Box<dyn RanFunction>, _); 2] = [
            (Box::new(hw), hw::DEFAULT_FUNCTION_ID),
            (Box::new(Association::new()), ranlab_sdk::e2::functions::association::DEFAULT_FUNCTION_ID),
        ];
        let radio = if let Told::Radio(radio) = cell { Some(radio) } else { None };
        let rrc = cell.site().map(|site| (site.rrc(), e2sm::rrc::DEFAULT_FUNCTION_ID));
        let steered = rrc.into_iter().chain(radio.into_iter().flat_map(Radio::functions));
        let steered = steered.filter(|(_, id)| has(*id));
        // A setup names one function at least.
        let open = self.own_functions || (told.is_empty() && part.is_some());
        for (function, id) in own.into_iter().chain(steered) {
            let registered = match open {
                true => agent.register(function, Some(id)),
                false => agent.register_reserved(function, id),
            };
            debug_assert!(registered.is_ok());
        }
        if let Some(radio) = radio {
            self.steer(&mut agent, (node_id, index), radio, &told);
        }
        self.tell_interfaces(&mut agent, index, cell, &told);
        for ue in cell.ues() {
            // A cell has fewer UEs than an agent may have.
            let arrived = agent.ue_arrived(ue);
            debug_assert!(arrived.is_ok());
        }
        agent
    }

    /// Registers NI over a gNB's radios, where it is asked for.
    fn tell_interfaces(&self, agent: &mut Agent, index: u32, cell: &Told, told: &[&'static Source]) {
        let model: &dyn Model = &e2sm::ni::Ni;
        if !told.iter().any(|source| source.model == model) {
            return;
        }
        if let (Some(site), Some(called)) = (cell.site(), self.called(index, 0)) {
            let (split, epoch_us) = (self.kind == NodeKind::Split, self.epoch_us);
            let function = ni::function(Watched { site, station: called.station, split, epoch_us });
            let registered = agent.register(function, Some(e2sm::ni::DEFAULT_FUNCTION_ID));
            debug_assert!(registered.is_ok());
        }
    }

    /// Registers RC and CCC over a radio, where they are asked for.
    fn steer(
        &self,
        agent: &mut Agent,
        (node_id, index): (GlobalE2NodeId, u32),
        radio: &SharedRadio,
        told: &[&'static Source],
    ) {
        let offers = |model: &dyn Model| told.iter().any(|source| source.model == model);
        // Who measures by KPM is steered by RC, whether it was named or not, and so is a whole base station that tells of
        // its interfaces: it hands over by RC.
        let part = self.layout().part(index);
        // RRC ends at a CU-CP: it hands over what its DUs measure.
        let in_fleet = |model: &dyn Model| self.service_models.iter().any(|source| source.model == model);
        let measured = in_fleet(&e2sm::kpm::Kpm) || in_fleet(&e2sm::rc::Rc);
        let is_cu_cp = part == Some(Part::CuCp) && measured;
        if offers(&e2sm::kpm::Kpm)
            || offers(&e2sm::rc::Rc)
            || is_cu_cp
            || (part.is_none() && offers(&e2sm::ni::Ni))
        {
            let function = rc::function(self.steered(node_id, index, radio));
            let registered = agent.register(function, Some(e2sm::rc::DEFAULT_FUNCTION_ID));
            debug_assert!(registered.is_ok());
            // It looks from now on what the base station decides by itself.
            agent.rouse(Time::ZERO, e2sm::rc::DEFAULT_FUNCTION_ID);
        }
        if let (true, GlobalE2NodeId::Gnb(node)) = (offers(&e2sm::ccc::Ccc), node_id) {
            let (steered, epoch_us) = (self.steered(node_id, index, radio), self.epoch_us);
            let function = ccc::function(Configured { steered, node, epoch_us });
            let registered = agent.register(function, Some(e2sm::ccc::DEFAULT_FUNCTION_ID));
            debug_assert!(registered.is_ok());
        }
    }

    /// A radio as RC has it, and among those to which UEs can be handed over if a gNB's.
    fn steered(&self, node: GlobalE2NodeId, index: u32, radio: &SharedRadio) -> Steered {
        let (plmn, names) = (self.plmn, self.names(index));
        let cell = self.cell_id(node, index);
        if let Cgi::Nr(cell) = cell {
            let mut neighbours = self.neighbours.lock().unwrap_or_else(PoisonError::into_inner);
            neighbours.insert(cell, Arc::clone(radio));
        }
        Steered { radio: Arc::clone(radio), neighbours: Arc::clone(&self.neighbours), cell, names, plmn }
    }

    /// Identity of the cell of the `index`th node.
    fn cell_id(&self, node: GlobalE2NodeId, index: u32) -> Cgi {
        match node {
            GlobalE2NodeId::Gnb(gnb) => {
                let first = cell_of(self.plmn, gnb.gnb.gnb_id.value as u32);
                // Each DU has a cell of its own; there are at most eight.
                Cgi::Nr(NrCgi { cell: first.cell + self.layout().du(index).unwrap_or(0) as u64, ..first })
            }
            // eNBs, whose numbers of 20 bits are those of the nodes; each has one cell.
            _ => Cgi::Eutra(EutraCgi { plmn: self.plmn, cell: (index + 1) << 8 }),
        }
    }

    /// What the `index`th node calls its UEs.
    fn names(&self, index: u32) -> Names {
        match self.layout().identity(self.plmn, index).0 {
            GlobalE2NodeId::Gnb(gnb) if gnb.du_id.is_some() => Names::GnbDu,
            GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => Names::Gnb,
            GlobalE2NodeId::NgEnb(_) => Names::NgEnb,
            GlobalE2NodeId::Enb(_) => Names::Enb,
        }
    }

    /// A seed of its own for each index.
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
            let layout = Layout { kind: NodeKind::Split, dus };
            let nodes: BTreeSet<_> = (0..30).map(|i| layout.identity(plmn, i).0).collect();
            let bases: BTreeSet<_> = nodes.iter().map(|id| id.base_station()).collect();
            assert_eq!((nodes.len(), bases.len()), (30, stations), "{dus} DUs");
        }
    }

    #[test]
    fn each_function_over_a_radio_is_of_one_part() {
        let functions = e2sm::MODELS.iter().filter(|model| model.name() != "hw");
        for model in functions {
            let parts: Vec<_> = (0..3).filter_map(|i| Layout::from(NodeKind::Split).part(i)).collect();
            let having = parts.iter().filter(|part| part.has(model.default_function_id()));
            assert_eq!((parts.len(), having.count()), (3, 1), "{}", model.name());
        }
    }

    #[test]
    fn unknown_names_are_refused_with_those_allowed() {
        let error = "kpn".parse::<&'static Source>().unwrap_err();
        assert!(
            error.to_string().starts_with("service model \"kpn\" is not one of mac, rlc, pdcp, gtp"),
            "{error}"
        );
    }
}
