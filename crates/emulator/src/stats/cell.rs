//! CELL, a node's one cell.
use super::{Moment, Source};
use ranlab_model::{LinkStats, UeState};
use ranlab_sdk::wire::e2sm::cell::{CellLoad, CellStats};

pub(super) const SOURCE: Source = Source {
    model: &CellStats,
    fill: |encoding, moment, out| moment.encode(encoding, out, [load(moment)].into_iter()),
};

fn load(moment: &Moment<'_>) -> CellLoad {
    let sum = |of: fn(&UeState) -> &LinkStats, what: fn(&LinkStats) -> u64| -> u64 {
        moment.ues.iter().map(|ue| what(of(ue))).sum()
    };
    let config = moment.cell.config();
    CellLoad {
        aggr_prb: moment.cell.prbs_offered(),
        dl_aggr_prb: sum(UeState::dl, |link| link.prbs),
        ul_aggr_prb: sum(UeState::ul, |link| link.prbs),
        dl_aggr_tbs: sum(UeState::dl, |link| link.tbs_bytes),
        ul_aggr_tbs: sum(UeState::ul, |link| link.tbs_bytes),
        dl_queue_bytes: sum(UeState::dl, |link| link.queue_bytes),
        ul_queue_bytes: sum(UeState::ul, |link| link.queue_bytes),
        prb: config.prbs,
        cell_id: config.cell_id,
        // A cell holds at most 65,519 UEs.
        ues: moment.ues.len() as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_model::{Cell, CellConfig};

    #[test]
    fn a_cell_gives_no_more_than_it_has_and_a_controller_sees_its_own_ues_share() {
        let mut cell = Cell::new(CellConfig { ues: 4, cell_id: 9, ..CellConfig::default() }).unwrap();
        cell.advance(5_000_000);
        let of = |ues: usize| {
            load(&Moment { cell: &cell, ues: cell.ues().iter().take(ues).collect(), tstamp_us: 0 })
        };
        let (all, one) = (of(4), of(1));
        assert_eq!((all.ues, one.ues, all.cell_id, all.prb), (4, 1, 9, cell.config().prbs));
        assert!(all.dl_aggr_prb > 0 && all.dl_aggr_prb <= all.aggr_prb, "{all:?}");
        assert!(all.ul_aggr_prb > 0 && all.ul_aggr_prb <= all.aggr_prb, "{all:?}");
        assert!(one.dl_aggr_tbs < all.dl_aggr_tbs && one.aggr_prb == all.aggr_prb, "{one:?} {all:?}");
    }
}
