//! Keys and metrics of rig `upf`.

use ranlab_campaign::metrics;
use ranlab_campaign::rig::{Better, Metric, MetricKind};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_parts::{Config, UpfLoadPart, UpfPart};

use crate::harness::metric_of_places;
use crate::{keys, noise, readback, stranger};

const DESIGNS: [&str; 5] = ["cp-offload", "software", "dp-offload", "bare", EXTERNAL];
const OWN: &[&str] = &["cp-offload", "software", "dp-offload", "bare"];
/// Default address and dialect of ranlab's UPF; for another UPF, its profile takes precedence.
pub(super) const N4: &str = "127.8.0.8:8805";
pub(super) const N3: &str = "127.8.0.8:2152";
pub(super) const DIALECT: &str = "strict-rel17";
/// Design value for a UPF that already runs.
pub(super) const EXTERNAL: &str = "external";
const MODES: [&str; 7] = ["control", "blind", "sessions", "mixed", "handover", "paging", "qos"];

pub(super) fn keys() -> Vec<Key> {
    let mut keys = keys_of_upf();
    keys.extend(keys_of_load());
    keys.extend(keys::host());
    keys
}

fn text(path: &str, comment: &str) -> Key {
    Key::new(path, Kind::Text, comment)
}

fn keys_of_upf() -> Vec<Key> {
    let design = |key: Key| Key {
        kind: Kind::choice(&DESIGNS),
        comment: "of our UPF (bare: packets are passed on unread), or external: it runs already".to_owned(),
        ..key
    };
    let n3 = |key: Key| Key { comment: "N3 of the UPF; its N6 is the next port".to_owned(), ..key };
    let own = |key: Key| key.when("sut.design", OWN);
    let mut keys = UpfPart::keys("sut")
        .change("design", design)
        .or("n4", N4)
        .or("n3", N3)
        .change("n3", n3)
        .each(&["install", "service", "scan"], own)
        .each(&["held_answers", "queue", "crash_after", "restart_after", "busy_poll"], |key| {
            own(key.optional())
        })
        .change("pin", Key::optional)
        .keys();
    keys.extend([
        keys::place("sut.at", "the UPF"),
        text("sut.netns", "network namespace of the UPF, made before; on this machine alone").optional(),
        text("sut.n6", "of the UPF: own (IP in UDP to the load), sink, reflect, tun://DEVICE")
            .or("own")
            .when("sut.design", OWN),
        Key::new(
            "sut.pid",
            Kind::Int { min: 1, max: 1 << 22 },
            "process of an external UPF on sut.at: its end is told, its memory and CPU time are measured; without this, \
             sut.command and sut.cgroup its work counts as somebody else's there",
        )
        .optional()
        .when("sut.design", &[EXTERNAL]),
        text("sut.command", "or every process of that name there").optional().when("sut.design", &[EXTERNAL]),
        text("sut.cgroup", "or every process of that control group, such as a container's")
            .optional()
            .when("sut.design", &[EXTERNAL]),
    ]);
    keys.extend(stranger::keys("sut.design", &[EXTERNAL]));
    keys
}

/// Load settings without a default here; the default is that of `ranlab load upf`.
const AS_THE_VERB: &[&str] = &[
    "io",
    "pin",
    "ue",
    "server",
    "dnn",
    "rate",
    "burst",
    "hold",
    "dynamic",
    "round",
    "lead",
    "delay",
    "flat_out",
    "reflect_every",
    "t1",
    "n1",
    "heartbeat",
    "no_smoke",
    "anew",
];

fn keys_of_load() -> Vec<Key> {
    let rate = |unit: &'static str| {
        move |key: Key| Key { kind: Kind::positive(), unit: unit.to_owned(), ..key }.optional()
    };
    let mut keys = UpfLoadPart::keys("load")
        .without(&["upf_pid"])
        .change("mode", |key| Key { kind: Kind::choice(&MODES), comment: "what to do".to_owned(), ..key })
        .each(AS_THE_VERB, Key::optional)
        .each(&["uplink", "downlink"], rate("1/s"))
        .each(&["mbr_mbps", "offered_mbps"], rate("Mbit/s"))
        .keys();
    keys.extend([
        keys::load_places("the load"),
        text("load.netns", "network namespace of the load, made before; on this machine alone").optional(),
        text(
            "load.n6",
            "own, none, or routed://ADDRESS where the kernel routes; without this: own with our UPF, none with an external one",
        )
        .optional(),
        text("load.network", "our data network's end of N6").or("127.8.0.10:2153"),
    ]);
    keys
}

pub(super) fn metrics() -> Vec<Metric> {
    let mut metrics = metrics! {
        Scalar Higher "sessions_per_s" "1/s" "whole cycles (establishment, modification, deletion) within the sending window, in a second of it";
        Scalar Neither "sessions_due_per_s" "1/s" "sessions that were due: the load that was offered";
        Scalar Neither "sessions_begun_per_s" "1/s" "of these, those that were begun";
        Scalar Neither "requests_offered_per_s" "1/s" "requests that were due in the time measured";
        Scalar Neither "requests_accepted_per_s" "1/s" "of these, those that the load's own kernel took";
        Scalar Higher "requests_acknowledged_per_s" "1/s" "of these, those that the UPF answered within the sending window";
        Series Higher "sessions_completed_rate" "1/s" "whole cycles of each second of the run";
        Series Neither "sessions_live" "" "at the end of each second of the run";
        Scalar Lower "upf_silent_s" "s" "the longest time that the UPF said nothing although it was asked, from 1 s on";
        Scalar Higher "answers_per_s" "1/s" "requests answered within the sending window";
        Scalar Lower "sessions_failed_ratio" "" "sessions of which a request was rejected or lost";
        Scalar Lower "requests_lost_ratio" "" "requests never answered";
        Scalar Lower "backlog_ratio" "" "sessions by which the number of those under way grew in the second half of the window, by those due then: above 0.01 the UPF does not keep up";
        Scalar Lower "loss_ratio" "" "the largest of requests lost, sessions failed, packets lost, by those sent, and of a backlog_ratio above 0.01: for searches";
        Scalar Lower "unexplained" "" "requests without an end, responses to no request" .counted();
        Scalar Lower "sessions_left_behind" "" "whose deletion the UPF did not confirm";
        Scalar Neither "live_sessions" "" "at most";
        Scalar Neither "drift_rate" "" "rate of the last third of the seconds over that of the first";
        Scalar Neither "drift_latency" "" "latency in the last third of the seconds over that in the first";
        Scalar Higher "sessions_established" "" "before packets flow";
        Scalar Higher "set_up_per_s" "1/s" "sessions set up before, in a second";
        Scalar Higher "uplink_pps" "1/s" "packets that arrived from UEs";
        Scalar Higher "uplink_mbps" "Mbit/s" "IP packets that arrived from UEs";
        Scalar Neither "uplink_offered_pps" "1/s" "packets from UEs that were due";
        Scalar Neither "uplink_accepted_pps" "1/s" "of these, those that the load's own kernel took";
        Scalar Lower "uplink_unseen_ratio" "" "packets that nobody looked for, by those sent";
        Scalar Lower "uplink_lost_ratio" "" "packets lost, by those sent that somebody looked for";
        Scalar Higher "downlink_pps" "1/s" "packets that arrived at base stations";
        Scalar Higher "downlink_mbps" "Mbit/s" "IP packets that arrived at base stations";
        Scalar Neither "downlink_offered_pps" "1/s" "packets to UEs that were due";
        Scalar Neither "downlink_accepted_pps" "1/s" "of these, those that the load's own kernel took";
        Scalar Lower "downlink_lost_ratio" "" "packets lost, by those sent";
        Scalar Lower "round_trip_us_p50" "us" "median round trip of reflected packets, from the intended time";
        Scalar Lower "round_trip_us_p99" "us" "99th percentile of the round trip of reflected packets, from the intended time";
        Scalar Lower "interruption_us_p50" "us" "median interruption by a handover: last packet before to first after";
        Scalar Lower "interruption_us_p99" "us" "99th percentile of the interruption by a handover: last packet before to first after";
        Scalar Neither "handovers_offered_per_s" "1/s" "handovers that were due; mode paging: sessions that were to fall idle";
        Scalar Neither "handovers_accepted_per_s" "1/s" "of these, those that were begun: a session that is still in one takes no other";
        Scalar Neither "end_markers_per_handover" "" "1 where the UPF sends them" .counted();
        Scalar Lower "sut.cpu_us_per_session" "us" "CPU time of the UPF; without setting up in mode control";
        Scalar Lower "sut.rss_mb" "MB" "resident memory of the UPF";
        Scalar Lower "sut.stopped_s" "s" "how long something of it was stopped by a signal, of a UPF that we did not write";
        Scalar Neither "tool.lateness_us_p99" "us" "how late requests or packets left, the worse";
        Scalar Higher "tool.answers_per_cpu_s" "1/s" "requests answered for each second of the SMF's CPU time";
        Scalar Higher "tool.packets_per_cpu_s" "1/s" "packets sent for each second of the load's CPU time";
        Scalar Lower "tool.unsent_ratio" "" "the largest share of what was due and not sent: packets of a direction, sessions, requests, handovers" .unsent_share();
    };
    metrics.extend(latencies());
    metrics.push(metric_of_places());
    metrics.extend(readback::metrics());
    metrics.extend(noise::metrics());
    metrics
}

/// Returns the latency metrics of each request type.
fn latencies() -> Vec<Metric> {
    let latency =
        |name: String, comment: &str| Metric::new(&name, "us", MetricKind::Scalar, Better::Lower, comment);
    let mut metrics = Vec::new();
    for (a, kind) in [("an", "establishment"), ("a", "modification"), ("a", "deletion"), ("a", "cycle")] {
        metrics.extend([("p50", "median"), ("p99", "99th percentile of the"), ("mean", "mean")].map(
            |(quantile, words)| {
                let comment = format!("{words} latency of {a} {kind}, from the intended time");
                latency(format!("{kind}_us_{quantile}"), &comment)
            },
        ));
    }
    metrics.extend(["establishment", "modification", "deletion"].map(|kind| {
        latency(format!("{kind}_us_service_p50"), &format!("median latency of one {kind}, from its sending"))
    }));
    metrics.extend(["establishment", "modification", "deletion"].map(|kind| {
        let comment =
            format!("fastest response to one {kind}, from its sending: other work hardly changes it");
        latency(format!("{kind}_us_service_min"), &comment).bounded()
    }));
    metrics
}
