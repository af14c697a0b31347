//! `ranlab doctor`: checks the machine, and suggests remedies.
use std::time::Duration;

use ranlab_command::verb::{Context, Run};
use ranlab_host::doctor::{Check, Status, checks};
use ranlab_host::{Facts, MachineMeter};
use serde::Serialize;
use serde_json::json;

use crate::args;
use crate::exit::Failure;
use crate::features;
use crate::output::Output;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab doctor\n  ranlab doctor --format json\n  ranlab doctor --report > report.md"
)]
pub struct Arguments {
    /// Duration of the check for other activity that disturbs measurements; 0s: no check
    #[arg(long, default_value = "1s", value_parser = args::duration)]
    watch: Duration,
    /// Print a Markdown description of this build and machine to paste into a bug report
    #[arg(long)]
    report: bool,
}

/// Whether `bench` can run a rig on this machine.
#[derive(Debug, Serialize)]
struct RigReady {
    rig: String,
    ready: bool,
    /// Missing programs or features, with their purpose and the way to install them.
    lacks: Vec<String>,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(&self, context)
    }
}

/// Prints the checks; fails with code 3 if something required is missing.
fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let facts = Facts::read();
    let lately = watch(arguments.watch);
    let checks = checks(&facts, lately.as_ref());
    if arguments.report {
        let mut output = Output::new(context.format);
        output.text(report(&facts, &checks))?;
        return output.finish(
            &json!({ "version": VERSION, "features": features::built(), "checks": checks, "facts": facts }),
        );
    }
    let missing: Vec<&str> =
        checks.iter().filter(|check| check.status == Status::Missing).map(|check| check.name).collect();
    let mut output = Output::new(context.format);
    let column = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in &checks {
        output.item(check)?;
        output.text(format_args!("{:8} {:column$}  {}", word(check.status), check.name, check.found))?;
        if let Some(advice) = check.advice {
            output.text(format_args!("{:8} {:column$}  -> {advice}", "", ""))?;
        }
    }
    let rigs = rigs(context);
    for rig in &rigs {
        let word = if rig.ready { "good" } else { "fair" };
        let found = if rig.ready { "can be run".to_owned() } else { rig.lacks.join("; ") };
        output.text(format_args!("{word:8} {:column$}  {found}", format!("rig {}", rig.rig)))?;
    }
    let ready = missing.is_empty();
    let mut summary = json!({ "ready": ready, "checks": checks, "rigs": rigs });
    for equipment in context.domains.iter().filter_map(|domain| domain.equipment) {
        let all = (equipment.find)();
        for one in &all {
            let word = if one.is_ready { "good" } else { "fair" };
            output.text(format_args!("{word:8} {:column$}  {}", one.name, one.found))?;
            if !one.is_ready {
                output.text(format_args!("{:8} {:column$}  -> {}", "", "", one.install))?;
            }
        }
        summary[equipment.key] = all.into_iter().map(|one| one.json).collect();
    }
    summary["facts"] = json!(facts);
    output.finish(&summary)?;
    if ready {
        return Ok(());
    }
    Err(Failure::Environment(format!("this machine lacks what the programs need: {}", missing.join(", "))))
}

/// Version and commit of this build.
const VERSION: &str = env!("RANLAB_VERSION");

/// Returns a Markdown description of this build and machine. It contains no address, path or name of this machine.
fn report(facts: &Facts, checks: &[Check]) -> String {
    let mut text = format!(
        "## What I did, expected and saw\n\n(commands with their output; a scenario; `--format json`)\n\n## Where\n\n\
         * ranlab {VERSION} for {}, features {}\n* {}, kernel {}\n* {} CPUs: {}\n\n| check | status | found |\n|---|---|---|\n",
        std::env::consts::ARCH,
        features::built().join(", "),
        facts.system.as_deref().unwrap_or("unknown system"),
        facts.kernel.as_deref().unwrap_or("unknown"),
        facts.cpus,
        facts.cpu_model.as_deref().unwrap_or("unknown"),
    );
    for check in checks {
        let found = check.found.replace('|', "\\|");
        text.push_str(&format!("| {} | {} | {found} |\n", check.name, word(check.status)));
    }
    text
}

/// Returns the readiness of each rig. The list is empty in a build that cannot run campaigns.
fn rigs(context: &Context) -> Vec<RigReady> {
    if !cfg!(feature = "bench") {
        return Vec::new();
    }
    let Ok(program) = crate::program::path() else { return Vec::new() };
    let ready = |rig: ranlab_campaign::rig::RigDescription| {
        let lacks: Vec<String> = rig
            .needs
            .iter()
            .filter_map(|need| Some(format!("{} ({}): {}", need.what, need.why, need.met.as_ref().err()?)))
            .collect();
        RigReady { rig: rig.name, ready: lacks.is_empty(), lacks }
    };
    context.registry.descriptions(&ranlab_lab::RigContext::new(program)).into_iter().map(ready).collect()
}

/// Watches the machine. Returns `None` if `period` is 0 or the kernel does not permit it.
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
