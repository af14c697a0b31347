//! Test packets of users: IP, UDP, and a probe with run, stream, number and time.
//!
//! | bytes | content |
//! |---|---|
//! | 0-3 | run |
//! | 4 | version 1 |
//! | 5 | flags: 1 reflection requested, 2 reflected, 4 downlink |
//! | 6-7 | 0 |
//! | 8-11 | stream: session and sender |
//! | 12-19 | number within the stream, from 0 |
//! | 20-27 | scheduled sending time, nanoseconds of the sender's monotonic clock |
use ranlab_packet::{checksum, udp_headers_bytes, write_udp};
use std::net::SocketAddr;

/// Length of a probe, in bytes.
pub const PROBE_BYTES: usize = 28;
/// Returns the minimum length of a user packet with a probe, for an IP version.
pub const fn least_packet(ipv6: bool) -> usize {
    (if ipv6 { 40 } else { 20 }) + UDP + PROBE_BYTES
}

const UDP: usize = 8;
const HOP_LIMIT: u8 = 64;
const VERSION: u8 = 1;
/// Flag of a probe that requests reflection by the data network.
pub(super) const REFLECT: u8 = 1;
/// Flag of a reflected packet.
pub(super) const REFLECTED: u8 = 2;
/// Flag of a packet that was created by the data network.
pub(super) const DOWNLINK: u8 = 4;

/// Content of a test packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Number of the run.
    pub run: u32,
    /// Sum of flags: 1 reflection requested, 2 reflected, 4 downlink.
    pub flags: u8,
    /// Number of the stream, which identifies session and sender.
    pub stream: u32,
    /// Number of the packet within the stream.
    pub number: u64,
    /// Scheduled send time, in nanoseconds.
    pub intended_ns: u64,
}

impl Probe {
    fn put(&self, out: &mut [u8; PROBE_BYTES]) {
        out[..4].copy_from_slice(&self.run.to_be_bytes());
        out[4..8].copy_from_slice(&[VERSION, self.flags, 0, 0]);
        out[8..12].copy_from_slice(&self.stream.to_be_bytes());
        out[12..20].copy_from_slice(&self.number.to_be_bytes());
        out[20..28].copy_from_slice(&self.intended_ns.to_be_bytes());
    }

    /// Parses the payload of a UDP datagram.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let octets: &[u8; PROBE_BYTES] = payload.first_chunk()?;
        let number = |at: usize| octets[at..].first_chunk().map(|eight| u64::from_be_bytes(*eight));
        let word = |at: usize| octets[at..].first_chunk().map(|four| u32::from_be_bytes(*four));
        (octets[4] == VERSION).then_some(())?;
        Some(Self {
            run: word(0)?,
            flags: octets[5],
            stream: word(8)?,
            number: number(12)?,
            intended_ns: number(20)?,
        })
    }

    /// Parses the probe of an IP packet.
    pub fn of_packet(packet: &[u8]) -> Option<Self> {
        let header = match packet.first()? >> 4 {
            4 => usize::from(packet[0] & 15) * 4,
            6 => 40,
            _ => return None,
        };
        Self::read(packet.get(header + UDP..)?)
    }
}

/// Writes a user packet and returns its length. The length is `octets`, but at least [`least_packet`] and at most the available space.
pub fn write_packet(
    from: SocketAddr,
    to: SocketAddr,
    octets: usize,
    probe: &Probe,
    out: &mut [u8],
) -> Option<usize> {
    let octets = octets.max(least_packet(from.is_ipv6())).min(usize::from(u16::MAX));
    let (head, payload) = out.get_mut(..octets)?.split_at_mut_checked(udp_headers_bytes(to.ip()))?;
    probe.put(payload.first_chunk_mut()?);
    payload[PROBE_BYTES..].fill(0);
    write_udp(from, to, HOP_LIMIT, payload, head)?;
    Some(octets)
}

/// Swaps addresses and ports of a UDP packet and marks its probe. Returns `false` if it is not a UDP packet. Swapping words does not change
/// checksums. With IPv6, the change of the flag is compensated in the checksum.
pub fn reflect(packet: &mut [u8]) -> bool {
    let (header, protocol, at, len) = match packet.first().map(|first| first >> 4) {
        Some(4) => (usize::from(packet[0] & 15) * 4, packet.get(9), 12, 4),
        Some(6) => (40, packet.get(6), 8, 16),
        _ => return false,
    };
    if protocol != Some(&17) || packet.len() < header + UDP || header < at + 2 * len {
        return false;
    }
    for octet in at..at + len {
        packet.swap(octet, octet + len);
    }
    packet.swap(header, header + 2);
    packet.swap(header + 1, header + 3);
    let Some(mut probe) = packet.get(header + UDP..).and_then(Probe::read) else { return true };
    let sum_at = header + 6;
    let before = u16::from_be_bytes([packet[header + UDP + 4], packet[header + UDP + 5]]);
    probe.flags = (probe.flags | REFLECTED) & !REFLECT;
    packet[header + UDP + 5] = probe.flags;
    let after = u16::from_be_bytes([packet[header + UDP + 4], packet[header + UDP + 5]]);
    let sum = u16::from_be_bytes([packet[sum_at], packet[sum_at + 1]]);
    if sum != 0 {
        packet[sum_at..sum_at + 2].copy_from_slice(&checksum::update(sum, before, after).to_be_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn probe_is_readable_in_both_ip_versions_and_after_reflection() {
        let probe = Probe { run: 7, flags: REFLECT, stream: 5, number: 1 << 40, intended_ns: 99 };
        for (ue, server, octets) in [
            ("10.60.0.1:4000", "192.0.2.1:7", 100),
            ("[2001:db8::1]:4000", "[2001:db8:1::1]:7", 200),
            ("10.60.0.1:4000", "192.0.2.1:7", 1),
        ] {
            let from: SocketAddr = ue.parse().unwrap();
            let to: SocketAddr = server.parse().unwrap();
            let mut room = [0xaa; 300];
            let len = write_packet(from, to, octets, &probe, &mut room).unwrap();
            assert_eq!(len, octets.max(least_packet(from.is_ipv6())));
            let packet = &mut room[..len];
            assert_eq!(Probe::of_packet(packet), Some(probe));
            assert!(reflect(packet));
            assert_eq!(Probe::of_packet(packet), Some(Probe { flags: REFLECTED, ..probe }));
            if let (IpAddr::V6(a), IpAddr::V6(b)) = (from.ip(), to.ip()) {
                let pseudo = checksum::pseudo_ipv6(b.octets(), a.octets(), 17, (len - 40) as u32);
                assert_eq!(checksum::fold(checksum::sum(&packet[40..], pseudo)), 0xffff);
                assert_eq!((&packet[8..24], &packet[40..42]), (&b.octets()[..], &[0, 7][..]));
            } else {
                assert!(checksum::verifies(&packet[..20]));
            }
        }
    }

    #[test]
    fn non_udp_packet_is_not_reflected() {
        for packet in [&mut [][..], &mut [0x45; 10], &mut [0x60; 30], &mut [0x45; 40], &mut [0x41; 40]] {
            assert!(!reflect(packet));
        }
    }

    #[test]
    fn truncated_probe_or_other_version_is_rejected() {
        let probe = Probe { run: 7, flags: 0, stream: 5, number: 9, intended_ns: 99 };
        let from = "10.60.0.1:4000".parse().unwrap();
        let to = "192.0.2.1:7".parse().unwrap();
        let mut room = [0; 100];
        let len = write_packet(from, to, 0, &probe, &mut room).unwrap();
        for cut in 0..len {
            assert_eq!(Probe::of_packet(&room[..cut]), None, "{cut}");
        }
        assert_eq!(Probe::of_packet(&room[..len]), Some(probe));
        room[20 + UDP + 4] = VERSION + 1;
        assert_eq!(Probe::of_packet(&room[..len]), None);
        room[0] = 0x75;
        assert_eq!(Probe::of_packet(&room[..len]), None, "IP version 7");
    }

    #[test]
    fn ipv4_options_are_skipped() {
        let probe = Probe { run: 7, flags: REFLECT, stream: 5, number: 9, intended_ns: 99 };
        let from = "10.60.0.1:4000".parse().unwrap();
        let to = "192.0.2.1:7".parse().unwrap();
        let mut room = [0; 100];
        let len = write_packet(from, to, 0, &probe, &mut room).unwrap();
        // Four bytes of options (RFC 791: 1 is no operation).
        let mut packet = [&room[..20], &[1; 4], &room[20..len]].concat();
        packet[0] = 0x46;
        assert_eq!(Probe::of_packet(&packet), Some(probe));
        assert!(reflect(&mut packet));
        assert_eq!((&packet[12..16], &packet[16..20]), (&[192, 0, 2, 1][..], &[10, 60, 0, 1][..]));
        assert_eq!(Probe::of_packet(&packet).unwrap().flags, REFLECTED);
    }

    #[test]
    fn mixed_ip_versions_and_short_buffers_are_rejected() {
        let probe = Probe { run: 0, flags: 0, stream: 0, number: 0, intended_ns: 0 };
        let v4 = "10.0.0.1:1".parse().unwrap();
        let v6 = "[::1]:1".parse().unwrap();
        let mut room = [0; 80];
        assert_eq!(write_packet(v4, v6, 80, &probe, &mut room), None);
        assert_eq!(write_packet(v6, v4, 80, &probe, &mut room), None);
        assert_eq!(write_packet(v4, v4, 81, &probe, &mut room), None);
        assert_eq!(write_packet(v4, v4, 80, &probe, &mut room), Some(80));
        let mut most = vec![0; 70_000];
        assert_eq!(write_packet(v6, v6, 70_000, &probe, &mut most), Some(65_535));
    }

    #[test]
    fn packet_without_probe_is_reflected() {
        let mut packet = [0; 30];
        (packet[0], packet[9]) = (0x45, 17);
        packet[12..20].copy_from_slice(&[1, 1, 1, 1, 2, 2, 2, 2]);
        packet[20..24].copy_from_slice(&[0, 5, 0, 6]);
        assert!(reflect(&mut packet));
        assert_eq!((&packet[12..20], &packet[20..24]), (&[2, 2, 2, 2, 1, 1, 1, 1][..], &[0, 6, 0, 5][..]));
        packet[9] = 6;
        let before = packet;
        assert!(!reflect(&mut packet), "TCP packets are not reflected");
        assert_eq!(packet, before);
    }
}
