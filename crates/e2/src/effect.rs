//! What a control does: the mean of some KPIs over the periods before it and over as many after it. One machine for the
//! RIC's HTTP, xApps and bindings; it knows neither connections nor clocks.
//!
//! ```text
//!  report, report, … Next::Command  ->  the control is sent, and acknowledged: commanded()  ->  report, … Next::Done
//! ```
//!
//! A KPI is a column of the model's tables that has numbers, or where tables have a row for each measurement (KPM) the
//! measurement's name, with its label behind a space if only that is meant: `DRB.UEThpDl`, `DRB.UEThpDl slice=1`. A
//! period's value is, of a gauge, the mean over the rows of its report; of a counter, the mean of what each row grew by
//! since the report before.
use ranlab_wire::e2sm::{Column, Kind, RowKey, Table, Type, Value};
use std::collections::BTreeMap;

/// KPIs of an effect at most.
pub const KPIS_MAX: usize = 16;
/// Column with the name of a row's measurement, in tables that have a row for each.
const MEASUREMENT: &str = "measurement";
/// Column with its label.
const LABEL: &str = "label";
/// Column with its value.
const VALUE: &str = "value";

/// Why an effect cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// None, or too many.
    #[error("an effect has 1 to {KPIS_MAX} KPIs")]
    Kpis,
    /// Over no time.
    #[error("an effect is measured over 1 period or more")]
    Periods,
    /// The model's tables have no such numbers.
    #[error("{name:?} is no column with numbers; there are {there}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What can be.
        there: String,
    },
}

/// What follows from a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Further reports are needed, or the control's answer.
    Report,
    /// Enough is known of before: the control is to be sent. Told once.
    Command,
    /// All is known: [`Effect::changes`].
    Done,
}

/// A KPI before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// As it was asked for.
    pub name: String,
    /// Mean over the periods before the control, in the column's unit; `None` if no report had it.
    pub before: Option<f64>,
    /// Mean over those after it.
    pub after: Option<f64>,
}

/// Some numbers' mean.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// A measurement and its label, in columns of their own.
#[derive(Debug)]
struct Named {
    columns: [Option<usize>; 2],
    measurement: String,
    label: Option<String>,
}

impl Named {
    fn is_of(&self, values: &[Value]) -> bool {
        let is = |place: Option<usize>, text: &str| matches!(place.and_then(|place| values.get(place)), Some(Value::Text(it)) if it == text);
        let [measurement, label] = self.columns;
        is(measurement, &self.measurement) && self.label.as_deref().is_none_or(|text| is(label, text))
    }
}

#[derive(Debug)]
struct Kpi {
    name: String,
    place: usize,
    is_counter: bool,
    /// Of which rows; `None` for all.
    rows: Option<Named>,
    before: Mean,
    after: Mean,
}

impl Kpi {
    fn new(name: &str, there: &[Column]) -> Result<Self, EffectError> {
        let place = |name: &str, of: Type| there.iter().position(|it| it.name == name && it.of == of);
        let is_number = |column: &Column| column.kind != Kind::Label && column.of != Type::Text;
        let found = there.iter().position(|column| column.name == name && is_number(column));
        let (place, rows) = match (found, place(MEASUREMENT, Type::Text), place(VALUE, Type::Float)) {
            (Some(place), ..) => (place, None),
            (None, Some(measurement), Some(value)) if !name.trim().is_empty() => {
                let (bare, label) = name.split_once(' ').map_or((name, None), |(bare, it)| (bare, Some(it)));
                let columns = [Some(measurement), place(LABEL, Type::Text)];
                let label = label.map(str::to_owned);
                (value, Some(Named { columns, measurement: bare.to_owned(), label }))
            }
            _ => {
                let numbers = there.iter().filter(|column| is_number(column));
                let there = numbers.map(|column| column.name.as_ref()).collect::<Vec<_>>().join(", ");
                return Err(EffectError::Unknown { name: name.to_owned(), there });
            }
        };
        let is_counter = there.get(place).is_some_and(|column| column.kind == Kind::Counter);
        Ok(Self {
            name: name.to_owned(),
            place,
            is_counter,
            rows,
            before: Mean::default(),
            after: Mean::default(),
        })
    }

    /// Its number in a row; NaN if the row has none.
    fn number(&self, values: &[Value]) -> f64 {
        let is_of = self.rows.as_ref().is_none_or(|named| named.is_of(values));
        let value = values.get(self.place).filter(|_| is_of);
        value.and_then(Value::number).unwrap_or(f64::NAN)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    /// The base station has the control: there is neither before nor after.
    Commanded,
    After,
    Done,
}

/// An effect that is measured.
#[derive(Debug)]
pub struct Effect {
    kpis: Vec<Kpi>,
    periods: u32,
    phase: Phase,
    /// Periods of the current half that have been seen.
    seen: u32,
    last: BTreeMap<RowKey, Vec<f64>>,
}

impl Effect {
    /// Of these KPIs, in tables with these columns, over so many periods before and as many after.
    ///
    /// # Errors
    /// No or too many KPIs, one that the tables do not have, no periods.
    pub fn new<S: AsRef<str>>(there: &[Column], kpis: &[S], periods: u32) -> Result<Self, EffectError> {
        if kpis.is_empty() || kpis.len() > KPIS_MAX {
            return Err(EffectError::Kpis);
        }
        if periods == 0 {
            return Err(EffectError::Periods);
        }
        let kpis = kpis.iter().map(|name| Kpi::new(name.as_ref(), there)).collect::<Result<_, _>>()?;
        Ok(Self { kpis, periods, phase: Phase::Before, seen: 0, last: BTreeMap::new() })
    }

    /// Takes a report in.
    pub fn report(&mut self, table: &Table) -> Next {
        let is_first = self.last.is_empty();
        let means = self.means(table);
        // What a counter grew by is known from the second report on; what it grew by while the base station had the
        // control belongs to neither half.
        let tells = match self.phase {
            Phase::Before => !is_first,
            Phase::After => true,
            Phase::Commanded | Phase::Done => false,
        };
        if !tells {
            return Next::Report;
        }
        for (kpi, mean) in self.kpis.iter_mut().zip(means) {
            let half = if self.phase == Phase::After { &mut kpi.after } else { &mut kpi.before };
            if let Some(mean) = mean.value() {
                half.add(mean);
            }
        }
        self.seen += 1;
        if self.seen < self.periods {
            return Next::Report;
        }
        self.seen = 0;
        if self.phase == Phase::Before {
            self.phase = Phase::Commanded;
            return Next::Command;
        }
        self.phase = Phase::Done;
        Next::Done
    }

    /// The base station has done what it was told: now the time after it begins. Of no consequence at any other time.
    pub fn commanded(&mut self) {
        if self.phase == Phase::Commanded {
            self.phase = Phase::After;
        }
    }

    /// The KPIs, in the order in which they were asked for.
    pub fn changes(&self) -> Vec<Change> {
        let change = |kpi: &Kpi| Change {
            name: kpi.name.clone(),
            before: kpi.before.value(),
            after: kpi.after.value(),
        };
        self.kpis.iter().map(change).collect()
    }

    /// Each KPI's mean over the rows.
    fn means(&mut self, table: &Table) -> Vec<Mean> {
        let last = std::mem::take(&mut self.last);
        let mut means = vec![Mean::default(); self.kpis.len()];
        for (key, values) in table.rows() {
            let numbers: Vec<f64> = self.kpis.iter().map(|kpi| kpi.number(values)).collect();
            let before = last.get(&key);
            for (at, (kpi, mean)) in self.kpis.iter().zip(&mut means).enumerate() {
                let Some(value) = numbers.get(at) else { continue };
                let grown =
                    before.and_then(|before| before.get(at)).map_or(f64::NAN, |before| value - before);
                let value = if kpi.is_counter { grown } else { *value };
                // One that wrapped, or is no number, tells nothing.
                if value.is_finite() && !(kpi.is_counter && value < 0.0) {
                    mean.add(value);
                }
            }
            self.last.insert(key, numbers);
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_wire::e2sm::Row;
    use ranlab_wire::e2sm::common::UeId;
    use ranlab_wire::e2sm::kpm::MeasurementRow;

    /// A UE with a gauge and a counter.
    struct Ue(u32, f64, u64);

    impl Row for Ue {
        fn columns() -> Vec<Column> {
            let column = |name: &'static str, kind, of| Column {
                name: name.into(),
                unit: "",
                kind,
                of,
                headline: false,
            };
            vec![
                column("load", Kind::Gauge, Type::Float),
                column("bytes", Kind::Counter, Type::Unsigned),
                column("cell", Kind::Label, Type::Unsigned),
            ]
        }
        fn key(&self) -> RowKey {
            RowKey::Ue { rnti: self.0 }
        }
        fn values(&self, out: &mut Vec<Value>) {
            out.extend([Value::Double(self.1), Value::Unsigned(self.2), Value::Unsigned(7)]);
        }
    }

    fn table<R: Row>(rows: &[R]) -> Table {
        let mut table = Table::default();
        rows.iter().for_each(|row| table.push(row));
        table
    }

    #[test]
    fn gauges_and_counters_are_compared_half_by_half() {
        let mut effect = Effect::new(&Ue::columns(), &["bytes", "load"], 2).unwrap();
        let mut told = |load: f64, bytes: u64| effect_report(&mut effect, load, bytes);
        // The first report has no growth yet.
        assert_eq!(
            [told(50.0, 100), told(10.0, 200), told(20.0, 400)],
            [Next::Report, Next::Report, Next::Command]
        );
        assert_eq!(told(90.0, 10_000), Next::Report, "the base station has the control");
        effect.commanded();
        let mut told = |load: f64, bytes: u64| effect_report(&mut effect, load, bytes);
        // What grew while the base station had the control is in no half.
        assert_eq!([told(30.0, 10_000), told(40.0, 10_010)], [Next::Report, Next::Done]);
        assert_eq!(told(1.0, 1), Next::Report, "nothing is told twice");
        let change = |name: &str, before, after| Change { name: name.to_owned(), before, after };
        assert_eq!(
            effect.changes(),
            [change("bytes", Some(150.0), Some(5.0)), change("load", Some(15.0), Some(35.0))]
        );
    }

    /// Of two UEs that do the same; a third has just come.
    fn effect_report(effect: &mut Effect, load: f64, bytes: u64) -> Next {
        effect.report(&table(&[
            Ue(1, load, bytes),
            Ue(2, load, bytes + 7),
            Ue(bytes as u32 + 3, load, u64::MAX),
        ]))
    }

    #[test]
    fn what_wraps_or_is_not_there_tells_nothing() {
        let mut effect = Effect::new(&Ue::columns(), &["bytes", "load"], 1).unwrap();
        for report in [Ue(1, f64::NAN, 10), Ue(1, f64::NAN, 5)] {
            effect.report(&table(&[report]));
        }
        effect.commanded();
        assert_eq!(effect.report(&Table::default()), Next::Done);
        assert!(effect.changes().iter().all(|it| it.before.is_none() && it.after.is_none()), "{effect:?}");
    }

    #[test]
    fn commanded_is_of_no_consequence_before_the_command() {
        let mut effect = Effect::new(&Ue::columns(), &["load"], 1).unwrap();
        effect.commanded();
        effect.report(&table(&[Ue(1, 1.0, 1)]));
        assert_eq!(effect.report(&table(&[Ue(1, 1.0, 1)])), Next::Command);
    }

    #[test]
    fn measurements_are_found_by_name_and_label() {
        let row = |ue: u32, measurement: &str, label: &str, value| MeasurementRow {
            ue: Some(UeId::du(ue)),
            measurement: measurement.to_owned(),
            label: label.to_owned(),
            value,
            absent: "",
            incomplete: false,
        };
        let kpis = ["DRB.UEThpDl", "DRB.UEThpDl slice=1", "RRU.PrbTotDl"];
        let mut effect = Effect::new(&MeasurementRow::columns(), &kpis, 1).unwrap();
        let report = |scale: f64| {
            table(&[
                row(1, "DRB.UEThpDl", "slice=1", 10.0 * scale),
                row(1, "RRU.PrbTotUl", "slice=1", 1e6),
                row(2, "DRB.UEThpDl", "slice=2", 30.0 * scale),
            ])
        };
        effect.report(&report(9.0));
        assert_eq!(effect.report(&report(1.0)), Next::Command);
        effect.commanded();
        assert_eq!(effect.report(&report(0.5)), Next::Done);
        let told: Vec<_> = effect.changes().into_iter().map(|it| (it.before, it.after)).collect();
        assert_eq!(told, [(Some(20.0), Some(10.0)), (Some(10.0), Some(5.0)), (None, None)]);
    }

    #[test]
    fn what_cannot_be_measured_is_named() {
        let new = |kpis: &[&str], periods| Effect::new(&Ue::columns(), kpis, periods).unwrap_err();
        assert_eq!(new(&[], 1), EffectError::Kpis);
        assert_eq!(new(&["load"; KPIS_MAX + 1], 1), EffectError::Kpis);
        assert_eq!(new(&["load"], 0), EffectError::Periods);
        for name in ["cell", "speed", ""] {
            let said = new(&[name], 1).to_string();
            assert_eq!(said, format!("{name:?} is no column with numbers; there are load, bytes"));
        }
    }
}
