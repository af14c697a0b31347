//! Contents of a REAL (X.690 §8.5): reads every form, writes the canonical binary form (§11.3).

/// Maximum size of an encoded `f64`, bytes: a first byte, an exponent of two, a mantissa of eight.
const OCTETS_MAX: usize = 11;

/// Encoded contents of a REAL.
pub(super) struct Contents {
    octets: [u8; OCTETS_MAX],
    len: usize,
}

impl Contents {
    fn concat(parts: [&[u8]; 2]) -> Self {
        let mut contents = Self { octets: [0; OCTETS_MAX], len: 0 };
        for part in parts {
            contents.octets[contents.len..][..part.len()].copy_from_slice(part);
            contents.len += part.len();
        }
        contents
    }
}

impl std::ops::Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

/// Returns the canonical contents of `value`.
pub(super) fn encode(value: f64) -> Contents {
    if value == 0.0 {
        return Contents::concat([if value.is_sign_negative() { &[0x43] } else { &[] }, &[]]);
    }
    if value.is_nan() {
        return Contents::concat([&[0x42], &[]]);
    }
    if value.is_infinite() {
        return Contents::concat([if value > 0.0 { &[0x40] } else { &[0x41] }, &[]]);
    }
    let (mantissa, exponent) = odd_mantissa(value);
    let sign = if value < 0.0 { 0x40 } else { 0 };
    let mantissa_octets = &mantissa.to_be_bytes()[(mantissa.leading_zeros() / 8) as usize..];
    match i8::try_from(exponent) {
        Ok(e) => Contents::concat([&[0x80 | sign, e as u8], mantissa_octets]),
        Err(_) => {
            let [hi, lo] = exponent.to_be_bytes();
            Contents::concat([&[0x81 | sign, hi, lo], mantissa_octets])
        }
    }
}

/// Returns the value notation of a REAL (X.680 §21).
pub(super) fn notation(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    if value.is_nan() {
        return "NOT-A-NUMBER".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "PLUS-INFINITY" } else { "MINUS-INFINITY" }.to_owned();
    }
    let (mantissa, exponent) = odd_mantissa(value);
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{{mantissa {sign}{mantissa}, base 2, exponent {exponent}}}")
}

/// Returns mantissa and exponent so that `|value| = mantissa * 2^exponent` with an odd mantissa.
fn odd_mantissa(value: f64) -> (u64, i16) {
    let bits = value.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i16;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent + zeros as i16)
}

/// Decodes contents of any form, or returns `None` if they are invalid.
pub(super) fn decode(octets: &[u8]) -> Option<f64> {
    match *octets {
        [] => Some(0.0),
        [0x40] => Some(f64::INFINITY),
        [0x41] => Some(f64::NEG_INFINITY),
        [0x42] => Some(f64::NAN),
        [0x43] => Some(-0.0),
        [first, ref rest @ ..] if first & 0x80 != 0 => binary(first, rest),
        // ISO 6093 NR1, NR2, NR3: decimal text, possibly with leading spaces and a comma.
        [1..=3, ref text @ ..] => {
            let text = std::str::from_utf8(text).ok()?;
            text.trim_start().replace(',', ".").parse().ok().filter(|v: &f64| v.is_finite())
        }
        _ => None,
    }
}

fn binary(first: u8, rest: &[u8]) -> Option<f64> {
    let (exponent_len, rest) = match first & 3 {
        3 => {
            let (&n, rest) = rest.split_first()?;
            (usize::from(n), rest)
        }
        n => (usize::from(n) + 1, rest),
    };
    if exponent_len == 0 || exponent_len > 4 || rest.len() < exponent_len || rest.len() - exponent_len > 8 {
        return None;
    }
    let (exponent, mantissa) = rest.split_at(exponent_len);
    let exponent = exponent[1..].iter().fold(i64::from(exponent[0] as i8), |a, &o| a << 8 | i64::from(o));
    let bits_per_digit = match (first >> 4) & 3 {
        0 => 1,
        1 => 3,
        2 => 4,
        _ => return None,
    };
    let mantissa = mantissa.iter().fold(0u64, |a, &o| a << 8 | u64::from(o));
    let power = exponent.saturating_mul(bits_per_digit) + i64::from((first >> 2) & 3);
    let value = scale(mantissa as f64, power);
    Some(if first & 0x40 != 0 { -value } else { value })
}

/// Returns `m * 2^power` without an intermediate overflow.
fn scale(mut m: f64, power: i64) -> f64 {
    let mut left = power.clamp(-4_000, 4_000) as i32;
    while left != 0 && m != 0.0 && m.is_finite() {
        let step = left.clamp(-1_000, 1_000);
        m *= 2f64.powi(step);
        left -= step;
    }
    m
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn canonical_encoding_matches_the_vectors() {
        assert!(encode(0.0).is_empty());
        assert_eq!(encode(1.0)[..], [0x80, 0, 1]);
        assert_eq!(encode(-1.5)[..], [0xc0, 0xff, 3]);
        assert_eq!(encode(f64::INFINITY)[..], [0x40]);
        assert_eq!(encode(2f64.powi(200))[..], [0x81, 0, 200, 1]);
    }

    #[test]
    fn finite_values_round_trip() {
        for v in [0.1, -7.25, 1e300, 5e-324, f64::MAX, f64::MIN_POSITIVE, 123_456_789.0] {
            assert_eq!(decode(&encode(v)), Some(v));
        }
        assert!(decode(&encode(f64::NAN)).is_some_and(f64::is_nan));
        assert!(decode(&encode(-0.0)).is_some_and(|v| v == 0.0 && v.is_sign_negative()));
    }

    #[test]
    fn non_canonical_reals_decode_and_invalid_ones_fail() {
        assert_eq!(decode(b"\x02 3,25"), Some(3.25));
        assert_eq!(decode(b"\x0315.E-1"), Some(1.5));
        assert_eq!(decode(&[0x90, 1, 3]), Some(24.0)); // base 8
        assert_eq!(decode(&[0xb0, 1, 3]), None); // reserved base
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0x83, 0]), None);
        assert_eq!(decode(b"\x01abc"), None);
    }
}
