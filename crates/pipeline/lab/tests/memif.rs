//! Tests of ranlab's memif tester with devices that process every packet in a known way, with ranlab's packet engine,
//! and with peers that crash or misbehave.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_net::memif::{Control, TakeOutcome};
use ranlab_pipeline::backends::{Outcomes, compare};
use ranlab_pipeline::declare::{DropReason, Port as Side};
use ranlab_pipeline::engine::{Engine, Isa};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::rss::RssHash;
use ranlab_pipeline::tester::Stamp;
use ranlab_pipeline::trace::{Directions, Trace, Traffic};
use ranlab_pipeline_lab::memif::device::{Core, Device, Work};
use ranlab_pipeline_lab::memif::tester::{Load, Outcome, TesterError, run, run_until};
use ranlab_pipeline_lab::memif::{Down, Port, PortError, Put, Refusal, Role, Settings};

const UP: Duration = Duration::from_secs(10);

/// A folder for sockets, removed at the end of the test.
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
    several(folder, role, log2_ring, 1)
}

/// Returns the access and core ports, with a number of rings in each direction.
fn several(folder: &Folder, role: Role, log2_ring: u8, rings: u16) -> [Port; 2] {
    [0, 1].map(|index| Port::new(&folder.socket(index), settings(role, log2_ring).each_way(rings)).unwrap())
}

fn bring_up(mut ports: [Port; 2]) -> [Port; 2] {
    ports.iter_mut().for_each(|port| port.bring_up(UP).unwrap());
    ports
}

/// Connects a tester's ports to a device in a separate thread. `role` is the role of the tester.
fn bench(
    folder: &Folder,
    role: Role,
    log2_ring: u8,
    device: impl FnOnce([Port; 2]) -> Device + Send + 'static,
) -> ([Port; 2], Served) {
    bench_of(folder, role, (log2_ring, 1), device)
}

/// Connects a tester's ports to a device like [`bench`], with a number of rings in each direction.
fn bench_of(
    folder: &Folder,
    role: Role,
    (log2_ring, rings): (u8, u16),
    device: impl FnOnce([Port; 2]) -> Device + Send + 'static,
) -> ([Port; 2], Served) {
    let other = if role == Role::Master { Role::Slave } else { Role::Master };
    let [tester, under_test] = [role, other].map(|role| several(folder, role, log2_ring, rings));
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

/// Returns a load of 40,000 packets/s for 250 ms, with limits for a shared machine.
fn load() -> Load {
    let late_after = Duration::from_millis(50);
    Load { late_after, drain: Duration::from_secs(2), ..Load::new(40_000, Duration::from_millis(250)) }
}

fn unknown(outcome: &Outcome, device: &Device) -> u64 {
    device.ledger().unknown(&outcome.tally).unwrap()
}

#[test]
fn self_test_gets_back_every_sent_packet() {
    for (role, work) in [(Role::Master, Work::Loop), (Role::Slave, Work::Cross)] {
        let folder = Folder::new(&format!("itself-{role:?}"));
        let (mut ports, served) = bench(&folder, role, 10, |ports| Device::new(ports, work, 0));
        let outcome = run(&mut ports, &bare(), &load()).unwrap();
        let device = served.end();
        let tally = &outcome.tally;
        assert_eq!(unknown(&outcome, &device), 0, "{tally:?}");
        assert_eq!((tally.intended, tally.lost()), (10_000, 0));
        assert_eq!(tally.sent, device.received());
        assert_eq!((tally.misordered, tally.duplicated, tally.unknown, tally.malformed), (0, 0, 0, 0));
        assert_eq!(outcome.latency_ns.len(), tally.received);
    }
}

#[test]
fn device_drops_are_attributed_to_device() {
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
fn stalled_ring_is_reported() {
    let folder = Folder::new("full");
    let other = ports(&folder, Role::Master, 4);
    let thread = std::thread::spawn(move || bring_up(other));
    let mut ports = bring_up(ports(&folder, Role::Slave, 4));
    let other = thread.join().unwrap();
    let load = Load { drain: Duration::from_millis(20), ..load() };
    let outcome = run(&mut ports, &bare(), &load).unwrap();
    let device = Device::new(other, Work::Cross, 0);
    let tally = &outcome.tally;
    // Each of the two rings contains 16 packets.
    assert_eq!((tally.sent, tally.received, device.ledger().waiting), (32, 0, 32));
    assert_eq!(tally.ring_full, tally.intended - tally.late - 32);
    assert_eq!(unknown(&outcome, &device), 0);
}

#[test]
fn engine_matches_oracle_and_reports_drops() {
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
        // Packets of the verification do not belong to the run. None of them was dropped.
        assert_eq!(unknown(&outcome, &device), 0, "{}: {:?}", pipeline.name(), outcome.tally);
        assert_eq!((outcome.tally.duplicated, outcome.tally.unknown), (0, 0));
        assert!(outcome.tally.received > 0, "{}", pipeline.name());
    }
}

/// Compares eight packets byte by byte. More packets would exceed the rate limits of some pipelines.
fn verify(pipeline: &Pipeline, trace: &Trace, ports: &mut [Port; 2]) {
    let expected = Outcomes::expected(pipeline, trace, 8, &[]).unwrap();
    let mut found = Outcomes::default();
    for (side, frame) in trace.range(0, 8) {
        assert_eq!(ports[side as usize].put(frame).unwrap(), Put::Queued);
    }
    let total = expected.count(Side::Access) + expected.count(Side::Core);
    let began = Instant::now();
    let mut frame = [0; 2048];
    while found.count(Side::Access) + found.count(Side::Core) < total && began.elapsed() < UP {
        for side in [Side::Access, Side::Core] {
            if let TakeOutcome::Packet(octets) = ports[side as usize].take(&mut frame).unwrap() {
                found.sent(side, frame[..octets].to_vec(), &[]);
            }
        }
        ports.iter().for_each(Port::publish);
    }
    assert_eq!(compare(&expected, &found).map_err(|mismatch| mismatch.to_string()), Ok(total));
}

/// Runs a gateway on three cores, in both directions and roles. Packets are distributed as by a network card, so that
/// each user's meter is on one core. Each core receives only its own packets, the counters add up to the device's, and
/// flows stay in order.
#[test]
fn multiple_cores_match_oracle_and_counters_add_up() {
    const CORES: usize = 3;
    let json = r#"{"name":"mgw","user":60,"bst":5,"server":9,"rate-limit":1000,"rate-burst":2000}"#;
    let pipeline: Pipeline = serde_json::from_str(json).unwrap();
    let trace = trace(&pipeline);
    let declaration = pipeline.build().unwrap();
    let ways = RssHash::new(&declaration, CORES).unwrap().workers(&trace);
    for role in [Role::Slave, Role::Master] {
        let folder = Folder::new(&format!("cores-{role:?}"));
        let declared = declaration.clone();
        let (mut ports, served) = bench_of(&folder, role, (10, CORES as u16), move |ports| {
            let (engines, control) = Engine::start(&declared, CORES, Isa::detect()).unwrap();
            drop(control);
            let works = engines.into_iter().map(|engine| Work::Pipeline(Box::new(engine)));
            Device::of_cores(ports, works.collect())
        });
        let load = Load { duration: Duration::from_millis(100), ..load() };
        let outcome = run_until(&mut ports, (&trace, &ways), &load, &AtomicBool::new(false)).unwrap();
        let device = served.end();
        let tally = &outcome.tally;
        assert_eq!(unknown(&outcome, &device), 0, "{tally:?}");
        let sum = |of: &dyn Fn(&Core) -> u64| device.cores().iter().map(of).sum::<u64>();
        assert_eq!((sum(&Core::received), sum(&Core::malformed)), (tally.sent, 0));
        let metered = |core: &Core| core.ledger().dropped[DropReason::Metered as usize];
        assert_eq!(sum(&|core| core.ledger().causes()), tally.lost());
        assert!(sum(&metered) > 0 && device.cores().iter().all(|core| core.received() > 0));
        assert_eq!(device.ledger().dropped[DropReason::Metered as usize], sum(&metered));
        if tally.late + tally.ring_full == 0 {
            let packets_of = |core| (0..tally.sent as usize).filter(|n| ways[n % ways.len()] == core).count();
            let took: Vec<_> = device.cores().iter().map(|core| core.received() as usize).collect();
            assert_eq!(took, [packets_of(0), packets_of(1), packets_of(2)]);
        }
    }
}

/// Sends 1,024 numbered packets of 64 flows through two cores, at a rate that the rings can take. Their bytes equal the
/// oracle's, and each flow stays in order.
#[test]
fn flows_stay_in_order_on_several_cores() {
    let json = r#"{"name":"l3fwd","upstream-l3-table-size":64,"downstream-l3-table-size":64}"#;
    let pipeline: Pipeline = serde_json::from_str(json).unwrap();
    let declaration = pipeline.build().unwrap();
    let spread = RssHash::new(&declaration, 2).unwrap();
    let mut marked = Trace::default();
    for (number, (side, frame)) in (0_u32..).zip(trace(&pipeline).iter()) {
        let mut frame = frame.to_vec();
        assert!(Stamp { run: 1, number, sent_ns: 0 }.write(&mut frame));
        marked.push(side, &frame);
    }
    let folder = Folder::new("order");
    let (mut ports, served) = bench_of(&folder, Role::Slave, (11, 2), move |ports| {
        let (engines, _control) = Engine::start(&declaration, 2, Isa::detect()).unwrap();
        let works = engines.into_iter().map(|engine| Work::Pipeline(Box::new(engine)));
        Device::of_cores(ports, works.collect())
    });
    let mut found = Outcomes::default();
    let mut last = BTreeMap::new();
    for (side, frame) in marked.iter() {
        let ring = spread.worker(side, frame);
        assert_eq!(ports[side as usize].put_by(ring, frame).unwrap(), Put::Queued);
        ports[side as usize].publish();
    }
    let began = Instant::now();
    let mut came = 0;
    let mut frame = [0; 2048];
    while came < marked.len() && began.elapsed() < UP {
        for side in [Side::Access, Side::Core] {
            if let TakeOutcome::Packet(octets) = ports[side as usize].take(&mut frame).unwrap() {
                let frame = &frame[..octets];
                // Addresses and ports are not modified.
                let flow = frame[26..38].to_vec();
                let number = Stamp::read(frame).unwrap().number;
                let before = last.insert((side as usize, flow), number);
                assert!(before.is_none_or(|before| before < number), "{before:?} then {number}");
                found.sent(side, frame.to_vec(), &[]);
                came += 1;
            }
        }
        ports.iter().for_each(Port::publish);
    }
    let expected = Outcomes::expected(&pipeline, &marked, usize::MAX, &[]).unwrap();
    assert_eq!(compare(&expected, &found).map_err(|mismatch| mismatch.to_string()), Ok(marked.len() as u64));
    let device = served.end();
    assert!(device.cores().iter().all(|core| core.received() > 0) && last.len() > 64);
}

#[test]
fn fewer_rings_than_cores_is_an_error() {
    let folder = Folder::new("fewer");
    let [mut theirs, _other] = several(&folder, Role::Master, 4, 2);
    let path = folder.socket(0);
    let thread = std::thread::spawn(move || {
        let mut port = Port::new(&path, settings(Role::Slave, 4)).unwrap();
        port.bring_up(Duration::from_millis(500)).unwrap_err()
    });
    let refused = theirs.bring_up(Duration::from_millis(500)).unwrap_err();
    let words = "the peer has 1 memif rings to the master; 2 are needed, one for each core";
    assert!(refused.to_string().contains(words), "{refused}");
    assert!(matches!(
        refused,
        PortError::Nobody { last: Some(Down::Refused(Refusal::FewRings { there: 1, needed: 2, .. })), .. }
    ));
    let peer_error = thread.join().unwrap();
    assert!(
        matches!(&peer_error, PortError::Nobody { last: Some(Down::Peer { reason, .. }), .. } if words.starts_with(&reason[..40])),
        "{peer_error}"
    );
    // If its ports do not request enough rings, the device reports an error.
    let folder = Folder::new("fewer-lent");
    let theirs = ports(&folder, Role::Master, 4);
    let thread = std::thread::spawn(move || bring_up(theirs));
    let _ours = bring_up(ports(&folder, Role::Slave, 4));
    let mut device = Device::of_cores(thread.join().unwrap(), vec![Work::Cross, Work::Cross]);
    let error = device.serve(&AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, PortError::FewRings { there: 1, cores: 2 }), "{error}");
    assert!(device.connect().unwrap(), "the connection is unchanged");
}

#[test]
fn crashing_peer_ends_run_with_partial_counters() {
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
            // The peer sends no disconnect message. Its sockets close, as when a process is killed.
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
fn invalid_peer_is_rejected_and_next_accepted() {
    let folder = Folder::new("nonsense");
    let path = folder.socket(0);
    let mut port = Port::new(&path, settings(Role::Master, 8)).unwrap();
    for record in [&[0; 128][..], &[0xff; 128], b"GET / HTTP/1.1\r\n", &[4; 129]] {
        let peer = hostile(&path, record);
        match port.bring_up(Duration::from_millis(200)) {
            Err(PortError::Nobody { last: Some(Down::Refused(_)), .. }) => {}
            other => panic!("{other:?}"),
        }
        // The port sends Hello, followed by Disconnect with a reason.
        let mut message = [0; 128];
        assert_eq!(peer.receive(&mut message).unwrap().octets, 128);
        assert_eq!((peer.receive(&mut message).unwrap().octets, message[0]), (128, 8));
        assert_eq!(peer.receive(&mut message).unwrap().octets, 0);
    }
    // The first peer disconnects immediately, and the second peer is valid.
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
fn invalid_loads_and_traces_are_rejected() {
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
