//! FlatBuffers from a stranger: no octets do harm, and what is taken is a PDU in PER that says the same again.
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
    // A PDU of the table `Standard` is whatever its sender put there.
    if decode(&per, Version::V2_03).is_ok() {
        assert_eq!(to_per(&from_per(&per, Version::V2_03), Version::V2_03), Ok(per));
    }
});
