//! The page: one file, no network, light, dark and printed. The first screen has the question, when and where it was
//! measured, the answer, what changes its reading, and the main figure.

use std::fmt::Write;

use crate::expect::{Judged, Verdict, short};
use crate::results::Results;
use crate::rig::Outcome;
use crate::scenario::Search;

use super::figure::Figure;
use super::{findings, tables, words};

/// What the page says beside the results.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Doubts that change how the figures are read, one sentence each: they stand above them.
    pub warnings: Vec<String>,
    /// What else is worth knowing about machine and measurement: it stands below the main figure.
    pub remarks: Vec<String>,
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
ul.found li{margin:4px 0}ul.found.answer{font-size:17px}p.meta{margin:2px 0;font-size:14px}nav{margin:10px 0}nav a{margin-right:18px}a{color:var(--accent)}
.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}.cards>div{border:1px solid var(--line);
border-radius:8px;padding:8px 16px;min-width:120px}.cards b{display:block;font-size:22px;line-height:1.3}
.warn{border-left:4px solid var(--mild);background:var(--panel);padding:8px 14px;margin:10px 0}
.quick{border-left-color:var(--bad);font-weight:600}figure{--ink:#1a1b1c;--soft:#5d6670;--line:#d8dde2;background:#fff;color:var(--ink);
margin:14px 0;padding:12px;border:1px solid var(--line);border-radius:8px}figure svg{width:100%;height:auto;display:block}
figure.main svg{max-height:min(47vh,480px)}svg text{font-family:Inter,system-ui,sans-serif}
figcaption{color:var(--soft);font-size:14px;margin-top:6px}figcaption table{margin-top:8px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:6px 10px;
border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}td.n span{white-space:nowrap}.points{font-size:13px}.points .soft{font-size:11px}.points th,.points td{padding:5px 7px}.holds{color:var(--good)}.fails{color:var(--bad);font-weight:700}
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
    let main = figures.iter().position(|figure| figure.missing.is_empty());
    first_screen(&mut page, results, judged, context);
    if let Some(main) = main {
        draw(&mut page, main, &figures[main], &drawings[main], " class=\"main\"");
    }
    not_drawn(&mut page, figures);
    below(&mut page, results, judged, context);
    let others = || figures.iter().zip(drawings).enumerate().filter(|(index, _)| Some(*index) != main);
    let mut others = others().filter(|(_, (figure, _))| figure.missing.is_empty()).peekable();
    if others.peek().is_some() {
        page.push_str("<h2 id=\"figures\">More figures</h2>");
    }
    others.for_each(|(index, (figure, drawing))| draw(&mut page, index, figure, drawing, ""));
    tables::verdicts(&mut page, results, judged);
    tables::points(&mut page, results);
    appendix(&mut page, results);
    page.push_str("</main></body></html>\n");
    page
}

/// A figure; its drawing has the title.
fn draw(page: &mut String, index: usize, figure: &Figure, drawing: &str, class: &str) {
    let (title, caption) = (escape(&figure.title), escape(figure.caption.trim()));
    let drawing = strip_prolog(drawing);
    let _ = write!(
        page,
        "<figure{class} aria-label=\"{title}\">{drawing}<figcaption><b>Figure {}.</b> {caption}",
        index + 1
    );
    tables::plain(page, &figure.table);
    page.push_str("</figcaption></figure>");
}

/// Figures without a point: what they would show and why they do not, once for each reason.
fn not_drawn(page: &mut String, figures: &[Figure]) {
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for figure in figures.iter().filter(|figure| !figure.missing.is_empty()) {
        let title = format!("“{}”", escape(&figure.title));
        match told.iter_mut().find(|(why, _)| *why == figure.missing) {
            Some((_, titles)) => titles.push(title),
            None => told.push((&figure.missing, vec![title])),
        }
    }
    for (why, titles) in told {
        let _ = write!(page, "<p class=\"warn\">Not drawn: {}: {}.</p>", titles.join(", "), prose(why));
    }
}

fn first_screen(page: &mut String, results: &Results, judged: &[Judged], context: &Context) {
    let scenario = &results.scenario;
    let _ = write!(page, "<h1>{}</h1>", escape(&scenario.title));
    let mut meta = vec![words::when(results), words::machine(&results.host)];
    if let Some(version) = results.versions["ranlab"].as_str() {
        meta.push(format!("ranlab {version}, rig {}", scenario.rig));
    }
    meta.retain(|part| !part.is_empty());
    let _ = write!(page, "<p class=\"meta soft\">{}</p>", escape(&meta.join(" · ")));
    if !context.command.is_empty() {
        let _ = write!(
            page,
            "<p class=\"meta soft\">Measure again: <code>{}</code></p>",
            escape(&context.command)
        );
    }
    if scenario.quick {
        page.push_str(
            "<p class=\"warn quick\">QUICK RUN: a smoke test of the set-up. No number here is a result.</p>",
        );
    }
    let mut answers = context.verdict.clone();
    answers.extend(findings::answers(results, judged));
    list(page, "found answer", &answers);
    for warning in context.warnings.iter().chain(&findings::doubts(results)) {
        let _ = write!(page, "<p class=\"warn\">{}</p>", prose(warning));
    }
}

fn list(page: &mut String, class: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let _ = write!(page, "<ul class=\"{class}\">");
    for sentence in sentences {
        let _ = write!(page, "<li>{}</li>", prose(sentence));
    }
    page.push_str("</ul>");
}

/// What explains the first screen.
fn below(page: &mut String, results: &Results, judged: &[Judged], context: &Context) {
    let scenario = &results.scenario;
    cards(page, results, judged);
    list(page, "found", &findings::findings(results));
    context.remarks.iter().for_each(|remark| {
        let _ = write!(page, "<p class=\"warn\">{}</p>", prose(remark));
    });
    if let Some(paper) = &scenario.paper {
        let part = match (&paper.figure, &paper.table) {
            (Some(figure), _) => format!(", figure {figure}"),
            (None, Some(table)) => format!(", table {table}"),
            (None, None) => String::new(),
        };
        let (work, part) = (escape(&paper.work), escape(&part));
        let _ = write!(page, "<p class=\"soft\">Measures again what {work}{part} shows.</p>");
    }
    if !scenario.about.is_empty() {
        let _ = write!(page, "<p>{}</p>", escape(&scenario.about));
    }
    let _ = write!(page, "<p>{}</p>", escape(&summary(results)));
    page.push_str("<nav>");
    if !judged.is_empty() {
        page.push_str("<a href=\"#expected\">Expected and measured</a>");
    }
    page.push_str("<a href=\"#points\">Points</a><a href=\"#how\">How this was measured</a></nav>");
}

fn cards(page: &mut String, results: &Results, judged: &[Judged]) {
    page.push_str("<div class=\"cards\">");
    for (outcome, count) in results.outcomes() {
        let words = outcome_words(outcome);
        let words = if count == 1 { words.replacen("points", "point", 1) } else { words.to_owned() };
        let _ = write!(page, "<div><b>{count}</b>{words}</div>");
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
    let searched =
        scenario.search.as_ref().and_then(Search::load).map(|load| {
            format!("{} searched between {} and {}", load.axis, short(load.min), short(load.max))
        });
    let varied: Vec<String> = axes.into_iter().chain(searched).collect();
    let varied = if varied.is_empty() { "nothing varied".to_owned() } else { varied.join("; ") };
    let times = match scenario.measure.repeats {
        1 => "once".to_owned(),
        repeats => format!("{repeats} times"),
    };
    let runs: usize = results.points.iter().map(|point| point.runs.len()).sum();
    let measured = results.points.iter().filter(|point| !point.runs.is_empty()).count();
    format!(
        "{measured} of {} settings were measured: {varied}. Each {times} for {}, {runs} repeats in {} order by seed {}, \
         with rig “{}”.",
        results.points.len(),
        crate::value::format_span(scenario.measure.duration),
        if scenario.measure.order == crate::scenario::Order::Random { "shuffled" } else { "the given" },
        scenario.measure.seed,
        scenario.rig,
    )
}

fn appendix(page: &mut String, results: &Results) {
    page.push_str("<h2 id=\"how\">How this was measured</h2>");
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

/// Text in which `names` stand between back quotes.
pub(super) fn prose(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    text.split('`').enumerate().map(part).collect()
}

/// Text as it stands in a page, between tags or in an attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
