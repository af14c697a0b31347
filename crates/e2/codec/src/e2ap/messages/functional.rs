//! Functional procedures: subscription, indication, control, query (clause 8.2).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{Fixed, Free, Int, List, Opt, Own};
use bytes::Bytes;

messages! {
    /// The RIC wants something reported, asked or done.
    RicSubscriptionRequest "RICsubscriptionRequest" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Chosen by the RIC.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
        details: RicSubscriptionDetails [Own] "RICsubscriptionDetails" = 30 Reject [M M M], "When and what.";
        start_time: Option<[u8; 8]> [Opt<Fixed>] "RICsubscriptionTime" = 62 Reject [- - O], "From when, as an NTP time stamp; v3.01 only.";
        end_time: Option<[u8; 8]> [Opt<Fixed>] "RICsubscriptionTime" = 63 Reject [- - O], "Until when, as an NTP time stamp; v3.01 only.";
    }
    /// At least one action was admitted.
    RicSubscriptionResponse "RICsubscriptionResponse" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the request.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
        admitted: Vec<RicActionId> [List<1, 16, ActionAdmittedItems>] "RICaction-Admitted-List" = 17 Reject [M M M], "Admitted actions.";
        not_admitted: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionNotAdmittedItems>>]
            "RICaction-NotAdmitted-List" = 18 Reject [O O O], "Other actions.";
    }
    /// No action was admitted.
    RicSubscriptionFailure "RICsubscriptionFailure" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the request.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
        not_admitted: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionNotAdmittedItems>>]
            "RICaction-NotAdmitted-List" = 18 Reject [M - -], "The actions and why; v1.01 only.";
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [- M M], "Why; since v2.03.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// The RIC wants no more of it.
    RicSubscriptionDeleteRequest "RICsubscriptionDeleteRequest" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
    }
    /// The subscription is gone.
    RicSubscriptionDeleteResponse "RICsubscriptionDeleteResponse" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
    }
    /// The subscription could not be deleted.
    RicSubscriptionDeleteFailure "RICsubscriptionDeleteFailure" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
        cause: Cause [Own] "Cause" = 1 Ignore [M M M], "Why.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// The node wants subscriptions deleted; since v2.03.
    RicSubscriptionDeleteRequired "RICsubscriptionDeleteRequired" {
        subscriptions: Vec<SubscriptionWithCause> [List<1, 1024, SubscriptionCauseItems>]
            "RICsubscription-List-withCause" = 60 Ignore [- M M], "Which and why.";
    }
    /// A report or an insert.
    RicIndication "RICindication" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Of which function.";
        action_id: RicActionId [Int<0, 255>] "RICactionID" = 15 Reject [M M M], "Of which action.";
        sn: Option<u16> [Opt<Int<0, 65535>>] "RICindicationSN" = 27 Reject [O O O], "Running number.";
        kind: RicIndicationType [Own] "RICindicationType" = 28 Reject [M M M], "Report or insert.";
        header: Bytes [Free] "RICindicationHeader" = 25 Reject [M M M], "Defined by the service model.";
        message: Bytes [Free] "RICindicationMessage" = 26 Reject [M M M], "Defined by the service model.";
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O], "Ties an insert to the control that answers it.";
    }
    /// The RIC wants something done.
    RicControlRequest "RICcontrolRequest" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Chosen by the RIC.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "By which function.";
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O], "The insert that this answers.";
        header: Bytes [Free] "RICcontrolHeader" = 22 Reject [M M M], "Defined by the service model.";
        message: Bytes [Free] "RICcontrolMessage" = 23 Reject [M M M], "Defined by the service model.";
        ack_request: Option<RicControlAckRequest> [Opt] "RICcontrolAckRequest" = 21 Reject [O O O], "Which answer is wanted.";
    }
    /// Done.
    RicControlAcknowledge "RICcontrolAcknowledge" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the request.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "By which function.";
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O], "Of the insert.";
        status: Option<RicControlStatus> [Opt] "RICcontrolStatus" = 24 Reject [M - -], "How it ended; v1.01 only.";
        outcome: Option<Bytes> [Opt<Free>] "RICcontrolOutcome" = 32 Reject [O O O], "Defined by the service model.";
    }
    /// Not done.
    RicControlFailure "RICcontrolFailure" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M], "Of the request.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "By which function.";
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O], "Of the insert.";
        cause: Cause [Own] "Cause" = 1 Ignore [M M M], "Why.";
        outcome: Option<Bytes> [Opt<Free>] "RICcontrolOutcome" = 32 Reject [O O O], "Defined by the service model.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O], "What was wrong; since v2.03.";
    }
    /// The RIC asks something once; v3.01 only.
    RicQueryRequest "RICqueryRequest" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [- - M], "Chosen by the RIC.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Of which function.";
        header: Bytes [Free] "RICqueryHeader" = 95 Reject [- - M], "Defined by the service model.";
        definition: Bytes [Free] "RICqueryDefinition" = 96 Reject [- - M], "Defined by the service model.";
    }
    /// The answer; v3.01 only.
    RicQueryResponse "RICqueryResponse" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [- - M], "Of the request.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Of which function.";
        outcome: Bytes [Free] "RICqueryOutcome" = 97 Reject [- - M], "Defined by the service model.";
    }
    /// No answer; v3.01 only.
    RicQueryFailure "RICqueryFailure" {
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [- - M], "Of the request.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Of which function.";
        cause: Cause [Own] "Cause" = 1 Ignore [- - M], "Why.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- - O], "What was wrong.";
    }
}
