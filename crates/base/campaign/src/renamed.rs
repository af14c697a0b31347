//! Earlier names of settings and metrics, which scenarios and stored results may still use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value as Json;

use crate::description::RigDescription;
use crate::metric::Metric;
use crate::record::Recording;

/// An earlier name and the name that replaced it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rename {
    /// The earlier name.
    pub earlier: String,
    /// The current name.
    pub name: String,
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is now `{}`", self.earlier, self.name)
    }
}

/// Earlier names of a rig's settings and metrics, with the names that replaced them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renames(BTreeMap<String, String>);

impl Renames {
    /// Collects the earlier names that a rig declares ([`Key::formerly`](crate::schema::Key::formerly),
    /// [`Metric::formerly`]). A histogram's earlier name also applies to its percentiles, such as `NAME_p99`.
    pub fn from_rig(rig: &RigDescription) -> Self {
        let mut names = BTreeMap::new();
        for key in &rig.keys {
            names.extend(key.formerly.iter().map(|earlier| (earlier.clone(), key.path.clone())));
        }
        for metric in &rig.metrics {
            let Some(earlier) = &metric.formerly else { continue };
            let before = Metric { name: earlier.clone(), ..metric.clone() };
            names.extend(before.names().into_iter().zip(metric.names()));
            names.insert(earlier.clone(), metric.name.clone());
        }
        Self(names)
    }

    /// Returns the current name for an earlier one.
    pub fn current(&self, earlier: &str) -> Option<&str> {
        self.0.get(earlier).map(String::as_str)
    }

    /// Returns the current name for an earlier one, as a notice.
    pub fn rename(&self, earlier: &str) -> Option<Rename> {
        let name = self.current(earlier)?.to_owned();
        Some(Rename { earlier: earlier.to_owned(), name })
    }

    /// Returns the earlier name for a current one.
    pub fn earlier(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(_, current)| *current == name).map(|(earlier, _)| earlier.as_str())
    }

    /// Returns all pairs of an earlier and a current name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(earlier, name)| (earlier.as_str(), name.as_str()))
    }

    /// Replaces an earlier name by the current one, and adds the rename to `used`.
    pub fn apply(&self, name: &mut String, used: &mut BTreeSet<Rename>) {
        if let Some(rename) = self.rename(name) {
            name.clone_from(&rename.name);
            used.insert(rename);
        }
    }

    /// Replaces the earlier names among the keys of a map, and adds the renames to `used`.
    pub fn apply_keys<T>(
        &self,
        map: BTreeMap<String, T>,
        used: &mut BTreeSet<Rename>,
    ) -> BTreeMap<String, T> {
        let renamed = map.into_iter().map(|(mut name, value)| {
            self.apply(&mut name, used);
            (name, value)
        });
        renamed.collect()
    }

    /// Replaces the earlier names in a repeat's measurements, and adds the renames to `used`.
    pub fn apply_recording(&self, recording: &mut Recording, used: &mut BTreeSet<Rename>) {
        if self.0.is_empty() {
            return;
        }
        recording.metrics = self.apply_keys(std::mem::take(&mut recording.metrics), used);
        recording.series = self.apply_keys(std::mem::take(&mut recording.series), used);
        recording.distributions = self.apply_keys(std::mem::take(&mut recording.distributions), used);
        recording.bounds = self.apply_keys(std::mem::take(&mut recording.bounds), used);
    }

    /// Replaces the earlier names of metrics, and adds the renames to `used`.
    pub fn apply_metrics(&self, metrics: &mut [Metric], used: &mut BTreeSet<Rename>) {
        for metric in metrics {
            self.apply(&mut metric.name, used);
            metric.limit.iter_mut().for_each(|limit| self.apply(limit, used));
        }
    }

    /// Replaces the earlier names among the keys and texts of a JSON document, and adds the renames to `used`.
    pub fn apply_json(&self, json: &mut Json, used: &mut BTreeSet<Rename>) {
        match json {
            Json::String(text) => self.apply(text, used),
            Json::Array(list) => list.iter_mut().for_each(|json| self.apply_json(json, used)),
            Json::Object(map) => {
                let entries = std::mem::take(map).into_iter().map(|(mut key, mut value)| {
                    self.apply(&mut key, used);
                    self.apply_json(&mut value, used);
                    (key, value)
                });
                *map = entries.collect();
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRig;
    use crate::rig::Rig;

    #[test]
    fn earlier_histogram_name_is_replaced_in_its_percentiles() {
        let renames = Renames::from_rig(&MockRig::default().describe());
        assert_eq!(renames.current("lateness_us_p99"), Some("send_delay_us_p99"));
        assert_eq!(renames.current("lateness_us"), Some("send_delay_us"));
        assert_eq!(renames.current("send_delay_us"), None);
        assert_eq!(renames.earlier("load.rate_max"), Some("load.most"));
    }

    #[test]
    fn json_keys_and_texts_get_current_names() {
        let renames = Renames::from_rig(&MockRig::default().describe());
        let mut json = serde_json::json!({"load.most": 5, "y": ["lateness_us_p50", "most"]});
        let mut used = BTreeSet::new();
        renames.apply_json(&mut json, &mut used);
        assert_eq!(json, serde_json::json!({"load.rate_max": 5, "y": ["send_delay_us_p50", "most"]}));
        let notices: Vec<String> = used.iter().map(Rename::to_string).collect();
        assert_eq!(
            notices,
            ["`lateness_us_p50` is now `send_delay_us_p50`", "`load.most` is now `load.rate_max`"]
        );
    }
}
