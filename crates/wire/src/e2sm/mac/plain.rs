//! MAC as packed structs.

use super::{HARQ_ROUNDS, MacIndication, MacUe, UE_SIZE};
use crate::e2sm::plain::{PlainElement, PlainView, plain_element, plain_indication};

/// A borrowed MAC indication message.
pub type MacView<'a> = PlainView<'a, MacUe>;

impl MacView<'_> {
    /// The UE at `index`, or `None` beyond the last one.
    pub fn ue(&self, index: usize) -> Option<MacUe> {
        self.at(index)
    }
}

plain_indication!(MacIndication, ues: MacUe);

const _: () = assert!(MacUe::SIZE == UE_SIZE);
plain_element!(MacUe, 176, {
    0 => dl_aggr_tbs: u64,
    8 => ul_aggr_tbs: u64,
    16 => dl_aggr_bytes_sdus: u64,
    24 => ul_aggr_bytes_sdus: u64,
    32 => dl_curr_tbs: u64,
    40 => ul_curr_tbs: u64,
    48 => dl_sched_rb: u64,
    56 => ul_sched_rb: u64,
    64 => pusch_snr: f32,
    68 => pucch_snr: f32,
    72 => dl_bler: f32,
    76 => ul_bler: f32,
    80 => dl_harq: [u32; HARQ_ROUNDS],
    100 => ul_harq: [u32; HARQ_ROUNDS],
    120 => dl_num_harq: u32,
    124 => ul_num_harq: u32,
    128 => rnti: u32,
    132 => dl_aggr_prb: u32,
    136 => ul_aggr_prb: u32,
    140 => dl_aggr_sdus: u32,
    144 => ul_aggr_sdus: u32,
    148 => dl_aggr_retx_prb: u32,
    152 => ul_aggr_retx_prb: u32,
    156 => bsr: u32,
    160 => frame: u16,
    162 => slot: u16,
    164 => wb_cqi: u8,
    165 => dl_mcs1: u8,
    166 => ul_mcs1: u8,
    167 => dl_mcs2: u8,
    168 => ul_mcs2: u8,
    169 => phr: i8,
    // 170..176: padding
});
