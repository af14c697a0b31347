//! Traffic flows over a UE's bearer.

mod cubic;

use std::collections::VecDeque;
use std::sync::Arc;

use super::carrier::Direction;
use super::histogram::Histogram;
use super::random::{Purpose, Stream};
use super::rlc::Packet;
use cubic::{ACK_IP_BYTES, Cubic, SEGMENT_IP_BYTES};

/// Source and destination of a flow's packets, as a classifier sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FiveTuple {
    /// IPv4 source address.
    pub source: u32,
    /// IPv4 destination address.
    pub destination: u32,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Protocol: 6 TCP, 17 UDP.
    pub protocol: u8,
}

/// Kind of traffic that a flow sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// G.711 as irtt sends it: 172 bytes of UDP payload each 20 ms, echoed by the other side.
    Voip,
    /// TCP with CUBIC that always has something to send.
    GreedyTcp {
        /// Receive window, bytes, 3000 to [`RECEIVE_WINDOW_MAX`].
        receive_window_bytes: u32,
    },
    /// The buffer is never empty; for carriers at their limit without a flow's cost.
    FullBuffer,
    /// Packets of one size at a constant rate, on and off in turns.
    OnOff {
        /// Rate while on, kbit/s of IP, 1 to 10,000,000.
        kbps: u32,
        /// Size of an IP packet, bytes, 40 to 9000.
        packet_bytes: u32,
        /// Mean time on, ms, 1 at least.
        on_ms: u32,
        /// Mean time off, ms; zero for always on.
        off_ms: u32,
        /// Whether times are exponential with these means, or exactly these.
        random: bool,
    },
    /// Packets at given times.
    Trace {
        /// Times from the start of the flow, µs, ascending, and sizes of IP packets, bytes.
        packets: Arc<[(u64, u32)]>,
        /// Start again this many µs after the last packet; zero: send once.
        repeat_us: u64,
    },
}

/// Largest receive window of TCP, bytes.
pub const RECEIVE_WINDOW_MAX: u32 = 64_000_000;
/// Largest IP packet, bytes.
pub const PACKET_BYTES_MAX: u32 = 9000;
/// VoIP: IP, UDP and 172 bytes, and the interval.
const VOIP_IP_BYTES: u32 = 200;
const VOIP_INTERVAL_US: u64 = 20_000;
/// Full buffer: number of packets kept in the queue.
const FULL_PACKETS: u32 = 256;
/// Maximum packets of a flow per visit, so that an endless burst does not block other flows.
const BURST_MAX: usize = 256;

/// A flow of a UE.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowConfig {
    /// Direction of the data; responses travel in the other direction.
    pub direction: Direction,
    /// Addresses of the data's packets.
    pub tuple: FiveTuple,
    /// Kind of traffic.
    pub traffic: Traffic,
    /// First packet, µs on the cell's clock.
    pub start_us: u64,
    /// No packet at or after this time, µs.
    pub stop_us: u64,
    /// Whether to keep distributions of round trips and sojourn times.
    pub measured: bool,
}

impl FlowConfig {
    /// A downlink flow that never ends, from time zero.
    pub fn new(traffic: Traffic) -> Self {
        let direction = Direction::Down;
        let tuple = FiveTuple::default();
        Self { direction, tuple, traffic, start_us: 0, stop_us: u64::MAX, measured: false }
    }
}

/// Reason why a flow is invalid: an error of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// A number out of bounds.
    #[error("{what} is {given}; {allowed} is allowed")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// The given value.
        given: u64,
        /// Allowed.
        allowed: &'static str,
    },
    /// A trace that is not ascending, is empty or repeats before its end.
    #[error("a trace has packets at ascending times, and repeats after the last of them or not")]
    Trace,
}

impl FlowConfig {
    /// Checks that the flow is valid.
    pub fn check(&self) -> Result<(), FlowError> {
        let number = |what, given: u32, range: std::ops::RangeInclusive<u32>, allowed| {
            let given_u64 = u64::from(given);
            if range.contains(&given) {
                Ok(())
            } else {
                Err(FlowError::Number { what, given: given_u64, allowed })
            }
        };
        let size = |bytes| number("the packet's size", bytes, 40..=PACKET_BYTES_MAX, "40 to 9000 bytes");
        match &self.traffic {
            Traffic::Voip | Traffic::FullBuffer => Ok(()),
            Traffic::GreedyTcp { receive_window_bytes } => {
                let range = 3000..=RECEIVE_WINDOW_MAX;
                number("the receive window", *receive_window_bytes, range, "3000 to 64000000 bytes")
            }
            Traffic::OnOff { kbps, packet_bytes, on_ms, .. } => {
                number("the rate", *kbps, 1..=10_000_000, "1 to 10000000 kbit/s")?;
                number("the time on", *on_ms, 1..=u32::MAX, "1 ms or more")?;
                size(*packet_bytes)
            }
            Traffic::Trace { packets, repeat_us } => {
                let ascending = packets.windows(2).all(|pair| pair[0].0 <= pair[1].0);
                let end = packets.last().ok_or(FlowError::Trace)?.0;
                if !ascending || (*repeat_us > 0 && *repeat_us <= end) {
                    return Err(FlowError::Trace);
                }
                packets.iter().try_for_each(|(_, bytes)| size(*bytes))
            }
        }
    }

    /// Mean rate of IP in the flow's direction while it is active, bytes per second; `None` for a greedy
    /// flow.
    pub(crate) fn mean_rate(&self) -> Option<f64> {
        match &self.traffic {
            Traffic::Voip => Some(f64::from(VOIP_IP_BYTES) * 1e6 / VOIP_INTERVAL_US as f64),
            Traffic::GreedyTcp { .. } | Traffic::FullBuffer => None,
            Traffic::OnOff { kbps, on_ms, off_ms, .. } => {
                let on = f64::from(*on_ms);
                let off = f64::from(*off_ms);
                Some(f64::from(*kbps) * 125.0 * on / (on + off))
            }
            Traffic::Trace { packets, repeat_us } => {
                let bytes: u64 = packets.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
                let span =
                    if *repeat_us > 0 { *repeat_us } else { packets.last().map_or(1, |last| last.0.max(1)) };
                Some(bytes as f64 * 1e6 / span as f64)
            }
        }
    }
}

/// Counters of a flow. Bytes include the IP header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowStats {
    /// Packets and bytes sent.
    pub sent: (u64, u64),
    /// Packets and bytes that arrived at the other side.
    pub delivered: (u64, u64),
    /// Packets dropped by a queue, a policer or the air.
    pub dropped: u64,
    /// Number of window reductions and of timeouts of TCP.
    pub reductions: (u64, u64),
    /// Round trips, if the flow is measured.
    pub rtt: Option<Box<Histogram>>,
    /// Sojourn times in the queues of traffic control, recorded under the same condition.
    pub tc_sojourn: Option<Box<Histogram>>,
    /// Sojourn times in RLC until the last byte was sent, recorded under the same condition.
    pub rlc_sojourn: Option<Box<Histogram>>,
}

/// State of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) config: FlowConfig,
    pub(crate) stats: FlowStats,
    index: u16,
    next_us: u64,
    seq: u32,
    sender: Option<Box<Cubic>>,
    /// Answers between the base station and the server, by the time they arrive.
    wire: VecDeque<(u64, Packet)>,
    /// TCP: segments received and not acknowledged, and the last of them.
    received: (u32, Option<Packet>),
    /// Full buffer: packets in the queue.
    queued: u32,
    turns: OnOffState,
}

/// On and off.
#[derive(Debug, Clone, Copy)]
struct OnOffState {
    stream: Stream,
    drawn: u64,
    off_at_us: u64,
}

impl Flow {
    pub(crate) fn new(config: FlowConfig, index: u16, seed: u64, ue: u64, now_us: u64) -> Self {
        let stream = Stream::new(seed, Purpose::Flow, ue << 16 | u64::from(index));
        let start = config.start_us.max(now_us);
        let mut stats = FlowStats::default();
        if config.measured {
            stats.rtt = Some(Box::default());
            stats.tc_sojourn = Some(Box::default());
            stats.rlc_sojourn = Some(Box::default());
        }
        let sender = match config.traffic {
            Traffic::GreedyTcp { receive_window_bytes } => Some(Box::new(Cubic::new(receive_window_bytes))),
            _ => None,
        };
        let turns = OnOffState { stream, drawn: 0, off_at_us: 0 };
        let mut flow = Self {
            config,
            stats,
            index,
            next_us: start,
            seq: 0,
            sender,
            wire: VecDeque::new(),
            received: (0, None),
            queued: 0,
            turns,
        };
        flow.turn_on(start);
        if let Traffic::Trace { packets, .. } = &flow.config.traffic {
            flow.next_us = start + packets.first().map_or(0, |first| first.0);
        }
        flow
    }

    /// Time of the next event that the flow triggers itself.
    pub(crate) fn due(&self) -> u64 {
        let wire = self.wire.front().map_or(u64::MAX, |(at, _)| *at);
        self.next_us.min(wire)
    }

    pub(crate) fn packet(&self, seq: u32, bytes: u32, now_us: u64) -> Packet {
        let flow = self.index;
        Packet {
            flow,
            answer: false,
            bytes,
            seq,
            count: 1,
            sent_us: now_us,
            queued_us: now_us,
            tc_us: 0,
            rlc_us: 0,
        }
    }

    /// Appends the packets that are due by `now_us`, including responses from the server.
    pub(crate) fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.wire.front().is_some_and(|(at, _)| *at <= now_us) {
            let Some((at, packet)) = self.wire.pop_front() else { break };
            if self.config.direction == Direction::Down {
                self.answered(&packet, at)
            } else {
                out.push(packet)
            }
        }
        if now_us < self.next_us {
            return;
        }
        if now_us >= self.config.stop_us {
            self.next_us = u64::MAX;
            return;
        }
        let before = out.len();
        self.emit(now_us, out);
        for packet in &out[before..] {
            self.stats.sent.0 += 1;
            self.stats.sent.1 += u64::from(packet.bytes);
        }
    }

    fn emit(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let end = out.len() + BURST_MAX;
        if self.sender.is_some() {
            return self.emit_segments(now_us, out);
        }
        while self.next_us <= now_us && out.len() < end {
            let at = self.next_us;
            let bytes = match &self.config.traffic {
                Traffic::Voip => {
                    self.next_us += VOIP_INTERVAL_US;
                    VOIP_IP_BYTES
                }
                Traffic::OnOff { kbps, packet_bytes, .. } => {
                    let bytes = *packet_bytes;
                    let kbps = u64::from(*kbps);
                    self.next_us += (u64::from(bytes) * 8000).div_ceil(kbps);
                    self.pass_off();
                    bytes
                }
                Traffic::Trace { packets, repeat_us } => {
                    let index = self.seq as usize % packets.len();
                    let (offset, bytes) = packets[index];
                    self.next_us = match packets.get(index + 1) {
                        Some(next) => at + (next.0 - offset),
                        None if *repeat_us > 0 => at - offset + repeat_us + packets[0].0,
                        None => u64::MAX,
                    };
                    bytes
                }
                Traffic::FullBuffer if self.queued < FULL_PACKETS => {
                    self.queued += 1;
                    SEGMENT_IP_BYTES
                }
                Traffic::FullBuffer | Traffic::GreedyTcp { .. } => {
                    self.next_us = u64::MAX;
                    break;
                }
            };
            out.push(self.packet(self.seq, bytes, at));
            self.seq = self.seq.wrapping_add(1);
        }
    }

    fn emit_segments(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let Some(sender) = &mut self.sender else { return };
        if now_us >= sender.deadline() {
            sender.timeout(now_us);
        }
        let seqs = sender.send(now_us);
        self.next_us = sender.deadline();
        self.stats.reductions = (sender.reductions, sender.timeouts);
        out.extend(seqs.map(|seq| self.packet(seq, SEGMENT_IP_BYTES, now_us)));
    }

    /// A packet arrived at its destination. TCP collects; see [`flush`](Self::flush). VoIP echoes at once.
    pub(crate) fn delivered(&mut self, packet: Packet, now_us: u64) -> Option<Packet> {
        self.stats.delivered.0 += 1;
        self.stats.delivered.1 += u64::from(packet.bytes);
        if let (Some(tc), Some(rlc)) = (&mut self.stats.tc_sojourn, &mut self.stats.rlc_sojourn) {
            tc.record(u64::from(packet.tc_us));
            rlc.record(u64::from(packet.rlc_us));
        }
        match self.config.traffic {
            Traffic::Voip => Some(Packet { answer: true, queued_us: now_us, ..packet }),
            Traffic::GreedyTcp { .. } => {
                self.received = (self.received.0 + 1, Some(packet));
                None
            }
            Traffic::FullBuffer => {
                self.leaves(now_us);
                None
            }
            Traffic::OnOff { .. } | Traffic::Trace { .. } => None,
        }
    }

    /// One acknowledgement for all that arrived since the last one.
    pub(crate) fn flush(&mut self, now_us: u64) -> Option<Packet> {
        let packet = self.received.1.take()?;
        let count = std::mem::take(&mut self.received.0);
        Some(Packet { answer: true, bytes: ACK_IP_BYTES, count, queued_us: now_us, ..packet })
    }

    /// A packet from the base station to the server, which responds to data or receives a response.
    pub(crate) fn send_on(&mut self, packet: Packet, at_us: u64) {
        self.wire.push_back((at_us, Packet { queued_us: at_us, ..packet }));
    }

    /// An answer is back at the sender.
    pub(crate) fn answered(&mut self, packet: &Packet, now_us: u64) {
        if let Some(rtt) = &mut self.stats.rtt {
            rtt.record(now_us.saturating_sub(packet.sent_us));
        }
        if let Some(sender) = &mut self.sender {
            sender.acknowledged(packet.seq, packet.count, packet.sent_us, now_us);
            self.next_us = now_us;
        }
    }

    /// A packet was lost.
    pub(crate) fn dropped(&mut self, packet: &Packet, now_us: u64) {
        self.stats.dropped += 1;
        match (&mut self.sender, packet.answer) {
            (Some(sender), false) => sender.dropped(packet.seq),
            (None, false) => self.leaves(now_us),
            // The next acknowledgement covers a lost one.
            (Some(_), true) => self.received.0 += packet.count,
            (None, true) => {}
        }
    }

    fn leaves(&mut self, now_us: u64) {
        if self.config.traffic == Traffic::FullBuffer {
            self.queued = self.queued.saturating_sub(1);
            self.next_us = now_us;
        }
    }

    fn turn_on(&mut self, now_us: u64) {
        let Traffic::OnOff { on_ms, random, .. } = self.config.traffic else { return };
        self.turns.off_at_us = now_us + self.draw(on_ms, random);
    }

    /// Packets are sent at equal intervals of the on time, so that the mean rate is exact: the rest of an
    /// interval continues in the next on time.
    fn pass_off(&mut self) {
        let Traffic::OnOff { on_ms, off_ms, random, .. } = self.config.traffic else { return };
        while off_ms > 0 && self.next_us >= self.turns.off_at_us {
            let off = self.draw(off_ms, random);
            self.next_us += off;
            self.turns.off_at_us += off + self.draw(on_ms, random);
        }
    }

    fn draw(&mut self, mean_ms: u32, random: bool) -> u64 {
        let mean = f64::from(mean_ms) * 1000.0;
        self.turns.drawn += 1;
        if random { (mean * self.turns.stream.exponential(self.turns.drawn)) as u64 } else { mean as u64 }
    }
}
