//! Admission of frames and removal of tunnels, directly in a slot. The checks have the order that
//! [`crate::declare::Element`] defines.
use super::burst::{Meta, Slot};
use crate::declare::{DropReason, Encapsulation};
use crate::reference::GTPU_PORT;
use ranlab_packet::{EtherType, Mac, VXLAN_PORT, checksum};

const ETHERNET: usize = 14;

/// A filter for MAC addresses: the first eight bytes of a frame in native byte order, with a mask of the six relevant
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MacFilter {
    value: u64,
    mask: u64,
}

impl MacFilter {
    /// Filter that accepts every address.
    #[cfg(test)]
    pub(super) const ANY: Self = Self { value: 0, mask: 0 };

    pub(super) fn new(mac: Option<Mac>) -> Self {
        let Some(Mac([a, b, c, d, e, f])) = mac else {
            return Self { value: 0, mask: 0 };
        };
        let mask = u64::from_ne_bytes([255, 255, 255, 255, 255, 255, 0, 0]);
        Self { value: u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]), mask }
    }

    /// Checks the first eight bytes of a frame.
    #[inline(always)]
    fn passes(self, first: [u8; 8]) -> bool {
        u64::from_ne_bytes(first) & self.mask == self.value
    }
}

/// Applies [`crate::declare::Element::Admit`].
#[inline(always)]
pub(super) fn admit(slot: &Slot, meta: &mut Meta, mac: MacFilter, ipv6: bool) -> Result<(), DropReason> {
    let l3 = (meta.start as usize) + ETHERNET;
    let end = meta.end as usize;
    let header = slot.window::<34>(meta.start as usize);
    let [_, _, _, _, _, _, _, _, _, _, _, _, t, u, packet @ ..] = header;
    // Fast path for a frame with the accepted MAC address and a complete IPv4 header without options.
    if mac.passes(octets(header, 0)) & (EtherType(u16::from_be_bytes([*t, *u])) == EtherType::IPV4) {
        return header4(slot, packet, meta, l3, end);
    }
    admit_other(slot, meta, mac, ipv6)
}

/// Applies [`admit`] to any frame, without the fast path.
#[inline(never)]
fn admit_other(slot: &Slot, meta: &mut Meta, mac: MacFilter, ipv6: bool) -> Result<(), DropReason> {
    let start = meta.start as usize;
    let end = meta.end as usize;
    let header = slot.window::<34>(start);
    if end - start < ETHERNET {
        return Err(DropReason::Malformed);
    }
    if !mac.passes(octets(header, 0)) {
        return Err(DropReason::NotForUs);
    }
    let ether_type = EtherType(u16::from_be_bytes([header[12], header[13]]));
    if ether_type == EtherType::IPV4 {
        return other4(slot, meta, start + ETHERNET, end);
    }
    if ether_type == EtherType::IPV6 && ipv6 {
        return packet6(slot, meta, start + ETHERNET, end);
    }
    Err(DropReason::NotIp)
}

/// Checks the IP packet between two offsets.
#[inline(always)]
fn packet(slot: &Slot, meta: &mut Meta, l3: usize, end: usize, six: bool) -> Result<(), DropReason> {
    if six { packet6(slot, meta, l3, end) } else { packet4(slot, meta, l3, end) }
}

/// Applies [`admit`] and [`decap`] in one step to the usual packet of a base station. This is an IPv4 packet in a G-PDU
/// with a PDU session container, no other extension header, and consistent lengths. Returns false for all other packets
/// and leaves them unchanged.
#[inline(always)]
pub(super) fn plain_gtp(slot: &mut Slot, meta: &mut Meta, mac: MacFilter, local: u32) -> bool {
    const OUTER: usize = ETHERNET;
    const UDP: usize = OUTER + 20;
    const GTP: usize = UDP + 8;
    const INNER: usize = GTP + 16;
    let start = meta.start as usize;
    let end = meta.end as usize;
    let h = slot.window::<{ INNER + 20 }>(start);
    let word = |at| u32::from_le_bytes(octets(h, at));
    let half = |at| usize::from(u16::from_be_bytes(octets(h, at)));
    let plain = mac.passes(octets(h, 0))
        // The outer packet is IPv4 without options, not a fragment, UDP, and addressed to the local address.
        && word(12) & 0x00ff_ffff == 0x0045_0008
        && word(OUTER + 6) & 0xff00_ff3f == 0x1100_0000
        && word(OUTER + 16) == local.swap_bytes()
        && half(UDP + 2) == usize::from(GTPU_PORT)
        // The GTP header has version 1, protocol type GTP and an extension header. The message is a G-PDU.
        && half(GTP) == 0x34ff
        // The extension header has one unit, and no further extension header follows.
        && h[GTP + 11] != 0
        && word(GTP + 12) & 0xff00_00ff == 1
        && h[INNER] == 0x45;
    let total = half(OUTER + 2);
    let datagram = half(UDP + 4);
    let message = half(GTP + 2);
    let carried = half(INNER + 2);
    let inner_end = start + GTP + 8 + message;
    let fits = total == datagram + 20
        && datagram == message + 16
        && start + ETHERNET + total <= end
        && carried >= 20
        && carried + 8 <= message;
    if !(plain && fits && sum_holds(h, OUTER) && sum_holds(h, INNER)) {
        return false;
    }
    let key = u32::from_be_bytes(octets(h, GTP + 4));
    slot.copy_ethernet(start, start + INNER - ETHERNET);
    (meta.start, meta.end) = ((start + INNER - ETHERNET) as u32, inner_end as u32);
    (meta.l3, meta.total) = ((start + INNER) as u32, carried as u32);
    (meta.key, meta.ipv6) = (key, false);
    true
}

/// Returns whether the header checksum at an offset of a window is correct.
#[inline(always)]
fn sum_holds<const M: usize>(window: &[u8; M], at: usize) -> bool {
    let word = |at| u64::from_le_bytes(octets(window, at));
    adds_up(word(at), word(at + 8), u32::from_le_bytes(octets(window, at + 16)))
}

/// Checks the IPv4 packet between two offsets.
#[inline(always)]
fn packet4(slot: &Slot, meta: &mut Meta, l3: usize, end: usize) -> Result<(), DropReason> {
    header4(slot, slot.window(l3), meta, l3, end)
}

/// Checks an IPv4 packet whose header has already been read; see [`packet4`]. The header is read once as three words,
/// because the checksum needs full words. The compiler would otherwise assemble words from single bytes.
#[inline(always)]
fn header4(slot: &Slot, header: &[u8; 20], meta: &mut Meta, l3: usize, end: usize) -> Result<(), DropReason> {
    let first = u64::from_le_bytes(octets(header, 0));
    let total = ((first >> 16) as u16).swap_bytes();
    if (first as u8 != 0x45) | (total < 20) | (l3 + usize::from(total) > end) {
        return other4(slot, meta, l3, end);
    }
    let second = u64::from_le_bytes(octets(header, 8));
    if !adds_up(first, second, u32::from_le_bytes(octets(header, 16))) {
        return Err(DropReason::Checksum);
    }
    (meta.l3, meta.total, meta.ipv6) = (l3 as u32, total.into(), false);
    Ok(())
}

/// Returns bytes of a window as an array, so that they are read as one word. Otherwise, the compiler would assemble the
/// word from single bytes.
#[inline(always)]
fn octets<const N: usize, const M: usize>(window: &[u8; M], at: usize) -> [u8; N] {
    window.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// Returns whether the words of a header, including its checksum, add up to 0xffff.
///
/// The sum does not depend on byte order (RFC 1071 §2), so full words are added unchanged, with end-around carry. The
/// sum is folded by adding it to itself with swapped halves. The upper half of the result is the sum of both halves,
/// including the carry of the lower half.
#[inline(always)]
const fn adds_up(first: u64, second: u64, third: u32) -> bool {
    let (sum, carry) = first.overflowing_add(second);
    let (sum, carry) = (sum + carry as u64).overflowing_add(third as u64);
    let sum = sum + carry as u64;
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    sum.wrapping_add(sum.rotate_left(16)) >= 0xffff_0000
}

/// Checks any IPv4 packet, without the fast path of [`packet4`].
#[inline(never)]
fn other4(slot: &Slot, meta: &mut Meta, l3: usize, end: usize) -> Result<(), DropReason> {
    let header = slot.window::<20>(l3);
    let total = u16::from_be_bytes([header[2], header[3]]);
    let room = end.saturating_sub(l3);
    let header_bytes = usize::from(header[0] & 15) * 4;
    let sound = (room >= 20)
        & (header[0] >> 4 == 4)
        & (header_bytes >= 20)
        & (usize::from(total) >= header_bytes)
        & (usize::from(total) <= room);
    if !sound {
        return Err(DropReason::Malformed);
    }
    let words = (0..header_bytes).step_by(4).map(|at| u64::from(u32::from_ne_bytes(*slot.window(l3 + at))));
    let sum: u64 = words.sum();
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    if checksum::fold(sum as u32) != 0xffff {
        return Err(DropReason::Checksum);
    }
    (meta.l3, meta.total, meta.ipv6) = (l3 as u32, total.into(), false);
    Ok(())
}

fn packet6(slot: &Slot, meta: &mut Meta, l3: usize, end: usize) -> Result<(), DropReason> {
    let header = slot.window::<40>(l3);
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let room = end.saturating_sub(l3);
    if room < 40 || header[0] >> 4 != 6 || payload > room - 40 {
        return Err(DropReason::Malformed);
    }
    (meta.l3, meta.total, meta.ipv6) = (l3 as u32, payload as u32 + 40, true);
    Ok(())
}

/// Returns the five-tuple of an admitted IPv4 packet (source, destination, ports, protocol), and the offset of its
/// transport header.
#[inline(always)]
pub(super) fn five_tuple(slot: &Slot, meta: &Meta) -> (super::acl::Packet, usize) {
    let l3 = meta.l3 as usize;
    let header = slot.window::<20>(l3);
    let header_bytes = usize::from(header[0] & 15) * 4;
    let transport = l3 + header_bytes;
    let protocol = header[9];
    let least = match protocol {
        6 => 20,
        17 => 8,
        _ => usize::MAX,
    };
    let first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
    let has_ports = first & ((meta.total as usize).saturating_sub(header_bytes) >= least);
    let (ports, traits) = ports_and_traits(slot, transport, protocol, has_ports);
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let src = word(12);
    let dst = word(16);
    (super::acl::Packet { src, dst, ports, protocol: protocol.into(), traits }, transport)
}

/// Returns the five-tuple of an admitted IPv6 packet. The protocol is the next header of the fixed header.
pub(super) fn five_tuple6(slot: &Slot, meta: &Meta) -> super::acl::Packet<u128> {
    let l3 = meta.l3 as usize;
    let protocol = slot.byte(l3 + 6);
    let least = match protocol {
        6 => 20,
        17 => 8,
        _ => u32::MAX,
    };
    let (ports, traits) = ports_and_traits(slot, l3 + 40, protocol, meta.total - 40 >= least);
    let address = |at: usize| u128::from_be_bytes(*slot.window(l3 + at));
    super::acl::Packet { src: address(8), dst: address(24), ports, protocol: protocol.into(), traits }
}

/// Returns the ports of a packet (0 if it has none), and its other properties that rules can require.
#[inline(always)]
fn ports_and_traits(slot: &Slot, transport: usize, protocol: u8, has_ports: bool) -> (u32, u32) {
    use super::acl::{HAS_FLAGS, HAS_PORTS};
    let ports = if has_ports { slot.u32(transport) } else { 0 };
    let is_tcp = has_ports & (protocol == 6);
    let flags = if is_tcp { HAS_FLAGS | u32::from(slot.u16(transport + 12)) } else { 0 };
    (ports, (u32::from(has_ports) * HAS_PORTS) | flags)
}

/// Applies [`crate::declare::Element::Decap`].
#[inline(always)]
pub(super) fn decap(
    slot: &mut Slot,
    meta: &mut Meta,
    kind: Encapsulation,
    (local, ipv6): (u32, bool),
) -> Result<(), DropReason> {
    let l3 = meta.l3 as usize;
    let header = slot.window::<20>(l3);
    let expected = if kind == Encapsulation::Gre { 47 } else { 17 };
    if meta.ipv6 | (header[9] != expected) | (slot.u32(l3 + 16) != local) {
        return Err(DropReason::NotTunnel);
    }
    if u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0 {
        return Err(DropReason::Fragment);
    }
    let transport = l3 + usize::from(header[0] & 15) * 4;
    let end = l3 + (meta.total as usize);
    let six;
    let (key, inner, inner_end) = match kind {
        Encapsulation::Gtp { .. } => {
            let end = udp(slot, transport, end, GTPU_PORT)?;
            let (key, inner, end) = gtp(slot, transport + 8, end)?;
            six = ipv6 & (inner < end) & (slot.byte(inner) >> 4 == 6);
            (key, inner, end)
        }
        Encapsulation::Vxlan => {
            let end = udp(slot, transport, end, VXLAN_PORT)?;
            return vxlan(slot, meta, transport + 8, end, ipv6);
        }
        Encapsulation::Gre => {
            let (key, protocol, inner, end) = gre(slot, transport, end, ipv6)?;
            six = protocol == EtherType::IPV6.0;
            (key, inner, end)
        }
    };
    let start = inner - ETHERNET;
    packet(slot, meta, inner, inner_end, six)?;
    slot.copy_ethernet(meta.start as usize, start);
    if six {
        *slot.window_mut(start + 12) = EtherType::IPV6.0.to_be_bytes();
    }
    (meta.start, meta.end, meta.key) = (start as u32, inner_end as u32, key);
    Ok(())
}

/// Checks for a UDP datagram to `port`. Returns the end of the datagram.
#[inline(always)]
fn udp(slot: &Slot, at: usize, end: usize, port: u16) -> Result<usize, DropReason> {
    if end - at < 8 {
        return Err(DropReason::Malformed);
    }
    let length = usize::from(slot.u16(at + 4));
    if (length < 8) | (length > end - at) {
        return Err(DropReason::Malformed);
    }
    if slot.u16(at + 2) != port {
        return Err(DropReason::NotTunnel);
    }
    Ok(at + length)
}

/// Returns the TEID, and the beginning and end of a G-PDU's payload (TS 29.281 §5.1).
#[inline(always)]
fn gtp(slot: &Slot, at: usize, end: usize) -> Result<(u32, usize, usize), DropReason> {
    if end - at < 8 {
        return Err(DropReason::Malformed);
    }
    let header = slot.window::<8>(at);
    let flags = header[0];
    if flags & 0xf0 != 0x30 {
        return Err(DropReason::Malformed);
    }
    if header[1] != 255 {
        return Err(DropReason::NotTunnel);
    }
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let teid = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let mut at = at + 8;
    if length > end - at {
        return Err(DropReason::Malformed);
    }
    let end = at + length;
    if flags & 7 != 0 {
        if end - at < 4 {
            return Err(DropReason::Malformed);
        }
        let mut next = if flags & 4 != 0 { slot.byte(at + 3) } else { 0 };
        at += 4;
        // Each header takes at least four bytes, so the loop ends within the frame.
        while next != 0 {
            if at >= end {
                return Err(DropReason::Malformed);
            }
            let octets = usize::from(slot.byte(at)) * 4;
            if (octets == 0) | (octets > end - at) {
                return Err(DropReason::Malformed);
            }
            at += octets;
            next = slot.byte(at - 1);
        }
    }
    Ok((teid, at, end))
}

#[inline(always)]
fn vxlan(slot: &Slot, meta: &mut Meta, at: usize, end: usize, ipv6: bool) -> Result<(), DropReason> {
    if end - at < 8 {
        return Err(DropReason::Malformed);
    }
    if slot.byte(at) & 8 == 0 {
        return Err(DropReason::NotTunnel);
    }
    let key = slot.u32(at + 4) >> 8;
    let start = at + 8;
    if end - start < ETHERNET {
        return Err(DropReason::Malformed);
    }
    let ether_type = slot.u16(start + 12);
    let six = ether_type == EtherType::IPV6.0;
    if (ether_type != EtherType::IPV4.0) & !(ipv6 & six) {
        return Err(DropReason::NotIp);
    }
    packet(slot, meta, start + ETHERNET, end, six)?;
    (meta.start, meta.end, meta.key) = (start as u32, end as u32, key);
    Ok(())
}

/// Returns the key and the protocol of a GRE packet, and the beginning and end of its payload (RFC 2784, RFC 2890).
#[inline(always)]
fn gre(slot: &Slot, at: usize, end: usize, ipv6: bool) -> Result<(u32, u16, usize, usize), DropReason> {
    if end - at < 4 {
        return Err(DropReason::Malformed);
    }
    let flags = slot.u16(at);
    // The mask contains the version and the bits with which RFC 2784 §2.3 requires a receiver to discard the packet.
    if flags & 0x4c07 != 0 {
        return Err(DropReason::Malformed);
    }
    let word = |flag: u16| if flags & flag != 0 { 4 } else { 0 };
    let key_at = at + 4 + word(0x8000);
    let inner = key_at + word(0x2000) + word(0x1000);
    if inner > end {
        return Err(DropReason::Malformed);
    }
    let protocol = slot.u16(at + 2);
    let known = (protocol == EtherType::IPV4.0) | (ipv6 & (protocol == EtherType::IPV6.0));
    if !known | (flags & 0x2000 == 0) {
        return Err(DropReason::NotTunnel);
    }
    Ok((slot.u32(key_at), protocol, inner, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;

    /// Covers every carry of the sum, in comparison with the simple computation.
    #[test]
    fn checksum_of_words_equals_checksum_of_halfwords() {
        let mut random = Random::stream(6, 0);
        let mut sound = 0;
        for round in 0..200_000_u32 {
            let mut header = [0; 20];
            for octet in &mut header {
                // The words have many one bits, so that carries propagate far.
                let noise = random.next();
                *octet = if noise & 0x300 == 0 { noise as u8 } else { 0xff };
            }
            header[0] = 0x45;
            if round % 2 == 0 {
                header[10..12].fill(0);
                let field = checksum::checksum(&header).to_be_bytes();
                header[10..12].copy_from_slice(&field);
            }
            let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
            let found = adds_up(word(0), word(8), (word(12) >> 32) as u32);
            assert_eq!(found, checksum::verifies(&header), "{header:x?}");
            sound += u32::from(found);
        }
        assert!(sound >= 100_000);
    }
}
