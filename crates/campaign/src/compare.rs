//! What changed between two campaigns, by how much, and how sure that is.

use serde::Serialize;

use crate::expect::short;
use crate::results::{PointResult, Results};
use crate::rig::Better;
use crate::stats::{Estimate, holm};
use crate::value::Value;

/// Corrected probability below which a difference is not chance.
const SIGNIFICANT: f64 = 0.05;

/// The setting that tells the sides of [`together`] apart.
pub const COMPARED: &str = "compared";

/// Two campaigns side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// For people.
    pub sentence: String,
    /// Every shared metric of every shared point.
    pub rows: Vec<Row>,
    /// Points of the first without a partner in the second, and the reverse.
    pub unmatched: (usize, usize),
}

/// A metric of a point in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Label of the point.
    pub point: String,
    /// Which metric.
    pub metric: String,
    /// Mean of the first.
    pub a: f64,
    /// Mean of the second.
    pub b: f64,
    /// (b - a) / |a|; infinite if a is 0.
    pub change: f64,
    /// Welch's probability, corrected for the number of comparisons (Holm); `None` with a single repeat.
    pub p: Option<f64>,
    /// Smallest change that is claimed: the A/A spread of either campaign.
    pub floor: Option<f64>,
    /// What can be said.
    pub finding: Finding,
}

/// What can be said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Significant, above the A/A spread, and in the good direction.
    Better,
    /// The same in the bad direction.
    Worse,
    /// The same where no direction is good.
    Changed,
    /// Not distinguishable from the same against the same.
    Same,
    /// Too few repeats to say anything.
    Unknown,
}

/// Compares these metrics (of all that both have, if none are named) at points with the same settings of `a`'s axes.
pub fn compare(a: &Results, b: &Results, metrics: &[String]) -> Comparison {
    let names: Vec<String> = if metrics.is_empty() {
        let theirs = b.metric_names();
        // Counts of samples are no result, and fingerprints are equal or not.
        let counts = |name: &String| !name.ends_with("_n") && !a.fingerprint(name);
        a.metric_names().into_iter().filter(|name| theirs.contains(name) && counts(name)).collect()
    } else {
        metrics.to_vec()
    };
    let pairs: Vec<(&PointResult, &PointResult)> =
        a.points.iter().filter_map(|point| Some((point, partner(point, b)?))).collect();
    let mut rows = Vec::new();
    for name in &names {
        let floor = [a, b].into_iter().filter_map(|results| results.aa_spread(name)).reduce(f64::max);
        rows.extend(pairs.iter().filter_map(|(ours, theirs)| row(name, ours, theirs, floor)));
    }
    correct(&mut rows);
    for row in &mut rows {
        row.finding = find(row, a.metric(&row.metric).map_or(Better::Neither, |metric| metric.better));
    }
    let unmatched = (a.points.len() - pairs.len(), b.points.len() - pairs.len().min(b.points.len()));
    Comparison { sentence: sentence(&rows, pairs.len()), rows, unmatched }
}

/// The points of a campaign that have a setting, which is then no axis any more: one side of two within one campaign. `None`: no
/// point has it.
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

/// Both sides as one campaign of the points that they share, each side a value of `compared`: what a picture of both is made of. Its
/// points keep the settings by which pictures are told apart.
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

fn row(metric: &str, a: &PointResult, b: &PointResult, floor: Option<f64>) -> Option<Row> {
    // The interval is not looked at: its confidence is of no account.
    let (ours, theirs) = (a.summary(metric, 0.95)?, b.summary(metric, 0.95)?);
    let change = if ours.mean == theirs.mean { 0.0 } else { (theirs.mean - ours.mean) / ours.mean.abs() };
    let p = Estimate::of(&ours, false).minus(Estimate::of(&theirs, false)).p();
    let (point, metric) = (a.point.label(), metric.to_owned());
    Some(Row { point, metric, a: ours.mean, b: theirs.mean, change, p, floor, finding: Finding::Unknown })
}

fn correct(rows: &mut [Row]) {
    let tested: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].p.is_some()).collect();
    let raw: Vec<f64> = tested.iter().filter_map(|&index| rows[index].p).collect();
    for (index, p) in tested.into_iter().zip(holm(&raw)) {
        rows[index].p = Some(p);
    }
}

fn find(row: &Row, better: Better) -> Finding {
    let Some(p) = row.p else { return Finding::Unknown };
    if p >= SIGNIFICANT || row.change == 0.0 || row.floor.is_some_and(|floor| row.change.abs() <= floor) {
        return Finding::Same;
    }
    match (better, row.change > 0.0) {
        (Better::Neither, _) => Finding::Changed,
        (Better::Higher, true) | (Better::Lower, false) => Finding::Better,
        (Better::Higher, false) | (Better::Lower, true) => Finding::Worse,
    }
}

fn sentence(rows: &[Row], pairs: usize) -> String {
    let of = |finding: Finding| rows.iter().filter(move |row| row.finding == finding);
    if pairs == 0 {
        return "The two campaigns share no point.".to_owned();
    }
    if rows.is_empty() {
        return "The two campaigns share no measured metric.".to_owned();
    }
    if rows.iter().all(|row| row.finding == Finding::Unknown) {
        return "Nothing can be said: at least two repeats of each point are needed on both sides."
            .to_owned();
    }
    let side = |finding: Finding, word: &str| {
        let largest = of(finding).max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()))?;
        let percent = short(largest.change * 100.0);
        Some(format!(
            "{word} in {} (most: {} by {percent} % at {})",
            of(finding).count(),
            largest.metric,
            largest.point
        ))
    };
    let sides =
        [side(Finding::Better, "better"), side(Finding::Worse, "worse"), side(Finding::Changed, "changed")];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    let compared = rows.len();
    if sides.is_empty() {
        return format!("No difference: none of {compared} comparisons exceeds chance and the A/A spread.");
    }
    format!(
        "Of {compared} comparisons the second is {}; the rest does not exceed chance or the A/A spread.",
        sides.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRig;
    use crate::plan::Plan;
    use crate::results::MemoryJournal;
    use crate::rig::{Rig, Stop};
    use crate::scenario::{Overrides, Scenario};

    fn campaign(lambda: f64, seed: u32) -> Results {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[sut]\nlambda = {lambda:?}\n[load]\nrate = 100.0\n[sweep.axes]\n\
             \"load.workers\" = [1, 2, 4, 8]\n[measure]\nrepeats = 10\nseed = {seed}\n"
        );
        let rig = MockRig::default();
        let scenario = Scenario::parse(&text, "t", &Overrides::default(), &[rig.describe()]).unwrap();
        let plan = Plan::new(&scenario, &rig.describe());
        let (mut journal, metrics) = (MemoryJournal::default(), rig.describe().metrics);
        crate::run::run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
        Results::new(scenario, metrics, plan.points, journal.finished)
    }

    #[test]
    fn the_same_system_does_not_differ_and_another_one_does() {
        let metric = ["throughput".to_owned()];
        let claims = (0..40)
            .filter(|&seed| {
                let same = compare(&campaign(1000.0, seed), &campaign(1000.0, seed + 1000), &metric);
                same.rows.iter().any(|row| row.finding != Finding::Same)
            })
            .count();
        assert!(claims <= 2, "{claims} of 40 comparisons of the same with the same claim a difference");
        let other = compare(&campaign(1000.0, 1), &campaign(1150.0, 2), &metric);
        assert!(other.rows.iter().all(|row| row.finding == Finding::Better), "{:?}", other.rows);
        assert!(
            other.sentence.starts_with("Of 4 comparisons the second is better in 4"),
            "{}",
            other.sentence
        );
        let reverse = compare(&campaign(1150.0, 2), &campaign(1000.0, 1), &metric);
        assert!(reverse.rows.iter().all(|row| row.finding == Finding::Worse));
    }
}
