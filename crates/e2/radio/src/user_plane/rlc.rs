//! RLC of a bearer in one direction: transmit buffer, segmentation, and in-order delivery at the receiver.
//!
//! The SDUs of a bearer form a stream of bytes. A transport block carries a piece of this stream, and HARQ decides
//! whether the piece arrives. An SDU is delivered when all pieces before its end are decided. In acknowledged mode
//! each piece arrives in the end. In unacknowledged mode an SDU with a lost piece is dropped. In-order delivery
//! includes PDCP's reordering.

use std::collections::VecDeque;

use super::histogram::Sojourn;
use crate::link::{LinkStats, MAC_HEADER_BYTES, RLC_HEADER_BYTES, RLC_STATUS_BYTES};

/// RLC mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RlcMode {
    /// Unacknowledged mode: data for which HARQ gives up is lost.
    Um,
    /// Acknowledged mode: data for which HARQ gives up is retransmitted after the receiver's status report.
    #[default]
    Am,
}

/// RLC configuration of a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RlcConfig {
    /// Mode of the bearer.
    pub mode: RlcMode,
    /// Maximum bytes that wait for transmission, 1500 to [`BUFFER_BYTES_MAX`]. Further SDUs are dropped.
    pub buffer_bytes: u32,
    /// Maximum number of SDUs that wait, 1 to [`BUFFER_SDUS_MAX`].
    pub buffer_sdus: u32,
    /// Maximum retransmissions of a piece in acknowledged mode, 1 to 32.
    pub retransmissions: u8,
}

/// Maximum size of the transmit buffer in bytes, five times the size in OpenAirInterface.
pub const BUFFER_BYTES_MAX: u32 = 50_000_000;
/// Maximum size of the transmit buffer in SDUs.
pub const BUFFER_SDUS_MAX: u32 = 1 << 16;

impl Default for RlcConfig {
    /// Returns acknowledged mode with the 10 MB buffer of OpenAirInterface.
    fn default() -> Self {
        Self { mode: RlcMode::Am, buffer_bytes: 10_000_000, buffer_sdus: 1 << 14, retransmissions: 16 }
    }
}

/// A packet in transit. `flow` is the index of the flow in its UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) flow: u16,
    /// Whether the packet is a response: an acknowledgement or an echo.
    pub(crate) answer: bool,
    pub(crate) bytes: u32,
    pub(crate) seq: u32,
    /// Number of packets to which the response responds.
    pub(crate) count: u32,
    /// Send time in µs. For a response, it is the send time of the data to which it responds.
    pub(crate) sent_us: u64,
    /// Time at which the packet entered its current queue, in µs.
    pub(crate) queued_us: u64,
    /// Waiting time in the queues of traffic control, in µs.
    pub(crate) tc_us: u32,
    /// Waiting time in RLC until the last byte was sent, in µs.
    pub(crate) rlc_us: u32,
}

#[derive(Debug, Clone, Copy)]
struct Sdu {
    /// End of the packet in the byte stream.
    end: u64,
    packet: Packet,
}

/// A piece of the byte stream, carried in a transport block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Number of the transmission to which the piece belongs, counted from the start.
    flight: u64,
    bytes: u32,
    retransmissions: u8,
}

/// A transmission of new data for which HARQ has not decided all pieces yet.
#[derive(Debug, Clone, Copy)]
struct Flight {
    to: u64,
    missing: u32,
    lost: bool,
}

/// Maximum number of undecided transmissions. At the limit, new data waits as with a full transmit window.
const FLIGHTS_MAX: usize = 256;
const HEADERS: u32 = (MAC_HEADER_BYTES + RLC_HEADER_BYTES) as u32;
/// Additional header size of a segment with an offset, in bytes (TS 38.322 §6.2.2.4).
const OFFSET_BYTES: u32 = 2;
/// Minimum size of a segment in bytes. Shorter segments are not worth their headers.
const SEGMENT_MIN: u32 = 8;
/// Number of transmitted PDUs per poll.
const POLL_PDUS: u64 = 16;

#[derive(Debug)]
pub(crate) struct Rlc {
    config: RlcConfig,
    /// SDUs that are not delivered yet. SDUs that wait for transmission are last.
    sdus: VecDeque<Sdu>,
    /// Index of the first SDU that is not transmitted completely.
    unsent: usize,
    /// End of the transmitted data in the byte stream.
    sent: u64,
    /// End of the byte stream.
    end: u64,
    flights: VecDeque<Flight>,
    first_flight: u64,
    again: VecDeque<Piece>,
    tainted: bool,
    pub(crate) owed_status: u32,
    unpolled: u64,
    pub(crate) stats: LinkStats,
    /// Sojourn times in RLC, and in RLC and traffic control together.
    pub(crate) sojourns: [Sojourn; 2],
    /// Number of pieces for which acknowledged mode gave up, which are radio link failures.
    pub(crate) failures: u64,
}

impl Rlc {
    pub(crate) fn new(config: RlcConfig) -> Self {
        Self {
            config,
            sdus: VecDeque::new(),
            unsent: 0,
            sent: 0,
            end: 0,
            flights: VecDeque::new(),
            first_flight: 0,
            again: VecDeque::new(),
            tainted: false,
            owed_status: 0,
            unpolled: 0,
            stats: LinkStats::default(),
            sojourns: Default::default(),
            failures: 0,
        }
    }

    pub(crate) fn config(&self) -> RlcConfig {
        self.config
    }

    /// Returns the bytes that wait for their first transmission.
    pub(crate) fn backlog(&self) -> u32 {
        (self.end - self.sent) as u32
    }

    /// Returns approximately the bytes of transport blocks that would empty the buffer.
    pub(crate) fn demand(&self) -> u32 {
        if let Some(piece) = self.again.front() {
            return piece.bytes + HEADERS + OFFSET_BYTES;
        }
        if self.end == self.sent || self.flights.len() >= FLIGHTS_MAX {
            return 0;
        }
        let waiting = (self.sdus.len() - self.unsent) as u32;
        self.backlog() + HEADERS * waiting + OFFSET_BYTES + self.status_bytes()
    }

    fn status_bytes(&self) -> u32 {
        self.owed_status * (RLC_STATUS_BYTES + MAC_HEADER_BYTES) as u32
    }

    /// Adds a PDCP PDU, or drops it if the buffer is full. Returns whether it was added.
    pub(crate) fn enqueue(&mut self, packet: Packet) -> bool {
        self.stats.rlc_sdus_in += 1;
        self.stats.rlc_sdu_bytes_in += u64::from(packet.bytes);
        let full = self.backlog() + packet.bytes > self.config.buffer_bytes;
        if full || self.sdus.len() - self.unsent >= self.config.buffer_sdus as usize {
            self.stats.rlc_dropped_sdus += 1;
            self.stats.rlc_dropped_bytes += u64::from(packet.bytes);
            return false;
        }
        self.end += u64::from(packet.bytes);
        self.sdus.push_back(Sdu { end: self.end, packet });
        true
    }

    /// Fills a transport block of `grant` bytes that ends at `now_us`. Returns `None` if no data fits.
    pub(crate) fn transmit(&mut self, grant: u32, now_us: u64) -> Option<Piece> {
        if let Some(piece) = self.again.pop_front() {
            return self.transmit_again(piece, grant);
        }
        if self.flights.len() >= FLIGHTS_MAX {
            return None;
        }
        let mut room = grant;
        let statuses = self.owed_status.min(room / (RLC_STATUS_BYTES + MAC_HEADER_BYTES) as u32);
        room -= statuses * (RLC_STATUS_BYTES + MAC_HEADER_BYTES) as u32;
        let from = self.sent;
        while room > HEADERS + OFFSET_BYTES && self.unsent < self.sdus.len() {
            room = self.transmit_sdu(room, now_us);
        }
        if self.sent == from {
            return None;
        }
        self.owed_status -= statuses;
        self.stats.rlc_status_pdus += u64::from(statuses);
        self.stats.rlc_status_bytes += u64::from(statuses) * RLC_STATUS_BYTES;
        let bytes = (self.sent - from) as u32;
        self.flights.push_back(Flight { to: self.sent, missing: bytes, lost: false });
        let flight = self.first_flight + self.flights.len() as u64 - 1;
        Some(Piece { flight, bytes, retransmissions: 0 })
    }

    /// Transmits one SDU or a segment of it. Returns the room that is left.
    fn transmit_sdu(&mut self, room: u32, now_us: u64) -> u32 {
        let Some(sdu) = self.sdus.get_mut(self.unsent) else { return 0 };
        let rest = (sdu.end - self.sent) as u32;
        let is_tail = rest < sdu.packet.bytes;
        let headers = HEADERS + if is_tail { OFFSET_BYTES } else { 0 };
        let whole = rest + headers <= room;
        // A rest that fits completely may be smaller than the minimum segment; a partial segment may not.
        if !whole && room < HEADERS + OFFSET_BYTES + SEGMENT_MIN {
            return 0;
        }
        let headers = if whole { headers } else { HEADERS + OFFSET_BYTES };
        let payload = if whole { rest } else { room - headers };
        self.sent += u64::from(payload);
        let stats = &mut self.stats;
        stats.rlc_pdus += 1;
        stats.rlc_pdu_bytes += u64::from(payload + headers) - MAC_HEADER_BYTES;
        stats.rlc_segmented_pdus += u64::from(is_tail || !whole);
        self.unpolled += 1;
        if whole {
            let waited = now_us.saturating_sub(sdu.packet.queued_us);
            sdu.packet.rlc_us = waited.min(u64::from(u32::MAX)) as u32;
            self.sojourns[0].record(waited);
            self.sojourns[1].record(waited + u64::from(sdu.packet.tc_us));
            stats.rlc_sdus_out += 1;
            stats.rlc_sdu_bytes_out += u64::from(sdu.packet.bytes);
            // The exponential average covers about 16 SDUs, in units of 1/16 µs.
            stats.time_to_tx_us_q4 += waited;
            stats.time_to_tx_us_q4 -= stats.time_to_tx_us_q4 / 16;
            self.unsent += 1;
        }
        room - payload - headers
    }

    fn transmit_again(&mut self, mut piece: Piece, grant: u32) -> Option<Piece> {
        let room = grant.saturating_sub(HEADERS + OFFSET_BYTES);
        if room < SEGMENT_MIN.min(piece.bytes) {
            self.again.push_front(piece);
            return None;
        }
        if room < piece.bytes {
            self.again.push_front(Piece { bytes: piece.bytes - room, ..piece });
            piece.bytes = room;
        }
        let bytes = u64::from(piece.bytes) + RLC_HEADER_BYTES + u64::from(OFFSET_BYTES);
        self.stats.rlc_pdus += 1;
        self.stats.rlc_pdu_bytes += bytes;
        self.stats.rlc_retx_pdus += 1;
        self.stats.rlc_retx_bytes += bytes;
        self.stats.rlc_segmented_pdus += 1;
        Some(piece)
    }

    /// Returns whether the transmitter polls now. The receiver then sends a status report.
    pub(crate) fn polls(&mut self) -> bool {
        let due = self.config.mode == RlcMode::Am && self.unpolled >= POLL_PDUS;
        if due {
            self.unpolled = 0;
        }
        due
    }

    /// Records that a piece arrived. Complete SDUs are passed to `delivered` in order.
    pub(crate) fn arrived(&mut self, piece: Piece, delivered: impl FnMut(Packet)) {
        self.decide(piece, false, delivered, |_| ());
    }

    /// Records that HARQ gave up a piece. Acknowledged mode transmits the piece again, up to the maximum number of
    /// retransmissions. Otherwise the SDUs of the piece are lost.
    pub(crate) fn gave_up(
        &mut self,
        mut piece: Piece,
        delivered: impl FnMut(Packet),
        lost: impl FnMut(Packet),
    ) {
        if self.config.mode == RlcMode::Am && piece.retransmissions < self.config.retransmissions {
            piece.retransmissions += 1;
            self.again.push_back(piece);
            return;
        }
        self.failures += u64::from(self.config.mode == RlcMode::Am);
        self.decide(piece, true, delivered, lost);
    }

    fn decide(
        &mut self,
        piece: Piece,
        failed: bool,
        mut delivered: impl FnMut(Packet),
        mut lost: impl FnMut(Packet),
    ) {
        // A piece from before a re-establishment belongs to a transmission that no longer exists, so it is ignored.
        let Some(index) = piece.flight.checked_sub(self.first_flight) else { return };
        let Some(flight) = self.flights.get_mut(index as usize) else { return };
        flight.missing = flight.missing.saturating_sub(piece.bytes);
        flight.lost |= failed;
        while let Some(flight) = self.flights.front().copied().filter(|flight| flight.missing == 0) {
            self.flights.pop_front();
            self.first_flight += 1;
            self.tainted |= flight.lost;
            let mut boundary = false;
            while self.unsent > 0 && self.sdus.front().is_some_and(|sdu| sdu.end <= flight.to) {
                let Some(sdu) = self.sdus.pop_front() else { break };
                self.unsent -= 1;
                boundary = sdu.end == flight.to;
                if self.tainted {
                    lost(sdu.packet)
                } else {
                    delivered(sdu.packet)
                }
                self.tainted = flight.lost;
            }
            self.tainted &= !boundary;
        }
    }

    /// Empties the buffers, as at a handover. Returns the data to send again: undelivered data in acknowledged mode,
    /// untransmitted data in unacknowledged mode. Other data is lost.
    pub(crate) fn reestablish(&mut self, mut lost: impl FnMut(Packet)) -> Vec<Packet> {
        let sent = if self.config.mode == RlcMode::Am { 0 } else { self.unsent };
        self.sdus.drain(..sent).for_each(|sdu| lost(sdu.packet));
        self.first_flight += self.flights.len() as u64;
        self.flights.clear();
        self.again.clear();
        self.tainted = false;
        self.unsent = 0;
        self.sent = self.end;
        self.sdus.drain(..).map(|sdu| sdu.packet).collect()
    }

    /// Returns the counters and the state of the buffer at `now_us`.
    pub(crate) fn stats(&self, now_us: u64) -> LinkStats {
        let head = self.sdus.get(self.unsent);
        let waited = head.map_or(0, |sdu| now_us.saturating_sub(sdu.packet.queued_us));
        let begin = head.map_or(self.sent, |sdu| sdu.end - u64::from(sdu.packet.bytes));
        LinkStats {
            queue_sdus: (self.sdus.len() - self.unsent) as u64,
            queue_bytes: u64::from(self.backlog()),
            partial_bytes: self.sent - begin,
            head_delay_us: waited.min(10_000_000),
            reordering_pdus: u64::from(self.flights.len() > 1),
            ..self.stats
        }
    }
}
