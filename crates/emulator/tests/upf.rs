//! The user plane function and its load on loopback sockets: every design, every request with an end.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_emulator::load::*;
use ranlab_emulator::upf::{Design, N6, UpfConfig, UpfServer, ntp_seconds};
use ranlab_machines::n4::{Dialect, MockSettings, Retransmission, SessionProfile, UpfSettings};
use ranlab_wire::pfcp::BitRates;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Each test has addresses of its own.
fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 61, test, host], port))
}

fn upf(test: u8, design: Design, mock: MockSettings) -> UpfServer {
    let node: IpAddr = at(test, 8, 0).ip();
    let recovery_time_stamp = ntp_seconds();
    let config = UpfConfig {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        n6: N6::Udp { local: at(test, 8, 2153), peer: at(test, 10, 2153) },
        design,
        settings: UpfSettings { recovery_time_stamp, ..UpfSettings::new(node, Dialect::STRICT_REL17) },
        mock,
        restart_after: None,
        pin: Vec::new(),
        gtpu_port: 2152,
        busy_poll: false,
        xdp: None,
    };
    UpfServer::start(config).unwrap()
}

fn config(test: u8, mode: Mode) -> LoadConfig {
    let profile = SessionProfile {
        upf_n3: at(test, 8, 0).ip(),
        volume_threshold: Some(1 << 30),
        ..SessionProfile::default()
    };
    LoadConfig {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        smf: at(test, 1, 8805),
        smfs: 1,
        gnb: at(test, 20, 2152),
        gnbs: 4,
        threads: 1,
        pin: Vec::new(),
        network: Network::Ip { local: at(test, 10, 2153), upf: at(test, 8, 2153) },
        server: "10.45.0.1:9".parse().unwrap(),
        ue: [10, 60, 0, 1].into(),
        dialect: Dialect::STRICT_REL17,
        profile,
        // Patient: a loaded machine is no fault of anybody here.
        retransmission: Retransmission { t1: Duration::from_secs(10), n1: 0 },
        window: 1 << 12,
        heartbeat: None,
        n3_io: N3Io::Sockets,
        uplink: None,
        downlink: None,
        smoke: true,
        run: 7 + u32::from(test),
        upf_pid: None,
        mode,
    }
}

fn closed(cycles: u64) -> Mode {
    let (duration, hold) = (Duration::from_secs(60), Duration::ZERO);
    Mode::Control { begin: Loop::Closed { window: 16 }, cycles: Some(cycles), duration, hold, live: 20 }
}

fn go(config: &LoadConfig) -> LoadReport {
    run(config, &AtomicBool::new(false)).unwrap()
}

#[test]
fn every_design_completes_every_session_and_both_directions_work_first() {
    let designs =
        [Design::CpOffload, Design::Software { workers: 2 }, Design::DpOffload { install: Duration::ZERO }];
    for design in designs {
        let server = upf(1, design, MockSettings::default());
        let report = go(&config(1, closed(300)));
        assert_eq!(report.smoke, Smoke { uplink: Some(true), downlink: Some(true) }, "{design:?}");
        assert_eq!((report.control.completed, report.control.failed, report.unexplained), (300, 0, 0));
        assert_eq!(report.set_up.unwrap().completed, 20);
        for of_kind in report.control.requests.values() {
            assert_eq!(of_kind.sent, of_kind.ok, "{of_kind:?}");
        }
        let done = server.stop().unwrap();
        assert_eq!((done.sessions, done.requests.refused), (0, 0));
        assert!(done.packets.uplink >= 1 && done.packets.downlink >= 1);
    }
}

#[test]
fn packets_are_counted_in_each_direction_and_reflected_ones_come_back() {
    let server = upf(2, Design::CpOffload, MockSettings::default());
    let mode = Mode::Sessions { sessions: 40, duration: Duration::from_millis(500) };
    let traffic = |packets_per_s| Some(Traffic { packets_per_s, octets: 200, reflect_every: 2 });
    let load =
        LoadConfig { uplink: traffic(2_000.0), downlink: traffic(1_000.0), threads: 2, ..config(2, mode) };
    let report = go(&load);
    let step = &report.steps[0];
    let (up, down) = (step.uplink.as_ref().unwrap(), step.downlink.as_ref().unwrap());
    assert!(up.sent > 0 && down.sent > 0 && step.round_trip_us.is_some(), "{step:?}");
    for side in [up, down] {
        assert_eq!((side.received, side.lost, side.duplicates), (side.sent, 0, 0), "{step:?}");
    }
    assert_eq!(report.unexplained, 0);
    drop(server);
}

#[test]
fn a_session_that_moves_gets_its_end_marker_and_its_packets() {
    let server = upf(3, Design::CpOffload, MockSettings::default());
    let mode = Mode::Handover { sessions: 10, rate: 50.0, duration: Duration::from_secs(1) };
    let traffic = Some(Traffic { packets_per_s: 2_000.0, octets: 100, reflect_every: 0 });
    let report = go(&LoadConfig { downlink: traffic, ..config(3, mode) });
    let step = &report.steps[0];
    assert!(step.handovers > 5);
    assert_eq!(step.end_markers, step.handovers);
    assert!(step.interruption_us.unwrap().n > 5);
    assert_eq!(step.downlink.as_ref().unwrap().lost, 0);
    drop(server);
}

#[test]
fn a_maximum_bit_rate_is_kept_both_ways() {
    let server = upf(4, Design::CpOffload, MockSettings::default());
    let mode = Mode::Qos { offered_bps: vec![3e6], sessions: 1, duration: Duration::from_secs(1) };
    let mut load = config(4, mode);
    load.profile.mbr = Some(BitRates { uplink_kbps: 1_000, downlink_kbps: 1_000 });
    let report = go(&load);
    assert_eq!(report.steps.len(), 2);
    for step in &report.steps {
        let side = step.uplink.as_ref().or(step.downlink.as_ref()).unwrap();
        // Never more than the maximum, a burst and what a late second adds. Less, where a busy machine loses packets
        // before the policer sees them.
        assert!((1.0..1.2e6).contains(&side.received_bps) && side.received < side.sent, "{step:?}");
    }
    drop(server);
}

#[test]
fn lost_requests_are_sent_again_and_every_loss_is_found() {
    let server =
        upf(5, Design::CpOffload, MockSettings { loss_permille: 100, seed: 5, ..Default::default() });
    let retransmission = Retransmission { t1: Duration::from_millis(100), n1: 9 };
    let load = LoadConfig { retransmission, smoke: false, ..config(5, closed(200)) };
    let report = go(&load);
    let requests = report.control.requests.values();
    let again: u64 = requests.map(|of_kind| of_kind.retransmissions + of_kind.lost).sum();
    assert_eq!(report.unexplained, 0);
    let done = server.stop().unwrap();
    // What was answered late under load is asked again as well.
    assert!(again >= done.mock_lost && done.mock_lost > 20, "{again} {}", done.mock_lost);
}

#[test]
fn sessions_whose_answers_nobody_waits_for_are_guessed() {
    let server = upf(7, Design::CpOffload, MockSettings::default());
    let mode = Mode::Blind { delay: Duration::from_micros(500), sessions: 200 };
    let report = go(&config(7, mode));
    assert_eq!((report.control.completed, report.control.failed, report.unexplained), (200, 0, 0));
    assert_eq!(server.stop().unwrap().sessions, 0);
}

#[test]
fn nobody_there_is_said_so() {
    let load = LoadConfig { n4: at(6, 99, 8805), ..config(6, closed(1)) };
    let error = run(&load, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, LoadError::NoAssociation { .. }), "{error}");
    let load = LoadConfig { gnbs: 0, ..config(6, closed(1)) };
    assert!(matches!(run(&load, &AtomicBool::new(false)), Err(LoadError::Bounds { .. })));
}
