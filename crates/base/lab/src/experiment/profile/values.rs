//! Substitutes a scenario's values in a profile.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::ProfileParameter;

/// Values that a profile requests, and values that a scenario provides.
pub(crate) struct Values<'a> {
    pub said: BTreeMap<String, String>,
    pub asked: &'a BTreeMap<String, ProfileParameter>,
}

/// Error of a substitution.
pub(crate) enum TemplateError {
    Unfilled { name: String, about: String },
    Wrong(String),
}

impl Values<'_> {
    /// Returns a copy with each `{name}` in its texts replaced.
    pub(crate) fn within<T: serde::Serialize + DeserializeOwned>(&self, of: &T) -> Result<T, TemplateError> {
        let wrong = |error: serde_json::Error| TemplateError::Wrong(error.to_string());
        let mut json = serde_json::to_value(of).map_err(wrong)?;
        self.walk(&mut json)?;
        serde_json::from_value(json).map_err(wrong)
    }

    fn walk(&self, json: &mut serde_json::Value) -> Result<(), TemplateError> {
        match json {
            serde_json::Value::String(text) => *text = self.fill(text)?,
            serde_json::Value::Array(all) => all.iter_mut().try_for_each(|one| self.walk(one))?,
            serde_json::Value::Object(all) => all.values_mut().try_for_each(|one| self.walk(one))?,
            _ => {}
        }
        Ok(())
    }

    /// Replaces `{name}` by its value; other braces stay.
    pub(crate) fn fill(&self, text: &str) -> Result<String, TemplateError> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            match after.split_once('}').filter(|(name, _)| is_name(name)) {
                Some((name, after)) => {
                    filled.push_str(self.value(name, text)?);
                    rest = after;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        Ok(filled + rest)
    }

    fn value(&self, name: &str, text: &str) -> Result<&str, TemplateError> {
        match (self.said.get(name), self.asked.get(name)) {
            (Some(value), _) => Ok(value),
            (None, Some(fill)) => {
                Err(TemplateError::Unfilled { name: name.to_owned(), about: fill.about.clone() })
            }
            (None, None) => {
                Err(TemplateError::Wrong(format!("`{{{name}}}` in \"{text}\" has no [fill.{name}]")))
            }
        }
    }
}
