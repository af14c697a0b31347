//! A base station's radio: a cell of [`ranlab_radio::user_plane`] whose UEs come, have traffic and go as planned, that
//! controllers see and steer.
//!
//! A [`Radio`] has no clock: whoever drives it says what time it is ([`Radio::pass`]). It is as late as its driver, or
//! later if the machine cannot follow; how late is measured, nothing is left out.
mod ccc;
mod control;
mod convert;
mod fluid;
mod handover;
mod meter;
mod neighbours;
mod ni;
mod plan;
mod quotas;
mod rc;
#[cfg(feature = "wasm")]
mod sandbox;
mod site;
mod stage;
mod station;

pub(crate) use ccc::Configured;
pub use fluid::{Fidelity, FluidRadio, SharedFluid};
pub use handover::{HandedOver, hand_over};
pub use meter::{FlowMeter, FlowSummary, RadioMeter, RadioSummary, Sample, UeMeter, quantile};
pub(crate) use ni::{Called, Watched};
pub use plan::{DUS_MAX, FlowPlan, Move, Place, RadioConfig, Stay, What};
pub(crate) use rc::Steered;
pub use rc::{Neighbours, cell_of};
pub use site::{SharedSite, Site, drive as drive_site};
pub use station::station;

use crate::stats::CellFacts;
use ranlab_radio::user_plane::{self as up, Cell, Command, Direction, Sojourn, UES_MAX};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{Agent, RanFunction, UeId};
use ranlab_sdk::e2::functions::{slice, traffic};
use ranlab_sdk::wire::e2ap::Plmn;
use ranlab_sdk::wire::e2sm;
use ranlab_sdk::wire::e2sm::rc::commands::SliceQuota;
use ranlab_sdk::wire::e2sm::rrc::{RrcChange, RrcEvent, Snssai};
use ranlab_sdk::wire::e2sm::slice::SliceSet;
use ranlab_sdk::wire::e2sm::traffic::TrafficConfig;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Virtual time that a radio makes up for at once, at most: whoever shares its thread has a turn in between.
pub const CATCH_UP_US: u64 = 20_000;

/// A radio cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RadioError {
    /// Its cell.
    #[error(transparent)]
    Cell(#[from] up::CellError),
    /// A UE.
    #[error(transparent)]
    Attach(#[from] up::AttachError),
    /// A key by which modules are signed.
    #[error("{0}")]
    StageKey(String),
    /// What a radio in coarse steps cannot do.
    #[error("fidelity fluid cannot do {0}; fidelity slot can")]
    Fluid(&'static str),
    /// What UEs are to do.
    #[error("{what} is about UE {ue}; there are {ues}, counted from 1")]
    NoUe {
        /// `a flow`, `a stay` or `a move`.
        what: &'static str,
        /// Named.
        ue: u32,
        /// In the cell.
        ues: u32,
    },
}

/// A radio that RAN functions and its driver share.
pub type SharedRadio = Arc<Mutex<Radio>>;

/// A UE that came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It attached, or came from another cell.
    Came {
        /// Its number.
        ue: u32,
        /// Its C-RNTI.
        rnti: u16,
    },
    /// It was released, or went to another cell.
    Went {
        /// Its number.
        ue: u32,
        /// Its C-RNTI.
        rnti: u16,
    },
}

impl Moved {
    /// Tells the agent.
    pub fn tell(self, agent: &mut Agent) {
        match self {
            Self::Came { rnti, .. } => {
                // A cell has fewer UEs than an agent may have.
                let arrived = agent.ue_arrived(UeId(rnti.into()));
                debug_assert!(arrived.is_ok());
            }
            Self::Went { rnti, .. } => agent.ue_left(UeId(rnti.into())),
        }
    }
}

/// How long packets waited, since each kind of report last said it.
#[derive(Debug, Default)]
struct Waits {
    /// For SLICE, by slice.
    slices: BTreeMap<u16, Sojourn>,
    /// For TRAFFIC, by C-RNTI: in RLC, and in each queue.
    rlc: BTreeMap<u16, Sojourn>,
    queues: BTreeMap<(u16, u8), Sojourn>,
}

/// A cell with its UEs and what controllers made of it.
#[derive(Debug)]
pub struct Radio {
    cell: Cell,
    cell_id: u16,
    plmn: Plmn,
    snssais: Vec<Snssai>,
    plmns: Vec<Plmn>,
    epoch_us: i64,
    /// UEs that come and go, in the order of their times.
    plan: VecDeque<(u64, plan::Turn)>,
    /// C-RNTIs of the UEs that are there, by number.
    rntis: BTreeMap<u32, u16>,
    set: SliceSet,
    /// UEs that a controller put into a slice, by C-RNTI.
    homes: BTreeMap<u16, u16>,
    bearers: BTreeMap<u16, TrafficConfig>,
    waits: Waits,
    stages: stage::Stages,
    /// RRC events that nobody has asked for yet; the oldest are forgotten.
    news: Vec<RrcEvent>,
    /// UEs that were to go from here and have been handed over.
    strays: Vec<u32>,
    /// Quotas by which a controller shared the carrier, and the slices that they became.
    quotas: (Vec<SliceQuota>, SliceSet),
    /// What RC is to be told and asked.
    mobility: rc::Mobility,
    /// What NI is to be told.
    calls: ni::Calls,
    meter: meter::Meter,
    /// UEs that were handed over since the last pass.
    moved: Vec<Moved>,
    /// Virtual time since it was made, and how long that took.
    passed_us: u64,
    busy: Duration,
}

impl Radio {
    /// A radio whose time begins at `start_us`; `epoch_us` is the time of day at time zero. UEs come as the config says,
    /// those without a time with the first [`pass`](Self::pass). Their numbers are unique among base stations.
    ///
    /// # Errors
    /// There can be no such cell, or no such UE in it.
    pub fn new(
        config: &RadioConfig,
        place: impl Into<Place>,
        plmn: Plmn,
        start_us: u64,
        epoch_us: i64,
    ) -> Result<Self, RadioError> {
        let place = place.into();
        let Place { cell_id, seed, .. } = place;
        let mut made = up::CellConfig { cell_id, seed, start_us, ..up::CellConfig::new(config.carrier) };
        made.first_rnti = place.first_rnti();
        made.down = convert::slices(&SliceSet::default());
        let plan = config.plan(place, plmn, start_us)?;
        // What cannot be attached is told now, not when its time comes.
        let mut trial = Cell::new(made.clone())?;
        for (_, turn) in &plan {
            if let plan::Turn::Come(ue) = turn {
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
            waits: Waits::default(),
            stages: stage::Stages::new(&config.stage_keys)?,
            news: Vec::new(),
            strays: Vec::new(),
            quotas: (Vec::new(), SliceSet::default()),
            mobility: rc::Mobility::default(),
            calls: ni::Calls::default(),
            meter: meter::Meter::new(start_us, config.whats(place)),
            moved: Vec::new(),
            passed_us: 0,
            busy: Duration::ZERO,
        })
    }

    /// The RAN functions over a cell, with their ids; [`Site`] has those over a base station.
    pub(crate) fn functions(radio: &SharedRadio) -> [(Box<dyn RanFunction>, u16); 2] {
        let station = control::Station(Arc::clone(radio));
        [
            (slice::function(station.clone()), e2sm::slice::DEFAULT_FUNCTION_ID),
            (traffic::function(station), e2sm::traffic::DEFAULT_FUNCTION_ID),
        ]
    }

    /// Lets time pass until `now`, but no more than [`CATCH_UP_US`] of it; the agent is to be told of who moved.
    pub fn pass(&mut self, now: Time) -> Vec<Moved> {
        self.end_failed_stages();
        let (from_us, now_us) = (self.cell.now_us(), now.as_nanos() / 1_000);
        let slot_us = self.cell.config().carrier.slot_us();
        let end_us = now_us.min(from_us.saturating_add(CATCH_UP_US));
        let mut moved = std::mem::take(&mut self.moved);
        loop {
            let turn_us = self.plan.front().map_or(u64::MAX, |(at_us, _)| *at_us);
            let turn_us = turn_us.saturating_add(slot_us - 1);
            self.cell.advance(end_us.min(turn_us).min(self.meter.due_us()));
            self.meter.look(&self.cell, &self.rntis);
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

    fn turn(&mut self, turn: plan::Turn) -> Option<Moved> {
        let moved = match turn {
            plan::Turn::Come(ue) => {
                let number = ue.id;
                // It was tried when the radio was made.
                let rnti = self.cell.attach(*ue).ok()?;
                self.rntis.insert(number, rnti);
                let config = TrafficConfig::default();
                for queue in &config.queues {
                    let queue = up::TcCommand::PutQueue(convert::queue(queue));
                    let made = self.cell.command(&Command::Tc(Some(rnti), queue));
                    debug_assert!(made.is_ok(), "{made:?}");
                }
                self.bearers.insert(rnti, config);
                self.settle_by_quota(number, rnti);
                Moved::Came { ue: number, rnti }
            }
            plan::Turn::Move(number, cell) => {
                // A UE that has gone elsewhere is not this base station's to hand over.
                let rnti = self.rntis.get(&number);
                self.mobility.decide(rnti.copied(), cell);
                return None;
            }
            plan::Turn::Go(number) => {
                let gone = self.release(number);
                if gone.is_none() {
                    self.strays.push(number);
                }
                return gone;
            }
        };
        self.hear(|_| {});
        Some(moved)
    }

    /// A UE is here no more; how its bearer was configured.
    fn forget(&mut self, number: u32, rnti: u16) -> Option<TrafficConfig> {
        self.rntis.remove(&number);
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
        let (ue, snssais) = (counted(ue), self.snssais_of(ue));
        let plmn = *plan::of_ue(&self.plmns, ue).unwrap_or(&self.plmn);
        RrcEvent { change, rnti, cell_id: self.cell_id, plmn, snssais, other: None }
    }

    fn snssais_of(&self, ue: u32) -> Vec<Snssai> {
        plan::of_ue(&self.snssais, counted(ue)).into_iter().copied().collect()
    }

    /// Whether its plan still has UEs to be handed over.
    fn will_move(&self) -> bool {
        self.plan.iter().any(|(_, turn)| matches!(turn, plan::Turn::Move(..)))
    }

    /// Slices that each UE chose, by C-RNTI.
    pub(crate) fn slices(&self) -> BTreeMap<u16, Vec<Snssai>> {
        self.rntis.iter().map(|(ue, rnti)| (*rnti, self.snssais_of(*ue))).collect()
    }

    /// The cell.
    pub fn cell(&self) -> &Cell {
        &self.cell
    }

    /// C-RNTIs of the UEs that are there, by number.
    pub fn rntis(&self) -> &BTreeMap<u32, u16> {
        &self.rntis
    }

    /// Begins to measure anew.
    pub fn begin(&mut self) {
        self.meter.begin(&self.cell, &self.rntis);
    }

    /// Says how long the driver was busy with it.
    pub fn was_busy(&mut self, time: Duration) {
        self.meter.busy += time;
        self.busy += time;
    }

    /// Virtual time by the time that its driver was busy with it, since it was made; 0 if it was never busy.
    pub fn real_time_factor(&self) -> f64 {
        meter::factor(self.passed_us, self.busy)
    }

    /// What happened since [`begin`](Self::begin).
    pub fn meter(&self) -> RadioMeter {
        self.meter.read(&self.cell, &self.rntis)
    }

    pub(crate) fn facts(&self) -> CellFacts {
        let (cell, carrier) = (&self.cell, &self.cell.config().carrier);
        CellFacts::of(self.cell_id, carrier, cell.slot(), cell.prbs_offered(Direction::Down))
    }
}

/// Number of the first UE of a base station; it has at most [`UES_MAX`] of its own.
pub const fn first_ue(station: u16) -> u32 {
    station as u32 * UES_MAX as u32 + 1
}

/// A UE's number as the config counts, wherever it came from.
const fn counted(ue: u32) -> u32 {
    (ue - 1) % UES_MAX as u32 + 1
}

/// How often radios are driven: a slot of LTE.
pub const TICK: Duration = Duration::from_millis(1);

/// Lets a radio's time pass as ours does, for ever; `told` hears after each step who moved.
pub async fn drive(radio: SharedRadio, mut told: impl FnMut(Vec<Moved>)) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let moved = {
            let mut radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
            let begin = Instant::now();
            let moved = radio.pass(ranlab_sdk::now());
            radio.was_busy(begin.elapsed());
            moved
        };
        told(moved);
    }
}
