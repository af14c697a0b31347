//! The socket between two packet programs: whole records, and descriptors attached to them. No call blocks.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// Maximum number of accepted descriptors per record; the kernel closes further ones.
pub const DESCRIPTORS_MAX: usize = 4;
/// Connections that the kernel completes before they are accepted.
const BACKLOG: i32 = 8;
/// Bytes for [`DESCRIPTORS_MAX`] descriptors as ancillary data, with room to align.
const ANCILLARY: usize = 64;

/// Ancillary data is aligned as its header is.
#[repr(C, align(8))]
struct Ancillary([u8; ANCILLARY]);

/// A received record.
#[derive(Debug)]
pub struct Received {
    /// Number of bytes of the record, up to the available room.
    pub octets: usize,
    /// Descriptors attached to the record, in order.
    pub descriptors: Vec<OwnedFd>,
    /// Whether the record or the descriptors exceeded the available room.
    pub cut: bool,
}

/// One endpoint of a connection.
#[derive(Debug)]
pub struct Control(Socket);

impl Control {
    /// Connects to the listener at a path.
    ///
    /// # Errors
    /// Fails like connect(2): `NotFound` and `ConnectionRefused`: no listener; `WouldBlock`: the listener's backlog
    /// is full.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
        socket.set_nonblocking(true)?;
        socket.connect(&SockAddr::unix(path)?)?;
        Ok(Self(socket))
    }

    /// Returns both endpoints of a connection within this process.
    ///
    /// # Errors
    /// Fails like socketpair(2).
    pub fn pair() -> io::Result<(Self, Self)> {
        let (near, far) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None)?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        Ok((Self(near), Self(far)))
    }

    /// Sends a record, with a descriptor attached if given.
    ///
    /// # Errors
    /// Fails like sendmsg(2): `WouldBlock` if the peer does not read, `BrokenPipe` if it has closed the connection.
    pub fn send(&self, record: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut part = libc::iovec { iov_base: record.as_ptr().cast_mut().cast(), iov_len: record.len() };
        let mut ancillary = Ancillary([0; ANCILLARY]);
        // SAFETY: all zero is a valid `msghdr`: null pointers and lengths of 0.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(descriptor) = descriptor {
            message.msg_control = ancillary.0.as_mut_ptr().cast();
            // SAFETY: the macro only calculates with a length.
            message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) } as _;
            // SAFETY: the ancillary buffer is aligned and longer than the length passed, which is that of one descriptor: the
            // first header and its data lie within.
            unsafe {
                let header = libc::CMSG_FIRSTHDR(&raw const message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
                libc::CMSG_DATA(header).cast::<i32>().write_unaligned(descriptor.as_raw_fd());
            }
        }
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the message points to the record and to the ancillary data, which outlive the call and are only read.
        let sent = unsafe { libc::sendmsg(self.0.as_raw_fd(), &raw const message, flags) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Receives a record; an empty one means that the peer has closed the connection. Descriptors are closed
    /// when a program is executed.
    ///
    /// # Errors
    /// Fails like recvmsg(2): `WouldBlock` if no record waits.
    pub fn receive(&self, record: &mut [u8]) -> io::Result<Received> {
        let mut part = libc::iovec { iov_base: record.as_mut_ptr().cast(), iov_len: record.len() };
        let mut ancillary = Ancillary([0; ANCILLARY]);
        // SAFETY: all zero is a valid `msghdr`.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = ancillary.0.as_mut_ptr().cast();
        // SAFETY: the macro only calculates with a length, which is less than that of the buffer.
        let room = unsafe { libc::CMSG_SPACE((DESCRIPTORS_MAX * size_of::<i32>()) as u32) };
        message.msg_controllen = room as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: the message points to the record and to the ancillary data, exclusively borrowed and of the given lengths.
        let read = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, flags) };
        let octets = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
        let cut = message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
        Ok(Received { octets, descriptors: descriptors(&message), cut })
    }
}

/// Returns the descriptors that the kernel has attached to a record.
fn descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    // SAFETY: the kernel has filled the ancillary data and set its length; the macros stay within it. Each descriptor of
    // SCM_RIGHTS was made for this process and is taken once.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let octets = ((*header).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
                let first = libc::CMSG_DATA(header).cast::<i32>();
                for index in 0..octets / size_of::<i32>() {
                    found.push(OwnedFd::from_raw_fd(first.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    found
}

/// A path at which peers connect. Dropping it removes the path.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    path: PathBuf,
}

impl Listener {
    /// Listens at a path. A socket file without a listener is replaced.
    ///
    /// # Errors
    /// Fails like bind(2). `AddrInUse`: another process listens at the path, or the path is not a socket.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let stale = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
            && Control::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if stale {
            fs::remove_file(path)?;
        }
        let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
        socket.bind(&SockAddr::unix(path)?)?;
        let listener = Self { socket, path: path.to_owned() };
        listener.socket.listen(BACKLOG)?;
        listener.socket.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Returns the connection of the next peer, if there is one.
    ///
    /// # Errors
    /// Fails like accept(2); `WouldBlock`: no peer.
    pub fn accept(&self) -> io::Result<Control> {
        let (socket, _) = self.socket.accept()?;
        socket.set_nonblocking(true)?;
        Ok(Control(socket))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // This listener created the file. A failure leaves a stale file, which the next listener replaces.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates a descriptor by which one endpoint can wake the other (eventfd). This endpoint only polls shared descriptors and
/// never writes to one, because the peer could fill it, and the write would then block.
///
/// # Errors
/// Fails like eventfd(2).
pub fn interrupt() -> io::Result<OwnedFd> {
    use rustix::event::{EventfdFlags, eventfd};
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}
