//! `ranlab xapp traffic`: protects a low-latency flow when its delay is too long.
use std::time::Duration;

use crate::{TrafficXapp, TrafficXappComponent};

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};

/// Arguments of `xapp traffic`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab xapp traffic --rest http://127.0.0.1:8092 --limit 10ms --destination-port 2112 --duration 1min"
)]
pub struct Arguments {
    #[command(flatten)]
    traffic: Flags<TrafficXappComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let xapp = TrafficXapp::start(&arguments.traffic.config).await?;
    let mut output = Output::new(format);
    live::each_second(arguments.duration, |_| {
        let report = xapp.report();
        output.text(format_args!(
            "{} reports, {} bearers protected, {} attempts failed; longest wait in RLC {} us before, {} us after",
            report.heard, report.helped, report.failed, report.before_us_max, report.after_us_max
        ))?;
        output.item(&report)?;
        output.flush()
    })
    .await?;
    output.finish(&xapp.report())
}
