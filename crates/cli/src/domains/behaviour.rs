//! Behaviour versions of rigs and of the components that they measure with.
//!
//! **Raise a number in the commit that changes what is measured**: another load, clock or definition of a
//! metric. Results with a lower number are then judged `stale`. A change without effect on measurements (a
//! rename, a faster build) keeps the number. `scripts/house-rules.sh` reminds of it.

use std::collections::BTreeMap;

use ranlab_campaign::behaviour::Behaviour;
use ranlab_campaign::renamed::Renames;
use ranlab_campaign::scenario::Scenario;

use ranlab_lab::RigContext;

use super::by_name;

/// Name of a rig, its behaviour version, and the components that it measures with.
type Entry = (&'static str, u32, &'static [&'static str]);

/// All rigs.
const RIGS: &[Entry] = &[
    ("base-station", 1, &["model", "agent", "ran-load"]),
    ("e2-statistics", 3, &["model", "agent", "ric", "ran-load"]),
    ("e2-rtt", 1, &["agent", "ric", "ran-load"]),
    ("footprint", 1, &["ric"]),
    ("pipeline", 3, &["dataplane"]),
    ("radio", 1, &["model", "agent", "ric"]),
    ("sd-ran", 1, &["southbound", "ran-load"]),
    ("tenants", 1, &["model", "agent", "ric"]),
    ("upf", 1, &["upf", "upf-load"]),
    ("xhaul", 2, &["model"]),
    ("mock", 1, &[]),
];

/// Name of a component, its behaviour version, and the folders with its code.
pub(crate) const COMPONENTS: &[(&str, u32, &[&str])] = &[
    ("model", 1, &["crates/e2/radio/src", "crates/xhaul/xhaul/src"]),
    ("agent", 1, &["crates/e2/machines/src/agent"]),
    ("ric", 1, &["crates/e2/machines/src/ric"]),
    ("southbound", 1, &["crates/sdran/sdran/src", "crates/sdran/lab/src"]),
    ("ran-load", 1, &["crates/e2/ran/src", "crates/e2/lab/src/emulated", "crates/sdran/lab/src/fleet"]),
    ("upf", 1, &["crates/upf/upf/src", "crates/upf/lab/src/upf"]),
    ("upf-load", 1, &["crates/upf/lab/src/load"]),
    ("dataplane", 2, &["crates/pipeline/pipeline/src"]),
];

/// Returns the behaviour versions for a scenario; `None` if its rig is unknown.
pub fn behaviour(scenario: &Scenario) -> Option<Behaviour> {
    // No component is started, so an empty executable path suffices.
    let description = by_name(&RigContext::new(""), &scenario.rig)?.describe();
    let (_, rig, components) = RIGS.iter().find(|(rig, ..)| *rig == description.name)?;
    let with = |name: &&str| {
        let (name, version, _) = COMPONENTS.iter().find(|(own, ..)| own == name)?;
        Some(((*name).to_owned(), *version))
    };
    let components: BTreeMap<String, u32> = components.iter().filter_map(with).collect();
    Some(Behaviour::new(scenario, &Renames::from_rig(&description), *rig, components))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::domains::all;

    #[test]
    fn every_rig_and_component_has_a_version() {
        for rig in all(&RigContext::new("")) {
            let name = rig.describe().name;
            let entry = RIGS.iter().find(|(own, ..)| *own == name);
            let (_, version, components) = entry.unwrap_or_else(|| panic!("{name} has no behaviour version"));
            assert!(*version > 0, "{name}");
            for component in *components {
                assert!(COMPONENTS.iter().any(|(own, ..)| own == component), "{name}: {component}");
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (name, version, folders) in COMPONENTS {
            assert!(*version > 0, "{name}");
            for folder in *folders {
                assert!(root.join(folder).is_dir(), "{name}: {folder}");
            }
        }
    }
}
