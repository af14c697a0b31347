//! `sctp://` and `shim://`, which preserve message boundaries: SCTP of the kernel, and its emulation where the kernel
//! has none.

use ranlab_machine::lock;
use std::cell::RefCell;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use ranlab_net::sctp::{self, E2AP_PPID, MessageInfo};
use ranlab_net::sctp_support;
use ranlab_net::shim::{self, HEAD_BYTES, Head, Kind, MESSAGE_BYTES_MAX};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::lookup_host;
use tokio::sync::mpsc;

use super::{
    Accept, AcceptError, Address, BindError, ConnectError, Connection, Framer, Listener, MAX_PDU_BYTES,
    MessageBoundaries, Stream, Unsupported,
};

pub(super) async fn connect(address: &Address, place: (&str, u16)) -> Result<Stream, ConnectError> {
    sctp_support().map_err(|why| ConnectError::unsupported(address, Unsupported::NoSctp(why)))?;
    let unknown = |source| ConnectError::UnknownHost { address: address.clone(), source };
    let places = resolved(place).await.map_err(unknown)?;
    let associated = async {
        let link = awaited(sctp::Association::connect(&places)?)?;
        // A refused connection produces a notification, which the kernel reports as readable and error, but not as
        // writable.
        link.ready(Interest::WRITABLE | Interest::ERROR).await?.retain_ready();
        match link.get_ref().0.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream(KernelAssociation::new(link, None))),
        }
    };
    associated.await.map_err(|error| ConnectError::from_io(address, error))
}

pub(super) async fn listen(address: &Address, place: (&str, u16)) -> Result<Listener, BindError> {
    sctp_support().map_err(|why| BindError::unsupported(address, Unsupported::NoSctp(why)))?;
    let unknown = |source| BindError::UnknownHost { address: address.clone(), source };
    let places = resolved(place).await.map_err(unknown)?;
    let bound = sctp::Listener::bind(&places).and_then(awaited);
    let arrivals = bound.map_err(|error| BindError::from_io(address, error))?;
    let own = SockRef::from(&arrivals.get_ref().0).local_addr().ok().and_then(|own| own.as_socket());
    let hosts: Vec<_> = places.iter().map(|place| place.ip().to_string()).collect();
    let port = own.map_or(place.1, |own| own.port());
    let (again, restarted) = mpsc::unbounded_channel();
    let arrivals = KernelArrivals { arrivals, again, restarted: Mutex::new(restarted) };
    Ok(Listener::new(Address::Sctp { host: hosts.join(","), port }, arrivals))
}

/// Resolves a host. A multi-homed host is a list of addresses separated by commas.
async fn resolved((hosts, port): (&str, u16)) -> io::Result<Vec<SocketAddr>> {
    let mut places = Vec::new();
    for host in hosts.split(',') {
        let nothing = || io::Error::new(io::ErrorKind::NotFound, format!("the host {host} has no address"));
        places.push(lookup_host((host, port)).await?.next().ok_or_else(nothing)?);
    }
    Ok(places)
}

/// Connects to a program that uses the preloaded library.
pub(super) fn connect_preloaded(
    address: &Address,
    folder: &Path,
    at: SocketAddr,
) -> Result<Stream, ConnectError> {
    let link = shim::Association::connect(folder, at, None).and_then(awaited);
    let link = link.map_err(|error| match error.kind() {
        // The error text names the owner and mode of the folder.
        io::ErrorKind::PermissionDenied => ConnectError::Io { address: address.clone(), source: error },
        _ => ConnectError::from_io(address, error),
    })?;
    Ok(stream(PreloadedAssociation { link, greeted: AtomicBool::new(true), ppid: AtomicU32::new(E2AP_PPID) }))
}

/// Listens for programs that use the preloaded library.
pub(super) fn listen_preloaded(
    address: &Address,
    folder: &Path,
    at: SocketAddr,
) -> Result<Listener, BindError> {
    let bound = shim::Listener::bind(folder, at).and_then(awaited);
    let arrivals = bound.map_err(|error| match error.kind() {
        // The error text names the owner and mode of the folder.
        io::ErrorKind::PermissionDenied => BindError::Io { address: address.clone(), source: error },
        _ => BindError::from_io(address, error),
    })?;
    let named = address.to_string();
    Ok(Listener::new(address.clone(), ShimArrivals { arrivals, named }))
}

/// Wrapper of a descriptor for tokio.
#[derive(Debug)]
struct Descriptor<T>(T);

impl<T: AsFd> AsRawFd for Descriptor<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

// Registers a socket with tokio. `AsyncFd::register` is unsafe, because the descriptor must not change while it is
// registered. Sockets of `ranlab_net` guarantee this.
#[allow(deprecated)]
fn awaited<T: AsFd>(socket: T) -> io::Result<AsyncFd<Descriptor<T>>> {
    AsyncFd::new(Descriptor(socket))
}

/// An association that the peer has restarted, and the peer's name.
type Restarted = (sctp::Association, String);

#[derive(Debug)]
struct KernelArrivals {
    arrivals: AsyncFd<Descriptor<sctp::Listener>>,
    /// Sender for restarted associations. Each association sends at most one; the new association detects the next
    /// restart.
    again: mpsc::UnboundedSender<Restarted>,
    restarted: Mutex<mpsc::UnboundedReceiver<Restarted>>,
}

impl Accept for KernelArrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let restarted = lock(&self.restarted).poll_recv(cx);
        let (link, peer) = match restarted {
            Poll::Ready(Some(restarted)) => restarted,
            _ => {
                let came = ready!(poll_accepted(&self.arrivals, cx, sctp::Listener::accept));
                let (link, peer) = came.map_err(AcceptError::from_io)?;
                (link, peer.map_or_else(|| "sctp://?".to_owned(), |peer| format!("sctp://{peer}")))
            }
        };
        let link = awaited(link).map_err(AcceptError::Io)?;
        Poll::Ready(Ok((
            stream(KernelAssociation::new(link, Some((self.again.clone(), peer.clone())))),
            peer,
        )))
    }
}

#[derive(Debug)]
struct ShimArrivals {
    arrivals: AsyncFd<Descriptor<shim::Listener>>,
    named: String,
}

impl Accept for ShimArrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let came = ready!(poll_accepted(&self.arrivals, cx, shim::Listener::accept));
        let (link, process) = came.map_err(AcceptError::from_io)?;
        let link = awaited(link).map_err(AcceptError::Io)?;
        let peer = format!("{} pid {process}", self.named);
        let carried =
            PreloadedAssociation { link, greeted: AtomicBool::new(false), ppid: AtomicU32::new(E2AP_PPID) };
        Poll::Ready(Ok((stream(carried), peer)))
    }
}

fn poll_accepted<L: AsFd, T>(
    listener: &AsyncFd<Descriptor<L>>,
    cx: &mut Context<'_>,
    accept: impl Fn(&L) -> io::Result<T>,
) -> Poll<io::Result<T>> {
    loop {
        let mut ready = ready!(listener.poll_read_ready(cx))?;
        if let Ok(came) = ready.try_io(|listener| accept(&listener.get_ref().0)) {
            return Poll::Ready(came);
        }
    }
}

fn stream(connection: impl Connection) -> Stream {
    Stream::Other(Box::new(connection))
}

/// Result of one read.
enum SctpRead {
    End,
    /// Range of the buffer that contains a PDU.
    Pdu(std::ops::Range<usize>),
    /// No complete PDU, for example a notification or the beginning of a message.
    Other,
}

thread_local! {
    /// Buffer for the longest message, because messages arrive as a whole. The connections of a thread share it.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; HEAD_BYTES + MESSAGE_BYTES_MAX]);
}

/// An association of the kernel or of the emulation.
trait Association: fmt::Debug + Send + Sync + 'static {
    type Socket: AsFd + fmt::Debug + Send + Sync + 'static;
    fn link(&self) -> &AsyncFd<Descriptor<Self::Socket>>;
    fn receive(&self, socket: &Self::Socket, buffer: &mut Vec<u8>) -> io::Result<SctpRead>;
    fn send(&self, socket: &Self::Socket, pdu: &[IoSlice<'_>]) -> io::Result<usize>;
}

impl<A: Association> Connection for A {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.link().poll_read_ready(cx).map_ok(|mut ready| ready.retain_ready())
    }
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.link().poll_write_ready(cx).map_ok(|mut ready| ready.retain_ready())
    }
    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        BUFFER.with_borrow_mut(|buffer| {
            loop {
                let came = self.link().try_io(Interest::READABLE, |fd| self.receive(&fd.0, buffer))?;
                match came {
                    SctpRead::End => return Ok(0),
                    SctpRead::Other => {}
                    SctpRead::Pdu(range) => {
                        buf.extend_from_slice(&buffer[range.clone()]);
                        return Ok(range.len());
                    }
                }
            }
        })
    }
    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.link().try_io(Interest::WRITABLE, |fd| self.send(&fd.0, slices))
    }
    fn framer(&self) -> &'static dyn Framer {
        &MessageBoundaries
    }
}

/// An association of the kernel.
#[derive(Debug)]
struct KernelAssociation {
    link: AsyncFd<Descriptor<sctp::Association>>,
    /// Beginning of a message that arrived in fragments.
    part: Mutex<Vec<u8>>,
    /// Payload protocol identifier, copied from the peer's messages: FlexRIC uses 0, others 70.
    ppid: AtomicU32,
    /// Channel to which this association is sent if the peer restarts it, and the peer's name.
    again: Option<(mpsc::UnboundedSender<Restarted>, String)>,
    /// Whether the peer has restarted the association, so that the descriptor belongs to a new connection.
    over: AtomicBool,
}

impl KernelAssociation {
    fn new(
        link: AsyncFd<Descriptor<sctp::Association>>,
        again: Option<(mpsc::UnboundedSender<Restarted>, String)>,
    ) -> Self {
        let part = Mutex::default();
        let over = AtomicBool::new(false);
        Self { link, part, ppid: AtomicU32::new(E2AP_PPID), again, over }
    }

    /// Handles a restart by the peer: this connection has ended, and the same socket becomes a new connection.
    fn restarted(&self, socket: &sctp::Association) -> io::Result<SctpRead> {
        self.over.store(true, Ordering::Relaxed);
        let handed_on = self
            .again
            .as_ref()
            .map(|(again, peer)| socket.try_clone().map(|socket| again.send((socket, peer.clone())).is_ok()));
        match handed_on.transpose()? {
            Some(true) => Ok(SctpRead::End),
            // The listener no longer exists.
            _ => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }
}

impl Association for KernelAssociation {
    type Socket = sctp::Association;
    fn link(&self) -> &AsyncFd<Descriptor<Self::Socket>> {
        &self.link
    }
    fn receive(&self, socket: &Self::Socket, buffer: &mut Vec<u8>) -> io::Result<SctpRead> {
        if self.over.load(Ordering::Relaxed) {
            return Ok(SctpRead::End);
        }
        let received = socket.receive(buffer)?;
        match received.notification {
            Some(sctp::Notification::Restarted) => return self.restarted(socket),
            Some(sctp::Notification::Other) => return Ok(SctpRead::Other),
            None => {}
        }
        if let Some(info) = received.info {
            self.ppid.store(info.ppid, Ordering::Relaxed);
        }
        let mut part = lock(&self.part);
        match (received.bytes, received.whole) {
            (0, false) => Ok(SctpRead::End),
            (bytes, true) if part.is_empty() => Ok(SctpRead::Pdu(0..bytes)),
            (bytes, whole) => {
                part.extend_from_slice(&buffer[..bytes]);
                if part.len() > MAX_PDU_BYTES {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the peer's message exceeds the longest allowed message",
                    ));
                }
                if !whole {
                    return Ok(SctpRead::Other);
                }
                buffer.resize(buffer.len().max(part.len()), 0);
                buffer[..part.len()].copy_from_slice(&part);
                Ok(SctpRead::Pdu(0..std::mem::take(&mut *part).len()))
            }
        }
    }
    fn send(&self, socket: &Self::Socket, pdu: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.over.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let info = MessageInfo { stream: 0, ppid: self.ppid.load(Ordering::Relaxed) };
        // Joins head and body to one message. Without a head nothing is copied.
        match pdu {
            [one] => socket.send(one, info).map(|()| one.len()),
            several => {
                let whole = several.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<_>>();
                socket.send(&whole, info).map(|()| whole.len())
            }
        }
    }
}

/// An association with a program that uses the preloaded library.
#[derive(Debug)]
struct PreloadedAssociation {
    link: AsyncFd<Descriptor<shim::Association>>,
    /// Whether the connecting side has sent its greeting.
    greeted: AtomicBool,
    /// Payload protocol identifier, copied from the peer's messages: FlexRIC uses 0, others 70.
    ppid: AtomicU32,
}

impl Association for PreloadedAssociation {
    type Socket = shim::Association;
    fn link(&self) -> &AsyncFd<Descriptor<Self::Socket>> {
        &self.link
    }
    fn receive(&self, socket: &Self::Socket, buffer: &mut Vec<u8>) -> io::Result<SctpRead> {
        let bytes = socket.receive(buffer)?;
        if bytes == 0 {
            return Ok(SctpRead::End);
        }
        let greeted = self.greeted.load(Ordering::Relaxed);
        match Head::read(&buffer[..bytes]).map(|head| (head.kind, head)) {
            Some((Kind::Hello, _)) if !greeted => {
                self.greeted.store(true, Ordering::Relaxed);
                Ok(SctpRead::Other)
            }
            Some((Kind::Data, head)) if greeted && bytes > HEAD_BYTES => {
                self.ppid.store(u32::from_be_bytes(head.ppid), Ordering::Relaxed);
                Ok(SctpRead::Pdu(HEAD_BYTES..bytes))
            }
            Some((Kind::Abort, _)) => Err(io::ErrorKind::ConnectionReset.into()),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "invalid shim:// message: the peer uses neither the preload library nor ranlab",
            )),
        }
    }
    fn send(&self, socket: &Self::Socket, pdu: &[IoSlice<'_>]) -> io::Result<usize> {
        let ppid = self.ppid.load(Ordering::Relaxed).to_be_bytes();
        socket.send(Head { ppid, ..Head::new(Kind::Data) }, pdu, false).map_err(|error| {
            if pdu.iter().map(|slice| slice.len()).sum::<usize>() <= MESSAGE_BYTES_MAX {
                return error;
            }
            let most = format!("a message of shim:// has at most {MESSAGE_BYTES_MAX} bytes");
            io::Error::new(io::ErrorKind::InvalidInput, most)
        })
    }
}
