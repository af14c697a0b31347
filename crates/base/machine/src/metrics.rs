//! Metrics in Prometheus' text format 0.0.4.
use std::fmt::Write;

/// Content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics text under construction.
#[derive(Debug, Default)]
pub struct Text(pub String);

impl Text {
    /// Appends a metric with its samples (labels and value).
    pub fn metric<L: std::fmt::Display, V: std::fmt::Display>(
        &mut self,
        name: &str,
        help: &str,
        kind: &str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }
}

/// Formats labels in braces; escapes backslash, quote and line feed in values.
pub fn labels(pairs: &[(&str, &str)]) -> String {
    let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    format!("{{{}}}", pairs.join(","))
}
