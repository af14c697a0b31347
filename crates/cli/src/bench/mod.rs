//! `ranlab bench`: campaigns from a scenario to a report.
use std::path::{Path, PathBuf};

use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Rig, RigDescription};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_lab::Lab;
use ranlab_report::store::{Load, Store};

use crate::exit::Failure;
use crate::output::Format;

pub(crate) mod gate;
mod imported;
mod packets;
mod page;
mod probe;
mod quiet;
mod results;
pub(crate) mod run;
mod scenario;
pub(crate) mod session;
mod sharing;
mod size;
mod stored;
mod tables;

/// File name of a campaign in its folder.
const STORE: &str = "campaign.sqlite";

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BenchCommand {
    /// Print a scenario of a rig: short and ready to run, or with every setting
    New(scenario::New),
    /// Check a scenario: resolved settings, points, expected duration
    Check(scenario::Check),
    /// Run or resume a scenario, and write its report
    Run(run::Arguments),
    /// Write the report of a campaign again
    Report(results::Report),
    /// Query a campaign: SQL, or a filter over its points
    Query(results::Query),
    /// Compare two campaigns: what changed, by how much, and how certain that is
    Compare(results::Compare),
    /// Write the packets of a pipeline scenario, and the expected ones, for other testers
    Trace(packets::Trace),
    /// Write another switch's configuration for a pipeline scenario
    Config(packets::Config),
    /// Measure the cost of sharing a network card, as a profile for Xhaul simulations
    Sharing(sharing::Arguments),
    /// Compute a deployment from a demand and measured capacity
    Size(size::Arguments),
    /// List rigs, their settings and metrics, and profiles of third-party systems
    List(scenario::List),
}

/// Runs the selected subcommand.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    match arguments.what {
        BenchCommand::New(arguments) => scenario::new(&arguments, format),
        BenchCommand::Check(arguments) => scenario::check(&arguments, format),
        BenchCommand::Run(arguments) => run::run(&arguments, format),
        BenchCommand::Report(arguments) => results::report(&arguments, format),
        BenchCommand::Query(arguments) => results::query(&arguments, format),
        BenchCommand::Compare(arguments) => results::compare(&arguments, format),
        BenchCommand::Trace(arguments) => packets::trace(&arguments, format),
        BenchCommand::Config(arguments) => packets::config(&arguments, format),
        BenchCommand::Sharing(arguments) => sharing::run(&arguments, format),
        BenchCommand::Size(arguments) => size::run(&arguments, format),
        BenchCommand::List(arguments) => scenario::list(&arguments, format),
    }
}

/// Options for reading a scenario.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Reading {
    /// File of the scenario
    #[arg(value_name = "FILE")]
    scenario: PathBuf,
    /// Override a setting of the scenario; repeatable
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Smoke run: one second per point, only the ends of each axis; its numbers are marked and never count
    #[arg(long)]
    quick: bool,
}

impl Reading {
    /// Returns the command line that repeats this with a verb.
    pub(crate) fn command(&self, verb: &str) -> String {
        let sets = self.set.iter().map(|set| format!(" --set '{set}'"));
        let quick = if self.quick { " --quick" } else { "" };
        format!("ranlab {verb} {}{quick}{}", self.scenario.display(), sets.collect::<String>())
    }

    /// Returns whether the scenario is read unchanged, with all its points.
    pub(crate) fn is_whole(&self) -> bool {
        self.set.is_empty() && !self.quick
    }

    /// Returns the checked scenario and its rig's description.
    pub(crate) fn read(&self, lab: &Lab) -> Result<(Scenario, RigDescription), Failure> {
        let rigs = crate::domains::descriptions(lab);
        if !self.scenario.exists()
            && let Some(rig) = rigs.iter().find(|rig| self.scenario.as_os_str() == rig.name.as_str())
        {
            let name = &rig.name;
            return Err(Failure::Usage(format!(
                "there is no file \"{name}\"; `ranlab bench new {name} > my.toml` writes a scenario of this rig"
            )));
        }
        let load = |sets: Vec<String>| {
            let mut scenario = Scenario::load(&self.scenario, &Overrides { sets, quick: self.quick }, &rigs)
                .map_err(|errors| Failure::Usage(errors.to_string()))?;
            ranlab_pipeline_lab::beside(&mut scenario, &self.scenario);
            Ok::<_, Failure>(scenario)
        };
        let mut scenario = load(self.set.clone())?;
        let missing = || Failure::Usage(format!("there is no rig \"{}\"", scenario.rig));
        let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).ok_or_else(missing)?.clone();
        let judges_noise = rig.keys.iter().any(|key| key.path == ranlab_lab::experiment::keys::WHEN_NOISY);
        if self.quick && judges_noise {
            // A quick run is never a result, so a busy machine must not fail it.
            let sets = [self.set.clone(), vec![format!("{}=warn", ranlab_lab::experiment::keys::WHEN_NOISY)]]
                .concat();
            scenario = load(sets)?;
        }
        Ok((scenario, rig))
    }
}

fn rig(lab: &Lab, name: &str) -> Result<Box<dyn Rig>, Failure> {
    crate::domains::by_name(lab, name).ok_or_else(|| Failure::Usage(format!("there is no rig \"{name}\"")))
}

/// Returns a laboratory whose local components are processes of this program.
pub(crate) fn lab() -> Result<Lab, Failure> {
    let program = crate::program::path()
        .map_err(|error| Failure::Environment(format!("this program does not find itself: {error}")))?;
    Ok(Lab::new(program))
}

/// Returns a campaign's file: the path itself, or the file in a campaign's folder.
fn store_in(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(STORE) } else { path.to_owned() }
}

fn open(path: &Path) -> Result<Store, Failure> {
    if stored::is(path) || imported::is_table(path) {
        let results = results_of(path, Load::Metrics)?;
        if results.kept.is_some() {
            eprintln!(
                "ranlab: a stored result has means and intervals instead of repeats; substitute values are used"
            );
        }
        return Store::in_memory(&results).map_err(|error| Failure::Environment(error.to_string()));
    }
    let file = store_in(path);
    if !file.exists() {
        let what = format!(
            "there is no campaign at {}; name a folder that `bench run` wrote, its {STORE}, a stored result or hyperfine's (.json), or a table (.csv)",
            path.display()
        );
        return Err(Failure::Usage(what));
    }
    Store::read(&file).map_err(|error| Failure::Usage(error.to_string()))
}

/// Reads the results of a campaign or of a stored JSON file.
fn results_of(path: &Path, load: Load) -> Result<Results, Failure> {
    results_with(path, load, &[])
}

/// Like [`results_of`]; `axes`: columns of a table that are settings.
fn results_with(path: &Path, load: Load, axes: &[String]) -> Result<Results, Failure> {
    if imported::is_table(path) {
        return imported::table(path, axes);
    }
    if stored::is(path) {
        return stored::results(path, load);
    }
    let mut results = open(path)?.results(load).map_err(|error| Failure::Usage(error.to_string()))?;
    results.stale = stale(&results);
    Ok(results)
}

/// Returns the reason why a campaign's results do not represent this version, if any.
fn stale(results: &Results) -> Option<String> {
    let kept = serde_json::from_value(results.versions["behaviour"].clone()).ok();
    crate::domains::behaviour(&results.scenario)?.stale(kept.as_ref())
}

/// Formats a duration as `1 h 05 min`, `12 min` or `40 s`.
fn about(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds @ 100..=5_999 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
