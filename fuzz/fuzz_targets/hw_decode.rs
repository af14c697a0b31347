//! Decodes the service models in aligned PER, and the interface messages in NI. Decoding must not panic, and decoded
//! messages have a canonical encoding.
#![no_main]

use std::fmt::Debug;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ranlab_e2_codec::ap::{Interface, Message};
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::hw::{HwPolicy, HwTrigger, Ping};
use ranlab_e2_codec::e2sm::ni;
use ranlab_e2_codec::e2sm::per;
use ranlab_e2_codec::e2sm::rrc::{RrcIndication, RrcTrigger};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication};
use ranlab_e2_codec::e2sm::traffic::{TrafficCommand, TrafficIndication};
use ranlab_e2_codec::per::Per;

fuzz_target!(|input: &[u8]| {
    let octets = Bytes::copy_from_slice(input);
    round_trip::<Ping>(&octets);
    round_trip::<HwTrigger>(&octets);
    round_trip::<HwPolicy>(&octets);
    round_trip::<RrcTrigger>(&octets);
    round_trip::<RrcIndication>(&octets);
    round_trip::<SliceCommand>(&octets);
    round_trip::<SliceIndication>(&octets);
    round_trip::<TrafficCommand>(&octets);
    round_trip::<TrafficIndication>(&octets);
    round_trip::<Refusal>(&octets);
    round_trip::<ni::EventTrigger>(&octets);
    round_trip::<ni::ActionDefinition>(&octets);
    round_trip::<ni::IndicationHeader>(&octets);
    round_trip::<ni::IndicationMessage>(&octets);
    round_trip::<ni::CallProcessId>(&octets);
    round_trip::<ni::ControlHeader>(&octets);
    round_trip::<ni::ControlMessage>(&octets);
    round_trip::<ni::ControlOutcome>(&octets);
    round_trip::<ni::FunctionDescription>(&octets);
    Interface::ALL.into_iter().for_each(|interface| of_interface(interface, &octets));
});

fn of_interface(interface: Interface, octets: &Bytes) {
    let Ok(message) = Message::read(interface, octets) else { return };
    let _ = (message.ue_ids(), message.procedure_name());
    let ours = message.to_octets().expect("decoded messages encode");
    assert_eq!(Message::read(interface, &ours), Ok(message));
}

fn round_trip<T: Per + PartialEq + Debug>(octets: &Bytes) {
    let Ok(value) = per::decode::<T>(octets.clone()) else { return };
    let mut ours = Vec::new();
    per::encode(&value, &mut ours).expect("decoded values encode");
    let again: T = per::decode(ours.clone().into()).expect("an encoded message can be decoded");
    assert_eq!(again, value);
    let mut canonical = Vec::new();
    per::encode(&again, &mut canonical).expect("decoded values encode");
    assert_eq!(canonical, ours);
}
