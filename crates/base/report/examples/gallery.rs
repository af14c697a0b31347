//! Draws every form of figure and table on one page, from a simulated system whose scaling laws are known.
//!
//! Run with `cargo run -p ranlab-report --example gallery -- target/gallery`. `scripts/screenshots.sh` takes pictures
//! of the page.

use std::error::Error;
use std::path::{Path, PathBuf};

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::results::{MemoryJournal, Results};
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::run::run;
use ranlab_campaign::scenario::{Overrides, Scenario, metrics};
use ranlab_report::report::{Context, write};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/gallery"), PathBuf::from);
    page("gallery", include_str!("gallery.toml"), &directory)?;
    page("gallery-search", include_str!("gallery-search.toml"), &directory.join("search"))?;
    page("gallery-invalid", include_str!("gallery-invalid.toml"), &directory.join("invalid"))
}

/// Measures one scenario and writes its report.
fn page(name: &str, text: &str, directory: &Path) -> Result<(), Box<dyn Error>> {
    let rig = MockRig::default();
    let description = rig.describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = Scenario::parse(text, name, &Overrides::default(), rigs)?;
    let plan = Plan::new(&scenario, &description);
    let mut journal = MemoryJournal::default();
    run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {})?;
    let metrics = metrics(&description, &scenario);
    let mut results = Results::new(scenario, metrics, plan.points, journal.finished);
    results.host = serde_json::json!({
        "cpu_model": "none: the system is a formula", "cpus": 2, "kernel": "6.1", "virtual_machine": true,
    });
    results.versions = serde_json::json!({"ranlab": env!("CARGO_PKG_VERSION")});
    let context = Context {
        pictures: Vec::new(),
        warnings: vec![
            "The hypervisor gave up to 3.0 % of the CPU time to others during 1 of 210 repeats.".to_owned(),
        ],
        remarks: vec!["The governor is “powersave”; latencies may be longer than they need be.".to_owned()],
        verdict: Vec::new(),
        command: format!("ranlab bench run {name}.toml"),
    };
    let written = write(&results, &context, directory)?;
    println!("{}", written.html.display());
    Ok(())
}
