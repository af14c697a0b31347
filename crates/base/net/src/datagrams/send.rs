//! Batches of datagrams to be sent.
use super::MAX_BATCH;
use socket2::SockAddr;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Average room per datagram of a batch; single datagrams may be longer.
const TYPICAL_BYTES: usize = 2_048;
/// Maximum number of messages in one system call.
const PIECE: usize = 64;
/// Maximum number of datagrams in one message (`UDP_MAX_SEGMENTS` of older kernels).
const MAX_SEGMENTS: usize = 64;
/// Maximum size of one message, in bytes: the payload of an IPv4 packet.
const MAX_MESSAGE: usize = 65_507;

/// Datagrams to be sent, in reused buffers.
#[derive(Debug)]
pub struct SendBatch {
    room: Vec<u8>,
    max_bytes: usize,
    batch: usize,
    /// Bytes of `room` in use.
    used: usize,
    /// Start and length of each datagram; each starts at the end of the previous one.
    parts: Vec<(usize, usize)>,
    to: Vec<Option<SockAddr>>,
    /// Traffic class (ToS) of each datagram; 0 selects the socket's class.
    classes: Vec<u8>,
    /// Number of datagrams of the batch that were sent.
    done: usize,
    /// Whether runs of the same length and destination form one message.
    segmenting: bool,
}

/// Result of sending a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Number of datagrams that the kernel accepted.
    pub datagrams: usize,
    /// Number of datagrams that the kernel refused (no route, a closed peer); they are dropped.
    pub refused: usize,
}

/// Room for the only control message of a message: a segment length, or a traffic class.
type Control = [u64; 3];

/// The messages of one system call, on the stack: the pointers live as long as the call.
struct Call {
    headers: [libc::mmsghdr; PIECE],
    parts: [libc::iovec; PIECE],
    controls: [Control; PIECE],
    /// Number of datagrams in each message.
    runs: [u8; PIECE],
    count: usize,
}

impl SendBatch {
    /// Creates a batch with room for `batch` datagrams (1 to [`MAX_BATCH`]) of `max_bytes` each.
    pub fn new(batch: usize, max_bytes: usize) -> Self {
        let batch = batch.clamp(1, MAX_BATCH);
        // Datagrams are stored contiguously, so that short ones stay in the cache; long ones fill the batch
        // earlier.
        let room = (batch * max_bytes.min(TYPICAL_BYTES)).max(max_bytes);
        Self {
            room: vec![0; room],
            max_bytes,
            batch,
            used: 0,
            parts: Vec::with_capacity(batch),
            to: Vec::with_capacity(batch),
            classes: Vec::with_capacity(batch),
            done: 0,
            segmenting: false,
        }
    }

    /// Creates a batch like [`new`](Self::new). Consecutive datagrams of the same length and destination pass through
    /// the kernel as one message (`UDP_SEGMENT`, Linux 4.18). Each still arrives as a separate datagram, in the same
    /// order. If the kernel or the device refuses, later datagrams are sent one by one.
    pub fn segmenting(batch: usize, max_bytes: usize) -> Self {
        Self { segmenting: true, ..Self::new(batch, max_bytes) }
    }

    /// Returns whether no more datagrams fit before a [`send`](Self::send).
    pub fn is_full(&self) -> bool {
        self.parts.len() >= self.batch || self.used + self.max_bytes > self.room.len()
    }

    /// Returns the number of waiting datagrams.
    pub fn len(&self) -> usize {
        self.parts.len() - self.done
    }

    /// Returns whether no datagrams wait.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a datagram: `fill` writes it and returns its length, or `None` to add none. `to` is `None` on a
    /// connected socket. Returns `false` if the batch is full or no datagram was written.
    pub fn push(&mut self, to: Option<SocketAddr>, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        self.push_with(|room| Some((to, fill(room)?)))
    }

    /// Adds a datagram like [`push`](Self::push), to a destination that `fill` determines.
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
        self.classes.push(0);
        true
    }

    /// Sets the traffic class (IPv4 ToS, IPv6 Traffic Class) of the datagram added last; 0 keeps the socket's.
    pub fn set_last_class(&mut self, class: u8) {
        if let Some(last) = self.classes.last_mut() {
            *last = class;
        }
    }

    /// Discards the waiting datagrams.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.to.clear();
        self.classes.clear();
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

    /// Sends the waiting datagrams. Datagrams for which the socket has no room wait for the next call.
    pub fn send(&mut self, socket: &UdpSocket) -> io::Result<Sent> {
        let mut sent = Sent::default();
        while self.done < self.parts.len() {
            let mut in_run = false;
            match self.system_call(socket, &mut in_run) {
                Ok(taken) => {
                    self.done += taken;
                    sent.datagrams += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if in_run && is_of_segmentation(&error) => self.segmenting = false,
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

    /// Returns the number of datagrams from `index` that can form one message.
    fn run(&self, index: usize) -> usize {
        let (_, len) = self.parts[index];
        if !self.segmenting || len == 0 || self.classes[index] != 0 {
            return 1;
        }
        let mut run = 1;
        let mut octets = len;
        for (part, to) in self.parts[index + 1..].iter().zip(&self.to[index + 1..]) {
            octets += part.1;
            let fits = run < MAX_SEGMENTS && octets <= MAX_MESSAGE && (1..=len).contains(&part.1);
            if !fits || *to != self.to[index] || self.classes[index + run] != 0 {
                break;
            }
            run += 1;
            if part.1 < len {
                // Only the last datagram of a message may be shorter.
                break;
            }
        }
        run
    }

    /// Makes one system call and returns the number of datagrams taken. Sets `in_run` if the first message contains
    /// several.
    fn system_call(&mut self, socket: &UdpSocket, in_run: &mut bool) -> io::Result<usize> {
        // SAFETY: `Call` consists of C structures and integers, for which all zeroes is a valid value.
        let mut call: Call = unsafe { std::mem::zeroed() };
        let mut index = self.done;
        while call.count < PIECE && index < self.parts.len() {
            let slot = call.count;
            let run = self.run(index);
            let (at, len) = self.parts[index];
            let octets: usize = self.parts[index..index + run].iter().map(|(_, len)| len).sum();
            let room = &mut self.room[at..at + octets];
            call.parts[slot] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: octets };
            let header = &mut call.headers[slot].msg_hdr;
            header.msg_iov = &raw mut call.parts[slot];
            header.msg_iovlen = 1;
            if let Some(to) = &self.to[index] {
                header.msg_name = to.as_ptr().cast_mut().cast();
                header.msg_namelen = to.len();
            }
            if run > 1 {
                segment_length(header, &mut call.controls[slot], len as u16);
            } else if self.classes[index] != 0 {
                let v6 = self.to[index].as_ref().is_some_and(SockAddr::is_ipv6);
                traffic_class(header, &mut call.controls[slot], self.classes[index], v6);
            }
            call.runs[slot] = run as u8;
            call.count += 1;
            index += run;
        }
        *in_run = call.runs[0] > 1;
        // SAFETY: each of the first `count` headers points to a part within `room`, and may point to a name in `to` and to
        // a control message in `controls`. All of these outlive the call, and the kernel only reads them.
        let taken = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                call.headers.as_mut_ptr(),
                call.count as libc::c_uint,
                libc::MSG_NOSIGNAL as _,
            )
        };
        let taken = usize::try_from(taken).map_err(|_| io::Error::last_os_error())?;
        Ok(call.runs[..taken].iter().map(|run| usize::from(*run)).sum())
    }
}

/// Sets the length of each datagram in a message for the kernel.
fn segment_length(header: &mut libc::msghdr, control: &mut Control, len: u16) {
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: the area is aligned and as long as one control message with two bytes needs; the macros compute within it.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as libc::c_uint) as _;
        let entry = libc::CMSG_FIRSTHDR(header);
        (*entry).cmsg_level = libc::SOL_UDP;
        (*entry).cmsg_type = libc::UDP_SEGMENT;
        (*entry).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as libc::c_uint) as _;
        libc::CMSG_DATA(entry).cast::<u16>().write_unaligned(len);
    }
}

/// Sets the traffic class of a message.
fn traffic_class(header: &mut libc::msghdr, control: &mut Control, class: u8, v6: bool) {
    let (level, kind) =
        if v6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: the area is aligned and as long as one control message with an integer needs; the macros compute within it.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(size_of::<libc::c_int>() as libc::c_uint) as _;
        let entry = libc::CMSG_FIRSTHDR(header);
        (*entry).cmsg_level = level;
        (*entry).cmsg_type = kind;
        (*entry).cmsg_len = libc::CMSG_LEN(size_of::<libc::c_int>() as libc::c_uint) as _;
        libc::CMSG_DATA(entry).cast::<libc::c_int>().write_unaligned(class.into());
    }
}

/// Returns whether the kernel or the device does not support this segmentation.
fn is_of_segmentation(error: &io::Error) -> bool {
    let refusals = [libc::EIO, libc::EINVAL, libc::EMSGSIZE, libc::EOPNOTSUPP, libc::ENOPROTOOPT];
    error.raw_os_error().is_some_and(|code| refusals.contains(&code))
}

/// Returns whether the error would also occur with the next datagram.
fn is_of_socket(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK | libc::EINVAL | libc::EFAULT))
}
