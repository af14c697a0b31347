//! Runs third-party switches. The configuration that [`ranlab_pipeline::backends`] generates is loaded into the
//! switch, checked against the oracle on a trace, and then measured. A switch is a [`Driver`]: one file here and one
//! line of [`DRIVERS`].
//!
//! Everything that is started ends with this process, even after SIGKILL: children through the parent-death signal,
//! network namespaces with their last process, huge pages because no file backs them. The folder of a run is deleted by
//! its owner, or by the next run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_pipeline::backends::{Backend, BackendRequest, Outcomes, Translation, port_name};
use ranlab_pipeline::declare::{Declaration, Direction, Port};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::Trace;

use crate::pipeline::{PipelineComponent, histogram};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, sut};

mod dpdk;
pub(crate) mod files;
mod foreign;
mod kernel;
mod openflow;
mod ovs;
mod probe;
mod testpmd;
mod thread;
mod tools;
mod veth;
mod vpp;
mod xdp;

pub(crate) use dpdk::allowed_cpus;
pub(crate) use foreign::{RunningSwitch, directions};

/// Timeout for one pass over a trace.
const PASS_WAIT: Duration = Duration::from_secs(30);
/// Time for which counters must not change before a pass counts as complete.
const REST: Duration = Duration::from_millis(200);
/// Polling interval.
const POLL: Duration = Duration::from_millis(20);

/// Counters of a switch: totals since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SwitchCounters {
    /// Packets received.
    pub(crate) received: u64,
    /// Packets sent.
    pub(crate) sent: u64,
    /// CPU time of the forwarding threads, in nanoseconds. For a switch on another machine: elapsed time.
    pub(crate) cpu_ns: u64,
    /// Packets that left the fast path, for switches that have one and report it.
    pub(crate) slow: Option<SlowPathCounters>,
}

/// Packets for which the fast path had no entry: totals since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlowPathCounters {
    /// Packets handed to the slow path: Open vSwitch's tables behind its caches, or a controller.
    pub(crate) packets: u64,
    /// Packets of these that were lost on the way, if the switch counts them.
    pub(crate) lost: Option<u64>,
}

/// A switch's counters of packets that were received but not sent: totals since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Packets dropped by tables, per table name.
    pub(crate) tables: BTreeMap<String, u64>,
    /// Packets dropped because the transmit ring was full.
    pub(crate) ring_full: u64,
}

/// A running switch that forwards packets.
pub(crate) trait Switch: Send {
    /// Reads the counters.
    fn read(&mut self) -> Result<SwitchCounters, ComponentError>;
    /// Reads the loss counters. A switch without any leaves them unknown.
    fn losses(&mut self) -> Result<Losses, ComponentError> {
        Ok(Losses::default())
    }
    /// Applies a change. Returns after the switch has confirmed it.
    fn update(&mut self, change: &Translation) -> Result<(), ComponentError>;
    /// Returns its release as a number, such as 26.06, if the switch reports one.
    fn release(&mut self) -> Result<Option<f64>, ComponentError> {
        Ok(None)
    }
    /// Returns an error if the switch has exited.
    fn check(&mut self) -> Result<(), ComponentError>;
    /// Returns the fraction of packet memory that is on huge pages.
    fn huge_page_ratio(&self) -> f64;
}

/// The task of a switch in one measurement.
pub(crate) struct SwitchJob<'a> {
    /// The backend that generates its configuration.
    pub(crate) backend: &'static dyn Backend,
    /// The pipeline.
    pub(crate) declaration: &'a Declaration,
    /// Directions from which packets arrive.
    pub(crate) directions: &'a [Direction],
    /// The input.
    pub(crate) trace: &'a Trace,
    /// Folder of its files.
    pub(crate) folder: &'a Path,
    /// Tier ring: number of descriptors per ring, as a binary logarithm.
    pub(crate) ring: u8,
    /// Address and ports of a switch that is already running.
    pub(crate) far: Option<&'a RemoteSwitch>,
    /// Folder of the switch's build; `None`: its programs are in `PATH`.
    pub(crate) build: Option<&'a Path>,
    /// Tier ring: whether the switch's ports connect to ours, which then listen beforehand and own the memory. DPDK
    /// tries to connect only once, when a port starts, so the tester has to be there first.
    pub(crate) connects: bool,
}

impl<'a> SwitchJob<'a> {
    /// Returns the request for the backend.
    pub(crate) fn asked(&self) -> BackendRequest<'a> {
        BackendRequest { declaration: self.declaration, directions: self.directions }
    }
}

/// A third-party switch that is already running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteSwitch {
    /// Address of its OpenFlow listener: `tcp:HOST:PORT`.
    pub(crate) address: String,
    /// The switch's numbers of its access port and its core port.
    pub(crate) ports: [u32; 2],
    /// Local interfaces that are connected to these ports.
    pub(crate) interfaces: [String; 2],
}

impl RemoteSwitch {
    /// Reads it from a component's configuration. Returns `None` if the engine is one that is started here.
    fn from_component(part: &PipelineComponent) -> Result<Option<Self>, ComponentError> {
        if part.engine != openflow::NAME {
            return Ok(None);
        }
        let named = |key: &str, value: &Option<String>| {
            value.clone().ok_or_else(|| environment(format!("`sut.engine` \"openflow\" needs `sut.{key}`")))
        };
        Ok(Some(Self {
            address: named("address", &part.address)?,
            ports: [part.access_port, part.core_port],
            interfaces: [
                named("access_interface", &part.access_interface)?,
                named("core_interface", &part.core_interface)?,
            ],
        }))
    }
}

/// Starts and feeds one kind of switch.
pub(crate) trait Driver: Sync {
    /// Returns the backend's name.
    fn name(&self) -> &'static str;
    /// Returns an error if this machine cannot run the switch for a reason other than missing programs.
    fn ready(&self) -> Result<(), ComponentError> {
        Ok(())
    }
    /// Maximum number of trace packets that the switch can replay.
    fn packets_max(&self) -> usize;
    /// Sends the trace through once, all packets of one port at a time. Returns the packets that left, unmodified.
    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError>;
    /// Starts the switch with the trace replayed in a loop.
    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError>;
    /// Starts the switch with a memif port at each of these sockets, access first. It listens there or connects.
    fn rings(&self, job: &SwitchJob<'_>, _sockets: &[PathBuf; 2]) -> Result<Box<dyn Switch>, ComponentError> {
        Err(environment(format!("`sut.engine` \"{}\" has no memif ports", job.backend.name())))
    }
    /// Number of memif rings on which the switch sends: one for each thread that may send.
    fn rings_back(&self) -> u16 {
        1
    }
    /// Measures the time from a change until a packet shows its effect, for switches that take single packets without
    /// rings. Empty for the others.
    fn visible(&self, _job: &SwitchJob<'_>, _pipeline: &Pipeline) -> Result<Histogram<u64>, ComponentError> {
        Ok(histogram())
    }
    /// Measures the CPU time of input and output alone, in nanoseconds per packet: the same input and output with no
    /// processing in between. `None` where it cannot be separated.
    fn io_ns(&self, job: &SwitchJob<'_>, length: Duration) -> Result<Option<f64>, ComponentError>;
}

/// All switches that can be run, one per line.
const DRIVERS: &[&dyn Driver] = &[
    &testpmd::Testpmd,
    &ovs::Ovs,
    &ovs::OvsDpdk,
    &openflow::AnyOpenFlow,
    &kernel::Kernel,
    &xdp::Xdp,
    &vpp::Vpp,
];

/// Returns the driver of a backend.
pub(crate) fn driver(backend: &dyn Backend) -> Result<&'static dyn Driver, ComponentError> {
    DRIVERS.iter().copied().find(|driver| driver.name() == backend.name()).ok_or_else(|| {
        environment(format!(
            "`sut.engine` \"{}\": its configuration is written, but this version does not run it",
            backend.name()
        ))
    })
}

/// Number of memif rings on which an engine sends. Includes our own engine.
pub(crate) fn rings_back(engine: &str) -> u16 {
    DRIVERS.iter().find(|driver| driver.name() == engine).map_or(1, |driver| driver.rings_back())
}

/// Checks that all programs of a backend are installed and may be run. The error states how to install them.
pub(crate) fn installed(backend: &dyn Backend, build: Option<&Path>) -> Result<(), ComponentError> {
    if let Some(folder) = build {
        if backend.name() != vpp::NAME {
            return Err(environment(format!(
                "`sut.build` {} is of no use: only \"vpp\" is taken from a folder",
                folder.display()
            )));
        }
        vpp::Programs::find(build)?;
    }
    let missing = backend.programs().iter().find(|program| build.is_none() && found(program).is_none());
    // testpmd and VPP are plain processes, XDP programs have no process, and a switch at an address runs elsewhere. All other switches
    // need a network namespace.
    let apart = ![testpmd::NAME, xdp::NAME, openflow::NAME, vpp::NAME].contains(&backend.name());
    let lacks = if apart { ranlab_host::netns::lacking() } else { Vec::new() };
    match missing {
        None => match lacks.first() {
            None => driver(backend)?.ready(),
            Some(lack) => Err(environment(format!("`sut.engine` \"{}\": {lack}", backend.name()))),
        },
        Some(program) => Err(environment(format!(
            "`sut.engine` \"{}\": the program `{program}` is not here: {}",
            backend.name(),
            backend.install()
        ))),
    }
}

/// Path of the file that holds the input of a port.
pub(crate) fn input_file(folder: &Path, port: Port) -> PathBuf {
    folder.join(format!("{}-in.pcap", port_name(port)))
}

/// Path of the file that receives the output of a port.
pub(crate) fn capture_file(folder: &Path, port: Port) -> PathBuf {
    folder.join(format!("{}-out.pcap", port_name(port)))
}

/// Waits until a switch has received as many packets as were sent and its counters no longer change. `counters` returns
/// the number of received packets and the sum of all counters.
fn settled(
    sent: u64,
    mut counters: impl FnMut() -> Result<(u64, u64), ComponentError>,
) -> Result<(), ComponentError> {
    let deadline = Instant::now() + PASS_WAIT;
    let mut last = (0, 0);
    let mut since = Instant::now();
    loop {
        let now = counters()?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if now.0 >= sent && since.elapsed() >= REST {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let took = now.0;
            let s = PASS_WAIT.as_secs();
            return Err(sut(format!("it has read {took} of the trace's {sent} packets within {s} s")));
        }
        std::thread::sleep(POLL);
    }
}

/// Finds a program by its path or in `PATH`. Also searches `sbin`, which the `PATH` of users often lacks.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests;
