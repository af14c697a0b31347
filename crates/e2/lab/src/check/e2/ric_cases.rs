//! E2AP checks of a RIC. Clause numbers refer to O-RAN.WG3.E2AP; the clauses of chapter 10 also refer to TS 36.423.
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;

use super::ends::*;
use super::link::Link;
use super::ric::{RicCheck, RicRun, ScriptedNodes, SharedRun, component, reset};
use super::ric_abnormal::*;
use ranlab_lab::check::{Case, CaseFailure, Outcome, Verdict, chosen, fails, folder, listed, run};
use ranlab_lab::worker::ComponentError;
use ranlab_sdk::transport::Address;

/// Returns name and clause of each RIC check, in order.
#[must_use]
pub fn ric_checks() -> Vec<(&'static str, &'static str)> {
    listed(CASES)
}

/// Checks the RIC at `address`, to which base stations connect, clause by clause. `report` is called with each verdict.
///
/// # Errors
///
/// Returns an error if no RIC listens at the address, no check has the given name, or `report` returns an error.
pub fn check_ric<E: From<ComponentError>>(
    address: &Address,
    config: &RicCheck,
    report: impl FnMut(&Verdict) -> Result<(), E>,
) -> Result<Vec<Verdict>, E> {
    let cases = chosen(CASES, &config.only)?;
    folder(&config.captures)?;
    run(&SharedRun(RicRun::new(address, config)?), cases, &config.captures, report)
}

/// All checks, in order of execution.
const CASES: &[Case<ScriptedNodes>] = &[
    ("setup in 1.01", "E2AP 8.3.1", |it| setup_in(it, Version::V1_01)),
    ("setup in 2.03", "E2AP 8.3.1", |it| setup_in(it, Version::V2_03)),
    ("setup in 3.01", "E2AP 8.3.1", |it| setup_in(it, Version::V3_01)),
    ("the setup response acknowledges each component", "E2AP 8.3.1", setup_components),
    ("a second setup on a connection is answered", "E2AP 8.3.1", second_setup),
    ("reset by the base station", "E2AP 8.3, Reset", reset_by_node),
    ("service update: an additional function", "E2AP 8.3, RIC Service Update", service_update),
    ("service update: deletion of an unknown function", "E2AP 8.3, RIC Service Update", unknown_service),
    (
        "configuration update: an additional component",
        "E2AP 8.3, E2 Node Configuration Update",
        configuration,
    ),
    (
        "configuration update: removal of an unknown component",
        "E2AP 8.3, E2 Node Configuration Update",
        unknown_component,
    ),
    (
        "a transaction used twice is answered twice",
        "E2AP 8.3, E2 Node Configuration Update",
        same_transaction,
    ),
    ("removal by the base station", "E2AP 8.3, E2 Removal", removal),
    ("an error indication does not end the connection", "E2AP 8.3, Error Indication", error_indication),
    ("subscription and its response", "E2AP 8.2.1", subscription),
    ("subscription failure is forwarded", "E2AP 8.2.1", subscription_failure),
    ("indication is forwarded", "E2AP 8.2.3", indication),
    ("subscription delete", "E2AP 8.2.2", subscription_delete),
    ("control and its acknowledgement", "E2AP 8.2.4", control),
    ("control failure is forwarded", "E2AP 8.2.4", control_failure),
    ("an indication of an unknown request does not end the connection", "E2AP 10.4", unknown_indication),
    ("a response to an unknown request does not end the connection", "E2AP 10.4", unknown_answer),
    ("a message before the setup", "E2AP 10.4", before_setup),
    ("an unknown procedure, critical: abstract syntax error (reject)", "E2AP 10.3.4.1", unknown_critical),
    ("an unknown procedure with criticality ignore is ignored", "E2AP 10.3.4.1", unknown_ignored),
    ("an unknown element, critical: abstract syntax error (reject)", "E2AP 10.3.4.2", unknown_element),
    ("an unknown element with criticality ignore is ignored", "E2AP 10.3.4.2", ignored_element),
    ("a missing mandatory element: abstract syntax error (reject)", "E2AP 10.3.5", missing_element),
    ("a duplicate element: falsely constructed message", "E2AP 10.3.6", element_twice),
    ("bytes that are not a message: transfer syntax error", "E2AP 10.2", malformed),
    ("truncated messages do not disturb other base stations", "E2AP 10.2", cut),
    (
        "a frame of 4 GiB does not disturb other base stations",
        "the framing of TCP and Unix sockets",
        oversized,
    ),
    ("an incomplete frame does not disturb other base stations", "the framing of TCP and Unix sockets", half),
    ("payload protocol identifiers 0, 70 and 71", "E2AP 8, TS 36.422's for SCTP", identifiers),
    // This check is last, because it may crash the RIC.
    ("hundreds of truncated and random messages are survived", "E2AP 10.2", random),
];

fn setup_in(it: &mut ScriptedNodes, version: Version) -> Outcome {
    let mut link = it.connect()?;
    link.version = version;
    let answer = it.set_up_on(&mut link, 7)?;
    let offered = ScriptedNodes::functions();
    let taken = answer.accepted.iter().flatten().map(|function| function.id);
    let refused = answer.rejected.iter().flatten().map(|function| function.id);
    // A RIC of this project identifies itself by accepting a function that was not offered. It does so only towards
    // peers that identify themselves, which this check does not.
    if let Some(odd) = taken.chain(refused).find(|id| !offered.iter().any(|function| function.id == *id)) {
        return fails(format!("the response names function {odd}, which was not offered"));
    }
    it.keep(link);
    Ok(())
}

fn setup_components(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.connect()?;
    if link.version == Version::V1_01 {
        return Err(CaseFailure::Skipped("E2AP 1.01 does not list components in the response"));
    }
    let answer = it.set_up_on(&mut link, 8)?;
    let acknowledged: Vec<_> = answer.components.iter().flatten().map(|component| &component.id).collect();
    let expected = component("amf-1").id;
    it.keep(link);
    if acknowledged == [&expected] {
        Ok(())
    } else {
        fails(format!("{} components are acknowledged instead of the one in the request", acknowledged.len()))
    }
}

fn second_setup(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    it.set_up_on(&mut link, 9)?;
    it.serves(&mut link, false)
}

fn reset_by_node(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    link.say(&reset(&link, 10))?;
    let response_id = link.expect("the reset response", |_, message| match message {
        Message::ResetResponse(m) => Some(m.transaction_id),
        _ => None,
    })?;
    same_run(&link, "the reset response", 10, response_id)?;
    it.keep(link);
    Ok(())
}

/// Sends a service update. Returns the transaction id of the response, the ids of accepted functions, the ids of
/// rejected functions, and whether the response is an acknowledgement (and not a failure).
fn updated(link: &mut Link, update: RicServiceUpdate) -> Result<(Option<u16>, Vec<u16>, bool), CaseFailure> {
    link.say(&Message::RicServiceUpdate(update))?;
    link.expect("the response to a service update", |_, message| match message {
        Message::RicServiceUpdateAcknowledge(m) => {
            let taken = m.accepted.iter().flatten().map(|function| function.id);
            let refused = m.rejected.iter().flatten().map(|function| function.id);
            Some((m.transaction_id, taken.chain(refused).collect(), true))
        }
        Message::RicServiceUpdateFailure(m) => Some((m.transaction_id, Vec::new(), false)),
        _ => None,
    })
}

fn service_update(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let mut function = ScriptedNodes::functions().swap_remove(0);
    function.id = 901;
    let update = RicServiceUpdate {
        transaction_id: transaction(&link, 11),
        added: Some(vec![function]),
        modified: None,
        deleted: None,
    };
    let (run, named, acknowledged) = updated(&mut link, update)?;
    same_run(&link, "the service update response", 11, run)?;
    it.keep(link);
    match (acknowledged, named.as_slice()) {
        (true, [901]) => Ok(()),
        (true, others) => {
            fails(format!("the response names the functions {others:?} instead of the added 901"))
        }
        (false, _) => fails("the service update is refused"),
    }
}

fn unknown_service(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let deleted = Some(vec![RanFunctionIdItem { id: 999, revision: 1 }]);
    let update =
        RicServiceUpdate { transaction_id: transaction(&link, 12), added: None, modified: None, deleted };
    let (run, ..) = updated(&mut link, update)?;
    same_run(&link, "the service update response", 12, run)?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

fn configure(
    link: &mut Link,
    number: u16,
    added: Option<ComponentConfigItem>,
    removed: Option<ComponentRemovalItem>,
) -> Result<Result<E2NodeConfigurationUpdateAcknowledge, Cause>, CaseFailure> {
    if link.version == Version::V1_01 {
        return Err(CaseFailure::Skipped("E2AP 1.01 lists components in another format"));
    }
    link.say(&Message::E2NodeConfigurationUpdate(E2NodeConfigurationUpdate {
        transaction_id: transaction(link, number),
        node_id: None,
        added: added.map(|one| vec![one]),
        updated: None,
        removed: removed.map(|one| vec![one]),
        tnl_removed: None,
    }))?;
    let (run, answer) =
        link.expect("the response to a configuration update", |_, message| match message {
            Message::E2NodeConfigurationUpdateAcknowledge(m) => Some((m.transaction_id, Ok(m))),
            Message::E2NodeConfigurationUpdateFailure(m) => Some((m.transaction_id, Err(m.cause))),
            _ => None,
        })?;
    same_run(link, "the configuration update response", number, run)?;
    Ok(answer)
}

fn configuration(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let answer = configure(&mut link, 13, Some(component("amf-2")), None)?;
    it.keep(link);
    match answer {
        Ok(m) if m.added.iter().flatten().map(|ack| &ack.id).eq([&component("amf-2").id]) => Ok(()),
        Ok(_) => fails("the acknowledgement of the configuration update does not name the added component"),
        Err(cause) => fails(format!("the configuration update is refused: {cause}")),
    }
}

fn unknown_component(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let ComponentConfigItem { interface, id, .. } = component("nobody");
    let answer = configure(&mut link, 14, None, Some(ComponentRemovalItem { interface, id }))?;
    it.keep(link);
    let outcomes = |m: &E2NodeConfigurationUpdateAcknowledge| {
        m.removed.iter().flatten().all(|ack| ack.ack.outcome == UpdateOutcome::Failure)
    };
    match answer {
        Err(_) => Ok(()),
        Ok(m) if outcomes(&m) && m.removed.is_some() => Ok(()),
        Ok(_) => fails("the removal of an unknown component succeeds"),
    }
}

fn same_transaction(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    for _ in 0..2 {
        if let Err(cause) = configure(&mut link, 15, Some(component("amf-3")), None)? {
            return fails(format!("the second copy of an update is refused: {cause}"));
        }
    }
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

fn removal(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    if link.version == Version::V1_01 {
        return Err(CaseFailure::Skipped("E2AP 1.01 has no removal procedure"));
    }
    link.say(&Message::E2RemovalRequest(E2RemovalRequest { transaction_id: transaction(&link, 16) }))?;
    let response_id = link.expect("the removal response", |_, message| match message {
        Message::E2RemovalResponse(m) => Some(m.transaction_id),
        _ => None,
    })?;
    same_run(&link, "the removal response", 16, response_id)?;
    // A base station that has been removed may set up again.
    let again = it.set_up()?;
    it.keep(again);
    Ok(())
}

fn error_indication(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    link.say(&Message::ErrorIndication(ErrorIndication {
        transaction_id: transaction(&link, 99),
        request_id: Some(RicRequestId { requestor: 4_000, instance: 4_000 }),
        function_id: Some(2),
        cause: Some(NO_REQUEST),
        diagnostics: None,
    }))?;
    silently(&mut link, "an error indication")?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

/// Returns the subscription request that the RIC forwards for an xApp.
fn forwarded_subscription(link: &mut Link) -> Result<RicSubscriptionRequest, CaseFailure> {
    let (function, details) = test_subscription();
    link.expect("the subscription request of the xApp at the base station", |_, message| match message {
        Message::RicSubscriptionRequest(m) if m.function_id == function && m.details == details => Some(m),
        _ => None,
    })
}

/// Connects a base station and an xApp with a subscription. Returns both, and the request id of the subscription at
/// the base station and at the xApp.
fn subscribed(
    it: &ScriptedNodes,
) -> Result<(Link, super::ric::Xapp, RicRequestId, RicRequestId), CaseFailure> {
    let mut link = it.set_up()?;
    let mut xapp = it.xapp()?;
    let (function, details) = test_subscription();
    xapp.subscribe(details, function)?;
    let request = forwarded_subscription(&mut link)?;
    link.say(&Message::RicSubscriptionResponse(RicSubscriptionResponse {
        request_id: request.request_id,
        function_id: function,
        admitted: vec![3],
        not_admitted: Some(Vec::new()),
    }))?;
    let at_xapp = xapp.link.expect("the subscription response at the xApp", |_, message| match message {
        Message::RicSubscriptionResponse(m) if m.admitted == [3] => Some(m.request_id),
        _ => None,
    })?;
    Ok((link, xapp, request.request_id, at_xapp))
}

fn subscription(it: &mut ScriptedNodes) -> Outcome {
    let (link, ..) = subscribed(it)?;
    it.keep(link);
    Ok(())
}

fn subscription_failure(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let mut xapp = it.xapp()?;
    let (function, details) = test_subscription();
    xapp.subscribe(details, function)?;
    let request = forwarded_subscription(&mut link)?;
    let v1 = link.version == Version::V1_01;
    let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
    link.say(&Message::RicSubscriptionFailure(RicSubscriptionFailure {
        request_id: request.request_id,
        function_id: function,
        not_admitted: v1.then(|| vec![ActionFailed { id: 3, cause }]),
        cause: (!v1).then_some(cause),
        diagnostics: None,
    }))?;
    objected(&mut xapp.link, "the xApp's subscription", &[cause])?;
    it.keep(link);
    Ok(())
}

fn indication(it: &mut ScriptedNodes) -> Outcome {
    let (mut link, mut xapp, at_node, at_xapp) = subscribed(it)?;
    indicated(&mut link, at_node, b"as it was")?;
    let (request, header, body) =
        xapp.link.expect("the indication at the xApp", |_, message| match message {
            Message::RicIndication(m) => Some((m.request_id, m.header, m.message)),
            _ => None,
        })?;
    it.keep(link);
    match (request == at_xapp, &header[..], &body[..]) {
        (true, b"header", b"as it was") => Ok(()),
        (false, ..) => fails("the indication has the id of another request"),
        _ => fails("the RIC changed the bytes of the indication"),
    }
}

fn subscription_delete(it: &mut ScriptedNodes) -> Outcome {
    let (mut link, mut xapp, at_node, at_xapp) = subscribed(it)?;
    let function_id = test_subscription().0;
    xapp.delete(at_xapp, function_id)?;
    let deleted = link.expect("the subscription delete request of the xApp", |_, message| match message {
        Message::RicSubscriptionDeleteRequest(m) => Some(m.request_id),
        _ => None,
    })?;
    if deleted != at_node {
        return fails("the forwarded delete request names another subscription");
    }
    let answer = RicSubscriptionDeleteResponse { request_id: at_node, function_id };
    link.say(&Message::RicSubscriptionDeleteResponse(answer))?;
    let response_id = xapp.link.expect("the subscription delete response", |_, message| match message {
        Message::RicSubscriptionDeleteResponse(m) => Some(m.request_id),
        _ => None,
    })?;
    it.keep(link);
    if response_id == at_xapp { Ok(()) } else { fails("the response has the id of another request") }
}

/// Sends a control request of an xApp. Returns the request as the base station receives it.
fn controlled(it: &ScriptedNodes) -> Result<(Link, super::ric::Xapp, RicControlRequest), CaseFailure> {
    let mut link = it.set_up()?;
    let mut xapp = it.xapp()?;
    xapp.control(test_subscription().0, Bytes::from_static(b"head"), Bytes::from_static(b"do it"))?;
    let request = link.expect("the control request of the xApp", |_, message| match message {
        Message::RicControlRequest(m) => Some(m),
        _ => None,
    })?;
    if (&request.header[..], &request.message[..]) != (b"head", b"do it") {
        return fails("the RIC changed the bytes of the control request");
    }
    Ok((link, xapp, request))
}

fn control(it: &mut ScriptedNodes) -> Outcome {
    let (mut link, mut xapp, request) = controlled(it)?;
    let v1 = link.version == Version::V1_01;
    link.say(&Message::RicControlAcknowledge(RicControlAcknowledge {
        request_id: request.request_id,
        function_id: request.function_id,
        call_process_id: None,
        status: v1.then_some(RicControlStatus::Success),
        outcome: Some(Bytes::from_static(b"done")),
    }))?;
    let outcome = xapp.link.expect("the control acknowledgement", |_, message| match message {
        Message::RicControlAcknowledge(m) => Some(m.outcome),
        _ => None,
    })?;
    it.keep(link);
    if outcome.as_deref() == Some(b"done") { Ok(()) } else { fails("the RIC changed the control outcome") }
}

fn control_failure(it: &mut ScriptedNodes) -> Outcome {
    let (mut link, mut xapp, request) = controlled(it)?;
    let cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
    link.say(&Message::RicControlFailure(RicControlFailure {
        request_id: request.request_id,
        function_id: request.function_id,
        call_process_id: None,
        cause,
        outcome: None,
        diagnostics: None,
    }))?;
    objected(&mut xapp.link, "the xApp's control request", &[cause])?;
    it.keep(link);
    Ok(())
}
