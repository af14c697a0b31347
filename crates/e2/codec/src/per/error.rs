//! Errors in received bytes, and errors in values to encode.

/// Value that cannot be encoded: an error of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The protocol version in use does not have the element.
    #[error("{element} does not exist in {version}")]
    NotInVersion {
        /// ASN.1 name of the element.
        element: &'static str,
        /// Protocol version as text.
        version: &'static str,
    },
    /// The protocol version in use requires an element that the value lacks.
    #[error("{element} is mandatory in {version}")]
    MissingInVersion {
        /// ASN.1 name of the element.
        element: &'static str,
        /// Protocol version as text.
        version: &'static str,
    },
    /// A number or a length is outside its constraint.
    #[error("{what} {value} is outside {low}..{high}")]
    OutOfRange {
        /// Name of the number.
        what: &'static str,
        /// Given value.
        value: u64,
        /// Minimum.
        low: u64,
        /// Maximum.
        high: u64,
    },
}

/// Bytes that are not a valid value of the expected type: an error of the peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {octet}{}{field}", if field.is_empty() { "" } else { " in " })]
pub struct DecodeError {
    /// Kind of the error.
    pub fault: DecodeFault,
    /// Offset of the byte at which decoding stopped.
    pub octet: usize,
    /// Innermost ASN.1 component being read; empty outside a component.
    pub field: &'static str,
}

impl DecodeError {
    /// Sets the component, if none is set yet.
    #[cold]
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        if self.field.is_empty() {
            self.field = field;
        }
        self
    }
}

/// Kind of a [`DecodeError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeFault {
    /// The bytes end before the value does.
    #[error("truncated")]
    Truncated,
    /// A number is outside its constraint.
    #[error("{value} is outside {low}..{high}")]
    OutOfRange {
        /// Received value.
        value: u64,
        /// Minimum.
        low: u64,
        /// Maximum.
        high: u64,
    },
    /// A CHOICE or ENUMERATED alternative that this version of the specification does not define.
    #[error("unknown alternative {0}")]
    UnknownAlternative(u64),
    /// A length determinant that no encoder may produce.
    #[error("invalid length")]
    InvalidLength,
    /// A character string with bytes outside its alphabet.
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
    /// An information element that this version does not define and that must not be ignored.
    #[error("information element {0} is unknown and marked reject")]
    UnknownIe(u16),
    /// A named value of the wrong kind.
    #[error("it must be {0}")]
    NotA(&'static str),
    /// A name that the type does not have.
    #[error("unknown name {0:?}")]
    UnknownName(String),
    /// A duplicate information element.
    #[error("information element {0} occurs twice")]
    DuplicateIe(u16),
}
