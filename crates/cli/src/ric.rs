//! `ranlab ric`: a near-RT RIC for base stations and xApps.
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ranlab_controllers::monitor::{Monitor, MonitorConfig};
use ranlab_controllers::xapps::{Registry, XappRules};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{Limits, RicConfig, RicEvent, Side};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::e2sm::{self, Model};
use serde::Serialize;

use crate::args::{self, Address};
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};
use crate::peers::Allowed;

/// Where base stations connect unless told otherwise.
const E2_PORT: u16 = 36421;
/// Where xApps connect unless told otherwise.
const E42_PORT: u16 = 36422;

/// Arguments of `ric`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab ric\n  ranlab ric --e2 tcp://0.0.0.0:36421 --allow 10.0.0.0/8 --http 127.0.0.1:8080\n  ranlab ric --iapp monitor --xapps rules.toml --http 127.0.0.1:8080"
)]
pub struct Arguments {
    /// Listen for base stations; repeatable [default: loopback TCP port 36421 and a Unix socket]
    #[arg(long, value_name = "ADDRESS")]
    e2: Vec<Address>,
    /// Listen for xApps; repeatable [default: loopback TCP port 36422 and a Unix socket]
    #[arg(long, value_name = "ADDRESS")]
    e42: Vec<Address>,
    /// Serve /healthz, /v1/nodes and /v1/iapps here
    #[arg(long, value_name = "IP:PORT")]
    http: Option<SocketAddr>,
    /// Only these peers may connect over TCP; repeatable [default: all that can reach the listener]
    #[arg(long, value_name = "IP[/BITS]")]
    allow: Vec<Allowed>,
    /// Version of E2AP: 3.01 takes every node of v2 and later for one of v3
    #[arg(long, value_name = "VERSION", default_value = "2.03")]
    e2ap: Version,
    /// Base stations at most, connected or remembered; a further one is refused with a time to wait
    #[arg(long, value_name = "NODES", default_value_t = Limits::default().nodes, value_parser = nodes)]
    max_nodes: usize,
    /// Run this controller logic inside the RIC; HTTP shows what it knows under /v1/iapps/NAME
    #[arg(long, value_name = "NAME", value_enum)]
    iapp: Vec<Hosted>,
    /// Service models that --iapp monitor subscribes to
    #[arg(long, value_delimiter = ',', default_values_t = e2sm::customary())]
    sm: Vec<&'static dyn Model>,
    /// How often --iapp monitor asks for them
    #[arg(long, default_value = "100ms", value_parser = args::duration)]
    period: Duration,
    /// Which xApps may join, as whom, and what they see: a TOML file of [[rule]]s with peer, tenant, plmns or nodes,
    /// subscriptions, requests, control [default: all of them, and everything]
    #[arg(long, value_name = "FILE")]
    xapps: Option<PathBuf>,
    /// End by itself after this long
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Controller logic that the RIC hosts. The list of xApps is always there, as `xapps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Hosted {
    /// The latest statistics of every base station and UE.
    Monitor,
}

/// Base stations that `--max-nodes` allows; beyond, the machine's memory and files end before the RIC's bounds.
const MAX_NODES: usize = 1_000_000;

fn nodes(text: &str) -> Result<usize, String> {
    let nodes = text.parse().ok().filter(|nodes| (1..=MAX_NODES).contains(nodes));
    nodes.ok_or_else(|| format!("a number of base stations from 1 to {MAX_NODES}"))
}

#[derive(Debug, Serialize)]
struct Summary {
    nodes: usize,
    setups: u64,
    /// Setups and connections refused, whatever the reason.
    refused: u64,
    indications: u64,
    forwarded: u64,
    dropped: u64,
    faults: u64,
}

/// Serves until Ctrl-C, SIGTERM or the end of the duration.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    live::raise_limits();
    ranlab_sdk::run(serve(arguments, format))
}

async fn serve(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let limits = Limits::for_nodes(arguments.max_nodes);
    let mut config = RicConfig { version: arguments.e2ap, limits, ..RicConfig::default() };
    if let Some(file) = &arguments.xapps {
        config.policy = Box::new(rules(file)?);
    }
    let ric = RicHandle::start(config, SocketOptions::default());
    host(&ric, &arguments)?;
    let mut output = Output::new(format);
    for (side, name, given, port) in
        [(Side::E2, "e2", arguments.e2, E2_PORT), (Side::E42, "e42", arguments.e42, E42_PORT)]
    {
        let addresses = if given.is_empty() { defaults(name, port)? } else { given };
        for address in addresses {
            let allowed = arguments.allow.clone();
            let may_connect = move |peer: &str| Allowed::any(&allowed, peer);
            let bound = ric.listen(side, &address, may_connect).await?;
            output.text(format_args!("{name:4} {bound}"))?;
            output.item(&serde_json::json!({ "listening": name, "address": bound.to_string() }))?;
        }
    }
    if let Some(address) = arguments.http {
        warn_if_open(address.ip());
        let bound = ranlab_controllers::http::serve(ric.clone(), address)
            .await
            .map_err(|error| Failure::Environment(format!("cannot listen at http://{address}: {error}")))?;
        output.text(format_args!("http http://{bound}"))?;
    }
    output.flush()?;
    let end = live::end(arguments.duration);
    tokio::pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            event = ric.next() => tell(&mut output, &event)?,
        }
    }
    let summary = summary(&ric);
    if summary.refused > 0 && summary.nodes >= arguments.max_nodes {
        let (refused, most) = (summary.refused, arguments.max_nodes);
        eprintln!(
            "ranlab: {refused} attempts of base stations were refused, for {most} are connected: --max-nodes allows more"
        );
    }
    output.finish(&summary)
}

fn rules(file: &Path) -> Result<XappRules, Failure> {
    let wrong = |error: String| Failure::Usage(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    XappRules::from_toml(&text).map_err(|error| wrong(error.to_string()))
}

/// Starts the iApps.
fn host(ric: &RicHandle, arguments: &Arguments) -> Result<(), Failure> {
    ric.add_iapp(Box::new(Registry::new().0));
    if arguments.iapp.contains(&Hosted::Monitor) {
        let period_ms = u32::try_from(arguments.period.as_millis()).unwrap_or(u32::MAX);
        let config = MonitorConfig { models: arguments.sm.clone(), period_ms };
        let (monitor, _) = Monitor::new(config).map_err(|error| Failure::Usage(error.to_string()))?;
        ric.add_iapp(Box::new(monitor));
    }
    Ok(())
}

/// Loopback TCP at the usual port, and a Unix socket that only this user may open.
fn defaults(name: &str, port: u16) -> Result<Vec<Address>, Failure> {
    let folder = live::runtime_folder().map_err(|error| {
        Failure::Environment(format!(
            "cannot make a folder for the Unix sockets: {error}; name one with --{name}"
        ))
    })?;
    let tcp = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    Ok(vec![tcp, Address::Unix(folder.join(format!("{name}.sock")))])
}

fn warn_if_open(ip: IpAddr) {
    if !ip.is_loopback() {
        eprintln!("ranlab: http://{ip} is open to the network and asks nobody for a password");
    }
}

fn tell(output: &mut Output, event: &RicEvent) -> Result<(), Failure> {
    let line = match event {
        RicEvent::NodeConnected { node, peer, restored: false } => format!("+ {node} from {peer}"),
        RicEvent::NodeConnected { node, peer, restored: true } => format!("+ {node} from {peer}, as before"),
        RicEvent::NodeLost(node) => format!("- {node}"),
        RicEvent::XappConnected(xapp) => format!("+ xapp {} from {}", xapp.id, xapp.peer),
        RicEvent::XappGone(xapp) => format!("- xapp {}", xapp.id),
        RicEvent::Fault { peer, what, .. } => format!("! {peer}: {what}"),
        _ => return Ok(()),
    };
    output.text(&line)?;
    output.item(&serde_json::json!({ "event": line }))?;
    output.flush()
}

fn summary(ric: &RicHandle) -> Summary {
    let (nodes, counters) = ric.read(|ric| (ric.nodes_connected(), ric.counters()));
    Summary {
        nodes,
        setups: counters.setups,
        refused: counters.setups_refused + counters.connections_refused,
        indications: counters.indications,
        forwarded: counters.indications_forwarded,
        dropped: counters.indications_dropped,
        faults: counters.undecodable + counters.misplaced,
    }
}
