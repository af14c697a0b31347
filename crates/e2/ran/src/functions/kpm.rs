//! Station function of KPM, based on the counters of a cell.
use super::{StationContext, StationFunction};
use crate::node::Unit;
use crate::stats::{CellSource, MeasuredCell};
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::kpm;
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e2sm::kpm::Kpm;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Kpm)
    }

    fn unit(&self) -> Option<Unit> {
        Some(Unit::Du)
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        let StationContext { template, node, index, cell, .. } = *station;
        let has_one_cell = !matches!(cell, CellSource::Site(_));
        Some(kpm::function(MeasuredCell {
            cell: cell.clone(),
            names: template.names(index),
            plmn: template.plmn,
            cell_id: has_one_cell.then(|| template.cell_id(node, index)),
            epoch_us: template.epoch_us,
            lateness: template.lateness.clone(),
        }))
    }
}
