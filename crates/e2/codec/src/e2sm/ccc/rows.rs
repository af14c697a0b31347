//! Indications as rows: one row per attribute.
use serde_json::Value as Json;

use super::messages::{IndicationHeader, IndicationMessage, MessageFormat, Reason, Reported};
use crate::e2sm::table::Row;
use crate::e2sm::{Column, Kind, RowKey, Table, Type, Value};

/// An attribute of a structure.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributeRow {
    /// `node`, or the digits of the cell.
    pub of: String,
    /// Name of the structure.
    pub structure: String,
    /// Name of the attribute.
    pub attribute: String,
    /// Value: text unchanged, anything else as JSON.
    pub text: String,
    /// Value as a number, NaN if it is not a number.
    pub number: f64,
    /// Change of the structure.
    pub change: &'static str,
    /// Reason of the indication.
    pub reason: &'static str,
}

impl Row for AttributeRow {
    fn columns() -> Vec<Column> {
        let column = Column::without_unit;
        vec![
            column("of", Kind::Label, Type::Text, true),
            column("structure", Kind::Label, Type::Text, true),
            column("attribute", Kind::Label, Type::Text, true),
            column("value", Kind::Label, Type::Text, true),
            column("number", Kind::Gauge, Type::Float, false),
            column("change", Kind::Label, Type::Text, true),
            column("reason", Kind::Label, Type::Text, false),
        ]
    }

    fn key(&self) -> RowKey {
        RowKey::Node
    }

    fn values(&self, out: &mut Vec<Value>) {
        out.extend([
            Value::Text(self.of.clone().into()),
            Value::Text(self.structure.clone().into()),
            Value::Text(self.attribute.clone().into()),
            Value::Text(self.text.clone().into()),
            Value::Double(self.number),
            Value::Text(self.change.into()),
            Value::Text(self.reason.into()),
        ]);
    }
}

/// Appends the rows of an indication.
pub(super) fn push(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
    let reason = match header.format.reason {
        Reason::UponSubscription => "uponSubscription",
        Reason::UponChange => "uponChange",
        Reason::Periodic => "periodic",
    };
    let rows = table.len();
    let mut push = |of: &str, structure: &Reported| {
        for (attribute, value) in &structure.values.attributes.0 {
            table.push(&AttributeRow {
                of: of.to_owned(),
                structure: structure.name.clone(),
                attribute: attribute.clone(),
                text: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                number: if let Json::Number(it) = value { it.as_f64().unwrap_or(f64::NAN) } else { f64::NAN },
                change: structure.change.name(),
                reason,
            });
        }
    };
    match &message.format {
        MessageFormat::Node { structures } => structures.iter().for_each(|it| push("node", it)),
        MessageFormat::Cells { cells } => {
            for cell in cells {
                let (super::CellId::Nr { cell: of, .. } | super::CellId::Eutra { cell: of, .. }) = &cell.cell;
                cell.structures.iter().for_each(|it| push(of, it));
            }
        }
    }
    if table.len() == rows {
        table.leave_out(|| "no structure of the report has an attribute".to_owned());
    }
}
