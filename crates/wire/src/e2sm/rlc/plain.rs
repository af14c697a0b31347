//! RLC as packed structs.

use super::{BEARER_SIZE, RlcBearer, RlcIndication, RlcMode};
use crate::e2sm::plain::{PlainElement, PlainField, PlainView, plain_element, plain_indication};

/// A borrowed RLC indication message.
pub type RlcView<'a> = PlainView<'a, RlcBearer>;

impl RlcView<'_> {
    /// The bearer at `index`, or `None` beyond the last one.
    pub fn bearer(&self, index: usize) -> Option<RlcBearer> {
        self.at(index)
    }
}

plain_indication!(RlcIndication, bearers: RlcBearer);

const _: () = assert!(RlcBearer::SIZE == BEARER_SIZE);
plain_element!(RlcBearer, 152, {
    0 => txpdu_pkts: u32,
    4 => txpdu_bytes: u32,
    8 => txpdu_wt_ms: u32,
    12 => txpdu_dd_pkts: u32,
    16 => txpdu_dd_bytes: u32,
    20 => txpdu_retx_pkts: u32,
    24 => txpdu_retx_bytes: u32,
    28 => txpdu_segmented: u32,
    32 => txpdu_status_pkts: u32,
    36 => txpdu_status_bytes: u32,
    40 => txbuf_occ_bytes: u32,
    44 => txbuf_occ_pkts: u32,
    48 => rxpdu_pkts: u32,
    52 => rxpdu_bytes: u32,
    56 => rxpdu_dup_pkts: u32,
    60 => rxpdu_dup_bytes: u32,
    64 => rxpdu_dd_pkts: u32,
    68 => rxpdu_dd_bytes: u32,
    72 => rxpdu_ow_pkts: u32,
    76 => rxpdu_ow_bytes: u32,
    80 => rxpdu_status_pkts: u32,
    84 => rxpdu_status_bytes: u32,
    88 => rxbuf_occ_bytes: u32,
    92 => rxbuf_occ_pkts: u32,
    96 => txsdu_pkts: u32,
    // 100..104: padding
    104 => txsdu_bytes: u64,
    112 => txsdu_avg_time_to_tx_us: f64,
    120 => txsdu_wt_us: u32,
    124 => rxsdu_pkts: u32,
    128 => rxsdu_bytes: u64,
    136 => rxsdu_dd_pkts: u32,
    140 => rxsdu_dd_bytes: u32,
    144 => rnti: u32,
    148 => mode: RlcMode,
    149 => rbid: u8,
    // 150..152: padding
});

impl PlainField for RlcMode {
    const SIZE: usize = 1;
    fn put(&self, to: &mut [u8]) {
        self.code().put(to);
    }
    fn take(from: &[u8]) -> Self {
        Self::from_code(u8::take(from))
    }
}
