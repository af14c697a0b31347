//! User-defined pipelines: tables and elements from a TOML file. Entries are listed in the file, generated from a seed,
//! or read from a ClassBench filter set or a routing table. `docs/how-to/own-pipelines.md` describes the fields.
//! Generated traffic matches the tables. The oracle processes one packet at a time, element by element.
//!
//! This module opens no files. The caller reads them and passes the texts ([`Source`]); [`files`] returns the names
//! of the files that a pipeline needs.
mod addresses;
mod classbench;
mod elements;
mod fault;
mod fib;
mod generate;
mod oracle;
mod read;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;
mod updates;

pub(super) use addresses::AnyPrefix;
pub use classbench::RULES_MAX;
pub use elements::ELEMENTS_MAX;
pub use fault::{OwnError, OwnFault};
pub use tables::{ENTRIES_MAX, NEXT_HOPS_MAX, TABLES_MAX};
pub use updates::{Recorded, Replay, UPDATES_MAX, UPDATES_PER_S_MAX};

use super::{Flow, ParameterError};
use crate::declare::{Declaration, Decomposition, Direction};
use ranlab_machine::Random;
use read::{Context, Fields, Lines};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::de::DeTable;

/// Maximum size of a pipeline file, in bytes.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a filter set, in bytes.
pub const FILTER_SET_BYTES_MAX: usize = 16 << 20;
/// Maximum size of a routing table or of recorded updates, in bytes.
pub const ROUTES_BYTES_MAX: usize = 64 << 20;
/// Maximum number of files that a pipeline refers to: filter sets and routing tables.
pub const FILES_MAX: usize = 16;
/// The parameter that `pipeline.size` of a scenario sets.
pub const SIZE: &str = "size";

/// The texts of a pipeline: plain data that can be sent to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Source {
    /// Name of the file in messages.
    pub file: String,
    /// The TOML text.
    pub text: String,
    /// Filter sets and routing tables, by the file names used in the text.
    pub files: BTreeMap<String, String>,
    /// Recorded changes of the first forwarding table of the text.
    pub updates: Option<Recorded>,
    /// Values of parameters, which override the values of the text.
    pub with: BTreeMap<String, u64>,
    /// Division into blocks: as in the text, or each element as a separate block.
    pub decomposition: Decomposition,
    /// Value that overrides `fakedrop` of the text.
    pub fakedrop: Option<bool>,
}

/// A user-defined pipeline, validated and built.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Source", into = "Source")]
pub struct Own {
    source: Source,
    declaration: Arc<Declaration>,
    updates: Arc<updates::Updates>,
    notes: Vec<String>,
    /// Whether unmatched packets are sent to the other port.
    pub(super) fakedrop: bool,
}

impl PartialEq for Own {
    /// Two pipelines are equal if their texts are equal.
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl From<Own> for Source {
    fn from(own: Own) -> Self {
        own.source
    }
}

impl TryFrom<Source> for Own {
    type Error = OwnError;

    /// Parses the text, resolves names, fills tables and checks the order of elements.
    ///
    /// # Errors
    /// The first error, with its line.
    fn try_from(source: Source) -> Result<Self, OwnError> {
        let (declaration, updates, notes) = declare(&source)?;
        let declaration = Arc::new(declaration);
        Ok(Self { fakedrop: declaration.fakedrop, source, declaration, updates: Arc::new(updates), notes })
    }
}

/// Returns the names of the files that a pipeline's text refers to (filter sets and routing tables). Names are without
/// duplicates, each with the maximum size of the file in bytes.
///
/// # Errors
///
/// The text is not valid TOML, or refers to too many files.
pub fn files(file: &str, text: &str) -> Result<Vec<(String, usize)>, OwnError> {
    with_root(file, text, BTreeMap::new(), |mut root| {
        let mut files: Vec<(String, usize)> = Vec::new();
        let mut add = |name: &str, most: usize| {
            if !files.iter().any(|(known, _)| known == name) {
                files.push((name.to_owned(), most));
            }
        };
        if let Some(acls) = root.fields("acl")? {
            for (name, item) in acls.entries() {
                let mut acl = item.fields(format!("acl.{name}"))?;
                let Some(mut set) = acl.fields("classbench")? else { continue };
                add(set.need("file", "the path of a filter set")?.text("file")?, FILTER_SET_BYTES_MAX);
            }
        }
        if let Some(routes) = root.fields("route")? {
            for (name, item) in routes.entries() {
                let file = item.fields(format!("route.{name}"))?.text("file")?;
                file.into_iter().for_each(|file| add(file, ROUTES_BYTES_MAX));
            }
        }
        bounded(&root, "files", files.len(), FILES_MAX)?;
        Ok(files)
    })
}

fn declare(source: &Source) -> Result<(Declaration, updates::Updates, Vec<String>), OwnError> {
    with_root(&source.file, &source.text, source.with.clone(), |mut root| {
        // Descriptive field without effect.
        root.text("about")?;
        root.item("parameters");
        let fakedrop = root.bool("fakedrop")?.unwrap_or(false);
        let mut named = tables::Named::read(&mut root, &source.files)?;
        let updates = match &source.updates {
            Some(recorded) => named.updates(&root, recorded)?,
            None => updates::Updates::default(),
        };
        let [uplink, downlink] = elements::read(&mut root, &named)?;
        named.forget_unused([&uplink, &downlink]);
        root.done()?;
        let divided = |path: crate::declare::Path| match source.decomposition {
            Decomposition::Block => path,
            Decomposition::Chain => Decomposition::Chain.divide(path.blocks.into_iter().flatten().collect()),
        };
        let notes = named.notes;
        let declaration = Declaration {
            tables: named.tables,
            uplink: divided(uplink),
            downlink: divided(downlink),
            fakedrop: source.fakedrop.unwrap_or(fakedrop),
        };
        Ok((declaration, updates, notes))
    })
}

/// Parses a text and reads its parameters.
fn with_root<T>(
    file: &str,
    text: &str,
    with: BTreeMap<String, u64>,
    read: impl FnOnce(Fields<'_>) -> Result<T, OwnError>,
) -> Result<T, OwnError> {
    let lines = Lines::new(file, text);
    if text.len() > FILE_BYTES_MAX {
        let what = "octets of a pipeline file".to_owned();
        let fault = OwnFault::Range { what, value: text.len() as u64, least: 1, most: FILE_BYTES_MAX as u64 };
        return Err(lines.error(0, fault));
    }
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| lines.line(span.start));
        let message = error.message().lines().next().unwrap_or("unreadable").to_owned();
        lines.error(line, OwnFault::Syntax(message))
    })?;
    let none = Context { lines, parameters: BTreeMap::new() };
    let mut parameters = BTreeMap::new();
    if let Some(given) = Fields::new("the file", 1, table.get_ref(), &none).fields("parameters")? {
        for (name, item) in given.entries() {
            parameters.insert(name.to_owned(), item.number(name, (0, u64::MAX >> 1))?);
        }
    }
    for (name, value) in with {
        let allowed = read::list(parameters.keys().map(String::as_str));
        match parameters.get_mut(&name) {
            Some(parameter) => *parameter = value,
            None => return Err(none.lines.error(0, OwnFault::Unknown { what: "parameter", name, allowed })),
        }
    }
    let context = Context { parameters, ..none };
    read(Fields::new("the file", 1, table.get_ref(), &context))
}

/// Checks that a value does not exceed a maximum.
fn bounded(fields: &Fields<'_>, what: &str, value: usize, most: usize) -> Result<(), OwnError> {
    if value <= most {
        return Ok(());
    }
    let value = value as u64;
    let most = most as u64;
    Err(fields.fault(OwnFault::Range { what: what.to_owned(), value, least: 0, most }))
}

impl Own {
    /// Returns the texts from which the pipeline was built.
    #[must_use]
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Returns one sentence for each kind of input that was read but has no effect.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the recorded updates of a second of a run.
    pub(super) fn events(&self, second: u64) -> Vec<crate::declare::Event> {
        self.updates.events(second)
    }

    /// Always succeeds, because an invalid pipeline is rejected at its creation.
    pub(super) const fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    pub(super) fn build(&self) -> Declaration {
        (*self.declaration).clone()
    }

    pub(super) fn table_entries(&self, direction: Direction) -> u64 {
        traffic::entries(&self.declaration, direction)
    }

    pub(super) fn frame(&self, flow: Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        traffic::frame(&self.declaration, flow, random, bytes)
    }

    pub(super) fn oracle(&self) -> oracle::OwnOracle {
        oracle::OwnOracle::new(&self.declaration, Arc::clone(&self.updates))
    }
}

/// Returns the element-wise oracle of a declaration, for comparison with the separate oracle of a TIPSY pipeline.
#[cfg(test)]
pub(super) fn oracle_of(declaration: &Declaration) -> super::Oracle {
    super::Oracle {
        fakedrop: declaration.fakedrop,
        reference: Box::new(oracle::OwnOracle::new(declaration, Arc::default())),
    }
}

/// Names of ports in files.
const PORTS: [(&str, crate::declare::Port); 2] =
    [("access", crate::declare::Port::Access), ("core", crate::declare::Port::Core)];
/// Description of a MAC address in error texts.
const MAC: &str = "a MAC address such as \"02:00:00:00:00:01\"";
const IPV4: &str = "an IPv4 address such as \"10.0.0.1\"";
const PREFIX: &str = "a prefix such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
