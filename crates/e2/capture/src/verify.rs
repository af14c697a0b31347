//! Comparison of a message's bytes with this program's encoding of the message. The result names the PER rule that
//! the differing bytes break.
use std::fmt;

use ranlab_e2_codec::e2ap::{Decoded, Version};
use ranlab_e2_codec::e42;

/// Maximum number of enclosing length determinants that are examined.
const MAX_LENGTHS: usize = 64;

/// Position and reason of the difference between two encodings of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Offset of the difference in the received bytes.
    pub(super) octet: usize,
    /// PER rule that the received bytes break.
    pub(super) rule: Rule,
}

/// PER rule that the received bytes probably break. Clauses refer to X.691 (02/2021).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rule {
    #[error("a length determinant has more bytes than its value requires (11.9.3.5 to 11.9.3.7)")]
    NonMinimalLength,
    #[error("padding bits are not zero (11.2.7)")]
    Padding,
    #[error(
        "the message has {0} superfluous bytes: padding after a value in an open type, or leading zero bytes of a number (11.1, 11.3.6)"
    )]
    ExtraOctets(usize),
    #[error("the same value is encoded in another way")]
    Other,
    #[error("the message cannot be encoded: {0}")]
    NotEncodable(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.octet, self.rule)
    }
}

/// Compares bytes with this program's encoding of the message. Returns `None` if they are equal.
pub(super) fn verify(
    decoded: &Decoded<e42::Message>,
    version: Version,
    received: &[u8],
) -> Option<Difference> {
    match e42::encode_as_received(decoded, version) {
        Ok(ours) if ours == received => None,
        Ok(ours) => Some(explain(received, &ours)),
        Err(error) => Some(Difference { octet: 0, rule: Rule::NotEncodable(error.to_string()) }),
    }
}

/// Returns the first difference, skipping enclosing lengths that differ only because of a difference inside them.
fn explain(received: &[u8], ours: &[u8]) -> Difference {
    let mut at = 0;
    let mut our_at = 0;
    for _ in 0..MAX_LENGTHS {
        let theirs = &received[at..];
        let mine = &ours[our_at..];
        let same = theirs.iter().zip(mine).take_while(|(a, b)| a == b).count();
        let octet = at + same;
        // A length determinant starts at the difference, or at the byte before it if the difference is in the second
        // byte of a two-byte determinant.
        let lengths = [same, same.saturating_sub(1)].into_iter().find_map(|start| {
            let (their_value, their_form) = length(&theirs[start..])?;
            let (my_value, my_form) = length(&mine[start..])?;
            let their_rest = theirs.len().checked_sub(start + their_form)?;
            let my_rest = mine.len().checked_sub(start + my_form)?;
            if their_value == my_value && their_form > my_form {
                return Some(None);
            }
            let around = their_value.abs_diff(my_value) == their_rest.abs_diff(my_rest)
                && (their_value > my_value) == (their_rest > my_rest)
                && their_value != my_value;
            around.then_some(Some((start + their_form, start + my_form)))
        });
        match lengths {
            Some(None) => return Difference { octet, rule: Rule::NonMinimalLength },
            Some(Some((theirs, mine))) => (at, our_at) = (at + theirs, our_at + mine),
            None => return Difference { octet, rule: at_octet(&theirs[same..], &mine[same..]) },
        }
    }
    Difference { octet: at, rule: Rule::Other }
}

/// Infers the broken rule from two encodings that differ in their first bytes.
fn at_octet(theirs: &[u8], mine: &[u8]) -> Rule {
    let extra = theirs.len().saturating_sub(mine.len());
    if extra > 0 && theirs.ends_with(mine) {
        return Rule::ExtraOctets(extra);
    }
    match (theirs.first(), mine.first()) {
        // The received byte has bits set that are clear in our encoding, and the lengths are equal.
        (Some(a), Some(b)) if theirs.len() == mine.len() && a & b == *b => Rule::Padding,
        _ => Rule::Other,
    }
}

/// Reads a length determinant without fragments. Returns its value and its size in bytes.
fn length(octets: &[u8]) -> Option<(usize, usize)> {
    match octets {
        [n @ 0..0x80, ..] => Some((usize::from(*n), 1)),
        [n @ 0x80..0xc0, m, ..] => Some((usize::from(n & 0x3f) << 8 | usize::from(*m), 2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// A subscription delete request with request 1/0 and function 142.
    const DELETE: [u8; 23] =
        [0x00, 0x09, 0x00, 0x13, 0, 0, 2, 0, 29, 0, 5, 0, 0, 1, 0, 0, 0, 5, 0, 2, 0, 0x8e, 0];

    fn difference(received: &[u8]) -> Option<Difference> {
        let decoded = e42::decode(&Bytes::copy_from_slice(received), Version::V2_03).unwrap();
        verify(&decoded, Version::V2_03, received)
    }

    fn delete() -> Vec<u8> {
        let mut pdu = DELETE[..22].to_vec();
        pdu[3] = 18;
        pdu
    }

    #[test]
    fn canonical_encoding_is_reported_as_equal() {
        assert_eq!(difference(&delete()), None);
    }

    #[test]
    fn nonzero_padding_bits_are_reported() {
        let mut pdu = delete();
        pdu[9] |= 1;
        assert_eq!(difference(&pdu), Some(Difference { octet: 9, rule: Rule::Padding }));
    }

    #[test]
    fn overlong_length_determinant_is_located() {
        let mut pdu = delete();
        pdu.splice(3..4, [0x80, 18]);
        assert_eq!(difference(&pdu), Some(Difference { octet: 3, rule: Rule::NonMinimalLength }));
        let mut pdu = delete();
        pdu.splice(10..11, [0x80, 5]);
        pdu[3] += 1;
        assert_eq!(difference(&pdu), Some(Difference { octet: 10, rule: Rule::NonMinimalLength }));
    }

    #[test]
    fn trailing_bytes_are_reported() {
        let mut pdu = delete();
        pdu.push(0);
        pdu[3] += 1;
        pdu[19] += 1;
        assert_eq!(difference(&pdu).map(|d| d.rule), Some(Rule::ExtraOctets(1)));
    }

    #[test]
    fn any_two_encodings_can_be_compared() {
        let pdu = delete();
        for at in 0..pdu.len() {
            for value in [0, 1, 0x40, 0x7f, 0x80, 0xbf, 0xff] {
                let mut other = pdu.clone();
                other[at] = value;
                let _ = explain(&other, &pdu);
                let _ = explain(&pdu, &other[..at]);
                let _ = explain(&other[at..], &pdu);
            }
        }
    }
}
