//! The page: one file, no network, light, dark and printed; the first screen says what was found.

use std::fmt::Write;

use crate::expect::{Judged, Verdict, short};
use crate::results::{PointResult, Results};
use crate::rig::Outcome;

use super::figure::Figure;

/// The most points in the page's table; the CSV has all.
const TABLE_POINTS_MAX: usize = 500;
/// The most metrics in the page's table; the CSV has all.
const TABLE_METRICS_MAX: usize = 8;

/// What the page says beside the results.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Doubts about the machine or the measurement, one sentence each.
    pub warnings: Vec<String>,
    /// How to measure again (`ranlab bench run file.toml`).
    pub command: String,
}

const STYLE: &str = "
:root{--ink:#1a1b1c;--soft:#5d6670;--ground:#fff;--panel:#f4f6f8;--line:#d8dde2;--good:#1f7a4d;--bad:#b3261e;--mild:#8a5a00;
--accent:#2f6fcb;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#a0a8b0;--ground:#15181b;--panel:#1e2327;--line:#343b42;
--good:#5cc795;--bad:#ff8a80;--mild:#e5b567;--accent:#7db1f5}}
@media print{:root{--ink:#000;--soft:#444;--ground:#fff;--panel:#fff;--line:#bbb;--good:#1f7a4d;--bad:#b3261e;--mild:#8a5a00}
figure,tr,.cards>div{break-inside:avoid}details>*{display:block}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 Inter,system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:28px 20px 60px}h1{font-size:28px;line-height:1.2;margin:0 0 6px}
h2{font-size:20px;margin:36px 0 10px}p{margin:8px 0}.soft{color:var(--soft)}
.cards{display:flex;flex-wrap:wrap;gap:12px;margin:18px 0}.cards>div{background:var(--panel);border:1px solid var(--line);
border-radius:8px;padding:10px 16px;min-width:120px}.cards b{display:block;font-size:22px}
.warn{border-left:4px solid var(--mild);background:var(--panel);padding:8px 14px;margin:10px 0}
.quick{border-left-color:var(--bad);font-weight:600}figure{margin:18px 0;padding:12px;border:1px solid var(--line);border-radius:8px}
figure svg{width:100%;height:auto;display:block}figcaption{color:var(--soft);font-size:14px;margin-top:6px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 10px;
border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}td.n{text-align:right;
font-variant-numeric:tabular-nums;white-space:nowrap}.holds{color:var(--good)}.fails{color:var(--bad);font-weight:700}
.differs,.unmeasurable{color:var(--mild)}pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px;
white-space:pre-wrap;overflow-wrap:anywhere;font-size:13px}summary{cursor:pointer;color:var(--accent);margin:8px 0}
";

/// The page. `drawings` are the figures as SVG, in the same order.
pub fn html(
    results: &Results,
    judged: &[Judged],
    figures: &[Figure],
    drawings: &[String],
    context: &Context,
) -> String {
    let mut page = String::with_capacity(64 * 1024);
    let title = escape(&results.scenario.title);
    // Writing to a String never fails.
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><style>{STYLE}</style></head><body><main>"
    );
    first_screen(&mut page, results, judged, context);
    for (index, (figure, drawing)) in figures.iter().zip(drawings).enumerate() {
        if index == 0 {
            page.push_str("<h2>Figures</h2>");
        }
        let caption = escape(&figure.caption);
        let (title, drawing) = (escape(&figure.title), strip_prolog(drawing));
        let _ = write!(
            page,
            "<figure aria-label=\"{title}\">{drawing}<figcaption>Figure {}: {title}. {caption}</figcaption></figure>",
            index + 1
        );
    }
    verdicts(&mut page, results, judged);
    points(&mut page, results);
    appendix(&mut page, results, context);
    page.push_str("</main></body></html>\n");
    page
}

fn first_screen(page: &mut String, results: &Results, judged: &[Judged], context: &Context) {
    let scenario = &results.scenario;
    let _ = write!(page, "<h1>{}</h1>", escape(&scenario.title));
    if let Some(paper) = &scenario.paper {
        let part = match (&paper.figure, &paper.table) {
            (Some(figure), _) => format!(", figure {figure}"),
            (None, Some(table)) => format!(", table {table}"),
            (None, None) => String::new(),
        };
        let _ = write!(page, "<p class=\"soft\">Reproduces {}{}</p>", escape(&paper.work), escape(&part));
    }
    if !scenario.about.is_empty() {
        let _ = write!(page, "<p>{}</p>", escape(&scenario.about));
    }
    if scenario.quick {
        page.push_str(
            "<p class=\"warn quick\">QUICK RUN: a smoke test of the set-up. No number here is a result.</p>",
        );
    }
    let _ = write!(page, "<p>{}</p>", escape(&summary(results)));
    page.push_str("<div class=\"cards\">");
    for (outcome, count) in results.outcomes() {
        let _ = write!(page, "<div><b>{count}</b>{}</div>", outcome_words(outcome));
    }
    for verdict in [Verdict::Holds, Verdict::Differs, Verdict::Fails, Verdict::Unmeasurable] {
        let count = judged.iter().filter(|judged| judged.verdict == verdict).count();
        if count > 0 {
            let name = verdict.name();
            let _ = write!(page, "<div class=\"{name}\"><b>{count}</b>expectation {name}</div>");
        }
    }
    page.push_str("</div>");
    for warning in &context.warnings {
        let _ = write!(page, "<p class=\"warn\">{}</p>", escape(warning));
    }
}

fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "points ok",
        Outcome::Degraded => "points degraded",
        Outcome::Overloaded => "points overloaded",
        Outcome::SutFailed => "points where the system failed",
        Outcome::Timeout => "points timed out",
        Outcome::Invalid => "points invalid",
        Outcome::Unmeasurable => "points unmeasurable",
    }
}

/// What was done, in words that need no paper.
fn summary(results: &Results) -> String {
    let scenario = &results.scenario;
    let axes: Vec<String> = scenario
        .sweep
        .axes
        .iter()
        .map(|axis| match axis.values.as_slice() {
            [one] => format!("{} = {one}", axis.path),
            [first, .., last] => format!("{} from {first} to {last}", axis.path),
            [] => axis.path.clone(),
        })
        .collect();
    let varied = if axes.is_empty() { "one setting".to_owned() } else { axes.join(", ") };
    let runs: usize = results.points.iter().map(|point| point.runs.len()).sum();
    let measured = results.points.iter().filter(|point| !point.runs.is_empty()).count();
    let more = if measured < results.points.len() { " The campaign is not finished." } else { "" };
    format!(
        "The rig “{}” was measured over {varied}: {measured} of {} points, {runs} repeats of {} each, order {} by seed {}.{more}",
        scenario.rig,
        results.points.len(),
        crate::value::format_span(scenario.measure.duration),
        if scenario.measure.order == crate::scenario::Order::Random {
            "shuffled"
        } else {
            "as given, not shuffled"
        },
        scenario.measure.seed,
    )
}

fn verdicts(page: &mut String, results: &Results, judged: &[Judged]) {
    if judged.is_empty() {
        return;
    }
    page.push_str(
        "<h2>Paper and ours</h2><div class=\"scroll\"><table><thead><tr><th>metric</th><th>where</th><th>paper</th>\
         <th>ours</th><th>verdict</th><th>source</th></tr></thead><tbody>",
    );
    for row in judged {
        let unit = results.unit(&row.metric);
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        let verdict = row.verdict.name();
        let reason = if row.reason.is_empty() { String::new() } else { format!(": {}", escape(&row.reason)) };
        let _ = write!(
            page,
            "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td><span class=\"{verdict}\">{verdict}</span>{reason}</td><td>{}</td></tr>",
            escape(&row.metric),
            escape(&unit),
            escape(&row.place),
            escape(&row.paper),
            escape(&row.ours),
            escape(&row.source)
        );
    }
    page.push_str("</tbody></table></div>");
}

fn points(page: &mut String, results: &Results) {
    let metrics = table_metrics(results);
    page.push_str("<h2>Points</h2>");
    if results.points.len() > TABLE_POINTS_MAX {
        let all = results.points.len();
        let _ =
            write!(page, "<p class=\"soft\">The first {TABLE_POINTS_MAX} of {all}; points.csv has all.</p>");
    }
    page.push_str("<div class=\"scroll\"><table><thead><tr><th>point</th><th>outcome</th><th>repeats</th>");
    for metric in &metrics {
        let unit = results.unit(metric);
        let unit = if unit.is_empty() { String::new() } else { format!(" [{}]", escape(unit)) };
        let _ = write!(page, "<th>{}{unit}</th>", escape(metric));
    }
    page.push_str("</tr></thead><tbody>");
    for point in results.points.iter().take(TABLE_POINTS_MAX) {
        point_row(page, results, point, &metrics);
    }
    page.push_str("</tbody></table></div>");
}

fn point_row(page: &mut String, results: &Results, point: &PointResult, metrics: &[String]) {
    let outcome = point.outcome().map_or("not measured", Outcome::name);
    let reason = if point.reason().is_empty() { String::new() } else { format!(": {}", point.reason()) };
    let _ = write!(
        page,
        "<tr><td>{}</td><td>{outcome}{}</td><td class=\"n\">{}</td>",
        escape(&point.point.label()),
        escape(&reason),
        point.runs.len()
    );
    for metric in metrics {
        let cell = match point.summary(metric, results.scenario.measure.confidence) {
            Some(summary) => match summary.half_width {
                Some(half) => format!("{} ± {}", short(summary.mean), short(half)),
                None => short(summary.mean),
            },
            None => "–".to_owned(),
        };
        let _ = write!(page, "<td class=\"n\">{cell}</td>");
    }
    page.push_str("</tr>");
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

fn appendix(page: &mut String, results: &Results, context: &Context) {
    page.push_str("<h2>How this was measured</h2>");
    if !context.command.is_empty() {
        let _ = write!(page, "<p>Measure again: <code>{}</code></p>", escape(&context.command));
    }
    let pretty = |json: &serde_json::Value| escape(&serde_json::to_string_pretty(json).unwrap_or_default());
    let scenario = serde_json::to_value(&results.scenario).unwrap_or_default();
    for (title, json) in
        [("Machine", &results.host), ("Versions", &results.versions), ("Resolved scenario", &scenario)]
    {
        if !json.is_null() {
            let _ = write!(page, "<details><summary>{title}</summary><pre>{}</pre></details>", pretty(json));
        }
    }
    page.push_str("<details><summary>What the metrics mean</summary><ul>");
    for metric in &results.metrics {
        let _ = write!(
            page,
            "<li><b>{}</b> [{}]: {}</li>",
            escape(&metric.name),
            escape(&metric.unit),
            escape(&metric.comment)
        );
    }
    page.push_str("</ul></details>");
}

/// Inside a page an SVG has no XML prolog.
fn strip_prolog(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |at| &svg[at..])
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
