//! Arguments of `tc` for the order in which frames leave a link. Each scheduler of a scenario becomes a queueing
//! discipline of the kernel.
//!
//! Pure functions create the arguments, so tests can check them without a kernel that supports the scheduler.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::{NetnsError, Testbed, tc};

/// Bytes that a class of HTB may send in one round: a full frame.
const QUANTUM: u32 = 1_514;
/// Rate of a class that uses only the bandwidth that other classes leave; HTB does not accept zero.
const LEAST_RATE: &str = "8kbit";
/// The lowest of HTB's priorities.
const HTB_PRIO_MAX: usize = 7;
/// Priority of packets with a launch time.
pub const LAUNCHED: u32 = 7;
/// Number of ranks, equal to the classes of IEEE 802.1Q.
const RANKS: u8 = 8;
/// Entries of the maps from a packet's priority to a band or traffic class.
const PRIORITIES: usize = 16;
/// Longest frame, in bytes. A shaped class waits for at most one frame of this length, and sends at most one at once.
const FRAME_BYTES: i64 = 1_538;
/// Queueing disciplines in use, and the kernel options that enable them.
const KINDS: [(&str, &str); 8] = [
    ("tbf", "CONFIG_NET_SCH_TBF"),
    ("htb", "CONFIG_NET_SCH_HTB"),
    ("prio", "CONFIG_NET_SCH_PRIO"),
    ("cbs", "CONFIG_NET_SCH_CBS"),
    ("etf", "CONFIG_NET_SCH_ETF"),
    ("taprio", "CONFIG_NET_SCH_TAPRIO"),
    ("mqprio", "CONFIG_NET_SCH_MQPRIO"),
    ("clsact", "CONFIG_NET_SCH_INGRESS"),
];

/// Order of the frames that wait for a link. Ranks go from 0, the highest priority, to 7.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankOrder {
    /// Strict priority of the ranks.
    Strict,
    /// Rounds with a quantum of bytes (deficit round robin).
    Turns {
        /// Quantum of the default rank.
        own: u32,
        /// Quantum of the other ranks.
        other: u32,
    },
    /// Strict priority; the default rank is shaped to a mean rate by credit (IEEE 802.1Qav).
    Credit {
        /// Mean rate of the default rank, in bit/s.
        idle_bps: u64,
    },
    /// Gates that open and close by a cyclic list (IEEE 802.1Qbv). Its first cycle starts at zero of the machine's
    /// clock.
    Gates {
        /// Duration in ns and open ranks (bit 0 for rank 0) of each entry.
        entries: Vec<(u64, u8)>,
    },
    /// A queue of the device for each rank; the device decides the order.
    Queues,
}

impl RankOrder {
    /// Returns this order, slowed by the factor `times`.
    #[must_use]
    pub fn slowed(&self, times: u64) -> Self {
        match self {
            Self::Credit { idle_bps } => Self::Credit { idle_bps: (idle_bps / times.max(1)).max(1) },
            Self::Gates { entries } => {
                let slowed = |&(ns, ranks): &(u64, u8)| (ns.saturating_mul(times), ranks);
                Self::Gates { entries: entries.iter().map(slowed).collect() }
            }
            as_it_is => as_it_is.clone(),
        }
    }

    /// Whether the device needs a transmit queue for each rank.
    pub const fn by_device_queues(&self) -> bool {
        matches!(self, Self::Gates { .. } | Self::Queues)
    }
}

/// Shaping of the packets that leave an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// Rate limit, in bit/s.
    pub rate_bps: u64,
    /// Capacity of each rank's queue.
    pub queue_bytes: u64,
    /// Rate that the device reports, in bit/s. A credit-based shaper calculates with it. 0 stands for the rate of the
    /// link.
    pub port_bps: u64,
    /// Order among the ranks.
    pub order: RankOrder,
    /// The default rank.
    pub rank: u8,
    /// Ranks of packets from or to an address.
    pub ranks: &'a [(Ipv4Addr, u8)],
}

impl Testbed {
    /// Limits the rate at which packets leave an interface, and orders them by rank. Each rank has a queue of
    /// `queue_bytes`.
    ///
    /// HTB implements strict order and rounds, because some kernels lack `prio` and `drr`. In strict order, the highest
    /// class owns the rate and the others share the rest. With rounds, all classes share the link, and HTB serves them
    /// by their quanta, with a deficit. Device queues limit each rank to the rate, instead of all ranks together. With
    /// gates, the device itself limits the rate.
    ///
    /// # Errors
    /// The error of the operating system; for a kernel without the order, the name of the missing option.
    pub fn prioritise(
        &self,
        (namespace, interface): (&str, &str),
        link: &Link<'_>,
    ) -> Result<(), NetnsError> {
        let result = words(interface, link).iter().try_for_each(|words| tc(namespace, words));
        result.map_err(lacking)
    }
}

impl Testbed {
    /// Sends packets of priority [`LAUNCHED`] from an interface `early_ns` before the launch time that their sender
    /// sets. If the timer fires later, these packets are lost. All other packets leave as they arrive. `link` limits
    /// the rate, if given.
    ///
    /// # Errors
    /// The error of the operating system; for a kernel without support, the name of the missing option.
    pub fn launch(
        &self,
        (namespace, interface): (&str, &str),
        rate_bps: Option<u64>,
        queue_bytes: u64,
        early_ns: u64,
    ) -> Result<(), NetnsError> {
        launch_words(interface, rate_bps, queue_bytes, early_ns)
            .iter()
            .try_for_each(|words| tc(namespace, words))
            .map_err(lacking)
    }
}

fn launch_words(interface: &str, rate_bps: Option<u64>, queue_bytes: u64, early_ns: u64) -> Vec<String> {
    let held = rate_bps
        .map(|bps| format!("qdisc replace dev {interface} root handle 1: {}", bucketed(bps, queue_bytes)));
    let parent = if held.is_some() { "parent 1:1" } else { "root" };
    let map: Vec<_> =
        (0..PRIORITIES).map(|priority| if priority == LAUNCHED as usize { "0" } else { "1" }).collect();
    held.into_iter()
        .chain([
            format!(
                "qdisc replace dev {interface} {parent} handle 10: prio bands 2 priomap {}",
                map.join(" ")
            ),
            format!("qdisc replace dev {interface} parent 10:1 etf clockid CLOCK_TAI delta {early_ns}"),
            format!("qdisc replace dev {interface} parent 10:2 bfifo limit {queue_bytes}"),
        ])
        .collect()
}

/// Replaces the kernel's error for a missing queueing discipline by one with advice.
fn lacking(error: NetnsError) -> NetnsError {
    let NetnsError::Command { command, why } = &error else { return error };
    if !["qdisc kind is unknown", "Unknown qdisc"].iter().any(|word| why.contains(word)) {
        return error;
    }
    let requested = command.split(' ').find_map(|word| KINDS.iter().find(|(kind, ..)| *kind == word));
    requested.map_or(error, |&(kind, option)| NetnsError::Kernel { kind, option })
}

/// Returns a rate for `tc` and the size of its bucket, in bytes. The bucket holds 200 us of the rate, and at least two
/// frames. With a smaller bucket, a late kernel timer would reduce the rate.
fn bucket(rate_bps: u64) -> (String, u64) {
    (format!("{rate_bps}bit"), (rate_bps / 8 / 5_000).max(3_200))
}

/// Returns the commands for one queue of all ranks, limited to a rate.
pub(super) fn one_queue(interface: &str, rate_bps: u64, queue_bytes: u64) -> String {
    format!("qdisc replace dev {interface} root {}", bucketed(rate_bps, queue_bytes))
}

fn bucketed(rate_bps: u64, queue_bytes: u64) -> String {
    let (rate, burst) = bucket(rate_bps);
    format!("tbf rate {rate} burst {burst} limit {queue_bytes}")
}

/// Returns the commands for `tc`, one per line.
fn words(interface: &str, link: &Link<'_>) -> Vec<String> {
    match &link.order {
        RankOrder::Strict | RankOrder::Turns { .. } => by_htb(interface, link),
        RankOrder::Credit { idle_bps } => {
            let mut all = vec![format!(
                "qdisc replace dev {interface} root handle 1: {}",
                bucketed(link.rate_bps, link.queue_bytes)
            )];
            let inner = credit(*idle_bps, if link.port_bps == 0 { link.rate_bps } else { link.port_bps });
            all.extend(by_bands(interface, "parent 1:1", link, &inner));
            all
        }
        RankOrder::Gates { entries } => {
            let known = known(link);
            let open = |ranks: u8| {
                let places = known.iter().rev().enumerate();
                places
                    .filter(|(_, rank)| ranks & (1 << **rank) != 0)
                    .fold(0_u32, |mask, (place, _)| mask | 1 << place)
            };
            let list: Vec<_> =
                entries.iter().map(|(ns, ranks)| format!("sched-entry S {:x} {ns}", open(*ranks))).collect();
            // Without `hw`, the kernel itself drives the gates. Senders use the same clock to know when a
            // window opens.
            let rest = format!("base-time 0 {} clockid CLOCK_REALTIME", list.join(" "));
            // `taprio` uses its default queues of 1000 packets, because other queues below it would stop its clock.
            by_queues(interface, "taprio", &rest, None, link)
        }
        RankOrder::Queues => {
            let queue = bucketed(link.rate_bps, link.queue_bytes);
            by_queues(interface, "mqprio", "hw 0", Some(&queue), link)
        }
    }
}

/// Returns the ranks in use, the highest priority first.
fn known(link: &Link<'_>) -> Vec<u8> {
    let mut all: Vec<u8> =
        link.ranks.iter().map(|(_, rank)| *rank).chain([link.rank]).map(|rank| rank.min(RANKS - 1)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn by_htb(interface: &str, link: &Link<'_>) -> Vec<String> {
    let (rate, burst) = bucket(link.rate_bps);
    let class = |rank: u8| u16::from(rank) + 1;
    let limits = format!("burst {burst} cburst {burst}");
    let mut all = vec![
        format!("qdisc replace dev {interface} root handle 1: htb default {:x}", class(link.rank)),
        format!(
            "class replace dev {interface} parent 1: classid 1:fff htb rate {rate} ceil {rate} {limits} quantum {QUANTUM}"
        ),
    ];
    for (place, &of) in known(link).iter().enumerate() {
        let (owned, prio, quantum) = match link.order {
            RankOrder::Turns { own, other } => (LEAST_RATE, 0, if of == link.rank { own } else { other }),
            _ if place == 0 => (rate.as_str(), 0, QUANTUM),
            _ => (LEAST_RATE, place.min(HTB_PRIO_MAX), QUANTUM),
        };
        let id = class(of);
        all.push(format!(
            "class replace dev {interface} parent 1:fff classid 1:{id:x} htb rate {owned} ceil {rate} prio {prio} {limits} \
             quantum {quantum}"
        ));
        all.push(format!("qdisc replace dev {interface} parent 1:{id:x} bfifo limit {}", link.queue_bytes));
    }
    all.extend(
        address_filters(link, |rank| format!("flowid 1:{:x}", class(rank)))
            .map(|match_| format!("filter add dev {interface} parent 1: protocol ip u32 {match_}")),
    );
    all
}

/// Returns commands for the bands of `prio`; the band of the default rank has `inner` as its queue.
fn by_bands(interface: &str, parent: &str, link: &Link<'_>, inner: &str) -> Vec<String> {
    let known = known(link);
    let place = |rank: u8| known.iter().position(|&of| of == rank).unwrap_or(0);
    // The kernel requires at least two bands.
    let bands = known.len().max(2);
    let map = vec![place(link.rank).to_string(); PRIORITIES].join(" ");
    let mut all =
        vec![format!("qdisc replace dev {interface} {parent} handle 10: prio bands {bands} priomap {map}")];
    for (index, &of) in known.iter().enumerate() {
        let queue =
            if of == link.rank { inner.to_owned() } else { format!("bfifo limit {}", link.queue_bytes) };
        all.push(format!("qdisc replace dev {interface} parent 10:{:x} {queue}", index + 1));
    }
    all.extend(
        address_filters(link, |rank| format!("flowid 10:{:x}", place(rank) + 1))
            .map(|match_| format!("filter add dev {interface} parent 10: protocol ip u32 {match_}")),
    );
    all
}

/// Returns the arguments of `cbs` for a class with this mean rate on a device with this port rate. The credits follow
/// IEEE 802.1Q annex L.
fn credit(idle_bps: u64, port_bps: u64) -> String {
    let idle = (idle_bps / 1000).max(1) as i64;
    let port = (port_bps / 1000).max(2) as i64;
    let idle = idle.min(port - 1);
    let send = idle - port;
    let most = (FRAME_BYTES * idle + port - 1) / port;
    let least = FRAME_BYTES * send / port;
    format!("cbs idleslope {idle} sendslope {send} hicredit {most} locredit {least} offload 0")
}

/// Returns commands for a device queue for each rank, with packets classified before they are queued. `queue` replaces
/// the kernel's default discipline.
fn by_queues(interface: &str, kind: &str, rest: &str, queue: Option<&str>, link: &Link<'_>) -> Vec<String> {
    let known = known(link);
    // The last traffic class has the highest priority.
    let traffic_class = |rank: u8| known.iter().rev().position(|&of| of == rank).unwrap_or(0);
    let class_of = |priority: usize| {
        let rank = usize::from(RANKS - 1).checked_sub(priority).and_then(|rank| u8::try_from(rank).ok());
        rank.filter(|rank| known.contains(rank)).map_or_else(|| traffic_class(link.rank), traffic_class)
    };
    let map: Vec<_> = (0..PRIORITIES).map(|priority| class_of(priority).to_string()).collect();
    let queues: Vec<_> = (0..known.len()).map(|queue| format!("1@{queue}")).collect();
    let priority = |rank: u8| format!("action skbedit priority {:x} ok", RANKS - 1 - rank.min(RANKS - 1));
    let mut all = vec![
        format!("qdisc replace dev {interface} clsact"),
        format!(
            "qdisc replace dev {interface} root handle 100: {kind} num_tc {} map {} queues {} {rest}",
            known.len(),
            map.join(" "),
            queues.join(" ")
        ),
    ];
    let each = queue.into_iter().flat_map(|queue| {
        (1..=known.len())
            .map(move |index| format!("qdisc replace dev {interface} parent 100:{index:x} {queue}"))
    });
    all.extend(each);
    all.extend(
        address_filters(link, priority)
            .map(|match_| format!("filter add dev {interface} egress protocol ip prio 1 u32 {match_}")),
    );
    all.push(format!(
        "filter add dev {interface} egress protocol all prio 2 matchall {}",
        priority(link.rank)
    ));
    all
}

/// Returns filters that match the packets of each address, with the action for the rank of the address.
fn address_filters(link: &Link<'_>, becomes: impl Fn(u8) -> String) -> impl Iterator<Item = String> {
    link.ranks.iter().flat_map(move |(address, rank)| {
        let becomes = becomes(*rank);
        ["src", "dst"].map(|end| format!("match ip {end} {address}/32 {becomes}"))
    })
}

#[cfg(test)]
mod tests;
