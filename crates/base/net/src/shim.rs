//! SCTP without support by the kernel, between programs of one user. An association is a Unix `SEQPACKET` connection, and
//! a folder represents the network.
//!
//! `bindings/preload` provides this to unmodified programs, and the programs of this project use it directly. A listener at
//! `10.0.0.1:36421` is the socket of that name in the folder. The machine need not have this address. Only the folder's
//! owner has access: the folder has mode 0700, and each endpoint checks the user of the other endpoint.
#![allow(unsafe_code)]

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// Maximum size of one SCTP message, in bytes. Several messages must fit in the buffer of a Unix socket.
pub const MESSAGE_BYTES_MAX: usize = 128 << 10;
/// Bytes in front of every message.
pub const HEAD_BYTES: usize = 12;
/// Connections that the kernel completes before they are accepted.
const BACKLOG: i32 = 1024;
const MAGIC: [u8; 3] = *b"rl1";

/// Type of a message on an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first message of the connecting endpoint; the body is its address as text, or empty. Any other first message
    /// is invalid.
    Hello = 1,
    /// A message of the program.
    Data = 2,
    /// The association is aborted.
    Abort = 3,
}

/// Header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Type of the message.
    pub kind: Kind,
    /// Number of the stream.
    pub stream: u16,
    /// Whether the message was sent unordered.
    pub unordered: bool,
    /// The payload protocol identifier, in the byte order of the program.
    pub ppid: [u8; 4],
}

impl Head {
    /// Creates the header of a message of this kind, on stream 0 and without identifier.
    pub fn new(kind: Kind) -> Self {
        Self { kind, stream: 0, unordered: false, ppid: [0; 4] }
    }

    /// Returns the header as bytes.
    pub fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let [high, low] = self.stream.to_be_bytes();
        let [a, b, c, d] = self.ppid;
        let [r, l, one] = MAGIC;
        [r, l, one, self.kind as u8, high, low, u8::from(self.unordered), 0, a, b, c, d]
    }

    /// Reads the header of a message, or returns `None` if the message does not have this format.
    pub fn read(message: &[u8]) -> Option<Self> {
        let [r, l, one, kind, high, low, unordered, 0, a, b, c, d] = *message.first_chunk::<HEAD_BYTES>()?
        else {
            return None;
        };
        let kind = match kind {
            1 => Kind::Hello,
            2 => Kind::Data,
            3 => Kind::Abort,
            _ => return None,
        };
        let stream = u16::from_be_bytes([high, low]);
        let ppid = [a, b, c, d];
        ([r, l, one] == MAGIC && unordered <= 1).then_some(Self {
            kind,
            stream,
            unordered: unordered == 1,
            ppid,
        })
    }
}

/// Checks that only this user can access a folder; creates it if it does not exist.
///
/// # Errors
/// The text names the folder and the fault.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    let refuse = |what: String| {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {what}", folder.display())))
    };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return refuse(error.to_string()),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    let user = this_user();
    let mode = found.mode() & 0o7777;
    match () {
        () if !found.is_dir() => refuse("it is not a folder".to_owned()),
        () if found.uid() != user => {
            refuse(format!("it belongs to user {}, this program runs as {user}", found.uid()))
        }
        () if mode != 0o700 => refuse(format!("its mode is {mode:04o}; it must be 0700: chmod 700")),
        () => Ok(()),
    }
}

fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Checks that the peer runs as this user, and returns its process id.
fn same_user(socket: &impl AsFd) -> io::Result<u32> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel writes at most `length` bytes to `found`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &mut length,
        )
    };
    match result {
        0 if found.uid == this_user() => Ok(found.pid.unsigned_abs()),
        0 => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("the other endpoint belongs to user {}", found.uid),
        )),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A listening endpoint. Dropping it frees its address.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    path: PathBuf,
    v6_only: Option<PathBuf>,
    // This lock is held as long as the address is in use. It shows other processes that there is a listener, without a
    // connection.
    _lock: File,
}

impl Listener {
    /// Listens in `folder` at an address, which need not belong to the machine.
    ///
    /// # Errors
    /// The folder is accessible to other users, or another process listens there (`AddrInUse`).
    pub fn bind(folder: &Path, at: SocketAddr) -> io::Result<Self> {
        Self::bind_as(folder, at, false)
    }

    /// Listens like [`bind`](Self::bind), for a socket with `IPV6_V6ONLY`: at `[::]`, it accepts no IPv4
    /// associations.
    ///
    /// # Errors
    /// Fails like [`bind`](Self::bind).
    pub fn bind_v6_only(folder: &Path, at: SocketAddr) -> io::Result<Self> {
        Self::bind_as(folder, at, true)
    }

    fn bind_as(folder: &Path, at: SocketAddr, v6_only: bool) -> io::Result<Self> {
        check_folder(folder)?;
        let at = canonical(at);
        let path = folder.join(at.to_string());
        let lock = File::create(folder.join(format!("{at}.lock")))?;
        lock.set_permissions(Permissions::from_mode(0o600))?;
        lock.try_lock().map_err(|_| io::Error::from(io::ErrorKind::AddrInUse))?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
        let mark = v6_only_mark(folder, at);
        let v6_only = v6_only.then_some(mark.clone());
        match &v6_only {
            Some(mark) => drop(File::create(mark)?),
            // Removes a mark that a terminated listener left behind.
            None => drop(fs::remove_file(&mark)),
        }
        socket.bind(&SockAddr::unix(&path)?)?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, path, v6_only, _lock: lock })
    }

    /// Returns the next connection and its peer's process id, or `WouldBlock`. The peer has not sent its hello yet.
    ///
    /// # Errors
    /// Fails like accept(2). `PermissionDenied`: the peer is another user, and the connection is closed.
    pub fn accept(&self) -> io::Result<(Association, u32)> {
        let (socket, _) = self.socket.accept()?;
        let process = same_user(&socket)?;
        Ok((Association(socket), process))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The lock is still held, so this listener owns the file. A failure leaves a stale file, which the next
        // listener replaces.
        let _ = fs::remove_file(&self.path);
        if let Some(mark) = &self.v6_only {
            let _ = fs::remove_file(mark);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Converts an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) to the IPv4 address.
fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}

/// Returns the file that marks a listener with `IPV6_V6ONLY`.
fn v6_only_mark(folder: &Path, at: SocketAddr) -> PathBuf {
    folder.join(format!("{at}.v6only"))
}

/// Returns the possible locations of a listener for `to`, the most specific address first. As in Linux (`bindv6only`
/// 0), a listener at `[::]` accepts IPv4 associations unless its socket has `IPV6_V6ONLY`.
fn candidates(folder: &Path, to: SocketAddr) -> Vec<SocketAddr> {
    let to = canonical(to);
    let any_v6 = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), to.port());
    let mut candidates = vec![to];
    if to.is_ipv4() {
        candidates.push(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), to.port()));
        if !v6_only_mark(folder, any_v6).exists() {
            candidates.push(any_v6);
        }
    } else {
        candidates.push(any_v6);
    }
    candidates
}

/// An association. Its descriptor is blocking, but a parameter of each call decides whether the call may wait.
#[derive(Debug)]
pub struct Association(Socket);

impl Association {
    /// Associates with the listener in `folder` at `to`, or with a listener at the wildcard address and that port. `from` is
    /// the local address, if the program chose one.
    ///
    /// # Errors
    /// `ConnectionRefused`: no listener; `WouldBlock`: its backlog is full; the folder is accessible to other
    /// users, or the listener runs as another user.
    pub fn connect(folder: &Path, to: SocketAddr, from: Option<SocketAddr>) -> io::Result<Self> {
        check_folder(folder)?;
        let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
        socket.set_nonblocking(true)?;
        let at = |at: SocketAddr| socket.connect(&SockAddr::unix(folder.join(at.to_string()))?);
        let missing = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
        };
        let mut connected = Err(io::ErrorKind::NotFound.into());
        for candidate in candidates(folder, to) {
            connected = at(candidate);
            if !connected.as_ref().is_err_and(missing) {
                break;
            }
        }
        connected.map_err(
            |error| {
                if missing(&error) { io::ErrorKind::ConnectionRefused.into() } else { error }
            },
        )?;
        socket.set_nonblocking(false)?;
        same_user(&socket)?;
        let association = Self(socket);
        let from = from.map(|from| from.to_string()).unwrap_or_default();
        association.send(Head::new(Kind::Hello), &[IoSlice::new(from.as_bytes())], false)?;
        Ok(association)
    }

    /// Returns both endpoints of an association within this process, the first as a bare descriptor.
    ///
    /// # Errors
    /// Fails like socketpair(2).
    pub fn pair() -> io::Result<(OwnedFd, Self)> {
        let (near, far) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None)?;
        Ok((near.into(), Self(far)))
    }

    /// Sends one whole message.
    ///
    /// # Errors
    /// Fails like sendmsg(2): `WouldBlock` without `wait`, `BrokenPipe` after the peer has ended; `EMSGSIZE` above
    /// [`MESSAGE_BYTES_MAX`].
    pub fn send(&self, head: Head, body: &[IoSlice<'_>], wait: bool) -> io::Result<usize> {
        let length = body.iter().map(|slice| slice.len()).sum::<usize>();
        if length > MESSAGE_BYTES_MAX {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        let head = head.to_bytes();
        let mut slices = Vec::with_capacity(body.len() + 1);
        slices.push(IoSlice::new(&head));
        slices.extend_from_slice(body);
        let flags = libc::MSG_NOSIGNAL | if wait { 0 } else { libc::MSG_DONTWAIT };
        self.0.send_vectored_with_flags(&slices, flags).map(|_| length)
    }

    /// Receives one message with its header, without waiting; `Ok(0)` means that the peer has ended.
    ///
    /// # Errors
    /// Fails like recvmsg(2): `WouldBlock`, and `ConnectionReset` if the peer died with unread messages.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let descriptor = self.0.as_raw_fd();
        // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`, exclusively borrowed; the descriptor is open
        // because `self` owns it.
        let read =
            unsafe { libc::recv(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }

    /// Ends the association: the peer reads the sent data, then the end.
    pub fn shutdown(&self) {
        // The association may have ended already.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

impl AsFd for Association {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ranlab-shim-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn arrived(listener: &Listener) -> Association {
        loop {
            match listener.accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                other => return other.unwrap().0,
            }
        }
    }

    fn received(association: &Association) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; HEAD_BYTES + MESSAGE_BYTES_MAX];
        loop {
            match association.receive(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                other => return other.map(|read| buffer[..read].to_vec()),
            }
        }
    }

    #[test]
    fn shared_folder_is_refused_with_reason() {
        let path = folder("modes");
        check_folder(&path).unwrap();
        for mode in [0o755, 0o770, 0o701, 0o1700, 0o500] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = check_folder(&path).unwrap_err().to_string();
            assert!(error.contains("must be 0700") && error.contains(&format!("{mode:04o}")), "{error}");
        }
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/tmp", &path).unwrap();
        assert!(check_folder(&path).unwrap_err().to_string().contains("not a folder"));
        fs::remove_file(&path).unwrap();
        assert!(check_folder(&path.join("a/b")).is_err());
    }

    #[test]
    fn v6_wildcard_listener_takes_ipv4_unless_v6_only() {
        let folder = folder("families");
        let all: SocketAddr = "[::]:36421".parse().unwrap();
        let v4 = "127.0.0.1:36421".parse().unwrap();
        let mapped = "[::ffff:127.0.0.1]:36421".parse().unwrap();
        let v6 = "[::1]:36421".parse().unwrap();
        let refused = |to| {
            Association::connect(&folder, to, None)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        };
        {
            let _listener = Listener::bind(&folder, all).unwrap();
            for to in [v4, mapped, v6] {
                Association::connect(&folder, to, None).unwrap();
            }
        }
        {
            let _listener = Listener::bind_v6_only(&folder, all).unwrap();
            assert!(refused(v4) && refused(mapped));
            Association::connect(&folder, v6, None).unwrap();
        }
        {
            let _listener = Listener::bind(&folder, "0.0.0.0:36421".parse().unwrap()).unwrap();
            Association::connect(&folder, mapped, None).unwrap();
            assert!(refused(v6));
        }
        let _listener = Listener::bind(&folder, all).unwrap();
        Association::connect(&folder, v4, None).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn messages_keep_sctp_metadata_and_end_is_last() {
        let path = folder("messages");
        let at = "10.9.8.7:36421".parse().unwrap();
        let refused = |to| Association::connect(&path, to, None).unwrap_err().kind();
        assert_eq!(refused(at), io::ErrorKind::ConnectionRefused);
        let listener = Listener::bind(&path, at).unwrap();
        assert_eq!(Listener::bind(&path, at).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let near = Association::connect(&path, at, "127.0.0.9:7".parse().ok()).unwrap();
        let far = arrived(&listener);
        let hello = received(&far).unwrap();
        assert_eq!(Head::read(&hello), Some(Head::new(Kind::Hello)));
        assert_eq!(&hello[HEAD_BYTES..], b"127.0.0.9:7");

        let head = Head { kind: Kind::Data, stream: 0x0102, unordered: true, ppid: [0, 0, 0, 70] };
        let long = vec![7; MESSAGE_BYTES_MAX];
        near.send(head, &[IoSlice::new(b"ab"), IoSlice::new(b"c")], true).unwrap();
        assert_eq!(near.send(head, &[IoSlice::new(&long)], false).unwrap(), long.len());
        let too_long = near.send(head, &[IoSlice::new(&long), IoSlice::new(b"x")], true).unwrap_err();
        assert_eq!(too_long.raw_os_error(), Some(libc::EMSGSIZE));
        near.shutdown();
        for body in [&b"abc"[..], &long] {
            let message = received(&far).unwrap();
            assert_eq!((Head::read(&message), &message[HEAD_BYTES..]), (Some(head), body));
        }
        assert_eq!(received(&far).unwrap(), b"");

        // Connects to any address with the port. A terminated listener leaves a file, which the next listener replaces.
        drop(listener);
        assert_eq!(refused(at), io::ErrorKind::ConnectionRefused);
        fs::write(path.join("0.0.0.0:36421"), "").unwrap();
        let _any = Listener::bind(&path, "0.0.0.0:36421".parse().unwrap()).unwrap();
        Association::connect(&path, at, None).unwrap();
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn invalid_bytes_have_no_message_head() {
        let good = Head::new(Kind::Data).to_bytes();
        assert!(Head::read(&good).is_some());
        for at in 0..HEAD_BYTES {
            let mut bad = good;
            bad[at] = 0xff;
            // Any stream and any identifier are valid.
            assert_eq!(
                Head::read(&bad).is_some(),
                matches!(at, 4 | 5 | 8..),
                "a changed byte {at} must decide whether the head is valid"
            );
            assert_eq!(Head::read(&good[..at]), None);
        }
    }
}
