//! Implementation of the binary `ranlab`: joins the verbs of all domains, and implements the verbs that belong to no domain.
//!
//! ```text
//!  domains::DOMAINS --verbs::command--> clap --verbs::run--> Run::run --> Result<(), Failure> --exit::report--> exit code
//! ```
//!
//! Each verb of a domain is in the domain's crate. Code shared by verbs is in `ranlab_command`. [`features`] lists the domains that a build
//! may leave out.
#[cfg(feature = "bench")]
pub mod bench;
pub mod doctor;
pub mod domains;
pub mod exit;
pub mod features;
pub mod gateway;
pub mod help;
pub mod manual;
#[cfg(all(feature = "ric", feature = "ran", feature = "bench"))]
pub mod sim;
#[cfg(feature = "tls")]
pub mod tls;
pub mod verbs;
pub mod worker;

pub use ranlab_command::{args, flags, live, log, output, program, web};
