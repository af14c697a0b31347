//! The loops that translate addresses and ports of both IP versions.
use super::acl::Packet;
use super::burst::{Bits, Burst, Meta, Slot};
use super::exact::{Key6, Translations, Translations6};
use super::headers::{nat_key, nat_side, rewrite, rewrite6};
use super::hot::Loop;
use super::loops::{PacketStep, Step, each};
use super::parse;
use super::plan::Side;
use crate::declare::DropReason;

pub(super) struct Translate<'a> {
    pub(super) ipv4: &'a Translations,
    pub(super) ipv6: &'a Translations6,
    pub(super) side: Side,
}

/// Returns the key of a packet's translation, and the address and port that will change.
#[inline(always)]
fn side_key(packet: &Packet, side: Side) -> (u64, u32, u16) {
    let (address, port) = match side {
        Side::Source => (packet.src, packet.ports >> 16),
        Side::Destination => (packet.dst, packet.ports & 0xffff),
    };
    (nat_key(address, packet.protocol as u8, port as u16), address, port as u16)
}

impl Loop for Translate<'_> {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        let Self { ipv4, ipv6, side } = self;
        let mut six = 0;
        for i in Bits(live) {
            six |= u64::from(burst.meta[i].ipv6) << i;
            ipv4.prepare(side_key(&parse::five_tuple(&burst.slots[i], &burst.meta[i]).0, side).0);
        }
        let passed = each(burst, live & !six, Translate4 { table: ipv4, side });
        if six == 0 { passed } else { passed | translate6(ipv6, burst, six, side) }
    }
}

struct Translate4<'a> {
    table: &'a Translations,
    side: Side,
}

impl PacketStep for Translate4<'_> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        let (packet, transport) = parse::five_tuple(slot, meta);
        let (key, address, port) = side_key(&packet, self.side);
        if port == 0 {
            return Err(DropReason::Miss);
        }
        let value = self.table.lookup(key).ok_or(DropReason::Miss)?;
        let udp = packet.protocol == 17;
        rewrite(slot, meta, transport, self.side, udp, (address, port), nat_side(value));
        Ok(())
    }
}

/// Returns the key of an IPv6 packet's translation, and the port that will change.
fn side_key6(packet: &Packet<u128>, side: Side) -> (Key6, u16) {
    let (address, port) = match side {
        Side::Source => (packet.src, packet.ports >> 16),
        Side::Destination => (packet.dst, packet.ports & 0xffff),
    };
    (Key6 { address, rest: packet.protocol << 16 | port }, port as u16)
}

/// Translates IPv6 packets. The function is separate from IPv4, so that packets of one version do not need stack memory
/// for the other version.
#[inline(never)]
fn translate6(table: &Translations6, burst: &mut Burst, live: u64, side: Side) -> u64 {
    for i in Bits(live) {
        table.prepare(side_key6(&parse::five_tuple6(&burst.slots[i], &burst.meta[i]), side).0);
    }
    each(burst, live, Translate6 { table, side })
}

struct Translate6<'a> {
    table: &'a Translations6,
    side: Side,
}

impl PacketStep for Translate6<'_> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        let packet = parse::five_tuple6(slot, meta);
        let (key, port) = side_key6(&packet, self.side);
        if port == 0 {
            return Err(DropReason::Miss);
        }
        let new = self.table.lookup(key).ok_or(DropReason::Miss)?;
        let udp = packet.protocol == 17;
        rewrite6(slot, meta, self.side, udp, (key.address, port), (new.address, new.port as u16));
        Ok(())
    }
}
