//! Compares the fast path with the general codec. If the fast path accepts a message, the general codec must decode it
//! to the same values, and both must encode it to the same bytes.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ranlab_e2_codec::e2ap::fast::{Control, Head, Indication};
use ranlab_e2_codec::e2ap::{self, Message, Version};

fuzz_target!(|input: &[u8]| {
    let pdu = Bytes::copy_from_slice(input);
    for version in Version::ALL {
        let general = e2ap::decode(&pdu, version);
        if let Some(fast) = Indication::decode(&pdu) {
            same_indication(
                &fast,
                general.as_ref().expect("the general codec refuses a message that the fast path accepts"),
                version,
            );
        }
        if let Some(fast) = Control::decode(&pdu, version) {
            same_control(
                &fast,
                general.as_ref().expect("the general codec refuses a message that the fast path accepts"),
                version,
            );
        }
        if let (Some(head), Ok(decoded)) = (Head::peek(&pdu), &general) {
            let Message::RicIndication(m) = &decoded.message else { panic!("no indication: {head:?}") };
            assert_eq!(
                (head.request_id, head.function_id, head.action_id),
                (m.request_id, m.function_id, m.action_id)
            );
            // The fast path reads the sequence number only at its usual position.
            assert!(head.sn.is_none() || head.sn == m.sn);
        }
    }
});

fn same_indication(fast: &Indication<'_>, general: &e2ap::Decoded, version: Version) {
    let Message::RicIndication(m) = &general.message else { panic!("general: {:?}", general.message) };
    let view = Indication {
        request_id: m.request_id,
        function_id: m.function_id,
        action_id: m.action_id,
        sn: m.sn,
        kind: m.kind,
        header: &m.header,
        message: &m.message,
        call_process_id: m.call_process_id.as_deref(),
    };
    assert_eq!(*fast, view);
    let mut bytes = Vec::new();
    fast.encode(&mut bytes).expect("decoded values encode");
    assert_eq!(bytes, e2ap::encode(&general.message, version).expect("decoded values encode"));
}

fn same_control(fast: &Control<'_>, general: &e2ap::Decoded, version: Version) {
    let Message::RicControlRequest(m) = &general.message else { panic!("general: {:?}", general.message) };
    let view = Control {
        request_id: m.request_id,
        function_id: m.function_id,
        call_process_id: m.call_process_id.as_deref(),
        header: &m.header,
        message: &m.message,
        ack_request: m.ack_request,
    };
    assert_eq!(*fast, view);
    let mut bytes = Vec::new();
    fast.encode(version, &mut bytes).expect("decoded values encode");
    assert_eq!(bytes, e2ap::encode(&general.message, version).expect("decoded values encode"));
}
