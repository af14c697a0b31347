//! Implementation of the binary `ranlab`: one module per verb, and shared modules.
//!
//! ```text
//!  verbs::run --clap--> Verb::{Pcap, Doctor, …} --> Result<(), Failure> --exit::report--> exit code, one sentence
//! ```
//!
//! * [`args`]: argument types of several verbs.
//! * [`flags`]: flags generated from a component's configuration.
//! * [`exit`]: exit codes and failures; [`output`]: printing.
pub mod args;
pub mod bench;
pub mod check;
pub mod controller;
pub mod demo;
pub mod doctor;
pub mod emulate;
mod emulate_page;
pub mod emulate_southbound;
pub mod exit;
pub mod flags;
pub mod gateway;
pub mod help;
pub mod live;
pub mod load;
pub mod log;
pub mod manual;
pub mod output;
pub mod pcap;
pub mod program;
pub mod ric;
mod ric_hint;
pub mod sim;
pub mod upf;
pub mod verbs;
pub mod web;
pub mod worker;
pub mod xapp;
