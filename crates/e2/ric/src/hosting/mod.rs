//! xApps that the RIC starts and supervises: manifests, restart policy and northbound interface.
//!
//! This module uses no clock, processes or files. [`Manifest`] describes an xApp, [`Supervisor`] decides when
//! to start and stop it, and [`Host`] is the northbound iApp. The caller reads the manifests, starts the
//! processes and reports their exits to the supervisor.
pub mod manifest;
mod northbound;
mod supervisor;

pub use manifest::{Manifest, ManifestError};
pub use northbound::{DOCUMENT, Host, HostingHandle, NAME};
pub use supervisor::{
    Action, ExitReason, Phase, ProcessAction, ProcessRequest, Restart, RestartPolicy, Status, Supervisor,
    UnknownXapp, XappSpec,
};

/// Maximum number of hosted xApps per RIC.
pub const HOSTED_MAX: usize = 64;
