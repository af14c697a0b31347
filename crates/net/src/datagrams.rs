//! Many datagrams in one system call: `sendmmsg` and `recvmmsg`.
#![allow(unsafe_code)]

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use libc::sockaddr_storage;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

/// Datagrams of one batch at most.
pub const MAX_BATCH: usize = 1024;

/// What a batch has room for on average, for datagrams that may be longer.
const TYPICAL_BYTES: usize = 2_048;

/// How a socket for many datagrams is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramOptions {
    /// Receive buffer asked for; forced beyond `net.core.rmem_max` where the process may.
    pub receive_bytes: usize,
    /// Send buffer asked for, forced likewise.
    pub send_bytes: usize,
    /// Several sockets share the address, and the kernel spreads the flows over them.
    pub reuse_port: bool,
}

impl Default for DatagramOptions {
    /// 8 MiB each way: a burst of 64-octet packets costs the kernel 768 octets each.
    fn default() -> Self {
        Self { receive_bytes: 8 << 20, send_bytes: 8 << 20, reuse_port: false }
    }
}

/// A UDP socket that does not block, bound to `address`.
pub fn bind_datagrams(address: SocketAddr, options: DatagramOptions) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if options.reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_recv_buffer_size(options.receive_bytes)?;
    socket.set_send_buffer_size(options.send_bytes)?;
    force(&socket, libc::SO_RCVBUFFORCE, options.receive_bytes);
    force(&socket, libc::SO_SNDBUFFORCE, options.send_bytes);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Without the privilege the usual bound stays, which [`receive_buffer`] tells.
fn force(socket: &Socket, option: libc::c_int, bytes: usize) {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the option takes an int, which outlives the call; the descriptor is open.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// The receive buffer that the kernel granted, in octets of its book-keeping.
pub fn receive_buffer(socket: &UdpSocket) -> io::Result<usize> {
    SockRef::from(socket).recv_buffer_size()
}

/// Datagrams waiting to be sent, in buffers that are used again and again.
#[derive(Debug)]
pub struct SendBatch {
    room: Vec<u8>,
    max_bytes: usize,
    batch: usize,
    /// Octets of `room` in use.
    used: usize,
    /// Where each datagram begins, and its length.
    parts: Vec<(usize, usize)>,
    to: Vec<Option<SockAddr>>,
    /// Already sent of the batch.
    done: usize,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Datagrams that the kernel took.
    pub datagrams: usize,
    /// Datagrams that the kernel refused (no route, a closed peer); they are gone.
    pub refused: usize,
}

impl SendBatch {
    /// Room for `batch` datagrams (1 to [`MAX_BATCH`]) of `max_bytes` each.
    pub fn new(batch: usize, max_bytes: usize) -> Self {
        let batch = batch.clamp(1, MAX_BATCH);
        // Datagrams lie close together, so that short ones stay in the cache; long ones make the batch end earlier.
        let room = (batch * max_bytes.min(TYPICAL_BYTES)).max(max_bytes);
        Self {
            room: vec![0; room],
            max_bytes,
            batch,
            used: 0,
            parts: Vec::with_capacity(batch),
            to: Vec::with_capacity(batch),
            done: 0,
        }
    }

    /// Whether nothing more fits before a [`send`](Self::send).
    pub fn is_full(&self) -> bool {
        self.parts.len() >= self.batch || self.used + self.max_bytes > self.room.len()
    }

    /// Datagrams waiting.
    pub fn len(&self) -> usize {
        self.parts.len() - self.done
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a datagram: `fill` writes it and answers its length, `None` to add nothing. `to` is `None` on a connected
    /// socket. `false` if the batch is full or nothing was written.
    pub fn push(&mut self, to: Option<SocketAddr>, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        self.push_with(|room| Some((to, fill(room)?)))
    }

    /// As [`push`](Self::push), where the destination is known only with the datagram.
    pub fn push_with(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<(Option<SocketAddr>, usize)>) -> bool {
        if self.is_full() {
            return false;
        }
        let at = self.used;
        let Some(room) = self.room.get_mut(at..at + self.max_bytes) else { return false };
        let Some((to, len)) = fill(room).filter(|(_, len)| *len <= self.max_bytes) else { return false };
        self.parts.push((at, len));
        self.used += len;
        self.to.push(to.map(SockAddr::from));
        true
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.to.clear();
        self.used = 0;
        self.done = 0;
    }

    /// Adds a copy of a datagram.
    pub fn copy(&mut self, to: Option<SocketAddr>, datagram: &[u8]) -> bool {
        self.push(to, |room| {
            room.get_mut(..datagram.len())?.copy_from_slice(datagram);
            Some(datagram.len())
        })
    }

    /// Sends what waits. What the socket has no room for stays, and goes with the next call.
    pub fn send(&mut self, socket: &UdpSocket) -> io::Result<Sent> {
        let mut sent = Sent::default();
        while self.done < self.parts.len() {
            match self.system_call(socket) {
                Ok(taken) => {
                    self.done += taken;
                    sent.datagrams += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_of_socket(&error) => return Err(error),
                Err(_) => {
                    self.done += 1;
                    sent.refused += 1;
                }
            }
        }
        self.clear();
        Ok(sent)
    }

    fn system_call(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        // On the stack in pieces: the pointers within live as long as the call.
        const PIECE: usize = 64;
        // SAFETY: both are plain C structures for which all zeroes is a valid value.
        let (mut headers, mut parts): ([libc::mmsghdr; PIECE], [libc::iovec; PIECE]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let count = self.len().min(PIECE);
        for (slot, index) in (self.done..self.done + count).enumerate() {
            let (at, len) = self.parts[index];
            parts[slot] = libc::iovec { iov_base: self.room[at..at + len].as_mut_ptr().cast(), iov_len: len };
            let header = &mut headers[slot].msg_hdr;
            header.msg_iov = &raw mut parts[slot];
            header.msg_iovlen = 1;
            if let Some(to) = &self.to[index] {
                header.msg_name = to.as_ptr().cast_mut().cast();
                header.msg_namelen = to.len();
            }
        }
        // SAFETY: the first `count` headers point to one part each, the parts into `room` within `max_bytes`, the names
        // into `to`; all outlive the call, and the kernel only reads them.
        let taken = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}

/// Errors that the next datagram would meet as well.
fn is_of_socket(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK | libc::EINVAL | libc::EFAULT))
}

/// Datagrams received, in buffers that are used again and again.
pub struct ReceiveBatch {
    room: Vec<u8>,
    max_bytes: usize,
    from: Vec<sockaddr_storage>,
    lengths: Vec<usize>,
    /// Datagrams longer than `max_bytes`, dropped here.
    pub oversized: u64,
}

impl std::fmt::Debug for ReceiveBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { max_bytes, lengths, oversized, .. } = self;
        f.debug_struct("ReceiveBatch")
            .field("max_bytes", max_bytes)
            .field("datagrams", &lengths.len())
            .field("oversized", oversized)
            .finish_non_exhaustive()
    }
}

impl ReceiveBatch {
    /// Room for `batch` datagrams (1 to 64) of at most `max_bytes` each; longer ones are dropped and counted.
    pub fn new(batch: usize, max_bytes: usize) -> Self {
        let batch = batch.clamp(1, 64);
        Self {
            // One octet more shows what is too long.
            room: vec![0; batch * (max_bytes + 1)],
            max_bytes: max_bytes + 1,
            // SAFETY: a plain C structure for which all zeroes is a valid value.
            from: (0..batch).map(|_| unsafe { std::mem::zeroed() }).collect(),
            lengths: Vec::with_capacity(batch),
            oversized: 0,
        }
    }

    /// Receives what is there, without waiting; the number of datagrams, 0 if none.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.lengths.clear();
        loop {
            match self.system_call(socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                // A peer's ICMP message about an earlier datagram: nothing was received.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(0),
                result => return result,
            }
        }
    }

    fn system_call(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        const PIECE: usize = 64;
        // SAFETY: both are plain C structures for which all zeroes is a valid value.
        let (mut headers, mut parts): ([libc::mmsghdr; PIECE], [libc::iovec; PIECE]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let count = self.from.len().min(PIECE);
        for slot in 0..count {
            let at = slot * self.max_bytes;
            parts[slot] =
                libc::iovec { iov_base: self.room[at..].as_mut_ptr().cast(), iov_len: self.max_bytes };
            let header = &mut headers[slot].msg_hdr;
            header.msg_iov = &raw mut parts[slot];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut self.from[slot]).cast();
            header.msg_namelen = size_of::<sockaddr_storage>() as libc::socklen_t;
        }
        // SAFETY: the first `count` headers point to one part each of `max_bytes` octets of `room`, and to a name each;
        // all outlive the call. A null timeout is allowed.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        self.lengths.extend(headers[..received].iter().map(|header| header.msg_len as usize));
        Ok(received)
    }

    /// What was received, with its sender.
    pub fn datagrams(&mut self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        self.oversized += self.lengths.iter().filter(|len| **len >= self.max_bytes).count() as u64;
        let kept = self.lengths.iter().zip(&self.from).enumerate();
        kept.filter(|(_, (len, _))| **len < self.max_bytes).filter_map(|(slot, (len, from))| {
            let at = slot * self.max_bytes;
            Some((address(from)?, &self.room[at..at + len]))
        })
    }
}

fn address(storage: &sockaddr_storage) -> Option<SocketAddr> {
    let storage = std::ptr::from_ref(storage);
    // SAFETY: the storage is initialised (zeroed, then perhaps written by the kernel), is as large and as aligned as any
    // address, and the family says which structure it holds before that structure is looked at.
    unsafe {
        match i32::from((*storage).ss_family) {
            libc::AF_INET => {
                let v4 = &*storage.cast::<libc::sockaddr_in>();
                let ip = std::net::Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some((ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                let v6 = &*storage.cast::<libc::sockaddr_in6>();
                let ip = std::net::Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let (port, flow) = (u16::from_be(v6.sin6_port), v6.sin6_flowinfo);
                Some(std::net::SocketAddrV6::new(ip, port, flow, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// Waits until one of the descriptors is readable, or `timeout` has passed (nanoseconds count). At most 64 are looked at.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<bool> {
    let mut polls = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 64];
    let count = descriptors.len().min(polls.len());
    for (poll, descriptor) in polls.iter_mut().zip(descriptors) {
        poll.fd = descriptor.as_raw_fd();
    }
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the first `count` entries are initialised, and entries and time outlive the call; no signal mask is given.
    let ready = unsafe { libc::ppoll(polls.as_mut_ptr(), count as libc::nfds_t, &time, std::ptr::null()) };
    match ready {
        0.. => Ok(ready > 0),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn pair() -> (UdpSocket, UdpSocket) {
        let any = "127.0.0.1:0".parse().unwrap();
        let options = DatagramOptions::default();
        (bind_datagrams(any, options).unwrap(), bind_datagrams(any, options).unwrap())
    }

    #[test]
    fn a_batch_arrives_whole_and_in_order_with_its_sender() {
        let (a, b) = pair();
        let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let mut batch = SendBatch::new(100, 64);
        for n in 0..100_u8 {
            assert!(batch.copy(Some(to), &[n; 3]));
        }
        assert!(batch.is_full() && !batch.copy(Some(to), &[0]));
        assert_eq!(batch.send(&a).unwrap(), Sent { datagrams: 100, refused: 0 });
        assert!(batch.is_empty() && !batch.is_full());
        assert!(wait_readable(&[b.as_fd()], Duration::from_secs(1)).unwrap());
        let mut received = ReceiveBatch::new(64, 64);
        let mut seen = Vec::new();
        while received.receive(&b).unwrap() > 0 {
            seen.extend(received.datagrams().map(|(sender, datagram)| {
                assert_eq!((sender, datagram.len()), (from, 3));
                datagram[0]
            }));
        }
        assert_eq!(seen, (0..100).collect::<Vec<u8>>());
        assert!(!wait_readable(&[b.as_fd()], Duration::from_micros(10)).unwrap());
    }

    #[test]
    fn what_is_too_long_is_neither_sent_nor_received_in_part() {
        let (a, b) = pair();
        let to = b.local_addr().unwrap();
        let mut batch = SendBatch::new(4, 8);
        assert!(
            !batch.copy(Some(to), &[0; 9]) && batch.copy(Some(to), &[1; 8]) && batch.copy(Some(to), &[2; 4])
        );
        batch.send(&a).unwrap();
        wait_readable(&[b.as_fd()], Duration::from_secs(1)).unwrap();
        let mut received = ReceiveBatch::new(64, 4);
        assert_eq!(received.receive(&b).unwrap(), 2);
        assert_eq!(received.datagrams().map(|(_, d)| d.to_vec()).collect::<Vec<_>>(), [vec![2; 4]]);
        assert_eq!(received.oversized, 1);
    }

    #[test]
    fn a_datagram_that_nobody_can_send_is_counted_and_the_next_one_goes() {
        let (a, b) = pair();
        let mut batch = SendBatch::new(4, 8);
        batch.copy(Some("[::1]:9".parse().unwrap()), &[1]);
        batch.copy(Some(b.local_addr().unwrap()), &[2]);
        assert_eq!(batch.send(&a).unwrap(), Sent { datagrams: 1, refused: 1 });
    }
}
