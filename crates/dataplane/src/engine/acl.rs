//! Classification by partitioned tuple space: rules that ask for the same bits share a hash table. Tables with few rules
//! are merged into one that asks for less as long as no list of rules becomes long (after TupleMerge, Daly et al. 2019);
//! tables are searched in the order of their best rule, so that an early match ends the search. Which tables can have a
//! rule for a packet is known before: source and destination each name a set of tables as a bit vector, and only their
//! intersection is searched (tuple pruning, Srinivasan et al. 1999).
use super::hot::prefetch;
use super::prune::{Candidates, Prune};
use crate::declare::{AclRule, AclTable, Action};
use std::collections::HashMap;

/// Rules that one key may collect by merging.
const LIST_MAX: usize = 6;
/// Hosts that a group tries: merging must not take longer than the rules are worth.
const HOSTS_MAX: usize = 8;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is classified.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packet {
    pub(super) src: u32,
    pub(super) dst: u32,
    /// Source port high, destination port low.
    pub(super) ports: u32,
    pub(super) protocol: u32,
}

/// One rule, with bounds in a form that compares fast.
#[derive(Debug, Clone, Copy)]
struct Rule {
    src: u32,
    src_mask: u32,
    dst: u32,
    dst_mask: u32,
    src_ports: (u16, u16),
    dst_ports: (u16, u16),
    protocol: u8,
    protocol_mask: u8,
    deny: bool,
    /// Place in the configured order.
    order: u32,
}

impl Rule {
    #[inline(always)]
    fn matches(&self, p: &Packet) -> bool {
        let (src_port, dst_port) = ((p.ports >> 16) as u16, p.ports as u16);
        // One expression without short cuts: the processor cannot guess which part fails.
        ((p.src ^ self.src) & self.src_mask == 0)
            & ((p.dst ^ self.dst) & self.dst_mask == 0)
            & (src_port.wrapping_sub(self.src_ports.0) <= self.src_ports.1.wrapping_sub(self.src_ports.0))
            & (dst_port.wrapping_sub(self.dst_ports.0) <= self.dst_ports.1.wrapping_sub(self.dst_ports.0))
            & ((p.protocol as u8 ^ self.protocol) & self.protocol_mask == 0)
    }
}

/// The bits that a table asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Mask {
    src: u32,
    dst: u32,
    ports: u32,
    protocol: u32,
}

impl Mask {
    /// What a rule fixes, prefix lengths rounded down so that similar rules meet.
    fn of(rule: &Rule) -> Self {
        let exact = |(low, high): (u16, u16)| if low == high { 0xffff } else { 0 };
        Self {
            src: round(rule.src_mask),
            dst: round(rule.dst_mask),
            ports: exact(rule.src_ports) << 16 | exact(rule.dst_ports),
            protocol: rule.protocol_mask.into(),
        }
    }

    /// Whether every bit that `self` asks for is asked for by `other`.
    fn is_within(&self, other: &Self) -> bool {
        self.src & !other.src == 0
            && self.dst & !other.dst == 0
            && self.ports & !other.ports == 0
            && self.protocol & !other.protocol == 0
    }

    #[inline(always)]
    fn hash(&self, p: &Packet) -> u64 {
        let addresses = u64::from(p.src & self.src) << 32 | u64::from(p.dst & self.dst);
        let rest = u64::from(p.ports & self.ports) << 8 | u64::from(p.protocol & self.protocol);
        let mixed = (addresses ^ (addresses >> 29)).wrapping_mul(MULTIPLIER)
            ^ rest.wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ (mixed >> 32)).wrapping_mul(MULTIPLIER)
    }

    fn of_rule(&self, rule: &Rule) -> u64 {
        let packet = Packet {
            src: rule.src,
            dst: rule.dst,
            ports: u32::from(rule.src_ports.0) << 16 | u32::from(rule.dst_ports.0),
            protocol: rule.protocol.into(),
        };
        self.hash(&packet)
    }
}

/// Lengths to which prefixes are rounded down.
fn round(mask: u32) -> u32 {
    match mask.count_ones() {
        0..8 => 0,
        8..16 => 0xff00_0000,
        16..24 => 0xffff_0000,
        24..32 => 0xffff_ff00,
        _ => u32::MAX,
    }
}

/// Where the rules of a key are; a count of 0 is a free place.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    tag: u32,
    first: u32,
    count: u16,
}

struct Tuple {
    mask: Mask,
    /// Order of its best rule.
    best: u32,
    shift: u32,
    places: Vec<Place>,
    rules: Vec<Rule>,
}

impl Tuple {
    fn new(mask: Mask, rules: &[Rule]) -> Self {
        let mut lists: HashMap<u64, Vec<Rule>> = HashMap::new();
        for rule in rules {
            lists.entry(mask.of_rule(rule)).or_default().push(*rule);
        }
        // Lists in the order of their best rule: the layout must not depend on the map's order.
        let mut lists: Vec<_> = lists.into_iter().collect();
        lists.sort_by_key(|(_, rules)| rules[0].order);
        let size = (lists.len() * 2).next_power_of_two().max(2);
        let shift = 64 - size.trailing_zeros();
        let mut tuple = Self {
            mask,
            best: rules.iter().map(|r| r.order).min().unwrap_or(u32::MAX),
            shift,
            places: vec![Place::default(); size],
            rules: Vec::with_capacity(rules.len()),
        };
        for (hash, list) in lists {
            let mut at = (hash >> shift) as usize;
            while tuple.places[at].count != 0 {
                at = (at + 1) & (size - 1);
            }
            // A list beyond 65,535 rules of one key cannot be counted; the rule limit keeps it below.
            tuple.places[at] =
                Place { tag: hash as u32, first: tuple.rules.len() as u32, count: list.len() as u16 };
            tuple.rules.extend(list);
        }
        tuple
    }

    /// The best rule that matches and comes before `before`.
    #[inline(always)]
    fn search(&self, hash: u64, packet: &Packet, before: u32) -> Option<(u32, bool)> {
        let mut at = (hash >> self.shift) as usize;
        loop {
            let place = self.places[at];
            if place.count == 0 {
                return None;
            }
            if place.tag == hash as u32 {
                let first = place.first as usize;
                for rule in &self.rules[first..first + usize::from(place.count)] {
                    if rule.order >= before {
                        break;
                    }
                    if rule.matches(packet) {
                        return Some((rule.order, rule.deny));
                    }
                }
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }
}

/// Rules ready to classify.
pub(super) struct Acl {
    tuples: Vec<Tuple>,
    /// Tables with rules for a source, and for a destination.
    by_src: Prune,
    by_dst: Prune,
    default_denies: bool,
}

impl Acl {
    pub(super) fn new(table: &AclTable) -> Self {
        let mut groups: Vec<(Mask, Vec<Rule>)> = group(&table.rules);
        merge(&mut groups);
        let mut tuples: Vec<_> = groups.iter().map(|(mask, rules)| Tuple::new(*mask, rules)).collect();
        tuples.sort_by_key(|t| t.best);
        let prefixes = |side: fn(&Rule) -> (u32, u32)| {
            let of_tuple = |(index, tuple): (usize, &Tuple)| {
                tuple.rules.iter().map(|rule| (side(rule), index)).collect::<Vec<_>>()
            };
            Prune::new(tuples.iter().enumerate().flat_map(of_tuple))
        };
        let by_src = prefixes(|rule| (rule.src, rule.src_mask));
        let by_dst = prefixes(|rule| (rule.dst, rule.dst_mask));
        Self { tuples, by_src, by_dst, default_denies: table.default == Action::Deny }
    }

    /// Tables that a packet without a match passes.
    pub(super) fn tables(&self) -> usize {
        self.tuples.len()
    }

    /// Fetches what [`Self::candidates`] will read.
    #[inline(always)]
    pub(super) fn prepare(&self, packet: &Packet) {
        self.by_src.prepare(packet.src);
        self.by_dst.prepare(packet.dst);
    }

    /// Tables that may have a rule for the packet; what the first of them will read is fetched.
    #[inline(always)]
    pub(super) fn candidates(&self, packet: &Packet) -> u64 {
        let candidates = self.by_src.lookup(packet.src) & self.by_dst.lookup(packet.dst);
        if let Some(tuple) = self.tuples.get(candidates.trailing_zeros() as usize) {
            prefetch(&tuple.places[(tuple.mask.hash(packet) >> tuple.shift) as usize]);
        }
        candidates
    }

    #[inline(always)]
    pub(super) fn denies(&self, packet: &Packet, candidates: u64) -> bool {
        let (mut best, mut denies) = (u32::MAX, self.default_denies);
        for index in Candidates::new(candidates, self.tuples.len()) {
            let tuple = &self.tuples[index];
            if tuple.best >= best {
                break;
            }
            if let Some(found) = tuple.search(tuple.mask.hash(packet), packet, best) {
                (best, denies) = found;
            }
        }
        denies
    }
}

fn group(rules: &[(AclRule, Action)]) -> Vec<(Mask, Vec<Rule>)> {
    let mut groups: HashMap<Mask, Vec<Rule>> = HashMap::new();
    for ((rule, action), order) in rules.iter().zip(0..) {
        // A range that is the wrong way round matches nothing, and wrapping would make it match.
        if rule.src_ports.0 > rule.src_ports.1 || rule.dst_ports.0 > rule.dst_ports.1 {
            continue;
        }
        let rule = Rule {
            src: rule.src.address.to_bits() & rule.src.mask(),
            src_mask: rule.src.mask(),
            dst: rule.dst.address.to_bits() & rule.dst.mask(),
            dst_mask: rule.dst.mask(),
            src_ports: rule.src_ports,
            dst_ports: rule.dst_ports,
            protocol: rule.protocol.unwrap_or(0),
            protocol_mask: if rule.protocol.is_some() { 0xff } else { 0 },
            deny: *action == Action::Deny,
            order,
        };
        groups.entry(Mask::of(&rule)).or_default().push(rule);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(mask, rules)| (rules.len(), *mask));
    groups
}

/// Takes the smallest group and puts it into the one that asks for least less, until nothing fits any more.
fn merge(groups: &mut Vec<(Mask, Vec<Rule>)>) {
    let mut at = 0;
    while at < groups.len() {
        let (mask, rules) = groups[at].clone();
        let bits = |m: &Mask| [m.src, m.dst, m.ports, m.protocol].iter().map(|w| w.count_ones()).sum::<u32>();
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

fn longest_list<'a>(mask: &Mask, rules: impl Iterator<Item = &'a Rule>) -> usize {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    rules.for_each(|rule| *counts.entry(mask.of_rule(rule)).or_default() += 1);
    counts.values().copied().max().unwrap_or(0)
}
