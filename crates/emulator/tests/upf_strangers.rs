//! User planes of other people's, each with one habit: what the load makes of it is an account without a gap.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_emulator::load::*;
use ranlab_machine::Time;
use ranlab_upf::n4::{Dialect, Retransmission, SessionProfile, Upf, UpfInput, UpfOutput, UpfSettings};
use ranlab_upf::pfcp::{Header, Message, SessionReportRequest, decode, encode, message_type};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a user plane makes of an answer: datagrams to send now, in this order.
type Habit = Box<dyn FnMut(Vec<u8>) -> Vec<Vec<u8>> + Send>;

/// Only the control half: packets are not what is looked at here.
struct Stranger {
    /// Of every establishment that came.
    ues: Arc<Mutex<Vec<Ipv4Addr>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Stranger {
    /// At a test's own address; answers leave by another port if `port` is one.
    fn start(test: u8, max_sessions: usize, port: Option<u16>, mut habit: Habit) -> Self {
        let socket = UdpSocket::bind(at(test, 8, 8805)).unwrap();
        let speaks =
            port.map_or_else(|| socket.try_clone().unwrap(), |p| UdpSocket::bind(at(test, 8, p)).unwrap());
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let ues = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&ues);
        let settings =
            UpfSettings { max_sessions, ..UpfSettings::new(at(test, 8, 0).ip(), Dialect::STRICT_REL17) };
        let thread = std::thread::spawn(move || {
            let (mut upf, begin) = (Upf::new(settings), Instant::now());
            let mut room = [0; 4_096];
            while !stopped.load(Relaxed) {
                let now = Time::from_nanos(begin.elapsed().as_nanos() as u64);
                match socket.recv_from(&mut room) {
                    Ok((len, from)) => {
                        seen.lock().unwrap().extend(ue(&room[..len]));
                        upf.handle(now, UpfInput::Received(from, &room[..len]));
                    }
                    Err(_) => upf.handle(now, UpfInput::Wake),
                }
                while let Some(output) = upf.poll() {
                    if let UpfOutput::Send(to, answer) = output {
                        for datagram in habit(answer) {
                            speaks.send_to(&datagram, to).unwrap();
                        }
                    }
                }
            }
            upf.sessions()
        });
        Self { ues, stop, thread: Some(thread) }
    }

    /// Sessions that it still has.
    fn stop(mut self) -> usize {
        self.stop.store(true, Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn ue(datagram: &[u8]) -> Option<Ipv4Addr> {
    match decode(datagram).ok()?.0.message {
        Message::SessionEstablishmentRequest(request) => {
            request.create_pdrs.iter().find_map(|pdr| pdr.pdi.ue_ip_addresses.first()?.addresses.v4)
        }
        _ => None,
    }
}

fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 63, test, host], port))
}

/// So many sessions come and go in a closed loop; no packets.
fn load(test: u8, cycles: u64, t1: Duration) -> Result<LoadReport, LoadError> {
    let (begin, duration) = (Loop::Closed { window: 8 }, Duration::from_secs(60));
    let mode = Mode::Control { begin, cycles: Some(cycles), duration, hold: Duration::ZERO, live: 0 };
    run(&config(test, t1, mode), &AtomicBool::new(false))
}

fn config(test: u8, t1: Duration, mode: Mode) -> LoadConfig {
    LoadConfig {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        smf: at(test, 1, 8805),
        smfs: 1,
        gnb: at(test, 20, 2152),
        gnbs: 1,
        threads: 1,
        pin: Vec::new(),
        network: Network::None,
        server: "10.45.0.1:9".parse().unwrap(),
        ue: [10, 60, 0, 1].into(),
        dialect: Dialect::STRICT_REL17,
        profile: SessionProfile { upf_n3: at(test, 8, 0).ip(), ..SessionProfile::default() },
        retransmission: Retransmission { t1, n1: 0 },
        window: 1 << 10,
        heartbeat: None,
        n3_io: N3Io::Sockets,
        uplink: None,
        downlink: None,
        smoke: false,
        run: u32::from(test),
        upf_pid: None,
        anew: false,
        distributions: false,
        onlooker: Onlooker::default(),
        mode,
    }
}

/// A busy machine is no fault of anybody here.
const PATIENT: Duration = Duration::from_secs(20);

fn kind(datagram: &[u8]) -> u8 {
    datagram.get(1).copied().unwrap_or(0)
}

/// Every request ends once, and every response is somewhere.
fn balanced(report: &LoadReport) {
    assert!(report.control.balanced, "{:?}", report.control);
    for (kind, of_kind) in &report.control.requests {
        let ended = of_kind.ok + of_kind.retransmitted + of_kind.rejected + of_kind.late + of_kind.lost;
        assert_eq!(of_kind.sent, ended + of_kind.pending, "{kind}: {of_kind:?}");
    }
}

#[test]
fn one_that_says_everything_twice_is_understood_once() {
    let upf = Stranger::start(1, 1_000, None, Box::new(|answer| vec![answer.clone(), answer]));
    let report = load(1, 50, PATIENT).unwrap();
    balanced(&report);
    assert_eq!((report.control.completed, report.control.failed, report.unexplained), (50, 0, 0));
    for kind in ["establishment", "modification"] {
        let of_kind = &report.control.requests[kind];
        assert_eq!((of_kind.ok, of_kind.duplicate), (50, 50), "{kind}");
    }
    assert_eq!(upf.stop(), 0);
}

#[test]
fn one_that_answers_in_another_order_is_understood_as_well() {
    let mut held = None;
    let mut establishments = 0;
    let habit = move |answer: Vec<u8>| {
        if kind(&answer) != message_type::SESSION_ESTABLISHMENT_RESPONSE {
            return vec![answer];
        }
        establishments += 1;
        match held.take() {
            None if establishments < 50 => {
                held = Some(answer);
                Vec::new()
            }
            earlier => [Some(answer), earlier].into_iter().flatten().collect(),
        }
    };
    let upf = Stranger::start(2, 1_000, None, Box::new(habit));
    let report = load(2, 50, PATIENT).unwrap();
    balanced(&report);
    assert_eq!((report.control.completed, report.unexplained), (50, 0));
    assert_eq!(upf.stop(), 0);
}

#[test]
fn one_without_room_refuses_with_its_cause_and_the_others_go_on() {
    let upf = Stranger::start(3, 3, None, Box::new(|answer| vec![answer]));
    let report = load(3, 200, PATIENT).unwrap();
    balanced(&report);
    let control = &report.control;
    let refused = control.causes.get(&75).copied().unwrap_or(0);
    assert!(refused > 0 && control.completed > 0, "{control:?}");
    assert_eq!((control.completed + control.failed, control.failed), (200, refused));
    assert_eq!((control.requests["establishment"].rejected, report.unexplained), (refused, 0));
    assert!(control.live_peak <= 8 && upf.stop() == 0);
}

#[test]
fn one_that_speaks_from_another_port_is_a_stranger() {
    let upf = Stranger::start(4, 1_000, Some(9_999), Box::new(|answer| vec![answer]));
    let error = load(4, 1, PATIENT).unwrap_err();
    assert!(matches!(error, LoadError::NoAssociation { .. }), "{error}");
    upf.stop();
}

#[test]
fn one_whose_answers_are_cut_is_told_as_unreadable() {
    let habit = |mut answer: Vec<u8>| {
        if kind(&answer) == message_type::SESSION_MODIFICATION_RESPONSE {
            // The length still says what it said.
            answer.truncate(answer.len() - 3);
        }
        vec![answer]
    };
    let upf = Stranger::start(5, 1_000, None, Box::new(habit));
    let report = load(5, 10, Duration::from_millis(300)).unwrap();
    balanced(&report);
    let control = &report.control;
    assert_eq!((control.completed, control.failed, control.malformed), (0, 10, 10), "{control:?}");
    assert_eq!((control.requests["modification"].lost, report.unexplained), (10, 10));
    assert_eq!((control.left_behind, upf.stop()), (0, 0), "they were deleted all the same");
}

#[test]
fn one_that_tells_of_sessions_that_nobody_has_does_no_harm() {
    let mut sequence = 0;
    let habit = move |answer: Vec<u8>| {
        sequence += 1;
        let report = encode(SessionReportRequest::default(), Some(0xdead_beef), sequence).unwrap();
        // And an answer to what nobody asked.
        let mut unasked = answer.clone();
        if let Ok((header, ..)) = Header::read(&unasked)
            && header.seid.is_some()
        {
            unasked[12..15].copy_from_slice(&(header.sequence ^ 0x40_0000).to_be_bytes()[1..]);
        } else {
            unasked.clear();
        }
        vec![report, unasked, answer]
    };
    let upf = Stranger::start(6, 1_000, None, Box::new(habit));
    let report = load(6, 20, PATIENT).unwrap();
    balanced(&report);
    let control = &report.control;
    assert_eq!((control.completed, control.failed), (20, 0), "{control:?}");
    assert!(control.unexpected >= 60 && report.unexplained >= control.unexpected, "{control:?}");
    assert_eq!((control.reports, upf.stop()), ([0, 0], 0));
}

#[test]
fn one_that_takes_longer_than_anybody_waits_completes_nothing() {
    let habit = |answer: Vec<u8>| {
        if kind(&answer) == message_type::SESSION_ESTABLISHMENT_RESPONSE {
            std::thread::sleep(Duration::from_millis(1_500));
        }
        vec![answer]
    };
    let upf = Stranger::start(7, 1_000, None, Box::new(habit));
    let report = load(7, 3, Duration::from_millis(100)).unwrap();
    balanced(&report);
    let establishments = &report.control.requests["establishment"];
    assert_eq!((establishments.ok, establishments.late + establishments.lost), (0, 3), "{establishments:?}");
    assert_eq!((report.control.completed, report.control.failed), (0, 3));
    upf.stop();
}

#[test]
fn one_that_stops_answering_is_told_with_the_time() {
    let mut answers = 0;
    let habit = move |answer: Vec<u8>| {
        answers += 1;
        if answers > 100 { Vec::new() } else { vec![answer] }
    };
    let upf = Stranger::start(9, 1_000, None, Box::new(habit));
    let report = load(9, 200, Duration::from_millis(500)).unwrap();
    balanced(&report);
    let silence = report.silence.unwrap();
    assert!(!silence.ended && silence.for_s >= 0.5, "{silence:?}");
    assert!(
        report.warnings.iter().any(|warning| warning.starts_with("the UPF stopped answering")),
        "{report:?}"
    );
    assert_eq!(report.unexplained, 0);
    upf.stop();
}

/// A user plane whose tables go by tunnel and UE would lose the older session.
#[test]
fn a_session_that_may_still_be_there_has_its_tunnel_and_ue_for_itself() {
    let mut deletions = 0;
    let habit = move |answer: Vec<u8>| {
        deletions += u64::from(kind(&answer) == message_type::SESSION_DELETION_RESPONSE);
        if kind(&answer) == message_type::SESSION_DELETION_RESPONSE && deletions <= 20 {
            return Vec::new();
        }
        vec![answer]
    };
    let upf = Stranger::start(10, 1_000, None, Box::new(habit));
    let report = load(10, 100, Duration::from_millis(300)).unwrap();
    balanced(&report);
    assert_eq!((report.control.failed, report.control.left_behind), (20, 0), "{:?}", report.control);
    let mut ues = upf.ues.lock().unwrap().clone();
    assert_eq!(ues.len(), 100);
    ues.sort_unstable();
    let alone = ues.chunk_by(|a, b| a == b).filter(|uses| uses.len() == 1).count();
    assert!(alone >= 20, "{alone} of {ues:?}");
    upf.stop();
}
