//! Bytes that the program at the other endpoint of a TCP connection has not read yet, if that endpoint is in this
//! network namespace (sock_diag(7)). Acknowledgements do not show this: the other kernel sends them, whether the
//! program reads or not.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NETLINK_SOCK_DIAG: i32 = 4;
/// Bytes of a netlink header.
const HEADER: usize = 16;
/// Offset of `idiag_rqueue` in a response: behind header, four bytes, the socket's names (48) and
/// `idiag_expires`.
const RQUEUE: usize = HEADER + 4 + 48 + 4;

/// `INET_DIAG_INFO`: the attribute with a `tcp_info`, and the bit that requests it.
const TCP_INFO: u16 = 2;
const WITH_TCP_INFO: u8 = 1 << (TCP_INFO - 1);
/// Offset of attributes in a response: behind `idiag_rqueue`, `wqueue`, `uid` and `inode`.
const ATTRIBUTES: usize = RQUEUE + 16;
/// Offset of `tcpi_bytes_received` in a `tcp_info`.
const BYTES_RECEIVED: usize = 128;

/// State of a connection in the kernel at the other endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Bytes that wait in the kernel for the program.
    pub unread: u32,
    /// Bytes of the stream that the kernel has received, acknowledged or not; `None` if an older kernel does not report
    /// them.
    pub received: Option<u64>,
}

/// Queries the kernel for the sockets at the other endpoints.
#[derive(Debug)]
pub struct Readers {
    kernel: Socket,
    asked: u32,
}

impl Readers {
    /// Opens a socket for queries.
    ///
    /// # Errors
    /// The kernel has no sock_diag.
    pub fn open() -> io::Result<Self> {
        let netlink = Domain::from(libc::AF_NETLINK);
        let kernel = Socket::new(netlink, Type::DGRAM, Some(Protocol::from(NETLINK_SOCK_DIAG)))?;
        kernel.set_nonblocking(true)?;
        Ok(Self { kernel, asked: 0 })
    }

    /// Returns the state of the socket at `peer` of the connection from `local`; `None` if that socket is not in this
    /// network namespace.
    ///
    /// # Errors
    /// The kernel does not respond.
    pub fn unread(&mut self, local: SocketAddr, peer: SocketAddr) -> io::Result<Option<Reader>> {
        self.asked = self.asked.wrapping_add(1);
        self.kernel.write_all(&question(self.asked, peer, local))?;
        let mut answer = [0; 1_024];
        loop {
            // The kernel responds within the same call, so there is no wait.
            let len = self.kernel.read(&mut answer)?;
            let answer = &answer[..len];
            // Skips the response to an earlier request that was abandoned.
            if word(answer, 8) != Some(self.asked) {
                continue;
            }
            let kind = answer.get(4..6).map(|octets| u16::from_ne_bytes([octets[0], octets[1]]));
            return match kind {
                Some(SOCK_DIAG_BY_FAMILY) => {
                    let unread = word(answer, RQUEUE);
                    Ok(unread.map(|unread| Reader { unread, received: received(answer) }))
                }
                Some(NLMSG_ERROR) => {
                    let errno = word(answer, HEADER).map_or(0, |errno| errno.wrapping_neg().cast_signed());
                    if errno == libc::ENOENT { Ok(None) } else { Err(io::Error::from_raw_os_error(errno)) }
                }
                _ => Err(io::ErrorKind::InvalidData.into()),
            };
        }
    }
}

/// Returns the number of received bytes, from the `tcp_info` among the attributes of a response.
fn received(answer: &[u8]) -> Option<u64> {
    let mut at = ATTRIBUTES;
    loop {
        let header = word(answer, at)?.to_ne_bytes();
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]);
        if kind == TCP_INFO {
            let info = answer.get(at + 4..at + len)?;
            let octets = info.get(BYTES_RECEIVED..BYTES_RECEIVED + 8)?;
            return octets.try_into().ok().map(u64::from_ne_bytes);
        }
        // Attributes are aligned to four bytes; an attribute that is shorter than its header ends the list.
        at += len.max(4).next_multiple_of(4);
    }
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// Encodes `nlmsghdr` and `inet_diag_req_v2` for the socket with address `of` and peer `to`.
fn question(number: u32, of: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let address = |address: IpAddr| match address {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        IpAddr::V6(v6) => v6.octets(),
    };
    let family = if of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut body = vec![family as u8, libc::IPPROTO_TCP as u8, WITH_TCP_INFO, 0];
    // Matches sockets in any state, on any interface and with any cookie.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(of.port().to_be_bytes());
    body.extend(to.port().to_be_bytes());
    body.extend(address(of.ip()));
    body.extend(address(to.ip()));
    body.extend(0_u32.to_ne_bytes());
    body.extend([0xff; 8]);
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend(number.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn unread_bytes_are_visible_from_other_endpoint() {
        let mut readers = Readers::open().unwrap();
        for address in ["127.0.0.1:0", "[::]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            // An IPv6 socket also accepts IPv4 connections.
            let mut sender = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut program, _) = listener.accept().unwrap();
            let local = sender.local_addr().unwrap();
            let peer = sender.peer_addr().unwrap();
            let mut reader = || readers.unread(local, peer).unwrap().unwrap();
            assert_eq!(reader(), Reader { unread: 0, received: Some(0) });
            sender.write_all(&[7; 1_000]).unwrap();
            while reader().unread != 1_000 {
                std::thread::yield_now();
            }
            program.read_exact(&mut [0; 400]).unwrap();
            // Received bytes are known at once, before they are acknowledged.
            assert_eq!(reader(), Reader { unread: 600, received: Some(1_000) });
            drop((program, listener));
        }
        let nobody = "127.0.0.1:9".parse().unwrap();
        assert_eq!(readers.unread("127.0.0.1:7".parse().unwrap(), nobody).unwrap(), None);
    }
}
