//! A G-PDU head written once and patched for each packet.
use super::{Extension, GtpuError, HEADER_LEN, Header, PduSession, extension_type, message_type};

/// The head of the G-PDUs of one direction and QoS flow: per packet only TEID and length change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpduTemplate {
    head: [u8; Self::MAX_LEN],
    len: u8,
}

impl GpduTemplate {
    /// Longest head: header, optional fields, a container with every time stamp and delay.
    pub const MAX_LEN: usize = 64;
    /// Offset of the length field, two octets.
    pub const LENGTH_AT: usize = 2;
    /// Offset of the TEID, four octets.
    pub const TEID_AT: usize = 4;

    /// A template for packets with this container, or without any.
    pub fn new(session: Option<PduSession>) -> Result<Self, GtpuError> {
        let (mut content, mut out) = (Vec::new(), Vec::new());
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

    /// Octets of the head.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether the head has no octets; it always has some.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the head for a payload of `payload_len` octets to the start of `out`; `None` if `out` is too small or the
    /// packet too long. The payload belongs behind the returned length.
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
    fn a_patched_head_is_what_the_encoder_writes() {
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
    fn what_does_not_fit_is_not_written() {
        let template = GpduTemplate::new(Some(PduSession::ul(1))).unwrap();
        assert_eq!(template.len(), 16);
        assert_eq!(template.write(1, 1, &mut [0; 15]), None);
        assert_eq!(template.write(1, 65_528, &mut [0; 16]), None);
        assert_eq!(template.write(1, 65_527, &mut [0; 16]), Some(16));
    }
}
