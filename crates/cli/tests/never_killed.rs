//! No input of a peer crashes the RIC or disturbs another peer.
//!
//! A witness node reports to a witness xApp every 5 ms. Meanwhile, misbehaving peers send malformed input on both interfaces over both
//! transports. The RIC must respond to each malformed input with the name of the fault, or disconnect its sender. The witness xApp must not
//! lose a message.
#![allow(clippy::unwrap_used, clippy::expect_used)] // in a test a panic is the report
mod common;
use bytes::Bytes;
use common::{Peer, RicListener, RicProcess, admit, set_up_node, setup_request};
use ranlab_e2_codec::e2ap::{
    self, ActionToBeSetup, GlobalE2NodeId, Message, Plmn, RanFunctionItem, RicIndicationType, RicRequestId,
    RicSubscriptionDetails, Version, fast,
};
use ranlab_e2_codec::e42;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const V2: Version = Version::V2_03;
const MAC: u16 = 142;
const WITNESS: u32 = 4_000_000;

/// Well-behaved node and xApp, and the counters of the messages that the xApp has received.
struct Witness {
    stop: Arc<AtomicBool>,
    seen: Arc<AtomicU64>,
    gaps: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Witness {
    fn start(ric: &RicProcess) -> Self {
        let (stop, seen, gaps) = <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let mut node = set_up_node(&ric.e2[0], WITNESS);
        let (mut xapp, xapp_id) = set_up_xapp(&ric.e42[0]);
        xapp.send(&subscription(xapp_id, WITNESS, 1)).unwrap();
        let request = node.receive().unwrap().expect("the RIC should send a subscription request");
        let request_id = admit(&mut node, &request).expect("the message should be a subscription request");
        let answer = e2ap::decode(&xapp.receive().unwrap().unwrap(), V2).unwrap().message;
        assert!(matches!(answer, Message::RicSubscriptionResponse(_)), "{answer:?}");
        let stop_node = stop.clone();
        let reporter = std::thread::spawn(move || {
            let mut sn = 0u16;
            while !stop_node.load(Ordering::Relaxed) {
                node.send(&indication(request_id, sn)).expect("the witness node must stay connected");
                sn = sn.wrapping_add(1);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let stop_xapp = stop.clone();
        let seen_there = seen.clone();
        let gaps_there = gaps.clone();
        let reader = std::thread::spawn(move || {
            let mut next = 0u16;
            while !stop_xapp.load(Ordering::Relaxed) {
                let pdu = match xapp.receive() {
                    Ok(Some(pdu)) => pdu,
                    _ if stop_xapp.load(Ordering::Relaxed) => break,
                    other => panic!("the witness xApp must keep receiving, but got {other:?}"),
                };
                let Some(head) = fast::Head::peek(&pdu) else { continue };
                gaps_there.fetch_add(u64::from(head.sn.unwrap().wrapping_sub(next)), Ordering::Relaxed);
                next = head.sn.unwrap().wrapping_add(1);
                seen_there.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stop, seen, gaps, threads: vec![reporter, reader] }
    }

    fn finish(self) {
        while self.seen.load(Ordering::Relaxed) < 40 && self.threads.iter().all(|t| !t.is_finished()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("the witness must not be disturbed");
        }
        assert_eq!(self.gaps.load(Ordering::Relaxed), 0, "no message of the witness may be lost");
    }
}

fn set_up_xapp(door: &RicListener) -> (Peer, u16) {
    let mut xapp = door.connect().unwrap();
    xapp.send(&xapp_setup()).unwrap();
    let answer = e42::decode(&xapp.receive().unwrap().expect("the RIC should respond"), V2).unwrap().message;
    let e42::Message::SetupResponse(response) = answer else { panic!("{answer:?}") };
    (xapp, response.xapp_id)
}

fn xapp_setup() -> Vec<u8> {
    let function = RanFunctionItem { id: MAC, definition: "x".into(), revision: 0, oid: Some("1".into()) };
    let request = e42::SetupRequest { functions: vec![function], wants_node_events: false };
    e42::encode(&e42::Message::SetupRequest(request), V2).unwrap()
}

fn subscription(xapp_id: u16, gnb_id: u32, requestor: u16) -> Vec<u8> {
    let request = e42::SubscriptionRequest {
        xapp_id,
        node_id: GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), gnb_id, 32),
        request_id: RicRequestId { requestor, instance: 0 },
        function_id: MAC,
        details: RicSubscriptionDetails {
            event_trigger: Bytes::copy_from_slice(&u32::from(requestor).to_le_bytes()),
            actions: vec![ActionToBeSetup::report(0)],
        },
    };
    e42::encode(&e42::Message::SubscriptionRequest(request), V2).unwrap()
}

fn indication(request_id: RicRequestId, sn: u16) -> Vec<u8> {
    let mut pdu = Vec::new();
    let indication = fast::Indication {
        request_id,
        function_id: MAC,
        action_id: 0,
        sn: Some(sn),
        kind: RicIndicationType::Report,
        header: &[0; 4],
        message: &[7; 700],
        call_process_id: None,
    };
    indication.encode(&mut pdu).unwrap();
    pdu
}

/// Returns the abnormal inputs, each of which is sent to every listener.
fn abnormal() -> Vec<(&'static str, Vec<u8>)> {
    let setup = e2ap::encode(&setup_request(99), V2).unwrap();
    let mut count_altered = setup.clone();
    count_altered[6] ^= 0x40;
    let mut state = 12_345u32;
    let random = (0..300).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let reset = Message::ResetRequest(e2ap::ResetRequest {
        transaction_id: Some(1),
        cause: e2ap::Cause::Misc(e2ap::CauseMisc::Unspecified),
    });
    vec![
        ("64 octets of ff", vec![0xff; 64]),
        ("one zero octet", vec![0]),
        ("300 random octets", random.collect()),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: ric\r\n\r\n".to_vec()),
        ("33,000 zeros", vec![0; 33_000]),
        ("a setup cut in half", setup[..setup.len() / 2].to_vec()),
        ("a setup with another IE count", count_altered),
        ("an unknown procedure", vec![0, 99, 0, 3, 0, 0, 0]),
        ("a reset before setup", e2ap::encode(&reset, V2).unwrap()),
        ("an indication before setup", indication(RicRequestId::default(), 0)),
    ]
}

/// Returns the RIC's reaction to a PDU: the name of the response, or that the RIC closed the connection.
fn reaction(peer: &mut Peer) -> String {
    match peer.receive() {
        Ok(Some(pdu)) => match e2ap::decode(&pdu, V2) {
            Ok(decoded) => decoded.message.name().to_owned(),
            Err(_) => e42::decode(&pdu, V2).map_or_else(|_| "?".to_owned(), |d| d.message.name().to_owned()),
        },
        Ok(None) => "closed".to_owned(),
        Err(error) => format!("nothing: {error}"),
    }
}

#[test]
fn abnormal_messages_are_answered_or_closed() {
    let mut ric = RicProcess::start("abnormal", &[]);
    let witness = Witness::start(&ric);
    let doors: Vec<RicListener> = ric.e2.iter().chain(&ric.e42).cloned().collect();
    for door in &doors {
        for (name, pdu) in abnormal() {
            let mut peer = door.connect().unwrap();
            peer.send(&pdu).unwrap();
            let reaction = reaction(&mut peer);
            assert!(
                ["ErrorIndication", "E2setupFailure", "E42setupFailure", "closed"]
                    .contains(&reaction.as_str()),
                "the reaction to {name} at {} is {reaction}",
                door.url()
            );
            assert!(ric.is_alive(), "the RIC has ended after {name} at {}", door.url());
        }
    }
    // Sends the abnormal PDUs again, after a successful setup.
    for (i, (name, pdu)) in abnormal().into_iter().enumerate() {
        let mut node = set_up_node(&ric.e2[i % 2], 5_000 + i as u32);
        node.send(&pdu).unwrap();
        let reaction = reaction(&mut node);
        let allowed =
            ["ErrorIndication", "E2setupFailure", "ResetResponse", "RICsubscriptionDeleteRequest", "closed"];
        assert!(allowed.contains(&reaction.as_str()), "{name}: {reaction}");
    }
    witness.finish();
    assert!(ric.is_alive());
}

#[test]
fn repeated_setup_restarts_the_node() {
    let mut ric = RicProcess::start("twice", &[]);
    let witness = Witness::start(&ric);
    let mut node = set_up_node(&ric.e2[0], 77);
    node.send_message(&setup_request(77), V2).unwrap();
    assert_eq!(reaction(&mut node), "E2setupResponse");
    let mut thief = ric.e2[1].connect().unwrap();
    thief.send_message(&setup_request(77), V2).unwrap();
    let answer = e2ap::decode(&thief.receive().unwrap().unwrap(), V2).unwrap().message;
    let Message::E2SetupFailure(failure) = answer else { panic!("{answer:?}") };
    assert!(failure.time_to_wait.is_some());
    // The response to an E2 Setup on the xApp port names the error.
    let mut lost = ric.e42[0].connect().unwrap();
    lost.send_message(&setup_request(78), V2).unwrap();
    assert_eq!(reaction(&mut lost), "ErrorIndication");
    witness.finish();
    assert!(ric.is_alive());
}

#[test]
fn false_lengths_allocate_no_memory() {
    let mut ric = RicProcess::start("lengths", &[]);
    let witness = Witness::start(&ric);
    let before = ric.rss_bytes();
    for door in ric.e2.iter().chain(&ric.e42) {
        for length in [0u32, 0x7fff_ffff, u32::MAX, (1 << 20) + 1] {
            let mut peer = door.connect().unwrap();
            peer.send_raw(&length.to_be_bytes()).unwrap();
            let reaction = reaction(&mut peer);
            assert!(["ErrorIndication", "closed"].contains(&reaction.as_str()), "{length}: {reaction}");
        }
    }
    assert!(ric.rss_bytes() < before + (8 << 20), "{} -> {}", before, ric.rss_bytes());
    witness.finish();
    assert!(ric.is_alive());
}

#[test]
fn setups_and_subscriptions_are_bounded() {
    let mut ric = RicProcess::start("endless", &[]);
    let witness = Witness::start(&ric);
    let mut node = set_up_node(&ric.e2[0], 88);
    let setup = e2ap::encode(&setup_request(88), V2).unwrap();
    let mut refused = 0;
    for _ in 0..2_000 {
        if node.send(&setup).is_err() {
            break;
        }
        match reaction(&mut node).as_str() {
            "E2setupResponse" => {}
            "closed" => break,
            _ => refused += 1,
        }
    }
    assert!(refused > 0, "the RIC never refused a setup");
    // The target is the witness's node, which does not respond to the requests.
    let (mut xapp, xapp_id) = set_up_xapp(&ric.e42[0]);
    let before = ric.rss_bytes();
    for requestor in 2..20_000u16 {
        if xapp.send(&subscription(xapp_id, WITNESS, requestor)).is_err() {
            break;
        }
    }
    let mut failures = 0;
    xapp.timeout(Duration::from_millis(500));
    while let Ok(Some(pdu)) = xapp.receive() {
        if let Ok(Message::RicSubscriptionFailure(_)) = e2ap::decode(&pdu, V2).map(|d| d.message) {
            failures += 1;
        }
    }
    assert!(failures > 1_000, "only {failures} subscriptions beyond the bound were refused");
    assert!(ric.rss_bytes() < before + (64 << 20), "{} -> {}", before, ric.rss_bytes());
    drop(xapp);
    witness.finish();
    assert!(ric.is_alive());
}

#[test]
fn unresponsive_xapp_uses_bounded_memory() {
    let mut ric = RicProcess::start("unread", &[]);
    let witness = Witness::start(&ric);
    let mut node = set_up_node(&ric.e2[0], 66);
    let (mut deaf, deaf_id) = set_up_xapp(&ric.e42[1]);
    deaf.send(&subscription(deaf_id, 66, 1)).unwrap();
    let request = node.receive().unwrap().unwrap();
    let request_id = admit(&mut node, &request).unwrap();
    let before = ric.rss_bytes();
    for sn in 0..40_000u32 {
        node.send(&indication(request_id, sn as u16)).unwrap();
        if sn % 500 == 0 {
            std::thread::sleep(Duration::from_millis(5)); // below saturation
        }
    }
    assert!(ric.rss_bytes() < before + (16 << 20), "{} -> {}", before, ric.rss_bytes());
    drop(deaf);
    witness.finish();
    assert!(ric.is_alive());
}

#[test]
fn xapp_ids_wrap_around() {
    let mut ric = RicProcess::start("wrap", &[]);
    let witness = Witness::start(&ric);
    let setup = xapp_setup();
    let mut ids = std::collections::BTreeSet::new();
    let rounds = if std::env::var_os("RANLAB").is_some() { 66_000 } else { 2_000 };
    for round in 0..rounds {
        let mut xapp = ric.e42[1].connect().unwrap();
        xapp.send(&setup).unwrap();
        let answer =
            e42::decode(&xapp.receive().unwrap().expect("the RIC should respond"), V2).unwrap().message;
        let e42::Message::SetupResponse(response) = answer else { panic!("{round}: {answer:?}") };
        ids.insert(response.xapp_id);
    }
    assert!(ids.len() > rounds.min(60_000) - 10, "only {} different xApp ids were assigned", ids.len());
    witness.finish();
    assert!(ric.is_alive());
}
