//! PDCP: statistics of each radio bearer's PDCP entity (FlexRIC's service model 144; TS 38.323).
//!
//! All counters run since the bearer was set up and wrap at their width.

mod plain;

pub use super::rlc::RlcMode;
pub use plain::PdcpView;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.144.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 144;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"PDCP_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// Octets of one bearer in the plain encoding.
pub const BEARER_SIZE: usize = 68;

/// PDCP statistics of all bearers of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PdcpIndication {
    /// One entry for each radio bearer of each UE.
    pub bearers: Vec<PdcpBearer>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

/// PDCP statistics of one radio bearer. `tx` is the downlink, `rx` the uplink, seen from the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PdcpBearer {
    /// PDUs sent to RLC.
    pub txpdu_pkts: u32,
    /// Bytes of PDUs sent to RLC.
    pub txpdu_bytes: u32,
    /// Sequence number of the last PDU sent.
    pub txpdu_sn: u32,
    /// PDUs received from RLC.
    pub rxpdu_pkts: u32,
    /// Bytes of PDUs received from RLC.
    pub rxpdu_bytes: u32,
    /// Sequence number of the last PDU received.
    pub rxpdu_sn: u32,
    /// PDUs received out of order.
    pub rxpdu_oo_pkts: u32,
    /// Bytes of PDUs received out of order.
    pub rxpdu_oo_bytes: u32,
    /// Duplicate or discarded PDUs received.
    pub rxpdu_dd_pkts: u32,
    /// Bytes of duplicate or discarded PDUs received.
    pub rxpdu_dd_bytes: u32,
    /// PDUs that wait for reordering.
    pub rxpdu_ro_count: u32,
    /// SDUs that the upper layer handed over.
    pub txsdu_pkts: u32,
    /// Bytes of SDUs that the upper layer handed over.
    pub txsdu_bytes: u32,
    /// SDUs delivered to the upper layer.
    pub rxsdu_pkts: u32,
    /// Bytes of SDUs delivered to the upper layer.
    pub rxsdu_bytes: u32,
    /// Radio network temporary identifier of the UE.
    pub rnti: u32,
    /// Mode of the RLC entity below.
    pub mode: RlcMode,
    /// Radio bearer identity.
    pub rbid: u8,
}
