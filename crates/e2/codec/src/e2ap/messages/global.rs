//! Global procedures: setup, reset, service update, configuration, connections, removal, errors (clause 8.3).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{IntExt, List, Opt, Own};

/// Number of a global procedure's run; 0 to 255, since v2.03.
pub type TransactionId = u16;
type Tid = IntExt<0, 255>;
/// RANfunctions-List: v1.01 allows an empty one.
type Functions<C> = FunctionList<C>;

messages! {
    /// A node introduces itself.
    E2SetupRequest "E2setupRequest" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
        node_id: GlobalE2NodeId [Own] "GlobalE2node-ID" = 3 Reject [M M M], "Who.";
        functions: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 10 Reject [O M M], "What it offers.";
        components_v1: Option<Vec<ComponentUpdate>> [Opt<List<1, 1024, ComponentUpdateItems>>]
            "E2nodeComponentConfigUpdate-List" = 33 Reject [O - -], "Its components, in the words of v1.01.";
        components: Option<Vec<ComponentConfigItem>> [Opt<List<1, 1024, ComponentAdditionItems>>]
            "E2nodeComponentConfigAddition-List" = 50 Reject [- M M], "Its components.";
    }
    /// The RIC accepts a node.
    E2SetupResponse "E2setupResponse" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        ric_id: GlobalRicId [Own] "GlobalRIC-ID" = 4 Reject [M M M], "The RIC.";
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O], "Functions it takes.";
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Reject [O O O], "Functions it refuses.";
        components_v1: Option<Vec<ComponentUpdateAck>> [Opt<List<1, 1024, ComponentUpdateAckItems>>]
            "E2nodeComponentConfigUpdateAck-List" = 35 Reject [O - -], "Its word on the components, in v1.01.";
        components: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentAdditionAckItems>>]
            "E2nodeComponentConfigAdditionAck-List" = 52 Reject [- M M], "Its word on the components.";
    }
    /// The RIC refuses a node.
    E2SetupFailure "E2setupFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        cause: Cause [Own] "Cause" = 1 Ignore [M M M], "Why.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "When it may try again.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
        tnl: Option<TnlInformation> [Opt] "TNLinformation" = 48 Ignore [O O O], "Where to try instead.";
    }
    /// An error that no other message can report.
    ErrorIndication "ErrorIndication" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- O O], "Number of the run it is about.";
        request_id: Option<RicRequestId> [Opt] "RICrequestID" = 29 Reject [O O O], "Request it is about.";
        function_id: Option<RanFunctionId> [Opt<RanFunctionIdCodec>] "RANfunctionID" = 5 Reject [O O O], "Function it is about.";
        cause: Option<Cause> [Opt] "Cause" = 1 Ignore [O O O], "Why.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// Forget everything but the setup.
    ResetRequest "ResetRequest" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
        cause: Cause [Own] "Cause" = 1 Ignore [M M M], "Why.";
    }
    /// Forgotten.
    ResetResponse "ResetResponse" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// The RIC asks which functions a node has.
    RicServiceQuery "RICserviceQuery" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O], "Functions that the RIC knows of.";
    }
    /// A node's functions changed.
    RicServiceUpdate "RICserviceUpdate" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
        added: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 10 Reject [O O O], "New ones.";
        modified: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 12 Reject [O O O], "Changed ones.";
        deleted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 11 Reject [O O O], "Gone ones.";
    }
    /// The RIC knows now.
    RicServiceUpdateAcknowledge "RICserviceUpdateAcknowledge" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O], "Functions it takes.";
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Reject [O O O], "Functions it refuses.";
    }
    /// The RIC refuses the update.
    RicServiceUpdateFailure "RICserviceUpdateFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Ignore [O - -], "Functions it refuses; v1.01 only.";
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [- M M], "Why; since v2.03.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "When the node may try again.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// A node's components changed.
    E2NodeConfigurationUpdate "E2nodeConfigurationUpdate" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
        node_id: Option<GlobalE2NodeId> [Opt] "GlobalE2node-ID" = 3 Reject [- O O], "Who, when the association is new.";
        added: Option<Vec<ComponentConfigItem>> [Opt<List<1, 1024, ComponentAdditionItems>>]
            "E2nodeComponentConfigAddition-List" = 50 Reject [- O O], "New components.";
        updated: Option<Vec<ComponentUpdate>> [Opt<List<1, 1024, ComponentUpdateItems>>]
            "E2nodeComponentConfigUpdate-List" = 33 Reject [O O O], "Changed components.";
        removed: Option<Vec<ComponentRemovalItem>> [Opt<List<1, 1024, ComponentRemovalItems>>]
            "E2nodeComponentConfigRemoval-List" = 54 Reject [- O O], "Gone components.";
        tnl_removed: Option<Vec<E2NodeTnlRemovalItem>> [Opt<List<1, 32, TnlRemovalItems>>]
            "E2nodeTNLassociationRemoval-List" = 58 Reject [- O O], "Associations to drop.";
    }
    /// The RIC knows now.
    E2NodeConfigurationUpdateAcknowledge "E2nodeConfigurationUpdateAcknowledge" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        added: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentAdditionAckItems>>]
            "E2nodeComponentConfigAdditionAck-List" = 52 Reject [- O O], "Its word on new components.";
        updated: Option<Vec<ComponentUpdateAck>> [Opt<List<1, 1024, ComponentUpdateAckItems>>]
            "E2nodeComponentConfigUpdateAck-List" = 35 Reject [O O O], "Its word on changed components.";
        removed: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentRemovalAckItems>>]
            "E2nodeComponentConfigRemovalAck-List" = 56 Reject [- O O], "Its word on gone components.";
    }
    /// The RIC refuses the update.
    E2NodeConfigurationUpdateFailure "E2nodeConfigurationUpdateFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        cause: Cause [Own] "Cause" = 1 Ignore [M M M], "Why.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "When the node may try again.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// The RIC wants its associations changed.
    E2ConnectionUpdate "E2connectionUpdate" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
        add: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 44 Reject [O O O], "Associations to add.";
        remove: Option<Vec<E2ConnectionRemoveItem>> [Opt<List<1, 32, ConnectionRemoveItems>>]
            "E2connectionUpdateRemove-List" = 46 Reject [O O O], "Associations to remove.";
        modify: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 45 Reject [O O O], "Associations to change.";
    }
    /// The node changed its associations.
    E2ConnectionUpdateAcknowledge "E2connectionUpdateAcknowledge" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        setup: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 39 Reject [O O O], "Set up.";
        failed: Option<Vec<E2ConnectionSetupFailedItem>> [Opt<List<1, 32, ConnectionFailedItems>>]
            "E2connectionSetupFailed-List" = 40 Reject [O O O], "Not set up.";
    }
    /// The node could not change its associations.
    E2ConnectionUpdateFailure "E2connectionUpdateFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [O O O], "Why.";
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O], "When the RIC may try again.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O], "What was wrong.";
    }
    /// One side wants to part; since v2.03.
    E2RemovalRequest "E2RemovalRequest" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of this run.";
    }
    /// The other side agrees; since v2.03.
    E2RemovalResponse "E2RemovalResponse" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O], "What was wrong.";
    }
    /// The other side does not agree; since v2.03.
    E2RemovalFailure "E2RemovalFailure" {
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M], "Number of the run.";
        cause: Cause [Own] "Cause" = 1 Ignore [- M M], "Why.";
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O], "What was wrong.";
    }
}
