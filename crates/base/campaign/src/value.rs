//! Values of settings, in the notation of scenario files: `10`, `0.2`, `"50ms"`, `"flexran"`, `[1, 2]`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A setting, an axis' value or a field of a result row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A length of time; written as text with a unit (`"50ms"`), a number of seconds where a plot needs a number.
    Span(Duration),
    /// A text.
    Text(String),
    /// List of values.
    List(Vec<Self>),
}

impl Value {
    /// Returns the value on a numeric axis; `None` for text, booleans and lists. Spans are in seconds.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(*int as f64),
            Self::Float(float) => Some(*float),
            Self::Span(span) => Some(span.as_secs_f64()),
            Self::Bool(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Returns the text, if the value is text.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the duration, if the value is one.
    pub fn span(&self) -> Option<Duration> {
        if let Self::Span(span) = self { Some(*span) } else { None }
    }

    /// Whether two values mean the same setting: `1` and `1.0` do, `"50ms"` and `"0.05s"` do.
    pub fn same(&self, other: &Self) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
            _ => self == other || self.to_string() == other.to_string(),
        }
    }

    /// Returns the value of a JSON result; text in the form of a duration becomes a duration.
    pub fn from_json(json: &serde_json::Value) -> Option<Self> {
        Some(match json {
            serde_json::Value::Null | serde_json::Value::Object(_) => return None,
            serde_json::Value::Bool(bool) => Self::Bool(*bool),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(int) => Self::Int(int),
                None => Self::Float(number.as_f64()?),
            },
            serde_json::Value::String(text) => Self::from_text(text),
            serde_json::Value::Array(list) => Self::List(list.iter().filter_map(Self::from_json).collect()),
        })
    }

    /// Returns the text, or the duration that it spells.
    pub fn from_text(text: &str) -> Self {
        parse_span(text).map_or_else(|| Self::Text(text.to_owned()), Self::Span)
    }

    /// Returns the value as JSON; spans are text with a unit.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool(bool) => (*bool).into(),
            Self::Int(int) => (*int).into(),
            Self::Float(float) => (*float).into(),
            Self::Span(_) | Self::Text(_) => self.to_string().into(),
            Self::List(list) => list.iter().map(Self::to_json).collect(),
        }
    }

    /// Returns the value as a TOML literal.
    pub fn to_toml(&self) -> String {
        match self {
            Self::Bool(_) | Self::Int(_) => self.to_string(),
            Self::Float(float) => format!("{float:?}"),
            Self::Span(_) => format!("\"{self}\""),
            Self::Text(text) => toml::Value::String(text.clone()).to_string(),
            Self::List(list) => {
                format!("[{}]", list.iter().map(Self::to_toml).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(bool) => bool.fmt(f),
            Self::Int(int) => int.fmt(f),
            Self::Float(float) => float.fmt(f),
            Self::Span(span) => f.write_str(&format_span(*span)),
            Self::Text(text) => f.write_str(text),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, value) in list.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = serde_json::Value::deserialize(deserializer)?;
        Self::from_json(&json)
            .ok_or_else(|| serde::de::Error::custom("a setting must not be a table or null"))
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}
impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}
impl From<f64> for Value {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}
impl From<Duration> for Value {
    fn from(span: Duration) -> Self {
        Self::Span(span)
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Units of time and their nanoseconds, the longest first.
const UNITS: [(&str, u128); 8] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    // Other tools write `m`; this program writes `min`.
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Allowed units of a duration, as listed in error messages.
pub const UNITS_ALLOWED: &str = "ns, us, ms, s, min, h, d";

/// Parses `"50ms"`, `"1.5 s"`, `"10min"`, and `"0"` without a unit; `None` for anything else and for more than 584 years.
pub fn parse_span(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = &text[..digits];
    let unit = text[digits..].trim_start();
    let (_, unit_ns) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let ns = match number.parse::<u64>() {
        Ok(whole) => u128::from(whole) * unit_ns,
        Err(_) => (number.parse::<f64>().ok()? * unit_ns as f64).round() as u128,
    };
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// Formats a span as the shortest exact text: 90 s is `90s`, 60 s is `1min`, 1.5 ms is `1500us`.
pub fn format_span(span: Duration) -> String {
    let ns = span.as_nanos();
    if ns == 0 {
        return "0s".to_owned();
    }
    // The smallest unit divides everything, so a unit is always found. The largest unit is the hour, because
    // experiments take hours, not days.
    let (unit, unit_ns) =
        UNITS.into_iter().skip(1).find(|(_, unit_ns)| ns.is_multiple_of(*unit_ns)).unwrap_or(("ns", 1));
    format!("{}{unit}", ns / unit_ns)
}

/// Formats a number with four significant digits.
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_round_trips_in_human_notation() {
        for (text, ns, written) in [
            ("50ms", 50_000_000, "50ms"),
            ("1.5s", 1_500_000_000, "1500ms"),
            ("10min", 600_000_000_000, "10min"),
            ("5m", 300_000_000_000, "5min"),
            ("90 s", 90_000_000_000, "90s"),
            ("2h", 7_200_000_000_000, "2h"),
            ("1.5d", 129_600_000_000_000, "36h"),
            ("0s", 0, "0s"),
        ] {
            let span = parse_span(text).unwrap();
            assert_eq!(span.as_nanos(), ns, "{text}");
            assert_eq!(format_span(span), written);
        }
        for text in ["", "s", "10", "10 parsec", "-1s", ".s", "1..5s", "flexran", "99999999999h"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }

    #[test]
    fn values_with_equal_meaning_are_the_same() {
        assert!(Value::Int(1).same(&Value::Float(1.0)));
        assert!(Value::from_text("50ms").same(&Value::from_text("0.05s")));
        assert!(!Value::Int(1).same(&Value::Int(2)));
        assert!(Value::from("a").same(&Value::from("a")));
    }

    #[test]
    fn values_round_trip_as_json() {
        for value in [
            Value::Bool(true),
            Value::Int(-3),
            Value::Float(0.25),
            Value::Span(Duration::from_millis(50)),
            Value::from("flexran"),
            Value::List(vec![Value::Int(1), Value::from("x")]),
        ] {
            assert_eq!(Value::from_json(&value.to_json()), Some(value));
        }
    }
}
