//! Subscriptions, actions and controls (clauses 9.2.14 to 9.2.25, and 9.2.31 on for v3.01).
use std::time::Duration;

use super::cause::versioned_enum;
use super::{Cause, RanFunctionId, RanFunctionIdCodec, RicRequestId, Version, container, ids};
use crate::per::{
    Codec, DecodeError, DecodeFault, EncodeError, Int, IntExt, List, Notation, Opt, Per, SelfCoded, Source,
    Unconstrained, Writer,
};
use crate::{enumerated, sequence};
use bytes::Bytes;

/// Identifier of an action within its subscription.
pub type RicActionId = u8;
type ActionIdCodec = Int<0, 255>;
type ExecutionOrder = IntExt<0, 255>;

enumerated! {
    /// Type of an action.
    RicActionType "RICactionType" {
        Report "report", "Reports.",
        Insert "insert", "Sends a request to the RIC, and may wait for the response.",
        Policy "policy", "Applies a policy without involving the RIC.",
    }
    /// Type of an indication.
    RicIndicationType "RICindicationType" {
        Report "report", "A report.",
        Insert "insert", "An insert.",
    }
    /// Behaviour of a node after an insert.
    RicSubsequentActionType "RICsubsequentActionType" {
        Continue "continue", "The node continues.",
        Wait "wait", "The node waits for the response of the RIC.",
    }
}
versioned_enum! {
    /// Time that a node waits after an insert.
    RicTimeToWait "RICtimeToWait" roots [18 17 17] {
        Zero "zero" [0 - -], "0 ms; v1.01 only.",
        W1ms "w1ms" [1 0 0], "1 ms.",
        W2ms "w2ms" [2 1 1], "2 ms.",
        W5ms "w5ms" [3 2 2], "5 ms.",
        W10ms "w10ms" [4 3 3], "10 ms.",
        W20ms "w20ms" [5 4 4], "20 ms.",
        W30ms "w30ms" [6 5 5], "30 ms.",
        W40ms "w40ms" [7 6 6], "40 ms.",
        W50ms "w50ms" [8 7 7], "50 ms.",
        W100ms "w100ms" [9 8 8], "100 ms.",
        W200ms "w200ms" [10 9 9], "200 ms.",
        W500ms "w500ms" [11 10 10], "500 ms.",
        W1s "w1s" [12 11 11], "1 s.",
        W2s "w2s" [13 12 12], "2 s.",
        W5s "w5s" [14 13 13], "5 s.",
        W10s "w10s" [15 14 14], "10 s.",
        W20s "w20s" [16 15 15], "20 s.",
        W60s "w60s" [17 16 16], "60 s.",
    }
    /// Type of response that a control requests.
    RicControlAckRequest "RICcontrolAckRequest" roots [3 2 2] {
        NoAck "noAck" [0 0 0], "A response only if the control fails.",
        Ack "ack" [1 1 1], "A response to every control.",
        NAck "nAck" [2 - -], "A response only if the control fails; v1.01 only.",
    }
}
enumerated! {
    /// Result of a control; v1.01 only.
    RicControlStatus "RICcontrolStatus" {
        Success "success", "Executed.",
        Rejected "rejected", "Refused.",
        Failed "failed", "Failed.",
    }
    /// Time that a refused peer must wait before its next attempt.
    TimeToWait "TimeToWait" {
        V1s "v1s", "1 s.",
        V2s "v2s", "2 s.",
        V5s "v5s", "5 s.",
        V10s "v10s", "10 s.",
        V20s "v20s", "20 s.",
        V60s "v60s", "60 s.",
    }
}

impl RicTimeToWait {
    /// All values, in ascending order.
    pub const ALL: [Self; 18] = [
        Self::Zero,
        Self::W1ms,
        Self::W2ms,
        Self::W5ms,
        Self::W10ms,
        Self::W20ms,
        Self::W30ms,
        Self::W40ms,
        Self::W50ms,
        Self::W100ms,
        Self::W200ms,
        Self::W500ms,
        Self::W1s,
        Self::W2s,
        Self::W5s,
        Self::W10s,
        Self::W20s,
        Self::W60s,
    ];

    /// Returns the value as a duration.
    pub const fn span(self) -> Duration {
        Duration::from_millis(match self {
            Self::Zero => 0,
            Self::W1ms => 1,
            Self::W2ms => 2,
            Self::W5ms => 5,
            Self::W10ms => 10,
            Self::W20ms => 20,
            Self::W30ms => 30,
            Self::W40ms => 40,
            Self::W50ms => 50,
            Self::W100ms => 100,
            Self::W200ms => 200,
            Self::W500ms => 500,
            Self::W1s => 1_000,
            Self::W2s => 2_000,
            Self::W5s => 5_000,
            Self::W10s => 10_000,
            Self::W20s => 20_000,
            Self::W60s => 60_000,
        })
    }

    /// Returns the value with this duration, or `None` if none exists or only v1.01 has it.
    pub fn from_duration(span: Duration) -> Option<Self> {
        Self::ALL.into_iter().skip(1).find(|it| it.span() == span)
    }
}

impl TimeToWait {
    /// Returns the value in seconds.
    pub const fn seconds(self) -> u64 {
        match self {
            Self::V1s => 1,
            Self::V2s => 2,
            Self::V5s => 5,
            Self::V10s => 10,
            Self::V20s => 20,
            Self::V60s => 60,
        }
    }
}

sequence! {
    /// Behaviour of a node after an insert, and the time to wait.
    #[derive(Copy, Eq, Hash)]
    RicSubsequentAction "RICsubsequentAction" {
        kind: RicSubsequentActionType [SelfCoded] "ricSubsequentActionType", "Continue or wait.",
        time_to_wait: RicTimeToWait [SelfCoded] "ricTimeToWait", "Time to wait.",
    }
    /// An action of a new subscription.
    #[derive(Eq, Hash)]
    ActionToBeSetup "RICaction-ToBeSetup-Item" {
        id: RicActionId [ActionIdCodec] "ricActionID", "Action id, chosen by the subscriber.",
        kind: RicActionType [SelfCoded] "ricActionType", "Type of the action.",
        definition: Option<Bytes> [Opt<Unconstrained>] "ricActionDefinition", "Defined by the service model.",
        subsequent: Option<RicSubsequentAction> [Opt] "ricSubsequentAction", "Behaviour after an insert.";
        execution_order: u16 [ExecutionOrderV3] "ricActionExecutionOrder", "Order in which several policies are applied; v3.01 only.",
    }
}

impl ActionToBeSetup {
    /// Returns a report action without a definition, as most statistics service models need it.
    pub fn report(id: RicActionId) -> Self {
        Self { id, kind: RicActionType::Report, definition: None, subsequent: None, execution_order: None }
    }
}

/// Codec of an execution order: an [`IntExt`] that can only be encoded in v3.01.
#[derive(Debug)]
pub struct ExecutionOrderV3;

impl Codec<u16> for ExecutionOrderV3 {
    fn encode(value: &u16, w: &mut Writer) -> Result<(), EncodeError> {
        let version = w.version();
        if version < Version::V3_01 {
            return Err(EncodeError::NotInVersion {
                element: "ricActionExecutionOrder",
                version: version.name(),
            });
        }
        ExecutionOrder::encode(value, w)
    }
    fn decode<S: Source>(r: &mut S) -> Result<u16, DecodeError> {
        ExecutionOrder::decode(r)
    }
    fn show(value: &u16, n: &mut Notation) {
        n.value(value);
    }
}

sequence! {
    /// Event trigger and actions of a subscription.
    #[derive(Eq, Hash)]
    RicSubscriptionDetails "RICsubscriptionDetails" {
        event_trigger: Bytes [Unconstrained] "ricEventTriggerDefinition", "Event trigger definition of the service model.",
        actions: Vec<ActionToBeSetup> [List<1, 16, ActionSetupItems>] "ricAction-ToBeSetup-List", "Actions, 1 to 16.",
    }
}

/// Defines an item that only has an action id.
macro_rules! action_id_item {
    ($codec:ident $id:literal $name:literal) => {
        container::list_item!($codec RicActionId: ActionIdItem, $id, Ignore $name);
    };
}
/// Defines an item with an action id and a cause.
macro_rules! action_cause_item {
    ($codec:ident $id:literal $name:literal) => {
        container::list_item!($codec ActionFailed: SelfCoded, $id, Ignore $name);
    };
}

/// An extensible SEQUENCE that only has an action id; in Rust, the id itself.
#[derive(Debug)]
pub struct ActionIdItem;

impl Codec<RicActionId> for ActionIdItem {
    fn encode(value: &RicActionId, w: &mut Writer) -> Result<(), EncodeError> {
        w.bit(false);
        ActionIdCodec::encode(value, w)
    }
    fn decode<S: Source>(r: &mut S) -> Result<RicActionId, DecodeError> {
        let extended = r.extended()?;
        let id = ActionIdCodec::decode(r).map_err(|e| e.within("ricActionID"))?;
        if extended {
            r.additions(0, |_, _| Ok(()))?;
        }
        Ok(id)
    }
    fn show(value: &RicActionId, n: &mut Notation) {
        n.braces(|n| n.field("ricActionID", |n| n.value(value)));
    }
}

sequence! {
    /// An action that was not admitted, modified or removed.
    #[derive(Copy, Eq)]
    ActionFailed "RICaction-NotAdmitted-Item" {
        id: RicActionId [ActionIdCodec] "ricActionID", "Action id.",
        cause: Cause [SelfCoded] "cause", "Cause.",
    }
    /// A subscription whose deletion the node requests.
    #[derive(Copy, Eq)]
    SubscriptionWithCause "RICsubscription-withCause-Item" {
        request_id: RicRequestId [SelfCoded] "ricRequestID", "Request id of the subscription.",
        function_id: RanFunctionId [RanFunctionIdCodec] "ranFunctionID", "Id of the RAN function.",
        cause: Cause [SelfCoded] "cause", "Cause.",
    }
    /// An action that a modification adds; v3.01 only.
    #[derive(Eq)]
    ActionToBeAdded "RICaction-ToBeAddedForModification-Item" {
        id: RicActionId [ActionIdCodec] "ricActionID", "Action id, chosen by the subscriber.",
        kind: RicActionType [SelfCoded] "ricActionType", "Type of the action.",
        definition: Bytes [Unconstrained] "ricActionDefinition", "Defined by the service model.",
        execution_order: u16 [ExecutionOrder] "ricActionExecutionOrder", "Order in which several policies are applied.",
        subsequent: Option<RicSubsequentAction> [Opt] "ricSubsequentAction", "Behaviour after an insert.",
    }
    /// An action that a modification modifies; v3.01 only.
    #[derive(Eq)]
    ActionToBeModified "RICaction-ToBeModifiedForModification-Item" {
        id: RicActionId [ActionIdCodec] "ricActionID", "Action id.",
        definition: Option<Bytes> [Opt<Unconstrained>] "ricActionDefinition", "New definition.",
        execution_order: Option<u16> [Opt<ExecutionOrder>] "ricActionExecutionOrder", "New execution order.",
        subsequent: Option<RicSubsequentAction> [Opt] "ricSubsequentAction", "New subsequent action.",
    }
    /// An action for which the node requests another time to wait; v3.01 only.
    #[derive(Copy, Eq)]
    ActionRequiredToBeModified "RICaction-RequiredToBeModified-Item" {
        id: RicActionId [ActionIdCodec] "ricActionID", "Action id.",
        time_to_wait: RicTimeToWait [SelfCoded] "ricTimeToWait", "New time to wait.",
    }
}

container::list_item!(ActionSetupItems ActionToBeSetup ids::RIC_ACTION_TO_BE_SETUP_ITEM, Ignore "RICaction-ToBeSetup-Item");
container::list_item!(SubscriptionCauseItems SubscriptionWithCause ids::RIC_SUBSCRIPTION_WITH_CAUSE_ITEM, Ignore "RICsubscription-withCause-Item");
container::list_item!(ActionAddItems ActionToBeAdded ids::RIC_ACTION_TO_BE_ADDED_FOR_MODIFICATION_ITEM, Ignore "RICaction-ToBeAddedForModification-Item");
container::list_item!(ActionModifyItems ActionToBeModified ids::RIC_ACTION_TO_BE_MODIFIED_FOR_MODIFICATION_ITEM, Ignore "RICaction-ToBeModifiedForModification-Item");
container::list_item!(ActionModifyRequiredItems ActionRequiredToBeModified ids::RIC_ACTION_REQUIRED_TO_BE_MODIFIED_ITEM, Ignore "RICaction-RequiredToBeModified-Item");
action_id_item!(ActionAdmittedItems 14 "RICaction-Admitted-Item");
action_id_item!(ActionRemoveItems 66 "RICaction-ToBeRemovedForModification-Item");
action_id_item!(ActionRemovedItems 72 "RICaction-RemovedForModification-Item");
action_id_item!(ActionModifiedItems 76 "RICaction-ModifiedForModification-Item");
action_id_item!(ActionAddedItems 80 "RICaction-AddedForModification-Item");
action_id_item!(ActionModificationConfirmedItems 88 "RICaction-ConfirmedForModification-Item");
action_id_item!(ActionRemovalConfirmedItems 92 "RICaction-ConfirmedForRemoval-Item");
action_cause_item!(ActionNotAdmittedItems 16 "RICaction-NotAdmitted-Item");
action_cause_item!(ActionRemoveFailedItems 74 "RICaction-FailedToBeRemovedForModification-Item");
action_cause_item!(ActionModifyFailedItems 78 "RICaction-FailedToBeModifiedForModification-Item");
action_cause_item!(ActionAddFailedItems 82 "RICaction-FailedToBeAddedForModification-Item");
action_cause_item!(ActionRemoveRequiredItems 86 "RICaction-RequiredToBeRemoved-Item");
action_cause_item!(ActionModificationRefusedItems 90 "RICaction-RefusedToBeModified-Item");
action_cause_item!(ActionRemovalRefusedItems 94 "RICaction-RefusedToBeRemoved-Item");
