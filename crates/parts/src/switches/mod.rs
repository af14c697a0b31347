//! Other people's switches that run: what [`ranlab_pipeline::backends`] writes is told to the programs themselves, checked
//! against the oracle on a trace, and then measured. A switch is a [`Driver`], a file here and a line of [`DRIVERS`].
//!
//! Whatever is started dies with this process, whatever ends it: children by the kernel's word, namespaces with the last process
//! in them, huge pages because they have no files; the folder of a run with its owner, or when the next begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_pipeline::backends::{Asked, Backend, Outcomes, Translation, port_name};
use ranlab_pipeline::declare::{Declaration, Direction, Port};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::Trace;

use crate::pipeline::{PipelinePart, histogram};
use crate::worker::Trouble;
use crate::{environment, sut};

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
mod xdp;

pub(crate) use dpdk::allowed_cpus;
pub(crate) use foreign::{Foreign, directions};

/// How long a pass over a trace may take.
const PASS_WAIT: Duration = Duration::from_secs(30);
/// How long counters rest before a pass is over.
const REST: Duration = Duration::from_millis(200);
/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// A switch's counters: totals since it came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Packets that it took in.
    pub(crate) received: u64,
    /// Packets that left it.
    pub(crate) sent: u64,
    /// CPU time of the threads that forward, ns; of a switch elsewhere, the time that passes.
    pub(crate) cpu_ns: u64,
    /// What left its fast path, of a switch that has one and says so.
    pub(crate) slow: Option<Slow>,
}

/// Packets that a switch's fast path did not know what to do with: totals since it came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Slow {
    /// Handed to the slow path: Open vSwitch's tables behind its caches, or a controller.
    pub(crate) packets: u64,
    /// Of these, lost on the way, where it counts them.
    pub(crate) lost: Option<u64>,
}

/// What a switch says of packets that it took and that did not leave it: totals since it came up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Dropped by its tables, by the table's name.
    pub(crate) tables: BTreeMap<String, u64>,
    /// Given up because the ring on the way out was full.
    pub(crate) ring_full: u64,
}

/// A switch that is up and forwards.
pub(crate) trait Switch: Send {
    /// Its counters.
    fn read(&mut self) -> Result<Reading, Trouble>;
    /// What it says of its losses; a switch that says nothing leaves them unknown.
    fn losses(&mut self) -> Result<Losses, Trouble> {
        Ok(Losses::default())
    }
    /// Tells it a change; returns when it says that it has it.
    fn update(&mut self, change: &Translation) -> Result<(), Trouble>;
    /// Whether it lives.
    fn check(&mut self) -> Result<(), Trouble>;
    /// Share of its memory for packets that is on huge pages.
    fn huge_page_ratio(&self) -> f64;
}

/// What a switch is to do.
pub(crate) struct Job<'a> {
    /// As whom.
    pub(crate) backend: &'static dyn Backend,
    /// The pipeline.
    pub(crate) declaration: &'a Declaration,
    /// Where packets come from.
    pub(crate) directions: &'a [Direction],
    /// What arrives.
    pub(crate) trace: &'a Trace,
    /// Where its files are.
    pub(crate) folder: &'a Path,
    /// Tier ring: descriptors of a ring, by binary logarithm.
    pub(crate) ring: u8,
    /// A switch that runs already, and how it is reached.
    pub(crate) far: Option<&'a Far>,
    /// Tier ring: its ports connect to ours, which listen already, and own the memory. DPDK tries once, when a port starts, so
    /// that no tester could come later.
    pub(crate) connects: bool,
}

impl<'a> Job<'a> {
    /// What a backend is asked.
    pub(crate) fn asked(&self) -> Asked<'a> {
        Asked { declaration: self.declaration, directions: self.directions }
    }
}

/// A switch that is somebody else's and runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Far {
    /// Where it takes OpenFlow connections: `tcp:HOST:PORT`.
    pub(crate) address: String,
    /// Its numbers of the ports on the access side and towards the core.
    pub(crate) ports: [u32; 2],
    /// Interfaces of this machine that are wired to these.
    pub(crate) interfaces: [String; 2],
}

impl Far {
    /// Of a part that names one; `None`: its engine is started here.
    fn of(part: &PipelinePart) -> Result<Option<Self>, Trouble> {
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

/// How a switch is run.
pub(crate) trait Driver: Sync {
    /// The backend's name.
    fn name(&self) -> &'static str;
    /// Whether this machine lets it run, beyond its programs.
    fn ready(&self) -> Result<(), Trouble> {
        Ok(())
    }
    /// What of a trace it can replay, packets.
    fn packets_max(&self) -> usize;
    /// Sends the trace through once, all packets of one port; what left, as it left.
    fn replay(&self, job: &Job<'_>) -> Result<Outcomes, Trouble>;
    /// Brings it up with the trace replayed for ever.
    fn start(&self, job: &Job<'_>) -> Result<Box<dyn Switch>, Trouble>;
    /// Brings it up with a memif port at each of these sockets, access first, where it listens or connects.
    fn rings(&self, job: &Job<'_>, _sockets: &[PathBuf; 2]) -> Result<Box<dyn Switch>, Trouble> {
        Err(environment(format!("`sut.engine` \"{}\" has no memif ports", job.backend.name())))
    }
    /// By how many memif rings it sends: one for each of its threads that may send.
    fn rings_back(&self) -> u16 {
        1
    }
    /// How long changes take until a packet of the trace shows them, where it takes packets one by one without rings; empty
    /// elsewhere.
    fn visible(&self, _job: &Job<'_>, _pipeline: &Pipeline) -> Result<Histogram<u64>, Trouble> {
        Ok(histogram())
    }
    /// What moving the trace's packets in and out alone costs, CPU-ns a packet: measured with the same input and output and
    /// nothing between; `None` where that cannot be told apart.
    fn io_ns(&self, job: &Job<'_>, length: Duration) -> Result<Option<f64>, Trouble>;
}

/// Every switch that can be run, a line each.
const DRIVERS: &[&dyn Driver] =
    &[&testpmd::Testpmd, &ovs::Ovs, &ovs::OvsDpdk, &openflow::AnyOpenFlow, &kernel::Kernel, &xdp::Xdp];

/// The driver of a backend.
pub(crate) fn driver(backend: &dyn Backend) -> Result<&'static dyn Driver, Trouble> {
    DRIVERS.iter().copied().find(|driver| driver.name() == backend.name()).ok_or_else(|| {
        environment(format!(
            "`sut.engine` \"{}\": its configuration is written, but this version does not run it",
            backend.name()
        ))
    })
}

/// By how many memif rings an engine sends, ours included.
pub(crate) fn rings_back(engine: &str) -> u16 {
    DRIVERS.iter().find(|driver| driver.name() == engine).map_or(1, |driver| driver.rings_back())
}

/// Whether every program of a backend is here and may be run; if not, how to get it.
pub(crate) fn installed(backend: &dyn Backend) -> Result<(), Trouble> {
    let missing = backend.programs().iter().find(|program| found(program).is_none());
    // Tester and baseline are plain processes, programs of the kernel none, and another's switch is where it is; the others have a
    // network of their own.
    let apart = ![testpmd::NAME, xdp::NAME, openflow::NAME].contains(&backend.name());
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

/// The file that packets of a port come from.
pub(crate) fn input_file(folder: &Path, port: Port) -> PathBuf {
    folder.join(format!("{}-in.pcap", port_name(port)))
}

/// The file that what leaves by a port goes to.
pub(crate) fn capture_file(folder: &Path, port: Port) -> PathBuf {
    folder.join(format!("{}-out.pcap", port_name(port)))
}

/// Waits until a switch has taken in as many packets as it was sent, and all its counters rest; both are what `counters` says:
/// packets taken in, and the sum of all.
fn settled(sent: u64, mut counters: impl FnMut() -> Result<(u64, u64), Trouble>) -> Result<(), Trouble> {
    let deadline = Instant::now() + PASS_WAIT;
    let (mut last, mut since) = ((0, 0), Instant::now());
    loop {
        let now = counters()?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if now.0 >= sent && since.elapsed() >= REST {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let (took, s) = (now.0, PASS_WAIT.as_secs());
            return Err(sut(format!("of {sent} packets of the trace it has taken {took} within {s} s")));
        }
        std::thread::sleep(POLL);
    }
}

/// Where a program is: at its path, or where the system's path leads; `sbin` too, which users' paths often lack.
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
