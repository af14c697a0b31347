//! Default addresses of a load, and errors that name the socket in which they occurred.
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use ranlab_upf::n4::PFCP_PORT;

use super::LoadError;

/// UDP port of GTP-U (TS 29.281 4.4.2.0).
const GTPU_PORT: u16 = 2152;
/// Default number of base stations.
const DEFAULT_GNBS: usize = 2;

/// Returns the default address of the SMF. If the UPF is on this machine, the SMF has a loopback address that UPFs and base stations do not
/// use by default. Otherwise it has the source address of the kernel's route to the UPF.
///
/// # Errors
/// The kernel has no route to the UPF.
pub fn default_smf(upf: SocketAddr) -> Result<SocketAddr, LoadError> {
    let ip = source_or(upf, Ipv4Addr::new(127, 0, 2, 1), "--n4", "--smf")?;
    Ok(SocketAddr::new(ip, PFCP_PORT))
}

/// Returns the default address of the first base station: 127.0.1.1 if the UPF is on this machine, otherwise the source
/// address of the kernel's route to the UPF's N3.
///
/// # Errors
/// The kernel has no route to the UPF.
pub fn default_gnb(n3: SocketAddr) -> Result<SocketAddr, LoadError> {
    let ip = source_or(n3, Ipv4Addr::new(127, 0, 1, 1), "--n3", "--gnb")?;
    Ok(SocketAddr::new(ip, GTPU_PORT))
}

/// Returns the default number of base stations. It is 2 if this machine has the address after `first`, and that address is not `in_use` by
/// the UPF. Otherwise it is 1.
pub fn default_gnbs(first: SocketAddr, in_use: &[IpAddr]) -> usize {
    let next = super::nth(first, 1).ip();
    let is_ours = !in_use.contains(&next) && UdpSocket::bind(SocketAddr::new(next, 0)).is_ok();
    if is_ours { DEFAULT_GNBS } else { 1 }
}

fn source_or(
    peer: SocketAddr,
    local: Ipv4Addr,
    peer_flag: &'static str,
    own_flag: &'static str,
) -> Result<IpAddr, LoadError> {
    if matches!(peer.ip(), IpAddr::V4(v4) if v4.is_loopback()) {
        return Ok(local.into());
    }
    let no_route = |source| LoadError::NoRoute { peer, peer_flag, own_flag, source };
    let source = source_towards(peer).map_err(no_route)?;
    // For a peer on this machine, the kernel chooses the peer's address as source. That address belongs to the UPF.
    if peer.is_ipv4() && source == peer.ip() { Ok(local.into()) } else { Ok(source) }
}

fn source_towards(peer: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(peer)?;
    Ok(socket.local_addr()?.ip())
}

/// One of our sockets, for error texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint {
    /// Role of the socket, for example "SMF".
    pub(super) what: &'static str,
    /// Flag that sets the socket's address.
    pub(super) flag: &'static str,
    /// Address of the socket.
    pub(super) own: SocketAddr,
    /// Address to which the socket sends.
    pub(super) peer: SocketAddr,
    /// Flag that sets the address to which the socket sends.
    pub(super) peer_flag: &'static str,
}

impl Endpoint {
    /// Adds the socket's addresses and their flags to an error.
    pub(super) fn error(&self, source: io::Error) -> io::Error {
        let kind = source.kind();
        io::Error::new(kind, EndpointError { endpoint: *self, source })
    }

    /// Checks that the kernel can send from the socket's address to the peer's.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let fault = |source| LoadError::Io(self.error(source));
        let socket = UdpSocket::bind(SocketAddr::new(self.own.ip(), 0)).map_err(fault)?;
        socket.connect(self.peer).map_err(fault)
    }
}

#[derive(Debug)]
struct EndpointError {
    endpoint: Endpoint,
    source: io::Error,
}

impl std::error::Error for EndpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Endpoint { what, flag, own, peer, peer_flag } = self.endpoint;
        let Self { source, .. } = self;
        write!(
            f,
            "the {what} at {own} ({flag}) cannot exchange packets with {peer} ({peer_flag}): {source}"
        )?;
        match source_towards(peer) {
            Ok(ip) if ip != own.ip() => {
                write!(
                    f,
                    "; this machine reaches {} from {ip}: try {flag} {}",
                    peer.ip(),
                    SocketAddr::new(ip, own.port())
                )
            }
            Ok(_) => Ok(()),
            Err(_) => write!(f, "; this machine has no route to {}", peer.ip()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_smf_uses_source_address_of_route_to_upf() {
        for upf in ["127.0.0.8:8805", "127.200.0.1:9"] {
            assert_eq!(default_smf(upf.parse().unwrap()).unwrap().to_string(), "127.0.2.1:8805");
        }
        let six = default_smf("[::1]:8805".parse().unwrap());
        assert!(six.is_err() || six.is_ok_and(|smf| smf.to_string() == "[::1]:8805"));
    }

    #[test]
    fn number_of_base_stations_depends_on_local_addresses() {
        let loopback = default_gnb("127.0.0.8:2152".parse().unwrap()).unwrap();
        assert_eq!(loopback.to_string(), "127.0.1.1:2152");
        assert_eq!(default_gnbs(loopback, &[]), 2);
        assert_eq!(
            default_gnbs(loopback, &[IpAddr::from([127, 0, 1, 2])]),
            1,
            "the UPF has the next address"
        );
        // A documentation address (RFC 5737), which no machine has.
        assert_eq!(default_gnbs("203.0.113.254:2152".parse().unwrap(), &[]), 1);
    }

    #[test]
    fn endpoint_errors_name_both_addresses_and_flags() {
        let endpoint = Endpoint {
            what: "base station",
            flag: "--gnb",
            own: "127.0.1.1:2152".parse().unwrap(),
            peer: "127.0.0.8:2152".parse().unwrap(),
            peer_flag: "--n3",
        };
        assert!(endpoint.check().is_ok());
        let error = endpoint.error(io::ErrorKind::InvalidInput.into());
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let text = error.to_string();
        for part in ["127.0.1.1:2152 (--gnb)", "127.0.0.8:2152 (--n3)", "try --gnb 127.0.0.1:2152"] {
            assert!(text.contains(part), "{text}");
        }
        let foreign = Endpoint { own: "192.0.2.1:2152".parse().unwrap(), ..endpoint };
        assert!(
            matches!(foreign.check(), Err(LoadError::Io(error)) if error.kind() == io::ErrorKind::AddrNotAvailable)
        );
    }
}
