//! PDCP: statistics of each radio bearer's PDCP entity (FlexRIC's service model 144; TS 38.323).
//!
//! All counters run since the bearer was set up and wrap at their width.

mod plain;

pub use super::rlc::RlcMode;
pub use plain::PdcpView;

use std::convert::Infallible;

use super::RowKey;
use super::octets::octets;
use super::plain::{Plain, statistics_model};
use super::table::row;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.144.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 144;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"PDCP_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// FlexRIC's controllers know it.
pub const CUSTOMARY: bool = true;
/// Octets of one bearer in the plain encoding.
pub const BEARER_SIZE: usize = 68;

statistics_model! {
    /// PDCP statistics: the model.
    Pdcp: "pdcp", PdcpIndication { bearers: PdcpBearer }, Infallible
}
octets! { PdcpIndication: Plain => Plain; }

/// PDCP statistics of all bearers of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PdcpIndication {
    /// One entry for each radio bearer of each UE.
    pub bearers: Vec<PdcpBearer>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

row! {
    /// PDCP statistics of one radio bearer. `tx` is the downlink, `rx` the uplink, seen from the base station.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    PdcpBearer, bearer => RowKey::Bearer { rnti: bearer.rnti, rbid: bearer.rbid }, {
        /// PDUs sent to RLC.
        txpdu_pkts: u32 [counter],
        /// Bytes of PDUs sent to RLC.
        txpdu_bytes: u32 [counter "B"],
        /// Sequence number of the last PDU sent.
        txpdu_sn: u32 [label],
        /// PDUs received from RLC.
        rxpdu_pkts: u32 [counter],
        /// Bytes of PDUs received from RLC.
        rxpdu_bytes: u32 [counter "B"],
        /// Sequence number of the last PDU received.
        rxpdu_sn: u32 [label],
        /// PDUs received out of order.
        rxpdu_oo_pkts: u32 [counter],
        /// Bytes of PDUs received out of order.
        rxpdu_oo_bytes: u32 [counter "B"],
        /// Duplicate or discarded PDUs received.
        rxpdu_dd_pkts: u32 [counter],
        /// Bytes of duplicate or discarded PDUs received.
        rxpdu_dd_bytes: u32 [counter "B"],
        /// PDUs that wait for reordering.
        rxpdu_ro_count: u32 [gauge],
        /// SDUs that the upper layer handed over.
        txsdu_pkts: u32 [counter],
        /// Bytes of SDUs that the upper layer handed over.
        txsdu_bytes: u32 [counter "B" headline],
        /// SDUs delivered to the upper layer.
        rxsdu_pkts: u32 [counter],
        /// Bytes of SDUs delivered to the upper layer.
        rxsdu_bytes: u32 [counter "B" headline],
        /// Radio network temporary identifier of the UE.
        rnti: u32 [key],
        /// Mode of the RLC entity below.
        mode: RlcMode [label],
        /// Radio bearer identity.
        rbid: u8 [key],
    }
}
