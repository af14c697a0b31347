//! What the rig is and what it measures.

use std::time::Duration;

use ranlab_campaign::rig::{Better, Metric, MetricKind, RigDescription};

use ranlab_parts::xhaul::LATE;

use super::answer::{ROLES, SEGMENTS};
use super::settings::Settings;
use crate::{keys, noise};

pub(super) fn description() -> RigDescription {
    let mut keys = Settings::keys();
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
        starter: include_str!("../starters/xhaul.toml"),
    }
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
