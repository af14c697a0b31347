//! E2AP checks of an agent. Clause numbers refer to O-RAN.WG3.E2AP; the clauses of chapter 10 also refer to TS 36.423.
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::per::{BitString, ShortBits};

use super::agent::{Controller, REQUEST};
use super::ends::*;
use super::link::{Link, PeerMessage};
use super::malformed;
use ranlab_lab::check::{Case, CaseFailure, Outcome, fails};

/// All checks, in order of execution.
pub(super) const CASES: &[Case<Controller>] = &[
    ("setup: identity and functions", "E2AP 8.3.1", setup),
    ("a refused setup is repeated, but not before the time to wait", "E2AP 8.3.1", refused_setup),
    ("a response of another transaction does not complete the setup", "E2AP 8.3.1", other_answer),
    ("subscription: the actions are admitted", "E2AP 8.2.1", subscription),
    ("indications name the subscription and are numbered consecutively", "E2AP 8.2.3", indications),
    ("subscription delete: no indication afterwards", "E2AP 8.2.2", subscription_delete),
    ("subscription to an unknown function: RAN function ID invalid", "E2AP 8.2.1", unknown_function),
    ("subscription with a duplicate action: duplicate action", "E2AP 8.2.1", duplicate_action),
    ("subscription with an invalid event trigger fails", "E2AP 8.2.1", senseless_trigger),
    ("deletion of an unknown request: request ID unknown", "E2AP 8.2.2", unknown_request),
    ("control of an unknown function: RAN function ID invalid", "E2AP 8.2.4", unknown_control),
    ("an invalid control fails", "E2AP 8.2.4", senseless_control),
    ("reset ends the subscriptions", "E2AP 8.3, Reset", reset),
    ("a service query is answered by an update", "E2AP 8.3, RIC Service Query", service_query),
    ("a connection update is answered", "E2AP 8.3, E2 Connection Update", connection_update),
    ("an E2 query is answered in 3.01, and unknown in earlier versions", "E2AP 8.2 (3.01), 10.3.4.1", query),
    ("an error indication does not end the connection", "E2AP 8.3, Error Indication", error_indication),
    ("a response of an unknown transaction has no effect", "E2AP 10.4", unknown_answer),
    ("an unknown procedure, critical: abstract syntax error (reject)", "E2AP 10.3.4.1", unknown_critical),
    ("an unknown procedure with criticality ignore is ignored", "E2AP 10.3.4.1", unknown_ignored),
    ("an unknown element, critical: abstract syntax error (reject)", "E2AP 10.3.4.2", unknown_element),
    ("an unknown element with criticality ignore is ignored", "E2AP 10.3.4.2", ignored_element),
    ("a missing mandatory element: abstract syntax error (reject)", "E2AP 10.3.5", missing_element),
    ("a duplicate element: falsely constructed message", "E2AP 10.3.6", element_twice),
    ("bytes that are not a message: transfer syntax error", "E2AP 10.2", malformed),
    ("truncated messages are not admitted", "E2AP 10.2", cut),
    ("a frame of 4 GiB closes the connection", "the framing of TCP and Unix sockets", oversized),
    // These checks are last, because they may crash the agent.
    ("a repeated subscription request is answered twice", "E2AP 8.2.1", same_subscription),
    ("hundreds of truncated and random messages are survived", "E2AP 10.2", random),
    ("removal by the RIC", "E2AP 8.3, E2 Removal", removal),
];

fn setup(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.fresh()?;
    let v1 = link.version == Version::V1_01;
    let functions = setup.functions.as_deref().unwrap_or_default();
    let doubled = |(at, f): (usize, &RanFunctionItem)| functions[..at].iter().any(|other| other.id == f.id);
    if functions.is_empty() && !v1 {
        return fails("the agent offers no function");
    }
    if functions.iter().enumerate().any(doubled) {
        return fails("two RAN functions have the same id");
    }
    if setup.components.as_ref().is_none_or(Vec::is_empty) && !v1 {
        return fails("the setup request lists no component");
    }
    link.say(&Controller::acceptance(&link, &setup))?;
    it.serves(&mut link, &setup)?;
    it.keep(link, setup);
    Ok(())
}

fn refused_setup(it: &mut Controller) -> Outcome {
    // Time to wait in the failure message, and the minimum wait that passes the check. The minimum is 50 ms shorter,
    // because agent and check may start to measure at different times.
    const WAIT: (TimeToWait, Duration) = (TimeToWait::V1s, Duration::from_millis(950));
    let (mut link, setup) = it.fresh()?;
    let refused = Instant::now();
    link.say(&Message::E2SetupFailure(E2SetupFailure {
        transaction_id: setup.transaction_id,
        cause: Cause::Misc(CauseMisc::ControlProcessingOverload),
        time_to_wait: Some(WAIT.0),
        diagnostics: None,
        tnl: None,
    }))?;
    link.patience = it.run.config.arrival;
    let again = link.expect("a new setup request after the refused one", |_, message| match message {
        Message::E2SetupRequest(m) => Some(m),
        _ => None,
    });
    // The agent may retry on the same connection or on another one.
    let (mut link, again) = match again {
        Ok(again) => (link, again),
        Err(CaseFailure::Fails(_)) if link.over => it.fresh()?,
        Err(other) => return Err(other),
    };
    let waited = refused.elapsed();
    link.patience = it.run.config.patience;
    link.say(&Controller::acceptance(&link, &again))?;
    it.serves(&mut link, &again)?;
    it.keep(link, again);
    if waited < WAIT.1 {
        fails(format!("the agent repeats the refused setup after {waited:?} instead of 1 s"))
    } else {
        Ok(())
    }
}

fn other_answer(it: &mut Controller) -> Outcome {
    let (mut link, mut setup) = it.fresh()?;
    let Some(run) = setup.transaction_id else {
        return Err(CaseFailure::Skipped("E2AP 1.01 has no transaction ids"));
    };
    setup.transaction_id = Some((run + 1) % 256);
    link.say(&Controller::acceptance(&link, &setup))?;
    let function_id = 4_095;
    let request_id = RicRequestId { requestor: 9, instance: 9 };
    // If the agent mistook the message for its setup response, it is set up and responds to this request.
    link.say(&Message::RicSubscriptionDeleteRequest(RicSubscriptionDeleteRequest {
        request_id,
        function_id,
    }))?;
    let taken = link
        .expect("", |_, message| matches!(message, Message::RicSubscriptionDeleteFailure(_)).then_some(()));
    drop(link);
    let (link, setup) = it.set_up()?;
    it.keep(link, setup);
    if taken.is_ok() { fails("the response of another transaction completes the setup") } else { Ok(()) }
}

fn asking(function_id: u16, details: RicSubscriptionDetails) -> Message {
    let start_time = None;
    let end_time = None;
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: REQUEST,
        function_id,
        details,
        start_time,
        end_time,
    })
}

/// Sends a subscription request and expects it to be admitted.
fn admitted(link: &mut Link, request: &Message) -> Outcome {
    link.say(request)?;
    let answer = link.expect("the subscription response", |_, message| match message {
        Message::RicSubscriptionResponse(m) if m.request_id == REQUEST => Some(Ok(m.admitted)),
        Message::RicSubscriptionFailure(m) => Some(Err(m.cause)),
        _ => None,
    })?;
    match answer {
        Ok(actions) if actions == [1] => Ok(()),
        Ok(actions) => fails(format!("actions {actions:?} are admitted instead of action 1")),
        Err(Some(cause)) => fails(format!("the subscription is refused: {cause}")),
        Err(None) => fails("the subscription is refused"),
    }
}

/// Subscribes to reports of a RAN function that supports them.
fn subscribed(it: &Controller) -> Result<(Link, E2SetupRequest, u16), CaseFailure> {
    let (mut link, setup) = it.set_up()?;
    let found = it.reporting(&setup);
    let (function, details) = match found {
        Ok(found) => found,
        Err(none) => {
            it.keep(link, setup);
            return Err(none);
        }
    };
    admitted(&mut link, &asking(function, details))?;
    Ok((link, setup, function))
}

/// Deletes the subscription of a check and keeps the connection.
fn tidy(it: &Controller, mut link: Link, setup: E2SetupRequest) -> Outcome {
    it.serves(&mut link, &setup)?;
    it.keep(link, setup);
    Ok(())
}

fn subscription(it: &mut Controller) -> Outcome {
    let (link, setup, _) = subscribed(it)?;
    tidy(it, link, setup)
}

fn indications(it: &mut Controller) -> Outcome {
    let (mut link, setup, function) = subscribed(it)?;
    link.patience = it.run.config.patience + it.run.config.period * 4;
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let (of, number) = link.expect("an indication", |_, message| match message {
            Message::RicIndication(m) => Some(((m.request_id, m.function_id, m.action_id), m.sn)),
            _ => None,
        })?;
        if of != (REQUEST, function, 1) {
            return fails(format!("an indication belongs to {of:?}, which was not requested"));
        }
        numbers.extend(number);
    }
    link.patience = it.run.config.patience;
    if numbers.windows(2).any(|pair| pair[1] != pair[0].wrapping_add(1)) {
        return fails(format!("the sequence numbers of the indications are not consecutive: {numbers:?}"));
    }
    tidy(it, link, setup)
}

/// Checks that no indication arrives for several report periods.
fn quiet(it: &Controller, link: &mut Link, after: &str) -> Outcome {
    let until = Instant::now() + it.run.config.period * 4;
    while let Some(input) = link.receive(until) {
        match input {
            PeerMessage::Said(decoded) if matches!(decoded.message, Message::RicIndication(_)) => {
                return fails(format!("indications continue after {after}"));
            }
            PeerMessage::End(why) => return fails(why),
            _ => {}
        }
    }
    Ok(())
}

fn subscription_delete(it: &mut Controller) -> Outcome {
    let (mut link, setup, function_id) = subscribed(it)?;
    link.say(&Message::RicSubscriptionDeleteRequest(RicSubscriptionDeleteRequest {
        request_id: REQUEST,
        function_id,
    }))?;
    link.expect("the subscription delete response", |_, message| {
        matches!(message, Message::RicSubscriptionDeleteResponse(m) if m.request_id == REQUEST).then_some(())
    })?;
    quiet(it, &mut link, "the deletion's response")?;
    tidy(it, link, setup)
}

fn same_subscription(it: &mut Controller) -> Outcome {
    // OCUDU crashes, because it replaces the subscription while the subscription is active.
    hostile_only(it)?;
    let (mut link, setup, function) = subscribed(it)?;
    let (_, details) = it.reporting(&setup)?;
    link.say(&asking(function, details))?;
    link.expect("the response to the repeated subscription request", |_, message| match message {
        Message::RicSubscriptionResponse(_) | Message::RicSubscriptionFailure(_) => Some(()),
        _ => None,
    })?;
    tidy(it, link, setup)
}

/// Checks that a request is rejected with one of these causes, and that the connection stays up.
fn refused(it: &Controller, what: &str, message: &Message, causes: &[Cause]) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    link.say(message)?;
    objected(&mut link, what, causes)?;
    tidy(it, link, setup)
}

/// Returns a RAN function id that the agent does not offer.
fn absent(setup: &E2SetupRequest) -> u16 {
    let taken = |id: &u16| setup.functions.iter().flatten().any(|function| function.id == *id);
    (0..4_096).rev().find(|id| !taken(id)).unwrap_or(4_095)
}

/// Returns the agent's setup request, as a source of values for other requests.
fn offered(it: &Controller) -> Result<E2SetupRequest, CaseFailure> {
    let (link, setup) = it.set_up()?;
    it.keep(link, setup.clone());
    Ok(setup)
}

fn unknown_function(it: &mut Controller) -> Outcome {
    let function = absent(&offered(it)?);
    let event_trigger = Bytes::from_static(&[0, 0, 3, 232]);
    let actions = vec![ActionToBeSetup::report(1)];
    let request = asking(function, RicSubscriptionDetails { event_trigger, actions });
    refused(it, "a subscription to an unknown function", &request, &[NO_FUNCTION])
}

fn duplicate_action(it: &mut Controller) -> Outcome {
    let (function, mut details) = it.reporting(&offered(it)?)?;
    details.actions.extend(details.actions.clone());
    let request = asking(function, details);
    let causes = [Cause::RicRequest(CauseRicRequest::DuplicateAction)];
    refused(it, "a subscription with a duplicate action", &request, &causes)
}

/// Causes with which a RAN function may reject a payload that it cannot decode.
const SENSELESS: [Cause; 6] = [
    Cause::RicRequest(CauseRicRequest::ControlMessageInvalid),
    Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported),
    Cause::RicRequest(CauseRicRequest::ActionNotSupported),
    Cause::RicRequest(CauseRicRequest::Unspecified),
    Cause::RicRequest(CauseRicRequest::ControlFailedToExecute),
    Cause::Protocol(CauseProtocol::SemanticError),
];

fn senseless_trigger(it: &mut Controller) -> Outcome {
    let (function, mut details) = it.reporting(&offered(it)?)?;
    details.event_trigger = Bytes::from_static(&[0xff; 33]);
    let request = asking(function, details);
    let causes = [&SENSELESS[..], &[TRANSFER_SYNTAX, Cause::Misc(CauseMisc::Unspecified)]].concat();
    refused(it, "a subscription with an invalid event trigger", &request, &causes)
}

fn unknown_request(it: &mut Controller) -> Outcome {
    let setup = offered(it)?;
    let function_id = setup.functions.iter().flatten().next().map_or(2, |function| function.id);
    let request_id = RicRequestId { requestor: 6, instance: 99 };
    let request = RicSubscriptionDeleteRequest { request_id, function_id };
    let message = Message::RicSubscriptionDeleteRequest(request);
    refused(it, "a subscription delete with an unknown request id", &message, &[NO_REQUEST])
}

fn controlling(function_id: u16) -> Message {
    Message::RicControlRequest(RicControlRequest {
        request_id: REQUEST,
        function_id,
        call_process_id: None,
        header: Bytes::from_static(&[0xff; 5]),
        message: Bytes::from_static(&[0xff; 9]),
        ack_request: Some(RicControlAckRequest::Ack),
    })
}

fn unknown_control(it: &mut Controller) -> Outcome {
    let function = absent(&offered(it)?);
    refused(it, "a control of an unknown function", &controlling(function), &[NO_FUNCTION])
}

fn senseless_control(it: &mut Controller) -> Outcome {
    let setup = offered(it)?;
    let Some(function) = setup.functions.iter().flatten().next().map(|function| function.id) else {
        return Err(CaseFailure::Skipped("the agent offers no function"));
    };
    let causes =
        [&SENSELESS[..], &[TRANSFER_SYNTAX, NO_FUNCTION, Cause::Misc(CauseMisc::Unspecified)]].concat();
    refused(it, "an invalid control", &controlling(function), &causes)
}

fn reset(it: &mut Controller) -> Outcome {
    let (mut link, setup, _) = subscribed(it)?;
    it.reset(&mut link)?;
    quiet(it, &mut link, "the reset's response")?;
    it.keep(link, setup);
    Ok(())
}

fn service_query(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    // The query lists no RAN functions, so the agent must report all its functions as added.
    link.say(&Message::RicServiceQuery(RicServiceQuery {
        transaction_id: transaction(&link, 31),
        accepted: None,
    }))?;
    let update = link.expect("the service update after a query", |_, message| match message {
        Message::RicServiceUpdate(m) => Some(m),
        _ => None,
    })?;
    let named = update.added.iter().flatten().chain(update.modified.iter().flatten());
    let accepted = named.map(|f| RanFunctionIdItem { id: f.id, revision: f.revision }).collect::<Vec<_>>();
    let all = setup.functions.iter().flatten().all(|f| accepted.iter().any(|named| named.id == f.id));
    link.say(&Message::RicServiceUpdateAcknowledge(RicServiceUpdateAcknowledge {
        transaction_id: update.transaction_id,
        accepted: Some(accepted).filter(|list| !list.is_empty()),
        rejected: None,
    }))?;
    tidy(it, link, setup)?;
    if all {
        Ok(())
    } else {
        fails("the service update lacks functions of the setup, although the query listed none as known")
    }
}

fn connection_update(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    // The address is in TEST-NET-1 (RFC 5737) and never reachable. The agent may respond before it has tried to connect.
    let address = BitString::from_octets(&[192, 0, 2, 1]);
    let tnl = TnlInformation { address, port: Some(ShortBits::new(36_421, 16)) };
    let add = Some(vec![E2ConnectionUpdateItem { tnl: tnl.clone(), usage: TnlUsage::Both }]);
    let transaction_id = transaction(&link, 32);
    let request = E2ConnectionUpdate { transaction_id, add, remove: None, modify: None };
    link.say(&Message::E2ConnectionUpdate(request))?;
    let (run, added) = link.expect("the connection update response", |_, message| match message {
        Message::E2ConnectionUpdateAcknowledge(m) => Some((m.transaction_id, m.setup.is_some())),
        Message::E2ConnectionUpdateFailure(m) => Some((m.transaction_id, false)),
        _ => None,
    })?;
    same_run(&link, "the connection update response", 32, run)?;
    if added {
        let remove = Some(vec![E2ConnectionRemoveItem { tnl }]);
        let transaction_id = transaction(&link, 33);
        let request = E2ConnectionUpdate { transaction_id, add: None, remove, modify: None };
        link.say(&Message::E2ConnectionUpdate(request))?;
    }
    tidy(it, link, setup)
}

fn query(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    let spoken = std::mem::replace(&mut link.version, Version::V3_01);
    let sent = link.say(&Message::RicQueryRequest(RicQueryRequest {
        request_id: REQUEST,
        function_id: absent(&setup),
        header: Bytes::from_static(&[0]),
        definition: Bytes::from_static(&[0]),
    }));
    sent?;
    let causes = [NO_FUNCTION, NOT_UNDERSTOOD];
    objected(&mut link, "a query of an unknown function", &causes)?;
    link.version = spoken;
    tidy(it, link, setup)
}

fn error_indication(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    link.say(&Message::ErrorIndication(ErrorIndication {
        transaction_id: transaction(&link, 99),
        request_id: Some(RicRequestId { requestor: 7, instance: 7 }),
        function_id: None,
        cause: Some(NO_REQUEST),
        diagnostics: None,
    }))?;
    silently(&mut link, "an error indication")?;
    tidy(it, link, setup)
}

fn unknown_answer(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    let transaction_id = transaction(&link, 98);
    link.say(&Message::ResetResponse(ResetResponse { transaction_id, diagnostics: None }))?;
    link.say(&Message::RicServiceUpdateAcknowledge(RicServiceUpdateAcknowledge {
        transaction_id,
        accepted: None,
        rejected: None,
    }))?;
    tidy(it, link, setup)
}

fn unknown_critical(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    link.say_pdu(&malformed::unknown_procedure(0));
    objected(&mut link, "an unknown procedure", &[NOT_UNDERSTOOD])?;
    tidy(it, link, setup)
}

fn unknown_ignored(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    link.say_pdu(&malformed::unknown_procedure(1));
    silently(&mut link, "an unknown procedure that may be ignored")?;
    tidy(it, link, setup)
}

/// Returns a request to delete a subscription that does not exist.
fn deletion() -> Message {
    let request_id = RicRequestId { requestor: 8, instance: 1 };
    Message::RicSubscriptionDeleteRequest(RicSubscriptionDeleteRequest { request_id, function_id: 2 })
}

fn wrong_deletion(
    it: &Controller,
    what: &str,
    causes: &[Cause],
    spoil: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    let pdu = spoiled(&link, &deletion(), spoil)?;
    link.say_pdu(&pdu);
    objected(&mut link, what, causes)?;
    tidy(it, link, setup)
}

fn unknown_element(it: &mut Controller) -> Outcome {
    let spoil = |pdu: &[u8]| malformed::with_unknown(pdu, 0);
    wrong_deletion(it, "a subscription delete with an unknown element", &[NOT_UNDERSTOOD], spoil)
}

fn ignored_element(it: &mut Controller) -> Outcome {
    // Without the unknown element, the request deletes a subscription that does not exist.
    let causes = [NO_REQUEST, NO_FUNCTION];
    wrong_deletion(it, "a subscription delete with an unknown element that may be ignored", &causes, |pdu| {
        malformed::with_unknown(pdu, 1)
    })
}

fn missing_element(it: &mut Controller) -> Outcome {
    let spoil = |pdu: &[u8]| malformed::without(pdu, ids::RAN_FUNCTION_ID);
    wrong_deletion(it, "a subscription delete without RAN function id", &[NOT_UNDERSTOOD], spoil)
}

fn element_twice(it: &mut Controller) -> Outcome {
    let spoil = |pdu: &[u8]| malformed::twice(pdu, ids::RAN_FUNCTION_ID);
    wrong_deletion(it, "a subscription delete with a duplicate element", &[FALSELY_CONSTRUCTED], spoil)
}

fn malformed(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    // The bytes have a PDU type (CHOICE E2AP-PDU) that does not exist.
    link.say_pdu(&[0x60, 0x01, 0x00, 0x03, 0, 0, 0]);
    objected(&mut link, "bytes that are not a message", &[TRANSFER_SYNTAX])?;
    tidy(it, link, setup)
}

fn cut(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    let (function, details) = it.reporting(&setup).unwrap_or_else(|_| {
        let event_trigger = Bytes::from_static(&[0; 8]);
        (2, RicSubscriptionDetails { event_trigger, actions: vec![ActionToBeSetup::report(1)] })
    });
    let whole = spoiled(&link, &asking(function, details), |pdu| Some(pdu.to_vec()))?;
    for len in 1..whole.len() {
        link.say_pdu(&whole[..len]);
    }
    let until = Instant::now() + link.patience;
    while let Some(input) = link.receive(until) {
        match input {
            PeerMessage::Said(decoded) if matches!(decoded.message, Message::RicSubscriptionResponse(_)) => {
                return fails("a truncated subscription request is admitted");
            }
            PeerMessage::End(_) => break,
            _ => {}
        }
    }
    it.comes_again(link, setup)
}

fn oversized(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    if !link.is_stream() {
        it.keep(link, setup);
        return Err(CaseFailure::Skipped(
            "this transport preserves message boundaries, so there are no frames",
        ));
    }
    link.say_octets(&OVERSIZED);
    let until = Instant::now() + link.patience;
    while let Some(input) = link.receive(until) {
        if let PeerMessage::End(_) = input {
            return it.comes_again(link, setup);
        }
    }
    fails("the agent waits for 4 GiB instead of closing the connection")
}

/// Skips a check that has crashed agents, unless the user requests such checks.
fn hostile_only(it: &Controller) -> Outcome {
    if it.run.config.hostile {
        return Ok(());
    }
    Err(CaseFailure::Skipped("this check has crashed agents: use --hostile to run it"))
}

fn random(it: &mut Controller) -> Outcome {
    hostile_only(it)?;
    let (mut link, mut setup) = it.set_up()?;
    let whole = spoiled(&link, &controlling(2), |pdu| Some(pdu.to_vec()))?;
    for octets in hostile(&whole, 300) {
        link.say_pdu(&octets);
        if link.over || matches!(link.receive(Instant::now()), Some(PeerMessage::End(_))) {
            drop(link);
            (link, setup) = it.set_up()?;
        }
    }
    it.comes_again(link, setup)
}

fn removal(it: &mut Controller) -> Outcome {
    let (mut link, setup) = it.set_up()?;
    if link.version == Version::V1_01 {
        it.keep(link, setup);
        return Err(CaseFailure::Skipped("E2AP 1.01 has no removal procedure"));
    }
    let transaction_id = transaction(&link, 40);
    link.say(&Message::E2RemovalRequest(E2RemovalRequest { transaction_id }))?;
    let run = link.expect("the removal response", |_, message| match message {
        Message::E2RemovalResponse(m) => Some(m.transaction_id),
        Message::E2RemovalFailure(m) => Some(m.transaction_id),
        _ => None,
    })?;
    same_run(&link, "the removal response", 40, run)
}
