//! `ranlab emulate`: base stations and their UEs towards a controller.
use std::time::{Duration, Instant};

use clap::ValueEnum;
use ranlab_emulator::FleetReport;
use ranlab_parts::{FleetPart, Stations};
use serde::Serialize;

use crate::args::{self, Address};
use crate::emulate_southbound::{self, Southern};
use crate::exit::Failure;
use crate::flags::Flags;
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
    #[command(flatten)]
    fleet: Flags<FleetPart>,
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
    let connect = &mut arguments.fleet.config.connect;
    if connect.is_empty() {
        connect.push(Address::Tcp { host: "127.0.0.1".to_owned(), port: E2_PORT });
    }
    let mut fleet = Stations::new(&arguments.fleet.config)?;
    let mut output = Output::new(format);
    let end = live::end(arguments.duration);
    tokio::pin!(end);
    tokio::select! {
        () = &mut end => {}
        started = fleet.ramp_up() => {
            started?;
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
        connect: arguments.fleet.config.connect,
        nodes: arguments.fleet.config.nodes,
        ues: arguments.fleet.config.ues,
        ramp: arguments.fleet.config.ramp,
        first: arguments.fleet.config.first,
        seed: arguments.fleet.config.seed.0,
        duration: arguments.duration,
    };
    emulate_southbound::run(protocol, common, arguments.southern, format).await
}

/// A line a second until the end.
async fn watch(
    fleet: &Stations,
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
