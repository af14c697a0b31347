//! Keys and metrics of rig `upf`.

use crate::{UpfComponent, UpfLoadComponent};
use ranlab_campaign::metrics;
use ranlab_campaign::rig::{Better, Metric, MetricKind};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_lab::Config;

use ranlab_lab::experiment::harness::metric_of_places;
use ranlab_lab::experiment::{keys, noise, readback, third_party};

const DESIGNS: [&str; 5] = ["cp-offload", "software", "dp-offload", "bare", EXTERNAL];
const OWN: &[&str] = &["cp-offload", "software", "dp-offload", "bare"];
/// Default N4 address of ranlab's UPF. The profile of another UPF may set another address.
pub(super) const N4: &str = "127.8.0.8:8805";
pub(super) const N3: &str = "127.8.0.8:2152";
pub(super) const DIALECT: &str = "strict-rel17";
/// Value of `sut.design` for a UPF that already runs.
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
        comment: "design of ranlab's UPF (bare: packets are forwarded unread), or external: it already runs"
            .to_owned(),
        ..key
    };
    let n3 = |key: Key| Key { comment: "N3 of the UPF; its N6 is the next port".to_owned(), ..key };
    let own = |key: Key| key.when("sut.design", OWN);
    let mut keys = UpfComponent::keys("sut")
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
        text("sut.netns", "existing network namespace of the UPF; only on this machine").optional(),
        text("sut.n6", "N6 of the UPF: own (IP in UDP to the load), sink, reflect, tun://DEVICE")
            .or("own")
            .when("sut.design", OWN),
        Key::new(
            "sut.pid",
            Kind::Int { min: 1, max: 1 << 22 },
            "process id of an external UPF on sut.at: its exit is detected, and its memory and CPU time are measured; without sut.pid, sut.command and sut.cgroup, its CPU time counts as that of foreign programs",
        )
        .optional()
        .when("sut.design", &[EXTERNAL]),
        text("sut.command", "instead of sut.pid: all processes with this name on sut.at").optional().when("sut.design", &[EXTERNAL]),
        text("sut.cgroup", "instead of sut.pid: all processes of this control group, e.g. of a container")
            .optional()
            .when("sut.design", &[EXTERNAL]),
    ]);
    keys.extend(third_party::keys("sut.design", &[EXTERNAL]));
    keys
}

/// Load settings for which the rig has no default. Their defaults are those of `ranlab load upf`.
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
    "unpaced",
    "sizes",
    "reflect_every",
    "t1",
    "n1",
    "heartbeat",
    "no_smoke_test",
    "new_start_time",
];

fn keys_of_load() -> Vec<Key> {
    let rate = |unit: &'static str| {
        move |key: Key| Key { kind: Kind::positive(), unit: unit.to_owned(), ..key }.optional()
    };
    let mut keys = UpfLoadComponent::keys("load")
        .without(&["upf_pid"])
        .change("mode", |key| Key { kind: Kind::choice(&MODES), comment: "kind of load".to_owned(), ..key })
        .each(AS_THE_VERB, Key::optional)
        .each(&["uplink", "downlink"], rate("1/s"))
        .each(&["mbr_mbps", "offered_mbps"], rate("Mbit/s"))
        .keys();
    keys.extend([
        keys::load_places("the load"),
        text("load.netns", "existing network namespace of the load; only on this machine").optional(),
        text(
            "load.n6",
            "data network of the load: own, none, or routed://ADDRESS through the kernel; default: own with ranlab's UPF, none with an external UPF",
        )
        .optional(),
        text("load.network", "address of the load's data network on N6").or("127.8.0.10:2153"),
    ]);
    keys
}

pub(super) fn metrics() -> Vec<Metric> {
    let mut metrics = metrics! {
        Scalar Higher "sessions_per_s" "1/s" "complete cycles (establishment, modification, deletion) per second of the sending window";
        Scalar Neither "sessions_due_per_s" "1/s" "sessions due (offered load)";
        Scalar Neither "sessions_begun_per_s" "1/s" "sessions begun, out of the sessions due";
        Scalar Neither "requests_offered_per_s" "1/s" "requests due in the measured time";
        Scalar Neither "requests_accepted_per_s" "1/s" "requests due in the measured time that the load's kernel accepted";
        Scalar Higher "requests_acknowledged_per_s" "1/s" "requests due in the measured time that had a response within the sending window";
        Series Higher "sessions_completed_rate" "1/s" "complete cycles in each second of the run";
        Series Neither "sessions_live" "" "open sessions at the end of each second of the run";
        Scalar Lower "upf_unresponsive_s" "s" "longest time without a response of the UPF despite pending requests, from 1 s on" .formerly("upf_silent_s");
        Scalar Higher "responses_per_s" "1/s" "requests with a response within the sending window" .formerly("answers_per_s");
        Scalar Lower "sessions_failed_ratio" "" "sessions with a rejected or lost request";
        Scalar Lower "requests_lost_ratio" "" "requests without response";
        Scalar Lower "backlog_ratio" "" "growth of the number of pending sessions in the second half of the window, divided by the sessions due then; above 0.01 the UPF does not keep up";
        Scalar Lower "loss_ratio" "" "the largest of the shares of lost requests, failed sessions and lost packets, and of a backlog_ratio above 0.01; for searches";
        Scalar Lower "requests_unaccounted" "" "requests without a result, and responses that match no request" .counted().formerly("unexplained");
        Scalar Lower "sessions_not_deleted" "" "sessions whose deletion the UPF did not confirm" .formerly("sessions_left_behind");
        Scalar Neither "live_sessions" "" "maximum number of open sessions";
        Scalar Neither "drift_rate" "" "ratio of the rate in the last third of the seconds to that in the first";
        Scalar Neither "drift_latency" "" "ratio of the latency in the last third of the seconds to that in the first";
        Scalar Higher "sessions_established" "" "sessions established before packets are sent";
        Scalar Higher "sessions_setup_per_s" "1/s" "sessions set up before the measurement, per second" .formerly("set_up_per_s");
        Scalar Higher "uplink_pps" "1/s" "packets received from UEs";
        Scalar Higher "uplink_mbps" "Mbit/s" "IP packets received from UEs";
        Scalar Neither "uplink_offered_pps" "1/s" "packets due from UEs";
        Scalar Neither "uplink_accepted_pps" "1/s" "packets from UEs accepted by the load's kernel";
        Scalar Lower "uplink_unseen_ratio" "" "share of sent packets whose arrival was not monitored";
        Scalar Lower "uplink_lost_ratio" "" "share of lost packets among the monitored ones";
        Scalar Higher "downlink_pps" "1/s" "packets received by base stations";
        Scalar Higher "downlink_mbps" "Mbit/s" "IP packets received by base stations";
        Scalar Neither "downlink_offered_pps" "1/s" "packets due to UEs";
        Scalar Neither "downlink_accepted_pps" "1/s" "packets to UEs accepted by the load's kernel";
        Scalar Lower "downlink_lost_ratio" "" "share of lost packets";
        Scalar Lower "round_trip_us_p50" "us" "median round-trip time of reflected packets, from the scheduled time";
        Scalar Lower "round_trip_us_p99" "us" "99th percentile of the round-trip time of reflected packets, from the scheduled time";
        Scalar Lower "interruption_us_p50" "us" "median interruption by a handover: from the last packet before to the first packet after it";
        Scalar Lower "interruption_us_p99" "us" "99th percentile of the interruption by a handover: last packet before to first after";
        Scalar Neither "handovers_offered_per_s" "1/s" "handovers due; mode paging: sessions due to become idle";
        Scalar Neither "handovers_accepted_per_s" "1/s" "handovers begun, out of the handovers due; a session with a pending handover cannot begin a second handover";
        Scalar Neither "end_markers_per_handover" "" "end markers per handover; 1 if the UPF sends them" .counted();
        Scalar Lower "sut.cpu_us_per_session" "us" "CPU time of the UPF; in mode control without the setup";
        Scalar Lower "sut.rss_mb" "MB" "resident memory of the UPF";
        Scalar Lower "sut.stopped_s" "s" "time for which a process of a third-party UPF was stopped by a signal";
        Scalar Neither "tool.send_delay_us_p99" "us" "send delay of requests or of packets, whichever is greater" .formerly("tool.lateness_us_p99");
        Scalar Higher "tool.responses_per_cpu_s" "1/s" "requests with a response per CPU second of the SMF" .formerly("tool.answers_per_cpu_s");
        Scalar Higher "tool.packets_per_cpu_s" "1/s" "packets sent per CPU second of the load";
        Scalar Lower "tool.unsent_ratio" "" "largest share of due load that was not sent: packets of a direction, sessions, requests or handovers" .unsent_share();
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
                let comment = format!("{words} latency of {a} {kind}, from the planned time");
                latency(format!("{kind}_us_{quantile}"), &comment)
            },
        ));
    }
    metrics.extend(["establishment", "modification", "deletion"].map(|kind| {
        latency(
            format!("{kind}_us_service_p50"),
            &format!("median latency of one {kind}, from its send time"),
        )
    }));
    metrics.extend(["establishment", "modification", "deletion"].map(|kind| {
        let comment =
            format!("fastest response to one {kind}, from its send time; hardly affected by other load");
        latency(format!("{kind}_us_service_min"), &comment).bounded()
    }));
    metrics
}
