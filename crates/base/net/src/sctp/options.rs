//! Options of SCTP sockets (RFC 6458 §8): options that all sockets get, and lists of addresses.
#![allow(unsafe_code)]

use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use socket2::Socket;

// Constants of linux/sctp.h that libc lacks.
pub(super) const BINDX_ADD: libc::c_int = 100;
pub(super) const CONNECTX: libc::c_int = 110;
const EVENT: libc::c_int = 127;
/// `SPP_HB_ENABLE`.
const HEARTBEATS: u32 = 1;

/// Interval of heartbeats on an idle path, in milliseconds. With the kernel's default of 30 s, detecting a
/// dead peer would take minutes.
const HEARTBEAT_MS: u32 = 5_000;
/// Maximum retransmission timeout, in milliseconds (RFC 9260 §16 has 60 s); the initial one is a second.
const RTO_MAX_MS: u32 = 4_000;
const RTO_INITIAL_MS: u32 = 1_000;
/// Consecutive failures before a path is abandoned, and before the peer counts as gone.
const PATH_ATTEMPTS: u16 = 2;
const ATTEMPTS: u16 = 4;
/// Size of `sctp_paddrparams`, packed; offsets of its interval, its attempts and its flags.
const PATH_BYTES: usize = 156;
const PATH_INTERVAL: usize = 132;
const PATH_RETRIES: usize = 136;
const PATH_FLAGS: usize = 146;

/// Sets the options of every association: messages leave at once, and their stream and identifier are
/// reported, as is a restart of the peer. A silent peer or path is detected within some tens of seconds.
pub(super) fn prepare(socket: &Socket) -> io::Result<()> {
    set(socket, libc::SCTP_NODELAY, &1_i32.to_ne_bytes())?;
    set(socket, libc::SCTP_RECVRCVINFO, &1_i32.to_ne_bytes())?;
    set(socket, EVENT, &association_changes())?;
    // Identifier 0: this socket's association. A minimum of 0 keeps the kernel's default.
    set(socket, libc::SCTP_RTOINFO, &words([0, RTO_INITIAL_MS, RTO_MAX_MS, 0]))?;
    set(socket, libc::SCTP_ASSOCINFO, &words([0, u32::from(ATTEMPTS), 0, 0, 0]))?;
    set(socket, libc::SCTP_PEER_ADDR_PARAMS, &heartbeats())
}

/// Encodes `sctp_event` (association, kind, 1 for enabled), which enables notifications of association changes.
fn association_changes() -> [u8; 8] {
    let [low, high] = super::message::ASSOC_CHANGE.to_ne_bytes();
    [0, 0, 0, 0, low, high, 1, 0]
}

/// Encodes `sctp_paddrparams` for all paths.
fn heartbeats() -> [u8; PATH_BYTES] {
    let mut octets = [0; PATH_BYTES];
    octets[PATH_INTERVAL..PATH_INTERVAL + 4].copy_from_slice(&HEARTBEAT_MS.to_ne_bytes());
    octets[PATH_RETRIES..PATH_RETRIES + 2].copy_from_slice(&PATH_ATTEMPTS.to_ne_bytes());
    octets[PATH_FLAGS..PATH_FLAGS + 4].copy_from_slice(&HEARTBEATS.to_ne_bytes());
    octets
}

fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Encodes addresses contiguously, as `sctp_bindx` and `sctp_connectx` require them.
pub(super) fn packed(places: &[SocketAddr]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(places.len() * size_of::<libc::sockaddr_in6>());
    for place in places {
        let port = place.port().to_be_bytes();
        match place {
            SocketAddr::V4(v4) => {
                octets.extend((libc::AF_INET as libc::sa_family_t).to_ne_bytes());
                octets.extend(port);
                octets.extend(v4.ip().octets());
                octets.extend([0; 8]);
            }
            SocketAddr::V6(v6) => {
                octets.extend((libc::AF_INET6 as libc::sa_family_t).to_ne_bytes());
                octets.extend(port);
                octets.extend(v6.flowinfo().to_ne_bytes());
                octets.extend(v6.ip().octets());
                octets.extend(v6.scope_id().to_ne_bytes());
            }
        }
    }
    octets
}

pub(super) fn set(socket: &Socket, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the option's value is a slice that outlives the call, with its true size; the kernel only reads it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_SCTP,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    // `CONNECTX` returns the association's identifier.
    if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn addresses_are_packed_as_in_c() {
        assert_eq!(offset_of!(libc::sockaddr_in, sin_addr), 4);
        assert_eq!(offset_of!(libc::sockaddr_in6, sin6_addr), 8);
        assert_eq!(offset_of!(libc::sockaddr_in6, sin6_scope_id), 24);
        let octets = packed(&["10.0.0.1:36421".parse().unwrap(), "[fd00::1]:36421".parse().unwrap()]);
        assert_eq!(octets.len(), size_of::<libc::sockaddr_in>() + size_of::<libc::sockaddr_in6>());
        assert_eq!(octets[2..8], [0x8e, 0x45, 10, 0, 0, 1]);
        assert_eq!(octets[16 + 2..16 + 4], [0x8e, 0x45]);
        assert_eq!(octets[16 + 8..16 + 10], [0xfd, 0]);
    }
}
