//! A point of a campaign: one combination of settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// One combination of the axes' values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Index in the plan, from 0.
    pub index: usize,
    /// Axes and their values, in the order of the scenario.
    pub axes: Vec<(String, Value)>,
    /// All settings of the rig, including defaults.
    pub settings: BTreeMap<String, Value>,
}

impl Point {
    /// Returns whether the point has these settings.
    pub fn matches(&self, filter: &BTreeMap<String, Value>) -> bool {
        filter.iter().all(|(path, value)| self.settings.get(path).is_some_and(|own| own.same(value)))
    }

    /// Formats the values of the axes: `load.nodes=10 load.ues=50`, or `(no axes)`.
    pub fn label(&self) -> String {
        if self.axes.is_empty() {
            return "(no axes)".to_owned();
        }
        self.axes.iter().map(|(path, value)| format!("{path}={value}")).collect::<Vec<_>>().join(" ")
    }
}
