//! Measures the effect of a control: KPIs over a number of report periods before it and the same number after it. The results are totals,
//! values per slice, and values per UE. The RIC's REST API, xApps and bindings share this code, which uses neither connections nor clocks.
//!
//! ```text
//!  report, report, … Next::Command  ->  the control is sent, and acknowledged: commanded()  ->  report, … Next::Done
//! ```
//!
//! A KPI is a numeric column of the service model's tables. In tables with one row per measurement (KPM), it is the
//! name of the measurement, optionally followed by a space and a label: `DRB.UEThpDl`, `DRB.UEThpDl slice=1`. In each
//! period, a gauge contributes its value, and a counter its increase since the previous report. Rates, volumes, counts
//! and shares are summed over UEs; delays and qualities are averaged ([`Change::summary`]).
//!
//! A UE's slices are known from rows that are labelled with a slice, or from [`Effect::members`].
use ranlab_e2_codec::e2sm::kpm::{self, Summary};
use ranlab_e2_codec::e2sm::{Column, Kind, RowKey, Table, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of KPIs of an effect.
pub const KPIS_MAX: usize = 16;
/// Maximum number of UEs and slices per KPI. Further ones contribute to the total only and are counted.
pub const GROUPS_MAX: usize = 1_024;
/// Slice name for UEs that belong to no known slice.
pub const OTHER_SLICES: &str = "other";
/// Column with the measurement name, in tables with one row per measurement.
const MEASUREMENT: &str = "measurement";
/// Column with the label.
const LABEL: &str = "label";
/// Column with the value.
const VALUE: &str = "value";
/// Column with the complete identity of the UE.
const UE_IDS: &str = "ue_ids";
/// Prefix of the label component that names a slice.
const SLICE_LABEL: &str = "slice=";

/// Reason why an effect cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// The list of KPIs is empty or too long.
    #[error("an effect must have 1 to {KPIS_MAX} KPIs")]
    Kpis,
    /// The number of periods is zero.
    #[error("an effect must be measured over 1 period or more")]
    Periods,
    /// The tables have no such numeric column or measurement.
    #[error("{name:?} is not a KPI; allowed are {there}")]
    Unknown {
        /// Requested KPI.
        name: String,
        /// Available KPIs.
        there: String,
    },
}

/// Next step after a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Wait for another report or for the response to the control.
    Report,
    /// Send the control: the first half is complete. Returned once.
    Command,
    /// Read [`Effect::changes`]: both halves are complete.
    Done,
}

/// Means over the periods before and after a control. `None` if no report had a value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Halves {
    /// Mean before the control.
    pub before: Option<f64>,
    /// Mean after the control.
    pub after: Option<f64>,
}

/// A KPI before and after a control.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Name of the KPI as requested.
    pub name: String,
    /// Unit; empty for counts and ratios. For a counter, the unit of its increase per period.
    pub unit: String,
    /// Summary of UEs and slices.
    pub summary: Summary,
    /// Values over all rows.
    pub total: Halves,
    /// Values per slice, sorted by name; empty if no slice is known.
    pub slices: Vec<(String, Halves)>,
    /// Values per UE, by complete identity.
    pub ues: Vec<(String, Halves)>,
    /// Number of UEs and slices beyond [`GROUPS_MAX`].
    pub left_out: u64,
}

/// Sum and count of numbers.
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

    fn summarized(self, by: Summary) -> Option<f64> {
        let sum = (self.count > 0).then_some(self.sum);
        if by == Summary::Sum { sum } else { self.value() }
    }
}

/// Group of rows that a value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Total,
    Slice(String),
    Ue(String),
}

/// Values of a KPI in one report.
type Values = BTreeMap<Group, Mean>;

/// A measurement with an optional label, and the columns that contain them.
#[derive(Debug)]
struct Named {
    column: usize,
    label_column: Option<usize>,
    measurement: String,
    label: Option<String>,
}

fn text(values: &[Value], column: Option<usize>) -> Option<&str> {
    match values.get(column?) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

impl Named {
    fn matches(&self, values: &[Value]) -> bool {
        let is_measurement = text(values, Some(self.column)) == Some(&self.measurement);
        let is_labelled = |label: &String| text(values, self.label_column).is_some_and(|it| it == label);
        is_measurement && self.label.as_ref().is_none_or(is_labelled)
    }
}

#[derive(Debug)]
struct Kpi {
    name: String,
    unit: String,
    summary: Summary,
    column: usize,
    is_counter: bool,
    /// Measurement that selects the rows; `None` selects all rows.
    rows: Option<Named>,
    before: BTreeMap<Group, Mean>,
    after: BTreeMap<Group, Mean>,
    left_out: BTreeSet<Group>,
}

/// Fragments of the names of gauge columns that are summed over rows.
const COUNTS: [&str; 6] = ["_rb", "prb", "pkts", "packets", "_ues", "ues"];

/// Returns how the rows of a column are summarized.
fn column_summary(column: &Column) -> Summary {
    let adds_up = column.kind == Kind::Counter
        || matches!(column.unit, "B" | "kbit/s" | "bit/s")
        || column.unit.is_empty() && COUNTS.iter().any(|part| column.name.contains(part));
    if adds_up { Summary::Sum } else { Summary::Mean }
}

impl Kpi {
    fn new(name: &str, there: &[Column], offered: &[String]) -> Result<Self, EffectError> {
        let find = |name: &str, of: Type| there.iter().position(|it| it.name == name && it.of == of);
        let is_number = |column: &Column| column.kind != Kind::Label && column.of != Type::Text;
        let measurement = find(MEASUREMENT, Type::Text).zip(find(VALUE, Type::Float));
        let unknown = || {
            let numbers =
                there.iter().filter(|column| is_number(column)).map(|column| column.name.to_string());
            let names: Vec<_> = if offered.is_empty() { numbers.collect() } else { offered.to_vec() };
            EffectError::Unknown { name: name.to_owned(), there: names.join(", ") }
        };
        let new = |column, unit: &str, summary, rows| Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            summary,
            column,
            is_counter: there.get(column).is_some_and(|it: &Column| it.kind == Kind::Counter),
            rows,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            left_out: BTreeSet::new(),
        };
        if let Some((measurement, value)) = measurement {
            let (bare, label) = name.split_once(' ').map_or((name, None), |(bare, it)| (bare, Some(it)));
            let exists = offered.is_empty() || offered.iter().any(|it| it == bare);
            if bare.is_empty() || !exists {
                return Err(unknown());
            }
            let label_column = find(LABEL, Type::Text);
            let label = label.map(str::to_owned);
            let rows = Named { column: measurement, label_column, measurement: bare.to_owned(), label };
            return Ok(new(value, kpm::unit(bare), kpm::summary(bare), Some(rows)));
        }
        let at = there.iter().position(|column| column.name == name && is_number(column));
        let column = at.and_then(|at| Some((at, there.get(at)?))).ok_or_else(unknown)?;
        Ok(new(column.0, column.1.unit, column_summary(column.1), None))
    }

    /// Returns the number in a row, or NaN if the row has none.
    fn number(&self, values: &[Value]) -> f64 {
        let matches = self.rows.as_ref().is_none_or(|named| named.matches(values));
        let value = values.get(self.column).filter(|_| matches);
        value.and_then(Value::number).unwrap_or(f64::NAN)
    }

    /// Adds the values of a report.
    fn add(&mut self, values: Values, is_after: bool) {
        let half = if is_after { &mut self.after } else { &mut self.before };
        for (group, mean) in values {
            let Some(value) = mean.summarized(self.summary) else { continue };
            if half.len() > GROUPS_MAX && !half.contains_key(&group) && group != Group::Total {
                if self.left_out.len() < GROUPS_MAX {
                    self.left_out.insert(group);
                }
                continue;
            }
            half.entry(group).or_default().add(value);
        }
    }

    fn change(&self) -> Change {
        let groups: BTreeSet<&Group> = self.before.keys().chain(self.after.keys()).collect();
        let halves = |group: &Group| Halves {
            before: self.before.get(group).and_then(|mean| mean.value()),
            after: self.after.get(group).and_then(|mean| mean.value()),
        };
        let mut slices = Vec::new();
        let mut ues = Vec::new();
        for group in groups {
            match group {
                Group::Total => {}
                Group::Slice(name) => slices.push((name.clone(), halves(group))),
                Group::Ue(name) => ues.push((name.clone(), halves(group))),
            }
        }
        Change {
            name: self.name.clone(),
            unit: self.unit.clone(),
            summary: self.summary,
            total: halves(&Group::Total),
            slices,
            ues,
            left_out: self.left_out.len() as u64,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    /// The control is being executed. Reports in this phase count neither as before nor as after.
    Commanded,
    After,
    Done,
}

/// Identity of a row across reports: its key, and the texts that distinguish rows with the same key.
type RowId = (RowKey, Option<String>);

/// Effect of one control, measured from reports.
#[derive(Debug)]
pub struct Effect {
    kpis: Vec<Kpi>,
    periods: u32,
    phase: Phase,
    /// Number of periods of the current half that have passed.
    passed: u32,
    has_report: bool,
    last: BTreeMap<RowId, Vec<f64>>,
    ue_column: Option<usize>,
    label_column: Option<usize>,
    /// Slices of each UE.
    slices: BTreeMap<String, BTreeSet<String>>,
}

impl Effect {
    /// Creates an effect for the given KPIs in tables with the columns `there`, over `periods` before the control and
    /// as many after it. `offered` lists the measurements that the node reports. It is empty if they are unknown, or if
    /// the tables have no measurements.
    ///
    /// # Errors
    /// Returns an error if there are no or too many KPIs, if a KPI does not exist in the tables, or if there are no
    /// periods.
    pub fn new<S: AsRef<str>>(
        there: &[Column],
        offered: &[String],
        kpis: &[S],
        periods: u32,
    ) -> Result<Self, EffectError> {
        if kpis.is_empty() || kpis.len() > KPIS_MAX {
            return Err(EffectError::Kpis);
        }
        if periods == 0 {
            return Err(EffectError::Periods);
        }
        let kpis =
            kpis.iter().map(|name| Kpi::new(name.as_ref(), there, offered)).collect::<Result<_, _>>()?;
        let column = |name: &str| there.iter().position(|it| it.name == name && it.of == Type::Text);
        Ok(Self {
            kpis,
            periods,
            phase: Phase::Before,
            passed: 0,
            has_report: false,
            last: BTreeMap::new(),
            ue_column: column(UE_IDS),
            label_column: column(LABEL),
            slices: BTreeMap::new(),
        })
    }

    /// Records that the UEs of this report belong to a slice.
    pub fn members(&mut self, slice: &str, table: &Table) {
        for (key, values) in table.rows() {
            let Some(ue) = ue_name(key, values, self.ue_column) else { continue };
            if self.slices.len() < GROUPS_MAX || self.slices.contains_key(&ue) {
                self.slices.entry(ue).or_default().insert(slice.to_owned());
            }
        }
    }

    /// Adds a report and returns the next step.
    pub fn report(&mut self, table: &Table) -> Next {
        let is_first = !std::mem::replace(&mut self.has_report, true);
        let values = self.values(table);
        // A counter's increase is known from the second report on. Its increase while the control was executed
        // belongs to neither half.
        let counts = match self.phase {
            Phase::Before => !is_first,
            Phase::After => true,
            Phase::Commanded | Phase::Done => false,
        };
        if !counts {
            return Next::Report;
        }
        let is_after = self.phase == Phase::After;
        self.kpis.iter_mut().zip(values).for_each(|(kpi, values)| kpi.add(values, is_after));
        self.passed += 1;
        if self.passed < self.periods {
            return Next::Report;
        }
        self.passed = 0;
        if self.phase == Phase::Before {
            self.phase = Phase::Commanded;
            return Next::Command;
        }
        self.phase = Phase::Done;
        Next::Done
    }

    /// Starts the second half. Call this when the base station has executed the control. Ignored in any other phase.
    pub fn commanded(&mut self) {
        if self.phase == Phase::Commanded {
            self.phase = Phase::After;
        }
    }

    /// Returns the KPIs in the order in which they were requested.
    pub fn changes(&self) -> Vec<Change> {
        self.kpis.iter().map(Kpi::change).collect()
    }

    /// Returns the values of each KPI in a report.
    fn values(&mut self, table: &Table) -> Vec<Values> {
        let last = std::mem::take(&mut self.last);
        let mut values = vec![Values::new(); self.kpis.len()];
        for (key, row) in table.rows() {
            let numbers: Vec<f64> = self.kpis.iter().map(|kpi| kpi.number(row)).collect();
            if numbers.iter().all(|number| number.is_nan()) {
                continue;
            }
            let ue = ue_name(key, row, self.ue_column);
            let groups = self.groups(key, row, ue.as_deref());
            let id = (key, ue);
            let before = last.get(&id);
            for (at, (kpi, values)) in self.kpis.iter().zip(&mut values).enumerate() {
                let Some(number) = numbers.get(at) else { continue };
                let before = before.and_then(|before| before.get(at));
                let grown = before.map_or(f64::NAN, |before| number - before);
                let value = if kpi.is_counter { grown } else { *number };
                // Skips counters that wrapped and values that are not numbers.
                if !value.is_finite() || kpi.is_counter && value < 0.0 {
                    continue;
                }
                groups.iter().for_each(|group| values.entry(group.clone()).or_default().add(value));
            }
            self.last.insert(id, numbers);
        }
        values
    }

    /// Returns the groups that a row belongs to.
    fn groups(&self, key: RowKey, row: &[Value], ue: Option<&str>) -> Vec<Group> {
        let mut groups = vec![Group::Total];
        let label = text(row, self.label_column).unwrap_or_default();
        let labelled = label.split(' ').find_map(|part| part.strip_prefix(SLICE_LABEL));
        if let RowKey::Slice { slice } = key {
            groups.push(Group::Slice(slice.to_string()));
        } else if let Some(slice) = labelled {
            groups.push(Group::Slice(slice.to_owned()));
        } else if let (Some(ue), false) = (ue, self.slices.is_empty()) {
            match self.slices.get(ue) {
                Some(slices) => groups.extend(slices.iter().cloned().map(Group::Slice)),
                None => groups.push(Group::Slice(OTHER_SLICES.to_owned())),
            }
        }
        groups.extend(ue.map(|ue| Group::Ue(ue.to_owned())));
        groups
    }
}

/// Returns the name of a row's UE: its complete identity if the row has it, otherwise its RNTI.
fn ue_name(key: RowKey, row: &[Value], column: Option<usize>) -> Option<String> {
    let ids = text(row, column).filter(|ids| !ids.is_empty());
    ids.map(str::to_owned).or_else(|| key.ue().map(|rnti| rnti.to_string()))
}

#[cfg(test)]
mod tests;
