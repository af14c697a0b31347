//! Tests the UPF and the load generator on loopback sockets, in every design. Every request must have an outcome.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_upf::n4::replay::{Recorder, Recording};
use ranlab_upf::n4::{
    Change, Dialect, MockSettings, Retransmission, SessionProfile, SessionSpec, SmfSettings, Tunnel,
    UpfFault, UpfSettings,
};
use ranlab_upf::pfcp::BitRates;
use ranlab_upf_lab::load::*;
use ranlab_upf_lab::upf::{Design, N6, UpfConfig, UpfServer, ntp_seconds};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Returns an address of a test. Each test has different addresses.
fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    // Each process also has different addresses, so that tests of several checkouts do not collide.
    let own = ranlab_net::own_loopback(61, 100).unwrap();
    SocketAddr::from(([127, 100 + own, test, host], port))
}

fn upf(test: u8, design: Design, mock: MockSettings) -> UpfServer {
    upf_of(test, design, mock, Dialect::STRICT_REL17)
}

fn upf_of(test: u8, design: Design, mock: MockSettings, dialect: Dialect) -> UpfServer {
    let node: IpAddr = at(test, 8, 0).ip();
    let recovery_time_stamp = ntp_seconds();
    let config = UpfConfig {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        n6: N6::Udp { local: at(test, 8, 2153), peer: at(test, 10, 2153), routes: Vec::new() },
        design,
        settings: UpfSettings { recovery_time_stamp, ..UpfSettings::new(node, dialect) },
        mock,
        restart_after: None,
        pin: Vec::new(),
        gtpu_port: 2152,
        busy_poll: false,
        xdp: None,
        n3_memif: None,
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
        // The timeout is long, because machines may be loaded.
        retransmission: Retransmission { t1: Duration::from_secs(10), n1: 0 },
        window: 1 << 12,
        heartbeat: None,
        echo: None,
        n3_io: N3Io::Sockets,
        uplink: None,
        downlink: None,
        smoke: true,
        run: 7 + u32::from(test),
        upf_pid: None,
        anew: false,
        distributions: false,
        onlooker: ProgressObserver::default(),
        mode,
    }
}

fn closed(cycles: u64) -> Mode {
    let duration = Duration::from_secs(60);
    let hold = Duration::ZERO;
    Mode::Control { begin: Loop::Closed { window: 16 }, cycles: Some(cycles), duration, hold, live: 20 }
}

fn go(config: &LoadConfig) -> LoadReport {
    run(config, &AtomicBool::new(false)).unwrap()
}

#[test]
fn every_design_completes_sessions_after_smoke_test() {
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
fn packets_are_counted_per_direction_and_reflected() {
    let server = upf(2, Design::CpOffload, MockSettings::default());
    let mode = Mode::Sessions { sessions: 40, duration: Duration::from_millis(500) };
    let traffic =
        |packets_per_s| Some(Traffic { packets_per_s, octets: PacketSizes::Fixed(200), reflect_every: 2 });
    let load =
        LoadConfig { uplink: traffic(2_000.0), downlink: traffic(1_000.0), threads: 2, ..config(2, mode) };
    let report = go(&load);
    let step = &report.steps[0];
    let up = step.uplink.as_ref().unwrap();
    let down = step.downlink.as_ref().unwrap();
    assert!(up.sent > 0 && down.sent > 0 && step.round_trip_us.is_some(), "{step:?}");
    for side in [up, down] {
        assert_eq!((side.received, side.lost, side.duplicates), (side.sent, 0, 0), "{step:?}");
    }
    assert_eq!(report.unexplained, 0);
    drop(server);
}

#[test]
fn moved_session_gets_end_marker_and_packets() {
    let server = upf(3, Design::CpOffload, MockSettings::default());
    let mode = Mode::Handover { sessions: 10, rate: 50.0, duration: Duration::from_secs(1) };
    let traffic = Some(Traffic { packets_per_s: 2_000.0, octets: PacketSizes::Fixed(100), reflect_every: 0 });
    let report = go(&LoadConfig { downlink: traffic, ..config(3, mode) });
    let step = &report.steps[0];
    assert!(step.handovers > 5);
    assert_eq!(step.end_markers, step.handovers);
    assert!(step.interruption_us.as_ref().unwrap().n > 5);
    assert_eq!(step.downlink.as_ref().unwrap().lost, 0);
    drop(server);
}

#[test]
fn maximum_bit_rate_is_enforced_both_ways() {
    let server = upf(4, Design::CpOffload, MockSettings::default());
    let mode = Mode::Qos { offered_bps: vec![3e6], sessions: 1, duration: Duration::from_secs(1) };
    let mut load = config(4, mode);
    load.profile.mbr = Some(BitRates { uplink_kbps: 1_000, downlink_kbps: 1_000 });
    let report = go(&load);
    assert_eq!(report.steps.len(), 2);
    for step in &report.steps {
        let side = step.uplink.as_ref().or(step.downlink.as_ref()).unwrap();
        // The received rate may exceed the maximum rate by one burst, and by more if the measured interval ends late. It may be lower if a
        // busy machine loses packets before the policer.
        assert!((1.0..1.2e6).contains(&side.received_bps) && side.received < side.sent, "{step:?}");
    }
    drop(server);
}

#[test]
fn lost_requests_are_retransmitted_and_counted() {
    let server =
        upf(5, Design::CpOffload, MockSettings { loss_permille: 100, seed: 5, ..Default::default() });
    let retransmission = Retransmission { t1: Duration::from_millis(100), n1: 9 };
    let load = LoadConfig { retransmission, smoke: false, ..config(5, closed(200)) };
    let report = go(&load);
    let requests = report.control.requests.values();
    let again: u64 = requests.map(|of_kind| of_kind.retransmissions + of_kind.lost).sum();
    assert_eq!(report.unexplained, 0);
    let done = server.stop().unwrap();
    // Responses that were delayed under load also cause retransmissions.
    assert!(again >= done.mock_lost && done.mock_lost > 20, "{again} {}", done.mock_lost);
}

#[test]
fn blind_load_guesses_session_ids() {
    let server = upf(7, Design::CpOffload, MockSettings::default());
    let mode = Mode::Blind { delay: Duration::from_micros(500), sessions: 200 };
    let report = go(&config(7, mode));
    assert_eq!((report.control.completed, report.control.failed, report.unexplained), (200, 0, 0));
    assert_eq!(server.stop().unwrap().sessions, 0);
}

#[test]
fn missing_upf_is_an_error() {
    let load = LoadConfig { n4: at(6, 99, 8805), ..config(6, closed(1)) };
    let error = run(&load, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, LoadError::NoAssociation { .. }), "{error}");
    let load = LoadConfig { gnbs: 0, ..config(6, closed(1)) };
    assert!(matches!(run(&load, &AtomicBool::new(false)), Err(LoadError::Bounds { .. })));
}

/// Starts a UPF with the dialect of Open5GS. It sends responses to port 8805 only, and requires three bytes of Reporting Triggers. It does
/// not respond to a release. A heartbeat with a newer time stamp deletes the sessions.
fn as_open5gs(test: u8, mode: Mode) -> (UpfServer, LoadConfig) {
    let server = upf_of(test, Design::CpOffload, MockSettings::default(), Dialect::OPEN5GS);
    let heartbeat = Some(Duration::from_millis(100));
    // Only the release reaches this timeout, because all other requests are answered.
    let retransmission = Retransmission { t1: Duration::from_secs(2), n1: 0 };
    let load = LoadConfig { dialect: Dialect::OPEN5GS, heartbeat, retransmission, ..config(test, mode) };
    (server, load)
}

#[test]
fn second_run_works_despite_ignored_release() {
    let mode = Mode::Sessions { sessions: 30, duration: Duration::from_secs(1) };
    let (server, load) = as_open5gs(8, mode);
    let uplink = Some(Traffic { packets_per_s: 500.0, octets: PacketSizes::Fixed(100), reflect_every: 0 });
    for run in [1, 2] {
        let report = go(&LoadConfig { run, uplink, ..load.clone() });
        let up = report.steps[0].uplink.as_ref().unwrap();
        assert_eq!(
            (up.lost, report.unexplained, report.control.left_behind),
            (0, 0, 0),
            "run {run}: {report:?}"
        );
        // The unanswered release is reported separately.
        assert_eq!((report.control.releases_unanswered, report.control.requests["release"].sent), (1, 1));
        assert_eq!(report.control.requests["association"].lost, 0);
    }
    assert_eq!(server.stop().unwrap().sessions, 0);
}

#[test]
fn several_smfs_use_pfcp_port_and_conflict_error_suggests_address() {
    let (server, load) = as_open5gs(9, closed(60));
    let report = go(&LoadConfig { smfs: 3, ..load.clone() });
    assert_eq!(
        (report.control.completed, report.unexplained, report.control.releases_unanswered),
        (60, 0, 3),
        "{report:?}"
    );
    // Responses are sent to a port without a listener. The error contains a remedy.
    let elsewhere = LoadConfig { smf: at(9, 1, 40_001), ..load.clone() };
    let error = run(&elsewhere, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains(&format!("try --smf {}", at(9, 1, 8805))), "{error}");
    let occupied = std::net::UdpSocket::bind(load.smf).unwrap();
    let error = run(&load, &AtomicBool::new(false)).unwrap_err().to_string();
    let own = at(9, 1, 8805).to_string();
    assert!(error.contains(&own) && error.contains("another address with --smf"), "{error}");
    drop((occupied, server));
    assert_eq!(default_smf(at(9, 8, 8805)).unwrap(), "127.0.2.1:8805".parse().unwrap());
}

/// Returns a mode with cycles that end by themselves, and with sessions that remain until the end.
fn live(live: usize, cycles: u64) -> Mode {
    let begin = Loop::Closed { window: 16 };
    let duration = Duration::from_secs(60);
    Mode::Control { begin, cycles: Some(cycles), duration, hold: Duration::ZERO, live }
}

fn impatient(test: u8, mode: Mode) -> LoadConfig {
    let retransmission = Retransmission { t1: Duration::from_millis(500), n1: 0 };
    LoadConfig { retransmission, smoke: false, ..config(test, mode) }
}

#[test]
fn teardown_does_not_overflow_upf_queue() {
    // The UPF is as slow as Open5GS, and has space for as many datagrams as there are concurrent setups.
    let mock = MockSettings { queue: 80, service: Duration::from_micros(100), ..Default::default() };
    let server = upf(10, Design::CpOffload, mock);
    let load = LoadConfig {
        retransmission: Retransmission { t1: Duration::from_secs(10), n1: 0 },
        ..impatient(10, live(300, 10))
    };
    let report = go(&load);
    assert_eq!((report.control.completed, report.control.left_behind, report.unexplained), (10, 0, 0));
    let done = server.stop().unwrap();
    assert_eq!((done.sessions, done.mock_lost), (0, 0));
}

#[test]
fn lost_deletions_are_repeated_at_end() {
    let mock = MockSettings { loss_permille: 100, seed: 3, ..Default::default() };
    let server = upf(11, Design::CpOffload, mock);
    let report = go(&impatient(11, live(0, 200)));
    let deletions = &report.control.requests["deletion"];
    assert!(deletions.retransmissions + deletions.lost > 0, "{deletions:?}");
    assert_eq!((report.control.left_behind, report.unexplained), (0, 0));
    assert_eq!(server.stop().unwrap().sessions, 0);
}

#[test]
fn sessions_at_silent_upf_are_reported_within_time_limit() {
    // The mock crashes after 201 requests: an association setup without heartbeats, and two requests of each of 100 sessions.
    let mock = MockSettings { crash_after: Some(201), ..Default::default() };
    let server = upf(12, Design::CpOffload, mock);
    let report = go(&impatient(12, live(100, 0)));
    assert_eq!((report.control.left_behind, report.control.releases_unanswered), (100, 1));
    assert!(
        report.warnings.iter().any(|warning| warning.contains("100 sessions may be left behind")),
        "{report:?}"
    );
    assert_eq!(report.unexplained, 0);
    // Only 32 deletions were sent. All of them were given up, so no more were sent.
    assert_eq!(report.control.requests["deletion"].sent, 32);
    drop(server);
}

#[test]
fn exit_of_upf_process_ends_run_with_time() {
    let server = upf(13, Design::CpOffload, MockSettings::default());
    let mut process = std::process::Command::new("sleep").arg("0.5").spawn().unwrap();
    let begin = Loop::Open(Arrivals::Constant { rate: 100.0 });
    let duration = Duration::from_secs(600);
    let mode = Mode::Control { begin, cycles: None, duration, hold: Duration::ZERO, live: 0 };
    let load = LoadConfig { upf_pid: Some(process.id()), ..config(13, mode) };
    let report = go(&load);
    let died_s = report.upf_died_s.unwrap();
    assert_eq!(report.unexplained, 0);
    assert!(died_s > 0.3 && report.control.wall_s < 500.0, "{died_s}");
    assert!(
        report.warnings.iter().any(|warning| warning.contains("ended") && warning.contains("s into the run"))
    );
    process.wait().unwrap();
    let error = run(&load, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, LoadError::NoProcess { .. }), "{error}");
    drop(server);
}

#[test]
fn blind_load_answers_heartbeats() {
    let mut alive = Dialect::STRICT_REL17;
    alive.demands.heartbeat = Some((Duration::from_millis(20), 3));
    let server = upf_of(14, Design::CpOffload, MockSettings::default(), alive);
    let mode = Mode::Blind { delay: Duration::from_millis(1), sessions: 200 };
    let report = go(&config(14, mode));
    assert_eq!((report.control.malformed, report.control.unexpected, report.unexplained), (0, 0, 0));
    assert_eq!((report.control.completed, report.control.left_behind), (200, 0));
    assert_eq!(server.stop().unwrap().sessions, 0);
}

/// After a lost request, sessions have other ids than the load guesses.
#[test]
fn blind_load_deletes_wrongly_guessed_sessions() {
    let mock = MockSettings { loss_permille: 50, ..MockSettings::default() };
    // This UPF would delete the sessions at a release, but does not answer releases.
    let server = upf_of(15, Design::CpOffload, mock, Dialect::EUPF);
    let mode = Mode::Blind { delay: Duration::from_micros(500), sessions: 200 };
    let retransmission = Retransmission { t1: Duration::from_millis(500), n1: 0 };
    let report = go(&LoadConfig { dialect: Dialect::EUPF, retransmission, ..config(15, mode) });
    let control = &report.control;
    assert!(control.completed < 100 && control.causes[&65] > 0, "{control:?}");
    assert!(control.requests_acknowledged < control.requests_offered, "{control:?}");
    assert_eq!((control.left_behind, control.releases_unanswered), (0, 1), "{control:?}");
    assert_eq!(server.stop().unwrap().sessions, 0);
}

/// Returns a mode in which sessions are created and deleted for `duration`, without packets.
fn for_a_while(duration: Duration) -> Mode {
    Mode::Control {
        begin: Loop::Closed { window: 4 },
        cycles: None,
        duration,
        hold: Duration::from_millis(50),
        live: 0,
    }
}

#[test]
fn base_stations_supervise_their_paths() {
    let every = Some(Duration::from_millis(100));
    let load = LoadConfig { echo: every, ..config(17, for_a_while(Duration::from_secs(1))) };
    let server = upf(17, Design::CpOffload, MockSettings::default());
    let n3 = go(&load).n3.unwrap();
    assert!(n3.echo_requests >= 20 && n3.path_failures == 0, "{n3:?}");
    // The last requests of each base station may not have been answered yet.
    assert!(n3.echo_responses + 3 * 4 >= n3.echo_requests && n3.round_trip_us.is_some(), "{n3:?}");
    server.stop().unwrap();
    let deaf = MockSettings { fault: Some(UpfFault::Echo), ..Default::default() };
    let server = upf(17, Design::CpOffload, deaf);
    let report = go(&load);
    let n3 = report.n3.unwrap();
    assert!(
        n3.echo_responses == 0 && n3.path_failures >= 4,
        "each of four base stations has one path: {n3:?}"
    );
    assert!(report.warnings.iter().any(|warning| warning.starts_with("paths on N3 failed")));
    server.stop().unwrap();
}

#[test]
fn base_stations_answer_echo_requests_during_session_cycles() {
    use ranlab_packet::gtpu::{Message, Packet, encode_message, message_type};
    let server = upf(18, Design::CpOffload, MockSettings::default());
    let mode = for_a_while(Duration::from_secs(2));
    let load = std::thread::spawn(move || go(&config(18, mode)));
    // The request is sent from another port of the UPF's address.
    let socket = std::net::UdpSocket::bind(at(18, 8, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut request = Vec::new();
    encode_message(&Message::EchoRequest, 0, Some(77), &mut request).unwrap();
    let mut room = [0; 64];
    let mut answer = None;
    // Requests are sent until the load ends, because the report excludes requests before the first session.
    while !load.is_finished() {
        // The kernel refuses the datagram until the load has opened its sockets.
        let sent = socket.send_to(&request, at(18, 20, 2152));
        answer = sent.and_then(|_| socket.recv(&mut room)).ok().or(answer);
        std::thread::sleep(Duration::from_millis(20));
    }
    let packet = Packet::parse(&room[..answer.unwrap()]).unwrap();
    assert_eq!((packet.message_type, packet.sequence), (message_type::ECHO_RESPONSE, Some(77)));
    let report = load.join().unwrap();
    assert!(report.n3.unwrap().answered_requests > 0);
    server.stop().unwrap();
}

/// Returns the recording of one session between an SMF and the UPF. The session gets a tunnel, is moved, and ends.
fn captured(test: u8) -> Recording {
    let smf = at(test, 2, 8805);
    let profile = SessionProfile { upf_n3: at(test, 8, 0).ip(), ..SessionProfile::default() };
    let settings = SmfSettings::new(smf.ip(), Dialect::STRICT_REL17);
    let mut n4 = N4::new(smf, at(test, 8, 8805), settings, profile).unwrap();
    n4.trace = Some(std::collections::VecDeque::new());
    n4.associate(Duration::from_secs(5)).unwrap();
    let until_answered = |n4: &mut N4| {
        while n4.smf.ledger().total(|counts| counts.pending) > 0 {
            n4.flush().unwrap();
            if !n4.pump().unwrap() {
                n4.rest(N4::now() + Duration::from_millis(20)).unwrap();
            }
        }
    };
    let spec = SessionSpec { ue: [10, 61, 0, 1].into(), uplink_teid: 1 };
    let id = n4.smf.establish(N4::now(), N4::now(), spec).unwrap();
    until_answered(&mut n4);
    for teid in [5, 6] {
        let tunnel = Tunnel { teid, peer: at(test, 20, 0).ip() };
        n4.smf.modify(N4::now(), N4::now(), id, Change::Downlink { tunnel, end_marker: false }).unwrap();
        until_answered(&mut n4);
    }
    n4.smf.delete(N4::now(), N4::now(), id).unwrap();
    until_answered(&mut n4);
    let mut recorder = Recorder::default();
    for TracedMessage { at_ns, from, to, octets } in n4.trace.iter().flatten() {
        recorder.datagram(Duration::from_nanos(*at_ns), from.ip(), to.ip(), octets);
    }
    recorder.finish()
}

#[test]
fn sessions_of_a_capture_are_repeated_at_a_rate() {
    let server = upf(19, Design::CpOffload, MockSettings::default());
    let recording = Arc::new(captured(19));
    assert_eq!((recording.scripts.len(), recording.scripts[0].steps.len()), (1, 3));
    let begin = Loop::Open(Arrivals::Constant { rate: 200.0 });
    let plan = ReplayPlan { recording, times: 50, begin, keeps_gaps: false };
    let report = go(&LoadConfig { smoke: false, ..config(19, Mode::Replay(plan)) });
    let control = &report.control;
    assert_eq!((control.completed, control.failed, report.unexplained), (50, 0, 0));
    let sent = |kind: &str| control.requests[kind].ok;
    assert_eq!([sent("establishment"), sent("modification"), sent("deletion")], [50, 100, 50]);
    assert!(control.wall_s >= 0.245, "50 sessions at 200/s take {} s", control.wall_s);
    let done = server.stop().unwrap();
    assert_eq!((done.sessions, done.requests.refused), (0, 0));
}
