//! RAN function description: the reports that a node offers (E2SM-KPM clause 8.2.2.1).
use super::OID;
use super::action::{ActionDefinition, ActionFormat, Measurements};
use super::measure::*;
use crate::e2sm::common::{FunctionName, Name, Oran};
use crate::e2sm::octets::octets;
use crate::per::{IntExt, List, Opt, SelfCoded, Unconstrained};
use crate::sequence;

/// Maximum number of styles of one type.
pub const STYLES_MAX: u64 = 63;

octets! {
    FunctionDescription: Per => Oran;
}

sequence! {
    /// RAN function description.
    FunctionDescription "E2SM-KPM-RANfunction-Description" {
        name: FunctionName [SelfCoded] "ranFunction-Name", "Name and OID.",
        triggers: Option<Vec<TriggerStyle>> [Opt<List<1, STYLES_MAX>>] "ric-EventTriggerStyle-List", "Event trigger styles.",
        reports: Option<Vec<ReportStyle>> [Opt<List<1, STYLES_MAX>>] "ric-ReportStyle-List", "Report styles.",
    }
    /// An event trigger style.
    #[derive(Eq, Hash)]
    TriggerStyle "RIC-EventTriggerStyle-Item" {
        style: i64 [Unconstrained] "ric-EventTriggerStyle-Type", "Style number.",
        name: String [Name] "ric-EventTriggerStyle-Name", "Name for display.",
        format: i64 [Unconstrained] "ric-EventTriggerFormat-Type", "Format of the event trigger definition.",
    }
    /// A report style.
    ReportStyle "RIC-ReportStyle-Item" {
        style: i64 [Unconstrained] "ric-ReportStyle-Type", "Style number.",
        name: String [Name] "ric-ReportStyle-Name", "Name for display.",
        action_format: i64 [Unconstrained] "ric-ActionFormat-Type", "Format of the action definition.",
        measurements: Vec<Offered> [List<1, LIST_MAX>] "measInfo-Action-List", "Available measurements.",
        header_format: i64 [Unconstrained] "ric-IndicationHeaderFormat-Type", "Format of the indication header.",
        message_format: i64 [Unconstrained] "ric-IndicationMessageFormat-Type", "Format of the indication message.",
    }
    /// An available measurement.
    Offered "MeasurementInfo-Action-Item" {
        name: String [MeasurementName] "measName", "Name.",
        id: Option<u32> [Opt<IntExt<1, 65_536>>] "measID", "Identifier.";
        bins: BinRanges [SelfCoded] "binRangeDef", "Bins.",
    }
}

/// Report styles: name, and format of the indication message. The names are short, because FlexRIC accepts at most
/// 1,022 bytes in total.
const STYLES: [(&str, i64); 5] = [
    ("E2 Node", 1),
    ("Single UE", 1),
    ("Condition-based", 2),
    ("Common Condition-based", 3),
    ("Multiple UEs", 3),
];

/// Order in which the styles are listed.
const ORDER: [usize; 5] = [4, 1, 2, 3, 5];

impl FunctionDescription {
    /// Creates a description with the usual name, periodic reports, all measurements in style 1, and those of `ue` in
    /// styles 2 to 5. The identifier of a measurement is its position, counted from 1. Style 4 is listed first,
    /// because FlexRIC's xApps assume this.
    pub fn new(ue: &[&str], node: &[&str]) -> Self {
        let all: Vec<&&str> = ue.iter().chain(node).collect();
        let id = |name: &str| all.iter().zip(1..).find(|(it, _)| ***it == name).map(|(_, id)| id);
        let offered = |name: &&str| Offered { name: (*name).to_owned(), id: id(name), bins: None };
        let style = |(name, message_format): &(&str, i64), style| ReportStyle {
            style,
            name: (*name).to_owned(),
            action_format: style,
            measurements: ue.iter().chain(node.iter().filter(|_| style == 1)).map(offered).collect(),
            header_format: 1,
            message_format: *message_format,
        };
        Self {
            name: FunctionName {
                short_name: "ORAN-E2SM-KPM".to_owned(),
                oid: OID.to_owned(),
                description: "KPM Monitor".to_owned(),
                instance: None,
            },
            triggers: Some(vec![TriggerStyle { style: 1, name: "Periodic Report".to_owned(), format: 1 }]),
            reports: Some(ORDER.iter().map(|&number| style(&STYLES[number - 1], number as i64)).collect()),
        }
    }

    /// Returns an action that reports all measurements of a style: of each UE that passes `test` (style 4), otherwise of the node (style
    /// 1). Returns `None` if the function offers neither style.
    pub fn everything(&self, test: Test, granularity_ms: u32) -> Option<ActionDefinition> {
        let styles = self.reports.as_deref().unwrap_or_default();
        let of = |number| styles.iter().find(|style| style.action_format == number);
        let measurements = |style: &ReportStyle| {
            Measurements::plain(style.measurements.iter().map(|it| it.name.as_str()), granularity_ms)
        };
        let by_ue = of(4).map(|style| (style, ActionFormat::of_ues(test, measurements(style))));
        let found = by_ue.or_else(|| of(1).map(|style| (style, ActionFormat::Node(measurements(style)))));
        found.map(|(style, format)| ActionDefinition { style: style.style, format })
    }
}
