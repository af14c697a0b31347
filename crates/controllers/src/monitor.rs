//! The latest statistics of every node and UE.
//!
//! Of each report the bytes are kept, written over those of the report before; they are decoded when the first reader asks, and
//! all readers share the result. So an indication costs a check of its framing and one copy, a report is decoded at most once, and
//! memory is one report per node and model.
mod kpi;
mod northbound;
mod publication;

pub use kpi::{KpiExport, SERIES_MAX};
pub(crate) use northbound::row;
pub use publication::{Message, Messages, PublicationCounts, PublicationHandle};

use crate::lock;
use crate::watch::Watch;
use bytes::Bytes;
use publication::{Publication, Taken};
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox};
use ranlab_wire::e2ap::{GlobalE2NodeId, fast::Indication};
use ranlab_wire::e2sm::{self, Model, RowKey, SmError, Table, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Octets of the longest report that is kept.
const REPORT_BYTES: usize = 256 << 10;

/// What to monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorConfig {
    /// Which statistics: models of ours or of anybody's.
    pub models: Vec<&'static dyn Model>,
    /// How often, in milliseconds.
    pub period_ms: u32,
}

impl Default for MonitorConfig {
    /// The customary statistics every 100 ms.
    fn default() -> Self {
        Self { models: e2sm::customary().collect(), period_ms: 100 }
    }
}

/// What is known of the reports of one model of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportStats {
    /// Which.
    pub model: &'static dyn Model,
    /// Reports received.
    pub indications: u64,
    /// Reports that were not of the model's form, or too long to keep.
    pub malformed: u64,
    /// Gaps in the sequence numbers; `None` if the node sends none.
    pub lost: Option<u64>,
    /// When the last one arrived, on the driver's clock.
    pub received: Option<Time>,
    /// When the node made it, microseconds since the Unix epoch.
    pub tstamp_us: Option<i64>,
}

/// The latest statistics of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeStats {
    /// The node.
    pub node: GlobalE2NodeId,
    /// What each model's last report says, and what is known of its reports.
    pub reports: Vec<(ReportStats, Arc<Table>)>,
}

impl NodeStats {
    /// The RNTIs of all UEs that some report tells of.
    pub fn ues(&self) -> BTreeSet<u32> {
        self.reports.iter().flat_map(|(_, table)| table.rows()).filter_map(|(key, _)| key.ue()).collect()
    }

    /// The rows of a model about a UE: itself, its bearers or its tunnels.
    pub fn rows(&self, model: &dyn Model, ue: u32) -> impl Iterator<Item = (RowKey, &[Value])> {
        let of_model = self.reports.iter().filter(move |(stats, _)| stats.model.oid() == model.oid());
        of_model.flat_map(|(_, table)| table.rows()).filter(move |(key, _)| key.ue() == Some(ue))
    }
}

/// The last report of one model of one node.
#[derive(Debug)]
struct Report {
    stats: ReportStats,
    latest: Arc<Latest>,
    last_sn: Option<u16>,
}

/// The bytes of a report, and its rows once a reader has asked for them.
#[derive(Debug, Default)]
struct Latest {
    header: Vec<u8>,
    payload: Vec<u8>,
    table: OnceLock<Arc<Table>>,
}

impl Latest {
    /// Its rows; none before the first report.
    fn table(&self, model: &'static dyn Model) -> Arc<Table> {
        let octets = |kept: &[u8]| Bytes::copy_from_slice(kept);
        let decode = || model.table(model.encoding(), &octets(&self.header), &octets(&self.payload));
        self.table.get_or_init(|| Arc::new(decode().unwrap_or_default())).clone()
    }

    fn bytes(&self) -> usize {
        self.header.len().saturating_add(self.payload.len())
    }
}

impl Report {
    fn new(model: &'static dyn Model) -> Self {
        let stats =
            ReportStats { model, indications: 0, malformed: 0, lost: None, received: None, tstamp_us: None };
        Self { stats, latest: Arc::default(), last_sn: None }
    }

    /// Whether it is a report that can be read.
    fn take(&mut self, now: Time, indication: &Indication<'_>, totals: &mut Totals) -> bool {
        let payload = indication.message;
        self.stats.indications += 1;
        totals.reports += 1;
        if let Some(sn) = indication.sn {
            let gap = self.last_sn.map_or(0, |last| sn.wrapping_sub(last).wrapping_sub(1));
            self.stats.lost = Some(self.stats.lost.unwrap_or(0) + u64::from(gap));
            totals.lost += u64::from(gap);
            self.last_sn = Some(sn);
        }
        let (model, header) = (self.stats.model, indication.header);
        let bytes = header.len().saturating_add(payload.len());
        let checked = model.check(model.encoding(), header, payload);
        if bytes > REPORT_BYTES || checked.is_err() {
            self.stats.malformed += 1;
            totals.malformed += 1;
        }
        // A report that is partly in rows is shown as far as it is.
        let is_shown = matches!(checked, Ok(()) | Err(SmError::LeftOut(_)));
        if bytes > REPORT_BYTES || !is_shown {
            return false;
        }
        self.stats.received = Some(now);
        self.stats.tstamp_us = model.tstamp_us(model.encoding(), header, payload);
        // A reader that still has the report before keeps it; otherwise its memory is used again.
        if Arc::get_mut(&mut self.latest).is_none() {
            self.latest = Arc::default();
        }
        if let Some(latest) = Arc::get_mut(&mut self.latest) {
            latest.table = OnceLock::new();
            for (kept, octets) in [(&mut latest.header, header), (&mut latest.payload, payload)] {
                kept.clear();
                kept.extend_from_slice(octets);
            }
        }
        true
    }

    /// The last one, for the road.
    fn taken(&self, node: GlobalE2NodeId) -> Taken {
        let ReportStats { model, indications: sequence, tstamp_us, .. } = self.stats;
        Taken { node, model, sequence, tstamp_us, latest: self.latest.clone() }
    }
}

/// Which of the models that are monitored.
type ModelIndex = usize;

#[derive(Debug, Default)]
struct Reports {
    latest: BTreeMap<(GlobalE2NodeId, ModelIndex), Report>,
    totals: Totals,
    period: Duration,
}

/// What was counted of all reports since the monitor was made, those of nodes that are forgotten included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Reports received.
    pub reports: u64,
    /// Those that were not of their model's form, or too long to keep.
    pub malformed: u64,
    /// Gaps in the sequence numbers.
    pub lost: u64,
}

/// Reads what a [`Monitor`] knows.
#[derive(Debug, Clone, Default)]
pub struct MonitorHandle(Arc<Mutex<Reports>>);

impl MonitorHandle {
    /// The latest statistics of all nodes, in order of their ids.
    pub fn snapshot(&self) -> Vec<NodeStats> {
        let of = |((node, _), report): (&(GlobalE2NodeId, ModelIndex), &Report)| {
            (*node, report.stats.clone(), report.latest.clone())
        };
        // Decoded without the lock: the RIC's thread takes it for each indication.
        let reports: Vec<_> = lock(&self.0).latest.iter().map(of).collect();
        let mut nodes: Vec<NodeStats> = Vec::new();
        for (node, stats, latest) in reports {
            if nodes.last().is_none_or(|last| last.node != node) {
                nodes.push(NodeStats { node, reports: Vec::new() });
            }
            if let Some(of_node) = nodes.last_mut() {
                let table = latest.table(stats.model);
                of_node.reports.push((stats, table));
            }
        }
        nodes
    }

    /// How often nodes report.
    pub fn period(&self) -> Duration {
        lock(&self.0).period
    }

    /// Counts alone, without looking at any report.
    pub fn totals(&self) -> Totals {
        lock(&self.0).totals
    }
}

/// Subscribes every node that offers one of the models, as it appears. Whatever happens at a node costs the same however
/// many there are.
#[derive(Debug)]
pub struct Monitor {
    models: Vec<&'static dyn Model>,
    watch: Watch,
    reports: Arc<Mutex<Reports>>,
    publication: Option<Publication>,
}

impl Monitor {
    /// A monitor and the door to what it knows. Fails if a model cannot report at this period.
    pub fn new(config: MonitorConfig) -> Result<(Self, MonitorHandle), SmError> {
        let period = Duration::from_millis(config.period_ms.into());
        // A model that needs several triggers is there as often.
        let (mut models, mut wanted) = (Vec::new(), Vec::new());
        for model in config.models {
            for trigger in model.triggers(model.encoding(), period)? {
                models.push(model);
                wanted.push((model.oid(), trigger));
            }
        }
        let watch = Watch::new(wanted);
        let handle = MonitorHandle::default();
        lock(&handle.0).period = period;
        Ok((Self { models, watch, reports: handle.0.clone(), publication: None }, handle))
    }

    /// Gives every report that can be read to whoever takes the messages, too. Of several takers the last one has them.
    pub fn publish(&mut self) -> Messages {
        let (publication, messages) = Publication::new();
        self.publication = Some(publication);
        messages
    }
}

impl IApp for Monitor {
    fn name(&self) -> &str {
        "monitor"
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        for key in self.watch.handle(now, &input, out) {
            let Some(model) = self.models.get(key.1) else { continue };
            lock(&self.reports).latest.entry(key).or_insert_with(|| Report::new(*model));
        }
        match input {
            IAppInput::Indication { subscription, indication, .. } => {
                let Some(key) = self.watch.of(subscription) else { return };
                let reports = &mut *lock(&self.reports);
                if let Some(report) = reports.latest.get_mut(&key)
                    && report.take(now, &indication, &mut reports.totals)
                    && let Some(publication) = &self.publication
                {
                    publication.offer(report.taken(key.0));
                }
            }
            IAppInput::NodeRemoved(node) => {
                let mut reports = lock(&self.reports);
                for model in 0..self.models.len() {
                    reports.latest.remove(&(node.id, model));
                }
            }
            IAppInput::Northbound(request) => {
                out.reply(MonitorHandle(self.reports.clone()).northbound(request));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{RETRY, RETRY_TIMER};
    use ranlab_e2::ric::{NodeInfo, NodeKind};
    use ranlab_wire::e2ap::{Cause, CauseRicRequest, Plmn, RanFunctionItem, Version};
    use ranlab_wire::e2sm::mac;

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
            relayed: false,
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
            Monitor::new(MonitorConfig { models: vec![&mac::Mac], period_ms: 1_000 }).unwrap();
        let mut out = IAppOutbox::default();
        for number in 0..nodes {
            monitor.handle(Time::ZERO, IAppInput::NodeAdded(&node(number, true)), &mut out);
        }
        assert_eq!(monitor.watch.subscriptions.len(), nodes as usize);
        (monitor, handle, out)
    }

    #[test]
    fn what_happens_at_a_node_costs_no_look_at_any_other() {
        for nodes in [1, 10, 2_000] {
            let (mut monitor, _, mut out) = monitor(nodes);
            assert_eq!(monitor.watch.nodes_looked_at, u64::from(nodes), "one look for each that came");
            monitor.watch.nodes_looked_at = 0;
            monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, false)), &mut out);
            monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, true)), &mut out);
            assert_eq!(monitor.watch.nodes_looked_at, 2, "of {nodes}");
            let subscription = *monitor.watch.subscriptions.keys().next().unwrap();
            let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
            let ended = IAppInput::SubscriptionEnded { subscription, cause };
            monitor.handle(Time::ZERO, ended, &mut out);
            assert_eq!(monitor.watch.subscriptions.len(), nodes as usize - 1);
            monitor.handle(Time::ZERO + RETRY, IAppInput::Timer(RETRY_TIMER), &mut out);
            assert_eq!(monitor.watch.nodes_looked_at, 3, "of {nodes}: only where one ended");
            assert_eq!(monitor.watch.subscriptions.len(), nodes as usize);
        }
    }

    #[test]
    fn a_forgotten_node_leaves_nothing_behind() {
        let (mut monitor, handle, mut out) = monitor(2);
        let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
        let gone = node(1, false);
        let subscription = monitor.watch.nodes[&gone.id].offers[0].subscription.unwrap();
        monitor.handle(Time::ZERO, IAppInput::NodeRemoved(&gone), &mut out);
        let ended = IAppInput::SubscriptionEnded { subscription, cause };
        monitor.handle(Time::ZERO, ended, &mut out);
        assert_eq!(
            (monitor.watch.nodes.len(), monitor.watch.subscriptions.len(), monitor.watch.retry.len()),
            (1, 1, 0)
        );
        assert_eq!(handle.snapshot().len(), 1);
    }

    #[test]
    fn a_node_that_offers_nothing_any_more_and_then_again_is_subscribed_again() {
        let (mut monitor, _, mut out) = monitor(1);
        let first = monitor.watch.nodes[&node(0, true).id].offers[0].subscription.unwrap();
        let nothing = NodeInfo { functions: Vec::new(), ..node(0, true) };
        monitor.handle(Time::ZERO, IAppInput::NodeChanged(&nothing), &mut out);
        monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, true)), &mut out);
        let second = monitor.watch.nodes[&node(0, true).id].offers[0].subscription.unwrap();
        assert_ne!(first, second);
        let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
        let ended = IAppInput::SubscriptionEnded { subscription: first, cause };
        monitor.handle(Time::ZERO, ended, &mut out);
        assert_eq!(monitor.watch.nodes[&node(0, true).id].offers[0].subscription, Some(second), "it stays");
    }
}
