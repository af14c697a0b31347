//! One combination of settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// One combination of the axes' values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Place in the plan, from 0.
    pub index: usize,
    /// The axes and their values here, in the order of the scenario.
    pub axes: Vec<(String, Value)>,
    /// Every setting of the rig, defaults included.
    pub settings: BTreeMap<String, Value>,
}

impl Point {
    /// Whether each of these settings has that value here.
    pub fn matches(&self, filter: &BTreeMap<String, Value>) -> bool {
        filter.iter().all(|(path, value)| self.settings.get(path).is_some_and(|own| own.same(value)))
    }

    /// `load.nodes=10 load.ues=50`, or `(no axes)`.
    pub fn label(&self) -> String {
        if self.axes.is_empty() {
            return "(no axes)".to_owned();
        }
        self.axes.iter().map(|(path, value)| format!("{path}={value}")).collect::<Vec<_>>().join(" ")
    }
}
