//! Policy as sans-IO IApps: monitoring and xApp hosting; and controllers of other SD-RAN protocols.
//!
//! | module | iApp |
//! |---|---|
//! | [`console`] | nodes, subscriptions, controls and indications of any RIC, for people and programs |
//! | `a1` | policies of a non-real-time RIC, for xApps |
//! | [`association`] | which controllers see which UEs, by what UEs chose |
//! | [`commons`] | values and messages that xApps share |
//! | [`hosting`] | xApps that the RIC starts itself: which, when, within what |
//! | [`monitor`] | the latest MAC, RLC, PDCP and GTP statistics of every node and UE, in memory |
//! | [`slicing`] | slices by REST and by policy, whatever the radio access technology |
//! | [`traffic`] | RLC and TRAFFIC statistics on a bus, traffic control by REST |
//! | [`virt`] | operators share base stations without seeing each other |
//! | [`xapps`] | which xApps may join, what they see, and which are there |
//!
//! | module | controller |
//! |---|---|
//! | [`flexran`] | as FlexRAN's: RIB updater and task manager in cycles of 1 ms |
//! | [`empower`] | as 5G-EmPOWER's: registered base stations, a message for each UE |
//!
//! An iApp lives inside a RIC; what it knows is read through a handle that is made with it.
#[cfg(feature = "serve")]
pub mod a1;
pub mod association;
#[cfg(feature = "serve")]
pub mod board;
pub mod bus;
pub mod commons;
pub mod console;
#[cfg(feature = "serve")]
mod describe;
#[cfg(feature = "serve")]
mod desk;
pub mod empower;
pub mod flexran;
#[cfg(feature = "serve")]
pub mod guard;
#[cfg(feature = "serve")]
pub mod hosted;
pub mod hosting;
pub mod monitor;
#[cfg(feature = "bus")]
pub mod nats;
#[cfg(feature = "bus")]
pub mod nats_commons;
mod north;
#[cfg(feature = "serve")]
mod page;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "serve")]
pub mod rest;
#[cfg(feature = "serve")]
pub mod rmr;
#[cfg(feature = "redis")]
pub mod sdl;
#[cfg(feature = "serve")]
mod server;
pub mod slicing;
pub mod southbound;
#[cfg(feature = "serve")]
mod stream;
mod targets;
#[cfg(feature = "serve")]
pub mod token;
pub mod traffic;
mod ues;
pub mod virt;
mod watch;
pub mod xapps;

use ranlab_e2::ric::{NorthboundReply, NorthboundRequest};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value behind a lock. A holder that panicked left a statistic half written at worst: not worth a second panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer to a request for what an iApp does not have; `allowed` names what it has.
fn no_such(request: &NorthboundRequest, allowed: &str) -> NorthboundReply {
    let detail = format!("no such resource {:?}; there is {allowed}", request.path);
    request
        .reply(404, serde_json::json!({ "title": "Not Found", "status": 404, "detail": detail }).to_string())
}

/// Numbers below what is asked for, the same for the same seed, which is not 0.
#[cfg(test)]
fn dice(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |most| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    }
}
