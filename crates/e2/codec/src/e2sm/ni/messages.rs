//! Event triggers, actions, indications and controls (E2SM-NI §8.2.1).
use bytes::Bytes;

use super::interface::*;
use super::parameter::*;
use crate::ap::Interface;
use crate::e2sm::common::{Name, sole_component, sole_optional};
use crate::e2sm::octets::octets;
use crate::e2sm::per::Aligned;
use crate::per::{Fixed, List, Opt, SelfCoded, Unconstrained};
use crate::{choice, sequence};

/// Maximum number of tests of a trigger.
pub const TESTS_MAX: u64 = 15;
/// Maximum number of parameters of an action, and of its UE groups.
pub const ACTION_MAX: u64 = 255;

octets! {
    EventTrigger: Per => Aligned;
    ActionDefinition: Per => Aligned;
    IndicationHeader: Per => Aligned;
    IndicationMessage: Per => Aligned;
    CallProcessId: Per => Aligned;
    ControlHeader: Per => Aligned;
    ControlMessage: Per => Aligned;
    ControlOutcome: Per => Aligned;
}

choice! {
    /// Event trigger definition.
    #[derive(Eq)]
    EventTrigger "E2SM-NI-EventTriggerDefinition" {
        Message(MessageEvent) [SelfCoded] "eventDefinition-Format1", "Messages.",
    }
    /// Format of the action definition.
    #[derive(Eq)]
    ActionFormat "E2SM-NI-ActionDefinitionFormat" {
        Parameters(Option<Vec<Parameter>>) [ActionParameters] "actionDefinition-Format1", "Parameters of a report or an insert.",
        Groups(Option<Vec<UeGroup>>) [UeGroups] "actionDefinition-Format2", "A policy for groups of UEs.",
    }
    /// Indication header.
    #[derive(Copy, Eq, Hash)]
    IndicationHeader "E2SM-NI-IndicationHeader" {
        Message(MessageHeader) [SelfCoded] "indicationHeader-Format1", "Interface and direction of the message.",
    }
    /// Indication message.
    #[derive(Eq, Hash)]
    IndicationMessage "E2SM-NI-IndicationMessage" {
        Message(Bytes) [InterfaceMessage] "indicationMessage-Format1", "Encoded message, or a part of it.",
    }
    /// A call process that waits for a decision.
    #[derive(Eq, Hash)]
    CallProcessId "E2SM-NI-CallProcessID" {
        Number(i64) [ProcessNumber] "callProcessID-Format1", "Number.",
        Text(String) [ProcessText] "callProcessID-Format2", "Text.",
    }
    /// Control header.
    #[derive(Copy, Eq, Hash)]
    ControlHeader "E2SM-NI-ControlHeader" {
        Message(Injection) [SelfCoded] "controlHeader-Format1", "Interface and direction of the message.",
    }
    /// Control message: the message to inject.
    #[derive(Eq, Hash)]
    ControlMessage "E2SM-NI-ControlMessage" {
        Message(Bytes) [InterfaceMessage] "controlMessage-Format1", "Encoded message.",
    }
    /// Control outcome.
    #[derive(Eq)]
    ControlOutcome "E2SM-NI-ControlOutcome" {
        Parameters(Option<Vec<Parameter>>) [OutcomeParameters] "controlOutcome-Format1", "Parameters.",
    }
}
sequence! {
    /// A message of an interface that triggers the subscription.
    #[derive(Eq)]
    MessageEvent "E2SM-NI-EventTriggerDefinition-Format1" {
        interface: Interface [SelfCoded] "interface-type", "Type of the interface.",
        node: NodeId [SelfCoded] "interface-ID", "Node at one end of the interface.",
        direction: Direction [SelfCoded] "interfaceDirection", "Direction of the message.",
        message: MessageType [SelfCoded] "interfaceMessageType", "Message.",
        tests: Option<Vec<ElementTest>> [Opt<List<1, TESTS_MAX>>] "interfaceProtocolIE-List", "Tests that must all hold for the message.",
    }
    /// Action definition.
    #[derive(Eq)]
    ActionDefinition "E2SM-NI-ActionDefinition" {
        style: i64 [Unconstrained] "ric-Style-Type", "Style number.",
        format: ActionFormat [SelfCoded] "action-Definition-Format", "Contents, in the format of the style.",
    }
    /// Interface, direction and time of a message.
    #[derive(Copy, Eq, Hash)]
    MessageHeader "E2SM-NI-IndicationHeader-Format1" {
        interface: Interface [SelfCoded] "interface-type", "Type of the interface.",
        node: NodeId [SelfCoded] "interface-ID", "Node at one end of the interface.",
        direction: Direction [SelfCoded] "interfaceDirection", "Direction.",
        time: Option<[u8; 8]> [Opt<Fixed>] "timestamp", "Time, as a 64-bit NTP timestamp.",
    }
    /// Interface and direction of a message to inject.
    #[derive(Copy, Eq, Hash)]
    Injection "E2SM-NI-ControlHeader-Format1" {
        interface: Interface [SelfCoded] "interface-type", "Type of the interface.",
        node: NodeId [SelfCoded] "interface-ID", "Node at one end of the interface.",
        direction: Direction [SelfCoded] "interface-Direction", "Direction.",
        /// Priority: above 0, before the node's own messages; below 0, after the node's own messages.
        priority: Option<i64> [Opt<Unconstrained>] "ric-Control-Message-Priority",
    }
}
sole_optional! {
    ActionParameters "actionParameter-List" Vec<Parameter> [List<1, ACTION_MAX>];
    UeGroups "ranUEgroup-List" Vec<UeGroup> [List<1, ACTION_MAX>];
    OutcomeParameters "outcomeElement-List" Vec<Parameter> [Parameters];
}
sole_component! {
    InterfaceMessage "interfaceMessage" Bytes [Unconstrained];
    ProcessNumber "callProcess-ID" i64 [Unconstrained];
    ProcessText "callProcess-ID" String [Name];
}

/// Report style 1: copies of whole messages.
pub const COMPLETE: i64 = 1;
/// Report style 2: copies of an information element of messages.
pub const PARTIAL: i64 = 2;
/// Parameter of reports and inserts: whether the header has the time.
pub const ADD_TIMESTAMP: u16 = 1;
/// Parameter of report style 2: ProtocolIE-ID of the element to copy.
pub const TARGET_IE: u16 = 2;

impl ActionDefinition {
    /// Returns an action that reports whole messages with their times.
    pub fn complete() -> Self {
        let parameters = vec![Parameter { id: ADD_TIMESTAMP, value: Value::Bool(true) }];
        Self { style: COMPLETE, format: ActionFormat::Parameters(Some(parameters)) }
    }

    /// Returns an action that reports one information element of messages, with their times.
    pub fn partial(ie: u16) -> Self {
        let parameters = vec![
            Parameter { id: ADD_TIMESTAMP, value: Value::Bool(true) },
            Parameter { id: TARGET_IE, value: Value::Int(ie.into()) },
        ];
        Self { style: PARTIAL, format: ActionFormat::Parameters(Some(parameters)) }
    }
}

impl MessageEvent {
    /// Returns a trigger for any message of an interface of a node.
    pub const fn any(interface: Interface, node: NodeId) -> Self {
        let direction = Direction::Both;
        let message = MessageType::any(interface);
        Self { interface, node, direction, message, tests: None }
    }
}
