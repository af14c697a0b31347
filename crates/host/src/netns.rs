//! Networks of namespaces on this machine: made, described by `ip` and `tc`, and removed whatever happens.
//!
//! Every interface lives in a namespace of ours, so removing the namespaces removes everything. A namespace is called
//! `ranlab-PID-NAME`; a file in [`RUN`] says when that process began, so that the next testbed tells a dead owner, whose
//! namespaces it removes, from a new process of the same number.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ProcessMeter;

/// What the names of our namespaces begin with.
const PREFIX: &str = "ranlab-";
/// Where named namespaces are.
const NAMESPACES: &str = "/run/netns";
/// Where each testbed says whose it is.
pub const RUN: &str = "/run/ranlab";
/// Namespaces of one testbed, at most.
pub const NAMESPACES_MAX: usize = 64;

/// Why a network could not be made. The environment's fault, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetnsError {
    /// Not allowed, or nothing to do it with.
    #[error("network namespaces are not possible here: {0}")]
    Lacking(String),
    /// A command failed: the kernel lacks something, or the caller asked for nonsense.
    #[error("`{command}` failed: {why}")]
    Command {
        /// What was run.
        command: String,
        /// What it said.
        why: String,
    },
    /// Too many namespaces; the caller's fault.
    #[error("a testbed has up to {NAMESPACES_MAX} namespaces")]
    Many,
}

/// A network of namespaces that belongs to this process; dropping it removes it.
#[derive(Debug)]
pub struct Testbed {
    names: Vec<String>,
    run_file: PathBuf,
}

impl Testbed {
    /// Removes what dead processes left, and notes that this one begins.
    ///
    /// # Errors
    /// This process may not make namespaces, or `ip` is missing.
    pub fn new() -> Result<Self, NetnsError> {
        if let Some(lack) = lacking().into_iter().next() {
            return Err(NetnsError::Lacking(lack));
        }
        sweep();
        let lacking = |error: std::io::Error| NetnsError::Lacking(format!("{RUN}: {error}"));
        std::fs::create_dir_all(RUN).map_err(lacking)?;
        let pid = std::process::id();
        let began = ProcessMeter::own().began_ticks().unwrap_or(0);
        // Several testbeds of one process do not take each other's.
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let run_file = Path::new(RUN).join(format!("{pid}-{number}"));
        std::fs::write(&run_file, began.to_string()).map_err(lacking)?;
        Ok(Self { names: Vec::new(), run_file })
    }

    /// Makes a namespace with its loopback up, and says its full name.
    ///
    /// # Errors
    /// The system's word.
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

    /// A veth pair: one end in each namespace, both up.
    ///
    /// # Errors
    /// The system's word.
    pub fn veth(&self, (a, a_name): (&str, &str), (b, b_name): (&str, &str)) -> Result<(), NetnsError> {
        run("ip", &["link", "add", a_name, "netns", a, "type", "veth", "peer", "name", b_name, "netns", b])?;
        self.ip(a, &["link", "set", a_name, "up"])?;
        self.ip(b, &["link", "set", b_name, "up"])
    }

    /// `ip` in a namespace.
    ///
    /// # Errors
    /// The system's word.
    pub fn ip(&self, namespace: &str, arguments: &[&str]) -> Result<(), NetnsError> {
        let mut all = vec!["-n", namespace];
        all.extend(arguments);
        run("ip", &all).map(drop)
    }

    /// Holds what leaves an interface to a rate: a token bucket with a queue of so many octets.
    ///
    /// # Errors
    /// The system's word.
    pub fn shape(
        &self,
        (namespace, interface): (&str, &str),
        rate_bps: u64,
        queue_bytes: u64,
    ) -> Result<(), NetnsError> {
        let (rate, burst) = bucket(rate_bps);
        tc(
            namespace,
            &format!("qdisc replace dev {interface} root tbf rate {rate} burst {burst} limit {queue_bytes}"),
        )
    }

    /// Holds what leaves an interface to a rate, in an order among ranks: a queue of so many octets for each. Packets from or
    /// to an address have its rank, all others `rank`; 0 is the most urgent.
    ///
    /// By HTB, which kernels have that lack `prio` and `drr`. Strictly, the most urgent class owns the rate and the others
    /// have what it leaves; by turns, all live on what the link has, and HTB goes round them by their quanta, with a deficit.
    ///
    /// # Errors
    /// The system's word.
    pub fn prioritise(
        &self,
        (namespace, interface): (&str, &str),
        rate_bps: u64,
        queue_bytes: u64,
        order: RankOrder,
        rank: u8,
        ranks: &[(Ipv4Addr, u8)],
    ) -> Result<(), NetnsError> {
        let (rate, burst) = bucket(rate_bps);
        let tc = |words: String| tc(namespace, &words);
        let class = |rank: u8| u16::from(rank) + 1;
        tc(format!("qdisc replace dev {interface} root handle 1: htb default {:x}", class(rank)))?;
        let limits = format!("burst {burst} cburst {burst}");
        tc(format!(
            "class replace dev {interface} parent 1: classid 1:fff htb rate {rate} ceil {rate} {limits} quantum {QUANTUM}"
        ))?;
        let mut all: Vec<u8> = ranks.iter().map(|(_, rank)| *rank).chain([rank]).collect();
        all.sort_unstable();
        all.dedup();
        for (place, &of) in all.iter().enumerate() {
            let (owned, prio, quantum) = match order {
                RankOrder::Strict if place == 0 => (rate.as_str(), 0, QUANTUM),
                RankOrder::Strict => (LEAST_RATE, place.min(HTB_PRIO_MAX), QUANTUM),
                RankOrder::Turns { own, other } => (LEAST_RATE, 0, if of == rank { own } else { other }),
            };
            let id = class(of);
            tc(format!(
                "class replace dev {interface} parent 1:fff classid 1:{id:x} htb rate {owned} ceil {rate} prio {prio} {limits} \
                 quantum {quantum}"
            ))?;
            tc(format!("qdisc replace dev {interface} parent 1:{id:x} bfifo limit {queue_bytes}"))?;
        }
        for (address, rank) in ranks {
            for end in ["src", "dst"] {
                let id = class(*rank);
                tc(format!(
                    "filter add dev {interface} parent 1: protocol ip u32 match ip {end} {address}/32 flowid 1:{id:x}"
                ))?;
            }
        }
        Ok(())
    }

    /// What an interface that is held to a rate has let through since.
    ///
    /// # Errors
    /// The system's word, also if nothing shapes it.
    pub fn queue(&self, (namespace, interface): (&str, &str)) -> Result<QueueCounters, NetnsError> {
        let arguments = ["-n", namespace, "-s", "qdisc", "show", "dev", interface, "root"];
        let text = run("tc", &arguments)?;
        queue_counters(&text).ok_or_else(|| NetnsError::Command {
            command: format!("tc {}", arguments.join(" ")),
            why: "no counters of a queue".to_owned(),
        })
    }

    /// The hardware address of an interface.
    ///
    /// # Errors
    /// The system's word.
    pub fn address(&self, namespace: &str, interface: &str) -> Result<[u8; 6], NetnsError> {
        let text = run("ip", &["-n", namespace, "-o", "link", "show", "dev", interface])?;
        let octets = text.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next());
        let octets: Vec<u8> =
            octets.unwrap_or("").split(':').filter_map(|part| u8::from_str_radix(part, 16).ok()).collect();
        octets.try_into().map_err(|_| NetnsError::Command {
            command: format!("ip -n {namespace} -o link show dev {interface}"),
            why: "no hardware address".to_owned(),
        })
    }

    /// The file by which a thread enters a namespace.
    pub fn file(namespace: &str) -> PathBuf {
        Path::new(NAMESPACES).join(namespace)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for name in self.names.drain(..) {
            let _ = run("ip", &["netns", "delete", &name]);
        }
        let _ = std::fs::remove_file(&self.run_file);
    }
}

static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// What this process lacks for namespaces, one sentence each.
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

/// Of the commands that a testbed runs, those that are not there.
fn missing_tools() -> Vec<&'static str> {
    ["ip", "tc"].into_iter().filter(|tool| Command::new(tool).arg("-V").output().is_err()).collect()
}

/// Removes the namespaces and run files of processes that are no more; says how many namespaces.
pub fn sweep() -> usize {
    let Ok(entries) = std::fs::read_dir(NAMESPACES) else { return 0 };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let dead: Vec<String> = names
        .filter(|name| {
            let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
            let number = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').nth(1));
            match (owner.and_then(|pid| pid.parse::<u32>().ok()), number) {
                (Some(pid), Some(number)) => !lives(pid, number),
                _ => false,
            }
        })
        .collect();
    let removed = dead.iter().filter(|name| run("ip", &["netns", "delete", name]).is_ok()).count();
    if let Ok(files) = std::fs::read_dir(RUN) {
        for file in files.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let (pid, number) = name.split_once('-').unwrap_or((&name, ""));
            if pid.parse().is_ok_and(|pid| !lives(pid, number)) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
    removed
}

/// Whether the process that made a testbed is still that process.
fn lives(pid: u32, number: &str) -> bool {
    let Ok(noted) = std::fs::read_to_string(Path::new(RUN).join(format!("{pid}-{number}"))) else {
        return false;
    };
    let began = ProcessMeter::new(pid).began_ticks();
    // A zombie keeps its number and its beginning, and nothing else.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X')) && began.is_ok_and(|began| began.to_string() == noted.trim())
}

/// Counters of a queue since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Octets that left it.
    pub bytes: u64,
    /// Packets that left it.
    pub packets: u64,
    /// Packets that found it full.
    pub dropped: u64,
    /// How often what stood first had to wait for the rate.
    pub waits: u64,
}

/// The order of what waits for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankOrder {
    /// The most urgent first, always.
    Strict,
    /// In turns of so many octets (deficit round robin).
    Turns {
        /// Of the rank that everything has which no address gives another.
        own: u32,
        /// Of the others.
        other: u32,
    },
}

/// Octets that a class of HTB may send when it is its turn: a full frame.
const QUANTUM: u32 = 1_514;
/// What a class owns that lives on what others leave; HTB has no zero.
const LEAST_RATE: &str = "8kbit";
/// The last of HTB's priorities.
const HTB_PRIO_MAX: usize = 7;

/// A rate for `tc`, and its bucket: one below what a late timer of the kernel lets through at this rate would lose rate, so
/// 200 us, and two frames at least.
fn bucket(rate_bps: u64) -> (String, u64) {
    (format!("{rate_bps}bit"), (rate_bps / 8 / 5_000).max(3_200))
}

/// `tc` in a namespace, by words between blanks.
fn tc(namespace: &str, words: &str) -> Result<(), NetnsError> {
    let all: Vec<&str> = ["-n", namespace].into_iter().chain(words.split(' ')).collect();
    run("tc", &all).map(drop)
}

/// From `Sent 1 bytes 2 pkt (dropped 3, overlimits 4 requeues 5)`.
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
    use super::*;

    /// Says why it cannot run, where it cannot.
    fn possible() -> bool {
        let lacks = lacking();
        if !lacks.is_empty() {
            crate::doctor::skipped(lacks.join("; "));
        }
        lacks.is_empty()
    }

    #[test]
    fn a_testbed_is_gone_when_it_is_dropped() {
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
            testbed.prioritise((&a, "left"), 1_000_000_000, 500_000, RankOrder::Strict, 1, &later).unwrap();
            assert_eq!(testbed.queue((&a, "left")).unwrap().dropped, 0);
            let classes = run("tc", &["-n", &a, "class", "show", "dev", "left"]).unwrap();
            assert!(
                classes.contains("prio 0 rate 1Gbit") && classes.contains("prio 1 rate 8Kbit"),
                "{classes}"
            );
            let turns = RankOrder::Turns { own: 9_216, other: 1_538 };
            testbed.shape((&a, "left"), 1_000_000_000, 500_000).unwrap();
            testbed.prioritise((&a, "left"), 1_000_000_000, 500_000, turns, 1, &later).unwrap();
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
    fn counters_are_read_from_what_tc_says() {
        let text = "qdisc tbf 8001: root refcnt 2 rate 1Gbit burst 25000b lat 4ms \n Sent 34567 bytes 51 pkt (dropped 2, overlimits 7 requeues 0) \n backlog 0b 0p requeues 0\n";
        let expected = QueueCounters { bytes: 34_567, packets: 51, dropped: 2, waits: 7 };
        assert_eq!(queue_counters(text), Some(expected));
        assert_eq!(queue_counters("qdisc noqueue 0: root refcnt 2"), None);
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_nothing_else() {
        if !possible() {
            return;
        }
        // No process has this number: the greatest that Linux gives is 2^22.
        let dead = format!("{PREFIX}4194305-0-x");
        run("ip", &["netns", "add", &dead]).unwrap();
        let mut testbed = Testbed::new().unwrap();
        let own = testbed.namespace("own").unwrap();
        sweep();
        assert!(!Testbed::file(&dead).exists() && Testbed::file(&own).exists());
    }
}
