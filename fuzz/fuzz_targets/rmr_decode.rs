//! Decodes RMR from a stream. Decoded messages encode and decode to the same value, and no more bytes are consumed than
//! available.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_sdk::wire::rmr::Message;

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    while let Ok(Some((message, len))) = Message::decode(rest) {
        rest = &rest[len..];
        // A name that is not UTF-8 grows by replacement characters and is then truncated.
        if let Ok(octets) = message.encode()
            && message.source.is_ascii()
            && message.meid.is_ascii()
        {
            assert_eq!(Message::decode(&octets), Ok(Some((message, octets.len()))));
        }
    }
});
