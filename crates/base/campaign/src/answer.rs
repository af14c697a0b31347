//! Form in which every measured number leaves the campaign: its value, its interval, and its qualifications.
//!
//! Text, JSON, CSV, reports, comparisons and sizing all render an [`Answer`]. A number that is only a bound (an open-ended
//! search, a censored percentile) stays a bound in each of them.

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::metric::DISTURBED;
use crate::named::named;
use crate::results::{Finished, PointResult, Results};
use crate::scenario::Search;
use crate::scenario::search::{Find, goal_of, metric};
use crate::stats::{Estimate, summarise};
use crate::value::short;

named! {
    /// Relation of a reported number to the true value.
    pub enum Bound {
        /// The number estimates the true value.
        Exact = "exact",
        /// The true value is at least the number.
        AtLeast = "at_least",
        /// The true value is at most the number.
        AtMost = "at_most",
    }
}

impl Bound {
    /// Returns the sign in front of a number: `≥ `, `≤ `, or nothing.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => "≥ ",
            Self::AtMost => "≤ ",
        }
    }
}

named! {
    /// Reason why a measurement ended before it reached the true value.
    pub enum LimitedBy {
        /// The end of the search's range.
        Range = "range",
        /// The load generator: it could not send more.
        Generator = "generator",
        /// The search's budget of trials or time.
        Budget = "budget",
        /// The time after which a reply no longer counts: the distribution is censored there.
        Timeout = "timeout",
    }
}

impl LimitedBy {
    /// Returns the reason as a text fragment.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Range => "the end of the searched range",
            Self::Generator => "the load generator gave up, not the system",
            Self::Budget => "the search's budget ended first",
            Self::Timeout => "replies after the timeout were not measured",
        }
    }
}

/// A measured number with its qualifications.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Mean over the repeats that count; for a bound, the bound itself.
    pub value: f64,
    /// Half width of the symmetric interval over repeats. `None` for a single repeat, for an interval with an open end,
    /// and for an asymmetric interval (see [`interval`](Self::interval)).
    pub half_width: Option<f64>,
    /// Interval at [`confidence`](Self::confidence); an open end is infinite. `None` for a single repeat, whose spread
    /// is unknown.
    pub interval: Option<(f64, f64)>,
    /// Confidence of the interval, 0 to 1.
    pub confidence: f64,
    /// Whether the number is only a bound of the true value.
    pub bound: Bound,
    /// Reason why the measurement ended, if the number is a bound.
    pub limited_by: Option<LimitedBy>,
    /// Number of repeats from which the value was computed.
    pub n: usize,
    /// Qualifications of the whole point.
    pub qualified: Qualified,
}

/// Qualifications that a point's repeats share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Qualified {
    /// Largest share of the load that a repeat did not send; `None` if it was not measured.
    pub unsent_share: Option<f64>,
    /// Mean share of the offered load that the system dropped; `None` if it was not measured.
    pub dropped_share: Option<f64>,
    /// Repeats that other work on the machine disturbed.
    pub disturbed: usize,
}

impl Qualified {
    /// Returns the qualifications of the numbers of a point.
    pub fn at(results: &Results, point: &PointResult) -> Self {
        let largest = |values: Vec<f64>| values.into_iter().reduce(f64::max);
        let unsent = results.metrics.iter().filter(|metric| metric.unsent_share);
        let dropped = ["drop_ratio", "loss_ratio"].into_iter();
        let mean = |values: Vec<f64>| summarise(&values, results.scenario.measure.confidence);
        Self {
            unsent_share: unsent.filter_map(|own| largest(point.values(&own.name))).reduce(f64::max),
            dropped_share: dropped.filter_map(|name| mean(point.values(name))).map(|own| own.mean).next(),
            disturbed: point.values(DISTURBED).iter().filter(|share| **share > 0.0).count(),
        }
    }

    /// Returns the qualifications as text fragments; empty without qualifications.
    pub fn words(&self) -> Vec<String> {
        let percent = |share: f64| short((share * 1e4).round() / 1e2);
        let noted = |share: Option<f64>| share.filter(|share| *share >= SHARE_NOTED);
        let unsent = noted(self.unsent_share).map(|share| format!("{} % not sent", percent(share)));
        let dropped = noted(self.dropped_share).map(|share| format!("{} % dropped", percent(share)));
        let disturbed = Some(self.disturbed).filter(|count| *count > 0);
        let disturbed = disturbed.map(|count| format!("{count} disturbed"));
        [unsent, dropped, disturbed].into_iter().flatten().collect()
    }
}

/// Smallest share of unsent or dropped load that is mentioned.
const SHARE_NOTED: f64 = 1e-3;

impl Answer {
    /// Returns the result for a metric at a point. Returns `None` if no repeat that counts has the metric, or if the
    /// metric is a fingerprint that differs between repeats.
    pub fn at(results: &Results, point: &PointResult, name: &str) -> Option<Self> {
        // A fingerprint that differs between repeats has no mean.
        results.summary(point, name)?;
        let answer =
            Self::from_estimate(&results.estimate(point, name)?, results.scenario.measure.confidence);
        Some(Self {
            limited_by: limited_by(results, point, name, answer.bound),
            qualified: Qualified::at(results, point),
            ..answer
        })
    }

    /// Converts an estimate to the form in which it is rendered.
    pub fn from_estimate(estimate: &Estimate, confidence: f64) -> Self {
        let Estimate { value, n, below, above, .. } = *estimate;
        let bound = match (below.is_infinite(), above.is_infinite()) {
            (_, true) => Bound::AtLeast,
            (true, false) => Bound::AtMost,
            (false, false) => Bound::Exact,
        };
        let symmetric = below == 0.0 && above == 0.0;
        Self {
            value,
            half_width: estimate.half_width(confidence).filter(|_| symmetric),
            interval: estimate.interval(confidence),
            confidence,
            bound,
            limited_by: None,
            n,
            qualified: Qualified::default(),
        }
    }

    /// Creates an answer from a value and the half width of its interval, without further data.
    pub fn symmetric_of(value: f64, half_width: Option<f64>) -> Self {
        Self {
            value,
            half_width,
            interval: half_width.map(|half| (value - half, value + half)),
            confidence: f64::NAN,
            bound: Bound::Exact,
            limited_by: None,
            n: 0,
            qualified: Qualified::default(),
        }
    }

    /// Returns the known ends: both for an interval, one for a bound, none for a single repeat.
    pub fn ends(&self) -> (Option<f64>, Option<f64>) {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        self.interval.map_or((None, None), |(low, high)| (finite(low), finite(high)))
    }

    /// Formats the number with its interval, to the precision of the interval: `1009 ± 24`, `999.1 (999.1 to 1001)`, `≥
    /// 10000`.
    pub fn text(&self) -> String {
        if self.bound != Bound::Exact {
            return format!("{}{}", self.bound.sign(), short(self.value));
        }
        match (self.half_width, self.interval) {
            (Some(half), _) => with_half_width(self.value, half),
            (None, Some((low, high))) if low < high => {
                format!("{} ({} to {})", short(self.value), short(low), short(high))
            }
            _ => short(self.value),
        }
    }

    /// Formats the number, its unit, and the reason of a bound: `≥ 10000 1/s (the end of the searched range)`.
    pub fn sentence(&self, unit: &str) -> String {
        let text = self.text();
        let why = self.limited_by.map_or_else(String::new, |limit| format!(" ({})", limit.words()));
        if unit.is_empty() { format!("{text}{why}") } else { format!("{text} {unit}{why}") }
    }

    /// Returns the answer as JSON: `mean`, `ci95` (half width or `null`), `interval` (an open end is `null`), `n`, `unit`, and
    /// for a bound also `bound` and `limited_by`.
    pub fn json(&self, unit: &str) -> Json {
        let (low, high) = self.ends();
        let mut object = json!({
            "mean": self.value, "ci95": self.half_width, "n": self.n, "unit": unit,
            "interval": self.interval.map(|_| [low, high]),
        });
        if self.bound != Bound::Exact {
            object["bound"] = json!(self.bound);
            object["limited_by"] = json!(self.limited_by);
        }
        object
    }
}

/// Returns the reason why the measurement ended before it reached the true value; `None` if the number is not a bound.
fn limited_by(results: &Results, point: &PointResult, name: &str, bound: Bound) -> Option<LimitedBy> {
    if bound == Bound::Exact {
        return None;
    }
    let Some((goal, _)) = goal_of(name) else { return Some(LimitedBy::Timeout) };
    let load = results.scenario.search.as_ref().and_then(Search::load)?;
    let far = metric(goal, load.find.far_end());
    let open: Vec<&Finished> = point
        .runs
        .iter()
        .filter(|run| run.outcome.counts() && !run.recording.metrics.contains_key(&far))
        .collect();
    if open.iter().any(|run| run.recording.metrics.contains_key("search.unsent")) {
        return Some(LimitedBy::Generator);
    }
    let reached = |value: f64| match load.find {
        Find::Smallest => value <= load.min * (1.0 + RANGE_END),
        Find::Largest => value >= load.max * (1.0 - RANGE_END),
    };
    let name = metric(goal, "load");
    let ended = open.iter().filter_map(|run| run.recording.metrics.get(&name)).any(|value| reached(*value));
    Some(if ended { LimitedBy::Range } else { LimitedBy::Budget })
}

/// Relative distance from an end of a search's range within which a result counts as this end. A result is the load
/// that was sent, and up to 1 % of the load may be missing.
const RANGE_END: f64 = 0.011;

/// Formats a mean with the half width of its interval, both rounded to the precision of the interval: `1009 ± 24`.
fn with_half_width(mean: f64, half: f64) -> String {
    // A half width below the last digits of the mean is a rounding error, not an interval.
    if half.is_nan() || half <= mean.abs() * 1e-12 || !half.is_finite() || !mean.is_finite() {
        return short(mean);
    }
    // The interval has two significant digits, and the mean has as many decimals.
    let digits = (1 - half.log10().floor() as i32).clamp(0, 12) as usize;
    format!("{mean:.digits$} ± {half:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, error: Option<f64>, below: f64, above: f64) -> Estimate {
        Estimate { value, error, freedom: 4.0, n: 5, below, above }
    }

    fn text(value: f64, error: Option<f64>, below: f64, above: f64) -> String {
        Answer::from_estimate(&estimate(value, error, below, above), 0.95).text()
    }

    #[test]
    fn bound_is_never_rendered_with_an_interval() {
        assert_eq!(text(10_000.0, Some(0.0), 0.0, f64::INFINITY), "≥ 10000");
        assert_eq!(text(1441.0, Some(500.0), 0.0, f64::INFINITY), "≥ 1441");
        assert_eq!(text(25.0, Some(0.0), f64::INFINITY, 0.0), "≤ 25");
    }

    #[test]
    fn interval_includes_both_bounds_of_a_search() {
        assert_eq!(text(999.1, Some(0.0), 0.0, 1.9), "999.1 (999.1 to 1001)");
        assert_eq!(text(1000.0, Some(0.0), 0.0, 0.0), "1000");
        assert_eq!(text(1000.0, None, 0.0, 2.0), "1000");
        assert_eq!(text(1009.0, Some(10.0), 0.0, 0.0), "1009 ± 28");
    }

    #[test]
    fn json_has_null_for_an_open_end() {
        let answer = Answer::from_estimate(&estimate(10.0, Some(0.0), 0.0, f64::INFINITY), 0.95);
        let json = answer.json("1/s");
        assert_eq!((&json["bound"], &json["ci95"]), (&json!("at_least"), &Json::Null));
        assert_eq!(json["interval"], json!([10.0, null]));
    }

    #[test]
    fn number_is_rounded_to_digits_of_its_interval() {
        assert_eq!(with_half_width(1009.37, 24.2), "1009 ± 24");
        assert_eq!(with_half_width(0.123456, 0.0012), "0.1235 ± 0.0012");
        assert_eq!(with_half_width(5.0, 0.0), "5");
    }
}
