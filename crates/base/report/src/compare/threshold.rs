//! Thresholds of changes that fail a comparison, such as `sessions_per_s < -5%`.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::stats::{Change, Estimate, false_discovery};
use ranlab_campaign::value::short;

use super::{Lost, SIGNIFICANT, Side, change_of};

/// A change of a metric beyond which a comparison fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Name of the metric.
    pub metric: String,
    /// Whether the change must stay below [`share`](Self::share); otherwise above it.
    pub above: bool,
    /// Threshold as a share: -0.05 is five per cent less.
    pub share: f64,
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = short(self.share * 100.0);
        let sign = if self.share > 0.0 { "+" } else { "" };
        write!(f, "{} {} {sign}{percent}%", self.metric, if self.above { '>' } else { '<' })
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An invalid threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThresholdError {
    /// The text has neither `<` nor `>`.
    #[error(
        "invalid threshold \"{0}\": expected METRIC < PERCENT or METRIC > PERCENT, such as \"sessions_per_s < -5%\""
    )]
    NoComparison(String),
    /// The text has no metric in front of the comparison.
    #[error("invalid threshold \"{0}\": the metric is missing")]
    NoMetric(String),
    /// The change is not a percentage.
    #[error("invalid threshold \"{0}\": \"{1}\" is not a signed percentage such as -5% or +10%")]
    NoPercentage(String, String),
    /// A positive quantity cannot fall by 100 % or more.
    #[error("invalid threshold \"{0}\": a change is above -100%")]
    BelowNothing(String),
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let whole = || text.to_owned();
        let at = text.find(['<', '>']).ok_or_else(|| ThresholdError::NoComparison(whole()))?;
        let metric = text[..at].trim();
        let limit = text[at + 1..].trim();
        if metric.is_empty() {
            return Err(ThresholdError::NoMetric(whole()));
        }
        let wrong = || ThresholdError::NoPercentage(whole(), limit.to_owned());
        let number = limit.strip_suffix('%').ok_or_else(wrong)?.trim();
        let percent: f64 = number.replace('−', "-").parse().map_err(|_| wrong())?;
        if !percent.is_finite() {
            return Err(wrong());
        }
        if percent <= -100.0 {
            return Err(ThresholdError::BelowNothing(whole()));
        }
        Ok(Self { metric: metric.to_owned(), above: text[at..].starts_with('>'), share: percent / 100.0 })
    }
}

/// Result of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdVerdict {
    /// The change exceeds the threshold at a point, or over all points.
    Exceeded,
    /// The second side has no number where the first has one, because the system failed.
    SystemFailed,
    /// All intervals are on the allowed side.
    Kept,
    /// The threshold lies within an interval.
    Inconclusive,
    /// Too few repeats, no shared number, or settings that differ unintentionally.
    Unjudged,
}

impl ThresholdVerdict {
    /// Whether this verdict makes the comparison fail.
    pub const fn fails(self) -> bool {
        matches!(self, Self::Exceeded | Self::SystemFailed)
    }
}

/// A threshold with its result and evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThresholdResult {
    /// The given threshold.
    pub threshold: Threshold,
    /// Result of the threshold.
    pub verdict: ThresholdVerdict,
    /// Evidence, as a sentence.
    pub reason: String,
    /// Smallest p value among the single points and all points together, if the true change were at the threshold.
    pub p: Option<f64>,
}

/// Checks a threshold in two tests: at each point (corrected for the number of points), and over all points together. Each
/// test has half of the significance level, so that both together have the whole level.
pub(super) fn judge(
    threshold: &Threshold,
    (a, b): (&Results, &Results),
    pairs: &[(&PointResult, &PointResult)],
    lost: &[Lost],
    alike: bool,
) -> ThresholdResult {
    let result = |verdict, reason, p| ThresholdResult { threshold: threshold.clone(), verdict, reason, p };
    if let Some(first) = lost.iter().find(|lost| lost.by_second_system()) {
        let outcome = first.b.map_or("not measured", |outcome| outcome.name());
        let reason = format!("the second has no numbers at {}: {outcome}", first.point);
        return result(ThresholdVerdict::SystemFailed, reason, None);
    }
    if !alike {
        let reason = "the campaigns differ in unintended settings (--differ PATH)".to_owned();
        return result(ThresholdVerdict::Unjudged, reason, None);
    }
    let changes: Vec<(String, Change)> = pairs
        .iter()
        .filter_map(|(ours, theirs)| {
            let (_, _, change) = change_of(&threshold.metric, Side(a, ours), Side(b, theirs))?;
            change.p.map(|_| (ours.point.label(), change))
        })
        .collect();
    if changes.is_empty() {
        let reason = "no shared point has this metric with two repeats on both sides".to_owned();
        return result(ThresholdVerdict::Unjudged, reason, None);
    }
    let confidence = a.scenario.measure.confidence;
    let at_points = surest(threshold, &changes);
    let together = all_points(&changes);
    let over_all = together.p_beyond(threshold.share, threshold.above).filter(|_| changes.len() > 1);
    let surest = match over_all {
        Some(p) if p <= at_points.1 => ("over all points", p, together),
        _ => (changes[at_points.0].0.as_str(), at_points.1, changes[at_points.0].1),
    };
    let (place, p, change) = surest;
    let reason = format!("{} at {place}", evidence(&change, confidence));
    let reason = reason.replace("at over", "over");
    let allowed = |(_, change): &(String, Change)| {
        let other = change.p_beyond(threshold.share, !threshold.above);
        other.is_some_and(|p| p < SIGNIFICANT / 2.0)
    };
    let verdict = if p < SIGNIFICANT / 2.0 {
        ThresholdVerdict::Exceeded
    } else if changes.iter().all(allowed) {
        ThresholdVerdict::Kept
    } else {
        ThresholdVerdict::Inconclusive
    };
    result(verdict, reason, Some(p))
}

/// Returns the point with the strongest evidence, and its p value, corrected for the number of points.
fn surest(threshold: &Threshold, changes: &[(String, Change)]) -> (usize, f64) {
    let p = |(_, change): &(String, Change)| change.p_beyond(threshold.share, threshold.above).unwrap_or(1.0);
    let corrected = false_discovery(&changes.iter().map(p).collect::<Vec<_>>());
    corrected.into_iter().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 1.0))
}

/// Returns the mean change of the points, on a log scale if all changes are on a log scale.
fn all_points(changes: &[(String, Change)]) -> Change {
    let logarithmic = changes.iter().all(|(_, change)| change.logarithmic);
    let scaled = |(_, change): &(String, Change)| {
        let own = change.estimate;
        if logarithmic || !change.logarithmic {
            return own;
        }
        let error = own.error.map(|error| error * own.value.exp());
        Estimate { value: own.value.exp_m1(), error, ..own }
    };
    let estimate = Estimate::mean(&changes.iter().map(scaled).collect::<Vec<_>>());
    Change { estimate, logarithmic, p: estimate.p(), floor: None, ..changes[0].1 }
}

/// Formats a change: `-7.0 % (-8.6 to -5.4)`.
fn evidence(change: &Change, confidence: f64) -> String {
    let percent = |share: f64| format!("{:+.2}", share * 100.0);
    let middle = percent(change.share(change.estimate.value));
    match change.interval(confidence) {
        Some((low, high)) => format!("{middle} % ({} to {})", percent(low), percent(high)),
        None => format!("{middle} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_parsed_or_rejected_with_reason() {
        let threshold: Threshold = "sessions_per_s < -5%".parse().unwrap();
        assert_eq!(threshold, Threshold { metric: "sessions_per_s".into(), above: false, share: -0.05 });
        assert_eq!(threshold.to_string(), "sessions_per_s < -5%");
        let threshold: Threshold = "rtt_us_p99>+10 %".parse().unwrap();
        assert!(threshold.above && (threshold.share - 0.1).abs() < 1e-12);
        let wrong = |text: &str| text.parse::<Threshold>().unwrap_err();
        assert!(matches!(wrong("sessions_per_s"), ThresholdError::NoComparison(_)));
        assert!(matches!(wrong("< -5%"), ThresholdError::NoMetric(_)));
        assert!(matches!(wrong("x < -5"), ThresholdError::NoPercentage(..)));
        assert!(matches!(wrong("x <= -5%"), ThresholdError::NoPercentage(..)));
        assert!(matches!(wrong("x < inf%"), ThresholdError::NoPercentage(..)));
        assert!(matches!(wrong("x < -100%"), ThresholdError::BelowNothing(_)));
    }
}
