//! RRC, SLICE and TRAFFIC at an agent with two controllers.
use crate::cell::*;
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::agent::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{RrcChange, RrcCommand, RrcHandover, RrcIndication, RrcTrigger};
use ranlab_e2_codec::e2sm::slice::*;
use ranlab_e2_codec::e2sm::traffic::*;
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);

/// Returns an agent with a cell, a default controller and a second one.
fn bench() -> (AgentDriver, MockCell) {
    let mut agent = Agent::new(config());
    let cell = MockCell::default();
    cell.register(&mut agent);
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    assert_eq!(bench.add("tcp://192.0.2.2:36421"), C1);
    bench.set_up(C1);
    for rnti in [1, 2, 3] {
        cell.attach(&mut bench.agent, rnti, HOME, None);
    }
    bench.agent.associate_ue(UeId(3), C1).unwrap();
    (bench, cell)
}

fn encoded(value: &impl Octets) -> Bytes {
    value.to_octets(Encoding::Per).unwrap()
}

/// Sends a command and returns the reason of a refusal.
fn command(
    bench: &mut AgentDriver,
    by: ControllerId,
    function: RanFunctionId,
    message: &impl Octets,
) -> Option<Reason> {
    let answer = bench.ask(by, &control(function, &encoded(message), ACK));
    match &answer[..] {
        [Message::RicControlAcknowledge(done)] => {
            assert_eq!(done.outcome, None);
            None
        }
        [Message::RicControlFailure(failure)] => {
            let outcome = failure.outcome.clone().unwrap();
            let refusal = Refusal::decode_as(Encoding::Per, &outcome).unwrap();
            assert!(!refusal.detail.is_empty());
            Some(refusal.reason)
        }
        other => panic!("{other:?}"),
    }
}

fn slice(id: u16, ppm: u32) -> Slice {
    let parameters = SliceParameters::Capacity(ppm);
    Slice { id, label: String::new(), scheduler: UeScheduler::ProportionalFair, parameters }
}

fn nvs(slices: Vec<Slice>) -> SliceCommand {
    SliceCommand::Configure(SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: true, slices })
}

fn associate(rnti: u16, slice: u16) -> SliceCommand {
    SliceCommand::Associate(vec![UeSlice { rnti, slice }])
}

#[test]
fn invalid_slice_commands_change_nothing_and_give_reason() {
    let (mut bench, cell) = bench();
    assert_eq!(command(&mut bench, C0, SLICE, &nvs(vec![slice(0, 500_000)])), None);
    assert_eq!(command(&mut bench, C0, SLICE, &SliceCommand::Add(slice(1, 500_000))), None);
    assert_eq!(command(&mut bench, C0, SLICE, &associate(1, 1)), None);
    let before = cell.state().clone();
    assert_eq!((before.set.slices.len(), before.slices[&1]), (2, 1));
    for (refused, why) in [
        (SliceCommand::Add(slice(2, 1)), Reason::Overcommitted),
        (SliceCommand::Modify(slice(1, 500_001)), Reason::Overcommitted),
        (SliceCommand::Add(slice(1, 1)), Reason::Exists),
        (SliceCommand::Delete(9), Reason::UnknownSlice),
        (associate(9, 1), Reason::UnknownUe),
        (associate(1, 9), Reason::UnknownSlice),
    ] {
        assert_eq!(command(&mut bench, C0, SLICE, &refused), Some(why), "{refused:?}");
    }
    // Bytes that are not a command get only a cause, without an outcome.
    let answer = bench.ask(C0, &control(SLICE, b"\xff\xff", ACK));
    let [Message::RicControlFailure(failure)] = &answer[..] else { panic!("{answer:?}") };
    assert_eq!(failure.cause, Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
    assert_eq!(failure.outcome, None);
    let state = cell.state();
    assert_eq!((&state.set, &state.slices), (&before.set, &before.slices));
}

#[test]
fn controller_cannot_change_slices_of_another() {
    let (mut bench, cell) = bench();
    assert_eq!(command(&mut bench, C0, SLICE, &nvs(vec![slice(0, 300_000)])), None);
    assert_eq!(command(&mut bench, C1, SLICE, &SliceCommand::Add(slice(1, 300_000))), None);
    let before = cell.state().set.clone();
    for (by, refused) in [
        (C1, SliceCommand::Delete(0)),
        (C1, SliceCommand::Modify(slice(0, 1))),
        (C1, associate(3, 0)),
        (C1, nvs(vec![slice(1, 400_000)])),
        (C0, SliceCommand::Delete(1)),
        (C0, nvs(vec![slice(0, 300_000), slice(1, 1)])),
        (C0, SliceCommand::Configure(SliceSet { sharing: false, ..before.clone() })),
    ] {
        assert_eq!(command(&mut bench, by, SLICE, &refused), Some(Reason::NotOwner), "{by} {refused:?}");
    }
    assert_eq!(cell.state().set, before);
    // A UE that the controller does not see is unknown to it; a visible one may be moved.
    assert_eq!(command(&mut bench, C1, SLICE, &associate(2, 1)), Some(Reason::UnknownUe));
    assert_eq!(command(&mut bench, C1, SLICE, &associate(3, 1)), None);
    // The controller may change its own slices, next to slices of other controllers.
    assert_eq!(command(&mut bench, C1, SLICE, &nvs(vec![slice(0, 300_000), slice(1, 400_000)])), None);
    // Slices of a disconnected controller belong to the default controller.
    bench.agent.remove_controller(bench.now, C1).unwrap();
    bench.pass(60_000 * MS);
    assert_eq!(command(&mut bench, C0, SLICE, &SliceCommand::Delete(1)), None);
}

#[test]
fn controller_allocates_to_visible_ues_in_own_slices() {
    let (mut bench, cell) = bench();
    let remote = |id| Slice { scheduler: UeScheduler::Remote, ..slice(id, 300_000) };
    assert_eq!(command(&mut bench, C0, SLICE, &nvs(vec![remote(0), slice(2, 300_000)])), None);
    assert_eq!(command(&mut bench, C1, SLICE, &SliceCommand::Add(remote(1))), None);
    let before = cell.state().set.clone();
    let allocate = |slice, rnti| {
        let ues = vec![UeAllocation { rnti, prbs: 50, mcs: None }];
        SliceCommand::Allocate(SliceAllocation { slice, slot: None, slots: 8, ues })
    };
    for (by, refused, why) in [
        (C0, allocate(1, 3), Reason::NotOwner),
        (C1, allocate(0, 3), Reason::NotOwner),
        (C1, allocate(1, 2), Reason::UnknownUe),
        (C0, allocate(0, 9), Reason::UnknownUe),
        (C0, allocate(2, 1), Reason::Invalid),
        (C0, allocate(9, 1), Reason::UnknownSlice),
    ] {
        assert_eq!(command(&mut bench, by, SLICE, &refused), Some(why), "{by} {refused:?}");
    }
    assert!(cell.state().allocations.is_empty());
    for (by, fine) in [(C0, allocate(0, 1)), (C1, allocate(1, 3))] {
        assert_eq!(command(&mut bench, by, SLICE, &fine), None, "{by} {fine:?}");
    }
    let state = cell.state();
    assert_eq!(
        (&state.set, state.allocations.len()),
        (&before, 2),
        "refused commands must not change the configuration"
    );
}

/// Unassigned UEs are in the first slice, so a controller that sees one UE must not create it.
#[test]
fn only_default_controller_controls_carrier() {
    let (mut bench, cell) = bench();
    let pool = || vec![slice(0, 300_000)];
    for refused in [nvs(vec![slice(1, 300_000)]), SliceCommand::Add(slice(1, 300_000))] {
        assert_eq!(command(&mut bench, C1, SLICE, &refused), Some(Reason::NotOwner), "{refused:?}");
    }
    assert_eq!(cell.state().set, SliceSet::default());
    assert_eq!(command(&mut bench, C0, SLICE, &nvs(pool())), None);
    for refused in [
        nvs(vec![slice(1, 300_000), slice(0, 300_000)]),
        nvs(Vec::new()),
        SliceCommand::Configure(SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: false, slices: pool() }),
    ] {
        assert_eq!(command(&mut bench, C1, SLICE, &refused), Some(Reason::NotOwner), "{refused:?}");
    }
    assert_eq!(command(&mut bench, C1, SLICE, &SliceCommand::Add(slice(1, 300_000))), None);
    assert_eq!(cell.state().set.slices, [slice(0, 300_000), slice(1, 300_000)]);
}

fn subscribe(bench: &mut AgentDriver, by: ControllerId, function_id: RanFunctionId, trigger: &impl Octets) {
    let event_trigger = encoded(trigger);
    let actions = vec![ActionToBeSetup::report(0)];
    let request = Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: request_id(function_id),
        function_id,
        details: RicSubscriptionDetails { event_trigger, actions },
        start_time: None,
        end_time: None,
    });
    let answer = bench.ask(by, &request);
    assert!(matches!(answer[0], Message::RicSubscriptionResponse(_)), "{answer:?}");
    // The remaining messages are stored for the caller that needs them.
    bench.sent.entry(by).or_default().extend(answer.into_iter().skip(1));
}

fn heard<T: Octets>(bench: &mut AgentDriver, by: ControllerId) -> Vec<T> {
    let sent = bench.take(by).into_iter();
    let indications = sent.map(|message| match message {
        Message::RicIndication(indication) => T::decode_as(Encoding::Per, &indication.message).unwrap(),
        other => panic!("{other:?}"),
    });
    indications.collect()
}

#[test]
fn reports_keep_period_and_contain_visible_ues() {
    let (mut bench, _cell) = bench();
    assert_eq!(command(&mut bench, C0, SLICE, &nvs(vec![slice(0, 1_000_000)])), None);
    for rnti in [1, 3] {
        assert_eq!(command(&mut bench, C0, SLICE, &associate(rnti, 0)), None);
    }
    for controller in [C0, C1] {
        subscribe(&mut bench, controller, SLICE, &ReportEvery::new(10 * MS).unwrap());
    }
    bench.pass(20 * MS);
    let ues = |report: &SliceIndication| report.ues.iter().map(|ue| ue.rnti).collect::<Vec<_>>();
    let first = heard::<SliceIndication>(&mut bench, C0);
    let second = heard::<SliceIndication>(&mut bench, C1);
    assert_eq!(first.iter().map(ues).collect::<Vec<_>>(), [[1, 3], [1, 3]]);
    assert_eq!(second.iter().map(ues).collect::<Vec<_>>(), [[3], [3]]);
    assert_eq!((first[0].tstamp_us, first[1].tstamp_us, first[0].got[0].ues), (10_000, 20_000, 2));
}

#[test]
fn bearer_is_controlled_by_controller_that_sees_its_ue() {
    let (mut bench, cell) = bench();
    let to = |rnti, action| TrafficCommand { bearer: BearerId { rnti, rbid: 1 }, action };
    let bdp = TrafficAction::SetPacer(Pacer::bdp());
    let function = TRAFFIC;
    assert_eq!(command(&mut bench, C0, function, &to(1, bdp.clone())), None);
    assert_eq!(command(&mut bench, C1, function, &to(3, bdp.clone())), None);
    assert_eq!(command(&mut bench, C1, function, &to(2, bdp.clone())), Some(Reason::UnknownBearer));
    assert_eq!(command(&mut bench, C0, function, &to(9, bdp)), Some(Reason::UnknownBearer));
    let delete = to(1, TrafficAction::DeleteQueue(3));
    assert_eq!(command(&mut bench, C0, function, &delete), Some(Reason::UnknownQueue));
    let paced: Vec<_> = cell.state().bearers.values().map(|config| config.pacer).collect();
    assert_eq!(paced, [Pacer::bdp(), Pacer::default(), Pacer::bdp()]);
}

/// Steps 1 and 5 of the paper's figure 4: a UE is reported to the second controller only once it is exposed to it.
#[test]
fn controller_gets_event_when_ue_becomes_visible_or_invisible() {
    let (mut bench, cell) = bench();
    for controller in [C0, C1] {
        subscribe(&mut bench, controller, RRC, &RrcTrigger::EVENTS);
    }
    bench.pass(MS);
    let changes = |bench: &mut AgentDriver, by| -> Vec<(RrcChange, u16)> {
        let indications: Vec<RrcIndication> = heard(bench, by);
        indications.iter().flat_map(|i| &i.events).map(|event| (event.change, event.rnti)).collect()
    };
    use RrcChange::{Attach, Connected, Release};
    assert_eq!(changes(&mut bench, C0), [(Connected, 1), (Connected, 2), (Connected, 3)]);
    assert_eq!(changes(&mut bench, C1), [(Connected, 3)]);
    let snssai = Snssai { sst: 1, sd: Some(7) };
    cell.attach(&mut bench.agent, 4, HOME, Some(snssai));
    bench.pass(20 * MS);
    assert_eq!((changes(&mut bench, C0), changes(&mut bench, C1)), (vec![(Attach, 4)], vec![]));
    bench.agent.associate_ue(UeId(4), C1).unwrap();
    bench.pass(20 * MS);
    assert_eq!((changes(&mut bench, C0), changes(&mut bench, C1)), (vec![], vec![(Connected, 4)]));
    bench.agent.dissociate_ue(UeId(4), C1);
    bench.pass(20 * MS);
    assert_eq!((changes(&mut bench, C0), changes(&mut bench, C1)), (vec![], vec![(Release, 4)]));
    cell.release(&mut bench.agent, 3);
    bench.pass(20 * MS);
    assert_eq!((changes(&mut bench, C0), changes(&mut bench, C1)), (vec![(Release, 3)], vec![(Release, 3)]));
    // The same checks with a subscription to the periodic list.
    let trigger = RrcTrigger { events: false, period_ms: Some(10) };
    bench.ask(C0, &deletion(RRC, RRC));
    subscribe(&mut bench, C0, RRC, &trigger);
    bench.pass(10 * MS);
    assert_eq!(changes(&mut bench, C0), [(Connected, 1), (Connected, 2), (Connected, 4)]);
}

/// A function that defers its responses.
struct Slow(std::sync::Arc<std::sync::Mutex<Vec<(ControlTicket, bool)>>>);

impl RanFunction for Slow {
    fn description(&self) -> FunctionDescription {
        FunctionDescription { oid: "1.2.3".to_owned(), definition: Bytes::new(), revision: 1 }
    }
    fn on_subscription(
        &mut self,
        _: &mut FunctionContext<'_>,
        _: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }
    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, _: SubscriptionId) {}
    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let ticket = ctx.answer_later().unwrap();
        assert_eq!(
            ctx.answer_later(),
            Some(ticket),
            "a second call for the same control must return the same ticket"
        );
        match &control.message[..] {
            b"no" => Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid)),
            message => {
                self.0.lock().unwrap().push((ticket, message == b"yes"));
                Ok(ControlOutcome::default())
            }
        }
    }
    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        assert_eq!(ctx.answer_later(), None, "a wake-up has no control that could be deferred");
        let waiting = std::mem::take(&mut *self.0.lock().unwrap());
        for (ticket, yes) in waiting {
            ctx.explain(Bytes::from_static(b"why"));
            let outcome = Some(Bytes::from_static(b"done"));
            let refused = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
            let waited = ctx.answer(ticket, if yes { Ok(ControlOutcome { outcome }) } else { Err(refused) });
            assert!(!ctx.answer(ticket, Err(refused)), "a control must not be answered twice");
            self.0.lock().unwrap().extend((!waited).then_some((ticket, false)));
        }
    }
}

#[test]
fn deferred_control_completes_or_is_dropped_on_disconnect() {
    let waiting = std::sync::Arc::default();
    let mut agent = Agent::new(config());
    let function = agent.register(Box::new(Slow(std::sync::Arc::clone(&waiting))), Some(7)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    assert_eq!(bench.ask(C0, &control(function, b"yes", ACK)), []);
    assert_eq!(bench.ask(C0, &control(function, b"later no", ACK)), []);
    assert!(matches!(&bench.ask(C0, &control(function, b"no", ACK))[..], [Message::RicControlFailure(_)]));
    bench.agent.wake_function(bench.now, function);
    bench.drain();
    match &bench.take(C0)[..] {
        [Message::RicControlAcknowledge(done), Message::RicControlFailure(failed)] => {
            assert_eq!(done.outcome.as_deref(), Some(&b"done"[..]));
            assert_eq!(failed.outcome.as_deref(), Some(&b"why"[..]));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((bench.agent.counters().controls, bench.agent.counters().controls_refused), (1, 2));
    assert_eq!(bench.ask(C0, &control(function, b"yes", ACK)), []);
    let why = ranlab_e2::LinkLoss::ClosedByPeer;
    bench.input(AgentInput::Disconnected { controller: C0, why });
    bench.agent.wake_function(bench.now, function);
    assert_eq!(
        waiting.lock().unwrap().len(),
        1,
        "answering a control after the disconnect must report that its ticket is closed"
    );
}

#[test]
fn controller_hands_over_visible_ues_and_gets_reason_of_refusal() {
    let (mut bench, _cell) = bench();
    subscribe(&mut bench, C0, RRC, &RrcTrigger::EVENTS);
    bench.pass(MS);
    bench.take(C0);
    let to = |rnti, target_cell_id| RrcCommand::Handover(RrcHandover { rnti, cell_id: 0, target_cell_id });
    for (by, refused, why) in [
        (C1, to(2, 1), Reason::UnknownUe),
        (C0, to(9, 1), Reason::UnknownUe),
        (C0, to(1, 2), Reason::Invalid),
    ] {
        assert_eq!(command(&mut bench, by, RRC, &refused), Some(why), "{by} {refused:?}");
    }
    bench.pass(20 * MS);
    assert_eq!(bench.take(C0), [], "a refused handover must not cause an RRC event");
    assert_eq!(command(&mut bench, C0, RRC, &to(1, 1)), None);
    assert_eq!(command(&mut bench, C1, RRC, &to(3, 1)), None);
    bench.pass(20 * MS);
    let events: Vec<RrcIndication> = heard(&mut bench, C0);
    let events = events.iter().flat_map(|it| &it.events).map(|it| (it.change, it.rnti, it.cell_id));
    assert_eq!(events.collect::<Vec<_>>(), [(RrcChange::Handover, 1, 1), (RrcChange::Handover, 3, 1)]);
    let answer = bench.ask(C0, &control(RRC, b"\xff\xff", ACK));
    let [Message::RicControlFailure(failure)] = &answer[..] else { panic!("{answer:?}") };
    assert_eq!(failure.cause, Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
}
