//! `ranlab emulate`: base stations and their UEs towards a controller.
use std::time::{Duration, Instant};

use clap::ValueEnum;
use ranlab_emulator::node::{NodeKind, ServiceModel as Offered};
use ranlab_emulator::{Fleet, FleetConfig, FleetError, FleetReport};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{Plmn, Version};
use serde::Serialize;

use crate::args::{self, Address, ServiceModel};
use crate::emulate_southbound::{self, Southern};
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// E2's port (O-RAN.WG3.E2GAP).
const E2_PORT: u16 = 36421;

/// The language of the base stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Protocol {
    /// E2 of O-RAN
    #[default]
    E2,
    /// FlexRAN 0.x, or Mosaic5G 2.x with --mosaic
    Flexran,
    /// OpenEmpower of 5G-EmPOWER
    Empower,
}

/// Arguments of `emulate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab emulate --connect tcp://127.0.0.1:36421 --nodes 10 --ues 32 --duration 10s\n  ranlab emulate --protocol flexran --connect tcp://127.0.0.1:2210 --nodes 50 --ues 100 --period 50ms"
)]
pub struct Arguments {
    /// What the base stations speak
    #[arg(long, value_enum, default_value_t)]
    protocol: Protocol,
    /// Controller of every base station; repeatable, the first one is the default of the UEs
    ///
    /// [default: tcp://127.0.0.1 and the protocol's port: 36421 E2, 2210 FlexRAN and OpenEmpower 1, 5533 OpenEmpower 2]
    #[arg(long, value_name = "ADDRESS")]
    connect: Vec<Address>,
    /// Base stations (with --kind split: E2 nodes, three to a base station)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// UEs per base station
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    ues: u16,
    /// Service models offered; hw stands for hw and the association control, which ranlab's RIC is offered in any case
    #[arg(long, value_delimiter = ',', default_value = "mac,rlc,pdcp,gtp")]
    sm: Vec<ServiceModel>,
    /// Kind of base stations: gnb, split (CU-CP, CU-UP, DU), ng-enb, enb or mixed
    #[arg(long, default_value_t)]
    kind: NodeKind,
    /// Version of E2AP
    #[arg(long, value_name = "VERSION", default_value = "2.03")]
    e2ap: Version,
    /// Time over which the base stations start [default: 1 ms each]
    #[arg(long, value_parser = args::duration)]
    ramp: Option<Duration>,
    /// Number of the first base station, for several processes in one network
    #[arg(long, default_value_t = 0)]
    first: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End by itself after this long
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    southern: Southern,
}

#[derive(Debug, Serialize)]
struct Summary {
    nodes: u32,
    alive: u32,
    reconnects: u64,
    subscriptions: u64,
    sent: u64,
    sent_bytes: u64,
    dropped: u64,
    skipped: u64,
    lateness_us_p99: u64,
}

impl From<FleetReport> for Summary {
    fn from(r: FleetReport) -> Self {
        Self {
            nodes: r.nodes,
            alive: r.alive,
            reconnects: r.reconnects,
            subscriptions: r.subscriptions,
            sent: r.sent,
            sent_bytes: r.sent_bytes,
            dropped: r.dropped,
            skipped: r.skipped,
            lateness_us_p99: r.lateness_us_p99,
        }
    }
}

/// Emulates until Ctrl-C, SIGTERM or the end of the duration.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    live::raise_limits();
    ranlab_sdk::run(emulate(arguments, format))
}

async fn emulate(mut arguments: Arguments, format: Format) -> Result<(), Failure> {
    if arguments.protocol != Protocol::E2 {
        return emulate_southbound(arguments, format).await;
    }
    if arguments.connect.is_empty() {
        arguments.connect.push(Address::Tcp { host: "127.0.0.1".to_owned(), port: E2_PORT });
    }
    let sockets = SocketOptions::default();
    let mut fleet = Fleet::new(FleetConfig {
        controllers: arguments.connect,
        nodes: arguments.nodes,
        ues: arguments.ues,
        kind: arguments.kind,
        plmn: Plmn::new(505, 1, 2),
        service_models: arguments.sm.iter().filter_map(|sm| offered(*sm)).collect(),
        own_functions: arguments.sm.contains(&ServiceModel::Hw),
        version: arguments.e2ap,
        ramp: arguments.ramp.unwrap_or_else(|| Duration::from_millis(u64::from(arguments.nodes))),
        seed: arguments.seed,
        first: arguments.first,
        sockets,
    });
    let mut output = Output::new(format);
    let end = live::end(arguments.duration);
    tokio::pin!(end);
    tokio::select! {
        () = &mut end => {}
        started = fleet.ramp_up() => {
            started.map_err(|error| match error {
                FleetError::Unreachable(error) => error.into(),
                other => Failure::Usage(other.to_string()),
            })?;
            watch(&fleet, &mut output, end.as_mut()).await?;
        }
    }
    let report = fleet.report();
    output.text(format_args!(
        "{} nodes, {} alive, {} reconnects, {} indications sent, {} dropped, {} skipped, lateness p99 {} us",
        report.nodes,
        report.alive,
        report.reconnects,
        report.sent,
        report.dropped,
        report.skipped,
        report.lateness_us_p99
    ))?;
    output.finish(&Summary::from(report))?;
    if report.alive > 0 || report.nodes == 0 {
        return Ok(());
    }
    Err(Failure::Check(format!(
        "no base station is set up at the end: {} attempts to connect, {} setups refused or unanswered, {} connections lost \
         after a setup",
        report.connects, report.setups_failed, report.reconnects
    )))
}

async fn emulate_southbound(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let flexran = arguments.protocol == Protocol::Flexran;
    let protocol = emulate_southbound::protocol(flexran, &arguments.southern);
    let common = emulate_southbound::Common {
        connect: arguments.connect,
        nodes: arguments.nodes,
        ues: arguments.ues,
        ramp: arguments.ramp,
        first: arguments.first,
        seed: arguments.seed,
        duration: arguments.duration,
    };
    emulate_southbound::run(protocol, common, arguments.southern, format).await
}

/// A line a second until the end.
async fn watch(
    fleet: &Fleet,
    output: &mut Output,
    mut end: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Failure> {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.tick().await;
    let (mut before, mut at) = (fleet.report(), Instant::now());
    loop {
        tokio::select! {
            () = &mut end => return Ok(()),
            _ = tick.tick() => {}
        }
        let (now, report) = (Instant::now(), fleet.report());
        let seconds = now.duration_since(at).as_secs_f64();
        let rate = (report.sent - before.sent) as f64 / seconds;
        let mbit = (report.sent_bytes - before.sent_bytes) as f64 * 8e-6 / seconds;
        output.text(format_args!(
            "{}/{} alive  {rate:.0} indications/s  {mbit:.1} Mbit/s  {} dropped  lateness p99 {} us",
            report.alive, report.nodes, report.dropped, report.lateness_us_p99
        ))?;
        output.item(&Summary::from(report))?;
        output.flush()?;
        (before, at) = (report, now);
    }
}

fn offered(sm: ServiceModel) -> Option<Offered> {
    match sm {
        ServiceModel::Hw => None,
        ServiceModel::Mac => Some(Offered::Mac),
        ServiceModel::Rlc => Some(Offered::Rlc),
        ServiceModel::Pdcp => Some(Offered::Pdcp),
        ServiceModel::Gtp => Some(Offered::Gtp),
    }
}
