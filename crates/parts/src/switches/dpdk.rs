//! What programs with DPDK have in common: memory, cores, and devices that are files.
//!
//! Input is `net_pcap` with the trace in memory, replayed for ever (`infinite_rx`); output is `net_null`, which must not
//! receive (`no-rx`), or it would flood the switch with empty frames. To verify, input ends with its file and output is a file.

use std::path::Path;
use std::process::Command;

use ranlab_pipeline::declare::{Direction, Port};

use super::Job;
use crate::environment;
use crate::worker::Trouble;

/// Packets of a trace that fit into the memory that is asked for: each takes a buffer of some 3 KiB.
pub(super) const PACKETS_MAX: usize = 16_384;
/// Memory for packets, MiB.
const MEMORY_MB: u64 = 256;

/// What a program is told that asks for memory without files, which it has on huge pages alone.
pub(super) const NO_HUGE_PAGES: &str = "Open vSwitch over DPDK takes 256 MiB of huge pages, and fewer are free: `sysctl -w vm.nr_hugepages=256` as root";

/// Memory of a program, and the CPUs of its threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resources {
    /// Whether there are huge pages for it.
    pub(super) huge: bool,
    /// Where it keeps house.
    pub(super) main_cpu: usize,
    /// Where it forwards.
    pub(super) forward_cpu: usize,
}

impl Resources {
    /// What this machine has to give. Without enough free huge pages small ones are taken, and reported.
    pub(super) fn here() -> Result<Self, Trouble> {
        let cpus = allowed_cpus();
        let (Some(main_cpu), Some(forward_cpu)) = (cpus.first().copied(), cpus.last().copied()) else {
            return Err(environment("the kernel does not say on which CPUs this process may run"));
        };
        Ok(Self { huge: free_huge_bytes() >= MEMORY_MB << 20, main_cpu, forward_cpu })
    }

    /// Arguments of DPDK's environment, but for cores. Nothing of it becomes a file: not memory, not sockets.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut all = ["--no-pci", "--no-telemetry"].map(str::to_owned).to_vec();
        if self.huge {
            all.push("--in-memory".to_owned());
        } else {
            all.extend(["--no-huge", "--no-shconf", "-m", &MEMORY_MB.to_string()].map(str::to_owned));
        }
        all
    }

    /// Memory to ask for where it is on huge pages, MiB.
    pub(super) const fn memory_mb(&self) -> u64 {
        MEMORY_MB
    }

    /// The share of it on huge pages.
    pub(super) fn huge_page_ratio(&self) -> f64 {
        f64::from(u8::from(self.huge))
    }
}

/// What DPDK would put into `/run` goes to our folder.
pub(super) fn surroundings<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.env("RUNTIME_DIRECTORY", folder)
}

/// A device that replays a file and writes what is sent to another; without the latter, what is sent is gone.
pub(super) fn replays(number: u32, from: &Path, forever: bool, into: Option<&Path>) -> String {
    let mut device = format!("net_pcap{number},rx_pcap={}", from.display());
    if forever {
        device.push_str(",infinite_rx=1");
    }
    if let Some(into) = into {
        device.push_str(&format!(",tx_pcap={}", into.display()));
    }
    device
}

/// A device that writes what is sent to a file.
pub(super) fn records(number: u32, into: &Path) -> String {
    format!("net_pcap{number},tx_pcap={}", into.display())
}

/// A device from which nothing comes, and where what is sent is gone.
pub(super) fn swallows(number: u32) -> String {
    format!("net_null{number},no-rx=1")
}

/// A device that listens at a job's socket for the tester of tier `ring`, or connects to it.
pub(super) fn memif(job: &Job<'_>, number: u32, socket: &Path) -> String {
    let (role, log2_ring) = (if job.connects { "client" } else { "server" }, job.ring);
    format!(
        "net_memif{number},role={role},id=0,rsize={log2_ring},socket={},socket-abstract=no",
        socket.display()
    )
}

/// Both devices of a measurement, access first: input for each direction, and where none enters, a sink.
pub(super) fn measured(folder: &Path, directions: &[Direction]) -> [String; 2] {
    [Port::Access, Port::Core].map(|port| {
        let enters = directions.iter().any(|direction| direction.ingress() == port);
        let number = port as u32;
        if enters { replays(number, &super::input_file(folder, port), true, None) } else { swallows(number) }
    })
}

/// Octets of huge pages that nobody has.
fn free_huge_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    field("HugePages_Free:").unwrap_or(0) * field("Hugepagesize:").unwrap_or(0) * 1024
}

/// CPUs on which this process may run.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("");
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}
