//! `ranlab doctor`: checks the machine, and suggests remedies.
use std::time::Duration;

use ranlab_host::doctor::{Check, Status, checks};
use ranlab_host::{Facts, MachineMeter};
use serde::Serialize;

use crate::args;
use crate::exit::Failure;
use crate::output::{Format, Output};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab doctor --format json")]
pub struct Arguments {
    /// Duration of the check for other activity that disturbs measurements; 0s: no check
    #[arg(long, default_value = "1s", value_parser = args::duration)]
    watch: Duration,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    ready: bool,
    checks: &'a [Check],
    rigs: &'a [RigReady],
    switches: &'a [SwitchReady],
    facts: &'a Facts,
}

/// Whether `bench` can run a rig on this machine.
#[derive(Debug, Serialize)]
struct RigReady {
    rig: String,
    ready: bool,
    /// Missing programs or features, why they are needed, and how to install them.
    lacks: Vec<String>,
}

/// Whether another switch is available, for rig `pipeline`.
#[derive(Debug, Serialize)]
struct SwitchReady {
    engine: &'static str,
    ready: bool,
    /// Required program that is missing.
    lacks: Option<&'static str>,
    /// Command that installs it.
    install: &'static str,
    /// Whether this version runs the switch; otherwise `bench config` writes its configuration.
    run: bool,
}

/// Prints the checks; fails with code 3 if something required is missing.
pub fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let facts = Facts::read();
    let lately = watch(arguments.watch);
    let checks = checks(&facts, lately.as_ref());
    let missing: Vec<&str> =
        checks.iter().filter(|check| check.status == Status::Missing).map(|check| check.name).collect();
    let mut output = Output::new(format);
    let column = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in &checks {
        output.item(check)?;
        output.text(format_args!("{:8} {:column$}  {}", word(check.status), check.name, check.found))?;
        if let Some(advice) = check.advice {
            output.text(format_args!("{:8} {:column$}  -> {advice}", "", ""))?;
        }
    }
    let rigs = rigs();
    for rig in &rigs {
        let word = if rig.ready { "good" } else { "fair" };
        let found = if rig.ready { "can be run".to_owned() } else { rig.lacks.join("; ") };
        output.text(format_args!("{word:8} {:column$}  {found}", format!("rig {}", rig.rig)))?;
    }
    let switches = switches();
    for switch in &switches {
        let name = format!("switch {}", switch.engine);
        let run = if switch.run { "" } else { "; not run by this version, `bench config` writes for it" };
        match switch.lacks {
            None => output.text(format_args!("{:8} {name:column$}  is here{run}", "good"))?,
            Some(lacks) => {
                output.text(format_args!("{:8} {name:column$}  `{lacks}` is not here{run}", "fair"))?;
                output.text(format_args!("{:8} {:column$}  -> {}", "", "", switch.install))?;
            }
        }
    }
    let ready = missing.is_empty();
    output.finish(&Summary { ready, checks: &checks, rigs: &rigs, switches: &switches, facts: &facts })?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Environment(format!("this machine lacks what the programs need: {}", missing.join(", "))))
}

/// Returns the requirements of each rig.
fn rigs() -> Vec<RigReady> {
    let Ok(program) = crate::program::path() else { return Vec::new() };
    let ready = |rig: ranlab_campaign::rig::RigDescription| {
        let lacks: Vec<String> = rig
            .needs
            .iter()
            .filter_map(|need| Some(format!("{} ({}): {}", need.what, need.why, need.met.as_ref().err()?)))
            .collect();
        RigReady { rig: rig.name, ready: lacks.is_empty(), lacks }
    };
    crate::domains::descriptions(&ranlab_lab::Lab::new(program)).into_iter().map(ready).collect()
}

/// Returns the requirements of each switch that a pipeline can be compared on.
fn switches() -> Vec<SwitchReady> {
    let ready = |backend: &&dyn ranlab_pipeline::backends::Backend| {
        let lacks = ranlab_pipeline_lab::missing_program(*backend);
        let engine = backend.name();
        let install = backend.install();
        let run = !backend.tiers().is_empty();
        SwitchReady { engine, ready: lacks.is_none(), lacks, install, run }
    };
    ranlab_pipeline::backends::all().iter().map(ready).collect()
}

/// Watches the machine; `None` if `period` is 0, or the kernel does not permit it.
pub(crate) fn watch(period: Duration) -> Option<ranlab_host::MachineInterval> {
    if period.is_zero() {
        return None;
    }
    let meter = MachineMeter::default();
    let before = meter.sample().ok()?;
    std::thread::sleep(period);
    let after = meter.sample().ok()?;
    after.since(&before)
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Good => "good",
        Status::Fair => "fair",
        Status::Missing => "MISSING",
    }
}
