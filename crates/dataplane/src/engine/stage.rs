//! Stages: each takes all packets of a burst that are still on their way, and says which of them go on.
use super::burst::{Bits, Burst, Meta, Slot};
use super::compile::Compiled;
use super::hot::prefetch;
use super::parse::{self, MacFilter};
use crate::declare::{DropReason, Encapsulation, Port};
use ranlab_wire::packet::checksum;

/// An element as the engine runs it; numbers are places in [`Compiled`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    Admit { mac: MacFilter, ipv6: bool },
    Bridge(usize),
    FindUserByMac(usize),
    Decap { kind: Encapsulation, local: u32 },
    FindUser { table: usize, by: By },
    Meter,
    Acl(usize),
    Nat { table: usize, side: Side },
    Route(usize),
    Forward,
    Deliver,
    Encap,
    Emit { port: Port, source: Option<[u8; 6]> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    TunnelKey,
    Source,
    Destination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Destination,
}

type Step = Result<(), DropReason>;

impl Stage {
    /// Runs the stage over the packets in `live`.
    #[inline(always)]
    pub(super) fn run(
        self,
        c: &mut Compiled,
        burst: &mut Burst,
        live: u64,
        ingress: usize,
        now_ns: u64,
    ) -> u64 {
        match self {
            Self::Admit { mac, ipv6 } => {
                each(burst, live, |slot, meta, _| parse::admit(slot, meta, mac, ipv6))
            }
            Self::Decap { kind: Encapsulation::Gtp { qfi }, local } => {
                // Spelled out for each kind: the loop is compiled three times, without the choice inside.
                let kind = Encapsulation::Gtp { qfi };
                each(burst, live, |slot, meta, _| parse::decap(slot, meta, kind, local))
            }
            Self::Decap { kind: Encapsulation::Vxlan, local } => {
                each(burst, live, |slot, meta, _| parse::decap(slot, meta, Encapsulation::Vxlan, local))
            }
            Self::Decap { kind: Encapsulation::Gre, local } => {
                each(burst, live, |slot, meta, _| parse::decap(slot, meta, Encapsulation::Gre, local))
            }
            Self::Bridge(table) => by_mac(c, burst, live, table, |meta, value| meta.next_hop = value),
            Self::FindUserByMac(table) => by_mac(c, burst, live, table, |meta, value| meta.user = value),
            Self::FindUser { table, by } => find_user(c, burst, live, table, by),
            Self::Meter => each(burst, live, |_, meta, _| {
                let user = c.users.get_mut(meta.user as usize).ok_or(DropReason::Miss)?;
                if user.charge(now_ns, meta.total, ingress) { Ok(()) } else { Err(DropReason::Metered) }
            }),
            Self::Acl(table) => classify(c, burst, live, table),
            Self::Nat { table, side } => translate(c, burst, live, table, side),
            Self::Route(table) => {
                prepare_route(c, burst, live, table);
                each(burst, live, |slot, meta, _| {
                    meta.next_hop = route(c, slot, meta, table)?;
                    Ok(())
                })
            }
            Self::Forward => deliver(burst, live, |slot, meta| {
                let next_hop = meta.next_hop;
                spend_hop(slot, meta)?;
                c.deliver(slot, meta.start.into(), next_hop)
            }),
            Self::Deliver => {
                deliver(burst, live, |slot, meta| c.deliver(slot, meta.start.into(), meta.next_hop))
            }
            Self::Encap => encap(c, burst, live),
            Self::Emit { port, source } => deliver(burst, live, |slot, meta| {
                if let Some(source) = source {
                    if meta.end - meta.start < 14 {
                        return Err(DropReason::Malformed);
                    }
                    *slot.window_mut(usize::from(meta.start) + 6) = source;
                }
                Ok(port)
            }),
        }
    }
}

/// Applies `step` to each packet; those that it refuses do not go on.
#[inline(always)]
fn each(burst: &mut Burst, live: u64, mut step: impl FnMut(&mut Slot, &mut Meta, usize) -> Step) -> u64 {
    let mut passed = live;
    for i in Bits(live) {
        if let Err(reason) = step(&mut burst.slots[i], &mut burst.meta[i], i) {
            burst.fail(i, reason);
            passed &= !(1 << i);
        }
    }
    passed
}

/// As [`each`], where a packet that is not refused leaves.
#[inline(always)]
fn deliver(
    burst: &mut Burst,
    live: u64,
    mut step: impl FnMut(&mut Slot, &mut Meta) -> Result<Port, DropReason>,
) -> u64 {
    let mut sent = [0_u64; 2];
    for i in Bits(live) {
        match step(&mut burst.slots[i], &mut burst.meta[i]) {
            Ok(port) => sent[port as usize] |= 1 << i,
            Err(reason) => burst.fail(i, reason),
        }
    }
    burst.sent[0] |= sent[0];
    burst.sent[1] |= sent[1];
    0
}

#[inline(always)]
fn by_mac(c: &Compiled, burst: &mut Burst, live: u64, table: usize, set: impl Fn(&mut Meta, u32)) -> u64 {
    let Some(table) = c.macs.get(table) else { return 0 };
    let key = |slot: &Slot, meta: &Meta| {
        let [a, b, d, e, f, g] = *slot.window::<6>(meta.start.into());
        u64::from_be_bytes([0, 0, a, b, d, e, f, g])
    };
    for i in Bits(live) {
        table.prepare(key(&burst.slots[i], &burst.meta[i]));
    }
    each(burst, live, |slot, meta, _| {
        if meta.end - meta.start < 14 {
            return Err(DropReason::Malformed);
        }
        set(meta, table.lookup(key(slot, meta)).ok_or(DropReason::Miss)?);
        Ok(())
    })
}

#[inline(always)]
fn find_user(c: &Compiled, burst: &mut Burst, live: u64, table: usize, by: By) -> u64 {
    let Some(table) = c.narrow.get(table) else { return 0 };
    let key = |slot: &Slot, meta: &Meta| match by {
        By::TunnelKey => meta.key,
        By::Source => slot.u32(usize::from(meta.l3) + 12),
        By::Destination => slot.u32(usize::from(meta.l3) + 16),
    };
    for i in Bits(live) {
        table.prepare(key(&burst.slots[i], &burst.meta[i]));
    }
    each(burst, live, |slot, meta, _| {
        let user = table.lookup(key(slot, meta)).ok_or(DropReason::Miss)?;
        meta.user = user;
        if let Some(line) = c.users.get(user as usize) {
            prefetch(line);
        }
        Ok(())
    })
}

#[inline(always)]
fn classify(c: &Compiled, burst: &mut Burst, live: u64, table: usize) -> u64 {
    let Some(acl) = c.acls.get(table) else { return 0 };
    for i in Bits(live) {
        acl.prepare(&parse::five_tuple(&burst.slots[i], &burst.meta[i]).0);
    }
    each(burst, live, |slot, meta, _| {
        let (packet, _) = parse::five_tuple(slot, meta);
        if acl.denies(&packet) { Err(DropReason::Denied) } else { Ok(()) }
    })
}

#[inline(always)]
fn prepare_route(c: &Compiled, burst: &Burst, live: u64, table: usize) {
    if let Some((ipv4, _)) = c.routes.get(table) {
        for i in Bits(live) {
            ipv4.prepare(burst.slots[i].u32(usize::from(burst.meta[i].l3) + 16));
        }
    }
}

#[inline(always)]
fn route(c: &Compiled, slot: &Slot, meta: &Meta, table: usize) -> Result<u32, DropReason> {
    let (ipv4, ipv6) = c.routes.get(table).ok_or(DropReason::Miss)?;
    let l3 = usize::from(meta.l3);
    let found = if meta.ipv6 {
        ipv6.lookup(u128::from_be_bytes(*slot.window(l3 + 24)))
    } else {
        ipv4.lookup(slot.u32(l3 + 16))
    };
    found.ok_or(DropReason::Miss)
}

#[inline(always)]
fn spend_hop(slot: &mut Slot, meta: &Meta) -> Step {
    let l3 = usize::from(meta.l3);
    if meta.ipv6 {
        let [hops] = slot.window_mut::<1>(l3 + 7);
        if *hops <= 1 {
            return Err(DropReason::HopLimit);
        }
        *hops -= 1;
        return Ok(());
    }
    let header = slot.window_mut::<12>(l3);
    if header[8] <= 1 {
        return Err(DropReason::HopLimit);
    }
    header[8] -= 1;
    // RFC 1624 equation 3 for a word that lost 0x0100.
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + 0xfeff;
    let sum = !checksum::fold(sum);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

#[inline(always)]
fn encap(c: &Compiled, burst: &mut Burst, live: u64) -> u64 {
    for i in Bits(live) {
        let tunnel =
            c.users.get(burst.meta[i].user as usize).and_then(|user| c.tunnels.get(user.tunnel as usize));
        if let Some(template) = tunnel {
            prefetch(template);
        }
    }
    deliver(burst, live, |slot, meta| {
        let user = c.users.get(meta.user as usize).ok_or(DropReason::Miss)?;
        let template = c.tunnels.get(user.tunnel as usize).ok_or(DropReason::Miss)?;
        template.wrap(slot, meta, user.tunnel_key);
        Ok(template.port)
    })
}

#[inline(always)]
fn translate(c: &Compiled, burst: &mut Burst, live: u64, table: usize, side: Side) -> u64 {
    let Some(table) = c.nats.get(table) else { return 0 };
    let key = |packet: &super::acl::Packet| {
        let (address, port) = match side {
            Side::Source => (packet.src, packet.ports >> 16),
            Side::Destination => (packet.dst, packet.ports & 0xffff),
        };
        (nat_key(address, packet.protocol as u8, port as u16), address, port as u16)
    };
    for i in Bits(live) {
        table.prepare(key(&parse::five_tuple(&burst.slots[i], &burst.meta[i]).0).0);
    }
    each(burst, live, |slot, meta, _| {
        let (packet, transport) = parse::five_tuple(slot, meta);
        let (key, address, port) = key(&packet);
        if port == 0 {
            return Err(DropReason::Miss);
        }
        let value = table.lookup(key).ok_or(DropReason::Miss)?;
        rewrite(slot, meta, transport, side, packet.protocol == 17, (address, port), nat_side(value));
        Ok(())
    })
}

/// Writes the other address and port; both checksums follow (RFC 1624 equation 3 for several words at once).
#[inline(always)]
fn rewrite(
    slot: &mut Slot,
    meta: &Meta,
    transport: usize,
    side: Side,
    udp: bool,
    (old, old_port): (u32, u16),
    (new, new_port): (u32, u16),
) {
    let l3 = usize::from(meta.l3);
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

/// Address, protocol and port in one word.
#[inline(always)]
pub(super) fn nat_key(address: u32, protocol: u8, port: u16) -> u64 {
    u64::from(address) << 24 | u64::from(protocol) << 16 | u64::from(port)
}

/// Address and port in one word.
pub(super) fn nat_value(address: u32, port: u16) -> u64 {
    u64::from(address) << 16 | u64::from(port)
}

#[inline(always)]
fn nat_side(value: u64) -> (u32, u16) {
    ((value >> 16) as u32, value as u16)
}
