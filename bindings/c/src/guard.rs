//! Code shared by all state machines that C programs use through a pointer. It allows one caller at a time and no call
//! after a panic, and handles PDUs without heap allocation.
use crate::error::*;
use bytes::{Bytes, BytesMut};
use ranlab_e2::Frame;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

/// Size of the buffer for received PDUs, and of the buffer for PDUs to send, in bytes. The buffers are reused, so
/// receiving and sending do not allocate.
pub(crate) const POOL_BYTES: usize = 64 << 10;

/// A state machine, with the check whether a call is allowed.
pub(crate) struct Guarded<T> {
    /// The state machine. It is borrowed while a callback runs, so recursive calls are rejected.
    inner: RefCell<T>,
    /// Whether a panic may have left the state machine inconsistent.
    broken: Cell<bool>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner: RefCell::new(inner), broken: Cell::new(false) }
    }

    /// Runs the body of a function with the state machine.
    pub(crate) fn with(&self, body: impl FnOnce(&mut T) -> Result<(), i32>) -> i32 {
        if self.broken.get() {
            return RANLAB_ERR_PANIC;
        }
        let outcome = boundary(|| body(&mut *self.inner.try_borrow_mut().map_err(|_| RANLAB_ERR_BUSY)?));
        self.broken.set(outcome == RANLAB_ERR_PANIC);
        outcome
    }

    /// Returns whether a callback of the state machine is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.inner.try_borrow_mut().is_err()
    }
}

/// Defines a pointer type of the header around an `Inner` of its module, with functions to create, use and free it.
macro_rules! handle {
    ($name:ident) => {
        /// Documented in `include/ranlab*.h`.
        pub struct $name($crate::guard::Guarded<Inner>);

        /// Runs the body of a function with the state machine behind a pointer.
        ///
        /// # Safety
        /// `handle` is null or was returned by its `_new` and not freed, and no other thread uses it.
        unsafe fn with(handle: *mut $name, body: impl FnOnce(&mut Inner) -> Result<(), i32>) -> i32 {
            // SAFETY: guaranteed by the caller. The reference is shared, because a callback may call back with the same
            // pointer.
            let Some(handle) = (unsafe { handle.as_ref() }) else { return RANLAB_ERR_NULL };
            handle.0.with(body)
        }

        fn give(inner: Inner, to: &mut std::mem::MaybeUninit<*mut $name>) {
            to.write(Box::into_raw(Box::new($name($crate::guard::Guarded::new(inner)))));
        }

        /// # Safety
        /// See [`with`]; the pointer is not used again after `RANLAB_OK`.
        unsafe fn free(handle: *mut $name) -> i32 {
            boundary(|| {
                // SAFETY: the caller guarantees the requirements under `# Safety`.
                let Some(shared) = (unsafe { handle.as_ref() }) else { return Ok(()) };
                if shared.0.is_busy() {
                    return Err(RANLAB_ERR_BUSY);
                }
                // SAFETY: `give` created the pointer by `Box::into_raw`. It is freed once, and no callback uses it.
                drop(unsafe { Box::from_raw(handle) });
                Ok(())
            })
        }
    };
}
pub(crate) use handle;

/// Buffer for received PDUs. It is reused after all of these PDUs have been dropped.
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

/// Text of an event, valid until the next event.
#[derive(Default)]
pub(crate) struct Text(CString);

impl Text {
    /// Stores a text without the NUL characters that a peer may have inserted. An empty text needs no allocation.
    pub(crate) fn keep(&mut self, text: &str) -> *const c_char {
        if text.is_empty() {
            return c"".as_ptr();
        }
        self.0 = c_string(text);
        self.0.as_ptr()
    }
}

/// Converts a text for C; NUL characters become blanks.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Writes a frame and its length to the caller's buffer. If the frame does not fit, the error contains the frame.
///
/// # Safety
///
/// `buffer` is null, or has space for `buffer_len` bytes that are not in use elsewhere.
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
    let head = frame.head();
    let body = frame.body();
    // SAFETY: `buffer` has space for both parts, and cannot overlap with a PDU of the library.
    unsafe {
        std::ptr::copy_nonoverlapping(head.as_ptr(), buffer, head.len());
        std::ptr::copy_nonoverlapping(body.as_ptr(), buffer.add(head.len()), body.len());
    }
    Ok(())
}

/// Rejects a null buffer whose length is not zero.
pub(crate) fn check_buffer(buffer: *mut u8, buffer_len: usize) -> Result<(), i32> {
    if buffer.is_null() && buffer_len > 0 { Err(RANLAB_ERR_NULL) } else { Ok(()) }
}
