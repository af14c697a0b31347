//! Simulation engine: events, ordered by (time, sequence), drive sources, ports and hosts.

mod air;
mod events;
mod flows;
mod host;
mod port;
mod queues;
mod report;
mod shaping;

use rand::RngCore;

use super::error::NetworkError;
use super::network::{Network, Stage, StageId};
use super::pattern::{INTER_FRAME_GAP_BYTES, Pattern, WIRE_GAP_BYTES};
use super::random::Sequences;
use super::time::{Ps, S};
pub use report::{Delivery, FlowReport, Report, Segment};

use air::AirState;
use events::{Events, Kind};
use flows::{FlowState, exponential};
use host::HostState;
use port::{Ended, PortState, TransmitOutcome};

/// Maximum simulated time. With it, offsets and waiting times fit 64 bits of picoseconds.
pub(super) const DURATION_PS_MAX: Ps = 1_000_000 * S;
/// Maximum time after the last release in which frames may still travel. Frames in flight after this time are reported as unfinished.
const DRAIN_PS_MAX: Ps = 10 * S;

/// Offset of the sources in the numbers of reception ports. Smaller numbers are stages.
const SOURCES: u32 = 1 << 16;

/// Options of a run in addition to its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Time for which sources send, in ps. Values above 10^6 s are reduced to 10^6 s. Frames in flight at the end still arrive.
    pub duration_ps: Ps,
    /// Seed of all random numbers. Each source and stage has a separate sequence that depends on its name. Elements that exist in two
    /// networks therefore get the same numbers in both.
    pub seed: u64,
}

/// Network with its state during a simulation.
#[derive(Debug)]
pub struct Simulation<'n> {
    network: &'n Network,
    planned: Events,
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

#[derive(Debug)]
enum StageState<'n> {
    Port(Box<PortState<'n>>),
    Host(Box<HostState<'n>>),
    Air(Box<AirState<'n>>),
}

/// Frame in flight.
#[derive(Debug, Clone, Copy)]
struct Packet {
    flow: u32,
    /// Number of the frame's copy, which determines its path.
    copy: u8,
    hop: u8,
    class: u8,
    /// Bytes on the wire.
    wire: u32,
    /// Bytes of the MAC frame that the current port has not sent yet.
    left: u32,
    /// Index of the current segment in its flow's statistics.
    segment: u32,
    sequence: u64,
    born: Ps,
    /// Arrival time at the current stage.
    arrived: Ps,
    /// Time at which the frame becomes eligible at an asynchronous shaper.
    eligible: Ps,
}

impl<'n> Simulation<'n> {
    /// Checks the network and creates its state at time zero.
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
        let flows = network.flows.iter().map(|flow| {
            let random = sequences.sequence(2, &flow.name);
            FlowState::new(network, flow, random)
        });
        let mut simulation = Self {
            network,
            planned: Events::new(),
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

    /// Runs the simulation to its end and returns the report.
    pub fn run(mut self) -> Report {
        self.drive();
        self.report()
    }

    /// Like [`run`](Self::run). Also returns the first `most` frames that reached their destination, in order of arrival.
    pub fn run_keeping(mut self, most: usize) -> (Report, Vec<Delivery>) {
        self.kept_max = most;
        self.drive();
        let kept = std::mem::take(&mut self.kept);
        (self.report(), kept)
    }

    fn drive(&mut self) {
        let end = self.duration_ps + DRAIN_PS_MAX;
        while let Some(event) = self.planned.next(end) {
            self.now = event.at;
            self.events += 1;
            match event.kind() {
                Kind::Release => self.release(event.index as usize),
                Kind::Arrive => self.arrive(event.index),
                Kind::Done => self.done(event.index, event.mark),
                Kind::Wake => self.wake(event.index),
            }
        }
    }

    #[inline(always)]
    fn plan(&mut self, at: Ps, kind: Kind, index: u32, mark: u32) {
        self.planned.plan(at, kind, index, mark);
    }

    /// Plans the next release of a flow, unless it is after the end of the run.
    fn plan_release(&mut self, index: usize) {
        let flow = &self.network.flows[index];
        let state = &mut self.flows[index];
        let due_ps = match flow.pattern {
            Pattern::Poisson { gap_ps, .. } => {
                state.poisson_ps += exponential(gap_ps, state.random.next_u64());
                Some(state.poisson_ps)
            }
            _ => flow.pattern.due(state.releases),
        };
        let Some(due_ps) = due_ps else { return };
        let late = match flow.pattern {
            Pattern::Periodic { jitter_ps, .. } if jitter_ps > 0 => state.random.next_u64() % (jitter_ps + 1),
            _ => 0,
        };
        let at = flow.clock.to_true(flow.offset_ps + due_ps + late).max(self.now);
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
                segment: 0,
                sequence: self.flows[index].frames,
                born: self.now,
                arrived: self.now,
                eligible: 0,
            };
            self.flows[index].frames += 1;
            self.flows[index].copies += 1;
            let id = self.keep(packet);
            self.arrive(id);
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

    #[inline(always)]
    fn arrive(&mut self, id: u32) {
        let flow = &self.network.flows[self.packets[id as usize].flow as usize];
        if !flow.replicas.is_empty() && !self.replicate(id) {
            return;
        }
        self.pass(id);
    }

    /// Copies a frame where its paths diverge. Discards it where they merge if another copy was there before. Returns `false` if the frame
    /// was discarded.
    fn replicate(&mut self, id: u32) -> bool {
        let packet = self.packets[id as usize];
        let flow = &self.network.flows[packet.flow as usize];
        let hop = usize::from(packet.hop);
        let state = &mut self.flows[packet.flow as usize];
        if hop + flow.shared.tail == flow.path_of(packet.copy).len() && !state.is_first(packet.sequence) {
            state.duplicates += 1;
            self.free.push(id);
            return false;
        }
        if hop == flow.shared.head && packet.copy == 0 {
            for copy in 1..=flow.replicas.len() {
                let flow = &mut self.flows[packet.flow as usize];
                flow.copies += 1;
                let segment = flow.first_segment[copy] as u32 + u32::from(packet.hop);
                // `Network::check` limits the number of copies.
                let id = self.keep(Packet { copy: copy as u8, segment, ..packet });
                self.pass(id);
            }
        }
        true
    }

    /// Adds a packet to the queue of its next stage, or delivers it.
    #[inline(always)]
    fn pass(&mut self, id: u32) {
        let packet = &mut self.packets[id as usize];
        packet.arrived = self.now;
        packet.left = packet.wire - WIRE_GAP_BYTES;
        let flow = &self.network.flows[packet.flow as usize];
        let path = flow.path_of(packet.copy);
        let Some(&stage) = path.get(usize::from(packet.hop)) else { return self.deliver(id) };
        let now = self.now;
        // The number of the reception port is the number of the previous stage. At the first stage, it is derived from the flow.
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

    #[inline(always)]
    fn deliver(&mut self, id: u32) {
        let packet = self.packets[id as usize];
        self.free.push(id);
        let flow = &self.network.flows[packet.flow as usize];
        let state = &mut self.flows[packet.flow as usize];
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

    /// Starts the next packet of a stage, if the stage is free.
    fn start(&mut self, stage: StageId) {
        let now = self.now;
        match &mut self.stages[usize::from(stage)] {
            StageState::Port(port) => match port.start(now, &mut self.packets) {
                TransmitOutcome::Nothing => {}
                TransmitOutcome::Wait(at) => self.plan(at, Kind::Wake, u32::from(stage), 0),
                TransmitOutcome::Frame { id, end, mark, interruptible } => {
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

    /// Plans the arrival of a frame whose transmission begins now and cannot be interrupted. The frame arrives with its last bit, or after
    /// its header if the far end does not wait for the remaining bytes.
    #[inline(always)]
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
        let at = state.arrival(self.now + service);
        self.leave(id, self.now, service, at);
    }

    #[inline(always)]
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
                    let at = if cut { self.now } else { port.arrival(self.now) };
                    self.plan(free_at, Kind::Done, u32::from(stage), mark);
                    if cut {
                        return self.lose(id);
                    }
                    // The transmission of fragments takes longer than that of the whole frame. The difference counts as waiting.
                    return self.leave(id, self.now - sending, sending, at);
                }
            },
            StageState::Host(host) => {
                if let Some((id, service)) = host.done() {
                    self.leave(id, self.now - service, service, self.now);
                }
            }
            StageState::Air(_) => {}
        }
        self.start(stage);
    }

    /// Records a packet's time at its stage and moves the packet to its next stage, where it arrives at `at`. The packet's service begins at
    /// `from` and takes `service`.
    #[inline(always)]
    fn leave(&mut self, id: u32, from: Ps, service: Ps, at: Ps) {
        let packet = &mut self.packets[id as usize];
        let segment = &mut self.flows[packet.flow as usize].segments[packet.segment as usize];
        let waiting = from - packet.arrived;
        segment.frames += 1;
        segment.waiting_ps += u128::from(waiting);
        segment.waiting_ps_max = segment.waiting_ps_max.max(waiting);
        segment.service_ps += u128::from(service);
        segment.transit_ps += u128::from(at - from - service);
        packet.hop += 1;
        packet.segment += 1;
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
                        Some(at) => self.leave(packet.id, self.now, at - self.now, at),
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
        let flows = self.flows.into_iter().zip(&self.network.flows).map(|(state, flow)| state.report(flow));
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
