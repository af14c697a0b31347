//! E2 agents, RICs with their iApps, and xApps for C programs: bytes and deadlines in, bytes and deadlines out; no runtime, no
//! sockets, no threads.
//!
//! `include/ranlab*.h` are the documentation: who writes C need not read Rust. `tests/header.rs` holds the two together.
//!
//! | file | room |
//! |---|---|
//! | `types` | the structs of the agent's header |
//! | `error` | the error numbers and the boundary that no panic crosses |
//! | `agent` | `ranlab_agent_*` |
//! | `function` | a RAN function made of callbacks; `ranlab_context_*` |
//! | `kpm`, `stats` | the functions KPM, MAC, RLC and PDCP, fed by counters; the latter three read again |
//! | `node` | which node an agent is of |
//! | `nodes` | nodes as RIC and xApps see them; what both ask of them |
//! | `ric`, `iapp` | `ranlab_ric_*`; an iApp made of callbacks, `ranlab_iapp_*` |
//! | `xapp` | `ranlab_xapp_*` |
//! | `model` | triggers and action definitions of the service models |
//! | `guard` | one caller at a time; PDUs without the heap |
#![allow(unsafe_code)] // The boundary to C is made of pointers.
#![allow(clippy::missing_safety_doc)] // What a caller must hold stands in ranlab.h, where C programmers look.
#![allow(non_camel_case_types)] // The names of the header.

mod agent;
mod error;
mod function;
mod guard;
mod iapp;
mod kpm;
mod model;
mod node;
mod nodes;
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
pub use ric::*;
pub use stats::*;
pub use types::*;
pub use xapp::*;
