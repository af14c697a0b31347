//! Lists of addresses and networks that may connect, in text form.
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// An address or a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedPeer {
    network: IpAddr,
    bits: u8,
}

/// The text is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither an IP address nor a network like 10.0.0.0/8 or fd00::/8")]
pub struct NotANetwork(String);

impl FromStr for AllowedPeer {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let wrong = || NotANetwork(text.to_owned());
        let (ip, bits) = text.split_once('/').map_or((text, None), |(ip, bits)| (ip, Some(bits)));
        let network: IpAddr = ip.parse().map_err(|_| wrong())?;
        let most = if network.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if bits > most { Err(wrong()) } else { Ok(Self { network, bits }) }
    }
}

impl AllowedPeer {
    /// Returns whether a peer is on the list. `peer` is its name in the transport. An empty list allows all peers.
    /// Peers over a Unix socket or inside the process are always allowed, because the file system has checked them.
    pub fn any(list: &[Self], peer: &str) -> bool {
        let network = ["tcp://", "tls://", "sctp://"].iter().find_map(|scheme| peer.strip_prefix(scheme));
        let Some(address) = network else { return true };
        // Further details may follow after a space, such as the name in a certificate.
        let address = address.split(' ').next().unwrap_or_default();
        let Ok(address) = address.parse::<SocketAddr>() else { return list.is_empty() };
        list.is_empty() || list.iter().any(|allowed| allowed.holds(address.ip()))
    }

    /// Returns a function that tests whether an address is in one of these networks, or `None` if the list is empty.
    pub fn any_of(list: &[Self]) -> Option<impl Fn(IpAddr) -> bool + use<>> {
        let list = list.to_vec();
        (!list.is_empty()).then_some(move |peer| list.iter().any(|allowed| allowed.holds(peer)))
    }

    /// Returns whether an address is in the network.
    pub fn holds(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        match (self.network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                prefix(u128::from(u32::from(network)) << 96, self.bits)
                    == prefix(u128::from(u32::from(ip)) << 96, self.bits)
            }
            (IpAddr::V6(network), IpAddr::V6(ip)) => {
                prefix(u128::from(network), self.bits) == prefix(u128::from(ip), self.bits)
            }
            _ => false,
        }
    }
}

fn prefix(address: u128, bits: u8) -> u128 {
    if bits == 0 { 0 } else { address >> (128 - u32::from(bits)) }
}

impl fmt::Display for AllowedPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_contains_only_its_addresses() {
        let list: Vec<AllowedPeer> =
            ["10.0.0.0/8", "192.0.2.7", "fd00::/8"].map(|t| t.parse().unwrap()).to_vec();
        for (peer, allowed) in [
            ("tcp://10.255.0.1:1", true),
            ("tcp://11.0.0.1:1", false),
            ("tcp://192.0.2.7:9", true),
            ("tcp://192.0.2.8:9", false),
            ("tcp://[fd12::1]:9", true),
            ("tcp://[::ffff:10.0.0.1]:9", true),
            ("tcp://[fe80::1]:9", false),
            ("unix", true),
            ("sctp://10.0.0.1:9", true),
            ("sctp://11.0.0.1:9", false),
            ("tls://10.0.0.1:9 as gnb-1.lab", true),
            ("tls://11.0.0.1:9 as gnb-1.lab", false),
        ] {
            assert_eq!(AllowedPeer::any(&list, peer), allowed, "{peer}");
        }
        assert!(AllowedPeer::any(&[], "tcp://8.8.8.8:53"));
        assert!(["10.0.0.0/33", "x", "10.0.0.0/", ""].iter().all(|t| t.parse::<AllowedPeer>().is_err()));
    }
}
