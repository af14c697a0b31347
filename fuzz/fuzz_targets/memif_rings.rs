//! Runs rings in memory that the peer also writes to. They must not panic or access other memory, and never contain
//! more packets than available.
//!
//! The input is the sizes and positions of both rings, which may be invalid, and the owner of the memory. Steps follow.
//! In a step, the peer writes an index, a descriptor or arbitrary data anywhere, and this end receives, sends and
//! reads.
#![no_main]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ranlab_net::memif::{Buffers, Receiver, Region, RingLocation, Sender, TakeOutcome};

/// Size of the memory in bytes. It has only a few pages, so that many random positions are near an end.
const OCTETS: usize = 16 << 10;

struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn octet(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.octet(), self.octet(), self.octet(), self.octet()])
    }

    /// Returns a position, mostly within the memory.
    fn place(&mut self) -> u32 {
        let word = self.word();
        if word >> 29 == 7 { word } else { word % (OCTETS as u32 + 64) }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let owns = script.octet() & 1 == 0;
    let region = Region::create(OCTETS).expect("the memory should be created");
    let peer = File::from(region.descriptor().try_clone_to_owned().expect("the descriptor should be cloned"));
    let clone = region.descriptor().try_clone_to_owned().expect("the descriptor should be cloned");
    let theirs = Region::accept(clone, OCTETS as u64).expect("the region should be sealed");
    let regions: Arc<[Region]> = if owns { vec![region].into() } else { vec![theirs].into() };
    let mut place = |first: u32| {
        let shape = script.octet();
        let log2_size = script.octet();
        let log2_size = if shape & 1 == 0 { log2_size % 6 } else { log2_size };
        let offset = if shape & 2 == 0 { first } else { script.place() };
        let octets = if shape & 4 == 0 { 128 } else { script.word() % 70_000 };
        let at = if shape & 8 == 0 { first + 2048 } else { script.place() };
        let region = u16::from(shape >> 6 == 3);
        (RingLocation { region, offset, log2_size }, Buffers { region, offset: at, octets })
    };
    let ([to, from], write) = ([place(0), place(8192)], |octets: &[u8], at: u32| {
        // The memory has a fixed size. The peer's file does not grow.
        let fits = octets.len().min(OCTETS.saturating_sub(at as usize));
        let _ = peer.write_all_at(&octets[..fits], at.into());
    });
    for (ring, _) in [&to, &from] {
        write(&0x03E3_1F20_u32.to_ne_bytes(), ring.offset);
    }
    let own = |buffers: Buffers| owns.then_some(buffers);
    let Ok(mut receiver) = Receiver::new(Arc::clone(&regions), to.0, own(to.1)) else { return };
    let Ok(mut sender) = Sender::new(regions, from.0, own(from.1)) else { return };
    let size = [to.0, from.0].map(|ring| 1_u16 << ring.log2_size);
    receiver.start();
    let _ = sender.start();
    let mut into = [0xaa; 300];
    let packet = [0x55; 256];
    for _ in 0..256 {
        if script.0.is_empty() {
            return;
        }
        let step = script.octet();
        let ring = if step & 0x80 == 0 { to.0.offset } else { from.0.offset };
        let index = ring.wrapping_add(if step & 0x40 == 0 { 6 } else { 64 });
        match step & 7 {
            // The index advances slightly, or is set to any value.
            0 => write(&u16::from(script.octet()).to_ne_bytes(), index),
            1 => write(&(script.word() as u16).to_ne_bytes(), index),
            2 => {
                let slot = ring.wrapping_add(128 + 16 * u32::from(script.octet()));
                let mut descriptor = [0; 16];
                let flags = script.octet();
                let region = script.octet();
                (descriptor[0], descriptor[2]) = (flags & 1, u8::from(region > 250));
                descriptor[4..8].copy_from_slice(&(script.word() % 600).to_ne_bytes());
                descriptor[8..12].copy_from_slice(&script.place().to_ne_bytes());
                write(&descriptor, slot);
            }
            3 => {
                let at = script.place();
                write(&script.word().to_ne_bytes(), at);
            }
            // The peer cannot truncate the memory.
            4 => assert!(peer.set_len(u64::from(script.word()) % OCTETS as u64).is_err()),
            5 => {
                let room = usize::from(script.octet()) + 45;
                if let Ok(TakeOutcome::Packet(octets)) = receiver.take(&mut into[..room]) {
                    assert!(octets <= room);
                }
                receiver.publish();
            }
            6 => {
                let _ = sender.put(&packet[..usize::from(script.octet())]);
            }
            _ => sender.publish(),
        }
        assert!(receiver.waiting() <= size[0] && sender.waiting() <= size[1]);
        assert!(sender.free().is_ok_and(|free| free <= size[1]) || sender.free().is_err());
    }
});
