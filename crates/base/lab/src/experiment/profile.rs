//! Profiles of third-party systems: how to run and query them, how they differ, and which of their numbers
//! are unreliable.
//!
//! A scenario names a profile (`sut.peer`), so that readers know what was measured. Profiles are files
//! `peers/<name>.toml`; those of this repository are built in, others are named by path. Values that only the
//! user knows, such as the build folder, are requested by name (`[fill]`, `sut.fill`).

mod values;

use std::collections::BTreeMap;
use std::path::Path;

use crate::readback::ReadBack;
use crate::vbbu::{NAMES, OwnVbbu};
use crate::{Commands, MeterBy, ProgramComponent, ReadyWhen, WarnLine};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use values::{TemplateError, Values};

/// Lists built-in profiles: name, aliases, text.
macro_rules! built_in {
    ($($name:literal $(or $alias:literal)*),* $(,)?) => {
        [$(($name, &[$($alias),*] as &[&str], include_str!(concat!("../../../../../peers/", $name, ".toml")))),*]
    };
}

/// Profiles that are built into the program.
const BUILT_IN: [(&str, &[&str], &str); 10] = built_in![
    "ranlab",
    "flexric",
    "oran-sc-ric" or "oran-sc",
    "flexran-rtc",
    "mosaic5g",
    "empower-v1",
    "empower-v2",
    "open5gs",
    "eupf",
    "ocudu",
];

/// Profile of a third-party system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemProfile {
    /// Name in scenarios.
    pub name: String,
    /// Name of the system, for display.
    pub title: String,
    /// Version that the profile describes.
    pub version: String,
    /// Origin of the system, as a URL.
    #[serde(default)]
    pub source: String,
    /// Licence, and its restrictions.
    #[serde(default)]
    pub licence: String,
    /// Notes for users, one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Values that a scenario provides in `sut.fill`, by name; `{name}` is replaced in the fields below.
    #[serde(default)]
    pub fill: BTreeMap<String, ProfileParameter>,
    /// Commands that start, reset and stop the system.
    #[serde(default)]
    pub run: Commands,
    /// Condition under which the system is ready.
    #[serde(default)]
    pub ready: ReadyWhen,
    /// Processes to meter.
    #[serde(default)]
    pub meter: MeterBy,
    /// Addresses of the system.
    #[serde(default)]
    pub addresses: Addresses,
    /// vBBU: programs of its CU and DU, which rig `xhaul` runs on its network. Their commands may contain `{cu}`,
    /// `{du}` (addresses) and `{interface}`.
    #[serde(default)]
    pub vbbu: Option<OwnVbbu>,
    /// Deviations on the wire.
    #[serde(default)]
    pub dialect: WireDeviations,
    /// Values read back from the system.
    #[serde(default)]
    pub read_back: Vec<ReadBack>,
    /// Metrics that are unreliable for the system.
    #[serde(default)]
    pub distrust: Vec<UnreliableMetric>,
    /// Output lines that qualify a result.
    #[serde(default)]
    pub warn: Vec<WarnLine>,
    /// Settings that make the system comparable, by setting name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Missing or poor features that affect a measurement.
    #[serde(default)]
    pub limits: Vec<KnownLimit>,
}

/// Value that a scenario provides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileParameter {
    /// Description of the value.
    pub about: String,
    /// Default value. Without a default, the scenario must provide the value.
    #[serde(default)]
    pub default: Option<String>,
}

/// Addresses of a system. An empty address is given by the scenario or does not exist.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Addresses {
    /// E2 interface, as a URL (`tcp://127.0.0.1:36421`).
    pub e2: String,
    /// E42 interface (xApps), as a URL.
    pub e42: String,
    /// FlexRAN or 5G-EmPOWER interface, as IP:PORT.
    pub southbound: String,
    /// PFCP, as IP:PORT.
    pub n4: String,
    /// GTP-U, as IP:PORT.
    pub n3: String,
}

/// Deviations of a system on the wire.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireDeviations {
    /// E2AP versions for which the system can be built.
    pub e2ap: Vec<String>,
    /// E2 transports, by address scheme.
    pub transports: Vec<String>,
    /// E42 dialect of its xApps; empty if the system has no E42.
    pub e42: String,
    /// Whether indications carry sequence numbers, so that losses can be counted.
    pub numbers_indications: bool,
    /// Protocol of its base stations, as named by rig `sd-ran`.
    pub southbound: String,
    /// N4 dialect, as named by `ranlab load upf --dialect`.
    pub n4: String,
}

/// A metric that is unreliable for a system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnreliableMetric {
    /// Metric of the rig or of its read-back values.
    pub metric: String,
    /// Reason why the metric is unreliable.
    pub why: String,
}

/// Limitation of a system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownLimit {
    /// Short description of the limitation.
    pub what: String,
    /// Consequence for the measurement.
    pub effect: String,
}

/// Error in a profile or its use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// No profile has this name.
    #[error("there is no profile \"{0}\"; known are {list}, or a path such as \"./mine.toml\"", list = names().join(", "))]
    Unknown(String),
    /// The file cannot be read.
    #[error("the profile {file} cannot be read: {why}")]
    File {
        /// Path of the file.
        file: String,
        /// Reason why the file cannot be read.
        why: String,
    },
    /// The content is invalid.
    #[error("the profile {peer}: {why}")]
    Wrong {
        /// Name of the profile.
        peer: String,
        /// Key and allowed values.
        why: String,
    },
    /// The scenario lacks a required value.
    #[error(
        "the profile {peer} needs `{name}` ({about}): set it in the scenario, `sut.fill = [\"{name}=…\"]`"
    )]
    Unfilled {
        /// Name of the profile.
        peer: String,
        /// Name of the value.
        name: String,
        /// Description of the value.
        about: String,
    },
    /// The scenario provides a value that the profile does not request.
    #[error("the profile {peer} has no value \"{given}\" for `sut.fill`; {allowed}")]
    NotAsked {
        /// Name of the profile.
        peer: String,
        /// Name of the value in the scenario.
        given: String,
        /// Names that the profile allows, as a sentence part.
        allowed: String,
    },
    /// The profile's commands would run on a worker that accepts unauthenticated connections.
    #[error(
        "the profile {peer} has commands, which the worker at {at} does not run: `sut.at` must be local or ssh://"
    )]
    OverTcp {
        /// Name of the profile.
        peer: String,
        /// Location of the worker.
        at: String,
    },
}

/// Returns the names of the built-in profiles.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name).collect()
}

impl SystemProfile {
    /// Loads the profile with this name, or from this path if it contains a slash.
    ///
    /// # Errors
    /// Fails if there is no such profile or the file is invalid.
    pub fn load(name: &str) -> Result<Self, PeerError> {
        let failed = |why: String| PeerError::File { file: name.to_owned(), why };
        let text = if name.contains('/') {
            std::fs::read_to_string(Path::new(name)).map_err(|error| failed(error.to_string()))?
        } else {
            let built_in = BUILT_IN.iter().find(|(own, aliases, _)| *own == name || aliases.contains(&name));
            built_in.ok_or_else(|| PeerError::Unknown(name.to_owned()))?.2.to_owned()
        };
        let peer: Self = read(&text).map_err(failed)?;
        peer.check().map_err(|why| PeerError::Wrong { peer: name.to_owned(), why })?;
        Ok(peer)
    }

    fn check(&self) -> Result<(), String> {
        if !self.run.stop.is_empty() && self.run.start.is_empty() {
            return Err("`run.stop` has no `run.start`: only a started program can be stopped".to_owned());
        }
        if !self.ready.line.is_empty() && self.run.start.is_empty() {
            return Err(
                "`ready.line` needs `run.start`: the output of a program that already runs is not visible"
                    .to_owned(),
            );
        }
        for port in self.ready.ports.iter().filter(|port| !port.contains('{')) {
            crate::port(port).map_err(|allowed| format!("`ready.ports`: \"{port}\" must be {allowed}"))?;
        }
        for (name, argv) in [("start", &self.run.start), ("stop", &self.run.stop), ("reset", &self.run.reset)]
        {
            if argv.first().is_some_and(String::is_empty) {
                return Err(format!("`run.{name}` must begin with a program"));
            }
        }
        self.vbbu.as_ref().map_or(Ok(()), OwnVbbu::check)?;
        let wrong = |index: usize, why: String| format!("`read_back` {}: {why}", index + 1);
        self.read_back
            .iter()
            .enumerate()
            .try_for_each(|(index, one)| one.check().map_err(|why| wrong(index, why)))
    }

    /// Substitutes the values of `sut.fill` (`NAME=VALUE`), or their defaults.
    ///
    /// # Errors
    /// Fails if a required value is missing or an unknown one is provided.
    pub fn filled<'a>(self, said: impl IntoIterator<Item = &'a str>) -> Result<Self, PeerError> {
        let mut values = BTreeMap::new();
        for given in said {
            let pair = given.split_once('=').filter(|(name, _)| self.fill.contains_key(*name));
            let (name, value) = pair.ok_or_else(|| PeerError::NotAsked {
                peer: self.name.clone(),
                given: given.to_owned(),
                allowed: match &self.fill.keys().map(|name| format!("\"{name}=…\"")).collect::<Vec<_>>()[..]
                {
                    [] => "it has no values".to_owned(),
                    names => format!("allowed are {}", names.join(", ")),
                },
            })?;
            values.insert(name.to_owned(), value.to_owned());
        }
        let default =
            |(name, fill): (&String, &ProfileParameter)| Some((name.clone(), fill.default.clone()?));
        let defaults: BTreeMap<_, _> = self.fill.iter().filter_map(default).collect();
        let said: BTreeMap<String, String> = defaults.into_iter().chain(values).collect();
        let network = NAMES.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let network = Values { said: network.into_iter().chain(said.clone()).collect(), asked: &self.fill };
        let values = Values { said, asked: &self.fill };
        let peer = self.name.clone();
        let wrong = |why| match why {
            TemplateError::Unfilled { name, about } => {
                PeerError::Unfilled { peer: peer.clone(), name, about }
            }
            TemplateError::Wrong(why) => PeerError::Wrong { peer: peer.clone(), why },
        };
        let mut filled = Self {
            run: values.within(&self.run).map_err(wrong)?,
            ready: values.within(&self.ready).map_err(wrong)?,
            meter: values.within(&self.meter).map_err(wrong)?,
            vbbu: self.vbbu.as_ref().map(|own| network.within(own)).transpose().map_err(wrong)?,
            ..self.clone()
        };
        let addresses = &mut filled.addresses;
        let own = [
            &mut addresses.e2,
            &mut addresses.e42,
            &mut addresses.southbound,
            &mut addresses.n4,
            &mut addresses.n3,
        ];
        let urls = filled.read_back.iter_mut().map(|one| &mut one.url);
        for text in own.into_iter().chain(urls) {
            *text = values.fill(text).map_err(wrong)?;
        }
        // `NAME=` in `sut.fill` declares a build without these metrics, so the URL is empty.
        filled.read_back.retain(|one| !one.url.is_empty());
        filled.check().map_err(|why| wrong(TemplateError::Wrong(why)))?;
        Ok(filled)
    }

    /// Returns the profile for a system that already runs: no commands, no output.
    pub fn running(self) -> Self {
        let ready = ReadyWhen { command: Vec::new(), line: String::new(), ..self.ready };
        Self { run: Commands::default(), ready, ..self }
    }

    /// Returns whether there are commands to run.
    pub fn runs(&self) -> bool {
        !self.program().commands().is_empty()
    }

    /// Returns the component that runs the commands, or waits until the system is ready.
    pub fn program(&self) -> ProgramComponent {
        let run = self.run.clone();
        let ready = self.ready.clone();
        let meter = self.meter.clone();
        ProgramComponent { name: self.name.clone(), run, ready, meter, log: None, warn: self.warn.clone() }
    }

    /// Returns the reason if the system does not support addresses of this scheme.
    pub fn refuses(&self, scheme: &str) -> Option<String> {
        let allowed = match &self.dialect.transports[..] {
            [] => "no E2".to_owned(),
            transports if transports.iter().any(|own| own == scheme) => return None,
            transports => transports.join(", "),
        };
        Some(format!("{} {} speaks {allowed} and not {scheme}", self.title, self.version))
    }
}

/// Parses a profile; the error names the line and what is allowed there.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        format!("{line}{}", error.message().replace('\n', " "))
    })
}

#[cfg(test)]
mod tests;
