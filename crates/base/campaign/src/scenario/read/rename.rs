//! Replaces earlier names of settings and metrics in a scenario's tree.

use std::collections::BTreeSet;

use crate::description::RigDescription;
use crate::renamed::{self, Renames};
use crate::value::Value;

use super::super::ScenarioError;
use super::super::core;
use super::super::tree::{Node, Tree};

/// Tables whose keys are paths of settings, as `(section, key)`.
const PATHS: [(&str, &str); 5] =
    [("sweep", "axes"), ("search", "knobs"), ("plot", "filter"), ("expect", "where"), ("expect", "against")];
/// Keys of `[search]`, `[[plot]]` and `[[expect]]` whose value is a setting or a metric.
const NAMES: [&str; 10] =
    ["axis", "metric", "latency_of", "x", "y", "z", "group_by", "stack", "along", "tuned"];

/// Replaces earlier names, and collects the renames.
pub(super) struct Rename {
    renames: Renames,
    used: BTreeSet<renamed::Rename>,
}

impl Rename {
    pub(super) fn new(rig: &RigDescription) -> Self {
        Self { renames: Renames::from_rig(rig), used: BTreeSet::new() }
    }

    /// Replaces the names in a scenario.
    ///
    /// # Errors
    /// A file sets both names of a setting.
    pub(super) fn file(&mut self, root: &mut Node) -> Result<(), ScenarioError> {
        let Tree::Table(sections) = &mut root.tree else { return Ok(()) };
        for (name, section) in sections {
            if !core::SECTIONS.contains(&name.as_str()) {
                self.keys(section, name)?;
                continue;
            }
            let tables = match &mut section.tree {
                Tree::List(list) => list.as_mut_slice(),
                _ => std::slice::from_mut(section),
            };
            tables.iter_mut().try_for_each(|table| self.table(name, table))?;
        }
        Ok(())
    }

    /// Replaces an earlier name in the path of an argument `PATH=VALUE`.
    pub(super) fn path(&mut self, set: &mut String) {
        let Some((path, value)) = set.split_once('=') else { return };
        let whole = path.trim();
        let axis = whole.strip_prefix("sweep.axes.");
        if let Some(rename) = self.renames.rename(axis.unwrap_or(whole)) {
            let before = if axis.is_some() { "sweep.axes." } else { "" };
            *set = format!("{before}{}={value}", rename.name);
            self.used.insert(rename);
        }
    }

    /// Returns the replaced names.
    pub(super) fn used(self) -> Vec<renamed::Rename> {
        self.used.into_iter().collect()
    }

    fn table(&mut self, section: &str, table: &mut Node) -> Result<(), ScenarioError> {
        let Tree::Table(entries) = &mut table.tree else { return Ok(()) };
        for (key, node) in entries {
            if PATHS.contains(&(section, key.as_str())) {
                self.keys(node, "")?;
            } else if ["search", "plot", "expect"].contains(&section) && NAMES.contains(&key.as_str()) {
                self.names(node);
            }
        }
        Ok(())
    }

    fn names(&mut self, node: &mut Node) {
        match &mut node.tree {
            Tree::Leaf(Value::Text(name)) => self.renames.apply(name, &mut self.used),
            Tree::List(list) => list.iter_mut().for_each(|node| self.names(node)),
            Tree::Leaf(_) | Tree::Table(_) => {}
        }
    }

    /// Replaces the keys of a table whose own path is `prefix`.
    fn keys(&mut self, table: &mut Node, prefix: &str) -> Result<(), ScenarioError> {
        let Tree::Table(entries) = &mut table.tree else { return Ok(()) };
        let mut index = 0;
        while index < entries.len() {
            let (key, node) = &mut entries[index];
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            if matches!(node.tree, Tree::Table(_)) {
                self.keys(node, &path)?;
            } else if let Some(rename) = self.renames.rename(&path) {
                let name = rename.name.strip_prefix(prefix).unwrap_or(&rename.name);
                let name = name.trim_start_matches('.').to_owned();
                if let Some(other) = entries.iter().position(|(own, _)| *own == name) {
                    let under = other.min(index);
                    let over = other.max(index);
                    if entries[under].1.place.file == entries[over].1.place.file {
                        let sentence =
                            format!("`{path}` is the earlier name of `{}`; set one of them", rename.name);
                        return Err(entries[index].1.error(sentence));
                    }
                    // The keys of an extending file come after the keys of the extended file, and replace them.
                    entries[over].0 = name;
                    entries.remove(under);
                    index = over;
                } else {
                    entries[index].0 = name;
                    index += 1;
                }
                self.used.insert(rename);
                continue;
            }
            index += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::mock::MockRig;
    use crate::rig::Rig;
    use crate::scenario::{Overrides, Scenario, ScenarioErrors};

    fn parse(text: &str, sets: &[&str]) -> Result<Scenario, ScenarioErrors> {
        let text = format!("title = \"t\"\nrig = \"mock\"\n{text}");
        let overrides = Overrides { sets: sets.iter().map(|&set| set.to_owned()).collect(), quick: false };
        Scenario::parse(&text, "t.toml", &overrides, &[MockRig::default().describe()])
    }

    fn notices(scenario: &Scenario) -> Vec<String> {
        scenario.renamed.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn scenario_with_earlier_names_has_the_same_meaning() {
        let body = |key: &str, metric: &str| {
            format!(
                "[load]\n{key} = 9.0\n[sweep.axes]\n\"load.{key}\" = [1.0, 2.0]\n\
                 [[plot]]\nx = \"load.{key}\"\ny = \"{metric}_p99\"\nfilter = {{ \"load.{key}\" = 1.0 }}\n\
                 [[expect]]\nmetric = \"{metric}_p50\"\nalong = \"load.{key}\"\nshape = \"flat\"\n"
            )
        };
        let now = parse(&body("rate_max", "send_delay_us"), &[]).unwrap();
        assert_eq!(notices(&now), [""; 0]);
        let mut then = parse(&body("most", "lateness_us"), &[]).unwrap();
        assert_eq!(
            notices(&then),
            [
                "`lateness_us_p50` is now `send_delay_us_p50`",
                "`lateness_us_p99` is now `send_delay_us_p99`",
                "`load.most` is now `load.rate_max`"
            ]
        );
        then.renamed.clear();
        assert_eq!(then, now);
    }

    #[test]
    fn earlier_name_on_command_line_overrides_current_name() {
        let scenario = parse("[load]\nrate_max = 9.0\n", &["load.most=3.0"]).unwrap();
        assert_eq!(scenario.settings["load.rate_max"], 3.0.into());
        let scenario = parse("[sweep.axes]\n\"load.rate_max\" = [1.0, 2.0]\n", &["load.most=3.0"]).unwrap();
        assert_eq!((scenario.sweep.axes.len(), notices(&scenario).len()), (0, 1));
    }

    #[test]
    fn file_with_both_names_is_rejected() {
        let error = parse("[load]\nmost = 1.0\nrate_max = 2.0\n", &[]).unwrap_err();
        assert_eq!((error.0.len(), error.0[0].line), (1, 4));
    }
}
