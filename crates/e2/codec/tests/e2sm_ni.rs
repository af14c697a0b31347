//! NI: comparison with the bytes of another codec, round trips, and subscriptions of a monitor.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

mod golden;

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use ranlab_e2_codec::ap::{self, Message};
use ranlab_e2_codec::e2ap::{
    ActionToBeSetup, E2NodeGnb, GlobalE2NodeId, GlobalGnbId, GlobalNgRanNodeId, Plmn, RanFunctionItem,
    RicSubscriptionDetails,
};
use ranlab_e2_codec::e2sm::ni::*;
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets, RowKey, ServiceModel, complete, per};
use ranlab_e2_codec::per::{Per, ShortBits};

/// Number of random values of each type.
const SEEDS: u64 = 300;

fn agrees<T: Octets + Per + Debug>(name: &str) {
    golden::agrees::<T>(name, |value, n| value.show(n));
}

#[test]
fn ni_vectors_of_pycrate_and_asn1tools_round_trip() {
    agrees::<EventTrigger>("ni_event_trigger");
    agrees::<IndicationHeader>("ni_ind_hdr");
}

fn comes_back<T: Per + Octets + PartialEq + Debug>() {
    for seed in 0..SEEDS {
        let value: T = per::sample(seed).unwrap();
        let octets = value.to_octets(Encoding::Per).unwrap();
        assert_eq!(T::decode_as(Encoding::Per, &octets).as_ref(), Ok(&value), "seed {seed}");
        for end in (0..octets.len()).step_by(1 + octets.len() / 50) {
            assert!(T::decode_as(Encoding::Per, &octets.slice(..end)).is_err(), "seed {seed}, {end}");
        }
        // With a corrupted byte, the value is decoded or refused; a decoded value can be encoded.
        for at in (0..octets.len()).step_by(1 + octets.len() / 20) {
            let mut wrong = octets.to_vec();
            wrong[at] ^= 1 << (seed % 8);
            if let Ok(read) = T::decode_as(Encoding::Per, &wrong.into()) {
                assert!(read.to_octets(Encoding::Per).is_ok(), "seed {seed}, {at}");
            }
        }
    }
}

#[test]
fn random_values_round_trip_and_prefixes_fail() {
    comes_back::<EventTrigger>();
    comes_back::<ActionDefinition>();
    comes_back::<IndicationHeader>();
    comes_back::<IndicationMessage>();
    comes_back::<CallProcessId>();
    comes_back::<ControlHeader>();
    comes_back::<ControlMessage>();
    comes_back::<ControlOutcome>();
    comes_back::<FunctionDescription>();
}

#[test]
fn message_shares_the_memory_of_its_indication() {
    let message = IndicationMessage::Message(Bytes::from(vec![7; 100]));
    let octets = message.to_octets(Encoding::Per).unwrap();
    let IndicationMessage::Message(read) = IndicationMessage::decode_as(Encoding::Per, &octets).unwrap();
    assert!(octets.as_ptr_range().contains(&read.as_ptr()));
}

fn station(du_id: Option<u64>) -> GlobalE2NodeId {
    let gnb = GlobalGnbId { plmn: Plmn::new(505, 1, 2), gnb_id: ShortBits::new(5, 32) };
    GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id: None, du_id })
}

#[test]
fn our_ni_definition_matches_its_file() {
    let definition = FunctionDescription::of_reports(&[Interface::Ng, Interface::Xn]);
    let octets = definition.to_octets(Encoding::Per).unwrap();
    assert!(octets.len() < 1_023, "FlexRIC ends at {} octets", octets.len());
    if std::env::var_os("RANLAB_BLESS").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/e2sm/ni/definition.per");
        std::fs::write(file, &octets).unwrap();
    }
    assert_eq!(octets, Ni::DEFINITION, "RANLAB_BLESS=1 writes the file again");
    assert_eq!(FunctionDescription::decode_as(Encoding::Per, &octets).as_ref(), Ok(&definition));
    assert!(definition.reports(Interface::Xn) && !definition.reports(Interface::F1));
}

/// A monitor requests from each node all messages of its interfaces, with the node's own identity.
#[test]
fn monitor_subscribes_to_the_interfaces_of_each_node() {
    let triggers = Model::triggers(&Ni, Encoding::Per, Duration::from_secs(1)).unwrap();
    let subscriptions = |node: GlobalE2NodeId, interfaces: &[Interface]| {
        let definition = FunctionDescription::of_reports(interfaces).to_octets(Encoding::Per).unwrap();
        let function = RanFunctionItem { id: 1, definition, revision: 1, oid: Some(OID.to_owned()) };
        let one = |trigger: &Bytes| {
            let actions = vec![ActionToBeSetup::report(0)];
            let mut details = RicSubscriptionDetails { event_trigger: trigger.clone(), actions };
            let is_supported = complete(&node, &function, &mut details);
            let EventTrigger::Message(event) =
                EventTrigger::decode_as(Encoding::Per, &details.event_trigger).unwrap();
            is_supported.then(|| {
                let action = details.actions[0].definition.clone().unwrap();
                let action = ActionDefinition::decode_as(Encoding::Per, &action).unwrap();
                assert_eq!(action, ActionDefinition::complete());
                assert_eq!(
                    (event.direction, event.message),
                    (Direction::Both, MessageType::any(event.interface))
                );
                (event.interface, event.node.to_string())
            })
        };
        triggers.iter().filter_map(one).collect::<Vec<_>>()
    };
    let named = |interface, name: &str| (interface, name.to_owned());
    assert_eq!(
        subscriptions(station(None), &[Interface::Xn, Interface::Ng]),
        [named(Interface::Ng, "gnb 505.01 5"), named(Interface::Xn, "gnb 505.01 5")]
    );
    assert_eq!(
        subscriptions(station(Some(2)), &[Interface::F1]),
        [named(Interface::F1, "gnb 505.01 5/du 2")]
    );
    assert_eq!(subscriptions(station(None), &[]), []);
    // A trigger that names a node stays unchanged.
    let GlobalE2NodeId::Gnb(E2NodeGnb { gnb, .. }) = station(None) else { panic!() };
    let other = NodeId::NgRan(GlobalNgRanNodeId::Gnb(GlobalGnbId { plmn: Plmn::new(1, 1, 2), ..gnb }));
    let own =
        EventTrigger::Message(MessageEvent::any(Interface::Ng, other)).to_octets(Encoding::Per).unwrap();
    let at = Model::at(&Ni, Encoding::Per, &own, &station(None), &Bytes::from_static(Ni::DEFINITION));
    assert_eq!(at, Ok(Some(own)));
}

#[test]
fn copied_messages_become_rows_with_names() {
    let row = |interface, octets: Bytes| {
        let header = MessageHeader {
            interface,
            node: NodeId::from_node(&station(None)),
            direction: Direction::Outgoing,
            time: None,
        };
        let header = IndicationHeader::Message(header).to_octets(Encoding::Per).unwrap();
        let message = IndicationMessage::Message(octets).to_octets(Encoding::Per).unwrap();
        let table = Model::table(&Ni, Encoding::Per, &header, &message).unwrap();
        let (key, values) = table.rows().next().unwrap();
        (key, values.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"))
    };
    let ids = ap::messages::NgIds { amf: 1 << 39, ran: 7 };
    let complete = ap::messages::ng_release_complete(ids).unwrap().to_octets().unwrap();
    assert_eq!(
        row(Interface::Ng, complete.clone()),
        (
            RowKey::Ue { rnti: 7 },
            "ng|gnb 505.01 5|outgoing|UEContextRelease|successful|ran 7 amf 549755813888|23".to_owned()
        )
    );
    // A single element is not a message.
    let part = Message::read(Interface::Ng, &complete).unwrap().ies[0].value.clone();
    assert_eq!(row(Interface::Ng, part), (RowKey::Node, "ng|gnb 505.01 5|outgoing||||6".to_owned()));
}
