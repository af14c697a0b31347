//! E2 agents, RICs with iApps, and xApps for C programs, as sans-I/O state machines: no runtime, sockets or threads.
//!
//! The documentation is in `include/ranlab*.h`, so that C programmers need not read Rust. `tests/header.rs` checks
//! that the headers match this crate.
//!
//! | file | contents |
//! |---|---|
//! | `types` | the structs of the agent's header |
//! | `error` | error codes, and the boundary that panics must not cross |
//! | `agent` | `ranlab_agent_*` |
//! | `function` | RAN functions implemented by callbacks; `ranlab_context_*` |
//! | `kpm`, `stats` | the functions KPM, MAC, RLC and PDCP with counters from C; reading reports of the latter three |
//! | `node` | identity and components of an agent's node |
//! | `nodes` | nodes as seen by RIC and xApps; their common requests |
//! | `ric`, `iapp` | `ranlab_ric_*`; iApps implemented by callbacks, `ranlab_iapp_*` |
//! | `xapp` | `ranlab_xapp_*` |
//! | `model` | triggers and action definitions of the service models |
//! | `order` | orders of RC, controls as JSON, measurements of KPM by name |
//! | `guard` | one caller at a time; PDUs without heap allocation |
#![allow(unsafe_code)] // the C interface consists of pointers
#![allow(clippy::missing_safety_doc)] // the requirements of the callers are documented in ranlab.h for C programmers
#![allow(non_camel_case_types)] // names as in the header

mod agent;
mod error;
mod function;
mod guard;
mod iapp;
mod kpm;
mod model;
mod node;
mod nodes;
mod order;
mod ric;
mod stats;
mod types;
mod xapp;

pub use agent::*;
pub use error::*;
pub use function::*;
pub use iapp::*;
pub use kpm::*;
pub use model::*;
pub use nodes::*;
pub use order::*;
pub use ric::*;
pub use stats::*;
pub use types::*;
pub use xapp::*;
