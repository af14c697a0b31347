//! MAC statistics, per UE.
use super::UeFacts;
use crate::functions::Statistics;
use crate::node::Unit;
use ranlab_e2_codec::e2sm::mac::{self, Mac, MacUe};
use ranlab_radio::{LinkStats, Snr};

pub(crate) static STATION: Statistics = Statistics {
    model: &Mac,
    unit: Unit::Du,
    fill: |encoding, moment, out| {
        moment.list(encoding, out, |ue| mac_ue(ue, moment.cell.frame, moment.cell.slot))
    },
};

fn harq(link: &LinkStats) -> [u32; mac::HARQ_ROUNDS] {
    let mut rounds = [0; mac::HARQ_ROUNDS];
    for (round, count) in rounds.iter_mut().zip(link.harq) {
        *round = count as u32;
    }
    rounds
}

/// Returns an SNR of at least 0 dB. FlexRIC's database accepts no negative ratio, and an xApp that uses the database
/// exits at the first one.
fn reported(snr: Snr) -> f32 {
    snr.db().max(0.0)
}

fn bler(link: &LinkStats) -> f32 {
    link.bler_q16 as f32 / 65_536.0
}

fn mac_ue(ue: &dyn UeFacts, frame: u16, slot: u16) -> MacUe {
    let dl = ue.dl();
    let ul = ue.ul();
    let radio = ue.radio();
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

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_radio::{Cell, CellConfig};

    /// Checks the ranges that FlexRIC's database requires for each UE. The xApp exits at a value outside these ranges.
    fn is_stored(ue: &MacUe) -> bool {
        let snr = |snr: f32| (0.0..4_294_967_296.0).contains(&snr);
        (snr(ue.pusch_snr) && snr(ue.pucch_snr))
            && (ue.dl_num_harq < 5 && ue.ul_num_harq < 5)
            && (-23..=40).contains(&ue.phr)
            && ue.dl_bler >= 0.0
            && ue.ul_bler >= 0.0
    }

    #[test]
    fn mac_statistics_are_in_ranges_of_flexric_database() {
        let mut cell = Cell::new(CellConfig { ues: 100, ..CellConfig::default() }).unwrap();
        let mut worst = f32::MAX;
        for second in 1..=20 {
            cell.advance(second * 1_000_000);
            for ue in cell.ues() {
                let report = mac_ue(ue, 0, 0);
                assert!(is_stored(&report), "{report:?}");
                assert_eq!((report.dl_num_harq, report.ul_num_harq), (4, 4));
                worst = worst.min(ue.radio().pusch_snr.db());
            }
        }
        assert!(worst < 0.0, "a UE must be below 0 dB at times for the test to prove anything");
    }
}
