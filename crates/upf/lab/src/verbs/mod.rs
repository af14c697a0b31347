//! Command-line verbs of the UPF domain: `upf`, `load upf` and `check upf`.

pub mod check;
pub mod load;
pub mod upf;

use ranlab_command::verb::{Domain, Template, Verb};

use crate::{GATE, UPF};

/// Verbs of the UPF domain.
pub static DOMAIN: Domain = Domain {
    verbs: &[
        Verb::new::<upf::Arguments>(&["upf"], 60, "Run a user plane function"),
        Verb::new::<load::Arguments>(&["load"], 70, "Load a user plane function with sessions and packets"),
        Verb::new::<check::Arguments>(
            &["check", "upf"],
            10,
            "Check a user plane function: N4, and N3 if --n3 is given",
        ),
    ],
    templates: &[Template { name: "gate", rig: "upf", text: GATE }],
    profiles: &["open5gs", "eupf"],
    ..Domain::new(&UPF)
};
