//! What a caller may choose about a socket.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// Options of every stream made by [`super::connect`] or accepted by a [`super::Listener`].
///
/// The defaults keep data young: what does not fit in these bounds stays in the program's own queues, where it
/// can still be counted and dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketOptions {
    /// Sends small messages at once (`TCP_NODELAY`). On.
    pub nodelay: bool,
    /// `SO_SNDBUF` of a TCP socket in bytes; 0 here and below leaves the kernel's own, which grow. 256 KiB: it holds what was sent until it is acknowledged, and a receiver
    /// on the same machine acknowledges in steps of 64 KiB; a quarter of this costs half of the throughput or more.
    pub send_buffer_bytes: usize,
    /// `SO_RCVBUF` of a TCP socket in bytes. 64 KiB.
    pub receive_buffer_bytes: usize,
    /// `SO_SNDBUF` and `SO_RCVBUF` of a Unix socket, and the capacity of a memory stream, in bytes. 64 KiB: all of it
    /// is unsent data.
    pub local_buffer_bytes: usize,
    /// `TCP_NOTSENT_LOWAT` in bytes; `None` leaves the kernel's. 16 KiB.
    pub unsent_bytes: Option<u32>,
    /// First probe of a silent TCP peer after this long, then every third of it; `None`: never. 15 s.
    pub keepalive: Option<Duration>,
    /// How long a connection attempt may take in all. 5 s.
    pub connect_timeout: Duration,
    /// Permission bits of a Unix socket's file. 0600.
    pub unix_mode: u32,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            nodelay: true,
            send_buffer_bytes: 256 << 10,
            receive_buffer_bytes: 64 << 10,
            local_buffer_bytes: 64 << 10,
            unsent_bytes: Some(16 << 10),
            keepalive: Some(Duration::from_secs(15)),
            connect_timeout: Duration::from_secs(5),
            unix_mode: 0o600,
        }
    }
}

impl SocketOptions {
    /// As a program that knows nothing of buffers has them: the kernel's, and no probes. `TCP_NODELAY` is on.
    pub fn of_the_kernel() -> Self {
        Self {
            send_buffer_bytes: 0,
            receive_buffer_bytes: 0,
            unsent_bytes: None,
            keepalive: None,
            ..Self::default()
        }
    }

    /// With a change: `default().with(|it| it.field = value)`.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// TCP's buffer bounds; set before `listen` or `connect`, because TCP derives its window scale from them.
    pub(super) fn apply_tcp_buffers(&self, socket: &impl AsFd) -> io::Result<()> {
        match (self.send_buffer_bytes, self.receive_buffer_bytes) {
            (0, 0) => Ok(()),
            (send, receive) => ranlab_net::bound_buffers(socket, send, receive),
        }
    }

    /// The buffer bounds of a Unix socket.
    pub(super) fn apply_local_buffers(&self, socket: &impl AsFd) -> io::Result<()> {
        ranlab_net::bound_buffers(socket, self.local_buffer_bytes, self.local_buffer_bytes)
    }

    /// Everything that an established TCP connection has besides its buffers.
    pub(super) fn apply_tcp(&self, socket: &impl AsFd) -> io::Result<()> {
        let reference = SockRef::from(socket);
        reference.set_tcp_nodelay(self.nodelay)?;
        if let Some(first) = self.keepalive {
            let interval = (first / 3).max(Duration::from_secs(1));
            let first = first.max(Duration::from_secs(1));
            let keepalive = TcpKeepalive::new().with_time(first).with_interval(interval).with_retries(3);
            reference.set_tcp_keepalive(&keepalive)?;
        }
        match self.unsent_bytes {
            Some(bytes) => ranlab_net::limit_unsent(socket, bytes),
            None => Ok(()),
        }
    }
}
