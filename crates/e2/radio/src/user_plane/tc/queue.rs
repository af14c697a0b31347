//! A queue of traffic control, managed by FIFO or CoDel (RFC 8289).

use std::collections::VecDeque;

use crate::user_plane::histogram::Sojourn;
use crate::user_plane::rlc::Packet;

/// Queue management algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QueueKind {
    /// First in, first out. Packets are dropped at the tail when the queue is full.
    #[default]
    Fifo,
    /// Controlled delay. Packets are dropped at the head while packets wait too long.
    CoDel {
        /// Accepted sojourn time in µs, 1 to 1,000,000. RFC 8289 recommends 5000.
        target_us: u32,
        /// Time in µs for which the target may be exceeded, from the target to 1,000,000. RFC 8289 recommends 100,000.
        interval_us: u32,
    },
}

/// Counters of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Bytes of waiting packets.
    pub bytes: u64,
    /// Number of waiting packets.
    pub packets: u64,
    /// Bytes passed to RLC.
    pub forwarded_bytes: u64,
    /// Number of packets passed to RLC.
    pub forwarded_packets: u64,
    /// Number of packets dropped because the queue was full, or by CoDel.
    pub dropped_packets: u64,
    /// Number of packets that the queue's policer dropped.
    pub policed_packets: u64,
    /// Moving average of the sojourn time, in µs.
    pub sojourn_us_mean: u32,
    /// Sojourn time of the last packet that left, in µs.
    pub sojourn_us_last: u32,
}

/// Maximum size of a queue, in bytes.
pub const QUEUE_BYTES_MAX: u64 = 50_000_000;
/// Maximum number of packets in a queue.
pub const QUEUE_PACKETS_MAX: usize = 1 << 16;
/// Number of queued bytes up to which CoDel does not drop packets.
const MTU_BYTES: u64 = 1514;

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) id: u32,
    pub(super) kind: QueueKind,
    pub(super) capacity_bytes: u64,
    pub(super) sojourn: Sojourn,
    packets: VecDeque<Packet>,
    pub(super) stats: QueueStats,
    codel: CoDel,
    /// Moving average of the sojourn time, in units of 1/16 µs.
    mean_q4: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct CoDel {
    first_above_us: Option<u64>,
    drop_next_us: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Queue {
    pub(super) fn new(id: u32, kind: QueueKind) -> Self {
        Self {
            id,
            kind,
            capacity_bytes: QUEUE_BYTES_MAX,
            sojourn: Sojourn::default(),
            packets: VecDeque::new(),
            stats: QueueStats::default(),
            codel: CoDel::default(),
            mean_q4: 0,
        }
    }

    pub(super) fn set_kind(&mut self, kind: QueueKind) {
        if self.kind != kind {
            self.kind = kind;
            self.codel = CoDel::default();
        }
    }

    pub(super) fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Adds a packet. Returns false if the queue is full.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let bytes = self.stats.bytes + u64::from(packet.bytes);
        if bytes > self.capacity_bytes || self.packets.len() >= QUEUE_PACKETS_MAX {
            self.stats.dropped_packets += 1;
            return false;
        }
        self.stats.bytes = bytes;
        self.stats.packets += 1;
        self.packets.push_back(packet);
        true
    }

    /// Returns the next packet that is not dropped.
    pub(super) fn pop(&mut self, now_us: u64, mut dropped: impl FnMut(Packet)) -> Option<Packet> {
        let mut packet = self.take()?;
        if let QueueKind::CoDel { target_us, interval_us } = self.kind {
            let target = u64::from(target_us);
            let interval = u64::from(interval_us);
            while self.codel.drops(now_us, self.sojourn(&packet, now_us), self.stats.bytes, target, interval)
            {
                self.stats.dropped_packets += 1;
                dropped(packet);
                packet = self.take()?;
            }
        }
        let sojourn = self.sojourn(&packet, now_us);
        self.mean_q4 = if self.stats.forwarded_packets == 0 {
            16 * sojourn
        } else {
            self.mean_q4 + sojourn - self.mean_q4 / 16
        };
        self.sojourn.record(sojourn);
        let short = |us: u64| us.min(u64::from(u32::MAX)) as u32;
        self.stats.sojourn_us_last = short(sojourn);
        self.stats.sojourn_us_mean = short(self.mean_q4 / 16);
        self.stats.forwarded_packets += 1;
        self.stats.forwarded_bytes += u64::from(packet.bytes);
        packet.tc_us = short(sojourn);
        Some(packet)
    }

    fn sojourn(&self, packet: &Packet, now_us: u64) -> u64 {
        now_us.saturating_sub(packet.queued_us)
    }

    fn take(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.stats.bytes -= u64::from(packet.bytes);
        self.stats.packets -= 1;
        Some(packet)
    }

    /// Removes all packets, to move them to another queue.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Packet> {
        self.stats.bytes = 0;
        self.stats.packets = 0;
        self.packets.drain(..)
    }
}

impl CoDel {
    /// Returns whether CoDel drops the packet just removed, given its sojourn time and the bytes left in the queue.
    fn drops(&mut self, now_us: u64, sojourn: u64, left: u64, target: u64, interval: u64) -> bool {
        let above = self.above(now_us, sojourn, left, target, interval);
        if self.dropping {
            if !above {
                self.dropping = false;
                return false;
            }
            if now_us < self.drop_next_us {
                return false;
            }
            self.count += 1;
            self.drop_next_us = control(self.drop_next_us, self.count, interval);
            return true;
        }
        if above {
            self.dropping = true;
            // Shortly after the previous dropping period, CoDel continues with the drop rate of that period (RFC 8289
            // §5.5).
            let delta = self.count - self.last_count;
            let recent = now_us.saturating_sub(self.drop_next_us) < 16 * interval;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next_us = control(now_us, self.count, interval);
        }
        above
    }

    /// Returns whether sojourn times exceeded the target for a whole interval.
    fn above(&mut self, now_us: u64, sojourn: u64, left: u64, target: u64, interval: u64) -> bool {
        if sojourn < target || left <= MTU_BYTES {
            self.first_above_us = None;
            return false;
        }
        match self.first_above_us {
            None => {
                self.first_above_us = Some(now_us + interval);
                false
            }
            Some(at) => now_us >= at,
        }
    }
}

/// Returns the time of the next drop. The interval shrinks as the number of drops grows.
fn control(from_us: u64, count: u32, interval: u64) -> u64 {
    // The square root is exact on every machine, so the result is reproducible.
    from_us + (interval as f64 / f64::from(count).sqrt()) as u64
}
