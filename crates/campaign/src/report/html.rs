//! The page: one file, no network, light, dark and printed; the first screen says what was found.

use std::fmt::Write;

use crate::expect::{Judged, Verdict};
use crate::results::Results;
use crate::rig::Outcome;

use super::figure::Figure;
use super::findings::findings;
use super::tables;

/// What the page says beside the results.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Doubts about the machine or the measurement, one sentence each.
    pub warnings: Vec<String>,
    /// What the rig makes of its results, in words: stands above everything else.
    pub verdict: Vec<String>,
    /// How to measure again (`ranlab bench run file.toml`).
    pub command: String,
}

const STYLE: &str = "
:root{--ink:#1a1b1c;--soft:#5d6670;--ground:#fff;--panel:#f4f6f8;--line:#d8dde2;--good:#1f7a4d;--bad:#b3261e;--mild:#8a5a00;
--accent:#2f6fcb;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#a0a8b0;--ground:#15181b;--panel:#1e2327;--line:#343b42;
--good:#5cc795;--bad:#ff8a80;--mild:#e5b567;--accent:#7db1f5}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 Inter,system-ui,sans-serif}
main{max-width:1000px;margin:0 auto;padding:28px 20px 60px}h1{font-size:28px;line-height:1.2;margin:0 0 6px}
h2{font-size:20px;margin:36px 0 10px}p{margin:8px 0}.soft{color:var(--soft)}
ul.found{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px 18px 12px 34px;margin:16px 0}
ul.found li{margin:4px 0}nav{margin:10px 0}nav a{margin-right:18px}a{color:var(--accent)}
.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}.cards>div{border:1px solid var(--line);
border-radius:8px;padding:8px 16px;min-width:120px}.cards b{display:block;font-size:22px;line-height:1.3}
.warn{border-left:4px solid var(--mild);background:var(--panel);padding:8px 14px;margin:10px 0}
.quick{border-left-color:var(--bad);font-weight:600}figure{margin:18px 0;padding:12px;border:1px solid var(--line);border-radius:8px}
figure svg{width:100%;height:auto;display:block}svg text{font-family:Inter,system-ui,sans-serif}
figcaption{color:var(--soft);font-size:14px;margin-top:6px}figcaption table{margin-top:8px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 10px;
border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}td.n span{white-space:nowrap}.points{font-size:13px}.points th,.points td{padding:5px 7px}.holds{color:var(--good)}.fails{color:var(--bad);font-weight:700}
.differs,.inconclusive,.unmeasurable{color:var(--mild)}pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px;
white-space:pre-wrap;overflow-wrap:anywhere;font-size:13px}summary{cursor:pointer;color:var(--accent);margin:8px 0}
@media print{:root{--ink:#000;--soft:#444;--ground:#fff;--panel:#fff;--line:#bbb;--good:#1f7a4d;--bad:#b3261e;--mild:#8a5a00;
color-scheme:light}@page{margin:14mm}body{font-size:13px}main{max-width:none;padding:0}nav{display:none}
figure,tr,.cards>div,ul.found{break-inside:avoid}h2{break-after:avoid}h2+p{break-after:avoid}table,.points{font-size:10px}th,td,.points th,.points td{padding:3px 4px}
.scroll{overflow:visible}details>*{display:block}}
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
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><style>{}{STYLE}</style></head><body><main>",
        super::font::face()
    );
    first_screen(&mut page, results, judged, context);
    for (index, (figure, drawing)) in figures.iter().zip(drawings).enumerate() {
        if index == 0 {
            page.push_str("<h2 id=\"figures\">Figures</h2>");
        }
        let caption = escape(figure.caption.trim());
        let (title, drawing) = (escape(&figure.title), strip_prolog(drawing));
        let _ = write!(
            page,
            "<figure aria-label=\"{title}\">{drawing}<figcaption><b>Figure {}: {title}.</b> {caption}",
            index + 1
        );
        tables::plain(&mut page, &figure.table);
        page.push_str("</figcaption></figure>");
    }
    tables::verdicts(&mut page, results, judged);
    tables::points(&mut page, results);
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
        let _ = write!(
            page,
            "<p class=\"soft\">Measures again what {}{} shows</p>",
            escape(&paper.work),
            escape(&part)
        );
    }
    if !scenario.about.is_empty() {
        let _ = write!(page, "<p>{}</p>", escape(&scenario.about));
    }
    if scenario.quick {
        page.push_str(
            "<p class=\"warn quick\">QUICK RUN: a smoke test of the set-up. No number here is a result.</p>",
        );
    }
    if !context.verdict.is_empty() {
        page.push_str("<ul class=\"found\" id=\"verdict\">");
        for sentence in &context.verdict {
            let _ = write!(page, "<li>{}</li>", escape(sentence));
        }
        page.push_str("</ul>");
    }
    let _ = write!(page, "<p>{}</p>", escape(&summary(results)));
    cards(page, results, judged);
    let findings = findings(results, judged);
    if !findings.is_empty() {
        page.push_str("<ul class=\"found\">");
        for finding in &findings {
            let _ = write!(page, "<li>{}</li>", escape(finding));
        }
        page.push_str("</ul>");
    }
    for warning in &context.warnings {
        let _ = write!(page, "<p class=\"warn\">{}</p>", escape(warning));
    }
    page.push_str("<nav><a href=\"#figures\">Figures</a>");
    if !judged.is_empty() {
        page.push_str("<a href=\"#paper\">Paper and ours</a>");
    }
    page.push_str("<a href=\"#points\">Points</a><a href=\"#how\">How this was measured</a></nav>");
}

fn cards(page: &mut String, results: &Results, judged: &[Judged]) {
    page.push_str("<div class=\"cards\">");
    for (outcome, count) in results.outcomes() {
        let _ = write!(page, "<div><b>{count}</b>{}</div>", outcome_words(outcome));
    }
    for verdict in Verdict::ALL {
        let count = judged.iter().filter(|judged| judged.verdict == verdict).count();
        if count > 0 {
            let name = verdict.name();
            let (statements, verb) = match (verdict, count) {
                (Verdict::Unmeasurable | Verdict::Inconclusive, 1) => ("statement", name),
                (Verdict::Unmeasurable | Verdict::Inconclusive, _) => ("statements", name),
                (_, 1) => ("statement", name),
                (_, _) => ("statements", name.trim_end_matches('s')),
            };
            let _ = write!(page, "<div class=\"{name}\"><b>{count}</b>{statements} {verb}</div>");
        }
    }
    page.push_str("</div>");
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
            [one] => format!("{} {one}", axis.words()),
            [first, .., last] if axis.values.iter().all(|value| value.number().is_some()) => {
                format!("{} from {first} to {last}", axis.words())
            }
            several => {
                let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                format!("{}: {}", axis.words(), names.join(", "))
            }
        })
        .collect();
    let varied = if axes.is_empty() { "nothing varied".to_owned() } else { axes.join("; ") };
    let times = match scenario.measure.repeats {
        1 => "once".to_owned(),
        repeats => format!("{repeats} times"),
    };
    let runs: usize = results.points.iter().map(|point| point.runs.len()).sum();
    let measured = results.points.iter().filter(|point| !point.runs.is_empty()).count();
    let more = if measured < results.points.len() { " The campaign is not finished." } else { "" };
    format!(
        "{measured} of {} settings were measured: {varied}. Each {times} for {}, {runs} repeats in {} order by seed {}, \
         with rig “{}”.{more}",
        results.points.len(),
        crate::value::format_span(scenario.measure.duration),
        if scenario.measure.order == crate::scenario::Order::Random { "shuffled" } else { "the given" },
        scenario.measure.seed,
        scenario.rig,
    )
}

fn appendix(page: &mut String, results: &Results, context: &Context) {
    page.push_str("<h2 id=\"how\">How this was measured</h2>");
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

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
