//! The verbs of FlexRAN and 5G-EmPOWER.

mod controller;
mod emulate;
mod emulate_page;

use ranlab_command::emulate::Protocols;
use ranlab_command::verb::{Domain, Verb};

use crate::SDRAN;

/// Verbs of the SD-RAN domain.
pub static DOMAIN: Domain = Domain {
    verbs: &[
        Verb::new::<controller::Flexran>(
            &["controller", "flexran"],
            50,
            "Run a controller like FlexRAN's: RIB updater and task manager in cycles of 1 ms",
        ),
        Verb::new::<controller::Empower>(
            &["controller", "empower"],
            60,
            "Run a controller like 5G-EmPOWER's: registered base stations, one message per UE",
        ),
    ],
    protocols: &[Protocols::new::<emulate::Arguments>()],
    profiles: &["flexran-rtc", "mosaic5g", "empower-v1", "empower-v2"],
    ..Domain::new(&SDRAN)
};
