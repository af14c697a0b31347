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
#[cfg(test)]
mod fake;
mod footprint;
mod guides;
mod harness;
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

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Rig, RigDescription};

use harness::Bench;
pub use noise::{WHEN_NOISY, disturbances, mark_disturbed, remarks, warnings};
pub use ranlab_parts::{Host, HostError, Lab};

/// Every rig there is, in the order in which people meet them.
pub fn all(lab: &Lab) -> Vec<Box<dyn Rig>> {
    vec![
        Box::new(controller::Controller::new(lab)),
        Box::new(e2_rtt::E2Rtt::new(lab)),
        Box::new(footprint::Footprint::new(lab)),
        Box::new(Bench::new(lab, pipeline::Pipeline)),
        Box::new(southbound::Southbound::new(lab)),
        Box::new(Bench::new(lab, upf::Upf)),
        Box::new(Bench::new(lab, xhaul::Xhaul)),
        Box::new(MockRig::default()),
    ]
}

/// The rig of that name, or that had it before.
pub fn by_name(lab: &Lab, name: &str) -> Option<Box<dyn Rig>> {
    all(lab).into_iter().find(|rig| rig.describe().is(name))
}

/// What a campaign found in words ([`Rig::verdict`]); nothing of a rig that is not known here.
pub fn verdict(results: &Results) -> Vec<String> {
    // No part is started for it, so any laboratory will do.
    by_name(&Lab::new(""), &results.scenario.rig).map_or_else(Vec::new, |rig| rig.verdict(results))
}

/// What each rig says about itself: checking scenarios, templates, `doctor`.
pub fn descriptions(lab: &Lab) -> Vec<RigDescription> {
    all(lab).iter().map(|rig| rig.describe()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::scenario::{Overrides, Scenario, template};

    /// Files and results of before name rigs as they were called then.
    #[test]
    fn a_rig_is_found_by_the_names_that_it_had_and_no_name_is_two_rigs() {
        let lab = Lab::new("ranlab");
        let rigs = descriptions(&lab);
        let names: Vec<_> = rigs.iter().flat_map(|rig| rig.aliases.iter().chain([&rig.name])).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for (before, now) in [("controller", "e2-statistics"), ("southbound", "sd-ran")] {
            assert_eq!(by_name(&lab, before).unwrap().describe().name, now);
            let text = format!("title = \"t\"\nrig = \"{before}\"\n");
            let scenario = Scenario::parse(&text, "old.toml", &Overrides::default(), &rigs).unwrap();
            // As written: a campaign of before goes on.
            assert_eq!(scenario.rig, before);
        }
        assert!(by_name(&lab, "controler").is_none());
    }

    /// `bench new RIG` and then `bench check` of it: what a newcomer does first.
    #[test]
    fn the_scenario_that_each_rig_starts_with_can_be_run() {
        let lab = Lab::new(std::path::PathBuf::from("ranlab"));
        let descriptions = descriptions(&lab);
        for (rig, description) in all(&lab).iter().zip(&descriptions) {
            let (name, text) = (&description.name, template(description));
            let scenario = Scenario::parse(&text, "new.toml", &Overrides::default(), &descriptions)
                .unwrap_or_else(|errors| panic!("{name}: {errors}\n{text}"));
            for axis in &scenario.sweep.axes {
                assert_eq!(axis.values.len(), 3, "{name}: {}", axis.path);
            }
            for point in &Plan::new(&scenario, description).points {
                if let Some(Err(why)) = rig.preview(&point.settings) {
                    panic!("{name}: {} cannot run: {why}", point.label());
                }
            }
        }
    }
}
