//! Static description of a rig: its keys, metrics and needs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::schema::Key;
use crate::value::Value;

/// Duration of a repeat, from which the expected duration of a campaign is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RepeatTime {
    /// Warm-up and window.
    #[default]
    Windows,
    /// The window only, without a warm-up.
    Window,
    /// The value of this setting.
    Setting(&'static str),
    /// Zero if the setting has one of these values, because the results are then computed. Otherwise the warm-up and
    /// the window.
    ComputedWhen(&'static str, &'static [&'static str]),
}

/// Static description of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct RigDescription {
    /// Name in a scenario's `rig = "…"`.
    pub name: String,
    /// Earlier names, which scenarios and stored results may still use.
    pub aliases: Vec<String>,
    /// Description in one line.
    pub comment: String,
    /// Keys of the rig's sections (`sut.*`, `load.*`).
    pub keys: Vec<Key>,
    /// Metrics that the rig measures.
    pub metrics: Vec<Metric>,
    /// Requirements on the machine, for `doctor` and for the runner's first message.
    pub needs: Vec<Need>,
    /// Time to start and stop the system, for the expected duration of a campaign.
    pub set_up: Duration,
    /// Duration of a repeat, without [`set_up`](Self::set_up).
    pub repeat_time: RepeatTime,
    /// Time after which a request without a response counts as lost; `None` if the rig has no responses. A trial
    /// of a search lasts at least [`Self::trial_at_least`].
    pub response_timeout: Option<ResponseTimeout>,
    /// Scenario written by `bench new`: short, with a meaningful result within two minutes. It has `[sweep.axes]`,
    /// `[measure]`, `[[plot]]` and a commented `[search]`, in this order.
    pub starter: &'static str,
}

impl RigDescription {
    /// Returns whether this is the rig's name or one of its aliases.
    pub fn is(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Returns the minimum duration of a trial in a search over load. It is several response time-outs, so that missing
    /// responses are noticed. The last time-out is the drain, in which late responses are awaited. The result is 0 if
    /// the rig has no responses.
    pub fn trial_at_least(&self, settings: &BTreeMap<String, Value>) -> Duration {
        self.response_timeout
            .map_or(Duration::ZERO, |timeout| timeout.for_settings(settings) * TIMEOUTS_PER_TRIAL)
    }

    /// Returns the metric to which a name such as `rtt_us_p99` belongs.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name || metric.names().iter().any(|own| own == name))
    }

    /// Returns all names that a plot or an expectation may use.
    pub fn metric_names(&self) -> Vec<String> {
        self.metrics.iter().flat_map(Metric::names).collect()
    }
}

/// Number of response time-outs in the shortest trial of a search. The last one is the drain.
const TIMEOUTS_PER_TRIAL: u32 = 3;

/// Time after which a request without a response counts as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseTimeout {
    /// Setting that defines the time-out.
    pub setting: Option<&'static str>,
    /// Time-out without that setting.
    pub default: Duration,
}

impl ResponseTimeout {
    /// Returns the time-out with these settings.
    pub fn for_settings(&self, settings: &BTreeMap<String, Value>) -> Duration {
        let set = self.setting.and_then(|path| settings.get(path)).and_then(Value::span);
        set.unwrap_or(self.default)
    }
}

/// Requirement of a rig on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The requirement (`"chromium"`, `"2 free cores"`, `"SCTP in the kernel"`).
    pub what: String,
    /// Reason, and the consequence if the requirement is not met.
    pub why: String,
    /// Whether the requirement is met; the error describes how to meet it.
    pub met: Result<(), String>,
}
