//! What a node reports (E2SM-KPM clauses 8.2.1.3 and 8.2.1.4).
use super::action::PeriodMs;
use super::measure::*;
use super::time::TimeStamp;
use crate::e2sm::common::{Oran, UeId, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{Free, Int, List, Null, Opt, Own, True};
use crate::{choice, sequence};

octets! {
    IndicationMessage: Per => Oran;
}

/// Who measured what, and when it began: an indication header (format 1, the only one).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndicationHeader {
    /// When the collection began.
    pub start: TimeStamp,
    /// Version of the file format, for who writes files; at most 15 characters.
    pub file_format: Option<String>,
    /// Who sends, at most 400 characters.
    pub sender: Option<String>,
    /// What it is, at most 8 characters.
    pub sender_type: Option<String>,
    /// Whose it is, at most 32 characters.
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
        Real(f64) [Free] "real", "A number with a fraction.",
        NoValue(()) [Null] "noValue", "There is none.";
        NotSatisfied(()) [Null] "notSatisfied", "The condition of its report is not fulfilled (v4 and later).",
    }
}

impl Measured {
    /// The value as a number; `None` if there is none.
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
        values: Vec<Measured> [List<1, RECORD_MAX>] "measRecord", "For each measurement, for each of its labels, one.",
        incomplete: bool [True] "incompleteFlag", "Whether the period was cut short.",
    }
    /// Measurements over some granularity periods.
    Report "E2SM-KPM-IndicationMessage-Format1" {
        records: Vec<Record> [List<1, LIST_MAX>] "measData", "One for each period.",
        infos: Option<Vec<MeasurementInfo>> [Opt<List<1, LIST_MAX>>] "measInfoList", "What the values are, if it is not what the subscription says.",
        granularity_ms: Option<u32> [Opt<PeriodMs>] "granulPeriod", "The period, milliseconds.",
    }
    /// Measurements of UEs that fulfil conditions.
    ConditionalReport "E2SM-KPM-IndicationMessage-Format2" {
        records: Vec<Record> [List<1, LIST_MAX>] "measData", "One for each period: for each measurement, for each of its UEs, a value.",
        measurements: Vec<MatchedMeasurement> [List<1, LIST_MAX>] "measCondUEidList", "What the values are, and of whom.",
        granularity_ms: Option<u32> [Opt<PeriodMs>] "granulPeriod", "The period, milliseconds.",
    }
    /// A measurement and the UEs that fulfilled its conditions.
    MatchedMeasurement "MeasurementCondUEidItem" {
        measurement: Measurement [Own] "measType", "What.",
        conditions: Vec<Matching> [List<1, CONDITIONS_MAX>] "matchingCond", "The conditions.",
        ues: Option<Vec<UeId>> [Opt<List<1, LIST_MAX, MatchingUe>>] "matchingUEidList", "Who fulfilled them.";
        ues_per_period: Vec<MatchedInPeriod> [List<1, LIST_MAX, PeriodItem>] "matchingUEidPerGP", "Who did in each period.",
    }
    /// Measurements of a UE.
    UeReport "UEMeasurementReportItem" {
        ue: UeId [Own] "ueID", "Whose.",
        report: Report [Own] "measReport", "Which.",
    }
    /// What was measured.
    IndicationMessage "E2SM-KPM-IndicationMessage" {
        format: MessageFormat [Own] "indicationMessage-formats", "In one of three forms.",
    }
}
choice! {
    /// Who fulfilled conditions in a period.
    MatchedInPeriod "matchedPerGP" {
        Nobody(()) [True] "noUEmatched", "Nobody.",
        Ues(Vec<UeId>) [List<1, LIST_MAX, UeInPeriod>] "oneOrMoreUEmatched", "These.",
    }
    /// What was measured.
    MessageFormat "indicationMessage-formats" {
        Node(Report) [Own] "indicationMessage-Format1", "Of the node, a cell or one UE (styles 1 and 2).",
        Conditional(ConditionalReport) [Own] "indicationMessage-Format2", "By measurement (style 3).";
        Ues(Vec<UeReport>) [UeReports] "indicationMessage-Format3", "By UE (styles 4 and 5).",
    }
}
sole_component! {
    MatchingUe "ueID" UeId [Own];
    UeInPeriod "ueID" UeId [Own];
    PeriodItem "matchedPerGP" MatchedInPeriod [Own];
    UeReports "ueMeasReportList" Vec<UeReport> [List<1, LIST_MAX>];
}

impl From<MessageFormat> for IndicationMessage {
    fn from(format: MessageFormat) -> Self {
        Self { format }
    }
}
