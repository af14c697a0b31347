//! Tests a UPF and a load generator as components. They run behind workers over TCP, with real sockets on loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use ranlab_campaign::rig::{RigError, Stop};
use ranlab_campaign::value::Value;
use ranlab_lab::check::Verdict;
use ranlab_lab::worker::{ComponentError, Report, Worker, WorkerGroup, WorkerTrust, number, serve};
use ranlab_lab::{AnyComponent, Config, OVER, RigContext, SET_UP, WorkerLocation};
use ranlab_upf::n4::Dialect;
use ranlab_upf_lab::check::{UpfCheck, check_upf};
use ranlab_upf_lab::load::{Direction, LoadReport, Network, Smoke, StepSummary};
use ranlab_upf_lab::upf::N6;
use ranlab_upf_lab::{LoadMode, PacketRate, Upf, UpfComponent, UpfLoadComponent, UpfLoadReport};

const REGISTRY: ranlab_lab::Registry = ranlab_lab::Registry(&[&ranlab_upf_lab::UPF]);

/// Timeout that suffices on loaded machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns an address of a test. Each test has different addresses.
fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    // Each process also has different addresses, so that tests of several checkouts do not collide.
    let own = ranlab_net::own_loopback(61, 100).unwrap();
    SocketAddr::from(([127, 100 + own, test, host], port))
}

fn upf(test: u8) -> UpfComponent {
    UpfComponent {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        n6: N6::Udp { local: at(test, 8, 2153), peer: at(test, 10, 2153), routes: Vec::new() },
        ..UpfComponent::default()
    }
}

fn load(test: u8) -> UpfLoadComponent {
    UpfLoadComponent {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        n6: Network::Ip { local: at(test, 10, 2153), upf: at(test, 8, 2153) },
        smf: Some(at(test, 1, 8805)),
        gnb: Some(at(test, 20, 2152)),
        t1: Duration::from_secs(10),
        duration: PATIENCE,
        sessions: Some(200),
        run: Some(7),
        ..UpfLoadComponent::default()
    }
}

/// Starts a worker with an untrusted connection over TCP, in a thread of this process.
fn worker(part: AnyComponent) -> Result<Worker, RigError> {
    Worker::start(&RigContext::new("no-such-program"), &place(), "part", part, &Stop::never())
}

fn place() -> WorkerLocation {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let input = stream.try_clone().unwrap();
        let _ = serve(input, &stream, WorkerTrust::PartsOnly, REGISTRY);
        // A clone of the stream is still reading and would keep the connection open, so the connection is shut down.
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    WorkerLocation::Tcp { address }
}

fn begun(part: UpfLoadComponent) -> Worker {
    let mut load = worker(AnyComponent::from(part)).unwrap();
    assert_eq!(load.counters(&Stop::never()).unwrap()[OVER], 0.0, "the load has not begun");
    load.begin(&Stop::never()).unwrap();
    load
}

fn over(load: &mut Worker) -> Result<UpfLoadReport, RigError> {
    load.wait_until("the end of the load", PATIENCE, &Stop::never(), |numbers| numbers[OVER] == 1.0)?;
    load.end(&Stop::never())?.detail()
}

#[test]
fn remote_load_reports_sessions_and_packets() {
    let mut upf = worker(AnyComponent::from(upf(1))).unwrap();
    assert_eq!(upf.ready.addresses["n4"], at(1, 8, 8805).to_string());
    let report = over(&mut begun(load(1))).unwrap().load;
    assert_eq!(
        (report.control.completed, report.control.failed, report.unexplained),
        (200, 0, 0),
        "{report:?}"
    );
    assert_eq!(report.smoke, Smoke { uplink: Some(true), downlink: Some(true) });
    assert!(report.control.requests["establishment"].latency_us.is_some());
    let packets = UpfLoadComponent {
        mode: LoadMode::Sessions,
        sessions: Some(20),
        uplink: Some(PacketRate(2_000.0)),
        downlink: Some(PacketRate(1_000.0)),
        duration: Duration::from_millis(500),
        ..load(1)
    };
    let report = over(&mut begun(packets)).unwrap().load;
    let step = &report.steps[0];
    for side in [step.uplink.as_ref().unwrap(), step.downlink.as_ref().unwrap()] {
        assert!(side.sent > 0, "{step:?}");
        assert_eq!((side.received, side.lost, side.duplicates), (side.sent, 0, 0), "{step:?}");
    }
    upf.wait_until("the deletion of all sessions", PATIENCE, &Stop::never(), |numbers| {
        numbers["sessions"] == 0.0
    })
    .unwrap();
}

/// Runs a load at two locations. Returns the joined report, and the report of each location.
fn of_two_places(part: UpfLoadComponent, upf: &mut Worker) -> (LoadReport, Vec<LoadReport>) {
    let stop = Stop::never();
    let mut crew =
        WorkerGroup::start_idle(&RigContext::new("no-such-program"), &[place(), place()], "load", &stop)
            .unwrap();
    let live = part.live;
    let kept = part.sessions.filter(|_| part.mode != LoadMode::Control);
    crew.bring_up(AnyComponent::from(part).divide(2).unwrap(), &stop).unwrap();
    crew.begin(&stop).unwrap();
    let all = |name: &'static str| move |looks: &ranlab_lab::worker::Counters| looks[name] == 2.0;
    crew.wait_until("the setup of both loads", PATIENCE, &stop, all(SET_UP)).unwrap();
    // The sessions of both locations exist, and neither location has continued alone.
    assert_eq!(upf.counters(&stop).unwrap()["sessions"], kept.unwrap_or(live as u64) as f64);
    assert!(crew.looks(&stop).unwrap().iter().all(|look| look[OVER] == 0.0));
    crew.begin(&stop).unwrap();
    crew.wait_until("the end of both loads", PATIENCE, &stop, all(OVER)).unwrap();
    let details =
        crew.end(&stop).unwrap().into_iter().map(|report| report.detail::<UpfLoadReport>().unwrap());
    let each: Vec<_> = details.collect();
    let mut all = each[0].clone();
    all.join(&each[1]);
    (all.load, each.into_iter().map(|report| report.load).collect())
}

#[test]
fn reports_of_two_locations_add_up_exactly() {
    let routes = vec![("10.45.0.2".parse().unwrap(), at(5, 11, 2153))];
    let n6 = N6::Udp { local: at(5, 8, 2153), peer: at(5, 10, 2153), routes };
    let mut upf = worker(AnyComponent::from(UpfComponent { n6, ..upf(5) })).unwrap();
    let shared = UpfLoadComponent { smfs: 2, ..load(5) };
    let control = UpfLoadComponent { live: 7, sessions: Some(201), ..shared.clone() };
    let (all, each) = of_two_places(control, &mut upf);
    assert_eq!(
        (all.control.completed, all.control.failed, all.unexplained),
        (201, 0, 0),
        "{:?}",
        all.warnings
    );
    let cycles: Vec<_> = each.iter().map(|one| one.control.completed).collect();
    assert_eq!(cycles, [100, 101]);
    let times = |load: &LoadReport| load.control.requests["establishment"].latency_us.clone().unwrap();
    assert_eq!(times(&all).n, each.iter().map(|one| times(one).n).sum::<u64>());
    let packets = UpfLoadComponent {
        mode: LoadMode::Sessions,
        sessions: Some(21),
        uplink: Some(PacketRate(2_100.0)),
        downlink: Some(PacketRate(1_050.0)),
        duration: Duration::from_millis(500),
        ..shared
    };
    let (all, each) = of_two_places(packets, &mut upf);
    assert_eq!(all.smoke, Smoke { uplink: Some(true), downlink: Some(true) });
    for of in [
        |step: &StepSummary| step.uplink.clone().unwrap(),
        |step: &StepSummary| step.downlink.clone().unwrap(),
    ] {
        let all = of(&all.steps[0]);
        let each = each.iter().map(|one| of(&one.steps[0])).collect::<Vec<_>>();
        // Packets of the UEs at one location reach that location's data network, and come back to its base stations.
        assert_eq!((all.sent, all.received, all.lost), (all.received, all.sent, 0));
        assert_eq!(all.sent, each.iter().map(|one| one.sent).sum::<u64>());
        assert_eq!(all.delay_us.map(|delay| delay.n), Some(all.sent));
        let rates: Vec<_> = each.iter().map(|one| one.asked_pps.unwrap().round()).collect();
        assert!(rates == [1_000.0, 1_100.0] || rates == [500.0, 550.0], "{rates:?}");
    }
    upf.wait_until("the deletion of all sessions", PATIENCE, &Stop::never(), |numbers| {
        numbers["sessions"] == 0.0
    })
    .unwrap();
}

#[test]
fn running_load_responds_and_deletes_its_sessions() {
    let mut upf = worker(AnyComponent::from(upf(2))).unwrap();
    let mut load = begun(UpfLoadComponent { live: 50, sessions: None, ..load(2) });
    let sessions = |numbers: &ranlab_lab::worker::Counters| numbers["sessions"] >= 50.0;
    upf.wait_until("sessions", PATIENCE, &Stop::never(), sessions).unwrap();
    assert_eq!(number(&load.counters(&Stop::never()).unwrap(), OVER), Ok(0.0));
    let early: Report = load.end(&Stop::never()).unwrap();
    let error = early.detail::<UpfLoadReport>().unwrap_err().to_string();
    assert!(error.contains("report is invalid"), "{error}");
    drop(load);
    upf.wait_until("the deletion of all sessions", PATIENCE, &Stop::never(), |numbers| {
        numbers["sessions"] == 0.0
    })
    .unwrap();
}

#[test]
fn load_fails_if_no_upf_answers_association_setup() {
    let error = over(&mut begun(load(3))).unwrap_err();
    let RigError::Sut(what) = &error else { panic!("{error:?}") };
    let expected = format!("{} did not answer an association setup", at(3, 8, 8805));
    assert!(what.contains(&expected), "{what}");
}

#[test]
fn local_settings_are_rejected_over_tcp() {
    let xdp = UpfComponent { xdp: Some("n3,n6".parse().unwrap()), ..upf(4) };
    let tun = UpfComponent { n6: N6::Tun("upf0".to_owned()), ..upf(4) };
    let frames = UpfLoadComponent { io: "af-xdp".parse().unwrap(), ..load(4) };
    let watched = UpfLoadComponent { upf_pid: Some(1), ..load(4) };
    for (part, why) in [
        (AnyComponent::from(xdp), "`xdp`"),
        (AnyComponent::from(tun), "TUN device"),
        (AnyComponent::from(frames), "`io`"),
        (AnyComponent::from(watched), "`upf_pid`"),
    ] {
        let error = worker(part).err().unwrap().to_string();
        assert!(error.contains(why) && error.contains("over TCP"), "{error}");
    }
}

#[test]
fn contradictory_config_is_a_rig_error() {
    let wrong = [
        UpfLoadComponent { ue: "2001:db8::1".parse().unwrap(), ..load(5) },
        UpfLoadComponent { rate: 0.0, ..load(5) },
        UpfLoadComponent { rate_to: Some(f64::NAN), ..load(5) },
        UpfLoadComponent { mode: LoadMode::Calibrate, ..load(5) },
    ];
    for part in wrong {
        let error = worker(AnyComponent::from(part.clone())).err().unwrap();
        assert!(matches!(error, RigError::Rig(_)), "{error:?} of {part:?}");
    }
    let lacking =
        over(&mut begun(UpfLoadComponent { mode: LoadMode::Handover, n6: Network::None, ..load(5) }));
    assert!(matches!(lacking, Err(RigError::Rig(_) | RigError::Sut(_))), "{lacking:?}");
    let xdp = UpfComponent { xdp: Some("n3,n6".parse().unwrap()), ..upf(5) };
    assert!(Upf::start(&xdp).err().unwrap().what.contains("dp-offload"));
}

#[test]
fn worker_messages_contain_every_setting() {
    let mut part = load(6);
    for (name, value) in [
        ("mode", "qos".into()),
        ("role", "data-network".into()),
        ("arrivals", "ramp".into()),
        ("dialect", "open5gs".into()),
        ("io", "af-xdp:n3,native".into()),
        ("pin", "0,1".into()),
        ("mbr_mbps", "10M".into()),
        ("offered_mbps", Value::List(vec!["0.5k".into(), Value::Float(7.0)])),
        ("uplink", "max".into()),
        ("downlink", Value::Int(50)),
        ("heartbeat", Value::from_text("0s")),
        ("no_smoke_test", true.into()),
        ("dnn", "5s".into()),
    ] {
        part.set(name, &value).unwrap();
    }
    for part in [part, load(6)] {
        let message = serde_json::to_string(&AnyComponent::from(part.clone())).unwrap();
        let read = REGISTRY.component(serde_json::from_str(&message).unwrap()).unwrap();
        let read = read.get::<UpfLoadComponent>().unwrap();
        assert_eq!(*read, part, "{message}");
    }
    let part = UpfComponent { crash_after: Some(5), busy_poll: true, dialect: Dialect::EUPF, ..upf(6) };
    let message = serde_json::to_string(&AnyComponent::from(part.clone())).unwrap();
    let read = REGISTRY.component(serde_json::from_str(&message).unwrap()).unwrap();
    let read = read.get::<UpfComponent>().unwrap();
    assert_eq!(*read, part, "{message}");
}

#[test]
fn report_survives_serialization() {
    let mut report = LoadReport { mode: "qos".to_owned(), upf_died_s: Some(0.5), ..LoadReport::default() };
    report.control.causes.insert(65, 3);
    report.control.drift = Some([1.0, 0.5]);
    report.set_up = Some(report.control.clone());
    let qos = Some((Direction::Downlink, 7e6, 1e7));
    report.steps.push(StepSummary { qos, seconds: 1.5, ..StepSummary::default() });
    let original = UpfLoadReport { upf_cpu_s: Some(0.25), remarks: vec!["x".to_owned()], load: report };
    let sent = Report { detail: serde_json::to_value(&original).unwrap(), ..Report::default() };
    let came: Report = serde_json::from_str(&serde_json::to_string(&sent).unwrap()).unwrap();
    assert_eq!(came.detail::<UpfLoadReport>().unwrap(), original);
}

fn verdicts(test: u8, n6: N6, config: UpfCheck) -> Vec<Verdict> {
    let upf = Upf::start(&UpfComponent { n6, dialect: config.dialect, ..upf(test) }).unwrap();
    let config = UpfCheck {
        n3: Some(at(test, 8, 2152)),
        gnb: Some(at(test, 20, 2152)),
        patience: Duration::from_secs(1),
        ..config
    };
    let mut calls = 0;
    let verdicts = check_upf::<ComponentError>(at(test, 8, 8805), &config, |_| {
        calls += 1;
        Ok(())
    });
    drop(upf);
    let verdicts = verdicts.unwrap();
    assert_eq!(calls, verdicts.len());
    verdicts
}

#[test]
fn failed_checks_of_silent_upf_store_captures() {
    let captures = std::env::temp_dir().join(format!("ranlab-check-{}", std::process::id()));
    let config = UpfCheck {
        dialect: Dialect::OPEN5GS,
        only: vec!["trap".to_owned()],
        captures: captures.clone(),
        ..UpfCheck::default()
    };
    let verdicts = verdicts(8, N6::Reflect, config);
    let failed: Vec<_> = verdicts.iter().filter(|verdict| verdict.verdict == "failed").collect();
    let silent = |verdict: &&&Verdict| verdict.why.as_ref().is_some_and(|why| why.contains("no response"));
    assert!(failed.iter().any(|verdict| silent(&verdict)), "{verdicts:?}");
    for verdict in failed {
        let capture = std::fs::read(verdict.capture.as_ref().unwrap()).unwrap();
        assert!(capture.len() > 100, "{verdict:?}");
        // N3 packets are sent from port 2152 to port 2152.
        let n3 = capture.windows(4).any(|octets| octets == [0x08, 0x68, 0x08, 0x68]);
        assert_eq!(n3, verdict.name.contains("forwards"), "{verdict:?}");
    }
    std::fs::remove_dir_all(captures).unwrap();
}

#[test]
fn emulated_data_network_shows_where_packets_are_lost() {
    let captures = std::env::temp_dir().join(format!("ranlab-check-own-{}", std::process::id()));
    let only = vec!["interface types".to_owned(), "a session works in both directions".to_owned()];
    let try_with = |test: u8, n6| {
        let config = UpfCheck { n6, only: only.clone(), captures: captures.clone(), ..UpfCheck::default() };
        let n6 = N6::Udp { local: at(test, 8, 2153), peer: at(test, 10, 2153), routes: Vec::new() };
        let outcome = |verdict: Verdict| (verdict.verdict, verdict.why.unwrap_or_default());
        verdicts(test, n6, config).into_iter().map(outcome).collect::<Vec<_>>()
    };
    let own = |test, port| Network::Ip { local: at(test, 10, port), upf: at(test, 8, 2153) };
    assert_eq!(try_with(14, own(14, 2153)), [("passed", String::new()), ("passed", String::new())]);
    let nobody = try_with(15, Network::None);
    assert_eq!(nobody.iter().map(|(verdict, _)| *verdict).collect::<Vec<_>>(), ["skipped"; 2], "{nobody:?}");
    assert!(nobody[0].1.contains("do not come back") && nobody[1].1.contains("--n6"), "{nobody:?}");
    // The emulated data network listens on a port to which the UPF does not send.
    let elsewhere = try_with(16, own(16, 2154));
    assert_eq!((elsewhere[0].0, elsewhere[1].0), ("skipped", "failed"), "{elsewhere:?}");
    assert!(elsewhere[1].1.contains("no packet reached the data network"), "{elsewhere:?}");
    std::fs::remove_dir_all(captures).unwrap();
}
