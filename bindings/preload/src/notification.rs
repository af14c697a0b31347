//! What an endpoint may subscribe to (RFC 6458 section 6.1), as octets.

/// Type of the first notification; each further one is a place in `sctp_event_subscribe`.
pub(crate) const FIRST: u16 = 0x8000;
/// Whether a message's stream and identifier are told beside it.
pub(crate) const DATA_IO: usize = 0;
pub(crate) const ASSOCIATION: usize = 1;
pub(crate) const SEND_FAILED: usize = 3;
pub(crate) const SHUTDOWN: usize = 5;
/// Events that Linux knows.
pub(crate) const EVENTS: usize = 14;
/// Streams that we say an association has in each direction, unless the program asked for more.
pub(crate) const STREAMS: u16 = 10;

/// States of `sctp_assoc_change`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Up = 0,
    Lost = 1,
    ShutdownComplete = 3,
    CannotStart = 4,
}

fn of(event: usize, length: u32) -> Vec<u8> {
    let mut octets = (FIRST + event as u16).to_ne_bytes().to_vec();
    octets.extend([0; 2]);
    octets.extend(length.to_ne_bytes());
    octets
}

/// `sctp_assoc_change`.
pub(crate) fn change(change: Change, streams: u16, association: i32) -> Vec<u8> {
    let mut octets = of(ASSOCIATION, 20);
    for word in [change as u16, 0, streams, streams] {
        octets.extend(word.to_ne_bytes());
    }
    octets.extend(association.to_ne_bytes());
    octets
}

/// `sctp_shutdown_event`.
pub(crate) fn shutdown(association: i32) -> Vec<u8> {
    let mut octets = of(SHUTDOWN, 12);
    octets.extend(association.to_ne_bytes());
    octets
}

/// `sctp_send_failed`, without the message.
pub(crate) fn send_failed() -> Vec<u8> {
    let mut octets = of(SEND_FAILED, 48);
    octets.extend([0; 40]);
    octets
}
