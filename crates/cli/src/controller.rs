//! `ranlab controller`: specialised controllers over E2, and controllers of other SD-RAN protocols for
//! measurement and comparison.
use std::time::Duration;

use clap::Subcommand;
use ranlab_e2_lab::{AssociationPart, SlicingPart, TrafficPart, VirtPart};
use ranlab_sdran_lab::{EmpowerPart, FlexranPart, SouthController, SouthControllerReport};

use crate::args;
use crate::exit::Failure;
use crate::flags::Flags;
use crate::live;
use crate::output::{Format, Output};
use crate::ric;

/// Arguments of `controller`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    which: Which,
}

// Parsed once per process, so the size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Subcommand)]
enum Which {
    /// Assign UEs to controllers by the network or slice that they selected
    Association(Association),
    /// Control slices of LTE and NR base stations, over REST and by policy
    Slicing(Slicing),
    /// Control queues, filters and pacers of radio bearers over REST; publish statistics
    Traffic(Traffic),
    /// Share base stations among isolated operators, each with its own controller
    Virt(Virt),
    /// Run a controller like FlexRAN's: RIB updater and task manager in cycles of 1 ms
    Flexran(Flexran),
    /// Run a controller like 5G-EmPOWER's: registered base stations, one message per UE
    Empower(Empower),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller association\n  curl -X PUT -H 'content-type: application/json' http://127.0.0.1:8093/v1/policy \\\n    -d '{\"rules\": [{\"plmn\": \"001.01\", \"controllers\": [\"tcp://127.0.0.1:36431\"]}]}'"
)]
struct Association {
    #[command(flatten)]
    controller: Flags<AssociationPart>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller slicing\n  curl -X PUT -H 'content-type: application/json' -d '{\"capacity\": 0.66}' \\\n    http://127.0.0.1:8091/v1/nodes/gnb%20505.01%201/slices/1"
)]
struct Slicing {
    #[command(flatten)]
    controller: Flags<SlicingPart>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller traffic\n  curl -N http://127.0.0.1:8092/v1/events\n  curl -X PUT -H 'content-type: application/json' -d '{\"type\": \"5g-bdp\"}' \\\n    http://127.0.0.1:8092/v1/nodes/gnb%20505.01%201/bearers/17921/1/pacer"
)]
struct Traffic {
    #[command(flatten)]
    controller: Flags<TrafficPart>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller slicing --e2 tcp://127.0.0.1:36431 --http 127.0.0.1:8191 &\n  ranlab controller slicing --e2 tcp://127.0.0.1:36432 --http 127.0.0.1:8192 &\n  ranlab controller virt --tenant A:0.5:001.01@tcp://127.0.0.1:36431 --tenant B:0.5:001.02@tcp://127.0.0.1:36432 &\n  ranlab emulate --radio lte:50 --ues 4 --plmn 001.01,001.02 --flows udp:80"
)]
struct Virt {
    #[command(flatten)]
    controller: Flags<VirtPart>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab controller flexran --rib-share 0.8 --http 127.0.0.1:9999")]
struct Flexran {
    #[command(flatten)]
    controller: Flags<FlexranPart>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab emulate --protocol empower --nodes 50 --identities > vbses.txt\n  ranlab controller empower --registered vbses.txt --http 127.0.0.1:8888"
)]
struct Empower {
    #[command(flatten)]
    controller: Flags<EmpowerPart>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Serves until Ctrl-C, SIGTERM or the end of the duration.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    live::raise_limits();
    ranlab_sdk::run(async {
        let (controller, duration) = match arguments.which {
            Which::Association(association) => {
                let part = association.controller.config;
                return ric::attend(&part.serve().await?, association.duration, format, |_| ()).await;
            }
            Which::Slicing(slicing) => {
                let part = slicing.controller.config;
                return ric::attend(&part.serve().await?, slicing.duration, format, |_| ()).await;
            }
            Which::Traffic(traffic) => {
                let part = traffic.controller.config;
                return ric::attend(&part.serve().await?, traffic.duration, format, |_| ()).await;
            }
            Which::Virt(virt) => {
                let part = virt.controller.config;
                return ric::attend(&part.serve().await?.ric, virt.duration, format, |_| ()).await;
            }
            Which::Flexran(flexran) => {
                (SouthController::flexran(&flexran.controller.config).await?, flexran.duration)
            }
            Which::Empower(empower) => {
                (SouthController::empower(&empower.controller.config).await?, empower.duration)
            }
        };
        watch(&controller, duration, format).await
    })
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
