//! Global procedures: setup, reset, service update, configuration, connections, removal, errors (clause 8.3).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{IntExt, List, Opt, SelfCoded};

/// Transaction id of a global procedure, 0 to 255; v2.03 and later.
pub type TransactionId = u16;
type Tid = IntExt<0, 255>;
/// RANfunctions-List, which may be empty in v1.01.
type Functions<C> = FunctionList<C>;

messages! {
    /// Request of a node to set up the interface.
    E2SetupRequest "E2setupRequest" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
        node_id: GlobalE2NodeId [SelfCoded] "GlobalE2node-ID" = 3 Reject [M M M], "Identity of the node.";
        functions: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 10 Reject [O M M], "Offered RAN functions.";
        components_v1: Option<Vec<ComponentUpdate>> [Opt<List<1, 1024, ComponentUpdateItems>>]
            "E2nodeComponentConfigUpdate-List" = 33 Reject [O - -], "Components, in the format of v1.01.";
        components: Option<Vec<ComponentConfigItem>> [Opt<List<1, 1024, ComponentAdditionItems>>]
            "E2nodeComponentConfigAddition-List" = 50 Reject [- M M], "Components.";
    }
    /// Response: the RIC accepts the node.
    E2SetupResponse "E2setupResponse" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        ric_id: GlobalRicId [SelfCoded] "GlobalRIC-ID" = 4 Reject [M M M], "Identity of the RIC.";
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O], "Accepted RAN functions.";
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Reject [O O O], "Rejected RAN functions.";
        components_v1: Option<Vec<ComponentUpdateAck>> [Opt<List<1, 1024, ComponentUpdateAckItems>>]
            "E2nodeComponentConfigUpdateAck-List" = 35 Reject [O - -], "Acknowledgement of the components, in the format of v1.01.";
        components: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentAdditionAckItems>>]
            "E2nodeComponentConfigAdditionAck-List" = 52 Reject [- M M], "Acknowledgement of the components.";
    }
    /// Failure: the RIC refuses the node.
    E2SetupFailure "E2setupFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [M M M], "Cause.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "Time to wait before the next attempt.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
        tnl: Option<TnlInformation> [Opt] "TNLinformation" = 48 Ignore [O O O], "Transport address of another RIC.";
    }
    /// An error that no other message can report.
    ErrorIndication "ErrorIndication" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- O O], "Transaction id of the message with the error.";
        request_id: Option<RicRequestId> [Opt] "RICrequestID" = 29 Reject [O O O], "Request id of the message with the error.";
        function_id: Option<RanFunctionId> [Opt<RanFunctionIdCodec>] "RANfunctionID" = 5 Reject [O O O], "RAN function of the message with the error.";
        cause: Option<Cause> [Opt] "Cause" = 1 Ignore [O O O], "Cause.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// Request to reset everything but the setup.
    ResetRequest "ResetRequest" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [M M M], "Cause.";
    }
    /// Response to a reset.
    ResetResponse "ResetResponse" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// Request for the RAN functions of a node.
    RicServiceQuery "RICserviceQuery" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O], "RAN functions that the RIC has accepted.";
    }
    /// Change of a node's RAN functions.
    RicServiceUpdate "RICserviceUpdate" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
        added: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 10 Reject [O O O], "Added RAN functions.";
        modified: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 12 Reject [O O O], "Modified RAN functions.";
        deleted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 11 Reject [O O O], "Deleted RAN functions.";
    }
    /// Acknowledgement of a service update.
    RicServiceUpdateAcknowledge "RICserviceUpdateAcknowledge" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O], "Accepted RAN functions.";
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Reject [O O O], "Rejected RAN functions.";
    }
    /// Failure of a service update.
    RicServiceUpdateFailure "RICserviceUpdateFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Ignore [O - -], "Rejected RAN functions; v1.01 only.";
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [- M M], "Cause; v2.03 and later.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "Time to wait before the node's next attempt.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// Change of a node's components.
    E2NodeConfigurationUpdate "E2nodeConfigurationUpdate" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
        node_id: Option<GlobalE2NodeId> [Opt] "GlobalE2node-ID" = 3 Reject [- O O], "Identity of the node, on a new association.";
        added: Option<Vec<ComponentConfigItem>> [Opt<List<1, 1024, ComponentAdditionItems>>]
            "E2nodeComponentConfigAddition-List" = 50 Reject [- O O], "Added components.";
        updated: Option<Vec<ComponentUpdate>> [Opt<List<1, 1024, ComponentUpdateItems>>]
            "E2nodeComponentConfigUpdate-List" = 33 Reject [O O O], "Updated components.";
        removed: Option<Vec<ComponentRemovalItem>> [Opt<List<1, 1024, ComponentRemovalItems>>]
            "E2nodeComponentConfigRemoval-List" = 54 Reject [- O O], "Removed components.";
        tnl_removed: Option<Vec<E2NodeTnlRemovalItem>> [Opt<List<1, 32, TnlRemovalItems>>]
            "E2nodeTNLassociationRemoval-List" = 58 Reject [- O O], "Associations to remove.";
    }
    /// Acknowledgement of a configuration update.
    E2NodeConfigurationUpdateAcknowledge "E2nodeConfigurationUpdateAcknowledge" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        added: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentAdditionAckItems>>]
            "E2nodeComponentConfigAdditionAck-List" = 52 Reject [- O O], "Acknowledgement of added components.";
        updated: Option<Vec<ComponentUpdateAck>> [Opt<List<1, 1024, ComponentUpdateAckItems>>]
            "E2nodeComponentConfigUpdateAck-List" = 35 Reject [O O O], "Acknowledgement of updated components.";
        removed: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentRemovalAckItems>>]
            "E2nodeComponentConfigRemovalAck-List" = 56 Reject [- O O], "Acknowledgement of removed components.";
    }
    /// Failure of a configuration update.
    E2NodeConfigurationUpdateFailure "E2nodeConfigurationUpdateFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [M M M], "Cause.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "Time to wait before the node's next attempt.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// Request of the RIC to change its associations.
    E2ConnectionUpdate "E2connectionUpdate" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
        add: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 44 Reject [O O O], "Associations to add.";
        remove: Option<Vec<E2ConnectionRemoveItem>> [Opt<List<1, 32, ConnectionRemoveItems>>]
            "E2connectionUpdateRemove-List" = 46 Reject [O O O], "Associations to remove.";
        modify: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 45 Reject [O O O], "Associations to modify.";
    }
    /// Acknowledgement of a connection update.
    E2ConnectionUpdateAcknowledge "E2connectionUpdateAcknowledge" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        setup: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 39 Reject [O O O], "Associations that were set up.";
        failed: Option<Vec<E2ConnectionSetupFailedItem>> [Opt<List<1, 32, ConnectionFailedItems>>]
            "E2connectionSetupFailed-List" = 40 Reject [O O O], "Associations that could not be set up.";
    }
    /// Failure of a connection update.
    E2ConnectionUpdateFailure "E2connectionUpdateFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [O O O], "Cause.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "Time to wait before the RIC's next attempt.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "Criticality diagnostics.";
    }
    /// Request to remove the interface; v2.03 and later.
    E2RemovalRequest "E2RemovalRequest" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id.";
    }
    /// Response to a removal; v2.03 and later.
    E2RemovalResponse "E2RemovalResponse" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O], "Criticality diagnostics.";
    }
    /// Failure of a removal; v2.03 and later.
    E2RemovalFailure "E2RemovalFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Transaction id of the request.";
        cause: Cause [SelfCoded] "Cause" = 1 Ignore [- M M], "Cause.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O], "Criticality diagnostics.";
    }
}
