//! An SCTP socket of the program: its associations and its queued data.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU16, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ranlab_net::shim::{Association, HEAD_BYTES, Head, Kind, Listener, check_folder};

use crate::carrier::{Target, carrier};
use crate::notification::{self, Change};
use crate::real::error;
use crate::values::{FrameHeader, FrameKind, Options, Rest, Style, Writer};

/// Environment variable that contains the folder. Without it, no socket is emulated.
const FOLDER: &str = "RANLAB_SCTP";
/// Maximum number of new connections without a greeting, and maximum number of associations that the program has not
/// accepted.
const NEWCOMERS_MAX: usize = 128;
/// Number of retries if the accept queue of an endpoint is full, and delay between two retries.
const FULL_RETRIES: u32 = 200;
const FULL_PAUSE: Duration = Duration::from_millis(5);

static FOLDER_NAMED: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os(FOLDER).map(PathBuf::from));
static ASSOCIATIONS: AtomicI32 = AtomicI32::new(1);
static PORTS: AtomicU16 = AtomicU16::new(0);

/// Returns the folder that represents the network, if this process has one.
pub(crate) fn folder() -> Option<&'static Path> {
    FOLDER_NAMED.as_deref()
}

/// Peer of an association.
pub(crate) struct Peer {
    pub(crate) id: i32,
    token: u64,
    pub(crate) link: Arc<Association>,
    pub(crate) address: SocketAddr,
    up: bool,
    received: u32,
    streams: HashMap<u16, u16>,
}

/// An SCTP socket.
pub(crate) struct Endpoint {
    pub(crate) style: Style,
    pub(crate) family: c_int,
    /// Carrier's end of the socket pair. The program has the other end.
    pub(crate) far: Association,
    state: Mutex<State>,
    associating: Mutex<()>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Number of descriptors that refer to this socket in the program.
    pub(crate) handles: usize,
    pub(crate) local: Option<SocketAddr>,
    listener: Option<u64>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) accepted: VecDeque<(OwnedFd, Arc<Endpoint>)>,
    pub(crate) headers: HashMap<u32, FrameHeader>,
    key: u32,
    held: VecDeque<(Head, Vec<u8>)>,
    paused: Vec<u64>,
    /// Associations that were full when the program last sent.
    pub(crate) blocked: Vec<u64>,
    room: Option<u64>,
    pub(crate) rest: Option<Rest>,
    /// Whether the association of a one-to-one socket has ended. `reset`: it ended without a shutdown.
    over: bool,
    pub(crate) reset: bool,
    pub(crate) options: Options,
}

impl State {
    pub(crate) fn token_of(&self, link: &Association) -> Option<u64> {
        let is_it = |peer: &&Peer| std::ptr::eq(Arc::as_ptr(&peer.link), link);
        self.peers.iter().find(is_it).map(|peer| peer.token)
    }
}

impl Endpoint {
    /// Creates a socket. Returns the program's end of the socket pair.
    pub(crate) fn new(style: Style, family: c_int, options: Options) -> io::Result<(OwnedFd, Arc<Self>)> {
        let (near, far) = Association::pair()?;
        let state = Mutex::new(State { options, ..State::default() });
        Ok((near, Arc::new(Self { style, family, far, state, associating: Mutex::default() })))
    }

    /// Implements socket(2).
    pub(crate) fn open(family: c_int, kind: c_int) -> io::Result<(OwnedFd, Arc<Self>)> {
        let style = match kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
            libc::SOCK_STREAM => Style::One,
            libc::SOCK_SEQPACKET => Style::Many,
            _ => return error(libc::ESOCKTNOSUPPORT),
        };
        if family != libc::AF_INET && family != libc::AF_INET6 {
            return error(libc::EAFNOSUPPORT);
        }
        if let Some(folder) = folder() {
            check_folder(folder).inspect_err(|why| eprintln!("ranlab: {FOLDER}={why}"))?;
        }
        carrier()?;
        Self::new(style, family, Options::default())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Implements bind(2).
    pub(crate) fn bind(&self, address: SocketAddr) -> io::Result<()> {
        let mut state = self.lock();
        if state.local.is_some() {
            return error(libc::EINVAL);
        }
        let port = if address.port() == 0 { next_port() } else { address.port() };
        state.local = Some(SocketAddr::new(address.ip(), port));
        Ok(())
    }

    /// Implements listen(2).
    pub(crate) fn listen(self: &Arc<Self>) -> io::Result<()> {
        let mut state = self.lock();
        if state.listener.is_some() {
            return Ok(());
        }
        let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let mut at = state.local.unwrap_or(any);
        if at.port() == 0 {
            at.set_port(next_port());
        }
        let folder = folder().unwrap_or_else(|| Path::new(""));
        let listener = match state.options.v6_only {
            true => Listener::bind_v6_only(folder, at)?,
            false => Listener::bind(folder, at)?,
        };
        state.local = Some(at);
        state.listener = Some(carrier()?.watch(Target::Arrivals(Arc::clone(self), Arc::new(listener)))?);
        Ok(())
    }

    /// Implements connect(2). The association is established when the function returns.
    pub(crate) fn connect(self: &Arc<Self>, to: SocketAddr) -> io::Result<i32> {
        let known = self.lock().peers.iter().any(|peer| self.style == Style::One || peer.address == to);
        if known {
            return error(libc::EISCONN);
        }
        self.associate(to).map(|(_, id)| id)
    }

    fn associate(self: &Arc<Self>, to: SocketAddr) -> io::Result<(Arc<Association>, i32)> {
        let from = self.lock().local.filter(|at| !at.ip().is_unspecified());
        let folder = folder().unwrap_or_else(|| Path::new(""));
        let mut tried = 0;
        let link = loop {
            match Association::connect(folder, to, from) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && tried < FULL_RETRIES => {
                    tried += 1;
                    std::thread::sleep(FULL_PAUSE);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                other => break Arc::new(other?),
            }
        };
        let mut state = self.lock();
        let mut peer = self.peer(&link, to)?;
        peer.up = true;
        let id = peer.id;
        state.peers.push(peer);
        self.changed(&mut state, Change::Up, id, to);
        Ok((link, id))
    }

    fn peer(self: &Arc<Self>, link: &Arc<Association>, address: SocketAddr) -> io::Result<Peer> {
        let token = carrier()?.watch(Target::Messages(Arc::clone(self), Arc::clone(link)))?;
        let id = ASSOCIATIONS.fetch_add(1, Ordering::Relaxed);
        let link = Arc::clone(link);
        Ok(Peer { id, token, link, address, up: false, received: 0, streams: HashMap::new() })
    }

    fn find(&self, to: Option<SocketAddr>, id: i32) -> Option<Arc<Association>> {
        let is_it = |peer: &&Peer| match (self.style, to) {
            (Style::One, _) => true,
            (_, Some(to)) => peer.address == to,
            (_, None) => peer.id == id,
        };
        let state = self.lock();
        state.peers.iter().filter(|peer| peer.up).find(is_it).map(|peer| Arc::clone(&peer.link))
    }

    /// Sends a message to an address, to an association, or to the only association. If necessary, a one-to-many socket
    /// establishes an association first.
    pub(crate) fn send(
        self: &Arc<Self>,
        to: Option<SocketAddr>,
        id: i32,
        head: Head,
        body: &[IoSlice<'_>],
        from: Writer,
    ) -> io::Result<usize> {
        if head.stream >= self.lock().options.streams() {
            return error(libc::EINVAL);
        }
        let length = body.iter().map(|slice| slice.len()).sum();
        // Only one thread may associate at a time. Otherwise two threads could establish two associations.
        let mut associating = None;
        let mut found = self.find(to, id);
        if found.is_none() && to.is_some() {
            associating = Some(self.associating.lock().unwrap_or_else(PoisonError::into_inner));
            found = self.find(to, id);
        }
        let link = match (found, to) {
            (Some(link), _) => link,
            (None, Some(to)) if length > 0 => match self.associate(to) {
                Ok((link, _)) => link,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                Err(_) => {
                    // Like SCTP, the socket accepts the message and later reports that there is no peer.
                    self.undelivered(to);
                    return Ok(length);
                }
            },
            _ => return error(if self.style == Style::One { libc::ENOTCONN } else { libc::EPIPE }),
        };
        drop(associating);
        if head.kind == Kind::Abort || length == 0 {
            if head.kind == Kind::Abort {
                // If this message cannot be sent, the peer instead reads the end of the stream.
                let _ = link.send(head, &[], false);
            }
            link.shutdown();
            return Ok(0);
        }
        let sent = link.send(head, body, from.waits);
        if sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.on_full(from.near, &link);
        }
        sent
    }

    fn undelivered(self: &Arc<Self>, to: SocketAddr) {
        let mut state = self.lock();
        if state.options.wants(notification::SEND_FAILED) {
            self.notify(&mut state, 0, to, &notification::send_failed());
        }
        self.changed(&mut state, Change::CannotStart, 0, to);
    }

    fn changed(self: &Arc<Self>, state: &mut State, change: Change, id: i32, address: SocketAddr) {
        if state.options.wants(notification::ASSOCIATION) {
            let octets = notification::change(change, state.options.streams(), id);
            self.notify(state, id, address, &octets);
        }
    }

    fn notify(self: &Arc<Self>, state: &mut State, association: i32, from: SocketAddr, octets: &[u8]) {
        let head = Head::new(Kind::Data);
        let header = FrameHeader { what: FrameKind::Notification, association, from, head, ssn: 0, tsn: 0 };
        self.deliver(state, header, octets, None);
    }

    /// Writes data to the socket pair. If the pair is full, the data is queued, and reading from its association is
    /// paused.
    pub(crate) fn deliver(
        self: &Arc<Self>,
        state: &mut State,
        header: FrameHeader,
        body: &[u8],
        came_on: Option<u64>,
    ) {
        state.key = state.key.wrapping_add(1);
        state.headers.insert(state.key, header);
        let head = Head { ppid: state.key.to_ne_bytes(), ..Head::new(Kind::Data) };
        let full = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
        if state.held.is_empty() && !self.far.send(head, &[IoSlice::new(body)], false).is_err_and(full) {
            return;
        }
        state.held.push_back((head, body.to_vec()));
        if let (Some(token), Ok(carrier)) = (came_on, carrier()) {
            carrier.pause(token, true);
            state.paused.push(token);
        }
        if state.room.is_none() {
            state.room = carrier().and_then(|carrier| carrier.watch(Target::Room(Arc::clone(self)))).ok();
        }
    }

    /// Writes queued data after the program has read.
    pub(crate) fn room(&self) {
        let mut state = self.lock();
        while let Some((head, body)) = state.held.front() {
            match self.far.send(*head, &[IoSlice::new(body)], false) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                _ => state.held.pop_front(),
            };
        }
        let Ok(carrier) = carrier() else { return };
        if let Some(token) = state.room.take() {
            carrier.forget(token);
        }
        std::mem::take(&mut state.paused).iter().for_each(|token| carrier.pause(*token, false));
        if state.over {
            self.far.shutdown();
        }
    }

    /// Accepts a new connection.
    pub(crate) fn arrivals(self: &Arc<Self>, listener: &Listener) {
        // `accept` fails if the connection belongs to another user, or has already been closed.
        let Ok((link, _)) = listener.accept() else { return };
        let mut state = self.lock();
        if state.listener.is_none() || state.accepted.len() >= NEWCOMERS_MAX {
            return;
        }
        // At the limit, the oldest connection without a greeting is dropped. Such connections therefore cannot lock out
        // others.
        let silent = state.peers.iter().filter(|peer| !peer.up);
        if silent.clone().count() >= NEWCOMERS_MAX
            && let Some(oldest) = silent.map(|peer| peer.id).min()
            && let Some(at) = state.peers.iter().position(|peer| peer.id == oldest)
        {
            self.end(&mut state, at, false);
        }
        // Programs identify peers by address. Each peer therefore gets a unique address, regardless of the address that
        // it claims.
        let address = loop {
            let ip: IpAddr = Ipv4Addr::LOCALHOST.into();
            let address = SocketAddr::new(ip, next_port());
            if state.peers.iter().all(|peer| peer.address != address) {
                break address;
            }
        };
        if let Ok(peer) = self.peer(&Arc::new(link), address) {
            state.peers.push(peer);
        }
    }

    /// Receives data of an association.
    pub(crate) fn message(self: &Arc<Self>, token: u64, link: &Association, buffer: &mut [u8]) {
        let mut state = self.lock();
        let Some(at) = state.peers.iter().position(|peer| peer.token == token) else { return };
        let (read, graceful) = match link.receive(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => (&[][..], false),
            Ok(read) => (&buffer[..read], read == 0),
        };
        let peer = &mut state.peers[at];
        match Head::read(read) {
            Some(Head { kind: Kind::Hello, .. }) if !peer.up => {
                self.hello(&mut state, at, &read[HEAD_BYTES..])
            }
            Some(head) if head.kind == Kind::Data && peer.up => {
                peer.received = peer.received.wrapping_add(1);
                let next = peer.streams.entry(head.stream).or_default();
                let tsn = peer.received;
                let ssn = *next;
                let association = peer.id;
                let from = peer.address;
                *next = next.wrapping_add(u16::from(!head.unordered));
                let header = FrameHeader { what: FrameKind::Data, association, from, head, ssn, tsn };
                self.deliver(&mut state, header, &read[HEAD_BYTES..], Some(token));
            }
            _ => self.end(&mut state, at, graceful),
        }
    }

    /// Handles the greeting of a new connection. On a one-to-one socket, the connection then waits to be accepted.
    fn hello(self: &Arc<Self>, state: &mut State, at: usize, own: &[u8]) {
        let own = std::str::from_utf8(own).ok().and_then(|own| own.parse::<SocketAddr>().ok());
        let is_taken = |own: &SocketAddr| state.peers.iter().any(|peer| peer.address == *own);
        if let Some(own) = own.filter(|own| !is_taken(own)) {
            state.peers[at].address = own;
        }
        let peer = &mut state.peers[at];
        (peer.up, peer.received) = (true, 0);
        let id = peer.id;
        let from = peer.address;
        if self.style == Style::Many {
            return self.changed(state, Change::Up, id, from);
        }
        let peer = state.peers.swap_remove(at);
        let (Ok(carrier), Ok((near, endpoint))) =
            (carrier(), Self::new(Style::One, self.family, state.options.clone()))
        else {
            return;
        };
        {
            let mut accepted = endpoint.lock();
            accepted.local = state.local;
            carrier.give(peer.token, &endpoint);
            accepted.peers.push(peer);
            endpoint.changed(&mut accepted, Change::Up, id, from);
        }
        state.accepted.push_back((near, endpoint));
        let header = FrameHeader {
            what: FrameKind::Arrival,
            association: id,
            from,
            head: Head::new(Kind::Hello),
            ssn: 0,
            tsn: 0,
        };
        self.deliver(state, header, &[], None);
    }

    /// Handles the end of an association.
    fn end(self: &Arc<Self>, state: &mut State, at: usize, graceful: bool) {
        let peer = state.peers.swap_remove(at);
        if let Ok(carrier) = carrier() {
            carrier.forget(peer.token);
        }
        peer.link.shutdown();
        state.paused.retain(|token| *token != peer.token);
        self.release_writer(state, peer.token);
        if !peer.up {
            return;
        }
        // A program that subscribes only to shutdown events is also informed of aborted associations.
        let tells_of_changes = state.options.wants(notification::ASSOCIATION);
        if state.options.wants(notification::SHUTDOWN) && (graceful || !tells_of_changes) {
            self.notify(state, peer.id, peer.address, &notification::shutdown(peer.id));
        }
        let change = if graceful { Change::ShutdownComplete } else { Change::Lost };
        self.changed(state, change, peer.id, peer.address);
        if self.style == Style::One {
            (state.over, state.reset) = (true, !graceful);
            if state.held.is_empty() {
                self.far.shutdown();
            }
        }
    }

    /// Returns the next association to accept. As in the kernel, an association that has already ended is skipped.
    pub(crate) fn next_accepted(&self) -> Option<(OwnedFd, Arc<Self>, SocketAddr)> {
        loop {
            let (near, made) = self.lock().accepted.pop_front()?;
            let from = made.lock().peers.first().map(|peer| peer.address);
            match from {
                Some(from) => return Some((near, made, from)),
                None => made.release(),
            }
        }
    }

    /// Converts an association to a one-to-one socket (`sctp_peeloff`).
    pub(crate) fn peel_off(&self, id: i32) -> io::Result<(OwnedFd, Arc<Self>)> {
        let mut state = self.lock();
        let Some(at) = state.peers.iter().position(|peer| peer.id == id && peer.up) else {
            return error(libc::EINVAL);
        };
        let (near, endpoint) = Self::new(Style::One, self.family, state.options.clone())?;
        let peer = state.peers.swap_remove(at);
        self.release_writer(&mut state, peer.token);
        carrier()?.give(peer.token, &endpoint);
        endpoint.lock().local = state.local;
        endpoint.lock().peers.push(peer);
        Ok((near, endpoint))
    }

    /// Closes one descriptor. Closing the last descriptor ends all associations.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.handles = state.handles.saturating_sub(1);
        let Ok(carrier) = carrier() else { return };
        if state.handles > 0 {
            return;
        }
        state.listener.take().into_iter().chain(state.room.take()).for_each(|token| carrier.forget(token));
        for peer in state.peers.drain(..) {
            carrier.forget(peer.token);
            peer.link.shutdown();
        }
        let accepted = std::mem::take(&mut state.accepted);
        drop(state);
        accepted.iter().for_each(|(_, endpoint)| endpoint.release());
    }
}

/// Returns an unused port.
fn next_port() -> u16 {
    // Ports are in IANA's dynamic range. Two processes start at different ports.
    let number = PORTS.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id() as u16);
    49_152 + number % 16_384
}
