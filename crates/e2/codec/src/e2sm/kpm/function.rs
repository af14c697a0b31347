//! What a node can report: the RAN function description (E2SM-KPM clause 8.2.2.1).
use super::OID;
use super::action::{ActionDefinition, ActionFormat, Measurements};
use super::measure::*;
use crate::e2sm::common::{FunctionName, Name, Oran};
use crate::e2sm::octets::octets;
use crate::per::{Free, IntExt, List, Opt, Own};
use crate::sequence;

/// Styles of a kind, at most.
pub const STYLES_MAX: u64 = 63;

octets! {
    FunctionDescription: Per => Oran;
}

sequence! {
    /// What a node can report.
    FunctionDescription "E2SM-KPM-RANfunction-Description" {
        name: FunctionName [Own] "ranFunction-Name", "Name and OID.",
        triggers: Option<Vec<TriggerStyle>> [Opt<List<1, STYLES_MAX>>] "ric-EventTriggerStyle-List", "Event trigger styles.",
        reports: Option<Vec<ReportStyle>> [Opt<List<1, STYLES_MAX>>] "ric-ReportStyle-List", "Report styles.",
    }
    /// A way to say when to report.
    #[derive(Eq, Hash)]
    TriggerStyle "RIC-EventTriggerStyle-Item" {
        style: i64 [Free] "ric-EventTriggerStyle-Type", "Style number.",
        name: String [Name] "ric-EventTriggerStyle-Name", "Name for display.",
        format: i64 [Free] "ric-EventTriggerFormat-Type", "Format of the event trigger definition.",
    }
    /// A way to report.
    ReportStyle "RIC-ReportStyle-Item" {
        style: i64 [Free] "ric-ReportStyle-Type", "Style number.",
        name: String [Name] "ric-ReportStyle-Name", "Name for display.",
        action_format: i64 [Free] "ric-ActionFormat-Type", "Format of the action definition.",
        measurements: Vec<Offered> [List<1, LIST_MAX>] "measInfo-Action-List", "Available measurements.",
        header_format: i64 [Free] "ric-IndicationHeaderFormat-Type", "Format of the indication header.",
        message_format: i64 [Free] "ric-IndicationMessageFormat-Type", "Format of the indication message.",
    }
    /// A measurement that can be had.
    Offered "MeasurementInfo-Action-Item" {
        name: String [MeasurementName] "measName", "Name.",
        id: Option<u32> [Opt<IntExt<1, 65_536>>] "measID", "Identifier.";
        bins: BinRanges [Own] "binRangeDef", "Bins.",
    }
}

/// The report styles: name, and format of the indication message. Short names: FlexRIC takes 1,022 bytes in all.
const STYLES: [(&str, i64); 5] = [
    ("E2 Node", 1),
    ("Single UE", 1),
    ("Condition-based", 2),
    ("Common Condition-based", 3),
    ("Multiple UEs", 3),
];

/// The styles in the order in which they are offered.
const ORDER: [usize; 5] = [4, 1, 2, 3, 5];

impl FunctionDescription {
    /// The customary name, periodic reports, these measurements in style 1, those of `ue` alone in styles 2 to 5. Each has its
    /// place among them, counted from 1, as its identifier. Style 4 comes first: FlexRIC's xApps take the first one for it.
    pub fn of(ue: &[&str], node: &[&str]) -> Self {
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

    /// An action for all that the node can report at once: of each UE (style 4) that passes `test`, else of the node
    /// (style 1); `None` if it offers neither.
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
