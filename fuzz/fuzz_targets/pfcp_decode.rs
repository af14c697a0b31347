//! Decodes PFCP. Any bytes are decoded or rejected, decoded messages encode and decode to the same value, and both
//! decoders agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_upf::pfcp::{Message, Response, decode};

fuzz_target!(|octets: &[u8]| {
    let general = decode(octets);
    if let Ok((pdu, rest)) = &general {
        let mut again = Vec::new();
        pdu.encode(&mut again).expect("a decoded message can be encoded");
        let (same, none) = decode(&again).expect("an encoded message can be decoded");
        assert_eq!(same.message, pdu.message);
        assert!(none.is_empty() && rest.len() <= octets.len());
    }
    if let Some(fast) = Response::read(octets) {
        let (pdu, _) = general.expect("the fast reader accepts only messages that the decoder accepts");
        assert_eq!((fast.seid, fast.sequence), (pdu.header.seid, pdu.header.sequence));
        let cause = match pdu.message {
            Message::SessionEstablishmentResponse(m) => Some(m.cause),
            Message::SessionModificationResponse(m) => Some(m.cause),
            Message::SessionDeletionResponse(m) => Some(m.cause),
            _ => None,
        };
        assert_eq!(fast.cause, cause);
    }
});
