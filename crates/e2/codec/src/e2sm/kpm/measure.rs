//! What is measured, of whom, and under which label (E2SM-KPM clause 8.3).
use bytes::Bytes;

use crate::e2ap::{Plmn, PlmnCodec};
use crate::e2sm::common::{Snssai, SnssaiCodec, sole_component};
use crate::per::{BitString, Free, Int, IntExt, List, Opt, Own, Str, True};
use crate::{choice, enumerated, sequence};

/// Elements of most lists, at most.
pub const LIST_MAX: u64 = 65_535;
/// Labels of a measurement and values of a record, at most.
pub const RECORD_MAX: u64 = 2_147_483_647;
/// Conditions of a list, at most.
pub const CONDITIONS_MAX: u64 = 32_768;
/// Codec of the numbers of bins, rates and the like.
type Number = IntExt<1, 65_535>;
/// Codec of allocation and retention priorities.
type Priority = IntExt<1, 15>;
/// Codec of class identifiers of LTE.
type Qci = Int<0, 255>;
/// Codec of measurement names: those of TS 28.552 and TS 32.425, and of the model itself.
pub(super) type MeasurementName = Str<1, 150>;

choice! {
    /// A measurement.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    Measurement "MeasurementType" {
        Name(String) [MeasurementName] "measName", "By name, e.g. `DRB.UEThpDl`.",
        Id(u32) [IntExt<1, 65_536>] "measID", "By a number that the RAN function definition gave; some nodes end at one.",
    }
}

impl From<&str> for Measurement {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

enumerated! {
    /// Which end of an interval a value is of.
    StartEnd "startEndInd" {
        Start "start", "Its start.",
        End "end", "Its end.",
    }
}

sequence! {
    /// What a value is of, where a measurement has several.
    #[derive(Eq, Hash, Default)]
    Label "MeasurementLabel" {
        no_label: bool [True] "noLabel", "Of everything.",
        plmn: Option<Plmn> [Opt<PlmnCodec>] "plmnID", "Of this network.",
        slice: Option<Snssai> [Opt<SnssaiCodec>] "sliceID", "Of this slice.",
        five_qi: Option<u8> [Opt<IntExt<0, 255>>] "fiveQI", "Of this 5G QoS identifier.",
        qfi: Option<u8> [Opt<IntExt<0, 63>>] "qFI", "Of this QoS flow.",
        qci: Option<u8> [Opt<Qci>] "qCI", "Of this QoS class.",
        qci_max: Option<u8> [Opt<Qci>] "qCImax", "Of QoS classes up to this.",
        qci_min: Option<u8> [Opt<Qci>] "qCImin", "Of QoS classes from this.",
        arp_max: Option<u8> [Opt<Priority>] "aRPmax", "Of priorities up to this.",
        arp_min: Option<u8> [Opt<Priority>] "aRPmin", "Of priorities from this.",
        bitrate_range: Option<u16> [Opt<Number>] "bitrateRange", "Of this range of bit rates.",
        mu_mimo_layer: Option<u16> [Opt<Number>] "layerMU-MIMO", "Of this layer.",
        sum: bool [True] "sUM", "The sum.",
        bin_x: Option<u16> [Opt<Number>] "distBinX", "Of this bin.",
        bin_y: Option<u16> [Opt<Number>] "distBinY", "Of this bin, in the second dimension.",
        bin_z: Option<u16> [Opt<Number>] "distBinZ", "Of this bin, in the third dimension.",
        override_before: bool [True] "preLabelOverride", "Replaces the label before it.",
        start_end: Option<StartEnd> [Opt] "startEndInd", "At this end of the period.",
        min: bool [True] "min", "The least.",
        max: bool [True] "max", "The greatest.",
        avg: bool [True] "avg", "The mean.";
        ssb: u16 [Number] "ssbIndex", "Of this synchronisation signal block.",
        beamforming: u16 [Number] "nonGoB-BFmode-Index", "Of this mode of beamforming without a grid.",
        mimo: u8 [IntExt<1, 2>] "mIMO-mode-Index", "Of single-user (1) or multi-user (2) MIMO.",
    }
    /// A measurement and the labels under which it is wanted or told.
    #[derive(Eq, Hash)]
    MeasurementInfo "MeasurementInfoItem" {
        measurement: Measurement [Own] "measType", "What.",
        labels: Vec<Label> [List<1, RECORD_MAX, LabelItem>] "labelInfoList", "A value for each; one that says \"no label\" if there is but one.",
    }
}
sole_component! {
    LabelItem "measLabel" Label [Own];
}

impl Label {
    /// The label of a measurement that has no labels.
    pub fn none() -> Self {
        Self { no_label: true, ..Self::default() }
    }
}

impl MeasurementInfo {
    /// A measurement without labels.
    pub fn plain(name: &str) -> Self {
        Self { measurement: name.into(), labels: vec![Label::none()] }
    }
}

choice! {
    /// What a condition looks at.
    #[derive(Copy, Eq, Hash)]
    TestType "TestCond-Type" {
        Gbr(()) [True] "gBR", "Guaranteed bit rate.",
        Ambr(()) [True] "aMBR", "Aggregate maximum bit rate.",
        IsStat(()) [True] "isStat", "Whether it does not move.",
        IsCatM(()) [True] "isCatM", "Whether it is of category M.",
        Rsrp(()) [True] "rSRP", "Reference signal received power.",
        Rsrq(()) [True] "rSRQ", "Reference signal received quality.";
        UlRsrp(()) [True] "ul-rSRP", "The same of the uplink.",
        Cqi(()) [True] "cQI", "Channel quality.",
        FiveQi(()) [True] "fiveQI", "5G QoS identifier.",
        Qci(()) [True] "qCI", "QoS class of LTE.",
        Snssai(()) [True] "sNSSAI", "Slice.",
    }
    /// With what a condition compares.
    TestValue "TestCond-Value" {
        Int(i64) [Free] "valueInt", "A number.",
        Enum(i64) [Free] "valueEnum", "One of an enumeration.",
        Bool(bool) [Free] "valueBool", "Yes or no.",
        Bits(BitString) [Free] "valueBitS", "Bits.",
        Octets(Bytes) [Free] "valueOctS", "Octets; a slice as SST, or as SST and SD.",
        Text(String) [Free] "valuePrtS", "Text.";
        Real(f64) [Free] "valueReal", "A number with a fraction.",
    }
}
enumerated! {
    /// How a condition compares.
    TestExpression "TestCond-Expression" {
        Equal "equal", "It is the value.",
        GreaterThan "greaterthan", "It is above the value.",
        LessThan "lessthan", "It is below the value.",
        Contains "contains", "It has the value in it.",
        Present "present", "It is there.",
    }
}
sequence! {
    /// A condition on a UE.
    Test "TestCondInfo" {
        of: TestType [Own] "testType", "What.",
        expression: Option<TestExpression> [Opt] "testExpr", "How.",
        value: Option<TestValue> [Opt] "testValue", "With what.",
    }
    /// One of the conditions on the UEs whose measurements are wanted together.
    Matching "MatchingCondItem" {
        condition: MatchingCondition [Own] "matchingCondChoice", "The condition.",
        or: bool [True] "logicalOR", "Whether this or the next one is enough.",
    }
    /// A measurement of the UEs that fulfil conditions.
    ConditionalMeasurement "MeasurementCondItem" {
        measurement: Measurement [Own] "measType", "What.",
        conditions: Vec<Matching> [List<1, CONDITIONS_MAX>] "matchingCond", "Of whom.";
        bins: BinRanges [Own] "binRangeDef", "Bins of a distribution.",
    }
}
choice! {
    /// A condition, or a label that stands for one.
    MatchingCondition "MatchingCondItem-Choice" {
        Label(Label) [Own] "measLabel", "Of whom, by label.",
        Test(Test) [Own] "testCondInfo", "Of whom, by what is known of the UE.",
    }
    /// An end of a bin.
    #[derive(Copy)]
    BinValue "BinRangeValue" {
        Int(i64) [Free] "valueInt", "A number.",
        Real(f64) [Free] "valueReal", "A number with a fraction.",
    }
}
sequence! {
    /// A bin of a distribution.
    #[derive(Copy)]
    Bin "BinRangeItem" {
        index: u16 [Number] "binIndex", "Its number.",
        start: BinValue [Own] "startValue", "From here.",
        end: BinValue [Own] "endValue", "Up to here.",
    }
    /// The bins of a distribution of up to three dimensions.
    BinRanges "BinRangeDefinition" {
        x: Vec<Bin> [List<1, LIST_MAX>] "binRangeListX", "Of the first.",
        y: Option<Vec<Bin>> [Opt<List<1, LIST_MAX>>] "binRangeListY", "Of the second.",
        z: Option<Vec<Bin>> [Opt<List<1, LIST_MAX>>] "binRangeListZ", "Of the third.",
    }
    /// The bins of a measurement.
    MeasurementBins "DistMeasurementBinRangeItem" {
        measurement: Measurement [Own] "measType", "Which.",
        bins: BinRanges [Own] "binRangeDef", "Its bins.",
    }
}

impl Test {
    /// Whether a UE is in a slice: SST, and SD where there is one, as octets.
    pub fn slice(slice: Snssai) -> Self {
        let mut octets = vec![slice.sst];
        octets.extend(slice.sd.iter().flat_map(|sd| sd.to_be_bytes().into_iter().skip(1)));
        Self {
            of: TestType::Snssai(()),
            expression: Some(TestExpression::Equal),
            value: Some(TestValue::Octets(octets.into())),
        }
    }

    /// The slice that [`slice`](Self::slice) asks for; `None` if this is another test. A number is taken for an SST.
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
