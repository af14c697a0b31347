//! Latest statistics of every node and UE.
//!
//! The bytes of the last report are kept and overwritten by the next. They are decoded when a reader requests
//! them, and all readers share the result. An indication therefore costs a check of its framing and one copy,
//! a report is decoded at most once, and memory usage is one report per node and model.
mod kpi;
mod northbound;
mod publication;

pub use kpi::{KpiExport, SERIES_MAX};
pub(crate) use northbound::row;
pub use publication::{Message, Messages, PublicationCounts, PublicationHandle};

use crate::clock::{WallClock, collected_us};
use crate::lock;
use crate::watch::SubscriptionTracker;
use bytes::Bytes;
use publication::{Publication, QueuedReport};
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, fast::Indication};
use ranlab_e2_codec::e2sm::{self, Context, Model, RowKey, SmError, Table, Timing, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Maximum size of a report, in bytes.
const REPORT_BYTES: usize = 256 << 10;

/// Configuration of a monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorConfig {
    /// Service models to subscribe to, built-in or third-party.
    pub models: Vec<&'static dyn Model>,
    /// Reporting period, in milliseconds.
    pub period_ms: u32,
}

impl Default for MonitorConfig {
    /// Returns a configuration with the built-in statistics models and a period of 100 ms.
    fn default() -> Self {
        Self { models: e2sm::customary().collect(), period_ms: 100 }
    }
}

/// State of the reports of one model of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportStats {
    /// Service model.
    pub model: &'static dyn Model,
    /// Number of reports received.
    pub indications: u64,
    /// Number of reports that could not be decoded or were too long.
    pub malformed: u64,
    /// Gaps in the sequence numbers; `None` if the node sends none.
    pub lost: Option<u64>,
    /// Arrival time of the last report, on the driver's clock.
    pub received: Option<Time>,
    /// Collection time of the last report, in microseconds since the Unix epoch; `None` if unknown.
    pub tstamp_us: Option<i64>,
    /// Number of missing reports, derived from the timestamps of the received reports.
    pub missing: u64,
}

/// Latest statistics of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeStats {
    /// Node id.
    pub node: GlobalE2NodeId,
    /// State of each model's reports, and the rows of the last report.
    pub reports: Vec<(ReportStats, Arc<Table>)>,
}

impl NodeStats {
    /// Returns the RNTIs of all UEs in the reports.
    pub fn ues(&self) -> BTreeSet<u32> {
        self.reports.iter().flat_map(|(_, table)| table.rows()).filter_map(|(key, _)| key.ue()).collect()
    }

    /// Returns the rows of a UE in a model's report: rows of the UE itself, of its bearers or of its tunnels.
    pub fn rows(&self, model: &dyn Model, ue: u32) -> impl Iterator<Item = (RowKey, &[Value])> {
        let of_model = self.reports.iter().filter(move |(stats, _)| stats.model.oid() == model.oid());
        of_model.flat_map(|(_, table)| table.rows()).filter(move |(key, _)| key.ue() == Some(ue))
    }
}

/// Last report of one model of one node.
#[derive(Debug)]
struct Report {
    stats: ReportStats,
    latest: Arc<Latest>,
    last_sn: Option<u16>,
    context: Context,
    timing: Timing,
}

/// Bytes of a report, and its rows after the first reader has requested them.
#[derive(Debug, Default)]
struct Latest {
    header: Vec<u8>,
    payload: Vec<u8>,
    context: Context,
    table: OnceLock<Arc<Table>>,
}

impl Latest {
    /// Returns the rows; empty before the first report.
    fn table(&self, model: &'static dyn Model) -> Arc<Table> {
        let octets = |kept: &[u8]| Bytes::copy_from_slice(kept);
        let header = octets(&self.header);
        let payload = octets(&self.payload);
        let decode = || model.table_in(model.encoding(), &mut self.context.clone(), &header, &payload);
        self.table.get_or_init(|| Arc::new(decode().unwrap_or_default())).clone()
    }

    fn bytes(&self) -> usize {
        self.header.len().saturating_add(self.payload.len())
    }
}

impl Report {
    fn new(model: &'static dyn Model) -> Self {
        let stats = ReportStats {
            model,
            indications: 0,
            malformed: 0,
            lost: None,
            received: None,
            tstamp_us: None,
            missing: 0,
        };
        Self {
            stats,
            latest: Arc::default(),
            last_sn: None,
            context: Context::default(),
            timing: Timing::default(),
        }
    }

    /// Resets the decoding context and the time stamp statistics for a new subscription.
    fn begin(&mut self, context: Context) {
        (self.context, self.timing) = (context, Timing::default());
    }

    /// Stores a report. Returns whether it can be decoded. `wall_us`: its arrival time, if the wall clock is known.
    fn take(
        &mut self,
        now: Time,
        wall_us: Option<i64>,
        indication: &Indication<'_>,
        totals: &mut Totals,
    ) -> bool {
        let payload = indication.message;
        self.stats.indications += 1;
        totals.reports += 1;
        if let Some(sn) = indication.sn {
            let gap = self.last_sn.map_or(0, |last| sn.wrapping_sub(last).wrapping_sub(1));
            self.stats.lost = Some(self.stats.lost.unwrap_or(0) + u64::from(gap));
            totals.lost += u64::from(gap);
            self.last_sn = Some(sn);
        }
        let model = self.stats.model;
        let header = indication.header;
        let bytes = header.len().saturating_add(payload.len());
        let checked = model.check_in(model.encoding(), &mut self.context, header, payload);
        if bytes > REPORT_BYTES || checked.is_err() {
            self.stats.malformed += 1;
            totals.malformed += 1;
        }
        // A partly decodable report is shown as far as possible.
        let is_shown = matches!(checked, Ok(()) | Err(SmError::LeftOut(_)));
        if bytes > REPORT_BYTES || !is_shown {
            return false;
        }
        self.stats.received = Some(now);
        let stamp = model.stamp(model.encoding(), &mut self.context, header, payload);
        self.stats.tstamp_us = stamp.and_then(|stamp| collected_us(&mut self.timing, stamp, wall_us));
        self.stats.missing = self.timing.missing();
        // If a reader still holds the previous report, a new buffer is used; otherwise the old one is reused.
        if Arc::get_mut(&mut self.latest).is_none() {
            self.latest = Arc::default();
        }
        if let Some(latest) = Arc::get_mut(&mut self.latest) {
            latest.table = OnceLock::new();
            latest.context.clone_from(&self.context);
            for (kept, octets) in [(&mut latest.header, header), (&mut latest.payload, payload)] {
                kept.clear();
                kept.extend_from_slice(octets);
            }
        }
        true
    }

    /// Returns a copy of the last report, to be published.
    fn taken(&self, node: GlobalE2NodeId) -> QueuedReport {
        let ReportStats { model, indications: sequence, tstamp_us, .. } = self.stats;
        QueuedReport { node, model, sequence, tstamp_us, latest: self.latest.clone() }
    }
}

/// Index of a monitored model.
type ModelIndex = usize;

#[derive(Debug, Default)]
struct Reports {
    latest: BTreeMap<(GlobalE2NodeId, ModelIndex), Report>,
    totals: Totals,
    period: Duration,
    clock: WallClock,
}

/// Counters of all reports since the monitor was created, including reports of nodes that have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Reports received.
    pub reports: u64,
    /// Reports that could not be decoded or were too long.
    pub malformed: u64,
    /// Gaps in the sequence numbers.
    pub lost: u64,
}

/// Read access to a [`Monitor`]; clones share state.
#[derive(Debug, Clone, Default)]
pub struct MonitorHandle(Arc<Mutex<Reports>>);

impl MonitorHandle {
    /// Returns the latest statistics of all nodes, in order of their ids.
    pub fn snapshot(&self) -> Vec<NodeStats> {
        let of = |((node, _), report): (&(GlobalE2NodeId, ModelIndex), &Report)| {
            (*node, report.stats.clone(), report.latest.clone())
        };
        // Decodes without the lock, which the RIC's thread takes for each indication.
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

    /// Returns the reporting period.
    pub fn period(&self) -> Duration {
        lock(&self.0).period
    }

    /// Sets the wall clock: `unix` is the time since the Unix epoch at the driver's time `now`. Without the wall clock, timestamps are
    /// interpreted as the standard defines them.
    pub fn set_clock(&self, now: Time, unix: Duration) {
        lock(&self.0).clock.set(now, unix);
    }

    /// Returns whether the monitor and all other handles have been dropped.
    pub fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Returns the counters, without decoding any report.
    pub fn totals(&self) -> Totals {
        lock(&self.0).totals
    }
}

/// iApp that subscribes to the models at every node that offers them. The cost per event is independent of
/// the number of nodes.
#[derive(Debug)]
pub struct Monitor {
    models: Vec<&'static dyn Model>,
    watch: SubscriptionTracker,
    reports: Arc<Mutex<Reports>>,
    publication: Option<Publication>,
}

impl Monitor {
    /// Returns a monitor and its read handle. Fails if a model does not support the period.
    pub fn new(config: MonitorConfig) -> Result<(Self, MonitorHandle), SmError> {
        let period = Duration::from_millis(config.period_ms.into());
        // A model that needs several triggers appears once per trigger.
        let mut models = Vec::new();
        let mut triggers = Vec::new();
        for model in config.models {
            for trigger in model.triggers(model.encoding(), period)? {
                models.push(model);
                triggers.push((model.oid(), trigger));
            }
        }
        let watch = SubscriptionTracker::new(triggers);
        let handle = MonitorHandle::default();
        lock(&handle.0).period = period;
        Ok((Self { models, watch, reports: handle.0.clone(), publication: None }, handle))
    }

    /// Returns a receiver for all decodable reports; a further call replaces the previous receiver.
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
            let context = self.watch.context(&key.0, key.1).unwrap_or_default();
            lock(&self.reports).latest.entry(key).or_insert_with(|| Report::new(*model)).begin(context);
        }
        match input {
            IAppInput::Indication { subscription, indication, .. } => {
                let Some(key) = self.watch.node_of(subscription) else { return };
                let reports = &mut *lock(&self.reports);
                let wall_us = reports.clock.us(now);
                if let Some(report) = reports.latest.get_mut(&key)
                    && report.take(now, wall_us, &indication, &mut reports.totals)
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
    use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, Plmn, RanFunctionItem, Version};
    use ranlab_e2_codec::e2sm::mac;

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

    /// Returns a monitor with `nodes` subscribed nodes and an empty retry list.
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
    fn events_of_a_node_do_not_examine_other_nodes() {
        for nodes in [1, 10, 2_000] {
            let (mut monitor, _, mut out) = monitor(nodes);
            assert_eq!(
                monitor.watch.nodes_looked_at,
                u64::from(nodes),
                "each new node must be examined exactly once"
            );
            monitor.watch.nodes_looked_at = 0;
            monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, false)), &mut out);
            monitor.handle(Time::ZERO, IAppInput::NodeChanged(&node(0, true)), &mut out);
            assert_eq!(
                monitor.watch.nodes_looked_at, 2,
                "only the changed node may be examined, not all {nodes} nodes"
            );
            let subscription = *monitor.watch.subscriptions.keys().next().unwrap();
            let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
            let ended = IAppInput::SubscriptionEnded { subscription, cause };
            monitor.handle(Time::ZERO, ended, &mut out);
            assert_eq!(monitor.watch.subscriptions.len(), nodes as usize - 1);
            monitor.handle(Time::ZERO + RETRY, IAppInput::Timer(RETRY_TIMER), &mut out);
            assert_eq!(
                monitor.watch.nodes_looked_at, 3,
                "only the node with the ended subscription may be examined, not all {nodes} nodes"
            );
            assert_eq!(monitor.watch.subscriptions.len(), nodes as usize);
        }
    }

    #[test]
    fn removed_node_leaves_no_state() {
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
    fn node_is_resubscribed_when_it_offers_the_model_again() {
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
        assert_eq!(
            monitor.watch.nodes[&node(0, true).id].offers[0].subscription,
            Some(second),
            "the end of the old subscription must not affect the new one"
        );
    }
}
