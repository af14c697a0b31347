//! `ranlab ric`: runs a near-RT RIC for base stations and xApps.
use std::time::Duration;

use crate::{E2_PORT, E42_PORT, Ric, RicComponent, RicReport};
use ranlab_lab::{Listen, loopback};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::RicEvent;
use ranlab_transport::Address;
use tokio::time::Instant;

use crate::verbs::ric_hint::{self, Peer};
use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::{Context, Run};

/// Time without an event after which the code pages of setups and subscriptions are unmapped. They are loaded again
/// when needed.
const CALM: Duration = Duration::from_secs(2);

/// Arguments of `ric`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab ric\n  ranlab ric --hint oai\n  ranlab ric --e2 tcp://0.0.0.0:36421 --allow 10.0.0.0/8 --http 127.0.0.1:8080\n  curl http://127.0.0.1:8080/v1/nodes        # http://127.0.0.1:8080/ is a page\n  ranlab ric --iapp monitor --xapps rules.toml --http 127.0.0.1:8080"
)]
pub struct Arguments {
    #[command(flatten)]
    ric: Flags<RicComponent>,
    /// Print the configuration that connects this peer to the RIC, and exit
    #[arg(long, value_enum, value_name = "PEER")]
    hint: Option<Peer>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(self, context.format)
    }
}

/// Serves until Ctrl-C, SIGTERM or the end of the duration.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    if let Some(peer) = arguments.hint {
        let text = ric_hint::text(peer, &arguments.ric.config.e2);
        let mut output = Output::new(format);
        output.text(text.trim_end())?;
        return output.finish(&serde_json::json!({ "hint": text }));
    }
    live::raise_limits();
    ranlab_sdk::run(serve(arguments, format))
}

async fn serve(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let mut part = arguments.ric.config;
    for (places, name, port) in [(&mut part.e2, "e2", E2_PORT), (&mut part.e42, "e42", E42_PORT)] {
        if places.is_empty() {
            *places = defaults(name, port)?;
        }
    }
    let ric = Ric::start(&part).await?;
    live::unmap_unused_code();
    attend(&ric, arguments.duration, format, |report| {
        if report.refused > 0 && report.nodes as u64 >= part.max_nodes {
            let refused = report.refused;
            let most = part.max_nodes;
            eprintln!(
                "ranlab: {refused} connection attempts of base stations were refused, because {most} base stations are connected; --max-nodes sets the limit"
            );
        }
    })
    .await
}

/// Prints the listeners and events of a RIC, until the end.
pub async fn attend(
    ric: &Ric,
    duration: Option<Duration>,
    format: Format,
    advise: impl FnOnce(&RicReport),
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    for (name, address) in &ric.bound {
        output.text(format_args!("{name:4} {address}"))?;
        output.item(&serde_json::json!({ "listening": name, "address": address }))?;
    }
    output.flush()?;
    let end = live::end(duration);
    let calm = tokio::time::sleep(CALM);
    tokio::pin!(end, calm);
    let mut untold = 0;
    let mut is_calm = false;
    loop {
        tokio::select! {
            () = &mut end => break,
            event = ric.handle.next() => {
                untold = tell_missed(&mut output, untold, ric.handle.lagged())?;
                print_event(&mut output, &event)?;
                calm.as_mut().reset(Instant::now() + CALM);
                is_calm = false;
            }
            () = &mut calm, if !is_calm => {
                live::unmap_unused_code();
                is_calm = true;
            }
        }
    }
    let report = ric.report();
    let left = ric.leave();
    tokio::pin!(left);
    loop {
        tokio::select! {
            () = &mut left => break,
            event = ric.handle.next() => {
                untold = tell_missed(&mut output, untold, ric.handle.lagged())?;
                print_event(&mut output, &event)?;
            }
        }
    }
    advise(&report);
    output.finish(&report)
}

/// Returns the default listeners: loopback TCP at the default port, and a Unix socket for this user only.
fn defaults(name: &str, port: u16) -> Result<Vec<Listen>, Failure> {
    let folder = live::runtime_folder().map_err(|error| {
        Failure::Environment(format!(
            "cannot create a folder for the Unix sockets: {error}; specify a socket with --{name}"
        ))
    })?;
    Ok([loopback(port), Address::Unix(folder.join(format!("{name}.sock")))].map(Listen::At).to_vec())
}

/// Reports missed events, so that the output is not mistaken for a complete history.
fn tell_missed(output: &mut Output, before: u64, missed: u64) -> Result<u64, Failure> {
    if missed > before {
        let untold = missed - before;
        output.text(format_args!(
            "! {untold} events are not listed here, because they occurred faster than they could be written"
        ))?;
        output.item(&serde_json::json!({ "untold": untold }))?;
    }
    Ok(missed)
}

/// Returns the time of an event that users compare between several RICs.
fn time_of(event: &RicEvent) -> Option<Time> {
    match event {
        RicEvent::Owned { at, .. } | RicEvent::Disowned { at, .. } | RicEvent::Lawful { at, .. } => Some(*at),
        _ => None,
    }
}

fn print_event(output: &mut Output, event: &RicEvent) -> Result<(), Failure> {
    let line = match event {
        RicEvent::NodeConnected { node, peer, restored: false } => format!("+ {node} from {peer}"),
        RicEvent::NodeConnected { node, peer, restored: true } => {
            format!("+ {node} from {peer}, with its previous state")
        }
        RicEvent::NodeLost { node, why } => format!("- {node}: {why}"),
        RicEvent::XappConnected(xapp) => format!("+ xapp {} from {}", xapp.id, xapp.peer),
        RicEvent::XappGone(xapp) => format!("- xapp {}", xapp.id),
        RicEvent::Conflict { node, target, winner, loser } => {
            format!("! {node}: {target} is set by {winner}, not by {loser}")
        }
        RicEvent::Owned { node, epoch, .. } => {
            format!("= {node} is served by this RIC, as owner number {epoch}")
        }
        RicEvent::Disowned { node, why, .. } => format!("= {node} is no longer served by this RIC: {why}"),
        RicEvent::Lawful { lawful: true, .. } => "= part of the quorum: controls are accepted".to_owned(),
        RicEvent::Lawful { lawful: false, .. } => "= no quorum: controls are rejected".to_owned(),
        RicEvent::Reach(Ok(())) => "= connected to the bus".to_owned(),
        RicEvent::Reach(Err(why)) => format!("= no bus, retrying: {why}"),
        RicEvent::NotTaken { iapp, node: Some(node), why } => {
            format!("! the state of {iapp} for {node} was not transferred: {why}")
        }
        RicEvent::NotTaken { iapp, why, .. } => format!("! the state of {iapp} was not transferred: {why}"),
        RicEvent::Fault { peer, what, .. } => format!("! {peer}: {what}"),
        RicEvent::Hint(hint) => match hint.node {
            Some(node) => format!("? {node}: {}", hint.sentence),
            None => format!("? {}: {}", hint.peer, hint.sentence),
        },
        _ => return Ok(()),
    };
    output.text(&line)?;
    match time_of(event).map(|at| ranlab_sdk::unix_time_at(at).as_micros()) {
        Some(at) => output.item(&serde_json::json!({ "event": line, "at_us": at as u64 }))?,
        None => output.item(&serde_json::json!({ "event": line }))?,
    }
    output.flush()
}
