//! Station function of CCC, over a gNB's radio.
use super::{Requires, StationContext, StationFunction};
use crate::node::Unit;
use crate::radio::CccSource;
use crate::stats::CellSource;
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::ccc;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e2sm::ccc::Ccc;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Ccc)
    }

    fn unit(&self) -> Option<Unit> {
        Some(Unit::Du)
    }

    fn requires(&self) -> Requires {
        Requires { radio: true, nr: true }
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        let CellSource::Radio(radio) = station.cell else { return None };
        let GlobalE2NodeId::Gnb(node) = station.node else { return None };
        let steered = station.steered(radio);
        Some(ccc::function(CccSource { steered, node, epoch_us: station.template.epoch_us }))
    }
}
