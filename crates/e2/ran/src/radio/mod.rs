//! A base station's radio: a cell of [`ranlab_radio::user_plane`] that controllers can observe and control. UEs attach,
//! send traffic and detach as planned.
//!
//! A [`Radio`] has no clock; the driver passes the time to [`Radio::pass`]. The radio is as late as its driver, or
//! later if the machine cannot keep up. The delay is measured, and no slot is skipped.
mod ccc;
mod control;
pub mod convert;
mod fluid;
mod handover;
mod meter;
mod neighbours;
mod ni;
mod plan;
mod power;
mod quotas;
mod rc;
mod rc_site;
#[cfg(feature = "wasm")]
mod sandbox;
mod site;
mod stage;

pub(crate) use ccc::CccSource;
pub use control::RadioTarget;
pub use fluid::{Fidelity, FluidRadio, SharedFluid};
pub use handover::{HandedOver, hand_over};
pub use meter::{FlowMeter, FlowSummary, RadioMeter, RadioSummary, Sample, UeMeter, quantile};
pub(crate) use ni::{InterfaceIdentity, NiSource};
pub use plan::{CellPlacement, DUS_MAX, FlowPlan, PlannedHandover, RadioConfig, TrafficKind, UePresence};
pub(crate) use rc::RcSource;
pub use rc::{Neighbours, cell_of};
pub(crate) use rc_site::SteeredSite;
pub use site::{BaseStation, SharedSite};

use crate::stats::CellFacts;
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, UeId};
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::rrc::{RrcChange, RrcEvent};
use ranlab_e2_codec::e2sm::slice::SliceSet;
use ranlab_e2_codec::e2sm::traffic::TrafficConfig;
use ranlab_radio::user_plane::{self as up, Cell, Command, Direction, Sojourn, UES_MAX};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Maximum virtual time that a radio catches up in one call, in microseconds, so that other tasks of the thread can
/// run.
pub const CATCH_UP_US: u64 = 20_000;

/// Reason why a radio cannot be created.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RadioError {
    /// The cell is invalid.
    #[error(transparent)]
    Cell(#[from] up::CellError),
    /// A UE is invalid.
    #[error(transparent)]
    Attach(#[from] up::AttachError),
    /// A key for module signatures is invalid.
    #[error("{0}")]
    StageKey(String),
    /// The configuration needs a feature that the fluid model lacks.
    #[error("fidelity fluid does not support {0}; fidelity slot does")]
    Fluid(&'static str),
    /// A plan names a UE that does not exist.
    #[error("{what} names UE {ue}; the cell has {ues} UEs, numbered from 1")]
    NoUe {
        /// Entry that names the UE: `a flow`, `a stay` or `a move`.
        what: &'static str,
        /// Number of the UE that does not exist.
        ue: u32,
        /// Number of UEs in the cell.
        ues: u32,
    },
}

/// A radio shared by RAN functions and its driver.
pub type SharedRadio = Arc<Mutex<Radio>>;

/// Arrival or departure of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UeMovement {
    /// The UE attached, or arrived from another cell.
    Came {
        /// Number of the UE.
        ue: u32,
        /// C-RNTI of the UE.
        rnti: u16,
    },
    /// The UE was released, or left to another cell.
    Went {
        /// Number of the UE.
        ue: u32,
        /// C-RNTI of the UE.
        rnti: u16,
    },
}

impl UeMovement {
    /// Notifies the agent of the movement.
    pub fn notify(self, agent: &mut Agent) {
        match self {
            Self::Came { rnti, .. } => {
                // Arrival cannot fail: a cell has fewer UEs than an agent's maximum.
                let arrived = agent.ue_arrived(UeId(rnti.into()));
                debug_assert!(arrived.is_ok());
            }
            Self::Went { rnti, .. } => agent.ue_left(UeId(rnti.into())),
        }
    }
}

/// Waiting times of packets since the last report of each kind.
#[derive(Debug, Default)]
struct ReportSojourns {
    /// Waiting times for SLICE reports, by slice number.
    slices: BTreeMap<u16, Sojourn>,
    /// Waiting times for TRAFFIC reports: in RLC by C-RNTI, and in each queue.
    rlc: BTreeMap<u16, Sojourn>,
    queues: BTreeMap<(u16, u8), Sojourn>,
}

/// A cell with its UEs and the configuration that controllers set.
#[derive(Debug)]
pub struct Radio {
    /// The cell.
    pub cell: Cell,
    cell_id: u16,
    plmn: Plmn,
    snssais: Vec<Snssai>,
    plmns: Vec<Plmn>,
    epoch_us: i64,
    /// Planned arrivals and departures of UEs, by time.
    plan: VecDeque<(u64, plan::PlannedEvent)>,
    /// C-RNTIs of attached UEs, by number.
    rntis: BTreeMap<u32, u16>,
    set: SliceSet,
    /// Slices that controllers assigned to UEs, by C-RNTI.
    homes: BTreeMap<u16, u16>,
    bearers: BTreeMap<u16, TrafficConfig>,
    waits: ReportSojourns,
    stages: stage::Stages,
    /// RRC events that RAN functions have not fetched yet. At the limit, the oldest are dropped.
    news: Vec<RrcEvent>,
    /// UEs whose planned departure time has passed here while they are in another cell.
    strays: Vec<u32>,
    divided: quotas::Divided,
    /// Pending reports and handover decisions for RC.
    mobility: rc::Mobility,
    /// Pending reports for NI.
    calls: ni::InterfaceEvents,
    power: power::Power,
    meter: meter::Meter,
    /// UEs handed over since the last pass.
    moved: Vec<UeMovement>,
    /// Virtual time since the radio was created, in µs.
    passed_us: u64,
    /// Computing time since the radio was created.
    busy: Duration,
}

impl Radio {
    /// Creates a radio whose time begins at `start_us`. `epoch_us` is the time of day at time zero. UEs attach as
    /// configured; UEs without an attachment time attach in the first [`pass`](Self::pass). UE numbers are unique
    /// among base stations.
    ///
    /// # Errors
    ///
    /// Returns an error if the cell or a UE is invalid.
    pub fn new(
        config: &RadioConfig,
        place: impl Into<CellPlacement>,
        plmn: Plmn,
        start_us: u64,
        epoch_us: i64,
    ) -> Result<Self, RadioError> {
        let place = place.into();
        let CellPlacement { cell_id, seed, .. } = place;
        let mut made = up::CellConfig { cell_id, seed, start_us, ..up::CellConfig::new(config.carrier) };
        made.first_rnti = place.first_rnti();
        made.down = convert::slices(&SliceSet::default());
        let plan = config.plan(place, plmn, start_us)?;
        // All UEs attach to a trial cell, so that invalid UEs are reported now and not when they attach later.
        let mut trial = Cell::new(made.clone())?;
        for (_, turn) in &plan {
            if let plan::PlannedEvent::Come(ue) = turn {
                trial.attach((**ue).clone()).map(|rnti| trial.release(rnti))?;
            }
        }
        Ok(Self {
            cell: Cell::new(made)?,
            cell_id,
            plmn,
            snssais: config.snssais.clone(),
            plmns: config.plmns.clone(),
            epoch_us,
            plan,
            rntis: BTreeMap::new(),
            set: SliceSet::default(),
            homes: BTreeMap::new(),
            bearers: BTreeMap::new(),
            waits: ReportSojourns::default(),
            stages: stage::Stages::new(&config.stage_keys)?,
            news: Vec::new(),
            strays: Vec::new(),
            divided: quotas::Divided::default(),
            mobility: rc::Mobility::default(),
            calls: ni::InterfaceEvents::default(),
            power: power::Power::default(),
            meter: meter::Meter::new(start_us, config.whats(place)),
            moved: Vec::new(),
            passed_us: 0,
            busy: Duration::ZERO,
        })
    }

    /// Advances to `now`, by at most [`CATCH_UP_US`]. Returns UE movements for the agent.
    pub fn pass(&mut self, now: Time) -> Vec<UeMovement> {
        self.end_failed_stages();
        let from_us = self.cell.now_us();
        let now_us = now.as_nanos() / 1_000;
        let slot_us = self.cell.config().carrier.slot_us();
        let end_us = now_us.min(from_us.saturating_add(CATCH_UP_US));
        let mut moved = std::mem::take(&mut self.moved);
        moved.extend(self.follow_power());
        loop {
            let turn_us = self.plan.front().map_or(u64::MAX, |(at_us, _)| *at_us);
            let turn_us = turn_us.saturating_add(slot_us - 1);
            self.cell.advance(end_us.min(turn_us).min(self.meter.due_us()));
            self.meter.sample(&self.cell, &self.rntis);
            let here_us = self.cell.now_us();
            while self.plan.front().is_some_and(|(at_us, _)| *at_us <= here_us) {
                let turn = self.plan.pop_front();
                moved.extend(turn.and_then(|(_, turn)| self.turn(turn)));
            }
            if here_us + slot_us > end_us {
                break;
            }
        }
        self.passed_us += self.cell.now_us() - from_us;
        self.meter.passed(self.cell.now_us() - from_us, now_us.saturating_sub(from_us));
        moved
    }

    fn turn(&mut self, turn: plan::PlannedEvent) -> Option<UeMovement> {
        let moved = match turn {
            plan::PlannedEvent::Come(ue) if !self.power.admits() => {
                self.power.wait(*ue);
                return None;
            }
            plan::PlannedEvent::Come(ue) => {
                let number = ue.id;
                // The attachment was tried when the radio was created.
                let rnti = self.cell.attach((*ue).clone()).ok()?;
                self.rntis.insert(number, rnti);
                self.power.configs.insert(number, *ue);
                let config = TrafficConfig::default();
                for queue in &config.queues {
                    let queue = up::TcCommand::PutQueue(convert::queue(queue));
                    let made = self.cell.command(&Command::Tc(Some(rnti), queue));
                    debug_assert!(made.is_ok(), "{made:?}");
                }
                self.bearers.insert(rnti, config);
                self.settle_by_quota(number, rnti);
                UeMovement::Came { ue: number, rnti }
            }
            plan::PlannedEvent::Move(number, cell) => {
                // The base station can hand over only UEs that are in this cell.
                let rnti = self.rntis.get(&number);
                self.mobility.decide(rnti.copied(), cell);
                return None;
            }
            plan::PlannedEvent::Go(number) if self.power.forget_waiting(number) => return None,
            plan::PlannedEvent::Go(number) => {
                let gone = self.release(number);
                if gone.is_none() {
                    self.strays.push(number);
                }
                return gone;
            }
        };
        self.drain_events(|_| {});
        Some(moved)
    }

    /// Removes a UE. Returns the configuration of its bearer.
    fn forget(&mut self, number: u32, rnti: u16) -> Option<TrafficConfig> {
        self.rntis.remove(&number);
        self.power.configs.remove(&number);
        self.homes.remove(&rnti);
        self.stages.forget(rnti);
        self.waits.rlc.remove(&rnti);
        self.waits.queues.retain(|(ue, _), _| *ue != rnti);
        self.bearers.remove(&rnti)
    }

    fn event(&self, kind: up::RrcKind, rnti: u16, ue: u32) -> RrcEvent {
        let change = match kind {
            up::RrcKind::Attach => RrcChange::Attach,
            up::RrcKind::HandoverIn => RrcChange::Handover,
            up::RrcKind::Release | up::RrcKind::HandoverOut => RrcChange::Release,
        };
        let snssais = self.snssais_of(ue);
        let ue = counted(ue);
        let plmn = *plan::of_ue(&self.plmns, ue).unwrap_or(&self.plmn);
        RrcEvent { change, rnti, cell_id: self.cell_id, plmn, snssais, other: None }
    }

    fn snssais_of(&self, ue: u32) -> Vec<Snssai> {
        plan::of_ue(&self.snssais, counted(ue)).into_iter().copied().collect()
    }

    /// Returns whether the plan has further handovers.
    fn will_move(&self) -> bool {
        self.plan.iter().any(|(_, turn)| matches!(turn, plan::PlannedEvent::Move(..)))
    }

    /// Returns the slices that each UE requested, by C-RNTI.
    pub(crate) fn slices(&self) -> BTreeMap<u16, Vec<Snssai>> {
        self.rntis.iter().map(|(ue, rnti)| (*rnti, self.snssais_of(*ue))).collect()
    }

    /// Returns the cell.
    pub fn cell(&self) -> &Cell {
        &self.cell
    }

    /// Returns the C-RNTIs of attached UEs, by number.
    pub fn rntis(&self) -> &BTreeMap<u32, u16> {
        &self.rntis
    }

    /// Starts a measurement.
    pub fn begin(&mut self) {
        self.meter.begin(&self.cell, &self.rntis);
    }

    /// Adds computing time of the driver.
    pub fn was_busy(&mut self, time: Duration) {
        self.meter.busy += time;
        self.busy += time;
    }

    /// Returns virtual time divided by computing time since the radio was created, or 0 without any computing time.
    pub fn real_time_factor(&self) -> f64 {
        meter::factor(self.passed_us, self.busy)
    }

    /// Returns the measurements since [`begin`](Self::begin).
    pub fn meter(&self) -> RadioMeter {
        self.meter.read(&self.cell, &self.rntis)
    }

    pub(crate) fn facts(&self) -> CellFacts {
        let cell = &self.cell;
        let carrier = &self.cell.config().carrier;
        let offered = [Direction::Down, Direction::Up].map(|direction| cell.prbs_offered(direction));
        CellFacts::from_carrier(self.cell_id, carrier, cell.slot(), offered)
    }
}

/// Returns the number of the first UE of a base station, which has at most [`UES_MAX`] UEs.
pub const fn first_ue(station: u16) -> u32 {
    station as u32 * UES_MAX as u32 + 1
}

/// Returns a UE's number as used in the configuration, independent of its original cell.
const fn counted(ue: u32) -> u32 {
    (ue - 1) % UES_MAX as u32 + 1
}

/// Interval at which radios are driven, equal to a slot of LTE.
pub const TICK: Duration = Duration::from_millis(1);
