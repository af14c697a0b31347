//! FlatBuffers: E2AP, E42 and the service model HW for connections that prefer them to PER.
//!
//! No standard has a schema for them; ours is `schemas/ranlab.fbs`, `generated/flat.rs` what planus makes of it. The messages
//! of which a connection carries many have tables of their own. Every other one travels as its PER octets in a table
//! `Standard`, and so do those with elements that their tables lack: whatever PER can say passes.
//!
//! [`from_per`] and [`to_per`] translate whole PDUs: a machine is of one language inside, each connection of its own
//! outside. [`to_per`] encodes what it reads by the standard's constraints, so that nothing passes that PER would refuse.

#[path = "../../generated/flat.rs"]
pub(crate) mod generated;
mod pdu;

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use crate::e2ap::Version;
use crate::per::EncodeError;

pub use pdu::{IDENTIFIER, control, from_per, indication, to_per, write_indication};

/// How the PDUs of a connection are octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Coding {
    /// Aligned PER, as the standard demands.
    #[default]
    Per,
    /// FlatBuffers.
    Flat,
}

impl Coding {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Per, Self::Flat];

    /// What the octets of a PDU look like.
    pub fn of(pdu: &[u8]) -> Self {
        // In PER these octets lie in the length, or are the number of elements: no PDU has the identifier's.
        if pdu.get(4..8) == Some(&IDENTIFIER) { Self::Flat } else { Self::Per }
    }

    /// As in options and scenarios.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Per => "per",
            Self::Flat => "flat",
        }
    }

    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Per => "aligned PER",
            Self::Flat => "FlatBuffers",
        }
    }

    /// A received PDU in PER.
    ///
    /// # Errors
    /// It is in the other encoding, or not in any.
    pub fn receive(self, pdu: Bytes, version: Version) -> Result<Bytes, FlatError> {
        let found = Self::of(&pdu);
        match self {
            // What is no PER either, the decoder will say.
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

/// The text is not one of `per`, `flat`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("encoding {0:?} is not one of per, flat")]
pub struct UnknownCoding(String);

impl FromStr for Coding {
    type Err = UnknownCoding;

    fn from_str(text: &str) -> Result<Self, UnknownCoding> {
        Self::ALL.into_iter().find(|it| it.key() == text).ok_or_else(|| UnknownCoding(text.to_owned()))
    }
}

/// Why octets are no PDU or ping in FlatBuffers: the sender's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatError {
    /// The peer uses the other encoding.
    #[error("this connection is configured for {}, the peer sends {}", configured.name(), found.name())]
    Encoding {
        /// What was agreed on.
        configured: Coding,
        /// What came.
        found: Coding,
    },
    /// Offsets, lengths or values that make no sense.
    #[error("not FlatBuffers of this schema: {0}")]
    Faulty(String),
    /// A list too long.
    #[error("a list of {have}; at most {limit} are allowed")]
    TooMany {
        /// Its length.
        have: usize,
        /// The bound.
        limit: usize,
    },
    /// Octets too many.
    #[error("a string of {have} octets; at most {limit} are allowed")]
    TooLong {
        /// Its length.
        have: usize,
        /// The bound.
        limit: usize,
    },
    /// A value that the standard does not allow.
    #[error("outside the standard's constraints: {0}")]
    Constraint(#[from] EncodeError),
}

impl From<planus::Error> for FlatError {
    fn from(error: planus::Error) -> Self {
        Self::Faulty(error.to_string())
    }
}
