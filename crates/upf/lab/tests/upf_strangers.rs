//! Tests the load generator against third-party UPFs that each have one quirk. It must account for every message.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_machine::Time;
use ranlab_upf::n4::{Dialect, Retransmission, SessionProfile, Upf, UpfInput, UpfOutput, UpfSettings};
use ranlab_upf::pfcp::{Header, Message, SessionReportRequest, decode, encode, message_type};
use ranlab_upf_lab::load::*;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Function that turns a response into the datagrams to send, in order.
type Habit = Box<dyn FnMut(Vec<u8>) -> Vec<Vec<u8>> + Send>;

/// Control plane of a third-party UPF. Packets are not tested here.
struct Stranger {
    /// UE addresses of all received establishments.
    ues: Arc<Mutex<Vec<Ipv4Addr>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Stranger {
    /// Starts the UPF at an address of the test. If `port` is set, the UPF sends responses from that port.
    fn start(test: u8, max_sessions: usize, port: Option<u16>, mut habit: Habit) -> Self {
        let socket = UdpSocket::bind(at(test, 8, 8805)).unwrap();
        let speaks =
            port.map_or_else(|| socket.try_clone().unwrap(), |p| UdpSocket::bind(at(test, 8, p)).unwrap());
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let ues = Arc::new(Mutex::new(Vec::new()));
        let received_ues = Arc::clone(&ues);
        let settings =
            UpfSettings { max_sessions, ..UpfSettings::new(at(test, 8, 0).ip(), Dialect::STRICT_REL17) };
        let thread = std::thread::spawn(move || {
            let mut upf = Upf::new(settings);
            let begin = Instant::now();
            let mut room = [0; 4_096];
            while !stopped.load(Relaxed) {
                let now = Time::from_nanos(begin.elapsed().as_nanos() as u64);
                match socket.recv_from(&mut room) {
                    Ok((len, from)) => {
                        received_ues.lock().unwrap().extend(ue(&room[..len]));
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

    /// Stops the UPF. Returns the number of sessions left.
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

/// Runs a number of sessions in a closed loop, without packets.
fn load(test: u8, cycles: u64, t1: Duration) -> Result<LoadReport, LoadError> {
    let begin = Loop::Closed { window: 8 };
    let duration = Duration::from_secs(60);
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
        echo: None,
        n3_io: N3Io::Sockets,
        uplink: None,
        downlink: None,
        smoke: false,
        run: u32::from(test),
        upf_pid: None,
        anew: false,
        distributions: false,
        onlooker: ProgressObserver::default(),
        mode,
    }
}

/// Timeout that suffices on busy machines.
const PATIENT: Duration = Duration::from_secs(20);

fn kind(datagram: &[u8]) -> u8 {
    datagram.get(1).copied().unwrap_or(0)
}

/// Checks that every request has one outcome, and every response is counted.
fn balanced(report: &LoadReport) {
    assert!(report.control.balanced, "{:?}", report.control);
    for (kind, of_kind) in &report.control.requests {
        let ended = of_kind.ok + of_kind.retransmitted + of_kind.rejected + of_kind.late + of_kind.lost;
        assert_eq!(of_kind.sent, ended + of_kind.pending, "{kind}: {of_kind:?}");
    }
}

#[test]
fn duplicate_responses_are_counted_once() {
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
fn reordered_responses_are_matched() {
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
fn sessions_rejected_by_full_upf_do_not_stop_others() {
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
fn responses_from_another_port_are_not_accepted() {
    let upf = Stranger::start(4, 1_000, Some(9_999), Box::new(|answer| vec![answer]));
    let error = load(4, 1, PATIENT).unwrap_err();
    assert!(matches!(error, LoadError::NoAssociation { .. }), "{error}");
    upf.stop();
}

#[test]
fn truncated_responses_are_malformed() {
    let habit = |mut answer: Vec<u8>| {
        if kind(&answer) == message_type::SESSION_MODIFICATION_RESPONSE {
            // The length field of the response is unchanged.
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
    assert_eq!(
        (control.left_behind, upf.stop()),
        (0, 0),
        "the sessions were deleted although their responses were malformed"
    );
}

#[test]
fn reports_of_unknown_sessions_are_ignored() {
    let mut sequence = 0;
    let habit = move |answer: Vec<u8>| {
        sequence += 1;
        let report = encode(SessionReportRequest::default(), Some(0xdead_beef), sequence).unwrap();
        // The UPF also sends a response without a request.
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
fn slow_upf_completes_no_session() {
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
fn silence_is_reported_with_its_duration() {
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

/// If tunnel and UE were reused, a UPF whose tables are indexed by them would lose the older session.
#[test]
fn tunnel_and_ue_are_not_reused_after_unanswered_deletion() {
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
