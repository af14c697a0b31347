//! What one action wants, and of whom.
use super::conditional::Conditional;
use super::reading::{Reading, UeReading};
use super::told::{Told, Whom};
use ranlab_wire::e2sm::common::UeId;
use ranlab_wire::e2sm::kpm::*;
use ranlab_wire::e2sm::per::Text;

/// A condition on a UE, and whether it or the next one is enough.
pub(super) type Condition = (Test, bool);

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
    Each(Conditional),
}

/// An action, understood.
pub(super) struct Plan {
    of: Of,
    before: Reading,
    told: Told,
}

/// A condition, if it can be decided here: whether a UE has a slice, or this one.
pub(super) fn condition(test: Test, or_next: bool) -> Option<Condition> {
    let present = test.of == TestType::Snssai(()) && test.expression == Some(TestExpression::Present);
    (present || test.wants_slice().is_some()).then_some((test, or_next))
}

/// Name of a measurement that is wanted by name or by the identifier of our definition.
pub(super) fn name_of(measurement: &Measurement) -> Option<&str> {
    match measurement {
        Measurement::Name(name) => Some(name),
        Measurement::Id(id) => measurement_of_id(*id),
    }
}

pub(super) fn fulfils(ue: &UeReading, conditions: &[Condition]) -> bool {
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
    /// Its reports follow the same text as the definition.
    pub(super) fn new(format: ActionFormat, text: Text) -> Option<(Self, u32)> {
        let number = |ue: &UeId| ue.number();
        let (of, measurements) = match format {
            ActionFormat::Node(it) => (Of::Node, it),
            ActionFormat::Ue(it) => (Of::One(number(&it.ue)), it.measurements),
            ActionFormat::Ues(it) => (Of::Listed(it.ues.iter().map(number).collect()), it.measurements),
            ActionFormat::MatchingUes(it) => {
                let conditions = it.conditions.into_iter().map(|it| condition(it.test, it.or.is_some()));
                (Of::Matching(conditions.collect::<Option<_>>()?), it.measurements)
            }
            ActionFormat::Conditional(it) => {
                let granularity_ms = it.granularity_ms;
                let (conditional, names) = Conditional::new(it)?;
                return Self::of(Of::Each(conditional), &names, granularity_ms, text);
            }
        };
        if measurements.cell.is_some() || measurements.bins.is_some() {
            return None;
        }
        let plain = |info: &MeasurementInfo| match (&info.measurement, &info.labels[..]) {
            (measurement, [label]) if *label == Label::none() => name_of(measurement).map(str::to_owned),
            _ => None,
        };
        let names = measurements.infos.iter().map(plain).collect::<Option<Vec<_>>>()?;
        Self::of(of, &names, measurements.granularity_ms, text)
    }

    fn of(of: Of, names: &[String], granularity_ms: u32, text: Text) -> Option<(Self, u32)> {
        let told = Told::new(names, !matches!(of, Of::Node), granularity_ms, text)?;
        Some((Self { of, before: Reading::default(), told }, granularity_ms))
    }

    /// Records are of what happens from this reading on.
    pub(super) fn begin(&mut self, reading: &Reading) {
        self.before.copy_from(reading);
    }

    /// A granularity period has passed.
    pub(super) fn take(&mut self, now: &Reading, seen: impl Fn(u32) -> bool, name: impl Fn(u32) -> UeId) {
        let Self { of, before, told } = self;
        let of = &*of;
        let wanted = |ue: &&UeReading| match of {
            Of::Node => false,
            Of::One(one) => ue.number == *one,
            Of::Listed(listed) => listed.contains(&ue.number),
            Of::Matching(conditions) => fulfils(ue, conditions),
            Of::Each(conditional) => conditional.wants(ue),
        };
        if matches!(of, Of::Node) {
            told.add([before, now], Whom { number: 0, ues: &now.ues, name: &name }, &seen);
        }
        for ue in now.ues.iter().filter(|ue| seen(ue.number)).filter(wanted) {
            let whom = Whom { number: ue.number, ues: std::slice::from_ref(ue), name: &name };
            told.add([before, now], whom, &seen);
        }
        before.copy_from(now);
    }

    /// Appends what was collected to `out` as a message, and forgets it; `false` if it is of nobody.
    pub(super) fn report(&mut self, out: &mut Vec<u8>) -> bool {
        let written = self.told.is_of_somebody()
            && match &mut self.of {
                Of::Node | Of::One(_) => self.told.write_first(out),
                Of::Listed(_) | Of::Matching(_) => self.told.write_by_ue(out),
                Of::Each(conditional) => conditional.write(&mut self.told, &self.before, out),
            };
        self.told.forget();
        written
    }
}
