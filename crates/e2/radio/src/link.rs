//! One direction of a UE's bearer: packets arrive, wait in RLC, are scheduled, retransmitted by HARQ and delivered.
//!
//! The model is fluid: a step covers any number of slots at the same cost. PRBs, transport blocks and bytes are whole
//! numbers. Fractions are carried over, so that long-run rates do not depend on the length of the steps.

use crate::fixed::Reciprocal;
use crate::radio::Quality;

/// Number of HARQ transmissions of a transport block, including the first.
pub const HARQ_ROUNDS: usize = 4;
/// Size of the RLC header of each PDU, in bytes (TS 38.322 §6.2.2.4, 18-bit sequence number).
pub const RLC_HEADER_BYTES: u64 = 3;
/// Size of the MAC subheader of each SDU, in bytes (TS 38.321 §6.1.2, 16-bit length).
pub const MAC_HEADER_BYTES: u64 = 3;
/// Size of an RLC status PDU without NACKs, in bytes.
pub const RLC_STATUS_BYTES: u64 = 3;
/// Capacity of a bearer's transmit buffer, in bytes. RLC discards further SDUs.
pub const QUEUE_BYTES_MAX: u64 = 1 << 20;

/// Size of a transport block in PRBs, as long as there are enough slots.
const TB_PRBS: u64 = 8;
/// Number of transmitted PDUs per poll, as a power of two. The peer sends one status PDU per poll.
const POLL_PDUS_LOG2: u32 = 4;
/// Target error rate of link adaptation, in units of 1/65536: 10 % of transport blocks.
const BLER_TARGET_Q16: i32 = 6554;
const BLER_MIN_Q16: i32 = 655;
const BLER_MAX_Q16: i32 = 19_660;
/// Maximum head-of-line delay, in µs: 10 s.
const DELAY_US_MAX: u64 = 10_000_000;
const HEADERS: u64 = RLC_HEADER_BYTES + MAC_HEADER_BYTES;

/// Counters and present values of one direction. Counters run from the creation of the UE and never decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// MAC: total bytes of transport blocks, first transmissions only.
    pub tbs_bytes: u64,
    /// MAC: size of the transport block in the most recent slot, in bytes; zero if the UE was not scheduled in it.
    pub curr_tbs_bytes: u64,
    /// MAC: PRBs used in the most recent slot.
    pub sched_prbs: u64,
    /// MAC: PRBs used by all transmissions.
    pub prbs: u64,
    /// MAC: PRBs used by retransmissions, contained in `prbs`.
    pub retx_prbs: u64,
    /// MAC: number of transport blocks by HARQ round. The first entry counts first transmissions.
    pub harq: [u64; HARQ_ROUNDS],
    /// MAC: block error rate of each round, in units of 1/65536.
    pub bler_q16: u32,
    /// RLC: number of SDUs handed over by PDCP.
    pub rlc_sdus_in: u64,
    /// RLC: bytes of SDUs handed over by PDCP.
    pub rlc_sdu_bytes_in: u64,
    /// RLC: number of SDUs transmitted completely.
    pub rlc_sdus_out: u64,
    /// RLC: bytes of SDUs transmitted completely.
    pub rlc_sdu_bytes_out: u64,
    /// RLC: number of SDUs discarded because the buffer was full.
    pub rlc_dropped_sdus: u64,
    /// RLC: bytes of discarded SDUs.
    pub rlc_dropped_bytes: u64,
    /// RLC: number of data PDUs, including retransmissions.
    pub rlc_pdus: u64,
    /// RLC: bytes of data PDUs, including headers.
    pub rlc_pdu_bytes: u64,
    /// RLC: number of data PDUs that carried a segment of an SDU.
    pub rlc_segmented_pdus: u64,
    /// RLC: number of retransmitted PDUs, contained in `rlc_pdus`.
    pub rlc_retx_pdus: u64,
    /// RLC: bytes of retransmitted PDUs, contained in `rlc_pdu_bytes`.
    pub rlc_retx_bytes: u64,
    /// RLC: number of status PDUs sent in this direction. They respond to polls of the other direction.
    pub rlc_status_pdus: u64,
    /// RLC: bytes of status PDUs.
    pub rlc_status_bytes: u64,
    /// RLC: number of waiting SDUs, including a partly transmitted one.
    pub queue_sdus: u64,
    /// RLC: bytes of waiting SDUs.
    pub queue_bytes: u64,
    /// RLC: bytes of the first waiting SDU that were already transmitted.
    pub partial_bytes: u64,
    /// RLC: waiting time of the first SDU in the queue, µs, at most 10 s; zero if the queue is empty.
    pub head_delay_us: u64,
    /// RLC: moving average of the time from arrival to transmission, in units of 1/16 µs.
    pub time_to_tx_us_q4: u64,
    /// PDCP: number of PDUs received out of order.
    pub out_of_order_pdus: u64,
    /// PDCP: bytes of PDUs received out of order.
    pub out_of_order_bytes: u64,
    /// PDCP: number of PDUs that wait for reordering.
    pub reordering_pdus: u64,
}

impl LinkStats {
    /// Returns the number of MAC SDUs, which are RLC data and status PDUs.
    pub fn mac_sdus(&self) -> u64 {
        self.rlc_pdus + self.rlc_status_pdus
    }

    /// Returns the bytes of MAC SDUs.
    pub fn mac_sdu_bytes(&self) -> u64 {
        self.rlc_pdu_bytes + self.rlc_status_bytes
    }
}

/// Length of a step, the same for all UEs of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) slots: u64,
    pub(crate) duration_us: u64,
    pub(crate) slot_us: u64,
    /// Reciprocal of the number of slots, as `2^32 / slots`.
    pub(crate) per_slot_q32: u64,
}

/// Resources of one direction that are left in a step.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) prbs: u64,
    /// PRBs left in the step's last slot.
    pub(crate) last_slot_prbs: u64,
}

/// State of one direction of a bearer.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    packet: &'static Packet,
    arrivals: Arrivals,
    harq_carry_q16: [u16; HARQ_ROUNDS],
    pending_retx_prbs: u64,
    pending_status: u64,
    lost_pdus: u64,
    unpolled_pdus: u64,
}

/// Packet size of a bearer, and derived values. Sizes refer to RLC SDUs.
#[derive(Debug)]
pub(crate) struct Packet {
    bytes: u64,
    reciprocal: Reciprocal,
    /// Ratio of bytes with headers to bytes without headers, in units of 1/65536, rounded up.
    gross_q16: u64,
    /// Ratio of bytes without headers to bytes with headers, in units of 1/65536, rounded down.
    net_q16: u64,
}

impl Packet {
    /// Returns the values for packets of `bytes`.
    pub(crate) const fn new(bytes: u64) -> Self {
        let gross = bytes + HEADERS;
        Self {
            bytes,
            reciprocal: Reciprocal::new(bytes),
            gross_q16: (gross << 16).div_ceil(bytes),
            net_q16: (bytes << 16) / gross,
        }
    }
}

#[derive(Debug, Clone)]
struct Arrivals {
    packets_per_slot_q24: u64,
    carry_q24: u64,
}

impl Link {
    /// Creates a link with packets of one size at a mean rate of `kbps` kilobits per second.
    pub(crate) fn new(packet: &'static Packet, kbps: u64, slot_us: u64) -> Self {
        // kbit/s x µs / 8000 gives bytes per slot. The product is at most 10^7 x 10^3 x 2^24 = 2^58, so it fits.
        let packets_per_slot_q24 = ((kbps * slot_us) << 24) / (8000 * packet.bytes);
        Self {
            packet,
            arrivals: Arrivals { packets_per_slot_q24, carry_q24: 0 },
            harq_carry_q16: [0; HARQ_ROUNDS],
            pending_retx_prbs: 0,
            pending_status: 0,
            lost_pdus: 0,
            unpolled_pdus: 0,
        }
    }

    /// Returns the counters of an unused link.
    pub(crate) fn fresh_stats() -> LinkStats {
        LinkStats { bler_q16: BLER_TARGET_Q16 as u32, ..LinkStats::default() }
    }

    /// Advances one step: arrivals, then transmission within `share` PRBs of the `budget`. Uses the lowest 32
    /// of the random `bits`. Returns the number of status PDUs that the receiver has to send in the other
    /// direction.
    pub(crate) fn advance(
        &mut self,
        span: Span,
        quality: Quality,
        share: u64,
        budget: &mut Budget,
        bits: u64,
        stats: &mut LinkStats,
    ) -> u64 {
        self.arrive(span, bits & 0x1ff, stats);
        adapt(((bits >> 9) & 0x1ff) as i32, stats);
        if self.is_idle(stats) {
            (stats.curr_tbs_bytes, stats.sched_prbs, stats.reordering_pdus, stats.head_delay_us) =
                (0, 0, 0, 0);
            return 0;
        }

        let demand = self.demand(quality, stats);
        let grant = (demand + self.pending_retx_prbs).min(share).min(budget.prbs);
        budget.prbs -= grant;
        let retx = grant.min(self.pending_retx_prbs);
        self.pending_retx_prbs -= retx;
        stats.prbs += grant;
        stats.retx_prbs += retx;

        let blocks = Blocks::new(grant - retx, span);
        let tbs = (blocks.prbs * quality.bytes_per_prb_q8) >> 8;
        stats.tbs_bytes += tbs;
        report_last_slot(&blocks, span, quality, budget, (bits >> 18) & 0x3fff, stats);

        let lost_blocks = self.harq(&blocks, stats);
        let room = self.send_control(tbs, stats);
        let sent = self.send_data(room, blocks.count, stats);
        // A block for which HARQ gives up loses one PDU, if the block carried any.
        let lost = lost_blocks.min(sent.pdus);
        self.lost_pdus += lost;
        stats.reordering_pdus = sent.sdus.min(2 * lost);
        stats.out_of_order_pdus += stats.reordering_pdus;
        stats.out_of_order_bytes += stats.reordering_pdus * self.packet.bytes;

        self.discard_excess(stats);
        self.delays(span, &sent, (bits >> 18) & 0xff, stats);
        self.unpolled_pdus += sent.pdus;
        let owed = self.unpolled_pdus >> POLL_PDUS_LOG2;
        self.unpolled_pdus &= (1 << POLL_PDUS_LOG2) - 1;
        owed
    }

    /// Adds `count` status PDUs, which the receiver of the other direction sends in this direction.
    pub(crate) fn owe_status(&mut self, count: u64) {
        self.pending_status += count;
    }

    /// Adds arriving packets, at 0 to 2 times the mean rate according to nine random bits in `burst`.
    fn arrive(&mut self, span: Span, burst: u64, stats: &mut LinkStats) {
        // The product is at most 2^38 packets/slot x 2^16 slots x 2^9 = 2^63, so it fits.
        let expected = (self.arrivals.packets_per_slot_q24 * span.slots * burst) >> 8;
        let arrivals_q24 = self.arrivals.carry_q24 + expected;
        self.arrivals.carry_q24 = arrivals_q24 & 0xff_ffff;
        let packets = arrivals_q24 >> 24;
        let bytes = packets * self.packet.bytes;
        stats.rlc_sdus_in += packets;
        stats.rlc_sdu_bytes_in += bytes;
        stats.queue_sdus += packets;
        stats.queue_bytes += bytes;
    }

    /// Returns whether there is no data to send. This is the case in most steps of one millisecond.
    fn is_idle(&self, stats: &LinkStats) -> bool {
        stats.queue_bytes + self.pending_retx_prbs + self.pending_status + self.lost_pdus == 0
    }

    /// Returns the PRBs that new data and control data need to empty the queue.
    fn demand(&self, quality: Quality, stats: &LinkStats) -> u64 {
        let control =
            self.pending_status * (RLC_STATUS_BYTES + MAC_HEADER_BYTES) + self.lost_pdus * self.retx_cost();
        if stats.queue_bytes + control == 0 {
            return 0;
        }
        let gross = (stats.queue_bytes * self.packet.gross_q16) >> 16;
        quality.net_bytes_per_prb_q8.quotient((gross + control + 3 * HEADERS) << 8) + 1
    }

    /// Counts transmissions by round. Returns the number of blocks that were given up after the last round.
    fn harq(&mut self, blocks: &Blocks, stats: &mut LinkStats) -> u64 {
        let mut failed = blocks.count;
        let mut retransmitted = 0;
        for (round, carry) in self.harq_carry_q16.iter_mut().enumerate() {
            if failed == 0 {
                break;
            }
            stats.harq[round] += failed;
            if round > 0 {
                retransmitted += failed;
            }
            // Failures are rounded down cumulatively, so the failures of a round never exceed its transmissions.
            let failed_q16 = u64::from(*carry) + failed * u64::from(stats.bler_q16);
            *carry = (failed_q16 & 0xffff) as u16;
            failed = failed_q16 >> 16;
        }
        self.pending_retx_prbs += retransmitted * blocks.prbs_each;
        failed
    }

    /// Sends status PDUs and RLC retransmissions first. Returns the room that is left for data, in bytes.
    fn send_control(&mut self, tbs: u64, stats: &mut LinkStats) -> u64 {
        let status = self.pending_status.min(tbs / (RLC_STATUS_BYTES + MAC_HEADER_BYTES));
        self.pending_status -= status;
        let mut room = tbs - status * (RLC_STATUS_BYTES + MAC_HEADER_BYTES);
        stats.rlc_status_pdus += status;
        stats.rlc_status_bytes += status * RLC_STATUS_BYTES;

        if self.lost_pdus > 0 {
            let pdus = self.lost_pdus.min(room / self.retx_cost());
            let bytes = pdus * (self.retx_cost() - MAC_HEADER_BYTES);
            self.lost_pdus -= pdus;
            room -= pdus * self.retx_cost();
            stats.rlc_retx_pdus += pdus;
            stats.rlc_retx_bytes += bytes;
            stats.rlc_pdus += pdus;
            stats.rlc_pdu_bytes += bytes;
        }
        room
    }

    /// Sends data from the queue that fits into `room` bytes of `blocks` transport blocks, including headers.
    fn send_data(&self, room: u64, blocks: u64, stats: &mut LinkStats) -> Sent {
        // There is at most one PDU per packet, one per block boundary, and one for a partly sent packet. Therefore s
        // bytes need at most s / packet + blocks + 1 PDUs, whose headers are subtracted here.
        let net = ((room * self.packet.net_q16) >> 16).saturating_sub(HEADERS * (blocks + 1));
        let bytes = net.min(stats.queue_bytes);
        if bytes == 0 {
            return Sent::default();
        }
        let begun = u64::from(stats.partial_bytes > 0);
        let stream = stats.partial_bytes + bytes;
        let sdus = self.packet.reciprocal.quotient(stream);
        stats.partial_bytes = stream - sdus * self.packet.bytes;
        let cut = u64::from(stats.partial_bytes > 0);
        let pdus = (sdus + cut + blocks - 1).min(bytes);

        stats.queue_bytes -= bytes;
        stats.queue_sdus -= sdus;
        stats.rlc_sdus_out += sdus;
        stats.rlc_sdu_bytes_out += sdus * self.packet.bytes;
        stats.rlc_pdus += pdus;
        stats.rlc_pdu_bytes += bytes + pdus * RLC_HEADER_BYTES;
        stats.rlc_segmented_pdus += (2 * (blocks - 1) + begun + cut).min(pdus);
        Sent { bytes, sdus, pdus }
    }

    /// Discards whole SDUs from the end of a queue that exceeds the capacity. A partly sent SDU stays.
    fn discard_excess(&self, stats: &mut LinkStats) {
        if stats.queue_bytes <= QUEUE_BYTES_MAX {
            return;
        }
        let excess = stats.queue_bytes - QUEUE_BYTES_MAX;
        let whole = stats.queue_sdus - u64::from(stats.partial_bytes > 0);
        let sdus = (self.packet.reciprocal.quotient(excess) + 1).min(whole);
        let bytes = sdus * self.packet.bytes;
        stats.queue_sdus -= sdus;
        stats.queue_bytes -= bytes;
        stats.rlc_dropped_sdus += sdus;
        stats.rlc_dropped_bytes += bytes;
    }

    fn delays(&self, span: Span, sent: &Sent, jitter_us: u64, stats: &mut LinkStats) {
        let head_delay_us = if stats.queue_bytes == 0 {
            0
        } else {
            // The delay follows from Little's law, with the queued bytes and the rate of this step; the product is at
            // most 2^20 bytes x 2^26 µs. A step without transmission adds its length.
            let waiting = stats.queue_bytes * span.duration_us;
            waiting.checked_div(sent.bytes).unwrap_or(stats.head_delay_us + span.duration_us).max(1)
        };
        stats.head_delay_us = head_delay_us.min(DELAY_US_MAX);
        if sent.sdus > 0 {
            let sample = (stats.head_delay_us + span.slot_us + jitter_us) << 4;
            // The exponential average has weight 1/8, so it stays between its old value and the sample.
            stats.time_to_tx_us_q4 = stats.time_to_tx_us_q4 - (stats.time_to_tx_us_q4 >> 3) + (sample >> 3);
        }
    }

    /// Returns the bytes of a retransmitted PDU with its headers, which contains a whole packet.
    fn retx_cost(&self) -> u64 {
        self.packet.bytes + HEADERS
    }
}

/// Bytes sent from the queue in one step.
#[derive(Debug, Default)]
struct Sent {
    bytes: u64,
    sdus: u64,
    pdus: u64,
}

/// Division of a step's PRBs into transport blocks.
struct Blocks {
    prbs: u64,
    count: u64,
    prbs_each: u64,
}

impl Blocks {
    /// Divides PRBs into blocks of [`TB_PRBS`] if there are enough slots, and into larger blocks otherwise. There is
    /// at most one block per slot.
    fn new(prbs: u64, span: Span) -> Self {
        let full_blocks = prbs / TB_PRBS;
        let (count, prbs_each) = if full_blocks >= span.slots {
            (span.slots, (prbs * span.per_slot_q32) >> 32)
        } else {
            (full_blocks.max(u64::from(prbs > 0)), prbs.min(TB_PRBS))
        };
        Self { prbs, count, prbs_each }
    }
}

/// Outer-loop link adaptation: moves the error rate randomly around its target, using nine random bits.
fn adapt(noise: i32, stats: &mut LinkStats) {
    let bler = stats.bler_q16 as i32;
    let moved = bler + ((BLER_TARGET_Q16 - bler) >> 4) + (noise - 0x100) * 2;
    stats.bler_q16 = moved.clamp(BLER_MIN_Q16, BLER_MAX_Q16) as u32;
}

/// Sets the values of the step's last slot. The UE is scheduled in it with the same probability as in any other slot
/// of the step, decided by 14 random bits in `draw`.
fn report_last_slot(
    blocks: &Blocks,
    span: Span,
    quality: Quality,
    budget: &mut Budget,
    draw: u64,
    stats: &mut LinkStats,
) {
    let scheduled = draw * span.slots < blocks.count << 14;
    stats.sched_prbs = if scheduled { blocks.prbs_each.min(budget.last_slot_prbs) } else { 0 };
    budget.last_slot_prbs -= stats.sched_prbs;
    stats.curr_tbs_bytes = (stats.sched_prbs * quality.bytes_per_prb_q8) >> 8;
}
