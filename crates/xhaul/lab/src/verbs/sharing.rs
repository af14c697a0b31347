//! `bench sharing`: measures the cost of sharing a network card on this machine, as a profile for the Xhaul
//! simulation.
use std::path::PathBuf;

use ranlab_command::exit::Failure;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::{Context, Run};
use serde_json::json;

use crate::live::{ROUNDS, WAKEUPS, measure_sharing};

/// Arguments of `bench sharing`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab bench sharing --out here.toml\n  ranlab bench run scenarios/xhaul/fig4.toml --set sut.sharing_profile=here.toml"
)]
pub(super) struct Arguments {
    /// Number of rounds; in each round every way of sharing sends 8 packets
    #[arg(long, value_name = "COUNT", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(range()))]
    rounds: u32,
    /// Number of wake-ups of a thread, one per millisecond; measured alone and in parallel with busy threads; 0: no measurement
    #[arg(long, value_name = "COUNT", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(0..=i64::from(*WAKEUPS.end())))]
    wakeups: u32,
    /// Write the profile to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn range() -> std::ops::RangeInclusive<i64> {
    i64::from(*ROUNDS.start())..=i64::from(*ROUNDS.end())
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(&self, context.format)
    }
}

fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let profile = measure_sharing(arguments.rounds, arguments.wakeups)
        .map_err(|trouble| Failure::Environment(trouble.what))?;
    let text = toml::to_string(&profile).map_err(|error| Failure::Environment(error.to_string()))?;
    let text = format!(
        "# Cost per frame of sharing a network card: ns of CPU time above the minimum of a separate port, at the quantiles `shares` of\n\
         # the frames, and how late a thread wakes up. Written by `ranlab bench sharing`; read by rig xhaul as `sut.sharing_profile`.\n{text}"
    );
    let mut output = Output::new(format);
    match &arguments.out {
        Some(file) => {
            std::fs::write(file, text)
                .map_err(|error| Failure::Usage(format!("{} cannot be written: {error}", file.display())))?;
            output.text(format!("profile {}", file.display()))?;
        }
        None => output.text(text.trim_end())?,
    }
    output.finish(&json!(profile))
}
