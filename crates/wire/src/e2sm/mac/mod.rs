//! MAC: per-UE statistics of the scheduler (FlexRIC's service model 142).
//!
//! "Aggregated" counters run since the UE attached; "current" values are those of the most recent slot.

mod plain;

pub use plain::MacView;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.142.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 142;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"MAC_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// Header (1) of the one control that FlexRIC's agents take: a test of the way, which changes nothing at the node. Its
/// `moni` sends it to every gNB before it subscribes.
pub const CONTROL_HEADER: [u8; 4] = 1_u32.to_le_bytes();
/// Message (action 42) of that control.
pub const CONTROL_MESSAGE: [u8; 4] = 42_u32.to_le_bytes();
/// Octets of one UE in the plain encoding.
pub const UE_SIZE: usize = 176;
/// HARQ counters per direction: one per transmission attempt (the first, then up to four retransmissions).
pub const HARQ_ROUNDS: usize = 5;

/// MAC statistics of all UEs of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MacIndication {
    /// One entry for each connected UE.
    pub ues: Vec<MacUe>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

/// MAC statistics of one UE.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MacUe {
    /// Aggregated downlink transport block sizes, bytes.
    pub dl_aggr_tbs: u64,
    /// Aggregated uplink transport block sizes, bytes.
    pub ul_aggr_tbs: u64,
    /// Aggregated bytes of downlink MAC SDUs.
    pub dl_aggr_bytes_sdus: u64,
    /// Aggregated bytes of uplink MAC SDUs.
    pub ul_aggr_bytes_sdus: u64,
    /// Current downlink transport block size, bytes.
    pub dl_curr_tbs: u64,
    /// Current uplink transport block size, bytes.
    pub ul_curr_tbs: u64,
    /// Downlink resource blocks scheduled in the current slot.
    pub dl_sched_rb: u64,
    /// Uplink resource blocks scheduled in the current slot.
    pub ul_sched_rb: u64,
    /// Signal-to-noise ratio of the PUSCH, dB.
    pub pusch_snr: f32,
    /// Signal-to-noise ratio of the PUCCH, dB.
    pub pucch_snr: f32,
    /// Downlink block error rate, 0 to 1.
    pub dl_bler: f32,
    /// Uplink block error rate, 0 to 1.
    pub ul_bler: f32,
    /// Downlink transmissions by HARQ round.
    pub dl_harq: [u32; HARQ_ROUNDS],
    /// Uplink transmissions by HARQ round.
    pub ul_harq: [u32; HARQ_ROUNDS],
    /// HARQ rounds that are reported in the downlink (FlexRIC's agents: 4).
    pub dl_num_harq: u32,
    /// HARQ rounds that are reported in the uplink (FlexRIC's agents: 4).
    pub ul_num_harq: u32,
    /// Radio network temporary identifier of the UE (a 16-bit number in a 32-bit field).
    pub rnti: u32,
    /// Aggregated downlink resource blocks, retransmissions included.
    pub dl_aggr_prb: u32,
    /// Aggregated uplink resource blocks, retransmissions included.
    pub ul_aggr_prb: u32,
    /// Aggregated number of downlink MAC SDUs.
    pub dl_aggr_sdus: u32,
    /// Aggregated number of uplink MAC SDUs.
    pub ul_aggr_sdus: u32,
    /// Aggregated downlink resource blocks of retransmissions.
    pub dl_aggr_retx_prb: u32,
    /// Aggregated uplink resource blocks of retransmissions.
    pub ul_aggr_retx_prb: u32,
    /// Buffer status report: bytes that the UE waits to send.
    pub bsr: u32,
    /// System frame number, 0 to 1023.
    pub frame: u16,
    /// Slot within the frame.
    pub slot: u16,
    /// Wideband channel quality indicator, 0 to 15 (TS 38.214 §5.2.2.1).
    pub wb_cqi: u8,
    /// Downlink modulation and coding scheme, table 1.
    pub dl_mcs1: u8,
    /// Uplink modulation and coding scheme, table 1.
    pub ul_mcs1: u8,
    /// Downlink modulation and coding scheme, table 2.
    pub dl_mcs2: u8,
    /// Uplink modulation and coding scheme, table 2.
    pub ul_mcs2: u8,
    /// Power headroom report, dB.
    pub phr: i8,
}
