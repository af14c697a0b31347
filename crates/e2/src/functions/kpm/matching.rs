//! What one action wants, of whom, and what was collected for it.
use super::reading::{Quantity, Reading, UeReading};
use ranlab_wire::e2sm::common::UeId;
use ranlab_wire::e2sm::kpm::*;
use std::collections::BTreeMap;

/// A condition on a UE, and whether it or the next one is enough.
type Condition = (Test, bool);

/// Whose values are wanted, and in which form.
enum Of {
    /// The node's: format 1 and message format 1.
    Node,
    /// One UE's: format 2 and message format 1.
    One(u32),
    /// Of each UE in the list: format 5 and message format 3.
    Listed(Vec<u32>),
    /// Of each UE that fulfils the conditions: format 4 and message format 3.
    Matching(Vec<Condition>),
    /// By measurement, of the UEs that fulfil its conditions: format 3 and message format 2.
    Each(Vec<(Vec<Matching>, Vec<Condition>)>),
}

/// An action, understood.
pub(super) struct Plan {
    of: Of,
    names: Vec<String>,
    quantities: Vec<Quantity>,
    granularity_ms: u32,
    before: Reading,
    /// Records of each UE, or under 0 the node's.
    records: BTreeMap<u32, Vec<Record>>,
}

/// Whether conditions can be decided here: whether a UE has a slice, or this one.
fn decidable(test: &Test) -> bool {
    let present = test.of == TestType::Snssai(()) && test.expression == Some(TestExpression::Present);
    present || test.wants_slice().is_some()
}

fn fulfils(ue: &UeReading, conditions: &[Condition]) -> bool {
    let holds = |test: &Test| {
        test.wants_slice().is_none_or(|slice| {
            ue.slices.iter().any(|it| it.sst == slice.sst && slice.sd.is_none_or(|sd| it.sd == Some(sd)))
        })
    };
    let mut or = false;
    conditions.iter().fold(true, |so_far, (test, or_next)| {
        let now = if or { so_far || holds(test) } else { so_far && holds(test) };
        or = *or_next;
        now
    })
}

impl Plan {
    /// What a definition wants, and its granularity in milliseconds; `None` if it cannot be had.
    pub(super) fn new(format: ActionFormat) -> Option<(Self, u32)> {
        let number = |ue: &UeId| ue.number();
        let (of, measurements) = match format {
            ActionFormat::Node(it) => (Of::Node, it),
            ActionFormat::Ue(it) => (Of::One(number(&it.ue)), it.measurements),
            ActionFormat::Ues(it) => (Of::Listed(it.ues.iter().map(number).collect()), it.measurements),
            ActionFormat::MatchingUes(it) => {
                let conditions: Vec<_> =
                    it.conditions.into_iter().map(|it| (it.test, it.or.is_some())).collect();
                if !conditions.iter().all(|(test, _)| decidable(test)) {
                    return None;
                }
                (Of::Matching(conditions), it.measurements)
            }
            ActionFormat::Conditional(it) => return Self::conditional(it),
        };
        if measurements.cell.is_some() || measurements.bins.is_some() {
            return None;
        }
        let plain = |info: &MeasurementInfo| match (&info.measurement, &info.labels[..]) {
            (Measurement::Name(name), [label]) if *label == Label::none() => Some(name.clone()),
            _ => None,
        };
        let names = measurements.infos.iter().map(plain).collect::<Option<_>>()?;
        Self::of(of, names, measurements.granularity_ms)
    }

    fn conditional(it: ConditionalMeasurements) -> Option<(Self, u32)> {
        let (mut names, mut of) = (Vec::new(), Vec::new());
        for measurement in it.measurements {
            let condition = |it: &Matching| match &it.condition {
                MatchingCondition::Test(test) if decidable(test) => Some((test.clone(), it.or)),
                _ => None,
            };
            let conditions = measurement.conditions.iter().map(condition).collect::<Option<Vec<_>>>()?;
            of.push((measurement.conditions, conditions));
            let Measurement::Name(name) = measurement.measurement else { return None };
            names.push(name);
        }
        if it.cell.is_some() { None } else { Self::of(Of::Each(of), names, it.granularity_ms) }
    }

    fn of(of: Of, names: Vec<String>, granularity_ms: u32) -> Option<(Self, u32)> {
        let of_ue = !matches!(of, Of::Node);
        let quantities = names.iter().map(|name| Quantity::of(name, of_ue)).collect::<Option<_>>()?;
        let (before, records) = (Reading::default(), BTreeMap::new());
        Some((Self { of, names, quantities, granularity_ms, before, records }, granularity_ms))
    }

    /// Records are of what happens from this reading on.
    pub(super) fn begin(&mut self, reading: Reading) {
        self.before = reading;
    }

    /// A granularity period has passed.
    pub(super) fn take(&mut self, now: &Reading, seen: impl Fn(u32) -> bool) {
        let wanted = |number: u32, ue: &UeReading| match &self.of {
            Of::Node => false,
            Of::One(one) => number == *one,
            Of::Listed(listed) => listed.contains(&number),
            Of::Matching(conditions) => fulfils(ue, conditions),
            Of::Each(each) => each.iter().any(|(_, conditions)| fulfils(ue, conditions)),
        };
        let there = now.ues.iter().filter(|(number, _)| seen(**number));
        let numbers: Vec<_> = there.filter(|(number, ue)| wanted(**number, ue)).map(|it| *it.0).collect();
        let record = |seen: &dyn Fn(u32) -> bool| Record {
            values: self.quantities.iter().map(|it| it.between(&self.before, now, seen)).collect(),
            incomplete: false,
        };
        let mut taken: Vec<_> = numbers.iter().map(|of| (*of, record(&|number| number == *of))).collect();
        if matches!(self.of, Of::Node) {
            taken.push((0, record(&seen)));
        }
        for (number, record) in taken {
            self.records.entry(number).or_default().push(record);
        }
        self.before = now.clone();
    }

    /// What was collected, which is then forgotten; `None` if it is of nobody.
    pub(super) fn report(&mut self, name: impl Fn(u32) -> UeId) -> Option<MessageFormat> {
        let records = std::mem::take(&mut self.records);
        if records.is_empty() {
            return None;
        }
        let report = |records| Report {
            records,
            infos: Some(self.names.iter().map(|name| MeasurementInfo::plain(name)).collect()),
            granularity_ms: Some(self.granularity_ms),
        };
        Some(match &self.of {
            Of::Node | Of::One(_) => MessageFormat::Node(report(records.into_values().next()?)),
            Of::Listed(_) | Of::Matching(_) => {
                let ue = |(number, records)| UeReport { ue: name(number), report: report(records) };
                MessageFormat::Ues(records.into_iter().map(ue).collect())
            }
            Of::Each(each) => MessageFormat::Conditional(self.by_measurement(each, &records, name)?),
        })
    }

    fn by_measurement(
        &self,
        each: &[(Vec<Matching>, Vec<Condition>)],
        records: &BTreeMap<u32, Vec<Record>>,
        name: impl Fn(u32) -> UeId,
    ) -> Option<ConditionalReport> {
        let is = |number: &u32, conditions: &[Condition]| {
            self.before.ues.get(number).is_some_and(|ue| fulfils(ue, conditions))
        };
        let matched: Vec<Vec<u32>> = each
            .iter()
            .map(|(_, conditions)| records.keys().copied().filter(|it| is(it, conditions)).collect())
            .collect();
        let value = |number: &u32, record: usize, place: usize| {
            let record = records.get(number).and_then(|records| records.get(record));
            record.and_then(|it| it.values.get(place).copied()).unwrap_or(Measured::NoValue(()))
        };
        let periods = records.values().map(Vec::len).max()?;
        let record = |period| Record {
            values: matched
                .iter()
                .enumerate()
                .flat_map(|(place, ues)| ues.iter().map(move |ue| (ue, place)))
                .map(|(ue, place)| value(ue, period, place))
                .collect(),
            incomplete: false,
        };
        let measurement = |((name_of, (conditions, _)), ues): ((&String, &(Vec<Matching>, _)), &Vec<u32>)| {
            let ues: Vec<_> = ues.iter().copied().map(&name).collect();
            MatchedMeasurement {
                measurement: Measurement::Name(name_of.clone()),
                conditions: conditions.clone(),
                ues: Some(ues).filter(|ues| !ues.is_empty()),
                ues_per_period: None,
            }
        };
        let records: Vec<_> = (0..periods).map(record).filter(|record| !record.values.is_empty()).collect();
        let measurements = self.names.iter().zip(each).zip(&matched).map(measurement).collect();
        let granularity_ms = Some(self.granularity_ms);
        (!records.is_empty()).then_some(ConditionalReport { records, measurements, granularity_ms })
    }
}
