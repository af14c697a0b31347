//! Networks of namespaces on this machine. They are created and configured by `ip` and `tc`, and removed in all cases.
//!
//! Every interface is in one of this program's namespaces, so removing the namespaces removes everything. A namespace
//! is called `ranlab-PID-NAME`. A file in [`RUN`] contains the start time of that process. By this time the next
//! testbed distinguishes a terminated owner from a new process with the same number. It removes only the namespaces of
//! terminated owners.

mod order;
mod ports;
mod stamps;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ProcessMeter;
pub use order::{LAUNCHED, Link, RankOrder};
use ports::{BorrowedDevice, TestbedPort};
pub use stamps::{StampConfig, Stamping, stamps_now};

/// Prefix of the names of this program's namespaces.
const PREFIX: &str = "ranlab-";
/// Folder of named namespaces.
const NAMESPACES: &str = "/run/netns";
/// Folder in which each testbed records its owner.
pub const RUN: &str = "/run/ranlab";
/// Maximum number of namespaces of one testbed.
pub const NAMESPACES_MAX: usize = 64;

/// Error of a network set-up. It is an error of the environment, unless stated otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetnsError {
    /// A permission or a tool is missing.
    #[error("network namespaces are not possible here: {0}")]
    Lacking(String),
    /// A command failed: the kernel lacks a feature, or the arguments are invalid.
    #[error("`{command}` failed: {why}")]
    Command {
        /// The command that failed.
        command: String,
        /// Its error text.
        why: String,
    },
    /// The kernel lacks a queueing discipline.
    #[error("this kernel has no scheduler {kind} ({option})")]
    Kernel {
        /// Name of the discipline in `tc`.
        kind: &'static str,
        /// Kernel option that enables the discipline.
        option: &'static str,
    },
    /// A port of this machine that cannot be taken or configured.
    #[error("port {port}: {why}")]
    Port {
        /// Name of the port.
        port: String,
        /// Reason of the rejection.
        why: String,
    },
    /// Too many namespaces, which is an error of the caller.
    #[error("a testbed has up to {NAMESPACES_MAX} namespaces")]
    Many,
}

/// A network of namespaces that belongs to this process. Dropping it removes the network.
#[derive(Debug)]
pub struct Testbed {
    names: Vec<String>,
    /// Changes to the machine that have to be undone, in the order in which they were made.
    loans: Vec<BorrowedDevice>,
    taken: Vec<TestbedPort>,
    began: u64,
    run_file: PathBuf,
}

impl Testbed {
    /// Removes leftovers of terminated processes, and records the start of this testbed.
    ///
    /// # Errors
    /// This process may not create namespaces, or `ip` is missing.
    pub fn new() -> Result<Self, NetnsError> {
        if let Some(lack) = lacking().into_iter().next() {
            return Err(NetnsError::Lacking(lack));
        }
        sweep();
        let lacking = |error: std::io::Error| NetnsError::Lacking(format!("{RUN}: {error}"));
        std::fs::create_dir_all(RUN).map_err(lacking)?;
        let pid = std::process::id();
        let began = ProcessMeter::own().began_ticks().unwrap_or(0);
        // Distinguishes several testbeds of one process.
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let run_file = Path::new(RUN).join(format!("{pid}-{number}"));
        write_whole(&run_file, &began.to_string()).map_err(lacking)?;
        Ok(Self { names: Vec::new(), loans: Vec::new(), taken: Vec::new(), began, run_file })
    }

    /// Creates a namespace with its loopback up, and returns its full name.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn namespace(&mut self, name: &str) -> Result<String, NetnsError> {
        if self.names.len() >= NAMESPACES_MAX {
            return Err(NetnsError::Many);
        }
        let owner = self.run_file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let full = format!("{PREFIX}{owner}-{name}");
        run("ip", &["netns", "add", &full])?;
        self.names.push(full.clone());
        run("ip", &["-n", &full, "link", "set", "lo", "up"])?;
        Ok(full)
    }

    /// Creates a veth pair: one endpoint in each namespace, both up.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn veth(&self, a: (&str, &str), b: (&str, &str)) -> Result<(), NetnsError> {
        self.veth_of(1, a, b)
    }

    /// Adds a veth pair with this number of transmit queues at both endpoints, for disciplines that need one
    /// per class.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn veth_of(
        &self,
        queues: usize,
        (a, a_name): (&str, &str),
        (b, b_name): (&str, &str),
    ) -> Result<(), NetnsError> {
        let queues = format!("numtxqueues {queues} numrxqueues 1");
        let words =
            format!("link add {a_name} netns {a} {queues} type veth peer name {b_name} netns {b} {queues}");
        run("ip", &words.split(' ').collect::<Vec<_>>())?;
        self.ip(a, &["link", "set", a_name, "up"])?;
        self.ip(b, &["link", "set", b_name, "up"])
    }

    /// Runs `ip` in a namespace.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn ip(&self, namespace: &str, arguments: &[&str]) -> Result<(), NetnsError> {
        let mut all = vec!["-n", namespace];
        all.extend(arguments);
        run("ip", &all).map(drop)
    }

    /// Limits the rate at which packets leave an interface: a token bucket with a queue of this many bytes.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn shape(
        &self,
        (namespace, interface): (&str, &str),
        rate_bps: u64,
        queue_bytes: u64,
    ) -> Result<(), NetnsError> {
        tc(namespace, &order::one_queue(interface, rate_bps, queue_bytes))
    }

    /// Returns the counters of the queue of a rate-limited interface.
    ///
    /// # Errors
    /// The error of the operating system, or the interface has no rate limit.
    pub fn queue(&self, (namespace, interface): (&str, &str)) -> Result<QueueCounters, NetnsError> {
        let arguments = ["-n", namespace, "-s", "qdisc", "show", "dev", interface, "root"];
        let text = run("tc", &arguments)?;
        queue_counters(&text).ok_or_else(|| NetnsError::Command {
            command: format!("tc {}", arguments.join(" ")),
            why: "its output has no queue counters".to_owned(),
        })
    }

    /// Returns the hardware address of an interface.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn address(&self, namespace: &str, interface: &str) -> Result<[u8; 6], NetnsError> {
        let text = run("ip", &["-n", namespace, "-o", "link", "show", "dev", interface])?;
        let octets = text.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next());
        octets.and_then(hardware).ok_or_else(|| NetnsError::Command {
            command: format!("ip -n {namespace} -o link show dev {interface}"),
            why: "its output has no hardware address".to_owned(),
        })
    }

    /// Returns the hardware address of a neighbour, as learnt by the kernel; `None` if it is unknown.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn neighbour(
        &self,
        namespace: &str,
        interface: &str,
        ip: std::net::Ipv4Addr,
    ) -> Result<Option<[u8; 6]>, NetnsError> {
        let output = run("ip", &["-n", namespace, "neigh", "show", "to", &ip.to_string(), "dev", interface])?;
        Ok(output.split("lladdr ").nth(1).and_then(|rest| hardware(rest.split_whitespace().next()?)))
    }

    /// Returns the file by which a thread enters a namespace.
    pub fn file(namespace: &str) -> PathBuf {
        Path::new(NAMESPACES).join(namespace)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        // Ports are returned before their namespaces are removed, because a software port would be removed
        // with its namespace.
        self.loans.drain(..).rev().for_each(|loan| loan.give_back());
        for name in self.names.drain(..) {
            let _ = run("ip", &["netns", "delete", &name]);
        }
        let _ = std::fs::remove_file(&self.run_file);
    }
}

static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Permissions and tools that this process lacks for namespaces, one sentence each.
pub fn lacking() -> Vec<String> {
    let mut lacks = Vec::new();
    if !crate::Facts::read().network_namespaces {
        lacks.push(
            "this user may not make them: run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN".to_owned(),
        );
    }
    for tool in missing_tools() {
        lacks.push(format!("the command `{tool}` is missing: install iproute2"));
    }
    lacks
}

/// Returns the commands that a testbed needs and that are missing.
fn missing_tools() -> Vec<&'static str> {
    ["ip", "tc"].into_iter().filter(|tool| Command::new(tool).arg("-V").output().is_err()).collect()
}

/// Gives back the ports of terminated processes, and removes their namespaces and run files. Returns the number of
/// namespaces.
pub fn sweep() -> usize {
    // The namespaces are listed before the run files, because a run file exists as long as the namespaces of its
    // testbed. Each owner is checked only once. If it were checked twice and ended in between, its ports would be lost
    // with their namespace.
    let names: Vec<String> = std::fs::read_dir(NAMESPACES)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let (living, dead): (Vec<_>, Vec<_>) = run_files().partition(|(_, pid, number)| lives(*pid, number));
    for (file, ..) in &dead {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().rev().filter_map(BorrowedDevice::read).for_each(|loan| loan.give_back());
    }
    let abandoned = |name: &str| {
        let mut parts = name.strip_prefix(PREFIX).unwrap_or("").split('-');
        let (Some(Ok(owner)), Some(its)) = (parts.next().map(str::parse::<u32>), parts.next()) else {
            return false;
        };
        !living.iter().any(|(_, pid, number)| (*pid, number.as_str()) == (owner, its))
    };
    let gone = |name: &&String| abandoned(name) && run("ip", &["netns", "delete", name]).is_ok();
    let removed = names.iter().filter(gone).count();
    for (file, ..) in dead {
        let _ = std::fs::remove_file(file);
    }
    removed
}

/// Returns each testbed's run file, with the process id and the number in its name.
fn run_files() -> impl Iterator<Item = (PathBuf, u32, String)> {
    std::fs::read_dir(RUN).into_iter().flatten().flatten().filter_map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        let (pid, number) = name.split_once('-').unwrap_or((&name, ""));
        Some((file.path(), pid.parse().ok()?, number.to_owned()))
    })
}

/// Writes a run file atomically, because another process would take an empty run file for one of a terminated owner.
fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    // No other process reads this file, because its name does not begin with a process id.
    let part = file.with_file_name(format!(".{}", file.file_name().unwrap_or_default().to_string_lossy()));
    std::fs::write(&part, text)?;
    std::fs::rename(part, file)
}

/// Whether the process that made a testbed is still running, rather than a new process of the same number.
fn lives(pid: u32, number: &str) -> bool {
    let Ok(noted) = std::fs::read_to_string(Path::new(RUN).join(format!("{pid}-{number}"))) else {
        return false;
    };
    let began = ProcessMeter::new(pid).began_ticks();
    // A zombie keeps only its process id and its start time.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X'))
        && began.is_ok_and(|began| noted.lines().next() == Some(&began.to_string()))
}

/// Counters of a queue since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Bytes that left the queue.
    pub bytes: u64,
    /// Packets that left the queue.
    pub packets: u64,
    /// Packets that arrived at a full queue.
    pub dropped: u64,
    /// Number of times that the first packet had to wait for the rate.
    pub waits: u64,
}

/// Parses six bytes separated by colons.
fn hardware(text: &str) -> Option<[u8; 6]> {
    let octets: Vec<u8> = text.split(':').filter_map(|part| u8::from_str_radix(part, 16).ok()).collect();
    octets.try_into().ok()
}

/// Runs `tc` in a namespace, with arguments separated by blanks.
fn tc(namespace: &str, words: &str) -> Result<(), NetnsError> {
    let all: Vec<&str> = ["-n", namespace].into_iter().chain(words.split(' ')).collect();
    run("tc", &all).map(drop)
}

/// Parses `Sent 1 bytes 2 pkt (dropped 3, overlimits 4 requeues 5)`.
fn queue_counters(text: &str) -> Option<QueueCounters> {
    let after = |word: &str| {
        let rest = text.split(word).nth(1)?.trim_start();
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    Some(QueueCounters {
        bytes: after("Sent ")?,
        packets: after(" bytes ")?,
        dropped: after("(dropped ")?,
        waits: after("overlimits ")?,
    })
}

fn run(program: &str, arguments: &[&str]) -> Result<String, NetnsError> {
    let command = || format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| NetnsError::Command { command: command(), why: error.to_string() })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NetnsError::Command { command: command(), why })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Whether the test can run; prints the reason if not.
    fn possible() -> bool {
        let lacks = lacking();
        if !lacks.is_empty() {
            crate::doctor::skipped(lacks.join("; "));
        }
        lacks.is_empty()
    }

    #[test]
    fn testbed_is_removed_on_drop() {
        if !possible() {
            return;
        }
        let (file, run_file) = {
            let mut testbed = Testbed::new().unwrap();
            let a = testbed.namespace("a").unwrap();
            let b = testbed.namespace("b").unwrap();
            testbed.veth((&a, "left"), (&b, "right")).unwrap();
            testbed.shape((&a, "left"), 1_000_000_000, 500_000).unwrap();
            assert_ne!(testbed.address(&a, "left").unwrap(), [0; 6]);
            assert_eq!(testbed.queue((&a, "left")).unwrap().dropped, 0);
            let later = [(Ipv4Addr::new(10, 77, 0, 3), 6), (Ipv4Addr::new(10, 77, 0, 13), 6)];
            let link = |order| Link {
                rate_bps: 1_000_000_000,
                queue_bytes: 500_000,
                port_bps: 0,
                order,
                rank: 1,
                ranks: &later,
            };
            testbed.prioritise((&a, "left"), &link(RankOrder::Strict)).unwrap();
            assert_eq!(testbed.queue((&a, "left")).unwrap().dropped, 0);
            let classes = run("tc", &["-n", &a, "class", "show", "dev", "left"]).unwrap();
            assert!(
                classes.contains("prio 0 rate 1Gbit") && classes.contains("prio 1 rate 8Kbit"),
                "{classes}"
            );
            let turns = RankOrder::Turns { own: 9_216, other: 1_538 };
            testbed.shape((&a, "left"), 1_000_000_000, 500_000).unwrap();
            testbed.prioritise((&a, "left"), &link(turns)).unwrap();
            let classes = run("tc", &["-n", &a, "-d", "class", "show", "dev", "left"]).unwrap();
            assert!(classes.contains("quantum 9216") && classes.contains("quantum 1538"), "{classes}");
            assert!(!classes.contains("prio 1 "), "{classes}");
            assert!(testbed.queue((&b, "nothing")).is_err());
            let error = testbed.ip(&a, &["link", "set", "nothing", "up"]).unwrap_err().to_string();
            assert!(error.contains("nothing"), "{error}");
            (Testbed::file(&a), testbed.run_file.clone())
        };
        assert!(!file.exists() && !run_file.exists());
    }

    #[test]
    fn counters_are_parsed_from_tc_output() {
        let text = "qdisc tbf 8001: root refcnt 2 rate 1Gbit burst 25000b lat 4ms \n Sent 34567 bytes 51 pkt (dropped 2, overlimits 7 requeues 0) \n backlog 0b 0p requeues 0\n";
        let expected = QueueCounters { bytes: 34_567, packets: 51, dropped: 2, waits: 7 };
        assert_eq!(queue_counters(text), Some(expected));
        assert_eq!(queue_counters("qdisc noqueue 0: root refcnt 2"), None);
    }

    #[test]
    fn sweep_removes_only_leftovers_of_dead_processes() {
        if !possible() {
            return;
        }
        // Above the maximum process id of Linux (2^22), so no process has it.
        let dead = format!("{PREFIX}4194305-0-x");
        run("ip", &["netns", "add", &dead]).unwrap();
        let mut testbed = Testbed::new().unwrap();
        let own = testbed.namespace("own").unwrap();
        sweep();
        assert!(!Testbed::file(&dead).exists() && Testbed::file(&own).exists());
    }
}
