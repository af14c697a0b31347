//! Reads tables as CSV: settings and metrics in columns, a repeat in each row.

use ranlab_campaign::results::Results;
use ranlab_campaign::value::Value;

use super::{COLUMNS_MAX, ImportError, Imported, Row, metric};

/// Maximum number of rows that are read.
pub const ROWS_MAX: usize = 1_000_000;

/// Names of columns that number the repeats. Such columns are neither settings nor metrics.
const REPEATS: [&str; 8] = ["repeat", "run", "iteration", "iter", "trial", "rep", "sample", "#"];
/// Names of columns with a concurrency, over which throughput follows a scaling law.
const CONCURRENCIES: [&str; 14] = [
    "n",
    "concurrency",
    "workers",
    "threads",
    "cores",
    "clients",
    "connections",
    "users",
    "nodes",
    "processes",
    "instances",
    "cpus",
    "jobs",
    "vus",
];
/// Section of a setting that has the same value in a whole file.
const COMMON: &str = "sut";

/// A table of text.
struct Table {
    header: Vec<String>,
    /// Fields, with the line of the file.
    rows: Vec<(usize, Vec<String>)>,
}

/// Reads a table with a header. Settings are: columns with text, columns whose name denotes a concurrency (`n`, `threads`, ...), the
/// first of several columns if all are numbers, and those in `axes`. Columns that number repeats are skipped. All other columns are
/// metrics. Rows with equal settings are repeats. A text that all rows have is a setting of the system under test.
///
/// # Errors
/// Names the line and the column.
pub fn csv(text: &str, title: &str, axes: &[String]) -> Result<Results, ImportError> {
    let table = Table::parse(text)?;
    if let Some(unknown) = axes.iter().find(|name| !table.header.contains(name)) {
        return Err(ImportError::NoColumn(unknown.clone(), table.header.join(", ")));
    }
    let roles = table.roles(axes);
    if !roles.contains(&Role::Metric) {
        return Err(ImportError::NoMetric);
    }
    let mut imported = Imported { title: title.to_owned(), ..Imported::default() };
    for (line, fields) in &table.rows {
        let mut row = Row::default();
        for ((name, role), field) in table.header.iter().zip(&roles).zip(fields) {
            match role {
                Role::Axis => drop(row.settings.insert(name.clone(), value(field))),
                Role::Common => drop(row.settings.insert(format!("{COMMON}.{name}"), value(field))),
                Role::Skipped => {}
                Role::Metric if field.is_empty() => {}
                Role::Metric => {
                    let number = number(field).ok_or_else(|| ImportError::NotANumber {
                        line: *line,
                        column: name.clone(),
                        value: field.clone(),
                    })?;
                    row.metrics.insert(name.clone(), number);
                }
            }
        }
        imported.rows.push(row);
    }
    let of = |selected: Role| table.header.iter().zip(&roles).filter(move |(_, role)| **role == selected);
    imported.axes = of(Role::Axis).map(|(name, _)| name.clone()).collect();
    imported.metrics = of(Role::Metric).map(|(name, _)| metric(name)).collect();
    imported.law = law(&imported);
    imported.results()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Axis,
    /// A text column with the same value in all rows.
    Common,
    Metric,
    Skipped,
}

impl Table {
    fn parse(text: &str) -> Result<Self, ImportError> {
        let mut records = records(text.strip_prefix('\u{feff}').unwrap_or(text))?.into_iter();
        let (_, header) = records.next().ok_or(ImportError::Empty)?;
        if header.len() > COLUMNS_MAX {
            return Err(ImportError::TooMany("columns", COLUMNS_MAX));
        }
        for (index, name) in header.iter().enumerate() {
            if name.is_empty() || header[..index].contains(name) {
                return Err(ImportError::Header(name.clone()));
            }
        }
        let rows: Vec<(usize, Vec<String>)> = records.collect();
        if let Some((line, wrong)) = rows.iter().find(|(_, fields)| fields.len() != header.len()) {
            return Err(ImportError::Fields { line: *line, found: wrong.len(), expected: header.len() });
        }
        if rows.is_empty() {
            return Err(ImportError::Empty);
        }
        Ok(Self { header, rows })
    }

    fn roles(&self, axes: &[String]) -> Vec<Role> {
        let column = |index: usize| self.rows.iter().map(move |(_, fields)| fields[index].as_str());
        let numeric = |index: usize| column(index).all(|field| field.is_empty() || number(field).is_some());
        let named = |name: &str, known: &[&str]| known.contains(&name.to_lowercase().as_str());
        let role = |index: usize| {
            let name = self.header[index].as_str();
            let constant = column(index).all(|field| Some(field) == column(index).next());
            match numeric(index) {
                _ if axes.iter().any(|own| own == name) => Role::Axis,
                _ if named(name, &REPEATS) => Role::Skipped,
                // A column of numbers with a typing error stays a metric, so that the error message names the error.
                false if mostly_numbers(column(index)) => Role::Metric,
                false if constant => Role::Common,
                false => Role::Axis,
                true if named(name, &CONCURRENCIES) && self.header.len() > 1 => Role::Axis,
                true => Role::Metric,
            }
        };
        let mut roles: Vec<Role> = (0..self.header.len()).map(role).collect();
        let metrics = roles.iter().filter(|role| **role == Role::Metric).count();
        let settings = roles.iter().any(|role| matches!(role, Role::Axis | Role::Common));
        if metrics > 1 && !settings && roles[0] == Role::Metric {
            roles[0] = Role::Axis;
        }
        roles
    }
}

fn mostly_numbers<'a>(fields: impl Iterator<Item = &'a str>) -> bool {
    let mut numbers = 0_usize;
    let mut others = 0_usize;
    for field in fields {
        *(if number(field).is_some() { &mut numbers } else { &mut others }) += 1;
    }
    numbers > others
}

fn number(field: &str) -> Option<f64> {
    field.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn value(field: &str) -> Value {
    match (field.parse::<i64>(), number(field)) {
        (Ok(int), _) => Value::Int(int),
        (_, Some(number)) => Value::Float(number),
        _ => Value::Text(field.to_owned()),
    }
}

/// Returns the setting and the metric of a scaling law: throughput over concurrency. The setting is the first one with numbers
/// above 0. The metric is the first one for which more is better. If a table has only one metric, it is used unless less is
/// better.
fn law(imported: &Imported) -> Option<(String, String)> {
    use ranlab_campaign::metric::Better;
    let positive = |path: &&String| {
        imported.values(path).iter().all(|value| value.number().is_some_and(|number| number > 0.0))
    };
    let across = imported.axes.iter().find(positive)?;
    let higher = imported.metrics.iter().find(|metric| metric.better == Better::Higher);
    let only =
        imported.metrics.first().filter(|own| imported.metrics.len() == 1 && own.better == Better::Neither);
    Some((across.clone(), higher.or(only)?.name.clone()))
}

/// Returns the records of RFC 4180 with their first lines. Fields are trimmed; empty lines and comment lines (`#`) are
/// skipped.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, ImportError> {
    let mut records: Vec<(usize, Vec<String>)> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut record = line.to_owned();
        if record.trim().is_empty() || (record.starts_with('#') && !record.starts_with("#,")) {
            continue;
        }
        // A quoted field may contain line feeds.
        while record.matches('"').count() % 2 == 1 {
            let (_, next) = lines.next().ok_or(ImportError::OpenQuote(index + 1))?;
            record.push('\n');
            record.push_str(next);
        }
        if records.len() > ROWS_MAX {
            return Err(ImportError::TooMany("rows", ROWS_MAX));
        }
        records.push((index + 1, fields(&record)));
    }
    Ok(records)
}

/// Returns the fields of a record whose quotes are balanced.
fn fields(record: &str) -> Vec<String> {
    let separator = if record.contains(',') || !record.contains(';') { ',' } else { ';' };
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut rest = record.chars().peekable();
    while let Some(next) = rest.next() {
        let last = fields.len() - 1;
        match next {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                fields[last].push('"');
            }
            '"' => quoted = !quoted,
            _ if next == separator && !quoted => fields.push(String::new()),
            _ => fields[last].push(next),
        }
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}
