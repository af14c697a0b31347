//! Components of experiments and CLI verbs: each has a typed configuration and the code that starts it.
//!
//! A component's configuration is declared with [`config!`]. The same fields become the flags of a verb, scenario keys,
//! the JSON schema and the message to a worker ([`field`]). A component runs in the process that starts it: that of a
//! verb, or a [`worker`] on any machine, which meters it and reports its results.
//!
//! To add a component, create a file with its configuration and its `Running` implementation, and add a variant to
//! [`Part`].

mod attach;
pub mod captured;
pub mod check;
pub mod child;
mod divide;
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
mod settings;
mod south_controller;
mod south_fleet;
mod switches;
#[cfg(test)]
mod tests_ran;
mod upf;
mod upf_load;
pub mod values;
mod virt;
pub mod virtual_time;
mod watch;
pub mod worker;
mod xapp_slice;
mod xapp_traffic;
pub mod xhaul;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use ranlab_host::Subject;
use serde::{Deserialize, Serialize};

use crate::worker::{Fault, Numbers, Report, Trouble, Trust};

pub use attach::AttachPart;
pub use divide::PLACES_MAX;
pub use field::{Config, Described, Field, FieldError, Plain, Role, Section, Seed, Setting};
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
pub use settings::{
    E2_PORT, E2AP, E42_PORT, Listen, Period, Share, customary_models, loopback, service_models, statistics,
};
pub use south_controller::{EmpowerPart, FlexranPart, SliceShare, SouthController, SouthControllerReport};
pub use south_fleet::{Events, SouthDetail, SouthFleet, SouthFleetPart};
pub use upf::{Upf, UpfDesign, UpfListening, UpfPart, UpfSummary, XdpSummary};
pub use upf_load::{
    BitRate, Calibration, Cpus, LoadArrivals, LoadMode, LoadRole, NetworkSummary, OVER, PacketRate,
    PacketsReached, SET_UP, UpfLoad, UpfLoadPart, UpfLoadReport, data_network,
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

/// A component of an experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
// An experiment has few components, so their size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Part {
    /// Our RIC, with or without iApps.
    Ric(RicPart),
    /// A running process that is only metered.
    Attach(AttachPart),
    /// A third-party program, controlled by the commands of its profile.
    Program(Box<ProgramPart>),
    /// Base stations.
    Fleet(FleetPart),
    /// An xApp that receives statistics.
    Monitor(MonitorPart),
    /// An xApp that pings.
    Ping(PingPart),
    /// A FlexRAN controller that pings.
    PingFlexran(PingFlexranPart),
    /// A relay that decodes and encodes every message.
    Relay(RelayPart),
    /// A gateway between transports.
    Gateway(GatewayPart),
    /// Our packet engine or another switch, fed from memory, over rings or over links.
    Pipeline(Box<PipelinePart>),
    /// A tester at the rings of a switch.
    RingTester(Box<RingTesterPart>),
    /// A FlexRAN controller.
    Flexran(FlexranPart),
    /// A 5G-EmPOWER controller.
    Empower(EmpowerPart),
    /// Base stations of FlexRAN or 5G-EmPOWER.
    SouthFleet(SouthFleetPart),
    /// The association controller.
    Association(AssociationPart),
    /// The slicing controller.
    Slicing(SlicingPart),
    /// The traffic controller.
    Traffic(TrafficPart),
    /// The virtualization controller.
    Virt(VirtPart),
    /// The slicing controller's sample xApp.
    SliceXapp(SliceXappPart),
    /// The traffic controller's sample xApp.
    TrafficXapp(TrafficXappPart),
    /// A switched Xhaul network in network namespaces.
    Xhaul(Box<XhaulPart>),
    /// A user plane function.
    Upf(Box<UpfPart>),
    /// SMF, base stations and data network that load a UPF.
    UpfLoad(Box<UpfLoadPart>),
}

impl Part {
    /// Returns its configuration.
    fn described(&self) -> &dyn Described {
        match self {
            Self::Ric(part) => part,
            Self::Attach(part) => part,
            Self::Program(part) => &**part,
            Self::Fleet(part) => part,
            Self::Monitor(part) => part,
            Self::Ping(part) => part,
            Self::PingFlexran(part) => part,
            Self::Relay(part) => part,
            Self::Gateway(part) => part,
            Self::Pipeline(part) => &**part,
            Self::RingTester(part) => &**part,
            Self::Flexran(part) => part,
            Self::Empower(part) => part,
            Self::SouthFleet(part) => part,
            Self::Association(part) => part,
            Self::Slicing(part) => part,
            Self::Traffic(part) => part,
            Self::Virt(part) => part,
            Self::SliceXapp(part) => part,
            Self::TrafficXapp(part) => part,
            Self::Xhaul(part) => &**part,
            Self::Upf(part) => &**part,
            Self::UpfLoad(part) => &**part,
        }
    }

    /// Returns the plug-in program that it starts, if any.
    pub fn plugin(&self) -> Option<&str> {
        match self {
            Self::Pipeline(part) => part.plugin.as_deref(),
            Self::RingTester(part) => part.plugin.as_deref(),
            _ => None,
        }
    }

    /// Returns the maximum time until it is ready.
    pub(crate) fn start_wait(&self) -> Duration {
        match self {
            Self::Program(part) => part.start_wait(),
            Self::Pipeline(part) if ![NATIVE, ring::device::BARE].contains(&part.engine.as_str()) => {
                SWITCH_START_WAIT
            }
            Self::RingTester(part) if part.plugin.is_some() => SWITCH_START_WAIT,
            Self::Xhaul(part) if part.borrows() => CARDS_START_WAIT,
            _ => START_WAIT,
        }
    }

    /// Returns the maximum time until it has ended.
    pub(crate) fn end_wait(&self) -> Duration {
        if let Self::Program(part) = self { part.end_wait() } else { LEAVE_WAIT.max(self.farewell()) }
    }

    /// Returns the maximum time to release physical resources of the machine after the campaign has disconnected; 0
    /// without such resources.
    pub(crate) fn farewell(&self) -> Duration {
        if let Self::Xhaul(part) = self
            && part.borrows()
        {
            CARDS_END_WAIT
        } else {
            Duration::ZERO
        }
    }

    /// Rejects settings that an untrusted peer over TCP may not use on this machine.
    fn permitted(&self, trust: Trust) -> Result<(), Trouble> {
        let locals = self.described().locals();
        match locals.first() {
            Some(name) if trust != Trust::Full => Err(environment(format!(
                "`{name}` names something of the worker's machine: a worker that ssh or this program started takes it, \
                 not one over TCP"
            ))),
            _ => Ok(()),
        }
    }
}

/// Default timeout until a component is ready.
const START_WAIT: Duration = Duration::from_secs(60);
/// Timeout until a third-party switch is verified and configured.
const SWITCH_START_WAIT: Duration = Duration::from_secs(300);
/// Timeout for network cards that reset and create virtual functions, possibly on an emulated machine, and are returned
/// afterwards.
const CARDS_START_WAIT: Duration = Duration::from_secs(300);
const CARDS_END_WAIT: Duration = Duration::from_secs(60);
/// The value of [`PipelinePart::engine`] for our engine.
const NATIVE: &str = "native";
/// Timeout of an orderly shutdown.
pub(crate) const LEAVE_WAIT: Duration = Duration::from_secs(3);

/// A running component.
pub(crate) trait Running {
    /// Returns what is metered, or `None` if it does not run on this machine.
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Process { pid: std::process::id() })
    }
    /// Returns the metered process, if it is a single one.
    fn pid(&self) -> Option<u32> {
        if let Some(Subject::Process { pid }) = self.subject() { Some(pid) } else { None }
    }
    /// Returns its listening addresses, by name.
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Returns an error if it has failed.
    fn check(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
    /// Returns its current numbers.
    fn look(&mut self) -> Numbers {
        Numbers::new()
    }
    /// Begins a measurement window.
    fn begin(&mut self) {}
    /// Ends the window. Adds its numbers and distributions to the report.
    fn end(&mut self, _report: &mut Report) {}
    /// Resets it for the next repetition.
    fn reset(&mut self) -> Pin<Box<dyn Future<Output = Result<(), Trouble>> + '_>> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Shuts down in order within [`LEAVE_WAIT`], for systems that do not clean up by themselves.
    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
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

/// Starts a component and waits until it is ready.
pub(crate) async fn start(part: Part, trust: Trust) -> Result<Box<dyn Running>, Trouble> {
    part.permitted(trust)?;
    if let Err(error) = ranlab_net::raise_open_files() {
        // Few connections work with the current limit. With many, some will be rejected, which is reported.
        eprintln!("ranlab worker: the limit of open files stays as it is: {error}");
    }
    Ok(match part {
        Part::Ric(part) => Box::new(Ric::start(&part).await?),
        Part::Attach(part) => Box::new(attach::Attached::new(part)?),
        Part::Program(part) => Box::new(program::Program::start(*part).await?),
        Part::Fleet(part) => {
            let mut stations = Stations::new(&part)?;
            stations.ramp_up().await?;
            Box::new(stations)
        }
        Part::Monitor(part) => Box::new(Watcher::start(&part)?),
        Part::Ping(part) => Box::new(Pinging::start(&part).await?),
        Part::PingFlexran(part) => Box::new(ping_flexran::PingingFlexran::start(part).await?),
        Part::Relay(part) => Box::new(relay::Relay::start(part).await?),
        Part::Gateway(part) => Box::new(Gateway::start(&part).await?),
        Part::Pipeline(part) if part.in_ring() => Box::new(ring::device::RingDevice::start(&part)?),
        Part::Pipeline(part) if part.engine == NATIVE => Box::new(pipeline::Forwarder::start(&part)?),
        Part::RingTester(_) if trust != Trust::Full => {
            return Err(environment(
                "rings are memory of one machine: a worker over TCP has no tester for them, `sut.at` must be local or over ssh",
            ));
        }
        Part::RingTester(part) if part.plugin.is_some() => Box::new(plugin::PluginTester::start(&part)?),
        Part::RingTester(part) => Box::new(ring::Testing::start(&part)?),
        Part::Pipeline(_) if trust != Trust::Full => {
            return Err(environment(
                "a worker over TCP starts no switch of its machine: `sut.at` must be local or over ssh",
            ));
        }
        Part::Pipeline(part) if part.engine == plugin::ENGINE => {
            Box::new(plugin::PluginSwitch::start(&part)?)
        }
        Part::Pipeline(part) => Box::new(switches::Foreign::start(&part)?),
        Part::Flexran(part) => Box::new(SouthController::flexran(&part).await?),
        Part::Empower(part) => Box::new(SouthController::empower(&part).await?),
        Part::SouthFleet(part) if part.events == Some(Events::Stdin) => {
            return Err(rig("a worker's standard input is the campaign's: `events` must be an IP:PORT"));
        }
        Part::SouthFleet(part) => {
            let mut fleet = SouthFleet::new(&part)?;
            fleet.ramp_up().await?;
            Box::new(fleet)
        }
        Part::Association(part) => Box::new(part.start().await?),
        Part::Slicing(part) => Box::new(part.start().await?),
        Part::Traffic(part) => Box::new(part.start().await?),
        Part::Virt(part) => Box::new(part.start().await?),
        Part::SliceXapp(part) => Box::new(xapp_slice::SliceXapp::start(part).await?),
        Part::TrafficXapp(part) => Box::new(TrafficXapp::start(&part).await?),
        Part::Xhaul(part) => Box::new(xhaul::Live::start(&part)?),
        Part::Upf(part) if trust != Trust::Full && matches!(part.n6, ranlab_emulator::upf::N6::Tun(_)) => {
            return Err(environment("a TUN device is of the worker's machine: a worker over TCP opens none"));
        }
        Part::Upf(part) => Box::new(Upf::start(&part)?),
        Part::UpfLoad(part) => Box::new(upf_load::Loading::new(&part)?),
    })
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
