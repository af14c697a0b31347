//! Traffic of TCP connections in bytes and packets (TCP segments), from the kernel's counters.
//!
//! Packets are the units of the network. A large message is several packets, and many small messages can be one packet.
//! An acknowledgement is a packet without a message. Published rates have mixed these units up, so each has a separate
//! name here.
#![allow(unsafe_code, reason = "system calls that std lacks: TCP_INFO, a duplicate of a descriptor")]

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use serde::{Deserialize, Serialize};

/// The kernel's counters of one TCP connection (RFC 4898 names; linux/tcp.h, `struct tcp_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpCounters {
    /// Bytes sent and acknowledged.
    pub bytes_acked: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Segments sent, acknowledgements included.
    pub segments_out: u32,
    /// Segments received, acknowledgements included.
    pub segments_in: u32,
    /// Segments received that carried data.
    pub data_segments_in: u32,
    /// Segments sent that carried data, retransmissions included.
    pub data_segments_out: u32,
    /// Segments sent again.
    pub retransmits: u32,
}

/// Offsets in `struct tcp_info`, which only ever grows at its end.
mod offset {
    pub(super) const TOTAL_RETRANS: usize = 100;
    pub(super) const BYTES_ACKED: usize = 120;
    pub(super) const BYTES_RECEIVED: usize = 128;
    pub(super) const SEGS_OUT: usize = 136;
    pub(super) const SEGS_IN: usize = 140;
    pub(super) const DATA_SEGS_IN: usize = 152;
    pub(super) const DATA_SEGS_OUT: usize = 156;
    pub(super) const END: usize = 160;
}

impl TcpCounters {
    /// Reads the counters of a connected TCP socket. They belong to *this* endpoint: if this tool holds the socket, its
    /// `in` is the subject's `out`.
    ///
    /// # Errors
    /// It is not a TCP socket, or the kernel is older than 4.6 and lacks the counters.
    pub fn read(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut buffer = [0_u8; 256];
        let mut length = libc::socklen_t::try_from(buffer.len()).unwrap_or(0);
        // SAFETY: the kernel writes at most `length` bytes into a buffer of that size and the length that it wrote
        // through a valid pointer. Both outlive the call, and the descriptor is open as long as it is borrowed.
        let failed = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                buffer.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        if (length as usize) < offset::END {
            return Err(io::Error::other("this kernel does not count segments (before Linux 4.6)"));
        }
        let word = |at: usize| buffer[at..].first_chunk::<4>().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        let long = |at: usize| buffer[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        Ok(Self {
            bytes_acked: long(offset::BYTES_ACKED),
            bytes_received: long(offset::BYTES_RECEIVED),
            segments_out: word(offset::SEGS_OUT),
            segments_in: word(offset::SEGS_IN),
            data_segments_in: word(offset::DATA_SEGS_IN),
            data_segments_out: word(offset::DATA_SEGS_OUT),
            retransmits: word(offset::TOTAL_RETRANS),
        })
    }
}

/// Counters of each connection, by the inode number of its socket.
pub type Connections = BTreeMap<u64, TcpCounters>;

/// Traffic of all connections of this process, as this process sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessTraffic {
    /// Connections at the end.
    pub connections: u64,
    /// Bytes sent and acknowledged by the peers.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Segments sent, pure acknowledgements included.
    pub sent_packets: u64,
    /// Segments received, pure acknowledgements included.
    pub received_packets: u64,
    /// Segments sent with data, retransmissions included.
    pub sent_data_packets: u64,
    /// Segments received with data.
    pub received_data_packets: u64,
    /// Segments sent again.
    pub retransmits: u64,
}

/// Returns the counters of every TCP socket that this process has open. Sockets at its standard input, output and error
/// are left out, because they belong to the parent process.
///
/// # Errors
/// `/proc/self/fd` cannot be read.
pub fn own_connections() -> io::Result<Connections> {
    let mut descriptors: Vec<(RawFd, u64)> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // A descriptor that was closed in the meantime has no target.
        let target = std::fs::read_link(entry.path()).ok();
        let inode = target.as_ref().and_then(|target| target.to_str()).and_then(socket_inode);
        descriptors.extend(number.zip(inode));
    }
    let standard: Vec<u64> =
        descriptors.iter().filter(|(number, _)| *number <= 2).map(|(_, inode)| *inode).collect();
    let mut connections = Connections::new();
    for (number, inode) in descriptors {
        if standard.contains(&inode) || connections.contains_key(&inode) {
            continue;
        }
        // A descriptor that is not a TCP socket, or has been closed since, is not counted.
        if let Some(counters) = duplicate(number).ok().and_then(|fd| TcpCounters::read(fd.as_fd()).ok()) {
            connections.insert(inode, counters);
        }
    }
    Ok(connections)
}

/// Parses a link target such as `socket:[4711]` (proc_pid_fd(5)).
fn socket_inode(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers. The kernel rejects a number that is closed in the meantime. A
    // number that is reused gives a duplicate of another descriptor, of which only TCP's counters are read.
    let own = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor, and no other code has it.
    Ok(unsafe { OwnedFd::from_raw_fd(own) })
}

/// Returns the traffic of the connections between two readings. A new connection counts from its beginning; a closed
/// connection does not count.
pub fn carried(before: &Connections, after: &Connections) -> ProcessTraffic {
    let mut sum = ProcessTraffic { connections: after.len() as u64, ..ProcessTraffic::default() };
    for (inode, now) in after {
        let then = before.get(inode).copied().unwrap_or_default();
        // The kernel's 32-bit counters wrap.
        let count = |now: u32, then: u32| u64::from(now.wrapping_sub(then));
        sum.sent_bytes += now.bytes_acked.saturating_sub(then.bytes_acked);
        sum.received_bytes += now.bytes_received.saturating_sub(then.bytes_received);
        sum.sent_packets += count(now.segments_out, then.segments_out);
        sum.received_packets += count(now.segments_in, then.segments_in);
        sum.sent_data_packets += count(now.data_segments_out, then.data_segments_out);
        sum.received_data_packets += count(now.data_segments_in, then.data_segments_in);
        sum.retransmits += count(now.retransmits, then.retransmits);
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn inode_of(stream: &TcpStream) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).unwrap();
        socket_inode(link.to_str().unwrap()).unwrap()
    }

    #[test]
    fn non_tcp_socket_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(TcpCounters::read(file.as_fd()).is_err());
    }

    #[test]
    fn connections_of_process_are_found_and_distinguished() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let twin = client.try_clone().unwrap();
        let ends = [inode_of(&client), inode_of(&server)];
        assert_eq!(ends[0], inode_of(&twin), "a duplicated descriptor must count as the same connection");
        // Other tests of this process have connections too.
        let only = |end: u64, all: &Connections| {
            all.iter().filter(|(inode, _)| **inode == end).map(|(inode, c)| (*inode, *c)).collect()
        };
        let before: Connections = own_connections().unwrap();
        client.write_all(&[1; 100_000]).unwrap();
        let mut all = vec![0; 100_000];
        server.read_exact(&mut all).unwrap();
        server.write_all(b"ok").unwrap();
        client.read_exact(&mut all[..2]).unwrap();
        let after = own_connections().unwrap();
        let [sender, receiver] = ends.map(|end| carried(&only(end, &before), &only(end, &after)));
        assert_eq!((sender.connections, receiver.connections), (1, 1));
        assert_eq!((sender.sent_bytes, sender.received_bytes), (100_000, 2));
        assert_eq!(receiver.received_bytes, 100_000);
        assert!(
            sender.sent_data_packets >= 2 && sender.sent_packets > sender.sent_data_packets,
            "{sender:?}"
        );
        assert_eq!(receiver.received_data_packets, sender.sent_data_packets);
    }

    #[test]
    fn wrapped_counters_are_handled() {
        let then = TcpCounters { segments_out: u32::MAX - 1, ..TcpCounters::default() };
        let now = TcpCounters { segments_out: 3, ..TcpCounters::default() };
        let sum = carried(&Connections::from([(1, then)]), &Connections::from([(1, now), (2, now)]));
        assert_eq!((sum.connections, sum.sent_packets), (2, 5 + 3));
    }
}
