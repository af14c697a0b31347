//! Back-pressure towards the program: its descriptor is writable only while its associations accept messages.
//!
//! The program polls one end of a pair (`near`), but sends on the socket of an association. After `EAGAIN` of that
//! socket, `near` is filled, so that it also becomes unwritable. The carrier waits for free space in the association,
//! and then empties the pair. `near` then becomes writable, with the edge that epoll(7) guarantees.

use std::ffi::c_int;
use std::io;

use ranlab_net::shim::Association;

use crate::carrier::carrier;
use crate::endpoint::{Endpoint, State};
use crate::real;

/// Size of a filling message, in bytes. It fits into any socket buffer.
const FILL_BYTES: usize = 1 << 10;
/// Maximum number of filling messages, which is sufficient for a buffer of 64 MiB.
const FILLS_MAX: usize = 1 << 16;

impl Endpoint {
    /// Handles a full association: keeps the program's descriptor `near` unwritable until the association accepts
    /// data.
    pub(crate) fn on_full(&self, near: c_int, link: &Association) {
        let mut state = self.lock();
        // Without a token, the association has ended in the meantime. Other code reports its end.
        let Some(token) = state.token_of(link) else { return };
        let Ok(carrier) = carrier() else { return };
        fill(near);
        if !state.blocked.contains(&token) {
            state.blocked.push(token);
        }
        carrier.await_room(token, true);
    }

    /// Handles an association that accepts data again.
    pub(crate) fn on_writable(&self, token: u64) {
        let mut state = self.lock();
        if let Ok(carrier) = carrier() {
            carrier.await_room(token, false);
        }
        self.release_writer(&mut state, token);
    }

    /// Makes the program's descriptor writable again if this association was full.
    pub(crate) fn release_writer(&self, state: &mut State, token: u64) {
        let before = state.blocked.len();
        state.blocked.retain(|it| *it != token);
        if state.blocked.len() < before {
            let mut buffer = [0; 64];
            // Only filling messages are written to this end. A message longer than the buffer is truncated.
            while self.far.receive(&mut buffer).is_ok_and(|read| read > 0) {}
        }
    }
}

/// Fills the program's end of the pair.
fn fill(near: c_int) {
    let filling = [0_u8; FILL_BYTES];
    for _ in 0..FILLS_MAX {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the program keeps the descriptor open during the current call; the bytes are only read.
        let sent = unsafe { real::send(near, filling.as_ptr().cast(), FILL_BYTES, flags) };
        if sent < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}
