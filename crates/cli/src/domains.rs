//! All domains: their components and rigs.
//!
//! ```text
//!  campaign::run -> Rig (e2-statistics, e2-rtt, …) -> Worker --lines of JSON--> `ranlab worker`: one component each
//!                                                   (child process, ssh, TCP)  (RIC, fleet, xApp, relay) + its meters
//! ```
//!
//! A rig never generates load in its own process. Every component of an experiment (the system under test,
//! the base stations, the xApp) is a separate process ([`ranlab_lab::worker`]), on this machine or
//! another, and is metered where it runs. A component that crashes therefore affects no other process, a
//! killed campaign leaves no processes behind (a worker ends when its input closes), and the same protocol
//! serves a laptop and a laboratory.
//!
//! To add a rig or a component, add it to its domain's table; `bench list`, `bench new` and `doctor` then show it.

mod behaviour;
#[cfg(test)]
mod tests_components;
#[cfg(test)]
mod tests_stranger;

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Rig, RigDescription};

pub use behaviour::behaviour;
use ranlab_compare::COMPARE;
use ranlab_e2_lab::E2;
use ranlab_lab::base::BASE;
use ranlab_lab::{Domain, Lab, Registry, RigType};
use ranlab_pipeline_lab::PIPELINE;
use ranlab_sdran_lab::SDRAN;
use ranlab_upf_lab::UPF;
use ranlab_xhaul_lab::XHAUL;

/// The mock.
static MOCK: Domain = Domain {
    name: "mock",
    components: &[],
    rigs: &[RigType { place: u8::MAX, make: |_| Box::new(MockRig::default()) }],
};

/// Components and rigs of all domains.
pub const REGISTRY: Registry = Registry(&[&BASE, &E2, &SDRAN, &UPF, &PIPELINE, &XHAUL, &COMPARE, &MOCK]);

/// Returns all rigs, in the order of presentation.
pub fn all(lab: &Lab) -> Vec<Box<dyn Rig>> {
    REGISTRY.rigs(lab)
}

/// Returns the rig with this name or former name.
pub fn by_name(lab: &Lab, name: &str) -> Option<Box<dyn Rig>> {
    REGISTRY.rig(lab, name)
}

/// Returns the findings of a campaign in words ([`Rig::verdict`]); empty for an unknown rig.
pub fn verdict(results: &Results) -> Vec<String> {
    // Nothing is started, so the laboratory does not matter.
    by_name(&Lab::new(""), &results.scenario.rig).map_or_else(Vec::new, |rig| rig.verdict(results))
}

/// Returns the descriptions of all rigs, for checking scenarios, templates and `doctor`.
pub fn descriptions(lab: &Lab) -> Vec<RigDescription> {
    REGISTRY.descriptions(lab)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::scenario::{Overrides, Scenario, starter, template};

    /// Older files and results refer to rigs by former names.
    #[test]
    fn former_rig_names_are_found_and_unique() {
        let lab = Lab::new("ranlab");
        let rigs = descriptions(&lab);
        let names: Vec<_> = rigs.iter().flat_map(|rig| rig.aliases.iter().chain([&rig.name])).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for (before, now) in [("controller", "e2-statistics"), ("southbound", "sd-ran")] {
            assert_eq!(by_name(&lab, before).unwrap().describe().name, now);
            let text = format!("title = \"t\"\nrig = \"{before}\"\n");
            let scenario = Scenario::parse(&text, "old.toml", &Overrides::default(), &rigs).unwrap();
            // Unchanged, so that an older campaign can be continued.
            assert_eq!(scenario.rig, before);
        }
        assert!(by_name(&lab, "controler").is_none());
    }

    fn parsed(name: &str, text: &str, rigs: &[RigDescription]) -> Scenario {
        Scenario::parse(text, "new.toml", &Overrides::default(), rigs)
            .unwrap_or_else(|errors| panic!("{name}: {errors}\n{text}"))
    }

    /// `bench new RIG` followed by `bench check`, the first steps of a new user. With every key written out,
    /// the scenario is the same.
    #[test]
    fn starter_scenarios_run_within_two_minutes() {
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

    /// The commented `[search]` of each starter, used instead of its axes, is valid.
    #[test]
    fn starter_searches_are_valid() {
        let rigs = descriptions(&Lab::new(std::path::PathBuf::from("ranlab")));
        // A rig without load has no search.
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
