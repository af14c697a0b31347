//! RAN functions of this crate at an agent.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::association::{self, Association, AssociationCommand};
use ranlab_e2::functions::hw::Hw;
use ranlab_e2::functions::stats::{PeriodicReport, StatsSource};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::hw::{HwPeriodic, HwPolicy, HwPolicyAction, HwTrigger, Ping};
use ranlab_e2_codec::e2sm::{Encoding, Octets, hw, mac, per};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

struct Ues;

impl StatsSource for Ues {
    fn fill(&mut self, now: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        out.push((now.as_nanos() / 1_000_000) as u8);
        out.extend(ues.iter().map(|ue| ue.0 as u8));
    }
}

fn asking(requestor: u16, function_id: u16, event_trigger: &[u8], actions: Vec<ActionToBeSetup>) -> Message {
    let details = RicSubscriptionDetails { event_trigger: Bytes::copy_from_slice(event_trigger), actions };
    let start_time = None;
    let end_time = None;
    let request_id = request_id(requestor);
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id,
        function_id,
        details,
        start_time,
        end_time,
    })
}

fn report(requestor: u16, period_ms: u32) -> Message {
    asking(requestor, mac::DEFAULT_FUNCTION_ID, &period_ms.to_le_bytes(), vec![ActionToBeSetup::report(0)])
}

fn messages(sent: &[Message]) -> Vec<Bytes> {
    let indications = sent.iter().map(|m| match m {
        Message::RicIndication(m) => m.message.clone(),
        other => panic!("{other:?}"),
    });
    indications.collect()
}

fn encoded<T: ranlab_e2_codec::per::Per>(value: &T) -> Bytes {
    let mut out = Vec::new();
    per::encode(value, &mut out).unwrap();
    out.into()
}

#[test]
fn statistics_keep_period_and_contain_visible_ues() {
    let function = PeriodicReport::for_model(&mac::Mac, Ues);
    let counters = function.counters();
    let mut agent = Agent::new(config());
    agent.register(Box::new(function), Some(mac::DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    let c1 = bench.add("b");
    bench.set_up(c1);
    (1..=3).for_each(|ue| bench.agent.ue_arrived(UeId(ue)).unwrap());
    bench.agent.associate_ue(UeId(2), c1).unwrap();
    bench.ask(C0, &report(1, 10));
    bench.ask(c1, &report(1, 25));
    bench.pass(50 * MS);
    let first = messages(&bench.take(C0));
    assert_eq!(first, [10, 20, 30, 40, 50].map(|ms| vec![ms, 1, 2, 3]));
    assert_eq!(messages(&bench.take(c1)), [25, 50].map(|ms| vec![ms, 2]));
    assert_eq!((counters.reports(), counters.late()), (7, 0));
    // A wake-up is 34 ms late: one report is sent immediately, three are skipped, then the schedule continues.
    bench.now += 44 * MS;
    bench.input(AgentInput::Wake);
    assert_eq!(messages(&bench.take(C0)), [vec![94, 1, 2, 3]]);
    assert_eq!(counters.late(), 3);
    bench.pass(6 * MS);
    assert_eq!(messages(&bench.take(C0)), [vec![100, 1, 2, 3]]);
    bench.ask(C0, &deletion(1, mac::DEFAULT_FUNCTION_ID));
    bench.ask(c1, &deletion(1, mac::DEFAULT_FUNCTION_ID));
    bench.pass(1_000 * MS);
    assert!(bench.take(C0).is_empty() && bench.agent.wake_at().is_none());
}

#[test]
fn statistics_refuse_invalid_periods_and_other_action_types() {
    let mut agent = Agent::new(config().with(|it| it.version = Version::V3_01));
    agent
        .register(Box::new(PeriodicReport::for_model(&mac::Mac, Ues)), Some(mac::DEFAULT_FUNCTION_ID))
        .unwrap();
    let mut bench = AgentDriver::up(agent, Version::V3_01);
    let insert = ActionToBeSetup { kind: RicActionType::Insert, ..ActionToBeSetup::report(0) };
    let report = || vec![ActionToBeSetup::report(0)];
    for (trigger, actions, expected) in [
        (&[0, 0, 0, 0][..], report(), CauseRicRequest::EventTriggerNotSupported),
        (&60_001u32.to_le_bytes(), report(), CauseRicRequest::EventTriggerNotSupported),
        (&[1, 0, 0], report(), CauseRicRequest::EventTriggerNotSupported),
        (&[1, 0, 0, 0], vec![insert], CauseRicRequest::ActionNotSupported),
    ] {
        let answers = bench.ask(C0, &asking(1, mac::DEFAULT_FUNCTION_ID, trigger, actions));
        let [Message::RicSubscriptionFailure(m)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(m.cause, Some(Cause::RicRequest(expected)));
    }
    assert_eq!(bench.agent.wake_at(), None);
}

fn hw_bench() -> AgentDriver {
    let mut agent = Agent::new(config());
    agent.register(Box::new(Hw::new()), Some(hw::DEFAULT_FUNCTION_ID)).unwrap();
    AgentDriver::up(agent, Version::V3_01)
}

fn ping(seq: u32, payload: &'static [u8]) -> Bytes {
    encoded(&Ping { seq, t_send_ns: 1, payload: Bytes::from_static(payload) })
}

fn of_kind(id: u8, kind: RicActionType) -> ActionToBeSetup {
    ActionToBeSetup { kind, ..ActionToBeSetup::report(id) }
}

#[test]
fn hw_echoes_as_report_and_insert() {
    let mut bench = hw_bench();
    let actions = vec![of_kind(1, RicActionType::Report), of_kind(2, RicActionType::Insert)];
    bench.ask(C0, &asking(1, hw::DEFAULT_FUNCTION_ID, &encoded(&HwTrigger::OnControl), actions));
    let sent = bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, &ping(5, b"x"), None));
    let [Message::RicIndication(a), Message::RicIndication(b)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((a.action_id, a.kind, a.call_process_id.as_deref()), (1, RicIndicationType::Report, None));
    let process = &[0, 0, 0, 1][..];
    assert_eq!(
        (b.action_id, b.kind, b.call_process_id.as_deref()),
        (2, RicIndicationType::Insert, Some(process))
    );
    assert_eq!((&a.message, &b.message, a.header.len()), (&ping(5, b"x"), &ping(5, b"x"), 0));
    let answers = bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, b"what", None));
    assert!(matches!(&answers[..], [Message::RicControlFailure(_)]));
}

#[test]
fn hw_sends_periodic_reports() {
    let mut bench = hw_bench();
    let trigger = encoded(&HwTrigger::Periodic(HwPeriodic { period_ms: 10, payload_size: 7 }));
    bench.ask(C0, &asking(1, hw::DEFAULT_FUNCTION_ID, &trigger, vec![ActionToBeSetup::report(0)]));
    bench.pass(20 * MS);
    let pings = messages(&bench.take(C0)).into_iter().map(|m| per::decode::<Ping>(m).unwrap());
    let expected = [10_000_000, 20_000_000].into_iter().zip(0..);
    let payload = Bytes::from_static(&[0; 7]);
    let expected = expected.map(|(t_send_ns, seq)| Ping { seq, t_send_ns, payload: payload.clone() });
    assert!(pings.eq(expected));
    // A control does not affect the periodic pings.
    assert!(bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, &ping(0, b""), None)).is_empty());
}

#[test]
fn hw_applies_policies_until_they_are_deleted() {
    let mut bench = hw_bench();
    let on_control = encoded(&HwTrigger::OnControl);
    bench.ask(C0, &asking(1, hw::DEFAULT_FUNCTION_ID, &on_control, vec![ActionToBeSetup::report(0)]));
    for (action, echoes) in [
        (HwPolicyAction::Ignore, vec![]),
        (HwPolicyAction::EchoHeader, vec![ping(1, b"")]),
        (HwPolicyAction::EchoTwice, vec![ping(1, b"large"); 2]),
    ] {
        let definition = Some(encoded(&HwPolicy { threshold: 3, action }));
        let policy = ActionToBeSetup { definition, ..of_kind(0, RicActionType::Policy) };
        let answers = bench.ask(C0, &asking(2, hw::DEFAULT_FUNCTION_ID, &on_control, vec![policy]));
        assert!(matches!(&answers[..], [Message::RicSubscriptionResponse(_)]), "{answers:?}");
        let sent = bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, &ping(1, b"large"), None));
        assert_eq!(messages(&sent), echoes);
        let sent = bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, &ping(1, b"abc"), None));
        assert_eq!(messages(&sent), [ping(1, b"abc")]);
        bench.ask(C0, &deletion(2, hw::DEFAULT_FUNCTION_ID));
        let sent = bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, &ping(1, b"large"), None));
        assert_eq!(messages(&sent), [ping(1, b"large")]);
    }
    let definition = Some(encoded(&HwPolicy { threshold: 3, action: HwPolicyAction::Reject }));
    let policy = ActionToBeSetup { definition, ..of_kind(0, RicActionType::Policy) };
    bench.ask(C0, &asking(2, hw::DEFAULT_FUNCTION_ID, &on_control, vec![policy]));
    let sent = bench.ask(C0, &control(hw::DEFAULT_FUNCTION_ID, &ping(1, b"large"), ACK));
    assert!(matches!(&sent[..], [Message::RicControlFailure(_)]));
    // A policy without a definition, and an invalid trigger.
    let undefined = vec![of_kind(0, RicActionType::Policy)];
    let answers = bench.ask(C0, &asking(3, hw::DEFAULT_FUNCTION_ID, &on_control, undefined));
    assert!(matches!(&answers[..], [Message::RicSubscriptionFailure(_)]));
    let answers =
        bench.ask(C0, &asking(3, hw::DEFAULT_FUNCTION_ID, b"junk", vec![ActionToBeSetup::report(0)]));
    assert!(matches!(&answers[..], [Message::RicSubscriptionFailure(_)]));
}

#[test]
fn association_commands_add_and_remove_controller_and_assign_ue() {
    let mut agent = Agent::new(config());
    agent.register(Box::new(Association::new()), Some(association::DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    bench.agent.ue_arrived(UeId(4)).unwrap();
    let order =
        |command: AssociationCommand| control(association::DEFAULT_FUNCTION_ID, &command.encode(), ACK);
    let address = || "tcp://192.0.2.2:1".to_owned();
    let associate = |ue| order(AssociationCommand::Associate { ue, address: address() });
    let why = |answers: Vec<Message>| {
        let [Message::RicControlFailure(failure)] = &answers[..] else { panic!("{answers:?}") };
        Refusal::decode_as(Encoding::Per, failure.outcome.as_ref().unwrap()).unwrap()
    };
    let refusal = why(bench.ask(C0, &associate(4)));
    assert_eq!((refusal.reason, refusal.detail.contains(&address())), (Reason::Invalid, true), "{refusal:?}");
    for _ in 0..2 {
        let answers = bench.ask(C0, &order(AssociationCommand::AddController { address: address() }));
        let [Message::RicControlAcknowledge(m)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(m.outcome.as_deref(), Some(&[0, 0, 0, 1][..]));
    }
    assert_eq!(bench.connects[1..], [(C1, address())]);
    bench.set_up(C1);
    assert!(matches!(&bench.ask(C0, &associate(4))[..], [Message::RicControlAcknowledge(_)]));
    assert_eq!(why(bench.ask(C0, &associate(5))).reason, Reason::UnknownUe);
    assert_eq!(bench.agent.ues_of(C1).len(), 1);
    bench.ask(C0, &order(AssociationCommand::Dissociate { ue: 4, address: address() }));
    assert_eq!(bench.agent.ues_of(C1).len(), 0);
    // The second controller has no permission.
    assert_eq!(why(bench.ask(C1, &associate(4))).reason, Reason::NotOwner);
    for n in 3..9 {
        let further = AssociationCommand::AddController { address: format!("tcp://192.0.2.{n}:1") };
        assert!(matches!(&bench.ask(C0, &order(further))[..], [Message::RicControlAcknowledge(_)]));
    }
    let ninth = AssociationCommand::AddController { address: "tcp://192.0.2.9:1".to_owned() };
    assert_eq!(why(bench.ask(C0, &order(ninth))).reason, Reason::TooMany);
    let remove = order(AssociationCommand::RemoveController { address: address() });
    assert!(matches!(&bench.ask(C0, &remove)[..], [Message::RicControlAcknowledge(_)]));
    assert!(matches!(&bench.take(C1)[..], [Message::E2RemovalRequest(_)]));
    bench.input(AgentInput::Disconnected { controller: C1, why: ranlab_e2::LinkLoss::ClosedByPeer });
    assert_eq!(bench.agent.controllers().count(), 7);
}
