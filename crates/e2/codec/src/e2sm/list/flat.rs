//! The list in FlatBuffers. The encoder uses one fixed layout, which is as cheap as packed structs. The decoder
//! accepts any layout that the format allows.
use bytes::Bytes;

use super::{Element, Listed};
use crate::e2sm::SmError;
use crate::e2sm::octets::Code;
use crate::flat::FlatError;

/// FlatBuffers encoding of lists.
pub(crate) struct Flat;

/// Size of the data before the first element, in bytes.
const PREFIX_SIZE: usize = 32;

// Offsets in the encoded layout: root offset, vtable (its size, the size of the table, two fields), table (offset
// back to the vtable, timestamp at a multiple of eight, offset of the vector), vector (count, then elements at a
// multiple of eight).
const TABLE: u32 = 12;
const VTABLE: [u16; 4] = [8, 16, 4, 12];
const BACK_TO_VTABLE: i32 = 8;
const TO_VECTOR: u32 = 4;

/// Fields of the table, numbered as in the schema.
const TSTAMP: usize = 0;
const ELEMENTS: usize = 1;

pub(super) fn encode<E: Element>(
    out: &mut Vec<u8>,
    elements: impl ExactSizeIterator<Item = E>,
    tstamp_us: i64,
) {
    let count = elements.len();
    out.reserve(PREFIX_SIZE.saturating_add(count.saturating_mul(E::SIZE)));
    out.extend(TABLE.to_le_bytes());
    VTABLE.iter().for_each(|entry| out.extend(entry.to_le_bytes()));
    out.extend(BACK_TO_VTABLE.to_le_bytes());
    out.extend(tstamp_us.to_le_bytes());
    out.extend(TO_VECTOR.to_le_bytes());
    // A count beyond u32 would need tens of gigabytes. It is saturated, and a receiver refuses it.
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    for element in elements.take(count) {
        out.extend_from_slice(element.to_bytes().as_ref());
    }
}

/// A message with checked offsets.
pub(super) struct List<'a> {
    elements: &'a [u8],
    pub(super) tstamp_us: i64,
}

impl<'a> List<'a> {
    /// Checks all offsets of a message.
    ///
    /// # Errors
    /// Fails if an offset, size or count exceeds the data.
    pub(super) fn new(octets: &'a [u8], element_size: usize) -> Result<Self, FlatError> {
        let faulty = |what: &str| {
            FlatError::Faulty(format!("{what} points outside the {} bytes of the message", octets.len()))
        };
        let table = u32_at(octets, 0).ok_or_else(|| faulty("the root"))?;
        let tstamp = field(octets, table, TSTAMP).ok_or_else(|| faulty("the table"))?;
        // A scalar with its default value, zero, may be omitted.
        let tstamp_us = match tstamp {
            Some(at) => octets.get(at..).and_then(<[u8]>::first_chunk).map(|it| i64::from_le_bytes(*it)),
            None => Some(0),
        };
        let tstamp_us = tstamp_us.ok_or_else(|| faulty("the time stamp"))?;
        let Some(Some(at)) = field(octets, table, ELEMENTS) else { return Err(faulty("the list")) };
        let elements = u32_at(octets, at)
            .and_then(|offset| at.checked_add(offset))
            .and_then(|vector| octets.get(vector..))
            .and_then(|vector| {
                let size = u32_at(vector, 0)?.checked_mul(element_size)?;
                vector.get(4..)?.get(..size)
            })
            .ok_or_else(|| faulty("the list"))?;
        Ok(Self { elements, tstamp_us })
    }
}

/// Reads a little-endian number as an offset.
fn u32_at(octets: &[u8], at: usize) -> Option<usize> {
    octets.get(at..)?.first_chunk().map(|it| u32::from_le_bytes(*it) as usize)
}

fn u16_at(octets: &[u8], at: usize) -> Option<usize> {
    octets.get(at..)?.first_chunk().map(|it| usize::from(u16::from_le_bytes(*it)))
}

/// Returns the position of a field of the table; the inner `None` means that the table lacks it.
fn field(octets: &[u8], table: usize, field: usize) -> Option<Option<usize>> {
    let back = octets.get(table..)?.first_chunk().map(|it| i32::from_le_bytes(*it))?;
    let vtable = usize::try_from(i64::try_from(table).ok()?.checked_sub(back.into())?).ok()?;
    let size = u16_at(octets, vtable)?;
    let entry = 4 + 2 * field;
    if entry + 2 > size {
        return Some(None);
    }
    match u16_at(octets, vtable.checked_add(entry)?)? {
        0 => Some(None),
        offset => Some(Some(table.checked_add(offset)?)),
    }
}

impl<T: Listed> Code<T> for Flat {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError> {
        let (elements, tstamp_us) = value.parts();
        encode(out, elements.iter().copied(), tstamp_us);
        Ok(())
    }

    fn decode(octets: &Bytes) -> Result<T, SmError> {
        let list = List::new(octets, <T::Element as crate::e2sm::plain::PlainElement>::SIZE)?;
        let elements = list.elements.chunks_exact(<T::Element as crate::e2sm::plain::PlainElement>::SIZE);
        let elements = elements.filter_map(crate::e2sm::plain::PlainElement::from_bytes).collect();
        Ok(T::from_elements(elements, list.tstamp_us))
    }
}
