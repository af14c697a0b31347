//! Fields of user packets that rules compare.
use std::net::IpAddr;

/// Addresses, protocol and ports of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inner {
    /// Key of the source address; see [`ue_key`].
    pub(super) source: u64,
    pub(super) destination: u64,
    pub(super) addresses: (IpAddr, IpAddr),
    pub(super) protocol: u8,
    /// Ports of TCP, UDP and SCTP packets, if they are the first fragment.
    pub(super) ports: Option<(u16, u16)>,
    /// Length of the packet without padding, in bytes.
    pub(super) octets: usize,
    /// Type of service (IPv4) or traffic class (IPv6).
    pub(super) tos: u8,
    /// Security parameter index of ESP and AH.
    pub(super) spi: Option<u32>,
    /// IPv6 flow label.
    pub(super) flow_label: Option<u32>,
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AH: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
/// Maximum number of IPv6 extension headers that are parsed. Ports after more headers are not found.
const MAX_EXTENSIONS: usize = 8;

/// Returns whether packets of this protocol begin with two ports. These are TCP, UDP, DCCP, SCTP and UDP-Lite.
pub(super) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

/// Returns the key of a UE by its address. The key is the whole IPv4 address, or the /64 prefix of IPv6, which is the unit that a UE is
/// assigned. The prefix `::/64` is never assigned to a UE, so the keys of both versions are distinct.
pub(super) fn ue_key(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => (u128::from(v6) >> 64) as u64,
    }
}

impl Inner {
    /// Parses an IP packet. Returns `None` if it is invalid or truncated.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::read_v4(packet),
            6 => Self::read_v6(packet),
            _ => None,
        }
    }

    fn read_v4(packet: &[u8]) -> Option<Self> {
        let head: &[u8; 20] = packet.first_chunk()?;
        let header = usize::from(head[0] & 15) * 4;
        let octets = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if header < 20 || octets < header || octets > packet.len() {
            return None;
        }
        let fragment_offset = u16::from_be_bytes([head[6], head[7]]) & 0x1fff;
        let source: [u8; 4] = *head[12..].first_chunk()?;
        let destination: [u8; 4] = *head[16..].first_chunk()?;
        let payload = (fragment_offset == 0).then(|| &packet[header..octets]);
        Some(Self {
            source: u32::from_be_bytes(source).into(),
            destination: u32::from_be_bytes(destination).into(),
            addresses: (source.into(), destination.into()),
            protocol: head[9],
            ports: payload.and_then(|payload| ports(head[9], payload)),
            octets,
            tos: head[1],
            spi: payload.and_then(|payload| spi(head[9], payload)),
            flow_label: None,
        })
    }

    fn read_v6(packet: &[u8]) -> Option<Self> {
        let head: &[u8; 40] = packet.first_chunk()?;
        let octets = 40 + usize::from(u16::from_be_bytes([head[4], head[5]]));
        if octets > packet.len() {
            return None;
        }
        let source = IpAddr::from(*head[8..].first_chunk::<16>()?);
        let destination = IpAddr::from(*head[24..].first_chunk::<16>()?);
        let (protocol, payload) = transport(head[6], &packet[40..octets]);
        Some(Self {
            source: ue_key(source),
            destination: ue_key(destination),
            addresses: (source, destination),
            protocol,
            ports: payload.and_then(|payload| ports(protocol, payload)),
            octets,
            tos: head[0] << 4 | head[1] >> 4,
            spi: payload.and_then(|payload| spi(protocol, payload)),
            flow_label: Some(u32::from_be_bytes([0, head[1] & 0x0f, head[2], head[3]])),
        })
    }
}

fn ports(protocol: u8, payload: &[u8]) -> Option<(u16, u16)> {
    let &[a, b, c, d] = payload.first_chunk()?;
    has_ports(protocol).then(|| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// Returns the security parameter index of an ESP or AH packet.
fn spi(protocol: u8, payload: &[u8]) -> Option<u32> {
    let at = match protocol {
        ESP => 0,
        AH => 4,
        _ => return None,
    };
    payload.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

/// Returns the protocol after the IPv6 extension headers, and its bytes. The bytes are `None` in later fragments.
fn transport(first: u8, octets: &[u8]) -> (u8, Option<&[u8]>) {
    let mut kind = first;
    let mut rest = Some(octets);
    for _ in 0..MAX_EXTENSIONS {
        let Some(&[next, len, high, low]) = rest.and_then(|rest| rest.first_chunk()) else { break };
        let len = match kind {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => 8 * (usize::from(len) + 1),
            // In later fragments (offset not 0), no header follows.
            FRAGMENT if u16::from_be_bytes([high, low]) & 0xfff8 != 0 => return (next, None),
            FRAGMENT => 8,
            _ => break,
        };
        rest = rest.and_then(|rest| rest.get(len..));
        kind = next;
    }
    (kind, rest)
}
