//! Describes a comparison in a sentence.

use ranlab_campaign::value::short;

use super::{Comparison, Finding, Row};

/// Maximum number of metrics and settings in a sentence.
const NAMED_MAX: usize = 3;

/// Describes the differing settings, and the findings.
pub(super) fn sentence(comparison: &Comparison, pairs: usize) -> String {
    let settings = settings(comparison);
    let rows = &comparison.rows;
    if pairs == 0 {
        return format!("{settings} The two campaigns share no point.");
    }
    if rows.is_empty() {
        return format!("{settings} The two campaigns share no measured metric.");
    }
    let text = match rows.iter().all(|row| matches!(row.finding, Finding::Unknown | Finding::Equal)) {
        true if rows.iter().any(|row| row.finding == Finding::Unknown) => {
            "No comparison is possible: each point needs at least two repeats on both sides.".to_owned()
        }
        true => "Every number is the same constant on both sides.".to_owned(),
        false => findings(comparison),
    };
    format!("{settings} {text}{}", lost(comparison))
}

fn settings(comparison: &Comparison) -> String {
    let list = |intended: bool| {
        let all: Vec<String> = comparison
            .settings
            .iter()
            .filter(|difference| difference.intended == intended)
            .map(super::SettingDifference::words)
            .collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    match (list(true), list(false)) {
        (None, None) => "All settings are the same.".to_owned(),
        (Some(intended), None) => format!("The campaigns differ in {intended}."),
        (intended, Some(unintended)) => {
            let intended = intended.map_or_else(String::new, |own| format!(" (and, as intended, in {own})"));
            format!(
                "The campaigns differ in {unintended}{intended}: no change below is attributed to the system \
                 (name an intended difference with --differ PATH)."
            )
        }
    }
}

fn findings(comparison: &Comparison) -> String {
    let words = [(Finding::Worse, "worse"), (Finding::Better, "better"), (Finding::Changed, "changed")];
    let mut sentences: Vec<String> =
        words.into_iter().filter_map(|(finding, word)| changes(&comparison.rows, finding, word)).collect();
    if sentences.is_empty() {
        sentences.push(not_shown(comparison));
    }
    if let Some(first) = comparison.rows.iter().find(|row| row.finding == Finding::Unsure) {
        let count = comparison.rows.iter().filter(|row| row.finding == Finding::Unsure).count();
        sentences.push(format!(
            "{count} more changes would be significant if no other metric had been compared (first: {} at {}, p = {}); \
             among {} metrics, they may be due to chance.",
            first.metric,
            first.point,
            first.p_corrected.map_or_else(String::new, short),
            comparison.metrics.len()
        ));
    }
    sentences.join(" ")
}

/// Describes the surest metrics: `throughput is worse at 6 of 6 points (-8.2 % to -5.1 %)`.
fn changes(rows: &[Row], finding: Finding, word: &str) -> Option<String> {
    let mut metrics: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.finding == finding) {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    let one = |metric: &&str| {
        let own: Vec<&Row> = rows.iter().filter(|row| row.metric == **metric).collect();
        let found: Vec<f64> = own.iter().filter(|row| row.finding == finding).map(|row| row.change).collect();
        let low = found.iter().copied().fold(f64::INFINITY, f64::min);
        let high = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let by =
            if found.len() == 1 { percent(low) } else { format!("{} to {}", percent(low), percent(high)) };
        format!("{metric} at {} of {} points ({by})", found.len(), own.len())
    };
    let named: Vec<String> = metrics.iter().take(NAMED_MAX).map(one).collect();
    let more = metrics.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(", and {more} more metrics") } else { String::new() };
    (!named.is_empty()).then(|| format!("The second is {word}: {}{more}.", named.join(", ")))
}

/// Describes the smallest difference that would have been detected, for the metrics with the best resolution.
fn not_shown(comparison: &Comparison) -> String {
    let together = comparison.metrics.iter().find(|own| {
        let one_sided = own.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        own.points > 1 && own.p < super::SIGNIFICANT && one_sided
    });
    let mut known: Vec<(f64, &str)> =
        comparison.metrics.iter().filter_map(|own| Some((own.detectable?, own.metric.as_str()))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let named: Vec<String> = known
        .iter()
        .filter(|(size, _)| size.is_finite())
        .take(NAMED_MAX)
        .map(|(size, metric)| {
            format!("a change of {metric} smaller than {} %", short((size * 1e4).round() / 1e2))
        })
        .collect();
    let resolution =
        if named.is_empty() { String::new() } else { format!(" ({} cannot be detected)", named.join(", ")) };
    match together {
        Some(own) => format!(
            "No difference shown at a single point{resolution}; over all {} points {} changed by {}.",
            own.points,
            own.metric,
            percent(own.change)
        ),
        None => format!("No difference shown{resolution}."),
    }
}

fn lost(comparison: &Comparison) -> String {
    let Some(first) = comparison.lost.first() else { return String::new() };
    let outcome =
        |own: Option<ranlab_campaign::outcome::Outcome>| own.map_or("not measured", |outcome| outcome.name());
    format!(
        " At {} points one side has no numbers (first: {}, with the outcomes {} and {}).",
        comparison.lost.len(),
        first.point,
        outcome(first.a),
        outcome(first.b)
    )
}

/// Formats a change: `+1.16 %`; for more than a doubling or a halving also as a factor.
pub(super) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "from 0".to_owned();
    }
    let size = format!("{:+.2} %", share * 100.0);
    if share >= 1.0 || (share <= -0.5 && share > -1.0) {
        format!("{size}, x{}", short(1.0 + share))
    } else {
        size
    }
}
