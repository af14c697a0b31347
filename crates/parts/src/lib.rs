//! Everything that an experiment or a verb brings up exists here once: a typed config, and what it starts.
//!
//! A part is declared by [`config!`]: the same fields are flags of a verb, keys of a scenario, the JSON schema and the
//! message to a worker ([`field`]). It runs in the process that starts it: a verb's own, or a [`worker`] on any machine,
//! which looks at it, meters it and reports.
//!
//! To add a part: its file with the config and what it starts (`Running`), a variant of [`Part`].

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

/// Of the programs that a switch needs the first that is not here.
#[must_use]
pub fn missing_program(backend: &dyn ranlab_pipeline::backends::Backend) -> Option<&'static str> {
    backend.programs().iter().copied().find(|program| switches::found(program).is_none())
}

/// A part of an experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
// An experiment has a handful: their size costs nothing.
#[allow(clippy::large_enum_variant)]
pub enum Part {
    /// Our RIC, bare or with an iApp inside.
    Ric(RicPart),
    /// Something that runs already and is only metered.
    Attach(AttachPart),
    /// A program of somebody else, with the commands of its profile.
    Program(Box<ProgramPart>),
    /// Base stations.
    Fleet(FleetPart),
    /// An xApp that takes statistics.
    Monitor(MonitorPart),
    /// An xApp that pings.
    Ping(PingPart),
    /// A FlexRAN controller that pings.
    PingFlexran(PingFlexranPart),
    /// A relay that decodes and encodes whatever passes.
    Relay(RelayPart),
    /// A gateway between transports.
    Gateway(GatewayPart),
    /// Our packet engine or another switch, fed from memory, by rings or by wires.
    Pipeline(Box<PipelinePart>),
    /// A tester at a switch's rings.
    RingTester(Box<RingTesterPart>),
    /// A controller after FlexRAN's.
    Flexran(FlexranPart),
    /// A controller after 5G-EmPOWER's.
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
    /// A switched Xhaul in network namespaces.
    Xhaul(Box<XhaulPart>),
    /// A user plane function.
    Upf(Box<UpfPart>),
    /// SMF, base stations and data network towards a user plane function.
    UpfLoad(Box<UpfLoadPart>),
}

impl Part {
    /// Its config.
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

    /// The programs of somebody else that it starts as plug-ins.
    pub fn plugin(&self) -> Option<&str> {
        match self {
            Self::Pipeline(part) => part.plugin.as_deref(),
            Self::RingTester(part) => part.plugin.as_deref(),
            _ => None,
        }
    }

    /// How long it may take to serve.
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

    /// How long it may take to be gone.
    pub(crate) fn end_wait(&self) -> Duration {
        if let Self::Program(part) = self { part.end_wait() } else { LEAVE_WAIT.max(self.farewell()) }
    }

    /// How long it may take to give back what it borrowed of the machine once nobody asks for it any more; 0: nothing of the kind.
    pub(crate) fn farewell(&self) -> Duration {
        if let Self::Xhaul(part) = self
            && part.borrows()
        {
            CARDS_END_WAIT
        } else {
            Duration::ZERO
        }
    }

    /// Refuses what a stranger over TCP may not choose on this machine.
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

/// How long a part may take to serve.
const START_WAIT: Duration = Duration::from_secs(60);
/// How long a foreign switch may take to be verified and filled.
const SWITCH_START_WAIT: Duration = Duration::from_secs(300);
/// How long cards may take that reset themselves and make functions, on a machine that may be emulated, and to be given back.
const CARDS_START_WAIT: Duration = Duration::from_secs(300);
const CARDS_END_WAIT: Duration = Duration::from_secs(60);
/// What [`PipelinePart::engine`] calls ours.
const NATIVE: &str = "native";
/// How long taking leave may last.
pub(crate) const LEAVE_WAIT: Duration = Duration::from_secs(3);

/// A part that is up.
pub(crate) trait Running {
    /// What is metered; `None` if it is not of this machine.
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Process { pid: std::process::id() })
    }
    /// The process that is metered, if it is one.
    fn pid(&self) -> Option<u32> {
        if let Some(Subject::Process { pid }) = self.subject() { Some(pid) } else { None }
    }
    /// Where it listens.
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Whether it lives; the error says how it died.
    fn check(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
    /// Its numbers now.
    fn look(&mut self) -> Numbers {
        Numbers::new()
    }
    /// A measured window begins.
    fn begin(&mut self) {}
    /// It ends: numbers and distributions of the window.
    fn end(&mut self, _report: &mut Report) {}
    /// Gives it a clean state for a further repeat.
    fn reset(&mut self) -> Pin<Box<dyn Future<Output = Result<(), Trouble>> + '_>> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Takes leave of a system that does not clean up after it, within [`LEAVE_WAIT`].
    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// A task of this thread that ends with this value.
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

/// Brings a part up and waits until it serves.
pub(crate) async fn start(part: Part, trust: Trust) -> Result<Box<dyn Running>, Trouble> {
    part.permitted(trust)?;
    if let Err(error) = ranlab_net::raise_open_files() {
        // Few connections need no more than there is; many will be refused, and that is told.
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

/// The machine's or the network's fault.
fn environment(what: impl ToString) -> Trouble {
    Trouble { fault: Fault::Environment, what: what.to_string() }
}

/// The system under test's fault.
fn sut(what: impl ToString) -> Trouble {
    Trouble { fault: Fault::Sut, what: what.to_string() }
}

/// Our own fault, or the scenario's.
fn rig(what: impl ToString) -> Trouble {
    Trouble { fault: Fault::Rig, what: what.to_string() }
}

/// Reads an address or a version of a part.
fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Trouble> {
    text.parse().map_err(rig)
}

/// The numbers of a typed report by their names; what is absent or no number is left out.
fn numbers(report: &impl Serialize) -> Numbers {
    let report = serde_json::to_value(report).unwrap_or_default();
    let fields = report.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// What happened between two reports: counters as differences, states as they are now.
fn since<R: Serialize>(then: &R, now: &R, states: &[&str]) -> Numbers {
    let then = numbers(then);
    let mut now = numbers(now);
    for (name, value) in now.iter_mut().filter(|(name, _)| !states.contains(&name.as_str())) {
        *value -= then.get(name).copied().unwrap_or_default();
    }
    now
}

/// A histogram as a report has it.
fn counts(histogram: &hdrhistogram::Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect()
}

#[cfg(test)]
mod tests;
