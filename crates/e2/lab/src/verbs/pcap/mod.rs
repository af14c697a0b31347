//! `ranlab pcap`: captures of E2 and E42.
mod decode;
mod follow;
mod record;

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ranlab_e2_capture::Side;

use ranlab_command::exit::Failure;
use ranlab_command::verb::{Context, Run};

/// Arguments of `pcap`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab pcap decode --verify capture.pcap")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the E2AP and E42 messages of captures, and of files with one PDU
    Decode(decode::Arguments),
    /// Record the messages between agents or xApps and a RIC, as a proxy
    Record(record::Arguments),
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Action::Decode(arguments) => decode::run(&arguments, context.format),
            Action::Record(arguments) => record::run(&arguments, context.format),
        }
    }
}

/// Parses `e2` or `e42`.
fn side() -> impl TypedValueParser<Value = Side> {
    let value = |name: &'static str, help: &'static str| PossibleValue::new(name).help(help);
    PossibleValuesParser::new([
        value("e2", "Messages between an E2 node and a RIC"),
        value("e42", "Messages between an xApp and a RIC"),
    ])
    .map(|side| if side == "e42" { Side::E42 } else { Side::E2 })
}
