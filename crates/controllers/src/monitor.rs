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
use std::collections::BTreeMap;
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

    fn take(&mut self, now: Time, indication: &Indication<'_>) {
        let payload = indication.message;
        self.stats.indications += 1;
        if let Some(sn) = indication.sn {
            let gap = self.last_sn.map_or(0, |last| sn.wrapping_sub(last).wrapping_sub(1));
            self.stats.lost = Some(self.stats.lost.unwrap_or(0) + u64::from(gap));
            self.last_sn = Some(sn);
        }
        if payload.len() > REPORT_BYTES || !self.stats.model.is_well_framed(payload) {
            self.stats.malformed += 1;
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

type Reports = BTreeMap<(GlobalE2NodeId, Model), Report>;

/// Reads what a [`Monitor`] knows.
#[derive(Debug, Clone, Default)]
pub struct MonitorHandle(Arc<Mutex<Reports>>);

impl MonitorHandle {
    /// The latest statistics of all nodes, in order of their ids.
    pub fn snapshot(&self) -> Vec<NodeStats> {
        let mut nodes: Vec<NodeStats> = Vec::new();
        for ((node, _), report) in lock(&self.0).iter() {
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

    /// Counts alone, without reading any statistics: (reports, malformed, lost).
    pub fn totals(&self) -> (u64, u64, u64) {
        lock(&self.0).values().fold((0, 0, 0), |(n, malformed, lost), r| {
            (n + r.stats.indications, malformed + r.stats.malformed, lost + r.stats.lost.unwrap_or(0))
        })
    }
}

#[derive(Debug)]
struct Watched {
    connected: bool,
    functions: Vec<(Model, RanFunctionId)>,
}

/// Subscribes every node that offers one of the models, as it appears.
#[derive(Debug)]
pub struct Monitor {
    config: MonitorConfig,
    reports: Arc<Mutex<Reports>>,
    nodes: BTreeMap<GlobalE2NodeId, Watched>,
    subscriptions: BTreeMap<SubscriptionHandle, (GlobalE2NodeId, Model)>,
    retry_set: bool,
}

impl Monitor {
    /// A monitor and the door to what it knows.
    pub fn new(config: MonitorConfig) -> (Self, MonitorHandle) {
        let handle = MonitorHandle::default();
        let reports = handle.0.clone();
        let (nodes, subscriptions) = (BTreeMap::new(), BTreeMap::new());
        (Self { config, reports, nodes, subscriptions, retry_set: false }, handle)
    }

    fn learn(&mut self, node: &NodeInfo, out: &mut IAppOutbox) {
        let offered = |model: &Model| Some((*model, node.function_by_oid(model.oid())?.id));
        let functions = self.config.models.iter().filter_map(offered).collect();
        self.nodes.insert(node.id, Watched { connected: node.connected, functions });
        self.subscribe_missing(out);
    }

    fn subscribe_missing(&mut self, out: &mut IAppOutbox) {
        let trigger = EventTrigger { period_ms: self.config.period_ms }.encode();
        for (node, watched) in self.nodes.iter().filter(|(_, w)| w.connected) {
            for (model, function) in &watched.functions {
                if self.subscriptions.values().any(|s| *s == (*node, *model)) {
                    continue;
                }
                let details = RicSubscriptionDetails {
                    event_trigger: Bytes::copy_from_slice(&trigger),
                    actions: vec![ActionToBeSetup::report(0)],
                };
                let handle = out.subscribe(*node, *function, details);
                self.subscriptions.insert(handle, (*node, *model));
                lock(&self.reports).entry((*node, *model)).or_insert_with(|| Report::new(*model));
            }
        }
    }

    fn ended(&mut self, now: Time, subscription: SubscriptionHandle, out: &mut IAppOutbox) {
        self.subscriptions.remove(&subscription);
        if !self.retry_set {
            self.retry_set = true;
            out.wake_at(now + RETRY, 0);
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
                if let Some(report) = lock(&self.reports).get_mut(key) {
                    report.take(now, &indication);
                }
            }
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.learn(node, out),
            IAppInput::NodeRemoved(node) => {
                self.nodes.remove(&node.id);
                self.subscriptions.retain(|_, (id, _)| *id != node.id);
                lock(&self.reports).retain(|(id, _), _| *id != node.id);
            }
            IAppInput::SubscriptionFailed { subscription, .. }
            | IAppInput::SubscriptionEnded { subscription, .. } => self.ended(now, subscription, out),
            IAppInput::Timer(_) => {
                self.retry_set = false;
                self.subscribe_missing(out);
            }
            _ => {}
        }
    }
}
