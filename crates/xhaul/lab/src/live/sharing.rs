//! Cost distributions of sharing a network card: the profile format, and the measurement on this machine.
//!
//! A cost is CPU time above the minimum of a dedicated switch port on the same machine at the same time. A dedicated port itself also has a
//! cost: the times of its packets above this minimum. Each packet is timed, and all sharing methods alternate. The slowest percent of the
//! packets is left out, because other load on the machine delayed it.

use std::collections::BTreeMap;

use ranlab_host::Facts;
use ranlab_xhaul::{NS, Quantiles};
use serde::{Deserialize, Serialize};

use super::cost::{Path, packet};
use super::topology::LiveTopology;
use super::wakeup::{self, Wakeup, WakeupKind};
use super::{LiveSharing, XhaulComponent};
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

/// Allowed number of rounds. Each round sends some packets on every path.
pub const ROUNDS: std::ops::RangeInclusive<u32> = 100..=200_000;
/// Number of timed packets per round and path.
const SINGLES: u32 = 8;
/// Number of rounds that share a minimum. The frequency of the processor is stable for this time.
const STRETCH: u32 = 250;
/// Fraction of the packets that is evaluated. Other packets were delayed by other load.
const KEPT: f64 = 0.99;
/// Quantiles at which a measured distribution is recorded.
const SHARES: [f64; 13] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0];
/// Maximum number of quantiles in a distribution.
const SHARES_MAX: usize = 64;
/// Maximum cost of a frame, in nanoseconds. It is one millisecond.
const COST_NS_MAX: u32 = 1_000_000;
/// Additional cost of a virtual function's frame on an I/O TLB miss, in nanoseconds (assumed).
const TABLE_MISS_NS: u32 = 330;
const TABLE_MISS: &str = "not measured here, but assumed: the software costs as much as with a dedicated port in this measurement, and 1 % of \
     the frames cost 330 ns more, because they miss in the I/O TLB. Such misses and their measurement are described by Neugebauer et al., \
     Understanding PCIe performance for end host networking, SIGCOMM 2018, doi 10.1145/3230543.3230560; the two numbers are our reading of \
     this paper, not quoted from it";

/// Mechanism by which containers share a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharingKind {
    /// A switch port for each container.
    Dedicated,
    /// Virtual functions of a card, which switches the frames.
    SrIov,
    /// macvlan in bridge mode.
    Macvlan,
    /// A software bridge with veth pairs.
    Bridge,
    /// ipvlan in layer-2 mode.
    Ipvlan,
}

/// Origin of a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Measured on the profile's machine.
    Measured,
    /// Taken from literature, with assumptions. `source` names both.
    Literature,
    /// Assumed, as explained in `source`. Results must also be valid for other values.
    Assumed,
}

/// Cost of one sharing method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharingCost {
    /// Sharing method to which the cost belongs.
    pub kind: SharingKind,
    /// Origin of the cost.
    pub origin: Origin,
    /// Program that measured the cost, or publication that contains it.
    pub source: String,
    /// Costs from vBBU to DU at each of the profile's quantiles, in nanoseconds above the minimum of a dedicated port.
    pub from_vbbu_ns: Vec<u32>,
    /// Costs from DU to vBBU at each of the profile's quantiles, in nanoseconds above the minimum of a dedicated port.
    pub to_vbbu_ns: Vec<u32>,
}

/// Costs of sharing a card on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharingProfile {
    /// Description of the machine.
    pub machine: String,
    /// Quantiles from 0 to 1. Each is the fraction of frames whose cost is at most the value at the same index of the cost lists.
    pub shares: Vec<f64>,
    /// Costs of the sharing methods.
    pub sharing: Vec<SharingCost>,
    /// Wake-up latencies of a thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wakeups: Vec<Wakeup>,
}

/// Reason why a profile is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharingError {
    /// The costs of a sharing method are not a distribution.
    #[error(
        "`shares` must be 2 to {SHARES_MAX} numbers that rise from 0 to 1, and each list of costs must have as many numbers: \
         costs in ns that do not fall and are at most {COST_NS_MAX}; {0} is no such list"
    )]
    Shape(String),
    /// A wake-up latency is not a distribution.
    #[error(
        "`shares` of wake-up latency `{0}` must be 2 to {SHARES_MAX} numbers that rise from 0 to 1, and `latency_ns` must have as \
         many numbers, which must not fall"
    )]
    Wakeup(String),
    /// The cost is zero, which is not possible for any sharing method.
    #[error("the cost of `{0}` is zero, which is not possible for any sharing method, even a dedicated port")]
    Nothing(String),
    /// A sharing method appears twice.
    #[error("`{0}` occurs twice")]
    Twice(String),
}

impl SharingKind {
    /// Returns the name of the method in profiles and in `sut.sharing`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dedicated => "dedicated",
            Self::SrIov => "sr-iov",
            Self::Macvlan => "macvlan",
            Self::Bridge => "bridge",
            Self::Ipvlan => "ipvlan",
        }
    }
}

impl SharingProfile {
    /// Checks that every cost is a distribution and greater than zero.
    ///
    /// # Errors
    /// The first invalid cost.
    pub fn check(&self) -> Result<(), SharingError> {
        for (index, cost) in self.sharing.iter().enumerate() {
            let name = || cost.kind.name().to_owned();
            if self.sharing[..index].iter().any(|other| other.kind == cost.kind) {
                return Err(SharingError::Twice(name()));
            }
            for list in [&cost.to_vbbu_ns, &cost.from_vbbu_ns] {
                let quantiles = self.drawn(list).ok_or_else(|| SharingError::Shape(name()))?;
                if quantiles.mean_ps() < 1.0 {
                    return Err(SharingError::Nothing(name()));
                }
            }
        }
        for (index, wakeup) in self.wakeups.iter().enumerate() {
            let name = wakeup.kind.name().to_owned();
            if self.wakeups[..index].iter().any(|other| other.kind == wakeup.kind) {
                return Err(SharingError::Twice(name));
            }
            let points: Vec<(f64, u64)> = wakeup
                .shares
                .iter()
                .zip(&wakeup.latency_ns)
                .map(|(&share, &ns)| (share, u64::from(ns)))
                .collect();
            let fits = wakeup.shares.len() == wakeup.latency_ns.len() && points.len() <= SHARES_MAX;
            if !fits || Quantiles::new(&points).is_none() {
                return Err(SharingError::Wakeup(name));
            }
        }
        Ok(())
    }

    /// Returns a wake-up latency. Returns `None` if the profile has no latency of this kind.
    pub fn wakeup(&self, kind: WakeupKind) -> Option<&Wakeup> {
        self.wakeups.iter().find(|wakeup| wakeup.kind == kind)
    }

    /// Returns the cost distributions of a frame to the vBBU and from it. Returns `None` if the profile has no such method.
    pub fn cost(&self, kind: SharingKind) -> Option<[Quantiles; 2]> {
        let cost = self.sharing.iter().find(|cost| cost.kind == kind)?;
        Some([self.drawn(&cost.to_vbbu_ns)?, self.drawn(&cost.from_vbbu_ns)?])
    }

    /// Returns the distributions of [`cost`](Self::cost), with the difference to a dedicated port multiplied by `times`. They show how much
    /// a result depends on an assumed cost.
    pub fn scaled(&self, kind: SharingKind, times: f64) -> Option<[Quantiles; 2]> {
        let of = |kind: SharingKind| self.sharing.iter().find(|cost| cost.kind == kind);
        let own = of(kind)?;
        let port = of(SharingKind::Dedicated)?;
        let list = |own: &[u32], port: &[u32]| -> Vec<u32> {
            let mut least = 0;
            let scaled = own.iter().zip(port).map(|(&own, &port)| {
                let ns = f64::from(port) + (f64::from(own) - f64::from(port)) * times;
                // The quantiles must not decrease.
                least = (ns.round().clamp(0.0, f64::from(COST_NS_MAX)) as u32).max(least);
                least
            });
            scaled.collect()
        };
        let to = list(&own.to_vbbu_ns, &port.to_vbbu_ns);
        let from = list(&own.from_vbbu_ns, &port.from_vbbu_ns);
        Some([self.drawn(&to)?, self.drawn(&from)?])
    }

    fn drawn(&self, list: &[u32]) -> Option<Quantiles> {
        let fits = list.len() == self.shares.len() && list.len() <= SHARES_MAX;
        if !fits || list.iter().any(|&ns| ns > COST_NS_MAX) {
            return None;
        }
        let points: Vec<_> =
            self.shares.iter().zip(list).map(|(&share, &ns)| (share, u64::from(ns) * NS)).collect();
        Quantiles::new(&points)
    }
}

/// Measures the cost of sharing a card on this machine, in temporary namespaces, and the wake-up latency of a thread. `rounds` is limited
/// to [`ROUNDS`]; 10,000 rounds take a few seconds. `wakeups` is the number of wake-ups of each kind, which take one millisecond each. With
/// 0, no wake-ups are measured. Methods that this kernel lacks are left out of the profile. Values for virtual functions come from
/// literature.
///
/// # Errors
/// Namespaces are not permitted, or the kernel rejects the packets.
pub fn measure(rounds: u32, wakeups: u32) -> Result<SharingProfile, ComponentError> {
    let rounds = rounds.clamp(*ROUNDS.start(), *ROUNDS.end());
    let yard = lab(LiveSharing::OwnPorts)?;
    let mut labs = Vec::new();
    for (kind, sharing) in [
        (SharingKind::Dedicated, LiveSharing::OwnPorts),
        (SharingKind::Macvlan, LiveSharing::Macvlan),
        (SharingKind::Bridge, LiveSharing::Bridge),
        (SharingKind::Ipvlan, LiveSharing::Ipvlan),
    ] {
        match lab(sharing) {
            Ok(lab) => labs.push((kind, lab)),
            // The kernel does not support this device. A dedicated port and a bridge are required, because the other methods are compared
            // with them.
            Err(_) if matches!(kind, SharingKind::Macvlan | SharingKind::Ipvlan) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    let mut ways = [BTreeMap::new(), BTreeMap::new()];
    for (way, (from, to)) in ways.iter_mut().zip([("v1", "du"), ("du", "v1")]) {
        let mut paths = vec![Path::open(&yard, from, to)?];
        for (_, lab) in &labs {
            paths.push(Path::open(lab, from, to)?);
        }
        let timed = std::thread::scope(|scope| scope.spawn(|| above_least(&paths, rounds)).join());
        let timed = timed.map_err(|_| rig("a measuring thread panicked"))?;
        for ((kind, _), mut costs) in labs.iter().zip(timed) {
            let list = noted(&mut costs).ok_or_else(|| {
                environment("the kernel accepted no packet, so the cost of a path cannot be measured")
            })?;
            way.insert(*kind, list);
        }
    }
    let mut profile = profile(&ways, rounds);
    if wakeups > 0 {
        profile.wakeups = wakeup::measure(wakeups);
    }
    Ok(profile)
}

/// Builds a network that consists of a switch, and of the path between the switch and the vBBU.
fn lab(sharing: LiveSharing) -> Result<LiveTopology, ComponentError> {
    LiveTopology::build(&XhaulComponent {
        sharing: JsonField(sharing),
        midhaul_switch: true,
        ..XhaulComponent::default()
    })
}

/// Returns the packet times of each path except the first one, in nanoseconds. They are relative to the minimum of the first path in the
/// same stretch.
fn above_least(paths: &[Path], rounds: u32) -> Vec<Vec<u32>> {
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    let _ = ranlab_net::pin_thread(last);
    let packet = packet();
    let mut all = vec![Vec::new(); paths.len().saturating_sub(1)];
    let mut stretch: Vec<Vec<u64>> = vec![Vec::new(); paths.len()];
    for round in 0..=rounds {
        for (path, times) in paths.iter().zip(&mut stretch) {
            path.singles_ns(&packet, SINGLES, &mut |ns| times.push(ns));
        }
        if round == 0 {
            // The first round only resolves the addresses of the neighbours.
            stretch.iter_mut().for_each(Vec::clear);
        }
        if round % STRETCH != 0 && round != rounds {
            continue;
        }
        let least = stretch.first().and_then(|times| times.iter().min().copied());
        for (all, times) in all.iter_mut().zip(stretch.iter().skip(1)) {
            let above =
                least.into_iter().flat_map(|least| times.iter().map(move |ns| ns.saturating_sub(least)));
            all.extend(above.map(|ns| u32::try_from(ns).unwrap_or(u32::MAX)));
        }
        stretch.iter_mut().for_each(Vec::clear);
        // The pause lets other processes run.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    all
}

/// Returns the quantiles [`SHARES`] of the costs, without the slowest packets.
fn noted(costs: &mut [u32]) -> Option<Vec<u32>> {
    costs.sort_unstable();
    let last = costs.len().checked_sub(1)? as f64 * KEPT;
    let at = |share: &f64| costs[(share * last) as usize].min(COST_NS_MAX);
    Some(SHARES.iter().map(at).collect())
}

fn profile(ways: &[BTreeMap<SharingKind, Vec<u32>>; 2], rounds: u32) -> SharingProfile {
    let facts = Facts::read();
    let word = |word: Option<String>| word.unwrap_or_else(|| "unknown".to_owned());
    let machine = format!(
        "{} CPUs, {}, Linux {}{}",
        facts.cpus,
        word(facts.cpu_model),
        word(facts.kernel),
        if facts.virtual_machine { ", virtual" } else { "" }
    );
    let [down, up] = ways;
    let mut sharing = Vec::new();
    for (&kind, from_vbbu_ns) in down {
        let Some(to_vbbu_ns) = up.get(&kind).cloned() else { continue };
        let origin = Origin::Measured;
        let from_vbbu_ns = from_vbbu_ns.clone();
        let packets = u64::from(rounds) * u64::from(SINGLES);
        let source = format!(
            "veth in namespaces, {packets} packets of 1000 bytes each way, without the slowest percent"
        );
        sharing.push(SharingCost { kind, origin, source, from_vbbu_ns, to_vbbu_ns });
    }
    if let Some(virtual_function) =
        sharing.iter().find(|cost| cost.kind == SharingKind::Dedicated).map(missing)
    {
        sharing.push(virtual_function);
    }
    SharingProfile { machine, shares: SHARES.to_vec(), sharing, wakeups: Vec::new() }
}

/// Returns the cost of a virtual function. It is computed from the cost of a dedicated port, and from values in literature.
fn missing(port: &SharingCost) -> SharingCost {
    let tail = |list: &[u32]| {
        let slow =
            |(share, &ns): (&f64, &u32)| if *share >= KEPT { ns.saturating_add(TABLE_MISS_NS) } else { ns };
        SHARES.iter().zip(list).map(slow).collect()
    };
    SharingCost {
        kind: SharingKind::SrIov,
        origin: Origin::Assumed,
        source: TABLE_MISS.to_owned(),
        from_vbbu_ns: tail(&port.from_vbbu_ns),
        to_vbbu_ns: tail(&port.to_vbbu_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_xhaul::Duration;

    fn given(lists: &[(SharingKind, &[u32])]) -> SharingProfile {
        let cost = |&(kind, list): &(SharingKind, &[u32])| SharingCost {
            kind,
            origin: Origin::Measured,
            source: String::new(),
            from_vbbu_ns: list.to_vec(),
            to_vbbu_ns: list.iter().map(|ns| ns * 2).collect(),
        };
        SharingProfile {
            machine: String::new(),
            shares: vec![0.0, 0.5, 1.0],
            sharing: lists.iter().map(cost).collect(),
            wakeups: Vec::new(),
        }
    }

    #[test]
    fn profile_requires_nonzero_costs_in_both_directions() {
        let fine = given(&[(SharingKind::Dedicated, &[0, 10, 100]), (SharingKind::Bridge, &[400, 450, 900])]);
        assert_eq!(fine.check(), Ok(()));
        let [to, from] = fine.cost(SharingKind::Bridge).unwrap().map(Duration::Drawn);
        assert_eq!((from.min_ps(), from.max_ps()), (400 * NS, 900 * NS));
        assert_eq!((to.min_ps(), to.max_ps()), (800 * NS, 1800 * NS));
        assert_eq!(fine.cost(SharingKind::Macvlan), None);
        let refused = |lists: &[(SharingKind, &[u32])]| given(lists).check().unwrap_err();
        let kind = SharingKind::Macvlan;
        assert_eq!(refused(&[(kind, &[0, 0, 0])]), SharingError::Nothing("macvlan".to_owned()));
        assert_eq!(
            refused(&[(kind, &[1, 2, 3]), (kind, &[1, 2, 3])]),
            SharingError::Twice("macvlan".to_owned())
        );
        for list in [&[1, 2][..], &[3, 2, 4], &[1, 2, COST_NS_MAX + 1]] {
            assert_eq!(refused(&[(kind, list)]), SharingError::Shape("macvlan".to_owned()), "{list:?}");
        }
    }

    #[test]
    fn profile_has_wakeup_latencies_of_each_kind() {
        let wakeup = |shares: &[f64], latency_ns: &[u32]| Wakeup {
            kind: WakeupKind::Alone,
            source: String::new(),
            shares: shares.to_vec(),
            latency_ns: latency_ns.to_vec(),
        };
        let with = |wakeups: Vec<Wakeup>| {
            SharingProfile { wakeups, ..given(&[(SharingKind::Dedicated, &[0, 10, 100])]) }.check()
        };
        let fine = || wakeup(&[0.0, 0.99, 1.0], &[0, 50_000, 4_000_000]);
        assert_eq!(with(vec![fine()]), Ok(()));
        assert_eq!(with(vec![fine(), fine()]), Err(SharingError::Twice("alone".to_owned())));
        for wrong in
            [wakeup(&[0.0, 1.0], &[0, 1, 2]), wakeup(&[0.0, 0.5], &[0, 1]), wakeup(&[0.0, 1.0], &[2, 1])]
        {
            assert_eq!(with(vec![wrong]), Err(SharingError::Wakeup("alone".to_owned())));
        }
    }

    #[test]
    fn slowest_percent_is_excluded() {
        let mut costs: Vec<u32> = (0..10_000).rev().collect();
        let list = noted(&mut costs).unwrap();
        assert_eq!((list[0], list[5], list[12]), (0, 4949, 9899));
        assert_eq!(noted(&mut []), None);
    }

    #[test]
    fn virtual_function_cost_includes_tlb_misses_from_literature() {
        let port: Vec<u32> = (0..13).collect();
        let ways = [
            BTreeMap::from([(SharingKind::Dedicated, port.clone())]),
            BTreeMap::from([(SharingKind::Dedicated, port)]),
        ];
        let profile = profile(&ways, 100);
        profile.check().unwrap();
        let function = profile.sharing.iter().find(|cost| cost.kind == SharingKind::SrIov).unwrap();
        assert_eq!(function.origin, Origin::Assumed);
        assert!(function.source.contains("not measured here"), "{}", function.source);
        assert_eq!((function.from_vbbu_ns[10], function.from_vbbu_ns[12]), (10, 342));
    }

    /// Checks that each method that this kernel supports is measured, and that its network is removed. Does not check times.
    #[test]
    fn sharing_costs_of_this_machine_are_measured() {
        if let Some(lack) = ranlab_host::netns::lacking().first() {
            return ranlab_host::doctor::skipped(lack);
        }
        let profile = measure(*ROUNDS.start(), 0).unwrap();
        profile.check().unwrap();
        for kind in [SharingKind::Dedicated, SharingKind::Bridge, SharingKind::SrIov] {
            assert!(profile.cost(kind).is_some(), "{profile:?}");
        }
    }
}
