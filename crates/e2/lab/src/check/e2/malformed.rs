//! Invalid messages, built by changing one element of a valid message.

/// An information element: id, criticality (0 reject, 1 ignore, 2 notify) and value.
type IeTriple = (u16, u8, Vec<u8>);

/// An element id that no version defines.
pub(super) const UNKNOWN_ELEMENT: u16 = 60_001;
/// A procedure code that no version defines.
const UNKNOWN_PROCEDURE: u8 = 199;

/// Returns a message that initiates an unknown procedure with the given criticality.
pub(super) fn unknown_procedure(criticality: u8) -> Vec<u8> {
    built([0x00, UNKNOWN_PROCEDURE, criticality << 6], &[])
}

/// Removes an element from a message.
pub(super) fn without(pdu: &[u8], number: u16) -> Option<Vec<u8>> {
    let (head, mut elements) = taken(pdu)?;
    elements.retain(|element| element.0 != number);
    Some(built(head, &elements))
}

/// Duplicates an element of a message.
pub(super) fn twice(pdu: &[u8], number: u16) -> Option<Vec<u8>> {
    let (head, mut elements) = taken(pdu)?;
    let element = elements.iter().find(|element| element.0 == number)?.clone();
    elements.push(element);
    Some(built(head, &elements))
}

/// Adds an unknown element to a message.
pub(super) fn with_unknown(pdu: &[u8], criticality: u8) -> Option<Vec<u8>> {
    let (head, mut elements) = taken(pdu)?;
    elements.push((UNKNOWN_ELEMENT, criticality, vec![0]));
    Some(built(head, &elements))
}

/// Splits a message into its envelope and its elements.
fn taken(pdu: &[u8]) -> Option<([u8; 3], Vec<IeTriple>)> {
    let (head, rest) = pdu.split_first_chunk::<3>()?;
    let (value, _) = open(rest)?;
    let (preamble, mut rest) = value.split_first_chunk::<3>()?;
    let mut elements = Vec::new();
    for _ in 0..u16::from_be_bytes([preamble[1], preamble[2]]) {
        let (front, more) = rest.split_first_chunk::<3>()?;
        let (value, more) = open(more)?;
        elements.push((u16::from_be_bytes([front[0], front[1]]), front[2] >> 6, value.to_vec()));
        rest = more;
    }
    Some((*head, elements))
}

fn built(head: [u8; 3], elements: &[IeTriple]) -> Vec<u8> {
    let mut value = vec![0];
    value.extend((elements.len() as u16).to_be_bytes());
    for (number, criticality, content) in elements {
        value.extend(number.to_be_bytes());
        value.push(criticality << 6);
        put(&mut value, content);
    }
    let mut pdu = head.to_vec();
    put(&mut pdu, &value);
    pdu
}

/// Reads an open type shorter than 16,384 octets (X.691 11.9). Returns its value and the remaining bytes.
fn open(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = match octets {
        [len @ 0..0x80, rest @ ..] => (usize::from(*len), rest),
        [high @ 0x80..=0xbf, low, rest @ ..] => (usize::from(high & 0x3f) << 8 | usize::from(*low), rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}

fn put(out: &mut Vec<u8>, content: &[u8]) {
    match content.len() {
        len @ 0..0x80 => out.push(len as u8),
        len => out.extend((0x8000 | len as u16 & 0x3fff).to_be_bytes()),
    }
    out.extend(content);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ranlab_e2_codec::e2ap::{Message, RejectReason, Version, decode, encode, ids};

    use super::*;

    #[test]
    fn each_modification_changes_only_its_element() {
        let version = Version::V2_03;
        for seed in 0..200 {
            let Some(message) = Message::random("ResetRequest", seed, version) else { continue };
            let pdu = encode(&message, version).unwrap();
            let read = |pdu: Option<Vec<u8>>| decode(&Bytes::from(pdu.unwrap()), version);
            let (head, elements) = taken(&pdu).unwrap();
            assert_eq!(built(head, &elements), pdu);
            let cause = |pdu| read(pdu).unwrap_err().cause().name();
            assert!(cause(without(&pdu, ids::CAUSE)).contains("syntax-error-reject"));
            assert!(cause(twice(&pdu, ids::CAUSE)).contains("falsely-constructed"));
            assert!(cause(with_unknown(&pdu, 0)).contains("syntax-error-reject"));
            assert_eq!(read(with_unknown(&pdu, 1)).unwrap().message, message);
        }
        let unknown = decode(&Bytes::from(unknown_procedure(0)), version).unwrap_err();
        assert_eq!(unknown.reason, RejectReason::UnknownProcedure(UNKNOWN_PROCEDURE));
    }
}
