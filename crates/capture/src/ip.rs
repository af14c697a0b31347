//! IP: from a packet to the segment of the transport that it carries.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::note::Note;

/// Extension headers of IPv6 that are skipped.
const MAX_EXTENSIONS: usize = 16;

/// What an IP packet carries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Protocol number: 6 TCP, 17 UDP, 132 SCTP.
    pub(super) protocol: u8,
    pub(super) payload: &'a [u8],
}

/// Takes the IP header off.
pub(super) fn unwrap(packet: &[u8]) -> Result<Segment<'_>, Note> {
    match packet.first().map(|octet| octet >> 4) {
        Some(4) => v4(packet),
        Some(6) => v6(packet),
        _ => Err(Note::Malformed("IP")),
    }
}

fn v4(packet: &[u8]) -> Result<Segment<'_>, Note> {
    let malformed = Note::Malformed("IPv4");
    let Some(head) = packet.first_chunk::<20>() else { return Err(malformed) };
    let header_bytes = usize::from(head[0] & 15) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0 {
        return Err(Note::IpFragment);
    }
    // A total length of 0 is a segment that the network card was to cut; a frame may be longer (padding) or, cut by
    // the capture, shorter.
    let end = if total_bytes == 0 { packet.len() } else { total_bytes.min(packet.len()) };
    if header_bytes < 20 {
        return Err(malformed);
    }
    let payload = packet.get(header_bytes..end).ok_or(malformed)?;
    let address = |at: usize| IpAddr::V4(Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]));
    Ok(Segment { source: address(12), destination: address(16), protocol: head[9], payload })
}

fn v6(packet: &[u8]) -> Result<Segment<'_>, Note> {
    let malformed = || Note::Malformed("IPv6");
    let (head, rest) = packet.split_first_chunk::<40>().ok_or_else(malformed)?;
    let payload_bytes = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let mut payload = if payload_bytes == 0 { rest } else { &rest[..payload_bytes.min(rest.len())] };
    let mut protocol = head[6];
    for _ in 0..MAX_EXTENSIONS {
        let length = match (protocol, payload) {
            // Hop-by-hop, routing, destination options: in units of 8 octets, the first not counted.
            (0 | 43 | 60, [_, n, ..]) => 8 + usize::from(*n) * 8,
            // Authentication header: in units of 4 octets, the first two not counted.
            (51, [_, n, ..]) => 8 + usize::from(*n) * 4,
            (44, [_, _, a, b, ..]) if u16::from_be_bytes([*a, *b]) & 0xfff9 != 0 => {
                return Err(Note::IpFragment);
            }
            (44, [_, _, ..]) => 8,
            (0 | 43 | 44 | 51 | 60, _) => return Err(malformed()),
            _ => break,
        };
        protocol = payload[0];
        payload = payload.get(length..).ok_or_else(malformed)?;
    }
    let address = |at: usize| -> IpAddr {
        let mut octets = [0; 16];
        octets.copy_from_slice(&head[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    Ok(Segment { source: address(8), destination: address(24), protocol, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_behind_a_v4_packet_is_not_payload() {
        let mut packet = vec![0x45, 0, 0, 22, 0, 0, 0x40, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 7, 8];
        packet.extend([0; 24]);
        let segment = unwrap(&packet).unwrap();
        assert_eq!((segment.protocol, segment.payload), (132, &[7, 8][..]));
        assert_eq!(segment.destination, IpAddr::from([10, 0, 0, 2]));
        packet[6] = 0x20;
        assert_eq!(unwrap(&packet), Err(Note::IpFragment));
    }

    #[test]
    fn extension_headers_of_v6_are_skipped() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 18, 0, 64];
        packet.extend([0; 31].iter().chain(&[1]).chain(&[0; 0]));
        packet[23] = 1;
        packet.extend([44, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend([6, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([9, 9]);
        let segment = unwrap(&packet).unwrap();
        assert_eq!((segment.protocol, segment.payload), (6, &[9, 9][..]));
    }

    #[test]
    fn no_cut_panics() {
        for first in [0x45, 0x46, 0x4f, 0x60] {
            for next in [0, 6, 43, 44, 51, 60, 132] {
                let mut packet = [next; 96];
                packet[0] = first;
                for end in 0..packet.len() {
                    let _ = unwrap(&packet[..end]);
                }
            }
        }
    }
}
