//! Reports of messages.
#![allow(clippy::unwrap_used)] // a test that cannot go on fails

use bytes::Bytes;
use ranlab_capture::dissect::{Dissector, Known};
use ranlab_capture::note::{MAX_NOTES, Note, Notes};
use ranlab_capture::{E2_PORT, E42_PORT, Endpoint, Flow, Pdu, Side, Transport};
use ranlab_wire::e2ap::{self, Message, Version};

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
    assert!(notes.list()[0].note.contains("no setup of"));
}

#[test]
fn port_determines_side_unless_overridden() {
    let side = |known: Option<Side>, said: Option<Side>, port| {
        let mut dissector = Dissector::new(Known { side: known, version: None });
        let pdu = Pdu { side: said, ..pdu(Transport::Sctp, port, Bytes::from_static(&[0; 4])) };
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
