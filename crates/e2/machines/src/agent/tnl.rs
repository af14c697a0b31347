//! Addresses of controllers that E2AP carries as bit strings (E2 connection update, setup failure).
use ranlab_e2_codec::e2ap::TnlInformation;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Default E2 port, for addresses without a port.
const E2_PORT: u16 = 36_421;

/// Formats the address with the scheme of `like`. Returns `None` unless the address is IPv4, IPv6, or both (then IPv4
/// is used).
pub(super) fn address(tnl: &TnlInformation, like: &str) -> Option<String> {
    let octets = tnl.address.octets.as_slice();
    let ip = match (tnl.address.len_bits, octets) {
        (32, octets) | (160, octets) => {
            IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(octets.get(..4)?).ok()?))
        }
        (128, octets) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets.get(..16)?).ok()?)),
        _ => return None,
    };
    let port = tnl.port.map_or(E2_PORT, |bits| bits.value as u16);
    let scheme = like.find("://").map_or("", |end| &like[..end + 3]);
    Some(format!("{scheme}{}", SocketAddr::new(ip, port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::per::{BitString, ShortBits};

    fn tnl(octets: &[u8], port: Option<u64>) -> TnlInformation {
        TnlInformation { address: BitString::from_octets(octets), port: port.map(|p| ShortBits::new(p, 16)) }
    }

    #[test]
    fn addresses_take_scheme_of_requesting_controller() {
        let v4 = tnl(&[192, 0, 2, 7], Some(36_422));
        assert_eq!(address(&v4, "tcp://ric:36421").as_deref(), Some("tcp://192.0.2.7:36422"));
        assert_eq!(address(&tnl(&[192, 0, 2, 7], None), "ric").as_deref(), Some("192.0.2.7:36421"));
        let mut v6 = [0; 16];
        (v6[0], v6[15]) = (0xfd, 1);
        assert_eq!(address(&tnl(&v6, Some(1)), "sctp://x").as_deref(), Some("sctp://[fd00::1]:1"));
        assert_eq!(address(&tnl(&[1, 2, 3], None), ""), None);
    }
}
