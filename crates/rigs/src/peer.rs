//! Foreign systems as they are: version, dialect, how they must be set up, what they cannot do.
//!
//! A comparison names its profile, so that a reader knows what was compared. Profiles are files `peers/<name>.toml`; those
//! of this repository are part of the program, another one is named by its path.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// Profiles that are part of the program.
const BUILT_IN: [(&str, &str); 3] = [
    ("ranlab", include_str!("../../../peers/ranlab.toml")),
    ("flexric", include_str!("../../../peers/flexric.toml")),
    ("oran-sc-ric", include_str!("../../../peers/oran-sc-ric.toml")),
];

/// A foreign system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// As scenarios name it.
    pub name: String,
    /// As people name it.
    pub title: String,
    /// The version that the profile speaks of.
    pub version: String,
    /// Where it comes from.
    #[serde(default)]
    pub source: String,
    /// Its licence, and what that forbids.
    #[serde(default)]
    pub licence: String,
    /// How it differs on the wire.
    pub dialect: Dialect,
    /// What it has to be told so that it can be compared, by the name of its setting.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What it cannot do, or does badly, that a measurement meets.
    #[serde(default)]
    pub limits: Vec<Limit>,
}

/// How a system differs on the wire.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// Versions of E2AP that it can be built for.
    pub e2ap: Vec<String>,
    /// Transports of E2, by the scheme of an address.
    pub transports: Vec<String>,
    /// Whose E42 its xApps speak; empty: it has no E42.
    pub e42: String,
    /// Whether its indications are numbered, so that losses can be counted.
    pub numbers_indications: bool,
}

/// What a system cannot do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What, in a few words.
    pub what: String,
    /// What a measurement does about it.
    pub effect: String,
}

/// The profile cannot be used: its author's or the scenario's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// No such profile.
    #[error("there is no profile \"{0}\"; known are {list}, or a path such as \"./mine.toml\"", list = names().join(", "))]
    Unknown(String),
    /// The file cannot be read.
    #[error("the profile {file} cannot be read: {why}")]
    File {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
}

/// Names of the profiles that are part of the program.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

impl Peer {
    /// The profile of that name, or at that path if there is a slash in it.
    ///
    /// # Errors
    /// There is none, or it is no profile.
    pub fn load(name: &str) -> Result<Self, PeerError> {
        let failed = |why: String| PeerError::File { file: name.to_owned(), why };
        let text = if name.contains('/') {
            std::fs::read_to_string(Path::new(name)).map_err(|error| failed(error.to_string()))?
        } else {
            let built_in = BUILT_IN.iter().find(|(own, _)| *own == name);
            built_in.ok_or_else(|| PeerError::Unknown(name.to_owned()))?.1.to_owned()
        };
        toml::from_str(&text).map_err(|error| failed(error.to_string().replace('\n', " ")))
    }

    /// Why it cannot be met over addresses of that scheme, if it cannot.
    pub fn refuses(&self, scheme: &str) -> Option<String> {
        let allowed = &self.dialect.transports;
        (!allowed.iter().any(|own| own == scheme)).then(|| {
            format!("{} {} speaks {} and not {scheme}", self.title, self.version, allowed.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_reads_and_is_named_as_its_file() {
        for name in names() {
            let peer = Peer::load(name).unwrap();
            assert_eq!(peer.name, name);
            assert!(!peer.dialect.transports.is_empty() && !peer.version.is_empty());
        }
    }

    #[test]
    fn what_is_no_profile_is_said() {
        let error = Peer::load("flexran2").unwrap_err().to_string();
        assert!(error.contains("known are ranlab, flexric"), "{error}");
        assert!(Peer::load("./nothing.toml").unwrap_err().to_string().contains("cannot be read"));
        let peer = Peer::load("flexric").unwrap();
        assert!(peer.refuses("tcp").unwrap().contains("speaks sctp, shim and not tcp"));
        assert_eq!((peer.refuses("sctp"), peer.refuses("shim")), (None, None));
    }
}
