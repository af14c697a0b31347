//! RLC: statistics of each radio bearer's RLC entity (FlexRIC's service model 143; TS 38.322).
//!
//! All counters run since the bearer was set up and wrap at their width; `buf_occ` values are of the moment.

mod plain;

pub use plain::RlcView;

use std::convert::Infallible;

use super::octets::octets;
use super::plain::{Plain, statistics_model};
use super::table::{Field, Type, row};
use super::{RowKey, Value};

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.143.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 143;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"RLC_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// FlexRIC's controllers know it.
pub const CUSTOMARY: bool = true;
/// Octets of one bearer in the plain encoding.
pub const BEARER_SIZE: usize = 152;

statistics_model! {
    /// RLC statistics: the model.
    Rlc: "rlc", RlcIndication { bearers: RlcBearer }, Infallible
}
octets! { RlcIndication: Plain => Plain; }

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

impl Field for RlcMode {
    const OF: Type = Type::Text;

    fn values(&self, out: &mut Vec<Value>) {
        out.push(Value::Text(match self {
            Self::Acknowledged => "am".into(),
            Self::Unacknowledged => "um".into(),
            Self::Transparent => "tm".into(),
            Self::Unknown(code) => format!("unknown ({code})").into(),
        }));
    }
}

row! {
    /// RLC statistics of one radio bearer. `tx` is the downlink, `rx` the uplink, seen from the base station.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    RlcBearer, bearer => RowKey::Bearer { rnti: bearer.rnti, rbid: bearer.rbid }, {
        /// PDUs sent.
        txpdu_pkts: u32 [counter],
        /// Bytes of PDUs sent.
        txpdu_bytes: u32 [counter "B"],
        /// Current head-of-line delay of the transmit buffer, ms.
        txpdu_wt_ms: u32 [gauge "ms"],
        /// PDUs dropped or discarded on transmission.
        txpdu_dd_pkts: u32 [counter],
        /// Bytes of PDUs dropped or discarded on transmission.
        txpdu_dd_bytes: u32 [counter "B"],
        /// PDUs retransmitted (acknowledged mode).
        txpdu_retx_pkts: u32 [counter headline],
        /// Bytes of PDUs retransmitted.
        txpdu_retx_bytes: u32 [counter "B"],
        /// PDUs that carried a segment of an SDU.
        txpdu_segmented: u32 [counter],
        /// Status PDUs sent.
        txpdu_status_pkts: u32 [counter],
        /// Bytes of status PDUs sent.
        txpdu_status_bytes: u32 [counter "B"],
        /// Bytes that wait in the transmit buffer.
        txbuf_occ_bytes: u32 [gauge "B" headline],
        /// PDUs or SDUs that wait in the transmit buffer.
        txbuf_occ_pkts: u32 [gauge],
        /// PDUs received.
        rxpdu_pkts: u32 [counter],
        /// Bytes of PDUs received.
        rxpdu_bytes: u32 [counter "B"],
        /// Duplicate PDUs received.
        rxpdu_dup_pkts: u32 [counter],
        /// Bytes of duplicate PDUs received.
        rxpdu_dup_bytes: u32 [counter "B"],
        /// PDUs dropped or discarded on receipt.
        rxpdu_dd_pkts: u32 [counter],
        /// Bytes of PDUs dropped or discarded on receipt.
        rxpdu_dd_bytes: u32 [counter "B"],
        /// PDUs received out of the window.
        rxpdu_ow_pkts: u32 [counter],
        /// Bytes of PDUs received out of the window.
        rxpdu_ow_bytes: u32 [counter "B"],
        /// Status PDUs received.
        rxpdu_status_pkts: u32 [counter],
        /// Bytes of status PDUs received.
        rxpdu_status_bytes: u32 [counter "B"],
        /// Bytes in the receive buffer.
        rxbuf_occ_bytes: u32 [gauge "B"],
        /// PDUs in the receive buffer.
        rxbuf_occ_pkts: u32 [gauge],
        /// SDUs that the upper layer handed over.
        txsdu_pkts: u32 [counter],
        /// Bytes of SDUs that the upper layer handed over.
        txsdu_bytes: u64 [counter "B"],
        /// Average time from an SDU's arrival to its transmission, µs.
        txsdu_avg_time_to_tx_us: f64 [gauge "us"],
        /// Current head-of-line delay of the SDU buffer, µs.
        txsdu_wt_us: u32 [gauge "us" headline],
        /// SDUs delivered to the upper layer.
        rxsdu_pkts: u32 [counter],
        /// Bytes of SDUs delivered to the upper layer.
        rxsdu_bytes: u64 [counter "B"],
        /// SDUs dropped or discarded on receipt.
        rxsdu_dd_pkts: u32 [counter],
        /// Bytes of SDUs dropped or discarded on receipt.
        rxsdu_dd_bytes: u32 [counter "B"],
        /// Radio network temporary identifier of the UE.
        rnti: u32 [key],
        /// Mode of the entity.
        mode: RlcMode [label],
        /// Radio bearer identity.
        rbid: u8 [key],
    }
}
