//! Two programs with non-blocking one-to-one sockets. One writes as fast as possible. The other sleeps and then reads.

use std::ffi::c_int;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::{AT, address, bound, open, say, wait_for_word};

const MESSAGES: u32 = 2_000;
const MESSAGE_BYTES: usize = 10_000;
const SLEEP: Duration = Duration::from_millis(200);
/// Time after which a wake-up counts as missing.
const PATIENCE_MS: c_int = 10_000;

/// Way in which a program waits for its socket.
#[derive(Clone, Copy)]
enum Waits {
    /// Waits by `epoll` with `EPOLLET`, with the descriptor of the epoll instance.
    Edge(c_int),
    Poll,
}

/// Runs the role `flow-SIDE-WHAT-HOW`: `server` or `client`, `write` or `read`, `edge` or `poll`.
pub(super) fn play(role: &str) {
    let words: Vec<&str> = role.split('-').collect();
    let &[_, side, what, how] = &words[..] else { panic!("{role}") };
    let fd = match side {
        "server" => accepted(),
        _ => connected(),
    };
    // SAFETY: the call gets only numbers, no pointers.
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) }, 0);
    let waits = if how == "edge" { edge(fd) } else { Waits::Poll };
    match what {
        "write" => write(fd, waits),
        _ => read(fd, waits),
    }
    wait_for_word();
}

fn accepted() -> c_int {
    let listener = open(libc::SOCK_STREAM).unwrap();
    bound(listener);
    // SAFETY: null pointers are allowed if no address is requested.
    let fd = unsafe { libc::accept(listener, std::ptr::null_mut(), std::ptr::null_mut()) };
    assert!(fd >= 0);
    fd
}

fn connected() -> c_int {
    let fd = open(libc::SOCK_STREAM).unwrap();
    let to = address(AT);
    // SAFETY: the address is valid for its length.
    assert_eq!(unsafe { libc::connect(fd, (&raw const to).cast(), size_of_val(&to) as u32) }, 0);
    fd
}

fn edge(fd: c_int) -> Waits {
    let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32;
    let mut event = libc::epoll_event { events, u64: 0 };
    // SAFETY: the event outlives the call.
    unsafe {
        let epoll = libc::epoll_create1(0);
        assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event), 0);
        Waits::Edge(epoll)
    }
}

/// Waits until the descriptor is ready. An edge may be for the other direction.
fn wait(fd: c_int, waits: Waits, direction: i16) {
    // SAFETY: each call gets an array with one valid entry.
    let ready = unsafe {
        match waits {
            Waits::Edge(epoll) => {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                libc::epoll_wait(epoll, &mut event, 1, PATIENCE_MS)
            }
            Waits::Poll => {
                let mut entry = libc::pollfd { fd, events: direction, revents: 0 };
                libc::poll(&mut entry, 1, PATIENCE_MS)
            }
        }
    };
    assert_eq!(ready, 1, "the socket must become ready within {PATIENCE_MS} ms");
}

fn would_block() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

fn write(fd: c_int, waits: Waits) {
    let mut message = vec![7_u8; MESSAGE_BYTES];
    let mut full = 0;
    for number in 0..MESSAGES {
        message[..4].copy_from_slice(&number.to_be_bytes());
        // SAFETY: the message is valid for its length.
        while unsafe { libc::send(fd, message.as_ptr().cast(), message.len(), 0) } < 0 {
            assert!(would_block());
            full += 1;
            wait(fd, waits, libc::POLLOUT);
        }
    }
    assert!(full > 0, "the writer must have filled the link at least once");
    // Each wake-up must come with free space. Otherwise the program would spin.
    assert!(full < MESSAGES, "{full} wake-ups for {MESSAGES} messages: some came without free space");
    say("all written");
}

fn read(fd: c_int, waits: Waits) {
    let mut buffer = vec![0_u8; MESSAGE_BYTES];
    sleep(SLEEP);
    for number in 0..MESSAGES {
        if number == MESSAGES / 2 {
            sleep(SLEEP);
        }
        loop {
            // SAFETY: the buffer is valid for its length.
            let read = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
            if read >= 0 {
                assert_eq!(usize::try_from(read).unwrap(), MESSAGE_BYTES);
                break;
            }
            assert!(would_block());
            wait(fd, waits, libc::POLLIN);
        }
        assert_eq!(buffer[..4], number.to_be_bytes());
    }
    say("all read in order");
}
