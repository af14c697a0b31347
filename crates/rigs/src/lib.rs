//! One file for each rig: joins the experimenter with the systems below it.
//!
//! ```text
//!  campaign::run -> Rig (controller, e2_rtt, …) -> Worker --lines of JSON--> `ranlab worker`: one part each
//!                                                   (child process, ssh, TCP)  (RIC, fleet, xApp, relay) + its meters
//! ```
//!
//! A rig never runs load in its own process: every part of an experiment (the system under test, the base stations, the
//! xApp) is a [`worker`] process of its own, on this machine or another, and is metered where it runs. So a part that
//! dies takes nothing with it, a killed campaign leaves nothing behind (a worker ends when its input does), and one
//! protocol serves a laptop and a laboratory.
//!
//! To add a rig: write its file, enter it in [`all`]. [`all`] is what `bench list`, `bench new` and `doctor` show.
#![deny(missing_docs)]

mod controller;
mod e2_rtt;
mod footprint;
mod guides;
mod keys;
mod noise;
pub mod peer;
mod pipeline;
mod readback;
mod southbound;
mod sut;
mod upf;
mod wire;
mod xhaul;

use std::collections::BTreeMap;

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Rig, RigDescription};
use ranlab_campaign::value::Value;

pub use noise::{WHEN_NOISY, warnings};
pub use ranlab_parts::{Host, HostError, Lab};

/// Every rig there is, in the order in which people meet them.
pub fn all(lab: &Lab) -> Vec<Box<dyn Rig>> {
    vec![
        Box::new(controller::Controller::new(lab)),
        Box::new(e2_rtt::E2Rtt::new(lab)),
        Box::new(footprint::Footprint::new(lab)),
        Box::new(pipeline::Pipeline::new(lab)),
        Box::new(southbound::Southbound::new(lab)),
        Box::new(upf::UpfRig::new(lab)),
        Box::new(xhaul::Xhaul::new(lab)),
        Box::new(MockRig::default()),
    ]
}

/// The rig of that name.
pub fn by_name(lab: &Lab, name: &str) -> Option<Box<dyn Rig>> {
    all(lab).into_iter().find(|rig| rig.describe().name == name)
}

/// What a campaign found in words, for rigs that have a verdict of their own; it stands above everything else.
pub fn verdict(results: &Results) -> Vec<String> {
    if results.scenario.rig == southbound::NAME {
        guides::sentences(results)
    } else {
        xhaul::verdict(results)
    }
}

/// What a point will load the system with, computed before anything runs, as lines of text; `None` if the rig has
/// nothing to say. The error says why the point cannot run.
pub fn preview(rig: &str, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
    (rig == xhaul::NAME).then(|| xhaul::preview(settings))
}

/// What each rig says about itself: checking scenarios, templates, `doctor`.
pub fn descriptions(lab: &Lab) -> Vec<RigDescription> {
    all(lab).iter().map(|rig| rig.describe()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::scenario::{Overrides, Scenario, template};

    /// `bench new RIG` and then `bench check` of it: what a newcomer does first.
    #[test]
    fn the_scenario_that_each_rig_starts_with_can_be_run() {
        let rigs = descriptions(&Lab::new(std::path::PathBuf::from("ranlab")));
        for rig in &rigs {
            let text = template(rig);
            let scenario = Scenario::parse(&text, "new.toml", &Overrides::default(), &rigs)
                .unwrap_or_else(|errors| panic!("{}: {errors}\n{text}", rig.name));
            for axis in &scenario.sweep.axes {
                assert_eq!(axis.values.len(), 3, "{}: {}", rig.name, axis.path);
            }
            for point in &Plan::new(&scenario, rig).points {
                if let Some(Err(why)) = preview(&rig.name, &point.settings) {
                    panic!("{}: {} cannot run: {why}", rig.name, point.label());
                }
            }
        }
    }
}
