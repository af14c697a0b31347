//! Controls and their outcomes (E2SM-RC clauses 8.2.1.5 to 8.2.1.8).
use super::parameter::*;
use super::{LIST_MAX, STYLES_MAX};
use crate::e2ap::sole_alternative;
use crate::e2sm::common::{Oran, UeId, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{IntExt, List, Opt, SelfCoded, Unconstrained};
use crate::{choice, enumerated, sequence};

octets! {
    ControlHeader: Per => Oran;
    ControlMessage: Per => Oran;
    ControlOutcome: Per => Oran;
    CallProcessId: Per => Oran;
}

enumerated! {
    /// Decision on a call process that waits.
    Decision "ric-ControlDecision" {
        Accept "accept", "Accept.",
        Reject "reject", "Reject.",
    }
}
sequence! {
    /// Control header: UE and action.
    ControlHeader "E2SM-RC-ControlHeader" {
        format: HeaderFormat [SelfCoded] "ric-controlHeader-formats", "One of two formats.",
    }
    /// One action.
    ActionHeader "E2SM-RC-ControlHeader-Format1" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        style: i64 [Unconstrained] "ric-Style-Type", "The control style.",
        action: u16 [Number] "ric-ControlAction-ID", "Id of the control action.",
        decision: Option<Decision> [Opt] "ric-ControlDecision", "Decision, if the control responds to an insert.",
    }
    /// Several actions, listed in the message.
    ActionsHeader "E2SM-RC-ControlHeader-Format2" {
        ue: Option<UeId> [Opt] "ueID", "UE.",
        decision: Option<Decision> [Opt] "ric-ControlDecision", "Decision, if the control responds to an insert.",
    }
    /// Control message: parameters of the action.
    ControlMessage "E2SM-RC-ControlMessage" {
        format: ControlFormat [SelfCoded] "ric-controlMessage-formats", "One of two formats.",
    }
    /// Actions of one style.
    StyleActions "E2SM-RC-ControlMessage-Format2-Style-Item" {
        style: i64 [Unconstrained] "indicated-Control-Style-Type", "The control style.",
        actions: Vec<Action> [List<1, STYLES_MAX>] "ric-ControlAction-List", "Actions.",
    }
    /// An action with its parameters.
    Action "E2SM-RC-ControlMessage-Format2-ControlAction-Item" {
        action: u16 [Number] "ric-ControlAction-ID", "Action id.",
        parameters: Vec<Parameter> [Parameters] "ranP-List", "Parameters.",
    }
    /// Control outcome.
    ControlOutcome "E2SM-RC-ControlOutcome" {
        format: OutcomeFormat [SelfCoded] "ric-controlOutcome-formats", "One of three formats.",
    }
    /// A value of an outcome.
    OutcomeValue "E2SM-RC-ControlOutcome-Format1-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Parameter id.",
        value: Value [SelfCoded] "ranParameter-value", "Value.",
    }
    /// Outcomes of the actions of a style.
    StyleOutcomes "E2SM-RC-ControlOutcome-Format2-Style-Item" {
        style: i64 [Unconstrained] "indicated-Control-Style-Type", "The control style.",
        outcomes: Vec<ActionOutcome> [List<1, STYLES_MAX>] "ric-ControlOutcome-List", "Outcomes of the actions.",
    }
    /// Outcome of an action.
    ActionOutcome "E2SM-RC-ControlOutcome-Format2-ControlOutcome-Item" {
        action: u16 [Number] "ric-ControlAction-ID", "Action id.",
        values: Vec<OutcomeValue> [List<1, LIST_MAX>] "ranP-List", "Values of the outcome.",
    }
    /// A call process that waits for a decision.
    #[derive(Copy, Eq, Hash)]
    CallProcessId "E2SM-RC-CallProcessID" {
        id: u32 [CallProcessFormat] "ric-callProcessID-formats", "Id of the call process.",
    }
}
choice! {
    /// Format of the control header.
    HeaderFormat "ric-controlHeader-formats" {
        Action(ActionHeader) [SelfCoded] "controlHeader-Format1", "One action.";
        Actions(ActionsHeader) [SelfCoded] "controlHeader-Format2", "Several actions.",
    }
    /// Format of the control message.
    ControlFormat "ric-controlMessage-formats" {
        Action(Vec<Parameter>) [Parameters] "controlMessage-Format1", "Parameters of the action in the header.";
        Actions(Vec<StyleActions>) [Styles] "controlMessage-Format2", "Several actions.",
    }
    /// Format of the control outcome.
    OutcomeFormat "ric-controlOutcome-formats" {
        Values(Vec<OutcomeValue>) [OutcomeValues] "controlOutcome-Format1", "Outcome of the action.";
        Styles(Vec<StyleOutcomes>) [OutcomeStyles] "controlOutcome-Format2", "Several actions.",
        Parameters(Vec<Parameter>) [OutcomeParameters] "controlOutcome-Format3", "Outcome of the action, as parameter trees.",
    }
}
sole_alternative!(CallProcessFormat "callProcessID-Format1" u32 [CallProcess]);
sole_component! {
    Parameters "ranP-List" Vec<Parameter> [List<0, LIST_MAX>];
    Styles "ric-ControlStyle-List" Vec<StyleActions> [List<1, STYLES_MAX>];
    OutcomeValues "ranP-List" Vec<OutcomeValue> [List<0, 255>];
    OutcomeStyles "ric-ControlStyle-List" Vec<StyleOutcomes> [List<1, STYLES_MAX>];
    OutcomeParameters "ranP-List" Vec<Parameter> [List<0, 255>];
    CallProcess "ric-callProcess-ID" u32 [IntExt<1, 4_294_967_295>];
}

impl ControlHeader {
    /// Returns a header for one action, without a decision (the control does not respond to an insert).
    pub const fn action(ue: UeId, style: i64, action: u16) -> Self {
        Self { format: HeaderFormat::Action(ActionHeader { ue, style, action, decision: None }) }
    }
}

impl From<Vec<Parameter>> for ControlMessage {
    fn from(parameters: Vec<Parameter>) -> Self {
        Self { format: ControlFormat::Action(parameters) }
    }
}

impl ControlOutcome {
    /// Returns the text values of the outcome, joined with `; `. A base station gives the reason for a refusal in them.
    /// Returns `None` without such values.
    pub fn sentence(&self) -> Option<String> {
        let OutcomeFormat::Values(values) = &self.format else { return None };
        let text =
            |it: &OutcomeValue| if let Value::Text(text) = &it.value { Some(text.clone()) } else { None };
        let texts: Vec<_> = values.iter().filter_map(text).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}
