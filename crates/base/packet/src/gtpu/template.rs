//! G-PDU header that is encoded once and patched for each packet.
use super::{Extension, GtpuError, HEADER_LEN, Header, PduSession, extension_type, message_type};

/// Header of the G-PDUs of one direction and QoS flow. Only TEID and length change between packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpduTemplate {
    head: [u8; Self::MAX_LEN],
    len: u8,
}

impl GpduTemplate {
    /// Maximum header size, bytes: header, optional fields, a container with all timestamps and delays.
    pub const MAX_LEN: usize = 64;
    /// Offset of the length field (two bytes).
    pub const LENGTH_AT: usize = 2;
    /// Offset of the TEID (four bytes).
    pub const TEID_AT: usize = 4;

    /// Creates a template for packets with this container, or without one.
    pub fn new(session: Option<PduSession>) -> Result<Self, GtpuError> {
        let mut content = Vec::new();
        let mut out = Vec::new();
        if let Some(session) = session {
            session.encode(&mut content);
        }
        let container = [Extension { kind: extension_type::PDU_SESSION_CONTAINER, content: &content }];
        let extensions = if session.is_some() { &container[..] } else { &[] };
        Header { message_type: message_type::G_PDU, extensions, ..Default::default() }
            .encode(&[], &mut out)?;
        let mut head = [0; Self::MAX_LEN];
        let room = head.get_mut(..out.len());
        room.ok_or(GtpuError::Unencodable { what: "template", len: out.len() })?.copy_from_slice(&out);
        Ok(Self { head, len: out.len() as u8 })
    }

    /// Returns the size of the header in bytes.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns `false`: the header is never empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the header for a payload of `payload_len` bytes to the start of `out` and returns its size; the payload
    /// belongs after it. Returns `None` if `out` is too small or the packet too long.
    pub fn write(&self, teid: u32, payload_len: usize, out: &mut [u8]) -> Option<usize> {
        let len = self.len();
        let announced = u16::try_from(len - HEADER_LEN + payload_len).ok()?;
        let to = out.get_mut(..len)?;
        to.copy_from_slice(&self.head[..len]);
        to[Self::LENGTH_AT..Self::LENGTH_AT + 2].copy_from_slice(&announced.to_be_bytes());
        to[Self::TEID_AT..Self::TEID_AT + 4].copy_from_slice(&teid.to_be_bytes());
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtpu::Packet;

    #[test]
    fn patched_header_equals_encoded_header() {
        for session in [None, Some(PduSession::ul(9)), Some(PduSession::dl(63))] {
            let template = GpduTemplate::new(session).unwrap();
            let mut out = [0xaa; 200];
            let len = template.write(0xdead_beef, 100, &mut out).unwrap();
            let packet = Packet::parse(&out[..len + 100]).unwrap();
            assert_eq!((packet.teid, packet.payload.len()), (0xdead_beef, 100));
            assert_eq!(packet.pdu_session().transpose().unwrap(), session);
        }
    }

    #[test]
    fn oversized_packet_is_not_written() {
        let template = GpduTemplate::new(Some(PduSession::ul(1))).unwrap();
        assert_eq!(template.len(), 16);
        assert_eq!(template.write(1, 1, &mut [0; 15]), None);
        assert_eq!(template.write(1, 65_528, &mut [0; 16]), None);
        assert_eq!(template.write(1, 65_527, &mut [0; 16]), Some(16));
    }
}
