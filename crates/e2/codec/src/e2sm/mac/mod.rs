//! MAC: per-UE statistics of the scheduler (FlexRIC's service model 142).
//!
//! "Aggregated" counters start when the UE attaches; "current" values refer to the most recent slot.

use super::RowKey;
use super::plain::Word;
use super::statistics::statistics_model;
use super::table::row;

/// Header (1, a [`Word`]) of the only control that FlexRIC's agents accept: a connectivity test, which changes
/// nothing at the node. FlexRIC's `moni` sends it to every gNB before it subscribes.
pub const CONTROL_HEADER: [u8; 4] = 1_u32.to_le_bytes();
/// Message (action 42, a [`Word`]) of the connectivity test.
pub const CONTROL_MESSAGE: [u8; 4] = 42_u32.to_le_bytes();
/// Number of HARQ counters per direction: one per transmission attempt (the first, then up to four retransmissions).
pub const HARQ_ROUNDS: usize = 5;

statistics_model! {
    /// The MAC service model.
    Mac "mac": "0.0.0.0.0.0.0.0.1.142.0", 142, b"MAC_STATS_V0", revision 1, customary true, Word;
    /// MAC statistics of all UEs of a cell.
    #[derive(Debug, Clone, PartialEq, Default)]
    MacIndication MacView { ues: MacUe, "One entry for each connected UE." }
}

row! {
    /// MAC statistics of one UE.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    MacUe, ue => RowKey::Ue { rnti: ue.rnti }, 176 octets {
        0 dl_aggr_tbs: u64 [counter "B" headline], "Aggregated downlink transport block sizes, bytes.";
        8 ul_aggr_tbs: u64 [counter "B" headline], "Aggregated uplink transport block sizes, bytes.";
        16 dl_aggr_bytes_sdus: u64 [counter "B"], "Aggregated bytes of downlink MAC SDUs.";
        24 ul_aggr_bytes_sdus: u64 [counter "B"], "Aggregated bytes of uplink MAC SDUs.";
        32 dl_curr_tbs: u64 [gauge "B"], "Current downlink transport block size, bytes.";
        40 ul_curr_tbs: u64 [gauge "B"], "Current uplink transport block size, bytes.";
        48 dl_sched_rb: u64 [gauge], "Downlink resource blocks scheduled in the current slot.";
        56 ul_sched_rb: u64 [gauge], "Uplink resource blocks scheduled in the current slot.";
        64 pusch_snr: f32 [gauge "dB" headline], "Signal-to-noise ratio of the PUSCH, dB.";
        68 pucch_snr: f32 [gauge "dB"], "Signal-to-noise ratio of the PUCCH, dB.";
        72 dl_bler: f32 [gauge headline], "Downlink block error rate, 0 to 1.";
        76 ul_bler: f32 [gauge], "Uplink block error rate, 0 to 1.";
        80 dl_harq: [u32; HARQ_ROUNDS] [counter], "Downlink transmissions by HARQ round.";
        100 ul_harq: [u32; HARQ_ROUNDS] [counter], "Uplink transmissions by HARQ round.";
        120 dl_num_harq: u32 [label], "Number of HARQ rounds reported in the downlink (FlexRIC's agents: 4).";
        124 ul_num_harq: u32 [label], "Number of HARQ rounds reported in the uplink (FlexRIC's agents: 4).";
        128 rnti: u32 [key], "Radio network temporary identifier of the UE (a 16-bit number in a 32-bit field).";
        132 dl_aggr_prb: u32 [counter], "Aggregated downlink resource blocks, retransmissions included.";
        136 ul_aggr_prb: u32 [counter], "Aggregated uplink resource blocks, retransmissions included.";
        140 dl_aggr_sdus: u32 [counter], "Aggregated number of downlink MAC SDUs.";
        144 ul_aggr_sdus: u32 [counter], "Aggregated number of uplink MAC SDUs.";
        148 dl_aggr_retx_prb: u32 [counter], "Aggregated downlink resource blocks of retransmissions.";
        152 ul_aggr_retx_prb: u32 [counter], "Aggregated uplink resource blocks of retransmissions.";
        156 bsr: u32 [gauge "B" headline], "Buffer status report: bytes queued in the UE.";
        160 frame: u16 [label], "System frame number, 0 to 1023.";
        162 slot: u16 [label], "Slot within the frame.";
        164 wb_cqi: u8 [gauge headline], "Wideband channel quality indicator, 0 to 15 (TS 38.214 §5.2.2.1).";
        165 dl_mcs1: u8 [gauge headline], "Downlink modulation and coding scheme, table 1.";
        166 ul_mcs1: u8 [gauge headline], "Uplink modulation and coding scheme, table 1.";
        167 dl_mcs2: u8 [gauge], "Downlink modulation and coding scheme, table 2.";
        168 ul_mcs2: u8 [gauge], "Uplink modulation and coding scheme, table 2.";
        169 phr: i8 [gauge "dB"], "Power headroom report, dB.";
    }
}
