//! Data plane in the kernel. It has two XDP programs, and entries for the sessions that they support.
//!
//! The programs forward simple traffic: IPv4 in GTP-U over IPv4, both directions forwarded, without policing, charging or flow filters
//! ([`offload`]). They pass all other packets unmodified to the kernel, which delivers them to the packet engine: echoes, unknown tunnels,
//! buffering, rates. The next hop comes from the kernel's routing table (`bpf_fib_lookup`), so packets to an unresolved neighbour are also
//! passed.
use super::rules::{Action, Entry, Rules};
use ranlab_packet::ebpf::{
    ADJUST_HEAD, Assembler, CONTEXT, DROP, FRAME, If, LENGTH, Label, MAP_LOOKUP, Op, PACKET, PASS, REDIRECT,
    Reg, Size, ipv4_sum, read16, read32,
};
use std::net::{IpAddr, Ipv4Addr};

/// Length of keys, in bytes. A key is a TEID, or the address of a UE.
pub const KEY: usize = 4;
/// Length of values, in bytes. A value has UE or TEID, peer, QoS flow, checksum of the outer header, packets and bytes.
pub const VALUE: usize = 32;
/// Offsets of packets and bytes in a value.
const PACKETS: i16 = 16;
const OCTETS: i16 = 24;

const FIB_LOOKUP: i32 = 69;

const ETHERNET: i16 = 14;
/// Length of IPv4, UDP and GTP-U headers with PDU session container, in bytes.
const OUTER: i16 = 44;
/// Stack offsets of `struct bpf_fib_lookup` and of a key.
const FIB: i16 = -64;
const ON_STACK_KEY: i16 = -72;
const FOUND: Reg = 7;
/// Hop limit and protocol of the outer header.
const TTL: u8 = 64;
const UDP: u8 = 17;

/// Map entries of a session that the programs support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offloaded {
    /// Key and value of the uplink map.
    pub uplink: ([u8; KEY], [u8; VALUE]),
    /// Key and value of the downlink map.
    pub downlink: ([u8; KEY], [u8; VALUE]),
}

/// Returns the packets and bytes counted by an entry.
pub fn counted(value: &[u8; VALUE]) -> (u64, u64) {
    let number = |at: i16| value[at as usize..].first_chunk().map_or(0, |eight| u64::from_ne_bytes(*eight));
    (number(PACKETS), number(OCTETS))
}

/// Returns the map entries of a session, or `None` if the programs do not support it. `n3` is the local address.
pub fn offload(rules: &Rules<'_>, n3: Ipv4Addr) -> Option<Offloaded> {
    let entry = Entry::compile(0, rules, &[]).ok()?;
    let ([up], [down]) = (&entry.from_tunnels[..], &entry.from_n6[..]) else { return None };
    let v4 = |pdr: usize| rules.pdrs.get(pdr)?.pdi.ue_ip_addresses.first()?.addresses.v4;
    let ue = v4(0).filter(|ue| v4(1) == Some(*ue))?;
    let Action::Tunnel { teid, peer: IpAddr::V4(peer) } = down.action else { return None };
    let plain = up.action == Action::N6
        && rules.urrs.is_empty()
        && entry.qers.iter().all(|qer| qer.is_open())
        && up.is_unfiltered()
        && down.is_unfiltered();
    let flow = down.marks.filter(|marks| marks.is_flow_only())?.qfi;
    let uplink_teid = up.plain_teid(flow)?;
    if !plain {
        return None;
    }
    let mut uplink = [0; VALUE];
    uplink[..4].copy_from_slice(&ue.octets());
    uplink[4] = flow;
    let mut downlink = [0; VALUE];
    downlink[..4].copy_from_slice(&teid.to_be_bytes());
    downlink[4..8].copy_from_slice(&peer.octets());
    downlink[8] = flow;
    downlink[12..16].copy_from_slice(&ipv4_sum(TTL, UDP, n3, peer).to_ne_bytes());
    Some(Offloaded { uplink: (uplink_teid.to_be_bytes(), uplink), downlink: (ue.octets(), downlink) })
}

/// Looks up the key that is on the stack. Afterwards, register `FOUND` points to the entry.
fn look_up(code: &mut Assembler, map: i32, otherwise: Label) {
    code.map(1, map);
    code.register(Op::Move, 2, FRAME);
    code.number(Op::Add, 2, ON_STACK_KEY.into());
    code.call(MAP_LOOKUP);
    code.jump_if(If::Equal, 0, 0, otherwise);
    code.register(Op::Move, FOUND, 0);
}

/// Looks up the route from the address in register 1 to the address in register 2, for the length in register 3. Afterwards, the MAC
/// addresses for the next hop are on the stack.
fn route(code: &mut Assembler, otherwise: Label) {
    for at in (0..64).step_by(8) {
        code.store_number(Size::Eight, FRAME, FIB + at, 0);
    }
    code.store_number(Size::One, FRAME, FIB, 2);
    code.store(Size::Two, FRAME, FIB + 6, 3);
    code.load(Size::Four, 4, CONTEXT, 12);
    code.store(Size::Four, FRAME, FIB + 8, 4);
    code.store(Size::Four, FRAME, FIB + 16, 1);
    code.store(Size::Four, FRAME, FIB + 32, 2);
    code.register(Op::Move, 1, CONTEXT);
    code.register(Op::Move, 2, FRAME);
    code.number(Op::Add, 2, FIB.into());
    code.number(Op::Move, 3, 64);
    code.number(Op::Move, 4, 0);
    code.call(FIB_LOOKUP);
    code.jump_if(If::NotEqual, 0, 0, otherwise);
}

/// Counts the packet, moves its start by `by` bytes, and writes the Ethernet header for the next hop.
fn reframe(code: &mut Assembler, by: i32, room: i16, lost: Label) {
    code.number(Op::Move, 1, 1);
    code.add_atomically(FOUND, PACKETS, 1);
    code.add_atomically(FOUND, OCTETS, LENGTH);
    code.register(Op::Move, 1, CONTEXT);
    code.number(Op::Move, 2, by);
    code.call(ADJUST_HEAD);
    code.jump_if(If::NotEqual, 0, 0, lost);
    code.bounds(room, lost);
    // The kernel returns the sender's MAC before the receiver's; a frame has the reverse order.
    for at in [0, 2, 4] {
        code.load(Size::Two, 1, FRAME, FIB + 58 + at);
        code.store(Size::Two, PACKET, at, 1);
        code.load(Size::Two, 1, FRAME, FIB + 52 + at);
        code.store(Size::Two, PACKET, 6 + at, 1);
    }
    code.store_number(Size::Two, PACKET, 12, read16([8, 0]));
}

fn send(mut code: Assembler, pass: Label, lost: Label) -> Vec<u64> {
    code.load(Size::Four, 1, FRAME, FIB + 8);
    code.number(Op::Move, 2, 0);
    code.call(REDIRECT);
    code.exit();
    code.place(pass);
    code.end(PASS);
    code.place(lost);
    code.end(DROP);
    code.finish()
}

/// Returns the N3 program, which removes simple G-PDUs to the local address from their tunnels. `map` is the uplink
/// map.
pub fn uplink(map: i32, n3: Ipv4Addr) -> Vec<u64> {
    let mut code = Assembler::default();
    let pass = code.label();
    let lost = code.label();
    code.register(Op::Move, CONTEXT, 1);
    code.bounds(ETHERNET + OUTER + 20, pass);
    code.register(Op::Move, LENGTH, 3);
    code.register(Op::Sub, LENGTH, PACKET);
    code.expect(Size::Two, 12, read16([8, 0]), pass);
    code.expect(Size::One, 14, 0x45, pass);
    code.expect_whole(pass);
    code.expect_gtpu_port(n3, pass);
    // The packet must be a G-PDU with one extension header. That header must be an uplink PDU session container of minimum length.
    code.expect(Size::Two, 42, read16([0x34, 0xff]), pass);
    code.expect(Size::One, 53, 0x85, pass);
    code.expect(Size::Two, 54, read16([1, 0x10]), pass);
    code.expect(Size::One, 57, 0, pass);
    code.expect(Size::One, 58, 0x45, pass);
    // LENGTH is set to the length of the inner packet. The lengths of frame, outer header, UDP and GTP-U must agree with it.
    code.number_at(5, 60);
    code.register(Op::Sub, LENGTH, 5);
    code.jump_if(If::NotEqual, LENGTH, (ETHERNET + OUTER).into(), pass);
    code.register(Op::Move, LENGTH, 5);
    for (at, more) in [(16, 44), (38, 24), (44, 8)] {
        code.number_at(1, at);
        code.register(Op::Sub, 1, LENGTH);
        code.jump_if(If::NotEqual, 1, more, pass);
    }
    code.load(Size::Four, 1, PACKET, 46);
    code.store(Size::Four, FRAME, ON_STACK_KEY, 1);
    look_up(&mut code, map, pass);
    // The packet must have the UE address and the QoS flow of the session.
    code.load(Size::Four, 1, PACKET, 70);
    code.load(Size::Four, 2, FOUND, 0);
    code.jump_if_register(If::NotEqual, 1, 2, pass);
    code.load(Size::One, 3, PACKET, 56);
    code.load(Size::One, 4, FOUND, 4);
    code.jump_if_register(If::NotEqual, 3, 4, pass);
    code.load(Size::Four, 2, PACKET, 74);
    code.register(Op::Move, 3, LENGTH);
    route(&mut code, pass);
    reframe(&mut code, OUTER.into(), ETHERNET, lost);
    send(code, pass, lost)
}

/// Returns the N6 program, which encapsulates simple packets for known UEs. `map` is the downlink map.
pub fn downlink(map: i32, n3: Ipv4Addr) -> Vec<u64> {
    let mut code = Assembler::default();
    let pass = code.label();
    let lost = code.label();
    code.register(Op::Move, CONTEXT, 1);
    code.bounds(ETHERNET + 20, pass);
    code.register(Op::Move, LENGTH, 3);
    code.register(Op::Sub, LENGTH, PACKET);
    code.expect(Size::Two, 12, read16([8, 0]), pass);
    code.expect(Size::One, 14, 0x45, pass);
    code.number_at(5, 16);
    code.register(Op::Sub, LENGTH, 5);
    code.jump_if(If::NotEqual, LENGTH, ETHERNET.into(), pass);
    code.register(Op::Move, LENGTH, 5);
    code.load(Size::Four, 1, PACKET, 30);
    code.store(Size::Four, FRAME, ON_STACK_KEY, 1);
    look_up(&mut code, map, pass);
    code.number(Op::Move, 1, read32(n3.octets()));
    code.load(Size::Four, 2, FOUND, 4);
    code.register(Op::Move, 3, LENGTH);
    code.number(Op::Add, 3, OUTER.into());
    route(&mut code, pass);
    reframe(&mut code, (-OUTER).into(), ETHERNET + OUTER, lost);
    outer_header(&mut code, n3);
    send(code, pass, lost)
}

/// Writes IPv4, UDP and GTP-U headers before `LENGTH` bytes, for the session in `FOUND`.
fn outer_header(code: &mut Assembler, n3: Ipv4Addr) {
    code.ipv4_header(TTL, UDP, OUTER, (FOUND, 12));
    code.store_number(Size::Four, PACKET, 26, read32(n3.octets()));
    code.load(Size::Four, 1, FOUND, 4);
    code.store(Size::Four, PACKET, 30, 1);
    code.gtpu_headers((FOUND, 0), (FOUND, 8));
}

#[cfg(test)]
mod tests {
    use super::super::tests::plain;
    use super::*;

    #[test]
    fn only_simple_sessions_have_map_entries() {
        let n3 = Ipv4Addr::new(10, 0, 0, 2);
        let session = plain(3);
        let offloaded = offload(&session.rules(), n3).unwrap();
        assert_eq!(offloaded.uplink.0, [0, 0, 1, 3]);
        assert_eq!(offloaded.uplink.1[..5], [10, 60, 0, 3, 9]);
        assert_eq!(offloaded.downlink.0, [10, 60, 0, 3]);
        assert_eq!(offloaded.downlink.1[..9], [0, 0, 9, 3, 10, 0, 0, 9, 9]);
        let mut filtered = plain(3);
        filtered.narrow();
        assert_eq!(offload(&filtered.rules(), n3), None);
        let mut waits = plain(3);
        waits.idle();
        assert_eq!(offload(&waits.rules(), n3), None);
    }
}
