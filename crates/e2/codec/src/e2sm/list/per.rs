//! The list in aligned PER.
use bytes::Bytes;

use super::{Element, Listed};
use crate::e2ap::Version;
use crate::e2sm::SmError;
use crate::e2sm::octets::Code;
use crate::e2sm::per::reader;
use crate::per::{DecodeError, DecodeFault, EncodeError, Reader, Source, Writer};

/// Aligned PER encoding of lists.
pub(crate) struct Aligned;

/// Maximum number of elements of a list.
const ELEMENTS_MAX: u64 = 65_535;

pub(super) fn encode<E: Element>(
    out: &mut Vec<u8>,
    elements: impl ExactSizeIterator<Item = E>,
    tstamp_us: i64,
) -> Result<(), SmError> {
    let before = out.len();
    // The engine requires a version, although service models do not depend on the version of E2AP.
    let mut writer = Writer::new(std::mem::take(out), Version::V2_03);
    let outcome = put(&mut writer, elements, tstamp_us);
    *out = writer.into_vec();
    if outcome.is_err() {
        out.truncate(before);
    }
    Ok(outcome?)
}

fn put<E: Element>(
    to: &mut Writer,
    elements: impl ExactSizeIterator<Item = E>,
    tstamp_us: i64,
) -> Result<(), EncodeError> {
    to.unconstrained(tstamp_us);
    let count = elements.len();
    to.constrained("elements", count as u64, 0, ELEMENTS_MAX)?;
    elements.take(count).try_for_each(|element| element.put_per(to))
}

/// Memory grows with the data read: an element is created when it has been read.
pub(super) fn decode<E: Element>(octets: &Bytes) -> Result<(Vec<E>, i64), DecodeError> {
    let mut from = reader(octets.clone());
    let tstamp_us = from.unconstrained()?;
    let count = from.constrained(0, ELEMENTS_MAX)?;
    let mut elements = Vec::new();
    for _ in 0..count {
        elements.push(E::take_per(&mut from)?);
    }
    if from.remaining() > 0 {
        return Err(from.fault(DecodeFault::InvalidLength));
    }
    Ok((elements, tstamp_us))
}

/// Reads the first field of a message: one byte of length, then the shortest two's complement.
pub(super) fn tstamp_us(message: &[u8]) -> Option<i64> {
    let (&length, rest) = message.split_first()?;
    let octets = rest.get(..length.into()).filter(|it| (1..=8).contains(&it.len()))?;
    let sign = if octets[0] >= 0x80 { -1 } else { 0 };
    Some(octets.iter().fold(sign, |value, octet| value << 8 | i64::from(*octet)))
}

impl<T: Listed> Code<T> for Aligned {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError> {
        let (elements, tstamp_us) = value.parts();
        encode(out, elements.iter().copied(), tstamp_us)
    }

    fn decode(octets: &Bytes) -> Result<T, SmError> {
        let (elements, tstamp_us) = decode(octets)?;
        Ok(T::from_elements(elements, tstamp_us))
    }
}

/// A field of an element in aligned PER.
pub(crate) trait PerField: Sized {
    fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError>;
    fn take_per(from: &mut Reader) -> Result<Self, DecodeError>;
}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl PerField for $number {
            fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError> {
                to.constrained("a number", (*self).into(), 0, <$number>::MAX.into())
            }
            fn take_per(from: &mut Reader) -> Result<Self, DecodeError> {
                // The number is within the range of the type, so the conversion loses no bits.
                Ok(from.constrained(0, <$number>::MAX.into())? as $number)
            }
        }
    )* };
}
numbers!(u8 u16 u32 u64);

/// INTEGER (-128..127).
impl PerField for i8 {
    fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError> {
        to.constrained("a number", self.wrapping_sub(Self::MIN).cast_unsigned().into(), 0, u8::MAX.into())
    }
    fn take_per(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok((from.constrained(0, u8::MAX.into())? as u8).cast_signed().wrapping_add(Self::MIN))
    }
}

/// OCTET STRING of fixed size: every IEEE 754 value round-trips, including each NaN.
macro_rules! floats {
    ($($float:ty)*) => { $(
        impl PerField for $float {
            fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError> {
                to.align();
                to.octets_raw(&self.to_be_bytes());
                Ok(())
            }
            fn take_per(from: &mut Reader) -> Result<Self, DecodeError> {
                let mut octets = [0; size_of::<Self>()];
                octets.copy_from_slice(&from.octets_fixed(size_of::<Self>())?);
                Ok(Self::from_be_bytes(octets))
            }
        }
    )* };
}
floats!(f32 f64);

impl<const N: usize> PerField for [u32; N] {
    fn put_per(&self, to: &mut Writer) -> Result<(), EncodeError> {
        self.iter().try_for_each(|value| value.put_per(to))
    }
    fn take_per(from: &mut Reader) -> Result<Self, DecodeError> {
        let mut values = [0; N];
        for value in &mut values {
            *value = u32::take_per(from)?;
        }
        Ok(values)
    }
}
