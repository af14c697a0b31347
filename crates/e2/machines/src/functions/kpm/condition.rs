//! Evaluates conditions on UEs, and labels of measurements, on the readings of a base station.
use super::reading::UeReading;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::{Cgi, Snssai};
use ranlab_e2_codec::e2sm::kpm::*;

/// 5QI and QCI of every bearer. All bearers are default bearers, which have this value (TS 23.501 table 5.7.4-1).
pub const DEFAULT_5QI: u8 = 9;

/// Properties of a base station that conditions and labels can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Station {
    /// Cell, if the station has exactly one.
    pub cell: Option<Cgi>,
    /// PLMN of the network.
    pub plmn: Option<Plmn>,
    /// Whether readings include the channel of each UE ([`UeReading::channel`]).
    pub has_channel: bool,
}

impl Station {
    /// Returns whether the station can measure `cell`: its only cell, or no particular one.
    pub(super) fn is_cell(&self, cell: Option<Cgi>) -> bool {
        cell.is_none() || cell == self.cell
    }
}

/// A condition on a UE, and whether it is combined with the next one by "or".
pub(super) type Condition = (Test, bool);

/// Returns the condition if the station can evaluate it.
pub(super) fn condition(test: Test, or_next: bool, station: &Station) -> Option<Condition> {
    let is_present = test.expression == Some(TestExpression::Present);
    let is_decided = match test.of {
        TestType::Snssai(()) => is_present || test.wants_slice().is_some(),
        TestType::Rsrp(()) | TestType::Rsrq(()) | TestType::UlRsrp(()) | TestType::Cqi(()) => {
            station.has_channel && (is_present || number(&test).is_some())
        }
        TestType::FiveQi(()) | TestType::Qci(()) | TestType::IsStat(()) | TestType::IsCatM(()) => {
            is_present || number(&test).is_some()
        }
        // No bearer has a guaranteed or aggregate maximum bit rate.
        TestType::Gbr(()) | TestType::Ambr(()) => false,
    };
    is_decided.then_some((test, or_next))
}

/// Returns the number that a test compares with.
fn number(test: &Test) -> Option<f64> {
    match test.value.as_ref()? {
        TestValue::Int(value) | TestValue::Enum(value) => Some(*value as f64),
        TestValue::Bool(value) => Some(f64::from(u8::from(*value))),
        TestValue::Real(value) => Some(*value),
        TestValue::Bits(_) | TestValue::Octets(_) | TestValue::Text(_) => None,
    }
}

/// Returns the value that a test reads: RSRP in dBm, RSRQ in dB, identifiers, 1 and 0 for true and false.
fn value(ue: &UeReading, of: TestType) -> Option<f64> {
    match of {
        TestType::Rsrp(()) | TestType::UlRsrp(()) => ue.channel.map(|it| it.rsrp_dbm()),
        TestType::Rsrq(()) => ue.channel.map(|it| it.rsrq_db()),
        TestType::Cqi(()) => ue.channel.map(|it| it.cqi.into()),
        TestType::FiveQi(()) | TestType::Qci(()) => Some(DEFAULT_5QI.into()),
        TestType::IsStat(()) => Some(1.0),
        TestType::IsCatM(()) => Some(0.0),
        TestType::Gbr(()) | TestType::Ambr(()) | TestType::Snssai(()) => None,
    }
}

fn is_of(ue: &UeReading, slice: Snssai) -> bool {
    ue.slices.iter().any(|it| it.sst == slice.sst && slice.sd.is_none_or(|sd| it.sd == Some(sd)))
}

fn holds(ue: &UeReading, test: &Test) -> bool {
    if test.of == TestType::Snssai(()) {
        return test
            .wants_slice()
            .map_or_else(|| ue.slices.iter().next().is_some(), |slice| is_of(ue, slice));
    }
    let Some(value) = value(ue, test.of) else { return false };
    let Some(expected) = number(test) else { return true };
    match test.expression {
        Some(TestExpression::GreaterThan) => value > expected,
        Some(TestExpression::LessThan) => value < expected,
        Some(TestExpression::Present) => true,
        Some(TestExpression::Equal | TestExpression::Contains) | None => value == expected,
    }
}

/// Returns whether a UE fulfils the conditions.
pub(super) fn fulfils(ue: &UeReading, conditions: &[Condition]) -> bool {
    let mut or = false;
    conditions.iter().fold(true, |so_far, (test, or_next)| {
        let now = if or { so_far || holds(ue, test) } else { so_far && holds(ue, test) };
        or = *or_next;
        now
    })
}

/// UEs selected by a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Scope {
    slice: Option<Snssai>,
    five_qi: Option<u8>,
}

impl Scope {
    /// Returns the UEs selected by a label, or `None` if the station cannot distinguish UEs by it. `noLabel`, `sUM`
    /// and the PLMN of the station select all UEs.
    pub(super) fn from_label(label: &Label, station: &Station) -> Option<Self> {
        let rest = Label {
            no_label: false,
            plmn: None,
            slice: None,
            five_qi: None,
            qci: None,
            sum: false,
            ..label.clone()
        };
        let is_known = rest == Label::default() && (label.plmn.is_none() || label.plmn == station.plmn);
        is_known.then_some(Self { slice: label.slice, five_qi: label.five_qi.or(label.qci) })
    }

    /// Returns whether a UE is selected.
    pub(super) fn has(&self, ue: &UeReading) -> bool {
        let is_of_bearer = self.five_qi.is_none_or(|it| it == DEFAULT_5QI);
        is_of_bearer && self.slice.is_none_or(|slice| is_of(ue, slice))
    }

    /// Returns whether all UEs are selected.
    pub(super) fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the equivalent condition on UEs.
    pub(super) fn test(&self) -> Option<Test> {
        match (self.slice, self.five_qi) {
            (Some(slice), None) => Some(Test::slice(slice)),
            (None, Some(five_qi)) => Some(Test {
                of: TestType::FiveQi(()),
                expression: Some(TestExpression::Equal),
                value: Some(TestValue::Int(five_qi.into())),
            }),
            (None, None) => Some(Test { expression: Some(TestExpression::Present), ..five_qi_test() }),
            (Some(_), Some(_)) => None,
        }
    }
}

/// Returns a test that every UE passes: its bearer has a 5QI.
fn five_qi_test() -> Test {
    Test { of: TestType::FiveQi(()), expression: None, value: None }
}

#[cfg(test)]
mod tests {
    use super::super::reading::Channel;
    use super::*;

    fn ue(cqi: u8, snr_db: f64) -> UeReading {
        let slices = [Snssai::new(1, Some(7))].into_iter().collect();
        UeReading { slices, channel: Some(Channel { cqi, snr_db }), ..UeReading::default() }
    }

    fn test(of: TestType, expression: TestExpression, value: i64) -> Test {
        Test { of, expression: Some(expression), value: Some(TestValue::Int(value)) }
    }

    #[test]
    fn conditions_compare_measured_values() {
        use TestExpression::{Equal, GreaterThan, LessThan};
        let station = Station { has_channel: true, ..Station::default() };
        for (of, expression, value, expected) in [
            (TestType::UlRsrp(()), LessThan, 1_000, true),
            (TestType::Rsrp(()), GreaterThan, -110, true),
            (TestType::Rsrp(()), GreaterThan, -90, false),
            (TestType::Rsrq(()), GreaterThan, -12, true),
            (TestType::Cqi(()), Equal, 12, true),
            (TestType::Cqi(()), GreaterThan, 12, false),
            (TestType::FiveQi(()), Equal, 9, true),
            (TestType::FiveQi(()), Equal, 1, false),
            (TestType::IsCatM(()), Equal, 0, true),
        ] {
            let decided = condition(test(of, expression, value), false, &station);
            let decided = decided.unwrap_or_else(|| panic!("{of:?}"));
            assert_eq!(fulfils(&ue(12, 20.0), &[decided]), expected, "{of:?} {expression:?} {value}");
        }
    }

    #[test]
    fn conditions_on_unavailable_values_are_refused() {
        use TestExpression::LessThan;
        let without = Station::default();
        assert!(condition(test(TestType::Rsrp(()), LessThan, 0), false, &without).is_none());
        let station = Station { has_channel: true, ..without };
        assert!(condition(test(TestType::Gbr(()), LessThan, 0), false, &station).is_none());
        let text =
            Test { value: Some(TestValue::Text("x".to_owned())), ..test(TestType::Cqi(()), LessThan, 0) };
        assert!(condition(text, false, &station).is_none());
    }

    #[test]
    fn label_conditions_select_ues() {
        let plmn = Plmn::new(505, 1, 2);
        let station = Station { plmn: Some(plmn), ..Station::default() };
        let label = |slice, five_qi, plmn| Label { slice, five_qi, plmn, ..Label::default() };
        let has = |label: &Label| Scope::from_label(label, &station).map(|scope| scope.has(&ue(9, 10.0)));
        assert_eq!(has(&Label::none()), Some(true));
        assert_eq!(has(&label(Some(Snssai::new(1, None)), None, None)), Some(true));
        assert_eq!(has(&label(Some(Snssai::new(2, None)), None, None)), Some(false));
        assert_eq!(has(&label(None, Some(9), Some(plmn))), Some(true));
        assert_eq!(has(&label(None, Some(1), None)), Some(false));
        assert_eq!(has(&label(None, None, Some(Plmn::new(1, 1, 2)))), None, "another network");
        assert_eq!(has(&Label { bin_x: Some(1), ..Label::default() }), None, "a bin");
    }
}
