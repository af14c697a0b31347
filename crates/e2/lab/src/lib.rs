//! Components of experiments and CLI verbs: each has a typed configuration and the code that starts it.
//!
//! A component's configuration is declared with [`config!`](ranlab_lab::config). The same fields become the flags of a verb, scenario keys,
//! the JSON schema and the message to a worker ([`field`](ranlab_lab::field)). A component runs in the process that starts it: that of a
//! verb, or a [`worker`](ranlab_lab::worker) on any machine, which meters it and reports its results.
//!
//! To add a component, create a file with its configuration and its [`Running`](ranlab_lab::Running) implementation, implement [`Component`](ranlab_lab::Component)
//! for it, and add it to its domain's table ([`components`]).

pub mod check;
pub mod components;
mod e2_fields;
mod fleet;
mod hosting;
mod influx;
mod monitor;
mod monitor_iapp;
mod orders;
mod ping;
mod ping_flexran;
mod ping_iapp;
mod pinger;
mod publish;
mod relay;
mod rest_client;
mod rest_controller;
mod rest_xapp;
mod ric;
mod ric_bus;
mod sdran_fields;
mod south_controller;
mod south_fleet;
#[cfg(test)]
mod tests_ran;
pub mod values;
mod virt;
pub mod virtual_time;
mod xapp_slice;
mod xapp_traffic;

pub use e2_fields::{E2_PORT, E2AP, E2Names, E42_PORT, customary_models, service_models, statistics};
pub use fleet::{FleetPart, HW, RADIO_KEYS, Stations};
pub use monitor::{Latency, Listener, MonitorPart, MonitorReport, Watcher, joined};
pub use orders::{Orders, OrdersPlan, OrdersReport, Outcome, RATE_MAX};
pub use ping::{PingPart, Pinging};
pub use ping_flexran::PingFlexranPart;
pub use pinger::{ECHO_WAIT, PingReport, RoundTrip, control_bytes, indication_bytes};
pub use relay::{Language, RelayPart};
pub use rest_client::{Events as BusEvents, RestError, RestUrl};
pub use rest_controller::{
    ASSOCIATION_PORT, AssociationPart, BusUrl, SLICING_PORT, SlicingPart, TRAFFIC_PORT, TrafficPart,
};
pub use ric::{HostedIApp, Ric, RicPart, RicReport};
pub use sdran_fields::{Period, SdranNames, Share};
pub use south_controller::{EmpowerPart, FlexranPart, SliceShare, SouthController, SouthControllerReport};
pub use south_fleet::{Events, SouthDetail, SouthFleet, SouthFleetPart};
pub use virt::{TenantPlan, VIRT_PORT, VirtPart};
pub use xapp_slice::{SliceXappPart, SliceXappReport};
pub use xapp_traffic::{TrafficXapp, TrafficXappPart, TrafficXappReport};

pub use ranlab_emulator::southbound::{Incident, Southbound, Trouble as SouthboundTrouble};
pub use ranlab_sdran::flexran::controller::RibShare;

#[cfg(test)]
mod tests;
