//! `ranlab controller`: specialized controllers over E2.
use std::time::Duration;

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::verb::{Context, Run};

use crate::verbs::ric;
use crate::{AssociationComponent, SlicingComponent, TrafficComponent, VirtComponent};

/// Arguments of `controller association`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller association\n  curl -X PUT -H 'content-type: application/json' http://127.0.0.1:8093/v1/policy \\\n    -d '{\"rules\": [{\"plmn\": \"001.01\", \"controllers\": [\"tcp://127.0.0.1:36431\"]}]}'"
)]
pub struct Association {
    #[command(flatten)]
    controller: Flags<AssociationComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Arguments of `controller slicing`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller slicing\n  curl -X PUT -H 'content-type: application/json' -d '{\"capacity\": 0.66}' \\\n    http://127.0.0.1:8091/v1/nodes/gnb%20505.01%201/slices/1"
)]
pub struct Slicing {
    #[command(flatten)]
    controller: Flags<SlicingComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Arguments of `controller traffic`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller traffic\n  curl -N http://127.0.0.1:8092/v1/events\n  curl -X PUT -H 'content-type: application/json' -d '{\"type\": \"5g-bdp\"}' \\\n    http://127.0.0.1:8092/v1/nodes/gnb%20505.01%201/bearers/17921/1/pacer"
)]
pub struct Traffic {
    #[command(flatten)]
    controller: Flags<TrafficComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Arguments of `controller virt`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab controller slicing --e2 tcp://127.0.0.1:36431 --http 127.0.0.1:8191 &\n  ranlab controller slicing --e2 tcp://127.0.0.1:36432 --http 127.0.0.1:8192 &\n  ranlab controller virt --tenant A:0.5:001.01@tcp://127.0.0.1:36431 --tenant B:0.5:001.02@tcp://127.0.0.1:36432 &\n  ranlab emulate --radio lte:50 --ues 4 --plmn 001.01,001.02 --flows udp:80"
)]
pub struct Virt {
    #[command(flatten)]
    controller: Flags<VirtComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

impl Run for Association {
    fn run(self, context: &Context) -> Result<(), Failure> {
        serve(async {
            let controller = self.controller.config.serve().await?;
            ric::attend(&controller, self.duration, context.format, |_| ()).await
        })
    }
}

impl Run for Slicing {
    fn run(self, context: &Context) -> Result<(), Failure> {
        serve(async {
            let controller = self.controller.config.serve().await?;
            ric::attend(&controller, self.duration, context.format, |_| ()).await
        })
    }
}

impl Run for Traffic {
    fn run(self, context: &Context) -> Result<(), Failure> {
        serve(async {
            let controller = self.controller.config.serve().await?;
            ric::attend(&controller, self.duration, context.format, |_| ()).await
        })
    }
}

impl Run for Virt {
    fn run(self, context: &Context) -> Result<(), Failure> {
        serve(async {
            let controller = self.controller.config.serve().await?;
            ric::attend(&controller.ric, self.duration, context.format, |_| ()).await
        })
    }
}

/// Serves until Ctrl-C, SIGTERM or the end of the duration.
fn serve(controller: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    live::raise_limits();
    ranlab_sdk::run(controller)
}
