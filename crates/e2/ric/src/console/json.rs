//! Bytes in JSON: hexadecimal digits, or an array of numbers as O-RAN SC's subscription manager accepts.
use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Value as Json;

/// Bytes as hexadecimal digits, two per byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hex(pub(super) Bytes);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || D::Error::invalid_value(Unexpected::Str(&text), &"hexadecimal digits, two per byte");
        octets(&text).map(Self).ok_or_else(wrong)
    }
}

/// Parses hexadecimal digits.
pub(super) fn octets(text: &str) -> Option<Bytes> {
    let digit = |octet: u8| char::from(octet).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?) as u8)).collect()
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(octets: &[u8]) -> Json {
    octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_text_has_two_digits_per_byte() {
        assert_eq!(octets("00fFa5"), Some(Bytes::from_static(&[0, 255, 0xa5])));
        assert_eq!(hex(&[0, 255, 0xa5]), Json::from("00ffa5"));
        assert_eq!(octets(""), Some(Bytes::new()));
        for wrong in ["0", "0g", "0x00", " 00", "ää"] {
            assert_eq!(octets(wrong), None, "{wrong}");
        }
    }
}
