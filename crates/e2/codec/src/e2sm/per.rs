//! What the aligned-PER encodings of service models share: a value alone in an octet string.

use std::fmt;

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
    encode_with(out, Text::Standard, write)
}

fn encode_with(
    out: &mut Vec<u8>,
    text: Text,
    write: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let before = out.len();
    let mut writer = Writer::new(std::mem::take(out), ANY_VERSION);
    if text == Text::Modified {
        writer = writer.with_merged_additions();
    }
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

/// Which ASN.1 text an encoding of O-RAN's service models follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Text {
    /// O-RAN's.
    #[default]
    Standard,
    /// The one that FlexRIC up to 2.0 is built from by default: each extension mark stands behind the additions.
    Modified,
}

impl Text {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Standard => Self::Modified,
            Self::Modified => Self::Standard,
        }
    }

    /// As in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Modified => "modified",
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "O-RAN's ASN.1",
            Self::Modified => "the modified ASN.1 of FlexRIC up to 2.0",
        })
    }
}

/// As [`decode`], from either text; the one that consumes all bytes decides, the standard if both do.
pub fn decode_either<T: Per>(octets: &Bytes) -> Result<(T, Text), DecodeError> {
    either(|text| whole(reader_of(octets.clone(), text)))
}

fn either<T>(read: impl Fn(Text) -> Result<T, DecodeError>) -> Result<(T, Text), DecodeError> {
    let mut text = Text::Standard;
    let value = learn(&mut text, read)?;
    Ok((value, text))
}

/// As [`decode`], from the text that `text` names, or else from the other one, which `text` names from then on.
pub fn decode_in<T: Per>(octets: &Bytes, text: &mut Text) -> Result<T, DecodeError> {
    learn(text, |text| whole(reader_of(octets.clone(), text)))
}

/// What `read` makes of the text that is named, or else of the other one; the fault is that of the standard.
pub(super) fn learn<T>(
    text: &mut Text,
    read: impl Fn(Text) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let first = match read(*text) {
        Ok(value) => return Ok(value),
        Err(fault) => fault,
    };
    match (read(text.other()), *text) {
        (Ok(value), _) => {
            *text = text.other();
            Ok(value)
        }
        (Err(_), Text::Standard) => Err(first),
        (Err(fault), Text::Modified) => Err(fault),
    }
}

/// A reader of bytes in one of the texts.
pub(super) fn reader_of(octets: Bytes, text: Text) -> Reader {
    match text {
        Text::Standard => reader(octets),
        Text::Modified => reader(octets).with_merged_additions(),
    }
}

/// As [`encode`], in one of the texts.
pub fn encode_in<T: Per>(value: &T, text: Text, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    encode_with(out, text, |writer| value.encode(writer))
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
