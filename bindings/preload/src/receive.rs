//! Receives messages from the socket pair for the program.

use std::cell::RefCell;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;

use ranlab_net::shim::{HEAD_BYTES, Head, Kind, MESSAGE_BYTES_MAX};

use crate::endpoint::Endpoint;
use crate::real;
use crate::values::{FrameHeader, FrameKind, Rest};

/// Result of one call.
pub(crate) struct Received {
    pub(crate) bytes: usize,
    pub(crate) header: FrameHeader,
    /// Whether the message is complete.
    pub(crate) whole: bool,
}

thread_local! {
    static OVERFLOW: RefCell<Vec<u8>> = RefCell::new(vec![0; MESSAGE_BYTES_MAX]);
}

impl Endpoint {
    /// Receives into the program's buffers. Returns `None` at the end of the association. As with SCTP, a message
    /// longer than the buffers arrives in parts.
    pub(crate) fn receive(
        self: &Arc<Self>,
        near: c_int,
        slices: &mut [libc::iovec],
        flags: c_int,
    ) -> io::Result<Option<Received>> {
        OVERFLOW.with_borrow_mut(|overflow| {
            loop {
                if let Some(received) = self.rest(slices) {
                    return Ok(Some(received));
                }
                let mut head = [0; HEAD_BYTES];
                let Some(read) = receive_all(near, &mut head, slices, overflow, flags)? else {
                    let reset = std::mem::take(&mut self.lock().reset);
                    return if reset { real::error(libc::ECONNRESET) } else { Ok(None) };
                };
                let key = Head::read(&head).map_or(0, |head| u32::from_ne_bytes(head.ppid));
                let mut state = self.lock();
                let header = if flags & libc::MSG_PEEK == 0 {
                    state.headers.remove(&key)
                } else {
                    state.headers.get(&key).copied()
                };
                let Some(header) = header.filter(|header| header.what != FrameKind::Rest) else { continue };
                let taken = read.min(room(slices));
                let whole = read == taken || flags & libc::MSG_PEEK != 0;
                if !whole {
                    state.rest = Some(Rest { header, octets: overflow[..read - taken].to_vec() });
                    let header = FrameHeader { what: FrameKind::Rest, head: Head::new(Kind::Data), ..header };
                    self.deliver(&mut state, header, &[], None);
                }
                return Ok(Some(Received { bytes: taken, header, whole }));
            }
        })
    }

    fn rest(&self, slices: &mut [libc::iovec]) -> Option<Received> {
        let mut state = self.lock();
        let mut rest = state.rest.take()?;
        let taken = rest.octets.len().min(room(slices));
        let mut from = 0;
        for slice in slices {
            let part = slice.iov_len.min(taken - from);
            // SAFETY: the program allows `iov_len` bytes at `iov_base` to be written. `from + part` is within the rest
            // of the message.
            unsafe {
                std::ptr::copy_nonoverlapping(rest.octets[from..].as_ptr(), slice.iov_base.cast(), part)
            };
            from += part;
        }
        let header = rest.header;
        let whole = taken == rest.octets.len();
        if !whole {
            rest.octets.drain(..taken);
            state.rest = Some(rest);
        }
        Some(Received { bytes: taken, header, whole })
    }
}

fn room(slices: &[libc::iovec]) -> usize {
    slices.iter().map(|slice| slice.iov_len).sum()
}

/// Receives one message of the pair into `head`, the program's slices, and a buffer for the rest. Returns the length of
/// the message without the head, in bytes.
fn receive_all(
    near: c_int,
    head: &mut [u8; HEAD_BYTES],
    slices: &[libc::iovec],
    overflow: &mut [u8],
    flags: c_int,
) -> io::Result<Option<usize>> {
    let mut all = Vec::with_capacity(slices.len() + 2);
    all.push(libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEAD_BYTES });
    all.extend_from_slice(slices);
    all.push(libc::iovec { iov_base: overflow.as_mut_ptr().cast(), iov_len: overflow.len() });
    // SAFETY: `msghdr` is a C struct of integers and pointers, for which all zeros is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = all.as_mut_ptr();
    message.msg_iovlen = all.len();
    // SAFETY: the slices are local or belong to the program, and each is valid for its length. The descriptor belongs
    // to the program.
    let read = unsafe { real::recvmsg(near, &mut message, flags & (libc::MSG_DONTWAIT | libc::MSG_PEEK)) };
    match usize::try_from(read) {
        Ok(0) => Ok(None),
        Ok(read) => Ok(Some(read - HEAD_BYTES.min(read))),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
