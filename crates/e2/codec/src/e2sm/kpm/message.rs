//! Indication header and message (E2SM-KPM clauses 8.2.1.3 and 8.2.1.4).
use super::action::PeriodMs;
use super::measure::*;
use super::time::TimeStamp;
use crate::e2sm::common::{Oran, UeId, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{EnumeratedTrue, Int, List, Null, Opt, SelfCoded, Unconstrained};
use crate::{choice, sequence};

octets! {
    IndicationMessage: Per => Oran;
}

/// Indication header (format 1, the only one): sender and start of the collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndicationHeader {
    /// Start of the collection.
    pub start: TimeStamp,
    /// Version of the file format, if reports are written to files; at most 15 characters.
    pub file_format: Option<String>,
    /// Name of the sender, at most 400 characters.
    pub sender: Option<String>,
    /// Type of the sender, at most 8 characters.
    pub sender_type: Option<String>,
    /// Vendor of the sender, at most 32 characters.
    pub vendor: Option<String>,
}

impl From<TimeStamp> for IndicationHeader {
    fn from(start: TimeStamp) -> Self {
        Self { start, file_format: None, sender: None, sender_type: None, vendor: None }
    }
}

choice! {
    /// A value.
    #[derive(Copy)]
    Measured "MeasurementRecordItem" {
        Integer(u32) [Int<0, 4_294_967_295>] "integer", "A count or a whole number.",
        Real(f64) [Unconstrained] "real", "A number with a fraction.",
        NoValue(()) [Null] "noValue", "No value.";
        NotSatisfied(()) [Null] "notSatisfied", "The condition of the report is not fulfilled (v4 and later).",
    }
}

impl Measured {
    /// Returns the value as a number, or `None` if there is no value.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(value.into()),
            Self::Real(value) => Some(value),
            Self::NoValue(()) | Self::NotSatisfied(()) => None,
        }
    }
}

sequence! {
    /// The values of one granularity period.
    Record "MeasurementDataItem" {
        values: Vec<Measured> [List<1, RECORD_MAX>] "measRecord", "One value per label of each measurement.",
        incomplete: bool [EnumeratedTrue] "incompleteFlag", "Whether the period is incomplete.",
    }
    /// Measurements over one or more granularity periods.
    Report "E2SM-KPM-IndicationMessage-Format1" {
        records: Vec<Record> [List<1, LIST_MAX>] "measData", "One record per granularity period.",
        /// Measurements of the values, if they differ from the measurements of the subscription.
        infos: Option<Vec<MeasurementInfo>> [Opt<List<1, LIST_MAX>>] "measInfoList",
        granularity_ms: Option<u32> [Opt<PeriodMs>] "granulPeriod", "Granularity period, in milliseconds.",
    }
    /// Measurements, each for the UEs that fulfil its conditions.
    ConditionalReport "E2SM-KPM-IndicationMessage-Format2" {
        records: Vec<Record> [List<1, LIST_MAX>] "measData", "One record per granularity period, with one value per UE of each measurement.",
        measurements: Vec<MatchedMeasurement> [List<1, LIST_MAX>] "measCondUEidList", "Measurements of the values, and their UEs.",
        granularity_ms: Option<u32> [Opt<PeriodMs>] "granulPeriod", "Granularity period, in milliseconds.",
    }
    /// A measurement and the UEs that fulfilled its conditions.
    MatchedMeasurement "MeasurementCondUEidItem" {
        measurement: Measurement [SelfCoded] "measType", "Measurement.",
        conditions: Vec<Matching> [List<1, CONDITIONS_MAX, Condition>] "matchingCond", "The conditions.",
        ues: Option<Vec<UeId>> [Opt<List<1, LIST_MAX, MatchingUe>>] "matchingUEidList", "UEs that fulfilled the conditions.";
        ues_per_period: Vec<MatchedInPeriod> [List<1, LIST_MAX, PeriodItem>] "matchingUEidPerGP", "UEs that fulfilled the conditions, per granularity period.",
    }
    /// Measurements of a UE.
    UeReport "UEMeasurementReportItem" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        report: Report [SelfCoded] "measReport", "Measured values.",
    }
    /// Indication message.
    IndicationMessage "E2SM-KPM-IndicationMessage" {
        format: MessageFormat [SelfCoded] "indicationMessage-formats", "One of three formats.",
    }
}
choice! {
    /// UEs that fulfilled the conditions in one granularity period.
    MatchedInPeriod "matchedPerGP" {
        Nobody(()) [EnumeratedTrue] "noUEmatched", "No UE.",
        Ues(Vec<UeId>) [List<1, LIST_MAX, UeInPeriod>] "oneOrMoreUEmatched", "List of UEs.",
    }
    /// Format of the indication message.
    MessageFormat "indicationMessage-formats" {
        Node(Report) [SelfCoded] "indicationMessage-Format1", "Values of the node, a cell or one UE (styles 1 and 2).",
        Conditional(ConditionalReport) [SelfCoded] "indicationMessage-Format2", "Values per measurement (style 3).";
        Ues(Vec<UeReport>) [UeReports] "indicationMessage-Format3", "Values per UE (styles 4 and 5).",
    }
}
sole_component! {
    MatchingUe "ueID" UeId [SelfCoded];
    UeInPeriod "ueID" UeId [SelfCoded];
    PeriodItem "matchedPerGP" MatchedInPeriod [SelfCoded];
    UeReports "ueMeasReportList" Vec<UeReport> [List<1, LIST_MAX>];
}

impl From<MessageFormat> for IndicationMessage {
    fn from(format: MessageFormat) -> Self {
        Self { format }
    }
}
