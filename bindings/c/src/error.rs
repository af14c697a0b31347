//! Error codes, and the boundary that panics must not cross.
//!
//! An error code never changes its meaning, and the code of a removed error is never reused.
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! errors {
    ($( $name:ident = $number:literal, $text:literal; )+) => {
        $( pub const $name: i32 = $number; )+
        /// All errors with their names in the header.
        pub const ERRORS: &[(&str, i32)] = &[$( (stringify!($name), $number) ),+];

        pub(crate) fn text(error: i32) -> &'static CStr {
            match error {
                $( $number => $text, )+
                _ => c"no error of ranlab has this number",
            }
        }
    };
}

errors! {
    RANLAB_OK = 0, c"ok";
    RANLAB_ERR_NULL = 1, c"a pointer that must not be NULL is NULL";
    RANLAB_ERR_PANIC = 2, c"internal error of the library; the agent, RIC or xApp can only be freed";
    RANLAB_ERR_BUSY = 3, c"called from a callback of the same agent or RIC";
    RANLAB_ERR_INVALID = 4, c"a value is outside its range, or a string is not UTF-8";
    RANLAB_ERR_FUNCTION = 5, c"an OID has 1 to 1000 printable characters, a revision is at most 4095, an agent has at most 256 functions";
    RANLAB_ERR_CONTROLLER_LIMIT = 6, c"an agent has at most 8 controllers";
    RANLAB_ERR_CONTROLLER_TAKEN = 7, c"a controller with this address exists already";
    RANLAB_ERR_UNKNOWN_CONTROLLER = 8, c"the controller does not exist";
    RANLAB_ERR_UNKNOWN_SUBSCRIPTION = 9, c"the function does not have this subscription";
    RANLAB_ERR_BUFFER_TOO_SMALL = 10, c"the buffer is too small for the PDU; no data is lost";
    RANLAB_ERR_ENCODE = 11, c"E2AP cannot express the value";
    RANLAB_ERR_UE = 12, c"the UE does not exist, or the agent has the maximum number of UEs";
    RANLAB_ERR_NODE = 13, c"the node does not exist";
    RANLAB_ERR_NODE_FUNCTION = 14, c"the node does not offer this RAN function";
    RANLAB_ERR_LIMIT = 15, c"the maximum number exists already";
    RANLAB_ERR_NOT_READY = 16, c"the xApp is not connected to a RIC";
    RANLAB_ERR_UNKNOWN_CONNECTION = 17, c"the connection does not exist";
    RANLAB_ERR_UNKNOWN_IAPP = 18, c"the iApp does not exist";
    RANLAB_ERR_UNKNOWN_CONTROL = 19, c"no control is being handled, it has been answered, or its requester no longer waits";
    RANLAB_ERR_MODEL = 20, c"no service model of the library has this OID";
    RANLAB_ERR_NOT_OF_MODEL = 21, c"the bytes are not valid in the service model, or the report period is not supported";
    RANLAB_ERR_ORDER = 22, c"no base station can carry out the order; why names the value and what is allowed";
    RANLAB_ERR_NOT_OFFERED = 23, c"the node's RAN function definition does not list it; `why` has what it lists";
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ranlab_error_text(error: i32) -> *const c_char {
    text(error).as_ptr()
}

/// Runs the body of an exported function. Returns its error code, or `RANLAB_ERR_PANIC` after a panic.
pub(crate) fn boundary(body: impl FnOnce() -> Result<(), i32>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => RANLAB_OK,
        Ok(Err(error)) => error,
        Err(panic) => {
            // Dropping the panic payload might panic again and cross the boundary. The payload is therefore leaked, at
            // most once per state machine.
            std::mem::forget(panic);
            RANLAB_ERR_PANIC
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_is_returned_as_error() {
        assert_eq!(boundary(|| panic!("on purpose")), RANLAB_ERR_PANIC);
        assert_eq!(boundary(|| Err(RANLAB_ERR_NULL)), RANLAB_ERR_NULL);
    }

    #[test]
    fn every_error_has_a_distinct_text() {
        let texts: std::collections::BTreeSet<_> = ERRORS.iter().map(|(_, number)| text(*number)).collect();
        assert_eq!(texts.len(), ERRORS.len());
        assert!(!texts.contains(text(-1)));
    }
}
