//! Description and metrics of rig `xhaul`.

use std::time::Duration;

use ranlab_campaign::metrics;
use ranlab_campaign::rig::{Better, Metric, MetricKind, RepeatTime, RigDescription};

use crate::live::LATE;

use super::predictions::{ROLES, SEGMENTS};
use super::settings::Settings;
use ranlab_lab::experiment::{keys, noise};

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
        // `doctor` and tier `live` report the requirements of `live`. The other tiers have none.
        needs: Vec::new(),
        set_up: Duration::from_millis(300),
        repeat_time: RepeatTime::ComputedWhen("sut.tier", &["sim", "bound"]),
        response_timeout: None,
        starter: include_str!("starter.toml"),
    }
}

fn metrics() -> Vec<Metric> {
    use Better::Lower;
    let scalar = |name: &str, unit: &str, better, comment: &str| {
        Metric::new(name, unit, MetricKind::Scalar, better, comment)
    };
    let mut all = noise::metrics();
    all.extend(metrics! {
        Scalar Lower "jitter_ms_median" "ms" "RFC 3550, median of the values that iperf3 would print each second";
        Scalar Lower "jitter_ms_q1" "ms" "RFC 3550, first quartile of the values that iperf3 would print each second";
        Scalar Lower "jitter_ms_q3" "ms" "RFC 3550, third quartile of the values that iperf3 would print each second";
        Scalar Lower "jitter_ms_iqr" "ms" "RFC 3550, interquartile range of the values that iperf3 would print each second";
        Scalar Lower "jitter_ms_max" "ms" "RFC 3550, maximum of the values that iperf3 would print each second";
        Histogram Lower "jitter_ns" "ns" "each of the values that iperf3 would print each second";
        Scalar Lower "rtt_ms" "ms" "mean round-trip time of echo requests";
        Scalar Lower "rtt_ms_sd" "ms" "standard deviation of the round-trip time of echo requests";
        Scalar Higher "live.timestamp_source" "" "live: source of arrival timestamps: 0 this program, 1 the kernel" .formerly("live.rung");
        Scalar Neither "live.namespaces" "" "live: network namespaces, removed afterwards";
        Scalar Neither "live.ports" "" "live: ports of the machine that were used, and returned afterwards";
        Scalar Neither "live.functions" "" "live: virtual functions created on the ports, and removed afterwards";
        Scalar Neither "live.emulated" "" "live: 1 if the machine is emulated in software or the network is slowed down: only counters are valid, not times";
        Scalar Neither "live.clock" "" "live: clocks used: 0 the kernel clock of this machine, 1 the clocks of the cards between given ports (PHC), 2 the kernel clocks of two machines";
        Scalar Lower "live.clock_error_us" "us" "live: maximum error of one-way delays caused by the clocks; 0 if one clock stamps both ends";
        Scalar Neither "live.clock_drift_ppm" "ppm" "live: frequency difference of the near card's clock to the far one's" .signed();
        Scalar Neither "port_load_max" "" "offered load of the busiest port as a share of its rate; a point with a load above 1 is not run";
        Scalar Neither "sim.events" "" "events simulated";
        Scalar Higher "sim.mevents_per_s" "M/s" "events per second of wall-clock time, over all threads";
        Fingerprint Neither "sim.digest" "" "digest of all deliveries; the same for the same point and seed";
        Scalar Lower "cost_ns_dl" "ns" "live: CPU time of a packet's path from vBBU to DU, minimum of many batches";
        Scalar Lower "cost_ns_ul" "ns" "live: CPU time of a packet's path from DU to vBBU, minimum of many batches";
        Scalar Lower "cost_dl_of_port" "" "live: CPU time from vBBU to DU relative to a dedicated switch port, measured alternately, so that the processor frequency cancels out";
        Scalar Lower "cost_ul_of_port" "" "live: CPU time from DU to vBBU relative to a dedicated switch port, measured alternately";
        Scalar Lower "cost_instructions_dl" "" "live, if the clock counts instructions: instructions of a packet's path from vBBU to DU, minimum of many batches";
        Scalar Lower "cost_instructions_ul" "" "live, if the clock counts instructions: instructions of a packet's path from DU to vBBU, minimum of many batches";
    });
    all.extend(beside());
    all.extend(before_radio());
    all.extend(queues());
    for role in ROLES {
        all.extend(of_role().into_iter().map(|metric| Metric {
            name: format!("{role}.{}", metric.name),
            comment: format!("{role}: {}", metric.comment),
            limit: metric.limit.map(|limit| format!("{role}.{limit}")),
            ..metric
        }));
        for segment in SEGMENTS {
            let comment = format!("{role}: mean time at {}", segment.replace('_', " "));
            all.push(scalar(&format!("{role}.at_{segment}_us"), "us", Lower, &comment));
        }
        let comment = format!("{role}: one-way delay of each frame; of an echo its round trip");
        all.push(Metric::new(&format!("{role}_ns"), "ns", MetricKind::Histogram, Lower, &comment));
    }
    all.extend(oran());
    all.extend(of_network());
    all.extend(between_ports());
    // Simulation and calculus use simulated time only. Just their own speed depends on the machine.
    let timed = |metric: &Metric| metric.name.starts_with("host.") || metric.name == "sim.mevents_per_s";
    all.into_iter()
        .map(|metric| if timed(&metric) { metric } else { metric.exact_when("sut.tier", &["sim", "bound"]) })
        .collect()
}

/// Returns the metrics of third-party programs, and of CPU quotas.
fn beside() -> Vec<Metric> {
    metrics! {
        Scalar Lower "cu.throttled_share" "" "live: share of time in which the vBBU's threads waited for their CPU quota";
        Scalar Neither "ping.sent" "" "live: echo requests of the program ping";
        Scalar Lower "ping.lost_ratio" "" "live: echo requests without response";
        Scalar Lower "ping.rtt_ms" "ms" "live: mean round-trip time as ping prints it";
        Scalar Lower "ping.rtt_ms_min" "ms" "live: minimum round-trip time as ping prints it";
        Scalar Lower "ping.rtt_ms_max" "ms" "live: maximum round-trip time as ping prints it";
        Scalar Lower "ping.rtt_ms_mdev" "ms" "live: standard deviation as ping prints it (mdev)";
        Scalar Neither "iperf3.sent" "" "live: packets of the program iperf3";
        Scalar Lower "iperf3.lost_ratio" "" "live: lost packets as iperf3 counts them";
        Scalar Higher "iperf3.mbps" "Mbit/s" "live: rate of received packets";
        Scalar Lower "iperf3.jitter_ms" "ms" "live: RFC 3550 as iperf3 prints it: timestamps of the program, last value";
        Scalar Lower "iperf3.kernel_jitter_ms" "ms" "live: RFC 3550 jitter of iperf3's packets, from the kernel's arrival timestamps";
    }
}

/// Returns the metrics of timestamps at both ends of the midhaul cable: near port (CU) and far port.
fn between_ports() -> Vec<Metric> {
    let of_way = metrics! {
        Scalar Neither "sent" "" "probe frames sent (PTP Sync)";
        Scalar Lower "lost_ratio" "" "share of probe frames that did not arrive";
        Scalar Higher "left_ratio" "" "share of probe frames with a departure timestamp of the clock `live.clock`";
        Scalar Higher "stamped_ratio" "" "share of probe frames with timestamps of the clock `live.clock` at both ends";
        Scalar Lower "unordered" "" "timestamps not later than that of the previous frame";
        Scalar Lower "early" "" "frames whose arrival timestamp precedes their departure by more than the clock error; if there are any, the clocks are wrong";
        Scalar Lower "delay_us_min" "us" "minimum delay between the timestamps; may be negative within the clock error" .signed();
        Scalar Lower "delay_us_mean" "us" "mean delay between the timestamps" .signed();
        Scalar Lower "delay_us_p50" "us" "median delay between the timestamps" .signed();
        Scalar Lower "delay_us_p99" "us" "99th percentile of the delay between the timestamps" .signed();
        Scalar Lower "delay_us_max" "us" "maximum delay between the timestamps" .signed();
    };
    let ways = [
        ("cable_dl", "from the CU's port to the other end of its cable"),
        ("cable_ul", "from the other end of the cable of the CU's port to that port"),
    ];
    let named = |(way, comment): (&str, &str)| {
        let of = |metric: &Metric| Metric {
            name: format!("{way}.{}", metric.name),
            comment: format!("live, {comment}: {}", metric.comment),
            ..metric.clone()
        };
        of_way.iter().map(of).collect::<Vec<_>>()
    };
    ways.into_iter().flat_map(named).collect()
}

/// Returns the metrics of the CU's two queues.
fn queues() -> Vec<Metric> {
    use Better::{Lower, Neither};
    let mut all = Vec::new();
    for (queue, way) in [("cu_dl", "towards the midhaul"), ("cu_ul", "from the midhaul")] {
        for (name, unit, better, comment) in [
            ("mbps", "Mbit/s", Neither, "rate of the CU's port"),
            (
                "waits_per_s",
                "1/s",
                Lower,
                "times that the queue of the CU's port waited for the rate of the link",
            ),
            ("dropped_per_s", "1/s", Lower, "packets dropped because the queue of the CU's port was full"),
        ] {
            let comment = format!("live, {way}: {comment}");
            all.push(Metric::new(&format!("{queue}.{name}"), unit, MetricKind::Scalar, better, &comment));
        }
    }
    all
}

/// Returns the metrics that sum over all flows of a user-defined network. It also has the metrics `flow.NAME.*` of each flow.
fn of_network() -> Vec<Metric> {
    metrics! {
        Scalar Neither "network.flows" "" "own network: number of flows";
        Scalar Lower "network.missed" "" "own network: flows that miss their budget or receive window";
        Scalar Lower "network.lost" "" "own network: frames that did not arrive";
        Scalar Lower "network.of_budget" "" "longest delay as a share of its flow's budget, of all flows with one";
        Scalar Lower "network.bound_of_budget" "" "largest bound as a share of its flow's budget; if it is at most 1, every flow is proven to meet its budget";
    }
}

/// Returns the O-RAN timing with which all frames of split 7.2x are on time, from the proven delays.
fn oran() -> Vec<Metric> {
    metrics! {
        Scalar Neither "cell_dl.t1a_us_min" "us" "smallest T1a with which all frames are on time: least T2a plus the bound" .signed();
        Scalar Neither "cell_dl.t1a_us_max" "us" "largest T1a with which all frames are on time: most T2a plus the least delay; if it is below the smallest T1a, no T1a is possible" .signed();
        Scalar Neither "cell_dl.t2a_us_min" "us" "end of the receive window of the radio unit that all frames meet: T1a minus the bound" .signed();
        Scalar Neither "cell_dl.t2a_us_max" "us" "start of the receive window of the radio unit that all frames meet: T1a minus the least delay" .signed();
        Scalar Neither "cell_ul.ta3_us_min" "us" "smallest Ta3 with which all frames are on time: least Ta4 minus the least delay" .signed();
        Scalar Neither "cell_ul.ta3_us_max" "us" "largest Ta3 with which all frames are on time: most Ta4 minus the bound; if it is below the smallest Ta3, no Ta3 is possible" .signed();
        Scalar Neither "cell_ul.ta4_us_min" "us" "start of the receive window of the DU that all frames meet: Ta3 plus the least delay" .signed();
        Scalar Neither "cell_ul.ta4_us_max" "us" "end of the receive window of the DU that all frames meet: Ta3 plus the bound" .signed();
    }
}

/// Returns the metrics of the user's packets in switches, cables and the CU's software.
fn before_radio() -> Vec<Metric> {
    metrics! {
        Scalar Lower "wire_jitter_us" "us" "RFC 3550 jitter before the radio: caused by switches, cables and the CU's software, mean over the seconds";
        Scalar Lower "wire_ipdv_us_mean" "us" "RFC 3393 before the radio: mean absolute difference between the delays of consecutive packets";
        Scalar Lower "wire_delay_us_mean" "us" "mean delay of the user's packets up to the radio";
        Scalar Lower "wire_delay_us_p99" "us" "99th percentile of the delay of the user's packets up to the radio";
    }
}

/// Returns the metrics of each role.
fn of_role() -> Vec<Metric> {
    let mut all = metrics! {
        Scalar Neither "sent" "" "frames sent";
        Scalar Lower "lost_ratio" "" "share of frames that did not arrive";
        Scalar Lower "reordered" "" "frames received after one that was sent later (RFC 4737)";
        Scalar Lower "delay_us_min" "us" "minimum one-way delay";
        Scalar Lower "delay_us_mean" "us" "mean one-way delay" .limited_by("budget_us");
        Scalar Lower "delay_us_sd" "us" "standard deviation of one-way delays";
        Scalar Lower "delay_us_p50" "us" "median one-way delay" .limited_by("budget_us");
        Scalar Lower "delay_us_p99" "us" "99th percentile of one-way delays" .limited_by("budget_us");
        Scalar Lower "delay_us_p9999" "us" "99.99th percentile of one-way delays" .limited_by("budget_us");
        Scalar Lower "delay_us_max" "us" "maximum one-way delay" .limited_by("budget_us");
        Scalar Lower "pdv_us_p99" "us" "delay variation, RFC 5481: 99th percentile minus minimum";
        Scalar Lower "pdv_us_max" "us" "delay variation, RFC 5481: maximum minus minimum";
        Scalar Lower "ipdv_us_mean" "us" "RFC 3393: mean absolute difference between the delays of consecutive frames";
        Scalar Lower "ipdv_us_max" "us" "RFC 3393: maximum absolute difference between the delays of consecutive frames";
        Scalar Neither "budget_us" "us" "one-way delay budget, or the end of the receive window";
        Scalar Lower "late_ratio" "" "share of frames later than the one-way delay budget";
        Scalar Lower "bound_us" "us" "proven upper bound of the delay up to the radio" .limited_by("budget_us");
        Scalar Lower "least_us" "us" "proven lower bound of the delay up to the radio";
        Scalar Lower "window_early" "" "share of frames that arrive before their receive window";
        Scalar Higher "window_on_time" "" "share of frames that arrive within their receive window";
        Scalar Lower "window_late" "" "share of frames that arrive after their receive window";
        Scalar Higher "of_bound" "" "maximum simulated delay as a share of the bound";
        Scalar Lower "sender_late_us_p99" "us" "live: send delay of the generator, not part of the network delay";
        Scalar Lower "malformed" "" "live: received packets that do not belong to the flow";
        Scalar Lower "early" "" "live, two machines: frames whose arrival timestamp precedes their send timestamp; within the clock error their delay counts as 0";
        Scalar Neither "mbps" "Mbit/s" "live, with an own vBBU: rate of its frames";
        Scalar Lower "tap_in_us_p99" "us" "live, taps: 99th percentile of the delay from sending to arrival at the switch";
        Scalar Lower "tap_out_us_p99" "us" "live, taps: 99th percentile of the delay from sending to departure from the switch, including its queue";
        Scalar Lower "worst_us" "us" "maximum delay at the worst phase found by a search" .limited_by("budget_us");
    };
    let comments = [
        "share of frames later than 25 us (eCPRI High25)",
        "share of frames later than 100 us (eCPRI High100, 802.1CM class 1 and 2)",
        "share of frames later than 200 us (eCPRI High200)",
        "share of frames later than 250 us (options 6 to 8)",
        "share of frames later than 500 us (eCPRI High500)",
        "share of frames later than 1 ms (eCPRI Medium)",
        "share of frames later than 100 ms (eCPRI Low)",
    ];
    let late = |(name, comment)| Metric::new(name, "", MetricKind::Scalar, Better::Lower, comment);
    all.extend(LATE.into_iter().zip(comments).map(late));
    all
}
