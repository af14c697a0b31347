//! Connects a RIC to other programs by REST, A1, RMR, NATS and Redis. This crate contains only the transports. All
//! decisions are made by the iApps (crate `ranlab-ric`) and the RIC's state machine.
//!
//! | module | content |
//! |---|---|
//! | [`rest`] | HTTP server of a RIC: REST and the page |
//! | [`a1`] | policies of a non-real-time RIC, for xApps |
//! | [`commons`] | shared store of xApps over HTTP |
//! | [`metrics`] | counters of a RIC for Prometheus |
//! | [`hosted`] | sockets of hosted xApps |
//! | [`rmr`] | O-RAN SC's RMR |
//! | [`own`] | routes of the RIC itself |
//! | [`nodeb`] | base stations as O-RAN SC's E2 manager describes them |
//! | `nats`, `nats_commons` | several RICs as one; the shared store on several RICs (feature `bus`) |
//! | `redis`, `sdl` | the bus on a Redis server; O-RAN SC's shared data layer (feature `redis`) |

pub mod a1;
pub mod commons;
mod events;
pub mod hosted;
pub mod metrics;
#[cfg(feature = "bus")]
pub mod nats;
#[cfg(feature = "bus")]
pub mod nats_commons;
pub mod nodeb;
pub mod own;
#[cfg(feature = "redis")]
pub mod redis;
pub mod rest;
pub mod rmr;
#[cfg(feature = "redis")]
pub mod sdl;
mod stream;
