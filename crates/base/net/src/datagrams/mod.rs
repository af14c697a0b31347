//! Many datagrams in one system call: `sendmmsg` and `recvmmsg`. If both endpoints support it, one message contains
//! many datagrams (generic segmentation and receive offload of UDP, udp(7)).
#![allow(unsafe_code)]

mod receive;
mod send;

pub use receive::ReceiveBatch;
pub use send::{SendBatch, Sent};

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// Maximum number of datagrams in one batch.
pub const MAX_BATCH: usize = 1024;

/// Options of a socket for many datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramOptions {
    /// Requested receive buffer; forced beyond `net.core.rmem_max` if the process has the privilege.
    pub receive_bytes: usize,
    /// Requested send buffer, forced in the same way.
    pub send_bytes: usize,
    /// Whether several sockets share the address; the kernel distributes the flows.
    pub reuse_port: bool,
    /// Whether the kernel may merge datagrams of one flow and length that arrived together (`UDP_GRO`); only
    /// for sockets read with [`ReceiveBatch::merging`]. Without effect if the kernel does not support it.
    pub merge: bool,
    /// Whether datagrams carry the kernel's time of arrival (`SO_TIMESTAMPNS`), for
    /// [`ReceiveBatch::stamped`].
    pub stamp: bool,
}

impl Default for DatagramOptions {
    /// Uses 8 MiB per direction, because the kernel counts 768 bytes for each packet in a burst of 64-byte packets.
    fn default() -> Self {
        Self { receive_bytes: 8 << 20, send_bytes: 8 << 20, reuse_port: false, merge: false, stamp: false }
    }
}

/// Opens a non-blocking UDP socket, bound to `address`.
pub fn bind_datagrams(address: SocketAddr, options: DatagramOptions) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if options.reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_recv_buffer_size(options.receive_bytes)?;
    socket.set_send_buffer_size(options.send_bytes)?;
    let int = |bytes| libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // Without the privilege the usual limits apply.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, int(options.receive_bytes));
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, int(options.send_bytes));
    if options.merge {
        // A kernel without `UDP_GRO` (before 5.0) delivers datagrams one by one, which also works.
        let _ = set(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
    }
    if options.stamp {
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

fn set(socket: &Socket, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the options take an int, which outlives the call; the descriptor is open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until one of the descriptors is readable, or `timeout` (with nanosecond precision) has passed. At
/// most 64 descriptors are used.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<bool> {
    let mut polls = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 64];
    let count = descriptors.len().min(polls.len());
    for (poll, descriptor) in polls.iter_mut().zip(descriptors) {
        poll.fd = descriptor.as_raw_fd();
    }
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the first `count` entries are initialised, and entries and time outlive the call; no signal mask is given.
    let ready = unsafe { libc::ppoll(polls.as_mut_ptr(), count as libc::nfds_t, &time, std::ptr::null()) };
    match ready {
        0.. => Ok(ready > 0),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn pair() -> (UdpSocket, UdpSocket) {
        let any = "127.0.0.1:0".parse().unwrap();
        let options = DatagramOptions::default();
        (bind_datagrams(any, options).unwrap(), bind_datagrams(any, options).unwrap())
    }

    #[test]
    fn batch_arrives_whole_in_order_with_sender() {
        let (a, b) = pair();
        let from = a.local_addr().unwrap();
        let to = b.local_addr().unwrap();
        let mut batch = SendBatch::new(100, 64);
        for n in 0..100_u8 {
            assert!(batch.copy(Some(to), &[n; 3]));
        }
        assert!(batch.is_full() && !batch.copy(Some(to), &[0]));
        assert_eq!(batch.send(&a).unwrap(), Sent { datagrams: 100, refused: 0 });
        assert!(batch.is_empty() && !batch.is_full());
        assert!(wait_readable(&[b.as_fd()], Duration::from_secs(1)).unwrap());
        let mut received = ReceiveBatch::new(64, 64);
        let mut seen = Vec::new();
        while received.receive(&b).unwrap() > 0 {
            seen.extend(received.datagrams().map(|(sender, datagram)| {
                assert_eq!((sender, datagram.len()), (from, 3));
                datagram[0]
            }));
        }
        assert_eq!(seen, (0..100).collect::<Vec<u8>>());
        assert!(!wait_readable(&[b.as_fd()], Duration::from_micros(10)).unwrap());
    }

    #[test]
    fn oversized_datagrams_are_never_sent_in_part() {
        let (a, b) = pair();
        let to = b.local_addr().unwrap();
        let mut batch = SendBatch::new(4, 8);
        assert!(
            !batch.copy(Some(to), &[0; 9]) && batch.copy(Some(to), &[1; 8]) && batch.copy(Some(to), &[2; 4])
        );
        batch.send(&a).unwrap();
        wait_readable(&[b.as_fd()], Duration::from_secs(1)).unwrap();
        let mut received = ReceiveBatch::new(64, 4);
        assert_eq!(received.receive(&b).unwrap(), 2);
        assert_eq!(received.datagrams().map(|(_, d)| d.to_vec()).collect::<Vec<_>>(), [vec![2; 4]]);
        assert_eq!(received.oversized, 1);
    }

    /// Sends runs of datagrams of equal length, and single datagrams, from a segmenting batch. Returns the datagrams that the
    /// other socket receives, and the number of receive calls.
    fn cross(options: DatagramOptions, received: &mut ReceiveBatch) -> (Vec<Vec<u8>>, usize) {
        let any = "127.0.0.1:0".parse().unwrap();
        let a = bind_datagrams(any, options).unwrap();
        let b = bind_datagrams(any, options).unwrap();
        let other = bind_datagrams(any, options).unwrap();
        let mut batch = SendBatch::segmenting(200, 300);
        let to = Some(b.local_addr().unwrap());
        let mut expected = Vec::new();
        // Two long runs, one of which ends with a shorter datagram; then single datagrams, one of them empty.
        for (n, len) in [260; 100].into_iter().chain([7]).chain([300; 20]).chain([1, 2, 0, 3, 3]).enumerate()
        {
            let datagram = vec![n as u8; len];
            assert!(batch.copy(to, &datagram));
            if n == 110 {
                // A datagram to another address within a run.
                assert!(batch.copy(Some(other.local_addr().unwrap()), &[9; 300]));
            }
            expected.push(datagram);
        }
        assert_eq!(batch.send(&a).unwrap(), Sent { datagrams: expected.len() + 1, refused: 0 });
        let mut seen = Vec::new();
        let mut calls = 0;
        let begin = crate::monotonic_ns();
        while wait_readable(&[b.as_fd()], Duration::from_millis(20)).unwrap() {
            calls += 1;
            let count = received.receive(&b).unwrap();
            let before = seen.len();
            for (from, datagram, at_ns) in received.stamped() {
                assert_eq!(from, a.local_addr().unwrap());
                assert!((begin.saturating_sub(1_000_000_000)..=crate::monotonic_ns()).contains(&at_ns));
                seen.push(datagram.to_vec());
            }
            assert_eq!(seen.len() - before, count);
        }
        assert_eq!(seen, expected);
        (seen, calls)
    }

    #[test]
    fn equal_length_runs_arrive_as_single_datagrams() {
        let plain = DatagramOptions::default();
        cross(plain, &mut ReceiveBatch::new(64, 400));
        let merging = DatagramOptions { merge: true, stamp: true, ..plain };
        let (_, calls) = cross(merging, &mut ReceiveBatch::merging(400));
        assert!(calls <= 2, "{calls} system calls for 126 datagrams in runs");
        cross(DatagramOptions { merge: true, ..plain }, &mut ReceiveBatch::merging(400));
        cross(DatagramOptions { stamp: true, ..plain }, &mut ReceiveBatch::merging(400));
    }

    #[test]
    fn kernel_stamp_is_arrival_not_read_time() {
        let options = DatagramOptions { stamp: true, ..Default::default() };
        let any = "127.0.0.1:0".parse().unwrap();
        let a = bind_datagrams(any, options).unwrap();
        let b = bind_datagrams(any, options).unwrap();
        // The kernel begins to stamp shortly after the first request.
        std::thread::sleep(Duration::from_millis(20));
        let before = crate::monotonic_ns();
        a.send_to(&[1], b.local_addr().unwrap()).unwrap();
        let after = crate::monotonic_ns();
        std::thread::sleep(Duration::from_millis(20));
        let mut received = ReceiveBatch::merging(100);
        assert_eq!(received.receive(&b).unwrap(), 1);
        let at_ns = received.stamped().next().unwrap().2;
        // The two clocks are read one after the other.
        assert!((before - 1_000_000..after + 10_000_000).contains(&at_ns), "{before} {at_ns} {after}");
    }

    #[test]
    fn datagrams_too_large_for_one_message_are_sent_separately() {
        let (a, b) = pair();
        let mut batch = SendBatch::segmenting(100, 65_507);
        // Three datagrams that cannot share a message.
        for n in 0..3_u8 {
            batch.copy(Some(b.local_addr().unwrap()), &[n; 40_000]);
        }
        assert_eq!(batch.send(&a).unwrap().datagrams, 3);
        let mut received = ReceiveBatch::merging(50_000);
        assert_eq!(received.receive(&b).unwrap(), 3);
        assert!(received.datagrams().zip(0..3).all(|((_, d), n)| d == [n; 40_000]));
    }

    #[test]
    fn unsendable_datagram_is_counted_and_next_is_sent() {
        let (a, b) = pair();
        let mut batch = SendBatch::new(4, 8);
        batch.copy(Some("[::1]:9".parse().unwrap()), &[1]);
        batch.copy(Some(b.local_addr().unwrap()), &[2]);
        assert_eq!(batch.send(&a).unwrap(), Sent { datagrams: 1, refused: 1 });
    }
}
