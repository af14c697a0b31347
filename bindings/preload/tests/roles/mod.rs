//! The programs that run with the preloaded library. Their calls are those of unmodified third-party programs.

mod flow;

use std::ffi::{c_int, c_void};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use ranlab_net::sctp::{Association, E2AP_PPID, Listener, MessageInfo, Received};

const AT: &str = "10.9.8.7:36421";
/// Size of FlexRIC's receive buffer in bytes. Other programs also use this size.
const BUFFER_BYTES: usize = 32 << 10;
const NOTIFICATION: c_int = 0x8000;
const EVENTS: c_int = 11;
const MESSAGES: u32 = 2_000;

pub(super) fn play(role: &str) {
    match role {
        "one-server" => one_server(),
        "one-client" => one_client(),
        "many-server" => many_server(),
        "many-client" => many_client(),
        "libsctp-client" => libsctp_client(),
        "ending-client" => ending_client(),
        "slow-server" => slow_server(),
        "fast-client" => fast_client(),
        "other-sockets" => other_sockets(),
        "socket" => match open(libc::SOCK_SEQPACKET) {
            Ok(_) => say("socket: ok"),
            Err(error) => say(match error.raw_os_error() {
                Some(libc::EACCES) => "socket: EACCES",
                Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT) => "socket: NOSUPPORT",
                _ => "socket: other",
            }),
        },
        flow if flow.starts_with("flow-") => flow::play(flow),
        other => panic!("unknown role {other}"),
    }
}

fn say(what: &str) {
    println!("> {what}");
    io::stdout().flush().unwrap();
}

fn wait_for_word() {
    let _ = io::stdin().read(&mut [0]).unwrap();
}

fn wait(fd: &impl AsFd, what: i16) {
    use std::os::fd::AsRawFd;
    let mut poll = libc::pollfd { fd: fd.as_fd().as_raw_fd(), events: what, revents: 0 };
    // SAFETY: the array has one valid entry.
    assert_eq!(unsafe { libc::poll(&mut poll, 1, 20_000) }, 1);
}

fn next(association: &Association) -> (Received, Vec<u8>) {
    loop {
        wait(association, libc::POLLIN);
        let mut buffer = vec![0; BUFFER_BYTES];
        let received = association.receive(&mut buffer).unwrap();
        if received.notification.is_none() {
            buffer.truncate(received.bytes);
            return (received, buffer);
        }
    }
}

fn at(stream: u16) -> MessageInfo {
    MessageInfo { stream, ppid: E2AP_PPID }
}

fn describe(received: &Received) -> String {
    let info = received.info.unwrap();
    format!("{} octets, stream {}, ppid {}", received.bytes, info.stream, info.ppid)
}

fn one_server() {
    let listener = Listener::bind(&[AT.parse().unwrap()]).unwrap();
    say("listening");
    wait(&listener, libc::POLLIN);
    let (association, peer) = listener.accept().unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert!(peer.is_some());
    say("accepted");
    let (received, _) = next(&association);
    say(&describe(&received));
    association.send(b"answer", at(2)).unwrap();
    let (end, _) = next(&association);
    assert_eq!((end.bytes, end.whole), (0, false));
    say("end");
}

fn one_client() {
    let nobody = "10.9.8.7:1".parse().unwrap();
    assert_eq!(Association::connect(&[nobody]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    let association = Association::connect(&[AT.parse().unwrap()]).unwrap();
    wait(&association, libc::POLLOUT);
    assert!(association.take_error().unwrap().is_none());
    association.send(b"abc", at(4)).unwrap();
    let (received, octets) = next(&association);
    assert_eq!(octets, b"answer");
    say(&describe(&received));
}

fn open(kind: c_int) -> io::Result<c_int> {
    // SAFETY: the call gets only numbers, no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_SCTP) };
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
}

fn many(events: &[usize]) -> c_int {
    let fd = open(libc::SOCK_SEQPACKET).unwrap();
    let mut flags = [0_u8; 10];
    events.iter().for_each(|event| flags[*event] = 1);
    // SAFETY: the value is valid for its length.
    let set = unsafe { libc::setsockopt(fd, libc::IPPROTO_SCTP, EVENTS, flags.as_ptr().cast(), 10) };
    assert_eq!(set, 0);
    fd
}

fn address(text: &str) -> libc::sockaddr_in {
    let SocketAddr::V4(at) = text.parse().unwrap() else { unreachable!() };
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: at.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(at.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn shown(at: &libc::sockaddr_in) -> String {
    let [a, b, c, d] = at.sin_addr.s_addr.to_ne_bytes();
    format!("{a}.{b}.{c}.{d}:{}", u16::from_be(at.sin_port))
}

/// Ancillary data of a message, as libsctp reads it.
#[derive(Default, Clone, Copy)]
#[repr(C)]
struct SndRcv {
    stream: u16,
    ssn: u16,
    flags: u16,
    ppid: u32,
    context: u32,
    time_to_live: u32,
    tsn: u32,
    cumulative: u32,
    association: i32,
}

#[repr(C, align(8))]
struct Control([u8; 64]);

/// Result of `recvmsg`: bytes, flags, source address and ancillary data.
struct Came {
    octets: Vec<u8>,
    flags: c_int,
    from: libc::sockaddr_in,
    beside: SndRcv,
}

fn receive(fd: c_int) -> Came {
    let mut octets = vec![0_u8; BUFFER_BYTES];
    let mut control = Control([0; 64]);
    let mut from = address("0.0.0.0:0");
    let mut slice = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    // SAFETY: every pointer is valid for its length.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_name, message.msg_namelen) = ((&raw mut from).cast(), size_of_val(&from) as u32);
        (message.msg_iov, message.msg_iovlen) = (&mut slice, 1);
        (message.msg_control, message.msg_controllen) = (control.0.as_mut_ptr().cast(), 64);
        let read = libc::recvmsg(fd, &mut message, 0);
        octets.truncate(usize::try_from(read).unwrap());
        let mut beside = SndRcv::default();
        let header = libc::CMSG_FIRSTHDR(&message);
        if !header.is_null() && (*header).cmsg_type == libc::SCTP_SNDRCV {
            beside = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
        }
        Came { octets, flags: message.msg_flags, from, beside }
    }
}

fn send(fd: c_int, octets: &[u8], to: &libc::sockaddr_in, stream: u16, ppid: u32) -> isize {
    let slice = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    send_slice(fd, slice, to, SndRcv { stream, ppid: ppid.to_be(), ..SndRcv::default() })
}

fn send_slice(fd: c_int, mut slice: libc::iovec, to: &libc::sockaddr_in, beside: SndRcv) -> isize {
    let mut control = Control([0; 64]);
    // SAFETY: every pointer is valid for its length; the kernel and the library only read.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_name, message.msg_namelen) =
            ((&raw const *to).cast_mut().cast(), size_of_val(to) as u32);
        (message.msg_iov, message.msg_iovlen) = (&mut slice, 1);
        (message.msg_control, message.msg_controllen) = (control.0.as_mut_ptr().cast(), 48);
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::IPPROTO_SCTP;
        (*header).cmsg_type = libc::SCTP_SNDRCV;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<SndRcv>() as u32) as usize;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), beside);
        libc::sendmsg(fd, &message, 0)
    }
}

fn data(came: &Came) -> String {
    assert_ne!(came.flags & libc::MSG_EOR, 0);
    let text = String::from_utf8_lossy(&came.octets);
    format!("{text}, stream {}, ppid {}", came.beside.stream, u32::from_be(came.beside.ppid))
}

/// Returns the name of a notification, with the state of a change.
fn notification(octets: &[u8]) -> &'static str {
    match (octets[0], octets[1], octets.get(8)) {
        (1, 0x80, Some(0)) => "up",
        (1, 0x80, Some(1)) => "lost",
        (1, 0x80, Some(3)) => "over",
        (1, 0x80, Some(4)) => "cannot start",
        (3, 0x80, _) => "failed",
        (5, 0x80, _) => "shutdown",
        _ => "unknown",
    }
}

fn bound(fd: c_int) {
    let at = address(AT);
    // SAFETY: the address is valid for its length; errno belongs to this thread.
    unsafe {
        *libc::__errno_location() = 0;
        assert_eq!(libc::bind(fd, (&raw const at).cast(), size_of_val(&at) as u32), 0);
        assert_eq!(libc::listen(fd, 32), 0);
        // FlexRIC asserts that errno is 0 after a call that succeeded.
        assert_eq!(*libc::__errno_location(), 0);
    }
    assert_eq!(open(libc::SOCK_DGRAM).unwrap_err().raw_os_error(), Some(libc::ESOCKTNOSUPPORT));
    say("listening");
}

fn many_server() {
    let fd = many(&[0, 1, 5]);
    bound(fd);
    let mut peers: Vec<(u16, usize)> = Vec::new();
    loop {
        let came = receive(fd);
        let next = peers.len() + 1;
        let known = peers.iter().find(|(port, _)| *port == came.from.sin_port).map(|(_, number)| *number);
        let number = known.unwrap_or_else(|| {
            peers.push((came.from.sin_port, next));
            next
        });
        if came.flags & NOTIFICATION != 0 {
            say(&format!("{number} {}", notification(&came.octets)));
            continue;
        }
        say(&format!("{number} {}", data(&came)));
        assert!(came.beside.association > 0 && came.beside.flags == 0);
        send(fd, &came.octets, &came.from, came.beside.stream, u32::from_be(came.beside.ppid));
    }
}

fn many_client() {
    let fd = many(&[0, 3, 5]);
    let to = address(AT);
    // The first message establishes the association.
    assert_eq!(send(fd, b"hello", &to, 1, 7), 5);
    let echo = receive(fd);
    say(&format!("echoed {}, from {}", data(&echo), shown(&echo.from)));
    wait_for_word();
    assert_eq!(send(fd, b"again", &to, 0, 0), 5);
    let echo = receive(fd);
    say(&format!("echoed {}, from {}", data(&echo), shown(&echo.from)));
    let end = receive(fd);
    assert_ne!(end.flags & NOTIFICATION, 0);
    say(notification(&end.octets));
    wait_for_word();
    let sent = send(fd, b"void", &to, 0, 0);
    say(&format!("sent {sent}, then {}", notification(&receive(fd).octets)));
}

type SendMsg = unsafe extern "C" fn(
    c_int,
    *const c_void,
    usize,
    *const libc::sockaddr,
    u32,
    u32,
    u32,
    u16,
    u32,
    u32,
) -> c_int;
type RecvMsg = unsafe extern "C" fn(
    c_int,
    *mut c_void,
    usize,
    *mut libc::sockaddr,
    *mut u32,
    *mut SndRcv,
    *mut c_int,
) -> c_int;

fn libsctp_client() {
    // SAFETY: the names are NUL-terminated, the functions have the types of netinet/sctp.h, and every pointer is
    // valid.
    unsafe {
        let library = libc::dlopen(c"libsctp.so.1".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return say("skipped: libsctp under the library: this machine has no libsctp.so.1");
        }
        let sendmsg: SendMsg = std::mem::transmute(libc::dlsym(library, c"sctp_sendmsg".as_ptr()));
        let recvmsg: RecvMsg = std::mem::transmute(libc::dlsym(library, c"sctp_recvmsg".as_ptr()));
        let fd = many(&[0]);
        let to = address(AT);
        let length = size_of_val(&to) as u32;
        let at = (&raw const to).cast();
        let sent = sendmsg(fd, b"hello".as_ptr().cast(), 5, at, length, 9_u32.to_be(), 0, 3, 0, 0);
        say(&format!("sctp_sendmsg {sent}"));
        let mut octets = [0_u8; 64];
        let mut from = to;
        let mut beside = SndRcv::default();
        let mut flags = 0;
        let mut room = length;
        let from = (&raw mut from).cast();
        let read = recvmsg(fd, octets.as_mut_ptr().cast(), 64, from, &mut room, &mut beside, &mut flags);
        let text = String::from_utf8_lossy(&octets[..usize::try_from(read).unwrap()]).into_owned();
        say(&format!("sctp_recvmsg {text}, stream {}, ppid {}", beside.stream, u32::from_be(beside.ppid)));
        assert_eq!(flags, libc::MSG_EOR);
    }
}

/// Ends an association in the same way as libsctp's sctp_sendmsg without data: SCTP_EOF, and a null pointer of length
/// 0.
fn ending_client() {
    let fd = many(&[0]);
    let to = address(AT);
    assert_eq!(send(fd, b"hello", &to, 0, 0), 5);
    let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    assert_eq!(send_slice(fd, nothing, &to, SndRcv { flags: 0x200, ..SndRcv::default() }), 0);
    wait_for_word();
}

fn slow_server() {
    let fd = many(&[0]);
    bound(fd);
    wait_for_word();
    let mut parts = "parts".to_owned();
    let mut whole = Vec::new();
    loop {
        let came = receive(fd);
        parts += &format!(" {}", came.octets.len());
        whole.extend(came.octets);
        if came.flags & libc::MSG_EOR != 0 {
            break;
        }
    }
    assert!(whole.iter().enumerate().all(|(at, octet)| *octet == at as u8));
    say(&format!("{parts} whole"));
    for number in 0..MESSAGES {
        let came = receive(fd);
        assert_eq!(came.octets[..4], number.to_be_bytes());
        assert_eq!((came.octets.len(), came.beside.ssn), (10_000, (number + 1) as u16));
    }
    say("all in order");
}

fn fast_client() {
    let fd = many(&[0]);
    let to = address(AT);
    assert_eq!(send(fd, &vec![0; (128 << 10) + 1], &to, 0, 0), -1);
    assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EMSGSIZE));
    say("too long: EMSGSIZE");
    let long: Vec<_> = (0..100_000).map(|at| at as u8).collect();
    assert_eq!(send(fd, &long, &to, 0, 0), 100_000);
    // SAFETY: the call gets only numbers, no pointers.
    let nonblocking =
        |on: bool| unsafe { libc::fcntl(fd, libc::F_SETFL, if on { libc::O_NONBLOCK } else { 0 }) };
    let mut message = vec![7; 10_000];
    let mut was_full = false;
    nonblocking(true);
    for number in 0..MESSAGES {
        message[..4].copy_from_slice(&number.to_be_bytes());
        if send(fd, &message, &to, 0, 0) == -1 {
            assert_eq!(io::Error::last_os_error().kind(), io::ErrorKind::WouldBlock);
            assert!(!was_full, "a blocking send must not fail");
            was_full = true;
            say("full");
            nonblocking(false);
            assert_eq!(send(fd, &message, &to, 0, 0), 10_000);
        }
    }
    assert!(was_full);
}

fn other_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    near.write_all(b"over tcp").unwrap();
    let mut octets = [0; 8];
    far.read_exact(&mut octets).unwrap();
    assert_eq!(&octets, b"over tcp");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.send_to(b"udp", udp.local_addr().unwrap()).unwrap();
    assert_eq!(udp.recv_from(&mut octets).unwrap().0, 3);
    let (mut reader, mut writer) = io::pipe().unwrap();
    writer.write_all(b"p").unwrap();
    assert_eq!(reader.read(&mut octets).unwrap(), 1);
    // A duplicate refers to the same socket. Closing the last descriptor ends the socket and frees the number.
    let fd = many(&[0]);
    bound(fd);
    // SAFETY: the calls get only numbers, and close only descriptors that were created here.
    unsafe {
        let second = libc::dup(fd);
        libc::close(fd);
        assert_eq!(send(second, b"self", &address(AT), 0, 0), 4);
        assert_eq!(receive(second).octets, b"self");
        libc::close(second);
        assert_eq!(libc::close(second), -1);
    }
    say("tcp, udp, pipe and dup work");
}
