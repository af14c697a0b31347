//! `ranlab xapp ping`: measures round trips of a control and the echo that returns as an indication.
use std::time::Duration;

use crate::{PingComponent, PingReport, RunningPing};
use ranlab_lab::worker::{ComponentError, FaultOwner};
use serde::Serialize;

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};

/// Default number of pings.
const COUNT: u32 = 1000;

/// Arguments of `xapp ping`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab xapp ping --connect tcp://127.0.0.1:36422 --size 1500 --count 1000"
)]
pub struct Arguments {
    #[command(flatten)]
    ping: Flags<PingComponent>,
    /// Maximum duration; Ctrl-C ends the run with the same summary
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct Summary {
    node: String,
    #[serde(flatten)]
    report: PingReport,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let mut part = arguments.ping.config;
    if arguments.duration.is_none() {
        part.count.get_or_insert(COUNT);
    }
    let mut pinging = RunningPing::start(&part).await.map_err(away)?;
    let ended = tokio::select! {
        () = live::end(arguments.duration) => Ok(()),
        ended = pinging.done() => ended,
    };
    let summary = Summary { node: pinging.node.to_string(), report: pinging.report() };
    let node = &summary.node;
    let PingReport { sent, received, rtt_us } = summary.report;
    let mut output = Output::new(format);
    output.text(format_args!(
        "{node}: {sent} sent, {received} received, round trip min {:.1} us, median {:.1} us, p99 {:.1} us, max {:.1} us",
        rtt_us.min, rtt_us.p50, rtt_us.p99, rtt_us.max
    ))?;
    output.finish(&summary)?;
    if received == 0 {
        return Err(Failure::Check("no ping was answered".to_owned()));
    }
    ended.map_err(away)
}

/// Converts an error of a manually started xApp. A missing RIC or base station is then an error of the environment;
/// only a campaign attributes it to the system under test.
fn away(trouble: ComponentError) -> Failure {
    match trouble.fault {
        FaultOwner::Sut => Failure::Environment(trouble.what),
        _ => trouble.into(),
    }
}
