//! Socket addresses in binary form (`sockaddr_in`, `sockaddr_in6`).

use std::ffi::c_int;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Length of the longest address, in bytes.
pub(crate) const ADDRESS_BYTES: usize = 28;

/// Parses an address. Returns `EINVAL` for another family or a truncated address. An IPv4-mapped IPv6 address becomes
/// IPv4.
pub(crate) fn read(octets: &[u8]) -> io::Result<SocketAddr> {
    parsed(octets).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

fn parsed(octets: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(*octets.first_chunk()?);
    let port = u16::from_be_bytes([*octets.get(2)?, *octets.get(3)?]);
    let ip: IpAddr = match c_int::from(family) {
        libc::AF_INET => <[u8; 4]>::try_from(octets.get(4..8)?).ok()?.into(),
        libc::AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(octets.get(8..24)?).ok()?).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Returns an address in the format of a socket of this family.
pub(crate) fn written(address: SocketAddr, family: c_int) -> Vec<u8> {
    let mut octets = u16::try_from(family).unwrap_or_default().to_ne_bytes().to_vec();
    octets.extend(address.port().to_be_bytes());
    match (family, address.ip()) {
        (libc::AF_INET6, ip) => {
            let ip = match ip {
                IpAddr::V4(ip) if ip.is_unspecified() => Ipv6Addr::UNSPECIFIED,
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            octets.extend([0; 4]);
            octets.extend(ip.octets());
            octets.extend([0; 4]);
        }
        (_, IpAddr::V4(ip)) => octets.extend(ip.octets()),
        // An IPv4 socket cannot have an IPv6 peer.
        (_, IpAddr::V6(_)) => octets.extend([0; 4]),
    }
    octets.resize(octets.len().max(16), 0);
    octets
}
