//! What the rig can be told, and what it finds.

use ranlab_campaign::rig::{Better, Metric, MetricKind};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_parts::{Config, UpfLoadPart, UpfPart};

use crate::harness::metric_of_places;
use crate::{keys, noise};

const DESIGNS: [&str; 5] = ["cp-offload", "software", "dp-offload", "bare", EXTERNAL];
const OWN: &[&str] = &["cp-offload", "software", "dp-offload", "bare"];
/// The design of a UPF that runs already.
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
        .or("n4", "127.8.0.8:8805")
        .or("n3", "127.8.0.8:2152")
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
    keys
}

/// Settings of the load that have no default here: what a scenario does not say is as the verb has it.
const AS_THE_VERB: &[&str] = &[
    "gnb",
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
        text("load.n6", "own, none, or routed://ADDRESS where the kernel routes").or("own"),
        text("load.network", "our data network's end of N6").or("127.8.0.10:2153"),
    ]);
    keys
}

pub(super) fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    let scalar = |name: &str, unit: &str, better, comment: &str| {
        Metric::new(name, unit, MetricKind::Scalar, better, comment)
    };
    let mut metrics = vec![
        scalar("sessions_per_s", "1/s", Higher, "whole cycles: establishment, modification, deletion"),
        scalar("answers_per_s", "1/s", Higher, "requests answered"),
        scalar("sessions_failed_ratio", "", Lower, "sessions of which a request was rejected or lost"),
        scalar("requests_lost_ratio", "", Lower, "requests never answered"),
        scalar(
            "loss_ratio",
            "",
            Lower,
            "the largest of requests lost, sessions failed and packets lost, by those sent: for searches",
        ),
        scalar("unexplained", "", Lower, "requests without an end, responses that nobody asked for"),
        scalar("sessions_left_behind", "", Lower, "whose deletion the UPF did not confirm"),
        scalar("live_sessions", "", Neither, "at most"),
        scalar("drift_rate", "", Neither, "rate of the last third of the seconds over that of the first"),
        scalar("drift_latency", "", Neither, "latency likewise"),
        scalar("sessions_established", "", Higher, "before packets flow"),
        scalar("set_up_per_s", "1/s", Higher, "sessions set up before, in a second"),
        scalar("uplink_pps", "1/s", Higher, "packets that arrived from UEs"),
        scalar("uplink_mbps", "Mbit/s", Higher, "of their IP packets"),
        scalar("uplink_lost_ratio", "", Lower, "of packets sent"),
        scalar("downlink_pps", "1/s", Higher, "packets that arrived at base stations"),
        scalar("downlink_mbps", "Mbit/s", Higher, "of their IP packets"),
        scalar("downlink_lost_ratio", "", Lower, "of packets sent"),
        scalar("round_trip_us_p50", "us", Lower, "of reflected packets, from the intended time"),
        scalar("round_trip_us_p99", "us", Lower, "likewise"),
        scalar("interruption_us_p50", "us", Lower, "by a handover: last packet before to first after"),
        scalar("interruption_us_p99", "us", Lower, "likewise"),
        scalar("end_markers_per_handover", "", Neither, "1 where the UPF sends them"),
        scalar(
            "sut.cpu_us_per_session",
            "us",
            Lower,
            "CPU time of the UPF; without setting up in mode control",
        ),
        scalar("sut.rss_mb", "MB", Lower, "resident memory of the UPF"),
        scalar("tool.lateness_us_p99", "us", Neither, "how late requests left"),
        scalar(
            "tool.answers_per_cpu_s",
            "1/s",
            Higher,
            "requests answered for each second of the SMF's CPU time",
        ),
        scalar("tool.unsent_ratio", "", Lower, "packets that were due and not sent, the worse direction")
            .unsent_share(),
    ];
    for kind in ["establishment", "modification", "deletion", "cycle"] {
        for quantile in ["p50", "p99", "mean"] {
            let comment = format!("latency of a {kind} from the intended time");
            metrics.push(scalar(&format!("{kind}_us_{quantile}"), "us", Lower, &comment));
        }
    }
    for kind in ["establishment", "modification", "deletion"] {
        metrics.push(scalar(&format!("{kind}_us_service_p50"), "us", Lower, "the same from its sending"));
    }
    metrics.push(metric_of_places());
    metrics.extend(noise::metrics());
    metrics
}
