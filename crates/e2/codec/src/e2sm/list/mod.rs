//! The indication message of a statistics model, which is a list of elements and a timestamp, in each of its
//! encodings: FlexRIC's packed structs ([`plain`]), aligned PER and FlatBuffers. An element is declared once, in the
//! folder of its model. Trigger and header are packed structs in all encodings.
//!
//! | encoding | message |
//! |---|---|
//! | plain | `u32 count; count × element; i64 tstamp_us` |
//! | PER | `SEQUENCE { tstamp-us INTEGER, elements SEQUENCE (SIZE (0..65535)) OF Element }`; a number in an element is an INTEGER of its width, a float the bytes of IEEE 754, most significant first |
//! | FlatBuffers | `table { tstamp_us: long; elements: [Element]; }`, `Element` is a struct with the layout of the packed one (`schemas/statistics.fbs`) |
mod flat;
mod per;

use bytes::Bytes;

pub(crate) use flat::Flat;
pub(crate) use per::{Aligned, PerField};

use super::plain::{self, PlainElement, PlainView};
use super::{Encoding, SmError};
use crate::per::{DecodeError, EncodeError, Reader, Writer};

/// Encodings of all statistics models, the default first.
pub const ENCODINGS: [Encoding; 3] = [Encoding::Plain, Encoding::Per, Encoding::Flat];

/// An element of a statistics model's list.
pub trait Element: PlainElement {
    /// Appends the fields of the element in aligned PER.
    ///
    /// # Errors
    /// Never fails for the existing field types. The result is a `Result` because the PER writer returns one.
    fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError>;

    /// Reads the fields of an element in aligned PER.
    ///
    /// # Errors
    /// Fails if the data ends too early.
    fn take_per(from: &mut Reader) -> Result<Self, DecodeError>;
}

/// A message of a statistics model.
pub(crate) trait Listed: Sized {
    type Element: Element + Copy;
    fn parts(&self) -> (&[Self::Element], i64);
    fn from_elements(elements: Vec<Self::Element>, tstamp_us: i64) -> Self;
}

/// Appends an indication message to `out`. In plain and FlatBuffers, this does not allocate if the capacity suffices;
/// the iterator may create elements on the fly. On an error `out` is unchanged.
///
/// # Errors
/// Fails if there are more elements than a PER list can have: 65,535.
pub fn encode<E: Element>(
    encoding: Encoding,
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = E, IntoIter: ExactSizeIterator>,
    tstamp_us: i64,
) -> Result<(), SmError> {
    let elements = elements.into_iter();
    match encoding {
        Encoding::Plain => Ok(plain::encode_list(out, elements, tstamp_us)?),
        Encoding::Per => per::encode(out, elements, tstamp_us),
        Encoding::Flat => {
            flat::encode(out, elements, tstamp_us);
            Ok(())
        }
        asked => Err(SmError::Encoding { asked, allowed: &ENCODINGS }),
    }
}

/// Checks whether a message is a list of `E`. In plain and FlatBuffers, the lengths are checked without reading the
/// elements. PER has no fixed lengths, so the message is decoded.
pub(crate) fn check<E: Element>(encoding: Encoding, header: &[u8], message: &[u8]) -> Result<(), SmError> {
    plain::decode_indication_header(header)?;
    match encoding {
        Encoding::Plain => PlainView::<E>::new(message).map(drop)?,
        Encoding::Per => per::decode::<E>(&Bytes::copy_from_slice(message)).map(drop)?,
        Encoding::Flat => flat::List::new(message, E::SIZE).map(drop)?,
        asked => return Err(SmError::Encoding { asked, allowed: &ENCODINGS }),
    }
    Ok(())
}

/// Returns the timestamp of a message without decoding it, in microseconds since the Unix epoch.
pub(crate) fn tstamp_us(encoding: Encoding, message: &[u8], element_size: usize) -> Option<i64> {
    match encoding {
        Encoding::Plain => plain::tstamp_us(message),
        Encoding::Per => per::tstamp_us(message),
        Encoding::Flat => flat::List::new(message, element_size).ok().map(|list| list.tstamp_us),
        _ => None,
    }
}
