//! Rules as decoded, and as packets meet them.
use super::flow::Flow;
use super::inner::{Inner, ue_key};
use super::police::Bucket;
use super::usage::Meter;
use super::{MAX_BUFFERED_SESSION, Usage};
use ranlab_wire::pfcp::{
    ApplyAction, CreateBar, CreateFar, CreatePdr, CreateQer, CreateUrr, FTeid, FarId, Interface,
};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// A session's rules, as the control plane sent them.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Detection.
    pub pdrs: &'a [CreatePdr],
    /// Forwarding.
    pub fars: &'a [CreateFar],
    /// Rates and gates.
    pub qers: &'a [CreateQer],
    /// Usage.
    pub urrs: &'a [CreateUrr],
    /// Buffering.
    pub bar: Option<&'a CreateBar>,
}

impl Rules<'_> {
    /// Meters for the usage rules; those of `before` that still exist go on counting where they were.
    pub fn meters(&self, before: &[Meter]) -> Vec<Meter> {
        let meter = |urr: &CreateUrr| {
            let old = before.iter().find(|meter| meter.urr_id == urr.urr_id.0);
            Meter {
                urr_id: urr.urr_id.0,
                threshold: urr.volume_threshold.and_then(|volume| volume.total),
                quota: urr.volume_quota.and_then(|volume| volume.total),
                usage: old.map_or_else(|| Arc::new(Usage::default()), |old| Arc::clone(&old.usage)),
            }
        };
        self.urrs.iter().map(meter).collect()
    }

    fn far(&self, id: Option<FarId>) -> Option<&CreateFar> {
        self.fars.iter().find(|far| Some(far.far_id) == id)
    }
}

/// Where a rule's packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Drop,
    Buffer { notify: bool },
    N6,
    N3 { teid: u32, peer: IpAddr },
}

impl Action {
    fn of(far: Option<&CreateFar>) -> Self {
        let Some(far) = far else { return Self::Drop };
        let has = |flag| far.apply_action.contains(flag);
        if has(ApplyAction::BUFF) {
            return Self::Buffer { notify: has(ApplyAction::NOCP) };
        }
        let Some(way) = far.forwarding_parameters.as_ref().filter(|_| has(ApplyAction::FORW)) else {
            return Self::Drop;
        };
        let tunnel = way.outer_header_creation.as_ref().and_then(|header| {
            let peer =
                header.addresses.v4.map(IpAddr::from).or_else(|| header.addresses.v6.map(IpAddr::from))?;
            Some(Self::N3 { teid: header.teid?, peer })
        });
        match way.destination_interface {
            Interface::ACCESS => tunnel.unwrap_or(Self::Drop),
            _ => Self::N6,
        }
    }
}

/// A detection rule with all that follows from it.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) pdr_id: u16,
    precedence: u32,
    teid: Option<u32>,
    /// One bit for each QoS flow; 0: any.
    qfis: u64,
    ue: Option<u64>,
    flows: Box<[Flow]>,
    /// A filter that cannot be matched: the rule takes nothing.
    broken: bool,
    pub(super) action: Action,
    /// Marked on packets into a tunnel.
    pub(super) qfi: Option<u8>,
    /// Places in [`Entry::qers`].
    pub(super) qers: Box<[u8]>,
    /// Places in [`Entry::meters`].
    pub(super) meters: Box<[u8]>,
}

impl Rule {
    pub(super) fn takes_uplink(&self, teid: u32, qfi: Option<u8>, packet: &Inner) -> bool {
        !self.broken
            && self.teid == Some(teid)
            && (self.qfis == 0 || qfi.is_some_and(|qfi| self.qfis >> qfi & 1 == 1))
            && self.ue.is_none_or(|ue| ue == packet.source)
            && (self.flows.is_empty() || self.flows.iter().any(|flow| flow.takes(packet, true)))
    }

    /// Whether it asks for nothing but tunnel, QoS flow and UE.
    pub(super) fn is_unfiltered(&self) -> bool {
        !self.broken && self.flows.is_empty() && self.meters.is_empty()
    }

    /// Its tunnel, if this one QoS flow is all that it takes.
    pub(super) fn plain_teid(&self, qfi: u8) -> Option<u32> {
        self.teid.filter(|_| self.ue.is_some() && self.qfis == 1 << qfi)
    }

    pub(super) fn takes_downlink(&self, packet: &Inner) -> bool {
        !self.broken
            && self.ue.is_none_or(|ue| ue == packet.destination)
            && (self.flows.is_empty() || self.flows.iter().any(|flow| flow.takes(packet, false)))
    }
}

/// One direction of a QER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) closed: bool,
    pub(super) bucket: Option<Bucket>,
}

/// A QER with its state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Qer {
    id: u32,
    uplink: Way,
    downlink: Way,
}

impl Qer {
    /// Whether everything passes.
    pub(super) fn is_open(&self) -> bool {
        [self.uplink, self.downlink].iter().all(|way| !way.closed && way.bucket.is_none())
    }

    pub(super) fn way(&mut self, uplink: bool) -> &mut Way {
        if uplink { &mut self.uplink } else { &mut self.downlink }
    }

    fn new(qer: &CreateQer) -> Self {
        let rates = qer.maximum_bit_rate;
        let way = |closed, kbps: Option<u64>| Way { closed, bucket: kbps.map(Bucket::new) };
        Self {
            id: qer.qer_id.0,
            uplink: way(qer.gate_status.uplink_closed, rates.map(|rates| rates.uplink_kbps)),
            downlink: way(qer.gate_status.downlink_closed, rates.map(|rates| rates.downlink_kbps)),
        }
    }
}

/// What leads to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapping {
    Teid(u32),
    Ue(u64),
}

/// A session as packets meet it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) seid: u64,
    /// By precedence.
    pub(super) uplink: Box<[Rule]>,
    pub(super) downlink: Box<[Rule]>,
    pub(super) qers: Box<[Qer]>,
    pub(super) meters: Box<[Meter]>,
    pub(super) mappings: Box<[Mapping]>,
    /// Which prototype it is like.
    pub(super) shape: Option<usize>,
    pub(super) waiting: VecDeque<Vec<u8>>,
    pub(super) max_waiting: usize,
    /// The control plane knows that packets wait.
    pub(super) notified: bool,
}

impl Entry {
    pub(super) fn compile(seid: u64, rules: &Rules<'_>, meters: &[Meter]) -> Self {
        let (mut uplink, mut downlink) = (Vec::new(), Vec::new());
        let mut mappings = Vec::new();
        for pdr in rules.pdrs {
            let rule = compile_rule(pdr, rules);
            if pdr.pdi.source_interface == Interface::ACCESS {
                mappings.extend(rule.teid.map(Mapping::Teid));
                uplink.push(rule);
            } else {
                mappings.extend(rule.ue.map(Mapping::Ue));
                downlink.push(rule);
            }
        }
        uplink.sort_by_key(|rule| rule.precedence);
        downlink.sort_by_key(|rule| rule.precedence);
        // Without a QER that names it, the QoS flow is the one that the uplink uses.
        let only = uplink.iter().map(|rule| rule.qfis).find(|qfis| qfis.count_ones() == 1);
        for rule in downlink.iter_mut().filter(|rule| rule.qfi.is_none()) {
            rule.qfi = only.map(|qfis| qfis.trailing_zeros() as u8);
        }
        let suggested = rules.bar.and_then(|bar| bar.suggested_packet_count);
        Self {
            seid,
            uplink: uplink.into(),
            downlink: downlink.into(),
            qers: rules.qers.iter().map(Qer::new).collect(),
            meters: meters.into(),
            mappings: mappings.into(),
            shape: None,
            waiting: VecDeque::new(),
            max_waiting: suggested
                .map_or(MAX_BUFFERED_SESSION, |count| usize::from(count.0).min(MAX_BUFFERED_SESSION)),
            notified: false,
        }
    }

    /// Becomes a session like `prototype`, but for its numbers: nothing is allocated.
    pub(super) fn become_like(&mut self, prototype: &Self, seid: u64, teid: u32, ue: IpAddr) {
        let ue = ue_key(ue);
        self.seid = seid;
        for (rule, of) in self.uplink.iter_mut().zip(&prototype.uplink) {
            (rule.teid, rule.ue, rule.action) = (Some(teid), Some(ue), of.action);
        }
        for (rule, of) in self.downlink.iter_mut().zip(&prototype.downlink) {
            (rule.ue, rule.action) = (Some(ue), of.action);
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

    /// Takes over what a change of rules must not reset.
    pub(super) fn inherit(&mut self, before: &mut Self) {
        for qer in &mut self.qers {
            let Some(old) = before.qers.iter().find(|old| old.id == qer.id) else { continue };
            for (new, old) in [(&mut qer.uplink, old.uplink), (&mut qer.downlink, old.downlink)] {
                let same = new.bucket.map(|bucket| bucket.kbps) == old.bucket.map(|bucket| bucket.kbps);
                if same {
                    new.bucket = old.bucket;
                }
            }
        }
        self.waiting = std::mem::take(&mut before.waiting);
        self.notified = before.notified;
        // Idle again after having been served: the next packet is news.
        let buffers =
            |entry: &Self| entry.downlink.iter().any(|rule| matches!(rule.action, Action::Buffer { .. }));
        self.notified &= buffers(self) && buffers(before);
    }
}

fn compile_rule(pdr: &CreatePdr, rules: &Rules<'_>) -> Rule {
    let flows: Vec<_> = pdr
        .pdi
        .sdf_filters
        .iter()
        .filter_map(|filter| filter.flow_description.as_ref())
        .map(|text| std::str::from_utf8(text).ok().and_then(|text| Flow::parse(text).ok()))
        .collect();
    let wanted = &pdr.qer_ids;
    let qers = rules.qers.iter().enumerate().filter(|(_, qer)| wanted.contains(&qer.qer_id));
    let address = pdr.pdi.ue_ip_addresses.first().and_then(|ue| {
        ue.addresses.v4.map(IpAddr::from).or_else(|| ue.addresses.v6.map(IpAddr::from)).map(ue_key)
    });
    let urrs = rules.urrs.iter().enumerate().filter(|(_, urr)| pdr.urr_ids.contains(&urr.urr_id));
    Rule {
        pdr_id: pdr.pdr_id.0,
        precedence: pdr.precedence.0,
        teid: match pdr.pdi.f_teid {
            Some(FTeid::Assigned { teid, .. }) => Some(teid),
            _ => None,
        },
        qfis: pdr.pdi.qfis.iter().fold(0, |bits, qfi| bits | 1 << (qfi.0 & 63)),
        ue: address,
        broken: flows.iter().any(Option::is_none),
        flows: flows.into_iter().flatten().collect(),
        action: Action::of(rules.far(pdr.far_id)),
        // The application's QER before the session's, which names no flow or flow 0.
        qfi: qers
            .clone()
            .filter_map(|(_, qer)| qer.qfi)
            .map(|qfi| qfi.0 & 63)
            .reduce(|first, next| if first == 0 { next } else { first }),
        qers: qers.map(|(at, _)| at as u8).collect(),
        meters: urrs.map(|(at, _)| at as u8).collect(),
    }
}
