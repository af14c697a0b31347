//! Runs either end of memif with any peer. It must not panic, it has a bounded number of outputs per step, and accepted
//! numbers stay within their limits.
//!
//! The input is the role (1 byte), followed by messages. A message has its type (1 byte, mostly reduced to a known
//! type), the number of descriptors (1 byte), the number of bytes (1 byte), and the bytes after the type. Missing data
//! is replaced by valid values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_machine::Time;
use ranlab_packet::memif::messages::{MESSAGE_BYTES, Message, Ring, decode, encode};
use ranlab_packet::memif::{
    Input, LOG2_RING_MAX, Machine, Output, REGION_OCTETS_MAX, RING_ALIGNMENT, RINGS_MAX, Role, Settings,
};

fuzz_target!(|input: &[u8]| {
    let Some((&first, mut rest)) = input.split_first() else { return };
    let role = if first & 1 == 0 { Role::Master } else { Role::Slave };
    let Ok(mut machine) = Machine::new(Time::ZERO, Settings::new(role, u32::from(first >> 1 & 1))) else {
        panic!("the settings should be valid")
    };
    let mut down = false;
    let mut at = 0;
    while let Some((&[kind, descriptors, length], tail)) = rest.split_first_chunk::<3>() {
        let (body, tail) = tail.split_at(usize::from(length).min(tail.len()).min(MESSAGE_BYTES - 2));
        rest = tail;
        let mut message = [0; MESSAGE_BYTES];
        let kind = if kind < 0xf0 { u16::from(kind) % 9 } else { u16::from(kind) };
        message[..2].copy_from_slice(&kind.to_ne_bytes());
        message[2..2 + body.len()].copy_from_slice(body);
        if let Ok(read) = decode(&message) {
            assert!(matches!(read, Message::Disconnect { .. }) || decode(&encode(&read)) == Ok(read));
        }
        at += 1_000_000;
        let now = Time::from_nanos(at);
        let cut = if length == 255 { 64 } else { MESSAGE_BYTES };
        machine.handle(
            now,
            Input::Received { message: &message[..cut], descriptors: usize::from(descriptors & 3) },
        );
        let mut outputs = 0;
        while let Some(output) = machine.poll() {
            assert!(!down, "no message follows the end");
            outputs += 1;
            match output {
                Output::Ring(ring) => {
                    let end = u64::from(ring.offset) + Ring::octets(ring.log2_size);
                    assert!(ring.log2_size <= LOG2_RING_MAX && end <= REGION_OCTETS_MAX);
                    assert!(ring.offset.is_multiple_of(RING_ALIGNMENT) && ring.index < RINGS_MAX);
                }
                Output::Region { octets } => assert!((1..=REGION_OCTETS_MAX).contains(&octets)),
                Output::Create(layout) => assert!(layout.octets <= REGION_OCTETS_MAX),
                Output::Up(_) => assert!(machine.is_up() || machine.wake_at().is_none()),
                Output::Send { .. } => {}
                Output::Down(_) => down = true,
            }
        }
        assert!(outputs <= 8);
    }
});
