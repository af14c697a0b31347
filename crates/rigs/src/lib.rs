//! One file for each rig: joins the experimenter with the systems below it.
//!
//! ```text
//!  campaign::run -> Rig (controller, e2_rtt, …) -> Worker --lines of JSON--> `ranlab worker`: one part each
//!                                                   (child process, ssh, TCP)  (RIC, fleet, xApp, relay) + its meters
//! ```
//!
//! A rig never runs load in its own process: every part of an experiment (the system under test, the base stations, the
//! xApp) is a process of its own ([`ranlab_parts::worker`]), on this machine or another, and is metered where it runs. So
//! a part that dies takes nothing with it, a killed campaign leaves nothing behind (a worker ends when its input does), and
//! one protocol serves a laptop and a laboratory.
//!
//! To add a rig: write its file, enter it in [`all`]. [`all`] is what `bench list`, `bench new` and `doctor` show.
#![deny(missing_docs)]

mod base_station;
mod behaviour;
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
mod radio;
mod readback;
mod southbound;
mod stranger;
mod sut;
mod tenants;
#[cfg(test)]
mod tests_places;
#[cfg(test)]
mod tests_ran;
mod upf;
pub mod virtual_time;
mod wire;
mod xhaul;

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Rig, RigDescription};

pub use behaviour::behaviour;
use harness::Bench;
pub use keys::WHEN_NOISY;
pub use noise::{disturbances, mark_disturbed, remarks, warnings};
pub use pipeline::{Sent, beside, sent};
pub use ranlab_parts::readback::Question;
pub use ranlab_parts::{Host, HostError, Lab};
pub use stranger::{Planned, commands, notes};

/// Every rig there is, in the order in which people meet them.
pub fn all(lab: &Lab) -> Vec<Box<dyn Rig>> {
    vec![
        Box::new(Bench::new(lab, base_station::BaseStation)),
        Box::new(Bench::new(lab, controller::Controller)),
        Box::new(Bench::new(lab, e2_rtt::E2Rtt)),
        Box::new(Bench::new(lab, footprint::Footprint)),
        Box::new(Bench::new(lab, pipeline::Pipeline)),
        Box::new(Bench::new(lab, radio::Radio)),
        Box::new(Bench::new(lab, southbound::SdRan)),
        Box::new(Bench::new(lab, tenants::Tenants)),
        Box::new(Bench::new(lab, upf::Upf)),
        Box::new(Bench::new(lab, xhaul::Xhaul)),
        Box::new(MockRig::default()),
    ]
}

/// A scenario that decides whether a UPF passes, for a CI job (`bench new gate`).
pub const GATE: &str = include_str!("starters/gate.toml");

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
    use ranlab_campaign::scenario::{Overrides, Scenario, starter, template};

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

    fn parsed(name: &str, text: &str, rigs: &[RigDescription]) -> Scenario {
        Scenario::parse(text, "new.toml", &Overrides::default(), rigs)
            .unwrap_or_else(|errors| panic!("{name}: {errors}\n{text}"))
    }

    /// `bench new RIG` and then `bench check` of it: what a newcomer does first. With every key it is the same scenario.
    #[test]
    fn the_scenario_that_each_rig_starts_with_can_be_run_within_two_minutes() {
        let lab = Lab::new(std::path::PathBuf::from("ranlab"));
        let rigs = descriptions(&lab);
        for (rig, description) in all(&lab).iter().zip(&rigs) {
            let name = &description.name;
            let short = parsed(name, &starter(description), &rigs);
            let whole = parsed(name, &template(description), &rigs);
            let plan = Plan::new(&short, description);
            assert_eq!(plan, Plan::new(&whole, description), "{name}");
            assert_eq!((&short.measure, &short.plots), (&whole.measure, &whole.plots), "{name}");
            assert!(
                !short.plots.is_empty() && short.plots.iter().all(|plot| !plot.title.is_empty()),
                "{name}"
            );
            assert!(short.measure.repeats >= 3, "{name}: one repeat tells nothing");
            assert!((2..=6).contains(&plan.points.len()), "{name}: {} points", plan.points.len());
            assert!(plan.expected().as_secs() < 120, "{name}: {:?}", plan.expected());
            assert!(description.starter.lines().count() < 50, "{name}: short");
            for point in &plan.points {
                if let Some(Err(why)) = rig.preview(&point.settings) {
                    panic!("{name}: {} cannot run: {why}", point.label());
                }
            }
        }
    }

    /// The commented `[search]` of each, taken instead of its axes, is one.
    #[test]
    fn the_search_that_each_rig_proposes_is_valid() {
        let rigs = descriptions(&Lab::new(std::path::PathBuf::from("ranlab")));
        // What is never loaded is not searched.
        for rig in rigs.iter().filter(|rig| rig.keys.iter().any(|key| key.section() == "load")) {
            let text = rig.starter;
            let (settings, rest) = text.split_once("[sweep.axes]").unwrap();
            let measure = rest.split_once("[measure]").unwrap().1.split("[[plot]]").next().unwrap();
            let search = text.split_once("# [search]").unwrap().1.replace("\n# ", "\n");
            let scenario = format!("{settings}[measure]{measure}[search]{search}");
            assert!(parsed(&rig.name, &scenario, &rigs).search.is_some(), "{}", rig.name);
        }
    }
}
