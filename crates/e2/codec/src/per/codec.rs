//! Constraints as types: each codec implements one construct of X.691 with its bounds, monomorphised, without
//! run-time descriptors.
use super::{DecodeError, DecodeFault, EncodeError, FRAGMENT, Notation, Per, Source, Writer, real};
use bytes::Bytes;
use std::marker::PhantomData;

/// Encoding of a `T` under a constraint.
pub trait Codec<T> {
    /// Appends the encoding of `value`.
    fn encode(value: &T, w: &mut Writer) -> Result<(), EncodeError>;
    /// Decodes one value.
    fn decode<S: Source>(r: &mut S) -> Result<T, DecodeError>;
    /// Writes the value in ASN.1 value notation.
    fn show(value: &T, n: &mut Notation);
}

/// Encoding that the type itself defines ([`Per`]).
#[derive(Debug)]
pub struct SelfCoded;

impl<T: Per> Codec<T> for SelfCoded {
    fn encode(value: &T, w: &mut Writer) -> Result<(), EncodeError> {
        value.encode(w)
    }
    fn decode<S: Source>(r: &mut S) -> Result<T, DecodeError> {
        T::decode(r)
    }
    fn show(value: &T, n: &mut Notation) {
        value.show(n);
    }
}

/// INTEGER (LOW..HIGH).
#[derive(Debug)]
pub struct Int<const LOW: u64, const HIGH: u64>;

/// INTEGER (LOW..HIGH, ...).
#[derive(Debug)]
pub struct IntExt<const LOW: u64, const HIGH: u64>;

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl<const LOW: u64, const HIGH: u64> Codec<$t> for Int<LOW, HIGH> {
            fn encode(value: &$t, w: &mut Writer) -> Result<(), EncodeError> {
                w.constrained("integer", u64::from(*value), LOW, HIGH)
            }
            fn decode<S: Source>(r: &mut S) -> Result<$t, DecodeError> {
                narrow(r.constrained(LOW, HIGH)?, r)
            }
            fn show(value: &$t, n: &mut Notation) {
                n.value(value);
            }
        }
        impl<const LOW: u64, const HIGH: u64> Codec<$t> for IntExt<LOW, HIGH> {
            fn encode(value: &$t, w: &mut Writer) -> Result<(), EncodeError> {
                let v = u64::from(*value);
                let outside = v < LOW || v > HIGH;
                w.bit(outside);
                if outside {
                    // None of our protocols has an extensible integer beyond i64.
                    w.unconstrained(i64::try_from(v).unwrap_or(i64::MAX));
                    return Ok(());
                }
                w.constrained("integer", v, LOW, HIGH)
            }
            fn decode<S: Source>(r: &mut S) -> Result<$t, DecodeError> {
                if !r.extended()? {
                    return narrow(r.constrained(LOW, HIGH)?, r);
                }
                let v = r.unconstrained()?;
                narrow(v as u64, r)
            }
            fn show(value: &$t, n: &mut Notation) {
                n.value(value);
            }
        }
    )* };
}
integers!(u8 u16 u32 u64);

/// Converts the value to a narrower type. Fails if it does not fit.
fn narrow<T: TryFrom<u64>, S: Source>(value: u64, r: &S) -> Result<T, DecodeError> {
    let high = u64::MAX >> (64 - 8 * size_of::<T>() as u32);
    T::try_from(value).map_err(|_| r.fault(DecodeFault::OutOfRange { value, low: 0, high }))
}

/// No constraint: INTEGER as `i64`, OCTET STRING as [`Bytes`], REAL as `f64`, BOOLEAN as `bool`, BIT STRING as
/// [`BitString`], PrintableString as `String`.
#[derive(Debug)]
pub struct Unconstrained;

impl Codec<i64> for Unconstrained {
    fn encode(value: &i64, w: &mut Writer) -> Result<(), EncodeError> {
        w.unconstrained(*value);
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<i64, DecodeError> {
        r.unconstrained()
    }
    fn show(value: &i64, n: &mut Notation) {
        n.value(value);
    }
}

impl Codec<Bytes> for Unconstrained {
    fn encode(value: &Bytes, w: &mut Writer) -> Result<(), EncodeError> {
        w.octets(value);
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<Bytes, DecodeError> {
        r.octets()
    }
    fn show(value: &Bytes, n: &mut Notation) {
        n.octets(value);
    }
}

impl Codec<f64> for Unconstrained {
    fn encode(value: &f64, w: &mut Writer) -> Result<(), EncodeError> {
        w.octets(&real::encode(*value));
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<f64, DecodeError> {
        r.real()
    }
    fn show(value: &f64, n: &mut Notation) {
        n.real(*value);
    }
}

impl Codec<bool> for Unconstrained {
    fn encode(value: &bool, w: &mut Writer) -> Result<(), EncodeError> {
        w.bit(*value);
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<bool, DecodeError> {
        r.flag()
    }
    fn show(value: &bool, n: &mut Notation) {
        n.flag(*value);
    }
}

impl Codec<String> for Unconstrained {
    fn encode(value: &String, w: &mut Writer) -> Result<(), EncodeError> {
        w.octets(value.as_bytes());
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<String, DecodeError> {
        r.string(0, u64::MAX, false)
    }
    fn show(value: &String, n: &mut Notation) {
        n.string(value);
    }
}

impl Codec<BitString> for Unconstrained {
    fn encode(value: &BitString, w: &mut Writer) -> Result<(), EncodeError> {
        value.check()?;
        w.fragments(value.len_bits, |w, _, _| put_bits(w, value));
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<BitString, DecodeError> {
        let (len, more) = r.bits_len()?;
        if more {
            return Err(r.fault(DecodeFault::InvalidLength));
        }
        take_bits(r, len)
    }
    fn show(value: &BitString, n: &mut Notation) {
        n.bits(&value.octets, value.len_bits);
    }
}

/// OCTET STRING (SIZE(N)).
#[derive(Debug)]
pub struct Fixed;

impl<const N: usize> Codec<[u8; N]> for Fixed {
    fn encode(value: &[u8; N], w: &mut Writer) -> Result<(), EncodeError> {
        if N > 2 {
            w.align();
        }
        w.octets_raw(value);
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<[u8; N], DecodeError> {
        let octets = r.octets_fixed(N)?;
        <[u8; N]>::try_from(&octets[..]).map_err(|_| r.fault(DecodeFault::Truncated))
    }
    fn show(value: &[u8; N], n: &mut Notation) {
        n.octets(value);
    }
}

/// BIT STRING of at most 64 bits; `value` is right-aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ShortBits {
    /// The bits as a number; the last bit is the least significant.
    pub value: u64,
    /// Number of bits.
    pub len_bits: u8,
}

impl ShortBits {
    /// Creates a bit string from the low `len_bits` bits of `value`.
    pub const fn new(value: u64, len_bits: u8) -> Self {
        Self { value: value & (u64::MAX >> (64 - len_bits as u32)), len_bits }
    }
}

/// BIT STRING (SIZE(LOW..HIGH)), HIGH at most 64.
#[derive(Debug)]
pub struct Bits<const LOW: u64, const HIGH: u64>;

impl<const LOW: u64, const HIGH: u64> Codec<ShortBits> for Bits<LOW, HIGH> {
    fn encode(value: &ShortBits, w: &mut Writer) -> Result<(), EncodeError> {
        w.constrained("number of bits", u64::from(value.len_bits), LOW, HIGH)?;
        if HIGH > 16 || LOW != HIGH {
            w.align();
        }
        w.bits(value.value, u32::from(value.len_bits));
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<ShortBits, DecodeError> {
        let n = r.bit_count(LOW, HIGH)?;
        let value = r.bits(n as u32, HIGH > 16 || LOW != HIGH)?;
        Ok(ShortBits { value, len_bits: n as u8 })
    }
    fn show(value: &ShortBits, n: &mut Notation) {
        let len = usize::from(value.len_bits);
        let octets = (value.value << (64 - len.max(1))).to_be_bytes();
        n.bits(&octets, len);
    }
}

/// BIT STRING (SIZE(N)), N at most 64, as a number; the last bit is the least significant.
#[derive(Debug)]
pub struct BitNumber<const N: u64>;

macro_rules! bit_numbers {
    ($($t:ty)*) => { $(
        impl<const N: u64> Codec<$t> for BitNumber<N> {
            fn encode(value: &$t, w: &mut Writer) -> Result<(), EncodeError> {
                let value = u64::from(*value);
                let high = u64::MAX >> (64 - N);
                if value > high {
                    return Err(EncodeError::OutOfRange { what: "bits", value, low: 0, high });
                }
                <Bits<N, N> as Codec<ShortBits>>::encode(&ShortBits::new(value, N as u8), w)
            }
            fn decode<S: Source>(r: &mut S) -> Result<$t, DecodeError> {
                let bits = <Bits<N, N> as Codec<ShortBits>>::decode(r)?;
                narrow(bits.value, r)
            }
            fn show(value: &$t, n: &mut Notation) {
                <Bits<N, N> as Codec<ShortBits>>::show(&ShortBits::new(u64::from(*value), N as u8), n);
            }
        }
    )* };
}
bit_numbers!(u8 u16 u32 u64);

/// BIT STRING of any length: whole bytes; the unused low bits of the last one are zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct BitString {
    /// The bits; the first bit is the most significant.
    pub octets: Vec<u8>,
    /// Number of bits.
    pub len_bits: usize,
}

impl BitString {
    /// Creates a bit string from all bits of `octets`.
    pub fn from_octets(octets: &[u8]) -> Self {
        Self { octets: octets.to_vec(), len_bits: octets.len() * 8 }
    }

    /// Returns the number of bits. Fails if it disagrees with the number of bytes or reaches the size of a fragment.
    fn check(&self) -> Result<u64, EncodeError> {
        let len = self.len_bits as u64;
        if len.div_ceil(8) != self.octets.len() as u64 || len >= FRAGMENT as u64 {
            let high = 8 * self.octets.len() as u64;
            return Err(EncodeError::OutOfRange { what: "number of bits", value: len, low: 0, high });
        }
        Ok(len)
    }
}

/// BIT STRING (SIZE(LOW..HIGH, ...)).
#[derive(Debug)]
pub struct BitsExt<const LOW: u64, const HIGH: u64>;

impl<const LOW: u64, const HIGH: u64> Codec<BitString> for BitsExt<LOW, HIGH> {
    fn encode(value: &BitString, w: &mut Writer) -> Result<(), EncodeError> {
        let len = value.check()?;
        let outside = len < LOW || len > HIGH;
        w.bit(outside);
        if outside {
            w.fragments(value.len_bits, |w, _, _| put_bits(w, value));
            return Ok(());
        }
        w.constrained("number of bits", len, LOW, HIGH)?;
        w.align();
        put_bits(w, value);
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<BitString, DecodeError> {
        let outside = r.extended()?;
        let (len, more) =
            if outside { r.list_len(0, u64::MAX)? } else { (r.bit_count(LOW, HIGH)? as usize, false) };
        if more {
            return Err(r.fault(DecodeFault::InvalidLength));
        }
        take_bits(r, len)
    }
    fn show(value: &BitString, n: &mut Notation) {
        n.bits(&value.octets, value.len_bits);
    }
}

fn put_bits(w: &mut Writer, value: &BitString) {
    let whole = value.len_bits / 8;
    w.octets_raw(&value.octets[..whole]);
    let rest = (value.len_bits % 8) as u32;
    if rest > 0 {
        w.bits(u64::from(value.octets[whole] >> (8 - rest)), rest);
    }
}

fn take_bits<S: Source>(r: &mut S, len: usize) -> Result<BitString, DecodeError> {
    let mut octets = Vec::with_capacity(len.div_ceil(8).min(FRAGMENT / 8));
    let mut left = len as u32;
    while left > 0 {
        let n = left.min(8);
        octets.push((r.bits(n, left == len as u32)? << (8 - n)) as u8);
        left -= n;
    }
    Ok(BitString { octets, len_bits: len })
}

/// PrintableString (SIZE(LOW..HIGH, ...)).
#[derive(Debug)]
pub struct Str<const LOW: u64, const HIGH: u64>;

impl<const LOW: u64, const HIGH: u64> Codec<String> for Str<LOW, HIGH> {
    fn encode(value: &String, w: &mut Writer) -> Result<(), EncodeError> {
        let len = value.len() as u64;
        let outside = len < LOW || len > HIGH;
        w.bit(outside);
        if outside {
            w.octets(value.as_bytes());
            return Ok(());
        }
        w.constrained("number of characters", len, LOW, HIGH)?;
        if len > 0 && HIGH > 1 {
            w.align();
        }
        w.octets_raw(value.as_bytes());
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<String, DecodeError> {
        r.string(LOW, HIGH, true)
    }
    fn show(value: &String, n: &mut Notation) {
        n.string(value);
    }
}

/// SEQUENCE (SIZE(LOW..HIGH)) OF; each element is encoded by the codec `C`.
#[derive(Debug)]
pub struct List<const LOW: u64, const HIGH: u64, C = SelfCoded>(PhantomData<C>);

impl<T, C: Codec<T>, const LOW: u64, const HIGH: u64> Codec<Vec<T>> for List<LOW, HIGH, C> {
    fn encode(value: &Vec<T>, w: &mut Writer) -> Result<(), EncodeError> {
        let len = value.len() as u64;
        if HIGH < 65_536 || len < LOW || len > HIGH {
            w.constrained("number of elements", len, LOW, HIGH)?;
            return value.iter().try_for_each(|v| C::encode(v, w));
        }
        let mut outcome = Ok(());
        w.fragments(value.len(), |w, from, to| {
            if outcome.is_ok() {
                outcome = value[from..to].iter().try_for_each(|v| C::encode(v, w));
            }
        });
        outcome
    }
    fn decode<S: Source>(r: &mut S) -> Result<Vec<T>, DecodeError> {
        let mut list = Vec::new();
        loop {
            let (n, more) = r.list_len(LOW, HIGH)?;
            // Do not reserve memory for the count that the peer states: the elements must arrive first.
            list.reserve(n.min(64));
            for _ in 0..n {
                r.element();
                list.push(C::decode(r)?);
            }
            if !more {
                return Ok(list);
            }
        }
    }
    fn show(value: &Vec<T>, n: &mut Notation) {
        n.list(|n| value.iter().for_each(|v| n.element(|n| C::show(v, n))));
    }
}

/// Component of a SEQUENCE root. A plain codec stands for a mandatory component, [`Opt`] for an OPTIONAL one, and
/// [`SinceV2`] for an OPTIONAL one that v1.01 lacks.
pub trait Component<T> {
    /// Whether the preamble has a presence bit for the component.
    fn has_bit<S: VersionTag>(tag: &S) -> bool;
    /// Whether the value is present.
    fn is_present(value: &T) -> bool;
    /// Appends the component if present.
    fn encode(value: &T, name: &'static str, w: &mut Writer) -> Result<(), EncodeError>;
    /// Decodes the component if `present`.
    fn decode<S: Source>(r: &mut S, present: bool) -> Result<T, DecodeError>;
    /// Writes `name value` if present.
    fn show(value: &T, name: &str, n: &mut Notation);
}

/// Provides the protocol version of a writer or a source to a [`Component`].
pub trait VersionTag {
    /// Returns the protocol version.
    fn tag(&self) -> crate::e2ap::Version;
}

impl VersionTag for crate::e2ap::Version {
    fn tag(&self) -> crate::e2ap::Version {
        *self
    }
}

impl<T, C: Codec<T>> Component<T> for C {
    fn has_bit<S: VersionTag>(_: &S) -> bool {
        false
    }
    fn is_present(_: &T) -> bool {
        true
    }
    fn encode(value: &T, _: &'static str, w: &mut Writer) -> Result<(), EncodeError> {
        C::encode(value, w)
    }
    fn decode<S: Source>(r: &mut S, _present: bool) -> Result<T, DecodeError> {
        C::decode(r)
    }
    fn show(value: &T, name: &str, n: &mut Notation) {
        n.field(name, |n| C::show(value, n));
    }
}

/// OPTIONAL component.
#[derive(Debug)]
pub struct Opt<C = SelfCoded>(PhantomData<C>);

impl<T, C: Codec<T>> Component<Option<T>> for Opt<C> {
    fn has_bit<S: VersionTag>(_: &S) -> bool {
        true
    }
    fn is_present(value: &Option<T>) -> bool {
        value.is_some()
    }
    fn encode(value: &Option<T>, _: &'static str, w: &mut Writer) -> Result<(), EncodeError> {
        value.as_ref().map_or(Ok(()), |v| C::encode(v, w))
    }
    fn decode<S: Source>(r: &mut S, present: bool) -> Result<Option<T>, DecodeError> {
        if present { C::decode(r).map(Some) } else { Ok(None) }
    }
    fn show(value: &Option<T>, name: &str, n: &mut Notation) {
        if let Some(v) = value {
            n.field(name, |n| C::show(v, n));
        }
    }
}

/// OPTIONAL component of version 2.03 and later; v1.01 has neither the component nor its presence bit.
#[derive(Debug)]
pub struct SinceV2<C = SelfCoded>(PhantomData<C>);

impl<T, C: Codec<T>> Component<Option<T>> for SinceV2<C> {
    fn has_bit<S: VersionTag>(tag: &S) -> bool {
        tag.tag() != crate::e2ap::Version::V1_01
    }
    fn is_present(value: &Option<T>) -> bool {
        value.is_some()
    }
    fn encode(value: &Option<T>, name: &'static str, w: &mut Writer) -> Result<(), EncodeError> {
        match value {
            Some(_) if !Self::has_bit(&w.version()) => {
                Err(EncodeError::NotInVersion { element: name, version: w.version().name() })
            }
            Some(v) => C::encode(v, w),
            None => Ok(()),
        }
    }
    fn decode<S: Source>(r: &mut S, present: bool) -> Result<Option<T>, DecodeError> {
        if present && Self::has_bit(&r.version()) { C::decode(r).map(Some) } else { Ok(None) }
    }
    fn show(value: &Option<T>, name: &str, n: &mut Notation) {
        <Opt<C> as Component<Option<T>>>::show(value, name, n);
    }
}
