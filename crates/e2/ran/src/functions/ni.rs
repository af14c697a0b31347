//! Station function of NI, over the radios of a gNB.
use super::{Requires, StationContext, StationFunction};
use crate::node::{NodeKind, Unit};
use crate::radio::NiSource;
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::ni;
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e2sm::ni::Ni;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Ni)
    }

    fn unit(&self) -> Option<Unit> {
        Some(Unit::CuCp)
    }

    fn requires(&self) -> Requires {
        Requires { radio: true, nr: true }
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        let template = station.template;
        let site = station.cell.site()?;
        let called = template.called(station.index, 0)?;
        let split = template.kind == NodeKind::Split;
        let epoch_us = template.epoch_us;
        Some(ni::function(NiSource { site, station: called.station, split, epoch_us }))
    }
}
