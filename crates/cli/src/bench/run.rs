//! `bench run`: measures a scenario, stores and judges the results, and writes the report.
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use ranlab_campaign::answer::Qualified;
use ranlab_campaign::expect::{Judged, counts, judge};
use ranlab_campaign::plan::Plan;
use ranlab_campaign::renamed::Renames;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{MetricKind, Rig, Stop};
use ranlab_campaign::run::{RunError, SessionSummary};
use ranlab_campaign::scenario::{self, PlotKind, Scenario};
use ranlab_command::verb;
use ranlab_host::Facts;
use ranlab_lab::RigContext;
use ranlab_report::report::{Context, LiveCampaign, Written};
use ranlab_report::store::{Header, Load, Store, StoreError};
use serde_json::json;

use super::gate::{self, Gate};
use super::page::Page;
use super::session::{Progress, stop_at_signal};
use super::tables::Tables;
use super::{STORE, ScenarioArguments, lab};
use crate::exit::Failure;
use crate::output::{Format, Output};
use crate::web::WebArguments;

/// Maximum number of points and verdicts in text; the report and `--format json` have all.
const SHOWN_MAX: usize = 40;
/// Number of values of the last window shown on a terminal.
const NUMBERS_MAX: usize = 5;

/// Arguments of `bench run`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab bench run my.toml\n  ranlab bench run my.toml --web        # watch, stop and resume it on a page\n  ranlab bench run scenarios/flexric/fig9b.toml --quick\n  ranlab bench run gate.toml --fail-on inconclusive,degraded --junit gate.xml\n\n\
                  The same command resumes a campaign that was stopped or killed.\n\
                  Exit codes: 0 measured; 1 a required expectation failed, a verdict or outcome of --fail-on occurred, or the system \
                  failed at every point; 2 the scenario is invalid; 3 the machine lacks something, or nothing could be measured; \
                  130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ScenarioArguments,
    /// Folder of the campaign and its report [default: results/ and the path of the scenario]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print what would be measured, without measuring
    #[arg(long)]
    dry_run: bool,
    /// Allow the commands in the profile of a third-party system (shown by `bench check`)
    #[arg(long)]
    allow_commands: bool,
    /// Start again; an existing campaign is kept under another name
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    gate: Gate,
    #[command(flatten)]
    web: WebArguments,
    #[command(flatten)]
    tables: Tables,
}

/// Runs a scenario, or continues its campaign.
pub(crate) fn run(arguments: &Arguments, context: &verb::Context) -> Result<(), Failure> {
    let format = context.format;
    let mut lab = lab()?;
    let (scenario, description) = arguments.reading.read(context)?;
    let plan = Plan::new(&scenario, &description);
    let commands = super::scenario::commands(&plan)?;
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None => {
            let here = std::env::current_dir().unwrap_or_default();
            default_folder(&arguments.reading.scenario, &here, arguments.reading.quick)
        }
    };
    (lab.commands, lab.folder) = (arguments.allow_commands, std::path::absolute(&folder).ok());
    let rig = super::rig(&lab, &scenario.rig)?;
    if arguments.dry_run {
        let mut output = Output::new(format);
        output.text(&scenario.title)?;
        super::scenario::tell_plan(&mut output, &plan)?;
        super::scenario::tell_commands(&mut output, &commands)?;
        super::scenario::preview(&plan, &*rig, &mut |line| output.text(line))?;
        output.text(format_args!("the campaign would be stored in {}", folder.display()))?;
        let expected_s = plan.expected().as_secs_f64();
        return output
            .finish(&json!({ "points": plan.points, "repeats": plan.repeats, "expected_s": expected_s }));
    }
    if !commands.is_empty() && !arguments.allow_commands {
        let lines: Vec<_> = commands.iter().map(|command| format!("\n  {command}")).collect();
        let why = "the scenario's profile runs commands; look at them, and allow them with --allow-commands:";
        return Err(Failure::Usage(format!("{why}{}", lines.concat())));
    }
    super::scenario::preview(&plan, &*rig, &mut |line| {
        eprintln!("{line}");
        Ok(())
    })?;
    let metrics = scenario::metrics(&description, &scenario);
    let command = arguments.reading.command("bench run");
    let mut store = open(&folder, arguments.fresh, &command, &scenario, &plan, &metrics)?;
    super::quiet::check(&scenario, plan.expected())?;
    let stop = stop_at_signal("stopping; finished repeats are kept");
    let lacking = |error: StoreError| Failure::Environment(error.to_string());
    let before = store.results(Load::Metrics).map_err(lacking)?;
    if let Some(why) = super::stale(&before) {
        let file = folder.join(STORE);
        return Err(Failure::Usage(format!("{} is stale: {why}; start again with --fresh", file.display())));
    }
    let board = arguments.web.open()?;
    let mut page = board.map(|board| Page::open(board, &before, &plan, &folder, &command, &stop));
    let measured = measure(rig, (&lab, &scenario, &plan), &mut store, &stop, (&before, page.as_mut()));
    let results = store.results(Load::All).map_err(lacking)?;
    let (judged, written) = report(&results, command, &folder)?;
    if let Some(page) = page {
        page.end(
            measured.as_ref().map(|session| session.stopped).map_err(ToString::to_string),
            &written.html,
        );
    }
    let session = measured?;
    let tables = arguments.tables.write(&results, &folder)?;
    let decided = if session.stopped {
        Err(Failure::Interrupted("stopped before the end; the same command continues from here".to_owned()))
    } else {
        arguments.gate.decide(&results, &judged)
    };
    arguments.gate.write_junit(&results, &judged)?;
    let error = decided.as_ref().err().and_then(Failure::json);
    print_summary(format, &folder.join(STORE), &results, &judged, &(written, tables), error)?;
    decided
}

/// Measures until all points are done or the campaign is stopped. While a campaign is stopped from its page, no component runs.
fn measure(
    mut rig: Box<dyn Rig>,
    (lab, scenario, plan): (&RigContext, &Scenario, &Plan),
    store: &mut Store,
    stop: &Stop,
    (before, mut page): (&Results, Option<&mut Page>),
) -> Result<SessionSummary, Failure> {
    let mut watched = LiveCampaign::new(before);
    loop {
        let mut progress = Progress::new();
        let session = ranlab_campaign::run::run(rig, scenario, plan, store, stop, &mut |event| {
            let changed = watched.take(&event);
            if let Some(page) = &mut page {
                page.take(&event, &watched, changed);
            }
            let numbers = watched.numbers(&event, NUMBERS_MAX);
            progress.take(event, &numbers);
        });
        progress.end();
        let session = session.map_err(of_run)?;
        let Some(page) = page.as_mut().filter(|_| session.stopped && !stop.stop_requested()) else {
            return Ok(session);
        };
        if !page.paused(stop) {
            return Ok(session);
        }
        stop.go_on();
        rig = super::rig(lab, &scenario.rig)?;
    }
}

/// Opens or creates the campaign's file. With `fresh`, an existing file is renamed.
fn open(
    folder: &Path,
    fresh: bool,
    command: &str,
    scenario: &Scenario,
    plan: &Plan,
    metrics: &[ranlab_campaign::rig::Metric],
) -> Result<Store, Failure> {
    let lacking =
        |error: std::io::Error| Failure::Environment(format!("{} cannot be used: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(lacking)?;
    let file = folder.join(STORE);
    if fresh && file.exists() {
        let mut number = 1;
        while folder.join(format!("campaign-{number}.sqlite")).exists() {
            number += 1;
        }
        for suffix in ["", "-wal", "-shm"] {
            let from = folder.join(format!("{STORE}{suffix}"));
            if from.exists() {
                std::fs::rename(from, folder.join(format!("campaign-{number}.sqlite{suffix}")))
                    .map_err(lacking)?;
            }
        }
    }
    let host = serde_json::to_value(Facts::read()).unwrap_or_default();
    let versions = json!({
        "ranlab": env!("CARGO_PKG_VERSION"), "rig": scenario.rig, "command": command,
        "behaviour": crate::domains::behaviour(scenario),
    });
    let rigs = crate::domains::descriptions(&lab()?);
    let rig = rigs.iter().find(|rig| rig.is(&scenario.rig));
    let renames = &rig.map(Renames::from_rig).unwrap_or_default();
    let keys = rig.map(|rig| rig.keys.as_slice()).unwrap_or_default();
    let header = Header { scenario, plan, keys, metrics, host: &host, versions: &versions, renames };
    Store::open(&file, &header).map_err(|error| match error {
        StoreError::OtherScenario(_) => {
            Failure::Usage(format!("{error}, start again with --fresh, or choose another folder with --out"))
        }
        StoreError::NoCampaign(_) | StoreError::Format { .. } => Failure::Usage(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    })
}

fn of_run(error: RunError) -> Failure {
    match error {
        RunError::RigLost { .. } => Failure::Check(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    }
}

/// Returns the default folder: `results/` and the path of the scenario, so that scenarios with the same name
/// do not collide. Examples: `results/marc/fig7` for `scenarios/marc/fig7.toml`, `results/my` for `my.toml`,
/// `results/my.quick` for a quick run.
///
/// The path up to a folder `scenarios`, and the working directory, are omitted.
pub(super) fn default_folder(scenario: &Path, working_directory: &Path, quick: bool) -> PathBuf {
    let near = scenario.strip_prefix(working_directory).unwrap_or(scenario);
    let names = |path: &Path| -> Vec<OsString> {
        let normal = |part| if let Component::Normal(name) = part { Some(name.to_owned()) } else { None };
        path.components().filter_map(normal).collect()
    };
    let parents = near.parent().map(names).unwrap_or_default();
    let below = parents.iter().rposition(|name| name == "scenarios").map_or(0, |at| at + 1);
    let mut name = near.file_stem().unwrap_or_default().to_owned();
    if quick {
        name.push(".quick");
    }
    parents[below..].iter().fold(PathBuf::from("results"), |folder, parent| folder.join(parent)).join(name)
}

/// Returns the context of a report: command and environment.
pub(super) fn context(results: &Results, command: String) -> Context {
    let warnings = ranlab_lab::experiment::noise::disturbances(results);
    let remarks = ranlab_lab::experiment::noise::remarks(results);
    let verdict = crate::domains::verdict(results);
    Context { warnings, remarks, verdict, command, pictures: crate::domains::pictures(results) }
}

/// Judges the results, draws the figures and writes the report.
pub(crate) fn report(
    results: &Results,
    command: String,
    folder: &Path,
) -> Result<(Vec<Judged>, Written), Failure> {
    let context = context(results, command);
    let written = ranlab_report::report::write(results, &context, folder)
        .map_err(|error| Failure::Environment(error.to_string()))?;
    Ok((judge(results), written))
}

/// Prints the summary, as JSON object or text.
pub(super) fn print_summary(
    format: Format,
    campaign: &Path,
    results: &Results,
    judged: &[Judged],
    (written, tables): &(Written, Vec<PathBuf>),
    error: Option<serde_json::Value>,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    output.text(format_args!(
        "{}{}",
        results.scenario.title,
        if results.scenario.quick { "  (quick run: its results never count)" } else { "" }
    ))?;
    gate::print_thresholds(&mut output, judged)?;
    let headline = shown_metrics(results).iter().find_map(|metric| gate::headline(results, metric));
    if let Some((sentence, _)) = &headline {
        output.text(format_args!("headline      {sentence}"))?;
    }
    let verdict = crate::domains::verdict(results);
    for sentence in &verdict {
        output.text(format_args!("  {sentence}"))?;
    }
    tell_points(&mut output, results)?;
    let laws = ranlab_report::report::laws(results);
    for law in &laws {
        output.text(format_args!("  {}", law.sentence()))?;
    }
    let warnings = ranlab_lab::experiment::noise::warnings(results);
    for warning in &warnings {
        output.text(format_args!("  warning: {warning}"))?;
    }
    output.text(format_args!("campaign {}\nreport   {}", campaign.display(), written.html.display()))?;
    for table in tables {
        output.text(format_args!("table    {}", table.display()))?;
    }
    let mut object = json!({
        "campaign": campaign,
        "report": written.html,
        "points": points(results),
        "expects": judged,
        "counts": counts(judged),
        "behaviour": results.versions["behaviour"],
        "warnings": warnings,
    });
    if let Some((_, number)) = headline {
        object["headline"] = number;
    }
    if let Some(error) = error {
        object["error"] = error;
    }
    if !verdict.is_empty() {
        object["verdict"] = json!(verdict);
    }
    if !laws.is_empty() {
        object["laws"] = json!(laws);
    }
    if !tables.is_empty() {
        object["tables"] = json!(tables);
    }
    output.finish(&object)
}

/// Prints a line per expectation.
pub(super) fn tell_judged(output: &mut Output, judged: &[Judged]) -> Result<(), Failure> {
    for expect in judged.iter().take(SHOWN_MAX) {
        let reason = if expect.reason.is_empty() { String::new() } else { format!(" ({})", expect.reason) };
        let tuned = if expect.tuned.is_empty() { String::new() } else { format!(" [{}]", expect.tuned) };
        output.text(format_args!(
            "  {:<12} {:<6}{tuned} {} at {}: {} {}, measured {}{reason}",
            expect.verdict.name(),
            expect.class.name(),
            expect.metric,
            expect.place,
            if expect.class.published() { "published" } else { "expected" },
            expect.paper,
            expect.ours
        ))?;
    }
    if judged.len() > SHOWN_MAX {
        output.text(format_args!("  … and {} more", judged.len() - SHOWN_MAX))?;
    }
    Ok(())
}

/// Prints a line per point in columns: label, outcome, and the selected metrics.
pub(crate) fn tell_points(output: &mut Output, results: &Results) -> Result<(), Failure> {
    let metrics = shown_metrics(results);
    let title = |name: &String| match results.unit(name) {
        "" => name.clone(),
        unit => format!("{name} ({unit})"),
    };
    let head = ["point".to_owned(), "outcome".to_owned()].into_iter().chain(metrics.iter().map(title));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for point in results.points.iter().take(SHOWN_MAX) {
        let outcome = point.outcome().map_or("not measured", |outcome| outcome.name());
        let answers = metrics
            .iter()
            .map(|name| results.answer(point, name).map(|answer| answer.sentence("").trim_end().to_owned()));
        let answers: Vec<Option<String>> = answers.collect();
        let is_measured = answers.iter().any(Option::is_some);
        let mut row = vec![point.point.label(), outcome.to_owned()];
        row.extend(answers.into_iter().map(|answer| answer.unwrap_or_else(|| "-".to_owned())));
        let qualified = Qualified::at(results, point).words();
        match is_measured {
            true if qualified.is_empty() => {}
            true => row.push(format!("[{}]", qualified.join(", "))),
            // A point without values shows its reason instead.
            false => row.splice(2.., [point.reason().to_owned()]).for_each(drop),
        }
        rows.push(row);
    }
    for line in aligned(&rows, metrics.len() + 2) {
        output.text(format_args!("  {line}"))?;
    }
    if results.points.len() > SHOWN_MAX {
        output.text(format_args!("  … and {} more", results.points.len() - SHOWN_MAX))?;
    }
    Ok(())
}

/// Aligns the cells of all rows in columns. A row with fewer cells (its last cell is a reason) does not widen a column.
fn aligned(rows: &[Vec<String>], columns: usize) -> Vec<String> {
    let whole = || rows.iter().filter(|row| row.len() >= columns);
    let width = |column: usize| {
        let all = if column < 2 { rows.iter().collect::<Vec<_>>() } else { whole().collect() };
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(column, cell): (usize, &String)| {
            let width = widths.get(column).copied().unwrap_or(0);
            format!("{cell:<width$}")
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Returns the metrics of the plots. Without plots, returns the first metrics of the rig, as many as fit on a line.
fn shown_metrics(results: &Results) -> Vec<String> {
    // Results of a search precede the other metrics.
    let found = ["search.load", "search.best"].into_iter().filter(|name| results.metric(name).is_some());
    let mut names: Vec<String> =
        if results.scenario.search.is_some() { found.map(str::to_owned).collect() } else { Vec::new() };
    for plot in &results.scenario.plots {
        let y =
            if results.metric(&plot.y).is_some_and(|m| m.kind == MetricKind::Histogram && m.name == plot.y) {
                format!("{}_p50", plot.y)
            } else {
                plot.y.clone()
            };
        if !names.contains(&y) {
            names.push(y);
        }
    }
    if results.scenario.plots.is_empty() {
        names.extend(results.metrics.iter().flat_map(|metric| metric.names().into_iter().take(1)).take(3));
    }
    names.truncate(4);
    names
}

pub(crate) fn points(results: &Results) -> Vec<serde_json::Value> {
    let one = |point: &ranlab_campaign::results::PointResult| {
        let names: std::collections::BTreeSet<&String> =
            point.runs.iter().flat_map(|run| run.recording.metrics.keys()).collect();
        let metrics: serde_json::Map<_, _> = names
            .into_iter()
            .filter_map(|name| {
                let mut value = results.answer(point, name)?.json(results.unit(name));
                // Comparisons and the A/A variation need the value of each repeat, provided that all repeats have one.
                let whole = point.runs.iter().all(|run| run.outcome.counts());
                let several = results.scenario.measure.paired || point.runs.len() > 1;
                if several && whole && point.values(name).len() == point.runs.len() {
                    value["values"] = json!(point.values(name));
                }
                Some((name.clone(), value))
            })
            .collect();
        let axes: serde_json::Map<_, _> =
            point.point.axes.iter().map(|(path, value)| (path.clone(), value.to_json())).collect();
        let mut object = json!({
            "axes": axes,
            "outcome": point.outcome(),
            "reason": point.reason(),
            "metrics": metrics,
            "qualified": Qualified::at(results, point),
        });
        let distributions: serde_json::Map<_, _> = whole_metrics(results)
            .filter_map(|name| Some((name.to_owned(), json!(point.distribution(name)?.kept()))))
            .collect();
        if !distributions.is_empty() {
            object["distributions"] = distributions.into();
        }
        object
    };
    results.points.iter().map(one).collect()
}

/// Returns the metrics whose complete distribution is drawn, as boxes and cumulative curves.
fn whole_metrics(results: &Results) -> impl Iterator<Item = &str> {
    let whole = |kind| matches!(kind, PlotKind::Box | PlotKind::Cdf);
    let names: std::collections::BTreeSet<&str> =
        results.scenario.plots.iter().filter(|plot| whole(plot.kind)).map(|plot| plot.y.as_str()).collect();
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use ranlab_campaign::scenario::Overrides;
    use ranlab_campaign::value::Value;

    use super::*;

    #[test]
    fn columns_are_aligned_and_reasons_do_not_widen_them() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let rows = [
            row(&["point", "outcome", "cpu (cores)", "rate"]),
            row(&["load.nodes=10", "ok", "0.02 ± 0.001", "3999"]),
            row(&["load.nodes=1", "not measured", "the RIC did not start within 10 s"]),
            row(&["load.nodes=1", "ok", "-", "1", "[disturbed]"]),
        ];
        let expected = [
            "point          outcome       cpu (cores)   rate",
            "load.nodes=10  ok            0.02 ± 0.001  3999",
            "load.nodes=1   not measured  the RIC did not start within 10 s",
            "load.nodes=1   ok            -             1     [disturbed]",
        ];
        assert_eq!(aligned(&rows, 4), expected);
    }

    #[test]
    fn scenarios_have_separate_campaign_folders() {
        for (scenario, quick, folder) in [
            ("my.toml", false, "results/my"),
            ("./my.toml", true, "results/my.quick"),
            ("scenarios/flexric/fig7.toml", false, "results/flexric/fig7"),
            ("scenarios/marc/fig7.toml", false, "results/marc/fig7"),
            ("../checkout/scenarios/xhaul/fig7.toml", true, "results/xhaul/fig7.quick"),
            ("scenarios/upf/modes/a.b.toml", false, "results/upf/modes/a.b"),
            ("/home/me/studies/fig7.toml", false, "results/studies/fig7"),
            ("/home/you/fig7.toml", false, "results/home/you/fig7"),
            ("scenarios/quickstart.toml", false, "results/quickstart"),
        ] {
            let found = default_folder(Path::new(scenario), Path::new("/home/me"), quick);
            assert_eq!(found, Path::new(folder), "{scenario}");
        }
    }

    fn scenarios(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let of = |path: PathBuf| if path.is_dir() { scenarios(&path) } else { vec![path] };
        entries.flat_map(of).filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
    }

    /// In JSON, the choice `"100ms"` and a duration of 100 ms are the same text. A campaign with such a setting must still be resumable.
    #[test]
    fn same_command_resumes_and_other_settings_are_refused() {
        let rigs = crate::domains::descriptions(&lab().unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = std::env::temp_dir().join(format!("ranlab-resumed-{}", std::process::id()));
        let found = scenarios(&root.join("scenarios"));
        assert!(found.len() > 10, "{found:?}");
        for (file, quick) in found.iter().flat_map(|file| [(file, false), (file, true)]) {
            let read = |sets: &[&str]| {
                let sets = sets.iter().map(|&set| set.to_owned()).collect();
                Scenario::load(file, &Overrides { sets, quick }, &rigs).unwrap()
            };
            let opened = |scenario: &Scenario| {
                let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).unwrap();
                open(&folder, false, "c", scenario, &Plan::new(scenario, rig), &rig.metrics)
            };
            let begun = read(&[]);
            drop(opened(&begun).unwrap_or_else(|why| panic!("{}: {why:?}", file.display())));
            let store =
                opened(&read(&[])).unwrap_or_else(|why| panic!("{} goes on: {why:?}", file.display()));
            // The stored settings equal the settings of the file.
            let kept = store.results(Load::Metrics).unwrap().scenario.settings;
            assert!(kept.keys().eq(begun.settings.keys()), "{}", file.display());
            let same = |(path, value): (&String, &Value)| value.same(&kept[path]);
            assert!(begun.settings.iter().all(same), "{}", file.display());
            assert!(opened(&read(&["measure.seed=4711"])).is_err(), "{}", file.display());
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn duration_like_choice_can_be_set_on_the_command_line() {
        let rigs = crate::domains::descriptions(&lab().unwrap());
        let read = |set: &str| {
            let text = "title = \"t\"\nrig = \"xhaul\"\n[user]\nkind = \"udp\"\n";
            let overrides = Overrides { sets: vec![set.to_owned()], quick: false };
            Scenario::parse(text, "t.toml", &overrides, &rigs).unwrap()
        };
        let rig = rigs.iter().find(|rig| rig.is("xhaul")).unwrap();
        let folder = std::env::temp_dir().join(format!("ranlab-choice-{}", std::process::id()));
        let opened = |set: &str| {
            let scenario = read(set);
            open(&folder, false, "c", &scenario, &Plan::new(&scenario, rig), &rig.metrics).map(drop)
        };
        assert_eq!(read("user.timer=100ms").settings["user.timer"], Value::from("100ms"));
        assert_eq!(read("user.interval=1.5s").settings["user.interval"].span().unwrap().as_millis(), 1500);
        opened("user.timer=100ms").unwrap();
        opened("user.timer=100ms").unwrap();
        let Failure::Usage(why) = opened("user.timer=1ms").unwrap_err() else {
            panic!("the error should be a usage error")
        };
        assert!(why.contains("`user.timer` is 100ms in the file and 1ms here"), "{why}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
