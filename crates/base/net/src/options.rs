//! Limits and fill levels of the kernel's buffers of a socket.
#![allow(unsafe_code)]

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};

use socket2::SockRef;

/// Requests a send buffer of `send_bytes` and a receive buffer of `receive_bytes` (`SO_SNDBUF`, `SO_RCVBUF`).
///
/// Without this, Linux grows a TCP buffer to several megabytes, and a slow reader then gets data that is
/// seconds old. Linux doubles the number for its own bookkeeping and caps it at `net.core.[wr]mem_max`; that
/// is not an error. Accepted sockets inherit the receive limit of a listening socket.
pub fn bound_buffers(socket: &impl AsFd, send_bytes: usize, receive_bytes: usize) -> io::Result<()> {
    let socket = SockRef::from(socket);
    socket.set_send_buffer_size(send_bytes)?;
    socket.set_recv_buffer_size(receive_bytes)
}

/// Makes a TCP socket writable only while fewer than `unsent_bytes` wait for their first transmission
/// (`TCP_NOTSENT_LOWAT`). Further data stays in the program, which can still reorder or drop it.
pub fn limit_unsent(socket: &impl AsFd, unsent_bytes: u32) -> io::Result<()> {
    SockRef::from(socket).set_tcp_notsent_lowat(unsent_bytes)
}

/// Returns the number of bytes written to a TCP socket that the other host has not acknowledged yet (`SIOCOUTQ`,
/// tcp(7)). These bytes are in flight or wait for their first transmission. Acknowledged bytes may still wait at the
/// other host for their reader.
///
/// # Errors
/// The descriptor is not a TCP socket.
pub fn unacknowledged(socket: &impl AsFd) -> io::Result<u64> {
    let mut octets: libc::c_int = 0;
    // SAFETY: the descriptor is open as long as `socket` is borrowed, and the kernel writes one int to a valid one.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &mut octets) };
    match result {
        0 => Ok(u64::try_from(octets).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Requests the type of service or traffic class of received datagrams, for [`peek_class`].
///
/// # Errors
/// The descriptor is not a socket of this IP version.
pub fn report_classes(socket: &UdpSocket) -> io::Result<()> {
    let (level, option) = if socket.local_addr()?.is_ipv6() {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVTOS)
    };
    let on: libc::c_int = 1;
    // SAFETY: the option is an int that outlives the call, and its size is given.
    let result = unsafe {
        let value = (&raw const on).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, size_of_val(&on) as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for a datagram, which stays in the socket, and returns its type of service or traffic class. `None` without
/// [`report_classes`].
///
/// # Errors
/// `WouldBlock` after the socket's read timeout.
pub fn peek_class(socket: &UdpSocket) -> io::Result<Option<u8>> {
    let mut control = [0_u64; 32];
    // SAFETY: the message points to the control area, which is alive and of the size given; the kernel writes within it.
    // Control messages are walked by the kernel's macros, which stay within `msg_controllen`; each holds one byte (IPv4)
    // or one int (IPv6) at least, read unaligned.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_PEEK) < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut entry = libc::CMSG_FIRSTHDR(&raw const message);
        while !entry.is_null() {
            match ((*entry).cmsg_level, (*entry).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => return Ok(Some(*libc::CMSG_DATA(entry))),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    let class = libc::CMSG_DATA(entry).cast::<libc::c_int>().read_unaligned();
                    return Ok(u8::try_from(class).ok());
                }
                _ => entry = libc::CMSG_NXTHDR(&raw const message, entry),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn unread_bytes_are_reported_once_buffer_is_full() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        bound_buffers(&listener, 4 << 10, 4 << 10).unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        assert_eq!(unacknowledged(&sender).unwrap(), 0);
        sender.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while let Ok(taken) = sender.write(&[7; 4 << 10]) {
            sent += taken as u64;
        }
        let left = unacknowledged(&sender).unwrap();
        assert!(left > 0 && left < sent, "{left} of {sent} bytes are reported as unread");
        let mut read = vec![0; usize::try_from(sent).unwrap()];
        reader.read_exact(&mut read).unwrap();
        while unacknowledged(&sender).unwrap() > 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn bounds_reach_the_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        bound_buffers(&listener, 64 * 1024, 32 * 1024).unwrap();
        limit_unsent(&listener, 12_345).unwrap();
        let socket = SockRef::from(&listener);
        assert_eq!(socket.send_buffer_size().unwrap(), 128 * 1024, "Linux doubles the requested size");
        assert_eq!(socket.recv_buffer_size().unwrap(), 64 * 1024);
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), 12_345);
    }

    #[test]
    fn classes_of_datagrams_are_reported() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // A host without IPv6 cannot bind this address.
            let Ok(receiver) = UdpSocket::bind(address) else { continue };
            let sender = UdpSocket::bind(address).unwrap();
            let marked = SockRef::from(&sender);
            if receiver.local_addr().unwrap().is_ipv4() {
                marked.set_tos_v4(0xb8).unwrap();
            } else {
                marked.set_tclass_v6(0xb8).unwrap();
            }
            sender.send_to(b"unseen", receiver.local_addr().unwrap()).unwrap();
            assert_eq!(peek_class(&receiver).unwrap(), None);
            receiver.recv(&mut [0; 16]).unwrap();
            report_classes(&receiver).unwrap();
            sender.send_to(b"seen", receiver.local_addr().unwrap()).unwrap();
            assert_eq!(peek_class(&receiver).unwrap(), Some(0xb8));
            assert_eq!(receiver.recv(&mut [0; 16]).unwrap(), 4);
        }
    }
}
