//! Subscription, deletion, control, modification, query, and indications under back-pressure.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use std::time::Duration;

fn failure_of(answers: &[Message]) -> CauseRicRequest {
    match answers {
        [Message::RicSubscriptionFailure(m)] => match m.cause {
            Some(Cause::RicRequest(cause)) => cause,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn invalid_subscriptions_are_refused_with_cause() {
    let mut config = config();
    config.limits.subscriptions_per_controller = 2;
    config.limits.actions_per_subscription = 3;
    let (agent, seen) = Probe::agent(config);
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    let mut refused = |m: Message| failure_of(&bench.ask(C0, &m));
    assert_eq!(refused(subscription(1, 99, &[0])), CauseRicRequest::RanFunctionIdInvalid);
    assert_eq!(refused(subscription(1, 7, &[100, 101])), CauseRicRequest::ActionNotSupported);
    assert_eq!(refused(subscription(1, 7, &[1, 1])), CauseRicRequest::DuplicateAction);
    assert_eq!(refused(subscription(1, 7, &[0, 1, 2, 3])), CauseRicRequest::ExcessiveActions);
    bench.ask(C0, &subscription(1, 7, &[0]));
    bench.ask(C0, &subscription(2, 7, &[0]));
    let full = failure_of(&bench.ask(C0, &subscription(3, 7, &[0])));
    assert_eq!(full, CauseRicRequest::FunctionResourceLimit);
    let counters = bench.agent.counters();
    assert_eq!((counters.subscriptions, counters.subscriptions_refused, counters.limit_refusals), (2, 5, 2));
    // The function was notified of the end of the subscription whose actions it refused.
    let seen = seen.lock().unwrap();
    assert_eq!((seen.subscribed.len(), seen.deleted.len()), (3, 1));
}

#[test]
fn repeated_request_gets_same_response_and_different_one_is_refused() {
    let (agent, seen) = Probe::agent(config());
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    let first = bench.ask(C0, &subscription(1, 7, &[0]));
    let [Message::RicSubscriptionResponse(m)] = &first[..] else { panic!("{first:?}") };
    // FlexRIC requires the second list even if it is empty.
    assert_eq!(m.not_admitted, Some(vec![]));
    assert_eq!(bench.ask(C0, &subscription(1, 7, &[0])), first);
    assert_eq!(seen.lock().unwrap().subscribed.len(), 1);
    assert_eq!(failure_of(&bench.ask(C0, &subscription(1, 7, &[1]))), CauseRicRequest::Unspecified);
    assert_eq!(bench.agent.subscriptions(), 1);
}

#[test]
fn only_existing_subscription_can_be_deleted() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    for (message, expected) in [
        (deletion(2, 7), CauseRicRequest::RequestIdUnknown),
        (deletion(1, 8), CauseRicRequest::RanFunctionIdInvalid),
    ] {
        let answers = bench.ask(C0, &message);
        let [Message::RicSubscriptionDeleteFailure(m)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(m.cause, Cause::RicRequest(expected));
    }
    // A repeated request gets the same response.
    for _ in 0..2 {
        let answers = bench.ask(C0, &deletion(1, 7));
        assert!(matches!(&answers[..], [Message::RicSubscriptionDeleteResponse(_)]), "{answers:?}");
        assert_eq!(bench.agent.subscriptions(), 0);
    }
    // A request id can be reused.
    bench.ask(C0, &subscription(1, 7, &[0]));
    assert_eq!(bench.agent.subscriptions(), 1);
    bench.ask(C0, &deletion(1, 7));
    assert_eq!(bench.agent.subscriptions(), 0);
}

#[test]
fn controls_are_acknowledged_on_request_but_failures_are_always_sent() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    let acknowledged = bench.ask(C0, &control(7, &[2], ACK));
    let [Message::RicControlAcknowledge(m)] = &acknowledged[..] else { panic!("{acknowledged:?}") };
    assert_eq!((m.outcome.as_deref(), m.request_id), (Some(&b"done"[..]), request_id(900)));
    for quiet in [None, Some(RicControlAckRequest::NoAck)] {
        assert!(bench.ask(C0, &control(7, &[2], quiet)).is_empty());
        let answers = bench.ask(C0, &control(7, &[0], quiet));
        let [Message::RicControlFailure(m)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(m.cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    }
    let answers = bench.ask(C0, &control(8, &[2], None));
    let [Message::RicControlFailure(m)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(m.cause, Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid));
    assert_eq!((bench.agent.counters().controls, bench.agent.counters().controls_refused), (3, 3));
}

fn numbers(messages: &[Message]) -> Vec<u16> {
    let numbers = messages.iter().filter_map(|m| match m {
        Message::RicIndication(m) => m.sn,
        _ => None,
    });
    numbers.collect()
}

#[test]
fn dropped_indications_leave_gaps_in_sequence_numbers() {
    let mut config = config();
    config.limits.outbox.indication_bytes = 1_500;
    config.limits.outbox.indication_age = Duration::from_secs(100);
    let mut bench = AgentDriver::up(Probe::agent(config).0, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    for _ in 0..3 {
        bench.receive(C0, &control(7, &[1], None));
    }
    bench.blocked.insert(C0);
    for _ in 0..100 {
        bench.receive(C0, &control(7, &[1], None));
    }
    bench.blocked.clear();
    bench.transmit(C0);
    bench.receive(C0, &control(7, &[1], None));
    let numbers = numbers(&bench.take(C0));
    let dropped = bench.agent.outbox_counters(C0).unwrap().dropped_full;
    assert!(dropped > 50);
    assert_eq!((numbers[..3].to_vec(), *numbers.last().unwrap()), (vec![0, 1, 2], 103));
    let gaps: u64 = numbers.windows(2).map(|w| u64::from(w[1] - w[0] - 1)).sum();
    assert_eq!(gaps, dropped);
}

#[test]
fn sequence_numbers_wrap_and_restart_per_subscription() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    for _ in 0..=65_536 {
        bench.receive(C0, &control(7, &[1], None));
    }
    let all = numbers(&bench.take(C0));
    assert_eq!((all[65_535], all[65_536]), (65_535, 0));
    bench.ask(C0, &deletion(1, 7));
    bench.ask(C0, &subscription(1, 7, &[0]));
    assert_eq!(numbers(&bench.ask(C0, &control(7, &[1], None))), [0]);
}

#[test]
fn function_can_request_deletion_of_its_subscriptions() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    let sent = bench.ask(C0, &control(7, &[3], None));
    let [Message::RicSubscriptionDeleteRequired(m)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((m.subscriptions.len(), m.subscriptions[0].request_id), (1, request_id(1)));
    assert_eq!(bench.agent.subscriptions(), 1);
    // v1.01 has no such message.
    let agent = Probe::agent(config().with(|it| it.version = Version::V1_01)).0;
    let mut bench = AgentDriver::up(agent, Version::V1_01);
    bench.ask(C0, &subscription(1, 7, &[0]));
    assert!(bench.ask(C0, &control(7, &[3], None)).is_empty());
}

#[test]
fn v3_procedures_upgrade_v2_connection() {
    let (agent, seen) = Probe::agent(config());
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0, 1]));
    assert!(bench.ask(C0, &control(7, &[4], None)).is_empty());
    bench.version = Version::V3_01;
    let header = Bytes::new();
    let definition = Bytes::from_static(b"what");
    let query = RicQueryRequest { request_id: request_id(5), function_id: 7, header, definition };
    let answers = bench.ask(C0, &Message::RicQueryRequest(query));
    assert!(matches!(&answers[..], [Message::RicQueryResponse(m)] if &m.outcome[..] == b"what"));

    let add = |id| ActionToBeAdded {
        id,
        kind: RicActionType::Report,
        definition: Bytes::new(),
        execution_order: 1,
        subsequent: None,
    };
    let modification = |remove: &[u8], adds: &[u8]| {
        Message::RicSubscriptionModificationRequest(RicSubscriptionModificationRequest {
            request_id: request_id(1),
            function_id: 7,
            event_trigger: None,
            remove: Some(remove.to_vec()),
            modify: None,
            add: Some(adds.iter().map(|a| add(*a)).collect()),
        })
    };
    let answers = bench.ask(C0, &modification(&[1], &[2, 100]));
    let [Message::RicSubscriptionModificationResponse(m)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((m.removed.as_deref(), m.added.as_deref()), (Some(&[1][..]), Some(&[2][..])));
    assert_eq!(m.add_failed.as_ref().unwrap()[0].id, 100);
    for impossible in [modification(&[1], &[]), modification(&[], &[2])] {
        let answers = bench.ask(C0, &impossible);
        assert!(matches!(&answers[..], [Message::RicSubscriptionModificationFailure(_)]), "{answers:?}");
    }

    // The function requests modifications: confirmed, refused, and without response.
    let request_id = request_id(1);
    let function_id = 7;
    let required = bench.ask(C0, &control(7, &[4], None));
    assert!(matches!(&required[..], [Message::RicSubscriptionModificationRequired(_)]), "{required:?}");
    let confirm = RicSubscriptionModificationConfirm {
        request_id,
        function_id,
        modified: Some(vec![0]),
        modify_refused: None,
        removed: None,
        remove_refused: None,
    };
    bench.receive(C0, &Message::RicSubscriptionModificationConfirm(confirm));
    bench.ask(C0, &control(7, &[4], None));
    let cause = Cause::Misc(CauseMisc::Unspecified);
    let diagnostics = None;
    let refuse = RicSubscriptionModificationRefuse { request_id, function_id, cause, diagnostics };
    bench.receive(C0, &Message::RicSubscriptionModificationRefuse(refuse));
    bench.ask(C0, &control(7, &[4], None));
    bench.pass(Duration::from_secs(60));
    let answers = seen.lock().unwrap().answers.join(" ");
    assert_eq!(answers, "Confirmed { modified: [0], removed: [] } Refused(Misc(Unspecified)) Unanswered");
    assert!(bench.closes.is_empty());
}
