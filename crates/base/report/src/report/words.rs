//! Titles and labels: sentences with units, in the rig's words if these are a name.

use ranlab_campaign::results::{Finished, PointResult, Results};
use ranlab_campaign::rig::Outcome;
use ranlab_campaign::scenario::{Axis, Plot, PlotKind, as_name, stands_alone};
use ranlab_campaign::value::Value;

/// Maximum length of the beginning of a description that serves as a label.
const BEGIN_CHARS_MAX: usize = 48;

/// Returns the title of a figure for which the author gave none.
pub(super) fn title(results: &Results, plot: &Plot) -> String {
    let x = plot.x.as_str();
    let y = plot.y.as_str();
    let what = match (&plot.kind, &plot.z) {
        (PlotKind::Heat | PlotKind::Iso, Some(z)) => {
            format!(
                "{} over {} and {}",
                capital(&quantity(results, z)),
                quantity(results, x),
                quantity(results, y)
            )
        }
        (PlotKind::Cdf, _) => format!("Distribution of {}", quantity(results, y)),
        (PlotKind::Areas, _) => {
            let names: Vec<String> = plot.stacked().map(|name| layer(results, name)).collect();
            format!(
                "{} over time (s), stacked",
                capital(&in_unit(&names.join(", "), &unit(results, y, false)))
            )
        }
        (PlotKind::Waterfall, _) => {
            format!("{} and the following components, added up", capital(&quantity(results, y)))
        }
        (PlotKind::Series, _) => format!("{} over time (s)", capital(&quantity(results, y))),
        _ => format!("{} against {}", capital(&quantity(results, y)), quantity(results, x)),
    };
    format!("{what}{}", only(results, plot))
}

/// Names the points of a figure, if it does not show all.
fn only(results: &Results, plot: &Plot) -> String {
    let part = |(path, value): (&String, &Value)| {
        // A setting that does not vary selects all points.
        let swept = axis(results, path)?;
        Some(format!(", {} = {value}", swept.name().unwrap_or(path)))
    };
    plot.filter.iter().filter_map(part).collect()
}

/// Describes a metric or a setting with its unit: `99th percentile of reply time (us)`, `base stations`.
pub(super) fn quantity(results: &Results, name: &str) -> String {
    let unit = unit(results, name, false);
    let Some(metric) = results.metric(name) else {
        let axis = axis(results, name);
        return in_unit(axis.and_then(Axis::name).unwrap_or(name), &unit);
    };
    let words = as_name(&metric.comment).unwrap_or(&metric.name);
    let suffix = name.strip_prefix(&metric.name).unwrap_or_default();
    in_unit(&format!("{}{words}", statistic(suffix.trim_start_matches('_'))), &unit)
}

/// Returns the name of one of several stacked series: the metric in words, without the common unit.
pub(super) fn layer(results: &Results, name: &str) -> String {
    results.metric(name).and_then(|metric| as_name(&metric.comment)).unwrap_or(name).to_owned()
}

/// Returns the words for a suffix of a distribution, which precede the distribution's name.
pub(super) fn statistic(suffix: &str) -> &'static str {
    match suffix {
        "mean" => "mean of ",
        "p50" => "median of ",
        "p75" => "75th percentile of ",
        "p90" => "90th percentile of ",
        "p99" => "99th percentile of ",
        "p999" => "99.9th percentile of ",
        "max" => "largest ",
        "n" => "number of values of ",
        _ => "",
    }
}

/// Returns the label of an axis: a setting in the rig's words or the name of a metric, with its unit. If a duration is
/// drawn by name, its value contains the unit. A metric without a unit is labelled by the beginning of its description,
/// if suitable.
pub(super) fn label(results: &Results, name: &str, named: bool) -> String {
    let axis = axis(results, name);
    let unit = unit(results, name, named);
    if let Some(name) = axis.and_then(Axis::name) {
        return in_unit(name, &unit);
    }
    let own = results.metric(name).filter(|metric| metric.name == name).map(|metric| &metric.comment);
    let about = axis.map(|axis| &axis.about).or(own).filter(|_| unit.is_empty());
    let begin = about.and_then(|about| beginning(about));
    in_unit(begin.unwrap_or(name), &unit)
}

/// Returns the name of a series: `contention = 0.02`.
pub(super) fn group(results: &Results, path: &str, point: &PointResult) -> String {
    let value = point.point.settings.get(path).map_or_else(|| "-".to_owned(), Value::to_string);
    format!("{} = {value}", axis(results, path).and_then(Axis::name).unwrap_or(path))
}

fn axis<'a>(results: &'a Results, name: &str) -> Option<&'a Axis> {
    let scenario = &results.scenario;
    scenario.sweep.axes.iter().chain(&scenario.searched).find(|axis| axis.path == name)
}

/// Returns the unit of a metric or a setting; a swept duration is drawn in seconds.
pub(super) fn unit(results: &Results, name: &str, named: bool) -> String {
    match axis(results, name) {
        None => results.unit(name).to_owned(),
        Some(axis) => {
            let span = axis.values.iter().any(|value| matches!(value, Value::Span(_)));
            let unit = if span && !named { "s" } else { &axis.unit };
            // Avoids "workers (workers)".
            if axis.name().is_some_and(|name| name.ends_with(unit)) { String::new() } else { unit.to_owned() }
        }
    }
}

pub(super) fn in_unit(words: &str, unit: &str) -> String {
    // Avoids "mpps (Mpps)".
    if unit.is_empty() || words.eq_ignore_ascii_case(unit) {
        words.to_owned()
    } else {
        format!("{words} ({unit})")
    }
}

/// Returns the words with an initial capital letter, unless the first one is a name of this program.
pub(super) fn capital(words: &str) -> String {
    let first = words.split(' ').next().unwrap_or_default();
    let mut letters = words.chars();
    match letters.next().filter(|_| !first.contains(['_', '.'])) {
        Some(letter) => letter.to_uppercase().chain(letters).collect(),
        None => words.to_owned(),
    }
}

/// Returns the reasons why points have no numbers: the number of points per outcome, and the first reason of each
/// outcome.
pub(super) fn why_nothing(points: &[&PointResult]) -> String {
    let all = points.len();
    if all == 0 {
        return "no point of the sweep belongs to it".to_owned();
    }
    let of = |outcome: Option<Outcome>| points.iter().filter(move |point| point.outcome() == outcome);
    let mut parts: Vec<String> = Vec::new();
    for outcome in Outcome::ALL.into_iter().map(Some).chain([None]) {
        let count = of(outcome).count();
        let why = of(outcome).map(|point| point.reason()).find(|reason| !reason.is_empty());
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let what = outcome.map_or("not measured yet", Outcome::name);
        if count > 0 {
            parts.push(format!("{count} of {all} points {what}{why}"));
        }
    }
    parts.join("; ")
}

/// Returns the days of a campaign, and the hours of the first day: `2026-11-23, 04:45 to 05:10 UTC`. The result is empty
/// if nothing was measured.
pub(super) fn when(results: &Results) -> String {
    if results.kept.is_some() {
        return results.versions["measured"].as_str().unwrap_or_default().to_owned();
    }
    let runs = || results.points.iter().flat_map(|point| &point.runs);
    let end = |run: &Finished| run.started_unix_ms.saturating_add(run.elapsed.as_millis() as u64);
    let (Some(from), Some(to)) = (runs().map(|run| run.started_unix_ms).min(), runs().map(end).max()) else {
        return String::new();
    };
    let (day, hour) = date(from);
    let (last, until) = date(to);
    match (day == last, hour == until) {
        (true, true) => format!("{day}, {hour} UTC"),
        (true, false) => format!("{day}, {hour} to {until} UTC"),
        (false, _) => format!("{day}, {hour} UTC to {last}, {until} UTC"),
    }
}

/// Returns day and minute of a time in milliseconds since 1970, in UTC.
fn date(unix_ms: u64) -> (String, String) {
    let days = unix_ms / 86_400_000;
    let minute = unix_ms / 60_000 % 1_440;
    // Years are counted in eras of 400 years that start on a 1 March, so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day = shifted % 146_097;
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    (format!("{year}-{month:02}-{day:02}"), format!("{:02}:{:02}", minute / 60, minute % 60))
}

/// Describes the machine in one line, from the facts of the host's meters.
pub(super) fn machine(host: &serde_json::Value) -> String {
    let text = |name: &str| host[name].as_str().map(str::to_owned);
    let parts = [
        // A stored result already has this line.
        text("machine"),
        text("cpu_model"),
        host["cpus"].as_u64().map(|cpus| format!("{cpus} CPUs")),
        host["emulated"]
            .as_bool()
            .filter(|is| *is)
            .map(|_| "EMULATED in software: its times are meaningless".to_owned()),
        host["virtual_machine"].as_bool().filter(|is| *is).map(|_| "virtual machine".to_owned()),
        text("kernel").map(|kernel| format!("Linux {kernel}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the words before a description's first punctuation, if they are meaningful.
fn beginning(comment: &str) -> Option<&str> {
    let words = comment.split([':', ';', ',', '(']).next()?.trim();
    stands_alone(words, BEGIN_CHARS_MAX).filter(|words| words.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let of = |seconds: u64| date(seconds * 1000);
        for (seconds, day, hour) in [
            (0, "1970-01-01", "00:00"),
            (951_782_399, "2000-02-28", "23:59"),
            (951_782_400, "2000-02-29", "00:00"),
            (1_709_251_200, "2024-03-01", "00:00"),
            (1_795_412_705, "2026-11-23", "05:45"),
        ] {
            assert_eq!(of(seconds), (day.to_owned(), hour.to_owned()), "{seconds}");
        }
    }

    #[test]
    fn sentences_are_capitalised_but_names_are_not() {
        assert_eq!(capital("requests done (1/s)"), "Requests done (1/s)");
        assert_eq!(capital("loss_ratio of all"), "loss_ratio of all");
        assert_eq!(capital("sut.cpu_cores (cores)"), "sut.cpu_cores (cores)");
    }
}
