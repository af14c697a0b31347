//! Header and extension headers (TS 29.281 §5).
use super::{GtpuError, HEADER_LEN, MAX_EXTENSIONS, PduSession, extension_type, split};

const VERSION_1: u8 = 0x20;
const PROTOCOL_TYPE: u8 = 0x10;
const E: u8 = 0x04;
const S: u8 = 0x02;
const PN: u8 = 0x01;

/// GTP-U datagram with borrowed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Message type; see [`message_type`](super::message_type).
    pub message_type: u8,
    /// TEID of the receiver.
    pub teid: u32,
    /// Present if the S flag is set.
    pub sequence: Option<u16>,
    /// Present if the PN flag is set.
    pub n_pdu: Option<u8>,
    /// Validated chain of extension headers.
    pub extensions: Extensions<'a>,
    /// Bytes after the header: the user packet in a G-PDU, otherwise information elements.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Decodes a datagram. Fails if it is shorter or longer than its length field, because a UDP datagram contains
    /// exactly one packet.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, GtpuError> {
        let (head, body) = split::<HEADER_LEN>("header", datagram)?;
        let [flags, message_type, l1, l2, t1, t2, t3, t4] = *head;
        if flags >> 5 != 1 {
            return Err(GtpuError::Version(flags >> 5));
        }
        if flags & PROTOCOL_TYPE == 0 {
            return Err(GtpuError::ProtocolType);
        }
        let announced = usize::from(u16::from_be_bytes([l1, l2]));
        if announced != body.len() {
            return Err(GtpuError::Length { announced, have: body.len() });
        }
        let mut packet = Self {
            message_type,
            teid: u32::from_be_bytes([t1, t2, t3, t4]),
            sequence: None,
            n_pdu: None,
            extensions: Extensions { first: extension_type::NONE, chain: &[] },
            payload: body,
        };
        if flags & (E | S | PN) != 0 {
            let (&[s1, s2, n_pdu, first], rest) = split::<4>("optional fields", body)?;
            packet.sequence = (flags & S != 0).then_some(u16::from_be_bytes([s1, s2]));
            packet.n_pdu = (flags & PN != 0).then_some(n_pdu);
            packet.payload = rest;
            // Without the E flag, the byte has no meaning (§5.1).
            if flags & E != 0 {
                let len = chain_len(first, rest)?;
                let (chain, payload) = rest.split_at(len);
                packet.extensions = Extensions { first, chain };
                packet.payload = payload;
            }
        }
        Ok(packet)
    }

    /// Returns the PDU session container, if there is one.
    pub fn pdu_session(&self) -> Option<Result<PduSession, GtpuError>> {
        let mut found = self.extensions.filter(|e| e.kind == extension_type::PDU_SESSION_CONTAINER);
        found.next().map(|e| PduSession::decode(e.content))
    }

    /// Returns the first extension header that this endpoint does not know and that requires comprehension (§5.2.1: the
    /// first bit of the type). The endpoint must then discard the packet and send a message that lists the types that
    /// it supports.
    pub fn incomprehensible(&self, known: &[u8]) -> Option<u8> {
        let mut kinds = self.extensions.map(|e| e.kind);
        kinds.find(|kind| kind & 0x80 != 0 && !known.contains(kind))
    }
}

/// An extension header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Type of the extension header; see [`extension_type`].
    pub kind: u8,
    /// Content without length and next type: 4n - 2 bytes.
    pub content: &'a [u8],
}

/// Extension headers of a packet, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extensions<'a> {
    first: u8,
    chain: &'a [u8],
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        if self.first == extension_type::NONE {
            return None;
        }
        let len = usize::from(*self.chain.first()?) * 4;
        let (this, rest) = self.chain.split_at_checked(len)?;
        let kind = self.first;
        let (next, content) = this.get(1..)?.split_last()?;
        *self = Self { first: *next, chain: rest };
        Some(Extension { kind, content })
    }
}

/// Returns the size in bytes of a chain that starts with an extension header of type `first`.
fn chain_len(first: u8, octets: &[u8]) -> Result<usize, GtpuError> {
    let mut kind = first;
    let mut at = 0;
    for _ in 0..MAX_EXTENSIONS {
        if kind == extension_type::NONE {
            return Ok(at);
        }
        let what = "extension header";
        let len = *octets.get(at).ok_or(GtpuError::Truncated { what, need: at + 4, have: octets.len() })?;
        if len == 0 {
            return Err(GtpuError::EmptyExtension(kind));
        }
        at += usize::from(len) * 4;
        kind = *octets.get(at - 1).ok_or(GtpuError::Truncated { what, need: at, have: octets.len() })?;
    }
    if kind == extension_type::NONE { Ok(at) } else { Err(GtpuError::TooManyExtensions) }
}

/// Header to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header<'a> {
    /// Message type; see [`message_type`](super::message_type).
    pub message_type: u8,
    /// TEID of the receiver.
    pub teid: u32,
    /// Sequence number, written with the S flag.
    pub sequence: Option<u16>,
    /// N-PDU number, written with the PN flag.
    pub n_pdu: Option<u8>,
    /// Extension headers in this order; each content has 4n - 2 bytes.
    pub extensions: &'a [Extension<'a>],
}

impl Header<'_> {
    /// Appends the header and `payload` to `out`. Leaves `out` unchanged if they do not fit a datagram.
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), GtpuError> {
        if self.extensions.len() > MAX_EXTENSIONS {
            return Err(GtpuError::TooManyExtensions);
        }
        let mut len = payload.len();
        for extension in self.extensions {
            let content = extension.content.len();
            if content % 4 != 2 || content > 4 * 255 - 2 || extension.kind == extension_type::NONE {
                return Err(GtpuError::Unencodable { what: "extension header", len: content });
            }
            len += content + 2;
        }
        let flags = flag(E, !self.extensions.is_empty())
            | flag(S, self.sequence.is_some())
            | flag(PN, self.n_pdu.is_some());
        len += if flags == 0 { 0 } else { 4 };
        let announced = u16::try_from(len).map_err(|_| GtpuError::Unencodable { what: "packet", len })?;

        out.extend([VERSION_1 | PROTOCOL_TYPE | flags, self.message_type]);
        out.extend(announced.to_be_bytes());
        out.extend(self.teid.to_be_bytes());
        if flags != 0 {
            out.extend(self.sequence.unwrap_or(0).to_be_bytes());
            out.push(self.n_pdu.unwrap_or(0));
            for extension in self.extensions {
                // Checked above: at most 1020 bytes.
                out.extend([extension.kind, ((extension.content.len() + 2) / 4) as u8]);
                out.extend(extension.content);
            }
            out.push(extension_type::NONE);
        }
        out.extend(payload);
        Ok(())
    }
}

fn flag(bit: u8, set: bool) -> u8 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtpu::message_type::G_PDU;
    use proptest::prelude::*;

    #[test]
    fn usual_uplink_packet_matches_test_vector() {
        let octets = [0x34, 0xff, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0, 0x45, 0, 0, 4];
        let mut packet = Packet::parse(&octets).unwrap();
        assert_eq!((packet.message_type, packet.teid, packet.sequence, packet.n_pdu), (G_PDU, 1, None, None));
        assert_eq!(packet.pdu_session().unwrap().unwrap().qfi(), 9);
        assert_eq!(packet.payload, [0x45, 0, 0, 4]);
        let extension = packet.extensions.next().unwrap();
        let mut again = Vec::new();
        Header { message_type: G_PDU, teid: 1, extensions: &[extension], ..Default::default() }
            .encode(packet.payload, &mut again)
            .unwrap();
        assert_eq!(again, octets);
    }

    #[test]
    fn decode_error_names_the_invalid_field() {
        let plain = [0x30, 0xff, 0, 0, 0, 0, 0, 1];
        assert!(Packet::parse(&plain).is_ok());
        let with = |patches: &[(usize, u8)], tail: &[u8]| {
            let mut octets = [&plain[..], tail].concat();
            octets[3] = tail.len() as u8;
            patches.iter().for_each(|&(at, value)| octets[at] = value);
            Packet::parse(&octets).map(|_| ()).unwrap_err()
        };
        assert_eq!(
            Packet::parse(&plain[..7]),
            Err(GtpuError::Truncated { what: "header", need: 8, have: 7 })
        );
        assert_eq!(with(&[(0, 0x50)], &[]), GtpuError::Version(2));
        assert_eq!(with(&[(0, 0x20)], &[]), GtpuError::ProtocolType);
        assert_eq!(with(&[(3, 5)], &[1, 2, 3, 4]), GtpuError::Length { announced: 5, have: 4 });
        assert_eq!(
            with(&[(0, 0x32)], &[0, 1]),
            GtpuError::Truncated { what: "optional fields", need: 4, have: 2 }
        );
        assert_eq!(with(&[(0, 0x34)], &[0, 0, 0, 0x85, 0, 0, 0, 0]), GtpuError::EmptyExtension(0x85));
        let short = GtpuError::Truncated { what: "extension header", need: 8, have: 4 };
        assert_eq!(with(&[(0, 0x34)], &[0, 0, 0, 0x85, 2, 0, 0, 0]), short);
        let mut endless = vec![0, 0, 0];
        (0..=MAX_EXTENSIONS).for_each(|_| endless.extend([0x85, 1, 0, 0]));
        endless.push(0);
        assert_eq!(with(&[(0, 0x34)], &endless), GtpuError::TooManyExtensions);
    }

    #[test]
    fn unknown_required_extension_is_reported() {
        let known = [extension_type::PDU_SESSION_CONTAINER];
        for (kind, expected) in [(0x85, None), (0x40, None), (0xc0, Some(0xc0)), (0x82, Some(0x82))] {
            let mut out = Vec::new();
            let extension = Extension { kind, content: &[0, 0] };
            let header = Header { message_type: G_PDU, extensions: &[extension], ..Default::default() };
            header.encode(&[], &mut out).unwrap();
            assert_eq!(Packet::parse(&out).unwrap().incomprehensible(&known), expected);
        }
    }

    proptest! {
        #[test]
        fn any_header_round_trips(
            message_type: u8, teid: u32, sequence: Option<u16>, n_pdu: Option<u8>,
            contents in prop::collection::vec((1u8.., 0usize..4), 0..=MAX_EXTENSIONS),
            payload: Vec<u8>,
        ) {
            let blob = [7u8; 32];
            let extensions: Vec<_> = contents.iter()
                .map(|&(kind, n)| Extension { kind, content: &blob[..4 * n + 2] }).collect();
            let mut out = vec![1, 2, 3];
            let header = Header { message_type, teid, sequence, n_pdu, extensions: &extensions };
            header.encode(&payload, &mut out).unwrap();
            let packet = Packet::parse(&out[3..]).unwrap();
            prop_assert_eq!((packet.message_type, packet.teid), (message_type, teid));
            prop_assert_eq!((packet.sequence, packet.n_pdu), (sequence, n_pdu));
            prop_assert_eq!(packet.extensions.collect::<Vec<_>>(), extensions);
            prop_assert_eq!(packet.payload, &payload[..]);
        }

        #[test]
        fn decode_never_panics(mut octets: Vec<u8>, repair: bool, flags in 0x30u8..0x38) {
            if repair && octets.len() >= 8 {
                let len = (octets.len() - 8) as u16;
                octets[0] = flags;
                octets[2..4].copy_from_slice(&len.to_be_bytes());
            }
            if let Ok(packet) = Packet::parse(&octets) {
                let extensions: usize = packet.extensions.map(|e| e.content.len() + 2).sum();
                prop_assert!(packet.payload.len() + extensions <= octets.len());
                let _ = (packet.pdu_session(), crate::gtpu::decode_message(&packet));
            }
        }
    }
}
