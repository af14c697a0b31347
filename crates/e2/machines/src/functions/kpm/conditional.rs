//! Report style 3: measurements, each for the UEs that fulfil its conditions.
use super::condition::{Condition, Scope, Station, condition, fulfils};
use super::reading::{Reading, UeReading};
use super::records::{Records, write};
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::*;
use ranlab_e2_codec::e2sm::per::Text;

/// Conditions of a measurement, and the UEs that fulfil them.
struct ConditionalMeasurement {
    conditions: Vec<Condition>,
    matched: Vec<u32>,
}

/// Requested measurements, and the message that reports them. The memory of the message is reused.
pub(super) struct Conditional {
    wanted: Vec<ConditionalMeasurement>,
    message: ConditionalReport,
}

impl Conditional {
    /// Creates the value from an action definition, together with the list of its measurements. Returns `None` if the station cannot
    /// provide the measurements.
    pub(super) fn new(
        definition: ConditionalMeasurements,
        station: &Station,
    ) -> Option<(Self, Vec<MeasurementInfo>)> {
        let mut infos = Vec::new();
        let mut requested = Vec::new();
        let mut measurements = Vec::new();
        for it in definition.measurements {
            let test = |it: &Matching| match &it.condition {
                MatchingCondition::Test(test) => condition(test.clone(), it.or, station),
                MatchingCondition::Label(label) => {
                    condition(Scope::from_label(label, station)?.test()?, it.or, station)
                }
            };
            let conditions = it.conditions.iter().map(test).collect::<Option<_>>()?;
            requested.push(ConditionalMeasurement { conditions, matched: Vec::new() });
            infos.push(MeasurementInfo { measurement: it.measurement.clone(), labels: vec![Label::none()] });
            let measurement = it.measurement;
            let conditions = it.conditions;
            let entry = MatchedMeasurement { measurement, conditions, ues: None, ues_per_period: None };
            measurements.push(entry);
        }
        let granularity_ms = Some(definition.granularity_ms);
        let message = ConditionalReport { records: Vec::new(), measurements, granularity_ms };
        station.is_cell(definition.cell).then_some((Self { wanted: requested, message }, infos))
    }

    /// Returns whether any measurement is requested for a UE.
    pub(super) fn wants(&self, ue: &UeReading) -> bool {
        self.wanted.iter().any(|it| fulfils(ue, &it.conditions))
    }

    /// Appends the collected values to `out` as a message of format 2. Returns `false` if no UE fulfilled a
    /// condition.
    pub(super) fn write(&mut self, collected: &mut Records, now: &Reading, out: &mut Vec<u8>) -> bool {
        for (requested, measurement) in self.wanted.iter_mut().zip(&mut self.message.measurements) {
            let mut names: Vec<UeId> = measurement.ues.take().unwrap_or_default();
            names.clear();
            requested.matched.clear();
            for (number, name, _) in collected.each() {
                if now.ue(number).is_some_and(|ue| fulfils(ue, &requested.conditions)) {
                    requested.matched.push(number);
                    names.push(name.clone());
                }
            }
            measurement.ues = Some(names).filter(|names| !names.is_empty());
        }
        let periods = collected.each().map(|(_, _, records)| records.len()).max().unwrap_or(0);
        for period in 0..periods {
            let mut record = collected.record();
            for (place, requested) in self.wanted.iter().enumerate() {
                let of =
                    collected.each().filter(|(number, ..)| requested.matched.binary_search(number).is_ok());
                let value = |records: &[Record]| records.get(period)?.values.get(place).copied();
                record.values.extend(of.map(|(.., records)| value(records).unwrap_or(Measured::NoValue(()))));
            }
            self.message.records.push(record);
        }
        let is_empty = self.message.records.first().is_none_or(|first| first.values.is_empty());
        let written = !is_empty && self.encode(collected.text, out);
        self.message.records.drain(..).for_each(|record| collected.free(record));
        written
    }

    fn encode(&mut self, text: Text, out: &mut Vec<u8>) -> bool {
        let nothing =
            ConditionalReport { records: Vec::new(), measurements: Vec::new(), granularity_ms: None };
        let message = std::mem::replace(&mut self.message, nothing);
        let (written, format) = write(MessageFormat::Conditional(message).into(), text, out);
        if let MessageFormat::Conditional(message) = format {
            self.message = message;
        }
        written
    }
}
