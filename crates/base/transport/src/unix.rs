//! Unix socket transport: `unix://`.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, ready};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{UnixListener, UnixStream};

use super::{Accept, AcceptError, Address, BindError, ConnectError, Listener, SocketOptions, Stream};

/// Maximum number of established connections that are not accepted yet.
const BACKLOG: i32 = 1024;

pub(super) async fn connect(
    address: &Address,
    path: &Path,
    options: &SocketOptions,
) -> Result<Stream, ConnectError> {
    let stream = UnixStream::connect(path).await.map_err(|error| ConnectError::from_io(address, error))?;
    options.apply_local_buffers(&stream).map_err(|error| ConnectError::from_io(address, error))?;
    Ok(Stream::Unix(stream))
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
        let (stream, _) = ready!(self.listener.poll_accept(cx)).map_err(AcceptError::from_io)?;
        self.options.apply_local_buffers(&stream).map_err(AcceptError::Io)?;
        let process = stream.peer_cred().ok().and_then(|credentials| credentials.pid());
        let peer = match process {
            Some(pid) => format!("{} pid {pid}", self.address),
            None => self.address.to_string(),
        };
        Poll::Ready(Ok((Stream::Unix(stream), peer)))
    }
}

pub(super) fn listen(address: &Address, path: &Path, options: &SocketOptions) -> Result<Listener, BindError> {
    let bound = match bind_file(path, options) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            remove_if_stale(address, path)?;
            bind_file(path, options)
        }
        other => other,
    };
    let (listener, file) = bound.map_err(|error| BindError::from_io(address, error))?;
    let arrivals = UnixArrivals { listener, _file: file, address: address.clone(), options: options.clone() };
    Ok(Listener::new(address.clone(), arrivals))
}

fn bind_file(path: &Path, options: &SocketOptions) -> io::Result<(UnixListener, SocketFile)> {
    // Linux creates the file with the mode of the socket, reduced by the umask. The mode is set first, so that no other
    // user can connect at any time. The chmod afterwards restores the bits that the umask removed.
    let file = File::from(OwnedFd::from(Socket::new(Domain::UNIX, Type::STREAM, None)?));
    file.set_permissions(Permissions::from_mode(options.unix_mode & 0o777))?;
    let socket = Socket::from(OwnedFd::from(file));
    options.apply_local_buffers(&socket)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::from_path(path)?;
    fs::set_permissions(path, Permissions::from_mode(options.unix_mode & 0o777))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
    Ok((listener, file))
}

/// Removes the file of a listener that has ended. If two programs start on one path at the same time, both may find a
/// stale file. The later one then replaces the file, and the earlier one keeps an unreachable listener.
fn remove_if_stale(address: &Address, path: &Path) -> Result<(), BindError> {
    let address = || address.clone();
    let metadata = fs::symlink_metadata(path).map_err(|error| BindError::from_io(&address(), error))?;
    if !metadata.file_type().is_socket() {
        return Err(BindError::NotASocket { address: address() });
    }
    match StdUnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| BindError::from_io(&address(), error))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(BindError::Permission { address: address() })
        }
        _ => Err(BindError::InUse { address: address() }),
    }
}

/// File of a Unix listener. It is removed with the listener, unless another listener has replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

impl SocketFile {
    fn from_path(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device_and_inode: (metadata.dev(), metadata.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let now = fs::symlink_metadata(&self.path).map(|metadata| (metadata.dev(), metadata.ino()));
        if now.is_ok_and(|now| now == self.device_and_inode) {
            // A failure leaves a stale file, which the next listener replaces.
            let _ = fs::remove_file(&self.path);
        }
    }
}
