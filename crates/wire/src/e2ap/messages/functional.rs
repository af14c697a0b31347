//! Functional procedures: subscription, indication, control, query (clause 8.2).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{Fixed, Free, Int, List, Opt, Own};
use bytes::Bytes;

message! {
    /// The RIC wants something reported, asked or done.
    RicSubscriptionRequest "RICsubscriptionRequest" {
        /// Chosen by the RIC.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// When and what.
        details: RicSubscriptionDetails [Own] "RICsubscriptionDetails" = 30 Reject [M M M],
        /// From when, as an NTP time stamp; v3.01 only.
        start_time: Option<[u8; 8]> [Opt<Fixed>] "RICsubscriptionTime" = 62 Reject [- - O],
        /// Until when, as an NTP time stamp; v3.01 only.
        end_time: Option<[u8; 8]> [Opt<Fixed>] "RICsubscriptionTime" = 63 Reject [- - O],
    }
}
message! {
    /// At least one action was admitted.
    RicSubscriptionResponse "RICsubscriptionResponse" {
        /// Of the request.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// Admitted actions.
        admitted: Vec<RicActionId> [List<1, 16, ActionAdmittedItems>] "RICaction-Admitted-List" = 17 Reject [M M M],
        /// Other actions.
        not_admitted: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionNotAdmittedItems>>]
            "RICaction-NotAdmitted-List" = 18 Reject [O O O],
    }
}
message! {
    /// No action was admitted.
    RicSubscriptionFailure "RICsubscriptionFailure" {
        /// Of the request.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// The actions and why; v1.01 only.
        not_admitted: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionNotAdmittedItems>>]
            "RICaction-NotAdmitted-List" = 18 Reject [M - -],
        /// Why; since v2.03.
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [- M M],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// The RIC wants no more of it.
    RicSubscriptionDeleteRequest "RICsubscriptionDeleteRequest" {
        /// Of the subscription.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
    }
}
message! {
    /// The subscription is gone.
    RicSubscriptionDeleteResponse "RICsubscriptionDeleteResponse" {
        /// Of the subscription.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
    }
}
message! {
    /// The subscription could not be deleted.
    RicSubscriptionDeleteFailure "RICsubscriptionDeleteFailure" {
        /// Of the subscription.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [M M M],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// The node wants subscriptions deleted; since v2.03.
    RicSubscriptionDeleteRequired "RICsubscriptionDeleteRequired" {
        /// Which and why.
        subscriptions: Vec<SubscriptionWithCause> [List<1, 1024, SubscriptionCauseItems>]
            "RICsubscription-List-withCause" = 60 Ignore [- M M],
    }
}
message! {
    /// A report or an insert.
    RicIndication "RICindication" {
        /// Of the subscription.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// Of which action.
        action_id: RicActionId [Int<0, 255>] "RICactionID" = 15 Reject [M M M],
        /// Running number.
        sn: Option<u16> [Opt<Int<0, 65535>>] "RICindicationSN" = 27 Reject [O O O],
        /// Report or insert.
        kind: RicIndicationType [Own] "RICindicationType" = 28 Reject [M M M],
        /// Defined by the service model.
        header: Bytes [Free] "RICindicationHeader" = 25 Reject [M M M],
        /// Defined by the service model.
        message: Bytes [Free] "RICindicationMessage" = 26 Reject [M M M],
        /// Ties an insert to the control that answers it.
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O],
    }
}
message! {
    /// The RIC wants something done.
    RicControlRequest "RICcontrolRequest" {
        /// Chosen by the RIC.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// By which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// The insert that this answers.
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O],
        /// Defined by the service model.
        header: Bytes [Free] "RICcontrolHeader" = 22 Reject [M M M],
        /// Defined by the service model.
        message: Bytes [Free] "RICcontrolMessage" = 23 Reject [M M M],
        /// Which answer is wanted.
        ack_request: Option<RicControlAckRequest> [Opt] "RICcontrolAckRequest" = 21 Reject [O O O],
    }
}
message! {
    /// Done.
    RicControlAcknowledge "RICcontrolAcknowledge" {
        /// Of the request.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// By which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// Of the insert.
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O],
        /// How it ended; v1.01 only.
        status: Option<RicControlStatus> [Opt] "RICcontrolStatus" = 24 Reject [M - -],
        /// Defined by the service model.
        outcome: Option<Bytes> [Opt<Free>] "RICcontrolOutcome" = 32 Reject [O O O],
    }
}
message! {
    /// Not done.
    RicControlFailure "RICcontrolFailure" {
        /// Of the request.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [M M M],
        /// By which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M],
        /// Of the insert.
        call_process_id: Option<Bytes> [Opt<Free>] "RICcallProcessID" = 20 Reject [O O O],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [M M M],
        /// Defined by the service model.
        outcome: Option<Bytes> [Opt<Free>] "RICcontrolOutcome" = 32 Reject [O O O],
        /// What was wrong; since v2.03.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O],
    }
}
message! {
    /// The RIC asks something once; v3.01 only.
    RicQueryRequest "RICqueryRequest" {
        /// Chosen by the RIC.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [- - M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M],
        /// Defined by the service model.
        header: Bytes [Free] "RICqueryHeader" = 95 Reject [- - M],
        /// Defined by the service model.
        definition: Bytes [Free] "RICqueryDefinition" = 96 Reject [- - M],
    }
}
message! {
    /// The answer; v3.01 only.
    RicQueryResponse "RICqueryResponse" {
        /// Of the request.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [- - M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M],
        /// Defined by the service model.
        outcome: Bytes [Free] "RICqueryOutcome" = 97 Reject [- - M],
    }
}
message! {
    /// No answer; v3.01 only.
    RicQueryFailure "RICqueryFailure" {
        /// Of the request.
        request_id: RicRequestId [Own] "RICrequestID" = 29 Reject [- - M],
        /// Of which function.
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [- - M],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- - O],
    }
}
