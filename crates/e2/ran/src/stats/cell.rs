//! CELL statistics of a node with one cell.
use super::{CellSnapshot, UeFacts};
use crate::functions::Statistics;
use crate::node::Unit;
use ranlab_e2_codec::e2sm::cell::{CellLoad, CellStats};

pub(crate) static STATION: Statistics = Statistics {
    model: &CellStats,
    unit: Unit::Du,
    fill: |encoding, moment, out| moment.encode(encoding, out, [load(moment)].into_iter()),
};

fn load(moment: &CellSnapshot<'_>) -> CellLoad {
    let sum = |of: fn(&dyn UeFacts) -> u64| -> u64 { moment.ues.iter().map(|ue| of(*ue)).sum() };
    CellLoad {
        aggr_prb: moment.cell.prbs_offered[0],
        dl_aggr_prb: sum(|ue| ue.dl().prbs),
        ul_aggr_prb: sum(|ue| ue.ul().prbs),
        dl_aggr_tbs: sum(|ue| ue.dl().tbs_bytes),
        ul_aggr_tbs: sum(|ue| ue.ul().tbs_bytes),
        dl_queue_bytes: sum(|ue| ue.dl().queue_bytes),
        ul_queue_bytes: sum(|ue| ue.ul().queue_bytes),
        prb: moment.cell.prbs,
        cell_id: moment.cell.cell_id,
        // The number fits, because a cell has at most 65,519 UEs.
        ues: moment.ues.len() as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_radio::{Cell, CellConfig};

    #[test]
    fn cell_totals_are_bounded_and_limited_to_visible_ues() {
        let mut cell = Cell::new(CellConfig { ues: 4, cell_id: 9, ..CellConfig::default() }).unwrap();
        cell.advance(5_000_000);
        let of = |ues: usize| {
            let ues = cell.ues().iter().take(ues).map(|ue| ue as &dyn UeFacts).collect();
            load(&CellSnapshot { cell: (&cell).into(), ues, tstamp_us: 0 })
        };
        let all = of(4);
        let one = of(1);
        assert_eq!((all.ues, one.ues, all.cell_id, all.prb), (4, 1, 9, cell.config().prbs));
        assert!(all.dl_aggr_prb > 0 && all.dl_aggr_prb <= all.aggr_prb, "{all:?}");
        assert!(all.ul_aggr_prb > 0 && all.ul_aggr_prb <= all.aggr_prb, "{all:?}");
        assert!(one.dl_aggr_tbs < all.dl_aggr_tbs && one.aggr_prb == all.aggr_prb, "{one:?} {all:?}");
    }
}
