//! The values of statistics, whatever their model: the latest of each base station, as a table ([`Screen`]), row by row
//! ([`Line`]), in a file ([`Recorder`]).
//!
//! Of each report the octets are kept, written over those of the report before. They are read when somebody looks, so
//! an indication costs one copy; only a recorder or a stream of rows reads each.

mod record;
mod screen;
#[cfg(test)]
mod tests;

pub use record::{RecordError, Recorder};
pub use screen::{Room, Screen};

use std::collections::{BTreeMap, HashMap};

use ranlab_sdk::Bytes;
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{Xapp, XappEvent};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, RanFunctionId, RanFunctionItem};
use ranlab_sdk::wire::e2sm::{Column, Encoding, Model, RowKey, SmError, Table, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Base stations whose latest reports are kept to be looked at; those beyond are streamed and recorded alone.
const NODES_MAX: usize = 256;
/// Octets of the longest report that is kept to be looked at.
const REPORT_BYTES: usize = 256 << 10;

/// Which of the models.
type ModelIndex = usize;

/// What a base station offers, if it is known.
pub(crate) type FunctionsOf<'a> = dyn Fn(&GlobalE2NodeId) -> Option<Vec<RanFunctionItem>> + 'a;

/// What an xApp knows that a base station offers.
pub(crate) fn functions_of(xapp: &Xapp, node: &GlobalE2NodeId) -> Option<Vec<RanFunctionItem>> {
    xapp.node(node).map(|info| info.functions.clone())
}

/// The latest values that an xApp heard.
pub struct Values {
    models: Vec<Watched>,
    /// Only of this UE.
    ue: Option<u32>,
    /// Of each base station, the functions whose model is watched.
    functions: HashMap<GlobalE2NodeId, Vec<(RanFunctionId, ModelIndex)>>,
    latest: BTreeMap<GlobalE2NodeId, Vec<Option<Latest>>>,
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

/// The octets of a report.
#[derive(Default)]
struct Latest {
    header: Vec<u8>,
    message: Vec<u8>,
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
        Self { models, ue, functions: HashMap::new(), latest: BTreeMap::new(), beyond: false, keeps: true }
    }

    /// Values that nobody looks at: reports are told apart and passed on, none is kept.
    pub(crate) fn passing(models: &[&'static dyn Model], encoding: Option<Encoding>) -> Self {
        Self { keeps: false, ..Self::new(models, encoding, None) }
    }

    /// Takes an event of an xApp. A report comes back, to be recorded or streamed.
    pub fn take<'a>(&'a mut self, xapp: &XappHandle, event: &'a XappEvent) -> Option<Heard<'a>> {
        self.take_of(&|node| xapp.read(|xapp| functions_of(xapp, node)), event)
    }

    /// As [`take`](Self::take), where something else than the SDK says what a base station offers.
    pub(crate) fn take_of<'a>(
        &'a mut self,
        functions: &FunctionsOf<'_>,
        event: &'a XappEvent,
    ) -> Option<Heard<'a>> {
        match event {
            XappEvent::NodeAdded { node } | XappEvent::NodeChanged { node } => {
                self.ask(functions, node);
                None
            }
            XappEvent::NodeRemoved { node } => {
                self.forget(node);
                None
            }
            XappEvent::Indication { node, indication, .. } => {
                // Of many nodes that come at once some events may be dropped, of which this one tells.
                if !self.functions.contains_key(node) {
                    self.ask(functions, node);
                }
                self.hear(*node, indication.function, &indication.header, &indication.message)
            }
            _ => None,
        }
    }

    fn ask(&mut self, functions: &FunctionsOf<'_>, node: &GlobalE2NodeId) {
        if let Some(functions) = functions(node) {
            self.learn(*node, &functions);
        }
    }

    /// A base station has these functions now.
    fn learn(&mut self, node: GlobalE2NodeId, functions: &[RanFunctionItem]) {
        let watched = functions.iter().filter_map(|function| {
            let model = self.models.iter().position(|of| Some(of.model.oid()) == function.oid.as_deref());
            Some((function.id, model?))
        });
        let watched = watched.collect();
        self.functions.insert(node, watched);
    }

    /// A base station is not there any more.
    fn forget(&mut self, node: &GlobalE2NodeId) {
        self.functions.remove(node);
        self.latest.remove(node);
    }

    fn hear<'a>(
        &'a mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        header: &'a Bytes,
        message: &'a Bytes,
    ) -> Option<Heard<'a>> {
        let (_, index) = *self.functions.get(&node)?.iter().find(|(id, _)| *id == function)?;
        if !self.keeps {
            // Nobody looks.
        } else if self.latest.len() < NODES_MAX || self.latest.contains_key(&node) {
            let reports = self.latest.entry(node).or_default();
            reports.resize_with(self.models.len(), || None);
            if header.len().saturating_add(message.len()) <= REPORT_BYTES {
                let latest = reports.get_mut(index)?.get_or_insert_default();
                for (kept, octets) in [(&mut latest.header, header), (&mut latest.message, message)] {
                    kept.clear();
                    kept.extend_from_slice(octets);
                }
            }
        } else {
            self.beyond = true;
        }
        let Watched { model, encoding, columns } = self.models.get(index)?;
        Some(Heard { node, model: *model, encoding: *encoding, columns, header, message, ue: self.ue })
    }
}

impl Heard<'_> {
    /// When the base station took the statistics, microseconds since the Unix epoch; `None` if the model does not say.
    pub fn tstamp_us(&self) -> Option<i64> {
        self.model.tstamp_us(self.encoding, self.header, self.message)
    }

    /// What the report says.
    ///
    /// # Errors
    /// It is none of its model's.
    pub fn table(&self) -> Result<Table, SmError> {
        self.model.table(self.encoding, self.header, self.message)
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
