//! Setup, reconnects, several controllers, and global procedures.
use crate::driver::*;
use ranlab_e2::agent::*;
use ranlab_e2_codec::e2ap::*;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

fn setup_failure(transaction_id: Option<u16>, time_to_wait: Option<TimeToWait>) -> E2SetupFailure {
    let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
    E2SetupFailure { transaction_id, cause, time_to_wait, diagnostics: None, tnl: None }
}

fn setup_transaction(bench: &mut AgentDriver) -> Option<u16> {
    match &bench.take(C0)[..] {
        [Message::E2SetupRequest(m)] => m.transaction_id,
        other => panic!("expected a setup request, received {other:?}"),
    }
}

#[test]
fn refused_setup_honours_time_to_wait() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    bench.input(AgentInput::Connected { controller: C0 });
    let transaction = setup_transaction(&mut bench);
    let failure = setup_failure(transaction, Some(TimeToWait::V5s));
    bench.receive(C0, &Message::E2SetupFailure(failure));
    let is_reported = bench
        .events
        .iter()
        .any(|e| matches!(e, AgentEvent::SetupFailed { cause: Some(_), retry_in, .. } if *retry_in == 5 * S));
    assert!(is_reported, "{:?}", bench.events);
    bench.pass(5 * S - Duration::from_millis(1));
    assert!(bench.take(C0).is_empty());
    bench.pass(Duration::from_millis(1));
    assert_ne!(setup_transaction(&mut bench), transaction);
    assert!(bench.closes.is_empty() && bench.connects.len() == 1);
}

/// A v2.03 response without the mandatory list of acknowledged components.
#[test]
fn undecodable_setup_response_is_reported_with_invalid_element() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    bench.input(AgentInput::Connected { controller: C0 });
    let transaction = setup_transaction(&mut bench).unwrap_or_default() as u8;
    let mut pdu =
        vec![0x20, 1, 0, 29, 0, 0, 3, 0, 49, 0, 2, 0, transaction, 0, 4, 0, 7, 0, 0, 0xf1, 0x10, 0, 1, 0x90];
    pdu.extend([0, 9, 0, 4, 0, 0, 6, 0x40]);
    bench.receive_bytes(C0, pdu.into());
    let failure = bench.agent.setup_failure(C0);
    assert!(
        matches!(&failure, Some(SetupFailure::Unreadable { reason }) if !reason.is_empty()),
        "{failure:?}"
    );
    assert_eq!(bench.agent.counters().setups_failed, 1);
}

#[test]
fn setup_response_of_other_transaction_is_reported_once() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    let mut first = None;
    for _ in 0..2 {
        bench.input(AgentInput::Connected { controller: C0 });
        let transaction = setup_transaction(&mut bench).unwrap();
        bench.events.clear();
        for stray in [77, 78].map(Some) {
            bench.receive(C0, &bench.setup_response(stray));
        }
        let expected = format!("its transaction id is 77; that of the setup request is {transaction}");
        let reported =
            |it: &&AgentEvent| matches!(it, AgentEvent::PduRefused { reason, .. } if *reason == expected);
        assert_eq!(bench.events.iter().filter(reported).count(), 1, "{:?}", bench.events);
        assert!(!bench.agent.is_up(C0));
        let attempts = bench.connects.len();
        while bench.connects.len() == attempts {
            bench.pass(S / 10);
        }
        assert_eq!(bench.closes.last(), Some(&(C0, CloseReason::Unanswered(Procedure::Setup))));
        // The reported ids are still those of the first attempt, because the cause is the same.
        let reason = first.get_or_insert(expected).clone();
        assert_eq!(bench.agent.setup_failure(C0), Some(SetupFailure::Unreadable { reason }));
    }
    bench.set_up(C0);
    assert_eq!(bench.agent.setup_failure(C0), None);
}

#[test]
fn time_to_wait_applies_after_connection_loss() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    bench.input(AgentInput::Connected { controller: C0 });
    let transaction = setup_transaction(&mut bench);
    bench.receive(C0, &Message::E2SetupFailure(setup_failure(transaction, Some(TimeToWait::V5s))));
    bench.input(AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer });
    bench.pass(5 * S - Duration::from_millis(1));
    assert_eq!(bench.connects.len(), 1);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.connects.len(), 2);
}

#[test]
fn refused_setup_without_time_to_wait_backs_off() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    bench.input(AgentInput::Connected { controller: C0 });
    for _ in 0..8 {
        let transaction = setup_transaction(&mut bench);
        bench.receive(C0, &Message::E2SetupFailure(setup_failure(transaction, None)));
        bench.pass(S);
    }
    assert_eq!(bench.agent.counters().setups_failed, 8);
}

#[test]
fn setup_failure_redirects_agent_limited_times() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("tcp://a");
    let tnl = TnlInformation {
        address: ranlab_e2_codec::per::BitString::from_octets(&[192, 0, 2, 9]),
        port: Some(ranlab_e2_codec::per::ShortBits::new(4711, 16)),
    };
    for _ in 0..5 {
        bench.input(AgentInput::Connected { controller: C0 });
        let transaction_id = setup_transaction(&mut bench);
        let failure = E2SetupFailure { tnl: Some(tnl.clone()), ..setup_failure(transaction_id, None) };
        bench.receive(C0, &Message::E2SetupFailure(failure));
        bench.pass(2 * S);
    }
    let addresses: Vec<_> = bench.connects.iter().map(|(_, a)| a.as_str()).collect();
    let elsewhere = "tcp://192.0.2.9:4711";
    assert_eq!(addresses, ["tcp://a", elsewhere, elsewhere, elsewhere, elsewhere]);
    // The agent keeps the connection after the fifth refusal. Once that is lost, it returns to the configured
    // address.
    bench.input(AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer });
    bench.pass(2 * S);
    assert_eq!(bench.connects.last().unwrap().1, "tcp://a");
}

#[test]
fn alternative_addresses_are_tried_before_time_to_wait_applies() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    assert_eq!(
        bench.agent.add_controller_at_one_of(bench.now, vec![]),
        Err(ControllerError::Addresses(ADDRESSES_MAX))
    );
    let addresses = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(bench.agent.add_controller_at_one_of(bench.now, addresses), Ok(C0));
    bench.drain();
    // The first address is unreachable; the connection to the second is lost.
    let lost = || AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer };
    bench.input(lost());
    bench.pass(S);
    bench.set_up(C0);
    bench.input(lost());
    bench.pass(S);
    for _ in 0..3 {
        bench.input(AgentInput::Connected { controller: C0 });
        let transaction = setup_transaction(&mut bench);
        bench.receive(C0, &Message::E2SetupFailure(setup_failure(transaction, Some(TimeToWait::V5s))));
        bench.pass(S);
    }
    let tried =
        |bench: &AgentDriver| bench.connects.iter().map(|(_, a)| a.clone()).collect::<Vec<_>>().concat();
    assert_eq!(tried(&bench), "abcab", "all three addresses have refused, so the agent must wait");
    bench.pass(4 * S);
    assert_eq!(tried(&bench), "abcabc");
}

#[test]
fn setup_and_connect_timeouts_are_retried() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    bench.pass(6 * S);
    assert_eq!(bench.closes, [(C0, CloseReason::ConnectTimeout)]);
    assert_eq!(bench.connects.len(), 2);
    bench.input(AgentInput::Connected { controller: C0 });
    bench.pass(4 * S);
    assert_eq!(bench.closes[1], (C0, CloseReason::Unanswered(Procedure::Setup)));
    assert_eq!(bench.connects.len(), 3);
}

/// An agent that gives up at an overloaded controller loses its position in that controller's queue.
#[test]
fn setup_timeout_doubles_until_response() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    bench.add("a");
    let mut waits = |times: usize| {
        let mut all = Vec::new();
        for _ in 0..times {
            bench.input(AgentInput::Connected { controller: C0 });
            let wait = bench.agent.wake_at().unwrap().since(bench.now);
            all.push(wait.as_secs());
            bench.pass(wait + S);
        }
        all
    };
    assert_eq!(waits(5), [3, 6, 12, 24, 24]);
}

#[test]
fn reconnect_delay_is_capped_at_one_second_with_jitter() {
    let delays = |seed| {
        let mut config = config().with(|it| it.seed = seed);
        config.timers.reconnect_max = 60 * S;
        let mut bench = AgentDriver::new(Probe::agent(config).0);
        bench.add("a");
        let mut delays = Vec::new();
        for _ in 0..40 {
            bench.input(AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer });
            let delay = bench.agent.wake_at().unwrap().since(bench.now);
            assert!(delay <= S, "{delay:?}");
            delays.push(delay);
            bench.pass(delay);
        }
        assert!(delays[0] <= Duration::from_millis(50));
        assert!(delays[20..].iter().all(|d| *d >= S / 2));
        delays
    };
    assert_eq!(delays(1), delays(1));
    assert_ne!(delays(1), delays(2));
}

#[test]
fn lost_connection_ends_subscriptions_and_new_one_starts_with_setup() {
    let (agent, seen) = Probe::agent(config());
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    assert_eq!(bench.agent.subscriptions(), 1);
    bench.input(AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer });
    assert_eq!((bench.agent.subscriptions(), seen.lock().unwrap().deleted.len()), (0, 1));
    bench.pass(S);
    bench.set_up(C0);
    assert_eq!(bench.agent.counters().setups, 2);
}

#[test]
fn all_versions_complete_setup() {
    for version in Version::ALL {
        let agent = Probe::agent(config().with(|it| it.version = version)).0;
        let mut bench = AgentDriver::up(agent, version);
        let answers = bench.ask(C0, &subscription(1, 7, &[0, 100]));
        let [Message::RicSubscriptionResponse(m)] = &answers[..] else { panic!("{version}: {answers:?}") };
        assert_eq!((&m.admitted[..], m.not_admitted.as_ref().unwrap()[0].id), (&[0][..], 100));
        let answers = bench.ask(C0, &subscription(2, 99, &[0]));
        assert!(matches!(&answers[..], [Message::RicSubscriptionFailure(_)]), "{version}: {answers:?}");
        let answers = bench.ask(C0, &control(7, &[0], ACK));
        assert!(matches!(&answers[..], [Message::RicControlFailure(_)]), "{version}: {answers:?}");
        let answers = bench.ask(C0, &control(7, &[2], ACK));
        assert!(matches!(&answers[..], [Message::RicControlAcknowledge(_)]), "{version}: {answers:?}");
        assert_eq!(bench.agent.counters().unencodable, 0);
    }
}

#[test]
fn controller_and_node_can_reset_interface() {
    let (agent, seen) = Probe::agent(config());
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    let cause = Cause::Misc(CauseMisc::OmIntervention);
    let answers = bench.ask(C0, &Message::ResetRequest(ResetRequest { transaction_id: Some(9), cause }));
    let expected = ResetResponse { transaction_id: Some(9), diagnostics: None };
    assert_eq!(answers, [Message::ResetResponse(expected)]);
    assert_eq!((bench.agent.subscriptions(), seen.lock().unwrap().deleted.len()), (0, 1));

    bench.ask(C0, &subscription(1, 7, &[0]));
    bench.agent.reset(bench.now, C0, cause).unwrap();
    bench.drain();
    let sent = bench.take(C0);
    let [Message::ResetRequest(request)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(bench.agent.subscriptions(), 0);
    // The reset is repeated twice without a response; then the connection is closed.
    let transaction_id = request.transaction_id;
    bench.pass(7 * S);
    assert_eq!(bench.take(C0).len(), 2);
    bench.receive(C0, &Message::ResetResponse(ResetResponse { transaction_id, diagnostics: None }));
    bench.pass(60 * S);
    assert!(bench.closes.is_empty());
    bench.agent.reset(bench.now, C0, cause).unwrap();
    bench.pass(60 * S);
    assert_eq!(bench.closes[0], (C0, CloseReason::Unanswered(Procedure::Reset)));
}

#[test]
fn function_changes_are_announced() {
    let late = Probe::default();
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    assert_eq!(bench.agent.register(Box::new(late.clone()), None), Ok(1));
    let update = |bench: &mut AgentDriver| {
        bench.pass(Duration::ZERO);
        let sent = bench.take(C0);
        let [Message::RicServiceUpdate(update)] = &sent[..] else { panic!("{sent:?}") };
        let accepted = None;
        let rejected = None;
        let transaction_id = update.transaction_id;
        let ack = RicServiceUpdateAcknowledge { transaction_id, accepted, rejected };
        bench.receive(C0, &Message::RicServiceUpdateAcknowledge(ack));
        update.clone()
    };
    let first = update(&mut bench);
    assert_eq!((first.added.unwrap()[0].id, first.modified, first.deleted), (1, None, None));
    *late.revision.lock().unwrap() = 1;
    bench.agent.refresh(1).unwrap();
    let second = update(&mut bench);
    assert_eq!((second.added, second.modified.unwrap()[0].revision, second.deleted), (None, 1, None));
    bench.ask(C0, &subscription(5, 1, &[0]));
    assert!(bench.agent.deregister(1).is_some());
    let third = update(&mut bench);
    assert_eq!((third.added, third.modified, third.deleted.unwrap()[0].id), (None, None, 1));
    assert_eq!((bench.agent.subscriptions(), late.seen.lock().unwrap().deleted.len()), (0, 1));
    // A query gets a response even without changes.
    let query = RicServiceQuery {
        transaction_id: Some(3),
        accepted: Some(vec![RanFunctionIdItem { id: 7, revision: 0 }]),
    };
    bench.receive(C0, &Message::RicServiceQuery(query));
    let answer = update(&mut bench);
    assert_eq!((answer.added, answer.modified, answer.deleted), (None, None, None));
    bench.receive(C0, &Message::RicServiceQuery(RicServiceQuery { transaction_id: Some(4), accepted: None }));
    assert_eq!(update(&mut bench).added.unwrap()[0].id, 7);
    bench.pass(60 * S);
    assert!(bench.closes.is_empty() && bench.agent.counters().stray_answers == 0);
}

#[test]
fn refused_update_is_repeated_after_time_to_wait() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.agent.register(Box::new(Probe::default()), None).unwrap();
    bench.pass(Duration::ZERO);
    let sent = bench.take(C0);
    let [Message::RicServiceUpdate(update)] = &sent[..] else { panic!("{sent:?}") };
    let failure = RicServiceUpdateFailure {
        transaction_id: update.transaction_id,
        rejected: None,
        cause: Some(Cause::Misc(CauseMisc::ControlProcessingOverload)),
        time_to_wait: Some(TimeToWait::V2s),
        diagnostics: None,
    };
    bench.receive(C0, &Message::RicServiceUpdateFailure(failure));
    bench.pass(2 * S - Duration::from_millis(1));
    assert!(bench.take(C0).is_empty());
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.take(C0), sent);
}

#[test]
fn third_party_controller_gets_one_procedure_at_a_time() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.agent.register(Box::new(Probe::default()), None).unwrap();
    bench.agent.set_components(vec![component("amf"), component("amf2")]);
    bench.pass(S);
    let sent = bench.take(C0);
    let [Message::RicServiceUpdate(update)] = &sent[..] else { panic!("{sent:?}") };
    let transaction_id = update.transaction_id;
    let accepted = None;
    let rejected = None;
    let ack = RicServiceUpdateAcknowledge { transaction_id, accepted, rejected };
    bench.receive(C0, &Message::RicServiceUpdateAcknowledge(ack));
    bench.pass(Duration::ZERO);
    assert!(matches!(bench.take(C0)[..], [Message::E2NodeConfigurationUpdate(_)]));
}

#[test]
fn component_changes_are_announced() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    let mut changed = component("amf");
    changed.configuration.request_part = bytes::Bytes::from_static(b"new");
    bench.agent.set_components(vec![changed, component("amf2")]);
    bench.pass(Duration::ZERO);
    let sent = bench.take(C0);
    let [Message::E2NodeConfigurationUpdate(m)] = &sent[..] else { panic!("{sent:?}") };
    let sizes = [&m.added.as_ref().map(Vec::len), &m.updated.as_ref().map(Vec::len)];
    assert_eq!((sizes, &m.removed), ([&Some(1), &Some(1)], &None));
    let added = None;
    let updated = None;
    let removed = None;
    let transaction_id = m.transaction_id;
    let ack = E2NodeConfigurationUpdateAcknowledge { transaction_id, added, updated, removed };
    bench.receive(C0, &Message::E2NodeConfigurationUpdateAcknowledge(ack));
    bench.agent.set_components(vec![component("amf2")]);
    bench.pass(Duration::ZERO);
    let sent = bench.take(C0);
    let [Message::E2NodeConfigurationUpdate(m)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((m.added.is_none(), m.removed.as_ref().map(Vec::len)), (true, Some(1)));
}

#[test]
fn ues_belong_to_first_controller_and_to_associated_ones() {
    let (agent, seen) = Probe::agent(config());
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    let c1 = bench.add("b");
    bench.set_up(c1);
    for ue in [1, 2, 3] {
        bench.agent.ue_arrived(UeId(ue)).unwrap();
    }
    assert_eq!(bench.agent.associate_ue(UeId(9), c1), Err(UeError::UnknownUe(UeId(9))));
    assert_eq!(
        bench.agent.associate_ue(UeId(1), ControllerId(9)),
        Err(UeError::UnknownController(ControllerId(9)))
    );
    bench.agent.associate_ue(UeId(2), c1).unwrap();
    bench.agent.associate_ue(UeId(3), c1).unwrap();
    bench.agent.ue_left(UeId(3));
    for id in [C0, c1] {
        bench.ask(id, &control(7, &[2], None));
    }
    assert_eq!(seen.lock().unwrap().ues, [vec![1, 2], vec![2]]);
    // The first controller disconnects: the next one is the default.
    bench.input(AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer });
    bench.agent.remove_controller(bench.now, C0).unwrap();
    bench.drain();
    assert_eq!(bench.agent.ues_of(c1).iter().count(), 2);
}

#[test]
fn controllers_have_separate_request_ids() {
    let (agent, seen) = Probe::agent(config());
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    let c1 = bench.add("b");
    bench.set_up(c1);
    for id in [C0, c1] {
        bench.ask(id, &subscription(1, 7, &[0]));
    }
    assert_eq!(seen.lock().unwrap().subscribed.iter().map(|s| s.1).collect::<Vec<_>>(), [C0, c1]);
    bench.ask(C0, &control(7, &[1], None));
    assert!(matches!(bench.take(c1)[..], [Message::RicIndication(_)]));
    bench.ask(C0, &deletion(1, 7));
    assert_eq!(bench.agent.subscriptions(), 1);
}

fn tnl(last: u8) -> TnlInformation {
    let address = ranlab_e2_codec::per::BitString::from_octets(&[192, 0, 2, last]);
    TnlInformation { address, port: Some(ranlab_e2_codec::per::ShortBits::new(36421, 16)) }
}

#[test]
fn connection_update_adds_and_removes_controllers() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    let update = |add: Option<u8>, remove: Option<u8>| {
        Message::E2ConnectionUpdate(E2ConnectionUpdate {
            transaction_id: Some(1),
            add: add.map(|a| vec![E2ConnectionUpdateItem { tnl: tnl(a), usage: TnlUsage::Both }]),
            remove: remove.map(|r| vec![E2ConnectionRemoveItem { tnl: tnl(r) }]),
            modify: None,
        })
    };
    assert!(
        bench.ask(C0, &update(Some(2), None)).is_empty(),
        "the agent must not respond before the added connection is set up"
    );
    assert_eq!(bench.connects[1], (C1, "tcp://192.0.2.2:36421".to_owned()));
    bench.set_up(C1);
    let answers = bench.take(C0);
    assert!(
        matches!(&answers[..], [Message::E2ConnectionUpdateAcknowledge(m)] if m.setup.is_some() && m.failed.is_none())
    );
    // Only the default controller may add or remove other controllers.
    for refused in [update(Some(3), None), update(None, Some(1))] {
        let answers = bench.ask(C1, &refused);
        assert!(matches!(&answers[..], [Message::E2ConnectionUpdateFailure(_)]), "{answers:?}");
    }
    let answers = bench.ask(C0, &update(None, Some(2)));
    assert!(matches!(&answers[..], [Message::E2ConnectionUpdateAcknowledge(_)]));
    let parting = bench.take(C1);
    let [Message::E2RemovalRequest(m)] = &parting[..] else { panic!("{parting:?}") };
    let transaction_id = m.transaction_id;
    let diagnostics = None;
    bench.receive(C1, &Message::E2RemovalResponse(E2RemovalResponse { transaction_id, diagnostics }));
    assert_eq!(bench.closes, [(C1, CloseReason::Removed)]);
    assert_eq!(bench.agent.controllers().count(), 1);
    bench.pass(60 * S);
    assert_eq!(bench.connects.len(), 2);
}

#[test]
fn failed_connection_is_listed_and_not_retried() {
    let c2 = ControllerId(2);
    let update = |add: &[u8]| {
        let item = |last: &u8| E2ConnectionUpdateItem { tnl: tnl(*last), usage: TnlUsage::Both };
        Message::E2ConnectionUpdate(E2ConnectionUpdate {
            transaction_id: Some(1),
            add: Some(add.iter().map(item).collect()),
            remove: None,
            modify: None,
        })
    };
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    // Neither is reachable: both are refused immediately.
    assert!(bench.ask(C0, &update(&[2, 3])).is_empty());
    bench.input(AgentInput::Disconnected { controller: C1, why: ranlab_e2::LinkLoss::ClosedByPeer });
    assert!(bench.take(C0).is_empty());
    bench.pass(2 * S);
    let answers = bench.take(C0);
    assert!(
        matches!(&answers[..], [Message::E2ConnectionUpdateFailure(m)] if m.cause.is_some()),
        "{answers:?}"
    );
    assert_eq!(bench.agent.controllers().count(), 1);
    // One of two is reachable.
    let c3 = ControllerId(3);
    let c4 = ControllerId(4);
    assert_ne!(c2, c3);
    bench.ask(C0, &update(&[2, 3]));
    bench.input(AgentInput::Disconnected { controller: c4, why: ranlab_e2::LinkLoss::ClosedByPeer });
    bench.set_up(c3);
    let answers = bench.take(C0);
    let [Message::E2ConnectionUpdateAcknowledge(m)] = &answers[..] else { panic!("{answers:?}") };
    let of = |list: Option<usize>| list.unwrap_or_default();
    assert_eq!((of(m.setup.as_ref().map(Vec::len)), of(m.failed.as_ref().map(Vec::len))), (1, 1));
    let connects = bench.connects.len();
    bench.pass(60 * S);
    assert_eq!((bench.connects.len(), bench.agent.controllers().count()), (connects, 2));
}

#[test]
fn controller_removal_gets_response_and_ends_link() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.ask(C0, &subscription(1, 7, &[0]));
    let answers = bench.ask(C0, &Message::E2RemovalRequest(E2RemovalRequest { transaction_id: Some(4) }));
    assert!(matches!(&answers[..], [Message::E2RemovalResponse(m)] if m.transaction_id == Some(4)));
    assert_eq!(bench.closes, [(C0, CloseReason::Removed)]);
    assert_eq!((bench.agent.subscriptions(), bench.agent.controllers().count()), (0, 0));
    assert_eq!(bench.agent.wake_at(), None);
}

#[test]
fn removal_without_response_ends_link() {
    let mut bench = AgentDriver::up(Probe::agent(config()).0, Version::V2_03);
    bench.agent.remove_controller(bench.now, C0).unwrap();
    bench.pass(60 * S);
    assert_eq!(bench.closes, [(C0, CloseReason::Removed)]);
    // v1.01 has no such procedure.
    let agent = Probe::agent(config().with(|it| it.version = Version::V1_01)).0;
    let mut bench = AgentDriver::up(agent, Version::V1_01);
    bench.agent.remove_controller(bench.now, C0).unwrap();
    bench.drain();
    assert_eq!(bench.closes, [(C0, CloseReason::Removed)]);
}

#[test]
fn number_of_controllers_is_limited() {
    let mut bench = AgentDriver::new(Probe::agent(config()).0);
    for i in 0..8 {
        bench.add(&format!("c{i}"));
    }
    assert_eq!(bench.agent.add_controller(bench.now, "c8".into()), Err(ControllerError::TooMany(8)));
    assert_eq!(
        bench.agent.add_controller(bench.now, "c3".into()),
        Err(ControllerError::AlreadyThere(ControllerId(3)))
    );
    assert_eq!(bench.agent.add_controller(bench.now, String::new()), Err(ControllerError::BadAddress(256)));
}
