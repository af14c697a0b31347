//! Modification of subscriptions by the RIC and by the node (clause 8.2, v3.01 only).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{List, Opt, SelfCoded, Unconstrained};
use bytes::Bytes;

messages! {
    /// Request of the RIC to modify a subscription.
    RicSubscriptionModificationRequest "RICsubscriptionModificationRequest" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        event_trigger: Option<Bytes> [Opt<Unconstrained>] "RICeventTriggerDefinition" = 64 Ignore [- - O], "New event trigger.";
        remove: Option<Vec<RicActionId>> [Opt<List<0, 16, ActionRemoveItems>>]
            "RICactions-ToBeRemovedForModification-List" = 65 Ignore [- - O], "Actions to remove.";
        modify: Option<Vec<ActionToBeModified>> [Opt<List<0, 16, ActionModifyItems>>]
            "RICactions-ToBeModifiedForModification-List" = 67 Ignore [- - O], "Actions to modify.";
        add: Option<Vec<ActionToBeAdded>> [Opt<List<0, 16, ActionAddItems>>]
            "RICactions-ToBeAddedForModification-List" = 69 Ignore [- - O], "Actions to add.";
    }
    /// Response: the node modified the subscription.
    RicSubscriptionModificationResponse "RICsubscriptionModificationResponse" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        removed: Option<Vec<RicActionId>> [Opt<List<0, 16, ActionRemovedItems>>]
            "RICactions-RemovedForModification-List" = 71 Ignore [- - O], "Removed actions.";
        remove_failed: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionRemoveFailedItems>>]
            "RICactions-FailedToBeRemovedForModification-List" = 73 Ignore [- - O], "Actions that could not be removed.";
        modified: Option<Vec<RicActionId>> [Opt<List<0, 16, ActionModifiedItems>>]
            "RICactions-ModifiedForModification-List" = 75 Ignore [- - O], "Modified actions.";
        modify_failed: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionModifyFailedItems>>]
            "RICactions-FailedToBeModifiedForModification-List" = 77 Ignore [- - O], "Actions that could not be modified.";
        added: Option<Vec<RicActionId>> [Opt<List<0, 16, ActionAddedItems>>]
            "RICactions-AddedForModification-List" = 79 Ignore [- - O], "Added actions.";
        add_failed: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionAddFailedItems>>]
            "RICactions-FailedToBeAddedForModification-List" = 81 Ignore [- - O], "Actions that could not be added.";
    }
    /// Failure: the node could not modify the subscription.
    RicSubscriptionModificationFailure "RICsubscriptionModificationFailure" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        cause: Cause [SelfCoded] "Cause" = 1 Reject [- - M], "Cause.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- - O], "Criticality diagnostics.";
    }
    /// Request of the node to modify a subscription.
    RicSubscriptionModificationRequired "RICsubscriptionModificationRequired" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        modify: Option<Vec<ActionRequiredToBeModified>> [Opt<List<0, 16, ActionModifyRequiredItems>>]
            "RICactions-RequiredToBeModified-List" = 83 Ignore [- - O], "Actions to modify.";
        remove: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionRemoveRequiredItems>>]
            "RICactions-RequiredToBeRemoved-List" = 85 Ignore [- - O], "Actions to remove.";
    }
    /// Confirmation of at least some of the changes by the RIC.
    RicSubscriptionModificationConfirm "RICsubscriptionModificationConfirm" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        modified: Option<Vec<RicActionId>> [Opt<List<0, 16, ActionModificationConfirmedItems>>]
            "RICactions-ConfirmedForModification-List" = 87 Ignore [- - O], "Actions that may be modified.";
        modify_refused: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionModificationRefusedItems>>]
            "RICactions-RefusedToBeModified-List" = 89 Ignore [- - O], "Actions that must not be modified.";
        removed: Option<Vec<RicActionId>> [Opt<List<0, 16, ActionRemovalConfirmedItems>>]
            "RICactions-ConfirmedForRemoval-List" = 91 Ignore [- - O], "Actions that may be removed.";
        remove_refused: Option<Vec<ActionFailed>> [Opt<List<0, 16, ActionRemovalRefusedItems>>]
            "RICactions-RefusedToBeRemoved-List" = 93 Ignore [- - O], "Actions that must not be removed.";
    }
    /// Refusal by the RIC.
    RicSubscriptionModificationRefuse "RICsubscriptionModificationRefuse" {
        request_id: RicRequestId [SelfCoded] "RICrequestID" = 29 Reject [- - M], "Request id of the subscription.";
        function_id: RanFunctionId [RanFunctionIdCodec] "RANfunctionID" = 5 Reject [- - M], "Id of the RAN function.";
        cause: Cause [SelfCoded] "Cause" = 1 Reject [- - M], "Cause.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- - O], "Criticality diagnostics.";
    }
}
