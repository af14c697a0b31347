//! The user's packet: what rules ask about it.
use std::net::IpAddr;

/// Addresses, protocol and ports of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inner {
    /// See [`ue_key`].
    pub(super) source: u64,
    pub(super) destination: u64,
    pub(super) addresses: (IpAddr, IpAddr),
    pub(super) protocol: u8,
    /// Of TCP, UDP and SCTP, in first fragments.
    pub(super) ports: Option<(u16, u16)>,
    /// Octets of the packet; what follows is padding.
    pub(super) octets: usize,
}

/// A UE by its address: IPv4 whole, IPv6 by its /64 prefix, which is what a UE is given. The prefix of `::/64` is never
/// given to a UE, so the two do not meet.
pub(super) fn ue_key(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => (u128::from(v6) >> 64) as u64,
    }
}

impl Inner {
    /// Reads an IP packet; `None` if it is none, or cut short.
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
        Some(Self {
            source: ue_key(source),
            destination: ue_key(destination),
            addresses: (source, destination),
            // Behind extension headers, ports are not looked for.
            protocol: head[6],
            ports: ports(head[6], &packet[40..octets]),
            octets,
        })
    }
}

fn ports(protocol: u8, payload: &[u8]) -> Option<(u16, u16)> {
    let &[a, b, c, d] = payload.first_chunk()?;
    matches!(protocol, 6 | 17 | 132).then(|| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}
