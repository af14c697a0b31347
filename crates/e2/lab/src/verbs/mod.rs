//! The verbs of E2, in four tables, so that a program can include RICs without base stations, or base stations
//! without RICs.

pub mod check;
pub mod controller;
pub mod demo;
pub mod emulate;
mod emulate_page;
pub mod pcap;
pub mod ric;
mod ric_hint;
pub mod xapp;

use ranlab_command::emulate::Protocols;
use ranlab_command::verb::{Domain, Verb};

/// Verbs of RICs, controllers and xApps.
pub static RIC: Domain = Domain {
    verbs: &[
        Verb::new::<ric::Arguments>(&["ric"], 20, "Run a near-real-time RIC for base stations and xApps"),
        Verb::new::<controller::Association>(
            &["controller", "association"],
            10,
            "Assign UEs to controllers by the network or slice that they selected",
        ),
        Verb::new::<controller::Slicing>(
            &["controller", "slicing"],
            20,
            "Control slices of LTE and NR base stations, over REST and by policy",
        ),
        Verb::new::<controller::Traffic>(
            &["controller", "traffic"],
            30,
            "Control queues, filters and pacers of radio bearers over REST; publish statistics",
        ),
        Verb::new::<controller::Virt>(
            &["controller", "virt"],
            40,
            "Share base stations among isolated operators, each with its own controller",
        ),
        Verb::new::<check::RicArguments>(
            &["check", "ric"],
            20,
            "Check a near-RT RIC, with emulated base stations that connect to it",
        ),
        Verb::new::<xapp::Arguments>(&["xapp"], 90, "Run an xApp that measures or controls"),
    ],
    ..Domain::new(&crate::RIC)
};

/// Verbs of base stations.
pub static RAN: Domain = Domain {
    verbs: &[Verb::new::<check::AgentArguments>(
        &["check", "agent"],
        30,
        "Check the E2 agent of a base station, with an emulated RIC that it connects to",
    )],
    protocols: &[Protocols::new::<emulate::Arguments>()],
    ..Domain::new(&crate::RAN)
};

/// Verbs that need RICs and base stations.
pub static E2: Domain = Domain {
    verbs: &[Verb::new::<demo::Arguments>(&["demo"], 10, "Show a RIC, base stations and two xApps at work")],
    profiles: &["ranlab", "flexric", "oran-sc-ric", "ocudu"],
    ..Domain::new(&crate::E2)
};

/// Verbs for captures of E2, useful with RICs and with base stations.
pub static CAPTURE: Domain = Domain {
    verbs: &[Verb::new::<pcap::Arguments>(&["pcap"], 130, "Read and write captures of E2 and E42")],
    ..Domain::new(&NOTHING)
};

/// Empty table of components and rigs.
static NOTHING: ranlab_lab::Domain = ranlab_lab::Domain { name: "capture", components: &[], rigs: &[] };
