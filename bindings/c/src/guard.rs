//! What every machine behind a pointer needs: one caller at a time, none after a panic; PDUs in and out without the heap.
use crate::error::*;
use bytes::{Bytes, BytesMut};
use ranlab_e2::Frame;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

/// Received PDUs wait here until they are read, so that receiving one allocates nothing; what is put together to be sent likewise.
pub(crate) const POOL_BYTES: usize = 64 << 10;

/// A machine and whether it may be called.
pub(crate) struct Guarded<T> {
    /// Borrowed while a callback runs: whoever calls in from there is refused.
    inner: RefCell<T>,
    /// A panic may have left the machine halfway.
    broken: Cell<bool>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner: RefCell::new(inner), broken: Cell::new(false) }
    }

    /// Runs the body of a function with the machine.
    pub(crate) fn with(&self, body: impl FnOnce(&mut T) -> Result<(), i32>) -> i32 {
        if self.broken.get() {
            return RANLAB_ERR_PANIC;
        }
        let outcome = boundary(|| body(&mut *self.inner.try_borrow_mut().map_err(|_| RANLAB_ERR_BUSY)?));
        self.broken.set(outcome == RANLAB_ERR_PANIC);
        outcome
    }

    /// Whether a callback of it is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.inner.try_borrow_mut().is_err()
    }
}

/// A pointer's type of the header around an `Inner` of its module, and how it is made, used and freed.
macro_rules! handle {
    ($name:ident) => {
        /// See the header.
        pub struct $name($crate::guard::Guarded<Inner>);

        /// Runs the body of a function with what a pointer points to.
        ///
        /// # Safety
        /// `handle` is null or from its `_new` and not freed, and no other thread uses it.
        unsafe fn with(handle: *mut $name, body: impl FnOnce(&mut Inner) -> Result<(), i32>) -> i32 {
            // SAFETY: the caller's promise. A shared reference: a callback may come back here with the same pointer.
            let Some(handle) = (unsafe { handle.as_ref() }) else { return RANLAB_ERR_NULL };
            handle.0.with(body)
        }

        fn give(inner: Inner, to: &mut std::mem::MaybeUninit<*mut $name>) {
            to.write(Box::into_raw(Box::new($name($crate::guard::Guarded::new(inner)))));
        }

        /// # Safety
        /// As of [`with`]; the pointer is not used again if the outcome is `RANLAB_OK`.
        unsafe fn free(handle: *mut $name) -> i32 {
            boundary(|| {
                // SAFETY: the caller's promise.
                let Some(shared) = (unsafe { handle.as_ref() }) else { return Ok(()) };
                if shared.0.is_busy() {
                    return Err(RANLAB_ERR_BUSY);
                }
                // SAFETY: from Box::into_raw in `give`, freed once, not in use by a callback.
                drop(unsafe { Box::from_raw(handle) });
                Ok(())
            })
        }
    };
}
pub(crate) use handle;

/// Memory for received PDUs, used again when all that was put there has gone.
pub(crate) struct Pool(BytesMut);

impl Pool {
    pub(crate) fn new() -> Self {
        Self(BytesMut::with_capacity(POOL_BYTES))
    }

    pub(crate) fn take(&mut self, pdu: &[u8]) -> Bytes {
        self.0.extend_from_slice(pdu);
        self.0.split().freeze()
    }
}

/// The text of an event: lives until the next one.
#[derive(Default)]
pub(crate) struct Text(CString);

impl Text {
    /// Keeps a text, without the NULs that a peer may have put into it. None needs no memory.
    pub(crate) fn keep(&mut self, text: &str) -> *const c_char {
        if text.is_empty() {
            return c"".as_ptr();
        }
        self.0 = c_string(text);
        self.0.as_ptr()
    }
}

/// A text for C; NULs in it become blanks.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Writes a frame where C wants it, and its length; a frame that does not fit comes back with the error.
///
/// # Safety
/// `buffer` is null or has room for `buffer_len` octets that nobody else uses.
pub(crate) unsafe fn copy_out(
    frame: Option<Frame>,
    buffer: *mut u8,
    buffer_len: usize,
    pdu_len: &mut MaybeUninit<usize>,
) -> Result<(), Frame> {
    let Some(frame) = frame else {
        pdu_len.write(0);
        return Ok(());
    };
    pdu_len.write(frame.len());
    if frame.len() > buffer_len {
        return Err(frame);
    }
    let (head, body) = (frame.head(), frame.body());
    // SAFETY: `buffer` has room for both, and cannot overlap with a PDU of ours.
    unsafe {
        std::ptr::copy_nonoverlapping(head.as_ptr(), buffer, head.len());
        std::ptr::copy_nonoverlapping(body.as_ptr(), buffer.add(head.len()), body.len());
    }
    Ok(())
}

/// Refuses a buffer that is promised and not there.
pub(crate) fn check_buffer(buffer: *mut u8, buffer_len: usize) -> Result<(), i32> {
    if buffer.is_null() && buffer_len > 0 { Err(RANLAB_ERR_NULL) } else { Ok(()) }
}
