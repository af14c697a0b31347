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
                e2ap::encode(&answer, version).expect("every refusal has an answer");
            }
        }
    }
});

fn round_trip(decoded: &e2ap::Decoded, version: Version) {
    let _ = decoded.message.notation();
    let ours = Bytes::from(e2ap::encode_as_received(decoded, version).expect("what decodes encodes"));
    let again = e2ap::decode(&ours, version).expect("what we encode decodes");
    assert_eq!(again.message, decoded.message);
    assert_eq!(again.criticality, decoded.criticality);
    assert_eq!(again.deviations, decoded.deviations);
    let canonical = e2ap::encode_as_received(&again, version).expect("what decodes encodes");
    assert_eq!(canonical, ours, "the encoding is canonical");
    // The canonical encoding has no deviations.
    let standard = Bytes::from(e2ap::encode(&decoded.message, version).expect("what decodes encodes"));
    let standard = e2ap::decode(&standard, version).expect("what we encode decodes");
    assert_eq!(standard.message, decoded.message);
    assert!(standard.deviations.is_empty());
}
