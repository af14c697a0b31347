//! Fluid model of a cell, which advances in steps of many slots. It has the same carrier, channels, slices and UE
//! schedulers as the slot model, but bytes instead of packets, and one decision for many slots. It is used to simulate
//! days of network time and large fleets.
//!
//! Bytes arrive once per step. The scheduler decides for a hundredth of the proportional fair window, or less with more
//! than ten UEs, so that the mean rates hardly change in this time. A decision uses the channels and reports of one
//! slot, drawn at random from the slots that it covers. The winner gets the PRBs of all these slots. TCP flows that
//! always have data count as full buffers: their losses and round trips are not modelled.

use super::carrier::{Direction, SlotKind};
use super::cell::{CellConfig, CellError, Common, UES_MAX, slices};
use super::channel::{Channel, Link};
use super::flow::Traffic;
use super::fluid_source::FluidSource;
use super::math::{exp, from_db, ln};
use super::mcs::Decoder;
use super::random::{Purpose, Stream};
use super::rlc::{RlcConfig, RlcMode};
use super::slice::{Grant, SLICES_MAX, SliceError, SliceSet, SliceSpec, SliceStats, Slices};
use super::ue::{AttachError, Plmn, Snssai, UeConfig};
use super::ue_scheduler::{SchedulerState, UeScheduler, demands};
use crate::link::HARQ_ROUNDS;

/// Maximum slots of a step.
pub const STEP_SLOTS_MAX: u64 = 4096;
/// Maximum weight of one decision in a UE's mean rate. With a higher weight the mean would overshoot, and it would be
/// noisy if few decisions filled the window.
const DECISION_WEIGHT: f64 = 0.01;
/// Maximum relative change of the winner's mean rate by one decision. With `n` UEs, the winner gets `n` times its mean.
const WINNER_WEIGHT: f64 = 0.1;
/// Maximum slots of a decision.
const HOLD_MAX: f64 = 64.0;
/// Waiting bytes of a UE that always has data. For other UEs, the RLC buffer limits the waiting bytes.
const ALWAYS: f64 = 1e12;
/// Share of 1500 bytes of IP in a packet with the headers of PDCP, RLC and MAC.
const PACKET_SHARE: f64 = 1500.0 / 1509.0;
/// Size of a segment's headers in a transport block, in bytes.
const SEGMENT_BYTES: f64 = 8.0;

/// Data of a UE in one direction, in bytes of IP.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FluidStats {
    /// Bytes offered by the UE's flows, except flows that always have data.
    pub offered: f64,
    /// Bytes delivered.
    pub delivered: f64,
    /// Bytes dropped because the buffer was full, or given up by HARQ in unacknowledged mode.
    pub dropped: f64,
    /// Bytes waiting, except bytes of flows that always have data.
    pub waiting: f64,
    /// PRBs used, including retransmissions.
    pub prbs: f64,
    /// PRBs used by retransmissions.
    pub retx_prbs: f64,
    /// Bytes of transport blocks, first transmissions only.
    pub blocks: f64,
    /// Number of transport blocks by HARQ round.
    pub harq: [f64; HARQ_ROUNDS],
}

#[derive(Debug)]
pub(super) struct FluidUe {
    pub(super) id: u32,
    pub(super) plmn: Plmn,
    pub(super) snssai: Snssai,
    pub(super) rlc: RlcConfig,
    /// Number of slots after which the UE's fading power counts as independent of its earlier value.
    coherence: f64,
    sources: Vec<FluidSource>,
    pub(super) waiting: f64,
    pub(super) stats: FluidStats,
    /// Last decision that the UE won: number of the decision, and bytes and PRBs per slot.
    pub(super) latest: (usize, f64, f64),
}

/// One direction of a fluid cell.
#[derive(Debug)]
pub(super) struct FluidLeg {
    direction: Direction,
    pub(super) hot: Vec<SchedulerState>,
    pub(super) ues: Vec<FluidUe>,
    pub(super) slices: Slices,
    grants: Vec<Grant>,
    /// Number of slots to which a decision applies.
    hold: f64,
    /// Number of slots of a decision that carry data in this direction.
    slots: f64,
    /// PRBs per slot for pending retransmissions, by slice. Retransmissions are sent before new data.
    debts: [f64; SLICES_MAX],
    /// PRBs for retransmissions in later decisions, by number of the decision modulo [`LATER`].
    later: Vec<[f64; SLICES_MAX]>,
    pub(super) decision: usize,
}

/// A cell that advances in steps of many slots.
#[derive(Debug)]
pub struct FluidCell {
    pub(super) config: CellConfig,
    common: Common,
    pub(super) paths: Vec<Path>,
    /// Random stream that selects the slot whose channels a decision uses.
    moments: Stream,
    pub(super) legs: [FluidLeg; 2],
    pub(super) step_slots: u64,
    /// Number of decisions per step.
    decisions: u64,
    pub(super) step: u64,
}

impl FluidCell {
    /// Creates a cell with steps of `step_slots`, limited to 1 to [`STEP_SLOTS_MAX`].
    pub fn new(config: CellConfig, step_slots: u64) -> Result<Self, CellError> {
        config.check()?;
        let leg = |direction, set: &SliceSet| FluidLeg {
            direction,
            hot: Vec::new(),
            ues: Vec::new(),
            slices: slices(&config.carrier, set.clone(), direction),
            grants: Vec::new(),
            hold: 1.0,
            slots: 1.0,
            debts: [0.0; SLICES_MAX],
            later: vec![[0.0; SLICES_MAX]; LATER],
            decision: 0,
        };
        let legs = [leg(Direction::Down, &config.down), leg(Direction::Up, &config.up)];
        let common = Common::new(&config.carrier);
        let step_slots = step_slots.clamp(1, STEP_SLOTS_MAX);
        let moments =
            Stream::new(config.seed, Purpose::Phase, u64::from(config.cell_id) << 32 | u64::from(u32::MAX));
        let paths = Vec::new();
        let mut cell = Self { config, common, paths, moments, legs, step_slots, decisions: 1, step: 0 };
        cell.set_decisions();
        Ok(cell)
    }

    /// Attaches a UE, and returns its index.
    pub fn attach(&mut self, config: &UeConfig) -> Result<usize, AttachError> {
        config.check(self.config.carrier.table.highest())?;
        if self.paths.len() >= UES_MAX {
            return Err(AttachError::Full(UES_MAX));
        }
        if self.legs[0].ues.iter().any(|ue| ue.id == config.id) {
            return Err(AttachError::Here(config.id));
        }
        let seed = self.config.seed;
        let id = u64::from(config.id);
        let here = u64::from(self.config.cell_id) << 32 | id;
        let link = Link::new(&config.channel, &self.common.decoder, seed, here);
        let correlation = match config.channel {
            Channel::Fading { correlation, .. } => f64::from(correlation),
            _ => 1.0,
        };
        let noise = Stream::new(seed, Purpose::Mixed, here);
        let reported = link.sinr;
        let phase = self.paths.len() as u64 % u64::from(self.config.cqi_slots);
        let next = self.step * self.step_slots;
        let path = Path { link, noise, reported, phase, next, correlation, aging: Vec::new() };
        self.paths.push(path);
        for (leg, rlc) in self.legs.iter_mut().zip([config.rlc_down, config.rlc_up]) {
            leg.attach(config, rlc, seed, coherence(correlation));
        }
        self.set_decisions();
        Ok(self.paths.len() - 1)
    }

    /// Replaces the slices of a direction.
    pub fn set_slices(&mut self, direction: Direction, set: SliceSet) -> Result<(), SliceError> {
        set.check(self.config.carrier.prbs)?;
        let mut slices = slices(&self.config.carrier, set, direction);
        let leg = &mut self.legs[usize::from(direction == Direction::Up)];
        slices.keep(&leg.slices);
        for hot in &mut leg.hot {
            let id = leg.slices.set.slices[usize::from(hot.slice)].id;
            hot.slice = slices.index(id).unwrap_or(0);
        }
        leg.slices = slices;
        leg.debts = [0.0; SLICES_MAX];
        leg.later.fill([0.0; SLICES_MAX]);
        self.set_decisions();
        Ok(())
    }

    /// Moves a UE to a slice.
    pub fn associate(&mut self, ue: usize, direction: Direction, slice: u32) -> Result<(), SliceError> {
        let leg = &mut self.legs[usize::from(direction == Direction::Up)];
        let index = leg.slices.index(slice).ok_or(SliceError::NoSlice(slice))?;
        if let Some(hot) = leg.hot.get_mut(ue) {
            hot.slice = index;
            leg.weigh();
        }
        Ok(())
    }

    /// Advances virtual time to `now_us`, in whole steps.
    pub fn advance(&mut self, now_us: u64) {
        let step_us = self.step_slots * self.config.carrier.slot_us();
        let end = now_us.saturating_sub(self.config.start_us) / step_us;
        while self.step < end {
            let from_us = self.config.start_us + self.step * step_us;
            self.pass(from_us, step_us);
            self.step += 1;
        }
    }

    /// Returns the statistics of a UE in one direction.
    pub fn stats(&self, ue: usize, direction: Direction) -> Option<FluidStats> {
        let ue = self.legs[usize::from(direction == Direction::Up)].ues.get(ue)?;
        Some(FluidStats { waiting: ue.waiting, ..ue.stats })
    }

    /// Returns the statistics of the slices of a direction. They count the PRBs of slots with data.
    pub fn slice_stats(&self, direction: Direction) -> &[SliceStats] {
        &self.legs[usize::from(direction == Direction::Up)].slices.stats
    }

    /// Sets the number of decisions per step. The UE scheduler with the shortest memory determines it.
    fn set_decisions(&mut self) {
        let weight = self.legs.iter().map(FluidLeg::weight).fold(f64::MIN_POSITIVE, f64::max);
        let longest = (DECISION_WEIGHT / weight).clamp(1.0, HOLD_MAX);
        self.decisions = ((self.step_slots as f64 / longest).ceil() as u64).clamp(1, self.step_slots);
        let hold = self.step_slots as f64 / self.decisions as f64;
        self.paths.iter_mut().for_each(|path| path.age(hold));
        for leg in &mut self.legs {
            for (slice, debt) in leg.debts.iter_mut().enumerate() {
                let later = leg.later.iter_mut().map(|due| std::mem::take(&mut due[slice])).sum::<f64>();
                *debt = (*debt + later) * leg.hold / hold;
            }
            leg.hold = hold;
            leg.slots = hold * self.config.carrier.share(leg.direction);
            leg.slices.hold(hold);
            leg.weigh();
        }
    }

    fn pass(&mut self, from_us: u64, step_us: u64) {
        for leg in &mut self.legs {
            leg.ues.iter_mut().for_each(|ue| ue.arrive(from_us, step_us));
        }
        for decision in 0..self.decisions {
            let first = |decision| self.step * self.step_slots + decision * self.step_slots / self.decisions;
            let from = first(decision);
            let to = first(decision + 1);
            self.decide(from + (self.moments.unit(from) * (to - from) as f64) as u64);
        }
    }

    /// Returns the factor by which the uplink SINR is lower than the downlink SINR.
    pub(super) fn uplink_factor(&self) -> f32 {
        from_db(f64::from(-self.config.uplink_loss_db)) as f32
    }

    fn decide(&mut self, slot: u64) {
        // The division is made once for all UEs.
        let period = u64::from(self.config.cqi_slots);
        let rest = slot % period;
        let [down, up] = &self.legs;
        for ((path, down), up) in self.paths.iter_mut().zip(&down.ues).zip(&up.ues) {
            if down.waiting > 0.0 || up.waiting > 0.0 {
                let since = if rest >= path.phase { rest - path.phase } else { rest + period - path.phase };
                path.pass_to(slot, since);
            }
        }
        let uplink = self.uplink_factor();
        let decoder = &*self.common.decoder;
        for (leg, factor) in self.legs.iter_mut().zip([1.0, uplink]) {
            let sizes = self.common.blocks.sizes(leg.direction, SlotKind::Full);
            for ((hot, ue), path) in leg.hot.iter_mut().zip(&leg.ues).zip(&self.paths) {
                hot.demand = u32::from(ue.waiting > 0.0);
                if hot.demand > 0 {
                    hot.cqi = decoder.cqi(path.reported * factor, hot.cqi);
                    hot.mcs = path.link.fixed_mcs.unwrap_or_else(|| decoder.mcs(hot.cqi));
                    let is_reached = path.link.fixed_mcs.is_some() || hot.cqi > 0;
                    hot.rate = if is_reached { sizes.whole(hot.mcs) as f32 } else { 0.0 };
                }
            }
            let prbs = self.config.carrier.prbs;
            leg.decide(&FluidAir { decoder, paths: &self.paths, draws: DRAWS * slot, factor, prbs });
        }
    }
}

impl FluidLeg {
    fn attach(&mut self, config: &UeConfig, rlc: RlcConfig, seed: u64, coherence: f64) {
        let sum: f32 = self.hot.iter().map(|hot| hot.mean).sum();
        let mean = sum / self.hot.len().max(1) as f32;
        self.hot.push(SchedulerState { mean, live: true, ..SchedulerState::default() });
        let sources = (config.flows.iter().enumerate())
            .filter(|(_, flow)| flow.direction == self.direction || flow.traffic == Traffic::Voip)
            .map(|(index, flow)| FluidSource::new(flow, seed, u64::from(config.id) << 16 | index as u64))
            .collect();
        let UeConfig { id, plmn, snssai, .. } = *config;
        let stats = FluidStats::default();
        let latest = (usize::MAX, 0.0, 0.0);
        self.ues.push(FluidUe { id, plmn, snssai, rlc, coherence, sources, waiting: 0.0, stats, latest });
    }

    /// Returns the weight of a slot in the mean rates, scaled so that [`DECISION_WEIGHT`] also enforces
    /// [`WINNER_WEIGHT`].
    fn weight(&self) -> f64 {
        let ues = self.ues.iter().filter(|ue| !ue.sources.is_empty()).count() as f64;
        let of = |spec: &SliceSpec| {
            let fair = matches!(spec.scheduler, UeScheduler::ProportionalFair { .. });
            let own = if fair { ues * DECISION_WEIGHT / WINNER_WEIGHT } else { 0.0 };
            f64::from(spec.scheduler.forgetting()) * own.max(1.0)
        };
        self.slices.set.slices.iter().map(of).fold(0.0, f64::max)
    }

    /// Sets the weight of a decision in the mean rate of each UE. With this weight, the window contains as many
    /// independent fades as in the slot model.
    fn weigh(&mut self) {
        for (hot, ue) in self.hot.iter_mut().zip(&self.ues) {
            let of_slot = self.slices.set.slices[usize::from(hot.slice)].scheduler.forgetting();
            hot.forgetting = (of_slot * self.hold.min(ue.coherence) as f32).min(0.5);
        }
    }

    fn decide(&mut self, air: &FluidAir<'_>) {
        self.decision += 1;
        let due = std::mem::replace(&mut self.later[self.decision % LATER], [0.0; SLICES_MAX]);
        self.debts.iter_mut().zip(due).for_each(|(debt, due)| *debt += due);
        let owing = (0..).zip(&self.debts).map(|(slice, debt)| u32::from(*debt > 0.0) << slice);
        let active = owing.fold(0, |active, bit| active | bit);
        let active =
            self.hot.iter().fold(active, |active, hot| active | u32::from(hot.is_ready()) << hot.slice);
        if active != 0 || !self.slices.set.sharing {
            self.schedule(active, air);
        }
        for hot in &mut self.hot {
            hot.mean += hot.forgetting * (hot.served as f32 - hot.mean);
            hot.served = 0;
        }
    }

    fn schedule(&mut self, active: u32, air: &FluidAir<'_>) {
        let mut grants = std::mem::take(&mut self.grants);
        if self.slices.follows_demand() {
            let ready = demands(&self.hot, SchedulerState::is_ready);
            let with_debts = std::array::from_fn(|slice| ready[slice].max((active >> slice & 1) as u16));
            self.slices.grant_by_demand(&with_debts, &mut grants);
            let mut left = f64::from(self.slices.prbs);
            for grant in &grants {
                let (used, bytes) = self.serve(grant.slice, left, air);
                let grant = Grant { extra: left.round() as u16, ..*grant };
                self.slices.served(grant, used.round() as u16, bytes);
                left -= used;
            }
            self.grants = grants;
            return;
        }
        self.slices.grant(active, &mut grants);
        let mut rest = 0.0;
        for grant in &grants {
            let granted = grant.prbs + grant.extra;
            let (used, bytes) = self.serve(grant.slice, f64::from(granted), air);
            self.slices.served(*grant, (used.round() as u16).min(granted), bytes);
            rest += f64::from(granted) - used;
        }
        // Other slices use the remaining PRBs, as in the slot model.
        if self.slices.set.sharing {
            for slice in 0..self.slices.set.slices.len() as u8 {
                let (used, bytes) = self.serve(slice, rest, air);
                self.slices.served_rest(slice, used.round() as u16, bytes);
                rest -= used;
            }
        }
        self.grants = grants;
    }

    /// Allocates PRBs to a slice in each slot of the decision. Returns the PRBs used per slot, and the bytes of
    /// transport blocks per slot.
    fn serve(&mut self, slice: u8, prbs: f64, air: &FluidAir<'_>) -> (f64, u32) {
        let debt = &mut self.debts[usize::from(slice)];
        let paid = debt.min(prbs);
        *debt -= paid;
        let mut left = prbs - paid;
        let mut bytes = 0;
        let scheduler = self.slices.set.slices[usize::from(slice)].scheduler;
        while left > 1e-6 {
            let turn = self.slices.turns[usize::from(slice)];
            let Some(ue) = scheduler.pick(&self.hot, turn, |hot| hot.slice == slice && hot.is_ready()) else {
                break;
            };
            self.slices.turns[usize::from(slice)] = ue as u32 + 1;
            let (used, block) = self.send(ue, left, air);
            left -= used;
            bytes += block;
        }
        (prbs - left, bytes)
    }

    /// Sends data of a UE in all slots of the decision, with at most `prbs` per slot. Returns the same values as
    /// [`serve`](Self::serve).
    fn send(&mut self, ue: usize, prbs: f64, air: &FluidAir<'_>) -> (f64, u32) {
        let hot = &mut self.hot[ue];
        let fluid = &mut self.ues[ue];
        hot.demand = 0;
        let block = f64::from(hot.rate) * prbs / f64::from(air.prbs);
        let (rounds, decoded) = air.rounds(&air.paths[ue], hot.mcs);
        let net = (1.0 - SEGMENT_BYTES / f64::from(hot.rate).max(16.0)) * PACKET_SHARE;
        // Bytes of IP that these PRBs can carry in all slots of the decision.
        let most = block * self.slots * net;
        let sent = most.min(fluid.waiting);
        let share = if most > 0.0 { sent / most } else { 1.0 };
        match (decoded, fluid.rlc.mode) {
            (true, _) => {
                fluid.waiting -= sent;
                fluid.stats.delivered += sent;
            }
            (false, RlcMode::Um) => {
                fluid.waiting -= sent;
                fluid.stats.dropped += sent;
            }
            (false, RlcMode::Am) => {}
        }
        // Each retransmission uses the same number of PRBs again, in a later decision.
        for round in 1..rounds {
            let decisions = ((HARQ_SLOTS * round) as f64 / self.hold).ceil() as usize;
            self.later[(self.decision + decisions) % LATER][usize::from(hot.slice)] += prbs * share;
        }
        let blocks = share * self.slots;
        fluid.stats.prbs += prbs * blocks * rounds as f64;
        fluid.stats.retx_prbs += prbs * blocks * (rounds - 1) as f64;
        fluid.stats.blocks += block * blocks;
        fluid.stats.harq[..rounds].iter_mut().for_each(|sent| *sent += blocks);
        fluid.latest = (self.decision, block * share, prbs * share);
        hot.served = (block * share) as u32;
        (prbs * share, hot.served)
    }
}

/// Inputs for the decisions of one direction.
struct FluidAir<'a> {
    decoder: &'a Decoder,
    paths: &'a [Path],
    /// Index of the decision's first number in the random streams.
    draws: u64,
    factor: f32,
    prbs: u16,
}

impl FluidAir<'_> {
    /// Returns the number of transmissions of a block, with chase combining, and whether the block is decoded in the end.
    fn rounds(&self, path: &Path, mcs: u8) -> (usize, bool) {
        let Path { link, aging, noise, .. } = path;
        let mut amplitude = link.amplitude();
        let mut sinr = link.sinr;
        let mut sum = 0.0;
        for round in 1..=HARQ_ROUNDS {
            sum += sinr * self.factor;
            let bits = noise.bits(self.draws + round as u64);
            let bits = if self.factor == 1.0 { bits } else { bits << 16 };
            if self.decoder.decodes(mcs, sum, bits) {
                return (round, true);
            }
            (amplitude, sinr) =
                link.aged(amplitude, aging[HARQ_SLOTS], noise.normals(self.draws + 8 + round as u64));
        }
        (HARQ_ROUNDS, false)
    }
}

/// Random numbers per decision and UE.
const DRAWS: u64 = 16;
/// Number of slots until a retransmission.
const HARQ_SLOTS: usize = 8;
/// Length of [`FluidLeg::later`]: number of decisions until the last retransmission, plus one.
const LATER: usize = HARQ_SLOTS * (HARQ_ROUNDS - 1) + 1;

/// Channel of a UE, sampled in some slots.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) link: Link,
    /// SINR of the last report, which differs from the current SINR.
    reported: f32,
    noise: Stream,
    /// Position of the UE's reporting slot within the report period.
    phase: u64,
    /// Slot after the last computed slot of the link.
    next: u64,
    /// Correlation of the amplitude from slot to slot.
    correlation: f64,
    /// Correlation and innovation of the channel over a number of slots, which is the index.
    aging: Vec<(f32, f32)>,
}

impl Path {
    /// Computes `aging` for the distances in slots that occur often. Two successive decisions are less than two
    /// decision lengths apart.
    fn age(&mut self, hold: f64) {
        let last = HARQ_SLOTS.max(2 * hold.ceil() as usize);
        self.aging = (0..=last).map(|slots| self.over(slots as u64)).collect();
    }

    fn over(&self, slots: u64) -> (f32, f32) {
        let then = if slots == 0 { 1.0 } else { exp(slots as f64 * ln(self.correlation)) };
        (then as f32, ((1.0 - then * then).max(0.0) / 2.0).sqrt() as f32)
    }

    /// Advances to a slot, via the slot of the last report, which is `since` slots earlier.
    fn pass_to(&mut self, slot: u64, since: u64) {
        if since <= slot && slot - since >= self.next {
            self.go(slot - since);
            self.reported = self.link.sinr;
        }
        if slot >= self.next {
            self.go(slot);
        }
    }

    fn go(&mut self, slot: u64) {
        let slots = slot + 1 - self.next;
        let since = self.aging.get(slots as usize).copied().unwrap_or_else(|| self.over(slots));
        self.link.advance_by(slot, since);
        self.next = slot + 1;
    }
}

impl FluidUe {
    /// Adds the bytes that arrive in a step.
    fn arrive(&mut self, from_us: u64, step_us: u64) {
        let mut greedy = false;
        for source in &mut self.sources {
            match source.bytes(from_us, from_us + step_us) {
                Some(bytes) => {
                    self.stats.offered += bytes;
                    self.waiting += bytes;
                }
                None => greedy = true,
            }
        }
        let buffer = f64::from(self.rlc.buffer_bytes);
        if greedy {
            self.waiting = ALWAYS;
        } else if self.waiting > buffer {
            self.stats.dropped += (self.waiting - buffer) * f64::from(u8::from(self.waiting < ALWAYS / 2.0));
            self.waiting = buffer;
        }
    }
}

/// Returns the number of slots after which fading power counts as independent of its earlier value.
fn coherence(correlation: f64) -> f64 {
    let square = correlation * correlation;
    if square < 1.0 { (1.0 + square) / (1.0 - square) } else { f64::MAX }
}
