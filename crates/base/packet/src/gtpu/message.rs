//! Messages other than the G-PDU (TS 29.281 §7).
use super::{Extension, GtpuError, Header, Packet, extension_type, message_type, split};
use std::net::IpAddr;

/// Content of a GTP-U packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Echo request.
    EchoRequest,
    /// Echo response.
    EchoResponse {
        /// Restart counter; senders set 0 and receivers ignore it (§7.2.2).
        recovery: u8,
    },
    /// A G-PDU arrived for a tunnel that does not exist.
    ErrorIndication {
        /// TEID of the G-PDU.
        teid: u32,
        /// Destination address of the G-PDU.
        peer: IpAddr,
        /// UDP source port of the G-PDU, in an extension header.
        udp_port: Option<u16>,
    },
    /// Extension headers that the sender supports.
    SupportedExtensionHeaders {
        /// Types of the extension headers.
        kinds: &'a [u8],
    },
    /// End marker: no further packets follow in this tunnel, because the UE has moved.
    EndMarker,
    /// A packet of a user (G-PDU).
    GPdu(&'a [u8]),
}

const RECOVERY: u8 = 14;
const TEID_DATA_I: u8 = 16;
const PEER_ADDRESS: u8 = 133;
const EXTENSION_HEADER_TYPE_LIST: u8 = 141;

/// Decodes the content of a packet.
pub fn decode_message<'a>(packet: &Packet<'a>) -> Result<Message<'a>, GtpuError> {
    let missing = |element| GtpuError::Element { message_type: packet.message_type, element };
    match packet.message_type {
        message_type::ECHO_REQUEST => Ok(Message::EchoRequest),
        message_type::ECHO_RESPONSE => match find(packet.payload, RECOVERY)? {
            Some(&[recovery]) => Ok(Message::EchoResponse { recovery }),
            _ => Err(missing("Recovery")),
        },
        message_type::ERROR_INDICATION => {
            let Some(&[a, b, c, d]) = find(packet.payload, TEID_DATA_I)? else {
                return Err(missing("TEID Data I"));
            };
            let peer = find(packet.payload, PEER_ADDRESS)?.and_then(address);
            let mut ports = packet.extensions.filter(|e| e.kind == extension_type::UDP_PORT);
            Ok(Message::ErrorIndication {
                teid: u32::from_be_bytes([a, b, c, d]),
                peer: peer.ok_or_else(|| missing("GTP-U Peer Address"))?,
                udp_port: ports
                    .next()
                    .and_then(|e| e.content.first_chunk().map(|port| u16::from_be_bytes(*port))),
            })
        }
        message_type::SUPPORTED_EXTENSION_HEADERS => find(packet.payload, EXTENSION_HEADER_TYPE_LIST)?
            .map(|kinds| Message::SupportedExtensionHeaders { kinds })
            .ok_or_else(|| missing("Extension Header Type List")),
        message_type::END_MARKER => Ok(Message::EndMarker),
        message_type::G_PDU => Ok(Message::GPdu(packet.payload)),
        other => Err(GtpuError::UnknownMessage(other)),
    }
}

/// Appends a message to `out`. In an echo response, `sequence` is the sequence number of the request. Error indications
/// and end markers that refer to `teid` have no sequence number.
pub fn encode_message(
    message: &Message<'_>,
    teid: u32,
    sequence: Option<u16>,
    out: &mut Vec<u8>,
) -> Result<(), GtpuError> {
    let mut header = Header { message_type: 0, teid, sequence, ..Default::default() };
    match *message {
        Message::EchoRequest => {
            header.message_type = message_type::ECHO_REQUEST;
            header.encode(&[], out)
        }
        Message::EchoResponse { recovery } => {
            header.message_type = message_type::ECHO_RESPONSE;
            header.encode(&[RECOVERY, recovery], out)
        }
        Message::ErrorIndication { teid, peer, udp_port } => {
            header.message_type = message_type::ERROR_INDICATION;
            let port = udp_port.unwrap_or(0).to_be_bytes();
            let extension = [Extension { kind: extension_type::UDP_PORT, content: &port }];
            header.extensions = if udp_port.is_some() { &extension } else { &[] };
            let mut elements = vec![TEID_DATA_I];
            elements.extend(teid.to_be_bytes());
            match peer {
                IpAddr::V4(v4) => elements.extend([&[PEER_ADDRESS, 0, 4][..], &v4.octets()].concat()),
                IpAddr::V6(v6) => elements.extend([&[PEER_ADDRESS, 0, 16][..], &v6.octets()].concat()),
            }
            header.encode(&elements, out)
        }
        Message::SupportedExtensionHeaders { kinds } => {
            header.message_type = message_type::SUPPORTED_EXTENSION_HEADERS;
            let what = "list of extension headers";
            let len =
                u8::try_from(kinds.len()).map_err(|_| GtpuError::Unencodable { what, len: kinds.len() })?;
            header.encode(&[&[EXTENSION_HEADER_TYPE_LIST, len], kinds].concat(), out)
        }
        Message::EndMarker => {
            header.message_type = message_type::END_MARKER;
            header.encode(&[], out)
        }
        Message::GPdu(payload) => {
            header.message_type = message_type::G_PDU;
            header.encode(payload, out)
        }
    }
}

/// Returns the value of the first information element of a type. Types below 128 have fixed lengths (TV); the others
/// have a length field (TLV).
fn find(mut elements: &[u8], searched: u8) -> Result<Option<&[u8]>, GtpuError> {
    let what = "information element";
    while let Some((&kind, rest)) = elements.split_first() {
        let (len, rest) = match kind {
            RECOVERY => (1, rest),
            TEID_DATA_I => (4, rest),
            // This is the only element with a length field of one byte (§8.5).
            EXTENSION_HEADER_TYPE_LIST => {
                let (&[len], rest) = split::<1>(what, rest)?;
                (usize::from(len), rest)
            }
            128.. => {
                let (len, rest) = split::<2>(what, rest)?;
                (usize::from(u16::from_be_bytes(*len)), rest)
            }
            // Unknown TV element: the start of the next element is unknown.
            _ => return Ok(None),
        };
        let (value, rest) =
            rest.split_at_checked(len).ok_or(GtpuError::Truncated { what, need: len, have: rest.len() })?;
        if kind == searched {
            return Ok(Some(value));
        }
        elements = rest;
    }
    Ok(None)
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => octets.first_chunk::<4>().map(|v4| IpAddr::from(*v4)),
        16 => octets.first_chunk::<16>().map(|v6| IpAddr::from(*v6)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip() {
        let v4 = [10, 0, 0, 1].into();
        let v6 = [0xfe; 16].into();
        for message in [
            Message::EchoRequest,
            Message::EchoResponse { recovery: 0 },
            Message::ErrorIndication { teid: 7, peer: v4, udp_port: None },
            Message::ErrorIndication { teid: 7, peer: v6, udp_port: Some(2153) },
            Message::SupportedExtensionHeaders { kinds: &[0x85, 0x40] },
            Message::EndMarker,
            Message::GPdu(&[0x45, 0, 0, 20]),
        ] {
            let mut out = Vec::new();
            encode_message(&message, 0, Some(9), &mut out).unwrap();
            let packet = Packet::parse(&out).unwrap();
            assert_eq!(packet.sequence, Some(9));
            assert_eq!(decode_message(&packet), Ok(message));
        }
    }

    #[test]
    fn error_indication_matches_test_vector() {
        let mut out = Vec::new();
        let peer = [192, 0, 2, 1].into();
        encode_message(
            &Message::ErrorIndication { teid: 0x1234, peer, udp_port: None },
            0,
            Some(0),
            &mut out,
        )
        .unwrap();
        assert_eq!(
            out,
            [0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0x12, 0x34, 133, 0, 4, 192, 0, 2, 1]
        );
    }

    #[test]
    fn message_without_mandatory_element_is_refused() {
        for (message_type, payload, element) in [
            (message_type::ECHO_RESPONSE, &[][..], "Recovery"),
            (message_type::ERROR_INDICATION, &[], "TEID Data I"),
            (message_type::ERROR_INDICATION, &[16, 0, 0, 0, 1], "GTP-U Peer Address"),
            (message_type::ERROR_INDICATION, &[16, 0, 0, 0, 1, 133, 0, 1, 9], "GTP-U Peer Address"),
            (message_type::SUPPORTED_EXTENSION_HEADERS, &[1], "Extension Header Type List"),
        ] {
            let mut out = Vec::new();
            Header { message_type, ..Default::default() }.encode(payload, &mut out).unwrap();
            let refused = decode_message(&Packet::parse(&out).unwrap());
            assert_eq!(refused, Err(GtpuError::Element { message_type, element }));
        }
    }
}
