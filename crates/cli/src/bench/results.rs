//! `bench report`, `query`, `compare`: evaluation of completed campaigns.
use std::collections::BTreeSet;
use std::path::PathBuf;

use ranlab_campaign::results::Results;
use ranlab_campaign::stats::Method;
use ranlab_campaign::table::{self, Filter};
use ranlab_campaign::value::Value;
use ranlab_command::scenario::print_renamed;
use ranlab_command::verb::Context;
use ranlab_report::compare::{
    Comparison, Finding, Options, Row, Threshold, ThresholdError, compare as compare_results, side,
};
use ranlab_report::report::{beside, svg};
use ranlab_report::store::Load;
use serde_json::json;

use super::tables::Tables;
use super::{imported, open_for_sql, results_of, results_with, run};
use crate::exit::Failure;
use crate::output::Output;

/// Maximum number of rows of a comparison in text; `--format json` has all.
const SHOWN_MAX: usize = 40;

/// Arguments of `bench report`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab bench report results/quickstart\n  ranlab bench report results/quickstart --parquet\n  ranlab bench report docs/results/marc/fig8.json\n  ranlab bench report law.csv"
)]
pub(super) struct Report {
    /// Campaign (folder or file), stored result (.json), hyperfine result (.json), or table (.csv)
    campaign: PathBuf,
    /// Folder of the report [default: the campaign's folder; results/NAME for a stored result]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Column of a CSV file that is a setting, not a metric; repeatable [default: text columns, and concurrencies
    /// such as n or threads]
    #[arg(long, value_name = "COLUMN")]
    axis: Vec<String>,
    #[command(flatten)]
    tables: Tables,
}

/// Arguments of `bench query`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab bench query results/my \"SELECT label, avg(value) FROM results WHERE metric = 'sut.cpu_cores' GROUP BY point\"\n  \
                  ranlab bench query results/my --where '{\"load.nodes\": {\"$gt\": 10}, \"outcome\": \"ok\"}' --csv"
)]
pub(super) struct Query {
    /// Campaign (folder or file), or stored result (.json)
    campaign: PathBuf,
    /// SQL over results(point, label, repeat, outcome, metric, value, bound), points, repeats, metrics, names
    #[arg(required_unless_present_any = ["filter", "csv"], conflicts_with = "filter")]
    sql: Option<String>,
    /// Print points that match a JSON filter ($gt, $gte, $lt, $lte, $ne, $in, $not), as rows of settings and means
    #[arg(long = "where", value_name = "JSON")]
    filter: Option<String>,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

/// Arguments of `bench compare`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab bench compare results/before results/after --metric sut.cpu_cores\n  \
    ranlab bench compare results/table3 --first sut.engine=ovs-dpdk --second sut.engine=native --metric mpps_normalized \\\n      \
    --per pipeline.name --out pictures\n  ranlab bench compare results/before results/after --fail-if 'sessions_per_s < -5%'\n  \
    ranlab bench compare old.json new.json   (hyperfine --export-json)\n\n\
    Exit codes: 0 no threshold is exceeded, or there is none; 1 a threshold is exceeded, or the second system failed; \
    2 wrong input, or a threshold with unintended differences of settings (see --differ); 3 the machine lacks something"
)]
pub(super) struct Compare {
    /// First campaign (folder or file), stored result (.json), hyperfine result (.json), or table (.csv)
    a: PathBuf,
    /// Second campaign; may be omitted with `--first` and `--second`, which then compare points of the first
    #[arg(required_unless_present_all = ["first", "second"])]
    b: Option<PathBuf>,
    /// Use only points of the first campaign with this setting, which is then not reported as a difference
    /// (sut.engine=ovs-dpdk)
    #[arg(long, value_name = "PATH=VALUE", requires = "second")]
    first: Option<String>,
    /// Use only points of the second campaign with this setting (sut.engine=native)
    #[arg(long, value_name = "PATH=VALUE", requires = "first")]
    second: Option<String>,
    /// Write an SVG picture of each metric with both campaigns into this folder
    #[arg(long, value_name = "FOLDER", requires = "metric")]
    out: Option<PathBuf>,
    /// With --out: one picture for each value of this setting (pipeline.name)
    #[arg(long, value_name = "PATH", requires = "out")]
    per: Option<String>,
    /// Metrics to compare; repeatable [default: all common metrics except host.* and tool.*]
    #[arg(long)]
    metric: Vec<String>,
    /// Column of a CSV file that is a setting, not a metric; repeatable [default: text columns, and concurrencies
    /// such as n or threads]
    #[arg(long, value_name = "COLUMN")]
    axis: Vec<String>,
    /// Setting or section that differs intentionally, in addition to sut; repeatable (load.rate, measure)
    #[arg(long, value_name = "PATH")]
    differ: Vec<String>,
    /// Exit with 1 if the comparison shows this change; repeatable ('sessions_per_s < -5%', 'rtt_us_p99 > +10%')
    #[arg(long, value_name = "THRESHOLD")]
    fail_if: Vec<String>,
}

pub(super) fn report(arguments: &Report, context: &Context) -> Result<(), Failure> {
    let results = results_with(&arguments.campaign, Load::All, &arguments.axis)?;
    let file = super::store_in(&arguments.campaign);
    if results.kept.is_some() && arguments.tables.any() {
        let what = "a stored result has means and intervals only: there are no repeats for the tables";
        return Err(Failure::Usage(what.to_owned()));
    }
    let beside = match results.kept {
        Some(_) => PathBuf::from("results").join(file.file_stem().unwrap_or_default()),
        None if imported::is(&results) => PathBuf::from("results").join(file.file_stem().unwrap_or_default()),
        None => file.parent().map(PathBuf::from).unwrap_or_default(),
    };
    let folder = arguments.out.clone().unwrap_or(beside);
    // The report shows the command that measured the results, not the command that draws them.
    let command = match results.versions["command"].as_str() {
        Some(command) => command.to_owned(),
        None => format!("ranlab bench report {}", arguments.campaign.display()),
    };
    let (judged, written) = run::report(&results, command, &folder)?;
    let tables = arguments.tables.write(&results, &folder)?;
    run::print_summary(context.format, &file, &results, &judged, &(written, tables), None)
}

pub(super) fn query(arguments: &Query, context: &Context) -> Result<(), Failure> {
    let (columns, rows, more) = match &arguments.sql {
        Some(sql) => {
            let rows = open_for_sql(&arguments.campaign)?
                .query(sql)
                .map_err(|error| Failure::Usage(error.to_string()))?;
            (rows.columns, rows.rows, rows.more)
        }
        None => filtered(arguments)?,
    };
    if more {
        eprintln!("ranlab: only the first {} rows are shown", rows.len());
    }
    let mut output = Output::new(context.format);
    let text = |value: &Option<Value>| value.as_ref().map_or(String::new(), Value::to_string);
    let lines: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(text).collect()).collect();
    if arguments.csv {
        output.text(table::line(&columns).trim_end())?;
        for line in &lines {
            output.text(table::line(line).trim_end())?;
        }
    } else {
        print(&mut output, &columns, &lines)?;
    }
    let json: Vec<Vec<_>> =
        rows.iter().map(|row| row.iter().map(|value| value.as_ref().map(Value::to_json)).collect()).collect();
    output.finish(&json!({ "columns": columns, "rows": json, "more": more }))
}

type Table = (Vec<String>, Vec<Vec<Option<Value>>>, bool);

fn filtered(arguments: &Query) -> Result<Table, Failure> {
    let results = results_of(&arguments.campaign, Load::Metrics)?;
    let filter = Filter::parse(arguments.filter.as_deref().unwrap_or("{}"))
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let rows: Vec<_> = results
        .points
        .iter()
        .map(|point| table::row(&results, point))
        .filter(|row| filter.matches(row))
        .collect();
    let mut columns: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let rows = rows.iter().map(|row| columns.iter().map(|name| row.get(name).cloned()).collect()).collect();
    Ok((columns, rows, false))
}

/// Prints columns, each as wide as its longest cell.
fn print(output: &mut Output, columns: &[String], lines: &[Vec<String>]) -> Result<(), Failure> {
    let width = |index: usize| {
        let cells = lines.iter().map(|line| line[index].chars().count());
        // Formatting widths are limited to `u16`; a cell may be wider.
        cells.chain([columns[index].chars().count()]).max().unwrap_or(0).min(usize::from(u16::MAX))
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let row = |cells: &[String]| {
        let padded: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    output.text(row(columns))?;
    lines.iter().try_for_each(|line| output.text(row(line)))
}

pub(super) fn compare(arguments: &Compare, context: &Context) -> Result<(), Failure> {
    let second = arguments.b.as_ref().unwrap_or(&arguments.a);
    let a = results_with(&arguments.a, Load::Metrics, &arguments.axis)?;
    let b = results_with(second, Load::Metrics, &arguments.axis)?;
    let a = one_side(a, arguments.first.as_deref())?;
    let b = one_side(b, arguments.second.as_deref())?;
    let thresholds = arguments.fail_if.iter().map(|text| text.parse::<Threshold>());
    let mut thresholds: Vec<Threshold> = thresholds
        .collect::<Result<_, ThresholdError>>()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut renamed = BTreeSet::new();
    let renames = super::renames_of(&a)?;
    let mut metrics = arguments.metric.clone();
    metrics.iter_mut().for_each(|name| renames.apply(name, &mut renamed));
    thresholds.iter_mut().for_each(|threshold| renames.apply(&mut threshold.metric, &mut renamed));
    print_renamed("the command", &renamed.into_iter().collect::<Vec<_>>());
    let known: Vec<String> = a.metric_names();
    let mut named = metrics.iter().chain(thresholds.iter().map(|threshold| &threshold.metric));
    if let Some(unknown) = named.find(|name| !known.contains(name)) {
        let listed = known.join(", ");
        return Err(Failure::Usage(format!(
            "the first campaign has no metric \"{unknown}\"; it has {listed}"
        )));
    }
    // `--first` and `--second` select two sides of one campaign, which differ intentionally in these settings.
    let sides = [&arguments.first, &arguments.second].into_iter().flatten();
    let sides = sides.filter_map(|setting| Some(setting.split_once('=')?.0.to_owned()));
    let intended = arguments.differ.iter().cloned().chain(sides).collect();
    let options = Options { metrics, intended, thresholds };
    let comparison = compare_results(&a, &b, &options);
    let mut output = Output::new(context.format);
    print_comparison(&mut output, &comparison)?;
    for path in pictures(arguments, &a, &b)? {
        output.text(format_args!("picture  {}", path.display()))?;
    }
    output.finish(&comparison)?;
    failed_thresholds(&comparison)
}

/// Fails with exit code 1 if a change exceeds a threshold, or with exit code 2 if settings differ unintentionally.
fn failed_thresholds(comparison: &Comparison) -> Result<(), Failure> {
    let failed: Vec<String> = comparison
        .thresholds
        .iter()
        .filter(|result| result.verdict.fails())
        .map(|result| format!("{}: {}", result.threshold, result.reason))
        .collect();
    if !failed.is_empty() {
        return Err(Failure::Check(failed.join("; ")));
    }
    let unintended = comparison.settings.iter().find(|difference| !difference.intended);
    match unintended.filter(|_| !comparison.thresholds.is_empty()) {
        Some(first) => Err(Failure::Usage(format!(
            "no threshold can be judged: the two differ in {}; name the difference with --differ if it is intended",
            first.words()
        ))),
        None => Ok(()),
    }
}

fn print_comparison(output: &mut Output, comparison: &Comparison) -> Result<(), Failure> {
    output.text(&comparison.sentence)?;
    for result in &comparison.thresholds {
        let verdict = serde_json::to_value(result.verdict).unwrap_or_default();
        let verdict = verdict.as_str().unwrap_or_default().replace('_', " ");
        output.text(format_args!("  {verdict:<13} {}: {}", result.threshold, result.reason))?;
    }
    let columns = ["point", "metric", "first", "second", "change", "interval", "p", "A/A", "finding"];
    let share = |share: f64| format!("{:+.2} %", share * 100.0);
    let line = |row: &Row| {
        let finding = match row.detectable.filter(|_| row.finding == Finding::NotShown) {
            Some(size) => format!("not shown (< {:.1} % would not be detected)", size * 100.0),
            None => row.finding.name().to_owned(),
        };
        let outliers = match (row.method, row.outliers) {
            (Method::Yuen, 1) => " (1 outlier: trimmed means)".to_owned(),
            (Method::Yuen, count) => format!(" ({count} outliers: trimmed means)"),
            _ => String::new(),
        };
        vec![
            row.point.clone(),
            row.metric.clone(),
            row.a_text.clone(),
            row.b_text.clone(),
            share(row.change),
            row.interval
                .map_or_else(|| "-".to_owned(), |(low, high)| format!("{} to {}", share(low), share(high))),
            row.p_corrected.or(row.p).map_or_else(|| "-".to_owned(), probability),
            row.floor.map_or_else(|| "-".to_owned(), |floor| format!("{:.1} %", floor * 100.0)),
            format!("{finding}{outliers}"),
        ]
    };
    let lines: Vec<Vec<String>> = comparison.rows.iter().take(SHOWN_MAX).map(line).collect();
    if !lines.is_empty() {
        print(output, &columns.map(str::to_owned), &lines)?;
    }
    if comparison.rows.len() > SHOWN_MAX {
        let more = comparison.rows.len() - SHOWN_MAX;
        output.text(format_args!("… and {more} more rows with less evidence (--format json has all)"))?;
    }
    if let Some(why) = comparison.floor_missing {
        output.text(format_args!("A/A spread missing (-): {why}"))?;
    }
    Ok(())
}

/// Formats a probability with three digits, small ones as `4.94e-10`.
fn probability(p: f64) -> String {
    if p > 0.0 && p < 1e-3 { format!("{p:.2e}") } else { format!("{p:.3}") }
}

/// Returns the points that have a setting such as `sut.engine=native`, or all points if `setting` is `None`.
fn one_side(results: Results, setting: Option<&str>) -> Result<Results, Failure> {
    let Some(setting) = setting else { return Ok(results) };
    let wrong = |what: &str| Failure::Usage(format!("`{setting}` {what}"));
    let (path, text) = setting.split_once('=').ok_or_else(|| wrong("must be PATH=VALUE"))?;
    let mut values: Vec<&Value> =
        results.points.iter().filter_map(|point| point.point.settings.get(path)).collect();
    values.dedup();
    let value = values.iter().find(|value| value.to_string() == text).copied().cloned().ok_or_else(|| {
        let mut known: Vec<String> = values.iter().map(|value| value.to_string()).collect();
        known.sort();
        known.dedup();
        wrong(&format!("matches no point of the campaign; `{path}` is one of: {}", known.join(", ")))
    })?;
    side(&results, path, &value).ok_or_else(|| wrong("matches no point of the campaign"))
}

/// Writes the requested pictures; returns their paths.
fn pictures(arguments: &Compare, a: &Results, b: &Results) -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = &arguments.out else { return Ok(Vec::new()) };
    let cannot =
        |error: &dyn std::fmt::Display| Failure::Environment(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    let name = |setting: Option<&str>, path: &std::path::Path| {
        let value = setting.and_then(|setting| setting.split_once('='));
        value.map_or_else(|| path.display().to_string(), |(_, value)| value.to_owned())
    };
    let second = arguments.b.as_ref().unwrap_or(&arguments.a);
    let first = name(arguments.first.as_deref(), &arguments.a);
    let second = name(arguments.second.as_deref(), second);
    let mut written = Vec::new();
    for metric in &arguments.metric {
        for (value, figure) in beside((&first, a), (&second, b), metric, arguments.per.as_deref()) {
            let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
            let path = folder.join(format!("{}-{}.svg", plain(&value), plain(metric)));
            let drawing = svg(&figure).map_err(|error| cannot(&error))?;
            std::fs::write(&path, drawing).map_err(|error| cannot(&error))?;
            written.push(path);
        }
    }
    Ok(written)
}
