//! Cells in a plane and UEs that move between them, with path loss, load-dependent interference, and handover.

use super::Direction;
use super::cell::{Cell, CellConfig, CellError, Common};
use super::channel::{Channel, jakes};
use super::math::{exp, from_db, to_db};
use super::path_loss::Environment;
use super::random::{Purpose, Stream};
use super::ue::{AttachError, UeConfig};

/// Maximum number of cells of a network.
pub const CELLS_MAX: usize = 256;
/// Time between two measurements of a UE, in µs. Cells advance together in steps of this length.
pub const MEASURE_US: u64 = 100_000;
/// Distance after which the line of sight to a site is drawn again, in m.
const SIGHT_M: f64 = 50.0;
/// Height of a UE, in m.
const UE_M: f64 = 1.5;
/// Minimum load of a cell, because its control channels always transmit.
const LOAD_MIN: f64 = 0.05;

/// Configuration of a network of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkConfig {
    /// Environment of all sites.
    pub environment: Environment,
    /// Carrier frequency in GHz, 0.5 to 6.
    pub ghz: f64,
    /// Power of a cell including antenna gain, in dBm, 0 to 80.
    pub power_dbm: f64,
    /// Noise figure of a UE in dB, 0 to 20.
    pub noise_figure_db: f64,
    /// Positions of the sites in m, 1 to [`CELLS_MAX`]. Each site has one cell.
    pub sites: Vec<(f64, f64)>,
    /// Corner of the area opposite to the origin, in m. UEs move within this area.
    pub area_m: (f64, f64),
    /// Speed of the UEs in km/h, 0 to 500.
    pub speed_kmh: f64,
    /// Hysteresis of event A3: margin by which a neighbour must be stronger, in dB, 0 to 30.
    pub hysteresis_db: f64,
    /// Time for which event A3 must hold, in ms; a multiple of the measurement period.
    pub time_to_trigger_ms: u32,
    /// Configuration of each cell. Cell identities count upwards from the identity given here.
    pub cell: CellConfig,
}

/// Reason why a network is invalid, or a handover is impossible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A cell is invalid.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A UE is invalid.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A number is out of bounds.
    #[error("{what} is {given}; {allowed} is allowed")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Given value.
        given: f64,
        /// Allowed range.
        allowed: &'static str,
    },
    /// The UE does not exist.
    #[error("there is no UE {0}")]
    NoUe(u32),
    /// The cell does not exist.
    #[error("there is no cell {0}")]
    NoCell(usize),
}

impl NetworkConfig {
    fn check(&self) -> Result<(), NetworkError> {
        let number = |what, given: f64, range: std::ops::RangeInclusive<f64>, allowed| {
            if range.contains(&given) { Ok(()) } else { Err(NetworkError::Number { what, given, allowed }) }
        };
        number("the frequency in GHz", self.ghz, 0.5..=6.0, "0.5 to 6")?;
        number("the power in dBm", self.power_dbm, 0.0..=80.0, "0 to 80")?;
        number("the noise figure in dB", self.noise_figure_db, 0.0..=20.0, "0 to 20")?;
        number("the speed in km/h", self.speed_kmh, 0.0..=500.0, "0 to 500")?;
        number("the hysteresis in dB", self.hysteresis_db, 0.0..=30.0, "0 to 30")?;
        number("the number of sites", self.sites.len() as f64, 1.0..=CELLS_MAX as f64, "1 to 256")?;
        let edges = [self.area_m.0, self.area_m.1]
            .into_iter()
            .chain(self.sites.iter().flat_map(|site| [site.0, site.1]));
        edges
            .into_iter()
            .try_for_each(|edge| number("a coordinate in m", edge, -1e5..=1e5, "-100000 to 100000"))
    }
}

/// Position and measurements of a UE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Identity of the UE for records.
    pub ue: u32,
    /// Position of the UE, in m.
    pub place_m: (f64, f64),
    /// Index of the serving cell.
    pub cell: usize,
    /// C-RNTI in the serving cell.
    pub rnti: u16,
    /// Mean SINR of the downlink, in dB.
    pub sinr_db: f64,
    /// Number of handovers so far.
    pub handovers: u32,
}

/// Cells and moving UEs.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    cells: Vec<Cell>,
    mobiles: Vec<Mobile>,
    /// Downlink PRBs used until the last measurement, and the load since the previous measurement, by cell.
    used: Vec<(u64, f64)>,
    noise_mw: f64,
    measured: u64,
}

#[derive(Debug)]
struct Mobile {
    measurement: Measured,
    target_m: (f64, f64),
    waypoints: u64,
    travelled_m: f64,
    /// Shadowing by site, in standard deviations.
    shadows: Vec<f64>,
    /// Received power by site, in mW.
    received: Vec<f64>,
    /// Stronger neighbour cell, and number of measurements for which it was stronger.
    stronger: (usize, u32),
}

impl Network {
    /// Creates a network without UEs.
    pub fn new(config: NetworkConfig) -> Result<Self, NetworkError> {
        config.check()?;
        config.cell.check()?;
        let common = Common::new(&config.cell.carrier);
        let cell = |index: usize| {
            let cell_id = config.cell.cell_id.wrapping_add(index as u16);
            Cell::with(common.clone(), CellConfig { cell_id, ..config.cell.clone() })
        };
        let carrier = &config.cell.carrier;
        let hertz = f64::from(carrier.prbs) * 180_000.0 * f64::from(1_u32 << carrier.numerology);
        Ok(Self {
            cells: (0..config.sites.len()).map(cell).collect(),
            mobiles: Vec::new(),
            used: vec![(0, LOAD_MIN); config.sites.len()],
            noise_mw: from_db(-174.0 + to_db(hertz) + config.noise_figure_db),
            measured: 0,
            config,
        })
    }

    /// Attaches a UE at a random position, in its strongest cell. Its channel fades around a mean that follows its
    /// position.
    pub fn attach(&mut self, ue: UeConfig) -> Result<usize, NetworkError> {
        let stream = Stream::new(self.config.cell.seed, Purpose::Place, u64::from(ue.id));
        let place_m = (self.config.area_m.0 * stream.unit(0), self.config.area_m.1 * stream.unit(1));
        let sites = self.config.sites.len();
        let measurement = Measured { ue: ue.id, place_m, cell: 0, rnti: 0, sinr_db: 0.0, handovers: 0 };
        let mut mobile = Mobile {
            measurement,
            target_m: place_m,
            waypoints: 0,
            travelled_m: 0.0,
            shadows: (0..sites).map(|site| self.shadow(ue.id, site).normals(0).0.into()).collect(),
            received: vec![0.0; sites],
            stronger: (0, 0),
        };
        self.listen(&mut mobile);
        let cell = best(&mobile.received);
        mobile.measurement.cell = cell;
        mobile.measurement.sinr_db = self.sinr_db(&mobile);
        let seconds = self.config.cell.carrier.slot_us() as f64 / 1e6;
        let correlation =
            jakes(self.config.speed_kmh.max(0.1), self.config.ghz, seconds).min(0.999_99) as f32;
        let channel =
            Channel::Fading { mean_db: mobile.measurement.sinr_db.clamp(-30.0, 60.0) as f32, correlation };
        mobile.measurement.rnti = self.cells[cell].attach(UeConfig { channel, ..ue })?;
        self.mobiles.push(mobile);
        Ok(cell)
    }

    /// Hands a UE over to a cell, as requested by a controller.
    pub fn hand_over(&mut self, ue: u32, target: usize) -> Result<(), NetworkError> {
        if target >= self.cells.len() {
            return Err(NetworkError::NoCell(target));
        }
        let index = self
            .mobiles
            .iter()
            .position(|mobile| mobile.measurement.ue == ue)
            .ok_or(NetworkError::NoUe(ue))?;
        if self.mobiles[index].measurement.cell != target {
            self.move_to(index, target)?;
        }
        Ok(())
    }

    /// Advances virtual time to `now_us`. Cells advance together from measurement to measurement.
    pub fn advance(&mut self, now_us: u64) {
        loop {
            let next = self.config.cell.start_us + (self.measured + 1) * MEASURE_US;
            let until = next.min(now_us);
            self.cells.iter_mut().for_each(|cell| cell.advance(until));
            if next > now_us {
                return;
            }
            self.measured += 1;
            self.measure();
        }
    }

    /// Returns the cells, in the order of the sites.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns a cell, for commands. Only [`advance`](Self::advance) may advance its time.
    pub fn cell_mut(&mut self, index: usize) -> Option<&mut Cell> {
        self.cells.get_mut(index)
    }

    /// Returns positions and measurements of the UEs, in the order of arrival.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.mobiles.iter().map(|mobile| &mobile.measurement)
    }

    fn measure(&mut self) {
        for (cell, used) in self.cells.iter().zip(&mut self.used) {
            let now: u64 = cell.slice_stats(Direction::Down).1.iter().map(|slice| slice.prbs).sum();
            let slots = MEASURE_US as f64 / cell.config().carrier.slot_us() as f64;
            let offered =
                slots * f64::from(cell.config().carrier.prbs) * cell.config().carrier.share(Direction::Down);
            // Replaced slices restart their counters at zero, so the difference saturates.
            let load = now.saturating_sub(used.0) as f64 / offered;
            *used = (now, load.clamp(LOAD_MIN, 1.0));
        }
        let mut mobiles = std::mem::take(&mut self.mobiles);
        for mobile in &mut mobiles {
            self.travel(mobile);
            self.listen(mobile);
            mobile.measurement.sinr_db = self.sinr_db(mobile);
            self.cells[mobile.measurement.cell]
                .set_mean_sinr(mobile.measurement.rnti, mobile.measurement.sinr_db);
        }
        self.mobiles = mobiles;
        for index in 0..self.mobiles.len() {
            if let Some(target) = self.wants(index) {
                // A full neighbour refuses the UE. The UE stays in its cell and tries again later.
                let _ = self.move_to(index, target);
            }
        }
    }

    /// Evaluates event A3 for a UE, and returns the target cell of a handover.
    fn wants(&mut self, index: usize) -> Option<usize> {
        let hysteresis = from_db(self.config.hysteresis_db);
        let patience = self.config.time_to_trigger_ms;
        let mobile = &mut self.mobiles[index];
        let target = best(&mobile.received);
        if mobile.received[target] <= mobile.received[mobile.measurement.cell] * hysteresis {
            mobile.stronger = (0, 0);
            return None;
        }
        let count = if mobile.stronger.0 == target { mobile.stronger.1 + 1 } else { 1 };
        mobile.stronger = (target, count);
        (u64::from(count) * MEASURE_US >= u64::from(patience) * 1000).then_some(target)
    }

    fn move_to(&mut self, index: usize, target: usize) -> Result<(), NetworkError> {
        let Measured { ue, cell, rnti, .. } = self.mobiles[index].measurement;
        if self.cells[target].rntis().count() >= super::UES_MAX {
            return Err(AttachError::Full(super::UES_MAX).into());
        }
        let context = self.cells[cell].hand_over(rnti).ok_or(NetworkError::NoUe(ue))?;
        let rnti = self.cells[target].admit(context)?;
        let mobile = &mut self.mobiles[index];
        mobile.measurement = Measured {
            cell: target,
            rnti,
            handovers: mobile.measurement.handovers + 1,
            ..mobile.measurement
        };
        mobile.stronger = (0, 0);
        let sinr_db = self.sinr_db(&self.mobiles[index]);
        self.mobiles[index].measurement.sinr_db = sinr_db;
        self.cells[target].set_mean_sinr(rnti, sinr_db);
        Ok(())
    }

    /// Moves a UE by one step: straight to a random position, then to another one.
    fn travel(&self, mobile: &mut Mobile) {
        let mut step = self.config.speed_kmh / 3.6 * MEASURE_US as f64 / 1e6;
        mobile.travelled_m += step;
        let stream = Stream::new(self.config.cell.seed, Purpose::Waypoint, u64::from(mobile.measurement.ue));
        while step > 0.0 {
            let (x, y) = mobile.measurement.place_m;
            let dx = mobile.target_m.0 - x;
            let dy = mobile.target_m.1 - y;
            let far = (dx * dx + dy * dy).sqrt();
            if far > step {
                mobile.measurement.place_m = (x + dx / far * step, y + dy / far * step);
                break;
            }
            step -= far;
            mobile.measurement.place_m = mobile.target_m;
            let next = (stream.unit(2 * mobile.waypoints), stream.unit(2 * mobile.waypoints + 1));
            mobile.target_m = (self.config.area_m.0 * next.0, self.config.area_m.1 * next.1);
            mobile.waypoints += 1;
            if self.config.area_m == (0.0, 0.0) {
                break;
            }
        }
        let moved = self.config.speed_kmh / 3.6 * MEASURE_US as f64 / 1e6;
        for site in 0..mobile.shadows.len() {
            let sight = self.sees(mobile, site);
            let memory = exp(-moved / self.config.environment.correlation_m(sight));
            let draw = f64::from(self.shadow(mobile.measurement.ue, site).normals(self.measured).0);
            mobile.shadows[site] =
                memory * mobile.shadows[site] + (1.0 - memory * memory).max(0.0).sqrt() * draw;
        }
    }

    fn shadow(&self, ue: u32, site: usize) -> Stream {
        Stream::new(self.config.cell.seed, Purpose::Shadowing, u64::from(ue) << 16 | site as u64)
    }

    fn distance_m(&self, mobile: &Mobile, site: usize) -> f64 {
        let dx = self.config.sites[site].0 - mobile.measurement.place_m.0;
        let dy = self.config.sites[site].1 - mobile.measurement.place_m.1;
        (dx * dx + dy * dy).sqrt()
    }

    fn sees(&self, mobile: &Mobile, site: usize) -> bool {
        let entity = u64::from(mobile.measurement.ue) << 16 | site as u64;
        let stream = Stream::new(self.config.cell.seed, Purpose::LineOfSight, entity);
        let probability = self.config.environment.line_of_sight(self.distance_m(mobile, site).max(1.0));
        stream.unit((mobile.travelled_m / SIGHT_M) as u64) < probability
    }

    /// Computes the powers that the UE receives at its position.
    fn listen(&self, mobile: &mut Mobile) {
        for site in 0..self.config.sites.len() {
            let sight = self.sees(mobile, site);
            let environment = self.config.environment;
            let loss = environment.path_loss_db(self.distance_m(mobile, site), UE_M, self.config.ghz, sight);
            let shadow = mobile.shadows[site] * environment.shadowing_db(sight);
            mobile.received[site] = from_db(self.config.power_dbm - loss + shadow);
        }
    }

    fn sinr_db(&self, mobile: &Mobile) -> f64 {
        let serving = mobile.measurement.cell;
        let others = mobile.received.iter().zip(&self.used).enumerate().filter(|(site, _)| *site != serving);
        let interference: f64 = others.map(|(_, (received, used))| received * used.1).sum();
        to_db(mobile.received[serving] / (self.noise_mw + interference))
    }
}

fn best(received: &[f64]) -> usize {
    let mut best = 0;
    for (site, power) in received.iter().enumerate() {
        if *power > received[best] {
            best = site;
        }
    }
    best
}
