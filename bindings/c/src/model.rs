//! Event triggers and action definitions of the library's service models.
use crate::error::*;
use crate::order::write;
use crate::types::*;
use bytes::Bytes;
use ranlab_e2_codec::e2sm::{Model, by_oid};
use std::ffi::c_char;
use std::time::Duration;

/// # Safety
/// `oid` is null or points to a string.
unsafe fn model(oid: *const c_char) -> Result<&'static dyn Model, i32> {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    by_oid(unsafe { string(oid)? }).ok_or(RANLAB_ERR_MODEL)
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_model_trigger(
    oid: *const c_char,
    period_us: u64,
    trigger: *mut u8,
    trigger_max: usize,
    trigger_len: *mut usize,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let model = unsafe { model(oid)? };
        let octets = model.periodic(model.encoding(), Duration::from_micros(period_us));
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe { write(&octets.map_err(|_| RANLAB_ERR_NOT_OF_MODEL)?, trigger, trigger_max, trigger_len) }
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_model_action(
    oid: *const c_char,
    definition: *const u8,
    definition_len: usize,
    period_us: u64,
    action: *mut u8,
    action_max: usize,
    action_len: *mut usize,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (model, definition) = unsafe { (model(oid)?, octets(definition, definition_len)?) };
        let definition = Bytes::copy_from_slice(definition);
        let period = Duration::from_micros(period_us);
        let octets =
            model.action(model.encoding(), &definition, period).map_err(|_| RANLAB_ERR_NOT_OF_MODEL)?;
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe { write(&octets.unwrap_or_default(), action, action_max, action_len) }
    })
}
