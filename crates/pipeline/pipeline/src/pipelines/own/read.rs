//! TOML with line numbers. Values are requested by name. A value that is never requested is an error.
use super::fault::{OwnError, OwnFault};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use toml::de::{DeTable, DeValue};

type Result<T> = std::result::Result<T, OwnError>;

/// Name of a file, and the offsets of its lines.
pub(super) struct Lines<'a> {
    file: &'a str,
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a str, text: &str) -> Self {
        Self {
            file,
            ends: text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n').map(|(at, _)| at).collect(),
        }
    }

    pub(super) fn line(&self, offset: usize) -> u32 {
        self.ends.partition_point(|&end| end < offset) as u32 + 1
    }

    pub(super) fn error(&self, line: u32, fault: OwnFault) -> OwnError {
        OwnError { file: self.file.to_owned(), line, fault }
    }
}

/// Context of a file: its lines, and the values of its parameters.
pub(super) struct Context<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) parameters: BTreeMap<String, u64>,
}

/// A value with its position.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) line: u32,
    value: &'a DeValue<'a>,
    context: &'a Context<'a>,
}

impl<'a> Item<'a> {
    pub(super) fn fault(&self, fault: OwnFault) -> OwnError {
        self.context.lines.error(self.line, fault)
    }

    fn kind(&self, field: &str, allowed: &'static str) -> OwnError {
        self.fault(OwnFault::Kind { field: field.to_owned(), allowed })
    }

    pub(super) fn text(&self, field: &str) -> Result<&'a str> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.kind(field, "text in quotes")),
        }
    }

    fn bool(&self, field: &str) -> Result<bool> {
        match self.value {
            DeValue::Boolean(bool) => Ok(*bool),
            _ => Err(self.kind(field, "true or false")),
        }
    }

    /// Returns a number. The file contains either a literal or the name of a parameter.
    pub(super) fn number(&self, field: &str, (least, most): (u64, u64)) -> Result<u64> {
        let value = match self.value {
            DeValue::Integer(int) => {
                let digits = int.as_str().replace('_', "");
                let value = u64::from_str_radix(&digits, int.radix());
                value.map_err(|_| self.kind(field, "a whole number that is not negative"))?
            }
            DeValue::String(name) => *self.context.parameters.get(name.as_ref()).ok_or_else(|| {
                let allowed = list(self.context.parameters.keys().map(String::as_str));
                self.fault(OwnFault::Unknown { what: "parameter", name: name.to_string(), allowed })
            })?,
            _ => return Err(self.kind(field, "a whole number, or the name of a parameter")),
        };
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(self.fault(OwnFault::Range { what: format!("`{field}`"), value, least, most }))
    }

    pub(super) fn list(&self, field: &str) -> Result<Vec<Self>> {
        match self.value {
            DeValue::Array(items) => Ok(items
                .iter()
                .map(|item| Self {
                    line: self.context.lines.line(item.span().start),
                    value: item.get_ref(),
                    context: self.context,
                })
                .collect()),
            _ => Err(self.kind(field, "a list in [ ]")),
        }
    }

    pub(super) fn fields(&self, of: impl Display) -> Result<Fields<'a>> {
        match self.value {
            DeValue::Table(table) => Ok(Fields::new(of, self.line, table, self.context)),
            _ => Err(self.kind(&of.to_string(), "a table, such as { name = value }")),
        }
    }
}

/// A table whose fields are requested one by one.
pub(super) struct Fields<'a> {
    of: String,
    line: u32,
    table: &'a DeTable<'a>,
    context: &'a Context<'a>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(of: impl Display, line: u32, table: &'a DeTable<'a>, context: &'a Context<'a>) -> Self {
        Self { of: of.to_string(), line, table, context, asked: Vec::new() }
    }

    pub(super) fn fault(&self, fault: OwnFault) -> OwnError {
        self.context.lines.error(self.line, fault)
    }

    pub(super) fn item(&mut self, field: &'static str) -> Option<Item<'a>> {
        self.asked.push(field);
        let (key, value) = self.table.iter().find(|(key, _)| key.get_ref().as_ref() == field)?;
        let line = self.context.lines.line(key.span().start);
        Some(Item { line, value: value.get_ref(), context: self.context })
    }

    pub(super) fn need(&mut self, field: &'static str, allowed: &'static str) -> Result<Item<'a>> {
        self.item(field).ok_or_else(|| self.fault(OwnFault::Missing { field, of: self.of.clone(), allowed }))
    }

    pub(super) fn text(&mut self, field: &'static str) -> Result<Option<&'a str>> {
        self.item(field).map(|item| item.text(field)).transpose()
    }

    pub(super) fn bool(&mut self, field: &'static str) -> Result<Option<bool>> {
        self.item(field).map(|item| item.bool(field)).transpose()
    }

    pub(super) fn number(&mut self, field: &'static str, bounds: (u64, u64)) -> Result<Option<u64>> {
        self.item(field).map(|item| item.number(field, bounds)).transpose()
    }

    pub(super) fn list(&mut self, field: &'static str) -> Result<Vec<Item<'a>>> {
        self.item(field).map_or_else(|| Ok(Vec::new()), |item| item.list(field))
    }

    pub(super) fn fields(&mut self, field: &'static str) -> Result<Option<Self>> {
        let of = format!("{}.{field}", self.of);
        self.item(field).map(|item| item.fields(of)).transpose()
    }

    /// Returns the parsed value of a text field.
    pub(super) fn parsed<T: FromStr>(
        &mut self,
        field: &'static str,
        allowed: &'static str,
    ) -> Result<Option<T>> {
        let Some(item) = self.item(field) else { return Ok(None) };
        let parsed = item.text(field)?.parse();
        parsed.map(Some).map_err(|_| item.kind(field, allowed))
    }

    pub(super) fn need_parsed<T: FromStr>(
        &mut self,
        field: &'static str,
        allowed: &'static str,
    ) -> Result<T> {
        let missing = OwnFault::Missing { field, of: self.of.clone(), allowed };
        self.parsed(field, allowed)?.ok_or_else(|| self.fault(missing))
    }

    /// Returns the value that `choices` assigns to the name in a text field.
    pub(super) fn choice<T: Copy>(
        &mut self,
        field: &'static str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>> {
        let Some(item) = self.item(field) else { return Ok(None) };
        let name = item.text(field)?;
        let found = choices.iter().find(|(choice, _)| *choice == name).map(|(_, value)| Some(*value));
        found.ok_or_else(|| {
            let allowed = list(choices.iter().map(|(choice, _)| *choice));
            item.fault(OwnFault::Unknown { what: field, name: name.to_owned(), allowed })
        })
    }

    /// Returns all entries, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'a str, Item<'a>)> {
        let mut all: Vec<_> = self.table.iter().collect();
        all.sort_by_key(|(key, _)| key.span().start);
        let item =
            |(key, value): (&'a toml::Spanned<std::borrow::Cow<'a, str>>, &'a toml::Spanned<DeValue<'a>>)| {
                let line = self.context.lines.line(key.span().start);
                (key.get_ref().as_ref(), Item { line, value: value.get_ref(), context: self.context })
            };
        all.into_iter().map(item).collect()
    }

    /// Checks that every field was requested.
    pub(super) fn done(self) -> Result<()> {
        let left = self.entries().into_iter().find(|(key, _)| !self.asked.contains(key));
        let Some((key, item)) = left else { return Ok(()) };
        let allowed = list(self.asked.iter().copied());
        Err(item.fault(OwnFault::Unknown { what: "field", name: key.to_owned(), allowed }))
    }
}

/// Describes the allowed names, as the end of an error message.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.take(NAMES_TOLD_MAX).collect();
    if names.is_empty() {
        "the file declares none".to_owned()
    } else {
        format!("allowed are {}", names.join(", "))
    }
}

/// Maximum number of names in a message.
const NAMES_TOLD_MAX: usize = 40;
