//! Notifications in binary form (RFC 6458 section 6.1).

/// Type of the first notification. The other types follow in the order of `sctp_event_subscribe`.
pub(crate) const FIRST: u16 = 0x8000;
/// Index of the option to receive stream and PPID with each message.
pub(crate) const DATA_IO: usize = 0;
pub(crate) const ASSOCIATION: usize = 1;
pub(crate) const SEND_FAILED: usize = 3;
pub(crate) const SHUTDOWN: usize = 5;
/// Number of events that Linux defines.
pub(crate) const EVENTS: usize = 14;
/// Number of streams per direction that is reported for an association, unless the program requests more.
pub(crate) const STREAMS: u16 = 10;

/// States of `sctp_assoc_change`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Up = 0,
    Lost = 1,
    ShutdownComplete = 3,
    CannotStart = 4,
}

fn encode_header(event: usize, length: u32) -> Vec<u8> {
    let mut octets = (FIRST + event as u16).to_ne_bytes().to_vec();
    octets.extend([0; 2]);
    octets.extend(length.to_ne_bytes());
    octets
}

/// Returns a notification `sctp_assoc_change`.
pub(crate) fn change(change: Change, streams: u16, association: i32) -> Vec<u8> {
    let mut octets = encode_header(ASSOCIATION, 20);
    for word in [change as u16, 0, streams, streams] {
        octets.extend(word.to_ne_bytes());
    }
    octets.extend(association.to_ne_bytes());
    octets
}

/// Returns a notification `sctp_shutdown_event`.
pub(crate) fn shutdown(association: i32) -> Vec<u8> {
    let mut octets = encode_header(SHUTDOWN, 12);
    octets.extend(association.to_ne_bytes());
    octets
}

/// Returns a notification `sctp_send_failed`, without the message.
pub(crate) fn send_failed() -> Vec<u8> {
    let mut octets = encode_header(SEND_FAILED, 48);
    octets.extend([0; 40]);
    octets
}
