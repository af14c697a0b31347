//! Structs of the header, field by field.
use crate::error::{RANLAB_ERR_INVALID, RANLAB_ERR_NULL};
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_agent_config {
    pub mcc: u16,
    pub mnc: u16,
    pub mnc_digits: u8,
    pub gnb_id_bits: u8,
    pub gnb_id: u32,
    pub seed: u64,
    pub amf_name: *const c_char,
    pub node: u8,
    pub e2ap: u8,
    pub part_id: u64,
}

pub const RANLAB_NODE_GNB: u8 = 0;
pub const RANLAB_NODE_GNB_CU: u8 = 1;
pub const RANLAB_NODE_GNB_CU_CP: u8 = 2;
pub const RANLAB_NODE_GNB_CU_UP: u8 = 3;
pub const RANLAB_NODE_GNB_DU: u8 = 4;
pub const RANLAB_NODE_NG_ENB: u8 = 5;
pub const RANLAB_NODE_ENB: u8 = 6;
pub const RANLAB_NODE_EN_GNB: u8 = 7;
pub const RANLAB_NODE_EN_GNB_CU_UP: u8 = 8;
pub const RANLAB_NODE_EN_GNB_DU: u8 = 9;
pub const RANLAB_NODE_NG_ENB_DU: u8 = 10;

pub const RANLAB_E2AP_2_03: u8 = 0;
pub const RANLAB_E2AP_1_01: u8 = 1;
pub const RANLAB_E2AP_3_01: u8 = 3;

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_ue {
    pub number: u32,
    pub sst: u8,
    pub sd: u32,
    pub delivered_bytes: [u64; 2],
    pub pdcp_sdu_bytes: [u64; 2],
    pub prbs: [u64; 2],
    pub rlc_delay_us: f64,
}

pub const RANLAB_NO_SD: u32 = 0xff_ffff;
pub const RANLAB_UES_MAX: usize = 1_024;

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_kpm {
    pub prbs: u16,
    pub time_us: Option<unsafe extern "C" fn(*mut c_void) -> i64>,
    pub read: Option<unsafe extern "C" fn(*mut c_void, *mut u64, *mut ranlab_ue, usize) -> usize>,
}

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_event {
    pub kind: u32,
    pub controller: u32,
    pub subscription: u64,
    pub text: *const c_char,
}

pub const RANLAB_EVENT_NONE: u32 = 0;
pub const RANLAB_EVENT_CONNECT: u32 = 1;
pub const RANLAB_EVENT_TRANSMIT: u32 = 2;
pub const RANLAB_EVENT_CLOSE: u32 = 3;
pub const RANLAB_EVENT_SETUP: u32 = 4;
pub const RANLAB_EVENT_DISCONNECTED: u32 = 5;
pub const RANLAB_EVENT_SUBSCRIBED: u32 = 6;
pub const RANLAB_EVENT_UNSUBSCRIBED: u32 = 7;
pub const RANLAB_EVENT_OTHER: u32 = 8;

pub const RANLAB_ACTION_REPORT: u8 = 0;
pub const RANLAB_ACTION_INSERT: u8 = 1;
pub const RANLAB_ACTION_POLICY: u8 = 2;

pub const RANLAB_CONTROL_DONE: u32 = 0;
pub const RANLAB_CONTROL_INVALID: u32 = 1;
pub const RANLAB_CONTROL_FAILED: u32 = 2;

pub const RANLAB_NEVER: u64 = u64::MAX;

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_action {
    pub id: u8,
    pub kind: u8,
    pub definition: *const u8,
    pub definition_len: usize,
}

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_subscription {
    pub id: u64,
    pub controller: u32,
    pub event_trigger: *const u8,
    pub event_trigger_len: usize,
    pub actions: *const ranlab_action,
    pub actions_len: usize,
}

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_control {
    pub controller: u32,
    pub header: *const u8,
    pub header_len: usize,
    pub message: *const u8,
    pub message_len: usize,
    pub call_process_id: *const u8,
    pub call_process_id_len: usize,
}

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_insert {
    pub subscription: u64,
    pub action: u8,
    pub header: *const u8,
    pub header_len: usize,
    pub message: *const u8,
    pub message_len: usize,
    pub call_process_id: *const u8,
    pub call_process_id_len: usize,
}

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_function {
    pub oid: *const c_char,
    pub definition: *const u8,
    pub definition_len: usize,
    pub revision: u16,
    pub on_subscription:
        Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_subscription) -> u32>,
    pub on_subscription_delete: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, u64)>,
    pub on_control:
        Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_control) -> u32>,
    pub on_wake: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context)>,
    pub on_query: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_query) -> u32>,
}

/// Documented in `include/ranlab.h`.
#[repr(C)]
pub struct ranlab_query {
    pub controller: u32,
    pub header: *const u8,
    pub header_len: usize,
    pub definition: *const u8,
    pub definition_len: usize,
}

/// The agent as seen by a callback: a `FunctionContext` behind a pointer that is valid during the callback.
#[repr(C)]
pub struct ranlab_context {
    _private: [u8; 0],
}

/// Returns bytes passed by C.
///
/// # Safety
/// `at` is null or points to `len` bytes that do not change during `'a`.
pub(crate) unsafe fn octets<'a>(at: *const u8, len: usize) -> Result<&'a [u8], i32> {
    if len == 0 {
        return Ok(&[]);
    }
    if at.is_null() {
        return Err(RANLAB_ERR_NULL);
    }
    if isize::try_from(len).is_err() {
        return Err(RANLAB_ERR_INVALID);
    }
    // SAFETY: the pointer is not null, and `len` is at most `isize::MAX`. The caller guarantees the rest.
    Ok(unsafe { std::slice::from_raw_parts(at, len) })
}

/// Returns a string passed by C.
///
/// # Safety
/// `at` is null or points to a NUL-terminated string that does not change during `'a`.
pub(crate) unsafe fn string<'a>(at: *const c_char) -> Result<&'a str, i32> {
    if at.is_null() {
        return Err(RANLAB_ERR_NULL);
    }
    // SAFETY: the pointer is not null. The caller guarantees the rest.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| RANLAB_ERR_INVALID)
}

/// Returns the memory for a result.
///
/// # Safety
/// `at` is null or points to memory for a `T` that is not in use elsewhere during `'a`.
pub(crate) unsafe fn out<'a, T>(at: *mut T) -> Result<&'a mut MaybeUninit<T>, i32> {
    // SAFETY: the caller guarantees memory for a `T`, which is all that an uninitialized value needs.
    unsafe { at.cast::<MaybeUninit<T>>().as_mut() }.ok_or(RANLAB_ERR_NULL)
}
