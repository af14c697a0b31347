//! Event trigger and action definitions (E2SM-KPM clauses 8.2.1.1 and 8.2.1.2).
use super::measure::*;
use crate::e2ap::sole_alternative;
use crate::e2sm::common::{Cgi, Oran, UeId, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{EnumeratedTrue, Int, List, Opt, SelfCoded, Unconstrained};
use crate::{choice, sequence};

/// Codec of periods, in milliseconds.
pub(super) type PeriodMs = Int<1, 4_294_967_295>;

octets! {
    EventTrigger: Per => Oran;
    ActionDefinition: Per => Oran;
}

sequence! {
    /// Event trigger: periodic, which is the only format.
    #[derive(Copy, Eq, Hash)]
    EventTrigger "E2SM-KPM-EventTriggerDefinition" {
        period_ms: u32 [TriggerFormat] "eventDefinition-formats", "Report period, in milliseconds.",
    }
}
sole_alternative!(TriggerFormat "eventDefinition-Format1" u32 [ReportingPeriod]);
sole_component! {
    ReportingPeriod "reportingPeriod" u32 [PeriodMs];
}

sequence! {
    /// Action definition. The style equals the number of the format at all known nodes.
    ActionDefinition "E2SM-KPM-ActionDefinition" {
        style: i64 [Unconstrained] "ric-Style-Type", "The report style.",
        format: ActionFormat [SelfCoded] "actionDefinition-formats", "Contents, in the format of the style.",
    }
    /// Measurements with a granularity period.
    Measurements "E2SM-KPM-ActionDefinition-Format1" {
        infos: Vec<MeasurementInfo> [List<1, LIST_MAX>] "measInfoList", "Measurements and their labels.",
        granularity_ms: u32 [PeriodMs] "granulPeriod", "Granularity period, in milliseconds.",
        cell: Option<Cgi> [Opt] "cellGlobalID", "Cell, if the measurements are limited to one.";
        bins: Vec<MeasurementBins> [List<1, LIST_MAX>] "distMeasBinRangeInfo", "Bins of distributions.",
    }
    /// Measurements of one UE.
    UeMeasurements "E2SM-KPM-ActionDefinition-Format2" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        measurements: Measurements [SelfCoded] "subscriptInfo", "Measurements.",
    }
    /// Measurements, each for the UEs that fulfil its conditions.
    ConditionalMeasurements "E2SM-KPM-ActionDefinition-Format3" {
        measurements: Vec<ConditionalMeasurement> [List<1, LIST_MAX>] "measCondList", "Measurements and their conditions.",
        granularity_ms: u32 [PeriodMs] "granulPeriod", "Granularity period, in milliseconds.",
        cell: Option<Cgi> [Opt] "cellGlobalID", "Cell, if the measurements are limited to one.",
    }
    /// A condition on UEs.
    UeMatching "MatchingUeCondPerSubItem" {
        test: Test [SelfCoded] "testCondInfo", "The condition.";
        or: () [EnumeratedTrue] "logicalOR", "Whether this condition is combined with the next one by OR.",
    }
    /// Measurements of each UE that fulfils conditions.
    MatchingUeMeasurements "E2SM-KPM-ActionDefinition-Format4" {
        conditions: Vec<UeMatching> [List<1, CONDITIONS_MAX>] "matchingUeCondList", "Conditions on the UEs.",
        measurements: Measurements [SelfCoded] "subscriptionInfo", "Measurements.",
    }
    /// Measurements of several UEs.
    UesMeasurements "E2SM-KPM-ActionDefinition-Format5" {
        ues: Vec<UeId> [List<2, LIST_MAX, UePerSubscription>] "matchingUEidList", "UEs, at least two.",
        measurements: Measurements [SelfCoded] "subscriptionInfo", "Measurements.",
    }
}
sole_component! {
    UePerSubscription "ueID" UeId [SelfCoded];
}
choice! {
    /// Format of the action definition.
    ActionFormat "actionDefinition-formats" {
        Node(Measurements) [SelfCoded] "actionDefinition-Format1", "Measurements of the node or a cell (style 1).",
        Ue(UeMeasurements) [SelfCoded] "actionDefinition-Format2", "Measurements of one UE (style 2).",
        Conditional(ConditionalMeasurements) [SelfCoded] "actionDefinition-Format3", "Measurements, each with conditions for the UEs (style 3).";
        MatchingUes(MatchingUeMeasurements) [SelfCoded] "actionDefinition-Format4", "Measurements of each UE that fulfils the conditions (style 4).",
        Ues(UesMeasurements) [SelfCoded] "actionDefinition-Format5", "Measurements of each UE in a list (style 5).",
    }
}

impl ActionFormat {
    /// Returns the number of the format, which equals the report style.
    pub const fn number(&self) -> i64 {
        match self {
            Self::Node(_) => 1,
            Self::Ue(_) => 2,
            Self::Conditional(_) => 3,
            Self::MatchingUes(_) => 4,
            Self::Ues(_) => 5,
        }
    }

    /// Requests measurements of each UE of a slice.
    pub fn of_slice(slice: crate::e2sm::common::Snssai, measurements: Measurements) -> Self {
        Self::of_ues(Test::slice(slice), measurements)
    }

    /// Requests measurements of each UE that passes a test.
    pub fn of_ues(test: Test, measurements: Measurements) -> Self {
        let conditions = vec![UeMatching { test, or: None }];
        Self::MatchingUes(MatchingUeMeasurements { conditions, measurements })
    }
}

impl From<ActionFormat> for ActionDefinition {
    fn from(format: ActionFormat) -> Self {
        Self { style: format.number(), format }
    }
}

impl Measurements {
    /// Requests measurements without labels.
    pub fn plain<'a>(names: impl IntoIterator<Item = &'a str>, granularity_ms: u32) -> Self {
        let infos = names.into_iter().map(MeasurementInfo::plain).collect();
        Self { infos, granularity_ms, cell: None, bins: None }
    }
}
