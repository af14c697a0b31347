//! Tests of the reports of messages.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

use bytes::Bytes;
use ranlab_e2_capture::dissect::{Dissector, Known};
use ranlab_e2_capture::note::{MAX_NOTES, Note, Notes};
use ranlab_e2_capture::{E2_PORT, E42_PORT, Endpoint, Flow, Line, Pdu, Side, Transport};
use ranlab_e2_codec::e2ap::{self, Message, RanFunctionItem, Version};
use ranlab_e2_codec::e2sm::kpm::{self, Kpm};
use ranlab_e2_codec::e2sm::{Encoding, Inspect, Model};
use ranlab_e2_codec::e42;

fn pdu(transport: Transport, port: u16, bytes: Bytes) -> Pdu {
    let end = |port| Endpoint { address: Some([127, 0, 0, 1].into()), port };
    let flow = Flow { transport, source: end(40_000), destination: end(port) };
    Pdu { flow, time_us: None, side: None, bytes }
}

fn encoded(name: &str, version: Version) -> Bytes {
    let message = Message::random(name, 1, version).unwrap();
    e2ap::encode(&message, version).unwrap().into()
}

#[test]
fn setup_determines_connection_version() {
    let mut dissector = Dissector::new(Known::default());
    let mut notes = Notes::default();
    for version in Version::ALL {
        let port = 1000 + version as u16;
        let setup = pdu(Transport::Tcp, port, encoded("E2setupRequest", version));
        let reset = pdu(Transport::Tcp, port, encoded("ResetRequest", version));
        for pdu in [setup, reset] {
            let dissected = dissector.take(pdu, &mut notes);
            // On the wire, version 3.01 extends 2.03: a setup without new elements does not show the version.
            assert!(dissected.version == version || version == Version::V3_01, "{version}");
            assert!(dissected.message.is_ok(), "{version}");
        }
    }
    assert_eq!((dissector.connections().len(), notes.list().len()), (3, 0));
    let without = pdu(Transport::Tcp, 5, encoded("ResetRequest", Version::V2_03));
    assert_eq!(dissector.take(without, &mut notes).number, 7);
    assert!(notes.list()[0].note.contains("has no setup of"));
}

#[test]
fn port_determines_e2_or_e42_unless_specified() {
    let side = |known: Option<Side>, recorded: Option<Side>, port| {
        let mut dissector = Dissector::new(Known { side: known, ..Known::default() });
        let pdu = Pdu { side: recorded, ..pdu(Transport::Sctp, port, Bytes::from_static(&[0; 4])) };
        dissector.take(pdu, &mut Notes::default()).side
    };
    assert_eq!(side(None, None, E2_PORT), Side::E2);
    assert_eq!(side(None, None, E42_PORT), Side::E42);
    assert_eq!(side(None, Some(Side::E2), E42_PORT), Side::E2);
    assert_eq!(side(Some(Side::E42), Some(Side::E2), E2_PORT), Side::E42);
}

#[test]
fn notes_are_counted_and_bounded() {
    let mut notes = Notes::default();
    for n in 0..1000 {
        notes.add(Note::LinkType(n % 500), "packet", u64::from(n) + 1);
    }
    let list = notes.list();
    assert_eq!(list.len(), MAX_NOTES + 1);
    assert_eq!(list.iter().map(|note| note.count).sum::<u64>(), 1000);
    assert_eq!((list[0].count, list[0].first.as_str()), (2, "packet 1"));
}

fn setup_of(function: RanFunctionItem) -> Bytes {
    let Some(Message::E2SetupRequest(mut setup)) = Message::random("E2setupRequest", 1, Version::V2_03)
    else {
        panic!("E2AP 2.03 must have a setup request")
    };
    setup.functions = Some(vec![function]);
    e2ap::encode(&Message::E2SetupRequest(setup), Version::V2_03).unwrap().into()
}

fn kpm(function_id: u16) -> RanFunctionItem {
    RanFunctionItem {
        id: function_id,
        definition: Bytes::from_static(Kpm.definition()),
        revision: 0,
        oid: Some(kpm::OID.to_owned()),
    }
}

fn indication(function_id: u16) -> Bytes {
    let Some(Message::RicIndication(mut indication)) = Message::random("RICindication", 1, Version::V2_03)
    else {
        panic!("E2AP 2.03 must have an indication")
    };
    let (header, message, _) = Kpm.sample(Encoding::Per, 1).unwrap();
    (indication.function_id, indication.header, indication.message) = (function_id, header, message);
    e2ap::encode(&Message::RicIndication(indication), Version::V2_03).unwrap().into()
}

#[test]
fn setup_determines_e2_or_e42_on_any_port() {
    for version in [Version::V1_01, Version::V2_03] {
        let mut dissector = Dissector::new(Known::default());
        let mut notes = Notes::default();
        for name in ["E2setupRequest", "E2setupResponse", "RICsubscriptionDeleteFailure"] {
            let dissected =
                dissector.take(pdu(Transport::Sctp, E42_PORT, encoded(name, version)), &mut notes);
            assert_eq!((dissected.side, dissected.version), (Side::E2, version), "{name}");
            assert!(dissected.message.is_ok(), "{name}");
        }
        assert!(notes.list().is_empty());
    }
    let mut dissector = Dissector::new(Known::default());
    let request = e42::SetupRequest { functions: vec![kpm(2)], wants_node_events: false };
    let request = e42::encode(&e42::Message::SetupRequest(request), Version::V2_03).unwrap();
    for port in [E2_PORT, E42_PORT, 7] {
        let dissected =
            dissector.take(pdu(Transport::Tcp, port, request.clone().into()), &mut Notes::default());
        assert_eq!(dissected.side, Side::E42, "{port}");
    }
}

#[test]
fn payloads_are_decoded_with_service_model_from_setup() {
    let mut dissector = Dissector::new(Known::default());
    let mut notes = Notes::default();
    let mut take = |bytes| dissector.take(pdu(Transport::Tcp, E2_PORT, bytes), &mut notes);
    let before = take(indication(147));
    assert!(before.model.is_none(), "function 147 must have no model before the setup names it");
    take(setup_of(kpm(147)));
    let dissected = take(indication(147));
    let model = dissected.model.unwrap();
    assert_eq!(model.name(), "kpm");
    let line = Line::new("file", &dissected, None, None, true).to_string();
    assert!(line.contains(" sm=kpm rows="), "{line}");
    assert!(line.contains("indicationHeader {") && line.contains("indicationMessage {"), "{line}");
    assert!(
        take(indication(3)).model.is_none(),
        "function 3 must have no model, because the setup does not name it"
    );
    let known = Known { model: Some(model), ..Known::default() };
    let mut alone = Dissector::new(known);
    let of_file = alone.take(pdu(Transport::File, 0, indication(9)), &mut Notes::default());
    assert_eq!(of_file.model.map(Model::name), Some("kpm"));
}
