//! PFCP messages as a classic capture of IP packets, which any tool reads.
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use ranlab_emulator::load::Traced;

/// Link type of bare IP packets.
const LINKTYPE_RAW: u32 = 101;

pub(super) fn write<'a>(path: &Path, messages: impl Iterator<Item = &'a Traced>) -> io::Result<()> {
    let mut out = Vec::new();
    // Nanoseconds, version 2.4, no offset, no accuracy, longest packet, link type.
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, LINKTYPE_RAW] {
        out.extend(word.to_le_bytes());
    }
    for message in messages {
        let packet = packet(message.from, message.to, &message.octets);
        let (seconds, nanos) = (message.at_ns / 1_000_000_000, message.at_ns % 1_000_000_000);
        let len = packet.len() as u32;
        for word in [seconds as u32, nanos as u32, len, len] {
            out.extend(word.to_le_bytes());
        }
        out.extend(packet);
    }
    std::fs::write(path, out)
}

fn packet(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let udp_len = payload.len() as u16 + 8;
    let mut out = match (from.ip(), to.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let header = ranlab_wire::packet::Ipv4Header {
                traffic_class: 0,
                payload_bytes: udp_len,
                ttl: 64,
                protocol: ranlab_wire::packet::Protocol::UDP,
                src: a,
                dst: b,
            };
            header.write().to_vec()
        }
        (a, b) => {
            let six = |ip: IpAddr| match ip {
                IpAddr::V6(v6) => v6.octets(),
                IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            };
            let mut header = vec![0x60, 0, 0, 0];
            header.extend(udp_len.to_be_bytes());
            header.extend([17, 64]);
            header.extend(six(a));
            header.extend(six(b));
            header
        }
    };
    for number in [from.port(), to.port(), udp_len, 0] {
        out.extend(number.to_be_bytes());
    }
    out.extend(payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_behind_its_headers() {
        for (from, to, header) in [("10.0.0.1:1", "10.0.0.2:8805", 20), ("[::1]:1", "[::2]:8805", 40)] {
            let packet = packet(from.parse().unwrap(), to.parse().unwrap(), &[7; 5]);
            assert_eq!(packet.len(), header + 13);
            assert_eq!(
                (&packet[header + 2..header + 4], &packet[header + 8..]),
                (&8805_u16.to_be_bytes()[..], &[7; 5][..])
            );
        }
    }
}
