//! The part of a profile that names a user's own vBBU. `xhaul` runs it on its network.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::output::ExpectedLine;
use crate::program::Span;

/// Name of the network interface of the CU and of the DU.
pub const MIDHAUL: &str = "mh0";

/// Placeholders for a profile's commands, in addition to those that a scenario fills in: the addresses of CU and DU,
/// and the interface name of both.
pub const NAMES: [(&str, &str); 3] = [("cu", "10.77.0.11"), ("du", "10.77.0.1"), ("interface", MIDHAUL)];

/// A user's CU and DU (`[vbbu]` of a profile). Commands are argument lists; no shell is used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OwnVbbu {
    /// The process on the server, which is started first.
    pub cu: OwnProcess,
    /// The process at the antenna.
    pub du: OwnProcess,
    /// Working folder. Default: that of the campaign.
    pub folder: Option<PathBuf>,
    /// Variables added to the environment.
    pub environment: BTreeMap<String, String>,
    /// Maximum time for each process to end before it is killed.
    pub grace: Span,
}

/// Process of a user's CU or DU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OwnProcess {
    /// The program and its arguments.
    pub start: Vec<String>,
    /// Regular expression for the output line that shows that the process is up. If empty, the process counts as up as
    /// soon as it runs.
    pub line: String,
    /// Timeout for this line.
    pub within: Span,
}

impl OwnVbbu {
    /// Returns the commands of both processes by name, in the order in which they are started.
    pub fn commands(&self) -> [(&'static str, &[String]); 2] {
        [("cu", &self.cu.start), ("du", &self.du.start)]
    }

    /// Checks that each process has a program and a valid pattern.
    ///
    /// # Errors
    /// Names the key and the error.
    pub fn check(&self) -> Result<(), String> {
        for (name, process) in [("cu", &self.cu), ("du", &self.du)] {
            if process.start.first().is_none_or(String::is_empty) {
                return Err(format!("`vbbu.{name}.start` must begin with a program"));
            }
            ExpectedLine::new(&process.line).map_err(|why| format!("`vbbu.{name}.line`: {why}"))?;
        }
        Ok(())
    }
}
