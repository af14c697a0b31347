//! RMR out of a stream: what is read is written again to the same message, and never more is taken than is there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_sdk::wire::rmr::Message;

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    while let Ok(Some((message, len))) = Message::decode(rest) {
        rest = &rest[len..];
        // A name that is no UTF-8 grows by its replacement, and is then cut.
        if let Ok(octets) = message.encode()
            && message.source.is_ascii()
            && message.meid.is_ascii()
        {
            assert_eq!(Message::decode(&octets), Ok(Some((message, octets.len()))));
        }
    }
});
