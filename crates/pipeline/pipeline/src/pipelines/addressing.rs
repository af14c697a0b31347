//! Addresses as in the configurations of the benchmark TIPSY. TIPSY's generator counts in base 254 and wraps within two
//! bytes. Here, the count continues in the next byte, so that larger tables have distinct entries.
use ranlab_packet::Mac;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns an element of TIPSY's sequence of two bytes, whose lower byte is 1 to 254.
pub(super) const fn pair(index: u32) -> u32 {
    ((index / 254) << 8) + index % 254 + 1
}

/// Returns `a.b.x.y` for an index.
pub(super) const fn ipv4(a: u8, b: u8, index: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits((((a as u32) << 24) | ((b as u32) << 16)).wrapping_add(pair(index)))
}

/// Returns `a.x.y.last` for an index. The middle bytes count.
pub(super) const fn ipv4_middle(a: u8, index: u32, last: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(((a as u32) << 24).wrapping_add(pair(index) << 8) + last as u32)
}

/// Returns four fixed bytes followed by the sequence.
pub(super) const fn mac(prefix: [u8; 4], index: u32) -> Mac {
    let [a, b, c, d] = prefix;
    let base = u64::from_be_bytes([0, 0, a, b, c, d, 0, 0]);
    Mac::from_u64(base + pair(index) as u64)
}

/// Returns address and MAC of a base station, CPE or host.
pub(super) const fn station(index: u32) -> (Ipv4Addr, Mac) {
    (ipv4(1, 1, index), mac([0xaa, 0xcc, 0xdd, 0xcc], index))
}

/// Returns the address of a user of the static configuration.
pub(super) const fn user(index: u32) -> Ipv4Addr {
    ipv4(3, 3, index)
}

/// Returns the address of a user that is added and removed.
pub(super) const fn fluct_user(index: u32) -> Ipv4Addr {
    ipv4(4, 4, index)
}

/// Returns the address of a server. The route to the server is its /24.
pub(super) const fn server(index: u32) -> Ipv4Addr {
    ipv4_middle(2, index, 2)
}

/// Returns the address of a server that is added and removed.
pub(super) const fn fluct_server(index: u32) -> Ipv4Addr {
    ipv4_middle(5, index, 2)
}

/// Returns the upper half of an IPv6 user's addresses: a /64 of 2001:db9::/32.
pub(super) const fn user6(index: u32) -> u64 {
    0x2001_0db9_u64 << 32 | index as u64
}

/// Returns the upper half of the addresses of an IPv6 user that is added and removed: a /64 of 2001:dba::/32.
pub(super) const fn fluct_user6(index: u32) -> u64 {
    0x2001_0dba_u64 << 32 | index as u64
}

/// Returns the address of an IPv6 server in 2001:db8::/32. The route to the server is its /64.
pub(super) const fn server6(index: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits((0x2001_0db8_u128 << 32 | index as u128) << 64 | 2)
}

/// Returns the address of an IPv6 server that is added and removed, in 2001:dbc::/32.
pub(super) const fn fluct_server6(index: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits((0x2001_0dbc_u128 << 32 | index as u128) << 64 | 2)
}

/// Returns an address of an IPv6 user.
pub(super) const fn host6(upper: u64, lower: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits((upper as u128) << 64 | lower as u128)
}

/// Returns destination and source MAC of a next hop.
pub(super) const fn next_hop(index: u32) -> (Mac, Mac) {
    (mac([0xaa, 0xbb, 0xbb, 0xaa], index), mac([0xee, 0xdd, 0xdd, 0xaa], index))
}

/// Returns the public side of the translation with this index. As in TIPSY, ports are counted before addresses. They
/// begin above the reserved ports.
pub(super) const fn public(index: u32) -> (Ipv4Addr, u16) {
    (ipv4(200, 1, index / NAT_PORTS), NAT_PORT_FIRST + (index % NAT_PORTS) as u16)
}

/// Returns the public side of the IPv6 translation with this index. The address counts within 2001:dbb::/64.
pub(super) const fn public6(index: u32) -> (Ipv6Addr, u16) {
    let address = host6(0x2001_0dbb_u64 << 32, (index / NAT_PORTS) as u64 + 1);
    (address, NAT_PORT_FIRST + (index % NAT_PORTS) as u16)
}

/// First port of a translation.
pub(super) const NAT_PORT_FIRST: u16 = 512;
/// Number of ports per address, which is the maximum of `user-conn`.
pub(super) const NAT_PORTS: u32 = 65_023;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_equal_tipsy_addresses() {
        assert_eq!(station(0).0, Ipv4Addr::new(1, 1, 0, 1));
        assert_eq!(station(254).1.to_string(), "aa:cc:dd:cc:01:01");
        assert_eq!((user(0), server(253)), (Ipv4Addr::new(3, 3, 0, 1), Ipv4Addr::new(2, 0, 254, 2)));
        assert_eq!(next_hop(0).0.to_string(), "aa:bb:bb:aa:00:01");
        assert_eq!(public(0), (Ipv4Addr::new(200, 1, 0, 1), 512));
        assert_eq!(public(65_023), (Ipv4Addr::new(200, 1, 0, 2), 512));
        assert_eq!(public6(65_024), ("2001:dbb::2".parse().unwrap(), 513));
    }

    #[test]
    fn static_and_dynamic_users_are_disjoint() {
        assert!(user(super::super::TABLE_MAX) < fluct_user(0));
    }
}
