//! One direction of a cell's air interface: bearers, HARQ, and the schedule of a slot.

use super::carrier::{Carrier, Direction, HARQ_FEEDBACK_SLOTS, K2_SLOTS, Sizes, SlotKind};
use super::channel::Link;
use super::mcs::Decoder;
use super::random::Stream;
use super::rlc::{Packet, Piece, Rlc, RlcMode};
use super::slice::{Grant, Slices};
use super::ue_scheduler::{SchedulerState, UeScheduler, demands};
use crate::link::HARQ_ROUNDS;

/// Bearer of a UE in one direction.
#[derive(Debug)]
pub(crate) struct Bearer {
    serial: u32,
    pub(crate) rlc: Rlc,
    processes: [Process; PROCESSES_MAX],
    decode: Stream,
    /// Uplink: bytes granted since the start.
    granted: u64,
    /// Uplink: whether the base station knows, or will soon know, that more data waits.
    data_known: bool,
    /// Uplink: position of the scheduling request slot within its period.
    phase: u64,
    /// Last transport block: slot, bytes and PRBs.
    pub(crate) last: (u64, u32, u16),
}

const PROCESSES_MAX: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Process {
    piece: Option<Piece>,
    kind: SlotKind,
    mcs: u8,
    tries: u8,
    prbs: u16,
    sinr: f32,
}

impl Process {
    const IDLE: Self = Self { piece: None, kind: SlotKind::None, mcs: 0, tries: 0, prbs: 0, sinr: 0.0 };
}

/// Event in a later slot.
#[derive(Debug, Clone, Copy)]
struct Event {
    ue: u32,
    serial: u32,
    what: SlotEventKind,
}

#[derive(Debug, Clone, Copy)]
enum SlotEventKind {
    /// A block was acknowledged, so its HARQ process is free.
    Free(u8),
    /// A block was not acknowledged, so it is retransmitted.
    Again(u8),
    /// The last HARQ transmission of a block failed.
    GaveUp(u8),
    /// The receiver's status report requests a retransmission of a piece.
    Missing(Piece),
    /// Uplink: a buffer status report, and the bytes granted when it was created.
    Report(u32, u64),
    /// Uplink: the grant for a scheduling request.
    Requested,
}

/// Maximum number of slots between the current slot and a scheduled event.
const WHEEL: u64 = 128;
/// Minimum number of slots from HARQ feedback to the retransmission. The sum with [`HARQ_FEEDBACK_SLOTS`] is eight.
const FEEDBACK_TO_RETRANSMISSION: u64 = 4;
/// Delay from the last failed HARQ transmission to RLC's status report, in µs.
const STATUS_US: u64 = 10_000;
/// Number of slots from a scheduling request to the grant.
const REQUEST_TO_GRANT: u64 = 3;
/// Size of the grant for a scheduling request, in bytes.
const REQUEST_BYTES: u32 = 96;
/// Maximum number of UEs with a transport block in one slot, which is the capacity of the control channel.
const BLOCKS_MAX: u32 = 16;

/// A slot and its resources in one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotContext<'a> {
    pub(crate) slot: u64,
    /// End time of the slot, in µs.
    pub(crate) end_us: u64,
    pub(crate) carrier: &'a Carrier,
    pub(crate) kind: SlotKind,
    pub(crate) sizes: &'a Sizes,
    pub(crate) decoder: &'a Decoder,
    pub(crate) links: &'a [Link],
    /// Factor that converts the SINR of the downlink to the SINR of this direction.
    pub(crate) factor: f32,
}

/// A controller's decision for a slot: index of the UE, PRBs, and MCS unless the cell chooses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) slot: u64,
    /// Identity of the slice; `None`: all slices.
    pub(crate) slice: Option<u32>,
    pub(crate) allocations: Vec<(u32, u16, Option<u8>)>,
}

#[derive(Debug)]
pub(crate) struct BearerDirection {
    direction: Direction,
    pub(crate) hot: Vec<SchedulerState>,
    pub(crate) bearers: Vec<Bearer>,
    pub(crate) slices: Slices,
    pub(crate) decisions: Vec<Decision>,
    wheel: Vec<Vec<Event>>,
    grants: Vec<Grant>,
    /// Number of UEs with blocks to retransmit.
    pending: u32,
    /// Packets delivered in the slot, with the index of the UE.
    pub(crate) delivered: Vec<(u32, Packet)>,
    /// Packets lost in the slot, with the index of the UE.
    pub(crate) lost: Vec<(u32, Packet)>,
    /// Indices of the UEs whose transmitter polled in the slot.
    pub(crate) polled: Vec<u32>,
}

impl BearerDirection {
    pub(crate) fn new(direction: Direction, slices: Slices) -> Self {
        Self {
            direction,
            hot: Vec::new(),
            bearers: Vec::new(),
            slices,
            decisions: Vec::new(),
            wheel: vec![Vec::new(); WHEEL as usize],
            grants: Vec::new(),
            pending: 0,
            delivered: Vec::new(),
            lost: Vec::new(),
            polled: Vec::new(),
        }
    }

    /// Stores a UE at a free index or at the end.
    pub(crate) fn insert(&mut self, ue: usize, rlc: Rlc, processes: u8, decode: Stream, phase: u64) {
        let live = self.hot.iter().filter(|hot| hot.live);
        // A new UE starts with the mean rate of the other UEs, so that it neither gets all PRBs nor starves.
        let (sum, count) = live.fold((0.0, 0), |(sum, count), hot| (sum + hot.mean, count + 1));
        let mean = if count > 0 { sum / count as f32 } else { 0.0 };
        let free = (u32::from(u16::MAX) >> (16 - processes.min(16))) as u16;
        let forgetting = self.slices.set.slices[0].scheduler.forgetting();
        let hot = SchedulerState {
            mean,
            free,
            forgetting,
            live: true,
            stamp: u32::MAX,
            ..SchedulerState::default()
        };
        let serial = self.bearers.get(ue).map_or(0, |old| old.serial + 1);
        let bearer = Bearer {
            serial,
            rlc,
            processes: [Process::IDLE; PROCESSES_MAX],
            decode,
            granted: 0,
            data_known: false,
            phase,
            last: (u64::MAX, 0, 0),
        };
        if ue < self.hot.len() {
            (self.hot[ue], self.bearers[ue]) = (hot, bearer);
        } else {
            self.hot.push(hot);
            self.bearers.push(bearer);
        }
    }

    /// Removes a UE, and returns the packets in its RLC buffer.
    pub(crate) fn remove(&mut self, ue: usize) -> Vec<Packet> {
        let hot = &mut self.hot[ue];
        self.pending -= u32::from(hot.again != 0);
        *hot = SchedulerState::default();
        self.bearers[ue].serial += 1;
        let lost = &mut self.lost;
        self.bearers[ue].rlc.reestablish(|packet| lost.push((ue as u32, packet)))
    }

    /// Replaces the slices. Slices with the same identity keep their UEs, and UEs of removed slices join the first
    /// slice.
    pub(crate) fn set_slices(&mut self, mut slices: Slices) {
        slices.keep(&self.slices);
        for hot in &mut self.hot {
            let id = self.slices.set.slices[usize::from(hot.slice)].id;
            hot.slice = slices.index(id).unwrap_or(0);
            hot.forgetting = slices.set.slices[usize::from(hot.slice)].scheduler.forgetting();
        }
        self.slices = slices;
    }

    pub(crate) fn associate(&mut self, ue: usize, slice: u8) {
        self.hot[ue].slice = slice;
        self.hot[ue].forgetting = self.slices.set.slices[usize::from(slice)].scheduler.forgetting();
    }

    /// Adds a packet to RLC. Returns false if there is no room.
    pub(crate) fn enqueue(&mut self, ue: usize, packet: Packet, slot: u64, sr_slots: u64) -> bool {
        let bearer = &mut self.bearers[ue];
        if !bearer.rlc.enqueue(packet) {
            return false;
        }
        match self.direction {
            Direction::Down => self.hot[ue].demand = bearer.rlc.demand(),
            Direction::Up => self.request(ue, slot, sr_slots),
        }
        true
    }

    /// Schedules a scheduling request, if the base station does not know of the UE's data.
    fn request(&mut self, ue: usize, slot: u64, sr_slots: u64) {
        let bearer = &mut self.bearers[ue];
        if bearer.data_known {
            return;
        }
        bearer.data_known = true;
        let sr_slots = sr_slots.max(1);
        let next = slot + 1;
        let wait = (bearer.phase % sr_slots + sr_slots - next % sr_slots) % sr_slots;
        self.later(slot, ue, next + wait + REQUEST_TO_GRANT + K2_SLOTS - slot, SlotEventKind::Requested);
    }

    fn later(&mut self, slot: u64, ue: usize, slots: u64, what: SlotEventKind) {
        let at = slot + slots.clamp(1, WHEEL - 1);
        let serial = self.bearers[ue].serial;
        self.wheel[(at % WHEEL) as usize].push(Event { ue: ue as u32, serial, what });
    }

    /// Processes a slot.
    pub(crate) fn pass(&mut self, air: &SlotContext<'_>, sr_slots: u64) {
        self.events(air, sr_slots);
        if air.kind == SlotKind::None {
            return;
        }
        let active = self.active();
        if active != 0 || !self.slices.set.sharing {
            self.schedule(active, air);
        }
        for hot in &mut self.hot {
            hot.mean += hot.forgetting * (hot.served as f32 - hot.mean);
            hot.served = 0;
        }
        self.decisions.retain(|decision| decision.slot > air.slot);
    }

    /// Returns the index of the decision for `slot` that applies to `slice`, or to any slice if `slice` is `None`.
    pub(crate) fn decided(&self, slot: u64, slice: Option<u32>) -> Option<usize> {
        let overlaps = |of: Option<u32>| of.is_none() || slice.is_none() || of == slice;
        self.decisions.iter().position(|decision| decision.slot == slot && overlaps(decision.slice))
    }

    /// Returns the slices with data to send, as bits.
    fn active(&self) -> u32 {
        self.hot.iter().fold(0, |active, hot| active | u32::from(hot.wants()) << hot.slice)
    }

    fn schedule(&mut self, active: u32, air: &SlotContext<'_>) {
        let mut grants = std::mem::take(&mut self.grants);
        if self.slices.follows_demand() {
            self.slices.grant_by_demand(&demands(&self.hot, |hot| hot.wants()), &mut grants);
            let mut left = self.slices.prbs;
            for grant in &grants {
                let (used, bytes) = self.serve(grant.slice, left, air);
                self.slices.served(Grant { extra: left, ..*grant }, used, bytes);
                left -= used;
            }
            self.grants = grants;
            return;
        }
        self.slices.grant(active, &mut grants);
        let mut rest = 0;
        for grant in &grants {
            let is_active = active & (1 << grant.slice) != 0;
            let granted = grant.prbs + grant.extra;
            let (used, bytes) = if is_active { self.serve(grant.slice, granted, air) } else { (0, 0) };
            self.slices.served(*grant, used, bytes);
            rest += granted - used;
        }
        if rest > 0 && self.slices.shares_rest() {
            // A UE has at most one transport block per slot, so only UEs without a block are served here.
            for slice in 0..self.slices.set.slices.len() as u8 {
                let (used, bytes) =
                    if active & (1 << slice) != 0 { self.serve(slice, rest, air) } else { (0, 0) };
                self.slices.served_rest(slice, used, bytes);
                rest -= used;
            }
        }
        self.grants = grants;
    }

    /// Allocates PRBs to the UEs of a slice. Returns the used PRBs and the bytes.
    fn serve(&mut self, slice: u8, prbs: u16, air: &SlotContext<'_>) -> (u16, u32) {
        let mut left = prbs;
        let mut bytes = 0;
        let stamp = air.slot as u32;
        if self.pending > 0 {
            for ue in 0..self.hot.len() {
                if self.hot[ue].slice == slice && self.hot[ue].again != 0 && self.hot[ue].stamp != stamp {
                    left -= self.retransmit(ue, left, air);
                }
            }
        }
        let scheduler = self.slices.set.slices[usize::from(slice)].scheduler;
        if scheduler == UeScheduler::Remote {
            return self.serve_remote(slice, left, air, prbs);
        }
        for _ in 0..BLOCKS_MAX {
            if left == 0 {
                break;
            }
            let turn = self.slices.turns[usize::from(slice)];
            let ready = |hot: &SchedulerState| {
                hot.slice == slice && hot.stamp != stamp && hot.free != 0 && hot.is_ready()
            };
            let Some(ue) = scheduler.pick(&self.hot, turn, ready) else { break };
            self.slices.turns[usize::from(slice)] = ue as u32 + 1;
            let mcs = self.hot[ue].mcs;
            let demand = self.hot[ue].demand;
            let (fit, size) = air.sizes.fit(mcs, demand, left);
            self.hot[ue].stamp = stamp;
            if size > 0 && self.send(ue, mcs, fit, size, air) {
                left -= fit;
                bytes += size;
            }
        }
        (prbs - left, bytes)
    }

    /// Applies a controller's allocations for this slot. Returns the used PRBs and the bytes.
    fn serve_remote(&mut self, slice: u8, mut left: u16, air: &SlotContext<'_>, prbs: u16) -> (u16, u32) {
        let id = self.slices.set.slices[usize::from(slice)].id;
        let Some(at) = self.decided(air.slot, Some(id)) else {
            self.slices.stats[usize::from(slice)].deadline_misses += 1;
            return (prbs - left, 0);
        };
        let allocations = std::mem::take(&mut self.decisions[at].allocations);
        let mut bytes = 0;
        for (ue, requested, mcs) in &allocations {
            let Some(hot) = self.hot.get_mut(*ue as usize) else { continue };
            let granted = left.min(*requested);
            let is_ready =
                hot.slice == slice && hot.stamp != air.slot as u32 && hot.free != 0 && hot.is_ready();
            let mcs = mcs.unwrap_or(hot.mcs);
            let size = air.sizes.bytes(mcs, granted);
            if is_ready && size > 0 {
                hot.stamp = air.slot as u32;
                if self.send(*ue as usize, mcs, granted, size, air) {
                    left -= granted;
                    bytes += size;
                }
            }
        }
        self.decisions[at].allocations = allocations;
        (prbs - left, bytes)
    }

    /// Sends a new transport block. Returns false if no data fits into it.
    fn send(&mut self, ue: usize, mcs: u8, prbs: u16, bytes: u32, air: &SlotContext<'_>) -> bool {
        let hot = &mut self.hot[ue];
        let bearer = &mut self.bearers[ue];
        let piece = bearer.rlc.transmit(bytes, air.end_us);
        if piece.is_none() && self.direction == Direction::Down {
            hot.demand = bearer.rlc.demand();
            return false;
        }
        hot.served += bytes;
        bearer.last = (air.slot, bytes, prbs);
        let stats = &mut bearer.rlc.stats;
        stats.tbs_bytes += u64::from(bytes);
        stats.prbs += u64::from(prbs);
        if bearer.rlc.polls() {
            self.polled.push(ue as u32);
        }
        match self.direction {
            Direction::Down => hot.demand = bearer.rlc.demand(),
            Direction::Up => {
                bearer.granted += u64::from(bytes);
                hot.demand = hot.demand.saturating_sub(bytes);
            }
        }
        let process = hot.free.trailing_zeros() as u8;
        hot.free &= !(1 << process);
        let kind = air.kind;
        let tries = 0;
        let sinr = 0.0;
        bearer.processes[usize::from(process)] = Process { piece, kind, mcs, tries, prbs, sinr };
        self.transmit(ue, process, air);
        true
    }

    /// Retransmits a block if it fits. Returns the used PRBs.
    fn retransmit(&mut self, ue: usize, left: u16, air: &SlotContext<'_>) -> u16 {
        let hot = &mut self.hot[ue];
        let process = hot.again.trailing_zeros() as u8;
        let bearer = &mut self.bearers[ue];
        let Process { prbs, kind, .. } = bearer.processes[usize::from(process)];
        if prbs > left || kind != air.kind {
            return 0;
        }
        hot.again &= !(1 << process);
        hot.stamp = air.slot as u32;
        self.pending -= u32::from(hot.again == 0);
        bearer.processes[usize::from(process)].tries += 1;
        bearer.rlc.stats.prbs += u64::from(prbs);
        bearer.rlc.stats.retx_prbs += u64::from(prbs);
        self.transmit(ue, process, air);
        prbs
    }

    /// Transmits a block and decides whether it is received. The base station or the UE learns the result in a later slot.
    fn transmit(&mut self, ue: usize, process: u8, air: &SlotContext<'_>) {
        let bearer = &mut self.bearers[ue];
        let block = &mut bearer.processes[usize::from(process)];
        // In chase combining, the SINR values of all transmissions add up.
        block.sinr += air.links[ue].sinr * air.factor;
        let decoded = air.decoder.decodes(block.mcs, block.sinr, bearer.decode.bits(air.slot));
        let stats = &mut bearer.rlc.stats;
        stats.harq[usize::from(block.tries)] += 1;
        if block.tries == 0 {
            let failed = if decoded { 0 } else { 1 << 16 };
            stats.bler_q16 = (i64::from(stats.bler_q16) + (failed - i64::from(stats.bler_q16)) / 64) as u32;
        }
        let last = usize::from(block.tries) + 1 == HARQ_ROUNDS;
        let what = match (decoded, last) {
            (true, _) => SlotEventKind::Free(process),
            (false, false) => SlotEventKind::Again(process),
            (false, true) => SlotEventKind::GaveUp(process),
        };
        if decoded {
            if let Some(piece) = block.piece.take() {
                let delivered = &mut self.delivered;
                bearer.rlc.arrived(piece, |packet| delivered.push((ue as u32, packet)));
            }
            if self.direction == Direction::Up {
                let report = SlotEventKind::Report(bearer.rlc.demand(), bearer.granted);
                self.later(air.slot, ue, 1 + K2_SLOTS, report);
            }
        }
        let other = if self.direction == Direction::Down { Direction::Up } else { Direction::Down };
        let feedback = air.carrier.next(air.slot + HARQ_FEEDBACK_SLOTS, other);
        self.later(air.slot, ue, feedback + FEEDBACK_TO_RETRANSMISSION - air.slot, what);
    }

    fn events(&mut self, air: &SlotContext<'_>, sr_slots: u64) {
        let place = (air.slot % WHEEL) as usize;
        if self.wheel[place].is_empty() {
            return;
        }
        let mut events = std::mem::take(&mut self.wheel[place]);
        for event in events.drain(..) {
            if self.bearers[event.ue as usize].serial == event.serial {
                self.happen(event.ue as usize, event.what, air, sr_slots);
            }
        }
        // The empty vector is restored, so that its memory is reused. No event was added here in the meantime, because
        // events are scheduled at least one slot ahead.
        self.wheel[place] = events;
    }

    fn happen(&mut self, ue: usize, what: SlotEventKind, air: &SlotContext<'_>, sr_slots: u64) {
        let hot = &mut self.hot[ue];
        let bearer = &mut self.bearers[ue];
        match what {
            SlotEventKind::Free(process) => hot.free |= 1 << process,
            SlotEventKind::Again(process) => {
                self.pending += u32::from(hot.again == 0);
                hot.again |= 1 << process;
            }
            SlotEventKind::GaveUp(process) => {
                hot.free |= 1 << process;
                let piece = bearer.processes[usize::from(process)].piece.take();
                let acknowledged = bearer.rlc.config().mode == RlcMode::Am;
                match piece {
                    Some(piece) if acknowledged => {
                        let status = STATUS_US / air.carrier.slot_us();
                        self.later(air.slot, ue, status, SlotEventKind::Missing(piece));
                    }
                    Some(piece) => self.give_up(ue, piece),
                    None => {}
                }
                if self.direction == Direction::Up {
                    self.ask_again(ue, air.slot, sr_slots);
                }
            }
            SlotEventKind::Missing(piece) => {
                self.give_up(ue, piece);
                if self.direction == Direction::Up {
                    self.ask_again(ue, air.slot, sr_slots);
                }
            }
            SlotEventKind::Report(bytes, granted) => {
                let since = (bearer.granted - granted).min(u64::from(u32::MAX)) as u32;
                hot.demand = bytes.saturating_sub(since);
                bearer.data_known = hot.demand > 0;
                if !bearer.data_known {
                    self.ask_again(ue, air.slot, sr_slots);
                }
            }
            SlotEventKind::Requested => hot.demand = hot.demand.max(REQUEST_BYTES),
        }
    }

    fn give_up(&mut self, ue: usize, piece: Piece) {
        let delivered = &mut self.delivered;
        let lost = &mut self.lost;
        let rlc = &mut self.bearers[ue].rlc;
        rlc.gave_up(
            piece,
            |packet| delivered.push((ue as u32, packet)),
            |packet| lost.push((ue as u32, packet)),
        );
        if self.direction == Direction::Down {
            self.hot[ue].demand = rlc.demand();
        }
    }

    /// Sends a scheduling request if the UE has data that the base station does not know of.
    fn ask_again(&mut self, ue: usize, slot: u64, sr_slots: u64) {
        if self.bearers[ue].rlc.demand() > 0 && self.hot[ue].demand == 0 {
            self.bearers[ue].data_known = false;
            self.request(ue, slot, sr_slots);
        }
    }

    /// Schedules a status report of the base station's RLC.
    pub(crate) fn owe_status(&mut self, ue: u32) {
        let owed = &mut self.bearers[ue as usize].rlc.owed_status;
        *owed = (*owed + 1).min(4);
    }

    /// Returns whether no data is in flight or queued.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending == 0 && self.hot.iter().all(|hot| hot.demand == 0)
    }
}

impl SchedulerState {
    pub(crate) fn is_ready(&self) -> bool {
        self.demand > 0 && self.rate > 0.0 && self.live
    }

    fn wants(&self) -> bool {
        self.again != 0 || self.is_ready()
    }
}
