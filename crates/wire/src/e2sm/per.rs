//! What the aligned-PER encodings of service models share: a value alone in an octet string.

use bytes::Bytes;

use super::octets::Code;
use super::{Encoding, SmError};
use crate::e2ap::Version;
use crate::per::{
    DecodeError, DecodeFault, EncodeError, Form, FormSource, Notation, Per, Random, Reader, Source, Writer,
};

/// Service models do not depend on E2AP's version; the engine asks for one all the same.
const ANY_VERSION: Version = Version::V2_03;

/// Appends the encoding of `value` to `out`; allocates nothing if the capacity suffices. On an error (a value outside
/// its constraints: the caller's fault) `out` is as before.
pub fn encode<T: Per>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    encode_by(out, |writer| value.encode(writer))
}

/// As [`encode`], of what `write` writes.
pub(super) fn encode_by(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let before = out.len();
    let mut writer = Writer::new(std::mem::take(out), ANY_VERSION);
    let outcome = write(&mut writer);
    *out = writer.into_vec();
    if out.len() == before && outcome.is_ok() {
        out.push(0); // X.691 §11.1: a complete encoding has one octet at least
    }
    if outcome.is_err() {
        out.truncate(before);
    }
    outcome
}

/// Reads a value that fills `octets` exactly; octets that trail are an error (the sender's fault). Octet strings in the
/// value share the memory of `octets`.
pub fn decode<T: Per>(octets: Bytes) -> Result<T, DecodeError> {
    whole(reader(octets))
}

/// A reader of a service model's octets.
pub(super) fn reader(octets: Bytes) -> Reader {
    Reader::new(octets, ANY_VERSION)
}

/// As [`decode`], with the additions of each CHOICE in its root ([`Reader::with_merged_alternatives`]).
pub(super) fn decode_merged<T: Per>(octets: Bytes) -> Result<T, DecodeError> {
    whole(reader(octets).with_merged_alternatives())
}

fn whole<T: Per>(mut reader: Reader) -> Result<T, DecodeError> {
    let value = T::decode(&mut reader)?;
    if reader.remaining() > 0 {
        return Err(reader.fault(DecodeFault::InvalidLength));
    }
    Ok(value)
}

/// Aligned PER, as a code among others.
#[derive(Debug)]
pub(crate) struct Aligned;

impl<T: Per> Code<T> for Aligned {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError> {
        Ok(encode(value, out)?)
    }

    fn decode(octets: &Bytes) -> Result<T, SmError> {
        Ok(decode(octets.clone())?)
    }

    fn from_form(form: Form) -> Result<T, SmError> {
        by_names(form)
    }

    fn to_form(value: &T) -> Result<Form, SmError> {
        Ok(Notation::form(|n| value.show(n)))
    }
}

/// Reads a value by the names of its components.
pub fn by_names<T: Per>(form: Form) -> Result<T, SmError> {
    T::decode(&mut FormSource::new(form))
        .map_err(|DecodeError { fault, field, .. }| SmError::Form { fault, field })
}

/// For a service model out of tree: gives types that are declared with [`sequence!`](crate::sequence) and its like
/// their octet strings ([`Octets`](crate::e2sm::Octets)), in aligned PER.
#[macro_export]
macro_rules! per_octets {
    ($($type:ty),+ $(,)?) => { $(
        impl $crate::e2sm::Octets for $type {
            const ENCODINGS: &'static [$crate::e2sm::Encoding] = &[$crate::e2sm::Encoding::Per];

            fn encode_as(
                &self,
                encoding: $crate::e2sm::Encoding,
                out: &mut Vec<u8>,
            ) -> Result<(), $crate::e2sm::SmError> {
                $crate::e2sm::per::only(encoding)?;
                Ok($crate::e2sm::per::encode(self, out)?)
            }

            fn decode_as(
                encoding: $crate::e2sm::Encoding,
                octets: &$crate::Bytes,
            ) -> Result<Self, $crate::e2sm::SmError> {
                $crate::e2sm::per::only(encoding)?;
                Ok($crate::e2sm::per::decode(octets.clone())?)
            }

            fn from_form(form: $crate::per::Form) -> Result<Self, $crate::e2sm::SmError> {
                $crate::e2sm::per::by_names(form)
            }

            fn to_form(&self) -> Result<$crate::per::Form, $crate::e2sm::SmError> {
                Ok($crate::per::Notation::form(|n| $crate::per::Per::show(self, n)))
            }
        }
    )+ };
}

/// Refuses any encoding but PER.
#[doc(hidden)]
pub fn only(asked: Encoding) -> Result<(), SmError> {
    match asked {
        Encoding::Per => Ok(()),
        asked => Err(SmError::Encoding { asked, allowed: &[Encoding::Per] }),
    }
}

/// A random valid value, the same for the same seed. Fails only for a type whose constraints no value fulfils.
pub fn sample<T: Per>(seed: u64) -> Result<T, DecodeError> {
    T::decode(&mut Random::new(seed, ANY_VERSION))
}
