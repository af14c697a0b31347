//! MAC: per-UE statistics of the scheduler (FlexRIC's service model 142).
//!
//! "Aggregated" counters run since the UE attached; "current" values are those of the most recent slot.

mod plain;

pub use plain::MacView;

use super::RowKey;
use super::octets::octets;
use super::plain::{Plain, Word, statistics_model};
use super::table::row;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.142.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 142;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"MAC_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// Header (1, a [`Word`]) of the one control that FlexRIC's agents take: a test of the way, which changes nothing at the node. Its
/// `moni` sends it to every gNB before it subscribes.
pub const CONTROL_HEADER: [u8; 4] = 1_u32.to_le_bytes();
/// Message (action 42, a [`Word`]) of that control.
pub const CONTROL_MESSAGE: [u8; 4] = 42_u32.to_le_bytes();
/// FlexRIC's controllers know it.
pub const CUSTOMARY: bool = true;
/// Octets of one UE in the plain encoding.
pub const UE_SIZE: usize = 176;
/// HARQ counters per direction: one per transmission attempt (the first, then up to four retransmissions).
pub const HARQ_ROUNDS: usize = 5;

statistics_model! {
    /// MAC statistics: the model.
    Mac: "mac", MacIndication { ues: MacUe }, Word
}
octets! { MacIndication: Plain => Plain; }

/// MAC statistics of all UEs of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MacIndication {
    /// One entry for each connected UE.
    pub ues: Vec<MacUe>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

row! {
    /// MAC statistics of one UE.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    MacUe, ue => RowKey::Ue { rnti: ue.rnti }, {
        /// Aggregated downlink transport block sizes, bytes.
        dl_aggr_tbs: u64 [counter "B" headline],
        /// Aggregated uplink transport block sizes, bytes.
        ul_aggr_tbs: u64 [counter "B" headline],
        /// Aggregated bytes of downlink MAC SDUs.
        dl_aggr_bytes_sdus: u64 [counter "B"],
        /// Aggregated bytes of uplink MAC SDUs.
        ul_aggr_bytes_sdus: u64 [counter "B"],
        /// Current downlink transport block size, bytes.
        dl_curr_tbs: u64 [gauge "B"],
        /// Current uplink transport block size, bytes.
        ul_curr_tbs: u64 [gauge "B"],
        /// Downlink resource blocks scheduled in the current slot.
        dl_sched_rb: u64 [gauge],
        /// Uplink resource blocks scheduled in the current slot.
        ul_sched_rb: u64 [gauge],
        /// Signal-to-noise ratio of the PUSCH, dB.
        pusch_snr: f32 [gauge "dB" headline],
        /// Signal-to-noise ratio of the PUCCH, dB.
        pucch_snr: f32 [gauge "dB"],
        /// Downlink block error rate, 0 to 1.
        dl_bler: f32 [gauge headline],
        /// Uplink block error rate, 0 to 1.
        ul_bler: f32 [gauge],
        /// Downlink transmissions by HARQ round.
        dl_harq: [u32; HARQ_ROUNDS] [counter],
        /// Uplink transmissions by HARQ round.
        ul_harq: [u32; HARQ_ROUNDS] [counter],
        /// HARQ rounds that are reported in the downlink (FlexRIC's agents: 4).
        dl_num_harq: u32 [label],
        /// HARQ rounds that are reported in the uplink (FlexRIC's agents: 4).
        ul_num_harq: u32 [label],
        /// Radio network temporary identifier of the UE (a 16-bit number in a 32-bit field).
        rnti: u32 [key],
        /// Aggregated downlink resource blocks, retransmissions included.
        dl_aggr_prb: u32 [counter],
        /// Aggregated uplink resource blocks, retransmissions included.
        ul_aggr_prb: u32 [counter],
        /// Aggregated number of downlink MAC SDUs.
        dl_aggr_sdus: u32 [counter],
        /// Aggregated number of uplink MAC SDUs.
        ul_aggr_sdus: u32 [counter],
        /// Aggregated downlink resource blocks of retransmissions.
        dl_aggr_retx_prb: u32 [counter],
        /// Aggregated uplink resource blocks of retransmissions.
        ul_aggr_retx_prb: u32 [counter],
        /// Buffer status report: bytes that the UE waits to send.
        bsr: u32 [gauge "B" headline],
        /// System frame number, 0 to 1023.
        frame: u16 [label],
        /// Slot within the frame.
        slot: u16 [label],
        /// Wideband channel quality indicator, 0 to 15 (TS 38.214 §5.2.2.1).
        wb_cqi: u8 [gauge headline],
        /// Downlink modulation and coding scheme, table 1.
        dl_mcs1: u8 [gauge headline],
        /// Uplink modulation and coding scheme, table 1.
        ul_mcs1: u8 [gauge headline],
        /// Downlink modulation and coding scheme, table 2.
        dl_mcs2: u8 [gauge],
        /// Uplink modulation and coding scheme, table 2.
        ul_mcs2: u8 [gauge],
        /// Power headroom report, dB.
        phr: i8 [gauge "dB"],
    }
}
