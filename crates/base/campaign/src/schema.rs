//! Schema of scenarios. Its keys are the common source of the checks, the templates and the JSON schema.

use crate::value::{UNITS_ALLOWED, Value, parse_span};

/// A key that a scenario may set, by its dotted path (`load.activation.mean`).
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Dotted path; the first part is the section.
    pub path: String,
    /// Kind of the value.
    pub kind: Kind,
    /// Whether the key must be written, and its default.
    pub presence: Presence,
    /// Unit of a bare number (`"UEs"`, `"B"`), empty if none is needed.
    pub unit: String,
    /// Description in one line.
    pub comment: String,
    /// Condition of the key: it exists only if another key has one of these values (`load.activation.type`,
    /// `["exponential"]`).
    pub when: Option<(String, Vec<String>)>,
    /// Whether the key's values are separate measurements, which no figure combines.
    pub apart: bool,
    /// Earlier path, which scenarios and stored results may still use.
    pub formerly: Option<String>,
}

/// Kind of a key's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both included.
    Int {
        /// Smallest allowed number.
        min: i64,
        /// Largest allowed number.
        max: i64,
    },
    /// A number within bounds, both included.
    Float {
        /// Smallest allowed number.
        min: f64,
        /// Largest allowed number.
        max: f64,
    },
    /// A length of time with its unit.
    Span,
    /// Any text.
    Text,
    /// One text of a closed set.
    Choice(Vec<String>),
    /// A list of values of one kind.
    List(Box<Self>),
    /// One value of a kind, or a list of such values.
    OneOrMore(Box<Self>),
}

/// Whether a key is required.
#[derive(Debug, Clone, PartialEq)]
pub enum Presence {
    /// The key must be written.
    Required,
    /// The key may be omitted, and is then absent.
    Optional,
    /// The key may be omitted, and then has this value.
    Default(Value),
}

/// A table of keys, one per line: the arguments of [`Key::new`], and further method calls.
#[macro_export]
macro_rules! keys {
    ($(($($new:tt)*) $(.$method:ident($($argument:tt)*))*;)*) => {
        vec![$( $crate::schema::Key::new($($new)*)$( .$method($($argument)*) )* ),*]
    };
}

impl Key {
    /// Creates a required key; see [`Self::or`] and [`Self::optional`].
    pub fn new(path: &str, kind: Kind, comment: &str) -> Self {
        let path = path.to_owned();
        let comment = comment.to_owned();
        Self {
            path,
            kind,
            presence: Presence::Required,
            unit: String::new(),
            comment,
            when: None,
            apart: false,
            formerly: None,
        }
    }

    /// Sets a default.
    pub fn or(mut self, default: impl Into<Value>) -> Self {
        self.presence = Presence::Default(default.into());
        self
    }

    /// Makes the key optional, without a default.
    pub fn optional(mut self) -> Self {
        self.presence = Presence::Optional;
        self
    }

    /// Sets the unit.
    pub fn unit(mut self, unit: &str) -> Self {
        unit.clone_into(&mut self.unit);
        self
    }

    /// Restricts the key to settings in which another key has one of these values.
    pub fn when(mut self, path: &str, values: &[&str]) -> Self {
        self.when = Some((path.to_owned(), values.iter().map(|&value| value.to_owned()).collect()));
        self
    }

    /// Declares an earlier path in the same section ([`crate::renamed`]).
    pub fn formerly(mut self, earlier: &str) -> Self {
        self.formerly = Some(earlier.to_owned());
        self
    }

    /// Declares that the key's values are separate measurements: each has its own figure.
    pub fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    /// Returns the first part of the path.
    pub fn section(&self) -> &str {
        self.path.split('.').next().unwrap_or(&self.path)
    }

    /// Returns the path after the section.
    pub fn name(&self) -> &str {
        self.path.split_once('.').map_or(&self.path, |(_, name)| name)
    }

    /// Returns the last element of the path.
    pub(crate) fn leaf(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }
}

impl Kind {
    /// Returns the kind of any whole number from 0.
    pub fn count() -> Self {
        Self::Int { min: 0, max: i64::MAX }
    }

    /// Returns the kind of any number from 0.
    pub fn positive() -> Self {
        Self::Float { min: 0.0, max: f64::INFINITY }
    }

    /// Returns the kind of any number.
    pub fn any_number() -> Self {
        Self::Float { min: f64::NEG_INFINITY, max: f64::INFINITY }
    }

    /// Returns the kind of a number from 0 to 1.
    pub fn share() -> Self {
        Self::Float { min: 0.0, max: 1.0 }
    }

    /// Returns the kind of a text that is one of these values.
    pub fn choice(values: &[&str]) -> Self {
        Self::Choice(values.iter().map(|&value| value.to_owned()).collect())
    }

    /// Converts the value to this kind. The error contains the allowed values, in words that follow "must be".
    pub fn accept(&self, value: &Value) -> Result<Value, String> {
        match (self, value) {
            (Self::Bool, Value::Bool(_)) => Ok(value.clone()),
            (Self::Int { min, max }, Value::Int(int)) if (min..=max).contains(&int) => Ok(value.clone()),
            (Self::Float { min, max }, Value::Int(_) | Value::Float(_)) => match value.number() {
                Some(number) if (*min..=*max).contains(&number) => Ok(Value::Float(number)),
                _ => Err(self.allowed()),
            },
            (Self::Span, Value::Span(_)) => Ok(value.clone()),
            (Self::Span, Value::Text(text)) => {
                parse_span(text).map(Value::Span).ok_or_else(|| self.allowed())
            }
            (Self::Text, Value::Text(_)) => Ok(value.clone()),
            (Self::Text, Value::Span(_)) => Ok(Value::Text(value.to_string())),
            (Self::Choice(choices), Value::Text(text)) if choices.contains(text) => Ok(value.clone()),
            (Self::OneOrMore(_), Value::List(list)) if list.is_empty() => Err(self.allowed()),
            (Self::List(kind) | Self::OneOrMore(kind), Value::List(list)) => {
                let accepted: Option<_> = list.iter().map(|value| kind.accept(value).ok()).collect();
                accepted.map(Value::List).ok_or_else(|| self.allowed())
            }
            (Self::OneOrMore(kind), one) => kind.accept(one).map_err(|_| self.allowed()),
            (_, Value::List(_)) => Err(format!("{}, not a list", self.allowed())),
            _ => Err(self.allowed()),
        }
    }

    /// Returns the allowed values, in words that follow "must be".
    pub fn allowed(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int { min, max } => {
                format!("a whole number{}", bounds(&min, *min > i64::MIN, &max, *max < i64::MAX))
            }
            Self::Float { min, max } => {
                format!("a number{}", bounds(&min, min.is_finite(), &max, max.is_finite()))
            }
            Self::Span => format!("a time such as \"50ms\" (units: {UNITS_ALLOWED})"),
            Self::Text => "text in quotes".to_owned(),
            Self::Choice(choices) => {
                let quoted: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::List(kind) => format!("a list, each entry {}", kind.allowed()),
            Self::OneOrMore(kind) => format!("{}, or a list of such", kind.allowed()),
        }
    }

    /// Returns a JSON schema of the value.
    pub fn json_schema(&self) -> serde_json::Value {
        use serde_json::json;
        match self {
            Self::Bool => json!({"type": "boolean"}),
            Self::Int { min, max } => {
                let mut schema = json!({"type": "integer"});
                if *min > i64::MIN {
                    schema["minimum"] = json!(min);
                }
                if *max < i64::MAX {
                    schema["maximum"] = json!(max);
                }
                schema
            }
            Self::Float { min, max } => {
                let mut schema = json!({"type": "number"});
                if min.is_finite() {
                    schema["minimum"] = json!(min);
                }
                if max.is_finite() {
                    schema["maximum"] = json!(max);
                }
                schema
            }
            Self::Span => json!({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? ?(ns|us|ms|s|min|h|d)$"}),
            Self::Text => json!({"type": "string"}),
            Self::Choice(choices) => json!({"enum": choices}),
            Self::List(kind) => json!({"type": "array", "items": kind.json_schema()}),
            Self::OneOrMore(kind) => {
                let one = kind.json_schema();
                json!({"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]})
            }
        }
    }
}

fn bounds(min: &dyn std::fmt::Display, has_min: bool, max: &dyn std::fmt::Display, has_max: bool) -> String {
    match (has_min, has_max) {
        (true, true) => format!(" from {min} to {max}"),
        (true, false) => format!(" of at least {min}"),
        (false, true) => format!(" of at most {max}"),
        (false, false) => String::new(),
    }
}

/// Returns the candidate closest to a mistyped word.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Maximum number of names that an error lists.
const LISTED_MAX: usize = 24;

/// Returns the names that the error about an unknown name lists. These are all names if they are few, otherwise the
/// names of the same section (before the first dot), otherwise the sections.
pub(crate) fn listed(word: &str, known: &[&str]) -> String {
    let section = |name: &str| name.split_once('.').map(|(section, _)| section.to_owned());
    let of_section: Vec<&str> = known.iter().copied().filter(|name| section(name) == section(word)).collect();
    let names = match (known.len() <= LISTED_MAX, of_section.is_empty()) {
        (true, _) => known.to_vec(),
        (false, false) => of_section,
        (false, true) => {
            let mut sections: Vec<String> = known.iter().filter_map(|name| section(name)).collect();
            sections.sort();
            sections.dedup();
            return format!("{} names in {} (ranlab bench list RIG)", known.len(), sections.join(", "));
        }
    };
    let more = names.len().saturating_sub(LISTED_MAX);
    let shown = names.iter().take(LISTED_MAX).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more (ranlab bench list RIG)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_key_is_suggested() {
        let keys = ["load.nodes", "load.ues", "load.period", "sut.type"];
        assert_eq!(nearest("load.node", keys), Some("load.nodes"));
        assert_eq!(nearest("load.eus", keys), Some("load.ues"));
        assert_eq!(nearest("entirely.different", keys), None);
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let many: Vec<String> =
            (0..40).map(|it| format!("{}.{it}", if it < 30 { "net" } else { "cells" })).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(listed("x.y", &["a", "b.c"]), "a, b.c");
        let of_cells: Vec<String> = (30..40).map(|it| format!("cells.{it}")).collect();
        assert_eq!(listed("cells.unknown", &many), of_cells.join(", "));
        assert!(listed("net.unknown", &many).contains(", net.23 and 6 more "));
        assert_eq!(listed("speed", &many), "40 names in cells, net (ranlab bench list RIG)");
    }

    #[test]
    fn kind_describes_allowed_values() {
        let kind = Kind::Int { min: 1, max: 50 };
        assert_eq!(kind.accept(&Value::Int(50)), Ok(Value::Int(50)));
        assert_eq!(kind.accept(&Value::Int(51)), Err("a whole number from 1 to 50".to_owned()));
        assert_eq!(
            Kind::choice(&["a", "b"]).accept(&Value::from("c")),
            Err("one of \"a\", \"b\"".to_owned())
        );
        assert_eq!(Kind::share().accept(&Value::Int(1)), Ok(Value::Float(1.0)));
    }

    #[test]
    fn one_or_more_accepts_value_or_list() {
        let one = Value::from("a");
        let two = Value::List(vec!["a".into(), "b".into()]);
        let places = Kind::OneOrMore(Box::new(Kind::Text));
        assert_eq!((places.accept(&one), places.accept(&two)), (Ok(one), Ok(two.clone())));
        let allowed = "text in quotes, or a list of such".to_owned();
        for wrong in [Value::Int(7), Value::List(Vec::new())] {
            assert_eq!(places.accept(&wrong), Err(allowed.clone()));
        }
        assert_eq!(Kind::Text.accept(&two), Err("text in quotes, not a list".to_owned()));
    }
}
