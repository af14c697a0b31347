//! Fleets of FlexRAN and OpenEmpower base stations: agents, UEs that attach and detach, sockets.
//!
//! Each base station is a task, and all tasks run on one thread without busy waiting. UE events come from
//! [`ranlab_sdran::arrivals`] (with the same seed, the same events as in virtual time), from a trace, or from another
//! program.
mod deadlines;
mod identity;
mod incidents;
mod line;
mod live;
mod meters;
mod node;
mod radio;
mod station;
mod watch;

pub use identity::{Identity, SourcePool, SourcePoolError};
pub use incidents::{Incident, IncidentKind};
pub use live::{LiveEvents, LiveReport};
pub use meters::{Delays, SouthboundReport};

use deadlines::{Deadlines, now};
use hdrhistogram::Histogram;
use line::ControllerLink;
use meters::Meters;
use node::{Command, Events, Node, Shared};
use radio::Cell;
use ranlab_radio::user_plane::UES_MAX;
use ranlab_ran::radio::{RadioConfig, RadioError, RadioMeter, SharedRadio};
use ranlab_sdran::agent::{DIALECTS, PublishedBehaviour, ReportPeriod, SouthboundAgent};
use ranlab_sdran::arrivals::{Event, PopulationConfig};
use ranlab_sdran::empower::{EmpowerAgent, EmpowerAgent1, EmpowerAgent2, EmpowerAgentSettings};
use ranlab_sdran::flexran::{FlexranAgent, FlexranAgentSettings, FlexranDialect};
pub use station::station;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use watch::Watch;

/// Maximum number of queued commands per base station. Beyond it, live events are rejected and counted.
const WAITING_COMMANDS: usize = 4_096;

/// Protocol of the base stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// FlexRAN 0.x.
    Flexran,
    /// Mosaic5G 2.x.
    Mosaic,
    /// OpenEmpower v1.
    EmpowerV1,
    /// OpenEmpower v2.
    EmpowerV2,
}

impl Protocol {
    /// Returns the dialect of the published controller.
    pub fn dialect(self) -> &'static PublishedBehaviour {
        let [flexran, mosaic, empower1, empower2, ..] = &DIALECTS;
        match self {
            Self::Flexran => flexran,
            Self::Mosaic => mosaic,
            Self::EmpowerV1 => empower1,
            Self::EmpowerV2 => empower2,
        }
    }

    /// Returns the default port of the published controllers.
    pub fn port(self) -> u16 {
        self.dialect().port
    }

    /// Returns the report period used with MARC.
    pub fn marc_period(self) -> Duration {
        self.dialect().period
    }
}

/// Configuration of a fleet.
#[derive(Debug, Clone)]
pub struct SouthboundConfig {
    /// Protocol.
    pub protocol: Protocol,
    /// Address of the controller.
    pub controller: SocketAddr,
    /// Number of base stations.
    pub nodes: u32,
    /// Index of the first base station. Allows several processes to share a network.
    pub first: u32,
    /// Whether the controller's report period is used.
    pub period: ReportPeriod,
    /// UEs of each base station. The seed is combined with the index of the base station.
    pub population: PopulationConfig,
    /// Radio of each base station, with UEs that replace the population. Only FlexRAN base stations have radios.
    pub radio: Option<RadioConfig>,
    /// Events of each base station, which replace the population.
    pub trace: Option<HashMap<u32, Vec<Event>>>,
    /// Source addresses, used round robin. The current 5G-EmPOWER keeps one connection per address.
    pub sources: SourcePool,
    /// Time over which the base stations start. Zero: all at once.
    pub ramp: Duration,
    /// Interval of OpenEmpower's hello messages.
    pub hello: Duration,
    /// Whether base stations never read from the controller, to test its behaviour.
    pub deaf: bool,
    /// Log of all executed UE events: base station, time, IMSI.
    pub log: Option<EventLog>,
}

/// Executed UE events: index of the base station, scheduled time, IMSI.
pub type EventLog = Rc<RefCell<Vec<(u32, Duration, u64)>>>;

impl SouthboundConfig {
    /// Returns a configuration like that of MARC.
    pub fn marc(protocol: Protocol, controller: SocketAddr, nodes: u32, ues: u32, seed: u64) -> Self {
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
            let period = self.period.effective_period(self.protocol.marc_period());
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
            Protocol::Flexran => Box::new(flexran(FlexranDialect::V0)),
            Protocol::Mosaic => Box::new(flexran(FlexranDialect::Mosaic)),
            Protocol::EmpowerV1 => Box::new(EmpowerAgent::V1(EmpowerAgent1::new(empower))),
            Protocol::EmpowerV2 => Box::new(EmpowerAgent::V2(EmpowerAgent2::new(empower))),
        }
    }
}

/// Routes commands to cells and base stations.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeDirectory {
    by_pci: Rc<RefCell<HashMap<u16, NodeEntry>>>,
}

/// Command channel of a base station, and its radio if there is one.
type NodeEntry = (mpsc::Sender<Command>, Option<Cell>);

impl NodeDirectory {
    pub(crate) fn send(&self, pci: u16, command: Command) -> bool {
        self.by_pci.borrow().get(&pci).is_some_and(|(node, _)| node.try_send(command).is_ok())
    }

    /// Returns the radio of a cell.
    pub(crate) fn cell(&self, pci: u16) -> Option<Cell> {
        self.by_pci.borrow().get(&pci)?.1.clone()
    }
}

/// Running base stations, which end when this is dropped.
pub struct SouthboundFleet {
    config: SouthboundConfig,
    directory: NodeDirectory,
    nodes: Vec<(mpsc::Sender<Command>, JoinHandle<()>)>,
    cells: Vec<Cell>,
    meters: Rc<Meters>,
    deadlines: Rc<Deadlines>,
    watch: Rc<Watch>,
    /// Tasks that keep the deadlines and observe the controller's progress.
    keepers: Vec<JoinHandle<()>>,
}

impl SouthboundFleet {
    /// Creates a fleet without base stations; see [`ramp_up`](Self::ramp_up).
    pub fn new(config: SouthboundConfig) -> Self {
        let meters = Rc::new(Meters::default());
        Self {
            config,
            directory: NodeDirectory::default(),
            nodes: Vec::new(),
            cells: Vec::new(),
            watch: Rc::new(Watch::new(meters.clone())),
            meters,
            deadlines: Rc::new(Deadlines::default()),
            keepers: Vec::new(),
        }
    }

    /// Starts the base stations, spread over the ramp. Needs a `LocalSet`.
    ///
    /// # Errors
    /// The radio is invalid.
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

    /// Starts one more base station without UEs, and measures its initialization: the m + 1st in MARC. Returns `None`
    /// on timeout. The base station is removed afterwards.
    pub async fn probe(&mut self, patience: Duration) -> Option<Delays> {
        let (told, delays) = oneshot::channel();
        let population = PopulationConfig { ues: 0, delegation: None, ..self.config.population };
        // It has a radio like the others.
        self.start(self.nodes.len() as u32, population, Some(told)).ok()?;
        let delays = tokio::time::timeout(patience, delays).await;
        if let Some((_, task)) = self.nodes.pop() {
            task.abort();
            // Its counters are subtracted when it is dropped. The error of an aborted task is expected.
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
            let deadlines = self.deadlines.clone();
            let watch = self.watch.clone();
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
        // A radio has its own UEs.
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
        let line = Rc::new(RefCell::new(ControllerLink::default()));
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
        let controller = self.config.controller;
        let source = self.config.sources.at(number);
        let deaf = self.config.deaf;
        let task =
            tokio::task::spawn_local(async move { node.run(controller, source, deaf, commands).await });
        self.nodes.push((sender, task));
        if let Some(cell) = cell {
            self.keepers.push(tokio::task::spawn_local(cell.clone().drive()));
            self.cells.push(cell);
        }
        Ok(())
    }

    /// Waits until the first base station is connected. Returns the error if the connection failed. No separate test
    /// connection is made, because published controllers would add it to their database.
    pub fn first_word(&self) -> impl Future<Output = Result<(), String>> + use<> {
        let meters = self.meters.clone();
        async move { meters.first_word().await }
    }

    /// Returns the channel for events of another program.
    pub fn live(&self) -> LiveEvents {
        LiveEvents::new(self.directory.clone(), self.config.first, self.config.nodes)
    }

    /// Returns the counters so far.
    pub fn report(&self) -> SouthboundReport {
        self.watch.refresh(now());
        self.meters.report(&self.watch.lines.borrow(), now())
    }

    /// Returns the problems with the controller since the start or the last reset of the meters, and the number of
    /// further ones.
    pub fn incidents(&self) -> (Vec<Incident>, u64) {
        self.meters.incidents.borrow().all(now())
    }

    /// Resets the radio statistics.
    pub fn begin_radios(&self) {
        self.cells.iter().for_each(|cell| cell.lock().begin());
    }

    /// Returns the radio statistics since the last reset.
    pub fn radios(&self) -> Vec<RadioMeter> {
        self.cells.iter().map(|cell| cell.lock().meter()).collect()
    }

    /// Returns the controller's actual dialect, if it differs from the configured one.
    pub fn shown(&self) -> Option<&'static PublishedBehaviour> {
        self.meters.shown.get().and_then(PublishedBehaviour::named)
    }

    /// Returns the delays of reports since the last reset of the meters, in microseconds: until the kernel accepted
    /// them, and until the last visible event. Pending reports count with their delay so far.
    pub fn lateness(&self) -> [Histogram<u64>; 2] {
        let seen = self.meters.lateness(&self.watch.lines.borrow(), now());
        [self.meters.taken.borrow().clone(), seen]
    }

    /// Returns the last protocol violation, if there was one.
    pub fn last_fault(&self) -> Option<String> {
        self.meters.last_fault.borrow().clone()
    }

    /// Resets delays and durations for a measurement.
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
