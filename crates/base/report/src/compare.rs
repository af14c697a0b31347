//! Differences between two campaigns, with their size and confidence.

mod evidence;
mod settings;
mod threshold;
mod words;

use serde::Serialize;
use serde_json::Value as Json;

use ranlab_campaign::outcome::Outcome;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::stats::{Change, Method, Repeats};
use ranlab_campaign::value::Value;

pub use evidence::{MetricEvidence, SIGNIFICANT};
pub use settings::SettingDifference;
pub use threshold::{Threshold, ThresholdError, ThresholdResult, ThresholdVerdict};

/// Name of the setting that distinguishes the sides of [`together`].
pub const COMPARED: &str = "compared";

/// Metrics of the machine and of the tool itself. They show the quality of the measurement, and are compared only if an
/// option names them.
const ABOUT_MEASURING: [&str; 2] = ["host.", "tool."];

/// Options of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Metrics to compare. If the list is empty, all common metrics except the metrics of the machine and of the tool.
    pub metrics: Vec<String>,
    /// Settings or sections with intended differences, in addition to those of the system under test (`sut`).
    pub intended: Vec<String>,
    /// Changes that fail the comparison.
    pub thresholds: Vec<Threshold>,
}

/// Two campaigns side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Summary in one sentence: the differing settings, and the conclusion.
    pub sentence: String,
    /// Settings that differ between the campaigns.
    pub settings: Vec<SettingDifference>,
    /// Each metric over all points, the strongest evidence first.
    pub metrics: Vec<MetricEvidence>,
    /// Every shared metric of every shared point, the strongest evidence first.
    pub rows: Vec<Row>,
    /// Shared points at which one side has no numbers.
    pub lost: Vec<Lost>,
    /// Number of points of the first campaign without a partner in the second, and the reverse.
    pub unmatched: (usize, usize),
    /// Reason why the A/A spread is missing in some rows; `None` if no row lacks it.
    pub floor_missing: Option<&'static str>,
    /// Result of each threshold.
    pub thresholds: Vec<ThresholdResult>,
}

/// A metric of a point that both campaigns have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Label of the point.
    pub point: String,
    /// Name of the metric.
    pub metric: String,
    /// Mean of the first campaign, or its bound if only a bound is known.
    pub a: f64,
    /// Mean of the second campaign, or its bound if only a bound is known.
    pub b: f64,
    /// The first value as text, with its interval or as a bound.
    pub a_text: String,
    /// The second value as text.
    pub b_text: String,
    /// The first value as JSON: unit, interval, bound and outcome.
    pub first: Json,
    /// The second value as JSON.
    pub second: Json,
    /// Relative change: `b / a - 1`, or `(b - a) / |a|` if a value is not above 0. It is infinite if a is 0.
    pub change: f64,
    /// Interval of the change, on a log scale if all values are above 0; `None` with a single repeat.
    pub interval: Option<(f64, f64)>,
    /// Two-sided probability of such a change by chance; `None` with a single repeat.
    pub p: Option<f64>,
    /// `p` corrected for the number of points of this metric (Benjamini and Hochberg).
    pub p_corrected: Option<f64>,
    /// Method of the comparison.
    pub method: Method,
    /// Number of repeats that are outliers.
    pub outliers: usize,
    /// A/A spread at this point. A smaller change is not a finding.
    pub floor: Option<f64>,
    /// Smallest change at this point that would be detected with a probability of 80 %.
    pub detectable: Option<f64>,
    /// Finding about the change.
    pub finding: Finding,
    #[serde(skip)]
    effect: Change,
}

/// Finding about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Significant, above the A/A spread, and in the better direction.
    Better,
    /// Significant, above the A/A spread, and in the worse direction.
    Worse,
    /// Significant and above the A/A spread, but the metric has no better direction, or other settings differ unintentionally.
    Changed,
    /// Significant among the points of its metric, but possibly due to chance among all metrics.
    Unsure,
    /// Not distinguishable from two equal systems: changes smaller than [`Row::detectable`] cannot be
    /// detected.
    NotShown,
    /// Both campaigns have the same constant value.
    Equal,
    /// Too few repeats for a finding.
    Unknown,
}

impl Finding {
    /// Returns the name used in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::Unsure => "unsure",
            Self::NotShown => "not shown",
            Self::Equal => "equal",
            Self::Unknown => "unknown",
        }
    }
}

/// A shared point at which a side has no numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Label of the point.
    pub point: String,
    /// Outcome on the first side; `None` if it was not measured.
    pub a: Option<Outcome>,
    /// Outcome on the second side; `None` if it was not measured.
    pub b: Option<Outcome>,
}

impl Lost {
    /// Whether the system under test caused the missing numbers of the second side.
    fn by_second_system(&self) -> bool {
        matches!(self.b, Some(Outcome::SutFailed | Outcome::Timeout | Outcome::Overloaded))
            && self.a.is_some_and(Outcome::counts)
    }
}

/// Compares metrics at the points of both campaigns that have the same values on `a`'s axes.
pub fn compare(a: &Results, b: &Results, options: &Options) -> Comparison {
    let pairs: Vec<(&PointResult, &PointResult)> =
        a.points.iter().filter_map(|point| Some((point, partner(point, b)?))).collect();
    let settings = settings::differences(a, b, &pairs, &options.intended);
    let alike = settings.iter().all(|difference| difference.intended);
    let mut rows = Vec::new();
    for name in compared(a, b, &options.metrics) {
        rows.extend(pairs.iter().filter_map(|(ours, theirs)| row(&name, Side(a, ours), Side(b, theirs))));
    }
    let confidence = a.scenario.measure.confidence;
    let metrics = evidence::judge(a, &mut rows, confidence, alike);
    let counts = |point: &PointResult| point.outcome().is_some_and(Outcome::counts);
    let lost = pairs.iter().filter(|(ours, theirs)| counts(ours) != counts(theirs));
    let lost: Vec<Lost> = lost
        .map(|(ours, theirs)| Lost { point: ours.point.label(), a: ours.outcome(), b: theirs.outcome() })
        .collect();
    let judged = |own: &Threshold| threshold::judge(own, (a, b), &pairs, &lost, alike);
    let thresholds = options.thresholds.iter().map(judged).collect();
    rows.sort_by(|a, b| evidence_of(a).total_cmp(&evidence_of(b)));
    let floor_missing =
        rows.iter().any(|row| row.p.is_some() && row.floor.is_none()).then(|| floor_missing(a, b));
    let unmatched = (a.points.len() - pairs.len(), b.points.len() - pairs.len().min(b.points.len()));
    let mut comparison = Comparison {
        sentence: String::new(),
        settings,
        metrics,
        rows,
        lost,
        unmatched,
        floor_missing,
        thresholds,
    };
    comparison.sentence = words::sentence(&comparison, pairs.len());
    comparison
}

/// Returns the metrics that are compared by default. Counts of samples are not results, and fingerprints are only
/// tested for equality.
fn compared(a: &Results, b: &Results, named: &[String]) -> Vec<String> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let theirs = b.metric_names();
    let of_a_search = |name: &str| {
        a.scenario.search.is_some() && matches!(name, "search.trials" | "search.unsent" | "search.upper")
    };
    let no_result = |name: &String| {
        name.ends_with("_n")
            || a.fingerprint(name)
            || of_a_search(name)
            || ABOUT_MEASURING.iter().any(|prefix| name.starts_with(prefix))
            || a.metric(name).is_some_and(|metric| metric.unsent_share)
    };
    a.metric_names().into_iter().filter(|name| theirs.contains(name) && !no_result(name)).collect()
}

/// Returns the sort key of a row: rows with strong evidence first, then rows without evidence, then constants.
fn evidence_of(row: &Row) -> f64 {
    match row.finding {
        Finding::Equal => 3.0,
        Finding::Unknown => 2.0,
        _ => row.p_corrected.unwrap_or(2.0),
    }
}

fn floor_missing(a: &Results, b: &Results) -> &'static str {
    if a.kept.is_some() || b.kept.is_some() {
        "a stored result keeps means and intervals, not each repeat"
    } else {
        "at least four repeats of a point are needed"
    }
}

/// Returns the points of a campaign at which a setting has this value; the setting is then no longer an axis. Two such
/// results are the two sides of a comparison within one campaign. Returns `None` if no point has the value.
pub fn side(results: &Results, path: &str, value: &Value) -> Option<Results> {
    let mut own = results.clone();
    let setting = [(path.to_owned(), value.clone())].into();
    own.points.retain(|point| point.point.matches(&setting));
    for point in &mut own.points {
        point.point.axes.retain(|(axis, _)| axis != path);
    }
    own.scenario.sweep.axes.retain(|axis| axis.path != path);
    (!own.points.is_empty()).then_some(own)
}

/// Returns the common points of both sides as one campaign, for a figure that shows both. The setting `compared` names
/// the side. Settings whose values have separate figures stay settings of the points.
pub fn together(a: (&str, &Results), b: (&str, &Results)) -> Results {
    let mut all = a.1.clone();
    all.points.clear();
    for point in &a.1.points {
        let Some(theirs) = partner(point, b.1) else { continue };
        for (name, own) in [(a.0, point), (b.0, theirs)] {
            let mut own = own.clone();
            own.point.axes.clone_from(&point.point.axes);
            own.point.settings.insert(COMPARED.to_owned(), Value::Text(name.to_owned()));
            all.points.push(own);
        }
    }
    all.scenario.expects.clear();
    all.scenario.search = None;
    all
}

fn partner<'a>(point: &PointResult, b: &'a Results) -> Option<&'a PointResult> {
    let axes = point.point.axes.iter().cloned().collect();
    let mut partners = b.points.iter().filter(|other| other.point.matches(&axes));
    partners.next().filter(|_| partners.next().is_none())
}

/// A point of one campaign.
#[derive(Clone, Copy)]
struct Side<'r>(&'r Results, &'r PointResult);

impl Side<'_> {
    /// Returns the repeats of a metric. If `exact`, one repeat suffices.
    fn repeats(self, metric: &str, exact: bool) -> Option<Repeats> {
        let Self(results, point) = self;
        let mut estimate = results.estimate(point, metric)?;
        if !exact && estimate.n < 2 {
            estimate.error = None;
        }
        let whole = results.kept.as_ref().is_none_or(|kept| kept.whole.contains(metric));
        Some(Repeats { estimate, values: whole.then(|| point.values(metric)) })
    }
}

/// Returns the change of a metric between the sides; `None` if a side has no number.
fn change_of(metric: &str, a: Side<'_>, b: Side<'_>) -> Option<(Repeats, Repeats, Change)> {
    // A metric without variation between runs may still depend on the seed, so both seeds must be equal.
    let exact = a.0.scenario.measure.seed == b.0.scenario.measure.seed;
    let ours = a.repeats(metric, exact)?;
    let theirs = b.repeats(metric, exact)?;
    let change = Change::between(&ours, &theirs);
    Some((ours, theirs, change))
}

fn row(metric: &str, a: Side<'_>, b: Side<'_>) -> Option<Row> {
    let first = a.0.answer(a.1, metric)?;
    let second = b.0.answer(b.1, metric)?;
    let (ours, theirs, effect) = change_of(metric, a, b)?;
    let constant = |side: &Repeats| side.estimate.error.is_none_or(|error| error == 0.0);
    let equal = ours.estimate.value == theirs.estimate.value && constant(&ours) && constant(&theirs);
    let exact =
        ours.estimate.below + ours.estimate.above + theirs.estimate.below + theirs.estimate.above == 0.0;
    let unit = a.0.unit(metric);
    Some(Row {
        point: a.1.point.label(),
        metric: metric.to_owned(),
        a: first.value,
        b: second.value,
        a_text: first.text(),
        b_text: second.text(),
        first: first.json(unit),
        second: second.json(unit),
        change: effect.share(effect.estimate.value),
        interval: effect.interval(a.0.scenario.measure.confidence),
        p: effect.p,
        p_corrected: None,
        method: effect.method,
        outliers: effect.outliers,
        floor: effect.floor.map(|floor| effect.share(floor)),
        detectable: None,
        finding: match (equal && exact, effect.p) {
            (true, _) => Finding::Equal,
            (false, None) => Finding::Unknown,
            (false, Some(_)) => Finding::NotShown,
        },
        effect,
    })
}

#[cfg(test)]
mod tests;
