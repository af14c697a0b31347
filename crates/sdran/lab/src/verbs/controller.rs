//! `ranlab controller flexran` and `ranlab controller empower`: controllers of other SD-RAN protocols, for measurement and
//! comparison.
use std::time::Duration;

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::{Context, Run};

use crate::{EmpowerComponent, FlexranComponent, SouthController, SouthControllerReport};

/// Arguments of `controller flexran`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab controller flexran --rib-share 0.8 --http 127.0.0.1:9999")]
pub(super) struct Flexran {
    #[command(flatten)]
    controller: Flags<FlexranComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Arguments of `controller empower`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab emulate --protocol empower --nodes 50 --identities > vbses.txt\n  ranlab controller empower --registered vbses.txt --http 127.0.0.1:8888"
)]
pub(super) struct Empower {
    #[command(flatten)]
    controller: Flags<EmpowerComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

impl Run for Flexran {
    fn run(self, context: &Context) -> Result<(), Failure> {
        serve(async {
            let controller = SouthController::flexran(&self.controller.config).await?;
            watch(&controller, self.duration, context.format).await
        })
    }
}

impl Run for Empower {
    fn run(self, context: &Context) -> Result<(), Failure> {
        serve(async {
            let controller = SouthController::empower(&self.controller.config).await?;
            watch(&controller, self.duration, context.format).await
        })
    }
}

/// Serves until Ctrl-C, SIGTERM or the end of the duration.
fn serve(controller: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    live::raise_limits();
    ranlab_transport::run(controller)
}

async fn watch(
    controller: &SouthController,
    duration: Option<Duration>,
    format: Format,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    let address = controller.address();
    output.text(format_args!("listening at {address}"))?;
    output.item(&serde_json::json!({ "listening": "southbound", "address": address.to_string() }))?;
    if let Some(http) = controller.http {
        output.text(format_args!("http at {http}"))?;
        output.item(&serde_json::json!({ "listening": "http", "address": http.to_string() }))?;
    }
    output.flush()?;
    live::each_second(duration, |_| {
        let report = controller.report();
        output.text(line(&report))?;
        output.item(&report)?;
        output.flush()
    })
    .await?;
    let report = controller.report();
    for sentence in &report.guidelines {
        output.text(sentence)?;
    }
    output.finish(&report)
}

fn line(report: &SouthControllerReport) -> String {
    let c = &report.counters;
    let overload = if report.overload.is_empty() {
        String::new()
    } else {
        format!("  OVERLOAD: {}", report.overload.join(", "))
    };
    format!(
        "{} agents  {} UEs  {} processed  {} queued  {} dropped  {} MB kept{overload}",
        report.agents,
        report.ues,
        c.processed,
        c.queued,
        c.dropped,
        c.leaked_bytes / 1_000_000
    )
}
