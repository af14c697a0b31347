//! Why a text is none of what it should be.

/// A text that cannot be read; says what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no {what}; allowed are {allowed}")]
pub struct TextError {
    text: String,
    what: &'static str,
    allowed: &'static str,
}

impl TextError {
    pub(crate) fn new(text: &str, what: &'static str, allowed: &'static str) -> Self {
        Self { text: text.to_owned(), what, allowed }
    }
}
