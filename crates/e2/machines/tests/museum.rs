//! Interop regression tests: byte sequences that made other RICs and base stations crash or misbehave, and the reaction of
//! this RIC. It reports the probable cause in one sentence, and all other peers are unaffected.
#![allow(clippy::unwrap_used)]
mod ric_world;

use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use ric_world::*;
use std::time::Duration;

/// Connection on which the bytes of a pitfall arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    /// First message at the listener for base stations.
    E2,
    /// First message at the listener for xApps.
    E42,
    /// Sent by base station 5 while a subscription request is outstanding.
    Asked,
    /// Sent by base station 5 after it has admitted the subscription.
    Subscribed,
}
use At::{Asked, E2, E42, Subscribed};

/// Expected reaction; the RIC must keep running in every case.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    /// A hint with these words.
    Says(&'static str),
    /// No hint, because the message is valid.
    Fine,
    /// No hint, and the xApp gets the same payload.
    Forwarded,
}
use Then::{Fine, Forwarded, Says};

const VERSION: &str = "built for another version of E2AP";

/// Name of the pitfall, connection, bytes, reaction. Request ids of the RIC are 1021 (03fd), instance 0; function 142
/// is 8e.
#[rustfmt::skip]
const MUSEUM: &[(&str, At, &str, Then)] = &[
    ("1: a KPM header whose time has 4 bytes", Subscribed,
     "00054033000006001d00050003fd000000050002008e000f000100001c000100001900060500671d2a40001a000908ffffffffffffffff", Forwarded),
    ("1: a KPM header whose time has 8 bytes", Subscribed,
     "00054037000006001d00050003fd000000050002008e000f000100001c0001000019000a0900ebd29ba812345678001a000908ffffffffffffffff", Forwarded),
    ("2: KPM that no decoder accepts", Subscribed,
     "00054033000006001d00050003fd000000050002008e000f000100001c00010000190006050000000000001a000908ffffffffffffffff", Forwarded),
    ("3: a subscription delete response without its last element", Subscribed,
     "2009000b000002001d00050003fd0000", Says("fixed buffer")),
    ("3: a subscription delete response without a request", Subscribed,
     "20090012000002001d00050003fd000000050002008e", Fine),
    ("4: a message that was truncated by a buffer", Subscribed,
     "00054033000006001d00050003fd000000050002008e000f000100001c0001000019000605", Says("fixed buffer")),
    ("5: an enumerated value that does not exist in this version", Asked,
     "40080018000003001d00050003fd000000050002008e000100020780", Says(VERSION)),
    ("6: a base station at the port for xApps", E42,
     "0001005a000004003100020007000300090005f5105000000009000a0021000008401c00008e0a646566696e6974696f6e0003000008302e302e302e3134320032001b000000330015000040616d66000672616e6c61620672616e6c6162",
     Says("base stations connect to the address of --e2, port 36421")),
    ("6: an xApp at the port for base stations", E2,
     "000e0028000001000a0021000008401c00008e0a646566696e6974696f6e0003000008302e302e302e313432",
     Says("xApps join at the address of --e42, port 36422")),
    ("6: HTTP at the port for base stations", E2, "474554202f20485454502f312e310d0a0d0a", Says("is no E2 setup")),
    ("6: X2AP, for which port 36422 is registered", E2, "0006002a0000020015000900", Says("is no E2 setup")),
    ("7: a setup of v2 without a component configuration", E2,
     "0001003b000003003100020007000300090005f5105000000009000a0021000008401c00008e0a646566696e6974696f6e0003000008302e302e302e313432",
     Says(VERSION)),
    ("7: a setup of v1.01", E2,
     "00010038000002000300090005f5105000000009000a002400010008401e80008e0a646566696e6974696f6e0003010c000008302e302e302e313432", Fine),
    ("8: a response that is sent twice", Subscribed, "2008001d000003001d00050003fd000000050002008e0011000700000e40020000", Fine),
    ("10: a function id that the base station does not offer", Asked,
     "40080018000003001d00050003fd000000050002008e000100020000", Says("find the function by its OID")),
    ("flexric §2: a PDU of one zero byte", E2, "00", Says("is no E2 setup")),
    ("flexric §2: an indication before the setup", E2,
     "00054033000006001d00050003fd000000050002008e000f000100001c00010000190006050000000000001a000908ffffffffffffffff", Fine),
    ("flexric §2: a truncated setup request", E2, "0001005a000004003100020007000300090005f51050000000", Says("fixed buffer")),
    ("flexric §2: an unknown procedure", Subscribed, "00630004000000000000", Says(VERSION)),
];

fn octets(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn hints(world: &World) -> Vec<&'static str> {
    let sentence = |event: &RicEvent| match event {
        RicEvent::Hint(hint) => Some(hint.sentence),
        _ => None,
    };
    world.events.iter().filter_map(sentence).collect()
}

/// Checks that all other peers are unaffected: a base station, its xApp, and a new base station.
fn assert_lives(world: &mut World, bystander: (ConnId, RicRequestId), xapp: ConnId) {
    world.raw(xapp);
    world.send(bystander.0, indication(bystander.1, b"still there"));
    assert_eq!(world.got42(xapp).len(), 1, "the other xApp must get its report");
    world.agent(11);
    world.assert_no_leak();
}

fn indication(request_id: RicRequestId, message: &'static [u8]) -> Message {
    Message::RicIndication(RicIndication {
        request_id,
        function_id: 142,
        action_id: 0,
        sn: None,
        kind: RicIndicationType::Report,
        header: bytes::Bytes::new(),
        message: bytes::Bytes::from_static(message),
        call_process_id: None,
    })
}

#[test]
fn every_pitfall_gets_hint_and_affects_no_other_peer() {
    for (pitfall, at, hex, then) in MUSEUM {
        let mut world = World::new();
        let bystander = world.agent(7);
        let agent = world.agent(5);
        let xapp = world.xapp();
        let other = world.subscribed(xapp, bystander, 7, 1);
        let conn = match at {
            E2 => world.connect(ListenerProtocol::E2),
            E42 => world.connect(ListenerProtocol::E42),
            Asked => {
                world.send42(xapp.0, subscribe(xapp.1, 5, 2, 10));
                agent
            }
            Subscribed => {
                assert_eq!(world.subscribed(xapp, agent, 5, 2).requestor, 1021);
                agent
            }
        };
        world.raw(xapp.0);
        // Instances start at 0 for each RIC.
        world.send_bytes(conn, octets(hex));
        let sentences = hints(&world);
        match then {
            Says(words) => {
                assert!(sentences.len() == 1 && sentences[0].contains(words), "{pitfall}: {sentences:?}");
                assert_eq!(world.ric.snapshot().hints.len(), 1, "{pitfall}");
            }
            Fine => assert_eq!(sentences, [""; 0], "{pitfall}"),
            Forwarded => {
                assert_eq!(sentences, [""; 0], "{pitfall}");
                let got = world.raw(xapp.0);
                let sent = octets(hex);
                assert_eq!(got[0][30..], sent[30..], "{pitfall}");
            }
        }
        assert_lives(&mut world, (bystander, other), xapp.0);
    }
}

/// FlexRIC's buffer has 32 kB, e2sim's 10,000 bytes; the E2T of Colosseum had 2,000.
#[test]
fn messages_larger_than_known_peer_buffers_pass() {
    let mut world = World::new();
    let agent = world.agent(5);
    let xapp = world.xapp();
    let id = world.subscribed(xapp, agent, 5, 1);
    static PAYLOAD: [u8; 200_000] = [0xa5; 200_000];
    for octets in [2_001, 10_001, 33_000, 200_000] {
        world.send(agent, indication(id, &PAYLOAD[..octets]));
        let got = world.got42(xapp.0);
        let [e42::Message::E2(Message::RicIndication(report))] = &got[..] else { panic!("{got:?}") };
        assert_eq!(report.message.len(), octets);
    }
    assert_eq!(hints(&world), [""; 0]);
}

/// Pitfalls 9 and 10: causes that a refusal does not mention.
#[test]
fn refused_subscription_gets_hint_with_probable_cause() {
    let mut world = World::new();
    let conn = world.connect(ListenerProtocol::E2);
    let mut setup = setup_of(node(5));
    let kpm = RanFunctionItem { oid: Some("1.3.6.1.4.1.53148.1.2.2.2".into()), ..function(142) };
    setup.functions = Some(vec![kpm]);
    world.send(conn, Message::E2SetupRequest(setup));
    let xapp = world.xapp();
    world.raw(conn);
    // A function id that only a different base station has.
    let e42::Message::SubscriptionRequest(mut subscription) = subscribe(xapp.1, 5, 1, 10) else {
        unreachable!()
    };
    subscription.function_id = 2;
    world.send42(xapp.0, e42::Message::SubscriptionRequest(subscription));
    world.send42(xapp.0, subscribe(xapp.1, 5, 2, 10));
    let got = world.got(conn);
    let [Message::RicSubscriptionRequest(request)] = &got[..] else { panic!("{got:?}") };
    let refused = RicSubscriptionFailure {
        request_id: request.request_id,
        function_id: 142,
        cause: Some(Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
        not_admitted: None,
        diagnostics: None,
    };
    world.send(conn, Message::RicSubscriptionFailure(refused));
    let sentences = hints(&world);
    assert!(
        sentences.len() == 2 && sentences[0].contains("2 with some and 147 with others"),
        "{sentences:?}"
    );
    assert!(sentences[1].contains("style 5 requires two UE ids"), "{sentences:?}");
    let hint = &world.ric.snapshot().hints[1];
    assert_eq!((hint.node, hint.function), (Some(node(5)), Some(142)));
}

/// srsRAN #781: a second gNB with the same id crashed FlexRIC.
#[test]
fn duplicate_base_station_id_gets_one_hint() {
    let mut world = World::new();
    world.agent(5);
    for times in 1..=3 {
        let rival = world.connect_from(ListenerProtocol::E2, "rival");
        world.send(rival, setup_request(5));
        let all = world.ric.snapshot().hints;
        assert_eq!((all.len(), all[0].times), (1, times));
        assert!(
            all[0].sentence.contains("two base stations have the same id")
                && all[0].peer.starts_with("rival")
        );
    }
    assert_eq!(hints(&world).len(), 1);
}

/// Connects node 5, which offers MAC.
fn mac_node(world: &mut World) -> ConnId {
    let conn = world.connect(ListenerProtocol::E2);
    let mut setup = setup_of(node(5));
    let mac = RanFunctionItem { oid: Some(ranlab_e2_codec::e2sm::mac::OID.into()), ..function(142) };
    setup.functions = Some(vec![mac]);
    world.send(conn, Message::E2SetupRequest(setup));
    world.raw(conn);
    conn
}

#[test]
fn silence_hint_is_removed_with_its_subscription() {
    let mut world = World::new();
    let conn = mac_node(&mut world);
    let xapp = world.xapp();
    world.send42(xapp.0, subscribe(xapp.1, 5, 1, 1_000));
    let id = world.admit(conn);
    world.pass(Duration::from_millis(3_100));
    assert_eq!(world.ric.snapshot().hints.len(), 1);
    world.send42(xapp.0, delete(xapp.1, 1));
    world.send(conn, deleted(id));
    assert_eq!(world.ric.snapshot().hints, []);
}

#[test]
fn subscription_is_reported_silent_after_three_periods() {
    let mut world = World::new();
    let conn = mac_node(&mut world);
    let xapp = world.xapp();
    world.send42(xapp.0, subscribe(xapp.1, 5, 1, 1_000));
    let id = world.admit(conn);
    let shown = |world: &World| world.node(5).subscriptions[0].clone();
    assert_eq!(shown(&world).period, Some(Duration::from_secs(1)));
    world.pass(Duration::from_millis(2_900));
    assert_eq!(hints(&world), [""; 0]);
    world.pass(Duration::from_millis(200));
    let sentences = hints(&world);
    assert!(sentences.len() == 1 && sentences[0].contains("was admitted and is silent"), "{sentences:?}");
    assert_eq!(world.ric.snapshot().hints[0].function, Some(142));
    world.send(conn, indication(id, b""));
    assert_eq!(world.ric.snapshot().hints, []);
    assert_eq!((shown(&world).indications, shown(&world).heard), (1, Some(world.now)));
    // A subscription with reports in time is never called silent.
    world.send42(xapp.0, subscribe(xapp.1, 5, 2, 100));
    let id = world.admit(conn);
    world.send(conn, indication(id, b""));
    world.pass(Duration::from_secs(5));
    assert_eq!(hints(&world).len(), 1);
}
