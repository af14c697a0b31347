//! Shared settings of DPDK programs: memory, cores, and devices that are backed by files.
//!
//! The input is `net_pcap`, which stores the trace in memory and replays it in a loop (`infinite_rx`). The output is
//! `net_null` with `no-rx`. Without `no-rx`, the output device would flood the switch with empty frames.
//!
//! For verification, the input ends at the end of its file, and the output is written to a file.

use std::path::Path;
use std::process::Command;

use ranlab_pipeline::declare::{Direction, Port};

use super::SwitchJob;
use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

/// Maximum number of trace packets that fit into the requested memory. Each packet needs a buffer of about 3 KiB.
pub(super) const PACKETS_MAX: usize = 16_384;
/// Memory for packets, in MiB.
const MEMORY_MB: u64 = 256;

/// Error text for programs that need memory without files, which DPDK provides on huge pages only.
pub(super) const NO_HUGE_PAGES: &str = "Open vSwitch over DPDK takes 256 MiB of huge pages, and fewer are free: `sysctl -w vm.nr_hugepages=256` as root";

/// Memory of a program and the CPUs of its threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resources {
    /// Whether enough huge pages are free.
    pub(super) huge: bool,
    /// CPU of the main thread.
    pub(super) main_cpu: usize,
    /// CPU of the forwarding thread.
    pub(super) forward_cpu: usize,
}

impl Resources {
    /// Returns the resources of this machine. If too few huge pages are free, uses small pages and reports this.
    pub(super) fn here() -> Result<Self, ComponentError> {
        let cpus = allowed_cpus();
        let (Some(main_cpu), Some(forward_cpu)) = (cpus.first().copied(), cpus.last().copied()) else {
            return Err(environment("the kernel does not report the CPUs that this process may use"));
        };
        Ok(Self { huge: free_huge_bytes() >= MEMORY_MB << 20, main_cpu, forward_cpu })
    }

    /// Returns the arguments of DPDK's environment abstraction layer, without cores. With these arguments, DPDK creates
    /// no files for memory or sockets.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut all = ["--no-pci", "--no-telemetry"].map(str::to_owned).to_vec();
        if self.huge {
            all.push("--in-memory".to_owned());
        } else {
            all.extend(["--no-huge", "--no-shconf", "-m", &MEMORY_MB.to_string()].map(str::to_owned));
        }
        all
    }

    /// Memory to request when huge pages are used, in MiB.
    pub(super) const fn memory_mb(&self) -> u64 {
        MEMORY_MB
    }

    /// Returns the fraction of memory that is on huge pages.
    pub(super) fn huge_page_ratio(&self) -> f64 {
        f64::from(u8::from(self.huge))
    }
}

/// Redirects the files that DPDK would write to `/run` into `folder`.
pub(super) fn surroundings<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.env("RUNTIME_DIRECTORY", folder)
}

/// Returns a device that replays the file `from` and writes sent packets to `into`. Without `into`, sent packets are
/// discarded.
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

/// Returns a device that writes sent packets to a file.
pub(super) fn records(number: u32, into: &Path) -> String {
    format!("net_pcap{number},tx_pcap={}", into.display())
}

/// Returns a device that receives nothing and discards sent packets.
pub(super) fn swallows(number: u32) -> String {
    format!("net_null{number},no-rx=1")
}

/// Returns a memif device that listens on a job's socket for the tester of tier `ring`, or connects to it.
pub(super) fn memif(job: &SwitchJob<'_>, number: u32, socket: &Path) -> String {
    let role = if job.connects { "client" } else { "server" };
    let log2_ring = job.ring;
    format!(
        "net_memif{number},role={role},id=0,rsize={log2_ring},socket={},socket-abstract=no",
        socket.display()
    )
}

/// Returns both devices of a measurement, access first. A port where packets enter has an input, and any other port
/// discards packets.
pub(super) fn measured(folder: &Path, directions: &[Direction]) -> [String; 2] {
    [Port::Access, Port::Core].map(|port| {
        let enters = directions.iter().any(|direction| direction.ingress() == port);
        let number = port as u32;
        if enters { replays(number, &super::input_file(folder, port), true, None) } else { swallows(number) }
    })
}

/// Returns the size of free huge pages, in bytes.
fn free_huge_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    field("HugePages_Free:").unwrap_or(0) * field("Hugepagesize:").unwrap_or(0) * 1024
}

/// Returns the CPUs on which this process may run.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("");
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}
