//! Rewrites headers: decrements the hop count, or replaces address and port, and updates the checksums.
use super::burst::{Meta, Slot};
use super::plan::Side;
use crate::declare::DropReason;
use ranlab_packet::checksum;

/// Offset of the IP header. Frames have no VLAN tags, so everything that routing reads and writes is in one window.
pub(super) const IP: usize = 14;
/// Length of an IPv6 header, in bytes.
const IPV6: usize = 40;

/// Decrements the TTL or hop limit.
#[inline(always)]
pub(super) fn spend_hop(slot: &mut Slot, meta: &Meta) -> Result<(), DropReason> {
    if meta.ipv6 {
        let [hops] = slot.window_mut::<1>((meta.start as usize) + IP + 7);
        if *hops <= 1 {
            return Err(DropReason::HopLimit);
        }
        *hops -= 1;
        return Ok(());
    }
    let frame = slot.window_mut::<34>(meta.start as usize);
    // The bytes are read and written as one word. The compiler would otherwise assemble the word from single bytes.
    let Some(field) = frame[IP + 8..].first_chunk_mut::<4>() else { return Err(DropReason::Malformed) };
    let word = u32::from_le_bytes(*field);
    if word & 0xff <= 1 {
        return Err(DropReason::HopLimit);
    }
    *field = fewer_hops(word).to_le_bytes();
    Ok(())
}

/// Returns TTL, protocol and checksum of an IPv4 header as a little-endian word, after a decrement of the TTL. The TTL
/// must be at least one.
///
/// The checksum grows by 0x0100 with end-around carry (RFC 1624 equation 3). In this byte order the checksum is the
/// upper half of the word, and grows by one. Two values would overflow or become 0xffff; these grow by one more.
#[inline(always)]
const fn fewer_hops(word: u32) -> u32 {
    let carry = if word >= 0xfffe_0000 { 0x1_0000 } else { 0 };
    word.wrapping_add(0xffff + carry)
}

/// Writes another address and port, and updates both checksums (RFC 1624 equation 3 for several words at once).
#[inline(always)]
pub(super) fn rewrite(
    slot: &mut Slot,
    meta: &Meta,
    transport: usize,
    side: Side,
    udp: bool,
    (old, old_port): (u32, u16),
    (new, new_port): (u32, u16),
) {
    let l3 = meta.l3 as usize;
    let (address_at, port_at) = match side {
        Side::Source => (12, 0),
        Side::Destination => (16, 2),
    };
    let halves = |word: u32| (word >> 16) + (word & 0xffff);
    let delta = halves(!old) + halves(new);
    let header = slot.window_mut::<20>(l3);
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + delta;
    header[10..12].copy_from_slice(&(!checksum::fold(sum)).to_be_bytes());
    header[address_at..address_at + 4].copy_from_slice(&new.to_be_bytes());
    *slot.window_mut(transport + port_at) = new_port.to_be_bytes();
    let field = slot.window_mut::<2>(transport + if udp { 6 } else { 16 });
    let old_sum = u16::from_be_bytes(*field);
    if udp && old_sum == 0 {
        return;
    }
    let sum = !checksum::fold(u32::from(!old_sum) + delta + u32::from(!old_port) + u32::from(new_port));
    *field = if udp && sum == 0 { [0xff; 2] } else { sum.to_be_bytes() };
}

/// Writes another address and port into an IPv6 packet whose transport header follows the fixed header. Updates the
/// transport checksum; IPv6 has no header checksum. See [`rewrite`].
pub(super) fn rewrite6(
    slot: &mut Slot,
    meta: &Meta,
    side: Side,
    udp: bool,
    (old, old_port): (u128, u16),
    (new, new_port): (u128, u16),
) {
    let transport = (meta.l3 as usize) + IPV6;
    let (address_at, port_at) = match side {
        Side::Source => (8, 0),
        Side::Destination => (24, 2),
    };
    *slot.window_mut((meta.l3 as usize) + address_at) = new.to_be_bytes();
    *slot.window_mut(transport + port_at) = new_port.to_be_bytes();
    let field = slot.window_mut::<2>(transport + if udp { 6 } else { 16 });
    let old_sum = u16::from_be_bytes(*field);
    if udp && old_sum == 0 {
        return;
    }
    let halves = |address: u128| (0..8).map(|i| u32::from((address >> (16 * i)) as u16)).sum::<u32>();
    let addresses = halves(!old) + halves(new);
    let sum = !checksum::fold(u32::from(!old_sum) + addresses + u32::from(!old_port) + u32::from(new_port));
    *field = if udp && sum == 0 { [0xff; 2] } else { sum.to_be_bytes() };
}

/// Returns address, protocol and port combined in one word.
#[inline(always)]
pub(super) fn nat_key(address: u32, protocol: u8, port: u16) -> u64 {
    u64::from(address) << 24 | u64::from(protocol) << 16 | u64::from(port)
}

/// Returns address and port combined in one word.
pub(super) fn nat_value(address: u32, port: u16) -> u64 {
    u64::from(address) << 16 | u64::from(port)
}

#[inline(always)]
pub(super) fn nat_side(value: u64) -> (u32, u16) {
    ((value >> 16) as u32, value as u16)
}

#[cfg(test)]
mod tests {
    use super::super::burst::Burst;
    use super::super::parse::{self, MacFilter};
    use super::*;
    use crate::declare::{Nat, Port};
    use crate::reference;
    use crate::trace::frames::{Packet, TESTER_MAC};
    use ranlab_machine::Random;
    use ranlab_packet::Protocol;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    /// Covers both protocols, IP versions and sides, with wrong and absent checksums.
    #[test]
    fn translated_packet_equals_reference() {
        let mut random = Random::stream(8, 0);
        let rounds = if cfg!(miri) { 100 } else { 20_000 };
        for _ in 0..rounds {
            let protocol = if random.below(2) == 0 { Protocol::TCP } else { Protocol::UDP };
            let wide = |random: &mut Random| u128::from(random.next()) << 64 | u128::from(random.next());
            let src = wide(&mut random);
            let dst = wide(&mut random);
            let to = wide(&mut random);
            let six = random.below(2) == 0;
            let ports = (random.next() as u16, random.next() as u16);
            let port = random.next() as u16;
            let of = |bits: u128| -> IpAddr {
                if six { Ipv6Addr::from_bits(bits).into() } else { Ipv4Addr::from_bits(bits as u32).into() }
            };
            let packet = Packet::new(protocol, (of(src), ports.0), (of(dst), ports.1));
            let address = of(to);
            let mut frame = packet.frame(TESTER_MAC, 90);
            let sum_at = 14 + if six { 40 } else { 20 } + if protocol == Protocol::UDP { 6 } else { 16 };
            match random.below(4) {
                0 => frame[sum_at..sum_at + 2].fill(0),
                1 => frame[sum_at] ^= 0x55,
                _ => {}
            }
            let mut burst = Burst::new();
            burst.push(Port::Access, &frame).unwrap();
            let slot = &mut burst.slots[0];
            let meta = &mut burst.meta[0];
            parse::admit(slot, meta, MacFilter::ANY, true).unwrap();
            let side = if random.below(2) == 0 { Side::Source } else { Side::Destination };
            let as_reference =
                if side == Side::Source { reference::Side::Source } else { reference::Side::Destination };
            let Ok(key) = reference::nat_key(&frame, as_reference) else { continue };
            reference::translate(&mut frame, as_reference, Nat { address, port }).unwrap();
            let udp = protocol == Protocol::UDP;
            let transport = (meta.l3 as usize) + 20;
            match (key.address, address) {
                (IpAddr::V4(old), IpAddr::V4(new)) => {
                    let old = (old.to_bits(), key.port);
                    let new = (new.to_bits(), port);
                    rewrite(slot, meta, transport, side, udp, old, new);
                }
                (IpAddr::V6(old), IpAddr::V6(new)) => {
                    rewrite6(slot, meta, side, udp, (old.to_bits(), key.port), (new.to_bits(), port));
                }
                _ => unreachable!("both have the packet's version"),
            }
            assert_eq!(burst.frame(0), frame);
        }
    }

    /// Covers every checksum, with the smallest and the largest TTL values.
    #[test]
    fn decremented_ttl_updates_checksum() {
        for field in 0..=u16::MAX {
            for hops in [1_u8, 2, 64, 255] {
                let [high, low] = field.to_be_bytes();
                let [hops_after, protocol, high, low] =
                    fewer_hops(u32::from_le_bytes([hops, 17, high, low])).to_le_bytes();
                let word = |hops: u8| u16::from_be_bytes([hops, 17]);
                let expected = checksum::update(field, word(hops), word(hops - 1));
                assert_eq!((hops_after, protocol), (hops - 1, 17));
                assert_eq!(u16::from_be_bytes([high, low]), expected, "{field:04x} {hops}");
            }
        }
    }
}
