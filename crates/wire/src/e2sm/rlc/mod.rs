//! RLC: statistics of each radio bearer's RLC entity (FlexRIC's service model 143; TS 38.322).
//!
//! All counters run since the bearer was set up and wrap at their width; `buf_occ` values are of the moment.

mod plain;

pub use plain::RlcView;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.143.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 143;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"RLC_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// Octets of one bearer in the plain encoding.
pub const BEARER_SIZE: usize = 152;

/// RLC statistics of all bearers of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RlcIndication {
    /// One entry for each radio bearer of each UE.
    pub bearers: Vec<RlcBearer>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

/// The mode of an RLC entity (TS 38.322 §4.2.1), or the value of a peer that follows another list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RlcMode {
    /// Acknowledged mode (0).
    #[default]
    Acknowledged,
    /// Unacknowledged mode (1).
    Unacknowledged,
    /// Transparent mode (2).
    Transparent,
    /// Any other octet, 3 to 255. It is kept as received.
    Unknown(u8),
}

impl RlcMode {
    /// The octet that stands for the mode.
    pub const fn code(self) -> u8 {
        match self {
            Self::Acknowledged => 0,
            Self::Unacknowledged => 1,
            Self::Transparent => 2,
            Self::Unknown(code) => code,
        }
    }

    /// The mode that `code` stands for.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Acknowledged,
            1 => Self::Unacknowledged,
            2 => Self::Transparent,
            code => Self::Unknown(code),
        }
    }
}

/// RLC statistics of one radio bearer. `tx` is the downlink, `rx` the uplink, seen from the base station.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RlcBearer {
    /// PDUs sent.
    pub txpdu_pkts: u32,
    /// Bytes of PDUs sent.
    pub txpdu_bytes: u32,
    /// Current head-of-line delay of the transmit buffer, ms.
    pub txpdu_wt_ms: u32,
    /// PDUs dropped or discarded on transmission.
    pub txpdu_dd_pkts: u32,
    /// Bytes of PDUs dropped or discarded on transmission.
    pub txpdu_dd_bytes: u32,
    /// PDUs retransmitted (acknowledged mode).
    pub txpdu_retx_pkts: u32,
    /// Bytes of PDUs retransmitted.
    pub txpdu_retx_bytes: u32,
    /// PDUs that carried a segment of an SDU.
    pub txpdu_segmented: u32,
    /// Status PDUs sent.
    pub txpdu_status_pkts: u32,
    /// Bytes of status PDUs sent.
    pub txpdu_status_bytes: u32,
    /// Bytes that wait in the transmit buffer.
    pub txbuf_occ_bytes: u32,
    /// PDUs or SDUs that wait in the transmit buffer.
    pub txbuf_occ_pkts: u32,
    /// PDUs received.
    pub rxpdu_pkts: u32,
    /// Bytes of PDUs received.
    pub rxpdu_bytes: u32,
    /// Duplicate PDUs received.
    pub rxpdu_dup_pkts: u32,
    /// Bytes of duplicate PDUs received.
    pub rxpdu_dup_bytes: u32,
    /// PDUs dropped or discarded on receipt.
    pub rxpdu_dd_pkts: u32,
    /// Bytes of PDUs dropped or discarded on receipt.
    pub rxpdu_dd_bytes: u32,
    /// PDUs received out of the window.
    pub rxpdu_ow_pkts: u32,
    /// Bytes of PDUs received out of the window.
    pub rxpdu_ow_bytes: u32,
    /// Status PDUs received.
    pub rxpdu_status_pkts: u32,
    /// Bytes of status PDUs received.
    pub rxpdu_status_bytes: u32,
    /// Bytes in the receive buffer.
    pub rxbuf_occ_bytes: u32,
    /// PDUs in the receive buffer.
    pub rxbuf_occ_pkts: u32,
    /// SDUs that the upper layer handed over.
    pub txsdu_pkts: u32,
    /// Bytes of SDUs that the upper layer handed over.
    pub txsdu_bytes: u64,
    /// Average time from an SDU's arrival to its transmission, µs.
    pub txsdu_avg_time_to_tx_us: f64,
    /// Current head-of-line delay of the SDU buffer, µs.
    pub txsdu_wt_us: u32,
    /// SDUs delivered to the upper layer.
    pub rxsdu_pkts: u32,
    /// Bytes of SDUs delivered to the upper layer.
    pub rxsdu_bytes: u64,
    /// SDUs dropped or discarded on receipt.
    pub rxsdu_dd_pkts: u32,
    /// Bytes of SDUs dropped or discarded on receipt.
    pub rxsdu_dd_bytes: u32,
    /// Radio network temporary identifier of the UE.
    pub rnti: u32,
    /// Mode of the entity.
    pub mode: RlcMode,
    /// Radio bearer identity.
    pub rbid: u8,
}
