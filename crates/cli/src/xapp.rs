//! `ranlab xapp`: xApps for measurement, and sample xApps that control.

use crate::exit::Failure;
use crate::output::Format;

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
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Measure round trips through a base station's HW function
    Ping(ping::Arguments),
    /// Watch the statistics of every base station: rates, losses, age
    Monitor(monitor::Arguments),
    /// List base stations and what they offer: report styles, measurements, control actions, structures
    Nodes(nodes::Arguments),
    /// Send orders of O-RAN's RC to base stations: quotas of slices, handover
    Control(control::Arguments),
    /// Send numbered orders to all base stations in turn and tell what became of each: a load for runs in which RICs die
    Orders(orders::Arguments),
    /// Ask the slicing controller for slices and put UEs into them
    Slice(slice::Arguments),
    /// Help a low-latency flow by the traffic controller when it waits behind a greedy one
    Traffic(traffic::Arguments),
}

/// Runs the selected xApp.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let result = match arguments.kind {
        Kind::Ping(arguments) => ranlab_sdk::run(ping::run(arguments, format)),
        Kind::Monitor(arguments) => ranlab_sdk::run(monitor::run(arguments, format)),
        Kind::Nodes(arguments) => ranlab_sdk::run(nodes::run(arguments, format)),
        Kind::Control(arguments) => ranlab_sdk::run(control::run(arguments, format)),
        Kind::Orders(arguments) => ranlab_sdk::run(orders::run(arguments, format)),
        Kind::Slice(arguments) => ranlab_sdk::run(slice::run(arguments, format)),
        Kind::Traffic(arguments) => ranlab_sdk::run(traffic::run(arguments, format)),
    };
    result.map_err(with_remedy)
}

/// Adds what to do if no RIC listens at the address.
fn with_remedy(failure: Failure) -> Failure {
    match failure {
        Failure::Environment(text) if text.starts_with("nobody listens at ") && !text.contains(';') => {
            Failure::Environment(format!(
                "{text}; start a RIC there (`ranlab ric`), or name the address of another with --connect"
            ))
        }
        other => other,
    }
}
