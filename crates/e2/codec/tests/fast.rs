//! Comparison of the fast path with the general codec.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests
use bytes::Bytes;
use proptest::prelude::*;
use ranlab_e2_codec::e2ap::fast::{Control, Head, Indication};
use ranlab_e2_codec::e2ap::{self, Message, RicControlRequest, RicIndication, Version};
use ranlab_e2_codec::per::EncodeError;

fn view(m: &RicIndication) -> Indication<'_> {
    Indication {
        request_id: m.request_id,
        function_id: m.function_id,
        action_id: m.action_id,
        sn: m.sn,
        kind: m.kind,
        header: &m.header,
        message: &m.message,
        call_process_id: m.call_process_id.as_deref(),
    }
}

fn control_view(m: &RicControlRequest) -> Control<'_> {
    Control {
        request_id: m.request_id,
        function_id: m.function_id,
        call_process_id: m.call_process_id.as_deref(),
        header: &m.header,
        message: &m.message,
        ack_request: m.ack_request,
    }
}

fn indication(seed: u64, version: Version, extra: usize) -> RicIndication {
    let Some(Message::RicIndication(mut m)) = Message::random("RICindication", seed, version) else {
        unreachable!()
    };
    if extra > 0 {
        m.message = (0..extra).map(|i| i as u8).collect();
    }
    m
}

#[test]
fn fast_and_general_codec_agree_on_indications_of_every_length() {
    let lengths =
        [0, 1, 59, 60, 61, 115, 126, 127, 128, 129, 1500, 16_200, 16_330, 16_383, 16_384, 40_000, 200_000];
    for version in Version::ALL {
        for (seed, extra) in (0..40).flat_map(|s| lengths.map(|n| (s, n))) {
            let m = indication(seed, version, extra);
            let general = e2ap::encode(&Message::RicIndication(m.clone()), version).unwrap();
            let mut fast = vec![0xee];
            view(&m).encode(&mut fast).unwrap();
            assert_eq!(
                fast[1..],
                general,
                "the fast encoder must append the same bytes as the general one, body of {extra} bytes"
            );
            if let Some(decoded) = Indication::decode(&general) {
                assert_eq!(decoded, view(&m));
            } else {
                assert!(extra > 16_000, "the fast path may refuse only messages that need fragmentation");
            }
            let head = Head::peek(&general).unwrap();
            assert_eq!((head.request_id, head.function_id, head.sn), (m.request_id, m.function_id, m.sn));
            let at = head.request_id_at;
            assert_eq!(general[at..at + 4], e2ap::fast::request_id_octets(m.request_id));
        }
    }
}

#[test]
fn fast_and_general_codec_agree_on_controls() {
    for version in Version::ALL {
        for seed in 0..500 {
            let Some(Message::RicControlRequest(m)) = Message::random("RICcontrolRequest", seed, version)
            else {
                unreachable!()
            };
            let general = e2ap::encode(&Message::RicControlRequest(m.clone()), version).unwrap();
            let mut fast = Vec::new();
            control_view(&m).encode(version, &mut fast).unwrap();
            assert_eq!(fast, general);
            assert_eq!(Control::decode(&general, version), Some(control_view(&m)));
        }
    }
}

#[test]
fn nack_request_is_refused_in_v2_03() {
    let Some(Message::RicControlRequest(mut m)) = Message::random("RICcontrolRequest", 1, Version::V2_03)
    else {
        unreachable!()
    };
    m.ack_request = Some(e2ap::RicControlAckRequest::NAck);
    let error = control_view(&m).encode(Version::V2_03, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, EncodeError::NotInVersion { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]
    /// The general decoder accepts everything that the fast decoder accepts, with the same values.
    #[test]
    fn general_decoder_accepts_all_messages_of_fast_decoder(
        seed in 0u64..50, control: bool, edits in prop::collection::vec((0usize..80, any::<u8>()), 0..4), cut in 0usize..4
    ) {
        let version = Version::ALL[seed as usize % 3];
        let name = if control { "RICcontrolRequest" } else { "RICindication" };
        let message = Message::random(name, seed, version).unwrap();
        let mut bytes = e2ap::encode(&message, version).unwrap();
        for (at, value) in edits {
            if let Some(octet) = bytes.get_mut(at) { *octet = value; }
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        let bytes = Bytes::from(bytes);
        let general = e2ap::decode(&bytes, version);
        if let Some(fast) = Indication::decode(&bytes) {
            let Ok(Message::RicIndication(m)) = general.as_ref().map(|d| d.message.clone()) else {
                panic!("general: {general:?}\nfast: {fast:?}");
            };
            prop_assert_eq!(fast, view(&m));
        }
        if let Some(fast) = Control::decode(&bytes, version) {
            let Ok(Message::RicControlRequest(m)) = general.map(|d| d.message) else { panic!("{fast:?}") };
            prop_assert_eq!(fast, control_view(&m));
        }
    }

    /// No bytes make a decoder panic; a decoded message can be encoded.
    #[test]
    fn decoders_never_panic(seed in 0u64..4_000, edits in prop::collection::vec((0usize..200, any::<u8>()), 0..6)) {
        let version = Version::ALL[seed as usize % 3];
        let Some(message) = Message::random(Message::NAMES[seed as usize % 39], seed, version) else { return Ok(()) };
        let mut bytes = e2ap::encode(&message, version).unwrap();
        for (at, value) in edits {
            let n = bytes.len();
            bytes[at % n] = value;
        }
        let bytes = Bytes::from(bytes);
        for version in Version::ALL {
            match e2ap::decode(&bytes, version) {
                // An element of a later version is decoded and reported, but never encoded in this version.
                Ok(decoded) => match e2ap::encode_as_received(&decoded, version) {
                    Ok(_) | Err(EncodeError::NotInVersion { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                },
                Err(rejection) => {
                    e2ap::encode(&Message::ErrorIndication(rejection.error_indication(version)), version).unwrap();
                }
            }
            if let Ok(decoded) = ranlab_e2_codec::e42::decode(&bytes, version) {
                ranlab_e2_codec::e42::encode_as_received(&decoded, version).unwrap();
            }
        }
    }
}
