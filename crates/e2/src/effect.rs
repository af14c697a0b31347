//! Effect of a control: some KPIs over the periods before it and over as many after it, in total, by slice and by UE. One
//! machine for the RIC's HTTP, xApps and bindings; it knows neither connections nor clocks.
//!
//! ```text
//!  report, report, … Next::Command  ->  the control is sent, and acknowledged: commanded()  ->  report, … Next::Done
//! ```
//!
//! A KPI is a column of the model's tables that has numbers, or where tables have a row for each measurement (KPM) the
//! measurement's name, with its label behind a space if only that is meant: `DRB.UEThpDl`, `DRB.UEThpDl slice=1`. A
//! period's value of a gauge is the value itself, of a counter its growth since the report before. Rates, volumes, counts and
//! shares add up over UEs; of delays and qualities the mean is taken ([`Change::summary`]).
//!
//! A UE's slices are known from rows that are labelled with a slice, or from [`Effect::members`].
use ranlab_wire::e2sm::kpm::{self, Summary};
use ranlab_wire::e2sm::{Column, Kind, RowKey, Table, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// KPIs of an effect at most.
pub const KPIS_MAX: usize = 16;
/// UEs and slices of a KPI at most; further ones are in the total alone, and counted.
pub const GROUPS_MAX: usize = 1_024;
/// Slice of the UEs that are in none of the known slices.
pub const OTHER_SLICES: &str = "other";
/// Column with the name of a row's measurement, in tables that have a row for each.
const MEASUREMENT: &str = "measurement";
/// Column with its label.
const LABEL: &str = "label";
/// Column with its value.
const VALUE: &str = "value";
/// Column with the whole identity of a row's UE.
const UE_IDS: &str = "ue_ids";
/// Beginning of a label's part that names a slice.
const SLICE_LABEL: &str = "slice=";

/// Reason why an effect cannot be measured.
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
    #[error("{name:?} is not a KPI; allowed are {there}")]
    Unknown {
        /// The KPI.
        name: String,
        /// KPIs that exist.
        there: String,
    },
}

/// What follows from a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Further reports are needed, or the control's answer.
    Report,
    /// Enough is known of before: the control is to be sent. Returned once.
    Command,
    /// All is known: [`Effect::changes`].
    Done,
}

/// Means over the periods before and after a control; `None` if no report had a value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Halves {
    /// Before.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
}

/// A KPI before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The KPI as it was requested.
    pub name: String,
    /// Unit; empty for counts and ratios. Of a counter the unit of its growth in a period.
    pub unit: String,
    /// How UEs and slices are summarized.
    pub summary: Summary,
    /// Of all rows.
    pub total: Halves,
    /// By slice, in the order of their names; empty if no slice is known.
    pub slices: Vec<(String, Halves)>,
    /// By UE, whole identities.
    pub ues: Vec<(String, Halves)>,
    /// UEs and slices beyond [`GROUPS_MAX`].
    pub left_out: u64,
}

/// Sum and count of some numbers.
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

/// Rows that a KPI is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Total,
    Slice(String),
    Ue(String),
}

/// Values of a KPI in one report.
type Values = BTreeMap<Group, Mean>;

/// A measurement and its label, in columns of their own.
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
    /// Its rows; `None` for all.
    rows: Option<Named>,
    before: BTreeMap<Group, Mean>,
    after: BTreeMap<Group, Mean>,
    left_out: BTreeSet<Group>,
}

/// Parts of column names whose gauges add up over rows.
const COUNTS: [&str; 6] = ["_rb", "prb", "pkts", "packets", "_ues", "ues"];

/// How rows of a column are summarized.
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

    /// Its number in a row; NaN if the row has none.
    fn number(&self, values: &[Value]) -> f64 {
        let matches = self.rows.as_ref().is_none_or(|named| named.matches(values));
        let value = values.get(self.column).filter(|_| matches);
        value.and_then(Value::number).unwrap_or(f64::NAN)
    }

    /// Takes the values of a report in.
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
    /// The base station has the control: there is neither before nor after.
    Commanded,
    After,
    Done,
}

/// Identity of a row over reports: its key, and the texts in which rows of the same key differ.
type RowId = (RowKey, Option<String>);

/// An effect that is measured.
#[derive(Debug)]
pub struct Effect {
    kpis: Vec<Kpi>,
    periods: u32,
    phase: Phase,
    /// Periods of the current half that have passed.
    passed: u32,
    has_report: bool,
    last: BTreeMap<RowId, Vec<f64>>,
    ue_column: Option<usize>,
    label_column: Option<usize>,
    /// Slices of a UE.
    slices: BTreeMap<String, BTreeSet<String>>,
}

impl Effect {
    /// Of these KPIs, in tables with these columns, over a number of periods before and as many after. `offered`: names of
    /// measurements that the node reports; empty if that is not known, or if the tables have no measurements.
    ///
    /// # Errors
    /// No or too many KPIs, one that the tables do not have, no periods.
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

    /// The UEs of this report are those of a slice.
    pub fn members(&mut self, slice: &str, table: &Table) {
        for (key, values) in table.rows() {
            let Some(ue) = ue_name(key, values, self.ue_column) else { continue };
            if self.slices.len() < GROUPS_MAX || self.slices.contains_key(&ue) {
                self.slices.entry(ue).or_default().insert(slice.to_owned());
            }
        }
    }

    /// Takes a report in.
    pub fn report(&mut self, table: &Table) -> Next {
        let is_first = !std::mem::replace(&mut self.has_report, true);
        let values = self.values(table);
        // A counter's growth is known from the second report on; its growth while the base station had the control belongs
        // to neither half.
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

    /// The base station has carried out the control: the time after it begins. Ignored in any other phase.
    pub fn commanded(&mut self) {
        if self.phase == Phase::Commanded {
            self.phase = Phase::After;
        }
    }

    /// The KPIs, in the order in which they were requested.
    pub fn changes(&self) -> Vec<Change> {
        self.kpis.iter().map(Kpi::change).collect()
    }

    /// Values of each KPI in a report.
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
                // A counter that wrapped, and a value that is not a number, are left out.
                if !value.is_finite() || kpi.is_counter && value < 0.0 {
                    continue;
                }
                groups.iter().for_each(|group| values.entry(group.clone()).or_default().add(value));
            }
            self.last.insert(id, numbers);
        }
        values
    }

    /// The groups that a row belongs to.
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

/// Name of a row's UE: its whole identity where the row has it, else its RNTI.
fn ue_name(key: RowKey, row: &[Value], column: Option<usize>) -> Option<String> {
    let ids = text(row, column).filter(|ids| !ids.is_empty());
    ids.map(str::to_owned).or_else(|| key.ue().map(|rnti| rnti.to_string()))
}

#[cfg(test)]
mod tests;
