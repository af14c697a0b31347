//! `ranlab xapp orders`: sends numbered controls and reports their outcomes.
use std::time::Duration;

use crate::{OrderOutcome, OrdersPlan, RunningControlLoad};
use ranlab_transport::Address;

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};

/// Time limit for responses after the last control. It exceeds the timeout of a single control.
const LAST_WAIT: Duration = Duration::from_secs(6);

/// Arguments of `xapp orders`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab xapp orders --connect tcp://10.0.0.1:36422 --or-at tcp://10.0.0.2:36422 --rate 50 --duration 1m --format ndjson"
)]
pub struct Arguments {
    /// Address of the RIC's listener for xApps
    #[arg(long, default_value_t = ranlab_lab::loopback(crate::E42_PORT))]
    connect: Address,
    /// Addresses of further RICs of the same cluster (ric --bus), tried when a RIC disconnects, is unreachable or
    /// rejects the xApp; repeatable
    #[arg(long, value_name = "ADDRESS")]
    or_at: Vec<Address>,
    /// Controls per second, sent to the base stations in rotation; each is an HW ping that requests an
    /// acknowledgement
    #[arg(long, default_value_t = 20)]
    rate: u32,
    /// Number of the first control; distinct numbers identify the xApps in emulate --log-pings
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    first: u32,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let Arguments { connect, or_at, rate, first, duration } = arguments;
    let mut orders = RunningControlLoad::start(&OrdersPlan { connect, or_at, rate, first }).await?;
    let mut output = Output::new(format);
    let mut failed = None;
    let mut on_outcome = |outcome: &OrderOutcome| {
        if let Err(failure) = write(&mut output, outcome) {
            failed.get_or_insert(failure);
        }
    };
    tokio::select! {
        () = live::end(duration) => {}
        () = orders.run(&mut on_outcome) => {}
    }
    let report = orders.conclude(LAST_WAIT, &mut on_outcome).await;
    if let Some(failure) = failed {
        return Err(failure);
    }
    output.text(format_args!(
        "{} orders sent, {} acknowledged, {} failed, {} not sent",
        report.sent, report.acknowledged, report.failed, report.unsent
    ))?;
    output.finish(&report)?;
    if report.acknowledged == 0 {
        return Err(Failure::Check("no order was acknowledged".to_owned()));
    }
    Ok(())
}

fn write(output: &mut Output, outcome: &OrderOutcome) -> Result<(), Failure> {
    let result = outcome.why.as_deref().unwrap_or("acknowledged");
    output.text(format_args!("{} at {}: {result}, {:.1} ms", outcome.order, outcome.node, outcome.ms))?;
    output.item(outcome)?;
    output.flush()
}
