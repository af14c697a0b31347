//! Values and their encodings: which there are is a value per model and connection.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::per::Text;
use super::plain::PlainError;
use crate::flat::{Coding, FlatError};
use crate::per::{DecodeError, DecodeFault, EncodeError, Form};

/// How a service model's values are octets. A model lists those that it has; a connection uses one of them.
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
    /// As in options and scenarios.
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

/// Why octets are no value of a service model, or a value has no octets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SmError {
    /// Not packed structs: the sender's fault.
    #[error(transparent)]
    Plain(#[from] PlainError),
    /// Not aligned PER: the sender's fault.
    #[error("not aligned PER: {0}")]
    Decode(#[from] DecodeError),
    /// Not FlatBuffers of this project's schema: the sender's fault.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// Not JSON of the model's: the sender's fault, or the caller's.
    #[error("not JSON of the service model: {0}")]
    Json(String),
    /// A value outside its constraints: the caller's fault.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The model has no such encoding: the caller's fault.
    #[error("the service model has no encoding {asked}; allowed: {}", list(allowed))]
    Encoding {
        /// What was asked for.
        asked: Encoding,
        /// What there is.
        allowed: &'static [Encoding],
    },
    /// An indication that is only partly in rows, and why: the sender's fault.
    #[error("left out: {0}")]
    LeftOut(String),
    /// A control that no base station can carry out: the caller's fault.
    #[error("{0}")]
    Order(String),
    /// Octets where the model has none: the sender's fault.
    #[error("{have} octets where the service model has none")]
    NotEmpty {
        /// Octets received.
        have: usize,
    },
    /// The model has no such octet string at all (an action definition, a control, an outcome).
    #[error("the service model has no {0}")]
    Absent(&'static str),
    /// Not a value by names: the caller's fault.
    #[error("{fault}{}{field}", if field.is_empty() { "" } else { " in " })]
    Form {
        /// What is wrong.
        fault: DecodeFault,
        /// In which component.
        field: &'static str,
    },
    /// A report period out of range: the caller's fault.
    #[error("a report period is from {min:?} to {max:?}, not {period:?}")]
    Period {
        /// What was asked for.
        period: Duration,
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
}

/// A report period in whole milliseconds, rounded down, if it is within `min_ms` and `max_ms`.
pub(crate) fn period_ms(period: Duration, min_ms: u32, max_ms: u32) -> Result<u32, SmError> {
    let ms = u32::try_from(period.as_millis()).ok().filter(|ms| (min_ms..=max_ms).contains(ms));
    let span = |ms: u32| Duration::from_millis(ms.into());
    ms.ok_or_else(|| SmError::Period { period, min: span(min_ms), max: span(max_ms) })
}

fn list(encodings: &[Encoding]) -> String {
    encodings.iter().map(Encoding::to_string).collect::<Vec<_>>().join(", ")
}

/// What a type without names lacks.
const NO_FORM: &str = "form by names for this: take octets";

/// A value that travels as an octet string of E2AP.
pub trait Octets: Sized {
    /// The encodings that it has, the customary one first.
    const ENCODINGS: &'static [Encoding];

    /// Appends the value to `out`. On an error `out` is as before.
    fn encode_as(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), SmError>;

    /// Reads a value that fills `octets` exactly; octet strings in it share the memory of `octets`.
    fn decode_as(encoding: Encoding, octets: &Bytes) -> Result<Self, SmError>;

    /// As [`decode_as`](Self::decode_as) from a node that writes this ASN.1 text. `text` changes if the bytes are complete
    /// in the other one alone.
    fn decode_in(encoding: Encoding, octets: &Bytes, text: &mut Text) -> Result<Self, SmError> {
        let _ = text;
        Self::decode_as(encoding, octets)
    }

    /// Reads a value by the names of its components. Fails with [`SmError::Absent`] for a type without names.
    fn from_form(form: Form) -> Result<Self, SmError> {
        let _ = form;
        Err(SmError::Absent(NO_FORM))
    }

    /// The value by the names of its components; fails as [`from_form`](Self::from_form).
    fn to_form(&self) -> Result<Form, SmError> {
        Err(SmError::Absent(NO_FORM))
    }

    /// The value as octets of its own.
    fn to_octets(&self, encoding: Encoding) -> Result<Bytes, SmError> {
        let mut out = Vec::new();
        self.encode_as(encoding, &mut out)?;
        Ok(out.into())
    }
}

/// Nothing, as no octets: a header that a model does not have.
impl Octets for () {
    const ENCODINGS: &'static [Encoding] = &[Encoding::Plain, Encoding::Per, Encoding::Flat, Encoding::Json];

    fn encode_as(&self, _: Encoding, _: &mut Vec<u8>) -> Result<(), SmError> {
        Ok(())
    }

    fn decode_as(_: Encoding, octets: &Bytes) -> Result<Self, SmError> {
        if octets.is_empty() { Ok(()) } else { Err(SmError::NotEmpty { have: octets.len() }) }
    }

    fn from_form(form: Form) -> Result<Self, SmError> {
        if form == Form::Null { Ok(()) } else { Err(SmError::Absent("such part: leave it out")) }
    }

    fn to_form(&self) -> Result<Form, SmError> {
        Ok(Form::Null)
    }
}

/// What a model does not have at all: there is no value of it.
impl Octets for Infallible {
    const ENCODINGS: &'static [Encoding] = &[];

    fn encode_as(&self, _: Encoding, _: &mut Vec<u8>) -> Result<(), SmError> {
        match *self {}
    }

    fn decode_as(_: Encoding, _: &Bytes) -> Result<Self, SmError> {
        Err(SmError::Absent("such octet string"))
    }
}

/// One encoding of the values of a type.
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

/// Gives a type its encodings, the customary one first: `octets! { Ping: Per => Aligned }`. A further one is a further
/// pair here and a file in the model's folder.
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
    // The customary encoding says whether there are names.
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
