//! Identifiers of procedures and information elements (clause 9.3.7).

/// Codes of the 16 elementary procedures.
pub mod procedure {
    /// E2 setup.
    pub const E2_SETUP: u8 = 1;
    /// Error indication.
    pub const ERROR_INDICATION: u8 = 2;
    /// Reset.
    pub const RESET: u8 = 3;
    /// Ric control.
    pub const RIC_CONTROL: u8 = 4;
    /// Ric indication.
    pub const RIC_INDICATION: u8 = 5;
    /// Ric service query.
    pub const RIC_SERVICE_QUERY: u8 = 6;
    /// Ric service update.
    pub const RIC_SERVICE_UPDATE: u8 = 7;
    /// Ric subscription.
    pub const RIC_SUBSCRIPTION: u8 = 8;
    /// Ric subscription delete.
    pub const RIC_SUBSCRIPTION_DELETE: u8 = 9;
    /// E2 node configuration update.
    pub const E2_NODE_CONFIGURATION_UPDATE: u8 = 10;
    /// E2 connection update.
    pub const E2_CONNECTION_UPDATE: u8 = 11;
    /// Ric subscription delete required.
    pub const RIC_SUBSCRIPTION_DELETE_REQUIRED: u8 = 12;
    /// E2 removal.
    pub const E2_REMOVAL: u8 = 13;
    /// Ric subscription modification.
    pub const RIC_SUBSCRIPTION_MODIFICATION: u8 = 14;
    /// Ric subscription modification required.
    pub const RIC_SUBSCRIPTION_MODIFICATION_REQUIRED: u8 = 15;
    /// Ric query.
    pub const RIC_QUERY: u8 = 16;
}

/// `Cause`.
pub const CAUSE: u16 = 1;
/// `CriticalityDiagnostics`.
pub const CRITICALITY_DIAGNOSTICS: u16 = 2;
/// `GlobalE2node-ID`.
pub const GLOBAL_E2_NODE_ID: u16 = 3;
/// `GlobalRIC-ID`.
pub const GLOBAL_RIC_ID: u16 = 4;
/// `RANfunctionID`.
pub const RAN_FUNCTION_ID: u16 = 5;
/// `RANfunctionID-Item`.
pub const RAN_FUNCTION_ID_ITEM: u16 = 6;
/// `RANfunctionIEcause-Item`.
pub const RAN_FUNCTION_IE_CAUSE_ITEM: u16 = 7;
/// `RANfunction-Item`.
pub const RAN_FUNCTION_ITEM: u16 = 8;
/// `RANfunctionsAccepted`.
pub const RAN_FUNCTIONS_ACCEPTED: u16 = 9;
/// `RANfunctionsAdded`.
pub const RAN_FUNCTIONS_ADDED: u16 = 10;
/// `RANfunctionsDeleted`.
pub const RAN_FUNCTIONS_DELETED: u16 = 11;
/// `RANfunctionsModified`.
pub const RAN_FUNCTIONS_MODIFIED: u16 = 12;
/// `RANfunctionsRejected`.
pub const RAN_FUNCTIONS_REJECTED: u16 = 13;
/// `RICaction-Admitted-Item`.
pub const RIC_ACTION_ADMITTED_ITEM: u16 = 14;
/// `RICactionID`.
pub const RIC_ACTION_ID: u16 = 15;
/// `RICaction-NotAdmitted-Item`.
pub const RIC_ACTION_NOT_ADMITTED_ITEM: u16 = 16;
/// `RICactions-Admitted`.
pub const RIC_ACTIONS_ADMITTED: u16 = 17;
/// `RICactions-NotAdmitted`.
pub const RIC_ACTIONS_NOT_ADMITTED: u16 = 18;
/// `RICaction-ToBeSetup-Item`.
pub const RIC_ACTION_TO_BE_SETUP_ITEM: u16 = 19;
/// `RICcallProcessID`.
pub const RIC_CALL_PROCESS_ID: u16 = 20;
/// `RICcontrolAckRequest`.
pub const RIC_CONTROL_ACK_REQUEST: u16 = 21;
/// `RICcontrolHeader`.
pub const RIC_CONTROL_HEADER: u16 = 22;
/// `RICcontrolMessage`.
pub const RIC_CONTROL_MESSAGE: u16 = 23;
/// `RICcontrolStatus`.
pub const RIC_CONTROL_STATUS: u16 = 24;
/// `RICindicationHeader`.
pub const RIC_INDICATION_HEADER: u16 = 25;
/// `RICindicationMessage`.
pub const RIC_INDICATION_MESSAGE: u16 = 26;
/// `RICindicationSN`.
pub const RIC_INDICATION_SN: u16 = 27;
/// `RICindicationType`.
pub const RIC_INDICATION_TYPE: u16 = 28;
/// `RICrequestID`.
pub const RIC_REQUEST_ID: u16 = 29;
/// `RICsubscriptionDetails`.
pub const RIC_SUBSCRIPTION_DETAILS: u16 = 30;
/// `TimeToWait`.
pub const TIME_TO_WAIT: u16 = 31;
/// `RICcontrolOutcome`.
pub const RIC_CONTROL_OUTCOME: u16 = 32;
/// `E2nodeComponentConfigUpdate`.
pub const E2_NODE_COMPONENT_CONFIG_UPDATE: u16 = 33;
/// `E2nodeComponentConfigUpdate-Item`.
pub const E2_NODE_COMPONENT_CONFIG_UPDATE_ITEM: u16 = 34;
/// `E2nodeComponentConfigUpdateAck`.
pub const E2_NODE_COMPONENT_CONFIG_UPDATE_ACK: u16 = 35;
/// `E2nodeComponentConfigUpdateAck-Item`.
pub const E2_NODE_COMPONENT_CONFIG_UPDATE_ACK_ITEM: u16 = 36;
/// `E2connectionSetup`.
pub const E2_CONNECTION_SETUP: u16 = 39;
/// `E2connectionSetupFailed`.
pub const E2_CONNECTION_SETUP_FAILED: u16 = 40;
/// `E2connectionSetupFailed-Item`.
pub const E2_CONNECTION_SETUP_FAILED_ITEM: u16 = 41;
/// `E2connectionUpdate-Item`.
pub const E2_CONNECTION_UPDATE_ITEM: u16 = 43;
/// `E2connectionUpdateAdd`.
pub const E2_CONNECTION_UPDATE_ADD: u16 = 44;
/// `E2connectionUpdateModify`.
pub const E2_CONNECTION_UPDATE_MODIFY: u16 = 45;
/// `E2connectionUpdateRemove`.
pub const E2_CONNECTION_UPDATE_REMOVE: u16 = 46;
/// `E2connectionUpdateRemove-Item`.
pub const E2_CONNECTION_UPDATE_REMOVE_ITEM: u16 = 47;
/// `TNLinformation`.
pub const TNL_INFORMATION: u16 = 48;
/// `TransactionID`.
pub const TRANSACTION_ID: u16 = 49;
/// `E2nodeComponentConfigAddition`.
pub const E2_NODE_COMPONENT_CONFIG_ADDITION: u16 = 50;
/// `E2nodeComponentConfigAddition-Item`.
pub const E2_NODE_COMPONENT_CONFIG_ADDITION_ITEM: u16 = 51;
/// `E2nodeComponentConfigAdditionAck`.
pub const E2_NODE_COMPONENT_CONFIG_ADDITION_ACK: u16 = 52;
/// `E2nodeComponentConfigAdditionAck-Item`.
pub const E2_NODE_COMPONENT_CONFIG_ADDITION_ACK_ITEM: u16 = 53;
/// `E2nodeComponentConfigRemoval`.
pub const E2_NODE_COMPONENT_CONFIG_REMOVAL: u16 = 54;
/// `E2nodeComponentConfigRemoval-Item`.
pub const E2_NODE_COMPONENT_CONFIG_REMOVAL_ITEM: u16 = 55;
/// `E2nodeComponentConfigRemovalAck`.
pub const E2_NODE_COMPONENT_CONFIG_REMOVAL_ACK: u16 = 56;
/// `E2nodeComponentConfigRemovalAck-Item`.
pub const E2_NODE_COMPONENT_CONFIG_REMOVAL_ACK_ITEM: u16 = 57;
/// `E2nodeTNLassociationRemoval`.
pub const E2_NODE_TNL_ASSOCIATION_REMOVAL: u16 = 58;
/// `E2nodeTNLassociationRemoval-Item`.
pub const E2_NODE_TNL_ASSOCIATION_REMOVAL_ITEM: u16 = 59;
/// `RICsubscriptionToBeRemoved`.
pub const RIC_SUBSCRIPTION_TO_BE_REMOVED: u16 = 60;
/// `RICsubscription-withCause-Item`.
pub const RIC_SUBSCRIPTION_WITH_CAUSE_ITEM: u16 = 61;
/// `RICsubscriptionStartTime`.
pub const RIC_SUBSCRIPTION_START_TIME: u16 = 62;
/// `RICsubscriptionEndTime`.
pub const RIC_SUBSCRIPTION_END_TIME: u16 = 63;
/// `RICeventTriggerDefinitionToBeModified`.
pub const RIC_EVENT_TRIGGER_DEFINITION_TO_BE_MODIFIED: u16 = 64;
/// `RICactionsToBeRemovedForModification-List`.
pub const RIC_ACTIONS_TO_BE_REMOVED_FOR_MODIFICATION: u16 = 65;
/// `RICaction-ToBeRemovedForModification-Item`.
pub const RIC_ACTION_TO_BE_REMOVED_FOR_MODIFICATION_ITEM: u16 = 66;
/// `RICactionsToBeModifiedForModification-List`.
pub const RIC_ACTIONS_TO_BE_MODIFIED_FOR_MODIFICATION: u16 = 67;
/// `RICaction-ToBeModifiedForModification-Item`.
pub const RIC_ACTION_TO_BE_MODIFIED_FOR_MODIFICATION_ITEM: u16 = 68;
/// `RICactionsToBeAddedForModification-List`.
pub const RIC_ACTIONS_TO_BE_ADDED_FOR_MODIFICATION: u16 = 69;
/// `RICaction-ToBeAddedForModification-Item`.
pub const RIC_ACTION_TO_BE_ADDED_FOR_MODIFICATION_ITEM: u16 = 70;
/// `RICactionsRemovedForModification-List`.
pub const RIC_ACTIONS_REMOVED_FOR_MODIFICATION: u16 = 71;
/// `RICaction-RemovedForModification-Item`.
pub const RIC_ACTION_REMOVED_FOR_MODIFICATION_ITEM: u16 = 72;
/// `RICactionsFailedToBeRemovedForModification-List`.
pub const RIC_ACTIONS_FAILED_TO_BE_REMOVED_FOR_MODIFICATION: u16 = 73;
/// `RICaction-FailedToBeRemovedForModification-Item`.
pub const RIC_ACTION_FAILED_TO_BE_REMOVED_FOR_MODIFICATION_ITEM: u16 = 74;
/// `RICactionsModifiedForModification-List`.
pub const RIC_ACTIONS_MODIFIED_FOR_MODIFICATION: u16 = 75;
/// `RICaction-ModifiedForModification-Item`.
pub const RIC_ACTION_MODIFIED_FOR_MODIFICATION_ITEM: u16 = 76;
/// `RICactionsFailedToBeModifiedForModification-List`.
pub const RIC_ACTIONS_FAILED_TO_BE_MODIFIED_FOR_MODIFICATION: u16 = 77;
/// `RICaction-FailedToBeModifiedForModification-Item`.
pub const RIC_ACTION_FAILED_TO_BE_MODIFIED_FOR_MODIFICATION_ITEM: u16 = 78;
/// `RICactionsAddedForModification-List`.
pub const RIC_ACTIONS_ADDED_FOR_MODIFICATION: u16 = 79;
/// `RICaction-AddedForModification-Item`.
pub const RIC_ACTION_ADDED_FOR_MODIFICATION_ITEM: u16 = 80;
/// `RICactionsFailedToBeAddedForModification-List`.
pub const RIC_ACTIONS_FAILED_TO_BE_ADDED_FOR_MODIFICATION: u16 = 81;
/// `RICaction-FailedToBeAddedForModification-Item`.
pub const RIC_ACTION_FAILED_TO_BE_ADDED_FOR_MODIFICATION_ITEM: u16 = 82;
/// `RICactionsRequiredToBeModified-List`.
pub const RIC_ACTIONS_REQUIRED_TO_BE_MODIFIED: u16 = 83;
/// `RICaction-RequiredToBeModified-Item`.
pub const RIC_ACTION_REQUIRED_TO_BE_MODIFIED_ITEM: u16 = 84;
/// `RICactionsRequiredToBeRemoved-List`.
pub const RIC_ACTIONS_REQUIRED_TO_BE_REMOVED: u16 = 85;
/// `RICaction-RequiredToBeRemoved-Item`.
pub const RIC_ACTION_REQUIRED_TO_BE_REMOVED_ITEM: u16 = 86;
/// `RICactionsConfirmedForModification-List`.
pub const RIC_ACTIONS_CONFIRMED_FOR_MODIFICATION: u16 = 87;
/// `RICaction-ConfirmedForModification-Item`.
pub const RIC_ACTION_CONFIRMED_FOR_MODIFICATION_ITEM: u16 = 88;
/// `RICactionsRefusedToBeModified-List`.
pub const RIC_ACTIONS_REFUSED_TO_BE_MODIFIED: u16 = 89;
/// `RICaction-RefusedToBeModified-Item`.
pub const RIC_ACTION_REFUSED_TO_BE_MODIFIED_ITEM: u16 = 90;
/// `RICactionsConfirmedForRemoval-List`.
pub const RIC_ACTIONS_CONFIRMED_FOR_REMOVAL: u16 = 91;
/// `RICaction-ConfirmedForRemoval-Item`.
pub const RIC_ACTION_CONFIRMED_FOR_REMOVAL_ITEM: u16 = 92;
/// `RICactionsRefusedToBeRemoved-List`.
pub const RIC_ACTIONS_REFUSED_TO_BE_REMOVED: u16 = 93;
/// `RICaction-RefusedToBeRemoved-Item`.
pub const RIC_ACTION_REFUSED_TO_BE_REMOVED_ITEM: u16 = 94;
/// `RICqueryHeader`.
pub const RIC_QUERY_HEADER: u16 = 95;
/// `RICqueryDefinition`.
pub const RIC_QUERY_DEFINITION: u16 = 96;
/// `RICqueryOutcome`.
pub const RIC_QUERY_OUTCOME: u16 = 97;
