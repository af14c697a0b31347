//! One-to-one SCTP sockets: a listener, and associations that carry whole messages.
#![allow(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use socket2::{Domain, SockAddr, Socket};

use super::ancillary::Ancillary;
use super::message::{MessageInfo, Notification};
use super::{open, options};

/// Associations that the kernel completes before they are accepted.
const BACKLOG: i32 = 1024;

/// A listening socket for associations.
#[derive(Debug)]
pub struct Listener(Socket);

/// An established association; non-blocking.
#[derive(Debug)]
pub struct Association(Socket);

/// Result of one [`Association::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes written to the buffer; 0 with `whole` false means that the peer has shut down.
    pub bytes: usize,
    /// Whether the message ends here. If not, the next calls return the rest, because the buffer was too
    /// small.
    pub whole: bool,
    /// A notification of the kernel instead of a message of the peer.
    pub notification: Option<Notification>,
    /// The stream and the payload protocol identifier, if the kernel reported them.
    pub info: Option<MessageInfo>,
}

impl Listener {
    /// Listens at the addresses of `places`, which become the paths of each association. The port of the first address
    /// applies to all.
    pub fn bind(places: &[SocketAddr]) -> io::Result<Self> {
        let (&first, further) = places.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let socket = open(Domain::for_address(first)).map_err(io::Error::other)?;
        socket.set_reuse_address(true)?;
        socket.bind(&SockAddr::from(first))?;
        if !further.is_empty() {
            let port = socket.local_addr()?.as_socket().map_or_else(|| first.port(), |bound| bound.port());
            let further: Vec<_> = further.iter().map(|place| SocketAddr::new(place.ip(), port)).collect();
            options::set(&socket, options::BINDX_ADD, &options::packed(&further))?;
        }
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// Returns the next association and its peer, or `WouldBlock`.
    pub fn accept(&self) -> io::Result<(Association, Option<SocketAddr>)> {
        let (socket, peer) = self.0.accept()?;
        Ok((Association::prepare(socket)?, peer.as_socket()))
    }
}

impl Association {
    /// Starts an association with the peer that has the addresses of `places`. The association is up once the
    /// descriptor is writable and has no error.
    pub fn connect(places: &[SocketAddr]) -> io::Result<Self> {
        let &first = places.first().ok_or(io::ErrorKind::InvalidInput)?;
        let association = Self::prepare(open(Domain::for_address(first)).map_err(io::Error::other)?)?;
        let begun = match places {
            [one] => association.0.connect(&SockAddr::from(*one)),
            several => options::set(&association.0, options::CONNECTX, &options::packed(several)),
        };
        match begun {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(association),
        }
    }

    /// Returns the same association under another descriptor.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Returns the error of a finished connection attempt, if it failed.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.take_error()
    }

    /// Sends one message, completely or not at all (`WouldBlock`).
    pub fn send(&self, pdu: &[u8], info: MessageInfo) -> io::Result<()> {
        let mut control = Ancillary::sending(info);
        let mut slice = libc::iovec { iov_base: pdu.as_ptr().cast_mut().cast(), iov_len: pdu.len() };
        let message = message(&mut slice, &mut control);
        // SAFETY: `message` points to one slice over `pdu`, which the kernel only reads, and to `control` with
        // its true length; both outlive the call. The descriptor is open because `self` owns it.
        let sent = unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) if sent == pdu.len() => Ok(()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::WriteZero, "SCTP accepted only a part of a message")),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Receives one message, or the part of it that fits into `buffer`, whatever its payload protocol identifier.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut control = Ancillary::receiving();
        let mut slice = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut message = message(&mut slice, &mut control);
        // SAFETY: `message` points to one slice over `buffer`, exclusively borrowed, and to `control` with its
        // true capacity; both outlive the call. The descriptor is open because `self` owns it.
        let read = unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, 0) };
        let bytes = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
        let flags = message.msg_flags;
        let control_bytes: usize = message.msg_controllen as _;
        let content = buffer.get(..bytes).unwrap_or_default();
        Ok(Received {
            bytes,
            whole: flags & libc::MSG_EOR != 0,
            notification: (flags & MSG_NOTIFICATION != 0).then(|| Notification::read(content)),
            info: control.info(control_bytes),
        })
    }

    fn prepare(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        options::prepare(&socket)?;
        Ok(Self(socket))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for Association {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `MSG_NOTIFICATION` of linux/sctp.h.
const MSG_NOTIFICATION: libc::c_int = 0x8000;

fn message(slice: &mut libc::iovec, control: &mut Ancillary) -> libc::msghdr {
    // SAFETY: `msghdr` is a C structure of integers and pointers; all zeros is its empty value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = ptr::null_mut();
    message.msg_iov = slice;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = control.len() as _;
    message
}
