//! xApps that the RIC starts itself: what the operator installed, when each runs, and what the north sees of them.
//!
//! Decided here, without a clock, processes or files: [`Manifest`] says what may be started, [`Supervisor`] when, [`Host`] is the
//! iApp through which the north asks. Whoever has hands reads the folder, starts processes and tells the supervisor how they end.
pub mod manifest;
mod north;
mod supervisor;

pub use manifest::{Manifest, ManifestError};
pub use north::{Desk, Host, OPENAPI};
pub use supervisor::{Action, End, Phase, Restart, Spec, Status, Supervisor, Unknown, Verb, What, When};

/// xApps that one RIC hosts at most.
pub const HOSTED_MAX: usize = 64;
