//! Sans-IO iApps of a RIC (monitoring, slicing, xApp hosting), and socket servers of the controllers in `sdran`.
//!
//! | module | iApp |
//! |---|---|
//! | [`console`] | nodes, subscriptions, controls and indications of any RIC, over REST |
//! | `a1` | policies of a non-real-time RIC, for xApps |
//! | [`association`] | exposes UEs to further controllers, by the PLMN and slices that they selected |
//! | [`commons`] | shared store of xApps: values and messages |
//! | [`hosting`] | xApps that the RIC starts and supervises |
//! | [`monitor`] | latest MAC, RLC, PDCP and GTP statistics of every node and UE, in memory |
//! | [`slicing`] | slices by REST and by policy, for any radio access technology |
//! | [`traffic`] | RLC and TRAFFIC statistics on a bus, traffic control by REST |
//! | [`virt`] | operators share base stations without seeing each other |
//! | [`xapps`] | admission of xApps, their permissions, and the list of connected xApps |
//!
//! An iApp runs inside a RIC; its state is read through a handle that is created with it.
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
pub mod sdran;
pub mod slicing;
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

/// Locks a mutex. A panicked holder leaves at most one statistic incomplete, which does not justify a second
/// panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the response to a request for an unknown resource; `allowed` names the available ones.
fn no_such(request: &NorthboundRequest, allowed: &str) -> NorthboundReply {
    let detail = format!("no such resource {:?}; there is {allowed}", request.path);
    request
        .reply(404, serde_json::json!({ "title": "Not Found", "status": 404, "detail": detail }).to_string())
}

/// Returns a deterministic pseudo-random generator of numbers below its argument; the seed must not be 0.
#[cfg(test)]
fn dice(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |most| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    }
}
