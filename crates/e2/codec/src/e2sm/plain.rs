//! Common part of the packed-struct ("plain") encodings of MAC, RLC, PDCP and GTP.
//!
//! These encodings are memory images of x86-64 C structs: little endian, natural alignment, no version. An indication
//! message is `u32 count; count x element; i64 tstamp_us`, without padding in between. Padding inside an element is
//! written as zero and ignored on receipt. The event trigger is one `u32`, the period in milliseconds. The indication
//! header is one `u32` without meaning.
//!
//! A decoder checks the count against the length before it allocates. The elements therefore occupy at most as much
//! memory as the payload, apart from alignment.

use std::marker::PhantomData;
use std::time::Duration;

use bytes::{BufMut, Bytes};

use super::SmError;
use super::octets::{Code, octets, period_ms};

/// Bytes before the first element: the count.
pub const PREFIX_SIZE: usize = 4;
/// Bytes after the last element: the timestamp.
pub const SUFFIX_SIZE: usize = 8;
/// The indication header as FlexRIC's agents send it: one `u32`, zero.
pub const INDICATION_HEADER: [u8; 4] = [0; 4];

/// Reason why bytes are not a plain payload, or why an encoding does not fit a buffer. Unless documented otherwise it is an error of the
/// sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlainError {
    /// The payload is shorter than the minimum of its type.
    #[error("the plain payload has {have} bytes; at least {need} are required")]
    TooShort {
        /// Minimum length, in bytes.
        need: usize,
        /// Received length, in bytes.
        have: usize,
    },
    /// The count does not match the length: elements are missing or there are trailing bytes.
    #[error(
        "the plain payload has a count of {count} elements of {element_size} bytes, which requires {need} bytes in all, but has {have} bytes"
    )]
    CountMismatch {
        /// Number of elements according to the count.
        count: u32,
        /// Size of one element, in bytes.
        element_size: usize,
        /// Length required by the count, in bytes.
        need: u64,
        /// Received length, in bytes.
        have: usize,
    },
    /// A field of fixed size (event trigger, indication header) has another size.
    #[error("the plain {what} has {have} bytes, but must have exactly {need}")]
    WrongSize {
        /// Field.
        what: &'static str,
        /// Required size, in bytes.
        need: usize,
        /// Received size, in bytes.
        have: usize,
    },
    /// The caller's buffer is too small for the encoding (an error of the caller).
    #[error("the plain payload requires {need} bytes, but the buffer has room for {room}")]
    NoRoom {
        /// Size of the encoding, in bytes.
        need: usize,
        /// Space left in the buffer, in bytes.
        room: usize,
    },
}

/// One element of an indication's list: a UE, a bearer or a tunnel, of fixed size.
pub trait PlainElement: Sized {
    /// Size of one element in bytes, including padding.
    const SIZE: usize;
    /// An array of [`Self::SIZE`] bytes.
    type Bytes: AsRef<[u8]>;

    /// Returns the bytes of the element; padding is zero.
    fn to_bytes(&self) -> Self::Bytes;
    /// Reads an element from the start of `bytes`. Returns `None` if there are fewer than [`Self::SIZE`] bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// A borrowed indication message. Elements are decoded on access, and nothing is allocated.
#[derive(Debug, Clone, Copy)]
pub struct PlainView<'a, E> {
    elements: &'a [u8],
    tstamp_us: i64,
    element: PhantomData<E>,
}

impl<'a, E: PlainElement> PlainView<'a, E> {
    /// Checks the framing of `payload`: count and length must match exactly.
    pub fn new(payload: &'a [u8]) -> Result<Self, PlainError> {
        let too_short = PlainError::TooShort { need: PREFIX_SIZE + SUFFIX_SIZE, have: payload.len() };
        let (count, rest) = payload.split_first_chunk().ok_or(too_short)?;
        let (elements, tstamp) = rest.split_last_chunk().ok_or(too_short)?;
        let count = u32::from_le_bytes(*count);
        // Calculated in u64, because a large count times the element size would overflow a 32-bit usize.
        let body = u64::from(count) * E::SIZE as u64;
        if body != elements.len() as u64 {
            return Err(PlainError::CountMismatch {
                count,
                element_size: E::SIZE,
                need: body + (PREFIX_SIZE + SUFFIX_SIZE) as u64,
                have: payload.len(),
            });
        }
        Ok(Self { elements, tstamp_us: i64::from_le_bytes(*tstamp), element: PhantomData })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len() / E::SIZE
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns the element at `index`, or `None` beyond the last one.
    pub fn at(&self, index: usize) -> Option<E> {
        let start = index.checked_mul(E::SIZE)?;
        E::from_bytes(self.elements.get(start..)?)
    }

    /// Returns all elements in order.
    pub fn iter(&self) -> impl Iterator<Item = E> + use<'a, E> {
        self.elements.chunks_exact(E::SIZE).filter_map(E::from_bytes)
    }

    /// Returns the time of the statistics, in microseconds since the Unix epoch.
    pub fn tstamp_us(&self) -> i64 {
        self.tstamp_us
    }
}

/// Returns the length of an indication message with `count` elements of type `E`, in bytes.
pub const fn encoded_size<E: PlainElement>(count: usize) -> usize {
    PREFIX_SIZE.saturating_add(count.saturating_mul(E::SIZE)).saturating_add(SUFFIX_SIZE)
}

/// Appends an indication message to `out`: a `Vec<u8>`, a `BytesMut` or a `&mut [u8]` (which is advanced).
///
/// This does not allocate if `out` has the capacity; the iterator may create elements on the fly. Fails with
/// [`PlainError::NoRoom`], without writing anything, if `out` cannot grow and is too small.
pub fn encode_list<E, I, B>(out: &mut B, elements: I, tstamp_us: i64) -> Result<(), PlainError>
where
    E: PlainElement,
    I: IntoIterator<Item = E, IntoIter: ExactSizeIterator>,
    B: BufMut,
{
    let elements = elements.into_iter();
    let count = elements.len();
    let need = encoded_size::<E>(count);
    let room = out.remaining_mut();
    if room < need {
        return Err(PlainError::NoRoom { need, room });
    }
    // A count beyond u32 would need tens of gigabytes. It is saturated, and a receiver refuses it as a mismatch.
    out.put_u32_le(u32::try_from(count).unwrap_or(u32::MAX));
    for element in elements.take(count) {
        out.put_slice(element.to_bytes().as_ref());
    }
    out.put_i64_le(tstamp_us);
    Ok(())
}

/// Returns the timestamp of any plain indication message (its last eight bytes), in microseconds since the Unix
/// epoch.
///
/// Only checks the length: returns `None` if the payload is shorter than an empty list. Used to measure latency on
/// the hot path.
pub fn tstamp_us(payload: &[u8]) -> Option<i64> {
    if payload.len() < PREFIX_SIZE + SUFFIX_SIZE {
        return None;
    }
    payload.last_chunk().map(|bytes| i64::from_le_bytes(*bytes))
}

/// Minimum report period in milliseconds.
pub const PERIOD_MS_MIN: u32 = 1;
/// Maximum report period in milliseconds: one minute.
pub const PERIOD_MS_MAX: u32 = 60_000;

/// Event trigger definition of all plain models: periodic reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventTrigger {
    /// Interval between two indications, in milliseconds. Zero can be encoded; the agent decides whether to admit it.
    pub period_ms: u32,
}

impl EventTrigger {
    /// Length of an event trigger, in bytes.
    pub const SIZE: usize = 4;

    /// Returns the trigger for a report every `period`, rounded down to milliseconds, from [`PERIOD_MS_MIN`] to
    /// [`PERIOD_MS_MAX`].
    pub fn every(period: Duration) -> Result<Self, SmError> {
        period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX).map(|period_ms| Self { period_ms })
    }

    /// Encodes the event trigger.
    pub const fn encode(&self) -> [u8; Self::SIZE] {
        self.period_ms.to_le_bytes()
    }

    /// Decodes an event trigger; fails for any length but [`Self::SIZE`].
    pub fn decode(bytes: &[u8]) -> Result<Self, PlainError> {
        fixed_u32("event trigger", bytes).map(|period_ms| Self { period_ms })
    }
}

/// Decodes an indication header: the `u32` that peers leave at zero. Fails for any length but four bytes.
pub fn decode_indication_header(bytes: &[u8]) -> Result<u32, PlainError> {
    fixed_u32("indication header", bytes)
}

/// A single `u32`. Used as indication header (zero, without meaning), and as control header and control message of
/// FlexRIC's MAC model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Word(pub u32);

/// Packed-struct encoding of FlexRIC.
#[derive(Debug)]
pub(crate) struct Plain;

/// A value that has a plain encoding.
pub(crate) trait PlainOctets: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(octets: &[u8]) -> Result<Self, PlainError>;
}

impl<T: PlainOctets> Code<T> for Plain {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError> {
        value.put(out);
        Ok(())
    }

    fn decode(octets: &Bytes) -> Result<T, SmError> {
        Ok(T::take(octets)?)
    }
}

impl PlainOctets for EventTrigger {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.encode());
    }

    fn take(octets: &[u8]) -> Result<Self, PlainError> {
        Self::decode(octets)
    }
}

impl PlainOctets for Word {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }

    fn take(octets: &[u8]) -> Result<Self, PlainError> {
        fixed_u32("word", octets).map(Self)
    }
}

// These values are packed structs in every encoding of a statistics model.
octets! {
    EventTrigger: Plain => Plain, Per => Plain, Flat => Plain;
    Word: Plain => Plain, Per => Plain, Flat => Plain;
}

fn fixed_u32(what: &'static str, bytes: &[u8]) -> Result<u32, PlainError> {
    let octets = bytes.try_into().map_err(|_| PlainError::WrongSize { what, need: 4, have: bytes.len() })?;
    Ok(u32::from_le_bytes(octets))
}

/// A field of an element: a little-endian number, or a type that is encoded as such numbers.
pub(crate) trait PlainField: Sized {
    /// Size of the field, in bytes.
    const SIZE: usize;
    /// Writes the field to `to`, which has exactly [`Self::SIZE`] bytes.
    fn put(&self, to: &mut [u8]);
    /// Reads the field from `from`, which has exactly [`Self::SIZE`] bytes.
    fn take(from: &[u8]) -> Self;
}

macro_rules! number_fields {
    ($($number:ty)*) => { $(
        impl PlainField for $number {
            const SIZE: usize = size_of::<Self>();
            fn put(&self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn take(from: &[u8]) -> Self {
                let mut octets = [0; size_of::<Self>()];
                octets.copy_from_slice(from);
                Self::from_le_bytes(octets)
            }
        }
    )* };
}
number_fields!(u8 i8 u16 u32 u64 f32 f64);

impl<const N: usize> PlainField for [u32; N] {
    const SIZE: usize = 4 * N;
    fn put(&self, to: &mut [u8]) {
        for (value, octets) in self.iter().zip(to.chunks_exact_mut(4)) {
            value.put(octets);
        }
    }
    fn take(from: &[u8]) -> Self {
        let mut values = [0; N];
        for (value, octets) in values.iter_mut().zip(from.chunks_exact(4)) {
            *value = u32::take(octets);
        }
        values
    }
}

/// Defines the codec of an element from its layout, `offset => field: type`. Bytes that no field covers are padding.
/// Fields that overlap, are out of order or exceed the size do not compile.
macro_rules! plain_element {
    ($element:ident, $size:literal, { $($offset:literal => $field:ident : $type:ty),+ $(,)? }) => {
        impl $crate::e2sm::plain::PlainElement for $element {
            const SIZE: usize = $size;
            type Bytes = [u8; $size];

            fn to_bytes(&self) -> [u8; $size] {
                let mut bytes = [0; $size];
                $(<$type as $crate::e2sm::plain::PlainField>::put(
                    &self.$field,
                    &mut bytes[$offset..$offset + <$type as $crate::e2sm::plain::PlainField>::SIZE],
                );)+
                bytes
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let bytes: &[u8; $size] = bytes.first_chunk()?;
                Some(Self {
                    $($field: <$type as $crate::e2sm::plain::PlainField>::take(
                        &bytes[$offset..$offset + <$type as $crate::e2sm::plain::PlainField>::SIZE],
                    ),)+
                })
            }
        }

        impl $crate::e2sm::list::Element for $element {
            fn put_per(&self, to: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                $(<$type as $crate::e2sm::list::PerField>::put_per(&self.$field, to)?;)+
                Ok(())
            }

            fn take_per(from: &mut $crate::per::Reader) -> Result<Self, $crate::per::DecodeError> {
                Ok(Self { $($field: <$type as $crate::e2sm::list::PerField>::take_per(from)?,)+ })
            }
        }

        const _: () = {
            let mut end = 0;
            $(
                assert!(end <= $offset, "fields must not overlap and must be in order of their offsets");
                end = $offset + <$type as $crate::e2sm::plain::PlainField>::SIZE;
            )+
            assert!(end <= $size, "fields must not exceed the size of the element");
        };
    };
}
pub(crate) use plain_element;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2sm::gtp::{GtpTunnel, GtpView};

    const TUNNEL: GtpTunnel = GtpTunnel { rnti: 1, teid_gnb: 2, qfi: 3, teid_upf: 4 };

    #[test]
    fn trigger_is_little_endian_milliseconds() {
        let trigger = EventTrigger { period_ms: 10 };
        assert_eq!(trigger.encode(), [0x0a, 0, 0, 0]);
        assert_eq!(EventTrigger::decode(&[0x0a, 0, 0, 0]), Ok(trigger));
        for size in [0, 1, 3, 5, 8] {
            assert!(matches!(
                EventTrigger::decode(&vec![0; size]),
                Err(PlainError::WrongSize { need: 4, have, .. }) if have == size
            ));
        }
    }

    #[test]
    fn plain_indication_header_has_four_bytes() {
        assert_eq!(decode_indication_header(&INDICATION_HEADER), Ok(0));
        assert!(decode_indication_header(&[]).is_err());
        assert!(decode_indication_header(&[0; 5]).is_err());
    }

    #[test]
    fn timestamp_is_last_eight_bytes() {
        let mut out = Vec::new();
        encode_list(&mut out, [TUNNEL], -7).unwrap();
        assert_eq!(tstamp_us(&out), Some(-7));
        assert_eq!(tstamp_us(&out[..11]), None);
        assert_eq!(tstamp_us(&[]), None);
    }

    #[test]
    fn excessive_count_is_refused_before_allocation() {
        let mut payload = u32::MAX.to_le_bytes().to_vec();
        payload.extend([0; 20]);
        let refused = GtpView::new(&payload).unwrap_err();
        assert_eq!(
            refused,
            PlainError::CountMismatch {
                count: u32::MAX,
                element_size: 12,
                need: u64::from(u32::MAX) * 12 + 12,
                have: 24
            }
        );
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut out = Vec::new();
        encode_list(&mut out, [TUNNEL, TUNNEL], 0).unwrap();
        assert!(GtpView::new(&out).is_ok());
        out.push(0);
        assert!(matches!(GtpView::new(&out), Err(PlainError::CountMismatch { count: 2, .. })));
    }

    #[test]
    fn buffer_that_is_too_small_is_unchanged() {
        let mut room = [0xaa; 23];
        let refused = encode_list(&mut &mut room[..], [TUNNEL], 0).unwrap_err();
        assert_eq!(refused, PlainError::NoRoom { need: 24, room: 23 });
        assert_eq!(room, [0xaa; 23]);
    }

    #[test]
    fn encoding_with_sufficient_capacity_does_not_allocate() {
        let mut out = Vec::with_capacity(encoded_size::<GtpTunnel>(3));
        let before = (out.as_ptr(), out.capacity());
        encode_list(&mut out, [TUNNEL; 3], 5).unwrap();
        assert_eq!((out.as_ptr(), out.capacity()), before);
        assert_eq!(out.len(), out.capacity());
    }

    #[test]
    fn view_returns_each_element_and_nothing_beyond() {
        let mut out = Vec::new();
        let other = GtpTunnel { rnti: 9, ..TUNNEL };
        encode_list(&mut out, [TUNNEL, other], 5).unwrap();
        let view = GtpView::new(&out).unwrap();
        assert_eq!((view.len(), view.is_empty(), view.tstamp_us()), (2, false, 5));
        assert_eq!((view.at(0), view.at(1), view.at(2)), (Some(TUNNEL), Some(other), None));
        assert_eq!(view.at(usize::MAX), None);
        assert!(view.iter().eq([TUNNEL, other]));
    }
}
