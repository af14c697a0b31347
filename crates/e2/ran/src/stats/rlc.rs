//! RLC statistics, per bearer.
use super::UeFacts;
use crate::functions::Statistics;
use crate::node::Unit;
use ranlab_e2_codec::e2sm::rlc::{Rlc, RlcBearer, RlcMode};

pub(crate) static STATION: Statistics = Statistics {
    model: &Rlc,
    unit: Unit::Du,
    fill: |encoding, moment, out| moment.list(encoding, out, rlc_bearer),
};

fn rlc_bearer(ue: &dyn UeFacts) -> RlcBearer {
    let tx = ue.dl();
    let rx = ue.ul();
    let reception = ue.rlc_reception();
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
