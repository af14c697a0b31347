//! `ranlab bench`: campaigns from a scenario to a report.
use std::path::{Path, PathBuf};

use ranlab_campaign::renamed::Renames;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::Rig;
use ranlab_command::scenario::{ScenarioArguments, lab, print_renamed};
use ranlab_command::verb::{Context, Run, Verb};
use ranlab_lab::RigContext;
use ranlab_report::store::{Load, Store};

use crate::exit::Failure;

pub(crate) mod gate;
mod imported;
mod page;
mod probe;
mod quiet;
mod results;
pub(crate) mod run;
mod scenario;
pub(crate) mod session;
mod size;
mod stored;
mod tables;

/// File name of a campaign in its folder.
const STORE: &str = "campaign.sqlite";

/// Subcommands of `bench` that belong to no domain. The crate of a domain defines that domain's subcommands.
pub(crate) const VERBS: &[Verb] = &[
    Verb::new::<scenario::New>(
        &["bench", "new"],
        10,
        "Print a scenario of a rig: short and ready to run, or with every setting",
    ),
    Verb::new::<scenario::Check>(
        &["bench", "check"],
        20,
        "Check a scenario: resolved settings, points, expected duration",
    ),
    Verb::new::<run::Arguments>(&["bench", "run"], 30, "Run or resume a scenario, and write its report"),
    Verb::new::<results::Report>(&["bench", "report"], 40, "Write the report of a campaign again"),
    Verb::new::<results::Query>(
        &["bench", "query"],
        50,
        "Query a campaign: SQL, or a filter over its points",
    ),
    Verb::new::<results::Compare>(
        &["bench", "compare"],
        60,
        "Compare two campaigns: what changed, by how much, and how certain that is",
    ),
    Verb::new::<size::Arguments>(
        &["bench", "size"],
        100,
        "Compute a deployment from a demand and measured capacity",
    ),
    Verb::new::<scenario::List>(
        &["bench", "list"],
        110,
        "List rigs, their settings and metrics, and profiles of third-party systems",
    ),
];

/// Implements [`Run`] for the arguments of a subcommand.
macro_rules! run {
    ($($arguments:ty => $run:expr;)+) => {
        $(impl Run for $arguments {
            fn run(self, context: &Context) -> Result<(), Failure> {
                $run(&self, context)
            }
        })+
    };
}
run! {
    scenario::New => scenario::new;
    scenario::Check => scenario::check;
    scenario::List => scenario::list;
    run::Arguments => run::run;
    results::Report => results::report;
    results::Query => results::query;
    results::Compare => results::compare;
    size::Arguments => size::run;
}

fn rig(lab: &RigContext, name: &str) -> Result<Box<dyn Rig>, Failure> {
    crate::domains::by_name(lab, name).ok_or_else(|| Failure::Usage(format!("there is no rig \"{name}\"")))
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
    let rigs = crate::domains::descriptions(&lab()?);
    let store = Store::read(&file).and_then(|store| store.with_rigs(&rigs));
    store.map_err(|error| Failure::Usage(error.to_string()))
}

/// Opens a campaign for SQL queries. If the campaign uses earlier names, its tables are copied with the current names.
fn open_for_sql(path: &Path) -> Result<Store, Failure> {
    let store = open(path)?;
    let results = store.results(Load::Metrics).map_err(|error| Failure::Usage(error.to_string()))?;
    if results.renamed.is_empty() {
        return Ok(store);
    }
    print_renamed(&path.display().to_string(), &results.renamed);
    let results = store.results(Load::All).map_err(|error| Failure::Usage(error.to_string()))?;
    Store::in_memory(&results).map_err(|error| Failure::Environment(error.to_string()))
}

/// Returns the earlier names that the rig of a campaign declares.
fn renames_of(results: &Results) -> Result<Renames, Failure> {
    let rigs = crate::domains::descriptions(&lab()?);
    let rig = rigs.iter().find(|rig| rig.is(&results.scenario.rig));
    Ok(rig.map(Renames::from_rig).unwrap_or_default())
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
        let results = stored::results(path, load)?;
        print_renamed(&path.display().to_string(), &results.renamed);
        return Ok(results);
    }
    let mut results = open(path)?.results(load).map_err(|error| Failure::Usage(error.to_string()))?;
    print_renamed(&path.display().to_string(), &results.renamed);
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
