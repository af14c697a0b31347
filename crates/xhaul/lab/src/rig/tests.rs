//! Tests of setups, plans and reproducibility, without a campaign.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

mod oran;

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::plan::Point;
use ranlab_campaign::record::{Recorder, Recording};
use ranlab_campaign::rig::{Outcome, Rig, RigError, Run};
use ranlab_campaign::value::Value;

use super::setup::Setup;
use super::{Xhaul, build, live, predictions};
use crate::live::{LiveSharing, RankOrder, Segment, Tool};
use ranlab_lab::RigContext;
use ranlab_lab::experiment::fake;
use ranlab_lab::experiment::harness::{Experiment, RunningExperiment};

/// Returns the default settings, changed by `set`.
fn settings(set: &[(&str, Value)]) -> BTreeMap<String, Value> {
    fake::point(&RunningExperiment::new(&RigContext::new("ranlab"), Xhaul), set).settings
}

fn setup(set: &[(&str, Value)]) -> Result<Setup, RigError> {
    let point = Point { index: 0, axes: Vec::new(), settings: settings(set) };
    Setup::read(&Run::new(&point, 0, 7, Duration::from_millis(20)))
}

fn measure(set: &[(&str, Value)]) -> (Result<Outcome, RigError>, Recording) {
    let point = Point { index: 0, axes: Vec::new(), settings: settings(set) };
    let run = Run::new(&point, 0, 7, Duration::from_millis(20));
    let mut recorder = Recorder::default();
    let mut rig = RunningExperiment::new(&RigContext::new("ranlab"), Xhaul);
    let outcome = rig.prepare(&run).and_then(|()| rig.measure(&run, &mut recorder));
    rig.tear_down();
    (outcome, recorder.finish())
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let digest = |threads| {
        let set = [
            ("background.direction", text("both")),
            ("neighbour.split", text("2")),
            ("sim.phases", Value::Int(6)),
            ("sim.threads", Value::Int(threads)),
        ];
        let (outcome, recording) = measure(&set);
        assert_eq!(outcome, Ok(Outcome::Ok));
        (recording.metrics["sim.digest"], recording.metrics["cell_ul.delay_us_max"])
    };
    let one = digest(1);
    assert!(one.0 > 0.0);
    assert_eq!((digest(2), digest(5)), (one, one));
}

/// Background traffic, its port and its host come first in every list, so random numbers by position would change for all other elements.
/// Uplink background must not change the packets of the user or the radio, because the host has no processing time.
#[test]
fn background_does_not_change_unrelated_flows() {
    let of = |direction: &str| {
        let set = [
            ("sut.sharing", text("none")),
            ("cu.service_ns", Value::Int(0)),
            ("background.direction", text(direction)),
            ("cells.split", text("2")),
            ("air.on", Value::Bool(true)),
            ("air.bler", Value::Float(0.2)),
            ("user.kind", text("udp")),
            ("sim.phases", Value::Int(3)),
        ];
        let (_, recording) = measure(&set);
        assert!(recording.metrics["user.sent"] > 20.0, "{direction}");
        ["user.delay_us_mean", "user.delay_us_max", "user.lost_ratio", "user.at_air_us", "wire_delay_us_mean"]
            .map(|name| recording.metrics[name])
    };
    assert_eq!(of("none"), of("up"));
    assert_ne!(of("none"), of("down"));
}

#[test]
fn plan_warns_of_fragments_and_rejects_overload() {
    let two = [("cells.split", text("2"))];
    let preview = Xhaul.preview(&settings(&two)).unwrap().unwrap();
    assert!(preview.contains("46 bytes longer than the MTU of 1500 and are fragmented"), "{preview}");
    let full = [("cells.count", Value::Int(20))];
    let why = Xhaul.preview(&settings(&full)).unwrap().unwrap_err();
    assert!(why.contains("midhaul1>CU-card is offered"), "{why}");
    let (outcome, recording) = measure(&full);
    assert_eq!(outcome, Ok(Outcome::Overloaded));
    assert!(recording.metrics["port_load_max"] > 1.4 && !recording.metrics.contains_key("sim.events"));
}

#[test]
fn simulated_delay_stays_below_bound_for_every_split() {
    for scheduler in ["fifo", "strict", "preemption", "drr", "cbs", "ats"] {
        for split in ["8", "7.1-if4p5", "7.1-if4p5-udp", "7.1", "7.2x", "6", "2"] {
            let set = [
                ("sut.scheduler", text(scheduler)),
                ("cells.split", text(split)),
                ("background.direction", text("both")),
                ("background.mbps", Value::Float(300.0)),
            ];
            let (outcome, recording) = measure(&set);
            assert!(
                matches!(outcome, Ok(Outcome::Ok | Outcome::MissesBudget)),
                "{scheduler} {split}: {outcome:?}"
            );
            let bounded = recording.metrics.get("cell_ul.of_bound").copied();
            // The bound of a shaped class assumes the worst credit. A single phase does not reach it.
            let least = if scheduler == "cbs" { 0.05 } else { 0.3 };
            assert!(
                bounded.is_some_and(|share| share > least && share <= 1.0),
                "{scheduler} {split} {bounded:?}"
            );
        }
    }
}

#[test]
fn bound_needs_no_simulation() {
    let (outcome, recording) = measure(&[("sut.tier", text("bound")), ("sut.scheduler", text("strict"))]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert!(recording.metrics["cell_ul.bound_us"] > 73.0 && !recording.metrics.contains_key("sim.events"));
}

#[test]
fn user_delay_is_attributed_to_the_radio() {
    let set = |row| {
        [
            ("net.testbed", text(row)),
            ("user.kind", text("ping")),
            ("user.interval", Value::Span(Duration::from_millis(3))),
            ("air.on", Value::Bool(true)),
        ]
    };
    let (outcome, recording) = measure(&set("macvlan-a"));
    assert_eq!(outcome, Ok(Outcome::Ok));
    let metrics = &recording.metrics;
    assert!(metrics["user.at_air_us"] > 0.8 * metrics["user.delay_us_mean"], "{metrics:?}");
    assert!(metrics.contains_key("background_ul.sent") && metrics.contains_key("neighbour_dl.sent"));
    let baseline = setup(&set("baseline")).unwrap();
    assert_eq!((baseline.net.midhaul_switches, baseline.neighbour, baseline.background.up), (0, None, false));
}

#[test]
fn user_packets_cross_the_midhaul_only_with_split_2() {
    let of = |row: &str, split: &str| {
        let set = [
            ("net.testbed", text(row)),
            ("cells.split", text(split)),
            ("user.kind", text("udp")),
            ("neighbour.timer", text("1ms")),
            ("air.on", Value::Bool(true)),
        ];
        let point = Point { index: 0, axes: Vec::new(), settings: settings(&set) };
        let run = Run::new(&point, 0, 7, Duration::from_millis(300));
        let mut recorder = Recorder::default();
        let mut rig = RunningExperiment::new(&RigContext::new("ranlab"), Xhaul);
        rig.prepare(&run).unwrap();
        rig.measure(&run, &mut recorder).unwrap();
        recorder.finish().metrics
    };
    let symbols = of("macvlan-a", "7.1-if4p5");
    let packets = of("macvlan-a", "2");
    assert_eq!((symbols["user.at_midhaul_line_us"], symbols["user.lost_ratio"]), (0.0, 0.0));
    assert!(packets["user.at_midhaul_line_us"] > 20.0 && symbols["cell_dl.at_midhaul_line_us"] > 9.0);
    // The other vBBU uses a different split, and the data of its users is paced as iperf3 does.
    assert!(symbols["neighbour_dl.sent"] < packets["neighbour_dl.sent"]);
    let host = |row: &str| of(row, "2")["user.at_host_us"];
    let [alone, beside, kernel, loaded] = ["sriov-noa", "sriov-a", "macvlan-noa", "macvlan-a"].map(host);
    assert!(
        (alone / beside - 1.0).abs() < 0.05,
        "other containers affect a virtual function: {alone} {beside}"
    );
    assert!(alone < kernel && kernel < loaded, "{alone} {kernel} {loaded}");
}

#[test]
fn live_tier_sends_split_packets_and_rejects_unsupported_settings() {
    let of = |set: &[(&str, Value)]| {
        let setup = setup(set).unwrap();
        let plan = build::plan(&setup).unwrap();
        live::component(&setup, &plan, Duration::from_millis(1500))
    };
    let part = of(&[("neighbour.split", text("2")), ("background.direction", text("up"))]).unwrap();
    let flow = |way| part.flows.0.iter().find(|flow| flow.way == way).unwrap();
    let iq = flow(Segment::CellDown);
    assert_eq!((iq.raw, &iq.payloads, iq.period_ns), (true, &vec![600; 14], 1_000_000));
    assert_eq!(flow(Segment::NeighbourDown).payloads, [1518]);
    assert_eq!(flow(Segment::BackgroundUp).payloads, [1000 - 4 - 42]);
    assert_eq!(part.classes, None);
    let strict = [("sut.scheduler", text("strict")), ("neighbour.split", text("2"))];
    let classes = of(&strict).unwrap().classes.unwrap().0;
    assert!(classes.cell > classes.neighbour && classes.neighbour > classes.background, "{classes:?}");
    let order = |scheduler: &str| {
        let set =
            [("sut.tier", text("live")), ("sut.scheduler", text(scheduler)), ("neighbour.split", text("2"))];
        of(&set).map(|part| (part.classes.map(|classes| classes.0.order), part.launch_lead_ns))
    };
    assert_eq!(classes.order, RankOrder::Strict);
    assert_eq!(order("drr"), Ok((Some(RankOrder::Turns { own: 9_216, other: 1_538 }), None)));
    assert_eq!(order("mqprio"), Ok((Some(RankOrder::Queues), None)));
    assert_eq!(order("etf"), Ok((None, Some(2_000_000))));
    // The idle slope is twice the cell's rate on the wire, as in the simulation.
    let shaped = order("cbs").unwrap().0.unwrap();
    assert!(matches!(shaped, RankOrder::Credit { idle_bps: 140_000_000..150_000_000 }), "{shaped:?}");
    // Each millisecond has two windows: one for the burst of 14 symbols of class 7 (rank 0), and one for all other classes.
    let Some(RankOrder::Gates { entries }) = order("gates").unwrap().0 else { panic!("no gates") };
    assert!(matches!(entries[..], [(95_000..105_000, 1), (895_000..905_000, 0b1111_1110)]), "{entries:?}");
    assert_eq!(entries.iter().map(|(ns, _)| ns).sum::<u64>(), 1_000_000);
    for (path, value, word) in [
        ("cells.count", Value::Int(2), "cells.count"),
        ("sut.scheduler", text("preemption"), "802.3br"),
        ("air.on", Value::Bool(true), "radio"),
        ("sut.scheduler", text("ats"), "802.1Qcr"),
        ("sut.sharing", text("measured"), "simulated cost"),
        ("sut.sharing", text("ipvlan"), "reach no container"),
        ("live.iperf3", Value::Bool(true), "`user.kind` \"udp\""),
    ] {
        let error = of(&[("sut.tier", text("live")), (path, value)]).unwrap_err();
        assert!(matches!(&error, RigError::Environment(why) if why.contains(word)), "{error}");
    }
    let function = [
        ("sut.tier", text("live")),
        ("live.midhaul_ports", text("eth0 eth1")),
        ("live.slowdown", Value::Int(9)),
    ];
    let part = of(&function).unwrap();
    assert_eq!(
        (part.sharing.0, part.midhaul_ports.as_deref(), part.slowdown),
        (LiveSharing::Functions, Some("eth0 eth1"), 9)
    );
    let ordered = of(&[function.as_slice(), &[("sut.scheduler", text("strict"))]].concat()).unwrap_err();
    assert!(matches!(&ordered, RigError::Environment(why) if why.contains("by the card")), "{ordered}");
    let packets =
        of(&[("sut.tier", text("live")), ("sut.scheduler", text("etf")), ("cells.split", text("2"))])
            .unwrap_err();
    assert!(matches!(&packets, RigError::Environment(why) if why.contains("launch times")), "{packets}");
    let simulated = setup(&[("sut.scheduler", text("etf"))]).unwrap_err();
    assert!(matches!(&simulated, RigError::Rig(why) if why.contains("`sut.tier` \"live\"")), "{simulated}");
    let ipvlan = [("sut.tier", text("live")), ("sut.sharing", text("ipvlan")), ("cells.split", text("2"))];
    assert_eq!(of(&ipvlan).unwrap().sharing.0, LiveSharing::Ipvlan);
    let unknown = setup(&[("sut.sharing", text("ipvlan"))]).unwrap_err().to_string();
    assert!(unknown.contains("sut.sharing_cost_ns"), "{unknown}");
    let pinged =
        [("user.kind", text("ping")), ("user.bytes", Value::Int(1000)), ("live.ping", Value::Bool(true))];
    let expected = Tool::Ping { bytes: 1000 - 18 - 28, interval_ns: 1_004_000_000, count: 1 };
    assert_eq!(of(&pinged).unwrap().tools.0, [expected]);
    let udp = [("user.kind", text("udp")), ("live.iperf3", Value::Bool(true))];
    assert_eq!(of(&udp).unwrap().tools.0, [Tool::Iperf3 { bps: 9_000_000, bytes: 1470, seconds: 1 }]);
}

#[test]
fn capture_contains_the_splits_frames() {
    let file = std::env::temp_dir().join(format!("ranlab-xhaul-{}.pcapng", std::process::id()));
    let set = [("neighbour.split", text("2")), ("sim.pcap", text(&file.to_string_lossy()))];
    assert_eq!(measure(&set).0, Ok(Outcome::Ok));
    let file = file.with_extension("").to_string_lossy().into_owned() + "-0.pcapng";
    let octets = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 0;
    let mut symbols = 0;
    let mut fragments = 0;
    while at < octets.len() {
        let kind = word(at);
        let length = word(at + 4);
        assert_eq!(word(at + length - 4), length);
        if kind == 6 {
            let frame = &octets[at + 28..at + 28 + word(at + 20)];
            match (u16::from_be_bytes([frame[12], frame[13]]), frame.len()) {
                // Sizes without the frame check sequence: 14, 12 and 600 bytes.
                (0x080A, 626) => {
                    let decoded = ranlab_xhaul::if4p5::Frame::decode(&frame[14..]).unwrap();
                    assert_eq!(decoded.samples.len(), 600);
                    symbols += 1;
                }
                (0x0800, 1514 | 80) => fragments += 1,
                other => panic!("{other:?}"),
            }
        }
        at += length;
    }
    // 14 symbols per millisecond and direction for 20 ms.
    assert_eq!(symbols, 2 * 14 * 20);
    assert!(fragments > 40, "{fragments}");
}

#[test]
fn flow_roles_follow_from_flow_names() {
    let roles = ["cell3 UL", "cell1 DL", "neighbour UL", "background down", "user", "neighbour backhaul"];
    let found: Vec<_> = roles.iter().map(|name| predictions::role(name)).collect();
    let expected =
        [Some("cell_ul"), Some("cell_dl"), Some("neighbour_ul"), Some("background_dl"), Some("user"), None];
    assert_eq!(found, expected);
}

#[test]
fn invalid_points_are_rejected() {
    for (set, why) in [
        (vec![("cu.busy_share", Value::Float(1.0))], "`cu.busy_share` leaves no free time"),
        (
            vec![
                ("cu.busy_share", Value::Float(0.5)),
                ("cu.busy_period", Value::Span(Duration::from_secs(2))),
            ],
            "`cu.busy_period` is longer than 1s",
        ),
        (
            vec![("user.turnaround", Value::Span(Duration::from_secs(u64::MAX / 1_000_000_000)))],
            "too long for a simulation",
        ),
        (vec![("cells.count", Value::Int(501))], "`count` must be a whole number from 1 to 500"),
        (vec![("cells.split", text("9"))], "`split` must be one of"),
        (vec![("net.mbps", text("fast"))], "in section `net`: `mbps` must be"),
    ] {
        let error = setup(&set).unwrap_err();
        assert!(matches!(&error, RigError::Rig(message) if message.contains(why)), "{error}");
        let (outcome, _) = measure(&set);
        assert_eq!(outcome, Err(error));
    }
}

#[test]
fn every_scenario_section_affects_the_plan() {
    let planned = |set: &[(&str, Value)]| build::plan(&setup(set).unwrap()).unwrap().to_string();
    let plain = planned(&[]);
    let spread = [("cells.pacing", text("spread")), ("cells.split", text("8"))];
    for set in [
        &[("cells.carrier", text("nr-20"))][..],
        &spread,
        &[("cells.split", text("7.2x")), ("cells.mantissa_bits", Value::Int(14))],
        &[("cells.class", Value::Int(3))],
        &[("neighbour.split", text("2")), ("neighbour.mbps", Value::Float(5.0))],
        &[("background.direction", text("up")), ("background.bytes", Value::Int(500))],
        &[("user.kind", text("udp")), ("user.bytes", Value::Int(200))],
        &[("net.mbps", Value::Float(10_000.0))],
    ] {
        assert_ne!(planned(set), plain, "{set:?}");
    }
    // A search may set a fractional number of cells.
    assert_eq!(setup(&[("cells.count", Value::Float(2.4))]).unwrap().cells.count, 2);
    let air = [("air.on", Value::Bool(true)), ("air.bler", Value::Float(0.1))];
    assert_eq!(setup(&air).unwrap().air.unwrap().0.error_ppm, 100_000);
    let quota = [("cu.cpu_quota", Value::Float(0.25)), ("live.taps", Value::Bool(true))];
    let live = setup(&quota).unwrap().live;
    assert_eq!((live.cpu_quota, live.taps, live.cost_batches), (0.25, true, 4000));
}

/// Measures a live network. Its worker reports `numbers`.
fn live(numbers: &[(&str, f64)]) -> (Result<Outcome, RigError>, Recording) {
    let acts =
        fake::FakeBehaviour { report: fake::report(0.1, 0.2, numbers), ..fake::FakeBehaviour::default() };
    let place = fake::worker("network", acts, &fake::Log::default());
    measure(&[("sut.tier", text("live")), ("sut.at", Value::Text(place)), ("host.when_noisy", text("warn"))])
}

#[test]
fn lost_or_late_frames_degrade_a_live_network() {
    let fine = [("cell_dl.lost_ratio", 0.0), ("cell_ul.late_ratio", 0.0), ("neighbour_dl.lost_ratio", 0.5)];
    let (outcome, recording) = live(&fine);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert!(recording.metrics["neighbour_dl.lost_ratio"] > 0.4 && recording.metrics["port_load_max"] > 0.0);
    // The noise of the machine is recorded, as for every rig with components.
    assert!(recording.metrics.contains_key("host.other_share"), "{recording:?}");
    // An emulated machine yields counters, but no times.
    let emulated = [
        ("live.emulated", 1.0),
        ("cell_dl.sent", 9.0),
        ("cell_dl.lost_ratio", 0.0),
        ("cell_dl.late_ratio", 1.0),
        ("rtt_ms", 4.0),
    ];
    let (outcome, recording) = live(&emulated);
    assert_eq!((outcome, recording.metrics["cell_dl.sent"]), (Ok(Outcome::Ok), 9.0));
    assert!(
        !recording.metrics.contains_key("rtt_ms") && !recording.metrics.contains_key("cell_dl.late_ratio"),
        "{recording:?}"
    );
    for lost in ["cell_dl.lost_ratio", "cell_ul.late_ratio", "user.lost_ratio"] {
        assert_eq!(live(&[(lost, 0.001)]).0, Ok(Outcome::Degraded), "{lost}");
    }
}

/// Returns the payload rate and the wire rate of the cell's flows in Mbit/s, for downlink and uplink.
fn rates(set: &[(&str, Value)]) -> [(f64, f64); 2] {
    let plan = build::plan(&setup(set).unwrap()).unwrap();
    let mbps = |bps: u64| (bps as f64 / 1e5).round() / 10.0;
    [0, 1].map(|flow| (mbps(plan.loads[flow].payload_bps), mbps(plan.loads[flow].wire_bps)))
}

#[test]
fn nr_cell_rates_follow_tdd_pattern_and_layers() {
    let nr = [
        ("cells.split", text("7.2x")),
        ("cells.carrier", text("nr-100")),
        ("net.mbps", Value::Float(25_000.0)),
        ("net.mtu", Value::Int(9000)),
    ];
    let with = |more: &[(&str, Value)]| rates(&[&nr[..], more].concat());
    assert_eq!(with(&[]), [(5087.8, 5125.1), (1565.5, 1577.0)]);
    assert_eq!(with(&[("cells.tdd", text("off"))])[1], (6849.0, 6899.2));
    assert_eq!(with(&[("cells.tdd", text("DDSUU")), ("cells.tdd_special", text("6:4:4"))])[1].0, 3131.0);
    assert_eq!(with(&[("cells.layers", Value::Int(2))])[0].0, 2543.9);
    // For split 2, the default rate of user data is the carrier's peak rate with its layers and its TDD pattern. Given rates are not
    // changed.
    let two = [("cells.split", text("2"))];
    assert_eq!(with(&two).map(|(payload, _)| payload.floor()), [2000.0, 615.0]);
    let half = [("cells.split", text("2")), ("cells.layers", Value::Int(2))];
    assert_eq!(with(&half)[0].0.floor(), 1000.0);
    let given = [("cells.split", text("2")), ("cells.mbps", Value::Float(13.0))];
    assert_eq!(with(&given)[0].0, 13.7);
    for (key, value) in [("cells.tdd", "DDDFU"), ("cells.tdd", ""), ("cells.tdd_special", "10:2")] {
        let error = setup(&[&nr[..], &[(key, text(value))]].concat()).unwrap_err();
        assert!(matches!(&error, RigError::Rig(why) if why.starts_with(&format!("`{key}`: "))), "{error}");
    }
    let live = [&nr[..], &[("sut.tier", text("live"))]].concat();
    let setup = setup(&live).unwrap();
    let plan = build::plan(&setup).unwrap();
    let refused = live::component(&setup, &plan, Duration::from_millis(20)).unwrap_err();
    assert!(matches!(&refused, RigError::Environment(why) if why.contains("`cells.tdd`")), "{refused}");
}

#[test]
fn every_scheduler_has_bound_for_tdd_cell() {
    for scheduler in ["fifo", "strict", "preemption", "gates", "drr", "cbs", "ats"] {
        for pacing in ["spread", "burst"] {
            let set = [
                ("sut.scheduler", text(scheduler)),
                ("sut.sharing", text("none")),
                ("cu.service_ns", Value::Int(0)),
                ("cells.split", text("7.2x")),
                ("cells.carrier", text("nr-100")),
                ("cells.pacing", text(pacing)),
                ("cells.count", Value::Int(2)),
                ("net.mbps", Value::Float(25_000.0)),
                ("net.mtu", Value::Int(9000)),
                ("background.direction", text("both")),
            ];
            let (outcome, recording) = measure(&set);
            assert_eq!(outcome, Ok(Outcome::Ok), "{scheduler} {pacing}");
            let bounded = recording.metrics.get("cell_dl.of_bound").copied();
            assert!(bounded.is_some_and(|share| share <= 1.0), "{scheduler} {pacing} {bounded:?}");
        }
    }
}
