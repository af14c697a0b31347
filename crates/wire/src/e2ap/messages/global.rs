//! Global procedures: setup, reset, service update, configuration, connections, removal, errors (clause 8.3).
use super::RanFunctionIdCodec;
use crate::e2ap::*;
use crate::per::{IntExt, List, Opt, Own};

/// Number of a global procedure's run; 0 to 255, since v2.03.
pub type TransactionId = u16;
type Tid = IntExt<0, 255>;
/// RANfunctions-List: v1.01 allows an empty one.
type Functions<C> = FunctionList<C>;

message! {
    /// A node introduces itself.
    E2SetupRequest "E2setupRequest" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Who.
        node_id: GlobalE2NodeId [Own] "GlobalE2node-ID" = 3 Reject [M M M],
        /// What it offers.
        functions: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 10 Reject [O M M],
        /// Its components, in the words of v1.01.
        components_v1: Option<Vec<ComponentUpdate>> [Opt<List<1, 1024, ComponentUpdateItems>>]
            "E2nodeComponentConfigUpdate-List" = 33 Reject [O - -],
        /// Its components.
        components: Option<Vec<ComponentConfigItem>> [Opt<List<1, 1024, ComponentAdditionItems>>]
            "E2nodeComponentConfigAddition-List" = 50 Reject [- M M],
    }
}
message! {
    /// The RIC accepts a node.
    E2SetupResponse "E2setupResponse" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// The RIC.
        ric_id: GlobalRicId [Own] "GlobalRIC-ID" = 4 Reject [M M M],
        /// Functions it takes.
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O],
        /// Functions it refuses.
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Reject [O O O],
        /// Its word on the components, in v1.01.
        components_v1: Option<Vec<ComponentUpdateAck>> [Opt<List<1, 1024, ComponentUpdateAckItems>>]
            "E2nodeComponentConfigUpdateAck-List" = 35 Reject [O - -],
        /// Its word on the components.
        components: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentAdditionAckItems>>]
            "E2nodeComponentConfigAdditionAck-List" = 52 Reject [- M M],
    }
}
message! {
    /// The RIC refuses a node.
    E2SetupFailure "E2setupFailure" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [M M M],
        /// When it may try again.
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
        /// Where to try instead.
        tnl: Option<TnlInformation> [Opt] "TNLinformation" = 48 Ignore [O O O],
    }
}
message! {
    /// An error that no other message can report.
    ErrorIndication "ErrorIndication" {
        /// Number of the run it is about.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- O O],
        /// Request it is about.
        request_id: Option<RicRequestId> [Opt] "RICrequestID" = 29 Reject [O O O],
        /// Function it is about.
        function_id: Option<RanFunctionId> [Opt<RanFunctionIdCodec>] "RANfunctionID" = 5 Reject [O O O],
        /// Why.
        cause: Option<Cause> [Opt] "Cause" = 1 Ignore [O O O],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// Forget everything but the setup.
    ResetRequest "ResetRequest" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [M M M],
    }
}
message! {
    /// Forgotten.
    ResetResponse "ResetResponse" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// The RIC asks which functions a node has.
    RicServiceQuery "RICserviceQuery" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Functions that the RIC knows of.
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O],
    }
}
message! {
    /// A node's functions changed.
    RicServiceUpdate "RICserviceUpdate" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// New ones.
        added: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 10 Reject [O O O],
        /// Changed ones.
        modified: Option<Vec<RanFunctionItem>> [Opt<Functions<RanFunctionItems>>] "RANfunctions-List" = 12 Reject [O O O],
        /// Gone ones.
        deleted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 11 Reject [O O O],
    }
}
message! {
    /// The RIC knows now.
    RicServiceUpdateAcknowledge "RICserviceUpdateAcknowledge" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Functions it takes.
        accepted: Option<Vec<RanFunctionIdItem>> [Opt<Functions<RanFunctionIdItems>>] "RANfunctionsID-List" = 9 Reject [O O O],
        /// Functions it refuses.
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Reject [O O O],
    }
}
message! {
    /// The RIC refuses the update.
    RicServiceUpdateFailure "RICserviceUpdateFailure" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Functions it refuses; v1.01 only.
        rejected: Option<Vec<RanFunctionIdCauseItem>> [Opt<Functions<RanFunctionIdCauseItems>>]
            "RANfunctionsIDcause-List" = 13 Ignore [O - -],
        /// Why; since v2.03.
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [- M M],
        /// When the node may try again.
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// A node's components changed.
    E2NodeConfigurationUpdate "E2nodeConfigurationUpdate" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Who, when the association is new.
        node_id: Option<GlobalE2NodeId> [Opt] "GlobalE2node-ID" = 3 Reject [- O O],
        /// New components.
        added: Option<Vec<ComponentConfigItem>> [Opt<List<1, 1024, ComponentAdditionItems>>]
            "E2nodeComponentConfigAddition-List" = 50 Reject [- O O],
        /// Changed components.
        updated: Option<Vec<ComponentUpdate>> [Opt<List<1, 1024, ComponentUpdateItems>>]
            "E2nodeComponentConfigUpdate-List" = 33 Reject [O O O],
        /// Gone components.
        removed: Option<Vec<ComponentRemovalItem>> [Opt<List<1, 1024, ComponentRemovalItems>>]
            "E2nodeComponentConfigRemoval-List" = 54 Reject [- O O],
        /// Associations to drop.
        tnl_removed: Option<Vec<E2NodeTnlRemovalItem>> [Opt<List<1, 32, TnlRemovalItems>>]
            "E2nodeTNLassociationRemoval-List" = 58 Reject [- O O],
    }
}
message! {
    /// The RIC knows now.
    E2NodeConfigurationUpdateAcknowledge "E2nodeConfigurationUpdateAcknowledge" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Its word on new components.
        added: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentAdditionAckItems>>]
            "E2nodeComponentConfigAdditionAck-List" = 52 Reject [- O O],
        /// Its word on changed components.
        updated: Option<Vec<ComponentUpdateAck>> [Opt<List<1, 1024, ComponentUpdateAckItems>>]
            "E2nodeComponentConfigUpdateAck-List" = 35 Reject [O O O],
        /// Its word on gone components.
        removed: Option<Vec<ComponentAckItem>> [Opt<List<1, 1024, ComponentRemovalAckItems>>]
            "E2nodeComponentConfigRemovalAck-List" = 56 Reject [- O O],
    }
}
message! {
    /// The RIC refuses the update.
    E2NodeConfigurationUpdateFailure "E2nodeConfigurationUpdateFailure" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [M M M],
        /// When the node may try again.
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// The RIC wants its associations changed.
    E2ConnectionUpdate "E2connectionUpdate" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Associations to add.
        add: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 44 Reject [O O O],
        /// Associations to remove.
        remove: Option<Vec<E2ConnectionRemoveItem>> [Opt<List<1, 32, ConnectionRemoveItems>>]
            "E2connectionUpdateRemove-List" = 46 Reject [O O O],
        /// Associations to change.
        modify: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 45 Reject [O O O],
    }
}
message! {
    /// The node changed its associations.
    E2ConnectionUpdateAcknowledge "E2connectionUpdateAcknowledge" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Set up.
        setup: Option<Vec<E2ConnectionUpdateItem>> [Opt<List<1, 32, ConnectionUpdateItems>>] "E2connectionUpdate-List" = 39 Reject [O O O],
        /// Not set up.
        failed: Option<Vec<E2ConnectionSetupFailedItem>> [Opt<List<1, 32, ConnectionFailedItems>>]
            "E2connectionSetupFailed-List" = 40 Reject [O O O],
    }
}
message! {
    /// The node could not change its associations.
    E2ConnectionUpdateFailure "E2connectionUpdateFailure" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Why.
        cause: Option<Cause> [Opt] "Cause" = 1 Reject [O O O],
        /// When the RIC may try again.
        time_to_wait: Option<TimeToWait> [Opt] "TimeToWait" = 31 Ignore [O O O],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [O O O],
    }
}
message! {
    /// One side wants to part; since v2.03.
    E2RemovalRequest "E2RemovalRequest" {
        /// Number of this run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
    }
}
message! {
    /// The other side agrees; since v2.03.
    E2RemovalResponse "E2RemovalResponse" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O],
    }
}
message! {
    /// The other side does not agree; since v2.03.
    E2RemovalFailure "E2RemovalFailure" {
        /// Number of the run.
        transaction_id: Option<TransactionId> [Opt<Tid>] "TransactionID" = 49 Reject [- M M],
        /// Why.
        cause: Cause [Own] "Cause" = 1 Ignore [- M M],
        /// What was wrong.
        diagnostics: Option<CriticalityDiagnostics> [Opt] "CriticalityDiagnostics" = 2 Ignore [- O O],
    }
}
