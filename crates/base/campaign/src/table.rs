//! Results as a table with one row for each point: written as CSV, and filtered by a subset of MongoDB's filters.

use std::collections::BTreeMap;

use crate::answer::{Answer, Bound};
use crate::results::{PointResult, Results};
use crate::value::Value;

/// Maximum nesting of a filter.
const FILTER_DEPTH: usize = 16;

/// Returns a point as a row with its settings (by path), `outcome`, `repeats`, and the mean of each metric. If the mean
/// of a metric NAME is only a bound, `NAME_bound` is `at_least` or `at_most`.
pub fn row(results: &Results, point: &PointResult) -> BTreeMap<String, Value> {
    let mut row = point.point.settings.clone();
    row.insert("point".to_owned(), Value::Int(point.point.index as i64));
    row.insert("repeats".to_owned(), Value::Int(point.runs.len() as i64));
    row.insert("outcome".to_owned(), Value::from(point.outcome().map_or("", |outcome| outcome.name())));
    let names: std::collections::BTreeSet<&String> =
        point.runs.iter().flat_map(|run| run.recording.metrics.keys()).collect();
    for name in names {
        if let Some(answer) = results.answer(point, name) {
            row.insert(name.clone(), Value::Float(answer.value));
            if answer.bound != Bound::Exact {
                row.insert(format!("{name}_bound"), Value::from(answer.bound.name()));
            }
        }
    }
    row
}

/// Returns every point as a line of CSV: axes, outcome, repeats, then mean, half width and bound (`exact`, `at_least`,
/// `at_most`) of each metric. RFC 4180.
pub fn csv(results: &Results) -> String {
    let metrics = results.metric_names();
    let axes: Vec<&String> = results
        .points
        .first()
        .iter()
        .flat_map(|point| point.point.axes.iter().map(|(path, _)| path))
        .collect();
    let mut header: Vec<String> = axes.iter().map(|path| path.to_string()).collect();
    header.extend(["outcome", "repeats"].map(str::to_owned));
    for metric in &metrics {
        header.extend([metric.clone(), format!("{metric}_ci"), format!("{metric}_bound")]);
    }
    let mut csv = line(&header);
    for point in &results.points {
        let mut fields: Vec<String> = point.point.axes.iter().map(|(_, value)| value.to_string()).collect();
        fields.push(point.outcome().map_or("", |outcome| outcome.name()).to_owned());
        fields.push(point.runs.len().to_string());
        for metric in &metrics {
            let answer = results.answer(point, metric);
            let number = |of: fn(&Answer) -> Option<f64>| {
                answer.as_ref().and_then(of).map_or_else(String::new, |number| number.to_string())
            };
            fields.extend([number(|answer| Some(answer.value)), number(|answer| answer.half_width)]);
            fields.push(answer.as_ref().map_or_else(String::new, |answer| answer.bound.name().to_owned()));
        }
        csv.push_str(&line(&fields));
    }
    csv
}

/// Returns one line of CSV including the line feed.
pub fn line(fields: &[String]) -> String {
    let quote = |field: &String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    fields.iter().map(quote).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A filter over rows: equality, nested and dotted keys, `$lt`, `$lte`, `$gt`, `$gte`, `$ne`, `$in`, `$not`.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter(Vec<(String, Test)>);

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Equal(Value),
    Less(Value),
    LessOrEqual(Value),
    Greater(Value),
    GreaterOrEqual(Value),
    OneOf(Vec<Value>),
    Not(Vec<Self>),
}

/// Reason why a filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filter is invalid: {0}")]
pub struct FilterError(String);

impl Filter {
    /// Reads `{"load": {"nodes": {"$gt": 10}}, "outcome": "ok"}`.
    ///
    /// # Errors
    /// Names the part that is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|error| FilterError(format!("not JSON: {error}")))?;
        let mut filter = Self(Vec::new());
        filter.read("", &json, 0)?;
        Ok(filter)
    }

    /// Whether a row passes. A key that the row lacks passes only `$ne` and `$not`.
    pub fn matches(&self, row: &BTreeMap<String, Value>) -> bool {
        self.0.iter().all(|(path, test)| test.passes(row.get(path)))
    }

    fn read(&mut self, path: &str, json: &serde_json::Value, depth: usize) -> Result<(), FilterError> {
        if depth > FILTER_DEPTH {
            return Err(FilterError(format!("it nests deeper than {FILTER_DEPTH} levels")));
        }
        let serde_json::Value::Object(object) = json else {
            if path.is_empty() {
                return Err(FilterError("it must be an object such as {\"load.nodes\": 10}".to_owned()));
            }
            self.0.push((path.to_owned(), Test::Equal(value(path, json)?)));
            return Ok(());
        };
        for (key, json) in object {
            if key.starts_with('$') {
                if path.is_empty() {
                    return Err(FilterError(format!(
                        "`{key}` needs a setting to compare, such as {{\"load.nodes\": {{\"{key}\": 10}}}}"
                    )));
                }
                self.0.push((path.to_owned(), test(key, json, depth)?));
            } else {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                self.read(&path, json, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn value(path: &str, json: &serde_json::Value) -> Result<Value, FilterError> {
    Value::from_json(json).ok_or_else(|| FilterError(format!("`{path}` must be compared with a value")))
}

fn test(operator: &str, json: &serde_json::Value, depth: usize) -> Result<Test, FilterError> {
    if depth > FILTER_DEPTH {
        return Err(FilterError(format!("it nests deeper than {FILTER_DEPTH} levels")));
    }
    Ok(match operator {
        "$lt" => Test::Less(value(operator, json)?),
        "$lte" => Test::LessOrEqual(value(operator, json)?),
        "$gt" => Test::Greater(value(operator, json)?),
        "$gte" => Test::GreaterOrEqual(value(operator, json)?),
        "$eq" => Test::Equal(value(operator, json)?),
        "$ne" => Test::Not(vec![Test::Equal(value(operator, json)?)]),
        "$in" => match value(operator, json)? {
            Value::List(list) => Test::OneOf(list),
            _ => return Err(FilterError("`$in` must be a list".to_owned())),
        },
        "$not" => match json {
            serde_json::Value::Object(object) => Test::Not(
                object.iter().map(|(key, json)| test(key, json, depth + 1)).collect::<Result<_, _>>()?,
            ),
            _ => Test::Not(vec![Test::Equal(value(operator, json)?)]),
        },
        _ => {
            return Err(FilterError(format!(
                "unknown operator `{operator}`; available: $eq, $ne, $lt, $lte, $gt, $gte, $in, $not"
            )));
        }
    })
}

impl Test {
    fn passes(&self, own: Option<&Value>) -> bool {
        let ordered = |other: &Value, pass: fn(f64, f64) -> bool| {
            own.and_then(Value::number).zip(other.number()).is_some_and(|(own, other)| pass(own, other))
        };
        match self {
            Self::Equal(other) => own.is_some_and(|own| own.same(other)),
            Self::Less(other) => ordered(other, |a, b| a < b),
            Self::LessOrEqual(other) => ordered(other, |a, b| a <= b),
            Self::Greater(other) => ordered(other, |a, b| a > b),
            Self::GreaterOrEqual(other) => ordered(other, |a, b| a >= b),
            Self::OneOf(list) => own.is_some_and(|own| list.iter().any(|other| own.same(other))),
            Self::Not(tests) => !tests.iter().all(|test| test.passes(own)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(filter: &str) -> bool {
        let row =
            [("load.nodes", Value::Int(10)), ("sut.type", Value::from("ovs")), ("out", Value::Float(2.5))];
        let row = row.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Filter::parse(filter).unwrap().matches(&row)
    }

    #[test]
    fn filters_match_as_in_tipsy() {
        for filter in [
            r#"{}"#,
            r#"{"load.nodes": 10}"#,
            r#"{"load": {"nodes": 10}, "sut.type": "ovs"}"#,
            r#"{"load": {"nodes": {"$gt": 5, "$lt": 20}}}"#,
            r#"{"out": {"$not": {"$gt": 3}}}"#,
            r#"{"sut.type": {"$in": ["bess", "ovs"]}}"#,
            r#"{"absent": {"$ne": 1}}"#,
        ] {
            assert!(passes(filter), "{filter}");
        }
        for filter in [
            r#"{"load.nodes": 11}"#,
            r#"{"out": {"$gt": 2.5}}"#,
            r#"{"absent": 1}"#,
            r#"{"sut.type": {"$lt": 3}}"#,
        ] {
            assert!(!passes(filter), "{filter}");
        }
    }

    #[test]
    fn wrong_filter_error_names_allowed_values() {
        let error = |text| Filter::parse(text).unwrap_err().to_string();
        assert!(error(r#"{"a": {"$near": 1}}"#).contains("available: $eq, $ne, $lt"));
        assert!(error("[1]").contains("must be an object"));
        assert!(error(r#"{"$gt": 1}"#).contains("needs a setting to compare"));
        assert!(error(&(r#"{"a":"#.repeat(40) + "1" + &"}".repeat(40))).contains("nests deeper"));
    }

    #[test]
    fn csv_quotes_special_characters() {
        assert_eq!(line(&["a,b".to_owned(), "c\"d".to_owned(), "e".to_owned()]), "\"a,b\",\"c\"\"d\",e\r\n");
    }
}
