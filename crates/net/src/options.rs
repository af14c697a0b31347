//! Bounds on what the kernel keeps for a socket.

use std::io;
use std::os::fd::AsFd;

use socket2::SockRef;

/// Asks for `send_bytes` and `receive_bytes` of socket buffer (`SO_SNDBUF`, `SO_RCVBUF`).
///
/// Without this, Linux grows a TCP buffer to several megabytes, and a slow reader then gets data that is
/// seconds old. Linux doubles the number for its own book-keeping and caps it at `net.core.[wr]mem_max`; that
/// is no error. On a listening socket the receive bound is inherited by what it accepts.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

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
