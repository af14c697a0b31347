//! Implementation of the binary `ranlab`: one module per verb, and shared modules.
//!
//! ```text
//!  verbs::run --clap--> Verb::{Pcap, Doctor, …} --> Result<(), Failure> --exit::report--> exit code, one sentence
//! ```
//!
//! Verbs of E2 and of the UPF are in the crates of these domains; what verbs share is in `ranlab_command`.
pub mod bench;
pub mod check;
pub mod controller;
pub mod demo;
pub mod doctor;
pub mod domains;
pub mod emulate;
mod emulate_page;
pub mod emulate_southbound;
pub mod exit;
pub mod gateway;
pub mod help;
pub mod manual;
pub mod pcap;
pub mod sim;
pub mod verbs;
pub mod worker;

pub use ranlab_command::{args, flags, live, log, output, program, web};
pub use ranlab_e2_lab::verbs::{ric, xapp};
pub use ranlab_upf_lab::verbs::{load, upf};
