//! Decodes FlexRAN. Every frame is decoded or rejected, and decoded frames encode and decode to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_sdran::flexran::protocol::{decode_frame, encode_frame};

fuzz_target!(|octets: &[u8]| {
    let Ok(envelope) = decode_frame(octets) else { return };
    let mut again = Vec::new();
    if encode_frame(&envelope, &mut again).is_ok() {
        // NaN is not equal to itself, so the printed values are compared.
        let read = decode_frame(&again).expect("an encoded message can be decoded");
        assert_eq!(format!("{read:?}"), format!("{envelope:?}"));
    }
});
