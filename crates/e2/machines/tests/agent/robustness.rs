//! Tests that an agent withstands invalid messages, and controllers that stop reading.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::agent::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_machine::Random;
use std::time::Duration;

#[test]
fn invalid_bytes_close_connection_before_setup_and_get_error_indication_later() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    bench.input(AgentInput::Connected { controller: C0 });
    bench.receive_bytes(C0, Bytes::from_static(b"HTTP/1.1 400 Bad Request"));
    assert!(matches!(&bench.closes[..], [(C0, CloseReason::NotE2ap(_))]), "{:?}", bench.closes);

    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    for bytes in [&b"HTTP/1.1"[..], &[0xff; 64], &[0], &[], &[0, 99, 0, 1, 0]] {
        bench.take(C0);
        bench.receive_bytes(C0, Bytes::from_static(bytes));
        let answers = bench.take(C0);
        assert!(matches!(&answers[..], [Message::ErrorIndication(m)] if m.cause.is_some()), "{bytes:?}");
    }
    // The response to a broken subscription names its request.
    let mut pdu = encode(&subscription(3, 7, &[0]), Version::V2_03).unwrap();
    *pdu.last_mut().unwrap() ^= 0xff;
    pdu.push(0);
    bench.receive_bytes(C0, pdu.into());
    let answers = bench.take(C0);
    let [Message::ErrorIndication(m)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((m.request_id, m.function_id), (Some(request_id(3)), Some(7)));
    assert!(bench.closes.is_empty() && bench.agent.is_up(C0));
}

#[test]
fn unexpected_message_gets_error_indication_but_error_indication_gets_none() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    let Some(setup) = Message::random("E2setupRequest", 1, Version::V2_03) else {
        panic!("expected a setup request")
    };
    let answers = bench.ask(C0, &setup);
    let [Message::ErrorIndication(m)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(m.cause, Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState)));
    assert!(bench.ask(C0, &Message::ErrorIndication(m.clone())).is_empty());
    // A broken error indication gets no response either.
    bench.receive_bytes(C0, Bytes::from_static(&[0, 2, 0x40, 3, 0, 0, 9]));
    assert!(bench.take(C0).is_empty());
}

#[test]
fn oversized_pdu_and_stalled_controller_close_connection() {
    let mut config = config();
    config.limits.pdu_bytes = 1_000;
    config.limits.outbox.control_bytes = 1_000;
    let (agent, seen) = Probe::agent(config);
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    bench.blocked.insert(C0);
    for _ in 0..100 {
        bench.receive(C0, &control(7, &[2], ACK));
    }
    assert!(matches!(&bench.closes[..], [(C0, CloseReason::OutboxFull(_))]), "{:?}", bench.closes);
    assert_eq!(seen.lock().unwrap().deleted.len(), 1);
    bench.blocked.clear();
    bench.pass(Duration::from_secs(1));
    bench.set_up(C0);
    bench.receive_bytes(C0, vec![0; 1_001].into());
    assert_eq!(bench.closes[1], (C0, CloseReason::TooLong { len: 1_001, limit: 1_000 }));
}

fn any_pdu(random: &mut Random, version: Version) -> Bytes {
    let name = Message::NAMES[random.next() as usize % Message::NAMES.len()];
    let message = Message::random(name, random.next(), version);
    let mut pdu = message.and_then(|m| encode(&m, version).ok()).unwrap_or_default();
    match random.next() % 4 {
        0 => pdu = (0..random.next() % 80).map(|_| random.next() as u8).collect(),
        1 => {
            for _ in 0..1 + random.next() % 4 {
                let at = random.next() as usize % pdu.len().max(1);
                if let Some(octet) = pdu.get_mut(at) {
                    *octet = random.next() as u8;
                }
            }
        }
        2 => pdu.truncate(random.next() as usize % (pdu.len() + 1)),
        _ => {}
    }
    pdu.into()
}

#[test]
fn random_bytes_in_any_state_do_not_crash_agent() {
    let mut random = Random::new(7);
    for run in 0..200 {
        let version = Version::ALL[run % 3];
        let mut bench =
            AgentDriver::speaking(Probe::agent(config().with(|it| it.version = version)).0, version);
        bench.add("tcp://a");
        for _ in 0..50 {
            let controller = ControllerId((random.next() % 3) as u32);
            match random.next() % 16 {
                0 => bench.input(AgentInput::Connected { controller }),
                1 => bench
                    .input(AgentInput::Disconnected { controller, why: ranlab_e2::LinkLoss::ClosedByPeer }),
                2 => bench.pass(Duration::from_millis(random.next() % 5_000)),
                3 if bench.connects.last().is_some_and(|(c, _)| *c == C0) && !bench.agent.is_up(C0) => {
                    bench.input(AgentInput::Connected { controller: C0 });
                    let sent = bench.take(C0);
                    if let Some(Message::E2SetupRequest(m)) = sent.last() {
                        let Some(Message::E2SetupResponse(r)) =
                            Message::random("E2setupResponse", 3, version)
                        else {
                            continue;
                        };
                        let transaction_id = m.transaction_id;
                        bench.receive(C0, &Message::E2SetupResponse(E2SetupResponse { transaction_id, ..r }));
                    }
                }
                4 => bench.receive(C0, &subscription(random.next() as u16 % 4, 7, &[0])),
                5 => bench.receive(C0, &control(7, &[(random.next() % 5) as u8], ACK)),
                6 => {
                    let _ = bench.agent.add_controller(bench.now, format!("c{}", random.next() % 4));
                    bench.drain();
                }
                7 => {
                    let _ = bench.agent.remove_controller(bench.now, controller);
                    bench.drain();
                }
                _ => bench.receive_bytes(controller, any_pdu(&mut random, version)),
            }
            assert!(bench.agent.subscriptions() <= 4 && bench.agent.controllers().count() <= 8);
        }
    }
}
