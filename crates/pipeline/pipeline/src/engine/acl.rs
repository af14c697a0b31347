//! Classification by partitioned tuple space: rules that test the same bits share a hash table. Tables with few rules
//! are merged into a table that tests fewer bits, unless a list of rules would become long (after TupleMerge, Daly et
//! al. 2019). Tables are searched in the order of their best rules, so an early match ends the search. Source,
//! destination, ports and protocol of a packet each select a set of tables, as a bit vector. Only tables in all of
//! these sets are searched (tuple pruning, Srinivasan et al. 1999).
//!
//! The number of searches per packet is unpredictable, and a branch misprediction costs more than a search. The packets
//! of a burst are therefore processed in rounds. A round searches one table for each packet with remaining candidates,
//! and then compares the rules found. Its loops have no branch except their end.
use super::address::Address;
use super::burst::{BURST, Bits};
use super::prune::{Ports, RulePruning, SHARED};
use crate::declare::{AclRule, AclTable, Action, Prefix4, Prefix6, TcpFlags};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of rules with the same key after merging.
const LIST_MAX: usize = 6;
/// Maximum number of target groups that a merge tries, which limits its duration.
const HOSTS_MAX: usize = 8;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fields of a packet for classification.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packet<A = u32> {
    pub(super) src: A,
    pub(super) dst: A,
    /// Source port in the upper half, destination port in the lower half.
    pub(super) ports: u32,
    pub(super) protocol: u32,
    /// [`HAS_PORTS`] and [`HAS_FLAGS`] in the upper half, TCP's data offset and flags in the lower half.
    pub(super) traits: u32,
}

/// The packet has ports.
pub(super) const HAS_PORTS: u32 = 1 << 16;
/// The packet has TCP flags.
pub(super) const HAS_FLAGS: u32 = 1 << 17;

/// A rule in a form that is fast to compare. Two IPv4 rules fit into one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Rule<A> {
    src: A,
    src_mask: A,
    dst: A,
    dst_mask: A,
    /// Lowest port, and the size of the range minus one.
    src_ports: (u16, u16),
    dst_ports: (u16, u16),
    protocol: u8,
    protocol_mask: u8,
    /// See [`DENY`], [`MORE`], [`PORTS`] and [`FLAGS`].
    flags: u8,
    /// Number of tables whose best rule precedes this rule.
    before: u8,
    /// Position in the configured order.
    order: u32,
}

const _: () = assert!(size_of::<Rule<u32>>() == 32);
/// The rule denies packets.
const DENY: u8 = 1;
/// The next rule has the same key.
const MORE: u8 = 2;
/// The rule matches only packets with ports. Equals [`HAS_PORTS`] shifted to the lowest byte.
const PORTS: u8 = 4;
/// The rule requires TCP flags. They are in [`Acl::tcp_flags`], with the rule's position as key.
const FLAGS: u8 = 8;
/// Distance between [`PORTS`] and [`HAS_PORTS`].
const PORTS_SHIFT: u32 = HAS_PORTS.trailing_zeros() - PORTS.trailing_zeros();

impl<A: Address> Rule<A> {
    #[inline(always)]
    fn matches(&self, p: &Packet<A>) -> bool {
        let src_port = (p.ports >> 16) as u16;
        let dst_port = p.ports as u16;
        // All conditions are in one expression without short-circuiting, because the processor cannot predict which
        // condition fails.
        ((p.src ^ self.src) & self.src_mask == A::default())
            & ((p.dst ^ self.dst) & self.dst_mask == A::default())
            & (src_port.wrapping_sub(self.src_ports.0) <= self.src_ports.1)
            & (dst_port.wrapping_sub(self.dst_ports.0) <= self.dst_ports.1)
            & ((p.protocol as u8 ^ self.protocol) & self.protocol_mask == 0)
            & (self.flags & PORTS & !((p.traits >> PORTS_SHIFT) as u8) == 0)
    }
}

/// The bits that a table tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Mask<A> {
    src: A,
    dst: A,
    ports: u32,
    protocol: u32,
}

impl<A: Address> Mask<A> {
    /// Returns the bits that a rule fixes. Prefix lengths are rounded down, so that similar rules share a table.
    fn from_rule(rule: &Rule<A>) -> Self {
        let exact = |(_, more): (u16, u16)| if more == 0 { 0xffff } else { 0 };
        Self {
            src: A::round(rule.src_mask),
            dst: A::round(rule.dst_mask),
            ports: exact(rule.src_ports) << 16 | exact(rule.dst_ports),
            protocol: rule.protocol_mask.into(),
        }
    }

    /// Returns whether `other` tests every bit that `self` tests.
    fn is_within(&self, other: &Self) -> bool {
        self.src & !other.src == A::default()
            && self.dst & !other.dst == A::default()
            && self.ports & !other.ports == 0
            && self.protocol & !other.protocol == 0
    }

    #[inline(always)]
    fn hash(&self, p: &Packet<A>) -> u64 {
        let addresses = A::mix(p.src & self.src, p.dst & self.dst);
        let rest = u64::from(p.ports & self.ports) << 8 | u64::from(p.protocol & self.protocol);
        let mixed = addresses.wrapping_mul(MULTIPLIER) ^ rest.wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ (mixed >> 32)).wrapping_mul(MULTIPLIER)
    }

    fn of_rule(&self, rule: &Rule<A>) -> u64 {
        let packet = Packet {
            src: rule.src,
            dst: rule.dst,
            ports: u32::from(rule.src_ports.0) << 16 | u32::from(rule.dst_ports.0),
            protocol: rule.protocol.into(),
            traits: 0,
        };
        self.hash(&packet)
    }
}

/// Eight keys of a table, in one cache line. Each key has a tag, which is a part of its hash, and the number of its
/// first rule plus one.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket {
    tags: [u32; WAYS],
    rules: [u32; WAYS],
}

impl Bucket {
    /// Returns the number of the key's first rule plus one, or 0 if the key is not found. Compares all slots
    /// unconditionally, which compiles to a few wide instructions. Tags are unique within a bucket.
    #[inline(always)]
    fn find(&self, tag: u32) -> u32 {
        let mut rule = 0;
        for way in 0..WAYS {
            rule |= self.rules[way] & u32::from(self.tags[way] == tag).wrapping_neg();
        }
        rule
    }
}

const WAYS: usize = 8;
/// Tag of a free slot. No key has tag 0.
const FREE: u32 = 0;
const EMPTY: Bucket = Bucket { tags: [FREE; WAYS], rules: [0; WAYS] };

/// A hash table: the bits that it tests, and its range of the buckets. A key is either in the bucket of its hash or not
/// in the table.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Tuple<A> {
    mask: Mask<A>,
    first: u32,
    shift: u32,
    /// Position of the table's best rule.
    best: u32,
}

impl<A: Address> Tuple<A> {
    /// Returns the bucket and the tag of a key.
    #[inline(always)]
    fn place(&self, hash: u64) -> (usize, u32) {
        (self.first as usize + (hash >> self.shift) as usize, hash as u32 | 1)
    }
}

/// Compiled rules.
pub(super) struct Acl<A = u32> {
    /// Tuples, in the order of their best rules.
    tuples: Vec<Tuple<A>>,
    buckets: Vec<Bucket>,
    /// Rules with the same key are consecutive and in order.
    rules: Vec<Rule<A>>,
    /// TCP flags of the rules that require some, by the rule's position. Most lists have no such rules.
    tcp_flags: HashMap<u32, TcpFlags>,
    prune: Pruning,
    default_denies: bool,
}

/// For each field of a packet, the tables that can contain a matching rule.
struct Pruning {
    src: RulePruning,
    dst: RulePruning,
    src_ports: Ports,
    dst_ports: Ports,
    protocols: Box<[u64; 256]>,
}

impl Pruning {
    #[inline(always)]
    fn candidates<A: Address>(&self, p: &Packet<A>) -> u64 {
        self.src.lookup(p.src.window())
            & self.dst.lookup(p.dst.window())
            & self.src_ports.lookup((p.ports >> 16) as u16)
            & self.dst_ports.lookup(p.ports as u16)
            & self.protocols[p.protocol as usize & 255]
    }
}

/// State of the search for the packets of a burst.
struct Search<'a, A> {
    packets: &'a [Packet<A>; BURST],
    tcp_flags: &'a HashMap<u32, TcpFlags>,
    /// Remaining candidate tables.
    candidates: [u64; BURST],
    /// Position of the best rule found.
    best: [u32; BURST],
    /// Packets whose best rule denies them, one bit each.
    denied: u64,
    /// Packets with remaining candidates.
    work: [u8; BURST],
    /// Rules to compare: the index of the packet, and the number of the rule plus one.
    hits: [(u32, u32); BURST],
}

impl<A: Address> Search<'_, A> {
    /// Compares a packet with a rule. Returns whether the next rule of the key has to be compared.
    #[inline(always)]
    fn compare(&mut self, i: usize, rule: &Rule<A>) -> bool {
        let mut matches = rule.matches(&self.packets[i]);
        // This branch is never taken in a list whose rules require no flags.
        if matches && rule.flags & FLAGS != 0 {
            matches = flags_hold(self.tcp_flags, rule.order, self.packets[i].traits);
        }
        let better = matches & (rule.order < self.best[i]);
        let bit = u64::from(better) << i;
        let denies = u64::from(rule.flags & DENY) << i;
        self.denied = (self.denied & !bit) | (denies & bit);
        self.best[i] = if better { rule.order } else { self.best[i] };
        let tables = if better { up_to(rule.before) } else { u64::MAX };
        self.candidates[i] &= tables;
        !matches & (rule.flags & MORE != 0)
    }
}

/// Returns whether a packet has the TCP flags that a rule requires.
#[inline(never)]
fn flags_hold(all: &HashMap<u32, TcpFlags>, order: u32, traits: u32) -> bool {
    let flags = (traits & HAS_FLAGS != 0).then_some(traits as u16);
    all.get(&order).is_none_or(|required| required.hold(flags))
}

/// Returns a bit set that contains the first `count` tables.
#[inline(always)]
fn up_to(count: u8) -> u64 {
    if count > 63 { u64::MAX } else { (1 << count) - 1 }
}

impl Acl {
    /// Compiles the rules for IPv4 and for IPv6.
    pub(super) fn compile(table: &AclTable) -> (Self, Acl<u128>) {
        let four = |p: Prefix4| (p.address.to_bits() & p.mask(), p.mask());
        let six = |p: Prefix6| (p.address.to_bits() & p.mask(), p.mask());
        (Self::new(&table.rules, four, table.default), Acl::new(&table.rules6, six, table.default))
    }
}

impl<A: Address> Acl<A> {
    /// Compiles the rules of one IP version. `bits` returns value and mask of a prefix.
    fn new<P: Copy>(rules: &[(AclRule<P>, Action)], bits: impl Fn(P) -> (A, A), default: Action) -> Self {
        let mut groups: Vec<(Mask<A>, Vec<Rule<A>>)> = group(rules, bits);
        merge(&mut groups);
        groups.sort_by_key(|(_, rules)| rules.iter().map(|r| r.order).min());
        let flagged = (0..).zip(rules).filter(|(_, (rule, _))| rule.flags.mask != 0);
        let mut acl = Self {
            tcp_flags: flagged.map(|(order, (rule, _))| (order, rule.flags)).collect(),
            tuples: Vec::new(),
            buckets: Vec::new(),
            rules: Vec::new(),
            prune: pruning(&groups),
            default_denies: default == Action::Deny,
        };
        for (mask, rules) in &groups {
            acl.add(*mask, rules);
        }
        for rule in &mut acl.rules {
            rule.before = acl.tuples.partition_point(|t| t.best < rule.order).min(64) as u8;
        }
        acl
    }

    /// Adds a table.
    fn add(&mut self, mask: Mask<A>, rules: &[Rule<A>]) {
        let mut buckets = (rules.len().div_ceil(WAYS / 2)).next_power_of_two();
        let lists = loop {
            let shift = 64 - buckets.trailing_zeros().max(1);
            if let Some(lists) = distribute(mask, rules, shift, buckets) {
                break lists;
            }
            buckets *= 2;
        };
        let shift = 64 - buckets.trailing_zeros().max(1);
        let first = self.buckets.len();
        // The smallest table has two buckets, because a shift by 64 is not valid.
        self.buckets.resize(first + buckets.max(2), EMPTY);
        let best = rules.iter().map(|r| r.order).min().unwrap_or(u32::MAX);
        self.tuples.push(Tuple { mask, first: first as u32, shift, best });
        for ((bucket, tag), list) in lists {
            let bucket = &mut self.buckets[first + bucket];
            let way = bucket.tags.iter().position(|t| *t == FREE).unwrap_or(0);
            (bucket.tags[way], bucket.rules[way]) = (tag, self.rules.len() as u32 + 1);
            let last = list.len() - 1;
            self.rules.extend(list.into_iter().enumerate().map(|(at, rule)| {
                let more = if at < last { MORE } else { 0 };
                Rule { flags: rule.flags | more, ..rule }
            }));
        }
    }

    /// Returns the maximum number of tables searched for a packet.
    pub(super) fn tables(&self) -> usize {
        self.tuples.len()
    }

    /// Returns the packets of `live` that are denied.
    #[inline(always)]
    pub(super) fn denied(&self, packets: &[Packet<A>; BURST], live: u64) -> u64 {
        let denied = if self.default_denies { live } else { 0 };
        let mut search = Search {
            packets,
            tcp_flags: &self.tcp_flags,
            candidates: [0; BURST],
            best: [u32::MAX; BURST],
            denied,
            work: [0; BURST],
            hits: [(0, 0); BURST],
        };
        // Tables beyond the number of bits share the last bit. They are searched after all other tables.
        let shared = if self.tuples.len() > SHARED + 1 { 1 << SHARED } else { 0 };
        let mut rest = 0;
        let mut count = 0;
        for i in Bits(live) {
            let candidates = self.prune.candidates(&packets[i]);
            rest |= u64::from(candidates & shared != 0) << i;
            search.candidates[i] = candidates & !shared;
            search.work[count & (BURST - 1)] = i as u8;
            count += usize::from(search.candidates[i] != 0);
        }
        while count > 0 {
            count = self.round(&mut search, count);
        }
        for i in Bits(rest) {
            self.search_rest(&mut search, i);
        }
        search.denied
    }

    /// Searches the next table of each packet in `work`. Returns the number of packets with remaining candidates. These
    /// are moved to the front of `work`.
    #[inline(always)]
    fn round(&self, search: &mut Search<A>, count: usize) -> usize {
        let count = count.min(BURST);
        let mut found = 0;
        for at in 0..count {
            let i = usize::from(search.work[at]) & (BURST - 1);
            let candidates = search.candidates[i];
            search.candidates[i] = candidates & candidates.wrapping_sub(1);
            let Some(tuple) = self.tuples.get(candidates.trailing_zeros() as usize) else {
                continue;
            };
            let rule = self.find(tuple, &search.packets[i]);
            search.hits[found & (BURST - 1)] = (i as u32, rule);
            found += usize::from(rule != 0);
        }
        while found > 0 {
            let mut left = 0;
            for at in 0..found.min(BURST) {
                let (i, number) = search.hits[at];
                let Some(rule) = self.rules.get(number as usize - 1) else {
                    continue;
                };
                let more = search.compare(i as usize & (BURST - 1), rule);
                search.hits[left & (BURST - 1)] = (i, number + 1);
                left += usize::from(more);
            }
            found = left;
        }
        let mut left = 0;
        for at in 0..count {
            let i = search.work[at];
            search.work[left & (BURST - 1)] = i;
            left += usize::from(search.candidates[usize::from(i) & (BURST - 1)] != 0);
        }
        left
    }

    /// Returns the number of the first rule of the packet's key plus one, or 0.
    #[inline(always)]
    fn find(&self, tuple: &Tuple<A>, packet: &Packet<A>) -> u32 {
        let (at, tag) = tuple.place(tuple.mask.hash(packet));
        self.buckets.get(at).map_or(0, |bucket| bucket.find(tag))
    }

    /// Searches the tables that share a bit.
    #[cold]
    fn search_rest(&self, search: &mut Search<A>, i: usize) {
        for tuple in self.tuples.iter().skip(SHARED) {
            if tuple.best >= search.best[i] {
                break;
            }
            let mut number = self.find(tuple, &search.packets[i]) as usize;
            while let Some(rule) = number.checked_sub(1).and_then(|at| self.rules.get(at)) {
                number = if search.compare(i, rule) { number + 1 } else { 0 };
            }
        }
    }
}

/// Returns the rules by bucket and tag, in the order of their best rules. Returns `None` if a bucket has more keys than
/// slots.
#[allow(clippy::type_complexity)]
fn distribute<A: Address>(
    mask: Mask<A>,
    rules: &[Rule<A>],
    shift: u32,
    buckets: usize,
) -> Option<Vec<((usize, u32), Vec<Rule<A>>)>> {
    let mut lists: BTreeMap<(usize, u32), Vec<Rule<A>>> = BTreeMap::new();
    for rule in rules {
        let hash = mask.of_rule(rule);
        lists.entry(((hash >> shift) as usize, hash as u32 | 1)).or_default().push(*rule);
    }
    let mut used = vec![0; buckets.max(2)];
    lists.keys().for_each(|(bucket, _)| used[*bucket] += 1);
    if used.iter().any(|used| *used > WAYS) {
        return None;
    }
    lists.values_mut().for_each(|rules| rules.sort_by_key(|r| r.order));
    let mut lists: Vec<_> = lists.into_iter().collect();
    // Keys are sorted by their first rule, so that the most important rules are adjacent in memory.
    lists.sort_by_key(|(_, rules)| rules.first().map(|r| r.order));
    Some(lists)
}

fn pruning<A: Address>(groups: &[(Mask<A>, Vec<Rule<A>>)]) -> Pruning {
    let all = || groups.iter().enumerate().flat_map(|(at, (_, rules))| rules.iter().map(move |r| (r, at)));
    let mut protocols = Box::new([0; 256]);
    let mut any = 0;
    for (rule, at) in all() {
        let table = 1 << at.min(SHARED);
        if rule.protocol_mask == 0 {
            any |= table;
        } else {
            protocols[usize::from(rule.protocol)] |= table;
        }
    }
    protocols.iter_mut().for_each(|set| *set |= any);
    let range = |(low, more): (u16, u16)| low..=low + more;
    Pruning {
        src: RulePruning::new(all().map(|(rule, at)| ((rule.src.window(), rule.src_mask.window()), at))),
        dst: RulePruning::new(all().map(|(rule, at)| ((rule.dst.window(), rule.dst_mask.window()), at))),
        src_ports: Ports::new(all().map(|(rule, at)| (range(rule.src_ports), at))),
        dst_ports: Ports::new(all().map(|(rule, at)| (range(rule.dst_ports), at))),
        protocols,
    }
}

#[allow(clippy::type_complexity)]
fn group<A: Address, P: Copy>(
    rules: &[(AclRule<P>, Action)],
    bits: impl Fn(P) -> (A, A),
) -> Vec<(Mask<A>, Vec<Rule<A>>)> {
    let mut groups: HashMap<Mask<A>, Vec<Rule<A>>> = HashMap::new();
    for ((rule, action), order) in rules.iter().zip(0..) {
        // A rule with a reversed range matches nothing. Without this check, wrapping arithmetic would make it match.
        if rule.src_ports.0 > rule.src_ports.1 || rule.dst_ports.0 > rule.dst_ports.1 {
            continue;
        }
        let (src, src_mask) = bits(rule.src);
        let (dst, dst_mask) = bits(rule.dst);
        let rule = Rule {
            src,
            src_mask,
            dst,
            dst_mask,
            src_ports: (rule.src_ports.0, rule.src_ports.1 - rule.src_ports.0),
            dst_ports: (rule.dst_ports.0, rule.dst_ports.1 - rule.dst_ports.0),
            protocol: rule.protocol.unwrap_or(0),
            protocol_mask: if rule.protocol.is_some() { 0xff } else { 0 },
            flags: if *action == Action::Deny { DENY } else { 0 }
                | if rule.restricts_ports() { PORTS } else { 0 }
                | if rule.flags.mask != 0 { FLAGS } else { 0 },
            before: 0,
            order,
        };
        groups.entry(Mask::from_rule(&rule)).or_default().push(rule);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(mask, rules)| (rules.len(), *mask));
    groups
}

/// Merges the smallest group into the group whose mask is the closest subset of its mask. Repeats this until no merge
/// is possible.
fn merge<A: Address>(groups: &mut Vec<(Mask<A>, Vec<Rule<A>>)>) {
    let mut at = 0;
    while at < groups.len() {
        let (mask, rules) = groups[at].clone();
        let bits = |m: &Mask<A>| m.src.ones() + m.dst.ones() + m.ports.count_ones() + m.protocol.count_ones();
        let mut hosts: Vec<usize> = (0..groups.len())
            .filter(|&i| i != at && groups[i].0.is_within(&mask) && groups[i].0 != mask)
            .collect();
        hosts.sort_by_key(|&i| std::cmp::Reverse((bits(&groups[i].0), i)));
        hosts.truncate(HOSTS_MAX);
        let host = hosts.into_iter().find(|&i| {
            let (host, own) = &groups[i];
            longest_list(host, own.iter().chain(&rules)) <= LIST_MAX
        });
        match host {
            Some(host) => {
                groups[host].1.extend(rules);
                groups[host].1.sort_by_key(|r| r.order);
                groups.remove(at);
            }
            None => at += 1,
        }
    }
}

fn longest_list<'a, A: Address + 'a>(mask: &Mask<A>, rules: impl Iterator<Item = &'a Rule<A>>) -> usize {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    rules.for_each(|rule| *counts.entry(mask.of_rule(rule)).or_default() += 1);
    counts.values().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
