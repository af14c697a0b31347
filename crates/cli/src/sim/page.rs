//! Results of paired runs as a page with figures and as a table: gains and losses with confidence intervals.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ranlab_campaign::export::{Column, Table};
use ranlab_campaign::scenario::Scenario;
use ranlab_campaign::value::short;
use ranlab_e2_lab::rigs::virtual_time::ablation::{Difference, spreads};
use ranlab_report::report::{Across, Bound, Figure, Form, Sample, Series, escape, png, svg};

use super::twin::{effect_word, who};
use crate::exit::Failure;

/// Maximum number of UEs named in a figure; the table contains all.
const DRAWN_MAX: usize = 40;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1000px;margin:0 auto;padding:28px 20px;background:#fff;color:#1a1b1c}\
table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:5px 10px;border-bottom:1px solid #d8dde2}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.gains{color:#1f7a4d}.loses{color:#b3261e;font-weight:600}\
figure{margin:14px 0;padding:12px;border:1px solid #d8dde2;border-radius:8px}svg{width:100%;height:auto}figcaption{color:#5d6670;font-size:14px}\
pre{background:#f4f6f8;padding:12px;white-space:pre-wrap;overflow-wrap:anywhere}";

/// Label of a point, number of seeds, and the effects found.
pub(super) type Found = (String, usize, Vec<Difference>);

fn unit(kpi: &str) -> &'static str {
    match kpi {
        _ if kpi.ends_with("mbps") => "Mbit/s",
        _ if kpi.contains("_us") => "us",
        _ => "packets",
    }
}

/// Formats a point's label. The result is empty for a scenario without axes.
fn at(label: &str) -> String {
    if label.starts_with('(') { String::new() } else { format!(", {label}") }
}

/// Returns a figure of the effects on a KPI, one row per UE.
fn figure(kpi: &str, (label, seeds, found): &Found, name: &str, confidence: f64) -> Figure {
    let all: Vec<_> = found.iter().filter(|it| it.of.kpi == kpi).take(DRAWN_MAX).collect();
    let sample = |(x, it): (usize, &&Difference)| {
        let (low, high) = it.summary.interval();
        Sample { x: x as f64, y: it.summary.mean, low, high, ends: (low, high) }
    };
    let samples = all.iter().enumerate().map(sample).collect();
    let none = Bound { y: 0.0, color: None, name: "no difference".to_owned() };
    Figure {
        title: format!("{kpi}: with {name} minus without{}", at(label)),
        caption: format!(
            "Mean over {seeds} seeds, each run with and without, and its {} % interval (Student's, of the pairs).",
            short(confidence * 100.0)
        ),
        missing: String::new(),
        x: Across::Names(all.iter().map(|it| who(it)).collect()),
        x_label: "UE".to_owned(),
        y_label: format!("difference, {}", unit(kpi)),
        log_y: false,
        zero: (false, false),
        series: vec![Series { name: "difference".to_owned(), form: Form::Whiskers, color: 0, samples }],
        marks: Vec::new(),
        bounds: vec![none],
        answer: None,
        table: Table::default(),
    }
}

/// Returns a table with one row per point, UE and KPI.
fn table(points: &[Found]) -> Table {
    let rows = || points.iter().flat_map(|(label, _, found)| found.iter().map(move |it| (label, it)));
    let text = |of: &dyn Fn(&str, &Difference) -> String| {
        Column::Text(rows().map(|(label, it)| Some(of(label, it))).collect())
    };
    let number = |of: fn(&Difference) -> Option<f64>| Column::Float(rows().map(|(_, it)| of(it)).collect());
    let count = |of: fn(&Difference) -> i64| Column::Int(rows().map(|(_, it)| Some(of(it))).collect());
    let columns = [
        ("point", text(&|label, _| label.to_owned())),
        ("station", count(|it| it.of.station as i64)),
        ("ue", count(|it| it.of.ue.into())),
        ("kpi", text(&|_, it| it.of.kpi.clone())),
        ("without", number(|it| Some(it.without))),
        ("with", number(|it| Some(it.with))),
        ("difference", number(|it| Some(it.summary.mean))),
        ("half_width", number(|it| it.summary.half_width)),
        ("seeds", count(|it| it.summary.n as i64)),
        ("correlation", number(|it| it.correlation)),
        ("verdict", text(&|_, it| effect_word(it.verdict).to_owned())),
    ];
    Table { columns: columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect() }
}

/// Appends the rows of a point below its figures.
fn rows(page: &mut String, (_, _, found): &Found) {
    page.push_str(
        "<table><tr><th>UE<th>number<th class=n>without<th class=n>with<th class=n>difference<th></tr>",
    );
    for it in found {
        let half = it.summary.half_width.map_or_else(String::new, |half| format!(" ± {}", short(half)));
        let who = who(it);
        let kpi = escape(&it.of.kpi);
        let word = effect_word(it.verdict);
        let without = short(it.without);
        let with = short(it.with);
        let mean = short(it.summary.mean);
        // Writing to a `String` cannot fail.
        let _ = write!(
            page,
            "<tr><td>{who}<td>{kpi}, {}<td class=n>{without}<td class=n>{with}<td class=n>{mean}{half}<td class={word}>{word}</tr>",
            unit(&it.of.kpi)
        );
    }
    page.push_str("</table>");
    for it in spreads(found) {
        let [least, lower, median, upper, most] = it.quartiles.map(short);
        let _ = write!(
            page,
            "<p>{}: of all UEs {} gain, {} lose, {} the same, {} unclear; least {least}, quartiles {lower}, {median} and {upper}, most {most}.</p>",
            escape(&it.kpi),
            it.gains,
            it.loses,
            it.same,
            it.unclear
        );
    }
}

/// Writes `report.html`, `differences.csv`, and each figure as SVG and PNG to a folder. Creates the folder if it is missing. Returns the
/// paths of the page and the table.
///
/// # Errors
///
/// Fails if a file cannot be written or a figure cannot be drawn.
pub(super) fn write(
    folder: &Path,
    scenario: &Scenario,
    name: &str,
    command: &str,
    points: &[Found],
) -> Result<[PathBuf; 2], Failure> {
    let lacking = |error: std::io::Error| {
        Failure::Environment(format!("{} cannot be written: {error}", folder.display()))
    };
    let undrawn = |error| Failure::Environment(format!("a figure cannot be drawn: {error}"));
    std::fs::create_dir_all(folder).map_err(lacking)?;
    let save = |file: &str, bytes: &[u8]| std::fs::write(folder.join(file), bytes).map_err(lacking);
    let title = escape(&scenario.title);
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>\
         <p>What {0} is worth, and to whom: each seed runs twice, with and without {0}, with the same random numbers.</p>\
         <pre>{1}</pre>",
        escape(name),
        escape(command)
    );
    let mut drawn = 0;
    for point in points {
        let seeds = point.1;
        let _ =
            write!(page, "<h2>UEs that gain and UEs that lose{}: {seeds} seeds</h2>", escape(&at(&point.0)));
        rows(&mut page, point);
        let mut kpis: Vec<&str> = point.2.iter().map(|it| it.of.kpi.as_str()).collect();
        kpis.sort_unstable();
        kpis.dedup();
        for kpi in kpis {
            drawn += 1;
            let figure = figure(kpi, point, name, scenario.measure.confidence);
            let drawing = svg(&figure).map_err(undrawn)?;
            save(&format!("figure-{drawn}.svg"), drawing.as_bytes())?;
            save(&format!("figure-{drawn}.png"), &png(&figure).map_err(undrawn)?)?;
            let inline = drawing.find("<svg").map_or(drawing.as_str(), |from| &drawing[from..]);
            let _ =
                write!(page, "<figure>{inline}<figcaption>{}</figcaption></figure>", escape(&figure.caption));
        }
    }
    page.push_str("</html>\n");
    save("report.html", page.as_bytes())?;
    save("differences.csv", table(points).csv().as_bytes())?;
    Ok(["report.html", "differences.csv"].map(|file| folder.join(file)))
}
