//! From a cell of the model to the payloads of the statistics service models.
use ranlab_model::{Cell, LinkStats, Snr, UeState};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{UeFilter, UeId};
use ranlab_sdk::e2::functions::stats::StatsSource;
use ranlab_sdk::wire::e2sm::gtp::GtpTunnel;
use ranlab_sdk::wire::e2sm::mac::{self, MacUe};
use ranlab_sdk::wire::e2sm::pdcp::PdcpBearer;
use ranlab_sdk::wire::e2sm::plain::encode_list;
use ranlab_sdk::wire::e2sm::rlc::{RlcBearer, RlcMode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A cell that several RAN functions of one node report about.
pub type SharedCell = Arc<Mutex<Cell>>;

/// Which statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// MAC, per UE.
    Mac,
    /// RLC, per bearer.
    Rlc,
    /// PDCP, per bearer.
    Pdcp,
    /// GTP, per tunnel.
    Gtp,
}

/// A statistics source over a [`Cell`].
pub struct CellStats {
    /// The cell, advanced when somebody asks.
    pub cell: SharedCell,
    /// What is reported.
    pub layer: Layer,
    /// Microseconds since the Unix epoch at [`Time::ZERO`]: payloads carry the time of day.
    pub epoch_us: i64,
    /// Hears how late each report was.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl StatsSource for CellStats {
    fn fill(&mut self, now: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        // A panic elsewhere leaves a cell that is still a cell.
        let mut cell = self.cell.lock().unwrap_or_else(PoisonError::into_inner);
        let now_us = now.as_nanos() / 1_000;
        cell.advance(now_us);
        let (frame, slot) = (cell.frame(), cell.slot());
        let all = ues.is_all();
        let shown: Vec<&UeState> = cell.ues().iter().filter(|ue| all || ues.contains(ue_id(ue))).collect();
        let shown = shown.into_iter();
        let tstamp_us = self.epoch_us.saturating_add(i64::try_from(now_us).unwrap_or(i64::MAX));
        let encoded = match self.layer {
            Layer::Mac => encode_list(out, shown.map(|ue| mac_ue(ue, frame, slot)), tstamp_us),
            Layer::Rlc => encode_list(out, shown.map(rlc_bearer), tstamp_us),
            Layer::Pdcp => encode_list(out, shown.map(pdcp_bearer), tstamp_us),
            Layer::Gtp => encode_list(out, shown.map(gtp_tunnel), tstamp_us),
        };
        // A cell holds at most 65,519 UEs, so the count always fits.
        debug_assert!(encoded.is_ok());
    }

    fn reported(&mut self, lateness: Duration) {
        (self.lateness)(lateness);
    }
}

/// A UE's number in the agent: its RNTI.
pub fn ue_id(ue: &UeState) -> UeId {
    UeId(u64::from(ue.identity().rnti))
}

fn harq(link: &LinkStats) -> [u32; mac::HARQ_ROUNDS] {
    let mut rounds = [0; mac::HARQ_ROUNDS];
    for (round, count) in rounds.iter_mut().zip(link.harq) {
        *round = count as u32;
    }
    rounds
}

/// FlexRIC's database takes no ratio below 0 dB, and an xApp with it ends at the first one.
fn reported(snr: Snr) -> f32 {
    snr.db().max(0.0)
}

fn bler(link: &LinkStats) -> f32 {
    link.bler_q16 as f32 / 65_536.0
}

fn mac_ue(ue: &UeState, frame: u16, slot: u16) -> MacUe {
    let (dl, ul, radio) = (ue.dl(), ue.ul(), ue.radio());
    MacUe {
        dl_aggr_tbs: dl.tbs_bytes,
        ul_aggr_tbs: ul.tbs_bytes,
        dl_aggr_bytes_sdus: dl.mac_sdu_bytes(),
        ul_aggr_bytes_sdus: ul.mac_sdu_bytes(),
        dl_curr_tbs: dl.curr_tbs_bytes,
        ul_curr_tbs: ul.curr_tbs_bytes,
        dl_sched_rb: dl.sched_prbs,
        ul_sched_rb: ul.sched_prbs,
        pusch_snr: reported(radio.pusch_snr),
        pucch_snr: reported(radio.pucch_snr),
        dl_bler: bler(dl),
        ul_bler: bler(ul),
        dl_harq: harq(dl),
        ul_harq: harq(ul),
        dl_num_harq: dl.harq.len() as u32,
        ul_num_harq: ul.harq.len() as u32,
        rnti: u32::from(ue.identity().rnti),
        dl_aggr_prb: dl.prbs as u32,
        ul_aggr_prb: ul.prbs as u32,
        dl_aggr_sdus: dl.mac_sdus() as u32,
        ul_aggr_sdus: ul.mac_sdus() as u32,
        dl_aggr_retx_prb: dl.retx_prbs as u32,
        ul_aggr_retx_prb: ul.retx_prbs as u32,
        bsr: ul.queue_bytes as u32,
        frame,
        slot,
        wb_cqi: radio.wb_cqi,
        dl_mcs1: radio.dl_mcs1,
        ul_mcs1: radio.ul_mcs1,
        dl_mcs2: radio.dl_mcs2,
        ul_mcs2: radio.ul_mcs2,
        phr: radio.phr_db,
    }
}

fn rlc_bearer(ue: &UeState) -> RlcBearer {
    let (tx, rx, reception) = (ue.dl(), ue.ul(), ue.rlc_reception());
    RlcBearer {
        txpdu_pkts: tx.rlc_pdus as u32,
        txpdu_bytes: tx.rlc_pdu_bytes as u32,
        txpdu_wt_ms: (tx.head_delay_us / 1_000) as u32,
        txpdu_dd_pkts: tx.rlc_dropped_sdus as u32,
        txpdu_dd_bytes: tx.rlc_dropped_bytes as u32,
        txpdu_retx_pkts: tx.rlc_retx_pdus as u32,
        txpdu_retx_bytes: tx.rlc_retx_bytes as u32,
        txpdu_segmented: tx.rlc_segmented_pdus as u32,
        txpdu_status_pkts: tx.rlc_status_pdus as u32,
        txpdu_status_bytes: tx.rlc_status_bytes as u32,
        txbuf_occ_bytes: tx.queue_bytes as u32,
        txbuf_occ_pkts: tx.queue_sdus as u32,
        rxpdu_pkts: rx.rlc_pdus as u32,
        rxpdu_bytes: rx.rlc_pdu_bytes as u32,
        rxpdu_dup_pkts: reception.duplicate_pdus as u32,
        rxpdu_dup_bytes: reception.duplicate_bytes as u32,
        rxpdu_dd_pkts: reception.discarded_pdus as u32,
        rxpdu_dd_bytes: reception.discarded_bytes as u32,
        rxpdu_ow_pkts: reception.out_of_window_pdus as u32,
        rxpdu_ow_bytes: reception.out_of_window_bytes as u32,
        rxpdu_status_pkts: rx.rlc_status_pdus as u32,
        rxpdu_status_bytes: rx.rlc_status_bytes as u32,
        rxbuf_occ_bytes: reception.buffered_bytes as u32,
        rxbuf_occ_pkts: reception.buffered_pdus as u32,
        txsdu_pkts: tx.rlc_sdus_in as u32,
        txsdu_bytes: tx.rlc_sdu_bytes_in,
        txsdu_avg_time_to_tx_us: tx.time_to_tx_us_q4 as f64 / 16.0,
        txsdu_wt_us: tx.head_delay_us as u32,
        rxsdu_pkts: rx.rlc_sdus_out as u32,
        rxsdu_bytes: rx.rlc_sdu_bytes_out,
        rxsdu_dd_pkts: rx.rlc_dropped_sdus as u32,
        rxsdu_dd_bytes: rx.rlc_dropped_bytes as u32,
        rnti: u32::from(ue.identity().rnti),
        mode: RlcMode::Acknowledged,
        rbid: ue.identity().drb_id,
    }
}

fn pdcp_bearer(ue: &UeState) -> PdcpBearer {
    let pdcp = ue.pdcp();
    PdcpBearer {
        txpdu_pkts: pdcp.tx_pdus as u32,
        txpdu_bytes: pdcp.tx_pdu_bytes as u32,
        txpdu_sn: pdcp.tx_sn,
        rxpdu_pkts: pdcp.rx_pdus as u32,
        rxpdu_bytes: pdcp.rx_pdu_bytes as u32,
        rxpdu_sn: pdcp.rx_sn,
        rxpdu_oo_pkts: pdcp.rx_out_of_order_pdus as u32,
        rxpdu_oo_bytes: pdcp.rx_out_of_order_bytes as u32,
        rxpdu_dd_pkts: 0,
        rxpdu_dd_bytes: 0,
        rxpdu_ro_count: pdcp.rx_reordering_pdus as u32,
        txsdu_pkts: pdcp.tx_sdus as u32,
        txsdu_bytes: pdcp.tx_sdu_bytes as u32,
        rxsdu_pkts: pdcp.rx_sdus as u32,
        rxsdu_bytes: pdcp.rx_sdu_bytes as u32,
        rnti: u32::from(ue.identity().rnti),
        mode: RlcMode::Acknowledged,
        rbid: ue.identity().drb_id,
    }
}

fn gtp_tunnel(ue: &UeState) -> GtpTunnel {
    let id = ue.identity();
    // The service model's field for the UPF's TEID is eight bits wide.
    GtpTunnel { rnti: u32::from(id.rnti), teid_gnb: id.teid_gnb, qfi: id.qfi, teid_upf: id.teid_upf as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_model::CellConfig;

    /// What FlexRIC's database checks of each UE; its xApp ends at a value outside.
    fn is_stored(ue: &MacUe) -> bool {
        let snr = |snr: f32| (0.0..4_294_967_296.0).contains(&snr);
        (snr(ue.pusch_snr) && snr(ue.pucch_snr))
            && (ue.dl_num_harq < 5 && ue.ul_num_harq < 5)
            && (-23..=40).contains(&ue.phr)
            && ue.dl_bler >= 0.0
            && ue.ul_bler >= 0.0
    }

    #[test]
    fn mac_statistics_are_in_the_ranges_that_readers_store() {
        let mut cell = Cell::new(CellConfig { ues: 100, ..CellConfig::default() }).unwrap();
        let mut worst = f32::MAX;
        for second in 1..=20 {
            cell.advance(second * 1_000_000);
            for ue in cell.ues() {
                let told = mac_ue(ue, 0, 0);
                assert!(is_stored(&told), "{told:?}");
                assert_eq!((told.dl_num_harq, told.ul_num_harq), (4, 4));
                worst = worst.min(ue.radio().pusch_snr.db());
            }
        }
        assert!(worst < 0.0, "no UE was ever below 0 dB: the test says nothing");
    }
}
