//! A UE as seen by its cell: identities, radio channel, and both directions of its bearer.
//!
//! The UE has one data radio bearer in RLC acknowledged mode, one QoS flow and one tunnel. The counters here are 64
//! bits wide; narrower protocol fields use their low bits.

use crate::link::{Budget, Link, LinkStats, Packet, Span};
use crate::radio::{ChannelStep, Radio, RadioStats};

/// Size of the PDCP header of each PDU, in bytes (TS 38.323 §6.2.2.3, 18-bit sequence number).
pub const PDCP_HEADER_BYTES: u64 = 3;
/// Largest C-RNTI (TS 38.321 table 7.1-1). Zero is not a valid C-RNTI.
pub const RNTI_MAX: u16 = 0xffef;

const PDCP_SN_MASK: u64 = (1 << 18) - 1;
static DL_PACKETS: [Packet; 4] = [Packet::new(1400), Packet::new(1200), Packet::new(800), Packet::new(400)];
static UL_PACKETS: [Packet; 4] = [Packet::new(1400), Packet::new(600), Packet::new(200), Packet::new(100)];

/// Identifiers of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UeIdentity {
    /// C-RNTI: 1 to [`RNTI_MAX`], unique in the cell.
    pub rnti: u16,
    /// Tunnel endpoint identifier at the base station. It is not zero, and unique among cells with different `cell_id`.
    pub teid_gnb: u32,
    /// Tunnel endpoint identifier at the UPF. It is not zero, and unique among cells with different `cell_id`.
    pub teid_upf: u32,
    /// QoS flow identifier of the only flow.
    pub qfi: u8,
    /// Radio bearer identity of the only data radio bearer.
    pub drb_id: u8,
}

impl UeIdentity {
    /// Returns the identity of the UE with `rnti` in the cell `cell_id`.
    pub(crate) fn new(cell_id: u16, rnti: u16) -> Self {
        let teid_gnb = u32::from(cell_id) << 16 | u32::from(rnti);
        // Multiplication by an odd factor permutes the 32-bit numbers and maps only zero to zero. The result is
        // therefore unique and not zero.
        let teid_upf = teid_gnb.wrapping_mul(0x9e37_79b1);
        Self { rnti, teid_gnb, teid_upf, qfi: 1, drb_id: 1 }
    }
}

/// PDCP counters of both directions; `tx` is the downlink. RLC in acknowledged mode delivers each PDU once, so PDCP
/// discards no PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PdcpStats {
    /// Number of downlink SDUs handed over by the upper layer.
    pub tx_sdus: u64,
    /// Bytes of downlink SDUs handed over by the upper layer.
    pub tx_sdu_bytes: u64,
    /// Number of PDUs handed to RLC.
    pub tx_pdus: u64,
    /// Bytes of PDUs handed to RLC.
    pub tx_pdu_bytes: u64,
    /// Sequence number of the last PDU handed to RLC, 18 bits; zero before the first.
    pub tx_sn: u32,
    /// Number of PDUs received from RLC.
    pub rx_pdus: u64,
    /// Bytes of PDUs received from RLC.
    pub rx_pdu_bytes: u64,
    /// Sequence number of the last PDU received, 18 bits; zero before the first.
    pub rx_sn: u32,
    /// Number of PDUs received out of order.
    pub rx_out_of_order_pdus: u64,
    /// Bytes of PDUs received out of order.
    pub rx_out_of_order_bytes: u64,
    /// Number of PDUs that wait for reordering.
    pub rx_reordering_pdus: u64,
    /// Number of SDUs delivered to the upper layer.
    pub rx_sdus: u64,
    /// Bytes of SDUs delivered to the upper layer.
    pub rx_sdu_bytes: u64,
}

/// Counters of the base station's RLC receiver, in addition to the counters of uplink PDUs and SDUs.
///
/// A UE retransmits a PDU when HARQ gives up. In one of four cases the first copy did arrive, so the retransmission
/// is a duplicate. One in four duplicates falls outside the receive window. RLC discards all duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RlcReceptionStats {
    /// Number of duplicate PDUs.
    pub duplicate_pdus: u64,
    /// Bytes of duplicate PDUs.
    pub duplicate_bytes: u64,
    /// Number of PDUs received outside the window, contained in the duplicates.
    pub out_of_window_pdus: u64,
    /// Bytes of PDUs received outside the window.
    pub out_of_window_bytes: u64,
    /// Number of discarded PDUs; equals the number of duplicates.
    pub discarded_pdus: u64,
    /// Bytes of discarded PDUs.
    pub discarded_bytes: u64,
    /// Number of PDUs in the receive buffer. Segments of an incomplete SDU count as one PDU.
    pub buffered_pdus: u64,
    /// Bytes in the receive buffer.
    pub buffered_bytes: u64,
}

/// A UE: its identity, radio state and counters.
///
/// These relations hold after every step (for both directions unless stated otherwise):
/// * all counters grow or stay;
/// * MAC: `mac_sdu_bytes() + mac_sdus() x` [`MAC_HEADER_BYTES`](crate::MAC_HEADER_BYTES) `<= tbs_bytes`;
///   `curr_tbs_bytes <= tbs_bytes`; `sched_prbs <= prbs`; `retx_prbs <= prbs`; `harq` decreases from round to
///   round;
/// * MAC carries RLC: its SDUs are RLC's data and status PDUs;
/// * RLC: `rlc_sdu_bytes_in = rlc_sdu_bytes_out + rlc_dropped_bytes + queue_bytes + partial_bytes`, and in
///   the same way for SDUs; `rlc_retx_pdus` and `rlc_segmented_pdus` are at most `rlc_pdus`; `queue_bytes <=`
///   [`QUEUE_BYTES_MAX`](crate::QUEUE_BYTES_MAX);
/// * PDCP over RLC: downlink PDUs are the RLC SDUs in, uplink PDUs the RLC SDUs out; each PDU is its SDU plus
///   [`PDCP_HEADER_BYTES`]; a tunnel carries the PDCP SDUs.
#[derive(Debug, Clone)]
pub struct UeState {
    identity: UeIdentity,
    radio: RadioStats,
    dl: LinkStats,
    ul: LinkStats,
    channel: Radio,
    dl_link: Link,
    ul_link: Link,
}

impl UeState {
    /// Creates a UE with the given mean rates. Random `bits` vary its channel and its traffic.
    pub(crate) fn new(identity: UeIdentity, dl_kbps: u64, ul_kbps: u64, slot_us: u64, bits: u64) -> Self {
        // The UE's rate is a quarter to two times the cell's mean rate.
        let activity_q8 = 64 + ((bits >> 32) & 0x1ff) * 7 / 8;
        let dl_packet = &DL_PACKETS[(bits >> 48) as usize % DL_PACKETS.len()];
        let ul_packet = &UL_PACKETS[(bits >> 50) as usize % UL_PACKETS.len()];
        let mut ue = Self {
            identity,
            radio: RadioStats::default(),
            dl: Link::fresh_stats(),
            ul: Link::fresh_stats(),
            channel: Radio::new(bits),
            dl_link: Link::new(dl_packet, (dl_kbps * activity_q8) >> 8, slot_us),
            ul_link: Link::new(ul_packet, (ul_kbps * activity_q8) >> 8, slot_us),
        };
        // Without noise and without elapsed time, this step only computes the values of the channel before the first step.
        ue.channel.advance(ChannelStep::over(0), 0xfff | 0x80 << 24, &mut ue.radio);
        ue
    }

    /// Advances one step within the `shares` (downlink, uplink) of the budgets.
    pub(crate) fn advance(
        &mut self,
        span: Span,
        drift: ChannelStep,
        shares: (u64, u64),
        budgets: (&mut Budget, &mut Budget),
        bits: (u64, u64),
    ) {
        let (dl_quality, ul_quality) = self.channel.advance(drift, bits.0, &mut self.radio);
        let owed_by_ue =
            self.dl_link.advance(span, dl_quality, shares.0, budgets.0, bits.0 >> 32, &mut self.dl);
        self.ul_link.owe_status(owed_by_ue);
        let owed_by_cell = self.ul_link.advance(span, ul_quality, shares.1, budgets.1, bits.1, &mut self.ul);
        self.dl_link.owe_status(owed_by_cell);
    }

    /// Returns the identifiers of the UE.
    pub fn identity(&self) -> UeIdentity {
        self.identity
    }

    /// Returns the radio channel of the UE.
    pub fn radio(&self) -> &RadioStats {
        &self.radio
    }

    /// Returns the downlink of the UE.
    pub fn dl(&self) -> &LinkStats {
        &self.dl
    }

    /// Returns the uplink of the UE. The UE's buffer status report is `queue_bytes`; RLC's receive buffer contains
    /// `partial_bytes`.
    pub fn ul(&self) -> &LinkStats {
        &self.ul
    }

    /// Returns further counters of the UE's RLC receiver at the base station.
    pub fn rlc_reception(&self) -> RlcReceptionStats {
        RlcReceptionStats::from_link(&self.ul)
    }

    /// Returns the PDCP counters of the UE, which follow from the RLC counters.
    pub fn pdcp(&self) -> PdcpStats {
        PdcpStats::from_links(&self.dl, &self.ul)
    }
}

impl RlcReceptionStats {
    pub(crate) fn from_link(ul: &LinkStats) -> Self {
        let pdus = ul.rlc_retx_pdus / 4;
        let bytes = ul.rlc_retx_bytes / 4;
        Self {
            duplicate_pdus: pdus,
            duplicate_bytes: bytes,
            out_of_window_pdus: pdus / 4,
            out_of_window_bytes: bytes / 4,
            discarded_pdus: pdus,
            discarded_bytes: bytes,
            buffered_pdus: u64::from(ul.partial_bytes > 0),
            buffered_bytes: ul.partial_bytes,
        }
    }
}

impl PdcpStats {
    pub(crate) fn from_links(dl: &LinkStats, ul: &LinkStats) -> Self {
        let tx_pdus = dl.rlc_sdus_in;
        let tx_pdu_bytes = dl.rlc_sdu_bytes_in;
        let rx_pdus = ul.rlc_sdus_out;
        let rx_pdu_bytes = ul.rlc_sdu_bytes_out;
        Self {
            tx_sdus: tx_pdus,
            tx_sdu_bytes: tx_pdu_bytes - tx_pdus * PDCP_HEADER_BYTES,
            tx_pdus,
            tx_pdu_bytes,
            tx_sn: last_sn(tx_pdus),
            rx_pdus,
            rx_pdu_bytes,
            rx_sn: last_sn(rx_pdus),
            rx_out_of_order_pdus: ul.out_of_order_pdus,
            rx_out_of_order_bytes: ul.out_of_order_bytes,
            rx_reordering_pdus: ul.reordering_pdus,
            rx_sdus: rx_pdus,
            rx_sdu_bytes: rx_pdu_bytes - rx_pdus * PDCP_HEADER_BYTES,
        }
    }
}

fn last_sn(pdus: u64) -> u32 {
    (pdus.saturating_sub(1) & PDCP_SN_MASK) as u32
}
