//! The rig without a campaign: what a point becomes, and that it is always the same.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::time::Duration;

use ranlab_campaign::plan::Point;
use ranlab_campaign::record::{Recorder, Recording};
use ranlab_campaign::rig::{Outcome, Rig, RigError, Run};
use ranlab_campaign::schema::Presence;
use ranlab_campaign::value::Value;

use super::setup::{Setup, Values};
use super::{Xhaul, answer, build, live};
use crate::harness::{Bench, Experiment};
use ranlab_parts::Lab;
use ranlab_parts::xhaul::{LiveSharing, Tool, Way};

/// Every default, and what a test sets.
fn settings(set: &[(&str, Value)]) -> Values {
    let keys = super::describe::description().keys;
    let defaults = keys.into_iter().filter_map(|key| match key.presence {
        Presence::Default(value) => Some((key.path, value)),
        _ => None,
    });
    let mut values: Values = defaults.collect();
    values.extend(set.iter().map(|(path, value)| ((*path).to_owned(), value.clone())));
    values
}

fn measure(set: &[(&str, Value)]) -> (Result<Outcome, RigError>, Recording) {
    let point = Point { index: 0, axes: Vec::new(), settings: settings(set) };
    let run = Run::new(&point, 0, 7, Duration::from_millis(20));
    let mut recorder = Recorder::new(run.duration, Duration::ZERO);
    let mut rig = Bench::new(&Lab::new("ranlab"), Xhaul);
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

#[test]
fn a_plan_warns_of_fragments_and_a_full_port_is_not_run() {
    let two = [("cells.split", text("2"))];
    let told = Xhaul.preview(&settings(&two)).unwrap().unwrap();
    assert!(told.contains("46 octets longer than the MTU of 1500 and are fragmented"), "{told}");
    let full = [("cells.count", Value::Int(20))];
    let why = Xhaul.preview(&settings(&full)).unwrap().unwrap_err();
    assert!(why.contains("midhaul1>CU is offered"), "{why}");
    let (outcome, recording) = measure(&full);
    assert_eq!(outcome, Ok(Outcome::Overloaded));
    assert!(recording.metrics["port_load_max"] > 1.4 && !recording.metrics.contains_key("sim.events"));
}

#[test]
fn every_split_is_simulated_and_never_beyond_its_bound() {
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
                matches!(outcome, Ok(Outcome::Ok | Outcome::Degraded)),
                "{scheduler} {split}: {outcome:?}"
            );
            let bounded = recording.metrics.get("cell_ul.of_bound").copied();
            // A shaped class is bounded as if its credit were at the worst: far from one phase of it.
            let least = if scheduler == "cbs" { 0.05 } else { 0.3 };
            assert!(
                bounded.is_some_and(|share| share > least && share <= 1.0),
                "{scheduler} {split} {bounded:?}"
            );
        }
    }
}

#[test]
fn the_bound_alone_needs_no_simulation() {
    let (outcome, recording) = measure(&[("sut.tier", text("bound")), ("sut.scheduler", text("strict"))]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert!(recording.metrics["cell_ul.bound_us"] > 73.0 && !recording.metrics.contains_key("sim.events"));
}

#[test]
fn a_users_time_is_attributed_to_the_radio_and_the_rows_set_the_testbed() {
    let set = |row| {
        [
            ("net.row", text(row)),
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
    let baseline = Setup::of(&settings(&set("baseline"))).unwrap();
    assert_eq!((baseline.net.midhaul_switches, baseline.neighbour, baseline.background.up), (0, None, false));
}

#[test]
fn live_sends_the_splits_own_packets_and_says_what_it_cannot() {
    let of = |set: &[(&str, Value)]| {
        let setup = Setup::of(&settings(set)).unwrap();
        let plan = build::plan(&setup).unwrap();
        live::part(&setup, &plan, Duration::from_millis(1500))
    };
    let part = of(&[("neighbour.split", text("2")), ("background.direction", text("up"))]).unwrap();
    let flow = |way| part.flows.0.iter().find(|flow| flow.way == way).unwrap();
    let iq = flow(Way::CellDown);
    assert_eq!((iq.raw, &iq.payloads, iq.period_ns), (true, &vec![600; 14], 1_000_000));
    assert_eq!(flow(Way::NeighbourDown).payloads, [1518]);
    assert_eq!(flow(Way::BackgroundUp).payloads, [1000 - 4 - 42]);
    for (path, value, word) in [
        ("cells.count", Value::Int(2), "cells.count"),
        ("sut.scheduler", text("gates"), "FIFO"),
        ("air.on", Value::Bool(true), "radio"),
        ("sut.sharing", text("measured"), "simulated cost"),
        ("sut.sharing", text("ipvlan"), "reach no container"),
        ("live.iperf3", Value::Bool(true), "`user.kind` \"udp\""),
    ] {
        let error = of(&[("sut.tier", text("live")), (path, value)]).unwrap_err();
        assert!(matches!(&error, RigError::Environment(why) if why.contains(word)), "{error}");
    }
    let ipvlan = [("sut.tier", text("live")), ("sut.sharing", text("ipvlan")), ("cells.split", text("2"))];
    assert_eq!(of(&ipvlan).unwrap().sharing.0, LiveSharing::Ipvlan);
    let unknown = Setup::of(&settings(&[("sut.sharing", text("ipvlan"))])).unwrap_err();
    assert!(unknown.contains("sut.sharing_cost_ns"), "{unknown}");
    let pinged =
        [("user.kind", text("ping")), ("user.bytes", Value::Int(1000)), ("live.ping", Value::Bool(true))];
    let expected = Tool::Ping { bytes: 1000 - 18 - 28, interval_ns: 1_004_000_000, count: 1 };
    assert_eq!(of(&pinged).unwrap().tools.0, [expected]);
    let udp = [("user.kind", text("udp")), ("live.iperf3", Value::Bool(true))];
    assert_eq!(of(&udp).unwrap().tools.0, [Tool::Iperf3 { bps: 9_000_000, bytes: 1470, seconds: 1 }]);
}

#[test]
fn a_capture_holds_the_splits_own_frames() {
    let file = std::env::temp_dir().join(format!("ranlab-xhaul-{}.pcapng", std::process::id()));
    let set = [("neighbour.split", text("2")), ("sim.pcap", text(&file.to_string_lossy()))];
    assert_eq!(measure(&set).0, Ok(Outcome::Ok));
    let file = file.with_extension("").to_string_lossy().into_owned() + "-0.pcapng";
    let octets = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut symbols, mut fragments) = (0, 0, 0);
    while at < octets.len() {
        let (kind, length) = (word(at), word(at + 4));
        assert_eq!(word(at + length - 4), length);
        if kind == 6 {
            let frame = &octets[at + 28..at + 28 + word(at + 20)];
            match (u16::from_be_bytes([frame[12], frame[13]]), frame.len()) {
                // Without check sequence: 14, 12, 600.
                (0x080A, 626) => {
                    let decoded = ranlab_wire::if4p5::Frame::decode(&frame[14..]).unwrap();
                    assert_eq!(decoded.samples.len(), 600);
                    symbols += 1;
                }
                (0x0800, 1514 | 80) => fragments += 1,
                other => panic!("{other:?}"),
            }
        }
        at += length;
    }
    // 14 symbols a millisecond each way for 20 ms.
    assert_eq!(symbols, 2 * 14 * 20);
    assert!(fragments > 40, "{fragments}");
}

#[test]
fn roles_follow_from_names() {
    let roles = ["cell3 UL", "cell1 DL", "neighbour UL", "background down", "user", "neighbour backhaul"];
    let found: Vec<_> = roles.iter().map(|name| answer::role(name)).collect();
    let expected =
        [Some("cell_ul"), Some("cell_dl"), Some("neighbour_ul"), Some("background_dl"), Some("user"), None];
    assert_eq!(found, expected);
}
