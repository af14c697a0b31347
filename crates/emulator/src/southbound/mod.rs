//! Fleets of base stations that speak FlexRAN or OpenEmpower: agents, UEs that come and go, sockets.
//!
//! One task for each base station on one thread; nothing waits busily. The UEs' events come from
//! [`ranlab_sdran::arrivals`], the same from the same seed as in virtual time, or from a trace, or live from outside.
mod deadlines;
mod identity;
mod incidents;
mod line;
mod live;
mod meters;
mod node;
mod radio;
mod watch;

pub use identity::{Identity, SourcePool, SourcePoolError};
pub use incidents::{Incident, Trouble};
pub use live::{LiveEvents, LiveReport};
pub use meters::{Delays, SouthboundReport};

use crate::radio::{RadioConfig, RadioError, RadioMeter, SharedRadio, station};
use deadlines::{Deadlines, now};
use hdrhistogram::Histogram;
use line::Line;
use meters::Meters;
use node::{Command, Events, Node, Shared};
use radio::Cell;
use ranlab_radio::user_plane::UES_MAX;
use ranlab_sdran::agent::{DIALECTS, Dialect, ReportPeriod, SouthboundAgent};
use ranlab_sdran::arrivals::{Event, PopulationConfig};
use ranlab_sdran::empower::{EmpowerAgent, EmpowerAgent1, EmpowerAgent2, EmpowerAgentSettings};
use ranlab_sdran::flexran::{FlexranAgent, FlexranAgentSettings, FlexranDialect};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use watch::Watch;

/// Commands that may wait for one base station; beyond, live events are refused and counted.
const WAITING_COMMANDS: usize = 4_096;

/// What the base stations speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Southbound {
    /// FlexRAN 0.x.
    Flexran,
    /// Mosaic5G 2.x.
    Mosaic,
    /// OpenEmpower v1.
    EmpowerV1,
    /// OpenEmpower v2.
    EmpowerV2,
}

impl Southbound {
    /// The published controller's habits.
    pub fn dialect(self) -> &'static Dialect {
        let [flexran, mosaic, empower1, empower2, ..] = &DIALECTS;
        match self {
            Self::Flexran => flexran,
            Self::Mosaic => mosaic,
            Self::EmpowerV1 => empower1,
            Self::EmpowerV2 => empower2,
        }
    }

    /// The published controllers' port.
    pub fn port(self) -> u16 {
        self.dialect().port
    }

    /// MARC's reporting period.
    pub fn marc_period(self) -> Duration {
        self.dialect().period
    }
}

/// A fleet to start.
#[derive(Debug, Clone)]
pub struct SouthboundConfig {
    /// What is spoken.
    pub protocol: Southbound,
    /// The controller.
    pub controller: SocketAddr,
    /// Base stations.
    pub nodes: u32,
    /// First base station's index, so that several processes can share a network.
    pub first: u32,
    /// Whether the controller's period counts.
    pub period: ReportPeriod,
    /// UEs of each base station; the seed is mixed with the base station's index.
    pub population: PopulationConfig,
    /// A radio for each, with UEs of its own instead of the population's; FlexRAN's base stations alone have one.
    pub radio: Option<RadioConfig>,
    /// Events of each base station instead of the population's.
    pub trace: Option<HashMap<u32, Vec<Event>>>,
    /// Source addresses, used in turn; the current 5G-EmPOWER keeps one connection for each.
    pub sources: SourcePool,
    /// Time over which the base stations start; zero: all at once.
    pub ramp: Duration,
    /// How often OpenEmpower's say hello.
    pub hello: Duration,
    /// Whether base stations never read what the controller says: how it treats those is worth a test.
    pub deaf: bool,
    /// Where every UE event is written down as it is carried out: base station, time, IMSI.
    pub log: Option<EventLog>,
}

/// UE events as they were carried out: index of the base station, when they were meant to be, IMSI.
pub type EventLog = Rc<RefCell<Vec<(u32, Duration, u64)>>>;

impl SouthboundConfig {
    /// A fleet as MARC's.
    pub fn marc(protocol: Southbound, controller: SocketAddr, nodes: u32, ues: u32, seed: u64) -> Self {
        Self {
            protocol,
            controller,
            nodes,
            first: 0,
            period: ReportPeriod::Override(protocol.marc_period()),
            population: PopulationConfig::marc(ues, seed),
            radio: None,
            trace: None,
            sources: SourcePool::default(),
            ramp: Duration::ZERO,
            hello: Duration::from_secs(2),
            deaf: false,
            log: None,
        }
    }

    fn agent(&self, identity: Identity, radio: Option<&SharedRadio>) -> Box<dyn SouthboundAgent> {
        let max_ues = if radio.is_some() { UES_MAX } else { self.population.ues.max(64) as usize * 2 };
        let empower = EmpowerAgentSettings {
            hello: self.hello,
            period: self.period,
            max_ues,
            ..EmpowerAgentSettings::new(identity.mac, identity.pci)
        };
        let flexran = |dialect| {
            let period = self.period.of(self.protocol.marc_period());
            let settings = FlexranAgentSettings {
                station: identity.station,
                pci: identity.pci,
                period: self.period,
                dialect,
                max_ues,
                phase: identity.phase(period),
            };
            match radio {
                Some(radio) => FlexranAgent::over(settings, station(radio)),
                None => FlexranAgent::new(settings),
            }
        };
        match self.protocol {
            Southbound::Flexran => Box::new(flexran(FlexranDialect::V0)),
            Southbound::Mosaic => Box::new(flexran(FlexranDialect::Mosaic)),
            Southbound::EmpowerV1 => Box::new(EmpowerAgent::V1(EmpowerAgent1::new(empower))),
            Southbound::EmpowerV2 => Box::new(EmpowerAgent::V2(EmpowerAgent2::new(empower))),
        }
    }
}

/// Where a command for a cell or a base station goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    by_pci: Rc<RefCell<HashMap<u16, Place>>>,
}

/// A base station's door, and its radio if it has one.
type Place = (mpsc::Sender<Command>, Option<Cell>);

impl Directory {
    pub(crate) fn send(&self, pci: u16, command: Command) -> bool {
        self.by_pci.borrow().get(&pci).is_some_and(|(node, _)| node.try_send(command).is_ok())
    }

    /// The radio of a cell.
    pub(crate) fn cell(&self, pci: u16) -> Option<Cell> {
        self.by_pci.borrow().get(&pci)?.1.clone()
    }
}

/// Running base stations; dropping it ends them.
pub struct SouthboundFleet {
    config: SouthboundConfig,
    directory: Directory,
    nodes: Vec<(mpsc::Sender<Command>, JoinHandle<()>)>,
    cells: Vec<Cell>,
    meters: Rc<Meters>,
    deadlines: Rc<Deadlines>,
    watch: Rc<Watch>,
    /// Who keeps the deadlines, and who looks what the controller does.
    keepers: Vec<JoinHandle<()>>,
}

impl SouthboundFleet {
    /// A fleet without base stations yet; see [`ramp_up`](Self::ramp_up).
    pub fn new(config: SouthboundConfig) -> Self {
        let meters = Rc::new(Meters::default());
        Self {
            config,
            directory: Directory::default(),
            nodes: Vec::new(),
            cells: Vec::new(),
            watch: Rc::new(Watch::new(meters.clone())),
            meters,
            deadlines: Rc::new(Deadlines::default()),
            keepers: Vec::new(),
        }
    }

    /// Starts the base stations, spread over the ramp; needs a `LocalSet`.
    ///
    /// # Errors
    /// There can be no such radio.
    pub async fn ramp_up(&mut self) -> Result<(), RadioError> {
        let begin = tokio::time::Instant::now();
        for index in 0..self.config.nodes {
            let due = self.config.ramp.mul_f64(f64::from(index) / f64::from(self.config.nodes.max(1)));
            if !due.is_zero() {
                tokio::time::sleep_until(begin + due).await;
            }
            let population = self.config.population;
            self.start(index, population, None)?;
        }
        Ok(())
    }

    /// Starts one more base station without UEs and tells how long its initialisation takes: MARC's m + 1st. `None` if it
    /// took longer than `patience`. The probe is taken down again.
    pub async fn probe(&mut self, patience: Duration) -> Option<Delays> {
        let (told, delays) = oneshot::channel();
        let population = PopulationConfig { ues: 0, delegation: None, ..self.config.population };
        // Its radio is as the others'.
        self.start(self.nodes.len() as u32, population, Some(told)).ok()?;
        let delays = tokio::time::timeout(patience, delays).await;
        if let Some((_, task)) = self.nodes.pop() {
            task.abort();
            // What it counted is taken back when it is dropped; an error says that it was aborted.
            let _ = task.await;
            self.watch.lines.borrow_mut().pop();
        }
        delays.ok()?.ok()
    }

    fn start(
        &mut self,
        index: u32,
        population: PopulationConfig,
        probe: Option<oneshot::Sender<Delays>>,
    ) -> Result<(), RadioError> {
        if self.keepers.is_empty() {
            let (deadlines, watch) = (self.deadlines.clone(), self.watch.clone());
            self.meters.incidents.borrow_mut().begin(now());
            self.keepers.push(tokio::task::spawn_local(async move { deadlines.keep().await }));
            self.keepers.push(tokio::task::spawn_local(async move { watch.keep().await }));
        }
        let number = self.config.first + index;
        let identity = Identity::new(number);
        let cell = match &self.config.radio {
            Some(radio) if probe.is_none() => Some(Cell::new(radio, number, population.seed)?),
            _ => None,
        };
        // A radio has UEs of its own.
        let population = match cell {
            Some(_) => PopulationConfig { ues: 0, delegation: None, ..population },
            None => population,
        };
        let (sender, commands) = mpsc::channel(WAITING_COMMANDS);
        self.directory.by_pci.borrow_mut().insert(identity.pci, (sender.clone(), cell.clone()));
        let trace = self.config.trace.as_ref();
        let trace = trace.map(|trace| trace.get(&number).cloned().unwrap_or_default());
        let population = PopulationConfig { seed: identity.seed(population.seed), ..population };
        let agent = self.config.agent(identity, cell.as_ref().map(|cell| &cell.radio));
        let log = self.config.log.clone().map(|log| (number, log));
        let line = Rc::new(RefCell::new(Line::default()));
        self.watch.lines.borrow_mut().push(line.clone());
        let shared = Shared {
            meters: self.meters.clone(),
            directory: self.directory.clone(),
            deadlines: self.deadlines.clone(),
            log,
            line,
            dialect: self.config.protocol.dialect(),
            cell: cell.clone(),
        };
        let mut node = Node::new(identity, agent, Events::new(population, trace), shared, probe);
        let (controller, source, deaf) =
            (self.config.controller, self.config.sources.at(number), self.config.deaf);
        let task =
            tokio::task::spawn_local(async move { node.run(controller, source, deaf, commands).await });
        self.nodes.push((sender, task));
        if let Some(cell) = cell {
            self.keepers.push(tokio::task::spawn_local(cell.clone().drive()));
            self.cells.push(cell);
        }
        Ok(())
    }

    /// Waits until the first base station is connected, or could not be: the error says why. A controller that nobody reaches
    /// is found without a connection besides the base stations' own; published controllers give that one a place in their
    /// data base.
    pub fn first_word(&self) -> impl Future<Output = Result<(), String>> + use<> {
        let meters = self.meters.clone();
        async move { meters.first_word().await }
    }

    /// Where events of another program go.
    pub fn live(&self) -> LiveEvents {
        LiveEvents::new(self.directory.clone(), self.config.first, self.config.nodes)
    }

    /// What happened so far.
    pub fn report(&self) -> SouthboundReport {
        self.watch.refresh(now());
        self.meters.report(&self.watch.lines.borrow(), now())
    }

    /// What went wrong with the controller since the start, or since meters were reset; and how much more did.
    pub fn incidents(&self) -> (Vec<Incident>, u64) {
        self.meters.incidents.borrow().all(now())
    }

    /// Begins to measure the radios anew.
    pub fn begin_radios(&self) {
        self.cells.iter().for_each(|cell| cell.lock().begin());
    }

    /// What happened at each radio since then.
    pub fn radios(&self) -> Vec<RadioMeter> {
        self.cells.iter().map(|cell| cell.lock().meter()).collect()
    }

    /// How the controller speaks, if it shows that it is not as it was told.
    pub fn shown(&self) -> Option<&'static Dialect> {
        self.meters.shown.get().and_then(Dialect::named)
    }

    /// How late reports were since the meters were reset, in microseconds: until the kernel took them, and until the last that
    /// is seen of them, where those that still wait are as late as they are now.
    pub fn lateness(&self) -> [Histogram<u64>; 2] {
        let seen = self.meters.lateness(&self.watch.lines.borrow(), now());
        [self.meters.taken.borrow().clone(), seen]
    }

    /// What the last fault was, if there was one.
    pub fn last_fault(&self) -> Option<String> {
        self.meters.last_fault.borrow().clone()
    }

    /// Forgets lateness and delays: a measurement begins.
    pub fn reset_meters(&self) {
        self.meters.reset();
    }
}

impl Drop for SouthboundFleet {
    fn drop(&mut self) {
        self.nodes.iter().map(|(_, task)| task).chain(&self.keepers).for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests;
