//! Batches of received datagrams.
use crate::stamped::real_ns;
use crate::thread::monotonic_ns;
use libc::sockaddr_storage;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Maximum number of messages in one system call.
const PIECE: usize = 64;
/// Number of messages in one system call if each may contain many datagrams.
const MERGED: usize = 32;
/// Maximum size of a message that may contain many datagrams, in bytes.
const MERGED_BYTES: usize = 65_536;
/// Maximum age of a stamp; an older stamp is from a clock that was set in the meantime.
const OLDEST_NS: u64 = 1_000_000_000;

/// Room for the control messages of one message: a time, a segment's length.
type Control = [u64; 8];

/// One message of the kernel: a datagram, or several of the same length.
#[derive(Debug, Clone, Copy)]
struct Message {
    octets: usize,
    /// Length of each datagram except the last, which may be shorter.
    segment: usize,
    /// Time of arrival on the clock of [`monotonic_ns`].
    at_ns: u64,
}

impl Message {
    fn datagrams(&self) -> usize {
        self.octets.div_ceil(self.segment).max(1)
    }

    fn datagram(&self, n: usize) -> std::ops::Range<usize> {
        let begin = (n * self.segment).min(self.octets);
        begin..(begin + self.segment).min(self.octets)
    }
}

/// Received datagrams, in reused buffers.
pub struct ReceiveBatch {
    room: Vec<u8>,
    /// Bytes of `room` for each message.
    each: usize,
    /// Maximum bytes of a datagram.
    max_bytes: usize,
    from: Vec<sockaddr_storage>,
    /// Areas for control messages; empty if only datagrams are requested.
    controls: Vec<Control>,
    messages: Vec<Message>,
    /// Number of datagrams longer than `max_bytes`, dropped here.
    pub oversized: u64,
}

impl std::fmt::Debug for ReceiveBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { max_bytes, messages, oversized, .. } = self;
        f.debug_struct("ReceiveBatch")
            .field("max_bytes", max_bytes)
            .field("messages", &messages.len())
            .field("oversized", oversized)
            .finish_non_exhaustive()
    }
}

impl ReceiveBatch {
    /// Creates a batch with room for `batch` datagrams (1 to 64) of at most `max_bytes` each; longer ones are dropped
    /// and counted.
    pub fn new(batch: usize, max_bytes: usize) -> Self {
        // One additional byte detects oversized datagrams.
        Self::with_room(batch.clamp(1, PIECE), max_bytes + 1, max_bytes, false)
    }

    /// Creates a batch for a socket that merges or stamps ([`DatagramOptions`](super::DatagramOptions)), with room for
    /// 32 messages, each with many datagrams of at most `max_bytes`.
    pub fn merging(max_bytes: usize) -> Self {
        Self::with_room(MERGED, MERGED_BYTES, max_bytes, true)
    }

    fn with_room(messages: usize, each: usize, max_bytes: usize, controls: bool) -> Self {
        Self {
            room: vec![0; messages * each],
            each,
            max_bytes,
            // SAFETY: it is a plain C structure, for which all zeroes is a valid value.
            from: (0..messages).map(|_| unsafe { std::mem::zeroed() }).collect(),
            controls: if controls { vec![Control::default(); messages] } else { Vec::new() },
            messages: Vec::with_capacity(messages),
            oversized: 0,
        }
    }

    /// Receives the available datagrams without waiting; returns their number.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.messages.clear();
        loop {
            match self.system_call(socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                // A peer has sent an ICMP message about an earlier datagram; no datagram was received.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(0),
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        Ok(self.messages.iter().map(Message::datagrams).sum())
    }

    fn system_call(&mut self, socket: &UdpSocket) -> io::Result<()> {
        // SAFETY: both are arrays of plain C structures, for which all zeroes is a valid value.
        let (mut headers, mut parts): ([libc::mmsghdr; PIECE], [libc::iovec; PIECE]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let count = self.from.len().min(PIECE);
        for slot in 0..count {
            let at = slot * self.each;
            parts[slot] = libc::iovec { iov_base: self.room[at..].as_mut_ptr().cast(), iov_len: self.each };
            let header = &mut headers[slot].msg_hdr;
            header.msg_iov = &raw mut parts[slot];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut self.from[slot]).cast();
            header.msg_namelen = size_of::<sockaddr_storage>() as libc::socklen_t;
            if let Some(control) = self.controls.get_mut(slot) {
                header.msg_control = control.as_mut_ptr().cast();
                header.msg_controllen = size_of::<Control>() as _;
            }
        }
        // SAFETY: each of the first `count` headers points to a part (`each` bytes of `room`), to a name, and to a
        // control area of the given size or to none. All of these outlive the call. A null timeout is allowed.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        let now_ns = monotonic_ns();
        let real_ns = if self.controls.is_empty() { 0 } else { real_ns() };
        self.messages.extend(headers[..received].iter().map(|header| {
            let octets = header.msg_len as usize;
            let (segment, stamp) = control_values(&header.msg_hdr);
            let age_ns = stamp.map_or(0, |stamp| real_ns.saturating_sub(stamp));
            Message {
                octets,
                segment: segment.unwrap_or(octets).max(1),
                at_ns: if age_ns < OLDEST_NS { now_ns - age_ns } else { now_ns },
            }
        }));
        Ok(())
    }

    /// Returns the received datagrams with their senders.
    pub fn datagrams(&mut self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        self.stamped().map(|(from, datagram, _)| (from, datagram))
    }

    /// Returns the received datagrams with their senders and their times of arrival by [`monotonic_ns`]. The time is
    /// the kernel's stamp if the socket stamps, otherwise the time of the read.
    pub fn stamped(&mut self) -> impl Iterator<Item = (SocketAddr, &[u8], u64)> {
        let max = self.max_bytes;
        let each = self.each;
        let room = &self.room;
        let lengths = |message: &Message| {
            let message = *message;
            (0..message.datagrams()).map(move |n| message.datagram(n).len())
        };
        self.oversized += self.messages.iter().flat_map(lengths).filter(|len| *len > max).count() as u64;
        let messages = self.messages.iter().zip(&self.from).enumerate();
        messages
            .filter_map(move |(slot, (message, from))| {
                let octets = &room[slot * each..slot * each + message.octets];
                Some((address(from)?, octets, *message))
            })
            .flat_map(|(from, octets, message)| {
                (0..message.datagrams()).map(move |n| (from, &octets[message.datagram(n)], message.at_ns))
            })
            .filter(move |(_, datagram, _)| datagram.len() <= max)
    }
}

/// Returns the segment length and the kernel time of a message.
fn control_values(header: &libc::msghdr) -> (Option<usize>, Option<u64>) {
    let mut segment = None;
    let mut stamp = None;
    if header.msg_control.is_null() {
        return (segment, stamp);
    }
    // SAFETY: the kernel's macros walk the control messages and stay within `msg_controllen`, which the kernel has set. The
    // content of a message has the layout of its type and is read unaligned.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(header);
        while !entry.is_null() {
            let data = libc::CMSG_DATA(entry);
            match ((*entry).cmsg_level, (*entry).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    segment = usize::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
                }
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
                    stamp = Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0));
                }
                _ => {}
            }
            entry = libc::CMSG_NXTHDR(header, entry);
        }
    }
    (segment, stamp)
}

fn address(storage: &sockaddr_storage) -> Option<SocketAddr> {
    let storage = std::ptr::from_ref(storage);
    // SAFETY: the storage is initialised (zeroed, then perhaps written by the kernel), is as large and as aligned as any
    // address, and the family determines the structure before it is read.
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
                let port = u16::from_be(v6.sin6_port);
                let flow = v6.sin6_flowinfo;
                Some(std::net::SocketAddrV6::new(ip, port, flow, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}
