//! Everything that an experiment or a verb brings up exists here once: a typed config, and what it starts.
//!
//! A part is declared by [`config!`]: the same fields are flags of a verb, keys of a scenario, the JSON schema and the
//! message to a worker ([`field`]). It runs in the process that starts it: a verb's own, or a [`worker`] on any machine,
//! which looks at it, meters it and reports.
//!
//! To add a part: its file with the config and what it starts ([`Running`]), a variant of [`Part`].

pub mod check;
pub mod child;
pub mod field;
mod fleet;
mod lab;
mod meters;
mod monitor;
mod monitor_ric;
mod ping;
mod ping_flexran;
mod ping_ric;
mod pinger;
mod pipeline;
mod process;
mod relay;
mod settings;
mod southbound;
mod upf;
mod upf_load;
pub mod values;
pub mod worker;
pub mod xhaul;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use ranlab_host::Subject;
use serde::{Deserialize, Serialize};

use crate::worker::{Fault, Numbers, Report, Trouble, Trust};

pub use field::{Config, Described, Field, FieldError, Plain, Role, Section, Seed, Setting};
pub use fleet::{FleetPart, HW, Stations};
pub use lab::{Host, HostError, Lab};
pub use monitor::MonitorPart;
pub use monitor_ric::MonitorRicPart;
pub use ping::PingPart;
pub use ping_flexran::PingFlexranPart;
pub use ping_ric::PingRicPart;
pub use pinger::{Pace, control_bytes, indication_bytes};
pub use pipeline::{Instructions, PipelinePart};
pub use process::{AttachPart, RicPart};
pub use relay::{Language, RelayPart};
pub use settings::{E2AP, customary_models, service_models, statistics};
pub use southbound::{LOST, SouthControllerPart, SouthFleetPart};
pub use upf::{Upf, UpfDesign, UpfListening, UpfPart, UpfSummary, XdpSummary};
pub use upf_load::{
    BitRate, Calibration, Cpus, LoadArrivals, LoadMode, LoadRole, NetworkSummary, OVER, PacketRate, UpfLoad,
    UpfLoadPart, UpfLoadReport, data_network,
};
pub use xhaul::XhaulPart;

/// A part of an experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Our RIC, as a child process of the worker.
    Ric(RicPart),
    /// Something that runs already and is only metered.
    Attach(AttachPart),
    /// Base stations.
    Fleet(FleetPart),
    /// An xApp that takes statistics.
    Monitor(MonitorPart),
    /// An xApp that pings.
    Ping(PingPart),
    /// Our RIC with an iApp that pings.
    PingRic(PingRicPart),
    /// A FlexRAN controller that pings.
    PingFlexran(PingFlexranPart),
    /// Our RIC with an iApp that keeps statistics.
    MonitorRic(MonitorRicPart),
    /// A relay that decodes and encodes whatever passes.
    Relay(RelayPart),
    /// Our packet engine, fed from memory.
    Pipeline(Box<PipelinePart>),
    /// A reference controller of FlexRAN or 5G-EmPOWER, as a child process of the worker.
    SouthController(SouthControllerPart),
    /// Base stations of FlexRAN or 5G-EmPOWER.
    SouthFleet(SouthFleetPart),
    /// A switched Xhaul in network namespaces.
    Xhaul(Box<XhaulPart>),
    /// A user plane function.
    Upf(Box<UpfPart>),
    /// SMF, base stations and data network towards a user plane function.
    UpfLoad(Box<UpfLoadPart>),
}

impl Part {
    /// Its config, where that is described.
    fn described(&self) -> Option<&dyn Described> {
        match self {
            Self::Fleet(part) => Some(part),
            Self::Upf(part) => Some(&**part),
            Self::UpfLoad(part) => Some(&**part),
            Self::Pipeline(part) => Some(&**part),
            Self::Xhaul(part) => Some(&**part),
            _ => None,
        }
    }

    /// Refuses what a stranger over TCP may not choose on this machine.
    fn permitted(&self, trust: Trust) -> Result<(), Trouble> {
        let locals = self.described().map(Described::locals).unwrap_or_default();
        match locals.first() {
            Some(name) if trust != Trust::Full => Err(environment(format!(
                "`{name}` names something of the worker's machine: a worker that ssh or this program started takes it, \
                 not one over TCP"
            ))),
            _ => Ok(()),
        }
    }
}

/// How long taking leave may last.
pub(crate) const LEAVE_WAIT: Duration = Duration::from_secs(3);

/// A part that is up.
pub(crate) trait Running {
    /// What is metered; `None` if it is not of this machine.
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Process { pid: std::process::id() })
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
    /// Takes leave of a system that does not clean up after it, within [`LEAVE_WAIT`].
    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// Brings a part up and waits until it serves.
pub(crate) async fn start(part: Part, trust: Trust) -> Result<Box<dyn Running>, Trouble> {
    part.permitted(trust)?;
    Ok(match part {
        Part::Ric(part) => Box::new(process::Ric::start(&part)?),
        Part::Attach(part) if part != AttachPart::Elsewhere && trust != Trust::Full => {
            return Err(environment(
                "processes are metered by a worker that ssh or this program started, not over TCP",
            ));
        }
        Part::Attach(part) => Box::new(process::Attached::new(&part)?),
        Part::Fleet(part) => {
            let mut stations = Stations::new(&part)?;
            stations.ramp_up().await?;
            Box::new(stations)
        }
        Part::Monitor(part) => Box::new(monitor::Watcher::start(&part)?),
        Part::Ping(part) => Box::new(ping::Pinging::start(part).await?),
        Part::PingRic(part) => Box::new(ping_ric::PingingRic::start(part).await?),
        Part::PingFlexran(part) => Box::new(ping_flexran::PingingFlexran::start(part).await?),
        Part::MonitorRic(part) => Box::new(monitor_ric::MonitoringRic::start(&part).await?),
        Part::Relay(part) => Box::new(relay::Relay::start(part).await?),
        Part::Pipeline(part) => Box::new(pipeline::Forwarder::start(&part)?),
        Part::SouthController(part) => Box::new(southbound::SouthController::start(&part)?),
        Part::SouthFleet(part) => Box::new(southbound::SouthFleet::start(&part).await?),
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

/// A histogram as a report has it.
fn counts(histogram: &hdrhistogram::Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect()
}

#[cfg(test)]
mod tests;
