//! Common parts of components, experiments and third-party programs of all domains.
//!
//! A component's configuration is declared with [`config!`]. The same fields become the flags of a verb, scenario keys,
//! the JSON schema and the message to a worker ([`field`]). A component runs in the process of a verb, or in a
//! [`worker`] on any machine, which meters it and reports its results. [`experiment`] contains code that rigs share.
//!
//! To add a component, create a file in its domain's crate. It contains the configuration, which implements
//! [`Component`], and the running component, which implements [`RunningComponent`]. Then add the component to the
//! domain's table ([`Domain`]). No domain is imported here.

pub mod attach;
pub mod base;
pub mod check;
pub mod child;
pub mod component;
pub mod discovery;
pub mod divide;
pub mod experiment;
pub mod field;
pub mod folder;
pub mod gateway;
pub mod lab;
pub mod meters;
pub mod output;
pub mod peers;
pub mod program;
pub mod pulse;
pub mod readback;
pub mod ready;
pub mod settings;
pub mod text;
pub mod vbbu;
pub mod watch;
pub mod worker;

use serde::Serialize;

use crate::worker::{ComponentError, Counters, FaultOwner};

pub use attach::AttachComponent;
pub use component::{
    AnyComponent, Component, ComponentType, Domain, Foreign, LEAVE_WAIT, OVER, Registry, RigType,
    RunningComponent, SET_UP, Started, Waits,
};
pub use divide::PLACES_MAX;
pub use field::{As, Config, ConfigFields, Field, FieldError, FieldType, JsonField, Role, Section, Seed};
pub use gateway::{Gateway, GatewayComponent, GatewayReport};
pub use lab::{HostError, RigContext, WorkerLocation};
pub use peers::{AllowedPeer, NotANetwork};
pub use program::{Commands, Each, MeterBy, ProgramComponent, ReadyWhen, Span, WarnLine};
pub use ready::port;
pub use settings::{Listen, loopback};

/// A task of this thread that is aborted on drop.
#[derive(Debug)]
pub struct Task(pub tokio::task::JoinHandle<()>);

impl Task {
    pub fn spawn(task: impl Future<Output = ()> + 'static) -> Self {
        Self(tokio::task::spawn_local(task))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns an error of the machine or the network.
pub fn environment(what: impl ToString) -> ComponentError {
    ComponentError { fault: FaultOwner::Environment, what: what.to_string() }
}

/// Returns an error of the system under test.
pub fn sut(what: impl ToString) -> ComponentError {
    ComponentError { fault: FaultOwner::Sut, what: what.to_string() }
}

/// Returns an error of the rig or the scenario.
pub fn rig(what: impl ToString) -> ComponentError {
    ComponentError { fault: FaultOwner::Rig, what: what.to_string() }
}

/// Parses an address or a version.
pub fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, ComponentError> {
    text.parse().map_err(rig)
}

/// Returns the numeric fields of a report by name. Other fields are left out.
pub fn numbers(report: &impl Serialize) -> Counters {
    let report = serde_json::to_value(report).unwrap_or_default();
    let fields = report.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// Returns the difference between two reports: counters as differences, states as they are now.
pub fn since<R: Serialize>(then: &R, now: &R, states: &[&str]) -> Counters {
    let then = numbers(then);
    let mut now = numbers(now);
    for (name, value) in now.iter_mut().filter(|(name, _)| !states.contains(&name.as_str())) {
        *value -= then.get(name).copied().unwrap_or_default();
    }
    now
}

/// Converts a histogram to (value, count) pairs.
pub fn counts(histogram: &hdrhistogram::Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_differences_and_states_are_absolute() {
        #[derive(serde::Serialize)]
        struct FakeState {
            sent: u64,
            alive: u32,
            lost: Option<u64>,
            words: Vec<&'static str>,
        }
        let then = FakeState { sent: 5, alive: 2, lost: None, words: vec!["a"] };
        let now = FakeState { sent: 12, alive: 1, lost: Some(3), words: Vec::new() };
        let expected: Counters =
            [("sent", 7.0), ("alive", 1.0), ("lost", 3.0)].map(|(n, v)| (n.to_owned(), v)).into();
        assert_eq!(since(&then, &now, &["alive"]), expected);
        assert!(!numbers(&then).contains_key("lost") && !numbers(&then).contains_key("words"));
    }
}
