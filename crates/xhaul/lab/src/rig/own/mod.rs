//! User-defined networks: `net.file` names a TOML file that defines nodes, links, cells and flows, directly or in CSV tables.

mod build;
mod captures;
pub(super) mod draw;
mod file;
mod flows;
pub(super) mod predictions;
mod strict;
mod tables;
#[cfg(test)]
mod tests;

use std::path::Path;

use ranlab_campaign::rig::Run;
use ranlab_campaign::schema::{Key, Kind, Presence};
use ranlab_xhaul::{Load, Network, NetworkError, Topology, TopologyError};

use super::pcap::Framing;
use super::settings::Settings;
use super::setup::Setup;

/// Scenario key with the path of the network file.
pub(super) const FILE: &str = "net.file";
/// Keys with a file name as their value. The name is relative to the scenario's folder.
pub const PATHS: &[&str] = &[FILE];
/// Keys and sections that a network file replaces.
const REPLACED: [&str; 10] = [
    "cells.",
    "neighbour.",
    "background.",
    "user.",
    "air.",
    "cu.",
    "live.",
    "net.testbed",
    "net.midhaul_switches",
    "net.backhaul_switch",
];

/// Returns the definition of the key `net.file`.
pub(super) fn key() -> Key {
    let comment = "TOML file of an own network (docs/how-to/own-networks.md), relative to the scenario: nodes, links, cells, flows; instead of cells, neighbour, background, user, air and cu";
    Key::new(FILE, Kind::Text, comment).optional()
}

/// Reason why a user-defined network is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum OwnError {
    /// A file that cannot be read.
    #[error("`net.file`: {file} cannot be read: {why}")]
    Read { file: String, why: String },
    /// A file with wrong content.
    #[error("`net.file`: {file}: {why}")]
    Content { file: String, why: String },
    /// An element has an invalid value.
    #[error("`net.file`: {of}: {why}")]
    Value { of: String, why: String },
    /// The scenario sets a key that the network file replaces.
    #[error("`{key}` does not apply with `net.file`: the network file describes it")]
    Replaced { key: String },
    /// The scenario has a setting that user-defined networks do not support.
    #[error("`{key}` \"{value}\" does not apply with `net.file`; allowed: {allowed}")]
    Setting { key: &'static str, value: String, allowed: &'static str },
    /// The topology has no valid route.
    #[error("`net.file`: {0}")]
    Topology(#[from] TopologyError),
    /// The network is not possible.
    #[error("`net.file`: {0}")]
    Network(#[from] NetworkError),
}

/// User-defined network with its routes.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) topology: Topology,
    pub(super) network: Network,
    /// Loads of the flows that cells create. These flows are the first of the network.
    pub(super) loads: Vec<Load>,
    pub(super) warnings: Vec<String>,
    /// Frame headers of each flow, for a capture.
    pub(super) framings: Vec<Framing>,
}

/// Reads the network of a point. `None` if the point has no network file.
pub(super) fn read(run: &Run<'_>, setup: &Setup) -> Option<Result<Own, OwnError>> {
    let file = run.text(FILE)?;
    Some(check(run).and_then(|()| build::own(Path::new(file), setup)))
}

/// Refuses settings that the network file replaces.
fn check(run: &Run<'_>) -> Result<(), OwnError> {
    // A network file may refer to the number of cells in the scenario.
    let replaced =
        |key: &&Key| key.path != flows::COPIES && REPLACED.iter().any(|start| key.path.starts_with(start));
    for key in Settings::keys().iter().filter(replaced) {
        let set = match &key.presence {
            Presence::Default(default) => run.value(&key.path).is_some_and(|value| value != default),
            _ => run.value(&key.path).is_some(),
        };
        if set {
            return Err(OwnError::Replaced { key: key.path.clone() });
        }
    }
    let text = |key: &str| run.text(key).unwrap_or_default().to_owned();
    let tier = text("sut.tier");
    if tier == "live" {
        return Err(OwnError::Setting { key: "sut.tier", value: tier, allowed: "sim, bound" });
    }
    let sharing = text("sut.sharing");
    if !matches!(sharing.as_str(), "none" | "sr-iov") {
        return Err(OwnError::Setting { key: "sut.sharing", value: sharing, allowed: "none" });
    }
    Ok(())
}
