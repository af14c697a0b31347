//! Common part of the aligned-PER encodings of service models: a single value in an octet string.

use std::fmt;

use bytes::Bytes;

use super::octets::Code;
use super::{Encoding, SmError};
use crate::e2ap::Version;
use crate::per::{
    DecodeError, DecodeFault, EncodeError, Form, FormSource, Notation, Per, Random, Reader, Source, Writer,
};

/// Version passed to the PER engine, which requires one. Service models do not depend on the version of E2AP.
const ANY_VERSION: Version = Version::V2_03;

/// Appends the encoding of `value` to `out`; does not allocate if the capacity suffices. On an error (a value
/// violates its constraints, an error of the caller) `out` is unchanged.
pub fn encode<T: Per>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    encode_by(out, |writer| value.encode(writer))
}

/// Encodes like [`encode`], with the given writer function.
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
    writer = match text {
        Text::Standard => writer,
        Text::Modified => writer.with_merged_additions(),
        Text::Early => writer.with_bare_conditions(),
    };
    let outcome = write(&mut writer);
    *out = writer.into_vec();
    if out.len() == before && outcome.is_ok() {
        out.push(0); // X.691 §11.1: a complete encoding has at least one byte
    }
    if outcome.is_err() {
        out.truncate(before);
    }
    outcome
}

/// Decodes a value that must consume all bytes; trailing bytes are an error of the sender. Octet strings in the value
/// share the memory of `octets`.
pub fn decode<T: Per>(octets: Bytes) -> Result<T, DecodeError> {
    whole(reader(octets))
}

/// Returns a reader of a service model's bytes.
pub(super) fn reader(octets: Bytes) -> Reader {
    Reader::new(octets, ANY_VERSION)
}

/// ASN.1 text that an encoding of O-RAN's service models follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Text {
    /// The standard text of O-RAN.
    #[default]
    Standard,
    /// The modified text that FlexRIC up to 2.0 uses by default: each extension mark follows the additions.
    Modified,
    /// The text of KPM 2.00, in which a condition cannot be combined with others. O-RAN SC's kpimon-go uses it.
    Early,
}

impl Text {
    /// All texts, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Modified, Self::Early];

    /// Returns the name used in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Modified => "modified",
            Self::Early => "early",
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "O-RAN's ASN.1",
            Self::Modified => "the modified ASN.1 of FlexRIC up to 2.0",
            Self::Early => "the ASN.1 of KPM 2.00",
        })
    }
}

/// Decodes like [`decode`] in any text. The first text that consumes all bytes is used.
pub fn decode_either<T: Per>(octets: &Bytes) -> Result<(T, Text), DecodeError> {
    either(|text| whole(reader_of(octets.clone(), text)))
}

fn either<T>(read: impl Fn(Text) -> Result<T, DecodeError>) -> Result<(T, Text), DecodeError> {
    let mut text = Text::Standard;
    let value = learn(&mut text, read)?;
    Ok((value, text))
}

/// Decodes like [`decode`] in the text `text`, or in another one, to which `text` is then set.
pub fn decode_in<T: Per>(octets: &Bytes, text: &mut Text) -> Result<T, DecodeError> {
    learn(text, |text| whole(reader_of(octets.clone(), text)))
}

/// Calls `read` with the text `text`, then with the other texts until one succeeds. If all fail, returns the error of the standard text.
pub(super) fn learn<T>(
    text: &mut Text,
    read: impl Fn(Text) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let first = match read(*text) {
        Ok(value) => return Ok(value),
        Err(fault) => fault,
    };
    let mut standard = (*text == Text::Standard).then_some(first.clone());
    for other in Text::ALL.into_iter().filter(|other| other != text) {
        match read(other) {
            Ok(value) => {
                *text = other;
                return Ok(value);
            }
            Err(fault) if other == Text::Standard => standard = Some(fault),
            Err(_) => {}
        }
    }
    Err(standard.unwrap_or(first))
}

/// Returns a reader for one of the texts.
pub(super) fn reader_of(octets: Bytes, text: Text) -> Reader {
    match text {
        Text::Standard => reader(octets),
        Text::Modified => reader(octets).with_merged_additions(),
        Text::Early => reader(octets).with_bare_conditions(),
    }
}

/// Encodes like [`encode`] in one of the texts.
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

/// Aligned PER encoding.
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

/// Creates a value from its named components.
pub fn by_names<T: Per>(form: Form) -> Result<T, SmError> {
    T::decode(&mut FormSource::new(form))
        .map_err(|DecodeError { fault, field, .. }| SmError::Form { fault, field })
}

/// For out-of-tree service models: implements [`Octets`](crate::e2sm::Octets) in aligned PER for types declared with
/// [`sequence!`](crate::sequence) and similar macros.
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

/// Returns a random valid value; the same seed yields the same value. Fails only for a type whose constraints cannot
/// be fulfilled.
pub fn sample<T: Per>(seed: u64) -> Result<T, DecodeError> {
    T::decode(&mut Random::new(seed, ANY_VERSION))
}
