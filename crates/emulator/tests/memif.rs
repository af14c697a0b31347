//! Our tester over memif: first against devices whose fate for every packet is known, then against our packet engine, then
//! against peers that die or have no manners.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_dataplane::backends::{Outcomes, compare};
use ranlab_dataplane::declare::Port as Side;
use ranlab_dataplane::engine::{Engine, Isa};
use ranlab_dataplane::pipelines::Pipeline;
use ranlab_dataplane::trace::{Directions, Trace, Traffic};
use ranlab_emulator::memif::device::{Device, Work};
use ranlab_emulator::memif::tester::{Load, Outcome, TesterError, run};
use ranlab_emulator::memif::{Down, Port, PortError, Put, Role, Settings};
use ranlab_net::memif::{Control, Taken};

const UP: Duration = Duration::from_secs(10);

/// A folder for sockets that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ranlab-memif-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn socket(&self, index: usize) -> PathBuf {
        self.0.join(format!("{index}.sock"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(role: Role, log2_ring: u8) -> Settings {
    Settings { log2_ring, ..Settings::new(role, 0) }
}

fn ports(folder: &Folder, role: Role, log2_ring: u8) -> [Port; 2] {
    [0, 1].map(|index| Port::new(&folder.socket(index), settings(role, log2_ring)).unwrap())
}

fn bring_up(mut ports: [Port; 2]) -> [Port; 2] {
    ports.iter_mut().for_each(|port| port.bring_up(UP).unwrap());
    ports
}

/// A tester's ports and a device in a thread of its own; which one listens is the role of the tester.
fn bench(
    folder: &Folder,
    role: Role,
    log2_ring: u8,
    device: impl FnOnce([Port; 2]) -> Device + Send + 'static,
) -> ([Port; 2], Served) {
    let other = if role == Role::Master { Role::Slave } else { Role::Master };
    let (tester, under_test) = (ports(folder, role, log2_ring), ports(folder, other, log2_ring));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let mut device = device(bring_up(under_test));
        let result = device.serve(&stopped);
        (device, result)
    });
    (bring_up(tester), Served { stop, thread })
}

struct Served {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Device, Result<(), PortError>)>,
}

impl Served {
    fn end(self) -> Device {
        self.stop.store(true, Ordering::Relaxed);
        let (device, result) = self.thread.join().unwrap();
        result.unwrap();
        device
    }
}

fn trace(pipeline: &Pipeline) -> Trace {
    let traffic = Traffic { pkt_size: 128, pkt_num: 1024, dir: Directions::Bidir, ..Traffic::default() };
    Trace::generate(pipeline, &traffic).unwrap()
}

fn bare() -> Trace {
    trace(&Pipeline::all()[0])
}

/// 40,000 packets/s for 250 ms; patience for a machine that others use.
fn load() -> Load {
    let late_after = Duration::from_millis(50);
    Load { late_after, drain: Duration::from_secs(2), ..Load::new(40_000, Duration::from_millis(250)) }
}

fn unknown(outcome: &Outcome, device: &Device) -> u64 {
    device.ledger().unknown(&outcome.tally).unwrap()
}

#[test]
fn a_tester_that_tests_itself_gets_back_every_packet_that_left() {
    for (role, work) in [(Role::Master, Work::Loop), (Role::Slave, Work::Cross)] {
        let folder = Folder::new(&format!("itself-{role:?}"));
        let (mut ports, served) = bench(&folder, role, 10, |ports| Device::new(ports, work, 0));
        let outcome = run(&mut ports, &bare(), &load()).unwrap();
        let device = served.end();
        let tally = &outcome.tally;
        assert_eq!(unknown(&outcome, &device), 0, "{tally:?}");
        assert_eq!((tally.intended, tally.lost()), (10_000, 0));
        assert_eq!(tally.sent, device.received());
        assert_eq!((tally.misordered, tally.duplicated, tally.strangers, tally.malformed), (0, 0, 0, 0));
        assert_eq!(outcome.latency_ns.len(), tally.received);
    }
}

#[test]
fn a_device_that_drops_every_thousandth_packet_is_named() {
    let folder = Folder::new("drops");
    let (mut ports, served) =
        bench(&folder, Role::Master, 10, |ports| Device::new(ports, Work::Cross, 1_000));
    let outcome = run(&mut ports, &bare(), &load()).unwrap();
    let device = served.end();
    assert_eq!(outcome.tally.lost(), outcome.tally.sent / 1_000);
    assert_eq!(device.ledger().on_purpose, outcome.tally.lost());
    assert_eq!(unknown(&outcome, &device), 0);
}

#[test]
fn a_ring_that_nobody_empties_is_named() {
    let folder = Folder::new("full");
    let other = ports(&folder, Role::Master, 4);
    let thread = std::thread::spawn(move || bring_up(other));
    let mut ports = bring_up(ports(&folder, Role::Slave, 4));
    let other = thread.join().unwrap();
    let load = Load { drain: Duration::from_millis(20), ..load() };
    let outcome = run(&mut ports, &bare(), &load).unwrap();
    let device = Device::new(other, Work::Cross, 0);
    let tally = &outcome.tally;
    // Sixteen in each ring.
    assert_eq!((tally.sent, tally.received, device.ledger().waiting), (32, 0, 32));
    assert_eq!(tally.ring_full, tally.intended - tally.late - 32);
    assert_eq!(unknown(&outcome, &device), 0);
}

#[test]
fn our_engine_under_test_forwards_every_pipeline_as_the_oracle_says_and_names_what_it_drops() {
    for pipeline in Pipeline::all() {
        let folder = Folder::new(pipeline.name());
        let declaration = pipeline.build().unwrap();
        let (mut ports, served) = bench(&folder, Role::Slave, 10, move |ports| {
            let (engines, control) = Engine::start(&declaration, 1, Isa::detect()).unwrap();
            drop(control);
            Device::new(ports, Work::Pipeline(Box::new(engines.into_iter().next().unwrap())), 0)
        });
        let trace = trace(&pipeline);
        verify(&pipeline, &trace, &mut ports);
        let quick = Load { duration: Duration::from_millis(50), drain: Duration::from_millis(300), ..load() };
        let outcome = run(&mut ports, &trace, &quick).unwrap();
        let device = served.end();
        // The packets of the verification were none of the run's, and none of them was dropped.
        assert_eq!(unknown(&outcome, &device), 0, "{}: {:?}", pipeline.name(), outcome.tally);
        assert_eq!((outcome.tally.duplicated, outcome.tally.strangers), (0, 0));
        assert!(outcome.tally.received > 0, "{}", pipeline.name());
    }
}

/// Eight packets, octet by octet (more would meet the meters of some pipelines).
fn verify(pipeline: &Pipeline, trace: &Trace, ports: &mut [Port; 2]) {
    let expected = Outcomes::expected(pipeline, trace, 8, &[]).unwrap();
    let mut found = Outcomes::default();
    for (side, frame) in trace.range(0, 8) {
        assert_eq!(ports[side as usize].put(frame).unwrap(), Put::Queued);
    }
    let wanted = expected.count(Side::Access) + expected.count(Side::Core);
    let began = Instant::now();
    let mut frame = [0; 2048];
    while found.count(Side::Access) + found.count(Side::Core) < wanted && began.elapsed() < UP {
        for side in [Side::Access, Side::Core] {
            if let Taken::Packet(octets) = ports[side as usize].take(&mut frame).unwrap() {
                found.sent(side, frame[..octets].to_vec(), &[]);
            }
        }
        ports.iter().for_each(Port::publish);
    }
    assert_eq!(compare(&expected, &found).map_err(|mismatch| mismatch.to_string()), Ok(wanted));
}

#[test]
fn a_peer_that_dies_under_load_ends_the_run_with_what_was_until_then() {
    for role in [Role::Master, Role::Slave] {
        let folder = Folder::new(&format!("dies-{role:?}"));
        let other = if role == Role::Master { Role::Slave } else { Role::Master };
        let theirs = ports(&folder, other, 8);
        let thread = std::thread::spawn(move || {
            let mut device = Device::new(bring_up(theirs), Work::Cross, 0);
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(300) {
                device.turn().unwrap();
            }
            // No goodbye: the sockets close as a killed process's do.
        });
        let mut ports = bring_up(ports(&folder, role, 8));
        let began = Instant::now();
        let long = Load { duration: Duration::from_secs(60), ..load() };
        match run(&mut ports, &bare(), &long) {
            Err(TesterError::Port { error: PortError::Down(Down::Gone), tally }) => {
                assert!(tally.received > 0)
            }
            other => panic!("{other:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(30), "long before the run's own end");
        thread.join().unwrap();
    }
}

fn hostile(path: &Path, record: &[u8]) -> Control {
    let control = Control::connect(path).unwrap();
    control.send(record, None).unwrap();
    control
}

#[test]
fn whoever_talks_nonsense_is_turned_away_and_the_next_is_welcome() {
    let folder = Folder::new("nonsense");
    let path = folder.socket(0);
    let mut port = Port::new(&path, settings(Role::Master, 8)).unwrap();
    for record in [&[0; 128][..], &[0xff; 128], b"GET / HTTP/1.1\r\n", &[4; 129]] {
        let peer = hostile(&path, record);
        match port.bring_up(Duration::from_millis(200)) {
            Err(PortError::Nobody { last: Some(Down::Refused(_)), .. }) => {}
            other => panic!("{other:?}"),
        }
        // Hello, then Disconnect with a reason.
        let mut message = [0; 128];
        assert_eq!(peer.receive(&mut message).unwrap().octets, 128);
        assert_eq!((peer.receive(&mut message).unwrap().octets, message[0]), (128, 8));
        assert_eq!(peer.receive(&mut message).unwrap().octets, 0);
    }
    // One who is gone before anything, then a real one.
    drop(Control::connect(&path).unwrap());
    let thread = std::thread::spawn(move || {
        let mut port = Port::new(&path, settings(Role::Slave, 8)).unwrap();
        port.bring_up(UP).unwrap();
        port
    });
    port.bring_up(UP).unwrap();
    let mut slave = thread.join().unwrap();
    slave.stop();
    let began = Instant::now();
    let down = loop {
        match port.service() {
            Err(error) => break error,
            Ok(_) => assert!(began.elapsed() < UP),
        }
    };
    assert!(matches!(&down, PortError::Down(Down::Peer { reason, .. }) if reason == "stopped"), "{down}");
}

#[test]
fn loads_and_traces_that_cannot_be_are_refused() {
    let folder = Folder::new("refused");
    let mut ports = ports(&folder, Role::Master, 4);
    let none = Load::new(1, Duration::from_millis(1));
    assert!(matches!(run(&mut ports, &bare(), &none), Err(TesterError::Packets(0))));
    let huge = Load::new(u64::MAX, Duration::from_secs(1000));
    assert!(matches!(run(&mut ports, &bare(), &huge), Err(TesterError::Packets(_))));
    assert!(matches!(run(&mut ports, &Trace::default(), &load()), Err(TesterError::Empty)));
    let mut short = Trace::default();
    short.push(Side::Access, &[0; 20]);
    assert!(matches!(run(&mut ports, &short, &load()), Err(TesterError::NoRoom { octets: 20, .. })));
    let error = Port::new(&folder.socket(2), settings(Role::Slave, 15)).unwrap_err();
    assert!(error.to_string().contains("2^14"), "{error}");
}
