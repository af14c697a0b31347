//! PDCP: statistics of each radio bearer's PDCP entity (FlexRIC's service model 144; TS 38.323).
//!
//! All counters start when the bearer is set up and wrap at their width.

pub use super::rlc::RlcMode;

use std::convert::Infallible;

use super::RowKey;
use super::statistics::statistics_model;
use super::table::row;

statistics_model! {
    /// The PDCP service model.
    Pdcp "pdcp": "0.0.0.0.0.0.0.0.1.144.0", 144, b"PDCP_STATS_V0", revision 1, customary true, Infallible;
    /// PDCP statistics of all bearers of a cell.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    PdcpIndication PdcpView { bearers: PdcpBearer, "One entry for each radio bearer of each UE." }
}

row! {
    /// PDCP statistics of one radio bearer. `tx` is the downlink, `rx` the uplink, seen from the base station.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    PdcpBearer, bearer => RowKey::Bearer { rnti: bearer.rnti, rbid: bearer.rbid }, 68 octets {
        0 txpdu_pkts: u32 [counter], "PDUs sent to RLC.";
        4 txpdu_bytes: u32 [counter "B"], "Bytes of PDUs sent to RLC.";
        8 txpdu_sn: u32 [label], "Sequence number of the last PDU sent.";
        12 rxpdu_pkts: u32 [counter], "PDUs received from RLC.";
        16 rxpdu_bytes: u32 [counter "B"], "Bytes of PDUs received from RLC.";
        20 rxpdu_sn: u32 [label], "Sequence number of the last PDU received.";
        24 rxpdu_oo_pkts: u32 [counter], "PDUs received out of order.";
        28 rxpdu_oo_bytes: u32 [counter "B"], "Bytes of PDUs received out of order.";
        32 rxpdu_dd_pkts: u32 [counter], "Duplicate or discarded PDUs received.";
        36 rxpdu_dd_bytes: u32 [counter "B"], "Bytes of duplicate or discarded PDUs received.";
        40 rxpdu_ro_count: u32 [gauge], "PDUs waiting for reordering.";
        44 txsdu_pkts: u32 [counter], "SDUs received from the upper layer.";
        48 txsdu_bytes: u32 [counter "B" headline], "Bytes of SDUs received from the upper layer.";
        52 rxsdu_pkts: u32 [counter], "SDUs delivered to the upper layer.";
        56 rxsdu_bytes: u32 [counter "B" headline], "Bytes of SDUs delivered to the upper layer.";
        60 rnti: u32 [key], "Radio network temporary identifier of the UE.";
        64 mode: RlcMode [label], "Mode of the RLC entity below.";
        65 rbid: u8 [key], "Radio bearer identity.";
    }
}
