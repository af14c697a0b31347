//! Decodes both versions of OpenEmpower. Every message is decoded or rejected, and decoded messages encode to the same
//! bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_sdran::empower::protocol::{v1, v2};

fuzz_target!(|octets: &[u8]| {
    if let Ok(pdu) = v1::decode(octets) {
        let mut again = Vec::new();
        pdu.encode(&mut again).expect("a decoded message can be encoded");
        assert_eq!(again, octets);
    }
    if let Ok(pdu) = v2::decode(octets) {
        let mut again = Vec::new();
        pdu.encode(&mut again).expect("a decoded message can be encoded");
        assert_eq!(again, octets);
    }
});
