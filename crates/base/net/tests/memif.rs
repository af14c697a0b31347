//! Rings in shared memory between two conforming endpoints, and against a hostile one.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use ranlab_net::memif::{
    Buffers, Control, DescriptorFault, Listener, Receiver, Region, RegionError, RingFault, RingLocation,
    Sender, TakeOutcome, interrupt,
};

const PAGES: usize = 64 << 10;

/// Returns the owner's memory, and the same memory as the other endpoint maps it.
fn shared() -> (Arc<[Region]>, Arc<[Region]>) {
    let own = Region::create(PAGES).unwrap();
    let theirs = Region::accept(own.descriptor().try_clone_to_owned().unwrap(), PAGES as u64).unwrap();
    (vec![own].into(), vec![theirs].into())
}

/// Returns the memory as a file, for a hostile peer to write.
fn file(region: &Region) -> File {
    region.descriptor().try_clone_to_owned().unwrap().into()
}

fn place(log2_size: u8) -> RingLocation {
    RingLocation { region: 0, offset: 0, log2_size }
}

fn buffers() -> Option<Buffers> {
    Some(Buffers { region: 0, offset: 4096, octets: 128 })
}

/// Returns the endpoints of a ring of eight, away from the owner or towards it.
fn pair(owner_sends: bool) -> (Sender, Receiver) {
    let (own, theirs) = shared();
    let (mut sender, mut receiver);
    if owner_sends {
        sender = Sender::new(own, place(3), buffers()).unwrap();
        receiver = Receiver::new(theirs, place(3), None).unwrap();
    } else {
        receiver = Receiver::new(own, place(3), buffers()).unwrap();
        sender = Sender::new(theirs, place(3), None).unwrap();
    }
    receiver.start();
    sender.start().unwrap();
    (sender, receiver)
}

fn packet(number: u32) -> Vec<u8> {
    let octets = 1 + number as usize * 7 % 128;
    (0..octets).map(|at| (number as usize + at) as u8).collect()
}

#[test]
fn packets_arrive_in_order_until_ring_is_full() {
    for owner_sends in [true, false] {
        let (mut sender, mut receiver) = pair(owner_sends);
        let mut into = [0; 128];
        let mut put = 0_u32;
        let mut taken = 0;
        // 70,000 packets are sent, so that the 16-bit indices wrap.
        while taken < 70_000 {
            let burst = 1 + put % 11;
            for _ in 0..burst {
                if !sender.put(&packet(put)).unwrap().unwrap() {
                    assert_eq!(put - taken, 8, "a full ring must have a packet in each descriptor");
                    break;
                }
                put += 1;
            }
            sender.publish();
            loop {
                match receiver.take(&mut into).unwrap() {
                    TakeOutcome::Packet(octets) => {
                        assert_eq!(into[..octets], packet(taken));
                        taken += 1;
                    }
                    TakeOutcome::Nothing => break,
                    TakeOutcome::Lost(fault) => panic!("{fault}"),
                }
                if (taken + put).is_multiple_of(3) {
                    break;
                }
            }
            receiver.publish();
        }
        while receiver.take(&mut into).unwrap() != TakeOutcome::Nothing {
            taken += 1;
        }
        assert_eq!(put, taken);
    }
}

#[test]
fn unpublished_descriptors_are_not_read() {
    let (mut sender, mut receiver) = pair(true);
    assert!(sender.put(b"one").unwrap().unwrap());
    assert_eq!(receiver.take(&mut [0; 128]).unwrap(), TakeOutcome::Nothing);
    sender.publish();
    assert_eq!((receiver.waiting(), receiver.take(&mut [0; 128]).unwrap()), (1, TakeOutcome::Packet(3)));
    // The packet was taken but not released, so seven slots are left.
    assert_eq!((0..9).filter(|_| sender.put(b"more").unwrap().unwrap()).count(), 7);
    receiver.publish();
    assert_eq!((0..9).filter(|_| sender.put(b"more").unwrap().unwrap()).count(), 1);
}

#[test]
fn oversized_packet_is_refused_and_next_passes() {
    for owner_sends in [true, false] {
        let (mut sender, mut receiver) = pair(owner_sends);
        let fault = DescriptorFault::Room { packet: 129, room: 128 };
        assert_eq!(sender.put(&[0; 129]).unwrap(), Err(fault));
        assert!(sender.put(&[5; 128]).unwrap().unwrap() && sender.put(&[6; 4]).unwrap().unwrap());
        sender.publish();
        let small = DescriptorFault::Room { packet: 128, room: 64 };
        assert_eq!(receiver.take(&mut [0; 64]).unwrap(), TakeOutcome::Lost(small));
        assert_eq!(receiver.take(&mut [0; 64]).unwrap(), TakeOutcome::Packet(4));
    }
}

#[test]
fn rings_and_buffers_outside_memory_are_refused() {
    let (own, theirs) = shared();
    let ring = |place, buffers| Receiver::new(Arc::clone(&own), place, buffers).map(drop).unwrap_err();
    for (region, offset, log2_size) in [
        (1, 0, 3),
        (0, 4, 3),
        (0, PAGES as u32 - 248, 3),
        (0, u32::MAX - 7, 0),
        (0, 0, 15),
        (0, 0, 200),
        (0, 0, 12),
    ] {
        let place = RingLocation { region, offset, log2_size };
        assert_eq!(ring(place, None), RingFault::Place { offset, log2_size });
    }
    for (region, offset, octets) in
        [(0, PAGES as u32 - 8 * 128 + 1, 128), (1, 0, 1), (0, 0, u32::MAX), (0, 0, 0)]
    {
        let buffers = Buffers { region, offset, octets };
        assert_eq!(ring(place(3), Some(buffers)), RingFault::Buffers { offset, octets });
    }
    assert_eq!(Sender::new(theirs, place(3), None).map(drop).unwrap_err(), RingFault::Cookie(0));
}

#[test]
fn shrinkable_memory_is_refused() {
    // This memory is shorter than announced.
    let region = Region::create(4096).unwrap();
    let again = || region.descriptor().try_clone_to_owned().unwrap();
    assert!(matches!(
        Region::accept(again(), 4097),
        Err(RegionError::Short { announced: 4097, found: 4096 })
    ));
    assert!(matches!(Region::accept(again(), 0), Err(RegionError::Short { .. })));
    // The region of this endpoint cannot be truncated afterwards by any holder.
    assert!(file(&region).set_len(0).is_err() && file(&region).set_len(8192).is_err());
    // Descriptors of disk files, devices, sockets and interrupts are refused.
    let path = std::env::temp_dir().join(format!("ranlab-memif-file-{}", std::process::id()));
    std::fs::write(&path, [0; 8192]).unwrap();
    let disk = File::options().read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let device = File::options().read(true).write(true).open("/dev/zero").unwrap();
    for descriptor in [disk.into(), device.into(), interrupt().unwrap()] {
        assert!(matches!(Region::accept(descriptor, 4096), Err(RegionError::Kind(_))));
    }
}

#[test]
fn records_carry_a_limited_number_of_descriptors() {
    let (near, far) = Control::pair().unwrap();
    let region = Region::create(4096).unwrap();
    let mut record = [0; 128];
    assert_eq!(far.receive(&mut record).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    near.send(&[7; 128], Some(region.descriptor())).unwrap();
    near.send(&[8; 200], None).unwrap();
    drop(near);
    let received = far.receive(&mut record).unwrap();
    assert_eq!((received.octets, received.descriptors.len(), received.cut), (128, 1, false));
    let mut same = File::from(received.descriptors.into_iter().next().unwrap());
    file(&region).write_all(b"shared").unwrap();
    let mut text = [0; 6];
    same.seek(SeekFrom::Start(0)).unwrap();
    same.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"shared");
    assert!(far.receive(&mut record).unwrap().cut);
    assert_eq!(
        far.receive(&mut record).unwrap().octets,
        0,
        "after the peer has closed, a read must return 0 bytes"
    );
    assert!(far.send(&[0; 128], None).is_err());
}

#[test]
fn path_is_reused_only_without_a_listener() {
    let path = std::env::temp_dir().join(format!("ranlab-memif-{}.sock", std::process::id()));
    let listener = Listener::bind(&path).unwrap();
    assert_eq!(Listener::bind(&path).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let _peer = Control::connect(&path).unwrap();
    listener.accept().unwrap();
    // The failed attempt above also connected to check for a listener; that connection has ended.
    drop(listener);
    assert!(!path.exists());
    // A killed process leaves such a file: bound, without a listener.
    drop(std::os::unix::net::UnixDatagram::bind(&path).unwrap());
    let again = Listener::bind(&path);
    std::fs::remove_file(&path).unwrap_or_default();
    assert!(again.is_ok() || again.unwrap_err().kind() == std::io::ErrorKind::AddrInUse);
}

/// The peer writes any bytes to any place of the shared memory, even during a copy. Every call still returns, with a
/// permitted result.
#[test]
fn hostile_peer_can_only_corrupt_packets() {
    let mut state = 0x00c0_ffee_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut packets = 0;
    let mut lost = 0;
    let mut dead = 0;
    for round in 0..4_000 {
        let (own, theirs) = shared();
        let scribble = file(&own[0]);
        let to_us = place(3);
        let from_us = RingLocation { offset: 1024, ..place(3) };
        let other = Some(Buffers { offset: 8192, ..buffers().unwrap() });
        // In even rounds, this endpoint owns the memory; in odd rounds, the peer does.
        let (mut sender, mut receiver) = if round % 2 == 0 {
            let sender = Sender::new(Arc::clone(&own), from_us, other).unwrap();
            (sender, Receiver::new(own, to_us, buffers()).unwrap())
        } else {
            let _cookies =
                (Sender::new(Arc::clone(&own), to_us, buffers()), Receiver::new(own, from_us, other));
            let sender = Sender::new(Arc::clone(&theirs), from_us, None).unwrap();
            (sender, Receiver::new(theirs, to_us, None).unwrap())
        };
        receiver.start();
        let _ = sender.start();
        let mut into = [0; 512];
        for _ in 0..64 {
            let write = |octets: &[u8], at: u64| {
                std::os::unix::fs::FileExt::write_all_at(&scribble, octets, at).unwrap();
            };
            let ring = if draw(2) == 0 { 0 } else { 1024 };
            match draw(4) {
                // Writes an index that advances by a small number.
                0 => write(&[draw(12) as u8, 0], ring + [6, 64][draw(2) as usize]),
                1 => write(&(draw(1 << 16) as u16).to_ne_bytes(), ring + [6, 64][draw(2) as usize]),
                // Writes a descriptor that is nearly valid.
                2 => {
                    let mut descriptor = [0; 16];
                    descriptor[0] = u8::from(draw(3) == 0);
                    descriptor[2] = u8::from(draw(16) == 0);
                    descriptor[4..8].copy_from_slice(&(draw(700) as u32).to_ne_bytes());
                    let offset = if draw(4) == 0 { draw(1 << 32) } else { draw(PAGES as u64) } as u32;
                    descriptor[8..12].copy_from_slice(&offset.to_ne_bytes());
                    write(&descriptor, ring + 128 + 16 * draw(8));
                }
                _ => write(&[draw(256) as u8; 8], draw(2048)),
            }
            match receiver.take(&mut into) {
                Ok(TakeOutcome::Packet(octets)) => {
                    assert!(octets <= into.len());
                    packets += 1;
                }
                Ok(TakeOutcome::Lost(_)) => lost += 1,
                Ok(TakeOutcome::Nothing) => {}
                Err(_) => dead += 1,
            }
            receiver.publish();
            assert!(receiver.waiting() <= 8);
            match sender.put(&into[..1 + draw(200) as usize]) {
                Ok(_) => sender.publish(),
                Err(_) => dead += 1,
            }
        }
    }
    assert!(packets > 1_000 && lost > 1_000 && dead > 1_000, "{packets} {lost} {dead}");
}

#[test]
fn chained_buffers_form_one_packet_unless_chain_is_endless() {
    let (own, theirs) = shared();
    let peer = file(&own[0]);
    let write = |octets: &[u8], at: u64| std::os::unix::fs::FileExt::write_all_at(&peer, octets, at).unwrap();
    drop(Sender::new(own, place(4), buffers()).unwrap());
    let mut receiver = Receiver::new(theirs, place(4), None).unwrap();
    receiver.start();
    let describe = |slot: u64, next: bool, length: u32, offset: u32| {
        let mut descriptor = [0; 16];
        descriptor[0] = next.into();
        descriptor[4..8].copy_from_slice(&length.to_ne_bytes());
        descriptor[8..12].copy_from_slice(&offset.to_ne_bytes());
        write(&descriptor, 128 + 16 * slot);
    };
    let head = |head: u16| write(&head.to_ne_bytes(), 6);
    write(b"one two three", 4096);
    describe(0, true, 4, 4096);
    describe(1, true, 4, 4100);
    head(2);
    let mut into = [0; 64];
    assert_eq!(
        receiver.take(&mut into).unwrap(),
        TakeOutcome::Nothing,
        "the last descriptor of the chain is missing"
    );
    describe(2, false, 5, 4104);
    head(3);
    assert_eq!(receiver.take(&mut into).unwrap(), TakeOutcome::Packet(13));
    assert_eq!(&into[..13], b"one two three");
    (3..11).for_each(|slot| describe(slot, true, 1, 4096));
    describe(11, false, 3, 4096);
    head(12);
    assert_eq!(receiver.take(&mut into).unwrap(), TakeOutcome::Lost(DescriptorFault::Chain));
    assert_eq!(receiver.take(&mut into).unwrap(), TakeOutcome::Packet(3));
}
