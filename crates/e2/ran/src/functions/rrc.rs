//! Station function of RRC, over the radios of a base station.
use super::{Requires, StationContext, StationFunction};
use crate::node::Unit;
use ranlab_e2::agent::RanFunction;
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e2sm::rrc::Rrc;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Rrc)
    }

    fn unit(&self) -> Option<Unit> {
        Some(Unit::CuCp)
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
        Some(station.cell.site()?.rrc())
    }
}
