//! Runs a complete memif interface with any peer: its socket, received descriptors, shared memory, and packets. No peer
//! can crash or block this process, or make it leak a descriptor.
//!
//! The input is the role of the listener (1 byte), followed by steps. One kind of step sends the next message of a
//! valid peer, so that scripts reach later states. Other steps damage a message, send other descriptors instead of
//! memory, write to the memory, truncate it, punch holes, disconnect, or transfer packets.
#![no_main]

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use ranlab_net::memif::{Control, Listener, TakeOutcome, interrupt};
use ranlab_packet::memif::messages::{
    Hello, Init, MESSAGE_BYTES, MODE_ETHERNET, Message, Name, Ring, VERSION, decode, encode,
};
use ranlab_pipeline_lab::memif::{Port, PortError, Role, Settings};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};

/// Size of the peer's memory in bytes: two rings of 16 entries per direction, with buffers.
const OCTETS: u64 = 64 << 10;
const STEPS: usize = 200;

fn path(role: Role) -> PathBuf {
    std::env::temp_dir().join(format!("ranlab-fuzz-{}-{role:?}.memif", std::process::id()))
}

fn settings(role: Role) -> Settings {
    Settings { log2_ring: 4, buffer_octets: 256, rings_to_slave: 2, ..Settings::new(role, 0) }
}

thread_local! {
    static MASTER: RefCell<Port> = RefCell::new(Port::new(&path(Role::Master), settings(Role::Master)).expect("the port should be created"));
    /// Listener of the peer, for the case that the port connects.
    static LISTENER: Listener = Listener::bind(&path(Role::Slave)).expect("the socket should be bound");
}

struct Peer {
    control: Option<Control>,
    /// Shared memory that the peer has sent or received.
    memory: Vec<File>,
    /// Number of messages of the valid script that were sent.
    said: usize,
    master: bool,
}

impl Peer {
    /// Returns a descriptor that the peer sends as memory or as interrupt.
    fn thing(&self, kind: u8) -> Option<OwnedFd> {
        let file = |flags| memfd_create("peer", flags).ok();
        let memory = match kind % 8 {
            0 => return interrupt().ok(),
            1 => File::open("/dev/zero").map(OwnedFd::from).ok()?,
            2 => file(MemfdFlags::empty())?,
            3 => {
                let short = file(MemfdFlags::ALLOW_SEALING)?;
                ftruncate(&short, 4096).ok()?;
                return Some(short);
            }
            _ => file(MemfdFlags::ALLOW_SEALING)?,
        };
        let _ = ftruncate(&memory, OCTETS);
        let file = File::from(memory.try_clone().ok()?);
        for ring in 0..4_u64 {
            let _ = file.write_all_at(&0x03E3_1F20_u32.to_ne_bytes(), 1024 * ring);
        }
        Some(memory)
    }

    fn send(&mut self, record: &[u8], beside: Option<OwnedFd>) {
        if let Some(control) = &self.control {
            let _ = control.send(record, beside.as_ref().map(AsFd::as_fd));
        }
        if let Some(beside) = beside
            && self.memory.len() < 4
        {
            self.memory.push(beside.into());
        }
    }

    /// Returns the next message of a valid peer with its descriptor, or `None` after the last message.
    fn polite(&mut self) -> Option<(Message, Option<OwnedFd>)> {
        let name = Name::new("peer");
        let step = self.said;
        let ring = |to_master: bool, index: u16| {
            let at = 2 * u32::from(!to_master) + u32::from(index);
            Message::AddRing(Ring {
                to_master,
                index,
                region: 0,
                offset: 1024 * at,
                log2_size: 4,
                private_bytes: 0,
            })
        };
        self.said += 1;
        if self.master {
            let limits = Hello {
                name,
                min_version: VERSION,
                max_version: VERSION,
                max_region: 15,
                max_m2s_ring: 15,
                max_s2m_ring: 15,
                max_log2_ring: 14,
            };
            // The messages are Init, one region and three rings. Each of them is acknowledged.
            return match step {
                0 => Some((Message::Hello(limits), None)),
                1..=5 => Some((Message::Ack, None)),
                6 => Some((Message::Connected(name), None)),
                _ => None,
            };
        }
        let init = Init { version: VERSION, id: 0, mode: MODE_ETHERNET, secret: [0; 24], name };
        match step {
            0 => Some((Message::Init(init), None)),
            1 => Some((Message::AddRegion { index: 0, octets: OCTETS }, self.thing(7))),
            2..=5 => Some((ring(step < 4, step as u16 % 2), self.thing(0))),
            6 => Some((Message::Connect(name), None)),
            _ => None,
        }
    }

    /// Receives messages and descriptors, in particular memory.
    fn receive_messages(&mut self) {
        let mut message = [0; MESSAGE_BYTES];
        for _ in 0..16 {
            let Some(Ok(received)) = self.control.as_ref().map(|control| control.receive(&mut message))
            else {
                return;
            };
            if received.octets == 0 {
                return;
            }
            if let (Ok(Message::AddRegion { .. }), Some(memory)) =
                (decode(&message), received.descriptors.into_iter().next())
            {
                self.memory.push(memory.into());
            }
        }
    }
}

/// Returns the number of open descriptors of this process.
fn open() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, mut rest)) = input.split_first() else { return };
    let role = if first & 1 == 0 { Role::Master } else { Role::Slave };
    MASTER.with_borrow_mut(|_| {});
    LISTENER.with(|_| {});
    let before = open();
    if role == Role::Master {
        MASTER.with_borrow_mut(|port| {
            let control = Control::connect(&path(Role::Master)).ok();
            let _ = port.service();
            drive(port, Peer { control, memory: Vec::new(), said: 0, master: false }, &mut rest);
            // The port accepts the next connection.
            let _ = (port.service(), port.service());
        });
    } else {
        let mut port = Port::new(&path(Role::Slave), settings(Role::Slave)).expect("the port should be created");
        let _ = port.service();
        let control = LISTENER.with(|listener| listener.accept().ok());
        drive(&mut port, Peer { control, memory: Vec::new(), said: 0, master: true }, &mut rest);
        // Accepts the peer's new connection.
        LISTENER.with(|listener| while listener.accept().is_ok() {});
    }
    assert_eq!(open(), before, "a descriptor was left open");
});

fn drive(port: &mut Port, mut peer: Peer, rest: &mut &[u8]) {
    let mut octet = || {
        let (&first, tail) = rest.split_first()?;
        *rest = tail;
        Some(first)
    };
    let mut into = [0; 512];
    for _ in 0..STEPS {
        let Some(step) = octet() else { break };
        let mut next = || octet().unwrap_or(0);
        match step % 12 {
            0..=2 => {
                if let Some((message, beside)) = peer.polite() {
                    peer.send(&encode(&message), beside);
                }
            }
            3 => {
                // This step sends the next valid message, damaged, with a different descriptor or none.
                let Some((message, _)) = peer.polite() else { continue };
                let mut record = encode(&message);
                let at = next();
                let to = next();
                let kind = next();
                record[usize::from(at) % 64] = to;
                let beside = if kind & 0x80 == 0 { peer.thing(kind) } else { None };
                peer.send(&record, beside);
            }
            4 => {
                let length = next();
                let fill = next();
                peer.send(&vec![fill; usize::from(length)], None);
            }
            5 => {
                let at = next();
                let value = next();
                let wide = next();
                let at = if wide & 1 == 0 {
                    [6, 64][usize::from(at) % 2] + 1024 * u64::from(at / 2 % 4)
                } else {
                    u64::from(at) * 16 + u64::from(wide)
                };
                for file in &peer.memory {
                    let _ = file.write_all_at(&[value, wide & 2], at % OCTETS);
                }
            }
            6 => {
                let ring = next();
                let slot = next();
                let length = next();
                let offset = next();
                let mut descriptor = [0; 16];
                (descriptor[0], descriptor[2]) = (ring >> 7, u8::from(ring & 0x7f > 120));
                descriptor[4..6].copy_from_slice(&(2 * u16::from(length)).to_ne_bytes());
                descriptor[8..12].copy_from_slice(&(u32::from(offset) * 260).to_ne_bytes());
                for file in &peer.memory {
                    let at = 1024 * u64::from(ring % 4) + 128 + 16 * u64::from(slot % 16);
                    let _ = file.write_all_at(&descriptor, at);
                }
            }
            7 => {
                let to = u64::from(next()) * 512;
                let how = next();
                for file in &peer.memory {
                    if how & 1 == 0 {
                        let _ = ftruncate(file, to);
                    } else {
                        let _ =
                            fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, to, 4096);
                    }
                }
            }
            8 => {
                let _ = port.service();
                peer.receive_messages();
            }
            9 => match port.take(&mut into) {
                Ok(TakeOutcome::Packet(octets)) => assert!(octets <= into.len()),
                Ok(_) => {}
                Err(PortError::Down(_) | PortError::Ring(_)) => assert!(!port.is_up()),
                Err(error) => panic!("{error}"),
            },
            10 => {
                let _ = port.put(&into[..2 * usize::from(next())]);
                port.publish();
            }
            _ => {
                if next() & 7 == 0 {
                    peer.control = None;
                }
            }
        }
        // There are at most two rings of 2^14 entries per direction, and no rings after a disconnect.
        assert!(u32::from(port.waiting()) <= 16 << 14 && (port.is_up() || port.untaken() == 0));
    }
    port.stop();
}
