//! Functional procedures: subscription, indication, control, query (clause 8.2).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{Fixed, Int, List, Opt, SelfCoded, Unconstrained};
use bytes::Bytes;

messages! {
    /// Request to establish a subscription.
    RicSubscriptionRequest "RICsubscriptionRequest" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id, chosen by the RIC.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        details: RicSubscriptionDetails [SelfCoded] "RICsubscriptionDetails" = 30 Reject [M M M], "Event trigger and actions.";
        start_time: Option<[u8; 8]> [Opt<Fixed>] "RICsubscriptionTime" = 62 Reject [- - O], "Start time as an NTP timestamp; v3.01 only.";
        end_time: Option<[u8; 8]> [Opt<Fixed>] "RICsubscriptionTime" = 63 Reject [- - O], "End time as an NTP timestamp; v3.01 only.";
    }
    /// Response: at least one action was admitted.
    RicSubscriptionResponse "RICsubscriptionResponse" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        admitted: Vec<RicActionId> [List<1, 16, ActionAdmittedItems>] "RICaction-Admitted-List" = 17 Reject [M M M], "Admitted actions.";
        not_admitted: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionNotAdmittedItems>>]
            "RICaction-NotAdmitted-List" = 18 Reject [O O O], "Actions that were not admitted.";
    }
    /// Failure: no action was admitted.
    RicSubscriptionFailure "RICsubscriptionFailure" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        not_admitted: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionNotAdmittedItems>>]
            "RICaction-NotAdmitted-List" = 18 Reject [M - -], "Actions that were not admitted, with causes; v1.01 only.";
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [- M M], "Cause; v2.03 and later.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// Request to delete a subscription.
    RicSubscriptionDeleteRequest "RICsubscriptionDeleteRequest" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
    }
    /// Response: the subscription was deleted.
    RicSubscriptionDeleteResponse "RICsubscriptionDeleteResponse" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
    }
    /// Failure: the subscription could not be deleted.
    RicSubscriptionDeleteFailure "RICsubscriptionDeleteFailure" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [M M M], "Cause.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// The node requests the deletion of subscriptions; v2.03 and later.
    RicSubscriptionDeleteRequired "RICsubscriptionDeleteRequired" {
        subscriptions: Vec<SubscriptionWithCause> [List<1, 1024, SubscriptionCauseItems>]
            "RICsubscription-List-withCause" = 60 Ignore [- M M], "Subscriptions with causes.";
    }
    /// A report or an insert.
    RicIndication "RICindication" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        action_id: RicActionId [Int<0, 255>] "RICactionID" = 15 Reject [M M M], "Id of the action.";
        sn: Option<u16> [Opt<Int<0, 65535>>] "RICindicationSN" = 27 Reject [O O O], "Sequence number.";
        kind: RicIndicationType [SelfCoded] "RICindicationType" = 28 Reject [M M M], "Type: report or insert.";
        header: Bytes [Unconstrained] "RICindicationHeader" = 25 Reject [M M M], "Defined by the service model.";
        message: Bytes [Unconstrained] "RICindicationMessage" = 26 Reject [M M M], "Defined by the service model.";
        call_process_id: Option<Bytes> [Opt<Unconstrained>] "RICcallProcessID" = 20 Reject [O O O], "Identifier that links an insert to the control that responds to it.";
    }
    /// Request to execute a control.
    RicControlRequest "RICcontrolRequest" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id, chosen by the RIC.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        call_process_id: Option<Bytes> [Opt<Unconstrained>] "RICcallProcessID" = 20 Reject [O O O], "Call process id of the insert to which this responds.";
        header: Bytes [Unconstrained] "RICcontrolHeader" = 22 Reject [M M M], "Defined by the service model.";
        message: Bytes [Unconstrained] "RICcontrolMessage" = 23 Reject [M M M], "Defined by the service model.";
        ack_request: Option<RicControlAckRequest> [Opt] "RICcontrolAckRequest" = 21 Reject [O O O], "Requested type of response.";
    }
    /// Response: the control was executed.
    RicControlAcknowledge "RICcontrolAcknowledge" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        call_process_id: Option<Bytes> [Opt<Unconstrained>] "RICcallProcessID" = 20 Reject [O O O], "Call process id of the insert.";
        status: Option<RicControlStatus> [Opt] "RICcontrolStatus" = 24 Reject [M - -], "Result; v1.01 only.";
        outcome: Option<Bytes> [Opt<Unconstrained>] "RICcontrolOutcome" = 32 Reject [O O O], "Defined by the service model.";
    }
    /// Failure: the control was not executed.
    RicControlFailure "RICcontrolFailure" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [M M M], "Request id.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [M M M], "Id of the RAN function.";
        call_process_id: Option<Bytes> [Opt<Unconstrained>] "RICcallProcessID" = 20 Reject [O O O], "Call process id of the insert.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [M M M], "Cause.";
        outcome: Option<Bytes> [Opt<Unconstrained>] "RICcontrolOutcome" = 32 Reject [O O O], "Defined by the service model.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O], "Criticality diagnostics; v2.03 and later.";
    }
    /// Request for information; v3.01 only.
    RicQueryRequest "RICqueryRequest" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id, chosen by the RIC.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        header: Bytes [Unconstrained] "RICqueryHeader" = 95 Reject [- - M], "Defined by the service model.";
        definition: Bytes [Unconstrained] "RICqueryDefinition" = 96 Reject [- - M], "Defined by the service model.";
    }
    /// Response to a query; v3.01 only.
    RicQueryResponse "RICqueryResponse" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        outcome: Bytes [Unconstrained] "RICqueryOutcome" = 97 Reject [- - M], "Defined by the service model.";
    }
    /// Failure of a query; v3.01 only.
    RicQueryFailure "RICqueryFailure" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [- - M], "Cause.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- - O], "Criticality diagnostics.";
    }
}
