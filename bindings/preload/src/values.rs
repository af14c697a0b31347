//! Plain values of an endpoint: its style, its options, and properties of messages.

use std::collections::HashMap;
use std::ffi::c_int;
use std::net::SocketAddr;

use ranlab_net::shim::Head;

use crate::notification::{EVENTS, STREAMS};

/// Number of the option `SCTP_INITMSG` in linux/sctp.h.
pub(crate) const INITMSG: c_int = 2;

/// Style of an SCTP socket (RFC 6458).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// One-to-one socket, `SOCK_STREAM`.
    One,
    /// One-to-many socket, `SOCK_SEQPACKET`.
    Many,
}

/// Header of a message that the carrier writes to the program's socket pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) what: FrameKind,
    pub(crate) association: i32,
    pub(crate) from: SocketAddr,
    pub(crate) head: Head,
    pub(crate) ssn: u16,
    pub(crate) tsn: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Data,
    Notification,
    /// An association is ready to be accepted.
    Arrival,
    /// The rest of a message is pending, so the descriptor remains readable.
    Rest,
}

/// Part of a message that did not fit into the program's buffer.
pub(crate) struct Rest {
    pub(crate) header: FrameHeader,
    pub(crate) octets: Vec<u8>,
}

/// Sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writer {
    /// Descriptor that the program uses for sending.
    pub(crate) near: c_int,
    /// Whether the call waits for free space.
    pub(crate) waits: bool,
}

/// Options set by the program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Enabled notifications.
    pub(crate) events: [u8; EVENTS],
    pub(crate) receive_info: bool,
    /// Option `IPV6_V6ONLY`: a listener at `[::]` is not reachable by IPv4.
    pub(crate) v6_only: bool,
    /// Options that are only stored, by number.
    pub(crate) kept: HashMap<c_int, Vec<u8>>,
}

impl Options {
    /// Returns whether a notification is enabled.
    pub(crate) fn wants(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(|on| *on != 0)
    }

    /// Returns the number of streams per direction of an association.
    pub(crate) fn streams(&self) -> u16 {
        let init = self.kept.get(&INITMSG).and_then(|octets| octets.first_chunk());
        init.map_or(STREAMS, |octets| u16::from_ne_bytes(*octets)).max(STREAMS)
    }
}
