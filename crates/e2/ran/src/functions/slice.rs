//! Station function of SLICE, over a radio.
use super::{Requires, StationContext, StationFunction};
use crate::node::Unit;
use crate::radio::RadioTarget;
use crate::stats::CellSource;
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::slice;
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e2sm::slice::SliceModel;
use std::sync::Arc;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&SliceModel)
    }

    fn unit(&self) -> Option<Unit> {
        Some(Unit::Du)
    }

    fn is_selectable(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        false
    }

    fn requires(&self) -> Requires {
        Requires { radio: true, ..Requires::default() }
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        let CellSource::Radio(radio) = station.cell else { return None };
        Some(slice::function(RadioTarget(Arc::clone(radio))))
    }
}
