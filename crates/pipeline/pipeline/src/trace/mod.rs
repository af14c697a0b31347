//! Generates the traffic of a pipeline. The result depends only on configuration and seed, not on the number of
//! threads.
//!
//! A pipeline's `frame` builds a flow's packets from the flow's random stream. The number of active flows, their
//! popularity and the packet lengths are chosen here, independent of table sizes.
pub(crate) mod frames;
mod headers;
mod sizes;

pub use headers::{Headers, HeadersError, RuleMatches, are_headers};
pub use sizes::{FCS_BYTES, Popularity, Sizes};

use crate::declare::{Direction, Port};
use crate::engine::{BURST, Burst, prefetch};
use crate::pipelines::{ParameterError, Pipeline};
use ranlab_machine::Random;
use serde::{Deserialize, Serialize};
use sizes::Picker;

/// Size of a cache line, in bytes.
const LINE: usize = 64;
/// Number of packets per random stream. Threads divide a trace into units of this size.
const CHUNK_PACKETS: u64 = 1024;
/// Minimum number of packets of a trace whose length follows the table size, as in TIPSY.
const PACKETS_LEAST: u64 = 1024;
/// Maximum number of packets in a trace: 16 Mi packets of 64 bytes are 1 GiB.
pub const PACKETS_MAX: u64 = 1 << 24;
/// Minimum frame length, in bytes: Ethernet, IPv4 and TCP headers.
pub const FRAME_BYTES_MIN: u16 = 54;
/// Maximum frame length without tunnel headers and FCS, in bytes.
pub const FRAME_BYTES_MAX: u16 = 1518;

/// Directions of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// Packets from users to the network.
    #[default]
    Uplink,
    /// Packets from the network to users.
    Downlink,
    /// Both directions, alternating packet by packet.
    Bidir,
}

/// Configuration of the traffic. Parameters that TIPSY also has keep TIPSY's names and defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Frame length at the user without FCS, in bytes. Tunnel headers are added.
    pub pkt_size: u16,
    /// Number of packets in the trace. 0: one per table entry, and at least 1024.
    pub pkt_num: u64,
    /// Directions of the packets.
    pub dir: Directions,
    /// Number of generating threads, which does not affect the result. 0: the number of CPUs of the machine.
    pub thread: usize,
    /// Seed of the traffic. Every value is valid, including 0.
    pub random_seed: u64,
    /// Number of active flows. 0: one per table entry.
    pub flows: u64,
    /// Distribution of packets over flows.
    pub popularity: Popularity,
    /// Distribution of packet lengths.
    pub sizes: Sizes,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            pkt_size: 64,
            pkt_num: 10,
            dir: Directions::Uplink,
            thread: 0,
            random_seed: 1,
            flows: 0,
            popularity: Popularity::Uniform,
            sizes: Sizes::Fixed,
        }
    }
}

/// The reason why a trace cannot be generated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The pipeline is invalid.
    #[error(transparent)]
    Pipeline(#[from] ParameterError),
    /// A frame length is too small for headers, or too large for Ethernet.
    #[error("pkt-size is {0}; allowed are {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes")]
    Size(u16),
    /// Too many packets or flows.
    #[error("{parameter} is {value}; at most {PACKETS_MAX} are allowed")]
    Number {
        /// Name of the parameter.
        parameter: &'static str,
        /// Given value, or value derived from the table size.
        value: u64,
    },
    /// An exponent that gives no distribution.
    #[error("the Zipf exponent is {0}; allowed are 0 to 4")]
    Exponent(f64),
}

/// Packets in the order of sending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

/// Offset of a packet, its ingress port (one bit) and its length (16 bits) in one word. A replayed trace is read from
/// memory, and separate fields would need three times as many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    fn new(offset: usize, port: Port, length: u16) -> Self {
        Self((offset as u64) << 17 | (port as u64) << 16 | u64::from(length))
    }

    /// Returns the port and the bytes of the packet.
    #[inline(always)]
    fn port_and_packet(self, bytes: &[u8]) -> (Port, &[u8]) {
        let port = if self.0 & 0x1_0000 == 0 { Port::Access } else { Port::Core };
        let offset = (self.0 >> 17) as usize;
        let length = usize::from(self.0 as u16);
        (port, &bytes[offset..offset + length])
    }
}

impl Trace {
    /// Generates the trace of a pipeline.
    pub fn generate(pipeline: &Pipeline, traffic: &Traffic) -> Result<Self, TrafficError> {
        let plan = Plan::new(pipeline, traffic)?;
        let chunks = plan.packets.div_ceil(CHUNK_PACKETS);
        let threads = match traffic.thread {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        let threads = (threads as u64).clamp(1, chunks.max(1));
        if threads == 1 {
            let mut trace = Self::default();
            (0..chunks).for_each(|chunk| plan.chunk(chunk, &mut trace));
            return Ok(trace);
        }
        let mut parts: Vec<Self> = vec![Self::default(); threads as usize];
        std::thread::scope(|scope| {
            for (part, index) in parts.iter_mut().zip(0..) {
                let plan = &plan;
                let chunks = chunks * index / threads..chunks * (index + 1) / threads;
                scope.spawn(move || chunks.for_each(|chunk| plan.chunk(chunk, part)));
            }
        });
        let mut whole = Self::default();
        for part in &parts {
            part.iter().for_each(|(port, frame)| whole.push(port, frame));
        }
        Ok(whole)
    }

    /// Appends a frame.
    pub fn push(&mut self, port: Port, frame: &[u8]) {
        let length = u16::try_from(frame.len()).unwrap_or(u16::MAX);
        self.entries.push(Entry::new(self.bytes.len(), port, length));
        self.bytes.extend_from_slice(&frame[..usize::from(length)]);
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the trace is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the ingress port and the bytes of packet `index`.
    #[must_use]
    pub fn packet(&self, index: usize) -> Option<(Port, &[u8])> {
        Some(self.entries.get(index)?.port_and_packet(&self.bytes))
    }

    /// Returns at most `count` packets from `first` on.
    #[inline]
    pub fn range(&self, first: usize, count: usize) -> impl Iterator<Item = (Port, &[u8])> {
        let first = first.min(self.entries.len());
        let last = first.saturating_add(count).min(self.entries.len());
        self.entries[first..last].iter().map(|entry| entry.port_and_packet(&self.bytes))
    }

    /// Clears a burst and copies packets into it, from `first` on. Returns the number of copied packets.
    ///
    /// Also prefetches the packets of the next burst, which wraps around at the end of the trace. A network card writes
    /// received packets into the cache. Without prefetching, every burst would begin by waiting for memory.
    #[inline]
    pub fn load(&self, first: usize, burst: &mut Burst) -> usize {
        let after = first.saturating_add(BURST);
        let mut next = self.range(if after < self.len() { after } else { 0 }, BURST);
        burst.clear();
        burst.fill(self.range(first, BURST).inspect(|_| {
            if let Some((_, frame)) = next.next() {
                // Prefetching the end of the previous frame also covers the start of a short next frame.
                frame.last().into_iter().for_each(prefetch);
                if frame.len() > LINE {
                    prefetch(&frame[0]);
                }
            }
        }))
    }

    /// Returns all packets in order.
    pub fn iter(&self) -> impl Iterator<Item = (Port, &[u8])> {
        self.entries.iter().map(|entry| entry.port_and_packet(&self.bytes))
    }
}

/// A traffic configuration after resolving its defaults.
struct Plan<'a> {
    pipeline: &'a Pipeline,
    traffic: &'a Traffic,
    packets: u64,
    picker: Picker,
}

impl<'a> Plan<'a> {
    fn new(pipeline: &'a Pipeline, traffic: &'a Traffic) -> Result<Self, TrafficError> {
        pipeline.check()?;
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&traffic.pkt_size) {
            return Err(TrafficError::Size(traffic.pkt_size));
        }
        let entries = match traffic.dir {
            Directions::Uplink => pipeline.table_entries(Direction::Uplink),
            Directions::Downlink => pipeline.table_entries(Direction::Downlink),
            Directions::Bidir => {
                pipeline.table_entries(Direction::Uplink).max(pipeline.table_entries(Direction::Downlink))
            }
        };
        let packets = if traffic.pkt_num == 0 { entries.max(PACKETS_LEAST) } else { traffic.pkt_num };
        let flows = if traffic.flows == 0 { entries.max(1) } else { traffic.flows };
        for (parameter, value) in [("pkt-num", packets), ("flows", flows)] {
            if value > PACKETS_MAX {
                return Err(TrafficError::Number { parameter, value });
            }
        }
        let picker = Picker::new(traffic.popularity, flows).ok_or(match traffic.popularity {
            Popularity::Zipf { exponent } => TrafficError::Exponent(exponent),
            Popularity::Uniform => TrafficError::Exponent(0.0),
        })?;
        Ok(Self { pipeline, traffic, packets, picker })
    }

    fn chunk(&self, chunk: u64, out: &mut Trace) {
        let seed = self.traffic.random_seed;
        let mut random = Random::stream(seed, chunk);
        let first = chunk * CHUNK_PACKETS;
        for number in first..(first + CHUNK_PACKETS).min(self.packets) {
            let direction = match self.traffic.dir {
                Directions::Uplink => Direction::Uplink,
                Directions::Downlink => Direction::Downlink,
                Directions::Bidir if number % 2 == 0 => Direction::Uplink,
                Directions::Bidir => Direction::Downlink,
            };
            let flow = self.picker.pick(&mut random);
            let size = self.traffic.sizes.pick(self.traffic.pkt_size, &mut random);
            // The streams of flows and chunks must differ, so the seed of a flow's stream is the complement.
            let mut of_flow = Random::stream(!seed, flow);
            let frame = self.pipeline.frame((direction, flow), &mut of_flow, size.into());
            out.push(direction.ingress(), &frame);
        }
    }
}
