//! Decodes E2AP in every version. Decoding must not panic. Decoded messages encode to the received bytes, and encoding
//! is stable. Every rejected message has a response.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ranlab_e2_codec::e2ap::{self, Message, Version};

fuzz_target!(|input: &[u8]| {
    let pdu = Bytes::copy_from_slice(input);
    let _ = Version::of_setup(&pdu);
    for version in Version::ALL {
        match e2ap::decode(&pdu, version) {
            Ok(decoded) => round_trip(&decoded, version),
            Err(rejection) => {
                let answer = Message::ErrorIndication(rejection.error_indication(version));
                e2ap::encode(&answer, version).expect("every refusal has a response");
            }
        }
    }
});

fn round_trip(decoded: &e2ap::Decoded, version: Version) {
    let _ = decoded.message.notation();
    let ours =
        Bytes::from(e2ap::encode_as_received(decoded, version).expect("a decoded message can be encoded"));
    let again = e2ap::decode(&ours, version).expect("an encoded message can be decoded");
    assert_eq!(again.message, decoded.message);
    assert_eq!(again.criticality, decoded.criticality);
    assert_eq!(again.deviations, decoded.deviations);
    let canonical = e2ap::encode_as_received(&again, version).expect("a decoded message can be encoded");
    assert_eq!(canonical, ours, "the encoding is canonical");
    // The canonical encoding has no deviations.
    let standard =
        Bytes::from(e2ap::encode(&decoded.message, version).expect("a decoded message can be encoded"));
    let standard = e2ap::decode(&standard, version).expect("an encoded message can be decoded");
    assert_eq!(standard.message, decoded.message);
    assert!(standard.deviations.is_empty());
}
