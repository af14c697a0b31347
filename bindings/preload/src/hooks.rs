//! The functions of libc that a program with the preloaded library calls instead of the original ones.

use std::ffi::{c_int, c_void};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use libc::{iovec, msghdr, sockaddr, socklen_t};
use ranlab_net::shim::Kind;

use crate::endpoint::{Endpoint, folder};
use crate::message::{self, NOTIFICATION};
use crate::options::{handed_out, list_bytes};
use crate::real::{self, answer, error};
use crate::values::{FrameKind, Style, Writer};
use crate::{address, table};

/// Defines each hook. For an emulated descriptor, it evaluates the expression after `=>` with the endpoint. Otherwise
/// it calls libc's function.
///
/// Every `unsafe` block relies on the caller to fulfil the requirements of the function's manual page. In particular,
/// pointers must be valid for the given lengths.
macro_rules! hooks {
    ($($name:ident($fd:ident $(, $argument:ident: $type:ty)*) -> $result:ty, |$endpoint:ident| $work:expr;)*) => {$(
        /// Implements the function of the same name in section 2 of the manual.
        ///
        /// # Safety
        ///
        /// Every pointer is valid for the number of bytes stated in the manual page.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($fd: c_int $(, $argument: $type)*) -> $result {
            match table::find($fd) {
                // SAFETY: guaranteed by the caller.
                None => unsafe { real::$name($fd $(, $argument)*) },
                Some($endpoint) => answer(|| $work),
            }
        }
    )*};
}

hooks! {
    bind(fd, at: *const sockaddr, length: socklen_t) -> c_int, |endpoint| {
        endpoint.bind(address_at(at.cast(), length)?).map(|()| 0)
    };
    listen(fd, _backlog: c_int) -> c_int, |endpoint| endpoint.listen().map(|()| 0);
    accept(fd, at: *mut sockaddr, length: *mut socklen_t) -> c_int, |endpoint| {
        accepted(&endpoint, fd, at, length, 0)
    };
    accept4(fd, at: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int, |endpoint| {
        accepted(&endpoint, fd, at, length, flags)
    };
    connect(fd, at: *const sockaddr, length: socklen_t) -> c_int, |endpoint| {
        endpoint.connect(address_at(at.cast(), length)?).map(|_| 0)
    };
    getsockname(fd, at: *mut sockaddr, length: *mut socklen_t) -> c_int, |endpoint| {
        let any = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), 0);
        let local = endpoint.lock().local.unwrap_or(any);
        show(&address::written(local, endpoint.family), at.cast(), length).map(|()| 0)
    };
    getpeername(fd, at: *mut sockaddr, length: *mut socklen_t) -> c_int, |endpoint| {
        let peer = endpoint.lock().peers.first().filter(|_| endpoint.style == Style::One).map(|peer| peer.address);
        match peer {
            Some(peer) => show(&address::written(peer, endpoint.family), at.cast(), length).map(|()| 0),
            None => error(libc::ENOTCONN),
        }
    };
    setsockopt(fd, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int, |endpoint| {
        match level {
            libc::IPPROTO_SCTP => endpoint.set(name, octets(value, length as usize)),
            // SAFETY: guaranteed by the caller. The socket pair has buffers and timeouts like any socket.
            libc::SOL_SOCKET => system(unsafe { real::setsockopt(fd, level, name, value, length) }),
            libc::IPPROTO_IPV6 if name == libc::IPV6_V6ONLY => {
                endpoint.lock().options.v6_only = octets(value, length as usize).iter().any(|octet| *octet != 0);
                Ok(0)
            }
            // IP options have no effect, because associations do not use IP.
            _ => Ok(0),
        }
    };
    getsockopt(fd, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int, |endpoint| {
        get_option(&endpoint, fd, level, name, value, length)
    };
    shutdown(fd, how: c_int) -> c_int, |endpoint| {
        if endpoint.style == Style::Many {
            return error(libc::EOPNOTSUPP);
        }
        if how != libc::SHUT_RD {
            endpoint.lock().peers.iter().for_each(|peer| peer.link.shutdown());
        }
        Ok(0)
    };
    sendmsg(fd, message: *const msghdr, flags: c_int) -> isize, |endpoint| {
        // SAFETY: guaranteed by the caller: a valid `msghdr`.
        let message = unsafe { &*message };
        let to = match message.msg_namelen {
            0 => None,
            length => Some(address_at(message.msg_name, length)?),
        };
        let control = octets(message.msg_control, message.msg_controllen);
        // SAFETY: `message` is valid.
        let body = unsafe { slices(message) };
        // An empty slice may be a null pointer, as in libsctp's message that ends an association. An `IoSlice` must not
        // be a null pointer.
        if body.iter().any(|it| it.iov_base.is_null()) {
            let body: Vec<_> = body.iter().map(|it| IoSlice::new(octets(it.iov_base, it.iov_len))).collect();
            return sent(&endpoint, fd, to, control, &body, flags);
        }
        // SAFETY: `iovec` and `IoSlice` have the same layout (documented by the standard library), the caller may read
        // the slices, and none is a null pointer.
        let body = unsafe { std::slice::from_raw_parts(body.as_ptr().cast::<IoSlice<'_>>(), body.len()) };
        sent(&endpoint, fd, to, control, body, flags)
    };
    send(fd, from: *const c_void, length: usize, flags: c_int) -> isize, |endpoint| {
        sent(&endpoint, fd, None, &[], &[IoSlice::new(octets(from, length))], flags)
    };
    sendto(fd, from: *const c_void, length: usize, flags: c_int, at: *const sockaddr, at_length: socklen_t) -> isize,
    |endpoint| {
        let to = if at.is_null() { None } else { Some(address_at(at.cast(), at_length)?) };
        sent(&endpoint, fd, to, &[], &[IoSlice::new(octets(from, length))], flags)
    };
    write(fd, from: *const c_void, length: usize) -> isize, |endpoint| {
        sent(&endpoint, fd, None, &[], &[IoSlice::new(octets(from, length))], 0)
    };
    recvmsg(fd, message: *mut msghdr, flags: c_int) -> isize, |endpoint| {
        // SAFETY: guaranteed by the caller: a valid `msghdr`, borrowed exclusively.
        received(&endpoint, fd, unsafe { &mut *message }, flags)
    };
    recv(fd, to: *mut c_void, length: usize, flags: c_int) -> isize, |endpoint| {
        received_plainly(&endpoint, fd, to, length, flags, std::ptr::null_mut(), std::ptr::null_mut())
    };
    recvfrom(fd, to: *mut c_void, length: usize, flags: c_int, at: *mut sockaddr, at_length: *mut socklen_t) -> isize,
    |endpoint| received_plainly(&endpoint, fd, to, length, flags, at, at_length);
    read(fd, to: *mut c_void, length: usize) -> isize, |endpoint| {
        received_plainly(&endpoint, fd, to, length, 0, std::ptr::null_mut(), std::ptr::null_mut())
    };
    dup(fd) -> c_int, |endpoint| {
        // SAFETY: dup(2) takes only a number.
        duplicated(&endpoint, unsafe { real::dup(fd) })
    };
}

/// Implements socket(2).
///
/// # Safety
///
/// No requirements, because all arguments are numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if protocol != libc::IPPROTO_SCTP || folder().is_none() {
        // SAFETY: socket(2) takes only numbers.
        return unsafe { real::socket(domain, kind, protocol) };
    }
    answer(|| {
        let (near, endpoint) = Endpoint::open(domain, kind)?;
        let flagged = flag(&near, kind & libc::SOCK_NONBLOCK != 0, kind & libc::SOCK_CLOEXEC != 0);
        flagged.and_then(|()| handed_out(near, &endpoint))
    })
}

/// Implements close(2).
///
/// # Safety
///
/// The owner of the descriptor must not use it afterwards, as for libc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    // The descriptor is removed before it is closed, because another socket may get its number afterwards.
    table::remove(fd);
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    unsafe { real::close(fd) }
}

/// Implements dup2(2).
///
/// # Safety
///
/// The owner of `to` must not use it afterwards, as for libc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    replaced(fd, to, || unsafe { real::dup2(fd, to) })
}

/// Implements dup3(2).
///
/// # Safety
///
/// The owner of `to` must not use it afterwards, as for libc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    replaced(fd, to, || unsafe { real::dup3(fd, to, flags) })
}

fn replaced(fd: c_int, to: c_int, replace: impl FnOnce() -> c_int) -> c_int {
    let endpoint = table::find(fd);
    if fd != to {
        table::remove(to);
    }
    match endpoint {
        Some(endpoint) if fd != to => answer(|| duplicated(&endpoint, replace())),
        _ => replace(),
    }
}

fn duplicated(endpoint: &Arc<Endpoint>, made: c_int) -> io::Result<c_int> {
    let made = system(made)?;
    if !table::insert(made, endpoint) {
        // SAFETY: the descriptor was created here and is not used elsewhere.
        unsafe { real::close(made) };
        return error(libc::EMFILE);
    }
    Ok(made)
}

/// Converts the return value of a libc function.
fn system(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Returns bytes that the caller allows the hook to read.
fn octets<'a>(at: *const c_void, length: usize) -> &'a [u8] {
    if at.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: guaranteed by the callers of the hooks: the pointer is valid for that length during the call, and no
    // slice created here outlives it.
    unsafe { std::slice::from_raw_parts(at.cast(), length) }
}

fn address_at(at: *const c_void, length: socklen_t) -> io::Result<SocketAddr> {
    address::read(octets(at, length as usize))
}

/// Writes `octets`, truncated to the available space, and writes their total length.
fn show(octets: &[u8], at: *mut c_void, length: *mut socklen_t) -> io::Result<()> {
    if at.is_null() || length.is_null() {
        return Ok(());
    }
    // SAFETY: guaranteed by the callers of the hooks: `length` is valid, and `at` for that number of bytes.
    unsafe {
        let room = (*length as usize).min(octets.len());
        std::ptr::copy_nonoverlapping(octets.as_ptr(), at.cast(), room);
        *length = octets.len() as socklen_t;
    }
    Ok(())
}

/// Returns the slices of a message.
///
/// # Safety
/// `message` is valid.
unsafe fn slices<'a>(message: &msghdr) -> &'a [iovec] {
    if message.msg_iov.is_null() {
        return &[];
    }
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    unsafe { std::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) }
}

fn waits(fd: c_int, flags: c_int) -> bool {
    // SAFETY: fcntl(2) gets only numbers here.
    flags & libc::MSG_DONTWAIT == 0 && unsafe { libc::fcntl(fd, libc::F_GETFL) } & libc::O_NONBLOCK == 0
}

fn flag(fd: &OwnedFd, nonblocking: bool, closes: bool) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    // SAFETY: fcntl(2) gets only numbers here.
    unsafe {
        system(libc::fcntl(fd, libc::F_SETFL, if nonblocking { libc::O_NONBLOCK } else { 0 }))?;
        system(libc::fcntl(fd, libc::F_SETFD, if closes { libc::FD_CLOEXEC } else { 0 }))?;
    }
    Ok(())
}

fn accepted(
    endpoint: &Arc<Endpoint>,
    fd: c_int,
    at: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> io::Result<c_int> {
    if endpoint.style == Style::Many {
        return error(libc::EOPNOTSUPP);
    }
    loop {
        match endpoint.receive(fd, &mut [], 0)? {
            None => return error(libc::EINVAL),
            Some(received) if received.header.what == FrameKind::Arrival => {
                let Some((near, made, from)) = endpoint.next_accepted() else { continue };
                flag(&near, flags & libc::SOCK_NONBLOCK != 0, flags & libc::SOCK_CLOEXEC != 0)?;
                show(&address::written(from, endpoint.family), at.cast(), length)?;
                return handed_out(near, &made);
            }
            Some(_) => {}
        }
    }
}

fn sent(
    endpoint: &Arc<Endpoint>,
    fd: c_int,
    to: Option<SocketAddr>,
    control: &[u8],
    body: &[IoSlice<'_>],
    flags: c_int,
) -> io::Result<isize> {
    let parameters = message::wanted(control);
    if parameters.head.kind != Kind::Abort && !parameters.ends && body.iter().all(|slice| slice.is_empty()) {
        return error(libc::EINVAL);
    }
    let from = Writer { near: fd, waits: waits(fd, flags) };
    let sent = endpoint.send(to, parameters.association, parameters.head, body, from)?;
    if parameters.ends && sent > 0 {
        endpoint.send(to, parameters.association, parameters.head, &[], Writer { waits: true, ..from })?;
    }
    isize::try_from(sent).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn received(endpoint: &Arc<Endpoint>, fd: c_int, message: &mut msghdr, flags: c_int) -> io::Result<isize> {
    // SAFETY: `message` is valid, as guaranteed by the callers of the hooks.
    let mut slices: Vec<iovec> = unsafe { slices(message) }.to_vec();
    slices.retain(|it| it.iov_len > 0);
    let came = endpoint.receive(fd, &mut slices, flags)?;
    message.msg_flags = 0;
    let Some(received) = came else {
        message.msg_controllen = 0;
        return Ok(0);
    };
    if received.whole {
        message.msg_flags |= libc::MSG_EOR;
    }
    if received.header.what == FrameKind::Notification {
        message.msg_flags |= NOTIFICATION;
    }
    let from = address::written(received.header.from, endpoint.family);
    show(&from, message.msg_name, &mut message.msg_namelen)?;
    let mut control = message::beside(&received.header, &endpoint.lock().options);
    if control.len() > message.msg_controllen {
        message.msg_flags |= libc::MSG_CTRUNC;
        control.truncate(message.msg_controllen);
    }
    let mut length = control.len() as socklen_t;
    show(&control, message.msg_control, &mut length)?;
    message.msg_controllen = control.len();
    isize::try_from(received.bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn received_plainly(
    endpoint: &Arc<Endpoint>,
    fd: c_int,
    to: *mut c_void,
    length: usize,
    flags: c_int,
    at: *mut sockaddr,
    at_length: *mut socklen_t,
) -> io::Result<isize> {
    let mut slices = [iovec { iov_base: to, iov_len: length }];
    let Some(received) = endpoint.receive(fd, &mut slices, flags)? else { return Ok(0) };
    show(&address::written(received.header.from, endpoint.family), at.cast(), at_length)?;
    isize::try_from(received.bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn get_option(
    endpoint: &Arc<Endpoint>,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> io::Result<c_int> {
    if length.is_null() || value.is_null() {
        return error(libc::EFAULT);
    }
    // SAFETY: guaranteed by the callers of the hooks: `length` is valid.
    let given = octets(value, unsafe { *length } as usize);
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_TYPE) => {
            let kind = if endpoint.style == Style::One { libc::SOCK_STREAM } else { libc::SOCK_SEQPACKET };
            show(&kind.to_ne_bytes(), value, length).map(|()| 0)
        }
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => {
            show(&libc::IPPROTO_SCTP.to_ne_bytes(), value, length).map(|()| 0)
        }
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => {
            show(&endpoint.family.to_ne_bytes(), value, length).map(|()| 0)
        }
        // SAFETY: guaranteed by the caller.
        (libc::SOL_SOCKET, _) => system(unsafe { real::getsockopt(fd, level, name, value, length) }),
        (libc::IPPROTO_SCTP, _) if Endpoint::refers(name) => {
            // The value consists of the association, the length of the addresses in bytes, and a pointer to them.
            let word = |at: usize| given.get(at..).and_then(|octets| octets.first_chunk().copied());
            let place =
                given.get(8..).and_then(|octets| octets.first_chunk().copied()).map(usize::from_ne_bytes);
            let (Some(bytes), Some(place)) = (word(4).map(i32::from_ne_bytes), place) else {
                return error(libc::EINVAL);
            };
            let addresses = octets(place as *const c_void, list_bytes(bytes));
            let id = endpoint.connect_to_first(name, addresses)?;
            let mut four = 4;
            show(&id.to_ne_bytes(), value, &mut four).map(|()| 0)
        }
        (libc::IPPROTO_SCTP, _) => {
            let given = given.to_vec();
            let (octets, result) = endpoint.get(name, &given)?;
            show(&octets, value, length).map(|()| result)
        }
        _ => {
            let zeros = vec![0; given.len()];
            show(&zeros, value, length).map(|()| 0)
        }
    }
}
