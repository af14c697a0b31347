//! Measures the CPU time of the RIC machine per forwarded indication of 3.3 kB, with one agent and one xApp, without
//! a transport.
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{ConnId, ListenerProtocol, Ric, RicConfig, RicInput, RicOutput};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use std::error::Error;

const AGENT: ConnId = ConnId(1);
const XAPP: ConnId = ConnId(2);

fn drain(ric: &mut Ric, now: Time) -> usize {
    let mut frames = 0;
    while let Some(output) = ric.poll() {
        let RicOutput::Transmit(conn) = output else { continue };
        while ric.transmit(now, conn).is_some() {
            frames += 1;
        }
    }
    frames
}

fn send(ric: &mut Ric, conn: ConnId, pdu: Vec<u8>) -> usize {
    ric.handle(Time::ZERO, RicInput::Received { conn, pdu: pdu.into() });
    drain(ric, Time::ZERO)
}

fn set_up(ric: &mut Ric) -> Result<(), Box<dyn Error>> {
    let v = Version::V2_03;
    let node_id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 1, 32);
    let function = RanFunctionItem { id: 142, definition: Bytes::new(), revision: 1, oid: Some("1".into()) };
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration {
            request_part: Bytes::from_static(ranlab_e2::fingerprint::MARK),
            response_part: Bytes::new(),
        },
    };
    let setup = E2SetupRequest {
        transaction_id: Some(0),
        node_id,
        functions: Some(vec![function.clone()]),
        components_v1: None,
        components: Some(vec![component]),
    };
    ric.handle(
        Time::ZERO,
        RicInput::Connected { conn: AGENT, side: ListenerProtocol::E2, peer: String::new() },
    );
    ric.handle(
        Time::ZERO,
        RicInput::Connected { conn: XAPP, side: ListenerProtocol::E42, peer: String::new() },
    );
    send(ric, AGENT, encode(&Message::E2SetupRequest(setup), v)?);
    let request = e42::SetupRequest { functions: vec![function], wants_node_events: false };
    send(ric, XAPP, e42::encode(&e42::Message::SetupRequest(request), v)?);
    let request = e42::SubscriptionRequest {
        xapp_id: 7,
        node_id,
        request_id: RicRequestId { requestor: 1, instance: 0 },
        function_id: 142,
        details: RicSubscriptionDetails {
            event_trigger: Bytes::new(),
            actions: vec![ActionToBeSetup::report(0)],
        },
    };
    send(ric, XAPP, e42::encode(&e42::Message::SubscriptionRequest(request), v)?);
    let response = RicSubscriptionResponse {
        request_id: RicRequestId { requestor: 1021, instance: 0 },
        function_id: 142,
        admitted: vec![0],
        not_admitted: None,
    };
    send(ric, AGENT, encode(&Message::RicSubscriptionResponse(response), v)?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut ric = Ric::new(RicConfig::default());
    set_up(&mut ric)?;
    let indication = RicIndication {
        request_id: RicRequestId { requestor: 1021, instance: 0 },
        function_id: 142,
        action_id: 0,
        sn: Some(1),
        kind: RicIndicationType::Report,
        header: Bytes::from_static(&[0; 4]),
        message: vec![7; 3_300].into(),
        call_process_id: None,
    };
    let pdu = Bytes::from(encode(&Message::RicIndication(indication), Version::V2_03)?);
    let clock = clock();
    for batch in [1, 8, 64] {
        let mut best = f64::MAX;
        for _ in 0..50 {
            let start = clock();
            let rounds = 20_000 / batch;
            let mut frames = 0;
            for _ in 0..rounds {
                for _ in 0..batch {
                    ric.handle(Time::ZERO, RicInput::Received { conn: AGENT, pdu: pdu.clone() });
                }
                frames += drain(&mut ric, Time::ZERO);
            }
            assert_eq!(frames, rounds * batch);
            best = best.min((clock() - start) * 1e9 / (rounds * batch) as f64);
        }
        println!("batches of {batch:2}: {best:.0} ns per indication");
    }
    Ok(())
}

/// Returns a clock in seconds since its creation. The machine has no clock, but the measurement needs one.
#[allow(clippy::disallowed_methods)]
fn clock() -> impl Fn() -> f64 {
    let start = std::time::Instant::now();
    move || start.elapsed().as_secs_f64()
}
