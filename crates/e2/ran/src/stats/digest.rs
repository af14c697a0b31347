//! DIGEST statistics, per UE.
use super::UeFacts;
use crate::functions::Statistics;
use crate::node::Unit;
use ranlab_e2_codec::e2sm::digest::{Digest, UeDigest};
use ranlab_radio::LinkStats;

pub(crate) static STATION: Statistics = Statistics {
    model: &Digest,
    unit: Unit::Du,
    fill: |encoding, moment, out| moment.list(encoding, out, digest),
};

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn delay_us(link: &LinkStats) -> u32 {
    saturated(link.time_to_tx_us_q4 >> 4)
}

fn digest(ue: &dyn UeFacts) -> UeDigest {
    let dl = ue.dl();
    let ul = ue.ul();
    UeDigest {
        dl_aggr_bytes: dl.rlc_sdu_bytes_out,
        ul_aggr_bytes: ul.rlc_sdu_bytes_out,
        dl_aggr_prb: dl.prbs,
        ul_aggr_prb: ul.prbs,
        dl_queue_bytes: saturated(dl.queue_bytes),
        ul_queue_bytes: saturated(ul.queue_bytes),
        dl_delay_us: delay_us(dl),
        ul_delay_us: delay_us(ul),
        dl_dropped_sdus: saturated(dl.rlc_dropped_sdus),
        ul_dropped_sdus: saturated(ul.rlc_dropped_sdus),
        dl_bler: dl.bler_q16 as f32 / 65_536.0,
        rnti: ue.identity().rnti,
        cqi: ue.radio().wb_cqi,
        dl_mcs: ue.radio().dl_mcs1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_radio::{Cell, CellConfig};

    #[test]
    fn digest_report_equals_state_of_ue() {
        let mut cell = Cell::new(CellConfig { ues: 3, ..CellConfig::default() }).unwrap();
        cell.advance(5_000_000);
        for ue in cell.ues() {
            let report = digest(ue);
            assert_eq!((report.rnti, report.cqi), (ue.identity().rnti, ue.radio().wb_cqi));
            assert_eq!(report.dl_aggr_bytes, ue.dl().rlc_sdu_bytes_out);
            assert!(
                report.dl_aggr_bytes > 0 && report.dl_aggr_prb > 0 && (0.0..1.0).contains(&report.dl_bler)
            );
        }
        assert_eq!(saturated(1 << 40), u32::MAX);
    }
}
