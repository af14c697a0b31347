//! Finds the settings in which two campaigns differ, and which of these differences are intended.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::value::format_span;

/// Section with the settings of the system under test. Two campaigns are usually compared because these settings
/// differ.
const SYSTEM_UNDER_TEST: &str = "sut";
/// Facts about the machine that influence measured numbers.
const MACHINE_FACTS: [&str; 3] = ["cpu_model", "cpus", "machine"];
/// Maximum number of a setting's values in a sentence.
const NAMED_MAX: usize = 3;

/// A setting that differs between the campaigns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingDifference {
    /// Path (`sut.engine`, `measure.duration`, `machine.cpu_model`).
    pub path: String,
    /// Values on the first side, in the order of its points.
    pub a: Vec<String>,
    /// Values on the second side, in the order of its points.
    pub b: Vec<String>,
    /// Whether the difference is intended: a setting of the system under test, or one that the caller named.
    pub intended: bool,
}

impl SettingDifference {
    /// Formats the setting: `sut.engine (ovs-dpdk, native)`.
    pub fn words(&self) -> String {
        let side = |values: &[String]| {
            let named = values.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(" | ");
            if values.len() > NAMED_MAX { format!("{named} | …") } else { named }
        };
        format!("{} ({} → {})", self.path, side(&self.a), side(&self.b))
    }
}

/// Returns the differences between these pairs of points, and between their measurements. `intended` contains paths or
/// sections in addition to the system under test.
pub(super) fn differences(
    a: &Results,
    b: &Results,
    pairs: &[(&PointResult, &PointResult)],
    intended: &[String],
) -> Vec<SettingDifference> {
    let mut found: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for (ours, theirs) in pairs {
        let paths = ours.point.settings.keys().chain(theirs.point.settings.keys());
        for path in paths {
            let own = ours.point.settings.get(path);
            let other = theirs.point.settings.get(path);
            if own.zip(other).is_some_and(|(own, other)| own.same(other)) {
                continue;
            }
            let text = |value: Option<&ranlab_campaign::value::Value>| {
                value.map_or_else(|| "not set".to_owned(), ToString::to_string)
            };
            let entry = found.entry(path.clone()).or_default();
            push(&mut entry.0, text(own));
            push(&mut entry.1, text(other));
        }
    }
    let theirs: BTreeMap<String, String> = measured(b).into_iter().collect();
    for (path, own) in measured(a) {
        let other = theirs.get(&path).cloned().unwrap_or_default();
        if own != other {
            found.insert(path, (vec![own], vec![other]));
        }
    }
    let meant = |path: &str| {
        let within = |section: &str| {
            path == section || path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
        };
        within(SYSTEM_UNDER_TEST) || NO_INFLUENCE.contains(&path) || intended.iter().any(|own| within(own))
    };
    let difference = |(path, (a, b)): (String, (Vec<String>, Vec<String>))| {
        let intended = meant(&path);
        SettingDifference { path, a, b, intended }
    };
    found.into_iter().map(difference).collect()
}

/// Settings that change only the random numbers or the number of repeats.
const NO_INFLUENCE: [&str; 2] = ["measure.seed", "measure.repeats"];

fn push(values: &mut Vec<String>, value: String) {
    if !values.contains(&value) {
        values.push(value);
    }
}

/// Returns the measurement settings of a campaign, in addition to the settings of its points.
fn measured(results: &Results) -> Vec<(String, String)> {
    let scenario = &results.scenario;
    let measure = &scenario.measure;
    let search = scenario
        .search
        .as_ref()
        .map_or_else(|| "none".to_owned(), |search| serde_json::to_string(search).unwrap_or_default());
    let mut all = vec![
        ("rig".to_owned(), scenario.rig.clone()),
        ("quick".to_owned(), scenario.quick.to_string()),
        ("measure.duration".to_owned(), format_span(measure.duration)),
        ("measure.warm_up".to_owned(), format_span(measure.warm_up)),
        ("measure.trim".to_owned(), format_span(measure.trim)),
        ("measure.seed".to_owned(), measure.seed.to_string()),
        ("measure.repeats".to_owned(), measure.repeats.to_string()),
        ("search".to_owned(), search),
    ];
    for fact in MACHINE_FACTS {
        let value = match &results.host[fact] {
            Json::Null => continue,
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        all.push((format!("machine.{fact}"), value));
    }
    all
}
