//! Ancillary data of messages (RFC 6458 section 5.3).

use std::ffi::c_int;

use ranlab_net::shim::{Head, Kind};

use crate::notification::DATA_IO;
use crate::values::{FrameHeader, FrameKind, Options};

const SNDRCV: c_int = libc::SCTP_SNDRCV;
const SNDINFO: c_int = libc::SCTP_SNDINFO;
const RCVINFO: c_int = libc::SCTP_RCVINFO;
/// Flags of a sent message.
const UNORDERED: u16 = 1;
const ABORT: u16 = 4;
const EOF: u16 = 0x200;
/// `MSG_NOTIFICATION` of linux/sctp.h.
pub(crate) const NOTIFICATION: c_int = 0x8000;
/// Size of a control message header, which is aligned like a `size_t`.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>().next_multiple_of(size_of::<usize>());

/// Send parameters that the program passes with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendParameters {
    pub(crate) association: i32,
    pub(crate) head: Head,
    /// Whether the association ends after the message.
    pub(crate) ends: bool,
}

/// Parses the ancillary data of an outgoing message.
pub(crate) fn wanted(mut control: &[u8]) -> SendParameters {
    let mut parameters = SendParameters { association: 0, head: Head::new(Kind::Data), ends: false };
    let word = size_of::<usize>();
    while let Some(length) = control.first_chunk().map(|octets| usize::from_ne_bytes(*octets)) {
        let int = |at: usize| control.get(at..)?.first_chunk().map(|octets| i32::from_ne_bytes(*octets));
        let Some(part) = control.get(HEADER_BYTES..length) else { break };
        let half = |at: usize| part.get(at..)?.first_chunk().map(|octets| u16::from_ne_bytes(*octets));
        let four = |at: usize| part.get(at..)?.first_chunk::<4>().copied();
        let places = match (int(word), int(word + 4)) {
            (Some(libc::IPPROTO_SCTP), Some(SNDRCV)) => Some((4, 8, 28)),
            (Some(libc::IPPROTO_SCTP), Some(SNDINFO)) => Some((2, 4, 12)),
            _ => None,
        };
        if let Some((flags, ppid, association)) = places {
            let flags = half(flags).unwrap_or(0);
            parameters.head.stream = half(0).unwrap_or(0);
            parameters.head.ppid = four(ppid).unwrap_or_default();
            parameters.head.unordered = flags & UNORDERED != 0;
            parameters.association = four(association).map_or(0, i32::from_ne_bytes);
            parameters.ends = flags & EOF != 0;
            if flags & ABORT != 0 {
                parameters.head.kind = Kind::Abort;
            }
        }
        let Some(rest) = control.get(length.next_multiple_of(word)..) else { break };
        control = rest;
    }
    parameters
}

/// Returns the ancillary data of an incoming message that the program has enabled.
pub(crate) fn beside(header: &FrameHeader, options: &Options) -> Vec<u8> {
    let mut control = Vec::new();
    if header.what != FrameKind::Data {
        return control;
    }
    let head = header.head;
    let tsn = header.tsn.to_ne_bytes();
    let flags = if head.unordered { UNORDERED } else { 0 };
    let start: Vec<u8> =
        [head.stream, header.ssn, flags, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let id = header.association.to_ne_bytes();
    let zero = [0; 4];
    if options.receive_info {
        // `sctp_rcvinfo` has the fields stream, SSN, flags, PPID, TSN, cumulative TSN, context and association.
        put(&mut control, RCVINFO, &[&start[..], &head.ppid, &tsn, &tsn, &zero, &id].concat());
    }
    if options.wants(DATA_IO) {
        // `sctp_sndrcvinfo` has the same fields in another order, and a lifetime. A program may pass it unchanged when it sends.
        put(&mut control, SNDRCV, &[&start[..], &head.ppid, &zero, &zero, &tsn, &tsn, &id].concat());
    }
    control
}

fn put(control: &mut Vec<u8>, kind: c_int, part: &[u8]) {
    control.extend((HEADER_BYTES + part.len()).to_ne_bytes());
    control.extend(libc::IPPROTO_SCTP.to_ne_bytes());
    control.extend(kind.to_ne_bytes());
    control.extend(part);
    control.resize(control.len().next_multiple_of(size_of::<usize>()), 0);
}
