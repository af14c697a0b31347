//! Evidence for differences: p values are corrected for the points of each metric, and guarded against chance among all
//! metrics.

use serde::Serialize;

use ranlab_campaign::results::Results;
use ranlab_campaign::rig::Better;
use ranlab_campaign::stats::{Estimate, false_discovery, holm, stouffer};

use super::{Finding, Row};

/// Probability below which a difference counts as significant.
pub const SIGNIFICANT: f64 = 0.05;

/// Evidence of a metric over all points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricEvidence {
    /// Name of the metric.
    pub metric: String,
    /// Number of compared points.
    pub points: usize,
    /// Mean change over the points, as a share (geometric where all values are above 0).
    pub change: f64,
    /// Interval of the mean change; `None` with single repeats.
    pub interval: Option<(f64, f64)>,
    /// Probability that all points together show this change by chance, corrected for the number of metrics.
    pub p: f64,
    /// Smallest change that would be detected at every point; `None` with single repeats.
    pub detectable: Option<f64>,
}

/// A metric's rows by index.
struct Family {
    metric: String,
    rows: Vec<usize>,
    p: f64,
}

/// Corrects each metric's probabilities over its points (Benjamini and Hochberg), and assigns a finding to every row. A
/// metric has no finding if chance among all metrics could explain its points (Holm). Constants and single repeats are
/// not counted.
pub(super) fn judge(a: &Results, rows: &mut [Row], confidence: f64, verdicts: bool) -> Vec<MetricEvidence> {
    let families = families(rows);
    let passed = guard(a, &families);
    let mut evidence = Vec::new();
    for (family, guarded) in families.iter().zip(passed) {
        let raw: Vec<f64> = family.rows.iter().filter_map(|&index| rows[index].p).collect();
        let better = a.metric(&family.metric).map_or(Better::Neither, |metric| metric.better);
        let alpha = SIGNIFICANT / raw.len() as f64;
        for (&index, corrected) in family.rows.iter().zip(false_discovery(&raw)) {
            let row = &mut rows[index];
            row.p_corrected = Some(corrected);
            row.detectable = row.effect.detectable(alpha);
            row.finding = find(row, better, guarded < SIGNIFICANT, verdicts);
        }
        evidence.push(together(rows, family, guarded, confidence));
    }
    evidence.sort_by(|a, b| a.p.total_cmp(&b.p));
    evidence
}

fn families(rows: &[Row]) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for (index, row) in
        rows.iter().enumerate().filter(|(_, row)| row.p.is_some() && row.finding != Finding::Equal)
    {
        match families.iter_mut().find(|family| family.metric == row.metric) {
            Some(family) => family.rows.push(index),
            None => families.push(Family { metric: row.metric.clone(), rows: vec![index], p: 1.0 }),
        }
    }
    for family in &mut families {
        let all: Vec<f64> = family.rows.iter().filter_map(|&index| rows[index].p).collect();
        let fewest = simes(&all);
        let signed: Vec<(f64, bool)> = family
            .rows
            .iter()
            .filter_map(|&index| Some((rows[index].p?, rows[index].change > 0.0)))
            .collect();
        // For a single point, both tests have the same p value.
        family.p = if all.len() == 1 { fewest } else { (2.0 * fewest.min(stouffer(&signed))).min(1.0) };
    }
    families
}

/// Combines probabilities into one (Simes): the smallest of the probabilities as corrected by Benjamini and Hochberg.
fn simes(p_values: &[f64]) -> f64 {
    false_discovery(p_values).into_iter().fold(1.0, f64::min)
}

/// Returns the p value of each family, corrected for the number of metrics (Holm). The percentiles of one distribution
/// count as one metric.
fn guard(a: &Results, families: &[Family]) -> Vec<f64> {
    let owner = |family: &Family| {
        a.metric(&family.metric).map_or_else(|| family.metric.clone(), |metric| metric.name.clone())
    };
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for family in families {
        let name = owner(family);
        match groups.iter_mut().find(|(own, _)| *own == name) {
            Some((_, all)) => all.push(family.p),
            None => groups.push((name, vec![family.p])),
        }
    }
    let corrected = holm(&groups.iter().map(|(_, all)| simes(all)).collect::<Vec<_>>());
    let of = |family: &Family| {
        let name = owner(family);
        groups.iter().zip(&corrected).find(|((own, _), _)| *own == name).map_or(1.0, |(_, p)| *p)
    };
    // The corrected p value of a family is never below its uncorrected p value.
    families.iter().map(|family| of(family).max(family.p)).collect()
}

fn find(row: &Row, better: Better, guarded: bool, verdicts: bool) -> Finding {
    let significant = row.p_corrected.is_some_and(|p| p < SIGNIFICANT);
    let below_floor = row.effect.floor.is_some_and(|floor| row.effect.estimate.value.abs() <= floor);
    if !significant || below_floor || row.change == 0.0 {
        return Finding::NotShown;
    }
    if !guarded {
        return Finding::Unsure;
    }
    match (better, row.change > 0.0) {
        _ if !verdicts => Finding::Changed,
        (Better::Neither, _) => Finding::Changed,
        (Better::Higher, true) | (Better::Lower, false) => Finding::Better,
        (Better::Higher, false) | (Better::Lower, true) => Finding::Worse,
    }
}

fn together(rows: &[Row], family: &Family, p: f64, confidence: f64) -> MetricEvidence {
    let own: Vec<&Row> = family.rows.iter().map(|&index| &rows[index]).collect();
    let finite = own.iter().filter(|row| row.effect.estimate.value.is_finite());
    let logarithmic = own.iter().all(|row| row.effect.logarithmic);
    // Shares and logarithms cannot be added. If some rows have shares, the logarithms are converted to shares.
    let scaled = |row: &&&Row| match (logarithmic, row.effect.logarithmic) {
        (false, true) => shares(row),
        _ => row.effect.estimate,
    };
    let mean = Estimate::mean(&finite.map(|row| scaled(&row)).collect::<Vec<_>>());
    let share = |value: f64| if logarithmic { value.exp_m1() } else { value };
    MetricEvidence {
        metric: family.metric.clone(),
        points: own.len(),
        change: share(mean.value),
        interval: mean.interval(confidence).map(|(low, high)| (share(low), share(high))),
        p,
        detectable: own.iter().filter_map(|row| row.detectable).reduce(f64::max),
    }
}

/// Converts the estimate of a logarithm to a share.
fn shares(row: &Row) -> Estimate {
    let own = row.effect.estimate;
    let by = own.value.exp();
    Estimate { value: own.value.exp_m1(), error: own.error.map(|error| error * by), ..own }
}
