//! A base station's radio in coarse steps: statistics of users' traffic at the cost of a light generator, for fleets. It
//! has bytes and no packets, and nobody steers it.
use super::RadioError;
use super::plan::{RadioConfig, What};
use crate::stats::CellFacts;
use ranlab_radio::user_plane::{CellConfig, Direction, FluidCell, UeReport};
use ranlab_sdk::e2::Time;
use ranlab_sdk::wire::e2ap::Plmn;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time that is decided at once: as short as reports can ask for without seeing steps.
const STEP_US: u64 = 10_000;

/// How closely a radio is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fidelity {
    /// Slot by slot and packet by packet, as fast as the clock; controllers steer it.
    #[default]
    Slot,
    /// In steps of 10 ms, when somebody asks: statistics alone.
    Fluid,
}

/// A radio in coarse steps that RAN functions share.
pub type SharedFluid = Arc<Mutex<FluidRadio>>;

/// A cell in coarse steps with its UEs; it is advanced when somebody asks.
#[derive(Debug)]
pub struct FluidRadio {
    cell: FluidCell,
    passed_us: u64,
    busy: Duration,
}

impl FluidRadio {
    /// A radio whose time begins at `start_us`.
    ///
    /// # Errors
    /// There can be no such cell, no such UE in it, or the UEs are to do what bytes without packets cannot show.
    pub fn new(
        config: &RadioConfig,
        (cell_id, seed): (u16, u64),
        plmn: Plmn,
        start_us: u64,
    ) -> Result<Self, RadioError> {
        config.check()?;
        if let Some(what) = beyond(config) {
            return Err(RadioError::Fluid(what));
        }
        let made = CellConfig { cell_id, seed, start_us, ..CellConfig::new(config.carrier) };
        let steps = STEP_US / config.carrier.slot_us();
        let mut cell = FluidCell::new(made, steps)?;
        for ue in 1..=config.ues {
            cell.attach(&config.ue(ue, super::first_ue(cell_id) + ue - 1, plmn, start_us))?;
        }
        Ok(Self { cell, passed_us: 0, busy: Duration::ZERO })
    }

    /// The cell.
    pub fn cell(&self) -> &FluidCell {
        &self.cell
    }

    /// What it tells at a time.
    pub fn reports(&mut self, now: Time) -> Vec<UeReport> {
        let (begin, from_us) = (Instant::now(), self.cell.now_us());
        self.cell.advance(now.as_nanos() / 1_000);
        self.passed_us += self.cell.now_us() - from_us;
        self.busy += begin.elapsed();
        self.cell.reports().collect()
    }

    /// Its time by the time that it took, since it was made; 0 if nobody has asked yet.
    pub fn real_time_factor(&self) -> f64 {
        super::meter::factor(self.passed_us, self.busy)
    }

    pub(crate) fn facts(&self) -> CellFacts {
        let config = self.cell.config();
        CellFacts::of(
            config.cell_id,
            &config.carrier,
            self.cell.slot(),
            self.cell.prbs_offered(Direction::Down),
        )
    }
}

/// What of a config needs packets, or somebody who is told.
fn beyond(config: &RadioConfig) -> Option<&'static str> {
    let flow = config.flows.iter().find_map(|flow| match flow.what {
        What::Voip => Some("the flow voip: it has no packets, and so no round trips"),
        What::Tcp(_) => Some("the flow tcp: it has no packets, and so no losses"),
        What::Udp(..) | What::Full => None,
    });
    let keys = (!config.stage_keys.is_empty()).then_some("stages: it has no traffic control");
    let stay = (!config.stays.is_empty()).then_some("a stay: its UEs are there from the start");
    let chosen = !(config.snssais.is_empty() && config.plmns.is_empty());
    let chosen = chosen.then_some("what UEs choose: it has no RRC");
    flow.or(stay).or(chosen).or(keys)
}
