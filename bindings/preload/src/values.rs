//! What an endpoint keeps as plain values: its style, what the program has set, what is told of messages.

use std::collections::HashMap;
use std::ffi::c_int;
use std::net::SocketAddr;

use ranlab_net::shim::Head;

use crate::notification::{EVENTS, STREAMS};

/// `SCTP_INITMSG` of linux/sctp.h.
pub(crate) const INITMSG: c_int = 2;

/// How an SCTP socket behaves (RFC 6458).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// One-to-one: `SOCK_STREAM`.
    One,
    /// One-to-many: `SOCK_SEQPACKET`.
    Many,
}

/// What is told of a message that waits in the socket pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) what: What,
    pub(crate) association: i32,
    pub(crate) from: SocketAddr,
    pub(crate) head: Head,
    pub(crate) ssn: u16,
    pub(crate) tsn: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Data,
    Notification,
    /// An association to accept.
    Arrival,
    /// A rest waits: the descriptor is to stay readable.
    Rest,
}

/// What of a message did not fit into the program's buffer.
pub(crate) struct Rest {
    pub(crate) told: Told,
    pub(crate) octets: Vec<u8>,
}

/// How a program sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writer {
    /// The descriptor that it sends with.
    pub(crate) near: c_int,
    /// Whether the call waits for room.
    pub(crate) waits: bool,
}

/// What the program has set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Which notifications are asked for.
    pub(crate) events: [u8; EVENTS],
    pub(crate) receive_info: bool,
    /// `IPV6_V6ONLY`: a listener at `[::]` is not found by IPv4 addresses.
    pub(crate) v6_only: bool,
    /// Options that are only kept, by number.
    pub(crate) kept: HashMap<c_int, Vec<u8>>,
}

impl Options {
    /// Whether a notification is asked for.
    pub(crate) fn wants(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(|on| *on != 0)
    }

    /// Streams of an association in each direction.
    pub(crate) fn streams(&self) -> u16 {
        let asked = self.kept.get(&INITMSG).and_then(|octets| octets.first_chunk());
        asked.map_or(STREAMS, |octets| u16::from_ne_bytes(*octets)).max(STREAMS)
    }
}
