//! Identifiers of procedures and information elements (clause 9.3.7).

/// A line for each: name, code, and what it is.
macro_rules! codes {
    ($type:ty: $($name:ident = $code:literal $what:literal;)+) => {
        $(#[doc = $what] pub const $name: $type = $code;)+
    };
}

/// Codes of the 16 elementary procedures.
pub mod procedure {
    codes! { u8:
        E2_SETUP = 1 "E2 setup.";
        ERROR_INDICATION = 2 "Error indication.";
        RESET = 3 "Reset.";
        RIC_CONTROL = 4 "Ric control.";
        RIC_INDICATION = 5 "Ric indication.";
        RIC_SERVICE_QUERY = 6 "Ric service query.";
        RIC_SERVICE_UPDATE = 7 "Ric service update.";
        RIC_SUBSCRIPTION = 8 "Ric subscription.";
        RIC_SUBSCRIPTION_DELETE = 9 "Ric subscription delete.";
        E2_NODE_CONFIGURATION_UPDATE = 10 "E2 node configuration update.";
        E2_CONNECTION_UPDATE = 11 "E2 connection update.";
        RIC_SUBSCRIPTION_DELETE_REQUIRED = 12 "Ric subscription delete required.";
        E2_REMOVAL = 13 "E2 removal.";
        RIC_SUBSCRIPTION_MODIFICATION = 14 "Ric subscription modification.";
        RIC_SUBSCRIPTION_MODIFICATION_REQUIRED = 15 "Ric subscription modification required.";
        RIC_QUERY = 16 "Ric query.";
    }
}

codes! { u16:
    CAUSE = 1 "`Cause`.";
    CRITICALITY_DIAGNOSTICS = 2 "`CriticalityDiagnostics`.";
    GLOBAL_E2_NODE_ID = 3 "`GlobalE2node-ID`.";
    GLOBAL_RIC_ID = 4 "`GlobalRIC-ID`.";
    RAN_FUNCTION_ID = 5 "`RANfunctionID`.";
    RAN_FUNCTION_ID_ITEM = 6 "`RANfunctionID-Item`.";
    RAN_FUNCTION_IE_CAUSE_ITEM = 7 "`RANfunctionIEcause-Item`.";
    RAN_FUNCTION_ITEM = 8 "`RANfunction-Item`.";
    RAN_FUNCTIONS_ACCEPTED = 9 "`RANfunctionsAccepted`.";
    RAN_FUNCTIONS_ADDED = 10 "`RANfunctionsAdded`.";
    RAN_FUNCTIONS_DELETED = 11 "`RANfunctionsDeleted`.";
    RAN_FUNCTIONS_MODIFIED = 12 "`RANfunctionsModified`.";
    RAN_FUNCTIONS_REJECTED = 13 "`RANfunctionsRejected`.";
    RIC_ACTION_ADMITTED_ITEM = 14 "`RICaction-Admitted-Item`.";
    RIC_ACTION_ID = 15 "`RICactionID`.";
    RIC_ACTION_NOT_ADMITTED_ITEM = 16 "`RICaction-NotAdmitted-Item`.";
    RIC_ACTIONS_ADMITTED = 17 "`RICactions-Admitted`.";
    RIC_ACTIONS_NOT_ADMITTED = 18 "`RICactions-NotAdmitted`.";
    RIC_ACTION_TO_BE_SETUP_ITEM = 19 "`RICaction-ToBeSetup-Item`.";
    RIC_CALL_PROCESS_ID = 20 "`RICcallProcessID`.";
    RIC_CONTROL_ACK_REQUEST = 21 "`RICcontrolAckRequest`.";
    RIC_CONTROL_HEADER = 22 "`RICcontrolHeader`.";
    RIC_CONTROL_MESSAGE = 23 "`RICcontrolMessage`.";
    RIC_CONTROL_STATUS = 24 "`RICcontrolStatus`.";
    RIC_INDICATION_HEADER = 25 "`RICindicationHeader`.";
    RIC_INDICATION_MESSAGE = 26 "`RICindicationMessage`.";
    RIC_INDICATION_SN = 27 "`RICindicationSN`.";
    RIC_INDICATION_TYPE = 28 "`RICindicationType`.";
    RIC_REQUEST_ID = 29 "`RICrequestID`.";
    RIC_SUBSCRIPTION_DETAILS = 30 "`RICsubscriptionDetails`.";
    TIME_TO_WAIT = 31 "`TimeToWait`.";
    RIC_CONTROL_OUTCOME = 32 "`RICcontrolOutcome`.";
    E2_NODE_COMPONENT_CONFIG_UPDATE = 33 "`E2nodeComponentConfigUpdate`.";
    E2_NODE_COMPONENT_CONFIG_UPDATE_ITEM = 34 "`E2nodeComponentConfigUpdate-Item`.";
    E2_NODE_COMPONENT_CONFIG_UPDATE_ACK = 35 "`E2nodeComponentConfigUpdateAck`.";
    E2_NODE_COMPONENT_CONFIG_UPDATE_ACK_ITEM = 36 "`E2nodeComponentConfigUpdateAck-Item`.";
    E2_CONNECTION_SETUP = 39 "`E2connectionSetup`.";
    E2_CONNECTION_SETUP_FAILED = 40 "`E2connectionSetupFailed`.";
    E2_CONNECTION_SETUP_FAILED_ITEM = 41 "`E2connectionSetupFailed-Item`.";
    E2_CONNECTION_UPDATE_ITEM = 43 "`E2connectionUpdate-Item`.";
    E2_CONNECTION_UPDATE_ADD = 44 "`E2connectionUpdateAdd`.";
    E2_CONNECTION_UPDATE_MODIFY = 45 "`E2connectionUpdateModify`.";
    E2_CONNECTION_UPDATE_REMOVE = 46 "`E2connectionUpdateRemove`.";
    E2_CONNECTION_UPDATE_REMOVE_ITEM = 47 "`E2connectionUpdateRemove-Item`.";
    TNL_INFORMATION = 48 "`TNLinformation`.";
    TRANSACTION_ID = 49 "`TransactionID`.";
    E2_NODE_COMPONENT_CONFIG_ADDITION = 50 "`E2nodeComponentConfigAddition`.";
    E2_NODE_COMPONENT_CONFIG_ADDITION_ITEM = 51 "`E2nodeComponentConfigAddition-Item`.";
    E2_NODE_COMPONENT_CONFIG_ADDITION_ACK = 52 "`E2nodeComponentConfigAdditionAck`.";
    E2_NODE_COMPONENT_CONFIG_ADDITION_ACK_ITEM = 53 "`E2nodeComponentConfigAdditionAck-Item`.";
    E2_NODE_COMPONENT_CONFIG_REMOVAL = 54 "`E2nodeComponentConfigRemoval`.";
    E2_NODE_COMPONENT_CONFIG_REMOVAL_ITEM = 55 "`E2nodeComponentConfigRemoval-Item`.";
    E2_NODE_COMPONENT_CONFIG_REMOVAL_ACK = 56 "`E2nodeComponentConfigRemovalAck`.";
    E2_NODE_COMPONENT_CONFIG_REMOVAL_ACK_ITEM = 57 "`E2nodeComponentConfigRemovalAck-Item`.";
    E2_NODE_TNL_ASSOCIATION_REMOVAL = 58 "`E2nodeTNLassociationRemoval`.";
    E2_NODE_TNL_ASSOCIATION_REMOVAL_ITEM = 59 "`E2nodeTNLassociationRemoval-Item`.";
    RIC_SUBSCRIPTION_TO_BE_REMOVED = 60 "`RICsubscriptionToBeRemoved`.";
    RIC_SUBSCRIPTION_WITH_CAUSE_ITEM = 61 "`RICsubscription-withCause-Item`.";
    RIC_SUBSCRIPTION_START_TIME = 62 "`RICsubscriptionStartTime`.";
    RIC_SUBSCRIPTION_END_TIME = 63 "`RICsubscriptionEndTime`.";
    RIC_EVENT_TRIGGER_DEFINITION_TO_BE_MODIFIED = 64 "`RICeventTriggerDefinitionToBeModified`.";
    RIC_ACTIONS_TO_BE_REMOVED_FOR_MODIFICATION = 65 "`RICactionsToBeRemovedForModification-List`.";
    RIC_ACTION_TO_BE_REMOVED_FOR_MODIFICATION_ITEM = 66 "`RICaction-ToBeRemovedForModification-Item`.";
    RIC_ACTIONS_TO_BE_MODIFIED_FOR_MODIFICATION = 67 "`RICactionsToBeModifiedForModification-List`.";
    RIC_ACTION_TO_BE_MODIFIED_FOR_MODIFICATION_ITEM = 68 "`RICaction-ToBeModifiedForModification-Item`.";
    RIC_ACTIONS_TO_BE_ADDED_FOR_MODIFICATION = 69 "`RICactionsToBeAddedForModification-List`.";
    RIC_ACTION_TO_BE_ADDED_FOR_MODIFICATION_ITEM = 70 "`RICaction-ToBeAddedForModification-Item`.";
    RIC_ACTIONS_REMOVED_FOR_MODIFICATION = 71 "`RICactionsRemovedForModification-List`.";
    RIC_ACTION_REMOVED_FOR_MODIFICATION_ITEM = 72 "`RICaction-RemovedForModification-Item`.";
    RIC_ACTIONS_FAILED_TO_BE_REMOVED_FOR_MODIFICATION = 73 "`RICactionsFailedToBeRemovedForModification-List`.";
    RIC_ACTION_FAILED_TO_BE_REMOVED_FOR_MODIFICATION_ITEM = 74 "`RICaction-FailedToBeRemovedForModification-Item`.";
    RIC_ACTIONS_MODIFIED_FOR_MODIFICATION = 75 "`RICactionsModifiedForModification-List`.";
    RIC_ACTION_MODIFIED_FOR_MODIFICATION_ITEM = 76 "`RICaction-ModifiedForModification-Item`.";
    RIC_ACTIONS_FAILED_TO_BE_MODIFIED_FOR_MODIFICATION = 77 "`RICactionsFailedToBeModifiedForModification-List`.";
    RIC_ACTION_FAILED_TO_BE_MODIFIED_FOR_MODIFICATION_ITEM = 78 "`RICaction-FailedToBeModifiedForModification-Item`.";
    RIC_ACTIONS_ADDED_FOR_MODIFICATION = 79 "`RICactionsAddedForModification-List`.";
    RIC_ACTION_ADDED_FOR_MODIFICATION_ITEM = 80 "`RICaction-AddedForModification-Item`.";
    RIC_ACTIONS_FAILED_TO_BE_ADDED_FOR_MODIFICATION = 81 "`RICactionsFailedToBeAddedForModification-List`.";
    RIC_ACTION_FAILED_TO_BE_ADDED_FOR_MODIFICATION_ITEM = 82 "`RICaction-FailedToBeAddedForModification-Item`.";
    RIC_ACTIONS_REQUIRED_TO_BE_MODIFIED = 83 "`RICactionsRequiredToBeModified-List`.";
    RIC_ACTION_REQUIRED_TO_BE_MODIFIED_ITEM = 84 "`RICaction-RequiredToBeModified-Item`.";
    RIC_ACTIONS_REQUIRED_TO_BE_REMOVED = 85 "`RICactionsRequiredToBeRemoved-List`.";
    RIC_ACTION_REQUIRED_TO_BE_REMOVED_ITEM = 86 "`RICaction-RequiredToBeRemoved-Item`.";
    RIC_ACTIONS_CONFIRMED_FOR_MODIFICATION = 87 "`RICactionsConfirmedForModification-List`.";
    RIC_ACTION_CONFIRMED_FOR_MODIFICATION_ITEM = 88 "`RICaction-ConfirmedForModification-Item`.";
    RIC_ACTIONS_REFUSED_TO_BE_MODIFIED = 89 "`RICactionsRefusedToBeModified-List`.";
    RIC_ACTION_REFUSED_TO_BE_MODIFIED_ITEM = 90 "`RICaction-RefusedToBeModified-Item`.";
    RIC_ACTIONS_CONFIRMED_FOR_REMOVAL = 91 "`RICactionsConfirmedForRemoval-List`.";
    RIC_ACTION_CONFIRMED_FOR_REMOVAL_ITEM = 92 "`RICaction-ConfirmedForRemoval-Item`.";
    RIC_ACTIONS_REFUSED_TO_BE_REMOVED = 93 "`RICactionsRefusedToBeRemoved-List`.";
    RIC_ACTION_REFUSED_TO_BE_REMOVED_ITEM = 94 "`RICaction-RefusedToBeRemoved-Item`.";
    RIC_QUERY_HEADER = 95 "`RICqueryHeader`.";
    RIC_QUERY_DEFINITION = 96 "`RICqueryDefinition`.";
    RIC_QUERY_OUTCOME = 97 "`RICqueryOutcome`.";
}
