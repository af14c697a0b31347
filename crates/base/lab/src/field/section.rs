//! A configuration's keys in the form in which a rig presents them.

use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

/// Keys of one section, which a rig can adapt.
#[derive(Debug, Clone)]
pub struct Section {
    section: String,
    keys: Vec<Key>,
}

impl Section {
    pub fn new(section: &str, keys: Vec<Key>) -> Self {
        Self { section: section.to_owned(), keys }
    }

    /// Removes these fields, because the rig sets them itself.
    pub fn without(mut self, names: &[&str]) -> Self {
        self.keys.retain(|key| !names.contains(&key.name()));
        self
    }

    /// Keeps only these fields; the others belong to another section.
    pub fn only(mut self, names: &[&str]) -> Self {
        self.keys.retain(|key| names.contains(&key.name()));
        self
    }

    /// Replaces the default of a key.
    pub fn or(self, name: &str, default: impl Into<Value>) -> Self {
        let default = default.into();
        self.change(name, |key| key.or(default))
    }

    /// Changes the key of one field, such as its description, range or condition.
    pub fn change(mut self, name: &str, change: impl FnOnce(Key) -> Key) -> Self {
        let path = format!("{}.{name}", self.section);
        debug_assert!(self.keys.iter().any(|key| key.path == path), "no {path}");
        if let Some(at) = self.keys.iter().position(|key| key.path == path) {
            let key = self.keys.remove(at);
            self.keys.insert(at, change(key));
        }
        self
    }

    /// Changes the keys of several fields in the same way.
    pub fn each(self, names: &[&str], change: impl Fn(Key) -> Key) -> Self {
        names.iter().fold(self, |section, name| section.change(name, &change))
    }

    /// Restricts all keys to configurations in which another key has one of these values.
    pub fn when(mut self, path: &str, values: &[&str]) -> Self {
        for key in &mut self.keys {
            let whole = std::mem::replace(key, Key::new("", Kind::Bool, ""));
            *key = whole.when(path, values);
        }
        self
    }

    /// Returns the keys.
    pub fn keys(self) -> Vec<Key> {
        self.keys
    }
}
