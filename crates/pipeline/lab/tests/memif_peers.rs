//! Tests with memif peers that crash, become silent or misbehave, at every step of the handshake and while packets are
//! exchanged. Each error ends the connection with a distinct reason, and the next peer is accepted.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ranlab_net::memif::{Control, Listener, Region, TakeOutcome, interrupt};
use ranlab_packet::memif::messages::{
    Hello, Init, MESSAGE_BYTES, MODE_ETHERNET, Message, Name, Ring, VERSION, encode,
};
use ranlab_pipeline_lab::memif::{Down, Port, PortError, Put, Role, Settings};

const UP: Duration = Duration::from_secs(20);
/// Length of a peer's memory, in bytes. It contains two rings of 16 in each direction from offset 0, and the buffers.
const OCTETS: usize = 64 << 10;
/// Number of messages of each side until the connection is established. The slave sends Init, a region, four rings, and
/// Connect. The master sends Hello, five times Ack, and Connected.
const MESSAGES: [usize; 2] = [7, 7];

/// A folder for sockets, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ranlab-memif-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(role: Role) -> Settings {
    Settings { log2_ring: 4, buffer_octets: 256, rings_to_slave: 2, ..Settings::new(role, 0) }
}

fn memory() -> OwnedFd {
    let region = Region::create(OCTETS).unwrap();
    let memory = region.descriptor().try_clone_to_owned().unwrap();
    let file = File::from(memory.try_clone().unwrap());
    (0..4).for_each(|ring| file.write_all_at(&0x03E3_1F20_u32.to_ne_bytes(), 1024 * ring).unwrap());
    memory
}

/// A scripted peer of a port: a slave at a listening port, or a master at a connecting port.
struct Peer {
    control: Control,
    slave: bool,
    memory: OwnedFd,
    said: usize,
}

impl Peer {
    fn new(control: Control, slave: bool) -> Self {
        Self { control, slave, memory: memory(), said: 0 }
    }

    /// Returns the next message of a well-behaved peer.
    fn message(&self) -> (Message, Option<OwnedFd>) {
        let name = Name::new("peer");
        let ring = |at: u32| {
            let to_master = at < 2;
            let index = at as u16 % 2;
            let ring =
                Ring { to_master, index, region: 0, offset: 1024 * at, log2_size: 4, private_bytes: 0 };
            (Message::AddRing(ring), Some(interrupt().unwrap()))
        };
        match (self.slave, self.said) {
            (true, 0) => {
                let init = Init { version: VERSION, id: 0, mode: MODE_ETHERNET, secret: [0; 24], name };
                (Message::Init(init), None)
            }
            (true, 1) => {
                let region = Message::AddRegion { index: 0, octets: OCTETS as u64 };
                (region, Some(self.memory.try_clone().unwrap()))
            }
            (true, step @ 2..=5) => ring(step as u32 - 2),
            (true, _) => (Message::Connect(name), None),
            (false, 0) => {
                let min_version = VERSION;
                let max_version = VERSION;
                let max_region = 0;
                let max_m2s_ring = 1;
                let max_s2m_ring = 0;
                let max_log2_ring = 14;
                let hello = Hello {
                    name,
                    min_version,
                    max_version,
                    max_region,
                    max_m2s_ring,
                    max_s2m_ring,
                    max_log2_ring,
                };
                (Message::Hello(hello), None)
            }
            (false, 1..=5) => (Message::Ack, None),
            (false, _) => (Message::Connected(name), None),
        }
    }

    /// Sends a number of messages. Each message follows the response to the previous one.
    fn talk(&mut self, port: &mut Port, messages: usize) {
        let last = messages.min(MESSAGES[usize::from(!self.slave)]);
        // Only a slave waits for a greeting.
        if self.slave {
            self.answered(port);
        }
        while self.said < last {
            let (message, beside) = self.message();
            self.control.send(&encode(&message), beside.as_ref().map(AsFd::as_fd)).unwrap();
            self.said += 1;
            let over = self.said == MESSAGES[usize::from(!self.slave)];
            if self.slave || !over {
                self.answered(port);
            }
        }
        port.service().unwrap();
    }

    fn answered(&self, port: &mut Port) {
        let mut message = [0; MESSAGE_BYTES];
        let begun = Instant::now();
        while self.control.receive(&mut message).is_err() {
            port.service().unwrap();
            assert!(begun.elapsed() < UP, "no answer after message {}", self.said);
        }
    }
}

/// Returns a port, and a peer that has already sent a number of messages.
fn met(path: &Path, role: Role, messages: usize) -> (Port, Peer, Option<Listener>) {
    let listener = (role == Role::Slave).then(|| Listener::bind(path).unwrap());
    let mut port = Port::new(path, settings(role)).unwrap();
    port.service().unwrap();
    let control = match &listener {
        None => Control::connect(path).unwrap(),
        Some(listener) => listener.accept().unwrap(),
    };
    let mut peer = Peer::new(control, role == Role::Master);
    peer.talk(&mut port, messages);
    (port, peer, listener)
}

fn down(port: &mut Port) -> Down {
    let begun = Instant::now();
    loop {
        match port.service() {
            Err(PortError::Down(down)) => return down,
            Err(error) => panic!("{error}"),
            Ok(_) => assert!(begun.elapsed() < UP, "it does not notice"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Connects a valid peer to a port and transfers a packet.
fn welcome(port: &mut Port, path: &Path, role: Role) {
    let other = if role == Role::Master { Role::Slave } else { Role::Master };
    let mut peer = Port::new(path, settings(other)).unwrap();
    let thread = std::thread::spawn(move || {
        peer.bring_up(UP).unwrap();
        peer
    });
    port.bring_up(UP).unwrap();
    let mut peer = thread.join().unwrap();
    assert_eq!(port.put(&[7; 60]).unwrap(), Put::Queued);
    port.publish();
    assert_eq!(peer.take(&mut [0; 256]).unwrap(), TakeOutcome::Packet(60));
}

fn roles() -> impl Iterator<Item = (Role, usize)> {
    let steps = |role| move |step| (role, step);
    (0..=MESSAGES[0]).map(steps(Role::Master)).chain((0..=MESSAGES[1]).map(steps(Role::Slave)))
}

#[test]
fn peer_may_crash_at_every_step_and_next_is_accepted() {
    for (role, step) in roles() {
        let folder = Folder::new(&format!("dies-{role:?}-{step}"));
        let path = folder.0.join("it.sock");
        let (mut port, peer, listener) = met(&path, role, step);
        assert_eq!(port.is_up(), step == MESSAGES[usize::from(role == Role::Slave)], "{role:?} {step}");
        drop(peer);
        assert_eq!(down(&mut port), Down::Gone, "{role:?} {step}");
        assert!(!port.is_up());
        assert!(matches!(port.put(&[0; 60]), Err(PortError::Down(Down::Gone))));
        assert!(matches!(port.take(&mut [0; 256]), Err(PortError::Down(Down::Gone))));
        drop(listener);
        welcome(&mut port, &path, role);
    }
}

/// Each peer runs in a separate thread, so that all handshake timeouts of 5 s elapse in parallel.
#[test]
fn silent_peer_is_rejected_and_next_accepted() {
    std::thread::scope(|scope| {
        for (role, step) in roles() {
            scope.spawn(move || {
                let folder = Folder::new(&format!("silent-{role:?}-{step}"));
                let path = folder.0.join("it.sock");
                let (mut port, peer, listener) = met(&path, role, step);
                if port.is_up() {
                    // A peer may become silent while packets are exchanged. Packets that it does not receive are
                    // counted.
                    let sent = (0..100).filter(|_| port.put(&[1; 60]).unwrap() == Put::Queued).count();
                    port.publish();
                    assert!(sent <= 32 && usize::from(port.untaken()) >= sent, "{sent} {}", port.untaken());
                    assert_eq!(port.take(&mut [0; 256]).unwrap(), TakeOutcome::Nothing);
                    drop(peer);
                    assert_eq!(down(&mut port), Down::Gone);
                } else {
                    let refused = down(&mut port);
                    assert!(
                        refused.to_string().contains("no connection after 5 s"),
                        "{role:?} {step}: {refused}"
                    );
                    drop(peer);
                }
                drop(listener);
                welcome(&mut port, &path, role);
            });
        }
    });
}

#[test]
fn unsealed_and_short_memory_is_rejected_with_reason() {
    let folder = Folder::new("memory");
    let short = Region::create(4096).unwrap().descriptor().try_clone_to_owned().unwrap();
    let shared = Path::new("/dev/shm").join(format!("ranlab-memif-{}", std::process::id()));
    let on = |path: &Path| {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        file.set_len(OCTETS as u64).unwrap();
        std::fs::remove_file(path).unwrap();
        OwnedFd::from(file)
    };
    let mut all =
        vec![(short, "was announced, but its memory has 4096"), (interrupt().unwrap(), "not a memory file")];
    if shared.parent().is_some_and(Path::is_dir) {
        // This memory is on a memory file system. It can be truncated, and cannot be sealed.
        all.push((on(&shared), "cannot be sealed"));
    }
    for (index, (memory, why)) in all.into_iter().enumerate() {
        let path = folder.0.join(format!("{index}.sock"));
        let (mut port, mut peer, _) = met(&path, Role::Master, 1);
        peer.memory = memory;
        let (message, beside) = peer.message();
        peer.control.send(&encode(&message), beside.as_ref().map(AsFd::as_fd)).unwrap();
        let refused = down(&mut port);
        assert!(refused.to_string().contains(why), "{refused}");
        welcome(&mut port, &path, Role::Master);
    }
}

/// While packets are exchanged, another thread writes random data into the memory and tries to truncate it.
#[test]
fn corrupted_memory_ends_only_that_connection() {
    let mut broken = 0;
    for round in 0..40_u64 {
        let folder = Folder::new(&format!("scribbles-{round}"));
        let path = folder.0.join("it.sock");
        let (mut port, peer, _) = met(&path, Role::Master, 7);
        assert!(port.is_up());
        let file = File::from(peer.memory.try_clone().unwrap());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                while !over.load(Ordering::Relaxed) {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let what = state >> 40;
                    let at = state >> 24 & 0xffff;
                    // Most changes are small increments of indices. Some are random values.
                    let (at, octets) = match what % 64 {
                        0 => (at % 4096, [what as u8; 2]),
                        1 => (1024 * (at % 4) + 64 * (at >> 8 & 1) + 6, [what as u8, 0]),
                        _ => (1024 * (at % 4) + 128 + at % 256, [what as u8, (what >> 8) as u8 & 1]),
                    };
                    file.write_all_at(&octets, at).unwrap();
                    assert!(file.set_len(at).is_err(), "a sealed file cannot shrink");
                }
            });
            let mut into = [0; 512];
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(10) {
                let taken = port.take(&mut into);
                let put = port.put(&into[..60]);
                port.publish();
                match (taken, put) {
                    (Err(PortError::Ring(_)), _) | (_, Err(PortError::Ring(_))) => {
                        broken += 1;
                        assert!(!port.is_up());
                        break;
                    }
                    (Err(error), _) | (_, Err(error)) => panic!("{error}"),
                    (Ok(taken), Ok(_)) => {
                        assert!(!matches!(taken, TakeOutcome::Packet(octets) if octets > 512))
                    }
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        drop(peer);
        port.stop();
        welcome(&mut port, &path, Role::Master);
    }
    assert!(broken > 0, "some indices must have been invalid");
}
