//! Rig `pipeline`: how fast a telco packet pipeline forwards, and what changes to it cost. Tier `mem`: packets come from
//! a trace in memory and go nowhere, so that one core and no network card suffice; rates are packets for each second of
//! CPU time of the cores that forward. Other tiers are other measurements and other rigs' business.

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Breach, Metric, MetricKind, Outcome, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_dataplane::pipelines::Pipeline as Declared;
use ranlab_dataplane::trace::Traffic;

use crate::harness::{self, Experiment, Stage, Window};
use crate::{keys, noise};
use ranlab_parts::{Config, Part, PipelinePart, Plain};

/// Engines that a scenario can name: ours, and those of the published figures.
const ENGINES: [&str; 6] = ["native", "ovs", "eswitch", "bess", "lagopus", "vpp"];
/// Frames may go to another worker only so unevenly before a rate over several cores is called degraded.
const UNEVEN: f64 = 1.25;
/// Cores of the published blade.
const BLADE_CORES: f64 = 24.0;

/// What the engine is to the rig.
const ENGINE: &str = "packet engine";

/// The rig.
pub(crate) struct Pipeline;

impl Experiment for Pipeline {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "pipeline".to_owned(),
            aliases: Vec::new(),
            comment: "telco packet pipelines from memory: packets per CPU-second, and what changes cost"
                .to_owned(),
            keys: keys(),
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(2),
            starter: include_str!("starters/pipeline.toml"),
        }
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Stage<'_>) -> Result<(), RigError> {
        let engine = keys::text(run, "sut.engine")?;
        if engine != "native" {
            return Err(RigError::Environment(format!(
                "`sut.engine` \"{engine}\" is not driven by this version; \"native\" is"
            )));
        }
        let part = PipelinePart {
            pipeline: Some(Plain(declared(run)?)),
            traffic: Plain(traffic(run)?),
            verify: keys::int(run, "load.verify")?,
            ..PipelinePart::read(run, "sut")?
        };
        stage.sut(ENGINE, "sut.at", Part::Pipeline(Box::new(part))).map(drop)
    }

    fn record(
        &self,
        run: &Run<'_>,
        window: &Window<'_>,
        recorder: &mut Recorder,
    ) -> Result<Outcome, RigError> {
        let report = window.report(ENGINE)?;
        harness::copy_all(recorder, report);
        let number = |name: &str| report.number(name);
        // As published: one core's bits, without what a wire adds, by what a user is promised, times the cores.
        let mbps_per_core = number("mpps_per_core")? * number("frame_bytes_mean")? * 8.0;
        let promised = run.number("load.mbps-per-user").ok_or_else(|| keys::missing("load.mbps-per-user"))?;
        recorder.scalar("users_per_blade", mbps_per_core / promised * BLADE_CORES);
        let above =
            |metric: &str, at_most: f64| Ok::<_, RigError>(Breach::above(metric, number(metric)?, at_most));
        Ok(recorder.judge([
            (Outcome::Overloaded, above("updates_not_taken", 0.0)?),
            (Outcome::Overloaded, above("changes_refused", 0.0)?),
            (Outcome::Degraded, above("busiest_over_mean", UNEVEN)?),
        ]))
    }
}

/// The settings of a section as JSON, under the names that the pipeline itself reads.
fn section(run: &Run<'_>, section: &str, names: &[&str]) -> serde_json::Map<String, serde_json::Value> {
    let mut map = serde_json::Map::new();
    for name in names {
        let value = match run.value(&format!("{section}.{name}")) {
            Some(Value::Int(int)) => (*int).into(),
            Some(Value::Float(float)) => (float.round() as i64).into(),
            Some(Value::Bool(bool)) => (*bool).into(),
            Some(Value::Text(text)) => text.as_str().into(),
            _ => continue,
        };
        map.insert((*name).to_owned(), value);
    }
    map
}

fn declared(run: &Run<'_>) -> Result<Declared, RigError> {
    let names: Vec<&str> =
        PARAMETERS.iter().map(|p| p.name).chain(["name", "decomposition", "fakedrop"]).collect();
    let pipeline: Declared = serde_json::from_value(section(run, "pipeline", &names).into())
        .map_err(|error| RigError::Rig(format!("[pipeline]: {error}")))?;
    pipeline.check().map_err(|error| RigError::Rig(format!("[pipeline]: {error}")))?;
    Ok(pipeline)
}

fn traffic(run: &Run<'_>) -> Result<Traffic, RigError> {
    let mut map = section(run, "load", &["pkt-size", "pkt-num", "dir", "flows"]);
    map.insert("random-seed".to_owned(), run.seed.into());
    let mut traffic: Traffic =
        serde_json::from_value(map.into()).map_err(|error| RigError::Rig(format!("[load]: {error}")))?;
    if keys::text(run, "load.popularity")? == "zipf" {
        let exponent = run.number("load.exponent").unwrap_or(1.0);
        traffic.popularity = ranlab_dataplane::trace::Popularity::Zipf { exponent };
    }
    if keys::text(run, "load.sizes")? == "imix" {
        traffic.sizes = ranlab_dataplane::trace::Sizes::Imix;
    }
    Ok(traffic)
}

/// A parameter of pipelines under its published name.
struct Parameter {
    name: &'static str,
    of: &'static [&'static str],
    /// Greatest number; 0: one of `choices`.
    most: i64,
    choices: &'static [&'static str],
    comment: &'static str,
}

const fn number(
    name: &'static str,
    of: &'static [&'static str],
    most: i64,
    comment: &'static str,
) -> Parameter {
    Parameter { name, of, most, choices: &[], comment }
}

const fn choice(
    name: &'static str,
    of: &'static [&'static str],
    choices: &'static [&'static str],
    comment: &'static str,
) -> Parameter {
    Parameter { name, of, most: 0, choices, comment }
}

const MANY: i64 = 1 << 21;
const RATE_MAX: i64 = 1_000_000_000_000;
const PARAMETERS: &[Parameter] = &[
    number("upstream-table-size", &["l2fwd"], MANY, "MAC addresses towards the core"),
    number("downstream-table-size", &["l2fwd"], MANY, "MAC addresses towards the access side"),
    number("fluct-table", &["l2fwd"], 65_000, "MAC addresses that come and go each second"),
    number("upstream-l3-table-size", &["l3fwd"], MANY, "prefixes towards the core"),
    number("upstream-group-table-size", &["l3fwd"], 16_383, "next hops towards the core"),
    number("downstream-l3-table-size", &["l3fwd"], MANY, "prefixes towards the access side"),
    number("downstream-group-table-size", &["l3fwd"], 16_383, "next hops towards the access side"),
    number("fluct-l3-table", &["l3fwd"], 65_000, "routes that come and go each second"),
    number("fluct-group-table", &["l3fwd"], 65_000, "changes of next hops each second"),
    choice(
        "family",
        &["l3fwd", "encap", "rlimit", "acl", "nat", "dcgw", "mgw", "bng"],
        &["ipv4", "ipv6", "dual"],
        "IP version of prefixes, users, stations or rules; nat, dcgw and bng: ipv4",
    ),
    choice(
        "prefix-lengths",
        &["l3fwd"],
        &["uniform", "mixed"],
        "all /24 as published, or as in the Internet",
    ),
    number("station", &["encap"], MANY, "stations beyond the tunnels"),
    number("endpoint", &["encap"], MANY, "far tunnel endpoints"),
    number("rule-num", &["acl"], 100_000, "rules"),
    choice("seed-file", &["acl"], &["acl1", "fw1", "ipc1"], "structure of the rules"),
    number("rule-seed", &["acl"], i64::MAX, "seed of the rules"),
    number("range-port-min", &["nat"], 65_535, "first private port"),
    number("range-port-max", &["nat"], 65_535, "last private port"),
    number("vm", &["dcgw"], MANY, "virtual machines"),
    number("host", &["dcgw"], MANY, "hosts"),
    number("vm-conn", &["dcgw"], 65_023, "translations of each machine"),
    number("user", &["mgw", "bng", "rlimit"], MANY, "users"),
    number("bst", &["mgw"], MANY, "base stations"),
    number("cpe", &["bng"], 64_516, "customers' equipments"),
    number("server", &["mgw", "bng", "dcgw"], MANY, "servers, a /24 each"),
    number("nhop", &["mgw", "bng", "dcgw"], 16_383, "next hops towards the servers"),
    choice(
        "tunneling-method",
        &["mgw", "bng"],
        &["gtp", "gre", "vxlan"],
        "mgw: gtp or vxlan; bng: gre or vxlan",
    ),
    number("user-conn", &["bng"], 65_023, "translations of each user"),
    number("fw-rules", &["bng"], 50_000, "rules of the firewall in each direction"),
    number("rate-limit", &["mgw", "bng", "rlimit"], RATE_MAX, "rate of a user, octets per second"),
    number("rate-burst", &["mgw", "bng", "rlimit"], 4_000_000_000, "depth of a user's token bucket, octets"),
    number("fluct-user", &["mgw", "bng"], 65_000, "users that arrive and depart each second"),
    number("handover", &["mgw"], MANY, "handovers each second"),
    number("fluct-server", &["mgw", "bng"], 65_000, "servers that come and go each second"),
    choice(
        "spread",
        &["l2fwd", "l3fwd", "mgw", "bng"],
        &["even", "burst"],
        "changes evenly over a second, or at once",
    ),
];

/// The ten.
const NAMES: [&str; 10] =
    ["portfwd", "l2fwd", "l3fwd", "encap", "rlimit", "acl", "nat", "dcgw", "mgw", "bng"];

fn keys() -> Vec<Key> {
    let mut keys = vec![
        Key::new("pipeline.name", Kind::choice(&NAMES), "which of the published pipelines"),
        Key::new(
            "pipeline.decomposition",
            Kind::choice(&["block", "chain"]),
            "block: elements may be merged; chain: each stands alone. Both forward alike",
        )
        .or("block"),
        Key::new("pipeline.fakedrop", Kind::Bool, "unmatched packets leave by the other port").optional(),
    ];
    keys.extend(PARAMETERS.iter().map(|p| {
        let kind =
            if p.choices.is_empty() { Kind::Int { min: 0, max: p.most } } else { Kind::choice(p.choices) };
        Key::new(&format!("pipeline.{}", p.name), kind, p.comment).optional().when("pipeline.name", p.of)
    }));
    keys.extend([
        Key::new(
            "sut.engine",
            Kind::choice(&ENGINES),
            "who forwards; others than native cannot be measured yet",
        )
        .or("native"),
        Key::new("sut.tier", Kind::choice(&["mem"]), "where packets come from and go to").or("mem"),
    ]);
    keys.extend(PipelinePart::keys("sut").only(&["cores", "isa"]).keys());
    keys.extend([
        keys::place("sut.at", "the packet engine"),
        Key::new("load.dir", Kind::choice(&["uplink", "downlink", "bidir"]), "direction of the traffic")
            .or("uplink"),
        Key::new(
            "load.pkt-size",
            Kind::Int { min: 54, max: 1518 },
            "frame as it reaches the user, without FCS",
        )
        .unit("B")
        .or(64),
        Key::new(
            "load.pkt-num",
            Kind::Int { min: 0, max: 1 << 24 },
            "packets of the trace, which is replayed",
        )
        .or(65_536),
        Key::new(
            "load.flows",
            Kind::Int { min: 0, max: 1 << 24 },
            "active flows; 0: one for each table entry",
        )
        .or(0),
        Key::new("load.popularity", Kind::choice(&["uniform", "zipf"]), "how packets spread over flows")
            .or("uniform"),
        Key::new("load.exponent", Kind::positive(), "of Zipf's law")
            .or(1.0)
            .when("load.popularity", &["zipf"]),
        Key::new("load.sizes", Kind::choice(&["fixed", "imix"]), "all of pkt-size, or the Internet mix")
            .or("fixed"),
        Key::new("load.mbps-per-user", Kind::positive(), "what a user is promised, for users_per_blade")
            .unit("Mbit/s")
            .or(3.0),
    ]);
    keys.extend(PipelinePart::keys("load").only(&["verify"]).keys());
    keys.extend(keys::host());
    keys
}

fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    use MetricKind::{Histogram, Scalar};
    let scalar =
        |name: &str, unit: &str, better, comment: &str| Metric::new(name, unit, Scalar, better, comment);
    let mut metrics = vec![
        scalar("mpps", "Mpps", Higher, "packets per CPU-second that all cores carry of this mix of flows"),
        scalar("mpps_per_core", "Mpps", Higher, "packets per CPU-second, mean of the cores"),
        scalar("gbps", "Gbit/s", Higher, "mpps on a wire, with preamble, gap and FCS"),
        scalar("ns_per_packet", "ns", Lower, "CPU time of a packet, the copy out of the trace included"),
        scalar("users_per_blade", "users", Higher, "24 times what one core serves at load.mbps-per-user"),
        scalar("frame_bytes_mean", "B", Neither, "mean frame as it arrives, without FCS").exact(),
        scalar("copy_mpps", "Mpps", Neither, "the bare copy loop in the same repeat"),
        scalar(
            "copy_share",
            "",
            Higher,
            "of the copy loop's rate; holds with any share of the physical core",
        ),
        scalar("busiest_over_mean", "", Lower, "how unevenly flows spread over cores"),
        scalar("drop_ratio", "", Neither, "packets that the pipeline decides to drop"),
        scalar("verified_packets", "packets", Higher, "equal to the oracle, fate and octets").exact(),
        scalar("huge_page_ratio", "", Higher, "share of large tables that the kernel put on huge pages"),
        scalar("updates_sent", "updates", Neither, "changes sent in the window"),
        scalar("updates_late", "updates", Lower, "of these, more than a millisecond after their time"),
        scalar("updates_not_taken", "updates", Lower, "refused, because a worker was behind"),
        scalar("changes_refused", "changes", Lower, "that named something that is not there"),
        Metric::new("burst_ns", "ns", Histogram, Lower, "service time of a burst of 64 packets"),
        Metric::new(
            "update_visible_ns",
            "ns",
            Histogram,
            Lower,
            "from sending a change until every core has it",
        ),
    ];
    metrics.extend(noise::metrics());
    metrics
}

#[cfg(test)]
mod tests;
