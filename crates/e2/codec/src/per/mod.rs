//! Aligned PER (ITU-T X.691, canonical ALIGNED variant), limited to the parts that E2 needs.
//!
//! A type declares its constraints once, as type-level [`Codec`]s, with the macros [`sequence!`](crate::sequence),
//! [`choice!`](crate::choice) and [`enumerated!`](crate::enumerated). The declaration generates the encoder, the
//! decoder, a generator of random valid values, and the ASN.1 value notation.
//!
//! ```text
//! value --Codec::encode--> Writer   (bytes)
//! value <--Codec::decode-- Source   (Reader: bytes with limits; Random: any valid value; FormSource: named values)
//! value --Codec::show----> Notation (X.680 value notation, or named values)
//! ```
mod codec;
mod error;
mod form;
mod macros;
mod notation;
mod random;
mod reader;
mod real;
mod single;
mod writer;

pub use codec::*;
pub use error::{DecodeError, DecodeFault, EncodeError};
pub use form::{Form, FormSource};
pub use notation::Notation;
pub use random::Random;
pub(crate) use reader::IntegerOrReal;
pub use reader::{EXTENDED_CHOICES, Limits, MERGED_COMPONENTS, Reader, Source};
pub use single::{EnumeratedTrue, Null};
pub use writer::Writer;

/// Length of one fragment unit (X.691 §11.9.3.8): longer contents are sent in pieces of 1 to 4 units.
pub(crate) const FRAGMENT: usize = 16_384;

/// Type with its own PER encoding.
pub trait Per: Sized {
    /// Appends the encoding of `self`.
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError>;
    /// Decodes one value.
    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError>;
    /// Writes the value in ASN.1 value notation.
    fn show(&self, n: &mut Notation);
}

/// Returns the number of bits for the values from 0 to `max`.
pub(crate) const fn width(max: u64) -> u32 {
    64 - max.leading_zeros()
}

#[cfg(test)]
mod tests;
