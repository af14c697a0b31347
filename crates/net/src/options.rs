//! Limits of the kernel's buffers of a socket, and their fill level.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use socket2::SockRef;

/// Requests `send_bytes` and `receive_bytes` of socket buffer (`SO_SNDBUF`, `SO_RCVBUF`).
///
/// Without this, Linux grows a TCP buffer to several megabytes, and a slow reader then gets data that is
/// seconds old. Linux doubles the number for its own bookkeeping and caps it at `net.core.[wr]mem_max`; that
/// is not an error. Accepted sockets inherit the receive limit of a listening socket.
pub fn bound_buffers(socket: &impl AsFd, send_bytes: usize, receive_bytes: usize) -> io::Result<()> {
    let socket = SockRef::from(socket);
    socket.set_send_buffer_size(send_bytes)?;
    socket.set_recv_buffer_size(receive_bytes)
}

/// Lets a TCP socket become writable only while fewer than `unsent_bytes` wait for their first transmission
/// (`TCP_NOTSENT_LOWAT`): the queue that can still be reordered or dropped stays in the program.
pub fn limit_unsent(socket: &impl AsFd, unsent_bytes: u32) -> io::Result<()> {
    SockRef::from(socket).set_tcp_notsent_lowat(unsent_bytes)
}

/// Bytes that were written to a TCP socket and that the other host has not acknowledged yet (`SIOCOUTQ`,
/// tcp(7)): those in flight and those that wait for their first transmission. Acknowledged bytes may still
/// wait there for their reader.
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
        assert!(left > 0 && left < sent, "{left} of {sent}");
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
        assert_eq!(socket.send_buffer_size().unwrap(), 128 * 1024, "Linux doubles what was asked for");
        assert_eq!(socket.recv_buffer_size().unwrap(), 64 * 1024);
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), 12_345);
    }
}
