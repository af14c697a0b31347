//! A cell in coarse steps: the same carrier, channels, slices and UE schedulers, but bytes instead of packets and one
//! decision for many slots. For days, and for fleets.
//!
//! Within a step the channel is sampled once, as it was reported and as it is when the block is sent; the winner of
//! a decision has the PRBs of all slots of the step. Greedy TCP counts as always full: buffers, losses and round
//! trips are what this leaves out.

use super::carrier::{Carrier, Direction, SlotKind};
use super::cell::{CellConfig, CellError, Common, UES_MAX};
use super::channel::{Channel, Link};
use super::flow::{FlowConfig, Traffic};
use super::math::{exp, from_db, ln};
use super::mcs::Decoder;
use super::random::{Purpose, Stream};
use super::slice::{Grant, SLICES_MAX, SliceError, SliceSet, SliceStats, Slices};
use super::ue::{AttachError, UeConfig};
use super::ue_scheduler::Hot;
use crate::link::HARQ_ROUNDS;

/// Slots of a step, at most.
pub const STEP_SLOTS_MAX: u64 = 4096;
/// Bytes that a UE may keep waiting, at most: those of its RLC buffer; greedy ones always have them.
const ALWAYS: f64 = 1e12;
/// Of 1500 bytes of IP, with PDCP's, RLC's and MAC's headers; and what a segment's header takes of a block.
const PACKET_SHARE: f64 = 1500.0 / 1509.0;
const SEGMENT_BYTES: f64 = 8.0;

/// What a UE got in a direction, bytes of IP.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FluidStats {
    /// Offered by its flows; greedy ones not counted.
    pub offered: f64,
    /// Delivered.
    pub delivered: f64,
    /// Dropped because the buffer was full.
    pub dropped: f64,
    /// Waiting; greedy flows not counted.
    pub waiting: f64,
    /// PRBs used, retransmissions included.
    pub prbs: f64,
}

#[derive(Debug)]
struct FluidUe {
    id: u32,
    buffer: f64,
    sources: Vec<Source>,
    waiting: f64,
    stats: FluidStats,
}

/// A flow as a rate.
#[derive(Debug)]
struct Source {
    /// Bytes per second; none for greedy.
    rate: Option<f64>,
    start_us: u64,
    stop_us: u64,
    turns: Option<Turns>,
}

#[derive(Debug)]
struct Turns {
    stream: Stream,
    drawn: u64,
    means_us: [f64; 2],
    random: bool,
    on: bool,
    until_us: f64,
}

/// One direction.
#[derive(Debug)]
struct FluidLeg {
    direction: Direction,
    hot: Vec<Hot>,
    ues: Vec<FluidUe>,
    slices: Slices,
    grants: Vec<Grant>,
    /// Data slots of a step.
    slots: f64,
    /// PRBs of a step that retransmissions still need, by slice: they come before new data.
    debts: [f64; SLICES_MAX],
}

/// A cell in coarse steps.
#[derive(Debug)]
pub struct FluidCell {
    config: CellConfig,
    common: Common,
    links: Vec<Link>,
    aging: Vec<Aging>,
    noise: Vec<Stream>,
    /// Amplitude and SINR when a block is sent, beside the reported ones.
    actual: Vec<((f32, f32), f32)>,
    legs: [FluidLeg; 2],
    step_slots: u64,
    step: u64,
}

impl FluidCell {
    /// A cell that takes `step_slots` (1 to [`STEP_SLOTS_MAX`], cut to it) at once.
    pub fn new(config: CellConfig, step_slots: u64) -> Result<Self, CellError> {
        config.check()?;
        let step_slots = step_slots.clamp(1, STEP_SLOTS_MAX);
        let common = Common::new(&config.carrier);
        let leg = |direction, set: &SliceSet| {
            let slots = step_slots as f64 * config.carrier.share(direction);
            FluidLeg {
                direction,
                hot: Vec::new(),
                ues: Vec::new(),
                slices: coarse_slices(&config.carrier, set, direction, step_slots),
                grants: Vec::new(),
                slots,
                debts: [0.0; SLICES_MAX],
            }
        };
        let legs = [leg(Direction::Down, &config.down), leg(Direction::Up, &config.up)];
        Ok(Self {
            config,
            common,
            links: Vec::new(),
            aging: Vec::new(),
            noise: Vec::new(),
            actual: Vec::new(),
            legs,
            step_slots,
            step: 0,
        })
    }

    /// A UE comes; its index.
    pub fn attach(&mut self, config: &UeConfig) -> Result<usize, AttachError> {
        config.check(self.config.carrier.table.highest())?;
        if self.links.len() >= UES_MAX {
            return Err(AttachError::Full(UES_MAX));
        }
        if self.legs[0].ues.iter().any(|ue| ue.id == config.id) {
            return Err(AttachError::Here(config.id));
        }
        let (seed, id) = (self.config.seed, u64::from(config.id));
        let here = u64::from(self.config.cell_id) << 32 | id;
        let link = Link::new(&config.channel, &self.common.decoder, seed, here);
        let correlation = match config.channel {
            Channel::Fading { correlation, .. } => f64::from(correlation),
            _ => 1.0,
        };
        self.aging.push(Aging::new(correlation, self.config.cqi_slots));
        self.noise.push(Stream::new(seed, Purpose::Mixed, here));
        self.actual.push(((0.0, 0.0), 1.0));
        self.links.push(link.coarse(self.step_slots));
        for (leg, buffer) in
            self.legs.iter_mut().zip([config.rlc_down.buffer_bytes, config.rlc_up.buffer_bytes])
        {
            leg.attach(config, seed, f64::from(buffer), coherence(correlation).min(self.step_slots as f64));
        }
        Ok(self.links.len() - 1)
    }

    /// Replaces the slices of a direction.
    pub fn set_slices(&mut self, direction: Direction, set: SliceSet) -> Result<(), SliceError> {
        set.check(self.config.carrier.prbs)?;
        let mut slices = coarse_slices(&self.config.carrier, &set, direction, self.step_slots);
        let leg = &mut self.legs[usize::from(direction == Direction::Up)];
        slices.keep(&leg.slices);
        for hot in &mut leg.hot {
            let id = leg.slices.set.slices[usize::from(hot.slice)].id;
            hot.slice = slices.index(id).unwrap_or(0);
        }
        leg.slices = slices;
        leg.debts = [0.0; SLICES_MAX];
        Ok(())
    }

    /// Moves a UE to a slice.
    pub fn associate(&mut self, ue: usize, direction: Direction, slice: u32) -> Result<(), SliceError> {
        let leg = &mut self.legs[usize::from(direction == Direction::Up)];
        let index = leg.slices.index(slice).ok_or(SliceError::NoSlice(slice))?;
        if let Some(hot) = leg.hot.get_mut(ue) {
            hot.slice = index;
        }
        Ok(())
    }

    /// Lets time pass until `now_us`, in whole steps.
    pub fn advance(&mut self, now_us: u64) {
        let step_us = self.step_slots * self.config.carrier.slot_us();
        let end = now_us.saturating_sub(self.config.start_us) / step_us;
        while self.step < end {
            let from_us = self.config.start_us + self.step * step_us;
            self.pass(from_us, step_us);
            self.step += 1;
        }
    }

    /// What a UE got.
    pub fn stats(&self, ue: usize, direction: Direction) -> Option<FluidStats> {
        let ue = self.legs[usize::from(direction == Direction::Up)].ues.get(ue)?;
        Some(FluidStats { waiting: ue.waiting, ..ue.stats })
    }

    /// What the slices of a direction got; PRBs of data slots.
    pub fn slice_stats(&self, direction: Direction) -> &[SliceStats] {
        &self.legs[usize::from(direction == Direction::Up)].slices.stats
    }

    fn pass(&mut self, from_us: u64, step_us: u64) {
        let decoder = &self.common.decoder;
        let uplink = from_db(f64::from(-self.config.uplink_loss_db)) as f32;
        for (ue, link) in self.links.iter_mut().enumerate() {
            link.advance(self.step);
            let aging = &self.aging[ue];
            let age = self.noise[ue].bits(DRAWS * self.step) as usize % aging.ages.len();
            let fresh = self.noise[ue].normals(DRAWS * self.step + 1);
            self.actual[ue] = link.aged(link.amplitude(), aging.ages[age], fresh);
            for (leg, factor) in self.legs.iter_mut().zip([1.0, uplink]) {
                let hot = &mut leg.hot[ue];
                hot.cqi = decoder.cqi(link.sinr * factor, hot.cqi);
                hot.mcs = link.fixed_mcs.unwrap_or_else(|| decoder.mcs(hot.cqi));
                let is_reached = link.fixed_mcs.is_some() || hot.cqi > 0;
                let bytes = self.common.blocks.of(leg.direction, SlotKind::Full).whole(hot.mcs);
                hot.rate = if is_reached { bytes as f32 } else { 0.0 };
            }
        }
        for (leg, factor) in self.legs.iter_mut().zip([1.0, uplink]) {
            let air = FluidAir {
                decoder,
                links: &self.links,
                aging: &self.aging,
                noise: &self.noise,
                actual: &self.actual,
                draws: DRAWS * self.step,
                factor,
                prbs: self.config.carrier.prbs,
            };
            leg.pass((from_us, step_us), &air);
        }
    }
}

impl FluidLeg {
    fn attach(&mut self, config: &UeConfig, seed: u64, buffer: f64, forget: f64) {
        let sum: f32 = self.hot.iter().map(|hot| hot.mean).sum();
        let mean = sum / self.hot.len().max(1) as f32;
        // The window holds as many independent fades as it would slot by slot.
        let forgetting =
            (f64::from(self.slices.set.slices[0].scheduler.forgetting()) * forget).min(0.5) as f32;
        self.hot.push(Hot { mean, forgetting, live: true, ..Hot::default() });
        let sources = (config.flows.iter().enumerate())
            .filter(|(_, flow)| flow.direction == self.direction || flow.traffic == Traffic::Voip)
            .map(|(index, flow)| Source::new(flow, seed, u64::from(config.id) << 16 | index as u64))
            .collect();
        let (waiting, stats) = (0.0, FluidStats::default());
        self.ues.push(FluidUe { id: config.id, buffer, sources, waiting, stats });
    }

    fn pass(&mut self, (from_us, step_us): (u64, u64), air: &FluidAir<'_>) {
        let mut active = 0;
        for (ue, hot) in self.ues.iter_mut().zip(&mut self.hot) {
            hot.demand = u32::from(ue.arrive(from_us, step_us));
            active |= u32::from(hot.is_ready()) << hot.slice;
        }
        if active == 0 && self.slices.set.sharing {
            return;
        }
        let mut grants = std::mem::take(&mut self.grants);
        self.slices.grant(active, &mut grants);
        let mut rest = 0.0;
        for grant in &grants {
            let granted = grant.prbs + grant.extra;
            let (used, bytes) = self.serve(grant.slice, f64::from(granted), air);
            self.slices.served(*grant, (used.round() as u16).min(granted), bytes);
            rest += f64::from(granted) - used;
        }
        // Slot by slot others would have had what these leave of the step.
        if self.slices.set.sharing {
            for slice in 0..self.slices.set.slices.len() as u8 {
                let (used, bytes) = self.serve(slice, rest, air);
                self.slices.served_rest(slice, used.round() as u16, bytes);
                rest -= used;
            }
        }
        self.grants = grants;
        for hot in &mut self.hot {
            hot.mean += hot.forgetting * (hot.served as f32 - hot.mean);
            hot.served = 0;
        }
    }

    /// PRBs for a slice in each slot of the step; returns PRBs used and bytes of blocks, per slot.
    fn serve(&mut self, slice: u8, prbs: f64, air: &FluidAir<'_>) -> (f64, u32) {
        let debt = &mut self.debts[usize::from(slice)];
        let paid = debt.min(prbs);
        *debt -= paid;
        let (mut left, mut bytes) = (prbs - paid, 0);
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

    /// A UE takes what it needs of the PRBs, once in a step.
    fn send(&mut self, ue: usize, prbs: f64, air: &FluidAir<'_>) -> (f64, u32) {
        let (hot, fluid) = (&mut self.hot[ue], &mut self.ues[ue]);
        hot.demand = 0;
        let block = f64::from(hot.rate) * prbs / f64::from(air.prbs);
        let tries = air.tries(ue, hot.mcs);
        let net = (1.0 - SEGMENT_BYTES / f64::from(hot.rate).max(16.0)) * PACKET_SHARE;
        // Bytes of IP that these PRBs carry in all slots of the step.
        let most = block * self.slots * net;
        let sent = most.min(fluid.waiting);
        let share = if most > 0.0 { sent / most } else { 1.0 };
        fluid.waiting -= sent;
        fluid.stats.delivered += sent;
        // Retransmissions take as much again, later.
        self.debts[usize::from(hot.slice)] += prbs * share * (tries - 1.0);
        fluid.stats.prbs += prbs * share * self.slots * tries;
        hot.served = (block * share) as u32;
        (prbs * share, hot.served)
    }
}

/// What a direction's decisions of a step are made with.
struct FluidAir<'a> {
    decoder: &'a Decoder,
    links: &'a [Link],
    aging: &'a [Aging],
    noise: &'a [Stream],
    actual: &'a [((f32, f32), f32)],
    /// Index of the step's random numbers.
    draws: u64,
    factor: f32,
    prbs: u16,
}

impl FluidAir<'_> {
    /// Transmissions of a block until it is decoded, with chase combining; RLC begins anew after the last.
    fn tries(&self, ue: usize, mcs: u8) -> f64 {
        let (mut amplitude, mut sinr) = self.actual[ue];
        let mut sum = 0.0;
        for round in 1..=HARQ_ROUNDS as u64 {
            sum += sinr * self.factor;
            let bits = self.noise[ue].bits(self.draws + 1 + round);
            let bits = if self.factor == 1.0 { bits } else { bits << 16 };
            if self.decoder.decodes(mcs, sum, bits) {
                return round as f64;
            }
            let fresh = self.noise[ue].normals(self.draws + 8 + round);
            (amplitude, sinr) = self.links[ue].aged(amplitude, self.aging[ue].again, fresh);
        }
        (HARQ_ROUNDS + 1) as f64
    }
}

/// Random numbers of a step and UE.
const DRAWS: u64 = 16;
/// Slots to a retransmission.
const HARQ_SLOTS: u16 = 8;

/// How a channel has changed since it was reported: correlation and innovation.
#[derive(Debug)]
struct Aging {
    /// By the age of a report in slots.
    ages: Vec<(f32, f32)>,
    /// From a transmission to the next.
    again: (f32, f32),
}

impl Aging {
    fn new(correlation: f64, cqi_slots: u16) -> Self {
        let of = |age: u16| {
            let then = if age == 0 { 1.0 } else { exp(f64::from(age) * ln(correlation)) };
            (then as f32, ((1.0 - then * then).max(0.0) / 2.0).sqrt() as f32)
        };
        Self { ages: (0..cqi_slots).map(of).collect(), again: of(HARQ_SLOTS) }
    }
}

impl FluidUe {
    /// Bytes come in; whether something waits.
    fn arrive(&mut self, from_us: u64, step_us: u64) -> bool {
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
        if greedy {
            self.waiting = ALWAYS;
        } else if self.waiting > self.buffer {
            self.stats.dropped +=
                (self.waiting - self.buffer) * f64::from(u8::from(self.waiting < ALWAYS / 2.0));
            self.waiting = self.buffer;
        }
        self.waiting > 0.0
    }
}

impl Source {
    fn new(flow: &FlowConfig, seed: u64, entity: u64) -> Self {
        let (rate, turns) = match flow.traffic {
            Traffic::OnOff { kbps, on_ms, off_ms, random, .. } if off_ms > 0 => {
                let stream = Stream::new(seed, Purpose::Flow, entity);
                let means_us = [f64::from(off_ms) * 1000.0, f64::from(on_ms) * 1000.0];
                let until_us = flow.start_us as f64;
                let turns = Turns { stream, drawn: 0, means_us, random, on: false, until_us };
                (Some(f64::from(kbps) * 125.0), Some(turns))
            }
            _ => (flow.mean_rate(), None),
        };
        Self { rate, start_us: flow.start_us, stop_us: flow.stop_us, turns }
    }

    /// Bytes of a time; none if it takes what it gets.
    fn bytes(&mut self, from_us: u64, to_us: u64) -> Option<f64> {
        let (from, to) = (from_us.max(self.start_us), to_us.min(self.stop_us));
        if to <= from {
            return Some(0.0);
        }
        let rate = self.rate?;
        let micros = match &mut self.turns {
            Some(turns) => turns.on_time(from as f64, to as f64),
            None => (to - from) as f64,
        };
        Some(rate * micros / 1e6)
    }
}

impl Turns {
    /// How long it is on within a time, µs. Times are asked for in order.
    fn on_time(&mut self, from: f64, to: f64) -> f64 {
        let (mut at, mut sum) = (from, 0.0);
        while at < to {
            if self.until_us <= at {
                self.on = !self.on;
                self.drawn += 1;
                let mean = self.means_us[usize::from(self.on)];
                self.until_us += if self.random { mean * self.stream.exponential(self.drawn) } else { mean };
                continue;
            }
            let end = self.until_us.min(to);
            sum += if self.on { end - at } else { 0.0 };
            at = end;
        }
        sum
    }
}

/// Slots over which fading power is one draw.
fn coherence(correlation: f64) -> f64 {
    let square = correlation * correlation;
    if square < 1.0 { (1.0 + square) / (1.0 - square) } else { f64::MAX }
}

fn coarse_slices(carrier: &Carrier, set: &SliceSet, direction: Direction, slots: u64) -> Slices {
    let mbps_per_byte = 8.0 / carrier.slot_us() as f64 * carrier.share(direction);
    Slices::new(set.clone(), carrier.prbs, mbps_per_byte, slots)
}
