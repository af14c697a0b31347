//! The simulation: one heap of events ordered by (time, sequence) drives sources, ports and hosts.

mod air;
mod host;
mod port;
mod queues;
mod shaping;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use super::chance::Sequences;
use super::error::NetworkError;
use super::network::{Flow, Network, Stage, StageId};
use super::pattern::{INTER_FRAME_GAP_BYTES, Pattern, WIRE_GAP_BYTES};
use super::stats::Delays;
use super::time::{Ps, S};
use air::AirState;
use host::HostState;
use port::{Ended, PortState, Started};

/// The longest simulated time: offsets and waiting stay within 64 bits of picoseconds.
pub(super) const DURATION_PS_MAX: Ps = 1_000_000 * S;
/// Maximum time after the last release for which frames may still travel; frames in flight then are reported
/// as unfinished.
const DRAIN_PS_MAX: Ps = 10 * S;

/// Numbers of reception ports: stages, and from here on sources.
const SOURCES: u32 = 1 << 16;

/// Options of a run in addition to its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Time for which sources send, ps; at most 10^6 s, longer values are reduced to that. Frames in flight
    /// then still arrive.
    pub duration_ps: Ps,
    /// Seed of all random numbers. Each source and stage has its own sequence, by its name: elements that two
    /// networks share get the same numbers in both.
    pub seed: u64,
}

/// Result of a simulation of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// For each flow, in the network's order.
    pub flows: Vec<FlowReport>,
    /// Maximum backlog of each stage: bytes on the wire in a queue of a port, frames at a host, bytes waiting
    /// for the air.
    pub backlog_max: Vec<u64>,
    /// Frames dropped by each stage: its queue was full, or the air interface gave them up.
    pub dropped: Vec<u64>,
    /// Events handled.
    pub events: u64,
    /// A fingerprint of every delivery: equal for equal networks and options, on any machine.
    pub digest: u64,
}

/// Statistics of a flow's frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowReport {
    /// The flow's name.
    pub name: String,
    /// Frames sent; a frame with several copies counts once.
    pub sent: u64,
    /// Frames dropped by full queues or given up by an air interface.
    pub dropped: u64,
    /// Frames neither delivered nor dropped when the run ended.
    pub unfinished: u64,
    /// Copies of frames that had arrived before, which the receiver discarded (IEEE 802.1CB).
    pub duplicates: u64,
    /// Frames that arrived before their receive window.
    pub early: u64,
    /// Frames that arrived after their receive window.
    pub late: u64,
    /// Delay and its variation over the delivered frames.
    pub delays: Delays,
    /// The same up to the radio link after the last wire; `None`: the path does not end with one.
    pub wired: Option<Box<Delays>>,
    /// Delay of each stage of the path, then of each further path.
    pub segments: Vec<Segment>,
}

/// The time that a flow's frames spent at one stage of their way. Over the segments, the sums of `waiting_ps`,
/// `service_ps` and `transit_ps` are the sum of the one-way delays, if no frame was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    /// The stage.
    pub stage: StageId,
    /// Frames that left it.
    pub frames: u64,
    /// In its queue, behind gates, interrupted or behind other work; sum over frames.
    pub waiting_ps: u128,
    /// Time on the line or in processing; sum over frames. With cut-through only until forwarding begins.
    pub service_ps: u128,
    /// In the cable and in the forwarding node; sum over frames.
    pub transit_ps: u128,
    /// The longest wait of a frame.
    pub waiting_ps_max: Ps,
}

/// A network in motion.
#[derive(Debug)]
pub struct Simulation<'n> {
    network: &'n Network,
    heap: BinaryHeap<Event>,
    sequence: u64,
    now: Ps,
    duration_ps: Ps,
    packets: Vec<Packet>,
    free: Vec<u32>,
    stages: Vec<StageState<'n>>,
    flows: Vec<FlowState>,
    events: u64,
    digest: u64,
    /// Recorded deliveries, and their maximum number.
    kept: Vec<Delivery>,
    kept_max: usize,
}

/// A frame that reached its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// When, ps.
    pub at_ps: Ps,
    /// Index of its flow.
    pub flow: u32,
    /// Its number within the flow, from 0.
    pub sequence: u64,
    /// Bytes on the wire.
    pub wire: u32,
}

#[derive(Debug)]
enum StageState<'n> {
    Port(Box<PortState<'n>>),
    Host(Box<HostState<'n>>),
    Air(Box<AirState<'n>>),
}

#[derive(Debug)]
struct FlowState {
    releases: u64,
    frames: u64,
    /// Copies of frames that were dropped.
    dropped: u64,
    duplicates: u64,
    early: u64,
    late: u64,
    /// Index of the first segment of each copy's path.
    first_segment: Vec<usize>,
    /// Bits of the frames that arrived, if there are several copies.
    arrived: Vec<u64>,
    /// Time of the next release of a Poisson flow on its own clock.
    poisson_ps: Ps,
    delays: Delays,
    wired: Option<Box<Delays>>,
    segments: Vec<Segment>,
    random: ChaCha8Rng,
}

/// A frame under way.
#[derive(Debug, Clone, Copy)]
struct Packet {
    flow: u32,
    /// Which copy of the frame, and so which path.
    copy: u8,
    hop: u8,
    class: u8,
    /// Bytes on the wire.
    wire: u32,
    /// Bytes of the MAC frame that the current port has not sent yet.
    left: u32,
    sequence: u64,
    born: Ps,
    /// At the current stage.
    arrived: Ps,
    /// Eligibility time at an asynchronous shaper.
    eligible: Ps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Event {
    at: Ps,
    sequence: u64,
    kind: Kind,
    index: u32,
    mark: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A source releases frames.
    Release,
    /// A packet arrives at its next stage, or at its destination.
    Arrive,
    /// A stage completes its current work; the mark shows whether that changed in the meantime.
    Done,
    /// A stage checks again: a gate moved, credit was restored, or an interrupt fires.
    Wake,
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap's greatest is the next.
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'n> Simulation<'n> {
    /// Checks the network and sets it up at time zero.
    pub fn new(network: &'n Network, options: Options) -> Result<Self, NetworkError> {
        network.check()?;
        let mut sequences = Sequences::new(options.seed);
        let stages = network.stages.iter().map(|stage| {
            let random = sequences.sequence(1, stage.name());
            match stage {
                Stage::Port(port) => StageState::Port(Box::new(PortState::new(port, random))),
                Stage::Host(host) => StageState::Host(Box::new(HostState::new(host, random))),
                Stage::Air(air) => StageState::Air(Box::new(AirState::new(air, random))),
            }
        });
        let stages: Vec<StageState<'_>> = stages.collect();
        let flows = network.flows.iter().map(|flow| FlowState {
            releases: 0,
            frames: 0,
            dropped: 0,
            duplicates: 0,
            early: 0,
            late: 0,
            first_segment: first_segments(flow),
            arrived: Vec::new(),
            poisson_ps: 0,
            delays: Delays::new(),
            wired: ends_with_air(network, &flow.path).then(Box::default),
            segments: flow.paths().flatten().map(|&stage| Segment { stage, ..Segment::default() }).collect(),
            random: sequences.sequence(2, &flow.name),
        });
        let mut simulation = Self {
            network,
            heap: BinaryHeap::with_capacity(1024),
            sequence: 0,
            now: 0,
            duration_ps: options.duration_ps.min(DURATION_PS_MAX),
            packets: Vec::new(),
            free: Vec::new(),
            stages,
            flows: flows.collect(),
            events: 0,
            digest: 0xCBF2_9CE4_8422_2325,
            kept: Vec::new(),
            kept_max: 0,
        };
        for flow in 0..simulation.flows.len() {
            simulation.plan_release(flow);
        }
        Ok(simulation)
    }

    /// Runs to the end and returns the report.
    pub fn run(mut self) -> Report {
        self.drive();
        self.report()
    }

    /// The same, with the first `most` frames that reached their destination, in order.
    pub fn run_keeping(mut self, most: usize) -> (Report, Vec<Delivery>) {
        self.kept_max = most;
        self.drive();
        let kept = std::mem::take(&mut self.kept);
        (self.report(), kept)
    }

    fn drive(&mut self) {
        let end = self.duration_ps + DRAIN_PS_MAX;
        while let Some(event) = self.heap.pop() {
            if event.at > end {
                break;
            }
            self.now = event.at;
            self.events += 1;
            match event.kind {
                Kind::Release => self.release(event.index as usize),
                Kind::Arrive => self.arrive(event.index),
                Kind::Done => self.done(event.index, event.mark),
                Kind::Wake => self.wake(event.index),
            }
        }
    }

    fn plan(&mut self, at: Ps, kind: Kind, index: u32, mark: u32) {
        self.sequence += 1;
        self.heap.push(Event { at, sequence: self.sequence, kind, index, mark });
    }

    /// Plans the next release of a flow, unless it is after the end.
    fn plan_release(&mut self, index: usize) {
        let flow = &self.network.flows[index];
        let state = &mut self.flows[index];
        let due = match flow.pattern {
            Pattern::Poisson { gap_ps, .. } => {
                state.poisson_ps += exponential(gap_ps, state.random.next_u64());
                Some(state.poisson_ps)
            }
            _ => flow.pattern.due(state.releases),
        };
        let Some(due) = due else { return };
        let late = match flow.pattern {
            Pattern::Periodic { jitter_ps, .. } if jitter_ps > 0 => state.random.next_u64() % (jitter_ps + 1),
            _ => 0,
        };
        let at = flow.clock.to_true(flow.offset_ps + due + late).max(self.now);
        if at < self.duration_ps {
            self.plan(at, Kind::Release, index as u32, 0);
        }
    }

    fn release(&mut self, index: usize) {
        let network = self.network;
        let flow = &network.flows[index];
        let release = self.flows[index].releases;
        self.flows[index].releases += 1;
        for &wire in flow.pattern.frames(release) {
            let packet = Packet {
                flow: index as u32,
                copy: 0,
                hop: 0,
                class: flow.class,
                wire,
                left: wire - WIRE_GAP_BYTES,
                sequence: self.flows[index].frames,
                born: self.now,
                arrived: self.now,
                eligible: 0,
            };
            self.flows[index].frames += 1;
            for copy in 0..=flow.replicas.len() {
                // Network::check limits the copies.
                let id = self.keep(Packet { copy: copy as u8, ..packet });
                self.arrive(id);
            }
        }
        self.plan_release(index);
    }

    fn keep(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.packets[id as usize] = packet;
                id
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as u32
            }
        }
    }

    fn arrive(&mut self, id: u32) {
        let packet = &mut self.packets[id as usize];
        packet.arrived = self.now;
        packet.left = packet.wire - WIRE_GAP_BYTES;
        let flow = &self.network.flows[packet.flow as usize];
        let path = flow.path_of(packet.copy);
        let Some(&stage) = path.get(usize::from(packet.hop)) else { return self.deliver(id) };
        let now = self.now;
        // The reception port: that of the stage before, or of the flow's own source.
        let from = match packet.hop.checked_sub(1) {
            Some(before) => u32::from(path[usize::from(before)]),
            None => SOURCES + packet.flow,
        };
        let kept = match &mut self.stages[usize::from(stage)] {
            StageState::Port(port) => {
                let kept = port.enqueue(now, id, (from, flow.regulator), &mut self.packets);
                if kept && let Some((end, mark)) = port.preempt(now, id, &mut self.packets) {
                    self.plan(end, Kind::Done, u32::from(stage), mark);
                }
                kept
            }
            StageState::Host(host) => host.enqueue(id),
            StageState::Air(air) => {
                let Packet { hop, sequence, born, wire, .. } = *packet;
                if let Some(wired) = &mut self.flows[packet.flow as usize].wired
                    && usize::from(hop) + 1 == path.len()
                {
                    wired.record(sequence, born, now, None);
                }
                air.enqueue(id, wire)
            }
        };
        if !kept {
            self.lose(id);
        }
        self.start(stage);
    }

    fn deliver(&mut self, id: u32) {
        let packet = self.packets[id as usize];
        self.free.push(id);
        let flow = &self.network.flows[packet.flow as usize];
        let state = &mut self.flows[packet.flow as usize];
        if !flow.replicas.is_empty() && !state.is_first(packet.sequence) {
            state.duplicates += 1;
            return;
        }
        if let Some(window) = flow.window {
            let delay = self.now - packet.born;
            state.early += u64::from(window.is_early(delay));
            state.late += u64::from(window.is_late(delay));
        }
        if self.kept.len() < self.kept_max {
            let Packet { flow, sequence, wire, .. } = packet;
            self.kept.push(Delivery { at_ps: self.now, flow, sequence, wire });
        }
        state.delays.record(packet.sequence, packet.born, self.now, flow.budget_ps);
        for word in [u64::from(packet.flow), packet.sequence, self.now] {
            self.digest = (self.digest ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }

    /// Starts the next packet of a stage, if possible.
    fn start(&mut self, stage: StageId) {
        let now = self.now;
        match &mut self.stages[usize::from(stage)] {
            StageState::Port(port) => match port.start(now, &mut self.packets) {
                Started::Nothing => {}
                Started::Wait(at) => self.plan(at, Kind::Wake, u32::from(stage), 0),
                Started::Frame { id, end, mark, interruptible } => {
                    self.plan(end, Kind::Done, u32::from(stage), mark);
                    if !interruptible {
                        self.forward(stage, id);
                    }
                }
            },
            StageState::Host(host) => {
                if let Some(at) = host.arm(now) {
                    self.plan(at, Kind::Wake, u32::from(stage), 0);
                } else if let Some(end) = host.start(now) {
                    self.plan(end, Kind::Done, u32::from(stage), 0);
                }
            }
            StageState::Air(air) => {
                if let Some(at) = air.plan(now) {
                    self.plan(at, Kind::Wake, u32::from(stage), 0);
                }
            }
        }
    }

    /// Plans the arrival of a frame whose sending begins now and cannot be interrupted: at its last bit, or behind its
    /// header if the far end does not wait for the rest.
    fn forward(&mut self, stage: StageId, id: u32) {
        let packet = self.packets[id as usize];
        let path = self.network.flows[packet.flow as usize].path_of(packet.copy);
        let next = path.get(usize::from(packet.hop) + 1).map(|&next| &self.network.stages[usize::from(next)]);
        let StageState::Port(state) = &mut self.stages[usize::from(stage)] else { return };
        state.forwarded();
        let header = match next {
            Some(Stage::Port(next)) => state.config.cuts_through(next, packet.class, packet.wire),
            _ => None,
        };
        let bytes = header.unwrap_or(packet.wire - INTER_FRAME_GAP_BYTES);
        let service = u64::from(bytes) * state.ps_per_byte;
        let sending = u64::from(packet.wire - INTER_FRAME_GAP_BYTES) * state.ps_per_byte;
        if state.is_cut(self.now, sending) {
            return self.lose(id);
        }
        self.leave(stage, id, self.now, service);
    }

    fn done(&mut self, stage: u32, mark: u32) {
        let stage = stage as StageId;
        match &mut self.stages[usize::from(stage)] {
            StageState::Port(port) => match port.done(self.now, mark) {
                Ended::Replaced => return,
                Ended::Free => {}
                Ended::LastBit { id, free_at, mark } => {
                    let bytes = self.packets[id as usize].wire - INTER_FRAME_GAP_BYTES;
                    let sending = u64::from(bytes) * port.ps_per_byte;
                    let cut = port.is_cut(self.now - sending, sending);
                    self.plan(free_at, Kind::Done, u32::from(stage), mark);
                    if cut {
                        return self.lose(id);
                    }
                    // Fragments cost more than the frame: what exceeds it counts as waiting.
                    return self.leave(stage, id, self.now - sending, sending);
                }
            },
            StageState::Host(host) => {
                if let Some((id, service)) = host.done() {
                    self.leave(stage, id, self.now - service, service);
                }
            }
            StageState::Air(_) => {}
        }
        self.start(stage);
    }

    /// Records a packet's time at `stage` and passes it on: its service of `service` begins at `from`.
    fn leave(&mut self, stage: StageId, id: u32, from: Ps, service: Ps) {
        let out = from + service;
        let at = match &mut self.stages[usize::from(stage)] {
            StageState::Port(port) => port.arrival(out),
            StageState::Host(_) | StageState::Air(_) => out,
        };
        let packet = &mut self.packets[id as usize];
        let flow = &mut self.flows[packet.flow as usize];
        let first = flow.first_segment[usize::from(packet.copy)];
        let segment = &mut flow.segments[first + usize::from(packet.hop)];
        let waiting = from - packet.arrived;
        segment.frames += 1;
        segment.waiting_ps += u128::from(waiting);
        segment.waiting_ps_max = segment.waiting_ps_max.max(waiting);
        segment.service_ps += u128::from(service);
        segment.transit_ps += u128::from(at - out);
        packet.hop += 1;
        self.plan(at, Kind::Arrive, id, 0);
    }

    fn wake(&mut self, stage: u32) {
        match &mut self.stages[stage as usize] {
            StageState::Port(port) => port.woken(self.now),
            StageState::Host(host) => host.interrupt(),
            StageState::Air(air) => {
                let mut left = Vec::new();
                if let Some(at) = air.transmit(self.now, &mut left) {
                    self.plan(at, Kind::Wake, stage, 0);
                }
                for packet in left {
                    match packet.delivered {
                        Some(at) => self.leave(stage as StageId, packet.id, self.now, at - self.now),
                        None => self.lose(packet.id),
                    }
                }
            }
        }
        self.start(stage as StageId);
    }

    fn lose(&mut self, id: u32) {
        self.flows[self.packets[id as usize].flow as usize].dropped += 1;
        self.free.push(id);
    }

    fn report(self) -> Report {
        let flows = self.flows.into_iter().zip(&self.network.flows).map(|(state, flow)| FlowReport {
            name: flow.name.clone(),
            sent: state.frames,
            dropped: state.frames - state.delays.count() - state.unfinished(flow),
            unfinished: state.unfinished(flow),
            duplicates: state.duplicates,
            early: state.early,
            late: state.late,
            delays: state.delays,
            wired: state.wired,
            segments: state.segments,
        });
        let (backlog_max, dropped) = self
            .stages
            .iter()
            .map(|stage| match stage {
                StageState::Port(port) => (port.backlog_max, port.dropped),
                StageState::Host(host) => (host.backlog_max, host.dropped),
                StageState::Air(air) => (air.backlog_max, air.dropped),
            })
            .unzip();
        Report { flows: flows.collect(), backlog_max, dropped, events: self.events, digest: self.digest }
    }
}

impl FlowState {
    /// Whether no copy of the frame arrived before; notes that one did.
    fn is_first(&mut self, sequence: u64) -> bool {
        let word = (sequence / 64) as usize;
        if word >= self.arrived.len() {
            self.arrived.resize(word + 1, 0);
        }
        let bit = 1 << (sequence % 64);
        let first = self.arrived[word] & bit == 0;
        self.arrived[word] |= bit;
        first
    }

    /// Frames that did not arrive and have a copy that is still under way.
    fn unfinished(&self, flow: &Flow) -> u64 {
        let copies = self.frames * (flow.replicas.len() as u64 + 1);
        let under_way = copies - self.dropped - self.duplicates - self.delays.count();
        under_way.min(self.frames - self.delays.count())
    }
}

/// Index of the first segment of each of a flow's paths.
fn first_segments(flow: &Flow) -> Vec<usize> {
    let mut next = 0;
    let first = |path: &[StageId]| {
        next += path.len();
        next - path.len()
    };
    flow.paths().map(first).collect()
}

/// Whether a path over wired stages ends with a radio link.
fn ends_with_air(network: &Network, path: &[StageId]) -> bool {
    path.len() > 1
        && path.last().is_some_and(|&last| matches!(network.stages[usize::from(last)], Stage::Air(_)))
}

/// An exponential duration of this mean from 64 random bits, at least 1 ps. In integers, because `ln` differs between
/// machines in its last bit.
fn exponential(mean_ps: Ps, random: u64) -> Ps {
    // -log2(u / 2^64) = leading zeros + 1 - log2(mantissa in 1..2), whose digits come by repeated squaring.
    let u = random | 1;
    let zeros = u64::from(u.leading_zeros());
    let mut mantissa = (u << zeros) >> 32;
    let mut fraction: u64 = 0;
    for _ in 0..24 {
        mantissa = (mantissa * mantissa) >> 31;
        fraction <<= 1;
        if mantissa >> 32 != 0 {
            mantissa >>= 1;
            fraction |= 1;
        }
    }
    let log2 = ((zeros + 1) << 24) - fraction;
    // ln 2 in 2^-32.
    (((u128::from(mean_ps) * u128::from(log2) * 2_977_044_472) >> 56) as Ps).max(1)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn exponential_durations_have_their_mean_and_their_median() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut all: Vec<_> = (0..100_001).map(|_| exponential(1_000_000, random.next_u64())).collect();
        all.sort_unstable();
        let mean = all.iter().sum::<Ps>() / all.len() as u64;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        let median = all[50_000];
        assert!((686_000..700_000).contains(&median), "{median}");
    }
}
