//! The loops that look up MAC addresses.
use super::burst::{Bits, Burst, Meta, Slot};
use super::exact::Macs;
use super::loops::{PacketStep, Step};
use crate::declare::DropReason;

/// Returns the destination MAC of a frame as a lookup key.
#[inline(always)]
fn mac_key(slot: &Slot, meta: &Meta) -> u64 {
    let [a, b, c, d, e, f] = *slot.window::<6>(meta.start as usize);
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

#[inline(always)]
fn prepare_mac(table: &Macs, burst: &Burst, live: u64) {
    for i in Bits(live) {
        table.prepare(mac_key(&burst.slots[i], &burst.meta[i]));
    }
}

#[inline(always)]
fn by_mac(table: &Macs, slot: &Slot, meta: &Meta) -> Result<u32, DropReason> {
    if meta.end - meta.start < 14 {
        return Err(DropReason::Malformed);
    }
    table.lookup(mac_key(slot, meta)).ok_or(DropReason::Miss)
}

pub(super) struct Bridge<'a> {
    pub(super) table: &'a Macs,
}

impl PacketStep for Bridge<'_> {
    #[inline(always)]
    fn prepare(&self, burst: &Burst, live: u64) {
        prepare_mac(self.table, burst, live);
    }

    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        meta.next_hop = by_mac(self.table, slot, meta)?;
        Ok(())
    }
}

pub(super) struct FindUserByMac<'a> {
    pub(super) table: &'a Macs,
}

impl PacketStep for FindUserByMac<'_> {
    #[inline(always)]
    fn prepare(&self, burst: &Burst, live: u64) {
        prepare_mac(self.table, burst, live);
    }

    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        meta.user = by_mac(self.table, slot, meta)?;
        Ok(())
    }
}
