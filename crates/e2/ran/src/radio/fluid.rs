//! A base station's radio in coarse time steps (fluid model). It provides statistics of user traffic for large fleets, and is as cheap as
//! the generator of statistics ([`ranlab_radio::Cell`]). It models bytes instead of packets and has no control functions.
use super::RadioError;
use super::plan::{RadioConfig, TrafficKind};
use crate::stats::CellFacts;
use ranlab_e2::Time;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_radio::user_plane::{CellConfig, Direction, FluidCell, UeReport};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time step, in microseconds. It equals the shortest report period, so that steps are not visible in reports.
const STEP_US: u64 = 10_000;

/// Level of detail of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fidelity {
    /// Slots and packets in real time, with control functions.
    #[default]
    Slot,
    /// Steps of 10 ms that are computed on demand, with statistics only.
    Fluid,
}

/// A fluid radio shared by RAN functions.
pub type SharedFluid = Arc<Mutex<FluidRadio>>;

/// A fluid cell with its UEs. It is advanced on demand.
#[derive(Debug)]
pub struct FluidRadio {
    cell: FluidCell,
    passed_us: u64,
    busy: Duration,
}

impl FluidRadio {
    /// Creates a radio whose time begins at `start_us`.
    ///
    /// # Errors
    ///
    /// Returns an error if the cell or a UE is invalid, or if the plan needs features that the fluid model lacks.
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

    /// Returns the cell.
    pub fn cell(&self) -> &FluidCell {
        &self.cell
    }

    /// Advances to a time and returns the statistics.
    #[allow(
        clippy::disallowed_methods,
        reason = "the time that the machine needs is metered, and no result depends on it"
    )]
    pub fn reports(&mut self, now: Time) -> Vec<UeReport> {
        let begin = Instant::now();
        let from_us = self.cell.now_us();
        self.cell.advance(now.as_nanos() / 1_000);
        self.passed_us += self.cell.now_us() - from_us;
        self.busy += begin.elapsed();
        self.cell.reports().collect()
    }

    /// Returns virtual time divided by computing time since the radio was created, or 0 before the first report.
    pub fn real_time_factor(&self) -> f64 {
        super::meter::factor(self.passed_us, self.busy)
    }

    pub(crate) fn facts(&self) -> CellFacts {
        let config = self.cell.config();
        let offered = [Direction::Down, Direction::Up].map(|direction| self.cell.prbs_offered(direction));
        CellFacts::from_carrier(config.cell_id, &config.carrier, self.cell.slot(), offered)
    }
}

/// Returns the first feature of a configuration that the fluid model lacks, with the reason.
fn beyond(config: &RadioConfig) -> Option<&'static str> {
    let flow = config.flows.iter().find_map(|flow| match flow.what {
        TrafficKind::Voip => Some("the flow voip, because it has no packets and therefore no round trips"),
        TrafficKind::Tcp(_) => Some("the flow tcp, because it has no packets and therefore no losses"),
        TrafficKind::Udp(..) | TrafficKind::Full => None,
    });
    let keys = (!config.stage_keys.is_empty()).then_some("stages, because it has no traffic control");
    let stay = (!config.stays.is_empty()).then_some("a stay, because its UEs are present from the start");
    let chosen = !(config.snssais.is_empty() && config.plmns.is_empty());
    let chosen = chosen.then_some("slices and networks selected by UEs, because it has no RRC");
    flow.or(stay).or(chosen).or(keys)
}
