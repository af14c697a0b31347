//! Table of results: measured value, baseline, limit, and whether the limit is met.
use std::fmt;
use std::process::ExitCode;

/// Limit for the measured value of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    /// No limit, because the line is only for comparison.
    None,
    /// Maximum, in the unit of the line.
    AtMost(f64),
    /// Minimum, in the unit of the line.
    AtLeast(f64),
    /// Maximum, as a multiple of the line's baseline.
    AtMostTimesFloor(f64),
}

/// Line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// Measured quantity.
    pub(crate) name: String,
    /// Measured value.
    pub(crate) measured: f64,
    /// Baseline on the same machine, in the same unit and run, such as a memory copy or a bare relay.
    pub(crate) floor: Option<f64>,
    /// Unit of the measured value and the baseline.
    pub(crate) unit: &'static str,
    /// Limit of the measured value.
    pub(crate) bar: Bar,
}

impl Line {
    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.measured / floor)
    }

    /// Returns whether the limit is met, or `None` without a limit. A failed measurement does not meet its limit.
    fn holds(&self) -> Option<bool> {
        match self.bar {
            Bar::None => None,
            Bar::AtMost(bar) => Some(self.measured <= bar),
            Bar::AtLeast(bar) => Some(self.measured >= bar),
            Bar::AtMostTimesFloor(bar) => Some(self.ratio().is_some_and(|ratio| ratio <= bar)),
        }
    }

    fn cells(&self) -> [String; 6] {
        let with_unit = |v: f64| format!("{} {}", number(v), self.unit);
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2} x"));
        let (judged, bar) = match self.bar {
            Bar::None => (ratio.unwrap_or_default(), String::new()),
            Bar::AtMost(bar) => (with_unit(self.measured), format!("<= {}", with_unit(bar))),
            Bar::AtLeast(bar) => (with_unit(self.measured), format!(">= {}", with_unit(bar))),
            Bar::AtMostTimesFloor(bar) => (ratio.unwrap_or_default(), format!("<= {bar:.2} x")),
        };
        let verdict = match self.holds() {
            Some(true) => "holds",
            Some(false) => "FAILS",
            None => "for information",
        };
        [
            self.name.clone(),
            with_unit(self.measured),
            self.floor.map(with_unit).unwrap_or_default(),
            judged,
            bar,
            verdict.to_owned(),
        ]
    }
}

/// Lines of the table so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
    /// Failed measurements and their reasons.
    notes: Vec<String>,
}

impl Report {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Adds a note below the table about a failed measurement.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Returns 1 if a limit is exceeded, or if no line has a limit.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let judged: Vec<_> = self.lines.iter().filter_map(Line::holds).collect();
        if judged.is_empty() || judged.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["name", "measured", "baseline", "ratio or value", "limit", "verdict"].map(str::to_owned);
        let rows: Vec<_> = std::iter::once(head).chain(self.lines.iter().map(Line::cells)).collect();
        let widths: [usize; 6] =
            std::array::from_fn(|i| rows.iter().map(|row| row[i].len()).max().unwrap_or(0));
        for (at, row) in rows.iter().enumerate() {
            let cells: Vec<_> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(f, "{}", cells.join(" | ").trim_end())?;
            if at == 0 {
                writeln!(f, "{}", widths.map(|width| "-".repeat(width)).join("-|-"))?;
            }
        }
        let failed = self.lines.iter().filter(|line| line.holds() == Some(false)).count();
        let judged = self.lines.iter().filter(|line| line.holds().is_some()).count();
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))?;
        writeln!(f, "{failed} of {judged} limits are missed")
    }
}

/// Formats a number with three significant digits. From 100 on, it is formatted as an integer.
fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".to_owned(),
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        _ => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(measured: f64, floor: Option<f64>, bar: Bar) -> Line {
        Line { name: "x".to_owned(), measured, floor, unit: "ns", bar }
    }

    #[test]
    fn limits_apply_to_values_or_ratios() {
        assert_eq!(line(30.0, None, Bar::AtMost(30.0)).holds(), Some(true));
        assert_eq!(line(30.1, Some(1.0), Bar::AtMost(30.0)).holds(), Some(false));
        assert_eq!(line(9.0, None, Bar::AtLeast(10.0)).holds(), Some(false));
        assert_eq!(line(3.0, Some(2.0), Bar::AtMostTimesFloor(1.5)).holds(), Some(true));
        assert_eq!(line(3.1, Some(2.0), Bar::AtMostTimesFloor(1.5)).holds(), Some(false));
        assert_eq!(line(3.1, None, Bar::None).holds(), None);
    }

    #[test]
    fn failed_measurement_misses_its_limit() {
        assert_eq!(line(f64::NAN, None, Bar::AtMost(1.0)).holds(), Some(false));
        assert_eq!(line(1.0, None, Bar::AtMostTimesFloor(1.0)).holds(), Some(false));
        assert_eq!(Report::default().exit_code(), ExitCode::FAILURE);
    }
}
