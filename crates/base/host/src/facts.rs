//! Facts about the machine that a result must state.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::field;
use crate::netns::Stamping;

/// Facts that change the meaning of a measurement. A field is `None` if the kernel does not report it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Name of the distribution.
    pub system: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The first CPU's model.
    pub cpu_model: Option<String>,
    /// CPUs on line.
    pub cpus: usize,
    /// Whether the kernel reports a hypervisor.
    pub virtual_machine: bool,
    /// Whether the machine's processors are emulated (QEMU without hardware virtualisation), so that measured times are
    /// meaningless.
    pub emulated: bool,
    /// Memory of the machine.
    pub memory_bytes: Option<u64>,
    /// Whether two threads per core are in use.
    pub smt: Option<bool>,
    /// The frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Whether clock rates above the nominal frequency (turbo, boost) are allowed.
    pub boost: Option<bool>,
    /// The driver of the idle states.
    pub idle_driver: Option<String>,
    /// The idle states of the first CPU that are not disabled, the shallowest first.
    pub idle_states: Vec<IdleState>,
    /// CPUs kept free of other work by the kernel's command line.
    pub isolated_cpus: Option<String>,
    /// CPUs whose timer tick stops while they run one task.
    pub tickless_cpus: Option<String>,
    /// Source of the kernel's clock.
    pub clock_source: Option<String>,
    /// Preemption model of the kernel: `realtime`, `full`, `lazy`, `voluntary`, `none`, or `dynamic` where it
    /// does not report the current choice.
    pub preemption: Option<String>,
    /// Flavour of the kernel's build (`Debian`, `cloud`, `azure`, … according to its release; else
    /// `generic`).
    pub kernel_flavour: Option<String>,
    /// Number of memory nodes (NUMA).
    pub memory_nodes: usize,
    /// Whether the kernel reports how long tasks waited (`/proc/pressure`).
    pub pressure_information: bool,
    /// Number of reserved huge pages.
    pub huge_pages: Option<u64>,
    /// Size of a huge page.
    pub huge_page_bytes: Option<u64>,
    /// The mode of transparent huge pages.
    pub transparent_huge_pages: Option<String>,
    /// Whether the kernel supports AF_XDP sockets.
    pub af_xdp: bool,
    /// SCTP support of the kernel.
    pub sctp: Sctp,
    /// Whether this process may create network namespaces (it has CAP_SYS_ADMIN).
    pub network_namespaces: bool,
    /// Whether the commands `ip` and `tc` are installed.
    pub iproute2: bool,
    /// Installed programs that measure networks, out of `ping` and `iperf3`.
    pub network_probes: Vec<&'static str>,
    /// Ports that support virtual functions (SR-IOV), as `name: number`.
    pub virtual_functions: Vec<String>,
    /// Ports whose cards stamp frames by their own clocks, as `name: /dev/ptpN`.
    pub card_clocks: Vec<String>,
    /// Current limit of open files of this process.
    pub open_files_soft: Option<u64>,
    /// Highest limit of open files that this process may set for itself.
    pub open_files_hard: Option<u64>,
}

/// An idle state of a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdleState {
    /// Name of the state, such as `C6`.
    pub name: String,
    /// Time to leave the state, in microseconds.
    pub exit_latency_us: u64,
}

/// SCTP support of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sctp {
    /// SCTP is available now.
    Loaded,
    /// Available after `modprobe sctp`.
    Loadable,
    /// SCTP is not available.
    Absent,
}

/// CAP_SYS_ADMIN, linux/capability.h.
const CAP_SYS_ADMIN: u32 = 21;

impl Facts {
    /// Reads the facts of this machine; a fact that cannot be read is `None`.
    pub fn read() -> Self {
        Self::read_below(Path::new("/"))
    }

    fn read_below(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let word = |path: &str| text(path).map(|text| text.trim().to_owned()).filter(|word| !word.is_empty());
        let memory = text("proc/meminfo").unwrap_or_default();
        let cpus = text("proc/cpuinfo").unwrap_or_default();
        let limits = text("proc/self/limits").unwrap_or_default();
        let kernel = word("proc/sys/kernel/osrelease");
        let cpu_model = cpus.lines().find_map(|line| value(line, "model name"));
        Self {
            emulated: cpu_model.as_deref().is_some_and(|model| model.contains("TCG")),
            system: text("etc/os-release").and_then(|text| system_name(&text)),
            cpu_model,
            cpus: cpus.lines().filter(|line| value(line, "processor").is_some()).count(),
            virtual_machine: cpus
                .lines()
                .filter_map(|line| value(line, "flags"))
                .any(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory_bytes: field(&memory, "MemTotal").map(|kilobytes| kilobytes * 1024),
            smt: word("sys/devices/system/cpu/smt/active").map(|word| word == "1"),
            governor: word("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            boost: word("sys/devices/system/cpu/intel_pstate/no_turbo")
                .map(|word| word == "0")
                .or_else(|| word("sys/devices/system/cpu/cpufreq/boost").map(|word| word == "1")),
            idle_driver: word("sys/devices/system/cpu/cpuidle/current_driver"),
            idle_states: idle_states(root),
            isolated_cpus: word("sys/devices/system/cpu/isolated"),
            tickless_cpus: word("sys/devices/system/cpu/nohz_full").filter(|word| word != "(null)"),
            clock_source: word("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            preemption: preemption(
                word("sys/kernel/realtime").as_deref(),
                word("sys/kernel/debug/sched/preempt").as_deref(),
                &text("proc/cmdline").unwrap_or_default(),
                &text("proc/version").unwrap_or_default(),
            ),
            kernel_flavour: kernel.as_deref().map(flavour),
            memory_nodes: nodes(root),
            pressure_information: root.join("proc/pressure/cpu").exists(),
            huge_pages: field(&memory, "HugePages_Total"),
            huge_page_bytes: field(&memory, "Hugepagesize").map(|kilobytes| kilobytes * 1024),
            transparent_huge_pages: word("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| chosen(&text)),
            af_xdp: af_xdp(root),
            sctp: sctp(root, kernel.as_deref()),
            network_namespaces: text("proc/self/status")
                .is_some_and(|text| has_capability(&text, CAP_SYS_ADMIN)),
            iproute2: ["ip", "tc"].iter().all(|tool| is_installed(root, tool)),
            network_probes: ["ping", "iperf3"].into_iter().filter(|tool| is_installed(root, tool)).collect(),
            virtual_functions: virtual_functions(root),
            card_clocks: card_clocks(root),
            open_files_soft: open_files(&limits, 3),
            open_files_hard: open_files(&limits, 4),
            kernel,
        }
    }
}

fn is_installed(root: &Path, tool: &str) -> bool {
    ["usr/sbin", "usr/bin", "usr/local/bin", "sbin", "bin"]
        .iter()
        .any(|folder| root.join(folder).join(tool).exists())
}

fn virtual_functions(root: &Path) -> Vec<String> {
    ports(root, |port, folder| {
        let total = fs::read_to_string(folder.join("device/sriov_totalvfs")).ok()?;
        let total: u32 = total.trim().parse().ok().filter(|&total| total > 0)?;
        Some(format!("{port}: {total}"))
    })
}

fn card_clocks(root: &Path) -> Vec<String> {
    ports(root, |port, _| {
        let (_, clock) = Stamping::read(port).ok()?.by_card().ok()?;
        Some(format!("{port}: /dev/ptp{clock}"))
    })
}

/// Returns the sorted texts that `say` gives for the ports of this machine. Its arguments are the name of a port and
/// its folder in `/sys`.
fn ports(root: &Path, say: impl Fn(&str, &Path) -> Option<String>) -> Vec<String> {
    let Ok(interfaces) = fs::read_dir(root.join("sys/class/net")) else { return Vec::new() };
    let described = |entry: fs::DirEntry| say(&entry.file_name().to_string_lossy(), &entry.path());
    let mut ports: Vec<String> = interfaces.flatten().filter_map(described).collect();
    ports.sort();
    ports
}

/// Returns the idle states of the first CPU; all CPUs have the same states.
fn idle_states(root: &Path) -> Vec<IdleState> {
    let folder = root.join("sys/devices/system/cpu/cpu0/cpuidle");
    let state = |index: usize| {
        let word = |name: &str| fs::read_to_string(folder.join(format!("state{index}")).join(name)).ok();
        let name = word("name")?;
        let latency = word("latency")?;
        let disabled = word("disable").is_some_and(|word| word.trim() == "1");
        let state = IdleState { name: name.trim().to_owned(), exit_latency_us: latency.trim().parse().ok()? };
        Some((state, disabled))
    };
    (0..).map_while(state).filter(|(_, disabled)| !disabled).map(|(state, _)| state).collect()
}

/// Returns the preemption model. Only root can read the run-time choice in debugfs; other users get it from the command
/// line or the build options.
fn preemption(
    realtime: Option<&str>,
    debug: Option<&str>,
    command_line: &str,
    version: &str,
) -> Option<String> {
    if realtime == Some("1") || version.contains("PREEMPT_RT") {
        return Some("realtime".to_owned());
    }
    // The text is, for example, `none voluntary (full) lazy`. The brackets mark the choice.
    let chosen = debug.and_then(|text| Some(text.split_once('(')?.1.split_once(')')?.0.to_owned()));
    let requested =
        || command_line.split_whitespace().find_map(|word| word.strip_prefix("preempt=")).map(str::to_owned);
    let built = || {
        let word = match version {
            "" => return None,
            version if version.contains("PREEMPT_DYNAMIC") => "dynamic",
            version if version.contains("PREEMPT_LAZY") => "lazy",
            version if version.contains("PREEMPT") => "full",
            _ => "voluntary or none",
        };
        Some(word.to_owned())
    };
    chosen.or_else(requested).or_else(built)
}

/// Returns the words of a release that are neither a number nor an architecture: `cloud` for `6.1.0-53-cloud-amd64`.
fn flavour(release: &str) -> String {
    let words = release.split(['-', '+']).skip(1).filter(|word| {
        let architecture = ["amd64", "arm64", "x86_64", "aarch64", "riscv64"].contains(word);
        !architecture && word.chars().any(char::is_alphabetic)
    });
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "generic".to_owned() } else { words.join("-") }
}

fn nodes(root: &Path) -> usize {
    let names = fs::read_dir(root.join("sys/devices/system/node")).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
    names.filter(|entry| entry.file_name().to_str().is_some_and(number)).count()
}

/// Whether the kernel supports AF_XDP. The kernel lists its protocols by the names that their sockets have.
fn af_xdp(root: &Path) -> bool {
    let listed = |text: String| text.lines().any(|line| line.split_whitespace().next() == Some("XDP"));
    fs::read_to_string(root.join("proc/net/protocols")).is_ok_and(listed)
}

fn sctp(root: &Path, kernel: Option<&str>) -> Sctp {
    let holds = |path: PathBuf, word: &str| fs::read_to_string(path).is_ok_and(|text| text.contains(word));
    if holds(root.join("proc/net/protocols"), "SCTP") {
        return Sctp::Loaded;
    }
    let modules = root.join("lib/modules").join(kernel.unwrap_or_default());
    let known = ["modules.dep", "modules.builtin"].iter().any(|list| holds(modules.join(list), "/sctp.ko"));
    if known { Sctp::Loadable } else { Sctp::Absent }
}

/// Parses a line `name : value` of /proc/cpuinfo.
fn value(line: &str, name: &str) -> Option<String> {
    let (key, value) = line.split_once(':')?;
    (key.trim() == name).then(|| value.trim().to_owned())
}

fn system_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

/// Returns the bracketed word of a text such as `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn has_capability(status: &str, capability: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> capability & 1 == 1)
}

/// Parses a line such as `Max open files  SOFT  HARD  files`. "unlimited" is not a number and becomes `None`.
fn open_files(limits: &str, column: usize) -> Option<u64> {
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine(PathBuf);

    impl Machine {
        fn with(test: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("ranlab-facts-{test}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn emulated_processors_are_reported() {
        let of = |test: &str, model: &str| {
            let cpus = format!("processor : 0\nmodel name : {model}\n");
            Facts::read_below(&Machine::with(test, &[("proc/cpuinfo", &cpus)]).0).emulated
        };
        assert!(of("program", "QEMU TCG CPU version 2.5+") && !of("processor", "Zen 9"));
    }

    #[test]
    fn facts_are_read_from_kernel_files() {
        let machine = Machine::with(
            "all",
            &[
                ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 13\"\n"),
                ("proc/sys/kernel/osrelease", "6.18.1\n"),
                (
                    "proc/cpuinfo",
                    "processor\t: 0\nmodel name\t: Zen 9\nflags\t: fpu hypervisor\n\nprocessor : 1\n",
                ),
                ("proc/meminfo", "MemTotal: 2048 kB\nHugePages_Total:   8\nHugepagesize:  2048 kB\n"),
                ("sys/devices/system/cpu/smt/active", "1\n"),
                ("sys/devices/system/cpu/isolated", "\n"),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("proc/self/status", "Name: x\nCapEff:\t0000000000200000\n"),
                (
                    "proc/self/limits",
                    "Limit Soft Hard Units\nMax open files            1024       524288    files\n",
                ),
                (
                    "proc/net/protocols",
                    "protocol  size sockets\nXDP       1088      0\nUDP       1344      4\n",
                ),
                ("lib/modules/6.18.1/modules.dep", "kernel/net/sctp/sctp.ko.xz: kernel/lib/crc32.ko\n"),
            ],
        );
        let facts = Facts::read_below(&machine.0);
        assert_eq!(facts.system.as_deref(), Some("Debian 13"));
        assert_eq!((facts.cpu_model.as_deref(), facts.cpus, facts.virtual_machine), (Some("Zen 9"), 2, true));
        assert_eq!(
            (facts.memory_bytes, facts.huge_pages, facts.huge_page_bytes),
            (Some(2 << 20), Some(8), Some(2 << 20))
        );
        assert_eq!((facts.smt, facts.governor, facts.isolated_cpus), (Some(true), None, None));
        assert_eq!(facts.transparent_huge_pages.as_deref(), Some("madvise"));
        assert_eq!((facts.sctp, facts.network_namespaces), (Sctp::Loadable, true));
        assert!(facts.af_xdp);
        assert_eq!((facts.open_files_soft, facts.open_files_hard), (Some(1024), Some(524_288)));
    }

    #[test]
    fn idle_states_clock_and_kernel_are_reported() {
        let idle = "sys/devices/system/cpu/cpu0/cpuidle";
        let files = [
            (format!("{idle}/state0/name"), "POLL\n"),
            (format!("{idle}/state0/latency"), "0\n"),
            (format!("{idle}/state1/name"), "C1\n"),
            (format!("{idle}/state1/latency"), "2\n"),
            (format!("{idle}/state1/disable"), "1\n"),
            (format!("{idle}/state2/name"), "C6\n"),
            (format!("{idle}/state2/latency"), "133\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned(), "tsc\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo".to_owned(), "1\n"),
            ("sys/devices/system/cpu/nohz_full".to_owned(), "2-3\n"),
            ("sys/devices/system/node/node0/x".to_owned(), ""),
            ("sys/devices/system/node/node1/x".to_owned(), ""),
            ("proc/pressure/cpu".to_owned(), ""),
            ("proc/sys/kernel/osrelease".to_owned(), "6.1.0-53-cloud-amd64\n"),
            ("proc/version".to_owned(), "Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian\n"),
            ("proc/cmdline".to_owned(), "quiet preempt=voluntary\n"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let facts = Facts::read_below(&Machine::with("tuning", &files).0);
        let states: Vec<(&str, u64)> =
            facts.idle_states.iter().map(|state| (state.name.as_str(), state.exit_latency_us)).collect();
        assert_eq!(states, [("POLL", 0), ("C6", 133)], "C1 is disabled");
        assert_eq!((facts.clock_source.as_deref(), facts.boost), (Some("tsc"), Some(false)));
        assert_eq!((facts.tickless_cpus.as_deref(), facts.memory_nodes), (Some("2-3"), 2));
        assert_eq!(facts.preemption.as_deref(), Some("voluntary"));
        assert_eq!((facts.kernel_flavour.as_deref(), facts.pressure_information), (Some("cloud"), true));
    }

    #[test]
    fn preemption_comes_from_nearest_source() {
        let version = "Linux #1 SMP PREEMPT_DYNAMIC";
        assert_eq!(preemption(Some("1"), None, "", version).as_deref(), Some("realtime"));
        let debug = Some("none voluntary (full) lazy");
        assert_eq!(preemption(None, debug, "preempt=none", version).as_deref(), Some("full"));
        assert_eq!(preemption(None, None, "", version).as_deref(), Some("dynamic"));
        assert_eq!(preemption(None, None, "", "Linux #1 SMP PREEMPT_RT x").as_deref(), Some("realtime"));
        assert_eq!(preemption(None, None, "", ""), None);
        assert_eq!(
            (flavour("6.8.0-1021-azure"), flavour("6.12.4")),
            ("azure".to_owned(), "generic".to_owned())
        );
    }

    #[test]
    fn unreadable_facts_are_left_out() {
        let facts = Facts::read_below(&Machine::with("none", &[("empty", "")]).0);
        assert_eq!((facts.kernel, facts.smt, facts.open_files_soft, facts.cpus), (None, None, None, 0));
        assert_eq!((facts.sctp, facts.network_namespaces), (Sctp::Absent, false));
        assert!(!facts.af_xdp);
    }

    #[test]
    fn facts_of_this_machine_serialize_to_json() {
        let json = serde_json::to_value(Facts::read()).unwrap();
        assert!(json["kernel"].is_string() && json["cpus"].as_u64() >= Some(1), "{json}");
    }
}
