//! Messages as rows: one row per value, with measurement and label.
use std::fmt;

use super::measure::{Label, Measurement};
use super::message::{ConditionalReport, IndicationMessage, Measured, MessageFormat, Report};
use super::names::unit;
use super::naming::Naming;
use super::view::Mismatch;
use crate::e2sm::common::UeId;
use crate::e2sm::table::Row;
use crate::e2sm::{Column, Kind, RowKey, Table, Type, Value};

/// A value with its measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementRow {
    /// UE; `None` for a value of the node or cell.
    pub ue: Option<UeId>,
    /// Name of the measurement, or `#` and its identifier if it has no name.
    pub measurement: String,
    /// Label in the format of [`Label`].
    pub label: String,
    /// Value; NaN if the value is absent.
    pub value: f64,
    /// Reason why the value is absent: `noValue`, `notSatisfied`; empty for a value.
    pub absent: &'static str,
    /// Whether its granularity period is incomplete.
    pub incomplete: bool,
}

impl Row for MeasurementRow {
    fn columns() -> Vec<Column> {
        let column = Column::without_unit;
        vec![
            column("of", Kind::Label, Type::Text, true),
            column("measurement", Kind::Label, Type::Text, true),
            column("label", Kind::Label, Type::Text, true),
            column("value", Kind::Gauge, Type::Float, true),
            column("value_unit", Kind::Label, Type::Text, true),
            column("absent", Kind::Label, Type::Text, false),
            column("incomplete", Kind::Label, Type::Unsigned, false),
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
            Value::Text(self.measurement.clone().into()),
            Value::Text(self.label.clone().into()),
            Value::Double(self.value),
            Value::Text(unit(&self.measurement).into()),
            Value::Text(self.absent.into()),
            Value::Unsigned(self.incomplete.into()),
            Value::Text(self.ue.as_ref().map_or_else(String::new, |ue| ue.ids().to_string()).into()),
        ]);
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Id(id) => write!(f, "#{id}"),
        }
    }
}

impl fmt::Display for Label {
    /// Writes the set fields in the order of the encoding: `slice=1-0000ff 5qi=9`; empty for no label.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |name, value: Option<u16>| value.map(|value| format!("{name}={value}"));
        let octet = |name, value: Option<u8>| number(name, value.map(u16::from));
        let flag = |name: &str, set: bool| set.then(|| name.to_owned());
        let parts = [
            self.plmn.map(|plmn| format!("plmn={plmn}")),
            self.slice.map(|slice| format!("slice={slice}")),
            octet("5qi", self.five_qi),
            octet("qfi", self.qfi),
            octet("qci", self.qci),
            octet("qci-max", self.qci_max),
            octet("qci-min", self.qci_min),
            octet("arp-max", self.arp_max),
            octet("arp-min", self.arp_min),
            number("bitrate", self.bitrate_range),
            number("layer", self.mu_mimo_layer),
            flag("sum", self.sum),
            number("x", self.bin_x),
            number("y", self.bin_y),
            number("z", self.bin_z),
            flag("override", self.override_before),
            self.start_end.map(|end| end.name().to_owned()),
            flag("min", self.min),
            flag("max", self.max),
            flag("avg", self.avg),
            number("ssb", self.ssb),
            number("beamforming", self.beamforming),
            octet("mimo", self.mimo),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

/// Appends the values of a message. A record whose number of values differs from the number of labels (some senders
/// omit values) is skipped with a reason, because its values cannot be assigned.
pub(super) fn push(message: &IndicationMessage, naming: &Naming, table: &mut Table) {
    match &message.format {
        MessageFormat::Node(report) => push_report(naming.ue.as_ref(), report, naming, table),
        MessageFormat::Ues(ues) => {
            ues.iter().for_each(|ue| push_report(Some(&ue.ue), &ue.report, naming, table));
        }
        MessageFormat::Conditional(report) => push_conditional(report, naming, table),
    }
}

fn push_report(ue: Option<&UeId>, report: &Report, naming: &Naming, table: &mut Table) {
    for record in &report.records {
        let names = naming.names(report.infos.as_deref(), record.values.len());
        if let Some(mismatch) = Mismatch::find(record.values.len(), names.len()) {
            table.leave_out(|| mismatch.to_string());
            continue;
        }
        for ((measurement, label), measured) in names.into_iter().zip(&record.values) {
            let (value, absent) = value_of(measured);
            let incomplete = record.incomplete;
            table.push(&MeasurementRow { ue: ue.cloned(), measurement, label, value, absent, incomplete });
        }
    }
}

/// Returns the number of a value, or NaN and the reason why it is absent.
fn value_of(measured: &Measured) -> (f64, &'static str) {
    match measured {
        Measured::NoValue(()) => (f64::NAN, "noValue"),
        Measured::NotSatisfied(()) => (f64::NAN, "notSatisfied"),
        it => (it.number().unwrap_or(f64::NAN), ""),
    }
}

fn push_conditional(report: &ConditionalReport, naming: &Naming, table: &mut Table) {
    let of = |it: &super::MatchedMeasurement| -> Vec<_> {
        it.ues.iter().flatten().map(|ue| (naming.name(&it.measurement), ue.clone())).collect()
    };
    let names: Vec<_> = report.measurements.iter().flat_map(of).collect();
    for record in &report.records {
        if let Some(mismatch) = Mismatch::find(record.values.len(), names.len()) {
            table.leave_out(|| mismatch.to_string());
            continue;
        }
        for ((measurement, ue), measured) in names.iter().zip(&record.values) {
            let (value, absent) = value_of(measured);
            table.push(&MeasurementRow {
                ue: Some(ue.clone()),
                measurement: measurement.clone(),
                label: String::new(),
                value,
                absent,
                incomplete: record.incomplete,
            });
        }
    }
}

/// Returns a random message in which each record has the number of values that its lists require.
pub(super) fn consistent(mut message: IndicationMessage) -> IndicationMessage {
    let fit = |report: &mut Report| {
        let Some(infos) = &report.infos else { return };
        let values = infos.iter().map(|info| info.labels.len()).sum();
        report.records.iter_mut().for_each(|it| it.values.resize(values, Measured::Integer(7)));
    };
    match &mut message.format {
        MessageFormat::Node(report) => fit(report),
        MessageFormat::Ues(ues) => ues.iter_mut().for_each(|ue| fit(&mut ue.report)),
        MessageFormat::Conditional(report) => {
            let ues = |it: &super::MatchedMeasurement| it.ues.as_ref().map_or(0, Vec::len);
            // Each record gets at least one value, because a record without values would take no bytes.
            let values = report.measurements.iter().map(ues).sum::<usize>().max(1);
            report.records.iter_mut().for_each(|it| it.values.resize(values, Measured::Integer(7)));
        }
    }
    message
}
