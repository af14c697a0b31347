//! The control part of an SCTP message: one `cmsghdr` with `sctp_sndinfo` or `sctp_rcvinfo` (RFC 6458 §5.3).
//!
//! It is written and read as bytes at known offsets, so this module needs no `unsafe`, and tests cover all of it.

use std::mem::size_of;

use super::message::MessageInfo;

/// Room for one `cmsghdr` and the larger of the two structures.
const CAPACITY_BYTES: usize = 64;
/// `cmsghdr`: length (a `size_t`), level, type (each a C int), padded to a `size_t`.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>().next_multiple_of(size_of::<usize>());
/// `sctp_sndinfo`: stream u16, flags u16, ppid u32, context u32, association i32.
const SEND_INFO_BYTES: usize = size_of::<libc::sctp_sndinfo>();
/// Offset of the ppid in `sctp_rcvinfo` (stream u16, sequence u16, flags u16, padding, ppid u32, ...).
const RECEIVED_PPID: usize = 8;

/// A control buffer, aligned as the kernel requires.
#[repr(C, align(8))]
pub(super) struct Ancillary {
    bytes: [u8; CAPACITY_BYTES],
    len: usize,
}

impl Ancillary {
    /// Creates an empty buffer for the kernel to fill.
    pub(super) fn receiving() -> Self {
        Self { bytes: [0; CAPACITY_BYTES], len: CAPACITY_BYTES }
    }

    /// Creates the control data of an outgoing message.
    pub(super) fn sending(info: MessageInfo) -> Self {
        let mut control = Self { bytes: [0; CAPACITY_BYTES], len: HEADER_BYTES + SEND_INFO_BYTES };
        let word = size_of::<usize>();
        control.put(0, &(HEADER_BYTES + SEND_INFO_BYTES).to_ne_bytes());
        control.put(word, &libc::IPPROTO_SCTP.to_ne_bytes());
        control.put(word + 4, &libc::SCTP_SNDINFO.to_ne_bytes());
        control.put(HEADER_BYTES, &info.stream.to_ne_bytes());
        control.put(HEADER_BYTES + 4, &info.ppid.to_be_bytes());
        control
    }

    /// Returns the control data of a received message, from the first `filled` bytes, or `None` if the kernel gave no
    /// such data.
    pub(super) fn info(&self, filled: usize) -> Option<MessageInfo> {
        let bytes = self.bytes.get(..filled)?;
        let word = size_of::<usize>();
        let length = usize::from_ne_bytes(bytes.first_chunk().copied()?);
        let level = i32::from_ne_bytes(chunk(bytes, word)?);
        let kind = i32::from_ne_bytes(chunk(bytes, word + 4)?);
        if level != libc::IPPROTO_SCTP || kind != libc::SCTP_RCVINFO {
            return None;
        }
        let info = bytes.get(HEADER_BYTES..length)?;
        let stream = u16::from_ne_bytes(chunk(info, 0)?);
        let ppid = u32::from_be_bytes(chunk(info, RECEIVED_PPID)?);
        Some(MessageInfo { stream, ppid })
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, offset_of};

    #[test]
    fn offsets_match_c_structures() {
        assert_eq!(offset_of!(libc::cmsghdr, cmsg_level), size_of::<usize>());
        assert_eq!(offset_of!(libc::cmsghdr, cmsg_type), size_of::<usize>() + 4);
        assert_eq!(offset_of!(libc::sctp_sndinfo, snd_sid), 0);
        assert_eq!(offset_of!(libc::sctp_sndinfo, snd_ppid), 4);
        assert_eq!(offset_of!(libc::sctp_rcvinfo, rcv_sid), 0);
        assert_eq!(offset_of!(libc::sctp_rcvinfo, rcv_ppid), RECEIVED_PPID);
        assert!(HEADER_BYTES + size_of::<libc::sctp_rcvinfo>() <= CAPACITY_BYTES);
        assert!(align_of::<Ancillary>() >= align_of::<libc::cmsghdr>());
    }

    #[test]
    fn ppid_is_sent_in_network_order() {
        let control = Ancillary::sending(MessageInfo { stream: 3, ppid: 70 });
        assert_eq!(&control.bytes[HEADER_BYTES + 4..HEADER_BYTES + 8], [0, 0, 0, 70]);
        assert_eq!(control.len(), HEADER_BYTES + SEND_INFO_BYTES);
    }

    /// Returns data as the kernel writes it for stream 5 and the given identifier.
    fn received(kind: i32, ppid: u32) -> (Ancillary, usize) {
        let length = HEADER_BYTES + size_of::<libc::sctp_rcvinfo>();
        let mut control = Ancillary::receiving();
        control.put(0, &length.to_ne_bytes());
        control.put(8, &libc::IPPROTO_SCTP.to_ne_bytes());
        control.put(12, &kind.to_ne_bytes());
        control.put(HEADER_BYTES, &5_u16.to_ne_bytes());
        control.put(HEADER_BYTES + RECEIVED_PPID, &ppid.to_be_bytes());
        (control, length)
    }

    #[test]
    fn any_ppid_is_accepted() {
        for ppid in [0, 70, u32::MAX] {
            let (control, length) = received(libc::SCTP_RCVINFO, ppid);
            assert_eq!(control.info(length), Some(MessageInfo { stream: 5, ppid }));
        }
    }

    #[test]
    fn missing_or_partial_info_is_rejected() {
        let (control, length) = received(libc::SCTP_RCVINFO, 70);
        for filled in 0..length {
            assert_eq!(control.info(filled), None, "{filled} bytes are not a complete info structure");
        }
        assert_eq!(received(libc::SCTP_SNDINFO, 70).0.info(length), None);
    }
}
