//! Traffic flows over a UE's bearer.

mod cubic;

use std::collections::VecDeque;
use std::sync::Arc;

use super::carrier::Direction;
use super::histogram::Histogram;
use super::random::{Purpose, Stream};
use super::rlc::Packet;
use cubic::{ACK_IP_BYTES, Cubic, SEGMENT_IP_BYTES};

/// Source and destination of a flow's packets, used by classifiers.
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
    /// IP protocol number: 6 for TCP, 17 for UDP.
    pub protocol: u8,
}

/// Kind of traffic that a flow sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// A G.711 call as sent by irtt: 172 bytes of UDP payload every 20 ms, echoed by the receiver.
    Voip,
    /// A TCP connection with CUBIC that always has data to send.
    GreedyTcp {
        /// Receive window in bytes, 3000 to [`RECEIVE_WINDOW_MAX`].
        receive_window_bytes: u32,
    },
    /// A buffer that is never empty. It saturates a carrier without the cost of simulating a flow.
    FullBuffer,
    /// Packets of one size at a constant rate, alternating between on and off times.
    OnOff {
        /// Rate during on times, in kbit/s of IP, 1 to 10,000,000.
        kbps: u32,
        /// Size of an IP packet in bytes, 40 to 9000.
        packet_bytes: u32,
        /// Mean on time in ms, at least 1.
        on_ms: u32,
        /// Mean off time in ms; zero for a flow that is always on.
        off_ms: u32,
        /// Whether on and off times are exponentially distributed. Otherwise each time equals the mean.
        random: bool,
    },
    /// Packets at the times of a trace.
    Trace {
        /// Send times since the start of the flow in µs, ascending, and sizes of IP packets in bytes.
        packets: Arc<[(u64, u32)]>,
        /// Time from the last packet to the next repetition of the trace, in µs; zero: no repetition.
        repeat_us: u64,
    },
}

/// Maximum receive window of TCP, in bytes.
pub const RECEIVE_WINDOW_MAX: u32 = 64_000_000;
/// Maximum size of an IP packet, in bytes.
pub const PACKET_BYTES_MAX: u32 = 9000;
/// Size of a VoIP packet with IP and UDP headers, in bytes.
const VOIP_IP_BYTES: u32 = 200;
/// Interval between two VoIP packets, in µs.
const VOIP_INTERVAL_US: u64 = 20_000;
/// Number of packets that a full buffer keeps in the queue.
const FULL_PACKETS: u32 = 256;
/// Maximum number of packets that a flow sends at once, so that an endless burst does not block other flows.
const BURST_MAX: usize = 256;

/// A flow of a UE.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowConfig {
    /// Direction of the data; responses travel in the other direction.
    pub direction: Direction,
    /// Addresses and ports of the data packets.
    pub tuple: FiveTuple,
    /// Kind of traffic that the flow sends.
    pub traffic: Traffic,
    /// Time of the first packet on the cell's clock, in µs.
    pub start_us: u64,
    /// End of the flow, in µs; no packet is sent at or after this time.
    pub stop_us: u64,
    /// Whether distributions of round trips and sojourn times are recorded.
    pub measured: bool,
}

impl FlowConfig {
    /// Returns a downlink flow that starts at time zero and never ends.
    pub fn new(traffic: Traffic) -> Self {
        let direction = Direction::Down;
        let tuple = FiveTuple::default();
        Self { direction, tuple, traffic, start_us: 0, stop_us: u64::MAX, measured: false }
    }
}

/// Reason why a flow is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// A number is out of bounds.
    #[error("{what} is {given}; {allowed} is allowed")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Given value.
        given: u64,
        /// Allowed range.
        allowed: &'static str,
    },
    /// The trace is empty or not ascending, or repeats before its end.
    #[error("a trace must have packets at ascending times, and must repeat only after the last packet")]
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
                number("the length of the on period", *on_ms, 1..=u32::MAX, "1 ms or more")?;
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

    /// Returns the mean rate of IP in the flow's direction during its activity, in bytes per second, or `None` for a
    /// flow that always has data.
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
    /// Number of packets and bytes sent.
    pub sent: (u64, u64),
    /// Number of packets and bytes that arrived at the receiver.
    pub delivered: (u64, u64),
    /// Number of packets dropped by a queue, a policer or the air interface.
    pub dropped: u64,
    /// Number of TCP window reductions, and number of TCP timeouts.
    pub reductions: (u64, u64),
    /// Distribution of round trips, if the flow is measured.
    pub rtt: Option<Box<Histogram>>,
    /// Distribution of sojourn times in the queues of traffic control, if the flow is measured.
    pub tc_sojourn: Option<Box<Histogram>>,
    /// Distribution of sojourn times in RLC until the last byte was sent, if the flow is measured.
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
    /// Responses in transit between the base station and the server, by arrival time.
    wire: VecDeque<(u64, Packet)>,
    /// TCP: number of received segments without an acknowledgement, and the last of these segments.
    received: (u32, Option<Packet>),
    /// Full buffer: number of packets in the queue.
    queued: u32,
    turns: OnOffState,
}

/// State of an on/off flow.
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

    /// Returns the time of the next packet or timeout of the flow.
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

    /// Appends the packets to be sent by `now_us`, including responses from the server.
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

    /// Processes a packet that arrived at its destination. TCP collects segments until [`flush`](Self::flush); VoIP
    /// echoes the packet at once.
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

    /// Returns one acknowledgement for all segments that arrived since the last acknowledgement.
    pub(crate) fn flush(&mut self, now_us: u64) -> Option<Packet> {
        let packet = self.received.1.take()?;
        let count = std::mem::take(&mut self.received.0);
        Some(Packet { answer: true, bytes: ACK_IP_BYTES, count, queued_us: now_us, ..packet })
    }

    /// Sends a packet from the base station to the server. The server responds to data, or receives a response.
    pub(crate) fn send_on(&mut self, packet: Packet, at_us: u64) {
        self.wire.push_back((at_us, Packet { queued_us: at_us, ..packet }));
    }

    /// Processes a response that has returned to the sender.
    pub(crate) fn answered(&mut self, packet: &Packet, now_us: u64) {
        if let Some(rtt) = &mut self.stats.rtt {
            rtt.record(now_us.saturating_sub(packet.sent_us));
        }
        if let Some(sender) = &mut self.sender {
            sender.acknowledged(packet.seq, packet.count, packet.sent_us, now_us);
            self.next_us = now_us;
        }
    }

    /// Processes the loss of a packet.
    pub(crate) fn dropped(&mut self, packet: &Packet, now_us: u64) {
        self.stats.dropped += 1;
        match (&mut self.sender, packet.answer) {
            (Some(sender), false) => sender.dropped(packet.seq),
            (None, false) => self.leaves(now_us),
            // The next acknowledgement also covers the segments of a lost acknowledgement.
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

    /// Skips off times. Packets have equal intervals of on time, and the rest of an interval continues in the next on
    /// time, so the mean rate is exact.
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
