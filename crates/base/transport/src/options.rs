//! Socket options.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// Options of every stream created by [`super::connect`] or accepted by a [`super::Listener`].
///
/// The defaults keep socket buffers small. Data beyond them stays in the program's own queues, where it can still be
/// counted and dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketOptions {
    /// Sends small messages immediately (`TCP_NODELAY`). Default: on.
    pub nodelay: bool,
    /// `SO_SNDBUF` of a TCP socket, in bytes. For this and the next two options, 0 selects the kernel's auto-tuned
    /// buffers. Default: 256 KiB, because the buffer holds sent data until it is acknowledged, and a receiver on the
    /// same machine acknowledges in steps of 64 KiB. A quarter of this reduces the throughput to half or less.
    pub send_buffer_bytes: usize,
    /// `SO_RCVBUF` of a TCP socket, in bytes. Default: 64 KiB.
    pub receive_buffer_bytes: usize,
    /// `SO_SNDBUF` and `SO_RCVBUF` of a Unix socket, and the capacity of a memory stream, in bytes. Default: 64 KiB,
    /// all of it for unsent data.
    pub local_buffer_bytes: usize,
    /// `TCP_NOTSENT_LOWAT`, in bytes; `None` selects the kernel's value. Default: 16 KiB.
    pub unsent_bytes: Option<u32>,
    /// Idle time before the first TCP keep-alive probe; further probes follow every third of it. `None` disables
    /// them. Default: 15 s.
    pub keepalive: Option<Duration>,
    /// Maximum time of a connection attempt. Default: 5 s.
    pub connect_timeout: Duration,
    /// Permission bits of a Unix socket's file. Default: 0600.
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
    /// Returns the kernel's default buffers and no keep-alive, with `TCP_NODELAY` on.
    pub fn of_the_kernel() -> Self {
        Self {
            send_buffer_bytes: 0,
            receive_buffer_bytes: 0,
            unsent_bytes: None,
            keepalive: None,
            ..Self::default()
        }
    }

    /// Returns a changed copy: `default().with(|it| it.field = value)`.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Sets the buffer sizes of a TCP socket. Must be called before `listen` or `connect`, because TCP derives its
    /// window scale from them.
    pub(super) fn apply_tcp_buffers(&self, socket: &impl AsFd) -> io::Result<()> {
        match (self.send_buffer_bytes, self.receive_buffer_bytes) {
            (0, 0) => Ok(()),
            (send, receive) => ranlab_net::bound_buffers(socket, send, receive),
        }
    }

    /// Sets the buffer sizes of a Unix socket.
    pub(super) fn apply_local_buffers(&self, socket: &impl AsFd) -> io::Result<()> {
        ranlab_net::bound_buffers(socket, self.local_buffer_bytes, self.local_buffer_bytes)
    }

    /// Sets all options of an established TCP connection except its buffers.
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
