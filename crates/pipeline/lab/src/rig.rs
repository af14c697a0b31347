//! Rig `pipeline`: measures the forwarding rate of a packet pipeline in ranlab's or another switch, and the cost of
//! changes to its tables.
//!
//! In tier `mem`, packets come from a trace in memory and are not sent, so one core and no network card suffice. Rates
//! are packets per second of CPU time of the forwarding cores. In tier `ring`, an open-loop tester and the switch
//! exchange packets through shared memory ([`ring`]). Each of them is a process on a separate core. Rates of different
//! tiers are different measurements and cannot be compared.

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::point::Point;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{LimitViolation, Metric, Outcome, RepeatTime, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_campaign::{keys, metrics};
use ranlab_pipeline::backends::{self, Tier};
use ranlab_pipeline::pipelines::Pipeline as Declared;
use ranlab_pipeline::trace::Traffic;

use crate::{PipelineComponent, RingTesterComponent};
use ranlab_campaign::results::Results;
use ranlab_lab::experiment::harness::{self, Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::{keys, noise, third_party};
use ranlab_lab::worker::Report;
use ranlab_lab::{AnyComponent, Config, JsonField};

mod own;
mod ring;
mod speedup;

pub use own::{PATHS, Sent, sent};

/// Name of ranlab's engine.
const NATIVE: &str = "native";
/// Name of the device that forwards without processing. It measures the rings and allows fault injection.
const BARE: &str = "bare";
/// Name of the switch controlled by a plug-in program.
const PLUGIN: &str = "plugin";
/// Name of an OpenFlow switch that already runs.
const OPENFLOW: &str = "openflow";
/// Name of the switch that may be run from a build folder.
const VPP: &str = "vpp";
/// Engines that are known only from published figures. They cannot be run. Only the curves of the figures are
/// available.
const PUBLISHED: [&str; 2] = ["eswitch", "lagopus"];
/// Maximum ratio of the busiest worker to the mean. Above it, a rate over several cores is degraded.
const UNEVEN: f64 = 1.25;
/// Minimum share of the due changes that must be applied. Below it, a repeat is degraded.
const TAKEN_AT_LEAST: f64 = 0.99;
/// Number of cores of the blade in the paper of the benchmark TIPSY.
const BLADE_CORES: f64 = 24.0;

/// Reason why tier `mem` does not support third-party engines.
const NO_STRANGER: &str = "packets come from memory of the engine's own process and never leave it; rig upf loads a program over sockets";
/// Role of the engine.
const ENGINE: &str = "packet engine";

/// Rig `pipeline`.
pub(crate) struct Pipeline;

impl Experiment for Pipeline {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "pipeline".to_owned(),
            aliases: Vec::new(),
            comment: "telco packet pipelines in ours and other switches: packets per CPU-second, and what changes cost"
                .to_owned(),
            keys: keys(),
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(2),
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: include_str!("rig/starter.toml"),
        }
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        if settings.get("pipeline.name").and_then(Value::text) == Some(own::OWN) {
            let point = Point { index: 0, axes: Vec::new(), settings: settings.clone() };
            match declared(&Run::new(&point, 0, 0, Duration::ZERO)) {
                Ok(Declared::Own(own)) if !own.notes().is_empty() => return Some(Ok(own.notes().join("; "))),
                Ok(_) => {}
                Err(error) => return Some(Err(error.to_string())),
            }
        }
        third_party::refused(settings, NO_STRANGER)
    }

    /// In tier `ring`, the tester performs the warm-up and ends its windows.
    fn warms_up(&self, run: &Run<'_>) -> bool {
        !tested(run)
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        let engine = keys::text(run, "sut.engine")?;
        let tier = keys::text(run, "sut.tier")?;
        let declared = declared(run)?;
        let traffic = traffic(run)?;
        possible(engine, tier)?;
        let part = PipelineComponent {
            engine: engine.to_owned(),
            tier: tier.to_owned(),
            pipeline: Some(JsonField(declared)),
            traffic: JsonField(traffic),
            trace: own::captures(run),
            verify: keys::int(run, "load.verify")?,
            ..PipelineComponent::read(run, "sut")?
        };
        if tested(run) {
            return ring::bring_up(run, stage, part);
        }
        stage.sut(ENGINE, "sut.at", AnyComponent::from(part)).map(drop)
    }

    fn verdict(&self, results: &Results) -> Vec<String> {
        speedup::verdict(results).into_iter().chain(ring::verdict(results)).collect()
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        if window.find(ring::TESTER).is_some() {
            return ring::record(run, window, recorder);
        }
        let report = window.report(ENGINE)?;
        harness::copy_all(recorder, report);
        let changes = churn(report, recorder);
        let number = |name: &str| report.number(name);
        // TIPSY's formula: (bit/s per core, without the wire overhead) / (bit/s per user) × (number of cores).
        let mbps_per_core = number("mpps_per_core")? * number("frame_bytes_mean")? * 8.0;
        let promised = run.number("load.mbps-per-user").ok_or_else(|| keys::missing("load.mbps-per-user"))?;
        let nothing_leaves = ring::nothing_leaves(report);
        if nothing_leaves.is_none() {
            recorder.scalar("users_per_blade", mbps_per_core / promised * BLADE_CORES);
        }
        let above = |metric: &str, at_most: f64| {
            Ok::<_, RigError>(LimitViolation::above(metric, number(metric)?, at_most))
        };
        let dropped = ring::from_memory(report, recorder);
        let judged = recorder.judge([
            (Outcome::Invalid, nothing_leaves),
            (Outcome::Overloaded, above("updates_refused", 0.0)?),
            (Outcome::Overloaded, above("changes_refused", 0.0)?),
            (Outcome::Degraded, above("core_imbalance", UNEVEN)?),
            (Outcome::Degraded, changes.and_then(|changes| changes.breach())),
        ]);
        if let Some(words) = dropped.filter(|_| judged != Outcome::Ok) {
            recorder.also(&words);
        }
        Ok(judged)
    }
}

/// Changes in a window: the number due, and the number applied by the switch.
#[derive(Debug, Clone, Copy)]
struct Changes {
    due: f64,
    taken: f64,
}

impl Changes {
    /// Returns a violation if the switch, or the component that sends the changes, did not keep up.
    fn breach(self) -> Option<LimitViolation> {
        let share = self.taken / self.due.max(1.0);
        LimitViolation::below("updates_applied_ratio", share, TAKEN_AT_LEAST).filter(|_| self.due > 0.0)
    }
}

/// Records the rates of due and applied changes. Returns `None` if the pipeline has no changes.
fn churn(report: &Report, recorder: &mut Recorder) -> Option<Changes> {
    let sent = *report.numbers.get("updates_sent")?;
    let seconds = report.wall_s.max(1e-9);
    recorder.scalar("updates_per_s", sent / seconds);
    let due = *report.numbers.get("updates_due")?;
    recorder.scalar("updates_offered_per_s", due / seconds);
    recorder.scalar("updates_applied_ratio", if due > 0.0 { sent / due } else { 1.0 });
    Some(Changes { due, taken: sent })
}

/// Returns the engines that a scenario can name: ranlab's engine, supported third-party switches, and the engines of
/// published figures.
fn engines() -> Vec<&'static str> {
    let mut all = vec![NATIVE, BARE, PLUGIN];
    let backends = backends::all().iter().map(|backend| backend.name());
    for name in backends.chain(PUBLISHED) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Tiers with a tester.
const TESTED: [&str; 2] = [Tier::Ring.name(), Tier::Nic.name()];

/// Returns whether the tier has a tester.
fn tested(run: &Run<'_>) -> bool {
    run.text("sut.tier").is_some_and(|tier| TESTED.contains(&tier))
}

/// Checks whether an engine supports a tier, before anything is started.
fn possible(engine: &str, tier: &str) -> Result<(), RigError> {
    let tiers = match backends::named(engine) {
        Some(backend) => backend.tiers(),
        None if engine == NATIVE => &[Tier::Mem, Tier::Ring][..],
        None if engine == BARE => &[Tier::Ring],
        None if engine == PLUGIN => &[Tier::Ring, Tier::Nic],
        None => {
            return Err(RigError::Environment(format!(
                "`sut.engine` \"{engine}\" is only known from published figures and cannot be run"
            )));
        }
    };
    if tiers.iter().any(|one| one.name() == tier) {
        return Ok(());
    }
    if let Some(backend) = backends::named(engine).filter(|_| tiers.is_empty()) {
        return Err(RigError::Environment(format!(
            "`sut.engine` \"{engine}\" cannot be run by this version. Its configuration is written by \
             `ranlab bench config SCENARIO --engine {engine} --out DIR`, the switch is installed by: {}",
            backend.install()
        )));
    }
    let tiers: Vec<&str> = tiers.iter().map(|one| one.name()).collect();
    Err(RigError::Environment(format!(
        "`sut.tier` \"{tier}\" is not supported by \"{engine}\"; supported: {}",
        tiers.join(", ")
    )))
}

/// Returns the settings of a section as JSON, under the names that the pipeline reads.
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
    if run.text("pipeline.name") == Some(own::OWN) {
        return own::declared(run);
    }
    let parameters = parameters();
    let names: Vec<&str> =
        parameters.iter().map(Key::name).chain(["name", "decomposition", "fakedrop"]).collect();
    let mut given = section(run, "pipeline", &names);
    if let Some(updates) = own::updates(run)? {
        let updates = serde_json::to_value(updates).map_err(|error| RigError::Rig(error.to_string()))?;
        given.insert("updates".to_owned(), updates);
    }
    let pipeline: Declared = serde_json::from_value(given.into())
        .map_err(|error| RigError::Rig(format!("[pipeline]: {error}")))?;
    pipeline.check().map_err(|error| RigError::Rig(format!("[pipeline]: {error}")))?;
    Ok(pipeline)
}

fn traffic(run: &Run<'_>) -> Result<Traffic, RigError> {
    let mut map = section(run, "load", &["pkt-size", "pkt-num", "dir", "flows"]);
    // In tier `ring`, all trials of a search use the same trace, so that the switch under test keeps running.
    let ring = tested(run);
    map.insert("random-seed".to_owned(), if ring { u64::from(run.repeat) } else { run.seed }.into());
    let mut traffic: Traffic =
        serde_json::from_value(map.into()).map_err(|error| RigError::Rig(format!("[load]: {error}")))?;
    if keys::text(run, "load.popularity")? == "zipf" {
        let exponent = run.number("load.exponent").unwrap_or(1.0);
        traffic.popularity = ranlab_pipeline::trace::Popularity::Zipf { exponent };
    }
    if keys::text(run, "load.sizes")? == "imix" {
        traffic.sizes = ranlab_pipeline::trace::Sizes::Imix;
    }
    Ok(traffic)
}

const MANY: i64 = 1 << 21;
const RATE_MAX: i64 = 1_000_000_000_000;
/// Returns the keys for pipeline parameters under TIPSY's names. Each key states its pipelines, and its range or
/// choices.
fn parameters() -> Vec<Key> {
    let number = |most: i64| Kind::Int { min: 0, max: most };
    macro_rules! table {
        (@kind to $most:expr) => { number($most) };
        (@kind of $choices:expr) => { Kind::choice($choices) };
        ($($name:literal [$($of:literal),*] $how:tt ($what:expr) $comment:literal;)*) => {
            vec![$(
                Key::new(concat!("pipeline.", $name), table!(@kind $how $what), $comment)
                    .optional()
                    .when("pipeline.name", &[$($of),*])
            ),*]
        };
    }
    table! {
        "upstream-table-size" ["l2fwd"] to (MANY) "MAC addresses towards the core";
        "downstream-table-size" ["l2fwd"] to (MANY) "MAC addresses towards the access side";
        "fluct-table" ["l2fwd"] to (65_000) "MAC addresses added and removed per second";
        "upstream-l3-table-size" ["l3fwd"] to (MANY) "prefixes towards the core";
        "upstream-group-table-size" ["l3fwd"] to (16_383) "next hops towards the core";
        "downstream-l3-table-size" ["l3fwd"] to (MANY) "prefixes towards the access side";
        "downstream-group-table-size" ["l3fwd"] to (16_383) "next hops towards the access side";
        "fluct-l3-table" ["l3fwd"] to (65_000) "routes added and removed per second";
        "fluct-group-table" ["l3fwd"] to (65_000) "changes of next hops per second";
        "family" ["l3fwd", "encap", "rlimit", "acl", "nat", "dcgw", "mgw", "bng"] of (&["ipv4", "ipv6", "dual"]) "IP version of prefixes, users, stations or rules; nat, dcgw and bng: ipv4";
        "prefix-lengths" ["l3fwd"] of (&["uniform", "mixed"]) "prefix lengths: all /24 as published, or as in the Internet";
        "station" ["encap"] to (MANY) "stations behind the tunnels";
        "endpoint" ["encap"] to (MANY) "far tunnel endpoints";
        "rule-num" ["acl"] to (100_000) "rules";
        "seed-file" ["acl"] of (&["acl1", "fw1", "ipc1"]) "structure of the rules";
        "rule-seed" ["acl"] to (i64::MAX) "seed of the rules";
        "range-port-min" ["nat"] to (65_535) "first private port";
        "range-port-max" ["nat"] to (65_535) "last private port";
        "vm" ["dcgw"] to (MANY) "virtual machines";
        "host" ["dcgw"] to (MANY) "hosts";
        "vm-conn" ["dcgw"] to (65_023) "translations per machine";
        "user" ["mgw", "bng", "rlimit"] to (MANY) "users";
        "bst" ["mgw"] to (MANY) "base stations";
        "cpe" ["bng"] to (64_516) "customer premises equipment";
        "server" ["mgw", "bng", "dcgw"] to (MANY) "servers, a /24 each";
        "nhop" ["mgw", "bng", "dcgw"] to (16_383) "next hops towards the servers";
        "tunneling-method" ["mgw", "bng"] of (&["gtp", "gre", "vxlan"]) "mgw: gtp or vxlan; bng: gre or vxlan";
        "user-conn" ["bng"] to (65_023) "translations per user";
        "fw-rules" ["bng"] to (50_000) "rules of the firewall in each direction";
        "rate-limit" ["mgw", "bng", "rlimit"] to (RATE_MAX) "rate of a user, in bytes per second";
        "rate-burst" ["mgw", "bng", "rlimit"] to (4_000_000_000) "depth of a user's token bucket, in bytes";
        "fluct-user" ["mgw", "bng"] to (65_000) "users added and removed per second";
        "handover" ["mgw"] to (MANY) "handovers per second";
        "fluct-server" ["mgw", "bng"] to (65_000) "servers added and removed per second";
        "spread" ["l2fwd", "l3fwd", "mgw", "bng"] of (&["even", "burst"]) "changes distributed over the second, or all at once";
    }
}

/// Names of the built-in pipelines.
const NAMES: [&str; 10] =
    ["portfwd", "l2fwd", "l3fwd", "encap", "rlimit", "acl", "nat", "dcgw", "mgw", "bng"];

/// Returns the names of all pipelines, including the user-defined one.
fn all_names() -> Vec<&'static str> {
    NAMES.into_iter().chain([own::OWN]).collect()
}

fn keys() -> Vec<Key> {
    let mut keys = keys! {
        ("pipeline.name", Kind::choice(&all_names()), "a published pipeline, or own: the pipeline declared in pipeline.file");
        ("pipeline.decomposition", Kind::choice(&["block", "chain"]), "block: elements may be merged; chain: separate elements. Both forward in the same way").or("block");
        ("pipeline.fakedrop", Kind::Bool, "unmatched packets leave through the other port").optional();
    };
    keys.extend(own::pipeline_keys());
    keys.extend(parameters());
    keys.extend(keys! {
        ("sut.engine", Kind::choice(&engines()), "forwarding engine: ranlab's (native), none (bare, in rings), a switch installed on this machine (docs/reference/backends.md), or a curve of the published figures").or("native");
        ("sut.tier", Kind::choice(&Tier::ALL.map(Tier::name)), "source and destination of packets; rates of different tiers cannot be compared").or("mem").apart();
    });
    keys.extend(PipelineComponent::keys("sut").only(&["cores", "isa"]).keys());
    let rings = PipelineComponent::keys("sut").only(&["ring", "drop_every", "hang_after"]);
    keys.extend(rings.when("sut.tier", &[Tier::Ring.name()]).keys());
    keys.extend(PipelineComponent::keys("sut").only(&["plugin"]).when("sut.engine", &[PLUGIN]).keys());
    keys.extend(PipelineComponent::keys("sut").only(&["build"]).when("sut.engine", &[VPP]).keys());
    let far = PipelineComponent::keys("sut")
        .only(&["address", "access_port", "core_port", "access_interface", "core_interface"])
        .when("sut.engine", &[OPENFLOW]);
    keys.extend(far.keys());
    keys.push(keys::place("sut.at", "the packet engine"));
    keys.push(third_party::refused_key(NO_STRANGER));
    keys.extend(keys! {
        ("load.dir", Kind::choice(&["uplink", "downlink", "bidir"]), "direction of the traffic").or("uplink");
        ("load.pkt-size", Kind::Int { min: 54, max: 1518 }, "frame size at the user, without the 4 bytes of the FCS: RFC 2544's 64 is 60 here, its 1518 is 1514").unit("B").or(64);
        ("load.pkt-num", Kind::Int { min: 0, max: 1 << 24 }, "packets of the trace, which is replayed").or(65_536);
        ("load.flows", Kind::Int { min: 0, max: 1 << 24 }, "active flows; 0: one per table entry").or(0);
        ("load.popularity", Kind::choice(&["uniform", "zipf"]), "distribution of packets over flows").or("uniform");
        ("load.exponent", Kind::positive(), "exponent of Zipf's law").or(1.0).when("load.popularity", &["zipf"]);
        ("load.sizes", Kind::choice(&["fixed", "imix"]), "frame sizes: all pkt-size, or 7 : 4 : 1 frames of 60, 590 and 1514 bytes, which are 64, 594 and 1518 with FCS").or("fixed");
        ("load.mbps-per-user", Kind::positive(), "guaranteed rate per user, for users_per_blade").unit("Mbit/s").or(3.0);
    });
    keys.push(own::trace_key());
    keys.extend(PipelineComponent::keys("load").only(&["verify"]).keys());
    keys.extend(RingTesterComponent::keys("load").when("sut.tier", &TESTED).keys());
    keys.extend(keys::host());
    keys
}

fn metrics() -> Vec<Metric> {
    let mut metrics = metrics! {
        Scalar Higher "mpps" "Mpps" "packets per CPU second over all cores with this mix of flows; for a remote switch (openflow) per second";
        Scalar Higher "mpps_per_core" "Mpps" "packets per CPU second, mean over the cores";
        Scalar Higher "gbps" "Gbit/s" "rate on the wire of the packets in mpps that leave, with preamble, gap and FCS; absent if none leaves";
        Scalar Lower "ns_per_packet" "ns" "CPU time per packet, including input and output of the tier";
        Scalar Lower "io_ns" "ns" "CPU time per packet of input and output only: the copy loop, or the same devices without a switch";
        Scalar Higher "mpps_normalized" "Mpps" "mpps_per_core with the copy loop of the same repeat instead of the tier's input and output, to compare engines" .formerly("mpps_charged");
        Scalar Neither "trace_packets" "packets" "number of packets in the replayed trace";
        Scalar Higher "users_per_blade" "users" "24 times the number of users that one core serves at load.mbps-per-user";
        Scalar Neither "frame_bytes_mean" "B" "mean frame size on arrival, without FCS" .exact();
        Scalar Neither "copy_mpps" "Mpps" "rate of the bare copy loop in the same repeat";
        Scalar Higher "copy_share" "" "rate as a share of the copy loop's rate; independent of the share of the physical core";
        Scalar Lower "core_imbalance" "" "imbalance of flows over cores" .formerly("busiest_over_mean");
        Scalar Neither "drop_ratio" "" "packets dropped by the pipeline";
        Scalar Higher "verified_packets" "packets" "packets equal to the oracle in verdict and bytes" .exact();
        Scalar Neither "sut_release" "" "release of the switch, as a number such as 26.06 (vpp)" .exact();
        Scalar Higher "huge_page_ratio" "" "share of large tables on huge pages";
        Scalar Lower "slow_path_packets" "packets" "Open vSwitch: packets that missed its caches and were looked up in its tables; openflow: packets sent to controllers";
        Scalar Lower "slow_path_ratio" "" "slow_path_packets as a share of the packets received by the switch";
        Scalar Lower "slow_path_lost" "packets" "Open vSwitch: packets that missed its caches and were lost before the lookup";
        Scalar Neither "updates_due" "updates" "changes due in the window";
        Scalar Neither "updates_sent" "updates" "due changes that were sent in the window";
        Scalar Neither "updates_offered_per_s" "1/s" "changes due per second of the window";
        Scalar Higher "updates_per_s" "1/s" "due changes applied by the switch per second of the window";
        Scalar Higher "updates_applied_ratio" "" "applied changes divided by due ones; below 0.99 the repeat is degraded" .formerly("updates_taken_ratio");
        Scalar Lower "updates_late" "updates" "changes sent more than a millisecond late";
        Scalar Lower "updates_refused" "updates" "changes refused because a worker was behind" .formerly("updates_not_taken");
        Scalar Lower "changes_refused" "changes" "changes of unknown entries";
        Histogram Lower "burst_ns" "ns" "service time of a burst of 64 packets";
        Histogram Lower "update_applied_ns" "ns" "time from sending a change until every core has it; for a third-party switch, until it confirms the change" .formerly("update_visible_ns");
        Histogram Lower "update_effective_ns" "ns" "third-party switch in rings, and xdp: time from sending a change until it affects a continuously sent packet, measured once before the windows" .formerly("update_seen_ns");
    };
    metrics.extend(ring::metrics());
    metrics.extend(noise::metrics());
    metrics
}

#[cfg(test)]
mod tests;
