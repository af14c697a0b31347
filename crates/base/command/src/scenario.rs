//! A scenario as an argument of a verb.
use std::path::{Path, PathBuf};

use ranlab_campaign::renamed::Rename;
use ranlab_campaign::rig::RigDescription;
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::value::Value;
use ranlab_lab::RigContext;
use ranlab_lab::experiment::keys::WHEN_NOISY;

use crate::exit::Failure;
use crate::verb::Context;

/// Options for reading a scenario.
#[derive(Debug, Clone, clap::Args)]
pub struct ScenarioArguments {
    /// File of the scenario
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
    /// Override a setting of the scenario; repeatable
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Smoke run: one second per point, only the ends of each axis; its numbers are marked as a smoke run and never
    /// count
    #[arg(long)]
    pub quick: bool,
}

impl ScenarioArguments {
    /// Returns the command line that runs the verb `verb` with these arguments.
    pub fn command(&self, verb: &str) -> String {
        let sets = self.set.iter().map(|set| format!(" --set '{set}'"));
        let quick = if self.quick { " --quick" } else { "" };
        format!("ranlab {verb} {}{quick}{}", self.scenario.display(), sets.collect::<String>())
    }

    /// Returns whether the scenario is read unchanged, with all its points.
    pub fn is_whole(&self) -> bool {
        self.set.is_empty() && !self.quick
    }

    /// Returns the checked scenario and its rig's description.
    ///
    /// # Errors
    /// The file cannot be read, or the scenario is invalid.
    pub fn read(&self, context: &Context) -> Result<(Scenario, RigDescription), Failure> {
        let rigs = context.registry.descriptions(&lab()?);
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
                .map_err(|errors| {
                    self.missing_rig(context).unwrap_or_else(|| Failure::Usage(errors.to_string()))
                })?;
            let is_path = |key: &str| context.domains.iter().any(|domain| domain.paths.contains(&key));
            resolve_paths(&mut scenario, &self.scenario, is_path);
            Ok::<_, Failure>(scenario)
        };
        let mut scenario = load(self.set.clone())?;
        let missing = || Failure::Usage(format!("there is no rig \"{}\"", scenario.rig));
        let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).ok_or_else(missing)?.clone();
        if self.quick && rig.keys.iter().any(|key| key.path == WHEN_NOISY) {
            // A quick run is never a result, so a busy machine must not fail it.
            let sets = [self.set.clone(), vec![format!("{WHEN_NOISY}=warn")]].concat();
            scenario = load(sets)?;
        }
        print_renamed("the scenario", &scenario.renamed);
        Ok((scenario, rig))
    }

    /// Returns the error for a file whose rig this build lacks.
    fn missing_rig(&self, context: &Context) -> Option<Failure> {
        let text = std::fs::read_to_string(&self.scenario).ok()?;
        let table: toml::Table = text.parse().ok()?;
        (context.missing_rig)(table.get("rig")?.as_str()?)
    }
}

/// Prints a notice for each earlier name that was replaced.
pub fn print_renamed(what: &str, renamed: &[Rename]) {
    for rename in renamed {
        eprintln!("ranlab: notice: {what} has an earlier name: {rename}");
    }
}

/// Returns a context for rigs in which local components are processes of this program.
///
/// # Errors
/// The executable of this process is unknown.
pub fn lab() -> Result<RigContext, Failure> {
    let program = crate::program::path()
        .map_err(|error| Failure::Environment(format!("cannot find the path of this program: {error}")))?;
    Ok(RigContext::new(program))
}

/// Resolves the values of some keys relative to the folder of the scenario's file.
pub fn resolve_paths(scenario: &mut Scenario, file: &Path, is_path: impl Fn(&str) -> bool) {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return };
    let axes = scenario.sweep.axes.iter_mut().filter(|axis| is_path(&axis.path));
    axes.flat_map(|axis| &mut axis.values).for_each(|value| join(folder, value));
    let settings = scenario.settings.iter_mut().filter(|(key, _)| is_path(key));
    settings.for_each(|(_, value)| join(folder, value));
}

fn join(folder: &Path, value: &mut Value) {
    match value {
        // An absolute path stays unchanged.
        Value::Text(path) => *path = folder.join(path.as_str()).display().to_string(),
        Value::List(all) => all.iter_mut().for_each(|value| join(folder, value)),
        _ => {}
    }
}
