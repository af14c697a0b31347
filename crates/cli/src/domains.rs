//! All domains of this build: their components, rigs and verbs.
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
//! To add a rig, a component or a verb, add it to its domain's table; `bench list`, `bench new`, `doctor` and the help then show
//! it. To add a domain, add it to [`DOMAINS`] and to the features of this crate.

#[cfg(feature = "bench")]
mod behaviour;
#[cfg(test)]
mod tests_components;
#[cfg(test)]
mod tests_stranger;

use ranlab_campaign::rig::{Rig, RigDescription};
use ranlab_command::verb::{Domain, Verb};
use ranlab_lab::base::BASE;
use ranlab_lab::{Registry, RigContext};

#[cfg(feature = "bench")]
pub use behaviour::behaviour;

#[cfg(feature = "tls")]
use crate::tls;
use crate::{doctor, gateway, manual, worker};

/// Verbs and components that belong to no domain.
static PROGRAM: Domain = Domain {
    verbs: &[
        Verb::new::<gateway::Arguments>(
            &["gateway"],
            30,
            "Forward connections between SCTP programs and other transports",
        ),
        Verb::new::<worker::Arguments>(
            &["worker"],
            120,
            "Run a component of an experiment for a campaign on another machine",
        ),
        #[cfg(feature = "tls")]
        Verb::new::<tls::InitArguments>(
            &["tls", "init"],
            130,
            "Make a certificate authority, and certificates of a RIC, a node and an xApp",
        ),
        #[cfg(feature = "tls")]
        Verb::new::<tls::IssueArguments>(&["tls", "issue"], 131, "Make a further certificate"),
        Verb::new::<doctor::Arguments>(
            &["doctor"],
            140,
            "Check this machine, and suggest how to get what is missing",
        ),
        Verb::new::<manual::CompletionsArguments>(
            &["completions"],
            150,
            "Print a completion script for a shell",
        ),
        Verb::new::<manual::ManArguments>(&["man"], 160, "Write manual pages"),
    ],
    ..Domain::new(&BASE)
};

/// Rigs that need two domains.
#[cfg(feature = "compare")]
static COMPARE: Domain = Domain::new(&ranlab_compare::COMPARE);

/// Verbs of campaigns, and the mock rig.
#[cfg(feature = "bench")]
static BENCH: Domain = Domain { verbs: crate::bench::VERBS, ..Domain::new(&MOCK) };

#[cfg(feature = "bench")]
static MOCK: ranlab_lab::Domain = ranlab_lab::Domain {
    name: "mock",
    components: &[],
    rigs: &[ranlab_lab::RigType {
        place: u8::MAX,
        make: |_| Box::new(ranlab_campaign::mock::MockRig::default()),
    }],
};

/// Simulations of E2 in virtual time, with the same reports as campaigns.
#[cfg(all(feature = "ric", feature = "ran", feature = "bench"))]
static SIM: Domain = Domain { verbs: crate::sim::VERBS, ..Domain::new(&NOTHING) };

#[cfg(all(feature = "ric", feature = "ran", feature = "bench"))]
static NOTHING: ranlab_lab::Domain = ranlab_lab::Domain { name: "sim", components: &[], rigs: &[] };

/// The domains of this build.
pub static DOMAINS: &[&Domain] = &[
    &PROGRAM,
    #[cfg(feature = "ric")]
    &ranlab_e2_lab::verbs::RIC,
    #[cfg(feature = "ran")]
    &ranlab_e2_lab::verbs::RAN,
    #[cfg(all(feature = "ric", feature = "ran"))]
    &ranlab_e2_lab::verbs::E2,
    #[cfg(any(feature = "ric", feature = "ran"))]
    &ranlab_e2_lab::verbs::CAPTURE,
    #[cfg(feature = "sdran")]
    &ranlab_sdran_lab::verbs::DOMAIN,
    #[cfg(feature = "upf")]
    &ranlab_upf_lab::verbs::DOMAIN,
    #[cfg(feature = "pipeline")]
    &ranlab_pipeline_lab::verbs::DOMAIN,
    #[cfg(feature = "xhaul")]
    &ranlab_xhaul_lab::verbs::DOMAIN,
    #[cfg(feature = "compare")]
    &COMPARE,
    #[cfg(feature = "bench")]
    &BENCH,
    #[cfg(all(feature = "ric", feature = "ran", feature = "bench"))]
    &SIM,
];

/// Number of domains of this build.
const COUNT: usize = DOMAINS.len();

/// Components and rigs of each domain.
static LABS: [&ranlab_lab::Domain; COUNT] = {
    let mut labs = [&BASE; COUNT];
    let mut at = 0;
    // Iterators are not available in constants.
    while at < COUNT {
        labs[at] = DOMAINS[at].lab;
        at += 1;
    }
    labs
};

/// Components and rigs of all domains of this build.
pub static REGISTRY: Registry = Registry(&LABS);

/// Returns all rigs, in the order of presentation.
pub fn all(lab: &RigContext) -> Vec<Box<dyn Rig>> {
    REGISTRY.rigs(lab)
}

/// Returns the rig with this name or former name.
pub fn by_name(lab: &RigContext, name: &str) -> Option<Box<dyn Rig>> {
    REGISTRY.rig(lab, name)
}

/// Returns the findings of a campaign in words ([`Rig::verdict`]); empty for an unknown rig.
#[cfg(feature = "bench")]
pub fn verdict(results: &ranlab_campaign::results::Results) -> Vec<String> {
    // No component is started, so an empty executable path suffices.
    by_name(&RigContext::new(""), &results.scenario.rig).map_or_else(Vec::new, |rig| rig.verdict(results))
}

/// Returns the drawing of a campaign's first point ([`Rig::picture`]), if the rig provides one.
#[cfg(feature = "bench")]
pub fn pictures(results: &ranlab_campaign::results::Results) -> Vec<String> {
    let rig = by_name(&RigContext::new(""), &results.scenario.rig);
    let first = results.points.first();
    rig.zip(first).and_then(|(rig, first)| rig.picture(&first.point.settings)).into_iter().collect()
}

/// Returns the descriptions of all rigs, for checking scenarios, templates and `doctor`.
pub fn descriptions(lab: &RigContext) -> Vec<RigDescription> {
    REGISTRY.descriptions(lab)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::renamed::Renames;
    use ranlab_campaign::scenario::{Overrides, Scenario, starter, template};

    /// Older files and results refer to rigs by former names.
    #[test]
    fn former_rig_names_are_found_and_unique() {
        let lab = RigContext::new("ranlab");
        let rigs = descriptions(&lab);
        let names: Vec<_> = rigs.iter().flat_map(|rig| rig.aliases.iter().chain([&rig.name])).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for (before, now) in [("controller", "e2-statistics"), ("southbound", "sd-ran")] {
            assert_eq!(by_name(&lab, before).unwrap().describe().name, now);
            let text = format!("title = \"t\"\nrig = \"{before}\"\n");
            let scenario = Scenario::parse(&text, "old.toml", &Overrides::default(), &rigs).unwrap();
            // The name remains unchanged in the scenario, so that an older campaign can be continued.
            assert_eq!(scenario.rig, before);
        }
        assert!(by_name(&lab, "controler").is_none());
    }

    #[test]
    fn earlier_names_of_settings_and_metrics_are_unambiguous() {
        for rig in descriptions(&RigContext::new("ranlab")) {
            let renames = Renames::from_rig(&rig);
            let mut current: BTreeSet<String> = rig.keys.iter().map(|key| key.path.clone()).collect();
            current.extend(rig.metric_names());
            current.extend(rig.metrics.iter().map(|metric| metric.name.clone()));
            for (earlier, name) in renames.iter() {
                assert!(!current.contains(earlier), "{}: `{earlier}` is a current name", rig.name);
                assert!(current.contains(name), "{}: `{name}` is not a current name", rig.name);
                assert_eq!(renames.earlier(name), Some(earlier), "{}: two earlier names", rig.name);
            }
            for key in &rig.keys {
                let section = key.formerly.as_deref().map(|earlier| earlier.split('.').next());
                assert!(section.is_none_or(|section| section == Some(key.section())), "{}", key.path);
            }
        }
    }

    #[test]
    fn every_profile_belongs_to_a_domain() {
        let named: BTreeSet<&str> = DOMAINS.iter().flat_map(|domain| domain.profiles).copied().collect();
        assert_eq!(named, ranlab_lab::experiment::profile::names().into_iter().collect());
    }

    fn parsed(name: &str, text: &str, rigs: &[RigDescription]) -> Scenario {
        Scenario::parse(text, "new.toml", &Overrides::default(), rigs)
            .unwrap_or_else(|errors| panic!("{name}: {errors}\n{text}"))
    }

    /// A new user starts with `bench new RIG` and `bench check`. With every key written out, the scenario has the same meaning.
    #[test]
    fn starter_scenarios_run_within_two_minutes() {
        let lab = RigContext::new(std::path::PathBuf::from("ranlab"));
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
            assert!(short.measure.repeats >= 3, "{name}: one repeat has no confidence interval");
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

    /// The search that each starter scenario contains as a comment is valid when it replaces the axes.
    #[test]
    fn starter_searches_are_valid() {
        let rigs = descriptions(&RigContext::new(std::path::PathBuf::from("ranlab")));
        // A rig without keys for load has no search.
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
