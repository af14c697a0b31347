//! The latest statistics of every node and UE.
//!
//! Of each report the octets are kept, written over those of the report before; they are read when someone asks. So an
//! indication costs a check of its framing and one copy, and memory is one report per node and model.
use crate::lock;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, NodeInfo, SubscriptionHandle};
use ranlab_wire::e2ap::{
    ActionToBeSetup, GlobalE2NodeId, RanFunctionId, RicSubscriptionDetails, fast::Indication,
};
use ranlab_wire::e2sm::gtp::{self, GtpTunnel};
use ranlab_wire::e2sm::mac::{self, MacUe};
use ranlab_wire::e2sm::pdcp::{self, PdcpBearer};
use ranlab_wire::e2sm::plain::{EventTrigger, PlainElement, PlainView};
use ranlab_wire::e2sm::rlc::{self, RlcBearer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time between attempts to subscribe what failed.
const RETRY: Duration = Duration::from_secs(5);
/// Octets of the longest report that is kept.
const REPORT_BYTES: usize = 256 << 10;

/// A statistics service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Per UE.
    Mac,
    /// Per bearer.
    Rlc,
    /// Per bearer.
    Pdcp,
    /// Per tunnel.
    Gtp,
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mac, Self::Rlc, Self::Pdcp, Self::Gtp];

    /// The object identifier by which nodes offer it.
    pub const fn oid(self) -> &'static str {
        match self {
            Self::Mac => mac::OID,
            Self::Rlc => rlc::OID,
            Self::Pdcp => pdcp::OID,
            Self::Gtp => gtp::OID,
        }
    }

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::Rlc => "rlc",
            Self::Pdcp => "pdcp",
            Self::Gtp => "gtp",
        }
    }

    fn is_well_framed(self, payload: &[u8]) -> bool {
        match self {
            Self::Mac => PlainView::<MacUe>::new(payload).is_ok(),
            Self::Rlc => PlainView::<RlcBearer>::new(payload).is_ok(),
            Self::Pdcp => PlainView::<PdcpBearer>::new(payload).is_ok(),
            Self::Gtp => PlainView::<GtpTunnel>::new(payload).is_ok(),
        }
    }
}

/// What to monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorConfig {
    /// Which statistics.
    pub models: Vec<Model>,
    /// How often, in milliseconds.
    pub period_ms: u32,
}

impl Default for MonitorConfig {
    /// All statistics every 100 ms.
    fn default() -> Self {
        Self { models: Model::ALL.to_vec(), period_ms: 100 }
    }
}

/// What is known of the reports of one model of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportStats {
    /// Which.
    pub model: Model,
    /// Reports received.
    pub indications: u64,
    /// Reports that were not of the model's form, or too long to keep.
    pub malformed: u64,
    /// Gaps in the running numbers; `None` if the node sends none.
    pub lost: Option<u64>,
    /// When the last one arrived, on the driver's clock.
    pub received: Option<Time>,
    /// When the node made it, microseconds since the Unix epoch.
    pub tstamp_us: Option<i64>,
}

/// The latest statistics of a UE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UeStats {
    /// MAC.
    pub mac: Option<MacUe>,
    /// RLC per bearer.
    pub rlc: Vec<RlcBearer>,
    /// PDCP per bearer.
    pub pdcp: Vec<PdcpBearer>,
    /// GTP per tunnel.
    pub gtp: Vec<GtpTunnel>,
}

/// The latest statistics of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeStats {
    /// The node.
    pub node: GlobalE2NodeId,
    /// By RNTI.
    pub ues: BTreeMap<u32, UeStats>,
    /// The reports they are from.
    pub reports: Vec<ReportStats>,
}

/// The last report of one model of one node.
#[derive(Debug)]
struct Report {
    stats: ReportStats,
    payload: Vec<u8>,
    last_sn: Option<u16>,
}

impl Report {
    fn new(model: Model) -> Self {
        let stats =
            ReportStats { model, indications: 0, malformed: 0, lost: None, received: None, tstamp_us: None };
        Self { stats, payload: Vec::new(), last_sn: None }
    }

    fn take(&mut self, now: Time, indication: &Indication<'_>, totals: &mut Totals) {
        let payload = indication.message;
        self.stats.indications += 1;
        totals.reports += 1;
        if let Some(sn) = indication.sn {
            let gap = self.last_sn.map_or(0, |last| sn.wrapping_sub(last).wrapping_sub(1));
            self.stats.lost = Some(self.stats.lost.unwrap_or(0) + u64::from(gap));
            totals.lost += u64::from(gap);
            self.last_sn = Some(sn);
        }
        if payload.len() > REPORT_BYTES || !self.stats.model.is_well_framed(payload) {
            self.stats.malformed += 1;
            totals.malformed += 1;
            return;
        }
        self.stats.received = Some(now);
        self.stats.tstamp_us = ranlab_wire::e2sm::plain::tstamp_us(payload);
        self.payload.clear();
        self.payload.extend_from_slice(payload);
    }

    fn elements<E: PlainElement>(&self) -> impl Iterator<Item = E> {
        PlainView::<E>::new(&self.payload).ok().into_iter().flat_map(|view| view.iter())
    }

    fn add_to(&self, ues: &mut BTreeMap<u32, UeStats>) {
        match self.stats.model {
            Model::Mac => self.elements::<MacUe>().for_each(|e| ues.entry(e.rnti).or_default().mac = Some(e)),
            Model::Rlc => {
                self.elements::<RlcBearer>().for_each(|e| ues.entry(e.rnti).or_default().rlc.push(e));
            }
            Model::Pdcp => {
                self.elements::<PdcpBearer>().for_each(|e| ues.entry(e.rnti).or_default().pdcp.push(e));
            }
            Model::Gtp => {
                self.elements::<GtpTunnel>().for_each(|e| ues.entry(e.rnti).or_default().gtp.push(e));
            }
        }
    }
}

#[derive(Debug, Default)]
struct Reports {
    latest: BTreeMap<(GlobalE2NodeId, Model), Report>,
    totals: Totals,
}

/// What was counted of all reports since the monitor was made, those of nodes that are forgotten included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Reports received.
    pub reports: u64,
    /// Those that were not of their model's form, or too long to keep.
    pub malformed: u64,
    /// Gaps in the running numbers.
    pub lost: u64,
}

/// Reads what a [`Monitor`] knows.
#[derive(Debug, Clone, Default)]
pub struct MonitorHandle(Arc<Mutex<Reports>>);

impl MonitorHandle {
    /// The latest statistics of all nodes, in order of their ids.
    pub fn snapshot(&self) -> Vec<NodeStats> {
        let mut nodes: Vec<NodeStats> = Vec::new();
        for ((node, _), report) in &lock(&self.0).latest {
            if nodes.last().is_none_or(|last| last.node != *node) {
                nodes.push(NodeStats { node: *node, ues: BTreeMap::new(), reports: Vec::new() });
            }
            if let Some(stats) = nodes.last_mut() {
                stats.reports.push(report.stats.clone());
                report.add_to(&mut stats.ues);
            }
        }
        nodes
    }

    /// Counts alone, without looking at any report.
    pub fn totals(&self) -> Totals {
        lock(&self.0).totals
    }
}

/// A model that a node offers.
#[derive(Debug)]
struct Offer {
    model: Model,
    function: RanFunctionId,
    subscription: Option<SubscriptionHandle>,
}

#[derive(Debug)]
struct Watched {
    connected: bool,
    offers: Vec<Offer>,
}

/// Subscribes every node that offers one of the models, as it appears. Whatever happens at a node costs the same however
/// many there are.
#[derive(Debug)]
pub struct Monitor {
    config: MonitorConfig,
    reports: Arc<Mutex<Reports>>,
    nodes: BTreeMap<GlobalE2NodeId, Watched>,
    subscriptions: BTreeMap<SubscriptionHandle, (GlobalE2NodeId, Model)>,
    /// Nodes where a subscription failed or ended: they are tried again when the timer has run.
    retry: BTreeSet<GlobalE2NodeId>,
    retry_set: bool,
    #[cfg(test)]
    nodes_looked_at: u64,
}

impl Monitor {
    /// A monitor and the door to what it knows.
    pub fn new(config: MonitorConfig) -> (Self, MonitorHandle) {
        let handle = MonitorHandle::default();
        let monitor = Self {
            config,
            reports: handle.0.clone(),
            nodes: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            retry: BTreeSet::new(),
            retry_set: false,
            #[cfg(test)]
            nodes_looked_at: 0,
        };
        (monitor, handle)
    }

    fn learn(&mut self, node: &NodeInfo, out: &mut IAppOutbox) {
        let before = self.nodes.remove(&node.id).map(|watched| watched.offers).unwrap_or_default();
        let offers = self.config.models.iter().filter_map(|&model| {
            let function = node.function_by_oid(model.oid())?.id;
            // A subscription of what the node does not offer any more ends by itself; the RIC says so.
            let subscription = before.iter().find(|o| o.model == model).and_then(|o| o.subscription);
            Some(Offer { model, function, subscription })
        });
        let watched = Watched { connected: node.connected, offers: offers.collect() };
        self.nodes.insert(node.id, watched);
        self.subscribe_missing(node.id, out);
    }

    /// Subscribes what a node offers and has no subscription for.
    fn subscribe_missing(&mut self, id: GlobalE2NodeId, out: &mut IAppOutbox) {
        #[cfg(test)]
        {
            self.nodes_looked_at += 1;
        }
        let Some(watched) = self.nodes.get_mut(&id).filter(|watched| watched.connected) else { return };
        for offer in watched.offers.iter_mut().filter(|offer| offer.subscription.is_none()) {
            let trigger = EventTrigger { period_ms: self.config.period_ms }.encode();
            let details = RicSubscriptionDetails {
                event_trigger: Bytes::copy_from_slice(&trigger),
                actions: vec![ActionToBeSetup::report(0)],
            };
            let handle = out.subscribe(id, offer.function, details);
            offer.subscription = Some(handle);
            self.subscriptions.insert(handle, (id, offer.model));
            let mut reports = lock(&self.reports);
            reports.latest.entry((id, offer.model)).or_insert_with(|| Report::new(offer.model));
        }
    }

    fn ended(&mut self, now: Time, subscription: SubscriptionHandle, out: &mut IAppOutbox) {
        let Some((id, model)) = self.subscriptions.remove(&subscription) else { return };
        if let Some(watched) = self.nodes.get_mut(&id) {
            let held = watched.offers.iter_mut().find(|o| o.subscription == Some(subscription));
            // Without one the node has stopped to offer the model, and a later offer begins anew.
            debug_assert!(held.as_ref().is_none_or(|offer| offer.model == model));
            if let Some(offer) = held {
                offer.subscription = None;
            }
            self.retry.insert(id);
        }
        if !self.retry_set {
            self.retry_set = true;
            out.wake_at(now + RETRY, 0);
        }
    }

    fn forget(&mut self, id: GlobalE2NodeId) {
        let offers = self.nodes.remove(&id).map(|watched| watched.offers).unwrap_or_default();
        for subscription in offers.iter().filter_map(|offer| offer.subscription) {
            self.subscriptions.remove(&subscription);
        }
        self.retry.remove(&id);
        let mut reports = lock(&self.reports);
        for model in Model::ALL {
            reports.latest.remove(&(id, model));
        }
    }
}

impl IApp for Monitor {
    fn name(&self) -> &str {
        "monitor"
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::Indication { subscription, indication, .. } => {
                let Some(key) = self.subscriptions.get(&subscription) else { return };
                let reports = &mut *lock(&self.reports);
                if let Some(report) = reports.latest.get_mut(key) {
                    report.take(now, &indication, &mut reports.totals);
                }
            }
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.learn(node, out),
            IAppInput::NodeRemoved(node) => self.forget(node.id),
            IAppInput::SubscriptionFailed { subscription, .. }
            | IAppInput::SubscriptionEnded { subscription, .. } => self.ended(now, subscription, out),
            IAppInput::Timer(_) => {
                self.retry_set = false;
                for id in std::mem::take(&mut self.retry) {
                    self.subscribe_missing(id, out);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2::ric::NodeKind;
    use ranlab_wire::e2ap::{Cause, CauseRicRequest, Plmn, RanFunctionItem, Version};

    fn node(number: u32, connected: bool) -> NodeInfo {
        let id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), number, 32);
        let function = RanFunctionItem {
            id: 142,
            definition: Bytes::new(),
            revision: 1,
            oid: Some(mac::OID.to_owned()),
        };
        NodeInfo {
            id,
            kind: NodeKind::Whole,
            peer: "".into(),
            version: Version::V2_03,
            functions: vec![function],
            components: Vec::new(),
            connected,
            since: Time::ZERO,
        }
    }

    /// A monitor of `nodes` nodes, all subscribed, that has looked at nothing since.
    fn monitor(nodes: u32) -> (Monitor, MonitorHandle, IAppOutbox) {
        let (mut monitor, handle) =
            Monitor::new(MonitorConfig { models: vec![Model::Mac], period_ms: 1_000 });
        let mut out = IAppOutbox::default();
        for number in 0..nodes {
            monitor.handle(Time::ZERO, IAppInput::NodeAdded(&node(number, true)), &mut out);
        }
        assert_eq!(monitor.subscriptions.len(), nodes as usize);
        (monitor, handle, out)
    }

    #[test]
    fn what_happens_at_a_node_costs_no_look_at_any_other() {
        for nodes in [1, 10, 2_000] {
            let (mut monitor, _, mut out) = monitor(nodes);
            assert_eq!(monitor.nodes_looked_at, u64::from(nodes), "one look for each that came");
            monitor.nodes_looked_at = 0;
            monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, false)), &mut out);
            monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, true)), &mut out);
            assert_eq!(monitor.nodes_looked_at, 2, "of {nodes}");
            let subscription = *monitor.subscriptions.keys().next().unwrap();
            let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
            let ended = IAppInput::SubscriptionEnded { subscription, cause };
            monitor.handle(Time::ZERO, ended, &mut out);
            assert_eq!(monitor.subscriptions.len(), nodes as usize - 1);
            monitor.handle(Time::ZERO + RETRY, IAppInput::Timer(0), &mut out);
            assert_eq!(monitor.nodes_looked_at, 3, "of {nodes}: only where one ended");
            assert_eq!(monitor.subscriptions.len(), nodes as usize);
        }
    }

    #[test]
    fn a_forgotten_node_leaves_nothing_behind() {
        let (mut monitor, handle, mut out) = monitor(2);
        let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
        let gone = node(1, false);
        let subscription = monitor.nodes[&gone.id].offers[0].subscription.unwrap();
        monitor.handle(Time::ZERO, IAppInput::NodeRemoved(&gone), &mut out);
        let ended = IAppInput::SubscriptionEnded { subscription, cause };
        monitor.handle(Time::ZERO, ended, &mut out);
        assert_eq!((monitor.nodes.len(), monitor.subscriptions.len(), monitor.retry.len()), (1, 1, 0));
        assert_eq!(handle.snapshot().len(), 1);
    }

    #[test]
    fn a_node_that_offers_nothing_any_more_and_then_again_is_subscribed_again() {
        let (mut monitor, _, mut out) = monitor(1);
        let first = monitor.nodes[&node(0, true).id].offers[0].subscription.unwrap();
        let nothing = NodeInfo { functions: Vec::new(), ..node(0, true) };
        monitor.handle(Time::ZERO, IAppInput::NodeChanged(&nothing), &mut out);
        monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, true)), &mut out);
        let second = monitor.nodes[&node(0, true).id].offers[0].subscription.unwrap();
        assert_ne!(first, second);
        let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
        let ended = IAppInput::SubscriptionEnded { subscription: first, cause };
        monitor.handle(Time::ZERO, ended, &mut out);
        assert_eq!(monitor.nodes[&node(0, true).id].offers[0].subscription, Some(second), "it stays");
    }
}
