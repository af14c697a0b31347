//! Station function of the UE association model, which every node offers.
use super::{StationContext, StationFunction};
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::association::{Association, DEFAULT_FUNCTION_ID};
use ranlab_e2_codec::e2ap::RanFunctionId;
use ranlab_e2_codec::e2sm::Model;

pub(super) struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        None
    }

    fn id(&self) -> RanFunctionId {
        DEFAULT_FUNCTION_ID
    }

    fn is_selectable(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        false
    }

    fn function(&self, _: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        Some(Box::new(Association::new()))
    }
}
