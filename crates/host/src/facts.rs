//! What a result must say about the machine that it comes from.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::field;

/// Facts that change what a measurement means. `None`: the kernel does not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The distribution's own name for itself.
    pub system: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The first CPU's model.
    pub cpu_model: Option<String>,
    /// CPUs on line.
    pub cpus: usize,
    /// Whether a hypervisor shows itself.
    pub virtual_machine: bool,
    /// Memory of the machine.
    pub memory_bytes: Option<u64>,
    /// Two threads to a core are in use.
    pub smt: Option<bool>,
    /// The frequency governor of the first CPU.
    pub governor: Option<String>,
    /// The driver of the idle states.
    pub idle_driver: Option<String>,
    /// CPUs kept free of other work by the kernel's command line.
    pub isolated_cpus: Option<String>,
    /// Huge pages reserved.
    pub huge_pages: Option<u64>,
    /// Size of one of them.
    pub huge_page_bytes: Option<u64>,
    /// The mode of transparent huge pages.
    pub transparent_huge_pages: Option<String>,
    /// SCTP in the kernel.
    pub sctp: Sctp,
    /// This process may make network namespaces (it has CAP_SYS_ADMIN).
    pub network_namespaces: bool,
    /// Open files allowed to this process now.
    pub open_files_soft: Option<u64>,
    /// Open files that it may allow itself.
    pub open_files_hard: Option<u64>,
}

/// What the kernel has of SCTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sctp {
    /// There now.
    Loaded,
    /// There after `modprobe sctp`.
    Loadable,
    /// Not there.
    Absent,
}

/// CAP_SYS_ADMIN, linux/capability.h.
const CAP_SYS_ADMIN: u32 = 21;

impl Facts {
    /// Reads the facts of this machine; what cannot be read is `None`.
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
        Self {
            system: text("etc/os-release").and_then(|text| system_name(&text)),
            cpu_model: cpus.lines().find_map(|line| value(line, "model name")),
            cpus: cpus.lines().filter(|line| value(line, "processor").is_some()).count(),
            virtual_machine: cpus
                .lines()
                .filter_map(|line| value(line, "flags"))
                .any(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory_bytes: field(&memory, "MemTotal").map(|kilobytes| kilobytes * 1024),
            smt: word("sys/devices/system/cpu/smt/active").map(|word| word == "1"),
            governor: word("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            idle_driver: word("sys/devices/system/cpu/cpuidle/current_driver"),
            isolated_cpus: word("sys/devices/system/cpu/isolated"),
            huge_pages: field(&memory, "HugePages_Total"),
            huge_page_bytes: field(&memory, "Hugepagesize").map(|kilobytes| kilobytes * 1024),
            transparent_huge_pages: word("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| chosen(&text)),
            sctp: sctp(root, kernel.as_deref()),
            network_namespaces: text("proc/self/status")
                .is_some_and(|text| has_capability(&text, CAP_SYS_ADMIN)),
            open_files_soft: open_files(&limits, 3),
            open_files_hard: open_files(&limits, 4),
            kernel,
        }
    }
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

/// `name : value` of /proc/cpuinfo.
fn value(line: &str, name: &str) -> Option<String> {
    let (key, value) = line.split_once(':')?;
    (key.trim() == name).then(|| value.trim().to_owned())
}

fn system_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

/// The bracketed word of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn has_capability(status: &str, capability: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> capability & 1 == 1)
}

/// `Max open files  SOFT  HARD  files`; "unlimited" is no number and stays `None`.
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
    fn facts_come_from_their_files() {
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
        assert_eq!((facts.open_files_soft, facts.open_files_hard), (Some(1024), Some(524_288)));
    }

    #[test]
    fn a_machine_that_says_nothing_yields_no_guesses() {
        let facts = Facts::read_below(&Machine::with("none", &[("empty", "")]).0);
        assert_eq!((facts.kernel, facts.smt, facts.open_files_soft, facts.cpus), (None, None, None, 0));
        assert_eq!((facts.sctp, facts.network_namespaces), (Sctp::Absent, false));
    }

    #[test]
    fn this_machine_is_written_down_as_json() {
        let json = serde_json::to_value(Facts::read()).unwrap();
        assert!(json["kernel"].is_string() && json["cpus"].as_u64() >= Some(1), "{json}");
    }
}
