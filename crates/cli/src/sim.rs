//! `ranlab sim`: runs a scenario's network in virtual time.
mod page;
mod twin;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ranlab_campaign::expect::{counts, judge};
use ranlab_campaign::export::parquet;
use ranlab_campaign::plan::{Plan, Point};
use ranlab_campaign::results::{Finished, Results};
use ranlab_campaign::rig::{Outcome, RigError, Run, Stop};
use ranlab_campaign::run::{Event, seed_of};
use ranlab_campaign::scenario::{self, Scenario};
use ranlab_command::scenario::ScenarioArguments;
use ranlab_command::verb::{self, Context, Verb};
use ranlab_e2_lab::rigs::virtual_time::record::Tables;
use ranlab_e2_lab::rigs::virtual_time::{self, Omitted, RepeatOptions, RepeatResult};
use serde_json::{Value as Json, json};

use crate::bench::gate::{self, Gate};
use crate::bench::run as bench;
use crate::bench::session::{Progress, stop_at_signal};
use crate::exit::Failure;
use crate::output::{Format, Output};

/// Maximum number of lines that `--events` prints per repeat.
const EVENTS_MAX: usize = 100_000;
/// Assumed ratio of virtual time to wall-clock time for a cell with a few UEs, used for the first estimate of the duration.
const USUAL_FACTOR: f64 = 100.0;

/// Arguments of `sim`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab sim scenarios/flexric/fig13a.toml\n  ranlab sim scenarios/flexric/fig11.toml --point 1 --without xapp.traffic --seeds 10\n\n\
                  `ranlab bench run FILE` runs the same scenario live.\n\
                  Exit codes: 0 passed; 1 a required expectation or a repeat failed; 2 the scenario is invalid or cannot run in \
                  virtual time."
)]
pub struct Arguments {
    #[command(flatten)]
    reading: ScenarioArguments,
    /// Index of the only point to run, from 0 [default: all points]
    #[arg(long, value_name = "N")]
    point: Option<usize>,
    /// Number of seeds per point [default: the scenario's repeats]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// Run only this seed, as printed by an earlier run
    #[arg(long, value_name = "SEED", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run each seed with and without this component, and compare every UE: xapp, xapp.slices, sut.traffic, …
    #[arg(long, value_name = "NAME")]
    without: Option<String>,
    /// Write a report into this folder, with figures and tables as files; with --without, gains and losses of each UE
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Write states.parquet (each UE in each half second) and controls.parquet (each control with its effect) into
    /// this folder; columns: docs/explanation/virtual-time.md
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    /// With --record: number of half seconds before and after a control over which its effect is measured
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    periods: u16,
    /// Print events: starts, crashes, connections, requests and errors; with --without, only of the run without the
    /// component
    #[arg(long)]
    events: bool,
}

/// Runs that the command executes, and what they need.
struct Job {
    scenario: Scenario,
    plan: Plan,
    results: Results,
    /// Index of the point, repeat within the point, and seed of each run, in order.
    runs: Vec<(usize, u32, u64)>,
    command: String,
}

/// Recorded tables and their folder.
struct Record {
    folder: PathBuf,
    tables: Tables,
}

impl Record {
    /// Writes the tables; returns their paths.
    fn write(record: Option<&Self>) -> Result<Vec<PathBuf>, Failure> {
        let Some(Self { folder, tables }) = record else { return Ok(Vec::new()) };
        let lacking = |error: std::io::Error| {
            Failure::Environment(format!("{} cannot be written: {error}", folder.display()))
        };
        std::fs::create_dir_all(folder).map_err(lacking)?;
        let mut files = Vec::new();
        for (name, table) in tables.named() {
            let file = folder.join(format!("{name}.parquet"));
            std::fs::write(&file, parquet(table)).map_err(lacking)?;
            files.push(file);
        }
        Ok(files)
    }
}

impl Job {
    fn new(arguments: &Arguments, context: &Context) -> Result<Self, Failure> {
        let (scenario, description) = arguments.reading.read(context)?;
        virtual_time::runs(&scenario.rig).map_err(Failure::Usage)?;
        if scenario.search.is_some() {
            let why = "`[search]` is not supported in virtual time, where results do not depend on the speed of a machine";
            return Err(Failure::Usage(why.to_owned()));
        }
        let mut plan = Plan::new(&scenario, &description);
        let count = plan.points.len();
        if let Some(index) = arguments.point {
            plan.points.retain(|point| point.index == index);
            if plan.points.is_empty() {
                let why = format!("there is no point {index}; there are {count}, counted from 0");
                return Err(Failure::Usage(why));
            }
        }
        for point in &plan.points {
            virtual_time::placed(&point.settings).map_err(Failure::Usage)?;
        }
        let mut runs = Vec::new();
        for point in plan.points.iter().map(|point| point.index) {
            match arguments.seed {
                Some(seed) => runs.push((point, 0, seed)),
                None => {
                    let repeats = 0..arguments.seeds.unwrap_or(plan.repeats);
                    runs.extend(repeats.map(|n| (point, n, seed_of(scenario.measure.seed, point, n))));
                }
            }
        }
        let metrics = scenario::metrics(&description, &scenario);
        let results = Results::new(scenario.clone(), metrics, plan.points.clone(), Vec::new());
        Ok(Self { scenario, plan, results, runs, command: arguments.reading.command("sim") })
    }

    fn point(&self, index: usize) -> &Point {
        // Every run belongs to a point of the plan.
        self.plan.points.iter().find(|point| point.index == index).unwrap_or(&self.plan.points[0])
    }

    /// Returns the run for a repeat.
    fn run<'a>(&self, point: &'a Point, repeat: u32, seed: u64, stop: &Stop) -> Run<'a> {
        let (_, duration) = self.scenario.measure.windows();
        let mut run = Run::new(point, repeat, seed, duration);
        run.stop = stop.clone();
        run
    }

    /// Returns the command that repeats one run and prints its events.
    fn replay(&self, point: usize, seed: u64) -> String {
        format!("{} --point {point} --seed {seed} --events", self.command)
    }

    /// Executes all runs in parallel on all CPUs, and passes the results to `take` in the order of the runs.
    fn each<T: Send>(
        &self,
        work: impl Fn(usize, &Run<'_>) -> T + Sync,
        mut take: impl FnMut(usize, &Run<'_>, T) -> Result<(Outcome, String), Failure>,
    ) -> Result<(), Failure> {
        let mut progress = Progress::new();
        let begun = Instant::now();
        let stop = stop_at_signal("stopping");
        let (_, window) = self.scenario.measure.windows();
        let total = self.runs.len();
        let expected = window.mul_f64(total as f64 / USUAL_FACTOR);
        progress.take(Event::Started { to_do: total, done_before: 0, expected }, &[]);
        let run = |at: usize| {
            let (index, repeat, seed) = *self.runs.get(at)?;
            Some((index, self.run(self.point(index), repeat, seed, &stop)))
        };
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(total);
        let ended = std::thread::scope(|scope| {
            let (sender, done) = sync_channel(threads);
            for _ in 0..threads {
                let sender = sender.clone();
                let run = &run;
                let next = &next;
                let work = &work;
                scope.spawn(move || {
                    let all = std::iter::from_fn(|| {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        run(at).map(|(index, run)| (at, work(index, &run)))
                    });
                    // After a failure, the receiver no longer exists, and this thread ends.
                    all.map(|result| sender.send(result)).take_while(Result::is_ok).for_each(drop);
                });
            }
            drop(sender);
            let mut early = BTreeMap::new();
            for (at, (index, run)) in (0..).map_while(|at| Some((at, run(at)?))) {
                while !early.contains_key(&at)
                    && let Ok((done, result)) = done.recv()
                {
                    early.insert(done, result);
                }
                let label = run.point.label();
                let repeat = run.repeat;
                progress.take(Event::Measuring { point: index, label, repeat }, &[]);
                let taken = early.remove(&at).map(|result| take(index, &run, result));
                if stop.stop_requested() {
                    return Err(Failure::Interrupted("stopped before the end".to_owned()));
                }
                // The result is missing only if a thread panicked. The scope reports that panic when it ends.
                let Some(taken) = taken else { return Ok(()) };
                let (outcome, reason) = taken.inspect_err(|_| stop.request_stop())?;
                let left = total - at - 1;
                let remaining = begun.elapsed().mul_f64(left as f64 / (at + 1) as f64);
                let metrics = BTreeMap::new();
                let finished =
                    Event::Finished { point: index, repeat, outcome, reason, metrics, left, remaining };
                progress.take(finished, &[]);
            }
            Ok(())
        });
        progress.end();
        ended
    }
}

/// The verb `sim`.
pub(crate) const VERBS: &[Verb] = &[Verb::new::<Arguments>(
    &["sim"],
    110,
    "Simulate a scenario in virtual time, and measure the effect of an xApp or controller",
)];

impl verb::Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(&self, context)
    }
}

fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let format = context.format;
    let job = Job::new(arguments, context)?;
    let tables = || Tables::new(arguments.periods.into());
    let record = arguments.record.clone().map(|folder| Record { folder, tables: tables() });
    match &arguments.without {
        Some(name) if !arguments.events => twin::run(&job, name, record, arguments.out.as_deref(), format),
        without => alone(job, arguments, without.as_deref(), record, format),
    }
}

/// Events of a repeat as text, and the number of further events that were dropped.
type EventLog = (Vec<(f64, String)>, u64);

fn witness(log: &Rc<RefCell<EventLog>>) -> virtual_time::EventObserver {
    let log = log.clone();
    Box::new(move |at, words| {
        let (lines, more) = &mut *log.borrow_mut();
        if lines.len() < EVENTS_MAX {
            lines.push((at.as_nanos() as f64 / 1e9, words.to_owned()));
        } else {
            *more += 1;
        }
    })
}

fn tell_events(output: &mut Output, (lines, more): &EventLog) -> Result<(), Failure> {
    for (at_s, words) in lines {
        output.text(format_args!("{at_s:>12.6} {words}"))?;
        output.item(&json!({ "at_s": at_s, "event": words }))?;
    }
    if *more > 0 {
        output.text(format_args!("… and {more} more"))?;
    }
    output.flush()
}

/// Runs every point and seed once, optionally without a component. (`twin::run` runs each seed twice.)
fn alone(
    mut job: Job,
    arguments: &Arguments,
    without: Option<&str>,
    mut record: Option<Record>,
    format: Format,
) -> Result<(), Failure> {
    let events = arguments.events;
    let left_out =
        |point: &Point| without.map_or(Ok(Omitted::Nobody), |it| Omitted::named(it, &point.settings));
    for point in &job.plan.points {
        left_out(point).map_err(Failure::Usage)?;
    }
    let mut output = Output::new(format);
    output.text(format_args!("{}  (virtual time)", job.scenario.title))?;
    let mut finished = Vec::new();
    let mut runs = Vec::new();
    let mut failed = Vec::new();
    let keep = record.is_some();
    let work = |_: usize, run: &Run<'_>| {
        let log = Rc::new(RefCell::new(EventLog::default()));
        let witness = events.then(|| witness(&log));
        let without = left_out(run.point).map_err(RigError::Rig);
        let passed = without
            .and_then(|without| virtual_time::run(run, RepeatOptions { without, witness, record: keep }));
        (log.take(), passed)
    };
    job.each(work, |index, run, (log, mut passed)| {
        if let (Some(record), Ok(passed)) = (&mut record, &mut passed) {
            record.tables.take(index, run.seed, passed, None);
            // The tables have copied these records.
            passed.kept = Default::default();
        }
        if events {
            output.text(format_args!("point {index}, seed {}:", run.seed))?;
            tell_events(&mut output, &log)?;
        }
        if let Err(error @ RigError::Rig(_)) = &passed {
            return Err(Failure::Usage(error.to_string()));
        }
        let outcome = passed.as_ref().map_or_else(RigError::outcome, |passed| passed.outcome);
        let one = of_run(index, run, finished.len(), &passed);
        if passed.is_err() {
            failed.push(format!("{}; to repeat it: {}", one.reason, job.replay(index, run.seed)));
        }
        runs.push(run_json(index, run, &passed));
        let reason = one.reason.clone();
        finished.push(one);
        Ok((outcome, reason))
    })?;
    for run in finished {
        if let Some(point) = job.results.points.iter_mut().find(|point| point.point.index == run.point) {
            point.runs.push(run);
        }
    }
    let mut files = Record::write(record.as_ref())?;
    if let Some(folder) = &arguments.out {
        files.push(bench::report(&job.results, job.command.clone(), folder)?.1.html);
    }
    conclude(output, &job.results, &runs, &failed, &files)
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "html")
}

/// Returns the table files.
fn tables_of(files: &[PathBuf]) -> Vec<&PathBuf> {
    files.iter().filter(|file| !is_page(file)).collect()
}

/// Returns the report page, if one was written.
fn report_of(files: &[PathBuf]) -> Option<&PathBuf> {
    files.iter().find(|file| is_page(file))
}

fn tell_files(output: &mut Output, files: &[PathBuf]) -> Result<(), Failure> {
    let kind = |file: &Path| if is_page(file) { "report" } else { "table" };
    files.iter().try_for_each(|file| output.text(format_args!("{:<8} {}", kind(file), file.display())))
}

/// Prints the summary of all runs.
fn conclude(
    mut output: Output,
    results: &Results,
    runs: &[Json],
    failed: &[String],
    files: &[PathBuf],
) -> Result<(), Failure> {
    let judged = judge(results);
    gate::print_thresholds(&mut output, &judged)?;
    bench::tell_points(&mut output, results)?;
    for run in runs {
        output.text(format_args!("  {}", sentence(run)))?;
    }
    tell_files(&mut output, files)?;
    let summary = json!({
        "virtual": true,
        "tables": tables_of(files),
        "report": report_of(files),
        "points": bench::points(results),
        "expects": judged,
        "counts": counts(&judged),
        "runs": runs,
        "failed": failed,
    });
    output.finish(&summary)?;
    match failed.first() {
        Some(first) => {
            Err(Failure::Check(format!("{} of {} repeats failed: {first}", failed.len(), runs.len())))
        }
        None => Gate::default().decide(results, &judged),
    }
}

/// Converts a run to a finished repeat of a campaign.
fn of_run(point: usize, run: &Run<'_>, position: usize, passed: &Result<RepeatResult, RigError>) -> Finished {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (outcome, reason, recording, elapsed) = match passed {
        Ok(passed) => {
            (passed.outcome, passed.recording.reason.clone(), passed.recording.clone(), passed.took)
        }
        Err(error) => (error.outcome(), error.to_string(), Default::default(), Default::default()),
    };
    Finished {
        point,
        repeat: run.repeat,
        position: u32::try_from(position).unwrap_or(u32::MAX),
        outcome,
        reason,
        recording,
        started_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        elapsed,
    }
}

/// Returns the attributes of a repeat, without its metrics.
fn run_json(point: usize, run: &Run<'_>, passed: &Result<RepeatResult, RigError>) -> Json {
    match passed {
        Ok(passed) => json!({
            "point": point,
            "repeat": run.repeat,
            "seed": run.seed,
            "outcome": passed.outcome,
            "digest": format!("{:016x}", passed.digest),
            "virtual_s": passed.passed.as_secs_f64(),
            "took_s": passed.took.as_secs_f64(),
            "real_time_factor": passed.real_time_factor(),
        }),
        Err(error) => json!({
            "point": point, "repeat": run.repeat, "seed": run.seed, "outcome": error.outcome(), "reason": error.to_string(),
        }),
    }
}

fn sentence(run: &Json) -> String {
    let number = |name: &str| run[name].as_f64().unwrap_or_default();
    let what = match run["digest"].as_str() {
        Some(digest) => {
            let passed = number("virtual_s");
            let took = number("took_s");
            let factor = number("real_time_factor");
            format!("digest {digest}, {passed:.1} s in {took:.2} s ({factor:.0} times real time)")
        }
        None => run["reason"].as_str().unwrap_or_default().to_owned(),
    };
    format!("point {} seed {}: {what}", run["point"], run["seed"])
}
