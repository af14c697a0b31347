//! The keys of a config as a rig shows them.

use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

/// Keys of one section, to be adapted by a rig before it shows them.
#[derive(Debug, Clone)]
pub struct Section {
    section: String,
    keys: Vec<Key>,
}

impl Section {
    pub(super) fn new(section: &str, keys: Vec<Key>) -> Self {
        Self { section: section.to_owned(), keys }
    }

    /// Without these fields: the rig sets them itself.
    pub fn without(mut self, names: &[&str]) -> Self {
        self.keys.retain(|key| !names.contains(&key.name()));
        self
    }

    /// These fields alone: the others are another section's.
    pub fn only(mut self, names: &[&str]) -> Self {
        self.keys.retain(|key| names.contains(&key.name()));
        self
    }

    /// With another default.
    pub fn or(self, name: &str, default: impl Into<Value>) -> Self {
        let default = default.into();
        self.change(name, |key| key.or(default))
    }

    /// With one field's key as the rig wants it: its comment, its bounds, when it counts.
    pub fn change(mut self, name: &str, change: impl FnOnce(Key) -> Key) -> Self {
        let path = format!("{}.{name}", self.section);
        debug_assert!(self.keys.iter().any(|key| key.path == path), "no {path}");
        if let Some(at) = self.keys.iter().position(|key| key.path == path) {
            let key = self.keys.remove(at);
            self.keys.insert(at, change(key));
        }
        self
    }

    /// These fields' keys as the rig wants them: without a default, only where another one has some value.
    pub fn each(self, names: &[&str], change: impl Fn(Key) -> Key) -> Self {
        names.iter().fold(self, |section, name| section.change(name, &change))
    }

    /// All of it only where another key has one of these values.
    pub fn when(mut self, path: &str, values: &[&str]) -> Self {
        for key in &mut self.keys {
            let whole = std::mem::replace(key, Key::new("", Kind::Bool, ""));
            *key = whole.when(path, values);
        }
        self
    }

    /// The keys.
    pub fn keys(self) -> Vec<Key> {
        self.keys
    }
}
