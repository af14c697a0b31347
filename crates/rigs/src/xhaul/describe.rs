//! What the rig can be told and what it measures.

use std::time::Duration;

use ranlab_campaign::rig::{Better, Metric, MetricKind, RigDescription};
use ranlab_campaign::schema::{Key, Kind};

use ranlab_parts::xhaul::LATE;

use super::answer::{ROLES, SEGMENTS};
use crate::{keys, noise};

const SPLITS: [&str; 7] = ["8", "7.1-if4p5", "7.1-if4p5-udp", "7.1", "7.2x", "6", "2"];
const CARRIERS: [&str; 4] = ["lte-5", "lte-20", "nr-20", "nr-100"];
const SCHEDULERS: [&str; 7] = ["fifo", "strict", "preemption", "gates", "drr", "cbs", "ats"];
const SHARINGS: [&str; 6] = ["dedicated", "sr-iov", "macvlan", "bridge", "ipvlan", "measured"];
const ROWS: [&str; 11] = [
    "custom",
    "baseline",
    "sriov-noa",
    "sriov-a",
    "sriov-d",
    "macvlan-noa",
    "macvlan-a",
    "macvlan-d",
    "bridge-noa",
    "bridge-a",
    "bridge-d",
];

pub(super) fn description() -> RigDescription {
    let mut keys = of_sut();
    keys.extend(of_cells());
    keys.extend(of_load());
    keys.extend(of_network());
    keys.extend(of_simulation());
    keys.extend(keys::host());
    RigDescription {
        name: "xhaul".to_owned(),
        aliases: Vec::new(),
        comment:
            "functional splits over switched Ethernet and a shared network card: simulated, proven, live"
                .to_owned(),
        keys,
        metrics: metrics(),
        // What `live` needs `doctor` lists, and `live` says: the other two answers need nothing.
        needs: Vec::new(),
        set_up: Duration::from_millis(200),
    }
}

fn choice(path: &str, choices: &[&str], comment: &str, default: &str) -> Key {
    Key::new(path, Kind::choice(choices), comment).or(default)
}

fn count(path: &str, (min, max): (i64, i64), comment: &str, default: i64) -> Key {
    Key::new(path, Kind::Int { min, max }, comment).or(default)
}

fn mbps(path: &str, comment: &str, default: f64) -> Key {
    Key::new(path, Kind::Float { min: 0.0, max: 800_000.0 }, comment).unit("Mbit/s").or(default)
}

fn of_sut() -> Vec<Key> {
    vec![
        choice(
            "sut.tier",
            &["sim", "bound", "live"],
            "who answers: simulation, network calculus, this machine",
            "sim",
        ),
        keys::place("sut.at", "the live network"),
        choice("sut.scheduler", &SCHEDULERS, "of every switch and port; gates on shared links alone", "fifo"),
        choice("sut.sharing", &SHARINGS, "how containers of the CU share its network card", "sr-iov"),
        count(
            "sut.sharing_cost_ns",
            (0, 1_000_000),
            "of a frame, simulated, for sharing \"measured\" and \"ipvlan\"",
            0,
        )
        .unit("ns"),
        count("cu.service_ns", (0, 1_000_000), "software time of a frame at the CU, each way", 500)
            .unit("ns"),
        Key::new("cu.busy_share", Kind::share(), "of the CU's core that vBBU processing takes first").or(0.0),
        Key::new("cu.busy_period", Kind::Span, "how often that work comes").or(Duration::from_millis(1)),
        Key::new(
            "cu.cpu_quota",
            Kind::share(),
            "live: of one CPU for the first vBBU's threads (sender, receiver, that work), by a cgroup; 0: none",
        )
        .or(0.0),
    ]
}

fn of_cells() -> Vec<Key> {
    vec![
        choice("cells.split", &SPLITS, "functional split of the cells that are evaluated", "7.1-if4p5"),
        choice("cells.carrier", &CARRIERS, "their carrier: ports or layers 1, 2, 2, 4", "lte-5"),
        count("cells.count", (1, 500), "cells, a DU each, at one CU", 1).unit("cells"),
        count("cells.class", (0, 7), "traffic class; 7 is the most urgent", 7),
        choice(
            "cells.pacing",
            &["burst", "spread"],
            "the 14 symbols of a TTI back to back, or when due",
            "burst",
        ),
        choice(
            "cells.phase",
            &["aligned", "staggered"],
            "TTIs of the cells: all at once, or one after the other",
            "aligned",
        ),
        count("cells.mantissa_bits", (1, 16), "block floating point of split 7.2x; 16: none", 9).unit("bit"),
        mbps("cells.mbps", "users' downlink data of a split-2 cell", 13.0),
        mbps("cells.mbps_up", "users' uplink data of a split-2 cell", 0.5),
        choice(
            "neighbour.split",
            &["none", "8", "7.1-if4p5", "7.1", "7.2x", "6", "2"],
            "of the other vBBU",
            "none",
        ),
        mbps("neighbour.mbps", "its users' downlink data", 13.0),
        count("neighbour.class", (0, 7), "its traffic class", 4),
    ]
}

fn of_load() -> Vec<Key> {
    vec![
        choice(
            "background.direction",
            &["none", "up", "down", "both"],
            "up: from the midhaul to the CU, as published; down: from the CU, beside its downlink",
            "none",
        ),
        mbps("background.mbps", "of its frames", 850.0),
        count("background.bytes", (64, 9216), "of a frame, check sequence included", 1000).unit("B"),
        count("background.class", (0, 7), "traffic class", 0),
        choice(
            "user.kind",
            &["none", "udp", "ping"],
            "the measured flow: UDP from server to UE, or echoes from the UE",
            "none",
        ),
        mbps("user.mbps", "UDP payload", 9.0),
        count("user.bytes", (64, 8900), "UDP payload of a packet; for ping the Ethernet frame", 1470)
            .unit("B"),
        choice(
            "user.timer",
            &["even", "1ms", "100ms"],
            "how iperf3 paces: 100ms until 3.1, 1ms since",
            "1ms",
        ),
        Key::new("user.interval", Kind::Span, "between two echo requests").or(Duration::from_millis(1004)),
        Key::new("user.turnaround", Kind::Span, "of core and server, for an echo; assumed")
            .or(Duration::from_millis(1)),
        Key::new("air.on", Kind::Bool, "an LTE air interface of 5 MHz behind the DU, for the measured flow")
            .or(false),
        Key::new("air.bler", Kind::share(), "transmissions that fail; sent again after 8 ms").or(0.0),
    ]
}

fn of_network() -> Vec<Key> {
    vec![
        choice(
            "net.row",
            &ROWS,
            "a row of the published testbed sets switches, sharing, neighbour and background; -a: background up, -d: down",
            "custom",
        ),
        count("net.midhaul_switches", (0, 8), "in a chain between DUs and CU; 0: cables", 1),
        Key::new("net.backhaul_switch", Kind::Bool, "between CU and server").or(true),
        Key::new("net.forwarding", Kind::Span, "of a switch, from reception to its next queue")
            .or(Duration::from_micros(2)),
        count(
            "net.cut_through_bytes",
            (0, 9216),
            "after which a frame is forwarded; 0: store and forward",
            0,
        )
        .unit("B"),
        mbps("net.mbps", "of every link", 1000.0),
        count("net.metres", (0, 100_000), "of every cable, 5 ns each", 100).unit("m"),
        count("net.mtu", (576, 9000), "Ethernet payload at most", 1500).unit("B"),
        count("net.queue_bytes", (84, 1_000_000_000), "of each class at each port", 500_000).unit("B"),
    ]
}

fn of_simulation() -> Vec<Key> {
    vec![
        count("sim.phases", (1, 10_000), "of the sources; the first is the scenario's own", 1),
        count("sim.threads", (0, 256), "0: one for each CPU. Results do not depend on it", 0),
        count("sim.search_rounds", (0, 1000), "of a search for the worst phase; 0: none", 0),
        Key::new(
            "sim.pcap",
            Kind::Text,
            "each point's first repeat as pcapng, its number before the extension; up to 200,000 deliveries",
        )
        .optional(),
        count(
            "live.cost_batches",
            (0, 1_000_000),
            "of 64 packets each way, for the cost of the path, in turn with a port of one's own; 0: none",
            4000,
        ),
        Key::new(
            "live.taps",
            Kind::Bool,
            "see the cell's frames at both ports of the switch too: where the delay is, for some more load",
        )
        .or(false),
        Key::new(
            "live.ping",
            Kind::Bool,
            "run the program ping beside `user.kind` \"ping\", with its size and interval",
        )
        .or(false),
        Key::new(
            "live.iperf3",
            Kind::Bool,
            "run the program iperf3 beside `user.kind` \"udp\", with its rate and size; its packets load the way too",
        )
        .or(false),
    ]
}

fn of_cost() -> Vec<Metric> {
    [
        ("cost_ns_dl", "ns", "live: CPU time of a packet's path from vBBU to DU, the least of many batches"),
        ("cost_ns_ul", "ns", "live: the same from DU to vBBU"),
        (
            "cost_dl_of_port",
            "",
            "live: the first as a share of what a switch port of one's own costs, measured in turn: the clock cancels",
        ),
        ("cost_ul_of_port", "", "live: the same from DU to vBBU"),
    ]
    .into_iter()
    .map(|(name, unit, comment)| Metric::new(name, unit, MetricKind::Scalar, Better::Lower, comment))
    .collect()
}

/// What programs beside our own probe print, and what a quota does.
fn of_tools() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    [
        ("cu.throttled_share", "", Lower, "live: of the time, the vBBU's threads waited for their quota"),
        ("ping.sent", "", Neither, "live: echo requests of the program ping"),
        ("ping.lost_ratio", "", Lower, "live: those without answer"),
        ("ping.rtt_ms", "ms", Lower, "live: mean round-trip time as ping prints it"),
        ("ping.rtt_ms_min", "ms", Lower, "live: the shortest"),
        ("ping.rtt_ms_max", "ms", Lower, "live: the longest"),
        ("ping.rtt_ms_mdev", "ms", Lower, "live: what ping calls mdev, a standard deviation"),
        ("iperf3.sent", "", Neither, "live: packets of the program iperf3"),
        ("iperf3.lost_ratio", "", Lower, "live: those that did not arrive, by iperf3's count"),
        ("iperf3.mbps", "Mbit/s", Higher, "live: what arrived"),
        (
            "iperf3.jitter_ms",
            "ms",
            Lower,
            "live: RFC 3550 as iperf3 prints it: stamps of the program, last value",
        ),
        (
            "iperf3.kernel_jitter_ms",
            "ms",
            Lower,
            "live: the same formula over the same packets with the kernel's stamps of their arrival",
        ),
    ]
    .into_iter()
    .map(|(name, unit, better, comment)| Metric::new(name, unit, MetricKind::Scalar, better, comment))
    .collect()
}

fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    let scalar = |name: &str, unit: &str, better, comment: &str| {
        Metric::new(name, unit, MetricKind::Scalar, better, comment)
    };
    let mut all = noise::metrics();
    all.extend([
        scalar(
            "jitter_ms_median",
            "ms",
            Lower,
            "RFC 3550, of the values that iperf3 would print each second",
        ),
        scalar("jitter_ms_q1", "ms", Lower, "the same, first quartile"),
        scalar("jitter_ms_q3", "ms", Lower, "the same, third quartile"),
        scalar("jitter_ms_max", "ms", Lower, "the same, maximum"),
        scalar("rtt_ms", "ms", Lower, "mean round-trip time of echo requests"),
        scalar("rtt_ms_sd", "ms", Lower, "its standard deviation"),
        scalar(
            "live.rung",
            "",
            Higher,
            "live: who stamps arrivals: 0 this program, 1 the kernel, 2 the card",
        ),
        scalar("live.namespaces", "", Neither, "live: network namespaces, removed afterwards"),
        scalar(
            "port_load_max",
            "",
            Neither,
            "share of the busiest port that is offered; above 1 nothing runs",
        ),
        scalar("sim.events", "", Neither, "events simulated"),
        scalar("sim.mevents_per_s", "M/s", Higher, "of wall-clock time, all threads"),
        Metric::new(
            "sim.digest",
            "",
            MetricKind::Fingerprint,
            Neither,
            "fingerprint of every delivery: equal for equal point and seed",
        ),
    ]);
    all.extend(of_cost());
    all.extend(of_tools());
    for (queue, way) in [("cu_dl", "towards the midhaul"), ("cu_ul", "from the midhaul")] {
        for (name, unit, better, comment) in [
            ("mbps", "Mbit/s", Neither, "what the CU's port let through"),
            ("waits_per_s", "1/s", Lower, "how often its queue waited for the link's rate"),
            ("dropped_per_s", "1/s", Lower, "packets that found it full"),
        ] {
            all.push(scalar(&format!("{queue}.{name}"), unit, better, &format!("live, {way}: {comment}")));
        }
    }
    for role in ROLES {
        for (name, unit, better, comment) in of_role() {
            all.push(scalar(&format!("{role}.{name}"), unit, better, &format!("{role}: {comment}")));
        }
        for segment in SEGMENTS {
            let comment = format!("{role}: mean time at {}", segment.replace('_', " "));
            all.push(scalar(&format!("{role}.at_{segment}_us"), "us", Lower, &comment));
        }
        let comment = format!("{role}: one-way delay of each frame; of an echo its round trip");
        all.push(Metric::new(&format!("{role}_ns"), "ns", MetricKind::Histogram, Lower, &comment));
    }
    // Simulation and calculus have no time but their own; how fast they go is the machine's.
    let timed = |metric: &Metric| metric.name.starts_with("host.") || metric.name == "sim.mevents_per_s";
    all.into_iter()
        .map(|metric| if timed(&metric) { metric } else { metric.exact_when("sut.tier", &["sim", "bound"]) })
        .collect()
}

fn of_role() -> Vec<(&'static str, &'static str, Better, &'static str)> {
    use Better::{Higher, Lower, Neither};
    let mut all = vec![
        ("sent", "", Neither, "frames sent"),
        ("lost_ratio", "", Lower, "frames that did not arrive"),
        ("reordered", "", Lower, "frames behind a later one (RFC 4737)"),
        ("delay_us_min", "us", Lower, "shortest one-way delay"),
        ("delay_us_mean", "us", Lower, "mean one-way delay"),
        ("delay_us_sd", "us", Lower, "its standard deviation"),
        ("delay_us_p50", "us", Lower, "median one-way delay"),
        ("delay_us_p99", "us", Lower, "99 %"),
        ("delay_us_p9999", "us", Lower, "99.99 %"),
        ("delay_us_max", "us", Lower, "longest one-way delay"),
        ("pdv_us_p99", "us", Lower, "delay variation, RFC 5481: 99 % above the shortest"),
        ("pdv_us_max", "us", Lower, "delay variation, RFC 5481: longest minus shortest"),
        ("ipdv_us_mean", "us", Lower, "RFC 3393: mean difference of consecutive frames, without sign"),
        ("ipdv_us_max", "us", Lower, "RFC 3393: greatest difference of consecutive frames"),
        ("budget_us", "us", Neither, "one-way budget (TR 38.801 annex A, the stricter end)"),
        ("late_ratio", "", Lower, "frames beyond it"),
        ("bound_us", "us", Lower, "proven: no frame takes longer (up to the radio)"),
        ("of_bound", "", Higher, "longest simulated delay as a share of the bound"),
        (
            "sender_late_us_p99",
            "us",
            Lower,
            "live: how late the sender was, which is not the network's delay",
        ),
        ("malformed", "", Lower, "live: packets that are not the flow's own"),
        ("tap_in_us_p99", "us", Lower, "live, taps: 99 % from sending to the switch"),
        (
            "tap_out_us_p99",
            "us",
            Lower,
            "live, taps: 99 % from sending to leaving the switch, after its queue",
        ),
        ("worst_us", "us", Lower, "longest delay at the worst phase that a search found"),
    ];
    let comments = [
        "eCPRI High25",
        "eCPRI High100 and 802.1CM class 1 and 2",
        "eCPRI High200",
        "250 us: options 6 to 8",
        "eCPRI High500",
        "eCPRI Medium",
        "eCPRI Low",
    ];
    all.extend(LATE.into_iter().zip(comments).map(|(name, comment)| (name, "", Lower, comment)));
    all
}
