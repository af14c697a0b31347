//! Decodes E42 in every version. Decoding must not panic. Decoded messages encode to the received bytes, and encoding
//! is stable.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ranlab_e2_codec::e2ap::Version;
use ranlab_e2_codec::e42;

fuzz_target!(|input: &[u8]| {
    let pdu = Bytes::copy_from_slice(input);
    let _ = e42::numbering_of(&pdu);
    for version in Version::ALL {
        let Ok(decoded) = e42::decode(&pdu, version) else { continue };
        let _ = decoded.message.notation(version);
        let ours = Bytes::from(e42::encode_as_received(&decoded, version).expect("a decoded message can be encoded"));
        let again = e42::decode(&ours, version).expect("an encoded message can be decoded");
        assert_eq!(again.message, decoded.message);
        assert_eq!(again.deviations, decoded.deviations);
        let canonical = e42::encode_as_received(&again, version).expect("a decoded message can be encoded");
        assert_eq!(canonical, ours, "the encoding is canonical");
        e42::encode(&decoded.message, version).expect("a decoded message can be encoded");
    }
});
