//! The measurements and UEs that one action requests.
use super::condition::{Condition, Scope, Station, condition, fulfils};
use super::conditional::Conditional;
use super::reading::{Quantity, Reading, UeReading};
use super::records::{RecordSubject, Records};
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::*;
use ranlab_e2_codec::e2sm::per::Text;

/// Subject of a report: the node or UEs. Determines the formats of the action definition and of the indication message.
enum ReportForm {
    /// The node: format 1 and message format 1.
    Node,
    /// One UE: format 2 and message format 1.
    One(u32),
    /// Each UE of a list: format 5 and message format 3.
    Listed(Vec<u32>),
    /// Each UE that fulfils the conditions: format 4 and message format 3.
    Matching(Vec<Condition>),
    /// Each measurement, for the UEs that fulfil its conditions: format 3 and message format 2.
    Each(Conditional),
}

/// A decoded and checked action.
pub(super) struct Plan {
    of: ReportForm,
    before: Reading,
    told: Records,
}

/// Returns the name of a measurement that is requested by name, or by its identifier in this RAN function definition.
pub(super) fn name_of(measurement: &Measurement) -> Option<&str> {
    match measurement {
        Measurement::Name(name) => Some(name),
        Measurement::Id(id) => measurement_of_id(*id),
    }
}

/// Returns a quantity for each label of each measurement. Returns `None` if a measurement or label is not available, or,
/// with `of_ue`, not available per UE.
fn quantities(infos: &[MeasurementInfo], of_ue: bool, station: &Station) -> Option<Vec<(Quantity, Scope)>> {
    let of_info = |info: &MeasurementInfo| {
        let quantity = Quantity::from_name(name_of(&info.measurement)?, of_ue)?;
        info.labels
            .iter()
            .map(|label| Some((quantity, Scope::from_label(label, station)?)))
            .collect::<Option<Vec<_>>>()
    };
    Some(infos.iter().map(of_info).collect::<Option<Vec<_>>>()?.concat())
}

impl Plan {
    /// Creates a plan from a definition, with its granularity in milliseconds. Returns `None` if the station cannot
    /// provide the data. `text` is the variant of the ASN.1 definitions that the action uses; reports use it, too.
    pub(super) fn new(format: ActionFormat, text: Text, station: &Station) -> Option<(Self, u32)> {
        let number = |ue: &UeId| ue.number();
        let (of, measurements) = match format {
            ActionFormat::Node(it) => (ReportForm::Node, it),
            ActionFormat::Ue(it) => (ReportForm::One(number(&it.ue)), it.measurements),
            ActionFormat::Ues(it) => {
                (ReportForm::Listed(it.ues.iter().map(number).collect()), it.measurements)
            }
            ActionFormat::MatchingUes(it) => {
                let decided = |it: UeMatching| condition(it.test, it.or.is_some(), station);
                let conditions = it.conditions.into_iter().map(decided).collect::<Option<_>>()?;
                (ReportForm::Matching(conditions), it.measurements)
            }
            ActionFormat::Conditional(it) => {
                let granularity_ms = it.granularity_ms;
                let (conditional, infos) = Conditional::new(it, station)?;
                return Self::compile(ReportForm::Each(conditional), &infos, granularity_ms, text, station);
            }
        };
        if !station.is_cell(measurements.cell) {
            return None;
        }
        Self::compile(of, &measurements.infos, measurements.granularity_ms, text, station)
    }

    fn compile(
        of: ReportForm,
        infos: &[MeasurementInfo],
        granularity_ms: u32,
        text: Text,
        station: &Station,
    ) -> Option<(Self, u32)> {
        let quantities = quantities(infos, !matches!(of, ReportForm::Node), station)?;
        // Measurements requested by identifier are reported by name.
        let named = |it: &MeasurementInfo| {
            let measurement = name_of(&it.measurement)?.into();
            Some(MeasurementInfo { measurement, labels: it.labels.clone() })
        };
        let infos = infos.iter().map(named).collect::<Option<_>>()?;
        let told = Records::new(infos, quantities, granularity_ms, text);
        Some((Self { of, before: Reading::default(), told }, granularity_ms))
    }

    /// Starts recording at this reading.
    pub(super) fn begin(&mut self, reading: &Reading) {
        self.before.copy_from(reading);
    }

    /// Records the values of a granularity period that has ended.
    pub(super) fn take(&mut self, now: &Reading, seen: impl Fn(u32) -> bool, name: impl Fn(u32) -> UeId) {
        let Self { of, before, told } = self;
        let of = &*of;
        let is_requested = |ue: &&UeReading| match of {
            ReportForm::Node => false,
            ReportForm::One(one) => ue.number == *one,
            ReportForm::Listed(listed) => listed.contains(&ue.number),
            ReportForm::Matching(conditions) => fulfils(ue, conditions),
            ReportForm::Each(conditional) => conditional.wants(ue),
        };
        if matches!(of, ReportForm::Node) {
            told.add([before, now], RecordSubject { number: 0, ues: &now.ues, name: &name }, &seen);
        }
        for ue in now.ues.iter().filter(|ue| seen(ue.number)).filter(is_requested) {
            let whom = RecordSubject { number: ue.number, ues: std::slice::from_ref(ue), name: &name };
            told.add([before, now], whom, &seen);
        }
        before.copy_from(now);
    }

    /// Appends the collected values to `out` as a message, and clears them. Returns `false` if there is no subject to
    /// report.
    pub(super) fn report(&mut self, out: &mut Vec<u8>) -> bool {
        let written = self.told.has_subjects()
            && match &mut self.of {
                ReportForm::Node | ReportForm::One(_) => self.told.write_first(out),
                ReportForm::Listed(_) | ReportForm::Matching(_) => self.told.write_by_ue(out),
                ReportForm::Each(conditional) => conditional.write(&mut self.told, &self.before, out),
            };
        self.told.forget();
        written
    }
}
