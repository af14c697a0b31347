//! Messages, bytes and packets on the wire, told apart and by direction.
//!
//! A message is what the protocol says, counted by whoever sends or reads it. Bytes are what those messages hold.
//! Packets are what the network carries: one large message is several, many small ones can be one, and an
//! acknowledgement is a packet without any message. Published rates have mixed these up; here each has its own name.
#![allow(unsafe_code, reason = "system calls that std lacks: TCP_INFO, a duplicate of a descriptor")]

mod own;

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;

use serde::Serialize;

use crate::{MeterError, read};

pub use own::{Carried, Connections, carried, own_connections};

/// One direction of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Direction {
    /// Protocol messages.
    pub messages: u64,
    /// Bytes of those messages, without headers below the protocol.
    pub bytes: u64,
    /// Packets (TCP segments) that carried data, retransmissions included.
    pub data_packets: u64,
    /// All packets, pure acknowledgements included.
    pub packets: u64,
}

/// Both directions, as the subject sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Traffic {
    /// Towards the subject.
    pub received: Direction,
    /// From the subject.
    pub sent: Direction,
}

impl Traffic {
    /// The difference to an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let difference = |now: &Direction, then: &Direction| Direction {
            messages: now.messages.saturating_sub(then.messages),
            bytes: now.bytes.saturating_sub(then.bytes),
            data_packets: now.data_packets.saturating_sub(then.data_packets),
            packets: now.packets.saturating_sub(then.packets),
        };
        Self {
            received: difference(&self.received, &earlier.received),
            sent: difference(&self.sent, &earlier.sent),
        }
    }

    /// Several connections together.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in [(&mut self.received, &other.received), (&mut self.sent, &other.sent)] {
            own.messages += other.messages;
            own.bytes += other.bytes;
            own.data_packets += other.data_packets;
            own.packets += other.packets;
        }
    }
}

/// What the kernel counts of one TCP connection (RFC 4898 names; linux/tcp.h, `struct tcp_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
    /// Reads the counters of a connected TCP socket. The counters are those of *this* end: where the tool holds it,
    /// its `in` is the subject's `out`.
    ///
    /// # Errors
    /// It is no TCP socket, or the kernel is older than 4.6 and lacks the counters.
    pub fn of(socket: BorrowedFd<'_>) -> std::io::Result<Self> {
        let mut buffer = [0_u8; 256];
        let mut length = libc::socklen_t::try_from(buffer.len()).unwrap_or(0);
        // SAFETY: the kernel writes at most `length` bytes into a buffer of that size and the length that it wrote
        // through a valid pointer; both outlive the call, and the descriptor is open as long as it is borrowed.
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
            return Err(std::io::Error::last_os_error());
        }
        if (length as usize) < offset::END {
            return Err(std::io::Error::other("this kernel does not count segments (before Linux 4.6)"));
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

    /// As the peer of this socket sees it, with the messages that this end counted.
    pub fn of_the_peer(&self, messages_sent: u64, messages_received: u64) -> Traffic {
        Traffic {
            received: Direction {
                messages: messages_sent,
                bytes: self.bytes_acked,
                data_packets: self.data_segments_out.into(),
                packets: self.segments_out.into(),
            },
            sent: Direction {
                messages: messages_received,
                bytes: self.bytes_received,
                data_packets: self.data_segments_in.into(),
                packets: self.segments_in.into(),
            },
        }
    }
}

/// What an interface carried, all conversations together. Its bytes include every header above the frame check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Interface {
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Received and dropped.
    pub rx_dropped: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Dropped before they were sent.
    pub tx_dropped: u64,
}

/// Counters of every interface that the process `pid` sees (its network namespace), by name.
///
/// # Errors
/// The process is gone, or the kernel's file does not look as documented.
pub fn interfaces(pid: u32) -> Result<BTreeMap<String, Interface>, MeterError> {
    let path = PathBuf::from(format!("/proc/{pid}/net/dev"));
    let text = std::fs::read_to_string(&path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => MeterError::NoProcess { pid },
        _ => MeterError::Read { path: path.clone(), source },
    })?;
    parse_interfaces(&text).ok_or(MeterError::Form { path })
}

/// Counters of the interfaces that this process sees.
///
/// # Errors
/// The kernel's file does not look as documented.
pub fn own_interfaces() -> Result<BTreeMap<String, Interface>, MeterError> {
    let path = PathBuf::from("/proc/self/net/dev");
    parse_interfaces(&read(&path)?).ok_or(MeterError::Form { path })
}

/// proc_pid_net(5): two lines of headings, then `name: rx_bytes packets errs drop fifo frame compressed multicast
/// tx_bytes packets errs drop …`.
fn parse_interfaces(text: &str) -> Option<BTreeMap<String, Interface>> {
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let number = |at: usize| numbers.get(at).copied();
        let interface = Interface {
            rx_bytes: number(0)?,
            rx_packets: number(1)?,
            rx_dropped: number(3)?,
            tx_bytes: number(8)?,
            tx_packets: number(9)?,
            tx_dropped: number(11)?,
        };
        Some((name.trim().to_owned(), interface))
    };
    text.lines().skip(2).map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn messages_bytes_and_packets_of_a_connection_are_told_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        let before = TcpCounters::of(client.as_fd()).unwrap();
        let message = vec![7_u8; 200_000];
        let mut back = vec![0_u8; 200_000];
        for _ in 0..5 {
            let writer = {
                let (mut client, message) = (client.try_clone().unwrap(), message.clone());
                std::thread::spawn(move || client.write_all(&message).unwrap())
            };
            server.read_exact(&mut back).unwrap();
            writer.join().unwrap();
            server.write_all(b"ok").unwrap();
            client.read_exact(&mut back[..2]).unwrap();
        }
        let after = TcpCounters::of(client.as_fd()).unwrap();
        let traffic = after.of_the_peer(5, 5).since(&before.of_the_peer(0, 0));
        assert_eq!((traffic.received.messages, traffic.received.bytes), (5, 1_000_000));
        assert_eq!((traffic.sent.messages, traffic.sent.bytes), (5, 10));
        // Loopback segments are at most 64 KiB: five messages are more than fifteen packets with data.
        assert!(traffic.received.data_packets >= 15, "{traffic:?}");
        assert!(traffic.received.packets >= traffic.received.data_packets, "{traffic:?}");
        assert!(
            traffic.sent.data_packets >= 5 && traffic.sent.packets >= traffic.sent.data_packets,
            "{traffic:?}"
        );
        let mut twice = traffic;
        twice.add(&traffic);
        assert_eq!(twice.received.bytes, 2_000_000);
    }

    #[test]
    fn what_is_no_tcp_socket_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(TcpCounters::of(file.as_fd()).is_err());
    }

    #[test]
    fn interfaces_count_both_directions() {
        let text = "Inter-|   Receive    |  Transmit\n face |bytes packets errs\n    lo: 100 2 0 1 0 0 0 0 200 3 0 4 0 0 0 0\n\
                    eth0:7 8 0 0 0 0 0 0 9 10 0 0 0 0 0 0\n";
        let all = parse_interfaces(text).unwrap();
        let lo = Interface {
            rx_bytes: 100,
            rx_packets: 2,
            rx_dropped: 1,
            tx_bytes: 200,
            tx_packets: 3,
            tx_dropped: 4,
        };
        assert_eq!((all["lo"], all["eth0"].tx_packets), (lo, 10));
        assert_eq!(parse_interfaces("a\nb\nlo: 1 2\n"), None);
        assert!(own_interfaces().unwrap().contains_key("lo"));
        assert!(matches!(interfaces(1 << 23), Err(MeterError::NoProcess { .. })));
        assert_eq!(interfaces(std::process::id()).unwrap().len(), own_interfaces().unwrap().len());
    }
}
