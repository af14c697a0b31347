//! Rules in decoded and in compiled form.
use super::MAX_BUFFERED_SESSION;
use super::compile::{Refusal, compile_rules};
use super::flow::Filter;
use super::inner::{Inner, ue_key};
use super::marks::Marks;
use super::police::{Bucket, bucket};
use super::usage::{Limits, Meter, Usage};
use crate::pfcp::{
    ApplicationPfds, CreateBar, CreateFar, CreatePdr, CreateQer, CreateUrr, FarId, MeasurementInformation,
    MeasurementMethod, ReportingTriggers, UrrId, Volume,
};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// A session's rules, as sent by the control plane.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Detection rules.
    pub pdrs: &'a [CreatePdr],
    /// Forwarding rules.
    pub fars: &'a [CreateFar],
    /// QoS rules: rates and gates.
    pub qers: &'a [CreateQer],
    /// Usage reporting rules.
    pub urrs: &'a [CreateUrr],
    /// Buffering rule.
    pub bar: Option<&'a CreateBar>,
    /// Applications that detection rules name.
    pub applications: &'a [Arc<ApplicationPfds>],
}

impl Rules<'_> {
    /// Returns the meters of the usage rules. Meters of `before` whose rule still exists continue counting. New rules, and rules in
    /// `granted`, get their quota now.
    pub fn meters(&self, before: &[Meter], granted: &[UrrId]) -> Vec<Meter> {
        let limits = |volume: Option<Volume>| {
            let Volume { total, uplink, downlink } = volume.unwrap_or_default();
            Limits { total, uplink, downlink }
        };
        let meter = |urr: &CreateUrr| {
            let old = before.iter().find(|meter| meter.urr_id == urr.urr_id.0);
            let reports = |trigger| urr.reporting_triggers.contains(trigger);
            let method = urr.measurement_method;
            let times = urr.time_threshold.is_some()
                || urr.time_quota.is_some()
                || method.contains(MeasurementMethod::DURAT)
                || method.contains(MeasurementMethod::EVENT);
            let meter = Meter {
                urr_id: urr.urr_id.0,
                threshold: limits(urr.volume_threshold.filter(|_| reports(ReportingTriggers::VOLTH))),
                quota: limits(urr.volume_quota),
                before_qos: measures_before_qos(urr),
                watches_start: times
                    || reports(ReportingTriggers::START)
                    || reports(ReportingTriggers::STOPT),
                usage: old.map_or_else(|| Arc::new(Usage::default()), |old| Arc::clone(&old.usage)),
            };
            if old.is_none() || granted.contains(&urr.urr_id) {
                meter.grant();
            }
            meter
        };
        self.urrs.iter().map(meter).collect()
    }

    pub(super) fn far(&self, id: Option<FarId>) -> Option<&CreateFar> {
        self.fars.iter().find(|far| Some(far.far_id) == id)
    }
}

/// Returns whether a usage rule counts packets before QoS enforcement (TS 29.244 §8.2.68).
pub(super) fn measures_before_qos(urr: &CreateUrr) -> bool {
    urr.measurement_information.is_some_and(|info| info.contains(MeasurementInformation::MBQE))
}

/// Destination of a rule's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Drop,
    /// Forwards to a base station whose tunnel the control plane has not named yet.
    NoTunnel,
    Buffer {
        notify: bool,
    },
    N6,
    Tunnel {
        teid: u32,
        peer: IpAddr,
    },
}

/// Tunnels from which a rule accepts packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// The data network, whose packets have no tunnel.
    N6,
    /// A single tunnel.
    Tunnel(u32),
    /// All tunnels of the session at the rule's source interface.
    Tunnels(Box<[u32]>),
}

impl Source {
    fn has(&self, teid: u32) -> bool {
        match self {
            Self::N6 => false,
            Self::Tunnel(own) => *own == teid,
            Self::Tunnels(all) => all.contains(&teid),
        }
    }
}

/// UE addresses of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ues {
    /// Key of the UE address; see [`ue_key`]. `None`: any address matches.
    pub(super) first: Option<u64>,
    pub(super) more: Box<[u64]>,
    /// Whether the addresses are compared with the destination of packets instead of the source.
    pub(super) destination: bool,
}

impl Ues {
    fn take(&self, packet: &Inner) -> bool {
        let Some(first) = self.first else { return true };
        let key = if self.destination { packet.destination } else { packet.source };
        first == key || self.more.contains(&key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.first.into_iter().chain(self.more.iter().copied())
    }
}

/// A detection rule with all rules to which it refers.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) pdr_id: u16,
    pub(super) precedence: u32,
    pub(super) source: Source,
    /// Whether packets come from the UE. This selects the direction of rates, gates, usage and flow descriptions.
    pub(super) uplink: bool,
    /// Bit set of the QoS flows that match. 0: all QoS flows match.
    pub(super) qfis: u64,
    pub(super) ues: Ues,
    pub(super) filters: Box<[Filter]>,
    pub(super) action: Action,
    /// Type of service or traffic class of the outer header.
    pub(super) tos: u8,
    /// Whether the PDU session container of a packet is removed before it enters another tunnel.
    pub(super) strips_container: bool,
    /// Marks of packets into a tunnel.
    pub(super) marks: Option<Marks>,
    /// Whether a QER names the marks. They then replace the marks of the packet.
    pub(super) is_marked: bool,
    /// Indexes of the rule's QERs in [`Entry::qers`].
    pub(super) qers: Box<[u8]>,
    /// Indexes of the rule's meters in [`Entry::meters`].
    pub(super) meters: Box<[u8]>,
    /// Whether a meter of the rule counts packets before QoS enforcement.
    pub(super) measures_before_qos: bool,
}

impl Rule {
    pub(super) fn takes_from_tunnel(&self, teid: u32, qfi: Option<u8>, packet: &Inner) -> bool {
        self.source.has(teid)
            && (self.qfis == 0 || qfi.is_some_and(|qfi| self.qfis >> qfi & 1 == 1))
            && self.takes_from_n6(packet)
    }

    pub(super) fn takes_from_n6(&self, packet: &Inner) -> bool {
        self.ues.take(packet)
            && (self.filters.is_empty()
                || self.filters.iter().any(|filter| filter.takes(packet, self.uplink)))
    }

    /// Returns whether the rule matches only by tunnel, QoS flow and a single UE, and marks no packets.
    pub(super) fn is_unfiltered(&self) -> bool {
        self.filters.is_empty() && self.meters.is_empty() && self.ues.more.is_empty() && self.tos == 0
    }

    /// Returns the rule's tunnel, if the rule accepts only this QoS flow.
    pub(super) fn plain_teid(&self, qfi: u8) -> Option<u32> {
        match self.source {
            Source::Tunnel(teid) if self.uplink && self.ues.first.is_some() && self.qfis == 1 << qfi => {
                Some(teid)
            }
            _ => None,
        }
    }
}

/// One direction of a QER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QerDirection {
    pub(super) closed: bool,
    pub(super) bucket: Option<Bucket>,
}

/// A QER with its rate limiters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Qer {
    id: u32,
    uplink: QerDirection,
    downlink: QerDirection,
}

impl Qer {
    /// Returns whether all packets pass.
    pub(super) fn is_open(&self) -> bool {
        [self.uplink, self.downlink].iter().all(|way| !way.closed && way.bucket.is_none())
    }

    pub(super) fn way(&mut self, uplink: bool) -> &mut QerDirection {
        if uplink { &mut self.uplink } else { &mut self.downlink }
    }

    pub(super) fn new(qer: &CreateQer) -> Self {
        let rates = qer.maximum_bit_rate;
        let way = |closed, kbps: Option<u64>| QerDirection { closed, bucket: kbps.map(bucket) };
        Self {
            id: qer.qer_id.0,
            uplink: way(qer.gate_status.uplink_closed, rates.map(|rates| rates.uplink_kbps)),
            downlink: way(qer.gate_status.downlink_closed, rates.map(|rates| rates.downlink_kbps)),
        }
    }
}

/// A lookup entry that leads to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapping {
    Teid(u32),
    Ue(u64),
}

/// A buffered packet.
#[derive(Debug, Clone)]
pub(super) enum Waiting {
    /// A packet from the data network.
    Packet(Vec<u8>),
    /// A datagram from a tunnel.
    Datagram(Vec<u8>),
}

/// A compiled session.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) seid: u64,
    /// Rules for packets from tunnels, by precedence.
    pub(super) from_tunnels: Box<[Rule]>,
    /// Rules for packets from the data network, by precedence.
    pub(super) from_n6: Box<[Rule]>,
    pub(super) qers: Box<[Qer]>,
    pub(super) meters: Box<[Meter]>,
    pub(super) mappings: Box<[Mapping]>,
    /// Index of the prototype of the session.
    pub(super) shape: Option<usize>,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) max_waiting: usize,
    /// Whether the control plane was notified about buffered packets.
    pub(super) notified: bool,
}

impl Entry {
    pub(super) fn compile(seid: u64, rules: &Rules<'_>, meters: &[Meter]) -> Result<Self, Refusal> {
        let mut all = compile_rules(rules)?;
        all.sort_by_key(|rule| rule.precedence);
        // If no QER names the QoS flow, the flow of the uplink is used.
        let only =
            all.iter().filter(|rule| rule.uplink).map(|rule| rule.qfis).find(|qfis| qfis.count_ones() == 1);
        for rule in all.iter_mut().filter(|rule| rule.marks.is_none()) {
            rule.marks = only.map(|qfis| Marks::flow(qfis.trailing_zeros() as u8));
        }
        let teids = all.iter().filter_map(|rule| match rule.source {
            Source::Tunnel(teid) => Some(Mapping::Teid(teid)),
            _ => None,
        });
        let mut mappings: Vec<Mapping> = teids.collect();
        if all.iter().any(|rule| rule.source == Source::N6) {
            for mapping in all.iter().flat_map(|rule| rule.ues.all()).map(Mapping::Ue) {
                if !mappings.contains(&mapping) {
                    mappings.push(mapping);
                }
            }
        }
        let (from_n6, from_tunnels): (Vec<Rule>, Vec<Rule>) =
            all.into_iter().partition(|rule| rule.source == Source::N6);
        let suggested = rules.bar.and_then(|bar| {
            let either_way = bar.suggested_buffering.map(|count| u16::from(count.0));
            bar.suggested_packet_count.map(|count| count.0).or(either_way)
        });
        Ok(Self {
            seid,
            from_tunnels: from_tunnels.into(),
            from_n6: from_n6.into(),
            qers: rules.qers.iter().map(Qer::new).collect(),
            meters: meters.into(),
            mappings: mappings.into(),
            shape: None,
            waiting: VecDeque::new(),
            max_waiting: suggested
                .map_or(MAX_BUFFERED_SESSION, |count| usize::from(count).min(MAX_BUFFERED_SESSION)),
            notified: false,
        })
    }

    /// Returns whether buffered packets can be sent, because a rule forwards into a tunnel.
    pub(super) fn can_flush(&self) -> bool {
        let mut rules = self.from_n6.iter().chain(&self.from_tunnels);
        !self.waiting.is_empty() && rules.any(|rule| matches!(rule.action, Action::Tunnel { .. }))
    }

    /// Makes this entry a copy of `prototype` with other numbers, without allocations.
    pub(super) fn become_like(&mut self, prototype: &Self, seid: u64, teid: u32, ue: IpAddr) {
        let ue = ue_key(ue);
        self.seid = seid;
        for (rule, of) in self.from_tunnels.iter_mut().zip(&prototype.from_tunnels) {
            rule.source = Source::Tunnel(teid);
            rule.ues.first = Some(ue);
            rule.action = of.action;
        }
        for (rule, of) in self.from_n6.iter_mut().zip(&prototype.from_n6) {
            rule.ues.first = Some(ue);
            rule.action = of.action;
        }
        self.qers.copy_from_slice(&prototype.qers);
        for mapping in &mut self.mappings {
            match mapping {
                Mapping::Teid(of) => *of = teid,
                Mapping::Ue(of) => *of = ue,
            }
        }
        self.waiting.clear();
        self.notified = false;
    }

    /// Takes over the state that a rule change must preserve.
    pub(super) fn inherit(&mut self, before: &mut Self) {
        for qer in &mut self.qers {
            let Some(old) = before.qers.iter().find(|old| old.id == qer.id) else { continue };
            for (new, old) in [(&mut qer.uplink, old.uplink), (&mut qer.downlink, old.downlink)] {
                let same = new.bucket.map(|bucket| bucket.rate()) == old.bucket.map(|bucket| bucket.rate());
                if same {
                    new.bucket = old.bucket;
                }
            }
        }
        self.waiting = std::mem::take(&mut before.waiting);
        self.notified = before.notified;
        // If the session became idle again after its packets were sent, the next packet causes another notification.
        let buffers = |entry: &Self| {
            let mut rules = entry.from_n6.iter().chain(&entry.from_tunnels);
            rules.any(|rule| matches!(rule.action, Action::Buffer { .. }))
        };
        self.notified &= buffers(self) && buffers(before);
    }
}
