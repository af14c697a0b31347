//! RLC: statistics of each radio bearer's RLC entity (FlexRIC's service model 143; TS 38.322).
//!
//! All counters start when the bearer is set up and wrap at their width; `buf_occ` values are current ones.

use std::convert::Infallible;

use super::list::PerField;
use super::plain::PlainField;
use super::statistics::statistics_model;
use super::table::{Field, Type, row};
use super::{RowKey, Value};
use crate::per::{DecodeError, EncodeError, Reader, Writer};

statistics_model! {
    /// The RLC service model.
    Rlc "rlc": "0.0.0.0.0.0.0.0.1.143.0", 143, b"RLC_STATS_V0", revision 1, customary true, Infallible;
    /// RLC statistics of all bearers of a cell.
    #[derive(Debug, Clone, PartialEq, Default)]
    RlcIndication RlcView { bearers: RlcBearer, "One entry for each radio bearer of each UE." }
}

/// Mode of an RLC entity (TS 38.322 §4.2.1), or an unknown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RlcMode {
    /// Acknowledged mode (0).
    #[default]
    Acknowledged,
    /// Unacknowledged mode (1).
    Unacknowledged,
    /// Transparent mode (2).
    Transparent,
    /// Any other value, 3 to 255, kept as received.
    Unknown(u8),
}

impl RlcMode {
    /// Returns the encoding of the mode.
    pub const fn code(self) -> u8 {
        match self {
            Self::Acknowledged => 0,
            Self::Unacknowledged => 1,
            Self::Transparent => 2,
            Self::Unknown(code) => code,
        }
    }

    /// Returns the mode with this encoding.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Acknowledged,
            1 => Self::Unacknowledged,
            2 => Self::Transparent,
            code => Self::Unknown(code),
        }
    }
}

impl PlainField for RlcMode {
    const SIZE: usize = 1;
    fn put(&self, to: &mut [u8]) {
        self.code().put(to);
    }
    fn take(from: &[u8]) -> Self {
        Self::from_code(u8::take(from))
    }
}

impl PerField for RlcMode {
    fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError> {
        self.code().put_per(to)
    }
    fn take_per(from: &mut Reader) -> Result<Self, DecodeError> {
        u8::take_per(from).map(Self::from_code)
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
    RlcBearer, bearer => RowKey::Bearer { rnti: bearer.rnti, rbid: bearer.rbid }, 152 octets {
        0 txpdu_pkts: u32 [counter], "PDUs sent.";
        4 txpdu_bytes: u32 [counter "B"], "Bytes of PDUs sent.";
        8 txpdu_wt_ms: u32 [gauge "ms"], "Current head-of-line delay of the transmit buffer, ms.";
        12 txpdu_dd_pkts: u32 [counter], "PDUs dropped or discarded on transmission.";
        16 txpdu_dd_bytes: u32 [counter "B"], "Bytes of PDUs dropped or discarded on transmission.";
        20 txpdu_retx_pkts: u32 [counter headline], "PDUs retransmitted (acknowledged mode).";
        24 txpdu_retx_bytes: u32 [counter "B"], "Bytes of PDUs retransmitted.";
        28 txpdu_segmented: u32 [counter], "PDUs that carried a segment of an SDU.";
        32 txpdu_status_pkts: u32 [counter], "Status PDUs sent.";
        36 txpdu_status_bytes: u32 [counter "B"], "Bytes of status PDUs sent.";
        40 txbuf_occ_bytes: u32 [gauge "B" headline], "Bytes in the transmit buffer.";
        44 txbuf_occ_pkts: u32 [gauge], "PDUs or SDUs in the transmit buffer.";
        48 rxpdu_pkts: u32 [counter], "PDUs received.";
        52 rxpdu_bytes: u32 [counter "B"], "Bytes of PDUs received.";
        56 rxpdu_dup_pkts: u32 [counter], "Duplicate PDUs received.";
        60 rxpdu_dup_bytes: u32 [counter "B"], "Bytes of duplicate PDUs received.";
        64 rxpdu_dd_pkts: u32 [counter], "PDUs dropped or discarded on receipt.";
        68 rxpdu_dd_bytes: u32 [counter "B"], "Bytes of PDUs dropped or discarded on receipt.";
        72 rxpdu_ow_pkts: u32 [counter], "PDUs received out of the window.";
        76 rxpdu_ow_bytes: u32 [counter "B"], "Bytes of PDUs received out of the window.";
        80 rxpdu_status_pkts: u32 [counter], "Status PDUs received.";
        84 rxpdu_status_bytes: u32 [counter "B"], "Bytes of status PDUs received.";
        88 rxbuf_occ_bytes: u32 [gauge "B"], "Bytes in the receive buffer.";
        92 rxbuf_occ_pkts: u32 [gauge], "PDUs in the receive buffer.";
        96 txsdu_pkts: u32 [counter], "SDUs received from the upper layer.";
        104 txsdu_bytes: u64 [counter "B"], "Bytes of SDUs received from the upper layer.";
        112 txsdu_avg_time_to_tx_us: f64 [gauge "us"], "Average time from an SDU's arrival to its transmission, µs.";
        120 txsdu_wt_us: u32 [gauge "us" headline], "Current head-of-line delay of the SDU buffer, µs.";
        124 rxsdu_pkts: u32 [counter], "SDUs delivered to the upper layer.";
        128 rxsdu_bytes: u64 [counter "B"], "Bytes of SDUs delivered to the upper layer.";
        136 rxsdu_dd_pkts: u32 [counter], "SDUs dropped or discarded on receipt.";
        140 rxsdu_dd_bytes: u32 [counter "B"], "Bytes of SDUs dropped or discarded on receipt.";
        144 rnti: u32 [key], "Radio network temporary identifier of the UE.";
        148 mode: RlcMode [label], "Mode of the entity.";
        149 rbid: u8 [key], "Radio bearer identity.";
    }
}
