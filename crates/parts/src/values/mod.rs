//! The values of statistics, whatever their model: the latest of each base station, as a table ([`Screen`]), row by row
//! ([`Line`]), in a file ([`Recorder`]).
//!
//! Of each report the octets are kept, written over those of the report before. They are read when somebody looks, so
//! an indication costs one copy; only a recorder or a stream of rows reads each.

mod node;
mod record;
mod screen;
#[cfg(test)]
mod tests;

pub use node::Times;
pub use record::{RecordError, Recorder};
pub use screen::{Room, Screen};

use std::collections::{BTreeMap, HashMap};

use ranlab_sdk::Bytes;
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{SubscriptionHandle, Xapp, XappEvent};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, RanFunctionId, RanFunctionItem, RicActionId};
use ranlab_sdk::wire::e2sm::{
    Column, Context, Encoding, Model, ReportTime, RowKey, SmError, Stamp, Table, Value,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use self::node::{ActionKey, Function, Node, Report};
use crate::monitor::unix_us;

/// Base stations whose latest reports are kept to be looked at; those beyond are streamed and recorded alone.
const NODES_MAX: usize = 256;
/// Octets of the longest report that is kept to be looked at.
const REPORT_BYTES: usize = 256 << 10;

/// Index of a model.
type ModelIndex = usize;
/// Subscriptions of a base station whose latest reports are kept.
const SOURCES_MAX: usize = 64;

/// What an xApp knows of base stations and of its own subscriptions.
pub(crate) trait Knowledge {
    /// RAN functions of a base station.
    fn functions(&self, node: &GlobalE2NodeId) -> Option<Vec<RanFunctionItem>>;
    /// Action definition of a subscription.
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

/// The latest values that an xApp heard.
pub struct Values {
    models: Vec<Watched>,
    /// Only of this UE.
    ue: Option<u32>,
    /// Base stations with the functions whose model is watched.
    nodes: HashMap<GlobalE2NodeId, Node>,
    latest: BTreeMap<GlobalE2NodeId, BTreeMap<(ModelIndex, ActionKey), Latest>>,
    /// Base stations that reported were too many to be kept.
    beyond: bool,
    /// Whether reports are kept at all.
    keeps: bool,
}

/// A model, how its messages are octets, and its columns.
struct Watched {
    model: &'static dyn Model,
    encoding: Encoding,
    columns: Vec<Column>,
}

/// The bytes of a report, and what is known of its subscription.
#[derive(Default)]
struct Latest {
    header: Vec<u8>,
    message: Vec<u8>,
    context: Context,
}

/// A report as it came; its octets are read by [`table`](Self::table).
pub struct Heard<'a> {
    /// The base station.
    pub node: GlobalE2NodeId,
    /// What it is about.
    pub model: &'static dyn Model,
    encoding: Encoding,
    columns: &'a [Column],
    header: &'a Bytes,
    message: &'a Bytes,
    ue: Option<u32>,
    action: Bytes,
    function: &'a Function,
    /// Time stamp of the report as it is, and what it means.
    stamp: Option<(Stamp, ReportTime)>,
}

impl Values {
    /// Values of some models, in this encoding where they have it; of one UE alone if `ue` names it.
    pub fn new(models: &[&'static dyn Model], encoding: Option<Encoding>, ue: Option<u32>) -> Self {
        let watched = |&model: &&'static dyn Model| Watched {
            model,
            encoding: model.encoding_or(encoding),
            columns: model.columns(),
        };
        let models = models.iter().map(watched).collect();
        Self { models, ue, nodes: HashMap::new(), latest: BTreeMap::new(), beyond: false, keeps: true }
    }

    /// Values that nobody looks at: reports are told apart and passed on, none is kept.
    pub(crate) fn passing(models: &[&'static dyn Model], encoding: Option<Encoding>) -> Self {
        Self { keeps: false, ..Self::new(models, encoding, None) }
    }

    /// Takes an event of an xApp. A report comes back, to be recorded or streamed.
    pub fn take<'a>(&'a mut self, xapp: &XappHandle, event: &'a XappEvent) -> Option<Heard<'a>> {
        self.take_of(xapp, event, unix_us())
    }

    /// As [`take`](Self::take), by the knowledge of an xApp in whatever driver; `received_us`: the time of the arrival,
    /// microseconds since the Unix epoch.
    pub(crate) fn take_of<'a>(
        &'a mut self,
        xapp: &dyn Knowledge,
        event: &'a XappEvent,
        received_us: i64,
    ) -> Option<Heard<'a>> {
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
                // Of many nodes that come at once some events may be dropped, of which this one tells.
                if !self.nodes.contains_key(node) {
                    self.ask(xapp, node);
                }
                let of = (*handle, indication.action);
                self.nodes.get_mut(node)?.add_subscription(of, || xapp.action(of.0, of.1));
                let report =
                    Report { of, header: &indication.header, message: &indication.message, received_us };
                self.hear(*node, indication.function, report)
            }
            _ => None,
        }
    }

    fn ask(&mut self, xapp: &dyn Knowledge, node: &GlobalE2NodeId) {
        if let Some(functions) = xapp.functions(node) {
            self.learn(*node, &functions);
        }
    }

    /// A base station has these functions now.
    fn learn(&mut self, node: GlobalE2NodeId, functions: &[RanFunctionItem]) {
        let watched = functions.iter().filter_map(|function| {
            let oid = function.oid.as_deref()?;
            let model = self.models.iter().position(|of| of.model.is_called(oid))?;
            Some(Function::new(function.id, model, function.definition.clone()))
        });
        let functions = watched.collect();
        self.nodes.insert(node, Node::new(functions));
    }

    /// A base station is not there any more.
    fn forget(&mut self, node: &GlobalE2NodeId) {
        self.nodes.remove(node);
        self.latest.remove(node);
    }

    fn hear<'a>(
        &'a mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        report: Report<'a>,
    ) -> Option<Heard<'a>> {
        let (function, subscription) = self.nodes.get_mut(&node)?.find(function, report.of)?;
        let index = function.model;
        let Watched { model, encoding, columns } = self.models.get(index)?;
        let action = subscription.action.clone();
        let stamp = subscription.stamp(function.context(&action), *model, *encoding, &report);
        let Report { header, message, .. } = report;
        if !self.keeps {
            // Nobody looks.
        } else if self.latest.len() < NODES_MAX || self.latest.contains_key(&node) {
            let reports = self.latest.entry(node).or_default();
            let key = (index, report.of);
            let has_room = reports.len() < SOURCES_MAX || reports.contains_key(&key);
            if has_room && header.len().saturating_add(message.len()) <= REPORT_BYTES {
                let latest = reports.entry(key).or_default();
                latest.context = function.context(&action);
                for (kept, octets) in [(&mut latest.header, header), (&mut latest.message, message)] {
                    kept.clear();
                    kept.extend_from_slice(octets);
                }
            }
        } else {
            self.beyond = true;
        }
        Some(Heard {
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

    /// Why latest reports are not in rows, or only partly.
    pub fn unreadable(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (node, reports) in &self.latest {
            for ((index, _), Latest { header, message, context }) in reports {
                let Some(Watched { model, encoding, .. }) = self.models.get(*index) else { continue };
                if let Err(error) = model.check_in(*encoding, &mut context.clone(), header, message) {
                    reasons.push(format!("{} of {node}: {error}", model.name()));
                }
            }
        }
        reasons
    }

    /// What the time stamps of all base stations that are there have shown.
    pub fn times(&self) -> Times {
        self.nodes.values().map(Node::times).fold(Times::default(), Times::and)
    }
}

impl Heard<'_> {
    /// When the base station took the statistics, microseconds since the Unix epoch; `None` if that is unknown.
    pub fn tstamp_us(&self) -> Option<i64> {
        let (stamp, time) = self.stamp?;
        if stamp.is_start { time.end_us } else { Some(stamp.at_us) }
    }

    /// The time stamp of the report, and what is known of its age; `None` if the model has none.
    pub fn stamp(&self) -> Option<(Stamp, ReportTime)> {
        self.stamp
    }

    /// What the report says.
    ///
    /// # Errors
    /// It is none of its model's.
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

    /// The rows of the report's table that were asked for.
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

/// A row of a report with all that tells it from other rows. As JSON it is an object with `node`, `sm`, `tstamp_us`,
/// `received_us`, `ue`, `bearer` and `tunnel` (those that it has), then a field for each column.
pub struct Line<'a> {
    /// The base station.
    pub node: String,
    /// The service model.
    pub model: &'static dyn Model,
    /// When the base station took the statistics, microseconds since the Unix epoch.
    pub tstamp_us: Option<i64>,
    /// When they came, microseconds since the Unix epoch, on this machine's clock.
    pub received_us: i64,
    /// Whom it is about.
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

/// The numbers of a key, by name.
fn identity(key: RowKey) -> [(&'static str, Option<u32>); 3] {
    [("ue", key.ue()), ("bearer", key.bearer().map(u32::from)), ("tunnel", key.tunnel())]
}
