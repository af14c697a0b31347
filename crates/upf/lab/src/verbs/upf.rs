//! `ranlab upf`: runs a user plane function, as a target for load, for learning, and to calibrate
//! measurements.
use std::time::Duration;

use crate::{Upf, UpfComponent};

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::{Context, Run};

/// Arguments of `upf`.
#[derive(Debug, clap::Args)]
#[command(
    // A repeated flag overrides the earlier one, as in other servers, so that users can override flags of a wrapper script.
    args_override_self = true,
    after_help = "Examples:\n  ranlab upf --n4 127.0.0.8:8805 --n3 127.0.0.8:2152 --n6 reflect\n  ranlab upf --n6 udp://127.0.0.8:2153,127.0.0.10:2153 --design software --workers 2\n  ranlab upf --service 1ms --loss-permille 10      # known behaviour, to test a load generator"
)]
pub struct Arguments {
    #[command(flatten)]
    upf: Flags<UpfComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(self, context.format)
    }
}

/// Runs the verb.
fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let upf = Upf::start(&arguments.upf.config)?;
    let mut output = Output::new(format);
    let listening = upf.listening();
    let n6 = match listening.n6 {
        Some(address) => address.to_string(),
        None => arguments.upf.config.n6.to_string(),
    };
    output.text(format_args!("N4 {}  N3 {}  N6 {n6}", listening.n4, listening.n3))?;
    output.item(&listening)?;
    output.flush()?;
    ranlab_transport::run(live::end(arguments.duration));
    let summary = upf.stop()?;
    output.text(format_args!(
        "{} requests ({} refused), {} packets uplink, {} downlink, {} dropped, {} sessions left, {:.2} s CPU",
        summary.requests,
        summary.refused,
        summary.packets.uplink,
        summary.packets.downlink,
        summary.dropped.values().sum::<u64>(),
        summary.sessions_left,
        summary.cpu_s
    ))?;
    if let Some(xdp) = &summary.xdp {
        output.text(format_args!(
            "in the kernel: {} packets uplink, {} downlink; {} changes installed, {} left to the packet engine, {} refused",
            xdp.uplink, xdp.downlink, xdp.installed, xdp.left, xdp.refused
        ))?;
    }
    output.finish(&summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn last_of_repeated_flags_applies() {
        let words = ["upf", "--design", "software", "--workers", "2", "--design", "dp-offload"];
        let command = <Command as clap::Parser>::try_parse_from(words).unwrap();
        assert_eq!(command.arguments.upf.config.design, crate::UpfDesign::DpOffload);
    }
}
