//! The loops over a burst. Each is compiled on its own, for every instruction set: a loop that shares a function with
//! all others has no registers left. Closures are written where they are used once, so that they vanish.
use super::acl::{Acl, Packet};
use super::burst::{BURST, Bits, Burst, Meta, Slot};
use super::compile::{Compiled, Rewrite};
use super::exact::{Macs, Narrow};
use super::headers::{IP, spend_hop};
use super::hot::{Loop, prefetch};
use super::lpm4::{Find4, Form4, Lpm4, Tables as Tables4};
use super::lpm6::Lpm6;
use super::parse::{self, MacFilter};
use super::plan::{Ahead, By};
use super::template::Template;
use super::users::UserLine;
use crate::declare::{DropReason, Encapsulation, Port};

type Step = Result<(), DropReason>;

/// Fetches what the next stage will read.
pub(super) trait Look: Copy {
    fn look(self, slot: &Slot, meta: &Meta);
}

#[derive(Clone, Copy)]
pub(super) struct NoLook;
#[derive(Clone, Copy)]
pub(super) struct LookRoute<'a>(pub(super) &'a Tables4);
#[derive(Clone, Copy)]
pub(super) struct LookUser<'a> {
    table: Users<'a>,
    by: By,
}

/// Users by IPv4 address or tunnel key, and by the upper half of an IPv6 address.
#[derive(Clone, Copy)]
pub(super) struct Users<'a> {
    narrow: &'a Narrow,
    prefixes: &'a Macs,
}

/// Both halves of an exact table.
pub(super) fn users_table(c: &Compiled, table: usize) -> Option<Users<'_>> {
    Some(Users { narrow: c.narrow.get(table)?, prefixes: c.macs.get(table)? })
}

impl Users<'_> {
    #[inline(always)]
    fn prepare(self, slot: &Slot, meta: &Meta, by: By) {
        if is_prefix(meta, by) {
            self.prefixes.prepare(prefix(slot, meta, by));
        } else {
            self.narrow.prepare(user_key(slot, meta, by));
        }
    }

    #[inline(always)]
    fn lookup(self, slot: &Slot, meta: &Meta, by: By) -> Option<u32> {
        if is_prefix(meta, by) {
            self.prefixes.lookup(prefix(slot, meta, by))
        } else {
            self.narrow.lookup(user_key(slot, meta, by))
        }
    }
}

#[inline(always)]
fn is_prefix(meta: &Meta, by: By) -> bool {
    meta.ipv6 & (by != By::TunnelKey)
}

#[inline(always)]
fn prefix(slot: &Slot, meta: &Meta, by: By) -> u64 {
    let at = if by == By::Source { 8 } else { 24 };
    u64::from_be_bytes(*slot.window(usize::from(meta.l3) + at))
}

impl Look for NoLook {
    #[inline(always)]
    fn look(self, _: &Slot, _: &Meta) {}
}

impl Look for LookRoute<'_> {
    #[inline(always)]
    fn look(self, slot: &Slot, meta: &Meta) {
        self.0.prepare(destination4(slot.window(meta.start.into())));
    }
}

impl Look for LookUser<'_> {
    #[inline(always)]
    fn look(self, slot: &Slot, meta: &Meta) {
        self.table.prepare(slot, meta, self.by);
    }
}

/// The table to look ahead into: routes or users.
pub(super) fn look(c: &Compiled, ahead: Ahead) -> (Option<&Tables4>, Option<LookUser<'_>>) {
    match ahead {
        // A few routes need no fetching.
        Ahead::Route(table) => (c.routes.get(table).and_then(|(ipv4, _)| ipv4.tables()), None),
        Ahead::User { table, by } => (None, users_table(c, table).map(|table| LookUser { table, by })),
        Ahead::Nothing | Ahead::Tunnel => (None, None),
    }
}

/// Applies `step` to each packet; those that it refuses do not go on.
#[inline(always)]
pub(super) fn each(
    burst: &mut Burst,
    live: u64,
    mut step: impl FnMut(&mut Slot, &mut Meta, usize) -> Step,
) -> u64 {
    let Burst { slots, meta, dropped, .. } = burst;
    let mut passed = live;
    for i in Bits(live) {
        if let Err(reason) = step(&mut slots[i], &mut meta[i], i) {
            dropped[i] = reason;
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
    let Burst { slots, meta, dropped, sent, .. } = burst;
    // Of all that leave, those by the core port.
    let (mut left, mut core) = (live, 0_u64);
    for i in Bits(live) {
        match step(&mut slots[i], &mut meta[i]) {
            Ok(port) => core |= (port as u64) << i,
            Err(reason) => {
                dropped[i] = reason;
                left &= !(1 << i);
            }
        }
    }
    sent[0] |= left & !core;
    sent[1] |= core;
    0
}

pub(super) struct Admit<A> {
    pub(super) mac: MacFilter,
    pub(super) ipv6: bool,
    pub(super) ahead: A,
}

impl<A: Look> Loop for Admit<A> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        each(burst, live, |slot, meta, _| {
            parse::admit(slot, meta, self.mac, self.ipv6)?;
            self.ahead.look(slot, meta);
            Ok(())
        })
    }
}

/// Kinds of tunnels as numbers that a type can have.
pub(super) const GTP: u8 = 0;
pub(super) const VXLAN: u8 = 1;
pub(super) const GRE: u8 = 2;

pub(super) struct Decap<const KIND: u8, A> {
    pub(super) local: u32,
    pub(super) ipv6: bool,
    pub(super) ahead: A,
}

impl<const KIND: u8, A: Look> Decap<KIND, A> {
    #[inline(always)]
    fn step(&self, slot: &mut Slot, meta: &mut Meta) -> Step {
        let kind = match KIND {
            GTP => Encapsulation::Gtp { qfi: 0 },
            VXLAN => Encapsulation::Vxlan,
            _ => Encapsulation::Gre,
        };
        parse::decap(slot, meta, kind, (self.local, self.ipv6))?;
        self.ahead.look(slot, meta);
        Ok(())
    }
}

impl<const KIND: u8, A: Look> Loop for Decap<KIND, A> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        each(burst, live, |slot, meta, _| self.step(slot, meta))
    }
}

pub(super) struct AdmitDecap<const KIND: u8, A> {
    pub(super) admit: Admit<NoLook>,
    pub(super) decap: Decap<KIND, A>,
}

impl<const KIND: u8, A: Look> Loop for AdmitDecap<KIND, A> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        each(burst, live, |slot, meta, _| {
            // Of a packet that is refused nothing is kept: it leaves as it came, if it leaves.
            let mut own = *meta;
            parse::admit(slot, &mut own, self.admit.mac, self.admit.ipv6)?;
            self.decap.step(slot, &mut own)?;
            *meta = own;
            Ok(())
        })
    }
}

/// The destination MAC as a key.
#[inline(always)]
fn mac_key(slot: &Slot, meta: &Meta) -> u64 {
    let [a, b, c, d, e, f] = *slot.window::<6>(meta.start.into());
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

#[inline(always)]
fn by_mac(table: &Macs, burst: &mut Burst, live: u64, set: impl Fn(&mut Meta, u32)) -> u64 {
    for i in Bits(live) {
        table.prepare(mac_key(&burst.slots[i], &burst.meta[i]));
    }
    each(burst, live, |slot, meta, _| {
        if meta.end - meta.start < 14 {
            return Err(DropReason::Malformed);
        }
        set(meta, table.lookup(mac_key(slot, meta)).ok_or(DropReason::Miss)?);
        Ok(())
    })
}

pub(super) struct Bridge<'a> {
    pub(super) table: &'a Macs,
}

impl Loop for Bridge<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        by_mac(self.table, burst, live, |meta, value| meta.next_hop = value)
    }
}

pub(super) struct FindUserByMac<'a> {
    pub(super) table: &'a Macs,
}

impl Loop for FindUserByMac<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        by_mac(self.table, burst, live, |meta, value| meta.user = value)
    }
}

#[inline(always)]
fn user_key(slot: &Slot, meta: &Meta, by: By) -> u32 {
    match by {
        By::TunnelKey => meta.key,
        By::Source => slot.u32(usize::from(meta.l3) + 12),
        By::Destination => slot.u32(usize::from(meta.l3) + 16),
    }
}

pub(super) struct FindUser<'a, A> {
    pub(super) table: Users<'a>,
    pub(super) users: &'a [UserLine],
    pub(super) by: By,
    pub(super) fetched: bool,
    pub(super) ahead: A,
}

impl<A: Look> Loop for FindUser<'_, A> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        for i in Bits(if self.fetched { 0 } else { live }) {
            self.table.prepare(&burst.slots[i], &burst.meta[i], self.by);
        }
        each(burst, live, |slot, meta, _| {
            let user = self.table.lookup(slot, meta, self.by).ok_or(DropReason::Miss)?;
            meta.user = user;
            if let Some(line) = self.users.get(user as usize) {
                prefetch(line);
            }
            self.ahead.look(slot, meta);
            Ok(())
        })
    }
}

pub(super) struct Meter<'a> {
    pub(super) users: &'a mut [UserLine],
    /// To look ahead into; none if the next stage needs none.
    pub(super) tunnels: &'a [Template],
    pub(super) ingress: usize,
    pub(super) now_ns: u64,
}

impl Loop for Meter<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        each(burst, live, |_, meta, _| {
            let user = self.users.get_mut(meta.user as usize).ok_or(DropReason::Miss)?;
            if let Some(template) = self.tunnels.get(user.tunnel as usize) {
                prefetch(template);
            }
            if user.charge(self.now_ns, meta.total, self.ingress) { Ok(()) } else { Err(DropReason::Metered) }
        })
    }
}

pub(super) struct Classify<'a> {
    pub(super) ipv4: &'a Acl,
    pub(super) ipv6: &'a Acl<u128>,
}

impl Loop for Classify<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        let mut packets = [Packet::default(); BURST];
        let mut six = 0;
        for i in Bits(live) {
            packets[i] = parse::five_tuple(&burst.slots[i], &burst.meta[i]).0;
            six |= u64::from(burst.meta[i].ipv6) << i;
        }
        let mut denied = self.ipv4.denied(&packets, live & !six);
        if six != 0 {
            denied |= classify6(self.ipv6, burst, six);
        }
        for i in Bits(denied) {
            burst.fail(i, DropReason::Denied);
        }
        live & !denied
    }
}

/// Apart from IPv4, so that the packets of one version do not make room for those of the other.
#[inline(never)]
fn classify6(acl: &Acl<u128>, burst: &Burst, live: u64) -> u64 {
    let mut packets = [Packet::default(); BURST];
    for i in Bits(live) {
        packets[i] = parse::five_tuple6(&burst.slots[i], &burst.meta[i]);
    }
    acl.denied(&packets, live)
}

/// The IPv4 destination of a frame.
#[inline(always)]
fn destination4(frame: &[u8; 34]) -> u32 {
    let [.., a, b, c, d] = *frame;
    u32::from_be_bytes([a, b, c, d])
}

#[inline(always)]
fn prepare_route(ipv4: &Lpm4, burst: &Burst, live: u64) {
    let Some(tables) = ipv4.tables() else { return };
    for i in Bits(live) {
        tables.prepare(destination4(burst.slots[i].window(burst.meta[i].start.into())));
    }
}

/// The route of a packet: the number after the next hop's, 0 if there is none.
#[inline(always)]
fn route(ipv4: impl Find4, ipv6: &Lpm6, slot: &Slot, meta: &Meta) -> u32 {
    if meta.ipv6 {
        return ipv6
            .lookup(u128::from_be_bytes(*slot.window(usize::from(meta.start) + IP + 24)))
            .map_or(0, |hop| hop + 1);
    }
    ipv4.find(destination4(slot.window(meta.start.into()))).into()
}

pub(super) struct Route<'a> {
    pub(super) ipv4: &'a Lpm4,
    pub(super) ipv6: &'a Lpm6,
    pub(super) fetched: bool,
}

impl Loop for Route<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        prepare_route(self.ipv4, burst, if self.fetched { 0 } else { live });
        each(burst, live, |slot, meta, _| {
            meta.next_hop = route(self.ipv4, self.ipv6, slot, meta).checked_sub(1).ok_or(DropReason::Miss)?;
            Ok(())
        })
    }
}

pub(super) struct RouteForward<'a> {
    pub(super) hops: &'a [Rewrite],
    pub(super) ipv4: &'a Lpm4,
    pub(super) ipv6: &'a Lpm6,
    pub(super) fetched: bool,
}

impl Loop for RouteForward<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        prepare_route(self.ipv4, burst, if self.fetched { 0 } else { live });
        // The form of the table is asked once for all packets.
        match self.ipv4.form() {
            Form4::Tables(tables) => self.forward::<WIDE>(tables, burst, live),
            Form4::Few(few) => self.forward::<WIDE>(few, burst, live),
        }
    }
}

impl RouteForward<'_> {
    #[inline(always)]
    fn forward<const WIDE: bool>(self, ipv4: impl Find4, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, |slot, meta| self.step(ipv4, slot, meta))
    }

    #[inline(always)]
    fn step(&self, ipv4: impl Find4, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        let route = route(ipv4, self.ipv6, slot, meta);
        // No route is beyond any table, as its number wraps.
        let Some(rewrite) = self.hops.get(route.wrapping_sub(1) as usize) else {
            return Err(if route == 0 {
                DropReason::Miss
            } else {
                spend_hop(slot, meta).err().unwrap_or(DropReason::Miss)
            });
        };
        spend_hop(slot, meta)?;
        Ok(rewrite.write(slot, meta))
    }
}

pub(super) struct MeterRouteForward<'a> {
    pub(super) users: &'a mut [UserLine],
    pub(super) forward: RouteForward<'a>,
    pub(super) ingress: usize,
    pub(super) now_ns: u64,
}

impl Loop for MeterRouteForward<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        let ipv4 = self.forward.ipv4;
        prepare_route(ipv4, burst, if self.forward.fetched { 0 } else { live });
        match ipv4.form() {
            Form4::Tables(tables) => self.run_with::<WIDE>(tables, burst, live),
            Form4::Few(few) => self.run_with::<WIDE>(few, burst, live),
        }
    }
}

impl MeterRouteForward<'_> {
    #[inline(always)]
    fn run_with<const WIDE: bool>(self, ipv4: impl Find4, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, |slot, meta| {
            let user = self.users.get_mut(meta.user as usize).ok_or(DropReason::Miss)?;
            if !user.charge(self.now_ns, meta.total, self.ingress) {
                return Err(DropReason::Metered);
            }
            self.forward.step(ipv4, slot, meta)
        })
    }
}

pub(super) struct Forward<'a> {
    pub(super) c: &'a Compiled,
}

impl Loop for Forward<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, |slot, meta| {
            spend_hop(slot, meta)?;
            self.c.deliver(slot, meta)
        })
    }
}

pub(super) struct Deliver<'a> {
    pub(super) c: &'a Compiled,
}

impl Loop for Deliver<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, |slot, meta| self.c.deliver(slot, meta))
    }
}

pub(super) struct Emit {
    pub(super) port: Port,
    pub(super) source: Option<[u8; 6]>,
}

impl Loop for Emit {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, |slot, meta| {
            if let Some(source) = self.source {
                if meta.end - meta.start < 14 {
                    return Err(DropReason::Malformed);
                }
                *slot.window_mut(usize::from(meta.start) + 6) = source;
            }
            Ok(self.port)
        })
    }
}

pub(super) struct Encap<'a> {
    pub(super) users: &'a [UserLine],
    pub(super) tunnels: &'a [Template],
    pub(super) fetched: bool,
}

impl Loop for Encap<'_> {
    #[inline(always)]
    fn run<const WIDE: bool>(self, burst: &mut Burst, live: u64) -> u64 {
        let Self { users, tunnels, fetched } = self;
        for i in Bits(if fetched { 0 } else { live }) {
            let user = users.get(burst.meta[i].user as usize);
            if let Some(template) = user.and_then(|user| tunnels.get(user.tunnel as usize)) {
                prefetch(template);
            }
        }
        deliver(burst, live, |slot, meta| {
            let user = users.get(meta.user as usize).ok_or(DropReason::Miss)?;
            let template = tunnels.get(user.tunnel as usize).ok_or(DropReason::Miss)?;
            template.wrap(slot, meta, user.tunnel_key);
            Ok(template.port)
        })
    }
}
