//! Values and their encodings, which are chosen per model and connection.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::per::Text;
use super::plain::PlainError;
use crate::flat::{Coding, FlatError};
use crate::per::{DecodeError, DecodeFault, EncodeError, Form};

/// Encoding of a service model's values. A model lists its encodings; a connection uses one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Encoding {
    /// Packed structs of FlexRIC and OpenAirInterface ([`plain`](super::plain)).
    Plain,
    /// Aligned PER, X.691 ([`per`](super::per)).
    Per,
    /// FlatBuffers ([`flat`](crate::flat)).
    Flat,
    /// JSON text ([`ccc`](super::ccc)).
    Json,
}

impl Encoding {
    /// Returns the name used in options and scenarios.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Per => "per",
            Self::Flat => "flat",
            Self::Json => "json",
        }
    }
}

impl From<Coding> for Encoding {
    fn from(coding: Coding) -> Self {
        match coding {
            Coding::Per => Self::Per,
            Coding::Flat => Self::Flat,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// Reason why bytes are not a value of a service model, or a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SmError {
    /// The bytes are not packed structs: an error of the sender.
    #[error(transparent)]
    Plain(#[from] PlainError),
    /// The bytes are not aligned PER: an error of the sender.
    #[error("not aligned PER: {0}")]
    Decode(#[from] DecodeError),
    /// The bytes are not FlatBuffers of ranlab's schema: an error of the sender.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// The text is not JSON of the model: an error of the sender or the caller.
    #[error("not JSON of the service model: {0}")]
    Json(String),
    /// A value violates its constraints: an error of the caller.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The model does not have the encoding: an error of the caller.
    #[error("the service model has no encoding {asked}; allowed: {}", list(allowed))]
    Encoding {
        /// Requested encoding.
        asked: Encoding,
        /// Available encodings.
        allowed: &'static [Encoding],
    },
    /// An indication that can only partly be converted to rows, and the reason: an error of the sender.
    #[error("a part of the indication is left out: {0}")]
    LeftOut(String),
    /// A control that no base station can execute: an error of the caller.
    #[error("{0}")]
    Order(String),
    /// A control that the node's RAN function definition does not list: an error of the caller.
    #[error("the base station does not offer {what}; it offers {offered}")]
    NotOffered {
        /// Requested item.
        what: String,
        /// Items that the definition lists.
        offered: String,
    },
    /// The octet string must be empty: an error of the sender.
    #[error("the octet string has {have} bytes; the service model requires it to be empty")]
    NotEmpty {
        /// Number of received bytes.
        have: usize,
    },
    /// The model does not have this octet string (an action definition, a control, an outcome).
    #[error("the service model has no {0}")]
    Absent(&'static str),
    /// The named values are invalid: an error of the caller.
    #[error("{fault}{}{field}", if field.is_empty() { "" } else { " in " })]
    Form {
        /// Kind of the error.
        fault: DecodeFault,
        /// Component with the error.
        field: &'static str,
    },
    /// The report period is out of range: an error of the caller.
    #[error("a report period must be {min:?} to {max:?}, not {period:?}")]
    Period {
        /// Requested period.
        period: Duration,
        /// Minimum period.
        min: Duration,
        /// Maximum period.
        max: Duration,
    },
}

/// Returns a report period in whole milliseconds, rounded down, if it is between `min_ms` and `max_ms`.
pub(crate) fn period_ms(period: Duration, min_ms: u32, max_ms: u32) -> Result<u32, SmError> {
    let ms = u32::try_from(period.as_millis()).ok().filter(|ms| (min_ms..=max_ms).contains(ms));
    let span = |ms: u32| Duration::from_millis(ms.into());
    ms.ok_or_else(|| SmError::Period { period, min: span(min_ms), max: span(max_ms) })
}

fn list(encodings: &[Encoding]) -> String {
    encodings.iter().map(Encoding::to_string).collect::<Vec<_>>().join(", ")
}

/// Error text for types without named components.
const NO_FORM: &str = "named form of this value; write its bytes";

/// A value that is transferred as an octet string of E2AP.
pub trait Octets: Sized {
    /// Encodings of the value, the default first.
    const ENCODINGS: &'static [Encoding];

    /// Appends the value to `out`. On an error `out` is unchanged.
    fn encode_as(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), SmError>;

    /// Decodes a value that must consume all bytes. Octet strings in it share the memory of `octets`.
    fn decode_as(encoding: Encoding, octets: &Bytes) -> Result<Self, SmError>;

    /// Decodes like [`decode_as`](Self::decode_as), for a node that uses this ASN.1 text. `text` changes if the bytes are only valid in
    /// another text.
    fn decode_in(encoding: Encoding, octets: &Bytes, text: &mut Text) -> Result<Self, SmError> {
        let _ = text;
        Self::decode_as(encoding, octets)
    }

    /// Creates a value from its named components. Fails with [`SmError::Absent`] for a type without named components.
    fn from_form(form: Form) -> Result<Self, SmError> {
        let _ = form;
        Err(SmError::Absent(NO_FORM))
    }

    /// Returns the named components of the value. Fails like [`from_form`](Self::from_form).
    fn to_form(&self) -> Result<Form, SmError> {
        Err(SmError::Absent(NO_FORM))
    }

    /// Encodes the value to a new buffer.
    fn to_octets(&self, encoding: Encoding) -> Result<Bytes, SmError> {
        let mut out = Vec::new();
        self.encode_as(encoding, &mut out)?;
        Ok(out.into())
    }
}

/// An empty octet string: a header that a model does not have.
impl Octets for () {
    const ENCODINGS: &'static [Encoding] = &[Encoding::Plain, Encoding::Per, Encoding::Flat, Encoding::Json];

    fn encode_as(&self, _: Encoding, _: &mut Vec<u8>) -> Result<(), SmError> {
        Ok(())
    }

    fn decode_as(_: Encoding, octets: &Bytes) -> Result<Self, SmError> {
        if octets.is_empty() { Ok(()) } else { Err(SmError::NotEmpty { have: octets.len() }) }
    }

    fn from_form(form: Form) -> Result<Self, SmError> {
        if form == Form::Null { Ok(()) } else { Err(SmError::Absent("value for this octet string; omit it")) }
    }

    fn to_form(&self) -> Result<Form, SmError> {
        Ok(Form::Null)
    }
}

/// An octet string that a model does not have at all; it has no values.
impl Octets for Infallible {
    const ENCODINGS: &'static [Encoding] = &[];

    fn encode_as(&self, _: Encoding, _: &mut Vec<u8>) -> Result<(), SmError> {
        match *self {}
    }

    fn decode_as(_: Encoding, _: &Bytes) -> Result<Self, SmError> {
        Err(SmError::Absent("such octet string"))
    }
}

/// An encoding of the values of a type.
pub(crate) trait Code<T> {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError>;
    fn decode(octets: &Bytes) -> Result<T, SmError>;
    fn decode_in(octets: &Bytes, _text: &mut Text) -> Result<T, SmError> {
        Self::decode(octets)
    }
    fn from_form(_: Form) -> Result<T, SmError> {
        Err(SmError::Absent(NO_FORM))
    }
    fn to_form(_: &T) -> Result<Form, SmError> {
        Err(SmError::Absent(NO_FORM))
    }
}

/// Defines the encodings of a type, the default first: `octets! { Ping: Per => Aligned }`. A further encoding needs
/// another pair here and a file in the model's folder.
macro_rules! octets {
    ($($type:ty: $($encoding:ident => $code:ty),+;)+) => { $(
        impl $crate::e2sm::Octets for $type {
            const ENCODINGS: &'static [$crate::e2sm::Encoding] = &[$($crate::e2sm::Encoding::$encoding),+];

            fn encode_as(
                &self,
                encoding: $crate::e2sm::Encoding,
                out: &mut Vec<u8>,
            ) -> Result<(), $crate::e2sm::SmError> {
                match encoding {
                    $($crate::e2sm::Encoding::$encoding => {
                        <$code as $crate::e2sm::octets::Code<Self>>::encode(self, out)
                    })+
                    asked => Err($crate::e2sm::SmError::Encoding { asked, allowed: Self::ENCODINGS }),
                }
            }

            fn decode_as(
                encoding: $crate::e2sm::Encoding,
                octets: &bytes::Bytes,
            ) -> Result<Self, $crate::e2sm::SmError> {
                match encoding {
                    $($crate::e2sm::Encoding::$encoding => {
                        <$code as $crate::e2sm::octets::Code<Self>>::decode(octets)
                    })+
                    asked => Err($crate::e2sm::SmError::Encoding { asked, allowed: Self::ENCODINGS }),
                }
            }

            fn decode_in(
                encoding: $crate::e2sm::Encoding,
                octets: &bytes::Bytes,
                text: &mut $crate::e2sm::per::Text,
            ) -> Result<Self, $crate::e2sm::SmError> {
                match encoding {
                    $($crate::e2sm::Encoding::$encoding => {
                        <$code as $crate::e2sm::octets::Code<Self>>::decode_in(octets, text)
                    })+
                    asked => Err($crate::e2sm::SmError::Encoding { asked, allowed: Self::ENCODINGS }),
                }
            }

            $crate::e2sm::octets::octets!(@form $($code),+);
        }
    )+ };
    // The default encoding determines whether the type has named components.
    (@form $code:ty $(, $other:ty)*) => {
        fn from_form(form: $crate::per::Form) -> Result<Self, $crate::e2sm::SmError> {
            <$code as $crate::e2sm::octets::Code<Self>>::from_form(form)
        }

        fn to_form(&self) -> Result<$crate::per::Form, $crate::e2sm::SmError> {
            <$code as $crate::e2sm::octets::Code<Self>>::to_form(self)
        }
    };
}
pub(crate) use octets;
