//! `ranlab xapp nodes`: lists base stations and their capabilities.
use std::time::{Duration, Instant};

use crate::joined;
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{NodeInfo, XappConfig};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, RanFunctionItem, Version};
use ranlab_sdk::wire::e2sm::{Offer, by_oid};
use ranlab_transport::{Address, SocketOptions};
use serde::Serialize;

use ranlab_command::exit::Failure;
use ranlab_command::output::{Format, Output};

/// Time limit until the first base station is connected.
const NODE_WAIT: Duration = Duration::from_secs(10);
/// Interval at which the list of base stations is checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);
/// Number of names per line of text.
const NAMES_PER_LINE: usize = 6;

/// Arguments of `xapp nodes`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab xapp nodes\n  ranlab xapp nodes --node \"505.01 1\" --sm kpm --format json"
)]
pub struct Arguments {
    /// Address of the RIC's listener for xApps
    #[arg(long, default_value_t = ranlab_lab::loopback(crate::E42_PORT))]
    connect: Address,
    /// Base station by its complete identity ("gnb 505.01 7/du 1", with or without "gnb"), or all base stations of a
    /// network ("505.01") [default: all]
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Service models to list, by name; repeatable [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    sm: Vec<String>,
    /// E2AP version of the RIC, which determines the numbering of messages
    #[arg(long, default_value_t = Version::V2_03)]
    e2ap: Version,
}

#[derive(Debug, Serialize)]
struct Node {
    node: String,
    functions: Vec<Function>,
}

#[derive(Debug, Serialize)]
struct Function {
    id: u16,
    oid: Option<String>,
    sm: Option<&'static str>,
    revision: u16,
    offers: Vec<OfferItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    malformed: Option<String>,
}

#[derive(Debug, Serialize)]
struct OfferItem {
    kind: &'static str,
    number: String,
    name: String,
    items: Vec<String>,
}

/// All base stations, for JSON output.
#[derive(Debug, Serialize)]
struct Summary {
    nodes: Vec<Node>,
}

impl From<Offer> for OfferItem {
    fn from(Offer { kind, number, name, items }: Offer) -> Self {
        Self { kind, number, name, items }
    }
}

impl Function {
    fn new(function: &RanFunctionItem) -> Self {
        let model = function.oid.as_deref().and_then(by_oid);
        let offers = model.map(|model| model.offers(&function.definition)).transpose();
        let malformed = offers.as_ref().err().map(ToString::to_string);
        Self {
            id: function.id,
            oid: function.oid.clone(),
            sm: model.map(|model| model.name()),
            revision: function.revision,
            offers: offers.ok().flatten().into_iter().flatten().map(OfferItem::from).collect(),
            malformed,
        }
    }

    fn lines(&self) -> Vec<String> {
        let name = self.sm.or(self.oid.as_deref()).unwrap_or("no OID");
        let mut lines = vec![format!("  {} {name}", self.id)];
        if let Some(reason) = &self.malformed {
            lines.push(format!("    the function definition cannot be decoded: {reason}"));
        }
        for offer in &self.offers {
            let space = if offer.number.is_empty() { "" } else { " " };
            lines.push(format!("    {} {}{space}{}", offer.kind, offer.number, offer.name));
            lines.extend(
                offer.items.chunks(NAMES_PER_LINE).map(|names| format!("      {}", names.join(", "))),
            );
        }
        lines
    }
}

impl Node {
    fn new(id: &GlobalE2NodeId, info: &NodeInfo, sm: &[String]) -> Self {
        let functions = info.functions.iter().map(Function::new);
        let is_wanted = |it: &Function| {
            sm.is_empty()
                || it.sm.is_some_and(|name| sm.iter().any(|listed| listed.eq_ignore_ascii_case(name)))
        };
        Self { node: id.to_string(), functions: functions.filter(is_wanted).collect() }
    }
}

/// Waits for base stations with this name.
async fn nodes(xapp: &XappHandle, arguments: &Arguments) -> Result<Vec<Node>, Failure> {
    let begin = Instant::now();
    loop {
        let (found, others) = xapp.read(|xapp| {
            let named = |(id, _): &(&GlobalE2NodeId, &NodeInfo)| {
                arguments.node.as_deref().is_none_or(|name| id.is_named(name))
            };
            let found = xapp.nodes().filter(named).map(|(id, info)| Node::new(id, info, &arguments.sm));
            (found.collect::<Vec<_>>(), xapp.nodes().map(|(id, _)| id.to_string()).collect::<Vec<_>>())
        });
        if !found.is_empty() {
            return Ok(found);
        }
        if begin.elapsed() > NODE_WAIT {
            let name =
                arguments.node.as_deref().map_or_else(String::new, |name| format!(" with the name {name}"));
            let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            return Err(Failure::Environment(format!("no base station{name}; connected: {others}")));
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let config = XappConfig::new(arguments.connect.to_string()).with(|it| it.version = arguments.e2ap);
    let xapp = XappHandle::start(config, SocketOptions::default());
    joined(&xapp).await.map_err(Failure::Environment)?;
    let mut output = Output::new(format);
    let nodes = nodes(&xapp, &arguments).await?;
    for node in &nodes {
        output.text(&node.node)?;
        for line in node.functions.iter().flat_map(Function::lines) {
            output.text(line)?;
        }
    }
    output.finish(&Summary { nodes })
}
