//! What can be wrong with bytes from a peer, and with values from a caller.

/// A value that cannot be encoded: the caller's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The protocol version in use has no such element.
    #[error("{element} does not exist in {version}")]
    NotInVersion {
        /// ASN.1 name of the element.
        element: &'static str,
        /// The version, as text.
        version: &'static str,
    },
    /// The protocol version in use demands an element that the value lacks.
    #[error("{element} is mandatory in {version}")]
    MissingInVersion {
        /// ASN.1 name of the element.
        element: &'static str,
        /// The version, as text.
        version: &'static str,
    },
    /// A number or a length outside its constraint.
    #[error("{what} {value} is outside {low}..{high}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The value given.
        value: u64,
        /// Least allowed.
        low: u64,
        /// Greatest allowed.
        high: u64,
    },
}

/// Bytes that are not a value of the expected type: the peer's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at octet {octet}{}{field}", if field.is_empty() { "" } else { " in " })]
pub struct DecodeError {
    /// What is wrong.
    pub fault: DecodeFault,
    /// Offset of the octet where decoding stopped.
    pub octet: usize,
    /// Innermost ASN.1 component that was being read; empty outside any.
    pub field: &'static str,
}

impl DecodeError {
    /// Names the innermost component, if none was named yet.
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        if self.field.is_empty() {
            self.field = field;
        }
        self
    }
}

/// The kind of a [`DecodeError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeFault {
    /// The bytes end before the value does.
    #[error("truncated")]
    Truncated,
    /// A number outside its constraint.
    #[error("{value} is outside {low}..{high}")]
    OutOfRange {
        /// The value received.
        value: u64,
        /// Least allowed.
        low: u64,
        /// Greatest allowed.
        high: u64,
    },
    /// A CHOICE or ENUMERATED alternative that this version of the specification does not know.
    #[error("unknown alternative {0}")]
    UnknownAlternative(u64),
    /// A length determinant that no encoder may produce.
    #[error("invalid length")]
    InvalidLength,
    /// A character string with octets outside its alphabet.
    #[error("invalid character string")]
    InvalidString,
    /// A REAL in a form that X.690 §8.5 does not define.
    #[error("invalid REAL")]
    InvalidReal,
    /// More list elements in one message than [`Limits`](super::Limits) allows.
    #[error("more than {0} list elements")]
    TooManyElements(usize),
    /// Open types nested deeper than [`Limits`](super::Limits) allows.
    #[error("nested deeper than {0}")]
    TooDeep(usize),
    /// A mandatory information element is absent.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// An information element that this version does not know and that may not be ignored.
    #[error("information element {0} is unknown and marked reject")]
    UnknownIe(u16),
    /// A value by names that is something else.
    #[error("it must be {0}")]
    NotA(&'static str),
    /// A name that the type does not have.
    #[error("{0:?} is no name of it")]
    UnknownName(String),
    /// An information element that came twice.
    #[error("information element {0} came twice")]
    DuplicateIe(u16),
}
