//! Converts FlatBuffers to PER. The conversion must not panic, and a converted PDU converts back to the same message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_sdk::wire::Bytes;
use ranlab_sdk::wire::e2ap::{Version, decode};
use ranlab_sdk::wire::e2sm::{Encoding, Octets, hw::Ping};
use ranlab_sdk::wire::flat::{from_per, to_per};

fuzz_target!(|input: &[u8]| {
    let input = Bytes::copy_from_slice(input);
    let _ = Ping::decode_as(Encoding::Flat, &input);
    let Ok(per) = to_per(&input, Version::V2_03) else { return };
    // In the table `Standard`, a PDU may contain any bytes.
    if decode(&per, Version::V2_03).is_ok() {
        assert_eq!(to_per(&from_per(&per, Version::V2_03), Version::V2_03), Ok(per));
    }
});
