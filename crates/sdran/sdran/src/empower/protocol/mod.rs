//! OpenEmpower, the protocol between a 5G-EmPOWER controller and its base stations (VBSes).
//!
//! There are two versions. They share only the byte order (big-endian) and the transport. The transport is TCP, and the base station
//! connects and **sends first**.
//!
//! | | [`v1`] | [`v2`] |
//! |---|---|---|
//! | port | 2210 | 5533 |
//! | used by | the runtime in MARC's measurements | the current runtime |
//! | length | 16 bits at byte 22, whole message | 32 bits at byte 4, whole message |
//! | TLV length includes | value | type, length and value |
//! | subscriptions | single, scheduled, triggered events | request and response, create / update / delete |
pub mod v1;
pub mod v2;

pub use ranlab_packet::{Mac, NotAMac};

/// Bytes that are not valid OpenEmpower, or a message that cannot be encoded in OpenEmpower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmpowerError {
    /// The message ends before an element does.
    #[error("{what} requires {need} bytes, but the message has {have}")]
    Truncated {
        /// Name of the element.
        what: &'static str,
        /// Number of bytes needed.
        need: usize,
        /// Number of bytes available.
        have: usize,
    },
    /// The message has another protocol version.
    #[error("version {given} is not supported; {allowed} is required")]
    Version {
        /// Received version.
        given: u8,
        /// Version that this module supports.
        allowed: u8,
    },
    /// The length in the header differs from the length of the message, or is out of range.
    #[error("the header announces {announced} bytes; {least} to {most} are allowed")]
    Length {
        /// Length in the header.
        announced: usize,
        /// Minimum length: the size of a header and an event.
        least: usize,
        /// Maximum length of the protocol, or the limit of this implementation.
        most: usize,
    },
    /// The message is longer than stated in its header.
    #[error("{0} bytes follow the end of the message")]
    Trailing(usize),
    /// The event type is not 1 (single), 2 (scheduled) or 3 (triggered).
    #[error("the event type is {0}; 1 (single), 2 (scheduled) and 3 (triggered) are allowed")]
    EventType(u8),
    /// The length of a TLV differs from the length that its type requires.
    #[error("TLV {kind:#06x} has a value of {have} bytes; its type requires {need}")]
    TlvLength {
        /// Type of the TLV.
        kind: u16,
        /// Length of the value that the type requires, in bytes.
        need: usize,
        /// Actual length of the value, in bytes.
        have: usize,
    },
    /// A length does not fit into the length field.
    #[error("{what} of {len} bytes cannot be encoded; at most {most} are allowed")]
    Unencodable {
        /// Name of the element.
        what: &'static str,
        /// Length of the element.
        len: usize,
        /// Maximum length.
        most: usize,
    },
}

/// Reads big-endian numbers from the start of a slice.
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

/// Encoding and decoding of the value of a TLV.
trait Layout: Sized {
    fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError>;
    fn write(&self, out: &mut Vec<u8>);
}

/// Encoding and decoding of an element of a version's messages.
trait Element: Sized {
    /// Number of bytes of type and length that the length field includes.
    const COUNTED: usize;
    fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError>;
    fn kind(&self) -> u16;
    fn write(&self, out: &mut Vec<u8>);
}

fn read_all<T: Element>(mut reader: Reader<'_>) -> Result<Vec<T>, EmpowerError> {
    let mut tlvs = Vec::new();
    while !reader.0.is_empty() {
        let kind = reader.u16("the type of a TLV")?;
        let length = usize::from(reader.u16("the length of a TLV")?);
        let short = EmpowerError::TlvLength { kind, need: T::COUNTED, have: length };
        let value = length.checked_sub(T::COUNTED).ok_or(short)?;
        tlvs.push(T::read(kind, reader.take("the value of a TLV", value)?)?);
    }
    Ok(tlvs)
}

fn write_all<T: Element>(tlvs: &[T], out: &mut Vec<u8>) -> Result<(), EmpowerError> {
    for tlv in tlvs {
        out.extend_from_slice(&tlv.kind().to_be_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 2]);
        let value_at = out.len();
        tlv.write(out);
        let len = out.len() - value_at + T::COUNTED;
        let most = usize::from(u16::MAX);
        let length =
            u16::try_from(len).map_err(|_| EmpowerError::Unencodable { what: "a TLV", len, most })?;
        out[length_at..value_at].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Defines the TLVs of a version, one line per field: structs, their readers and writers, and the enum of all TLVs. A
/// TLV in brackets has no struct. `length counts` is the number of type and length bytes that the length field
/// includes.
macro_rules! tlvs {
    (
        length counts $counted:literal;
        $( $(#[$meta:meta])* $name:ident $kind:literal { $($field:ident : $ty:tt, $doc:literal;)* } )*
        $( [$other:ident $other_kind:ident: $other_ty:ty, $other_doc:literal] )?
    ) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
            pub struct $name { $(#[doc = $doc] pub $field: $ty),* }

            impl $name {
                /// Type of the TLV.
                pub const TYPE: u16 = $kind;
                /// Size of the value, in bytes.
                pub const BYTES: usize = 0 $(+ std::mem::size_of::<$ty>())*;
            }

            impl Layout for $name {
                #[allow(unused_mut, unused_variables)]
                fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError> {
                    if value.len() != Self::BYTES {
                        return Err(EmpowerError::TlvLength { kind, need: Self::BYTES, have: value.len() });
                    }
                    let mut reader = Reader(value);
                    Ok(Self { $($field: tlvs!(@read reader $ty)),* })
                }

                #[allow(unused_variables)]
                fn write(&self, out: &mut Vec<u8>) {
                    $(tlvs!(@write self.$field, out, $ty);)*
                }
            }
        )*

        /// Element of a message.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Tlv {
            $( $(#[$meta])* $name($name), )*
            $( #[doc = $other_doc] $other($other_ty), )?
            /// Any other TLV, which is stored unchanged.
            Unknown {
                /// Type of the TLV.
                kind: u16,
                /// Value of the TLV.
                value: Vec<u8>,
            },
        }

        impl Element for Tlv {
            const COUNTED: usize = $counted;

            fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError> {
                Ok(match kind {
                    $( $kind => Self::$name(Layout::read(kind, value)?), )*
                    $( $other_kind => Self::$other(Layout::read(kind, value)?), )?
                    _ => Self::Unknown { kind, value: value.to_vec() },
                })
            }

            fn kind(&self) -> u16 {
                match self {
                    $( Self::$name(_) => $kind, )*
                    $( Self::$other(_) => $other_kind, )?
                    Self::Unknown { kind, .. } => *kind,
                }
            }

            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $( Self::$name(value) => value.write(out), )*
                    $( Self::$other(value) => value.write(out), )?
                    Self::Unknown { value, .. } => out.extend_from_slice(value),
                }
            }
        }
    };
    (@read $reader:ident [u8; 4]) => { $reader.array("a TLV")? };
    (@read $reader:ident $ty:tt) => { <$ty>::from_be_bytes($reader.array("a TLV")?) };
    (@write $value:expr, $out:ident, [u8; 4]) => { $out.extend_from_slice(&$value) };
    (@write $value:expr, $out:ident, $ty:tt) => { $out.extend_from_slice(&$value.to_be_bytes()) };
}
use tlvs;
