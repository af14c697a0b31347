//! The 39 messages, one table each, in the order of the encoding.
mod functional;
mod global;
mod modification;

pub use functional::*;
pub use global::*;
pub use modification::*;

use super::RanFunctionIdCodec;
use crate::e2ap::Version;
use crate::per::{Codec, DecodeError, EncodeError, List, Notation, Opt, Source, Writer};
use std::marker::PhantomData;

/// RANfunctions-List and similar lists: 0 to 256 elements in v1.01, 1 to 256 since v2.03 (the length takes one byte
/// less).
#[derive(Debug)]
pub struct FunctionList<C>(PhantomData<C>);

impl<T, C: Codec<T>> Codec<Vec<T>> for FunctionList<C> {
    fn encode(value: &Vec<T>, w: &mut Writer) -> Result<(), EncodeError> {
        match w.version() {
            Version::V1_01 => List::<0, 256, C>::encode(value, w),
            _ => List::<1, 256, C>::encode(value, w),
        }
    }
    fn decode<S: Source>(r: &mut S) -> Result<Vec<T>, DecodeError> {
        match r.version() {
            Version::V1_01 => List::<0, 256, C>::decode(r),
            _ => List::<1, 256, C>::decode(r),
        }
    }
    fn show(value: &Vec<T>, n: &mut Notation) {
        List::<0, 256, C>::show(value, n);
    }
}

/// Codec of a message field: a plain codec if the field is mandatory in every version, otherwise [`Opt`].
pub(crate) trait Slot<T> {
    fn is_present(value: &T) -> bool;
    fn put(value: &T, w: &mut Writer) -> Result<(), EncodeError>;
    fn take<S: Source>(r: &mut S) -> Result<T, DecodeError>;
    /// Returns the value of the field from the element found in the container.
    fn finish(found: Option<T>) -> Option<T>;
    fn print(value: &T, n: &mut Notation);
}

impl<T, C: Codec<T>> Slot<T> for C {
    fn is_present(_: &T) -> bool {
        true
    }
    fn put(value: &T, w: &mut Writer) -> Result<(), EncodeError> {
        C::encode(value, w)
    }
    fn take<S: Source>(r: &mut S) -> Result<T, DecodeError> {
        C::decode(r)
    }
    fn finish(found: Option<T>) -> Option<T> {
        found
    }
    fn print(value: &T, n: &mut Notation) {
        C::show(value, n);
    }
}

impl<T, C: Codec<T>> Slot<Option<T>> for Opt<C> {
    fn is_present(value: &Option<T>) -> bool {
        value.is_some()
    }
    fn put(value: &Option<T>, w: &mut Writer) -> Result<(), EncodeError> {
        value.as_ref().map_or(Ok(()), |v| C::encode(v, w))
    }
    fn take<S: Source>(r: &mut S) -> Result<Option<T>, DecodeError> {
        C::decode(r).map(Some)
    }
    fn finish(found: Option<Option<T>>) -> Option<Option<T>> {
        Some(found.flatten())
    }
    fn print(value: &Option<T>, n: &mut Notation) {
        if let Some(v) = value {
            C::show(v, n);
        }
    }
}
