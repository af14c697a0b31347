//! RC policies at an agent: admission, evaluation, and the state after their end.
use crate::driver::*;
use crate::rc_reports::{admitted, asking, insert, refused};
use proptest::prelude::*;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::rc::{self, CarrierQuotas, POLICIES_MAX, RcControl, RcEvent, RcMobility};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rc::commands::{FlowMapping, Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::policy::{self as policies, CONDITIONS, Condition, PolicyEffect, Test};
use ranlab_e2_codec::e2sm::rc::*;
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);
const MS: Duration = Duration::from_millis(1);

/// A base station whose UE `n` selected slice `n`. It refuses quotas of more than 100 % in total.
#[derive(Default)]
struct Cell {
    ues: Vec<u32>,
    quotas: Vec<SliceQuota>,
    /// Whether the carrier is shared by other means than quotas.
    foreign: bool,
    decided: Vec<(u32, NrCgi)>,
    handed_over: Vec<(u32, u64)>,
    orders: usize,
}

#[derive(Clone, Default)]
struct Station(Arc<Mutex<Cell>>);

impl Station {
    fn quotas(&self) -> Vec<(u8, u8)> {
        self.0.lock().unwrap().quotas.iter().map(|it| (it.slice.sst, it.max)).collect()
    }

    fn set<T>(&self, change: impl FnOnce(&mut Cell) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }
}

impl RcControl for Station {
    fn execute(&mut self, _: Time, number: u32, order: &Order) -> Result<(), Refusal> {
        self.could(order)?;
        let mut cell = self.0.lock().unwrap();
        cell.orders += 1;
        match order {
            Order::SliceQuotas(quotas) => cell.quotas.clone_from(quotas),
            Order::Handover(to) => cell.handed_over.push((number, to.cell)),
            Order::QosFlows { .. } => panic!("{order:?}"),
        }
        Ok(())
    }

    fn quotas(&mut self) -> Option<CarrierQuotas> {
        let cell = self.0.lock().unwrap();
        let up = cell.quotas.clone();
        (!cell.foreign).then(|| CarrierQuotas { down: up.clone(), up })
    }

    fn could(&self, order: &Order) -> Result<(), Refusal> {
        let Order::SliceQuotas(quotas) = order else { return Ok(()) };
        let all: u32 = quotas.iter().map(|it| u32::from(it.max)).sum();
        if all > 100 { Err(Refusal::new(Reason::Overcommitted, format!("{all} %"))) } else { Ok(()) }
    }

    fn knows_rrc(&self) -> bool {
        true
    }

    fn mobility(&mut self) -> Option<&mut dyn RcMobility> {
        Some(self)
    }
}

impl RcMobility for Station {
    fn name(&self, number: u32) -> Name {
        Name::du(number)
    }

    fn ues(&mut self) -> Vec<(u32, Cgi)> {
        let at = Cgi::Nr(NrCgi { plmn: PLMN, cell: 1 });
        self.set(|it| it.ues.iter().map(|number| (*number, at)).collect())
    }

    fn slices(&mut self, number: u32) -> Vec<Snssai> {
        vec![Snssai { sst: number as u8, sd: Some(7) }]
    }

    fn cells(&mut self) -> Vec<Cgi> {
        Vec::new()
    }

    fn events(&mut self, _: Time) -> Vec<RcEvent> {
        Vec::new()
    }

    fn decisions(&mut self, _: Time) -> Vec<(u32, NrCgi)> {
        self.set(|it| std::mem::take(&mut it.decided))
    }

    fn decides(&self) -> bool {
        true
    }
}

/// Returns a base station with the connected UEs 1 and 2.
fn bench() -> (AgentDriver, Station) {
    let station = Station::default();
    station.set(|it| it.ues = vec![1, 2]);
    let mut agent = Agent::new(config());
    agent.register(rc::function(station.clone()), Some(DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    (1..=4).for_each(|ue| bench.agent.ue_arrived(UeId(ue)).unwrap());
    (bench, station)
}

fn quotas(quotas: &[(u8, u8)]) -> Order {
    let quota = |&(sst, max): &(u8, u8)| SliceQuota {
        plmn: PLMN,
        slice: Snssai { sst, sd: None },
        min: 0,
        max,
        dedicated: 0,
    };
    Order::SliceQuotas(quotas.iter().map(quota).collect())
}

fn slice(sst: u8) -> Test {
    Test::Slice(Snssai { sst, sd: None })
}

fn policy(requestor: u16, trigger: &EventTrigger, action: &ActionDefinition) -> Message {
    asking(requestor, trigger, RicActionType::Policy, action, None)
}

fn sharing(requestor: u16, policies: &[(&[(u8, u8)], Condition)]) -> Message {
    let policies =
        policies.iter().map(|(shares, condition)| (PolicyEffect::Obey(quotas(shares)), condition.clone()));
    policy(requestor, &EventTrigger::states(), &ActionDefinition::policies(2, policies))
}

fn control(order: &Order) -> Message {
    let (style, action) = order.action();
    Message::RicControlRequest(RicControlRequest {
        request_id: request_id(9),
        function_id: DEFAULT_FUNCTION_ID,
        call_process_id: None,
        header: ControlHeader::action(Name::du(1), style, action).to_octets(Encoding::Per).unwrap(),
        message: order.message().to_octets(Encoding::Per).unwrap(),
        ack_request: ACK,
    })
}

fn acknowledged(answers: &[Message]) -> bool {
    matches!(answers, [Message::RicControlAcknowledge(_)])
}

#[test]
fn quotas_apply_while_condition_holds_and_end_with_subscription() {
    let (mut bench, station) = bench();
    assert!(acknowledged(&bench.ask(C0, &control(&quotas(&[(1, 60), (2, 30)])))));
    assert!(admitted(&bench.ask(C0, &sharing(1, &[(&[(2, 20)], vec![(slice(3), false)])]))));
    assert_eq!(station.quotas(), [(1, 60), (2, 30)], "the policy must not apply while no UE has slice 3");
    station.set(|it| it.ues.push(3));
    bench.pass(20 * MS);
    assert_eq!(station.quotas(), [(1, 60), (2, 20)]);
    station.set(|it| it.ues.retain(|ue| *ue != 3));
    bench.pass(20 * MS);
    assert_eq!(station.quotas(), [(1, 60), (2, 30)]);
    station.set(|it| it.ues.push(3));
    bench.pass(20 * MS);
    assert_eq!(station.quotas(), [(1, 60), (2, 20)]);
    bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
    assert_eq!(station.quotas(), [(1, 60), (2, 30)]);
    let orders = station.set(|it| it.orders);
    station.set(|it| it.ues.retain(|ue| *ue != 3));
    bench.pass(50 * MS);
    assert_eq!(station.set(|it| it.orders), orders, "a deleted policy must not be evaluated any more");
}

#[test]
fn policies_override_controls_and_apply_again_for_new_ues() {
    let (mut bench, station) = bench();
    assert!(admitted(&bench.ask(C0, &sharing(1, &[(&[(1, 20)], vec![])]))));
    assert_eq!(station.quotas(), [(1, 20)], "a policy without a condition must apply immediately");
    assert!(acknowledged(&bench.ask(C0, &control(&quotas(&[(1, 50), (2, 40)])))));
    assert_eq!(station.quotas(), [(2, 40), (1, 20)]);
    let orders = station.set(|it| it.orders);
    station.set(|it| it.ues.push(4));
    bench.pass(20 * MS);
    assert!(station.set(|it| it.orders) > orders);
    // Quotas that the base station gets in other ways are kept, and the policy is applied on top of them.
    let Order::SliceQuotas(other) = quotas(&[(3, 70)]) else { panic!() };
    station.set(|it| (it.quotas, it.ues) = (other, vec![1]));
    bench.pass(20 * MS);
    assert_eq!(station.quotas(), [(3, 70), (1, 20)]);
    bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
    assert_eq!(station.quotas(), [(3, 70)]);
}

#[test]
fn policy_does_not_change_carrier_that_is_sliced_by_other_means() {
    let (mut bench, station) = bench();
    station.set(|it| it.foreign = true);
    assert!(admitted(&bench.ask(C0, &sharing(1, &[(&[(1, 20)], vec![])]))));
    bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
    assert_eq!(station.set(|it| it.orders), 0);
}

#[test]
fn first_matching_policy_of_oldest_subscription_wins() {
    let (mut bench, station) = bench();
    let both: &[(&[(u8, u8)], Condition)] = &[(&[(1, 10)], vec![(slice(3), false)]), (&[(1, 30)], vec![])];
    assert!(admitted(&bench.ask(C0, &sharing(1, both))));
    assert!(admitted(&bench.ask(C0, &sharing(2, &[(&[(1, 40), (2, 50)], vec![])]))));
    assert_eq!(station.quotas(), [(1, 30), (2, 50)]);
    station.set(|it| it.ues.push(3));
    bench.pass(20 * MS);
    assert_eq!(station.quotas(), [(1, 10), (2, 50)]);
    // The quotas 10, 50 and 60 % exceed the carrier in sum, so no quotas of policies are imposed.
    assert!(admitted(&bench.ask(C0, &sharing(3, &[(&[(4, 60)], vec![])]))));
    assert_eq!(station.quotas(), []);
    bench.ask(C0, &deletion(3, DEFAULT_FUNCTION_ID));
    assert_eq!(station.quotas(), [(1, 10), (2, 50)]);
}

#[test]
fn condition_tests_are_combined_from_left_to_right() {
    use Comparison::{Equal, GreaterThan, LessThan};
    let count = |comparison, number| Test::ConnectedUes(comparison, number);
    for (condition, expected) in [
        (vec![(slice(1), false), (Test::Ue(Name::du(1)), false)], true),
        (vec![(slice(1), false), (Test::Ue(Name::du(2)), false)], false),
        (vec![(slice(9), true), (slice(2), false)], true),
        (vec![(slice(1), true), (slice(9), false), (count(GreaterThan, 2), false)], false),
        (vec![(count(GreaterThan, 1), false), (slice(2), false)], true),
        (vec![(count(LessThan, 2), false)], false),
        (vec![(count(Equal, 2), false)], true),
        (vec![(Test::Slice(Snssai { sst: 1, sd: Some(8) }), false)], false),
        (vec![(Test::Slice(Snssai { sst: 1, sd: Some(7) }), false)], true),
    ] {
        let (mut bench, station) = bench();
        assert!(admitted(&bench.ask(C0, &sharing(1, &[(&[(1, 20)], condition.clone())]))));
        assert_eq!(!station.quotas().is_empty(), expected, "{condition:?}");
    }
}

#[test]
fn handover_policy_decides_without_insert_indication() {
    let to = |cell| NrCgi { plmn: PLMN, cell };
    let of = |ue| vec![(Test::Ue(Name::du(ue)), false)];
    for (action, expected) in [
        (ActionDefinition::handover_policy(Decision::Reject, None, of(1)), vec![]),
        (ActionDefinition::handover_policy(Decision::Accept, None, of(1)), vec![(1, 2)]),
        (ActionDefinition::handover_policy(Decision::Accept, Some(to(3)), of(1)), vec![(1, 3)]),
        (ActionDefinition::handover_policy(Decision::Reject, None, vec![]), vec![]),
    ] {
        let (mut bench, station) = bench();
        let subscription = insert(1, RicSubsequentActionType::Wait, RicTimeToWait::W60s);
        assert!(admitted(&bench.ask(C0, &subscription)));
        assert!(admitted(&bench.ask(C0, &policy(2, &EventTrigger::handovers(), &action))));
        station.set(|it| it.decided.push((1, to(2))));
        bench.pass(20 * MS);
        assert_eq!(bench.take(C0), [], "a policy must decide without an insert indication: {action:?}");
        assert_eq!(station.set(|it| std::mem::take(&mut it.handed_over)), expected);
        bench.ask(C0, &deletion(2, DEFAULT_FUNCTION_ID));
        station.set(|it| it.decided.push((1, to(2))));
        bench.pass(20 * MS);
        assert_eq!(bench.take(C0).len(), 1, "without the policy, an insert indication must be sent");
    }
}

#[test]
fn impossible_policies_are_refused() {
    let (mut bench, station) = bench();
    let states = EventTrigger::states();
    let shares = |order: Order| ActionDefinition::policies(2, [(PolicyEffect::Obey(order), vec![])]);
    let flows = Order::QosFlows { drb: 1, flows: vec![FlowMapping { qfi: 1, indication: 0 }] };
    let untested = |id, tested| {
        let mut action = shares(quotas(&[(1, 20)]));
        let ActionFormat::Policy(policies) = &mut action.format else { panic!() };
        policies[0].condition = Some(vec![ParameterTest { id, tested }]);
        action
    };
    let presence = |presence| {
        let condition = TestCondition::Presence(presence);
        TestedAs::Element(ElementTest { condition, value: None, or: None })
    };
    let many = (0..=POLICIES_MAX).map(|_| (PolicyEffect::Obey(quotas(&[(1, 20)])), vec![]));
    let mut connected = EventTrigger::states();
    let TriggerFormat::Ues(changes) = &mut connected.format else { panic!() };
    changes[0].trigger = ChangeOf::RrcState(vec![StateChange { to: RrcState::Connected, or: None }]);
    for (trigger, action) in [
        (&EventTrigger::handovers(), shares(quotas(&[(1, 20)]))),
        (&connected, shares(quotas(&[(1, 20)]))),
        (&states, shares(quotas(&[(1, 60), (2, 60)]))),
        (&states, shares(flows)),
        (&states, ActionDefinition::policies(2, many)),
        (&states, ActionDefinition::handover_policy(Decision::Reject, None, vec![])),
        (&states, untested(9, TestedAs::Key(Value::Int(1)))),
        (&states, untested(2, TestedAs::Key(Value::Int(1)))),
        (&states, untested(2, presence(ranlab_e2_codec::e2sm::rc::Presence::Present))),
        (&states, untested(2, TestedAs::List(Vec::new()))),
    ] {
        let Ok(_) = action.to_octets(Encoding::Per) else { continue };
        let answers = bench.ask(C0, &policy(1, trigger, &action));
        assert_eq!(refused(&answers), Cause::RicRequest(CauseRicRequest::ActionNotSupported), "{action:?}");
    }
    // The carrier belongs to the first controller.
    let c1 = bench.add("b");
    bench.set_up(c1);
    let answers = bench.ask(c1, &sharing(1, &[(&[(1, 20)], vec![])]));
    assert_eq!(refused(&answers), Cause::RicRequest(CauseRicRequest::ActionNotSupported));
    assert_eq!(station.set(|it| it.orders), 0);
}

/// Generates any action definition that the ASN.1 allows, with supported parts more often than by chance.
fn offered() -> impl Strategy<Value = ActionDefinition> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::Int),
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(|it| Value::Octets(it.into())),
    ];
    let test = (1..5_u32, 0..3_usize, value, any::<bool>()).prop_map(|(id, comparison, value, or)| {
        let comparison = [Comparison::Equal, Comparison::GreaterThan, Comparison::Contains][comparison];
        let condition = TestCondition::Comparison(comparison);
        let or = or.then_some(LogicalOr::True);
        ParameterTest { id, tested: TestedAs::Element(ElementTest { condition, value: Some(value), or }) }
    });
    let tests = proptest::option::of(proptest::collection::vec(test, 1..4));
    let one = (proptest::collection::vec((1..4_u8, 0..60_u8), 1..3), tests);
    (1..4_i64, proptest::collection::vec(one, 1..4)).prop_map(|(style, policies)| {
        let order = |shares: &[(u8, u8)]| (PolicyEffect::Obey(quotas(shares)), vec![]);
        let mut action = ActionDefinition::policies(style, policies.iter().map(|(shares, _)| order(shares)));
        let ActionFormat::Policy(made) = &mut action.format else { panic!() };
        made.iter_mut().zip(policies).for_each(|(it, (_, tests))| it.condition = tests);
        action
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Supported and possible policies are admitted. A refused one changes nothing, and the end of the subscription
    /// restores everything.
    #[test]
    fn policy_is_admitted_if_possible_and_leaves_nothing_behind(action in offered()) {
        let (mut bench, station) = bench();
        let ActionFormat::Policy(made) = &action.format else { panic!() };
        let known = |test: &ParameterTest| {
            let TestedAs::Element(it) = &test.tested else { return false };
            let equal = it.condition == TestCondition::Comparison(Comparison::Equal);
            match (test.id, &it.value) {
                (1, Some(Value::Octets(octets))) => equal && per_of_a_ue(octets),
                (2, Some(Value::Octets(octets))) => equal && [1, 4].contains(&octets.len()),
                (3, Some(Value::Int(_))) => it.condition != TestCondition::Comparison(Comparison::Contains),
                _ => false,
            }
        };
        prop_assert!(CONDITIONS.iter().all(|(id, _)| (1..=3).contains(id)));
        let read = policies::read(action.style, made);
        let there_is = |does: &PolicyEffect| matches!(does, PolicyEffect::Obey(order) if station.could(order).is_ok());
        let can = action.style == 2
            && made.iter().all(|it| it.condition.iter().flatten().all(known))
            && read.as_ref().is_ok_and(|read| read.iter().all(|(does, _)| there_is(does)));
        let answers = bench.ask(C0, &policy(1, &EventTrigger::states(), &action));
        prop_assert_eq!(admitted(&answers), can);
        if !can {
            prop_assert_eq!(refused(&answers), Cause::RicRequest(CauseRicRequest::ActionNotSupported));
            prop_assert_eq!(station.set(|it| it.orders), 0);
        }
        station.set(|it| it.ues = vec![1, 3]);
        bench.pass(20 * MS);
        bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
        prop_assert_eq!(station.quotas(), []);
    }
}

/// Returns whether bytes are a PER-encoded UE identity.
fn per_of_a_ue(octets: &bytes::Bytes) -> bool {
    ranlab_e2_codec::e2sm::per::decode::<Name>(octets.clone()).is_ok()
}
