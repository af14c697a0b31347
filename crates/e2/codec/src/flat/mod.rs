//! FlatBuffers encoding of E2AP, E42 and the service model HW, as an alternative to PER.
//!
//! No standard defines a schema; ours is `schemas/ranlab.fbs`, and planus generates `generated/flat.rs` from it.
//! Frequent messages have their own tables. All other messages, and messages with elements that these tables lack,
//! are carried as PER bytes in a table `Standard`. Everything that PER can express can therefore be carried.
//!
//! [`from_per`] and [`to_per`] convert whole PDUs. They are needed because a RIC, agent or xApp uses one encoding
//! internally, and each of its connections may use the other. [`to_per`] encodes under the constraints of the standard,
//! so its output is always valid PER.

#[path = "../../generated/flat.rs"]
pub(crate) mod generated;
mod pdu;

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use crate::e2ap::Version;
use crate::per::EncodeError;

pub use pdu::{IDENTIFIER, control, from_per, indication, to_per, write_indication};

/// Encoding of a connection's PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Coding {
    /// Aligned PER, as the standard requires.
    #[default]
    Per,
    /// FlatBuffers.
    Flat,
}

impl Coding {
    /// All encodings.
    pub const ALL: [Self; 2] = [Self::Per, Self::Flat];

    /// Detects the encoding of a PDU.
    pub fn detect(pdu: &[u8]) -> Self {
        // In PER, these bytes are part of the length or the number of elements, and never equal the identifier.
        if pdu.get(4..8) == Some(&IDENTIFIER) { Self::Flat } else { Self::Per }
    }

    /// Returns the key for options and scenarios.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Per => "per",
            Self::Flat => "flat",
        }
    }

    /// Returns the display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Per => "aligned PER",
            Self::Flat => "FlatBuffers",
        }
    }

    /// Converts a received PDU to PER.
    ///
    /// # Errors
    /// Fails if the PDU uses the other encoding or neither.
    pub fn receive(self, pdu: Bytes, version: Version) -> Result<Bytes, FlatError> {
        let found = Self::detect(&pdu);
        match self {
            // If the bytes are not PER either, the decoder refuses them.
            Self::Per if found == Self::Per => Ok(pdu),
            Self::Flat if found == Self::Flat => to_per(&pdu, version),
            configured => Err(FlatError::Encoding { configured, found }),
        }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// The text is neither `per` nor `flat`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("encoding {0:?} is not one of per, flat")]
pub struct UnknownCoding(String);

impl FromStr for Coding {
    type Err = UnknownCoding;

    fn from_str(text: &str) -> Result<Self, UnknownCoding> {
        Self::ALL.into_iter().find(|it| it.key() == text).ok_or_else(|| UnknownCoding(text.to_owned()))
    }
}

/// Reason why bytes are not a valid PDU or ping in FlatBuffers: an error of the sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatError {
    /// The peer uses the other encoding.
    #[error("this connection is configured for {}, the peer sends {}", configured.name(), found.name())]
    Encoding {
        /// Configured encoding.
        configured: Coding,
        /// Encoding found.
        found: Coding,
    },
    /// Invalid offsets, lengths or values.
    #[error("not FlatBuffers of this schema: {0}")]
    Faulty(String),
    /// List too long.
    #[error("a list has {have} elements; at most {limit} are allowed")]
    TooMany {
        /// Length of the list.
        have: usize,
        /// Maximum length.
        limit: usize,
    },
    /// String too long.
    #[error("a string has {have} bytes; at most {limit} are allowed")]
    TooLong {
        /// Length, bytes.
        have: usize,
        /// Maximum length, bytes.
        limit: usize,
    },
    /// Value that the standard does not allow.
    #[error("a value violates the constraints of the standard: {0}")]
    Constraint(#[from] EncodeError),
}

impl From<planus::Error> for FlatError {
    fn from(error: planus::Error) -> Self {
        Self::Faulty(error.to_string())
    }
}
