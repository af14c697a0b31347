//! `ranlab emulate --protocol flexran|empower`: base stations of other SD-RAN protocols.
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ranlab_emulator::southbound::{
    Identity, SourcePool, Southbound, SouthboundConfig, SouthboundFleet, SouthboundReport,
};
use ranlab_machines::southbound::ReportPeriod;
use ranlab_model::arrivals::{Channel, Event, Law, MAX_UES, PopulationConfig, Profile, parse_trace};
use ranlab_sdk::transport::Address;
use serde::Serialize;

use crate::args;
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// Largest trace file.
const MAX_TRACE_BYTES: u64 = 1 << 30;

/// What only base stations of these protocols take.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "With --protocol flexran or empower")]
pub struct Southern {
    /// When reports are sent: honour (as the controller asks) or a time [default: 50ms FlexRAN, 500ms 5G-EmPOWER, as MARC]
    #[arg(long, value_name = "honour|TIME")]
    period: Option<Period>,
    /// Service whose UEs come and go: marc, embb, mmtc, mmtc-burst or urllc
    #[arg(long, default_value = "marc")]
    service: Profile,
    /// Time until a UE comes, e.g. exponential:10s, constant:0s [default: the service's]
    #[arg(long, value_name = "LAW")]
    activation: Option<Law>,
    /// Time until it goes, e.g. constant:500s [default: the service's]
    #[arg(long, value_name = "LAW")]
    holding: Option<Law>,
    /// Play the events of this file instead: TIME EVENT [node=N] [ue=N] [cqi=N] …
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Take events while running, in the same form: - is the standard input, IP:PORT waits there for one connection
    #[arg(long, value_name = "-|IP:PORT")]
    events: Option<String>,
    /// Connect from these addresses in turn, e.g. 127.0.1.1-127.0.1.50; with --openempower 2 the published controller keeps
    /// one connection of each address, so that as many are needed as base stations
    #[arg(long, value_name = "FIRST-LAST", default_value = "")]
    sources: Sources,
    /// FlexRAN: speak Mosaic5G 2.x
    #[arg(long)]
    mosaic: bool,
    /// 5G-EmPOWER: version of OpenEmpower
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    openempower: u8,
    /// Print the base stations' Ethernet addresses, one a line, for a controller's registration, and end
    #[arg(long)]
    identities: bool,
    /// Afterwards start one more base station and tell how long its initialisation takes, with this much patience
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    probe: Option<Duration>,
}

/// `honour` or a time.
#[derive(Debug, Clone, Copy)]
struct Period(ReportPeriod);

impl FromStr for Period {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "honour" => Ok(Self(ReportPeriod::Honour)),
            _ => match args::duration(text) {
                Ok(period) if period >= Duration::from_millis(1) => Ok(Self(ReportPeriod::Override(period))),
                Ok(_) => Err("a report every 1ms is the most".to_owned()),
                Err(error) => Err(format!("{error}; or honour")),
            },
        }
    }
}

/// A pool of addresses, or none.
#[derive(Debug, Clone)]
struct Sources(SourcePool);

impl FromStr for Sources {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self(SourcePool::default())),
            _ => text
                .parse()
                .map(Self)
                .map_err(|error: ranlab_emulator::southbound::SourcePoolError| error.to_string()),
        }
    }
}

/// What every protocol's base stations take.
pub struct Common {
    /// Controllers given.
    pub connect: Vec<Address>,
    /// Base stations.
    pub nodes: u32,
    /// UEs of each, if given.
    pub ues: u16,
    /// Time over which they start.
    pub ramp: Option<Duration>,
    /// First one's index.
    pub first: u32,
    /// Seed.
    pub seed: u64,
    /// End.
    pub duration: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct Summary {
    nodes: u32,
    connected: u32,
    alive: u32,
    ues: u64,
    announced_ues: u64,
    reconnects: u64,
    refused: u64,
    initialised: u64,
    offered: u64,
    sent: u64,
    sent_bytes: u64,
    reports: u64,
    dropped: u64,
    waiting: u64,
    waiting_bytes: u64,
    unacknowledged_bytes: u64,
    skipped: u64,
    received: u64,
    received_bytes: u64,
    rounds: u64,
    discarded_bytes: u64,
    faults: u64,
    refused_ues: u64,
    handovers: u64,
    lateness_us_p99: u64,
    init_requests_us_p50: u64,
    init_requests_us_max: u64,
    init_reporting_us_p50: u64,
    init_reporting_us_max: u64,
    probe_us: Option<u64>,
    probe_requests_us: Option<u64>,
}

impl Summary {
    fn new(r: &SouthboundReport, probe: Option<(u64, u64)>) -> Self {
        Self {
            nodes: r.nodes,
            connected: r.connected,
            alive: r.alive,
            ues: r.ues,
            announced_ues: r.announced_ues,
            reconnects: r.reconnects,
            refused: r.refused,
            initialised: r.initialised,
            offered: r.offered,
            sent: r.sent,
            sent_bytes: r.sent_bytes,
            reports: r.reports,
            dropped: r.dropped,
            waiting: r.waiting,
            waiting_bytes: r.waiting_bytes,
            unacknowledged_bytes: r.unacknowledged_bytes,
            skipped: r.skipped,
            received: r.received,
            received_bytes: r.received_bytes,
            rounds: r.rounds,
            discarded_bytes: r.discarded_bytes,
            faults: r.faults,
            refused_ues: r.refused_ues,
            handovers: r.handovers,
            lateness_us_p99: r.lateness_us_p99,
            init_requests_us_p50: r.init_requests_us.0,
            init_requests_us_max: r.init_requests_us.1,
            init_reporting_us_p50: r.init_reporting_us.0,
            init_reporting_us_max: r.init_reporting_us.1,
            probe_us: probe.map(|(_, reporting)| reporting),
            probe_requests_us: probe.map(|(requests, _)| requests),
        }
    }
}

/// Which protocol is meant: FlexRAN's or 5G-EmPOWER's.
pub fn protocol(flexran: bool, southern: &Southern) -> Southbound {
    match (flexran, southern.mosaic, southern.openempower) {
        (true, false, _) => Southbound::Flexran,
        (true, true, _) => Southbound::Mosaic,
        (false, _, 2) => Southbound::EmpowerV2,
        (false, ..) => Southbound::EmpowerV1,
    }
}

/// Emulates until Ctrl-C, SIGTERM or the end of the duration.
pub async fn run(
    protocol: Southbound,
    common: Common,
    southern: Southern,
    format: Format,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    if southern.identities {
        for index in common.first..common.first.saturating_add(common.nodes) {
            let mac = Identity::new(index).mac.to_string();
            output.text(&mac)?;
            output.item(&mac)?;
        }
        return output.finish(&serde_json::json!({ "nodes": common.nodes }));
    }
    let config = config(protocol, &common, &southern)?;
    let controller = config.controller;
    let mut fleet = SouthboundFleet::new(config);
    let end = live::end(common.duration);
    tokio::pin!(end);
    tokio::select! {
        () = &mut end => {}
        begun = begin(&mut fleet, controller) => {
            begun?;
            if let Some(place) = &southern.events {
                play(&fleet, place).await?;
            }
            watch(&fleet, &mut output, end.as_mut()).await?;
        }
    }
    let report = fleet.report();
    let mut probe = None;
    if let Some(patience) = southern.probe {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        probe = fleet.probe(patience).await.map(|d| (micros(d.to_requests), micros(d.to_reporting)));
        match probe {
            Some((_, us)) => {
                output.text(format_args!("one more base station: asked for reports after {us} us"))?
            }
            None => {
                output.text(format_args!("one more base station: not asked for reports in {patience:?}"))?
            }
        }
    }
    output.text(last_line(&report))?;
    output.finish(&Summary::new(&report, probe))?;
    judge(&report, fleet.last_fault())
}

/// Starts the base stations. They try for ever; a typing error should not.
async fn begin(fleet: &mut SouthboundFleet, controller: SocketAddr) -> Result<(), Failure> {
    let first_word = fleet.first_word();
    let reached = async {
        let unreached = |error| Failure::Environment(format!("cannot connect to {controller}: {error}"));
        first_word.await.map_err(unreached)
    };
    let started = async {
        fleet.ramp_up().await;
        Ok(())
    };
    tokio::try_join!(reached, started).map(|_| ())
}

fn last_line(report: &SouthboundReport) -> String {
    format!(
        "{} nodes, {} connected, {} alive, {} UEs, {} reconnects, {} connections refused, {} faults, {} messages sent, \
         {} reports, {} dropped, {} skipped, lateness p99 {} us{}",
        report.nodes,
        report.connected,
        report.alive,
        report.ues,
        report.reconnects,
        report.refused,
        report.faults,
        report.sent,
        report.reports,
        report.dropped,
        report.skipped,
        report.lateness_us_p99,
        shortfall(report)
    )
}

/// What of the load has not reached the controller, if anything.
fn shortfall(report: &SouthboundReport) -> String {
    let mut text = String::new();
    let unannounced = report.ues.saturating_sub(report.announced_ues);
    if unannounced > 0 {
        text.push_str(&format!(", {unannounced} UEs not announced to it"));
    }
    if report.waiting > 0 {
        text.push_str(&format!(
            ", {} messages ({} kB) wait until it reads, {} kB more in the kernel",
            report.waiting,
            report.waiting_bytes / 1_000,
            report.unacknowledged_bytes / 1_000
        ));
    }
    text
}

/// A run without a load is no success.
fn judge(report: &SouthboundReport, last_fault: Option<String>) -> Result<(), Failure> {
    let what = if report.nodes > 0 && report.initialised == 0 {
        "no base station was asked for reports"
    } else if report.initialised > 0 && report.reports == 0 && report.faults + report.dropped > 0 {
        "no report left"
    } else {
        return Ok(());
    };
    let SouthboundReport { nodes, connected, refused, faults, dropped, .. } = *report;
    let last = last_fault.map_or(String::new(), |fault| format!(", the last: {fault}"));
    Err(Failure::Check(format!(
        "{what}: {connected} of {nodes} connected, {refused} connections refused, {dropped} messages dropped, {faults} faults{last}"
    )))
}

fn config(protocol: Southbound, common: &Common, southern: &Southern) -> Result<SouthboundConfig, Failure> {
    let controller = controller(protocol, &common.connect)?;
    let ues = u32::from(common.ues).min(MAX_UES);
    let mut population: PopulationConfig = southern.service.population(ues, common.seed);
    population.activation = southern.activation.unwrap_or(population.activation);
    population.holding = southern.holding.unwrap_or(population.holding);
    let trace = match &southern.trace {
        Some(path) => Some(trace(path)?),
        None => None,
    };
    // UEs of a trace or of another program come by their events.
    if trace.is_some() || southern.events.is_some() {
        population = PopulationConfig { ues: 0, channel: Channel::Fixed, delegation: None, ..population };
    }
    let marc = SouthboundConfig::marc(protocol, controller, common.nodes, ues, common.seed);
    Ok(SouthboundConfig {
        first: common.first,
        period: southern.period.map_or(marc.period, |period| period.0),
        population,
        trace,
        sources: southern.sources.0.clone(),
        ramp: common.ramp.unwrap_or_else(|| Duration::from_millis(u64::from(common.nodes))),
        ..marc
    })
}

fn controller(protocol: Southbound, connect: &[Address]) -> Result<SocketAddr, Failure> {
    let [address] = connect else {
        if connect.is_empty() {
            return Ok(SocketAddr::new(IpAddr::from([127, 0, 0, 1]), protocol.port()));
        }
        return Err(Failure::Usage(
            "these base stations have one controller; give --connect once".to_owned(),
        ));
    };
    let Address::Tcp { host, port } = address else {
        return Err(Failure::Usage(format!("{address} is not TCP, which is all that this protocol has")));
    };
    let resolved = (host.as_str(), *port).to_socket_addrs().ok().and_then(|mut found| found.next());
    resolved.ok_or_else(|| Failure::Environment(format!("the host of {address} has no address")))
}

fn trace(path: &Path) -> Result<HashMap<u32, Vec<Event>>, Failure> {
    let wrong = |error: String| Failure::Usage(format!("{}: {error}", path.display()));
    let len = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if len > MAX_TRACE_BYTES {
        return Err(wrong(format!("{len} octets; at most {MAX_TRACE_BYTES} are allowed")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut events: HashMap<u32, Vec<Event>> = HashMap::new();
    for (node, event) in parse_trace(&text).map_err(|error| wrong(error.to_string()))? {
        events.entry(node).or_default().push(event);
    }
    Ok(events)
}

/// Takes events from the standard input or from one connection, in a task of its own.
async fn play(fleet: &SouthboundFleet, place: &str) -> Result<(), Failure> {
    let live = fleet.live();
    if place == "-" {
        let input = tokio::io::BufReader::new(tokio::io::stdin());
        tokio::task::spawn_local(async move { told(live.play(input).await) });
        return Ok(());
    }
    let address: SocketAddr =
        place.parse().map_err(|_| Failure::Usage(format!("\"{place}\" is neither - nor IP:PORT")))?;
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .map_err(|error| Failure::Environment(format!("cannot listen at {address}: {error}")))?;
    tokio::task::spawn_local(async move {
        if let Ok((stream, _)) = listener.accept().await {
            told(live.play(tokio::io::BufReader::new(stream)).await);
        }
    });
    Ok(())
}

fn told<T, E: std::fmt::Display>(result: Result<T, E>) {
    if let Err(error) = result {
        eprintln!("ranlab: events: {error}");
    }
}

/// A line a second until the end.
async fn watch(
    fleet: &SouthboundFleet,
    output: &mut Output,
    mut end: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Failure> {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.tick().await;
    let mut before = fleet.report();
    loop {
        tokio::select! {
            () = &mut end => return Ok(()),
            _ = tick.tick() => {}
        }
        let report = fleet.report();
        let mbit = (report.sent_bytes - before.sent_bytes) as f64 * 8e-6;
        output.text(format_args!(
            "{}/{} alive  {} UEs  {} messages/s  {mbit:.1} Mbit/s  {} dropped  {} faults  lateness p99 {} us{}",
            report.alive,
            report.nodes,
            report.ues,
            report.sent - before.sent,
            report.dropped,
            report.faults,
            report.lateness_us_p99,
            shortfall(&report)
        ))?;
        output.item(&Summary::new(&report, None))?;
        output.flush()?;
        before = report;
    }
}
