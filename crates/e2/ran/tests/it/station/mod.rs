//! Helpers for tests of base stations with a radio.
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_ran::functions::selectable;
use ranlab_ran::node::{NodeKind, NodeTemplate};
use ranlab_ran::radio::RadioConfig;

pub(crate) const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);

pub(crate) fn template(kind: NodeKind, radio: RadioConfig) -> NodeTemplate {
    NodeTemplate {
        kind,
        plmn: HOME,
        radio: Some(radio),
        service_models: selectable().collect(),
        own_functions: false,
        ..NodeTemplate::default()
    }
}
