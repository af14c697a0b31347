//! Construction of messages and causes for the E2AP version in use.
use ranlab_e2_codec::e2ap::*;

/// Returns a cause that the version defines; a newer cause becomes `unspecified` of its group.
pub(super) fn cause_in(version: Version, cause: Cause) -> Cause {
    use CauseRicRequest as R;
    let v3_only = |c| {
        matches!(
            c,
            R::RicSubscriptionEndTimeExpired
                | R::RicSubscriptionEndTimeInvalid
                | R::DuplicateRicRequestId
                | R::EventTriggerNotSupported
                | R::RequestedInformationUnavailable
                | R::InvalidInformationRequest
        )
    };
    let v2_on = |c| matches!(c, R::ControlTimerExpired | R::ControlFailedToExecute | R::SystemNotReady);
    match cause {
        Cause::RicRequest(c) if version < Version::V3_01 && v3_only(c) => Cause::RicRequest(R::Unspecified),
        Cause::RicRequest(c) if version < Version::V2_03 && v2_on(c) => Cause::RicRequest(R::Unspecified),
        Cause::E2Node(_) if version < Version::V2_03 => Cause::Misc(CauseMisc::Unspecified),
        other => other,
    }
}

/// Returns the transaction id for a response.
pub(super) fn transaction_in(version: Version, id: Option<TransactionId>) -> Option<TransactionId> {
    if version == Version::V1_01 { None } else { Some(id.unwrap_or(0)) }
}

pub(super) fn subscription_failure(
    version: Version,
    request_id: RicRequestId,
    function_id: RanFunctionId,
    cause: Cause,
    actions: &[ActionToBeSetup],
) -> Message {
    let cause = cause_in(version, cause);
    let v1 = version == Version::V1_01;
    let not_admitted = v1.then(|| actions.iter().map(|a| ActionFailed { id: a.id, cause }).collect());
    Message::RicSubscriptionFailure(RicSubscriptionFailure {
        request_id,
        function_id,
        not_admitted,
        cause: (!v1).then_some(cause),
        diagnostics: None,
    })
}

pub(super) fn subscription_response(
    version: Version,
    request_id: RicRequestId,
    function_id: RanFunctionId,
    admitted: &[RicActionId],
    not_admitted: Option<&[ActionFailed]>,
) -> Message {
    let reword = |f: &ActionFailed| ActionFailed { id: f.id, cause: cause_in(version, f.cause) };
    Message::RicSubscriptionResponse(RicSubscriptionResponse {
        request_id,
        function_id,
        admitted: admitted.to_vec(),
        not_admitted: not_admitted.map(|list| list.iter().map(reword).collect()),
    })
}

pub(super) fn delete_failure(
    version: Version,
    request_id: RicRequestId,
    function_id: RanFunctionId,
    cause: Cause,
) -> Message {
    let cause = cause_in(version, cause);
    Message::RicSubscriptionDeleteFailure(RicSubscriptionDeleteFailure {
        request_id,
        function_id,
        cause,
        diagnostics: None,
    })
}

/// Returns the message that informs an owner of the end of its subscription.
pub(super) fn subscription_ended(
    version: Version,
    request_id: RicRequestId,
    function_id: RanFunctionId,
    cause: Cause,
) -> Message {
    let cause = cause_in(version, cause);
    if version >= Version::V2_03 {
        let subscriptions = vec![SubscriptionWithCause { request_id, function_id, cause }];
        return Message::RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired { subscriptions });
    }
    error_about(Some(request_id), Some(function_id), cause)
}

pub(super) fn error_about(
    request_id: Option<RicRequestId>,
    function_id: Option<RanFunctionId>,
    cause: Cause,
) -> Message {
    Message::ErrorIndication(ErrorIndication {
        transaction_id: None,
        request_id,
        function_id,
        cause: Some(cause),
        diagnostics: None,
    })
}

pub(super) fn control_failure(
    version: Version,
    request_id: RicRequestId,
    function_id: RanFunctionId,
    cause: Cause,
    call_process_id: Option<bytes::Bytes>,
    outcome: Option<bytes::Bytes>,
) -> Message {
    Message::RicControlFailure(RicControlFailure {
        request_id,
        function_id,
        call_process_id,
        cause: cause_in(version, cause),
        outcome,
        diagnostics: None,
    })
}

/// Returns the cause of a subscription failure, in either version's format.
pub(super) fn cause_of_failure(failure: &RicSubscriptionFailure) -> Cause {
    let of_actions = || failure.not_admitted.as_ref()?.first().map(|f| f.cause);
    failure.cause.or_else(of_actions).unwrap_or(Cause::RicRequest(CauseRicRequest::Unspecified))
}

/// Returns the acknowledgement of an updated component, in the format of the update.
pub(super) fn ack_update(update: &ComponentUpdate) -> ComponentUpdateAck {
    let ack = ComponentAck { outcome: UpdateOutcome::Success, cause: None };
    match update {
        ComponentUpdate::V1(c) => {
            ComponentUpdateAck::V1(ComponentUpdateAckV1 { kind: c.kind, id: c.id.clone(), ack })
        }
        ComponentUpdate::V2(c) => ComponentUpdateAck::V2(ack_item(c.interface, &c.id)),
    }
}

/// Returns the acknowledgement of a component.
pub(super) fn ack_item(interface: ComponentInterfaceType, id: &ComponentId) -> ComponentAckItem {
    let ack = ComponentAck { outcome: UpdateOutcome::Success, cause: None };
    ComponentAckItem { interface, id: id.clone(), ack }
}
