//! Subcommands for packet pipelines, and the search for software switches in `doctor`.

mod import;
mod packets;

use ranlab_command::verb::{Domain, Equipment, Found, Verb};
use ranlab_pipeline::backends::{self, Backend};
use serde_json::json;

use crate::{PATHS, PIPELINE, missing_program};

/// Verbs of the pipeline domain.
pub static DOMAIN: Domain = Domain {
    verbs: &[
        Verb::new::<packets::Trace>(
            &["bench", "trace"],
            70,
            "Write the input and expected output packets of a pipeline scenario, for other testers",
        ),
        Verb::new::<packets::Config>(
            &["bench", "config"],
            80,
            "Write another switch's configuration for a pipeline scenario",
        ),
        Verb::new::<import::Import>(
            &["bench", "import"],
            90,
            "Write scenarios for the benchmarks of a TIPSY configuration",
        ),
    ],
    paths: PATHS,
    equipment: Some(Equipment { key: "switches", find: switches }),
    ..Domain::new(&PIPELINE)
};

/// Checks which of the supported switches are installed.
fn switches() -> Vec<Found> {
    backends::all().iter().map(|backend| switch(*backend)).collect()
}

fn switch(backend: &dyn Backend) -> Found {
    let lacks = missing_program(backend);
    let engine = backend.name();
    let install = backend.install();
    let is_run = !backend.tiers().is_empty();
    let run =
        if is_run { "" } else { "; this version cannot run it, but `bench config` writes its configuration" };
    Found {
        name: format!("switch {engine}"),
        is_ready: lacks.is_none(),
        found: match lacks {
            None => format!("is installed{run}"),
            Some(lacks) => format!("`{lacks}` is not installed{run}"),
        },
        install,
        json: json!({
            "engine": engine, "ready": lacks.is_none(), "lacks": lacks, "install": install, "run": is_run,
        }),
    }
}
