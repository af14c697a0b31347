//! Event triggers and action definitions (E2SM-RC clauses 8.2.1.1 and 8.2.1.2).
use super::control::Decision;
use super::interface::*;
use super::parameter::*;
use super::{LIST_MAX, STYLES_MAX};
use crate::e2sm::common::{Cgi, Oran, UeId, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{EnumeratedTrue, IntExt, List, Opt, SelfCoded, Unconstrained};
use crate::{choice, enumerated, sequence};

octets! {
    EventTrigger: Per => Oran;
    ActionDefinition: Per => Oran;
}

/// Codec of the number of a change.
type Change = IntExt<1, 512>;

enumerated! {
    /// Direction of a message.
    Direction "messageDirection" {
        Incoming "incoming", "Incoming.",
        Outgoing "outgoing", "Outgoing.",
    }
    /// RRC state of a UE.
    RrcState "RRC-State" {
        Connected "rrc-connected", "Connected.",
        Inactive "rrc-inactive", "Inactive.",
        Idle "rrc-idle", "Idle.",
        Any "any", "Any state.",
    }
}
sequence! {
    /// Event trigger definition.
    EventTrigger "E2SM-RC-EventTrigger" {
        format: TriggerFormat [SelfCoded] "ric-eventTrigger-formats", "One of five formats.",
    }
    /// Trigger: messages.
    MessageTrigger "E2SM-RC-EventTrigger-Format1" {
        messages: Vec<MessageEvent> [List<1, LIST_MAX>] "message-List", "Messages.",
        ues: Option<Vec<UeCondition>> [Opt<UeConditions>] "globalAssociatedUEInfo", "Conditions on the UEs.",
    }
    /// A message.
    MessageEvent "E2SM-RC-EventTrigger-Format1-Item" {
        condition: u16 [Number] "ric-eventTriggerCondition-ID", "Id of the condition.",
        message: MessageType [SelfCoded] "messageType", "Message.",
        direction: Option<Direction> [Opt] "messageDirection", "Direction.",
        ues: Option<Vec<UeCondition>> [Opt<UeConditions>] "associatedUEInfo", "Conditions on the UEs.",
        events: Option<Vec<UeEvent>> [Opt<UeEvents>] "associatedUEEvent", "Event.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
    /// An event of a UE.
    #[derive(Copy, Eq, Hash)]
    UeEvent "EventTrigger-UEevent-Info-Item" {
        event: u16 [Number] "ueEventID", "Id of the event.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
    /// Trigger: a breakpoint of a call process.
    ProcessTrigger "E2SM-RC-EventTrigger-Format2" {
        process: u16 [Number] "ric-callProcessType-ID", "Call process type.",
        breakpoint: u16 [Number] "ric-callProcessBreakpoint-ID", "Breakpoint.",
        node: Option<Vec<ParameterTest>> [Opt<Tests>] "associatedE2NodeInfo", "Condition on the node.",
        ues: Option<Vec<UeCondition>> [Opt<UeConditions>] "associatedUEInfo", "Conditions on the UEs.",
    }
    /// A change of the node.
    NodeChange "E2SM-RC-EventTrigger-Format3-Item" {
        condition: u16 [Number] "ric-eventTriggerCondition-ID", "Id of the condition.",
        change: u16 [Change] "e2NodeInfoChange-ID", "Type of the change.",
        cells: Option<Vec<CellCondition>> [Opt<CellConditions>] "associatedCellInfo", "Cells.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
    /// A change of a UE.
    UeChange "E2SM-RC-EventTrigger-Format4-Item" {
        condition: u16 [Number] "ric-eventTriggerCondition-ID", "Id of the condition.",
        trigger: ChangeOf [SelfCoded] "triggerType", "Type of the change.",
        ues: Option<Vec<UeCondition>> [Opt<UeConditions>] "associatedUEInfo", "Conditions on the UEs.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
    /// Trigger: on demand (not in 5.00).
    OnDemandTrigger "E2SM-RC-EventTrigger-Format5" {
        on_demand: () [EnumeratedTrue] "onDemand", "Marks a trigger for on-demand reports.",
        ues: Option<Vec<UeCondition>> [Opt<UeConditions>] "associatedUEInfo", "Conditions on the UEs.",
        cells: Option<Vec<CellCondition>> [Opt<CellConditions>] "associatedCellInfo", "Cells.",
    }
    /// A new RRC state of a UE.
    #[derive(Copy, Eq, Hash)]
    StateChange "TriggerType-Choice-RRCstate-Item" {
        to: RrcState [SelfCoded] "stateChangedTo", "New state.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
    /// A condition on UEs.
    UeCondition "EventTrigger-UE-Info-Item" {
        id: u16 [Number] "eventTriggerUEID", "Id of the condition.",
        ue: UeKind [SelfCoded] "ueType", "UE or UEs.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
    /// One UE.
    OneUe "EventTrigger-UE-Info-Item-Choice-Individual" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        test: Option<Vec<ParameterTest>> [Opt<Tests>] "ranParameterTesting", "Condition.",
    }
    /// A condition on cells.
    CellCondition "EventTrigger-Cell-Info-Item" {
        id: u16 [Number] "eventTriggerCellID", "Id of the condition.",
        cell: CellKind [SelfCoded] "cellType", "Cell or cells.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next entry.",
    }
}
choice! {
    /// Format of the event trigger.
    TriggerFormat "ric-eventTrigger-formats" {
        Messages(MessageTrigger) [SelfCoded] "eventTrigger-Format1", "Messages.",
        Process(ProcessTrigger) [SelfCoded] "eventTrigger-Format2", "A breakpoint of a call process.",
        Node(Vec<NodeChange>) [NodeChanges] "eventTrigger-Format3", "Changes of the node.",
        Ues(Vec<UeChange>) [UeChanges] "eventTrigger-Format4", "Changes of UEs.",
        OnDemand(OnDemandTrigger) [SelfCoded] "eventTrigger-Format5", "On demand.",
    }
    /// Type of a message.
    MessageType "MessageType-Choice" {
        Interface(InterfaceMessage) [SelfCoded] "messageType-Choice-NI", "Message on an interface between nodes.",
        Rrc(RrcMessage) [RrcChoice] "messageType-Choice-RRC", "RRC message.",
    }
    /// Type of a UE's change.
    ChangeOf "TriggerType-Choice" {
        RrcState(Vec<StateChange>) [States] "triggerType-Choice-RRCstate", "RRC state.",
        Identity(u16) [IdentityChange] "triggerType-Choice-UEID", "Identity.",
        L2(Vec<ParameterTest>) [L2State] "triggerType-Choice-L2state", "Layer 2 state.",
    }
    /// UEs that a condition selects.
    UeKind "ueType" {
        One(OneUe) [SelfCoded] "ueType-Choice-Individual", "One UE.",
        Group(Vec<ParameterTest>) [Group] "ueType-Choice-Group", "All UEs that fulfil a condition.",
    }
    /// Cells that a condition selects.
    CellKind "cellType" {
        One(Cgi) [OneCell] "cellType-Choice-Individual", "One cell.",
        Group(Vec<ParameterTest>) [Group] "cellType-Choice-Group", "All cells that fulfil a condition.",
    }
}
sole_component! {
    NodeChanges "e2NodeInfoChange-List" Vec<NodeChange> [List<1, LIST_MAX>];
    UeChanges "uEInfoChange-List" Vec<UeChange> [List<1, LIST_MAX>];
    UeConditions "ueInfo-List" Vec<UeCondition> [List<1, LIST_MAX>];
    UeEvents "ueEvent-List" Vec<UeEvent> [List<1, LIST_MAX>];
    CellConditions "cellInfo-List" Vec<CellCondition> [List<1, LIST_MAX>];
    RrcChoice "rRC-Message" RrcMessage [SelfCoded];
    States "rrcState-List" Vec<StateChange> [List<1, 8>];
    IdentityChange "ueIDchange-ID" u16 [Change];
    L2State "associatedL2variables" Vec<ParameterTest> [Tests];
    Group "ranParameterTesting" Vec<ParameterTest> [Tests];
    OneCell "cellGlobalID" Cgi [SelfCoded];
}

sequence! {
    /// Action definition.
    ActionDefinition "E2SM-RC-ActionDefinition" {
        style: i64 [Unconstrained] "ric-Style-Type", "Style number.",
        format: ActionFormat [SelfCoded] "ric-actionDefinition-formats", "Contents, in the format of the style.",
    }
    /// An action that is performed when a condition holds.
    Policy "E2SM-RC-ActionDefinition-Format2-Item" {
        action: PolicyAction [SelfCoded] "ric-PolicyAction", "Action.",
        condition: Option<Vec<ParameterTest>> [Opt<Tests>] "ric-PolicyConditionDefinition", "Condition of the policy.",
    }
    /// Action of a policy.
    PolicyAction "RIC-PolicyAction" {
        action: u16 [Number] "ric-PolicyAction-ID", "Action id.",
        parameters: Option<Vec<Parameter>> [Opt<List<1, LIST_MAX>>] "ranParameters-List", "Parameters.";
        decision: Decision [SelfCoded] "ric-PolicyDecision", "Whether a call process continues.",
    }
    /// An insert of one indication.
    InsertAction "E2SM-RC-ActionDefinition-Format3" {
        indication: u16 [Number] "ric-InsertIndication-ID", "Id of the insert indication.",
        parameters: Vec<WantedParameter> [List<1, LIST_MAX>] "ranP-InsertIndication-List", "Parameters.",
        ue: Option<UeId> [Opt] "ueID", "UE.",
    }
    /// An insert of several indications.
    InsertActions "E2SM-RC-ActionDefinition-Format4" {
        styles: Vec<StyleInsertActions> [List<1, STYLES_MAX>] "ric-InsertStyle-List", "Insert styles.",
        ue: Option<UeId> [Opt] "ueID", "UE.",
    }
    /// The indications of an insert style.
    StyleInsertActions "E2SM-RC-ActionDefinition-Format4-Style-Item" {
        style: i64 [Unconstrained] "requested-Insert-Style-Type", "The insert style.",
        indications: Vec<WantedInsert> [List<1, STYLES_MAX>] "ric-InsertIndication-List", "Indications.",
    }
    /// A requested insert indication.
    WantedInsert "E2SM-RC-ActionDefinition-Format4-Indication-Item" {
        indication: u16 [Number] "ric-InsertIndication-ID", "Id of the insert indication.",
        parameters: Vec<WantedParameter> [List<1, LIST_MAX>] "ranP-InsertIndication-List", "Parameters.",
    }
}
choice! {
    /// Format of the action definition.
    ActionFormat "ric-actionDefinition-formats" {
        Report(Vec<WantedParameter>) [Wanted] "actionDefinition-Format1", "Parameters to report.",
        Policy(Vec<Policy>) [Policies] "actionDefinition-Format2", "Policies.",
        Insert(InsertAction) [SelfCoded] "actionDefinition-Format3", "An insert.";
        Inserts(InsertActions) [SelfCoded] "actionDefinition-Format4", "Several inserts.",
    }
}
sole_component! {
    Wanted "ranP-ToBeReported-List" Vec<WantedParameter> [List<1, LIST_MAX>];
    Policies "ric-PolicyConditions-List" Vec<Policy> [List<1, LIST_MAX>];
}
