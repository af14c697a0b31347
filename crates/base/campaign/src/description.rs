//! What a rig says about itself, before anything runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::schema::Key;
use crate::value::Value;

/// How long a repeat takes, for the expected duration of a campaign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RepeatTime {
    /// Its warm-up and its window.
    #[default]
    Windows,
    /// Its window alone: nothing warms up.
    Window,
    /// The time of this setting.
    Setting(&'static str),
    /// No window where the setting has one of these values, because the answer is computed; warm-up and window elsewhere.
    ComputedWhen(&'static str, &'static [&'static str]),
}

/// What a rig says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RigDescription {
    /// Name in a scenario's `rig = "…"`.
    pub name: String,
    /// Names that it had before; scenarios and stored results may use them.
    pub aliases: Vec<String>,
    /// One line for people.
    pub comment: String,
    /// Keys of the rig's sections (`sut.*`, `load.*`).
    pub keys: Vec<Key>,
    /// What it measures.
    pub metrics: Vec<Metric>,
    /// What the environment must have; `doctor` and the runner's first message use it.
    pub needs: Vec<Need>,
    /// Time to bring the system up and down, for the expected duration of a campaign.
    pub set_up: Duration,
    /// How long a repeat takes besides [`set_up`](Self::set_up).
    pub repeat_time: RepeatTime,
    /// After which time a request without a response counts as lost; `None`: nothing waits for responses. A search's trial
    /// lasts [`Self::trial_at_least`].
    pub response_timeout: Option<ResponseTimeout>,
    /// What `bench new` writes: a short scenario that shows something true within two minutes, with `[sweep.axes]`,
    /// `[measure]`, `[[plot]]` and a commented `[search]`, in this order.
    pub starter: &'static str,
}

impl RigDescription {
    /// Whether it is called so, now or before.
    pub fn is(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// The shortest trial of a search over load in which missing responses show: a few response timeouts, of which one is
    /// the drain; 0 where nothing waits for responses.
    pub fn trial_at_least(&self, settings: &BTreeMap<String, Value>) -> Duration {
        self.response_timeout.map_or(Duration::ZERO, |timeout| timeout.of(settings) * TIMEOUTS_PER_TRIAL)
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

/// Response timeouts that a trial of a search lasts at least, the last of which is the drain.
const TIMEOUTS_PER_TRIAL: u32 = 3;

/// After which time a request without a response counts as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseTimeout {
    /// The setting that says so.
    pub setting: Option<&'static str>,
    /// Without that setting.
    pub default: Duration,
}

impl ResponseTimeout {
    /// With these settings.
    pub fn of(&self, settings: &BTreeMap<String, Value>) -> Duration {
        let set = self.setting.and_then(|path| settings.get(path)).and_then(Value::span);
        set.unwrap_or(self.default)
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
