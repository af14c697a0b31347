//! Measurements, labels and conditions (E2SM-KPM clause 8.3).
use bytes::Bytes;

use crate::e2ap::{Plmn, PlmnCodec};
use crate::e2sm::common::{Snssai, SnssaiCodec, sole_component};
use crate::per::{
    BitString, Codec, DecodeError, EncodeError, EnumeratedTrue, Int, IntExt, List, Notation, Opt, Per,
    SelfCoded, Source, Str, Unconstrained, Writer,
};
use crate::{choice, enumerated, sequence};

/// Maximum number of elements of most lists.
pub const LIST_MAX: u64 = 65_535;
/// Maximum number of labels of a measurement and of values of a record.
pub const RECORD_MAX: u64 = 2_147_483_647;
/// Maximum number of conditions of a list.
pub const CONDITIONS_MAX: u64 = 32_768;
/// Codec of bin indexes, rates and similar numbers.
type Number = IntExt<1, 65_535>;
/// Codec of allocation and retention priorities.
type Priority = IntExt<1, 15>;
/// Codec of QoS class identifiers of LTE.
type Qci = Int<0, 255>;
/// Codec of measurement names, as defined by TS 28.552, TS 32.425 or the service model.
pub(super) type MeasurementName = Str<1, 150>;

choice! {
    /// A measurement.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    Measurement "MeasurementType" {
        Name(String) [MeasurementName] "measName", "Name, for example `DRB.UEThpDl`.",
        Id(u32) [IntExt<1, 65_536>] "measID", "Identifier from the RAN function definition; some nodes crash on identifiers.",
    }
}

impl From<&str> for Measurement {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

enumerated! {
    /// End of an interval to which a value belongs.
    StartEnd "startEndInd" {
        Start "start", "Start of the interval.",
        End "end", "End of the interval.",
    }
}

sequence! {
    /// Label that selects one of several values of a measurement.
    #[derive(Eq, Hash, Default)]
    Label "MeasurementLabel" {
        no_label: bool [EnumeratedTrue] "noLabel", "No label.",
        plmn: Option<Plmn> [Opt<PlmnCodec>] "plmnID", "PLMN.",
        slice: Option<Snssai> [Opt<SnssaiCodec>] "sliceID", "Slice.",
        five_qi: Option<u8> [Opt<IntExt<0, 255>>] "fiveQI", "5G QoS identifier.",
        qfi: Option<u8> [Opt<IntExt<0, 63>>] "qFI", "QoS flow identifier.",
        qci: Option<u8> [Opt<Qci>] "qCI", "QoS class identifier.",
        qci_max: Option<u8> [Opt<Qci>] "qCImax", "Highest QoS class identifier.",
        qci_min: Option<u8> [Opt<Qci>] "qCImin", "Lowest QoS class identifier.",
        arp_max: Option<u8> [Opt<Priority>] "aRPmax", "Highest allocation and retention priority.",
        arp_min: Option<u8> [Opt<Priority>] "aRPmin", "Lowest allocation and retention priority.",
        bitrate_range: Option<u16> [Opt<Number>] "bitrateRange", "Bit rate range.",
        mu_mimo_layer: Option<u16> [Opt<Number>] "layerMU-MIMO", "MIMO layer.",
        sum: bool [EnumeratedTrue] "sUM", "Sum.",
        bin_x: Option<u16> [Opt<Number>] "distBinX", "Bin in the first dimension.",
        bin_y: Option<u16> [Opt<Number>] "distBinY", "Bin in the second dimension.",
        bin_z: Option<u16> [Opt<Number>] "distBinZ", "Bin in the third dimension.",
        override_before: bool [EnumeratedTrue] "preLabelOverride", "Whether the label replaces the previous label.",
        start_end: Option<StartEnd> [Opt] "startEndInd", "Start or end of the period.",
        min: bool [EnumeratedTrue] "min", "Minimum.",
        max: bool [EnumeratedTrue] "max", "Maximum.",
        avg: bool [EnumeratedTrue] "avg", "Mean.";
        ssb: u16 [Number] "ssbIndex", "Index of the synchronization signal block.",
        beamforming: u16 [Number] "nonGoB-BFmode-Index", "Index of the non-grid-of-beams beamforming mode.",
        mimo: u8 [IntExt<1, 2>] "mIMO-mode-Index", "Single-user (1) or multi-user (2) MIMO.",
    }
    /// A measurement and its labels, as requested or reported.
    #[derive(Eq, Hash)]
    MeasurementInfo "MeasurementInfoItem" {
        measurement: Measurement [SelfCoded] "measType", "Measurement.",
        labels: Vec<Label> [List<1, RECORD_MAX, LabelItem>] "labelInfoList", "Labels, one value each; `no_label` without labels.",
    }
}
sole_component! {
    LabelItem "measLabel" Label [SelfCoded];
}

impl Label {
    /// Returns the label of a measurement that has no labels.
    pub fn none() -> Self {
        Self { no_label: true, ..Self::default() }
    }
}

impl MeasurementInfo {
    /// Returns a measurement without labels.
    pub fn plain(name: &str) -> Self {
        Self { measurement: name.into(), labels: vec![Label::none()] }
    }
}

choice! {
    /// Property of a UE that a condition tests.
    #[derive(Copy, Eq, Hash)]
    TestType "TestCond-Type" {
        Gbr(()) [EnumeratedTrue] "gBR", "Guaranteed bit rate.",
        Ambr(()) [EnumeratedTrue] "aMBR", "Aggregate maximum bit rate.",
        IsStat(()) [EnumeratedTrue] "isStat", "Whether the UE is stationary.",
        IsCatM(()) [EnumeratedTrue] "isCatM", "Whether the UE is of category M.",
        Rsrp(()) [EnumeratedTrue] "rSRP", "Reference signal received power.",
        Rsrq(()) [EnumeratedTrue] "rSRQ", "Reference signal received quality.";
        UlRsrp(()) [EnumeratedTrue] "ul-rSRP", "Uplink reference signal received power.",
        Cqi(()) [EnumeratedTrue] "cQI", "Channel quality.",
        FiveQi(()) [EnumeratedTrue] "fiveQI", "5G QoS identifier.",
        Qci(()) [EnumeratedTrue] "qCI", "QoS class of LTE.",
        Snssai(()) [EnumeratedTrue] "sNSSAI", "Slice.",
    }
    /// Value that a condition compares with.
    TestValue "TestCond-Value" {
        Int(i64) [Unconstrained] "valueInt", "A number.",
        Enum(i64) [Unconstrained] "valueEnum", "An enumeration value.",
        Bool(bool) [Unconstrained] "valueBool", "A Boolean.",
        Bits(BitString) [Unconstrained] "valueBitS", "Bits.",
        Octets(Bytes) [Unconstrained] "valueOctS", "Bytes; a slice is SST, or SST and SD.",
        Text(String) [Unconstrained] "valuePrtS", "Text.";
        Real(f64) [Unconstrained] "valueReal", "A number with a fraction.",
    }
}
enumerated! {
    /// Comparison of a condition.
    TestExpression "TestCond-Expression" {
        Equal "equal", "Equal to the value.",
        GreaterThan "greaterthan", "Greater than the value.",
        LessThan "lessthan", "Less than the value.",
        Contains "contains", "Contains the value.",
        Present "present", "Is present.",
    }
}
sequence! {
    /// A condition on a UE.
    Test "TestCondInfo" {
        of: TestType [SelfCoded] "testType", "Property of the UE.",
        expression: Option<TestExpression> [Opt] "testExpr", "Comparison.",
        value: Option<TestValue> [Opt] "testValue", "Value to compare with.",
    }
    /// A condition on the UEs whose measurements are requested together.
    Matching "MatchingCondItem" {
        condition: MatchingCondition [SelfCoded] "matchingCondChoice", "The condition.",
        or: bool [EnumeratedTrue] "logicalOR", "Whether this condition is combined with the next one by OR.",
    }
    /// A measurement for the UEs that fulfil its conditions.
    ConditionalMeasurement "MeasurementCondItem" {
        measurement: Measurement [SelfCoded] "measType", "Measurement.",
        conditions: Vec<Matching> [List<1, CONDITIONS_MAX, Condition>] "matchingCond", "Conditions on the UEs.";
        bins: BinRanges [SelfCoded] "binRangeDef", "Bins of a distribution.",
    }
}
/// Codec of [`Matching`]. KPM 2.00 encodes only the condition, without the SEQUENCE around it.
#[derive(Debug)]
pub(super) struct Condition;

impl Codec<Matching> for Condition {
    fn encode(value: &Matching, w: &mut Writer) -> Result<(), EncodeError> {
        if w.has_bare_conditions() { value.condition.encode(w) } else { value.encode(w) }
    }
    fn decode<S: Source>(r: &mut S) -> Result<Matching, DecodeError> {
        if !r.has_bare_conditions() {
            return Matching::decode(r);
        }
        MatchingCondition::decode(r).map(|condition| Matching { condition, or: false })
    }
    fn show(value: &Matching, n: &mut Notation) {
        value.show(n);
    }
}
choice! {
    /// A condition, or a label used as a condition.
    MatchingCondition "MatchingCondItem-Choice" {
        Label(Label) [SelfCoded] "measLabel", "UEs selected by label.",
        Test(Test) [SelfCoded] "testCondInfo", "UEs selected by a test.",
    }
    /// Bound of a bin.
    #[derive(Copy)]
    BinValue "BinRangeValue" {
        Int(i64) [Unconstrained] "valueInt", "A number.",
        Real(f64) [Unconstrained] "valueReal", "A number with a fraction.",
    }
}
sequence! {
    /// A bin of a distribution.
    #[derive(Copy)]
    Bin "BinRangeItem" {
        index: u16 [Number] "binIndex", "Index of the bin.",
        start: BinValue [SelfCoded] "startValue", "Lower bound.",
        end: BinValue [SelfCoded] "endValue", "Upper bound.",
    }
    /// The bins of a distribution of up to three dimensions.
    BinRanges "BinRangeDefinition" {
        x: Vec<Bin> [List<1, LIST_MAX>] "binRangeListX", "Bins of the first dimension.",
        y: Option<Vec<Bin>> [Opt<List<1, LIST_MAX>>] "binRangeListY", "Bins of the second dimension.",
        z: Option<Vec<Bin>> [Opt<List<1, LIST_MAX>>] "binRangeListZ", "Bins of the third dimension.",
    }
    /// The bins of a measurement.
    MeasurementBins "DistMeasurementBinRangeItem" {
        measurement: Measurement [SelfCoded] "measType", "Measurement.",
        bins: BinRanges [SelfCoded] "binRangeDef", "Bins.",
    }
}

impl Test {
    /// Returns the condition that a UE is in a slice. The condition contains SST and optional SD as bytes.
    pub fn slice(slice: Snssai) -> Self {
        let mut octets = vec![slice.sst];
        octets.extend(slice.sd.iter().flat_map(|sd| sd.to_be_bytes().into_iter().skip(1)));
        Self {
            of: TestType::Snssai(()),
            expression: Some(TestExpression::Equal),
            value: Some(TestValue::Octets(octets.into())),
        }
    }

    /// Returns the slice if this is a slice condition, as [`slice`](Self::slice) creates it, else `None`. A value that is a number is the
    /// SST.
    pub fn wants_slice(&self) -> Option<Snssai> {
        if self.of != TestType::Snssai(()) || self.expression.is_some_and(|e| e != TestExpression::Equal) {
            return None;
        }
        match self.value.as_ref()? {
            TestValue::Octets(octets) => match octets[..] {
                [sst] => Some(Snssai { sst, sd: None }),
                [sst, high, mid, low] => {
                    Some(Snssai { sst, sd: Some(u32::from_be_bytes([0, high, mid, low])) })
                }
                _ => None,
            },
            TestValue::Int(sst) => Some(Snssai { sst: u8::try_from(*sst).ok()?, sd: None }),
            _ => None,
        }
    }
}
