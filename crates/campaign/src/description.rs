//! What a rig says about itself, before anything runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::schema::Key;

/// What a rig says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RigDescription {
    /// Name in a scenario's `rig = "…"`.
    pub name: String,
    /// Names that it had before; scenarios and stored results may use them.
    pub aliases: Vec<String>,
    /// One line for people.
    pub comment: String,
    /// The keys of its own sections (`sut.*`, `load.*`).
    pub keys: Vec<Key>,
    /// What it measures.
    pub metrics: Vec<Metric>,
    /// What the environment must have; `doctor` and the runner's first message use it.
    pub needs: Vec<Need>,
    /// Time to bring the system up and down, for the expected duration of a campaign.
    pub set_up: Duration,
    /// What `bench new` writes: a short scenario that shows something true within two minutes, with `[sweep.axes]`,
    /// `[measure]`, `[[plot]]` and a commented `[search]`, in this order.
    pub starter: &'static str,
}

impl RigDescription {
    /// Whether it is called so, now or before.
    pub fn is(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// The metric to which a name such as `rtt_us_p99` belongs.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name || metric.names().iter().any(|own| own == name))
    }

    /// Every name that a plot or an expectation may use.
    pub fn metric_names(&self) -> Vec<String> {
        self.metrics.iter().flat_map(Metric::names).collect()
    }
}

/// Something that a rig needs from the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// What (`"chromium"`, `"2 free cores"`, `"SCTP in the kernel"`).
    pub what: String,
    /// Why, and what is done without it.
    pub why: String,
    /// Whether it is there; `Err` says how to get it.
    pub met: Result<(), String>,
}
