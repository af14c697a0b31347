//! `ranlab gateway`: connects programs that use SCTP to ranlab's transports.
use std::time::Duration;

use ranlab_command::verb::{Context, Run};
use ranlab_lab::{Gateway, GatewayComponent};

use crate::args;
use crate::exit::Failure;
use crate::flags::Flags;
use crate::live;
use crate::output::{Format, Output};

/// Arguments of `gateway`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab gateway --listen shim:///tmp/e2/127.0.0.1:36421 --connect tcp://127.0.0.1:36421\n  ranlab gateway --listen tcp://0.0.0.0:36421 --connect sctp://10.0.0.1:36421 \\\n                 --listen tcp://0.0.0.0:36422 --connect sctp://10.0.0.1:36422\n\nshim:// names a folder of Unix sockets. Programs with the preload library connect there instead of over SCTP (make preload, RANLAB_SCTP=/tmp/e2)."
)]
pub struct Arguments {
    #[command(flatten)]
    gateway: Flags<GatewayComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        live::raise_limits();
        ranlab_transport::run(serve(self, context.format))
    }
}

/// Forwards until Ctrl-C, SIGTERM or the end of the duration.
async fn serve(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let part = arguments.gateway.config;
    let gateway = Gateway::start(&part).await?;
    let mut output = Output::new(format);
    for (from, to) in gateway.listening().into_iter().zip(&part.connect) {
        output.text(format_args!("{from} -> {to}"))?;
        output.item(&serde_json::json!({ "listening": from, "connects": to.to_string() }))?;
    }
    output.flush()?;
    let end = live::end(arguments.duration);
    tokio::pin!(end);
    let mut print_troubles = |_: f64| {
        for line in gateway.troubles() {
            output.text(&line)?;
            output.item(&serde_json::json!({ "trouble": line }))?;
        }
        output.flush()
    };
    live::until(end.as_mut(), &mut print_troubles).await?;
    print_troubles(0.0)?;
    let report = gateway.report();
    output.text(format_args!(
        "{} connections, {} passed on, {} messages forward ({} bytes), {} back ({} bytes), {} failed",
        report.connections,
        report.passed_on,
        report.forth,
        report.forth_bytes,
        report.back,
        report.back_bytes,
        report.troubles
    ))?;
    output.finish(&report)
}
