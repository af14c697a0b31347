//! Tests of the RAN rigs with test workers. They check where a rig starts each component and how it interprets the
//! reports.

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Outcome, Rig, RigError, Stop};
use ranlab_campaign::value::Value;
use ranlab_lab::RigContext;
use ranlab_lab::worker::Report;

use crate::{e2_rtt, southbound};
use ranlab_e2_lab::rigs::{controller, footprint};
use ranlab_lab::experiment::fake::{self, FakeBehaviour, Log};
use ranlab_lab::experiment::harness::{Experiment, RunningExperiment};

const ADDRESSES: [(&str, &str); 4] = [
    ("e2", "tcp://10.0.0.1:1"),
    ("e42", "tcp://10.0.0.1:2"),
    ("southbound", "tcp://10.0.0.1:3"),
    ("relay", "tcp://10.0.0.1:4"),
];

/// Returns a component that reports the values `look` in snapshots and `report` at the end.
fn acts(look: &[(&'static str, f64)], report: &[(&str, f64)]) -> FakeBehaviour {
    FakeBehaviour {
        look: look.iter().copied().collect(),
        addresses: ADDRESSES.into(),
        report: fake::report(0.1, 0.3, report),
        ..FakeBehaviour::default()
    }
}

/// Measures a point with test workers at `places`. Returns outcome, metrics, and the requests that the workers
/// received.
fn measured<E: Experiment>(
    experiment: E,
    places: &[(&str, FakeBehaviour)],
    set: &[(&str, Value)],
) -> (Result<Outcome, RigError>, BTreeMap<String, f64>, Vec<String>) {
    let log = Log::default();
    let mut rig = RunningExperiment::new(&RigContext::new(std::env::current_exe().unwrap()), experiment);
    let mut all: Vec<(&str, Value)> = set.to_vec();
    for (path, acts) in places {
        let role: &'static str = match *path {
            "sut.at" => "sut",
            "load.at" => "load",
            _ => "xapp",
        };
        all.push((path, Value::Text(fake::worker(role, acts.clone(), &log))));
    }
    let point = fake::point(&rig, &all);
    let run = fake::run(&point);
    let mut recorder = Recorder::default();
    let outcome = rig.prepare(&run).and_then(|()| rig.measure(&run, &mut recorder));
    let declared = rig.describe();
    drop(rig);
    let metrics: BTreeMap<_, _> = recorder.finish().metrics.into_iter().collect();
    for name in metrics.keys() {
        let base = name.rsplit_once("_p").or_else(|| name.rsplit_once('_')).map_or("", |(base, _)| base);
        let known = declared.metric(name).is_some() || declared.metric(base).is_some();
        assert!(known, "`{name}` is not declared");
    }
    let calls = log.lock().unwrap().clone();
    (outcome, metrics, calls)
}

/// Returns a RIC, ten base stations that sent 1,000 indications, and the xApp that received them. `fleet` and `xapp`
/// replace some of their numbers.
fn statistics(fleet: &[(&str, f64)], xapp: &[(&str, f64)]) -> [(&'static str, FakeBehaviour); 3] {
    let sent = [
        ("alive", 10.0),
        ("sent", 1_000.0),
        ("sent_bytes", 1e5),
        ("messages_sent", 1_001.0),
        ("messages_received", 4.0),
        ("set_up_us", 900.0),
    ];
    let zero = ["dropped", "skipped", "reconnects"].map(|name| (name, 0.0));
    let got = [("indications", 1_000.0), ("bytes", 5e4), ("disconnects", 0.0), ("lost", 0.0)];
    let fleet = acts(&[("alive", 10.0)], &[&sent[..], &zero, fleet].concat());
    let xapp = acts(&[("subscriptions", 40.0)], &[&got[..], xapp].concat());
    [("sut.at", acts(&[], &[])), ("load.at", fleet), ("xapp.at", xapp)]
}

#[test]
fn missing_statistics_determine_the_outcome() {
    let of = |fleet: &[(&str, f64)], xapp: &[(&str, f64)]| {
        measured(controller::Controller, &statistics(fleet, xapp), &[])
    };
    let (outcome, metrics, calls) = of(&[], &[]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    let values = ["indications_per_s", "delivered_ratio", "payload_mbps", "setup_us", "sut.processes"];
    assert_eq!(values.map(|name| metrics[name]), [1_000.0, 1.0, 5e4 * 8e-6, 900.0, 1.0]);
    assert_eq!((metrics["sut.cpu_us_per_indication"], metrics["tool.cpu_cores"]), (100.0, 0.2));
    assert_eq!((metrics["e2_rx_messages_per_s"], metrics["e2_tx_messages_per_s"]), (1_001.0, 4.0));
    // The xApp is stopped before the base stations, because the controller must lose its subscriber first.
    assert_eq!(calls[..3], ["sut start", "load start", "xapp start"]);
    assert_eq!(calls[calls.len() - 3..], ["xapp stop", "load stop", "sut stop"]);
    for (fleet, xapp, expected) in [
        (&[][..], &[("indications", 0.0)][..], Outcome::Overloaded),
        (&[], &[("indications", 400.0)], Outcome::Overloaded),
        (&[], &[("indications", 970.0)], Outcome::Overloaded),
        (&[], &[("indications", 970.0), ("lost", 30.0)], Outcome::Degraded),
        (&[], &[("indications", 985.0)], Outcome::Ok),
        (&[], &[("lost", 1.0)], Outcome::Degraded),
        (&[], &[("disconnects", 1.0)], Outcome::Degraded),
        (&[("dropped", 1.0)], &[], Outcome::Degraded),
        (&[("alive", 9.0)], &[], Outcome::Degraded),
        (&[("reconnects", 1.0)], &[], Outcome::Degraded),
    ] {
        assert_eq!(of(fleet, xapp).0, Ok(expected), "{fleet:?} {xapp:?}");
    }
    let (_, metrics, _) = of(&[], &[("indications", 950.0)]);
    assert!(
        (metrics["backlog_ratio"] - 0.04).abs() < 1e-9 && metrics["loss_ratio"] == metrics["backlog_ratio"]
    );
    let (_, metrics, _) = of(&[("skipped", 1_000.0)], &[]);
    assert_eq!(metrics["tool.skipped_ratio"], 0.5);
}

#[test]
fn losses_without_a_counter_are_not_recorded() {
    let mut places = statistics(&[], &[]);
    places[2].1.report.numbers.remove("lost");
    let (outcome, metrics, _) = measured(controller::Controller, &places, &[]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert!(!metrics.contains_key("lost") && metrics["loss_ratio"] == 0.0);
    places[1].1.report.numbers.remove("skipped");
    let error = measured(controller::Controller, &places, &[]).0.unwrap_err();
    assert!(error.to_string().contains("no `skipped`"), "{error}");
}

#[test]
fn relays_count_as_system_under_test() {
    let places = statistics(&[], &[]);
    for kind in ["double-decode", "forward"] {
        let (outcome, metrics, calls) =
            measured(controller::Controller, &places, &[("sut.type", kind.into())]);
        assert_eq!(outcome, Ok(Outcome::Ok), "{kind}");
        assert_eq!(calls[..5], ["sut start", "sut start", "sut start", "load start", "xapp start"]);
        assert_eq!((metrics["sut.processes"], metrics["tool.cpu_cores"]), (3.0, 0.2));
    }
}

#[test]
fn external_controller_follows_its_profile() {
    let places = statistics(&[], &[]);
    let with = |more: &[(&str, Value)]| {
        let external =
            [("sut.type", "external".into()), ("sut.peer", "flexric".into()), ("sut.run", false.into())];
        measured(controller::Controller, &places, &[&external[..], more].concat()).0
    };
    let at = |e2: &str| [("sut.e2", e2.into()), ("sut.e42", "sctp://10.0.0.9:36422".into())];
    assert_eq!(with(&at("sctp://10.0.0.9:36421")), Ok(Outcome::Ok));
    let error = with(&at("unix:///run/e2")).unwrap_err();
    assert!(matches!(&error, RigError::Environment(why) if why.contains("and not unix")), "{error}");
    let error = with(&at("sctp://10.0.0.9")).unwrap_err().to_string();
    assert!(error.contains("`sut.e2`") && error.contains("HOST:PORT"), "{error}");
    let nowhere = with(&[("sut.peer", "ranlab".into())]).unwrap_err().to_string();
    assert!(nowhere.contains("`sut.e2` is not set"), "{nowhere}");
}

/// Returns the component that sends pings, and the base station. `but` replaces some of the numbers of the pings.
fn pings(pinging: &str, but: &[(&str, f64)]) -> Vec<(&'static str, FakeBehaviour)> {
    let all = [
        ("sent", 100.0),
        ("received", 100.0),
        ("lost", 0.0),
        ("late", 0.0),
        ("backlog", 0.0),
        ("unsent", 0.0),
    ];
    let octets = [("octets_down", 2e5), ("octets_up", 1.5e5)];
    let mut pinger = acts(&[("received", 1.0)], &[&all[..], &octets, but].concat());
    pinger.report.distributions = [("rtt_us".to_owned(), vec![(50, 60), (90, 40)])].into();
    let node = acts(&[("alive", 1.0), ("connected", 1.0)], &[("sent_bytes", 3e5)]);
    let ric = acts(&[], &[]);
    match pinging {
        "xapp" => vec![("sut.at", ric), ("load.at", node), ("xapp.at", pinger)],
        _ => vec![("sut.at", pinger), ("load.at", node)],
    }
}

#[test]
fn round_trips_are_recorded_for_each_sender() {
    let one = |places: &[(&str, FakeBehaviour)], set: &[(&str, Value)]| measured(e2_rtt::E2Rtt, places, set);
    let (outcome, metrics, calls) = one(&pings("xapp", &[]), &[]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert_eq!(
        (metrics["pings_per_s"], metrics["rtt_us_p50"], metrics["e2_kbps_up"]),
        (100.0, 50.0, 2_400.0)
    );
    assert_eq!((metrics["sut.cpu_us_per_ping"], metrics["tool.cpu_cores"]), (1_000.0, 0.2));
    assert!(metrics["e2_bytes_per_control"] > 1_500.0 && metrics["e2_bytes_per_indication"] > 1_500.0);
    assert_eq!(calls[..3], ["sut start", "load start", "xapp start"]);
    // Pings of the iApp are part of the RIC, so only the base station counts as tool.
    let iapp = [("load.path", Value::from("iapp"))];
    let (outcome, metrics, calls) = one(&pings("iapp", &[]), &iapp);
    assert_eq!((outcome, metrics["tool.cpu_cores"], calls[1].as_str()), (Ok(Outcome::Ok), 0.1, "load start"));
    let flexran = [iapp[0].clone(), ("sut.encoding", "flexran".into())];
    let (_, metrics, _) = one(&pings("flexran", &[]), &flexran);
    assert_eq!((metrics["e2_bytes_per_control"], metrics["e2_bytes_per_indication"]), (2_000.0, 1_500.0));
    let flat = [("sut.encoding", "flat".into()), ("load.encoding", "flat".into())];
    let more = one(&pings("xapp", &[]), &flat).1["e2_bytes_per_control"] - 1_500.0;
    assert!((30.0..150.0).contains(&more), "{more}");
    assert_eq!(one(&pings("xapp", &[("received", 0.0)]), &[]).0, Ok(Outcome::Overloaded));
    assert_eq!(one(&pings("xapp", &[("lost", 1.0)]), &[]).0, Ok(Outcome::Degraded));
    assert_eq!(one(&pings("xapp", &[("unsent", 100.0)]), &[]).1["tool.skipped_ratio"], 0.5);
}

#[test]
fn unsupported_pings_are_rejected_with_a_reason() {
    for (set, reason) in [
        (&[("sut.encoding", "flexran")][..], "`load.path` must be \"iapp\""),
        (&[("load.path", "iapp"), ("sut.type", "double-decode")], "`sut.type` must be \"ranlab\""),
        (
            &[("load.path", "iapp"), ("sut.encoding", "flexran"), ("sut.transport", "unix")],
            "`sut.transport` must be \"tcp\"",
        ),
        (
            &[("load.path", "iapp"), ("sut.encoding", "flexran"), ("load.encoding", "flat")],
            "no service model inside",
        ),
        (
            &[("sut.type", "double-decode"), ("sut.encoding", "flat")],
            "requires `sut.type` = ranlab or forward",
        ),
        (&[("sut.listen", "here")], "`sut.listen`: \"here\" is not an IP address"),
    ] {
        let set: Vec<_> = set.iter().map(|(path, text)| (*path, Value::from(*text))).collect();
        let error = measured(e2_rtt::E2Rtt, &pings("xapp", &[]), &set).0.unwrap_err().to_string();
        assert!(error.contains(reason), "{set:?}: {error}");
    }
}

#[test]
fn footprint_measures_size_and_idle_memory() {
    let mut ric = acts(&[], &[]);
    if let Some(process) = &mut ric.report.process {
        (process.rss_bytes, process.pss_bytes) = (7_000_000, Some(3_000_000));
    }
    let (outcome, metrics, _) = measured(footprint::Footprint, &[("sut.at", ric)], &[]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert_eq!((metrics["idle_rss_mb"], metrics["idle_pss_mb"]), (7.0, 3.0));
    assert!(metrics["size_mb"] > 0.1);
    // Noise on the machine is irrelevant, because no time is measured.
    assert!(!metrics.keys().any(|name| name.starts_with("host.")), "{metrics:?}");
    let folder = std::env::temp_dir().join(format!("ranlab-test-{}-image", std::process::id()));
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    std::fs::write(folder.join("program"), [0; 3_000]).unwrap();
    std::fs::write(folder.join("lib/library"), [0; 2_000]).unwrap();
    let of = |component: &str, path: &str| {
        let set = [("sut.component", component.into()), ("sut.path", path.into())];
        let (outcome, metrics, calls) = measured(footprint::Footprint, &[], &set);
        assert!(calls.is_empty(), "this rig starts no component");
        (outcome, metrics.get("size_mb").copied())
    };
    let path = folder.to_str().unwrap();
    assert_eq!(of("folder", path), (Ok(Outcome::Ok), Some(0.005)));
    assert_eq!(of("file", &format!("{path}/program")), (Ok(Outcome::Ok), Some(0.003)));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(of("file", path).0, Err(RigError::Environment(why)) if why.contains(path)));
}

/// Returns a FlexRAN fleet with two base stations, and a controller. `but` replaces some of the fleet's numbers.
fn sd_ran(but: &[(&str, f64)]) -> [(&'static str, FakeBehaviour); 2] {
    let numbers = [
        ("alive", 2.0),
        ("connected", 2.0),
        ("ues", 8.0),
        ("announced_ues", 8.0),
        ("offered", 20.0),
        ("sent", 20.0),
        ("sent_bytes", 2_000.0),
        ("reports", 18.0),
        ("received", 4.0),
        ("received_bytes", 40.0),
        ("acknowledged", 20.0),
        ("read", 20.0),
        ("readers_seen", 2.0),
        ("served", 2.0),
        ("taken_us_p99", 70.0),
        ("lateness_us_p99", 70.0),
        ("lateness_us_max", 70.0),
    ];
    let zero =
        ["refused", "dropped", "waiting", "waiting_bytes", "unacknowledged_bytes", "skipped", "reconnects"];
    let zero = zero.map(|name| (name, 0.0));
    let faults = ["faults", "unread_bytes", "unread_us_max"].map(|name| (name, 0.0));
    let look = [("alive", 2.0), ("init_reporting_us_max", 5e3), ("init_requests_us_max", 4e3)];
    let fleet = acts(&look, &[&numbers[..], &zero, &faults, but].concat());
    let counters = ["dropped", "lost_at_batch_end", "leaked_bytes", "declared_dead", "throttled"];
    let counters = counters.map(|name| (name, 0.0));
    let counted = [("agents", 2.0), ("ues", 8.0), ("processed", 20.0), ("app_runs", 900.0), ("lost", 0.0)];
    [("sut.at", acts(&[], &[&counters[..], &counted].concat())), ("load.at", fleet)]
}

#[test]
fn additional_base_station_is_timed_after_the_window() {
    let nodes = ("load.nodes", Value::Int(2));
    for (kind, ours) in [("flexran", true), ("alt-flexran", true), ("empower", true), ("external", false)] {
        let mut set = vec![nodes.clone(), ("sut.type", kind.into())];
        set.push(("sut.address", "10.0.0.1:2210".into()));
        let (outcome, metrics, calls) = measured(southbound::SdRan, &sd_ran(&[]), &set);
        assert_eq!(outcome, Ok(Outcome::Ok), "{kind}");
        assert_eq!((metrics["init_delay_ms"], metrics["init_requests_ms"]), (5.0, 4.0), "{kind}");
        assert_eq!(metrics.contains_key("ingested_ratio"), ours, "{kind}");
        // The additional base station starts after the window and stops before all others.
        let begun: Vec<_> = calls.iter().filter(|call| call.ends_with("start")).collect();
        assert_eq!(begun, ["sut start", "load start", "load start"], "{kind}");
    }
    let none = [nodes, ("load.extra_node_timeout", Value::Span(Duration::ZERO))];
    assert!(!measured(southbound::SdRan, &sd_ran(&[]), &none).1.contains_key("init_delay_ms"));
}

/// Two locations have half of the load each. A fault at one location makes the repeat faulty.
#[test]
fn sd_ran_load_at_two_locations_is_summed() {
    let log = Log::default();
    let [(_, controller), (_, mut half)] = sd_ran(&[]);
    half.look.insert("alive", 1.0);
    for (name, value) in &mut half.report.numbers {
        *value = if name.ends_with("_max") { *value } else { *value / 2.0 };
    }
    let late = |us| {
        [("taken_us", us), ("lateness_us", us)].map(|(name, us)| (name.to_owned(), vec![(us, 5)])).into()
    };
    half.report.distributions = late(10);
    let mut other = half.clone();
    other.report.distributions = late(900);
    let hung_up = ranlab_sdran_lab::Incident {
        what: ranlab_sdran_lab::SouthboundTrouble::StoppedReading,
        at_s: 1.0,
        for_s: 2.0,
        over: true,
        connections: 1,
    };
    let detail = |incidents| {
        serde_json::to_value(ranlab_sdran_lab::SouthDetail { incidents, radios: Vec::new() }).unwrap()
    };
    (half.report.detail, other.report.detail) = (detail(Vec::new()), detail(vec![hung_up]));
    let mut rig = RunningExperiment::new(&RigContext::new("no-such-program"), southbound::SdRan);
    let places = [half, other].map(|acts| fake::worker("load", acts, &log)).join(",");
    let set = [
        ("sut.at", Value::Text(fake::worker("sut", controller, &log))),
        ("load.at", Value::Text(places)),
        ("load.nodes", Value::Int(2)),
        ("load.extra_node_timeout", Value::Span(Duration::ZERO)),
    ];
    let point = fake::point(&rig, &set);
    let run = fake::run(&point);
    let mut recorder = Recorder::default();
    assert_eq!(rig.measure(&run, &mut recorder), Ok(Outcome::Degraded));
    let recording = recorder.finish();
    let values = ["rx_messages_per_s", "nodes_alive_ratio", "read_delay_us_p99", "tool.send_delay_us_p99"];
    assert_eq!(values.map(|name| recording.metrics[name]), [20.0, 1.0, 900.0, 900.0]);
    assert!(recording.reason.contains("stopped reading"), "{}", recording.reason);
}

#[test]
fn base_stations_that_fail_to_start_determine_the_outcome() {
    let set = [
        ("load.nodes", Value::Int(4)),
        ("load.init_timeout", Value::Span(Duration::from_millis(30))),
        ("load.extra_node_timeout", Value::Span(Duration::ZERO)),
    ];
    let (outcome, metrics, _) = measured(southbound::SdRan, &sd_ran(&[]), &set);
    assert_eq!((outcome, metrics["nodes_alive_ratio"]), (Ok(Outcome::Degraded), 0.5));
    let (outcome, ..) = measured(southbound::SdRan, &sd_ran(&[("alive", 1.0)]), &set);
    assert_eq!(outcome, Ok(Outcome::Overloaded));
}

#[test]
fn monitoring_iapp_provides_the_counters_over_e2() {
    let mut places = sd_ran(&[]);
    let fleet: Report =
        fake::report(0.1, 0.3, &["alive", "ues", "sent", "sent_bytes", "reports"].map(|name| (name, 2.0)));
    let report = &mut places[1].1.report;
    *report = fleet;
    report.distributions.insert("lateness_us".to_owned(), vec![(9, 2)]);
    for name in ["dropped", "skipped", "reconnects"] {
        report.numbers.insert(name.to_owned(), 0.0);
    }
    let set = [("load.nodes", Value::Int(2)), ("sut.type", "ric".into())];
    let (outcome, metrics, calls) = measured(southbound::SdRan, &places, &set);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert!(metrics.contains_key("ingested_ratio") && !metrics.contains_key("init_delay_ms"));
    assert_eq!(calls.iter().filter(|call| call.ends_with("start")).count(), 2);
}

#[test]
fn stop_request_ends_a_soak() {
    let log = Log::default();
    let mut rig = RunningExperiment::new(&RigContext::new("no-such-program"), southbound::SdRan);
    let mut set = vec![("load.nodes", Value::Int(2)), ("load.soak", Value::Span(Duration::from_secs(3_600)))];
    for (path, acts) in sd_ran(&[]) {
        set.push((path, Value::Text(fake::worker("part", acts, &log))));
    }
    let point = fake::point(&rig, &set);
    let mut run = fake::run(&point);
    let stop = Stop::never();
    run.stop = stop.clone();
    let asks = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.request_stop();
    });
    assert_eq!(rig.prepare(&run), Err(RigError::Stopped));
    asks.join().unwrap();
}
