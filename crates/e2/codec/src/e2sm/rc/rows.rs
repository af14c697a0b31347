//! Indications as rows: one row per parameter with a value, and one per reported UE and cell.
use super::indication::{IndicationFormat, IndicationHeader, IndicationHeaderFormat, IndicationMessage};
use super::neighbours::{Neighbour, NeighbourRelations, Truth};
use super::parameter::{Parameter, ParameterValue, Structure, Value as Element};
use super::reports::{
    HANDOVER_PARAMETERS, MESSAGE_PARAMETERS, PROCESS_PARAMETERS, UE_PARAMETERS, copied_from,
};
use crate::e2sm::common::{Cgi, UeId};
use crate::e2sm::table::Row;
use crate::e2sm::{Column, Kind, RowKey, Table, Type, Value};

/// An element of a parameter tree, or a UE or cell without parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterRow {
    /// UE; `None` for the node.
    pub ue: Option<UeId>,
    /// `report`, `insert`, or `on-demand`.
    pub service: &'static str,
    /// Ids from the root of the tree, separated by dots; empty without a parameter.
    pub path: String,
    /// Name, if ranlab knows the parameter at the root.
    pub name: &'static str,
    /// Value as text.
    pub text: String,
    /// Value as a number, NaN if it is not a number.
    pub number: f64,
}

impl Row for ParameterRow {
    fn columns() -> Vec<Column> {
        let column = Column::without_unit;
        vec![
            column("of", Kind::Label, Type::Text, true),
            column("service", Kind::Label, Type::Text, true),
            column("parameter", Kind::Label, Type::Text, true),
            column("name", Kind::Label, Type::Text, true),
            column("value", Kind::Label, Type::Text, true),
            column("number", Kind::Gauge, Type::Float, false),
            column("ue_ids", Kind::Label, Type::Text, false),
        ]
    }

    fn key(&self) -> RowKey {
        self.ue.as_ref().map_or(RowKey::Node, |ue| RowKey::Ue { rnti: ue.number() })
    }

    fn values(&self, out: &mut Vec<Value>) {
        let of = self.ue.as_ref().map_or_else(|| "node".to_owned(), UeId::to_string);
        out.extend([
            Value::Text(of.into()),
            Value::Text(self.service.into()),
            Value::Text(self.path.clone().into()),
            Value::Text(self.name.into()),
            Value::Text(self.text.clone().into()),
            Value::Double(self.number),
            Value::Text(self.ue.as_ref().map_or_else(String::new, |ue| ue.ids().to_string()).into()),
        ]);
    }
}

/// UE and service of a parameter tree.
struct RowOwner<'a> {
    ue: Option<&'a UeId>,
    service: &'static str,
    names: &'static [(u32, &'static str)],
}

fn shown(value: &Element) -> (String, f64) {
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect();
    match value {
        Element::Bool(value) => (value.to_string(), f64::from(u8::from(*value))),
        Element::Int(value) => (value.to_string(), *value as f64),
        Element::Real(value) => (value.to_string(), *value),
        Element::Bits(bits) => (format!("{bits:?}"), f64::NAN),
        Element::Octets(octets) => (hex(octets), f64::NAN),
        Element::Text(text) => (text.clone(), f64::NAN),
    }
}

impl RowOwner<'_> {
    fn push(&self, table: &mut Table, path: String, name: &'static str, (text, number): (String, f64)) {
        table.push(&ParameterRow { ue: self.ue.cloned(), service: self.service, path, name, text, number });
    }

    /// Appends a row for each neighbour: cell, physical cell identity, and whether handovers to it are possible.
    fn neighbours(&self, relations: Option<&NeighbourRelations>, table: &mut Table) {
        for it in relations.iter().flat_map(|it| &it.neighbours) {
            let (of, pci, works) = match it {
                Neighbour::Nr(it) => (cell(&Cgi::Nr(it.cell)), it.pci, it.handover),
                Neighbour::Eutra(it) => (cell(&Cgi::Eutra(it.cell)), it.pci, it.handover),
            };
            let works = if works == Truth::True { "handovers work" } else { "not handed over to yet" };
            let text = format!("{of}, PCI {pci}, {works}");
            self.push(table, String::new(), "Neighbour", (text, pci.into()));
        }
    }

    fn parameters(&self, parameters: &[Parameter], above: &str, root: &'static str, table: &mut Table) {
        for it in parameters {
            let name = if above.is_empty() {
                self.names.iter().find(|(id, _)| *id == it.id).map_or("", |(_, name)| name)
            } else {
                root
            };
            let path = format!("{above}{}", it.id);
            let within = |structure: &Structure, table: &mut Table| {
                self.parameters(structure.parts(), &format!("{path}."), name, table);
            };
            match &it.value {
                ParameterValue::Structure(structure) => within(structure, table),
                ParameterValue::List(structures) => structures.iter().for_each(|it| within(it, table)),
                _ => {
                    let value = it.scalar().map_or_else(|| (String::new(), f64::NAN), shown);
                    self.push(table, path, name, value);
                }
            }
        }
    }
}

fn cell(cell: &Cgi) -> String {
    match cell {
        Cgi::Nr(cell) => format!("{} {:09x}", cell.plmn, cell.cell),
        Cgi::Eutra(cell) => format!("{} {:07x}", cell.plmn, cell.cell),
    }
}

/// Appends the rows of an indication.
pub(super) fn push(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
    let rows = table.len();
    let insert_ue =
        if let IndicationHeaderFormat::Insert(header) = &header.format { Some(&header.ue) } else { None };
    let report = |ue, names| RowOwner { ue, service: "report", names };
    let demand = |ue| RowOwner { ue, service: "on-demand", names: &[] };
    match &message.format {
        IndicationFormat::Parameters(parameters) => {
            let ue = copied_from(parameters);
            report(ue.as_ref(), &MESSAGE_PARAMETERS).parameters(parameters, "", "", table);
        }
        IndicationFormat::Ues(ues) => {
            for ue in ues {
                // Report styles 2 and 4 have this format. Only style 4 has the parameter `STATE_CHANGED_TO`.
                let of_ue = ue.parameters.iter().any(|it| it.id == super::reports::STATE_CHANGED_TO);
                let names: &[_] = if of_ue { &UE_PARAMETERS } else { &PROCESS_PARAMETERS };
                report(Some(&ue.ue), names).parameters(&ue.parameters, "", "", table);
            }
        }
        IndicationFormat::Cells(cells) => {
            for it in cells {
                let what = if it.deleted == Some(true) { "Cell deleted" } else { "Cell changed" };
                report(None, &[]).push(table, String::new(), what, (cell(&it.cell), f64::NAN));
                report(None, &[]).neighbours(it.neighbours.as_ref(), table);
            }
        }
        IndicationFormat::OnDemand(on_demand) => {
            for ue in &on_demand.ues {
                demand(Some(&ue.ue)).push(table, String::new(), "Cell", (cell(&ue.cell), f64::NAN));
            }
            for it in &on_demand.cells {
                demand(None).push(table, String::new(), "Cell", (cell(&it.cell), f64::NAN));
                demand(None).neighbours(it.neighbours.as_ref(), table);
            }
        }
        IndicationFormat::Insert(parameters) => {
            let of = RowOwner { ue: insert_ue, service: "insert", names: &HANDOVER_PARAMETERS };
            of.parameters(parameters, "", "", table);
        }
        IndicationFormat::Inserts(styles) => {
            let of = RowOwner { ue: None, service: "insert", names: &[] };
            for insert in styles.iter().flat_map(|style| &style.indications) {
                of.parameters(&insert.parameters, "", "", table);
            }
        }
    }
    if table.len() == rows {
        table.leave_out(|| "the report has no parameter, UE or cell".to_owned());
    }
}
