//! An E2 agent for C programs: bytes and deadlines in, bytes and deadlines out; no runtime, no sockets, no threads.
//!
//! `include/ranlab.h` is the documentation: who writes C need not read Rust. `tests/header.rs` holds the two together.
//!
//! | file | room |
//! |---|---|
//! | `types` | the structs of the header |
//! | `error` | the error numbers and the boundary that no panic crosses |
//! | `agent` | `ranlab_agent_*` |
//! | `function` | a RAN function made of callbacks; `ranlab_context_*` |
//! | `kpm` | the function KPM, fed by counters |
//! | `node` | which node an agent is of |
#![allow(unsafe_code)] // The boundary to C is made of pointers.
#![allow(clippy::missing_safety_doc)] // What a caller must hold stands in ranlab.h, where C programmers look.
#![allow(non_camel_case_types)] // The names of the header.

mod agent;
mod error;
mod function;
mod kpm;
mod node;
mod types;

pub use agent::*;
pub use error::*;
pub use function::*;
pub use kpm::*;
pub use types::*;
