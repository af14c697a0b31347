//! The loops over a burst. Each loop is compiled separately for every instruction set, because loops that share a
//! function need more registers than available.
use super::acl::{Acl, Packet};
use super::burst::{BURST, Bits, Burst, Meta, Slot};
use super::compile::{Compiled, Rewrite};
use super::exact::{Macs, Narrow};
use super::headers::{IP, spend_hop};
use super::hot::{Loop, prefetch};
use super::lpm4::{Find4, Form4, Lpm4, Tables as Tables4};
use super::lpm6::Lpm6;
use super::parse::{self, MacFilter};
use super::plan::{LookupKey, PrefetchPlan};
use super::template::Template;
use super::users::UserLine;
use crate::declare::{DropReason, Encapsulation, Port};

pub(super) type Step = Result<(), DropReason>;

/// Prefetches the data that the next stage reads.
pub(super) trait Prefetch: Copy {
    fn prefetch(self, slot: &Slot, meta: &Meta);
}

#[derive(Clone, Copy)]
pub(super) struct NoLook;
#[derive(Clone, Copy)]
pub(super) struct LookRoute<'a>(pub(super) &'a Tables4);
#[derive(Clone, Copy)]
pub(super) struct LookUser<'a> {
    table: Users<'a>,
    by: LookupKey,
}

/// Users of both IP versions: by IPv4 address or tunnel key, and by the upper half of an IPv6 address.
#[derive(Clone, Copy)]
pub(super) struct Users<'a> {
    narrow: &'a Narrow,
    prefixes: &'a Macs,
}

/// Returns both halves of an exact table.
pub(super) fn users_table(c: &Compiled, table: usize) -> Option<Users<'_>> {
    Some(Users { narrow: c.narrow.get(table)?, prefixes: c.macs.get(table)? })
}

impl Users<'_> {
    #[inline(always)]
    fn prepare(self, slot: &Slot, meta: &Meta, by: LookupKey) {
        if is_prefix(meta, by) {
            self.prefixes.prepare(prefix(slot, meta, by));
        } else {
            self.narrow.prepare(user_key(slot, meta, by));
        }
    }

    #[inline(always)]
    fn lookup(self, slot: &Slot, meta: &Meta, by: LookupKey) -> Option<u32> {
        if is_prefix(meta, by) {
            self.prefixes.lookup(prefix(slot, meta, by))
        } else {
            self.narrow.lookup(user_key(slot, meta, by))
        }
    }
}

#[inline(always)]
fn is_prefix(meta: &Meta, by: LookupKey) -> bool {
    meta.ipv6 & (by != LookupKey::TunnelKey)
}

#[inline(always)]
fn prefix(slot: &Slot, meta: &Meta, by: LookupKey) -> u64 {
    let at = if by == LookupKey::Source { 8 } else { 24 };
    u64::from_be_bytes(*slot.window((meta.l3 as usize) + at))
}

impl Prefetch for NoLook {
    #[inline(always)]
    fn prefetch(self, _: &Slot, _: &Meta) {}
}

impl Prefetch for LookRoute<'_> {
    #[inline(always)]
    fn prefetch(self, slot: &Slot, meta: &Meta) {
        self.0.prepare(destination4(slot.window(meta.start as usize)));
    }
}

impl Prefetch for LookUser<'_> {
    #[inline(always)]
    fn prefetch(self, slot: &Slot, meta: &Meta) {
        self.table.prepare(slot, meta, self.by);
    }
}

/// Returns the table from which the next stage will read: routes or users.
pub(super) fn prefetch_tables(c: &Compiled, ahead: PrefetchPlan) -> (Option<&Tables4>, Option<LookUser<'_>>) {
    match ahead {
        // A small route table needs no prefetching.
        PrefetchPlan::Route(table) => (c.routes.get(table).and_then(|(ipv4, _)| ipv4.tables()), None),
        PrefetchPlan::User { table, by } => (None, users_table(c, table).map(|table| LookUser { table, by })),
        PrefetchPlan::Nothing | PrefetchPlan::Tunnel => (None, None),
    }
}

/// A step that a loop applies to each packet. Must be `#[inline(always)]`; see [`Loop::run`].
pub(super) trait PacketStep {
    /// Prefetches the data that the steps read.
    #[inline(always)]
    fn prepare(&self, _: &Burst, _: u64) {}
    /// Processes a packet. Returns an error to drop it.
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step;
}

impl<E: PacketStep> Loop for E {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        self.prepare(burst, live);
        each(burst, live, self)
    }
}

/// A step that sends each packet and ends its path. Must be `#[inline(always)]`; see [`Loop::run`].
pub(super) trait FinalStep {
    /// Processes a packet. Returns its egress port, or an error to drop it.
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason>;
}

/// Applies a step to each packet. Dropped packets do not continue.
#[inline(always)]
pub(super) fn each(burst: &mut Burst, live: u64, mut packets: impl PacketStep) -> u64 {
    let Burst { slots, meta, dropped, .. } = burst;
    let mut gone = 0;
    for i in Bits(live) {
        if let Err(reason) = packets.step(&mut slots[i], &mut meta[i]) {
            refused(dropped, &mut gone, i, reason);
        }
    }
    live & !gone
}

/// Records a dropped packet. Drops are rare, so the function must not use a register of the loop.
#[cold]
#[inline(never)]
fn refused(dropped: &mut [DropReason; BURST], gone: &mut u64, index: usize, reason: DropReason) {
    dropped[index] = reason;
    *gone |= 1 << index;
}

/// Applies a step that sends each packet. Dropped packets are recorded. See [`each`].
#[inline(always)]
fn deliver(burst: &mut Burst, live: u64, mut packets: impl FinalStep) -> u64 {
    let Burst { slots, meta, dropped, sent, .. } = burst;
    // `core` collects the sent packets whose egress is the core port.
    let mut gone = 0;
    let mut core = 0_u64;
    for i in Bits(live) {
        match packets.step(&mut slots[i], &mut meta[i]) {
            Ok(port) => core |= (port as u64) << i,
            Err(reason) => refused(dropped, &mut gone, i, reason),
        }
    }
    sent[0] |= live & !(gone | core);
    sent[1] |= core;
    0
}

pub(super) struct Admit<A> {
    pub(super) mac: MacFilter,
    pub(super) ipv6: bool,
    pub(super) ahead: A,
}

impl<A: Prefetch> PacketStep for Admit<A> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        parse::admit(slot, meta, self.mac, self.ipv6)?;
        self.ahead.prefetch(slot, meta);
        Ok(())
    }
}

/// Numbers of the encapsulations, for const generics.
pub(super) const GTP: u8 = 0;
pub(super) const VXLAN: u8 = 1;
pub(super) const GRE: u8 = 2;

pub(super) struct Decap<const KIND: u8, A> {
    pub(super) local: u32,
    pub(super) ipv6: bool,
    pub(super) ahead: A,
}

impl<const KIND: u8, A: Prefetch> PacketStep for Decap<KIND, A> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        let kind = match KIND {
            GTP => Encapsulation::Gtp { qfi: 0 },
            VXLAN => Encapsulation::Vxlan,
            _ => Encapsulation::Gre,
        };
        parse::decap(slot, meta, kind, (self.local, self.ipv6))?;
        self.ahead.prefetch(slot, meta);
        Ok(())
    }
}

pub(super) struct AdmitDecap<const KIND: u8, A> {
    pub(super) admit: Admit<NoLook>,
    pub(super) decap: Decap<KIND, A>,
}

impl<const KIND: u8, A: Prefetch> PacketStep for AdmitDecap<KIND, A> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        if KIND == GTP {
            if !parse::plain_gtp(slot, meta, self.admit.mac, self.decap.local) {
                return self.any(slot, meta);
            }
            self.decap.ahead.prefetch(slot, meta);
            return Ok(());
        }
        self.admit.step(slot, meta)?;
        self.decap.step(slot, meta)
    }
}

impl<const KIND: u8, A: Prefetch> AdmitDecap<KIND, A> {
    /// Slow path for uncommon packets, which is not inlined into the loop.
    #[inline(never)]
    fn any(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        self.admit.step(slot, meta)?;
        self.decap.step(slot, meta)
    }
}

#[inline(always)]
fn user_key(slot: &Slot, meta: &Meta, by: LookupKey) -> u32 {
    match by {
        LookupKey::TunnelKey => meta.key,
        LookupKey::Source => slot.u32((meta.l3 as usize) + 12),
        LookupKey::Destination => slot.u32((meta.l3 as usize) + 16),
    }
}

pub(super) struct FindUser<'a, A> {
    pub(super) table: Users<'a>,
    pub(super) users: &'a [UserLine],
    pub(super) by: LookupKey,
    pub(super) fetched: bool,
    pub(super) ahead: A,
}

impl<A: Prefetch> PacketStep for FindUser<'_, A> {
    #[inline(always)]
    fn prepare(&self, burst: &Burst, live: u64) {
        for i in Bits(if self.fetched { 0 } else { live }) {
            self.table.prepare(&burst.slots[i], &burst.meta[i], self.by);
        }
    }

    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        let user = self.table.lookup(slot, meta, self.by).ok_or(DropReason::Miss)?;
        meta.user = user;
        if let Some(line) = self.users.get(user as usize) {
            prefetch(line);
        }
        self.ahead.prefetch(slot, meta);
        Ok(())
    }
}

pub(super) struct Meter<'a> {
    pub(super) users: &'a mut [UserLine],
    /// Tunnels to prefetch, or `None` if the next stage needs no tunnels.
    pub(super) tunnels: &'a [Template],
    pub(super) ingress: usize,
    pub(super) now_ns: u64,
}

impl PacketStep for Meter<'_> {
    #[inline(always)]
    fn step(&mut self, _: &mut Slot, meta: &mut Meta) -> Step {
        let user = self.users.get_mut(meta.user as usize).ok_or(DropReason::Miss)?;
        if let Some(template) = self.tunnels.get(user.tunnel as usize) {
            prefetch(template);
        }
        if user.charge(self.now_ns, meta.total as u16, self.ingress) {
            Ok(())
        } else {
            Err(DropReason::Metered)
        }
    }
}

pub(super) struct Classify<'a> {
    pub(super) ipv4: &'a Acl,
    pub(super) ipv6: &'a Acl<u128>,
}

impl Loop for Classify<'_> {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
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

/// Classifies IPv6 packets. The function is separate from IPv4, so that packets of one version do not need stack memory
/// for the other version.
#[inline(never)]
fn classify6(acl: &Acl<u128>, burst: &Burst, live: u64) -> u64 {
    let mut packets = [Packet::default(); BURST];
    for i in Bits(live) {
        packets[i] = parse::five_tuple6(&burst.slots[i], &burst.meta[i]);
    }
    acl.denied(&packets, live)
}

/// Returns the IPv4 destination of a frame.
#[inline(always)]
fn destination4(frame: &[u8; 34]) -> u32 {
    let [.., a, b, c, d] = *frame;
    u32::from_be_bytes([a, b, c, d])
}

#[inline(always)]
fn prepare_route(ipv4: &Lpm4, burst: &Burst, live: u64) {
    let Some(tables) = ipv4.tables() else { return };
    for i in Bits(live) {
        tables.prepare(destination4(burst.slots[i].window(burst.meta[i].start as usize)));
    }
}

/// Returns the number of a packet's next hop plus one, or 0 without a route.
#[inline(always)]
fn route(ipv4: impl Find4, ipv6: &Lpm6, slot: &Slot, meta: &Meta) -> u32 {
    if meta.ipv6 {
        return ipv6
            .lookup(u128::from_be_bytes(*slot.window((meta.start as usize) + IP + 24)))
            .map_or(0, |hop| hop + 1);
    }
    ipv4.find(destination4(slot.window(meta.start as usize))).into()
}

pub(super) struct Route<'a> {
    pub(super) ipv4: &'a Lpm4,
    pub(super) ipv6: &'a Lpm6,
    pub(super) fetched: bool,
}

impl PacketStep for Route<'_> {
    #[inline(always)]
    fn prepare(&self, burst: &Burst, live: u64) {
        prepare_route(self.ipv4, burst, if self.fetched { 0 } else { live });
    }

    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Step {
        meta.next_hop = route(self.ipv4, self.ipv6, slot, meta).checked_sub(1).ok_or(DropReason::Miss)?;
        Ok(())
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
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        prepare_route(self.ipv4, burst, if self.fetched { 0 } else { live });
        // The form of the table is determined once for all packets of the burst.
        match self.ipv4.form() {
            Form4::Tables(ipv4) => deliver(burst, live, Routed { ipv4, forward: self }),
            Form4::Few(ipv4) => deliver(burst, live, Routed { ipv4, forward: self }),
        }
    }
}

/// [`RouteForward`] for a specific form of its table.
struct Routed<'a, F> {
    ipv4: F,
    forward: RouteForward<'a>,
}

impl<F: Find4> FinalStep for Routed<'_, F> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        let route = route(self.ipv4, self.forward.ipv6, slot, meta);
        // A packet without a route has number 0. The subtraction wraps, so the index exceeds any table.
        let Some(rewrite) = self.forward.hops.get(route.wrapping_sub(1) as usize) else {
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
    pub(super) meter: Meter<'a>,
    pub(super) forward: RouteForward<'a>,
}

impl Loop for MeterRouteForward<'_> {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        let Self { meter, forward } = self;
        prepare_route(forward.ipv4, burst, if forward.fetched { 0 } else { live });
        match forward.ipv4.form() {
            Form4::Tables(ipv4) => deliver(burst, live, Metered { meter, routed: Routed { ipv4, forward } }),
            Form4::Few(ipv4) => deliver(burst, live, Metered { meter, routed: Routed { ipv4, forward } }),
        }
    }
}

/// [`MeterRouteForward`] for a specific form of its table.
struct Metered<'a, F> {
    meter: Meter<'a>,
    routed: Routed<'a, F>,
}

impl<F: Find4> FinalStep for Metered<'_, F> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        self.meter.step(slot, meta)?;
        self.routed.step(slot, meta)
    }
}

pub(super) struct Forward<'a> {
    pub(super) c: &'a Compiled,
}

impl Loop for Forward<'_> {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, self)
    }
}

impl FinalStep for Forward<'_> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        spend_hop(slot, meta)?;
        self.c.deliver(slot, meta)
    }
}

pub(super) struct Deliver<'a> {
    pub(super) c: &'a Compiled,
}

impl Loop for Deliver<'_> {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, self)
    }
}

impl FinalStep for Deliver<'_> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        self.c.deliver(slot, meta)
    }
}

pub(super) struct Emit {
    pub(super) port: Port,
    pub(super) source: Option<[u8; 6]>,
}

impl Loop for Emit {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        deliver(burst, live, self)
    }
}

impl FinalStep for Emit {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        if let Some(source) = self.source {
            if meta.end - meta.start < 14 {
                return Err(DropReason::Malformed);
            }
            *slot.window_mut((meta.start as usize) + 6) = source;
        }
        Ok(self.port)
    }
}

pub(super) struct Encap<'a> {
    pub(super) users: &'a [UserLine],
    pub(super) tunnels: &'a [Template],
    pub(super) fetched: bool,
}

impl Loop for Encap<'_> {
    #[inline(always)]
    fn run(self, burst: &mut Burst, live: u64) -> u64 {
        let Self { users, tunnels, fetched } = self;
        for i in Bits(if fetched { 0 } else { live }) {
            let user = users.get(burst.meta[i].user as usize);
            if let Some(template) = user.and_then(|user| tunnels.get(user.tunnel as usize)) {
                prefetch(template);
            }
        }
        deliver(burst, live, self)
    }
}

impl FinalStep for Encap<'_> {
    #[inline(always)]
    fn step(&mut self, slot: &mut Slot, meta: &mut Meta) -> Result<Port, DropReason> {
        let user = self.users.get(meta.user as usize).ok_or(DropReason::Miss)?;
        let template = self.tunnels.get(user.tunnel as usize).ok_or(DropReason::Miss)?;
        template.wrap(slot, meta, user.tunnel_key);
        Ok(template.port)
    }
}
