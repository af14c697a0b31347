//! Behaviour versions, which decide whether a stored result still represents today's measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::renamed::Renames;
use crate::scenario::{Scenario, Sweep};
use crate::value::Value;

/// Format version of stored results. It is increased when a stored number changes its meaning.
pub const RESULT_FORMAT: u32 = 2;

/// Versions that a result was measured with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behaviour {
    /// [`RESULT_FORMAT`] of the program version that stored the result.
    pub format: u32,
    /// Digest of the measured part of the scenario: rig, settings, sweep, search and repeats, without figures
    /// and expectations.
    pub scenario: String,
    /// Digest in the form of versions before 2026-11-29, which includes the descriptions of swept keys. It is compared
    /// with stored digests, but not stored.
    #[serde(skip)]
    described: String,
    /// Behaviour version of the rig.
    pub rig: u32,
    /// Behaviour versions of the components with which the result was measured.
    pub components: BTreeMap<String, u32>,
}

impl Behaviour {
    /// Returns the versions with which this program measures a scenario, given the behaviour versions of its rig and
    /// components.
    pub fn new(scenario: &Scenario, renames: &Renames, rig: u32, components: BTreeMap<String, u32>) -> Self {
        let described = digest(scenario, &scenario.sweep, renames);
        let mut sweep = scenario.sweep.clone();
        for axis in &mut sweep.axes {
            // A change of a key's description does not change what is measured.
            axis.about.clear();
        }
        let scenario = digest(scenario, &sweep, renames);
        Self { format: RESULT_FORMAT, scenario, described, rig, components }
    }

    /// Returns the reason why a result measured with `kept` does not represent measurements with `self`, if there is
    /// one. `kept` is `None` if the result does not state its versions.
    pub fn stale(&self, kept: Option<&Self>) -> Option<String> {
        let Some(kept) = kept else {
            return Some("it does not state the version of the rig that measured it".to_owned());
        };
        if kept.format != self.format {
            return Some(format!("its format is {}, and today's is {}", kept.format, self.format));
        }
        if kept.scenario != self.scenario && kept.scenario != self.described {
            return Some("the scenario has had another meaning since then".to_owned());
        }
        if kept.rig != self.rig {
            return Some(format!("its rig has behaviour {}, and today's has {}", kept.rig, self.rig));
        }
        let other =
            self.components.iter().find(|(name, version)| kept.components.get(*name) != Some(*version));
        other.map(|(name, version)| match kept.components.get(name) {
            Some(then) => format!("its component {name} has behaviour {then}, and today's has {version}"),
            None => format!("today it is measured with the component {name}"),
        })
    }
}

/// Returns the FNV-1a hash of the measured part of a scenario, which is equal in all processes and versions. A rename
/// does not change the meaning, so the hash uses the earlier names.
fn digest(scenario: &Scenario, sweep: &Sweep, renames: &Renames) -> String {
    let Scenario { rig, settings, search, measure, quick, .. } = scenario;
    let earlier = |path| renames.earlier(path).unwrap_or(path);
    let settings: BTreeMap<&str, &Value> =
        settings.iter().map(|(path, value)| (earlier(path.as_str()), value)).collect();
    let text = serde_json::to_string(&(rig, settings, sweep, search, measure, quick)).unwrap_or_default();
    let text = renames
        .iter()
        .fold(text, |text, (earlier, name)| text.replace(&format!("\"{name}\""), &format!("\"{earlier}\"")));
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRig;
    use crate::rig::Rig;
    use crate::scenario::Overrides;

    fn behaviour(text: &str, rig: u32, component: u32) -> Behaviour {
        let text = format!("title = \"t\"\nrig = \"mock\"\n{text}");
        let scenario =
            Scenario::parse(&text, "t", &Overrides::default(), &[MockRig::default().describe()]).unwrap();
        let renames = Renames::from_rig(&MockRig::default().describe());
        Behaviour::new(&scenario, &renames, rig, BTreeMap::from([("model".to_owned(), component)]))
    }

    #[test]
    fn result_is_stale_if_measured_behaviour_differs() {
        let today = behaviour("", 1, 1);
        let stale = |kept: Behaviour| today.stale(Some(&kept)).unwrap_or_default();
        assert_eq!(stale(behaviour("", 1, 1)), "");
        let expect = "[[expect]]\nmetric = \"throughput\"\nat_least = 1\n";
        assert_eq!(stale(behaviour(expect, 1, 1)), "", "expectations only read");
        assert!(stale(behaviour("[load]\nrate = 7\n", 1, 1)).contains("another meaning"));
        assert!(stale(behaviour("", 2, 1)).contains("behaviour 2"));
        assert!(stale(behaviour("", 1, 3)).contains("component model has behaviour 3"));
        assert!(stale(Behaviour { format: 1, ..behaviour("", 1, 1) }).contains("format is 1"));
        assert!(today.stale(None).is_some());
    }

    #[test]
    fn description_of_swept_key_does_not_make_result_stale() {
        let described = |about: &str| {
            let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n";
            let rig = MockRig::default().describe();
            let mut scenario =
                Scenario::parse(text, "t", &Overrides::default(), std::slice::from_ref(&rig)).unwrap();
            scenario.sweep.axes[0].about = about.to_owned();
            Behaviour::new(&scenario, &Renames::from_rig(&rig), 1, BTreeMap::new())
        };
        let today = described("number of workers");
        assert_eq!(today.stale(Some(&described("workers"))), None);
        // A digest stored by an earlier version includes the description. It is valid only while the description is
        // unchanged.
        let earlier = |about: &str| {
            let kept = described(about);
            Behaviour { scenario: kept.described.clone(), ..kept }
        };
        assert_eq!(today.stale(Some(&earlier("number of workers"))), None);
        assert!(today.stale(Some(&earlier("workers"))).is_some());
    }
}
