//! The latest statistics of each base station, for any service model: as a table ([`Screen`]), row by row ([`Line`]),
//! or in a file ([`Recorder`]).
//!
//! Each report overwrites the bytes of the previous report. The bytes are decoded only when they are displayed. An
//! indication therefore costs one copy. Only a recorder or a stream of rows decodes every report.

mod node;
mod record;
mod screen;
#[cfg(test)]
mod tests;

pub use node::Times;
pub use record::{RecordError, Recorder};
pub use screen::{Room, Screen};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use ranlab_sdk::Bytes;
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{SubscriptionHandle, Xapp, XappEvent};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, RanFunctionId, RanFunctionItem, RicActionId};
use ranlab_sdk::wire::e2sm::common::{JoinedUe, UeJoin};
use ranlab_sdk::wire::e2sm::{
    Column, Context, Encoding, Model, ReportTime, RowKey, SmError, Stamp, Table, Value,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use self::node::{ActionKey, Function, Node, Report};
use crate::monitor::unix_us;

/// Maximum number of base stations whose latest reports are stored for display. Reports of other base stations are
/// only streamed and recorded.
const NODES_MAX: usize = 256;
/// Maximum length of a report that is stored for display, in bytes.
const REPORT_BYTES: usize = 256 << 10;

/// Number of report periods after which a value is stale.
const STALE_PERIODS: u32 = 3;
/// Minimum age of a stale value.
const STALE_LEAST: Duration = Duration::from_secs(3);

/// Index of a service model.
type ModelIndex = usize;
/// Maximum number of subscriptions per base station whose latest reports are stored.
const SOURCES_MAX: usize = 64;

/// Information that an xApp has about base stations and its subscriptions.
pub(crate) trait Knowledge {
    /// Returns the RAN functions of a base station.
    fn functions(&self, node: &GlobalE2NodeId) -> Option<Vec<RanFunctionItem>>;
    /// Returns the action definition of a subscription.
    fn action(&self, subscription: SubscriptionHandle, action: RicActionId) -> Option<Bytes>;
}

impl Knowledge for Xapp {
    fn functions(&self, node: &GlobalE2NodeId) -> Option<Vec<RanFunctionItem>> {
        self.node(node).map(|info| info.functions.clone())
    }

    fn action(&self, subscription: SubscriptionHandle, action: RicActionId) -> Option<Bytes> {
        self.action_definition(subscription, action).cloned()
    }
}

impl Knowledge for XappHandle {
    fn functions(&self, node: &GlobalE2NodeId) -> Option<Vec<RanFunctionItem>> {
        self.read(|xapp| xapp.functions(node))
    }

    fn action(&self, subscription: SubscriptionHandle, action: RicActionId) -> Option<Bytes> {
        self.read(|xapp| xapp.action(subscription, action))
    }
}

/// Latest values that an xApp received.
pub struct Values {
    models: Vec<Watched>,
    /// UE to which the values are restricted, if any.
    ue: Option<u32>,
    /// Base stations, each with its RAN functions of the watched models.
    nodes: HashMap<GlobalE2NodeId, Node>,
    latest: BTreeMap<GlobalE2NodeId, BTreeMap<(ModelIndex, ActionKey), Latest>>,
    /// Whether more base stations reported than can be stored.
    beyond: bool,
    /// Whether reports are stored for display.
    keeps: bool,
    /// Age from which a value is stale, in microseconds.
    stale_after_us: i64,
    /// Number of reports lost on the way from each base station.
    lost: BTreeMap<GlobalE2NodeId, u64>,
}

/// A service model, its encoding, and its columns.
struct Watched {
    model: &'static dyn Model,
    encoding: Encoding,
    columns: Vec<Column>,
}

/// Name of the column with the complete identity of a row's UE.
const UE_IDS: &str = "ue_ids";

impl Watched {
    /// Returns the table of a stored report. The table is empty if the report does not belong to the model.
    fn read(&self, kept: &Latest) -> Table {
        let bytes = |kept: &[u8]| Bytes::copy_from_slice(kept);
        let header = bytes(&kept.header);
        let message = bytes(&kept.message);
        let table = self.model.table_in(self.encoding, &mut kept.context.clone(), &header, &message);
        table.unwrap_or_default()
    }

    /// Returns the identity of a row's UE, or `None` if the model has no identities.
    fn ids<'a>(&self, row: &'a [Value]) -> Option<&'a str> {
        let at = self.columns.iter().position(|column| column.name == UE_IDS)?;
        match row.get(at) {
            Some(Value::Text(text)) if !text.is_empty() => Some(&**text),
            _ => None,
        }
    }

    /// Adds the UE identities of a table.
    fn add_ids(&self, node: &GlobalE2NodeId, table: &Table, join: &mut UeJoin) {
        table.rows().filter_map(|(_, row)| self.ids(row)).for_each(|ids| join.add(node, ids));
    }
}

/// Stored bytes of a report, and its subscription.
#[derive(Default)]
struct Latest {
    header: Vec<u8>,
    message: Vec<u8>,
    context: Context,
    /// Arrival time, in microseconds since the Unix epoch.
    received_us: i64,
}

/// An encoded report; [`table`](Self::table) decodes it.
pub struct ReceivedReport<'a> {
    /// Base station that sent the report.
    pub node: GlobalE2NodeId,
    /// Service model of the report.
    pub model: &'static dyn Model,
    encoding: Encoding,
    columns: &'a [Column],
    header: &'a Bytes,
    message: &'a Bytes,
    ue: Option<u32>,
    action: Bytes,
    function: &'a Function,
    /// Time stamp of the report, and its interpretation.
    stamp: Option<(Stamp, ReportTime)>,
}

impl Values {
    /// Creates a store for values of some models. `encoding` applies to models that support it. If `ue` is set, only
    /// values of this UE are stored.
    pub fn new(models: &[&'static dyn Model], encoding: Option<Encoding>, ue: Option<u32>) -> Self {
        let watched = |&model: &&'static dyn Model| Watched {
            model,
            encoding: model.encoding_or(encoding),
            columns: model.columns(),
        };
        let models = models.iter().map(watched).collect();
        Self {
            models,
            ue,
            nodes: HashMap::new(),
            latest: BTreeMap::new(),
            beyond: false,
            keeps: true,
            stale_after_us: i64::MAX,
            lost: BTreeMap::new(),
        }
    }

    /// Sets the age from which values are stale: three report periods, but at least 3 s.
    pub(crate) fn with_period(self, period: Duration) -> Self {
        let after = STALE_LEAST.max(period.saturating_mul(STALE_PERIODS));
        Self { stale_after_us: i64::try_from(after.as_micros()).unwrap_or(i64::MAX), ..self }
    }

    /// Stores the number of lost reports of each base station, for subscriptions whose reports are stored.
    pub(crate) fn take_losses(&mut self, lost: impl Fn(SubscriptionHandle) -> Option<u64>) {
        let of_node = |(node, reports): (&GlobalE2NodeId, &BTreeMap<(ModelIndex, ActionKey), Latest>)| {
            let handles: BTreeSet<_> = reports.keys().map(|(_, (handle, _))| *handle).collect();
            (*node, handles.into_iter().filter_map(&lost).sum())
        };
        self.lost = self.latest.iter().map(of_node).collect();
    }

    /// Returns the UEs of all latest reports. Identities of a UE at several nodes of one base station are joined.
    pub fn ues(&self) -> Vec<JoinedUe> {
        let mut join = UeJoin::default();
        for (node, reports) in &self.latest {
            for ((index, _), kept) in reports {
                let Some(of) = self.models.get(*index) else { continue };
                of.add_ids(node, &of.read(kept), &mut join);
            }
        }
        join.ues()
    }

    /// Creates a store without display: reports are recognized and passed on, but not stored.
    pub(crate) fn passing(models: &[&'static dyn Model], encoding: Option<Encoding>) -> Self {
        Self { keeps: false, ..Self::new(models, encoding, None) }
    }

    /// Handles an event of an xApp. Returns a report, to be recorded or streamed.
    pub fn take<'a>(&'a mut self, xapp: &XappHandle, event: &'a XappEvent) -> Option<ReceivedReport<'a>> {
        self.take_of(xapp, event, unix_us())
    }

    /// Handles an event like [`take`](Self::take), for an xApp on sockets or in virtual time. `received_us` is the time
    /// of arrival, in microseconds since the Unix epoch.
    pub(crate) fn take_of<'a>(
        &'a mut self,
        xapp: &dyn Knowledge,
        event: &'a XappEvent,
        received_us: i64,
    ) -> Option<ReceivedReport<'a>> {
        match event {
            XappEvent::NodeAdded { node } | XappEvent::NodeChanged { node } => {
                self.ask(xapp, node);
                None
            }
            XappEvent::NodeRemoved { node } => {
                self.forget(node);
                None
            }
            XappEvent::Indication { handle, node, indication, .. } => {
                // With many base stations, their connection events may be dropped. An indication also shows that a
                // base station exists.
                if !self.nodes.contains_key(node) {
                    self.ask(xapp, node);
                }
                let of = (*handle, indication.action);
                self.nodes.get_mut(node)?.add_subscription(of, || xapp.action(of.0, of.1));
                let report =
                    Report { of, header: &indication.header, message: &indication.message, received_us };
                self.on_report(*node, indication.function, report)
            }
            _ => None,
        }
    }

    fn ask(&mut self, xapp: &dyn Knowledge, node: &GlobalE2NodeId) {
        if let Some(functions) = xapp.functions(node) {
            self.learn(*node, &functions);
        }
    }

    /// Records the RAN functions of a base station.
    fn learn(&mut self, node: GlobalE2NodeId, functions: &[RanFunctionItem]) {
        let watched = functions.iter().filter_map(|function| {
            let oid = function.oid.as_deref()?;
            let model = self.models.iter().position(|of| of.model.is_called(oid))?;
            Some(Function::new(function.id, model, function.definition.clone()))
        });
        let functions = watched.collect();
        self.nodes.insert(node, Node::new(functions));
    }

    /// Removes a base station.
    fn forget(&mut self, node: &GlobalE2NodeId) {
        self.nodes.remove(node);
        self.latest.remove(node);
    }

    fn on_report<'a>(
        &'a mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        report: Report<'a>,
    ) -> Option<ReceivedReport<'a>> {
        let (function, subscription) = self.nodes.get_mut(&node)?.find(function, report.of)?;
        let index = function.model;
        let Watched { model, encoding, columns } = self.models.get(index)?;
        let action = subscription.action.clone();
        let stamp = subscription.stamp(function.context(&action), *model, *encoding, &report);
        let Report { header, message, received_us, .. } = report;
        if !self.keeps {
            // Without display, the report is not stored.
        } else if self.latest.len() < NODES_MAX || self.latest.contains_key(&node) {
            let reports = self.latest.entry(node).or_default();
            let key = (index, report.of);
            let has_room = reports.len() < SOURCES_MAX || reports.contains_key(&key);
            if has_room && header.len().saturating_add(message.len()) <= REPORT_BYTES {
                let latest = reports.entry(key).or_default();
                latest.context = function.context(&action);
                latest.received_us = received_us;
                for (kept, octets) in [(&mut latest.header, header), (&mut latest.message, message)] {
                    kept.clear();
                    kept.extend_from_slice(octets);
                }
            }
        } else {
            self.beyond = true;
        }
        Some(ReceivedReport {
            node,
            model: *model,
            encoding: *encoding,
            columns,
            header,
            message,
            ue: self.ue,
            action,
            function,
            stamp,
        })
    }

    /// Returns the reasons why latest reports have no rows, or only a part of their rows.
    pub fn unreadable(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (node, reports) in &self.latest {
            for ((index, _), Latest { header, message, context, .. }) in reports {
                let Some(Watched { model, encoding, .. }) = self.models.get(*index) else { continue };
                if let Err(error) = model.check_in(*encoding, &mut context.clone(), header, message) {
                    reasons.push(format!("{} of {node}: {error}", model.name()));
                }
            }
        }
        reasons
    }

    /// Returns the time stamp statistics of all connected base stations.
    pub fn times(&self) -> Times {
        self.nodes.values().map(Node::times).fold(Times::default(), Times::and)
    }
}

impl ReceivedReport<'_> {
    /// Returns the time at which the base station measured the statistics, in microseconds since the Unix epoch, or
    /// `None` if the time is unknown.
    pub fn tstamp_us(&self) -> Option<i64> {
        let (stamp, time) = self.stamp?;
        if stamp.is_start { time.end_us } else { Some(stamp.at_us) }
    }

    /// Returns the time stamp of the report and its interpretation, or `None` if the model has no time stamp.
    pub fn stamp(&self) -> Option<(Stamp, ReportTime)> {
        self.stamp
    }

    /// Decodes the report.
    ///
    /// # Errors
    ///
    /// Returns an error if the report is not valid for its model.
    pub fn table(&self) -> Result<Table, SmError> {
        let mut context = self.function.context(&self.action);
        let table = self.model.table_in(self.encoding, &mut context, self.header, self.message);
        self.function.learn_text(&self.node, self.model, context.text);
        let mut table = table?;
        if self.stamp.is_some_and(|(stamp, _)| stamp.is_start) {
            table.tstamp_us = self.tstamp_us();
        }
        Ok(table)
    }

    /// Returns the selected rows of the report's table.
    pub fn lines<'a>(&'a self, table: &'a Table, received_us: i64) -> impl Iterator<Item = Line<'a>> {
        let node = self.node.to_string();
        let rows = table.rows().filter(|(key, _)| self.ue.is_none() || key.ue() == self.ue);
        rows.map(move |(key, values)| Line {
            node: node.clone(),
            model: self.model,
            tstamp_us: table.tstamp_us,
            received_us,
            key,
            columns: self.columns,
            values,
        })
    }
}

/// A row of a report with its identity. Its JSON form is an object with `node`, `sm`, `tstamp_us`, `received_us`,
/// `ue`, `bearer` and `tunnel` (where present), followed by one field per column.
pub struct Line<'a> {
    /// Name of the base station.
    pub node: String,
    /// Service model of the report.
    pub model: &'static dyn Model,
    /// Time at which the base station measured the statistics, in microseconds since the Unix epoch.
    pub tstamp_us: Option<i64>,
    /// Time of arrival on this machine's clock, in microseconds since the Unix epoch.
    pub received_us: i64,
    /// UE, bearer or tunnel of the row.
    pub key: RowKey,
    columns: &'a [Column],
    values: &'a [Value],
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("node", &self.node)?;
        map.serialize_entry("sm", self.model.name())?;
        map.serialize_entry("tstamp_us", &self.tstamp_us)?;
        map.serialize_entry("received_us", &self.received_us)?;
        for (name, value) in identity(self.key) {
            if let Some(value) = value {
                map.serialize_entry(name, &value)?;
            }
        }
        if let Some((kind, number)) = self.key.other() {
            map.serialize_entry(kind, &number)?;
        }
        for (column, value) in self.columns.iter().zip(self.values) {
            match value {
                Value::Unsigned(value) => map.serialize_entry(&column.name, value)?,
                Value::Signed(value) => map.serialize_entry(&column.name, value)?,
                Value::Single(value) => map.serialize_entry(&column.name, value)?,
                Value::Double(value) => map.serialize_entry(&column.name, value)?,
                Value::Text(value) => map.serialize_entry(&column.name, value)?,
            }
        }
        map.end()
    }
}

/// Returns the numbers of a key, by name.
fn identity(key: RowKey) -> [(&'static str, Option<u32>); 3] {
    [("ue", key.ue()), ("bearer", key.bearer().map(u32::from)), ("tunnel", key.tunnel())]
}
