//! PDCP as packed structs.

use super::{BEARER_SIZE, PdcpBearer, PdcpIndication, RlcMode};
use crate::e2sm::plain::{PlainElement, PlainView, plain_element, plain_indication};

/// A borrowed PDCP indication message.
pub type PdcpView<'a> = PlainView<'a, PdcpBearer>;

impl PdcpView<'_> {
    /// The bearer at `index`, or `None` beyond the last one.
    pub fn bearer(&self, index: usize) -> Option<PdcpBearer> {
        self.at(index)
    }
}

plain_indication!(PdcpIndication, bearers: PdcpBearer);

const _: () = assert!(PdcpBearer::SIZE == BEARER_SIZE);
plain_element!(PdcpBearer, 68, {
    0 => txpdu_pkts: u32,
    4 => txpdu_bytes: u32,
    8 => txpdu_sn: u32,
    12 => rxpdu_pkts: u32,
    16 => rxpdu_bytes: u32,
    20 => rxpdu_sn: u32,
    24 => rxpdu_oo_pkts: u32,
    28 => rxpdu_oo_bytes: u32,
    32 => rxpdu_dd_pkts: u32,
    36 => rxpdu_dd_bytes: u32,
    40 => rxpdu_ro_count: u32,
    44 => txsdu_pkts: u32,
    48 => txsdu_bytes: u32,
    52 => rxsdu_pkts: u32,
    56 => rxsdu_bytes: u32,
    60 => rnti: u32,
    64 => mode: RlcMode,
    65 => rbid: u8,
    // 66..68: padding
});
