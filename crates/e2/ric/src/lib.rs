//! iApps of a RIC, without sockets: monitoring, slicing, traffic control, sharing among operators, xApp hosting.
//!
//! | module | iApp |
//! |---|---|
//! | [`console`] | nodes, subscriptions, controls and indications of any RIC, over REST |
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
pub mod association;
pub mod bus;
mod clock;
pub mod commons;
pub mod console;
pub mod hosting;
pub mod monitor;
pub mod northbound;
pub mod slicing;
pub mod traffic;
mod ues;
pub mod virt;
mod watch;
pub mod xapps;

use ranlab_e2::ric::{NorthboundReply, NorthboundRequest};
use ranlab_machine::lock;

/// Returns the response to a request for an unknown resource; `allowed` names the available resources.
fn no_such(request: &NorthboundRequest, allowed: &str) -> NorthboundReply {
    let detail = format!("unknown resource {:?}; available: {allowed}", request.path);
    request
        .reply(404, serde_json::json!({ "title": "Not Found", "status": 404, "detail": detail }).to_string())
}
