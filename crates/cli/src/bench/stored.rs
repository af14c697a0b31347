//! Reads results that a repository stores as JSON in addition to its scenarios. They can be used like a campaign.
use std::path::{Path, PathBuf};

use ranlab_campaign::results::Results;
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_report::import::is_hyperfine;
use ranlab_report::store::Load;
use ranlab_report::stored::Stored;

use super::lab;
use crate::exit::Failure;

/// Maximum size of a stored result, in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// Returns whether a path names a stored result.
pub(super) fn is(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|ending| ending == "json")
}

/// Reads a stored result. For output of `bench run --format json`, reads the campaign that the output refers to.
pub(super) fn results(path: &Path, load: Load) -> Result<Results, Failure> {
    let fault = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let text = text_of(path)?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
    if let Some(campaign) = json["campaign"].as_str() {
        let beside = path.parent().map(|folder| folder.join(campaign)).filter(|file| file.exists());
        return super::results_of(&beside.unwrap_or_else(|| PathBuf::from(campaign)), load);
    }
    if is_hyperfine(&json) {
        return super::imported::hyperfine(path, &text);
    }
    let stored = Stored::parse(&text).map_err(|error| fault(error.to_string()))?;
    let scenario = scenario_of(path, &stored.scenario).ok_or_else(|| {
        fault(format!(
            "scenarios/{}.toml exists neither in a parent folder of the result nor in the working folder",
            stored.scenario
        ))
    })?;
    let rigs = crate::domains::descriptions(&lab()?);
    let over = Overrides { sets: stored.sets(), quick: false };
    let scenario =
        Scenario::load(&scenario, &over, &rigs).map_err(|errors| Failure::Usage(errors.to_string()))?;
    let rig = rigs.iter().find(|rig| rig.is(&scenario.rig));
    let rig = rig.ok_or_else(|| fault(format!("there is no rig \"{}\"", scenario.rig)))?;
    let mut results = stored.results(scenario, rig);
    ranlab_lab::experiment::noise::mark_disturbed(&mut results);
    let today = crate::domains::behaviour(&results.scenario);
    results.stale = today.and_then(|today| today.stale(stored.behaviour.as_ref()));
    Ok(results)
}

/// Reads a file of limited size.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    let fault = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let size = path.metadata().map_err(|error| fault(error.to_string()))?.len();
    if size > BYTES_MAX {
        return Err(fault(format!(
            "{size} bytes are too large for a stored result; at most {BYTES_MAX} are read"
        )));
    }
    std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))
}

/// Finds the scenario that a stored result names, relative to a parent folder of the result or to the working directory.
fn scenario_of(path: &Path, name: &str) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let here = std::env::current_dir().ok();
    let folders = path.ancestors().skip(1).chain(here.as_deref());
    folders.map(|folder| folder.join(format!("scenarios/{name}.toml"))).find(|file| file.is_file())
}
