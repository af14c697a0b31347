//! E2 in experiments: components for RICs, base stations, xApps, controllers and relays, conformance checks, rigs,
//! and networks in virtual time. The crate is based on the base crates and on the other crates of the E2 domain.

pub mod check;
mod components;
mod e2_fields;
mod emulated;
mod fleet;
mod hosting;
mod influx;
mod monitor;
mod monitor_iapp;
mod orders;
mod ping;
mod ping_iapp;
pub mod pinger;
mod publish;
mod relay;
mod rest_client;
mod rest_controller;
mod rest_xapp;
mod ric;
mod ric_bus;
pub mod rigs;
pub mod values;
pub mod verbs;
mod virt;
pub mod virtual_time;
mod xapp_slice;
mod xapp_traffic;

pub use components::{E2, RAN, RIC};
pub use e2_fields::{E2_PORT, E2AP, E2Names, E42_PORT, customary_models, service_models, statistics};
pub use emulated::{Fleet, FleetConfig, FleetError, FleetReport, Pace};
pub use fleet::{FleetComponent, HW, RADIO_KEYS, RunningFleet};
pub use monitor::{Latency, Listener, MonitorComponent, MonitorReport, RunningMonitor, joined};
pub use orders::{OrderOutcome, OrdersPlan, OrdersReport, RATE_MAX, RunningControlLoad};
pub use ping::{PingComponent, RunningPing};
pub use pinger::{ECHO_WAIT, PingReport, RoundTrip, control_bytes, indication_bytes};
pub use relay::{Language, RelayComponent};
pub use rest_client::{Events as BusEvents, RestError, RestUrl};
pub use rest_controller::{
    ASSOCIATION_PORT, AssociationComponent, BusUrl, SLICING_PORT, SlicingComponent, TRAFFIC_PORT,
    TrafficComponent,
};
pub use ric::{HostedIApp, Ric, RicComponent, RicReport};
pub use virt::{TenantPlan, VIRT_PORT, VirtComponent};
pub use xapp_slice::{SliceXappComponent, SliceXappReport};
pub use xapp_traffic::{TrafficXapp, TrafficXappComponent, TrafficXappReport};

#[cfg(test)]
mod tests;
