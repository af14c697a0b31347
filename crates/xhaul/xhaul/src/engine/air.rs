//! State of an air interface during a simulation.

use std::collections::{BTreeSet, VecDeque};

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use super::super::air::{AirInterface, WIRE_ONLY_BYTES};
use super::super::random::numbered;
use super::super::time::Ps;

#[derive(Debug)]
pub(super) struct AirState<'n> {
    config: &'n AirInterface,
    pub(super) backlog_max: u64,
    pub(super) dropped: u64,
    /// Waiting packets, with their remaining bytes.
    queue: VecDeque<(u32, u32)>,
    queued_bytes: u64,
    /// Whether a TTI is planned.
    planned: bool,
    /// Whether the next uplink transmission carries the buffer status report.
    reporting: bool,
    /// Whether the head of the queue was part of a lost block.
    broken: bool,
    /// Start times of TTIs that retransmissions need.
    taken: BTreeSet<Ps>,
    delivered_at: Ps,
    /// Seed of the channel. Only the time of the TTI determines whether a block fails. A slightly delayed packet therefore experiences the
    /// same channel.
    channel: u64,
}

/// Packet that leaves the air interface, with its delivery time. `None`: the packet is lost.
pub(super) struct Departure {
    pub(super) id: u32,
    pub(super) delivered: Option<Ps>,
}

impl<'n> AirState<'n> {
    pub(super) fn new(config: &'n AirInterface, mut random: ChaCha8Rng) -> Self {
        Self {
            config,
            backlog_max: 0,
            dropped: 0,
            queue: VecDeque::new(),
            queued_bytes: 0,
            planned: false,
            reporting: config.access.is_some(),
            broken: false,
            taken: BTreeSet::new(),
            delivered_at: 0,
            channel: random.next_u64(),
        }
    }

    /// Adds a packet of `wire` bytes to the queue. Returns `false` if the queue has no room for it.
    pub(super) fn enqueue(&mut self, id: u32, wire: u32) -> bool {
        let payload = wire.saturating_sub(WIRE_ONLY_BYTES.saturating_add(self.config.stripped_bytes));
        let bytes = payload + self.config.overhead_bytes;
        if self.queued_bytes + u64::from(bytes) > self.config.queue_bytes_max {
            self.dropped += 1;
            return false;
        }
        self.queued_bytes += u64::from(bytes);
        self.backlog_max = self.backlog_max.max(self.queued_bytes);
        self.queue.push_back((id, bytes));
        true
    }

    /// Returns the time of the next transmission for queued packets, unless one is already planned.
    pub(super) fn plan(&mut self, now: Ps) -> Option<Ps> {
        if self.planned || self.queue.is_empty() {
            return None;
        }
        self.planned = true;
        let from = match self.config.access {
            None => now,
            Some(access) => {
                let since = now.saturating_sub(access.request_offset_ps);
                let request = since.div_ceil(access.request_period_ps) * access.request_period_ps;
                request + access.request_offset_ps + access.request_to_data_ps
            }
        };
        Some(self.free_tti(from))
    }

    /// Transmits in the TTI that starts now. Adds the packets that leave to `left`, and returns the time of the next transmission.
    pub(super) fn transmit(&mut self, now: Ps, left: &mut Vec<Departure>) -> Option<Ps> {
        let reports = std::mem::take(&mut self.reporting);
        let room = match self.config.access {
            Some(access) if reports => access.first_bytes.min(self.config.transport_bytes),
            _ => self.config.transport_bytes,
        };
        let sent = self.send_block(now);
        self.fill(room, sent, left);
        if self.queue.is_empty() {
            self.planned = false;
            self.reporting = self.config.access.is_some();
            return None;
        }
        let wait = match self.config.access {
            Some(access) if reports => access.report_to_data_ps.max(self.config.tti_ps),
            _ => self.config.tti_ps,
        };
        Some(self.free_tti(now + wait))
    }

    /// Returns the arrival time of this TTI's block. `None` if all its transmissions fail.
    fn send_block(&mut self, now: Ps) -> Option<Ps> {
        let mut at = now;
        for _ in 0..self.config.transmissions_max {
            if at > now {
                self.taken.insert(at);
            }
            if numbered(self.channel, at / self.config.tti_ps) % 1_000_000 >= u64::from(self.config.error_ppm)
            {
                return Some(at + self.config.tti_ps + self.config.processing_ps);
            }
            // A retransmission starts at the beginning of a TTI.
            at = (at + self.config.harq_ps).next_multiple_of(self.config.tti_ps);
        }
        None
    }

    /// Fills a block of `room` bytes with queued packets. The block is delivered at `sent`.
    fn fill(&mut self, mut room: u32, sent: Option<Ps>, left: &mut Vec<Departure>) {
        while room > 0
            && let Some((id, bytes)) = self.queue.front_mut()
        {
            let part = room.min(*bytes);
            room -= part;
            *bytes -= part;
            self.queued_bytes -= u64::from(part);
            self.broken |= sent.is_none();
            if *bytes > 0 {
                return;
            }
            let lost = std::mem::take(&mut self.broken);
            let delivered = sent.filter(|_| !lost).map(|sent| sent.max(self.delivered_at));
            self.delivered_at = delivered.unwrap_or(self.delivered_at);
            self.dropped += u64::from(delivered.is_none());
            left.push(Departure { id: *id, delivered });
            self.queue.pop_front();
        }
    }

    /// Returns the first TTI at or after `from` that no retransmission needs.
    fn free_tti(&mut self, from: Ps) -> Ps {
        let mut at = from.next_multiple_of(self.config.tti_ps);
        self.taken = self.taken.split_off(&at);
        while self.taken.contains(&at) {
            at += self.config.tti_ps;
        }
        at
    }
}
