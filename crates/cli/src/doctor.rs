//! `ranlab doctor`: what this machine has, lacks, and what to do about it.
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
    /// How long to watch for neighbours that disturb measurements; 0s: not at all
    #[arg(long, default_value = "1s", value_parser = args::duration)]
    watch: Duration,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    ready: bool,
    checks: &'a [Check],
    facts: &'a Facts,
}

/// Prints the checks; fails with code 3 if something is missing that the programs promise.
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
    output.finish(&Summary { ready: missing.is_empty(), checks: &checks, facts: &facts })?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Environment(format!("this machine lacks what the programs need: {}", missing.join(", "))))
}

/// `None` if nothing is to be watched, or the kernel does not let us.
fn watch(period: Duration) -> Option<ranlab_host::MachineInterval> {
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
