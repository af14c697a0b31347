//! Command `bench sharing`.

mod sharing;

use ranlab_command::verb::{Domain, Verb};

use crate::{PATHS, XHAUL};

/// Commands of the xhaul domain.
pub static DOMAIN: Domain = Domain {
    verbs: &[Verb::new::<sharing::Arguments>(
        &["bench", "sharing"],
        90,
        "Measure the cost of sharing a network card, as a profile for Xhaul simulations",
    )],
    paths: PATHS,
    ..Domain::new(&XHAUL)
};
