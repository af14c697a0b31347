//! An agent and a controller on a faulty stream in virtual time.
use super::{
    AgentEvent, AgentInput, AgentOutput, ControllerInput, ControllerOutput, SouthboundAgent,
    SouthboundController,
};
use crate::Time;
use ranlab_machine::Random;
use std::collections::VecDeque;
use std::time::Duration;

/// Faults of the stream. TCP loses no data. Its faults are segmentation at any byte, delays, resets, and damage by a broken middlebox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamFaults {
    /// Minimum delay of the transmitted bytes.
    pub delay: Duration,
    /// Maximum additional delay, uniformly distributed from 0. The order of bytes is preserved.
    pub jitter: Duration,
    /// Maximum number of bytes that arrive at once.
    pub piece_bytes: usize,
    /// Number of pieces per thousand after which the connection is reset.
    pub reset_permille: u16,
    /// Number of pieces per thousand with a damaged byte.
    pub damage_permille: u16,
    /// Time after which the agent connects again.
    pub reconnect: Duration,
}

impl StreamFaults {
    /// Returns a stream whose only fault is a delay.
    pub const fn delay(delay: Duration) -> Self {
        Self {
            delay,
            jitter: Duration::ZERO,
            piece_bytes: usize::MAX,
            reset_permille: 0,
            damage_permille: 0,
            reconnect: Duration::from_millis(100),
        }
    }
}

#[derive(Debug, Default)]
struct Pipe {
    pieces: VecDeque<(Time, Vec<u8>)>,
    last: Time,
}

/// An agent and its controller. The same seed gives the same run.
#[derive(Debug)]
pub struct StreamPair<A, C: SouthboundController> {
    /// Current time of both endpoints.
    pub now: Time,
    /// State machine of the agent.
    pub agent: A,
    /// State machine of the controller.
    pub controller: C,
    /// Events of the agent, in order.
    pub agent_events: Vec<AgentEvent>,
    /// Events of the controller, in order.
    pub controller_events: Vec<C::Event>,
    /// Numbers of bytes sent by the agent and by the controller.
    pub octets: (u64, u64),
    /// Number of resets of the connection.
    pub resets: u64,
    faults: StreamFaults,
    random: Random,
    pipes: [Pipe; 2],
    connected: bool,
    connect_at: Option<Time>,
}

impl<A: SouthboundAgent, C: SouthboundController> StreamPair<A, C> {
    /// Creates both endpoints in disconnected state. The agent connects at once.
    pub fn new(agent: A, controller: C, faults: StreamFaults, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            agent,
            controller,
            agent_events: Vec::new(),
            controller_events: Vec::new(),
            octets: (0, 0),
            resets: 0,
            faults,
            random: Random::stream(seed, 0),
            pipes: [Pipe::default(), Pipe::default()],
            connected: false,
            connect_at: Some(Time::ZERO),
        }
    }

    /// Runs both endpoints until `end`, and sets the time to `end`.
    pub fn run_until(&mut self, end: Time) {
        loop {
            self.flush();
            let arrivals = self.pipes.iter().filter_map(|pipe| pipe.pieces.front().map(|(at, _)| *at)).min();
            let next = [arrivals, self.connect_at, self.agent.wake_at(), self.controller.wake_at()];
            let Some(next) = next.into_iter().flatten().min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Passes an event to the agent now.
    pub fn tell_agent(&mut self, input: AgentInput<'_>) {
        self.agent.handle(self.now, input);
        self.flush();
    }

    /// Resets the connection. The agent connects again after [`StreamFaults::reconnect`].
    pub fn reset(&mut self) {
        if !self.connected {
            return;
        }
        self.connected = false;
        self.resets += 1;
        self.pipes = [Pipe { last: self.now, ..Pipe::default() }, Pipe { last: self.now, ..Pipe::default() }];
        self.agent.handle(self.now, AgentInput::Closed);
        self.controller.handle(self.now, ControllerInput::Closed);
        self.connect_at = Some(self.now + self.faults.reconnect);
    }

    fn step(&mut self) {
        if self.connect_at.is_some_and(|at| at <= self.now) {
            self.connect_at = None;
            self.connected = true;
            self.agent.handle(self.now, AgentInput::Connecting);
            self.agent.handle(self.now, AgentInput::Connected);
            self.controller.handle(self.now, ControllerInput::Connected);
        }
        for side in 0..2 {
            while let Some((at, _)) = self.pipes[side].pieces.front()
                && *at <= self.now
            {
                let Some((_, mut piece)) = self.pipes[side].pieces.pop_front() else { break };
                if self.random.below(1000) < self.faults.damage_permille.into() {
                    let at = self.random.below(piece.len() as u64) as usize;
                    piece[at] ^= 1 << self.random.below(8);
                }
                match side {
                    0 => self.controller.handle(self.now, ControllerInput::Received(&piece)),
                    _ => self.agent.handle(self.now, AgentInput::Received(&piece)),
                }
                if self.random.below(1000) < self.faults.reset_permille.into() {
                    self.flush();
                    self.reset();
                    return;
                }
            }
        }
        self.agent.handle(self.now, AgentInput::Wake);
        self.controller.handle(self.now, ControllerInput::Wake);
    }

    fn flush(&mut self) {
        let mut closed = false;
        while let Some(output) = self.agent.poll() {
            match output {
                AgentOutput::Send { octets, .. } => self.send(0, octets),
                AgentOutput::Close => closed = true,
                AgentOutput::Event(event) => self.agent_events.push(event),
            }
        }
        while let Some(output) = self.controller.poll() {
            match output {
                ControllerOutput::Send(octets) => self.send(1, octets),
                ControllerOutput::Close => closed = true,
                ControllerOutput::Event(event) => self.controller_events.push(event),
            }
        }
        if closed {
            self.reset();
        }
    }

    fn send(&mut self, side: usize, octets: Vec<u8>) {
        match side {
            0 => self.octets.0 += octets.len() as u64,
            _ => self.octets.1 += octets.len() as u64,
        }
        if !self.connected {
            return;
        }
        let mut rest = &octets[..];
        while !rest.is_empty() {
            let longest = rest.len().min(self.faults.piece_bytes.max(1)) as u64;
            let (piece, tail) = rest.split_at(1 + self.random.below(longest) as usize);
            rest = tail;
            let jitter_ns = u64::try_from(self.faults.jitter.as_nanos()).unwrap_or(u64::MAX);
            let jitter = Duration::from_nanos(self.random.below(jitter_ns.saturating_add(1).max(1)));
            let pipe = &mut self.pipes[side];
            pipe.last = pipe.last.max(self.now + self.faults.delay + jitter);
            pipe.pieces.push_back((pipe.last, piece.to_vec()));
        }
    }
}
