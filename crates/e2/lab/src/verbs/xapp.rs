//! `ranlab xapp`: xApps for measurement, and sample xApps that send controls.

use ranlab_command::exit::Failure;
use ranlab_command::output::Format;
use ranlab_command::verb::{Context, Run};

pub mod control;
mod effect;
pub mod monitor;
pub mod nodes;
pub mod orders;
pub mod ping;
pub mod slice;
pub mod traffic;

/// Arguments of `xapp`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    kind: XappCommand,
}

#[derive(Debug, clap::Subcommand)]
enum XappCommand {
    /// Measure round trips to base stations (service model HW)
    Ping(ping::Arguments),
    /// Show statistics of all base stations, and the rate, losses and age of their reports
    Monitor(monitor::Arguments),
    /// List base stations with their report styles, measurements, control actions and structures
    Nodes(nodes::Arguments),
    /// Send O-RAN RC controls to base stations: slice quotas, handover
    Control(control::Arguments),
    /// Send numbered controls to all base stations and report the outcome of each, for tests in which RICs crash
    Orders(orders::Arguments),
    /// Configure slices and assign UEs through the slicing controller
    Slice(slice::Arguments),
    /// Protect a low-latency flow from a greedy one through the traffic controller
    Traffic(traffic::Arguments),
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(self, context.format)
    }
}

/// Runs the selected xApp.
fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let result = match arguments.kind {
        XappCommand::Ping(arguments) => ranlab_sdk::run(ping::run(arguments, format)),
        XappCommand::Monitor(arguments) => ranlab_sdk::run(monitor::run(arguments, format)),
        XappCommand::Nodes(arguments) => ranlab_sdk::run(nodes::run(arguments, format)),
        XappCommand::Control(arguments) => ranlab_sdk::run(control::run(arguments, format)),
        XappCommand::Orders(arguments) => ranlab_sdk::run(orders::run(arguments, format)),
        XappCommand::Slice(arguments) => ranlab_sdk::run(slice::run(arguments, format)),
        XappCommand::Traffic(arguments) => ranlab_sdk::run(traffic::run(arguments, format)),
    };
    result.map_err(with_remedy)
}

/// Adds a remedy to the error if no RIC listens at the address.
fn with_remedy(failure: Failure) -> Failure {
    match failure {
        Failure::Environment(text) if text.starts_with("no program listens at ") && !text.contains(';') => {
            Failure::Environment(format!(
                "{text}; start a RIC there (`ranlab ric`), or specify the address of another RIC with --connect"
            ))
        }
        other => other,
    }
}
