//! Systems of others as they are: how they are run and asked, how they differ, what of them is not to be believed.
//!
//! A scenario names a profile (`sut.peer`), so that a reader knows what was measured. Profiles are files `peers/<name>.toml`;
//! those of this repository are part of the program, another one is named by its path. What a user has to say himself, such
//! as where the system was built, the profile asks for by name (`[fill]`, `sut.fill`).

mod values;

use std::collections::BTreeMap;
use std::path::Path;

use ranlab_parts::readback::ReadBack;
use ranlab_parts::xhaul::{OwnVbbu, VBBU_NAMES};
use ranlab_parts::{Commands, MeterBy, ProgramPart, ReadyWhen, WarnLine};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use values::{Unfit, Values};

/// A profile that is part of the program: its name, the names that it has besides, its text.
macro_rules! built_in {
    ($($name:literal $(or $alias:literal)*),* $(,)?) => {
        [$(($name, &[$($alias),*] as &[&str], include_str!(concat!("../../../peers/", $name, ".toml")))),*]
    };
}

/// Profiles that are part of the program.
const BUILT_IN: [(&str, &[&str], &str); 9] = built_in![
    "ranlab",
    "flexric",
    "oran-sc-ric" or "oran-sc",
    "flexran-rtc",
    "mosaic5g",
    "empower-v1",
    "empower-v2",
    "open5gs",
    "eupf",
];

/// A system.
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
    /// What its user should know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What a scenario has to say of it in `sut.fill`, by name; `{name}` stands for it below.
    #[serde(default)]
    pub fill: BTreeMap<String, Fill>,
    /// Its commands.
    #[serde(default)]
    pub run: Commands,
    /// When it serves.
    #[serde(default)]
    pub ready: ReadyWhen,
    /// What of it is metered.
    #[serde(default)]
    pub meter: MeterBy,
    /// Where it serves.
    #[serde(default)]
    pub addresses: Addresses,
    /// It is a vBBU: the programs of its CU and its DU, which rig `xhaul` puts on its network. They may name `{cu}`, `{du}` (addresses)
    /// and `{interface}`.
    #[serde(default)]
    pub vbbu: Option<OwnVbbu>,
    /// How it differs on the wire.
    #[serde(default)]
    pub dialect: Dialect,
    /// What it says of itself.
    #[serde(default)]
    pub read_back: Vec<ReadBack>,
    /// Numbers that are not to be believed of it.
    #[serde(default)]
    pub distrust: Vec<Distrust>,
    /// Lines of its output that qualify a result.
    #[serde(default)]
    pub warn: Vec<WarnLine>,
    /// What it has to be told so that it can be compared, by the name of its setting.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What it cannot do, or does badly, that a measurement meets.
    #[serde(default)]
    pub limits: Vec<Limit>,
}

/// Something that a scenario has to say.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// What it is.
    pub about: String,
    /// What holds if a scenario does not say it; none: it must.
    #[serde(default)]
    pub default: Option<String>,
}

/// Where a system serves; empty: a scenario says it, or there is no such door.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Addresses {
    /// Base stations of E2, as a URL (`tcp://127.0.0.1:36421`).
    pub e2: String,
    /// xApps, likewise.
    pub e42: String,
    /// Base stations of FlexRAN or 5G-EmPOWER: IP:PORT.
    pub southbound: String,
    /// PFCP: IP:PORT.
    pub n4: String,
    /// GTP-U: IP:PORT.
    pub n3: String,
}

/// How a system differs on the wire.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dialect {
    /// Versions of E2AP that it can be built for.
    pub e2ap: Vec<String>,
    /// Transports of E2, by the scheme of an address.
    pub transports: Vec<String>,
    /// Whose E42 its xApps speak; empty: it has no E42.
    pub e42: String,
    /// Whether its indications are numbered, so that losses can be counted.
    pub numbers_indications: bool,
    /// The protocol of its base stations, as rig `sd-ran` calls it.
    pub southbound: String,
    /// Its habits on N4, as `ranlab load upf --dialect` calls them.
    pub n4: String,
}

/// A number that is not to be believed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distrust {
    /// Which metric, of ours or of its own read-back.
    pub metric: String,
    /// Why.
    pub why: String,
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
    /// Something in it is wrong.
    #[error("the profile {peer}: {why}")]
    Wrong {
        /// Which.
        peer: String,
        /// The key and what is allowed.
        why: String,
    },
    /// The scenario does not say what it asks for.
    #[error(
        "the profile {peer} asks for `{name}` ({about}): say it in the scenario, `sut.fill = [\"{name}=…\"]`"
    )]
    Unfilled {
        /// Which.
        peer: String,
        /// What.
        name: String,
        /// What that is.
        about: String,
    },
    /// The scenario says what it does not ask for.
    #[error("the profile {peer} does not ask for \"{given}\" in `sut.fill`; {allowed}")]
    NotAsked {
        /// Which.
        peer: String,
        /// What was said.
        given: String,
        /// What may be.
        allowed: String,
    },
    /// Its commands would be run by a worker that whoever reaches it can talk to.
    #[error(
        "the profile {peer} has commands, and the worker at {at} takes none: `sut.at` must be local or ssh://"
    )]
    OverTcp {
        /// Which.
        peer: String,
        /// Where.
        at: String,
    },
}

/// Names of the profiles that are part of the program.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name).collect()
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
            let built_in = BUILT_IN.iter().find(|(own, aliases, _)| *own == name || aliases.contains(&name));
            built_in.ok_or_else(|| PeerError::Unknown(name.to_owned()))?.2.to_owned()
        };
        let peer: Self = read(&text).map_err(failed)?;
        peer.check().map_err(|why| PeerError::Wrong { peer: name.to_owned(), why })?;
        Ok(peer)
    }

    fn check(&self) -> Result<(), String> {
        if !self.run.stop.is_empty() && self.run.start.is_empty() {
            return Err("`run.stop` has no `run.start`: what was not started is not ended".to_owned());
        }
        if !self.ready.line.is_empty() && self.run.start.is_empty() {
            return Err(
                "`ready.line` has no `run.start`: the output of what runs already is not seen".to_owned()
            );
        }
        for port in self.ready.ports.iter().filter(|port| !port.contains('{')) {
            ranlab_parts::port(port)
                .map_err(|allowed| format!("`ready.ports`: \"{port}\" must be {allowed}"))?;
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

    /// The same with everything said that it asks for: each `NAME=VALUE` of `sut.fill`, or its default.
    ///
    /// # Errors
    /// Something that is used is not said, or said that it does not ask for.
    pub fn filled<'a>(self, said: impl IntoIterator<Item = &'a str>) -> Result<Self, PeerError> {
        let mut values = BTreeMap::new();
        for given in said {
            let pair = given.split_once('=').filter(|(name, _)| self.fill.contains_key(*name));
            let (name, value) = pair.ok_or_else(|| PeerError::NotAsked {
                peer: self.name.clone(),
                given: given.to_owned(),
                allowed: match &self.fill.keys().map(|name| format!("\"{name}=…\"")).collect::<Vec<_>>()[..]
                {
                    [] => "it asks for nothing".to_owned(),
                    names => format!("allowed are {}", names.join(", ")),
                },
            })?;
            values.insert(name.to_owned(), value.to_owned());
        }
        let default = |(name, fill): (&String, &Fill)| Some((name.clone(), fill.default.clone()?));
        let defaults: BTreeMap<_, _> = self.fill.iter().filter_map(default).collect();
        let said: BTreeMap<String, String> = defaults.into_iter().chain(values).collect();
        let network = VBBU_NAMES.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let network = Values { said: network.into_iter().chain(said.clone()).collect(), asked: &self.fill };
        let values = Values { said, asked: &self.fill };
        let peer = self.name.clone();
        let wrong = |why| match why {
            Unfit::Unfilled { name, about } => PeerError::Unfilled { peer: peer.clone(), name, about },
            Unfit::Wrong(why) => PeerError::Wrong { peer: peer.clone(), why },
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
        // A build that tells nothing there: `NAME=` in `sut.fill`.
        filled.read_back.retain(|one| !one.url.is_empty());
        filled.check().map_err(|why| wrong(Unfit::Wrong(why)))?;
        Ok(filled)
    }

    /// The same of a system that runs already: nothing is run, and its output is not seen.
    pub fn running(self) -> Self {
        let ready = ReadyWhen { command: Vec::new(), line: String::new(), ..self.ready };
        Self { run: Commands::default(), ready, ..self }
    }

    /// Whether it has commands to run.
    pub fn runs(&self) -> bool {
        !self.program().commands().is_empty()
    }

    /// The part that runs its commands, or watches until it serves.
    pub fn program(&self) -> ProgramPart {
        let (run, ready, meter) = (self.run.clone(), self.ready.clone(), self.meter.clone());
        ProgramPart { name: self.name.clone(), run, ready, meter, log: None, warn: self.warn.clone() }
    }

    /// Why it cannot be met over addresses of that scheme, if it cannot.
    pub fn refuses(&self, scheme: &str) -> Option<String> {
        let allowed = match &self.dialect.transports[..] {
            [] => "no E2".to_owned(),
            transports if transports.iter().any(|own| own == scheme) => return None,
            transports => transports.join(", "),
        };
        Some(format!("{} {} speaks {allowed} and not {scheme}", self.title, self.version))
    }
}

/// A profile out of its text; the error says the line, and what is allowed there.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        format!("{line}{}", error.message().replace('\n', " "))
    })
}

#[cfg(test)]
mod tests;
