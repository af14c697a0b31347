//! The page's tables.

use std::fmt::Write;

use crate::expect::{Judged, with_interval};
use crate::export::Table;
use crate::results::{PointResult, Results};
use crate::rig::Outcome;

use super::figure::whose;
use super::html::{escape, prose};
use super::words::capital;

/// The most points in the page's table; the CSV has all.
const TABLE_POINTS_MAX: usize = 500;
/// The most metrics in the page's table; the CSV has all.
const TABLE_METRICS_MAX: usize = 6;

/// A table as it is; nothing if it has no columns.
pub(super) fn plain(page: &mut String, table: &Table) {
    if table.columns.is_empty() {
        return;
    }
    page.push_str("<div class=\"scroll\"><table><thead><tr>");
    let empty = |index: usize| (0..table.rows()).all(|row| table.columns[index].1.cell(row).is_empty());
    let shown: Vec<usize> = (0..table.columns.len()).filter(|index| !empty(*index)).collect();
    for index in &shown {
        let _ = write!(page, "<th>{}</th>", escape(&table.columns[*index].0));
    }
    page.push_str("</tr></thead><tbody>");
    for row in 0..table.rows() {
        page.push_str("<tr>");
        for index in &shown {
            let _ = write!(page, "<td>{}</td>", escape(&table.columns[*index].1.cell(row)));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

pub(super) fn verdicts(page: &mut String, results: &Results, judged: &[Judged]) {
    if judged.is_empty() {
        return;
    }
    let all_published = judged.iter().all(|row| results.scenario.published(&row.source));
    let _ = write!(
        page,
        "<h2 id=\"expected\">{0} and measured</h2><div class=\"scroll\"><table><thead><tr><th>metric</th><th>where</th>\
         <th>{1}</th><th>measured</th><th>verdict</th><th>source</th></tr></thead><tbody>",
        capital(whose(all_published)),
        whose(all_published)
    );
    for row in judged {
        let unit = results.unit(&row.metric);
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        let verdict = row.verdict.name();
        let reason = if row.reason.is_empty() { String::new() } else { format!(": {}", escape(&row.reason)) };
        let _ = write!(
            page,
            "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td><b class=\"{verdict}\">{verdict}</b>{reason}</td><td>{}</td></tr>",
            escape(&row.metric),
            escape(&unit),
            escape(&row.place),
            escape(&row.paper),
            escape(&row.ours),
            if row.source.is_empty() { "one's own".to_owned() } else { escape(&row.source) }
        );
    }
    page.push_str("</tbody></table></div>");
}

pub(super) fn points(page: &mut String, results: &Results) {
    let metrics = table_metrics(results);
    page.push_str("<h2 id=\"points\">Points</h2>");
    let more = if results.points.len() > TABLE_POINTS_MAX {
        format!("The first {TABLE_POINTS_MAX} of {}. ", results.points.len())
    } else {
        String::new()
    };
    let _ = write!(
        page,
        "<p class=\"soft\">{more}Mean ± half width of its {} % interval over repeats. points.csv has every point and metric.</p>",
        crate::expect::short(results.scenario.measure.confidence * 100.0)
    );
    page.push_str("<div class=\"scroll\"><table class=\"points\"><thead><tr>");
    for axis in &results.scenario.sweep.axes {
        let _ = write!(page, "<th>{}</th>", breakable(&axis.path));
    }
    page.push_str("<th>outcome</th><th class=\"n\">repeats</th>");
    for metric in &metrics {
        let unit = results.unit(metric);
        let unit = if unit.is_empty() { String::new() } else { format!(" [{}]", escape(unit)) };
        let _ = write!(page, "<th class=\"n\">{}{unit}</th>", breakable(metric));
    }
    page.push_str("</tr></thead><tbody>");
    for point in results.points.iter().take(TABLE_POINTS_MAX) {
        point_row(page, results, point, &metrics);
    }
    page.push_str("</tbody></table></div>");
}

fn point_row(page: &mut String, results: &Results, point: &PointResult, metrics: &[String]) {
    page.push_str("<tr>");
    for axis in &results.scenario.sweep.axes {
        let value = point.point.settings.get(&axis.path).map_or_else(|| "–".to_owned(), ToString::to_string);
        let _ = write!(page, "<td>{}</td>", escape(&value));
    }
    let outcome = point.outcome();
    let reason = match (outcome, point.reason()) {
        (Some(Outcome::Ok), _) | (_, "") => String::new(),
        (_, reason) => format!("<br><span class=\"soft\">{}</span>", prose(reason)),
    };
    let _ = write!(
        page,
        "<td>{}{reason}</td><td class=\"n\">{}</td>",
        outcome.map_or("not measured", Outcome::name),
        point.runs.len()
    );
    for metric in metrics {
        let summary = results.summary(point, metric);
        let cell = summary.map_or_else(|| "–".to_owned(), |own| with_interval(own.mean, own.half_width));
        let cell = cell.replacen(" ±", "</span> <span>±", 1);
        let _ = write!(page, "<td class=\"n\"><span>{cell}</span></td>");
    }
    page.push_str("</tr>");
}

/// A name that may go on in the next line behind a dot or an underscore.
fn breakable(name: &str) -> String {
    escape(name).replace('.', ".<wbr>").replace('_', "_<wbr>")
}

/// Metrics of figures and expectations first, then one of each declared metric.
fn table_metrics(results: &Results) -> Vec<String> {
    let scenario = &results.scenario;
    let measured = results.metric_names();
    let wanted =
        scenario.plots.iter().flat_map(|plot| [Some(plot.y.clone()), plot.z.clone()].into_iter().flatten());
    let wanted = wanted.chain(scenario.expects.iter().map(|expect| expect.metric.clone()));
    let declared = results.metrics.iter().flat_map(|metric| {
        let names = metric.names();
        if names.len() > 1 {
            vec![format!("{}_p50", metric.name), format!("{}_p99", metric.name)]
        } else {
            names
        }
    });
    let mut metrics: Vec<String> = Vec::new();
    for name in wanted.chain(declared) {
        if measured.contains(&name) && !metrics.contains(&name) && metrics.len() < TABLE_METRICS_MAX {
            metrics.push(name);
        }
    }
    metrics
}
