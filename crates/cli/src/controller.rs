//! `ranlab controller`: controllers of other SD-RAN protocols, to be measured and to compare with.
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use ranlab_controllers::empower::serve::EmpowerServer;
use ranlab_controllers::empower::{EmpowerControllerSettings, EmpowerVersion, Registry};
use ranlab_controllers::flexran::serve::{FlexranServer, ThreadUse};
use ranlab_controllers::flexran::{
    FlexranControllerSettings, QUEUE_MESSAGES, QueueKind, RatePolicy, RibShare,
};
use ranlab_controllers::southbound::{ControllerCounters, guidelines, overload};
use ranlab_wire::empower::Mac;
use serde::Serialize;

use crate::args;
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// Most base stations in a registration file.
const MAX_REGISTERED: usize = 1_000_000;

/// Arguments of `controller`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    which: Which,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// A controller as FlexRAN's: RIB updater and task manager in cycles of 1 ms
    Flexran(Flexran),
    /// A controller as 5G-EmPOWER's: registered base stations, a message for each UE
    Empower(Empower),
}

/// How a cycle is shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub RibShare);

impl std::str::FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no share; adaptive or 0.001 to 0.999 is allowed (0.2 is FlexRAN)");
        if text == "adaptive" {
            return Ok(Self(RibShare::Adaptive));
        }
        let share = text.parse::<f64>().ok().filter(|share| (0.001..=0.999).contains(share));
        share.map(|share| Self(RibShare::Fixed(share))).ok_or_else(wrong)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Queue {
    /// As published: drops what does not fit and keeps its memory
    Leaky,
    /// Holds agents back instead
    Bounded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Threads {
    /// As published: a new one for each run
    PerRun,
    /// None besides that of the sockets
    Inline,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab controller flexran --rib-share 0.8 --http 127.0.0.1:9999")]
struct Flexran {
    /// Listen for agents
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:2210")]
    listen: SocketAddr,
    /// Serve /stats_manager/all, /v1/counters and /healthz here
    #[arg(long, value_name = "IP:PORT")]
    http: Option<SocketAddr>,
    /// Part of a cycle for the RIB updater: 0.2 is FlexRAN, 0.8 AltFlexRAN; or adaptive
    #[arg(long, default_value = "0.2")]
    rib_share: Share,
    /// What happens when the queue is full
    #[arg(long, value_enum, default_value = "leaky")]
    queue: Queue,
    /// Messages that the queue holds
    #[arg(long, default_value_t = QUEUE_MESSAGES, value_parser = queue_messages)]
    queue_messages: usize,
    /// Dropped messages keep at most so many MiB
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(0..=1_048_576))]
    leak_limit_mib: u64,
    /// Whether each run of the updater and of an application gets a thread of its own
    #[arg(long, value_enum, default_value = "per-run")]
    threads: Threads,
    /// How often agents are asked to report
    #[arg(long, default_value = "4ms", value_parser = args::duration)]
    period: Duration,
    /// Ask for reports this seldom while the queue is long
    #[arg(long, value_parser = args::duration)]
    slow_period: Option<Duration>,
    /// Forget dead agents instead of keeping them as published
    #[arg(long)]
    forget_dead: bool,
    /// End by itself after this long
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab emulate --protocol empower --nodes 50 --identities > vbses.txt\n  ranlab controller empower --registered vbses.txt --http 127.0.0.1:8888"
)]
struct Empower {
    /// Listen for base stations [default: 127.0.0.1:2210, with --openempower 2 127.0.0.1:5533]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Serve /api/v1/vbses, /v1/counters and /healthz here
    #[arg(long, value_name = "IP:PORT")]
    http: Option<SocketAddr>,
    /// Version of OpenEmpower: 1 is what MARC measured, 2 the current one
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    openempower: u8,
    /// Base stations that may join, one Ethernet address a line [default: everybody]
    #[arg(long, value_name = "FILE")]
    registered: Option<PathBuf>,
    /// CPU time that each message costs besides our own work; the published interpreter needs 350us
    #[arg(long, default_value = "0us", value_parser = args::duration)]
    message_cost: Duration,
    /// Period of UE and cell measurements
    #[arg(long, default_value = "500ms", value_parser = args::duration)]
    period: Duration,
    /// End by itself after this long
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

fn queue_messages(text: &str) -> Result<usize, String> {
    let messages = text.parse().ok().filter(|messages| (1..=10_000_000).contains(messages));
    messages.ok_or_else(|| format!("\"{text}\" is no number of messages; 1 to 10000000 is allowed"))
}

/// What a controller saw.
#[derive(Debug, Serialize)]
struct Summary {
    agents: usize,
    ues: usize,
    #[serde(flatten)]
    counters: ControllerCounters,
    overload: Vec<&'static str>,
    guidelines: Vec<String>,
}

impl Summary {
    fn new(agents: usize, ues: usize, counters: &ControllerCounters) -> Self {
        Self {
            agents,
            ues,
            counters: *counters,
            overload: overload(counters),
            guidelines: guidelines(counters),
        }
    }

    fn line(&self) -> String {
        let c = &self.counters;
        let overload = if self.overload.is_empty() {
            String::new()
        } else {
            format!("  OVERLOAD: {}", self.overload.join(", "))
        };
        format!(
            "{} agents  {} UEs  {} processed  {} queued  {} dropped  {} MB kept{overload}",
            self.agents,
            self.ues,
            c.processed,
            c.queued,
            c.dropped,
            c.leaked_bytes / 1_000_000
        )
    }
}

/// Serves until Ctrl-C, SIGTERM or the end of the duration.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    live::raise_limits();
    ranlab_sdk::run(async {
        match arguments.which {
            Which::Flexran(arguments) => flexran(arguments, format).await,
            Which::Empower(arguments) => empower(arguments, format).await,
        }
    })
}

fn cannot_listen(address: SocketAddr) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure::Environment(format!("cannot listen at {address}: {error}"))
}

async fn flexran(arguments: Flexran, format: Format) -> Result<(), Failure> {
    let rate = match arguments.slow_period {
        Some(slow) => RatePolicy::Adaptive { fast: arguments.period, slow },
        None => RatePolicy::Fixed(arguments.period),
    };
    let settings = FlexranControllerSettings {
        rib_share: arguments.rib_share.0,
        queue: match arguments.queue {
            Queue::Leaky => QueueKind::Leaky,
            Queue::Bounded => QueueKind::Bounded,
        },
        queue_messages: arguments.queue_messages,
        leak_limit_bytes: arguments.leak_limit_mib << 20,
        keeps_dead: !arguments.forget_dead,
        rate,
        ..FlexranControllerSettings::default()
    };
    let threads = match arguments.threads {
        Threads::PerRun => ThreadUse::PerRun,
        Threads::Inline => ThreadUse::Inline,
    };
    let server = FlexranServer::start(settings, threads, arguments.listen).await?;
    let http = match arguments.http {
        Some(address) => Some(server.serve_http(address).await.map_err(cannot_listen(address))?),
        None => None,
    };
    watch(server.address(), http, arguments.duration, format, || {
        server.read(|controller| {
            let seen = controller.seen();
            Summary::new(seen.agents, seen.ues, controller.counters())
        })
    })
    .await
}

async fn empower(arguments: Empower, format: Format) -> Result<(), Failure> {
    let (version, port) = match arguments.openempower {
        2 => (EmpowerVersion::V2, ranlab_wire::empower::v2::PORT),
        _ => (EmpowerVersion::V1, ranlab_wire::empower::v1::PORT),
    };
    let registry = match &arguments.registered {
        Some(path) => Registry::Registered(registered(path)?),
        None => Registry::Everybody,
    };
    let mut settings = EmpowerControllerSettings {
        version,
        registry,
        message_cost: arguments.message_cost,
        ..EmpowerControllerSettings::default()
    };
    settings.session.ue_period = arguments.period;
    settings.session.cell_period = arguments.period;
    let listen = arguments.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], port)));
    let server = EmpowerServer::start(settings, listen).await?;
    let http = match arguments.http {
        Some(address) => Some(server.serve_http(address).await.map_err(cannot_listen(address))?),
        None => None,
    };
    watch(server.address(), http, arguments.duration, format, || {
        server.read(|controller| {
            let online = controller.stations().values().filter(|station| station.online);
            let (agents, ues) = online.fold((0, 0), |sum, station| (sum.0 + 1, sum.1 + station.ues.len()));
            Summary::new(agents, ues, controller.counters())
        })
    })
    .await
}

/// The base stations in a file, one a line; `#` begins a comment.
fn registered(path: &Path) -> Result<BTreeSet<Mac>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let macs = lines.filter(|line| !line.is_empty()).take(MAX_REGISTERED).map(str::parse);
    macs.collect::<Result<_, _>>()
        .map_err(|error: ranlab_wire::empower::NotAMac| Failure::Usage(error.to_string()))
}

async fn watch(
    address: SocketAddr,
    http: Option<SocketAddr>,
    duration: Option<Duration>,
    format: Format,
    summary: impl Fn() -> Summary,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    output.text(format_args!("listening at {address}"))?;
    output.item(&serde_json::json!({ "listening": "southbound", "address": address.to_string() }))?;
    if let Some(http) = http {
        output.text(format_args!("http at {http}"))?;
        output.item(&serde_json::json!({ "listening": "http", "address": http.to_string() }))?;
    }
    output.flush()?;
    let end = live::end(duration);
    tokio::pin!(end);
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.tick().await;
    loop {
        tokio::select! {
            () = &mut end => break,
            _ = tick.tick() => {
                let summary = summary();
                output.text(summary.line())?;
                output.item(&summary)?;
                output.flush()?;
            }
        }
    }
    let summary = summary();
    for sentence in &summary.guidelines {
        output.text(sentence)?;
    }
    output.finish(&summary)
}
