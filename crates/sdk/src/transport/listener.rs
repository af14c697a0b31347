//! From an address to a place where peers arrive.

use std::fs::{self, File, Permissions};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, ready};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{TcpListener, TcpSocket, UnixListener, lookup_host};

use super::memory::MemoryListener;
use super::transport::{Accept, carrying};
use super::{Address, SocketOptions, Stream, Unsupported};

/// Connections that the kernel completes before they are accepted.
const BACKLOG: i32 = 1024;

/// Why one cannot listen there: one sentence each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Somebody listens there.
    #[error("{address} is in use by another listener")]
    InUse {
        /// Where.
        address: Address,
    },
    /// The host is not this machine.
    #[error("{address} is not an address of this machine")]
    NotLocal {
        /// Where.
        address: Address,
    },
    /// The host name has no address.
    #[error("the host of {address} has no address: {source}")]
    UnknownHost {
        /// Where.
        address: Address,
        /// The resolver's word.
        source: io::Error,
    },
    /// A port below 1024, or a directory that may not be written.
    #[error("no permission to listen at {address}")]
    Permission {
        /// Where.
        address: Address,
    },
    /// The Unix path exists and is no socket: it is somebody's file and stays.
    #[error("{address} exists and is not a socket")]
    NotASocket {
        /// Where.
        address: Address,
    },
    /// The directory of the Unix path is missing.
    #[error("the directory of {address} does not exist")]
    NoDirectory {
        /// Where.
        address: Address,
    },
    /// The transport is not available here.
    #[error("cannot listen at {address}: {why}")]
    Unsupported {
        /// Where.
        address: Address,
        /// What is missing.
        #[source]
        why: Unsupported,
    },
    /// Anything else, in the system's words.
    #[error("cannot listen at {address}: {source}")]
    Io {
        /// Where.
        address: Address,
        /// The system's word.
        source: io::Error,
    },
}

/// Why a newcomer could not be let in. The listener itself stays usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// No descriptor or memory is left: wait before accepting again, or the loop spins.
    #[error("no room for another connection: {0}")]
    Exhausted(#[source] io::Error),
    /// Anything else; the newcomer is gone.
    #[error("a connection could not be accepted: {0}")]
    Io(#[source] io::Error),
}

/// A place where peers arrive. Dropping it frees the place; a Unix socket's file goes with it.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    arrivals: Box<dyn Accept>,
}

impl Listener {
    /// Listens at `address`, and only there: whether that is loopback is the caller's choice. A Unix socket's
    /// file that nobody listens on any more is replaced; any other file is left alone.
    pub async fn bind(address: &Address, options: &SocketOptions) -> Result<Self, BindError> {
        let transport = carrying(address).ok_or_else(|| not_mine(address))?;
        transport.listen(address, options).await
    }

    /// A listener of a transport's own; `address` is the one bound.
    pub fn new(address: Address, arrivals: impl Accept) -> Self {
        Self { address, arrivals: Box::new(arrivals) }
    }

    /// Where it listens; port 0 has become the port that the kernel chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next newcomer and how to name it in a log. Cancel-safe.
    pub async fn accept(&self) -> Result<(Stream, String), AcceptError> {
        poll_fn(|cx| self.arrivals.poll_accept(cx)).await
    }
}

/// The address of a transport that is not here.
pub(super) fn not_mine(address: &Address) -> BindError {
    BindError::Unsupported { address: address.clone(), why: Unsupported::of(address) }
}

#[derive(Debug)]
struct TcpArrivals {
    listener: TcpListener,
    options: SocketOptions,
}

impl Accept for TcpArrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let (stream, peer) = ready!(self.listener.poll_accept(cx)).map_err(refusal)?;
        self.options.apply_tcp_buffers(&stream).map_err(AcceptError::Io)?;
        self.options.apply_tcp(&stream).map_err(AcceptError::Io)?;
        Poll::Ready(Ok((Stream::Tcp(stream), format!("tcp://{peer}"))))
    }
}

#[derive(Debug)]
struct UnixArrivals {
    listener: UnixListener,
    _file: SocketFile,
    address: Address,
    options: SocketOptions,
}

impl Accept for UnixArrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let (stream, _) = ready!(self.listener.poll_accept(cx)).map_err(refusal)?;
        self.options.apply_local_buffers(&stream).map_err(AcceptError::Io)?;
        let process = stream.peer_cred().ok().and_then(|credentials| credentials.pid());
        let peer = match process {
            Some(pid) => format!("{} pid {pid}", self.address),
            None => self.address.to_string(),
        };
        Poll::Ready(Ok((Stream::Unix(stream), peer)))
    }
}

impl Accept for MemoryListener {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        Poll::Ready(match ready!(self.poll_arrival(cx)) {
            Some(stream) => Ok((Stream::Memory(stream), format!("mem://{}", self.name()))),
            None => Err(AcceptError::Io(io::ErrorKind::BrokenPipe.into())),
        })
    }
}

pub(super) async fn tcp(
    address: &Address,
    host: &str,
    port: u16,
    options: &SocketOptions,
) -> Result<Listener, BindError> {
    let unknown = |source| BindError::UnknownHost { address: address.clone(), source };
    let nothing = || unknown(io::Error::new(io::ErrorKind::NotFound, "the name resolves to nothing"));
    let place = lookup_host((host, port)).await.map_err(unknown)?.next().ok_or_else(nothing)?;
    let listener = tcp_at(place, options).map_err(|error| explain(address, error))?;
    let port = listener.local_addr().map_or(port, |bound| bound.port());
    let options = options.clone();
    Ok(Listener::new(Address::Tcp { host: host.to_owned(), port }, TcpArrivals { listener, options }))
}

fn tcp_at(place: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    let socket = if place.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted RIC must get its port back while old connections linger in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    options.apply_tcp_buffers(&socket)?;
    socket.bind(place)?;
    socket.listen(BACKLOG as u32)
}

pub(super) fn unix(address: &Address, path: &Path, options: &SocketOptions) -> Result<Listener, BindError> {
    let bound = match bind_file(path, options) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            remove_if_stale(address, path)?;
            bind_file(path, options)
        }
        other => other,
    };
    let (listener, file) = bound.map_err(|error| explain(address, error))?;
    let arrivals = UnixArrivals { listener, _file: file, address: address.clone(), options: options.clone() };
    Ok(Listener::new(address.clone(), arrivals))
}

fn bind_file(path: &Path, options: &SocketOptions) -> io::Result<(UnixListener, SocketFile)> {
    // Linux creates the file with the mode of the socket, less the umask: set it first, and at no moment can
    // anybody connect who should not. The chmod afterwards gives back what the umask took.
    let file = File::from(OwnedFd::from(Socket::new(Domain::UNIX, Type::STREAM, None)?));
    file.set_permissions(Permissions::from_mode(options.unix_mode & 0o777))?;
    let socket = Socket::from(OwnedFd::from(file));
    options.apply_local_buffers(&socket)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::of(path)?;
    fs::set_permissions(path, Permissions::from_mode(options.unix_mode & 0o777))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
    Ok((listener, file))
}

/// Removes the file of a listener that died. Two programs that start at the same instant on one path may both
/// see a stale file; the later one wins and the earlier one keeps a listener that nobody finds.
fn remove_if_stale(address: &Address, path: &Path) -> Result<(), BindError> {
    let address = || address.clone();
    let metadata = fs::symlink_metadata(path).map_err(|error| explain(&address(), error))?;
    if !metadata.file_type().is_socket() {
        return Err(BindError::NotASocket { address: address() });
    }
    match StdUnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| explain(&address(), error))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(BindError::Permission { address: address() })
        }
        _ => Err(BindError::InUse { address: address() }),
    }
}

/// The file of a Unix listener, removed with it unless another has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device_and_inode: (metadata.dev(), metadata.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let now = fs::symlink_metadata(&self.path).map(|metadata| (metadata.dev(), metadata.ino()));
        if now.is_ok_and(|now| now == self.device_and_inode) {
            // Failing leaves a stale file, which the next listener replaces.
            let _ = fs::remove_file(&self.path);
        }
    }
}

pub(super) fn explain(address: &Address, source: io::Error) -> BindError {
    use io::ErrorKind as Kind;
    let address = address.clone();
    match source.kind() {
        Kind::AddrInUse => BindError::InUse { address },
        Kind::AddrNotAvailable => BindError::NotLocal { address },
        Kind::PermissionDenied => BindError::Permission { address },
        Kind::NotFound | Kind::NotADirectory if matches!(address, Address::Unix(_)) => {
            BindError::NoDirectory { address }
        }
        _ => BindError::Io { address, source },
    }
}

pub(super) fn refusal(error: io::Error) -> AcceptError {
    /// `ENFILE`, `EMFILE`, `ENOMEM`, `ENOBUFS` of Linux; std has no kinds for the first two and the last.
    const EXHAUSTION: [i32; 4] = [23, 24, 12, 105];
    match error.raw_os_error() {
        Some(code) if EXHAUSTION.contains(&code) => AcceptError::Exhausted(error),
        _ => AcceptError::Io(error),
    }
}
