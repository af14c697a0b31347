//! Components of experiments and CLI verbs: each has a typed configuration and the code that starts it.
//!
//! A component's configuration is declared with [`config!`]. The same fields become the flags of a verb, scenario keys,
//! the JSON schema and the message to a worker ([`field`]). A component runs in the process that starts it: that of a
//! verb, or a [`worker`] on any machine, which meters it and reports its results.
//!
//! To add a component, create a file with its configuration and its [`Running`] implementation, implement [`Component`]
//! for it, and add it to its domain's table ([`components`]).

mod attach;
pub mod captured;
pub mod check;
pub mod child;
mod component;
pub mod components;
mod divide;
mod e2_fields;
pub mod field;
mod fleet;
mod folder;
pub mod found;
mod gateway;
mod hosting;
mod influx;
mod lab;
mod meters;
mod monitor;
mod monitor_iapp;
mod orders;
mod output;
mod peers;
mod ping;
mod ping_flexran;
mod ping_iapp;
mod pinger;
mod pipeline;
mod plugin;
mod program;
mod publish;
mod pulse;
mod radio;
pub mod readback;
mod ready;
mod relay;
mod rest_client;
mod rest_controller;
mod rest_xapp;
mod ric;
mod ric_bus;
mod ring;
mod sdran_fields;
mod settings;
mod south_controller;
mod south_fleet;
mod switches;
#[cfg(test)]
mod tests_ran;
mod upf;
mod upf_fields;
mod upf_load;
pub mod values;
mod virt;
pub mod virtual_time;
mod watch;
pub mod worker;
mod xapp_slice;
mod xapp_traffic;
pub mod xhaul;

use serde::Serialize;

use crate::worker::{Fault, Numbers, Trouble};

pub use attach::AttachPart;
pub use component::{
    Component, ComponentType, Domain, Foreign, LEAVE_WAIT, OVER, Part, Registry, RigType, Running, SET_UP,
    Started, Waits,
};
pub use divide::PLACES_MAX;
pub use e2_fields::{E2_PORT, E2AP, E2Names, E42_PORT, customary_models, service_models, statistics};
pub use field::{As, Config, Described, Field, FieldError, Plain, Role, Section, Seed, Setting};
pub use fleet::{FleetPart, HW, RADIO_KEYS, Stations};
pub use gateway::{Gateway, GatewayPart, GatewayReport};
pub use lab::{Host, HostError, Lab};
pub use monitor::{Latency, Listener, MonitorPart, MonitorReport, Watcher, joined};
pub use orders::{Orders, OrdersPlan, OrdersReport, Outcome, RATE_MAX};
pub use peers::{Allowed, NotANetwork};
pub use ping::{PingPart, Pinging};
pub use ping_flexran::PingFlexranPart;
pub use pinger::{ECHO_WAIT, PingReport, RoundTrip, control_bytes, indication_bytes};
pub use pipeline::{Instructions, PipelinePart};
pub use program::{Commands, Each, MeterBy, ProgramPart, ReadyWhen, Span, WarnLine};
pub use radio::{Fading, Spell, Spelled};
pub use ready::port;
pub use relay::{Language, RelayPart};
pub use rest_client::{Events as BusEvents, RestError, RestUrl};
pub use rest_controller::{
    ASSOCIATION_PORT, AssociationPart, BusUrl, SLICING_PORT, SlicingPart, TRAFFIC_PORT, TrafficPart,
};
pub use ric::{HostedIApp, Ric, RicPart, RicReport};
pub use ring::{RingCounters, RingOutcome, RingTesterPart};
pub use sdran_fields::{Period, SdranNames, Share};
pub use settings::{Listen, loopback};
pub use south_controller::{EmpowerPart, FlexranPart, SliceShare, SouthController, SouthControllerReport};
pub use south_fleet::{Events, SouthDetail, SouthFleet, SouthFleetPart};
pub use upf::{Upf, UpfDesign, UpfListening, UpfPart, UpfSummary, XdpSummary};
pub use upf_fields::UpfNames;
pub use upf_load::{
    BitRate, Calibration, Cpus, LoadArrivals, LoadMode, LoadRole, NetworkSummary, PacketRate, PacketsReached,
    UpfLoad, UpfLoadPart, UpfLoadReport, data_network,
};
pub use virt::{TenantPlan, VIRT_PORT, VirtPart};
pub use xapp_slice::{SliceXappPart, SliceXappReport};
pub use xapp_traffic::{TrafficXapp, TrafficXappPart, TrafficXappReport};
pub use xhaul::XhaulPart;

pub use ranlab_emulator::southbound::{Incident, Southbound, Trouble as SouthboundTrouble};
pub use ranlab_sdran::flexran::controller::RibShare;

/// Returns the first program required by a switch that is not installed.
#[must_use]
pub fn missing_program(backend: &dyn ranlab_pipeline::backends::Backend) -> Option<&'static str> {
    backend.programs().iter().copied().find(|program| switches::found(program).is_none())
}

/// A task of this thread that is aborted on drop.
pub(crate) struct Task(tokio::task::JoinHandle<()>);

impl Task {
    pub(crate) fn spawn(task: impl Future<Output = ()> + 'static) -> Self {
        Self(tokio::task::spawn_local(task))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns an error of the machine or the network.
fn environment(what: impl ToString) -> Trouble {
    Trouble { fault: Fault::Environment, what: what.to_string() }
}

/// Returns an error of the system under test.
fn sut(what: impl ToString) -> Trouble {
    Trouble { fault: Fault::Sut, what: what.to_string() }
}

/// Returns an error of the rig or the scenario.
fn rig(what: impl ToString) -> Trouble {
    Trouble { fault: Fault::Rig, what: what.to_string() }
}

/// Parses an address or a version.
fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Trouble> {
    text.parse().map_err(rig)
}

/// Returns the numeric fields of a report by name. Other fields are left out.
fn numbers(report: &impl Serialize) -> Numbers {
    let report = serde_json::to_value(report).unwrap_or_default();
    let fields = report.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// Returns the difference between two reports: counters as differences, states as they are now.
fn since<R: Serialize>(then: &R, now: &R, states: &[&str]) -> Numbers {
    let then = numbers(then);
    let mut now = numbers(now);
    for (name, value) in now.iter_mut().filter(|(name, _)| !states.contains(&name.as_str())) {
        *value -= then.get(name).copied().unwrap_or_default();
    }
    now
}

/// Converts a histogram to (value, count) pairs.
fn counts(histogram: &hdrhistogram::Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect()
}

#[cfg(test)]
mod tests;
