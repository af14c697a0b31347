//! OpenEmpower, the protocol between a 5G-EmPOWER controller and its base stations (VBSes).
//!
//! Two versions that share nothing but their byte order (big-endian) and their transport (TCP, the base station
//! connects and **speaks first**):
//!
//! | | [`v1`] | [`v2`] |
//! |---|---|---|
//! | port | 2210 | 5533 |
//! | used by | the runtime that MARC measured | the current runtime |
//! | length | 16 bits at octet 22, the whole message | 32 bits at octet 4, the whole message |
//! | TLV length | of the value | of type, length and value |
//! | subscriptions | single, scheduled, triggered events | request and response, create / update / delete |
pub mod v1;
pub mod v2;

pub use crate::packet::{Mac, NotAMac};

/// Octets that are no OpenEmpower, or a message that OpenEmpower cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmpowerError {
    /// The message ends before the element does.
    #[error("{what} needs {need} octets, the message has {have}")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Octets needed.
        need: usize,
        /// Octets there.
        have: usize,
    },
    /// Another version of the protocol.
    #[error("version {given}; {allowed} is allowed here")]
    Version {
        /// As received.
        given: u8,
        /// The version of this module.
        allowed: u8,
    },
    /// The header's length is not the message's, or out of bounds.
    #[error("the header announces {announced} octets; {least} to {most} are allowed")]
    Length {
        /// As announced.
        announced: usize,
        /// A header and an event.
        least: usize,
        /// The protocol's or our bound.
        most: usize,
    },
    /// The message is longer than its header says.
    #[error("{0} octets after the end of the message")]
    Trailing(usize),
    /// A type of event that is none of 1 (single), 2 (scheduled), 3 (triggered).
    #[error("event type {0}; 1 (single), 2 (scheduled) and 3 (triggered) are allowed")]
    EventType(u8),
    /// A TLV whose length is not that of its type.
    #[error("TLV {kind:#06x} has a value of {have} octets; its type has {need}")]
    TlvLength {
        /// Type of the TLV.
        kind: u16,
        /// Octets of the type.
        need: usize,
        /// Octets there.
        have: usize,
    },
    /// More than the length field can say.
    #[error("{what} of {len} octets cannot be encoded; at most {most} are allowed")]
    Unencodable {
        /// What was to be written.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The most.
        most: usize,
    },
}

/// Reads big-endian numbers off the front of a slice.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], EmpowerError> {
        let (octets, rest) = self.0.split_first_chunk().ok_or(EmpowerError::Truncated {
            what,
            need: N,
            have: self.0.len(),
        })?;
        self.0 = rest;
        Ok(*octets)
    }

    fn take(&mut self, what: &'static str, need: usize) -> Result<&'a [u8], EmpowerError> {
        let (octets, rest) = self.0.split_at_checked(need).ok_or(EmpowerError::Truncated {
            what,
            need,
            have: self.0.len(),
        })?;
        self.0 = rest;
        Ok(octets)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, EmpowerError> {
        self.array::<1>(what).map(|[octet]| octet)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, EmpowerError> {
        self.array(what).map(u16::from_be_bytes)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, EmpowerError> {
        self.array(what).map(u32::from_be_bytes)
    }

    fn end(&self) -> Result<(), EmpowerError> {
        if self.0.is_empty() { Ok(()) } else { Err(EmpowerError::Trailing(self.0.len())) }
    }
}

/// TLVs of fixed layout: struct, reader and writer from one list.
macro_rules! layouts {
    ($($(#[$meta:meta])* $name:ident $kind:literal { $($(#[$doc:meta])* $field:ident : $ty:tt),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name { $($(#[$doc])* pub $field: $ty),* }

        impl $name {
            /// Type of the TLV.
            pub const TYPE: u16 = $kind;
            /// Octets of the value.
            pub const BYTES: usize = 0 $(+ std::mem::size_of::<$ty>())*;

            #[allow(unused_mut, unused_variables)]
            fn read(value: &[u8]) -> Result<Self, EmpowerError> {
                if value.len() != Self::BYTES {
                    return Err(EmpowerError::TlvLength { kind: $kind, need: Self::BYTES, have: value.len() });
                }
                let mut reader = Reader(value);
                Ok(Self { $($field: layouts!(@read reader $ty)),* })
            }

            #[allow(unused_variables, clippy::ptr_arg)]
            fn write(&self, out: &mut Vec<u8>) {
                $(layouts!(@write self.$field, out, $ty);)*
            }
        }
    )* };
    (@read $reader:ident [u8; 4]) => { $reader.array("a TLV")? };
    (@read $reader:ident $ty:tt) => { <$ty>::from_be_bytes($reader.array("a TLV")?) };
    (@write $value:expr, $out:ident, [u8; 4]) => { $out.extend_from_slice(&$value) };
    (@write $value:expr, $out:ident, $ty:tt) => { $out.extend_from_slice(&$value.to_be_bytes()) };
}
use layouts;
