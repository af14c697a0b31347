//! Station function of HW, which every node offers. A callback reports each executed ping.
use super::{StationContext, StationFunction};
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::hw::Hw as Function;
use ranlab_e2_codec::e2sm::hw::Hw;
use ranlab_e2_codec::e2sm::{Encoding, Model};
use ranlab_e2_codec::flat::Coding;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Hw)
    }

    fn is_selectable(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        false
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        let is_flat = station.template.sm_encoding == Some(Encoding::Flat);
        let function = Function::new().encoded(if is_flat { Coding::Flat } else { Coding::Per });
        let node = station.node;
        Some(Box::new(match station.template.pinged.clone() {
            Some(pinged) => function.heard_by(move |number| pinged(node, number)),
            None => function,
        }))
    }
}
