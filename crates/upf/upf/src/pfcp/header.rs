//! Header of a PFCP message (§7.2.2).
use super::{DecodeError, message_type};

pub(super) const VERSION: u8 = 1 << 5;
pub(super) const FO: u8 = 0x04;
pub(super) const MP: u8 = 0x02;
pub(super) const S: u8 = 0x01;
/// Size of a header without SEID, in bytes.
pub const NODE_HEADER_LEN: usize = 8;
/// Size of a header with SEID, in bytes.
pub const SESSION_HEADER_LEN: usize = 16;
/// Offset of the SEID in a header that has one.
pub const SEID_AT: usize = 4;

/// Header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Type of the message; see [`message_type`].
    pub message_type: u8,
    /// SEID of the receiver's session. Session messages have a SEID, node messages have none.
    pub seid: Option<u64>,
    /// Sequence number, 24 bits. A response has the sequence number of its request.
    pub sequence: u32,
    /// Message priority, 0 (highest) to 15.
    pub priority: Option<u8>,
    /// Whether another message follows in the same datagram (feature BUNDL).
    pub follow_on: bool,
}

impl Header {
    /// Creates the header of a message of this type.
    pub fn new(message_type: u8, seid: Option<u64>, sequence: u32) -> Self {
        Self { message_type, seid, sequence, priority: None, follow_on: false }
    }

    /// Returns the size of the header in bytes.
    pub fn len(&self) -> usize {
        if self.seid.is_some() { SESSION_HEADER_LEN } else { NODE_HEADER_LEN }
    }

    /// Returns `false`, because a header is never empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the offset of the sequence number (three bytes).
    pub fn sequence_at(&self) -> usize {
        self.len() - 4
    }

    /// Returns whether this message type belongs to a session and therefore has a SEID.
    pub fn needs_seid(message_type: u8) -> bool {
        (message_type::SESSION_ESTABLISHMENT_REQUEST..100).contains(&message_type)
    }

    /// Decodes the header. Returns the header, the bytes of the information elements, and the bytes after the message, which are a bundled
    /// message or empty.
    pub fn read(datagram: &[u8]) -> Result<(Self, &[u8], &[u8]), DecodeError> {
        let truncated = |need| DecodeError::Truncated { need, have: datagram.len() };
        let (&[flags, message_type, l1, l2], rest) =
            datagram.split_first_chunk::<4>().ok_or_else(|| truncated(NODE_HEADER_LEN))?;
        let (seid, tail) = if flags & S != 0 {
            let (seid, tail) = rest.split_first_chunk().ok_or_else(|| truncated(SESSION_HEADER_LEN))?;
            (Some(u64::from_be_bytes(*seid)), tail)
        } else {
            (None, rest)
        };
        let need = if seid.is_some() { SESSION_HEADER_LEN } else { NODE_HEADER_LEN };
        let &[a, b, c, last] = tail.first_chunk::<4>().ok_or_else(|| truncated(need))?;
        let header = Self {
            message_type,
            seid,
            sequence: u32::from_be_bytes([0, a, b, c]),
            priority: (flags & MP != 0).then_some(last >> 4),
            follow_on: flags & FO != 0,
        };
        if flags >> 5 != 1 {
            return Err(DecodeError::Version { version: flags >> 5, sequence: header.sequence });
        }
        let announced = usize::from(u16::from_be_bytes([l1, l2]));
        let at = header.len() - 4;
        if announced < at || announced > rest.len() {
            return Err(DecodeError::Length { header, announced, have: rest.len() });
        }
        Ok((header, &rest[at..announced], &rest[announced..]))
    }

    /// Appends the header with a length of zero.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let mut flags = VERSION;
        flags |= if self.follow_on { FO } else { 0 };
        flags |= if self.priority.is_some() { MP } else { 0 };
        flags |= if self.seid.is_some() { S } else { 0 };
        out.extend([flags, self.message_type, 0, 0]);
        out.extend(self.seid.iter().flat_map(|seid| seid.to_be_bytes()));
        let [_, a, b, c] = self.sequence.to_be_bytes();
        out.extend([a, b, c, self.priority.unwrap_or(0) << 4]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_header_forms_round_trip() {
        for (seid, message_type) in [(None, 1), (Some(0x0102_0304_0506_0708), 50)] {
            for priority in [None, Some(11)] {
                let header = Header {
                    message_type,
                    seid,
                    sequence: 0x00ab_cdef,
                    priority,
                    follow_on: priority.is_some(),
                };
                let mut out = Vec::new();
                header.put(&mut out);
                assert_eq!(out.len(), header.len());
                out[3] = (out.len() - 4 + 2) as u8;
                out.extend([7, 7, 9]);
                assert_eq!(Header::read(&out), Ok((header, &[7, 7][..], &[9][..])));
            }
        }
    }

    #[test]
    fn short_or_non_pfcp_header_is_rejected() {
        let octets = [0x21, 50, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0];
        assert!(Header::read(&octets).is_ok());
        for len in 0..octets.len() {
            assert!(matches!(Header::read(&octets[..len]), Err(DecodeError::Truncated { .. })));
        }
        let with = |at: usize, value: u8| {
            let mut octets = octets;
            octets[at] = value;
            Header::read(&octets).map(|_| ()).unwrap_err()
        };
        assert_eq!(with(0, 0x41), DecodeError::Version { version: 2, sequence: 5 });
        assert!(matches!(with(3, 13), DecodeError::Length { announced: 13, have: 12, .. }));
        assert!(matches!(with(3, 11), DecodeError::Length { announced: 11, .. }));
    }
}
