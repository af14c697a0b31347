//! Runs a load: in the caller's thread, or in a separate thread of a worker.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::load::{
    DataNetwork, LoadConfig, LoadError, LoadReport, Mode, ProgressCounters, ProgressObserver, StartGate,
    Tally, run_when_told,
};
use ranlab_host::ProcessMeter;
use ranlab_net::routes;
use serde::{Deserialize, Serialize};

use super::{LoadMode, LoadRole, UpfLoadComponent};
use ranlab_lab::worker::{ComponentError, Counters, FaultOwner, Report};
use ranlab_lab::{OVER, SET_UP};
use ranlab_lab::{RunningComponent, rig};

/// Polling interval while waiting for the end of a load.
const LOOK: Duration = Duration::from_millis(10);

impl From<LoadError> for ComponentError {
    fn from(error: LoadError) -> Self {
        let fault = match error {
            LoadError::Bounds { .. }
            | LoadError::Lacking { .. }
            | LoadError::NoProcess { .. }
            | LoadError::Profile
            | LoadError::Panicked => FaultOwner::Rig,
            LoadError::Sessions { .. }
            | LoadError::Smoke { .. }
            | LoadError::Died { .. }
            | LoadError::NoAssociation { .. } => FaultOwner::Sut,
            _ => FaultOwner::Environment,
        };
        Self { fault, what: error.to_string() }
    }
}

/// Results of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpfLoadReport {
    /// CPU time of the UPF's process in seconds, including setup and teardown. `None` if the process is not on this
    /// machine.
    pub upf_cpu_s: Option<f64>,
    /// Warnings about pinned threads that share a CPU or are far from each other.
    pub remarks: Vec<String>,
    /// Results of the load generator.
    pub load: LoadReport,
}

impl UpfLoadReport {
    /// Adds the results of another share of the same load.
    pub fn join(&mut self, other: &Self) {
        self.upf_cpu_s = self.upf_cpu_s.or(other.upf_cpu_s);
        self.remarks.extend_from_slice(&other.remarks);
        self.load.join(&other.load);
    }
}

/// A load that is ready to run.
#[derive(Debug)]
pub struct UpfLoad {
    pub(super) config: LoadConfig,
    remarks: Vec<String>,
}

impl UpfLoad {
    /// Validates the configuration. No packet is sent yet.
    ///
    /// # Errors
    /// The configuration contradicts itself, or there is no route to the UPF.
    pub fn new(part: &UpfLoadComponent) -> Result<Self, ComponentError> {
        let config = part.load()?;
        // Warns about pinning that costs performance: to CPUs of the UPF's threads, or to another NUMA node than that of the outgoing
        // device.
        let route = routes::route(config.gnb.ip(), config.n3.ip()).ok().filter(|route| !route.local);
        let device = route.and_then(|route| routes::device(route.device).ok());
        let device = device.as_ref().map(|device| device.name.as_str());
        let mut remarks = ranlab_host::placement::remarks(&config.pin, config.upf_pid, device);
        if let Mode::Replay(plan) = &config.mode {
            remarks.extend(super::capture::remark(&plan.recording));
        }
        Ok(Self { config, remarks })
    }

    /// Returns warnings about the pinning of threads.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Adds an observer that is updated while the load runs.
    #[must_use]
    pub fn watched(self, glance: Arc<ProgressCounters>) -> Self {
        let config = LoadConfig { onlooker: ProgressObserver(Some(glance)), ..self.config };
        Self { config, ..self }
    }

    /// Runs the load. Setting `stop` ends the load early, with a report of the completed work.
    ///
    /// # Errors
    /// Nothing could be measured.
    pub fn run(&self, stop: &AtomicBool) -> Result<UpfLoadReport, LoadError> {
        self.run_when_told(stop, &StartGate::default())
    }

    fn run_when_told(&self, stop: &AtomicBool, gate: &StartGate) -> Result<UpfLoadReport, LoadError> {
        let meter = self.config.upf_pid.map(ProcessMeter::new);
        let cpu = || meter.as_ref().and_then(|meter| meter.sample().ok()).map(|sample| sample.cpu_s());
        let before = cpu();
        let load = run_when_told(&self.config, stop, gate)?;
        let upf_cpu_s = before.zip(cpu()).map(|(before, after)| after - before);
        Ok(UpfLoadReport { upf_cpu_s, remarks: self.remarks.clone(), load })
    }
}

/// Counters of a data network without base stations.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct NetworkSummary {
    /// Packets received.
    pub received: u64,
    /// Duplicate packets.
    pub duplicates: u64,
    /// Packets received out of order.
    pub reordered: u64,
    /// Bytes received.
    pub octets: u64,
    /// Packets sent back.
    pub reflected: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that do not belong to any session.
    pub strangers: u64,
}

/// Binds the address of a data network without base stations.
///
/// # Errors
/// The address cannot be bound.
pub fn data_network(part: &UpfLoadComponent) -> Result<DataNetwork, ComponentError> {
    Ok(DataNetwork::open(&part.load()?, part.sessions())?)
}

/// Runs a data network until `stop` is set.
///
/// # Errors
/// Its socket failed.
pub fn run_data_network(network: DataNetwork, stop: &AtomicBool) -> Result<NetworkSummary, ComponentError> {
    let report = network.run(stop)?;
    let sum = |what: &dyn Fn(&Tally) -> u64| report.uplink.iter().map(what).sum::<u64>();
    Ok(NetworkSummary {
        received: sum(&|tally| tally.received),
        duplicates: sum(&|tally| tally.duplicates),
        reordered: sum(&|tally| tally.reordered),
        octets: report.uplink_octets,
        reflected: report.reflected,
        sent: report.sent.iter().sum(),
        strangers: report.strangers,
    })
}

type Ended = Result<UpfLoadReport, ComponentError>;

/// A load in a worker. The load runs in a separate thread from the start of the window, so that the worker keeps responding.
pub(crate) struct RunningLoad {
    load: Arc<UpfLoad>,
    shared: bool,
    stop: Arc<AtomicBool>,
    gate: Arc<StartGate>,
    thread: Option<JoinHandle<Result<UpfLoadReport, LoadError>>>,
    ended: Option<Ended>,
}

impl RunningLoad {
    pub(crate) fn new(part: &UpfLoadComponent) -> Result<Self, ComponentError> {
        if part.role != LoadRole::All || part.mode == LoadMode::Calibrate {
            return Err(rig("only `ranlab load upf` supports the role data-network and the mode calibrate"));
        }
        if let Err(error) = ranlab_net::raise_open_files() {
            eprintln!("ranlab: the limit of open files cannot be raised: {error}");
        }
        let load = Arc::new(UpfLoad::new(part)?);
        let (stop, gate) = <(Arc<AtomicBool>, Arc<StartGate>)>::default();
        Ok(Self { load, shared: part.shared, stop, gate, thread: None, ended: None })
    }

    fn spawn(&self) -> std::io::Result<JoinHandle<Result<UpfLoadReport, LoadError>>> {
        let load = Arc::clone(&self.load);
        let stop = Arc::clone(&self.stop);
        let gate = Arc::clone(&self.gate);
        std::thread::Builder::new()
            .name("upf-load".to_owned())
            .spawn(move || load.run_when_told(&stop, &gate))
    }

    /// Returns the results if the load has ended.
    fn ended(&mut self) -> Option<&Ended> {
        if let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) {
            let result = thread.join().unwrap_or(Err(LoadError::Panicked));
            self.ended = Some(result.map_err(ComponentError::from));
        }
        self.ended.as_ref()
    }
}

impl RunningComponent for RunningLoad {
    fn check(&mut self) -> Result<(), ComponentError> {
        match self.ended() {
            Some(Err(trouble)) => Err(trouble.clone()),
            _ => Ok(()),
        }
    }

    fn counters(&mut self) -> Counters {
        let sign = |shown: bool| f64::from(u8::from(shown));
        let mut numbers = Counters::from([(OVER.to_owned(), sign(self.ended().is_some()))]);
        if self.shared {
            numbers.insert(SET_UP.to_owned(), sign(self.gate.reached()));
        }
        numbers
    }

    fn begin(&mut self) {
        // If the load is already set up, it passes its gate now, so that all shares start together. Otherwise, the window starts a new
        // load.
        if self.thread.is_some() {
            self.gate.open();
        } else {
            self.ended = None;
            self.gate = Arc::new(if self.shared { StartGate::shut() } else { StartGate::default() });
            match self.spawn() {
                Ok(thread) => self.thread = Some(thread),
                Err(error) => self.ended = Some(Err(ranlab_lab::environment(error))),
            }
        }
    }

    /// Adds the results to the report. If the load is still running, returns at once, and the report has no detail.
    fn end(&mut self, report: &mut Report) {
        if let Some(Ok(loaded)) = self.ended() {
            report.detail = serde_json::to_value(loaded).unwrap_or_default();
        }
    }

    /// Ends the load early, so that its sessions are deleted at the UPF.
    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        self.stop.store(true, Relaxed);
        Box::pin(async {
            let gone = async {
                while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
                    tokio::time::sleep(LOOK).await;
                }
            };
            // After the timeout, the thread is abandoned, because the process exits anyway.
            let _ = tokio::time::timeout(ranlab_lab::LEAVE_WAIT, gone).await;
        })
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}
