//! Reports and inserts with known parameter trees, as values: copies of messages (report style 1), outcome of a
//! handover (style 2), neighbours of a cell (style 3), RRC state of a UE (style 4), and requests whether a UE may be
//! handed over (insert style 3). The ids are those of FlexRIC, OpenAirInterface and onos, which agree.
use bytes::Bytes;

use super::commands::Order;
use super::control::ControlFormat;
use super::indication::{IndicationHeader, IndicationHeaderFormat, InsertHeader};
use super::messages::CopiedMessage;
use super::parameter::{LogicalOr, Parameter, Value};
use super::subscription::{
    ActionDefinition, ActionFormat, ChangeOf, EventTrigger, MessageEvent, MessageTrigger, MessageType,
    NodeChange, OnDemandTrigger, ProcessTrigger, RrcState, StateChange, TriggerFormat, UeChange,
};
use crate::e2sm::common::{Cgi, NrCgi, UeId};
use crate::e2sm::per::{decode, encode};
use crate::per::Per;

/// Call process: mobility of connected UEs.
pub const MOBILITY: u16 = 3;
/// Breakpoint of the call process [`MOBILITY`]: before the request to the target cell.
pub const HANDOVER_PREPARATION: u16 = 1;

/// Report style 1: copies of messages.
pub const MESSAGE_COPY: i64 = 1;
/// Report style 3: changes of the node.
pub const NODE_INFORMATION: i64 = 3;
/// Change of the node in report style 3: neighbours of a cell.
pub const NEIGHBOURS_CHANGE: u16 = 2;
/// Report style 1: the encoded RRC message.
pub const RRC_MESSAGE: u32 = 3;
/// Report style 1: identity of the UE, in PER.
pub const MESSAGE_UE: u32 = 4;
/// Report style 2: outcome of a process.
pub const PROCESS_OUTCOME: i64 = 2;
/// Report style 4: changes of UEs.
pub const UE_INFORMATION: i64 = 4;
/// Report style 5: connected UEs, once on demand.
pub const ON_DEMAND: i64 = 5;
/// Insert style 3: mobility of connected UEs.
pub const MOBILITY_REQUEST: i64 = 3;
/// Indication of insert style 3: a UE is about to be handed over.
pub const HANDOVER_REQUEST: u16 = 1;
/// Parameter of the indication [`HANDOVER_REQUEST`] and of the control that responds to it: a tree with the target cell.
pub const TARGET_CELL: u32 = 1;

/// Report style 2: current identity of the UE, in PER.
pub const CURRENT_UE: u32 = 1;
/// Report style 2: previous identity of the UE.
pub const OLD_UE: u32 = 2;
/// Report style 2: current RRC state, as numbered in [`RrcState`].
pub const CURRENT_STATE: u32 = 3;
/// Report style 2: previous RRC state.
pub const OLD_STATE: u32 = 4;
/// Report styles 1 and 2: current cell of the UE, in PER.
pub const CELL: u32 = 6;
/// Report style 4: new RRC state of a UE, as numbered in [`RrcState`].
pub const STATE_CHANGED_TO: u32 = 202;

/// Parameters of report style 1, with names.
pub const MESSAGE_PARAMETERS: [(u32, &str); 3] =
    [(RRC_MESSAGE, "RRC Message"), (MESSAGE_UE, "UE ID"), (CELL, "Cell Global ID")];
/// Parameters of report style 2, with names.
pub const PROCESS_PARAMETERS: [(u32, &str); 5] = [
    (CURRENT_UE, "Current UE ID"),
    (OLD_UE, "Old UE ID"),
    (CURRENT_STATE, "Current RRC State"),
    (OLD_STATE, "Old RRC State"),
    (CELL, "Cell Global ID"),
];
/// Parameters of report style 4, with names.
pub const UE_PARAMETERS: [(u32, &str); 1] = [(STATE_CHANGED_TO, "RRC State Changed To")];
/// Parameters of insert style 3, with names.
pub const HANDOVER_PARAMETERS: [(u32, &str); 1] = [(TARGET_CELL, "Target Primary Cell ID")];

impl RrcState {
    /// Returns the state as a parameter value: connected 0, inactive 1, idle 2, any 3.
    pub const fn number(self) -> i64 {
        match self {
            Self::Connected => 0,
            Self::Inactive => 1,
            Self::Idle => 2,
            Self::Any => 3,
        }
    }

    /// Returns the state of a UE with this number; `None` for any other, including "any".
    pub const fn of_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Connected),
            1 => Some(Self::Inactive),
            2 => Some(Self::Idle),
            _ => None,
        }
    }
}

/// Outcome of a handover, reported by the cell that the UE left.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandedOver {
    /// Identity of the UE in the target cell.
    pub ue: UeId,
    /// Previous identity of the UE.
    pub old: UeId,
    /// Target cell.
    pub cell: Cgi,
}

fn octets<T: Per>(id: u32, value: &T) -> Parameter {
    let mut octets = Vec::new();
    // Valid identities can be encoded; for an invalid one the value stays empty.
    let _ = encode(value, &mut octets);
    Parameter::element(id, Value::Octets(octets.into()))
}

fn value<T: Per>(parameters: &[Parameter], id: u32) -> Option<T> {
    let found = parameters.iter().find(|it| it.id == id)?;
    let Some(Value::Octets(octets)) = found.scalar() else { return None };
    decode(octets.clone()).ok()
}

impl HandedOver {
    /// Returns the requested parameters.
    pub fn parameters(&self, requested: &[u32]) -> Vec<Parameter> {
        let connected = Value::Int(RrcState::Connected.number());
        let all = [
            octets(CURRENT_UE, &self.ue),
            octets(OLD_UE, &self.old),
            Parameter::element(CURRENT_STATE, connected.clone()),
            Parameter::element(OLD_STATE, connected),
            octets(CELL, &self.cell),
        ];
        all.into_iter().filter(|it| requested.contains(&it.id)).collect()
    }

    /// Decodes a report. Returns `None` if one of the identities is missing or invalid.
    pub fn read(parameters: &[Parameter]) -> Option<Self> {
        let ue = value(parameters, CURRENT_UE)?;
        let old = value(parameters, OLD_UE)?;
        Some(Self { ue, old, cell: value(parameters, CELL)? })
    }
}

/// Returns the requested parameters of a message copy.
pub fn message_copy(message: CopiedMessage, ue: &UeId, cell: &Cgi, requested: &[u32]) -> Vec<Parameter> {
    let copy = Bytes::from_static(message.octets(matches!(cell, Cgi::Nr(_))));
    let copy = Parameter::element(RRC_MESSAGE, Value::Octets(copy));
    let all = [copy, octets(MESSAGE_UE, ue), octets(CELL, cell)];
    all.into_iter().filter(|it| requested.contains(&it.id)).collect()
}

/// Returns the UE of a copied message, if the copy contains it.
pub fn copied_from(parameters: &[Parameter]) -> Option<UeId> {
    value(parameters, MESSAGE_UE)
}

/// Returns the parameters of a report of a new state.
pub fn state_changed(to: RrcState) -> Vec<Parameter> {
    vec![Parameter::element(STATE_CHANGED_TO, Value::Int(to.number()))]
}

/// Returns the state in a report about a UE.
pub fn state_of(parameters: &[Parameter]) -> Option<RrcState> {
    let found = parameters.iter().find(|it| it.id == STATE_CHANGED_TO)?;
    if let Some(Value::Int(number)) = found.scalar() { RrcState::of_number(*number) } else { None }
}

/// Returns the parameters of an insert about a handover to this cell.
pub fn handover_request(cell: NrCgi) -> Vec<Parameter> {
    match Order::Handover(cell).message().format {
        ControlFormat::Action(parameters) => parameters,
        ControlFormat::Actions(_) => Vec::new(),
    }
}

impl IndicationHeader {
    /// Returns the header of an insert about a handover.
    pub const fn handover_request(ue: UeId) -> Self {
        let style = MOBILITY_REQUEST;
        let indication = HANDOVER_REQUEST;
        Self { format: IndicationHeaderFormat::Insert(InsertHeader { ue, style, indication }) }
    }
}

/// Names known to [`EventTrigger::named`].
pub const TRIGGERS: [&str; 5] = ["states", "handovers", "messages", "lte-messages", "neighbours"];

impl EventTrigger {
    /// Returns the trigger with a name in [`TRIGGERS`].
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "states" => Some(Self::states()),
            "handovers" => Some(Self::handovers()),
            "messages" => Some(Self::messages(true)),
            "lte-messages" => Some(Self::messages(false)),
            "neighbours" => Some(Self::neighbours()),
            _ => None,
        }
    }

    /// Returns the report style of the trigger.
    pub const fn report_style(&self) -> i64 {
        match &self.format {
            TriggerFormat::Messages(_) => MESSAGE_COPY,
            TriggerFormat::Process(_) => PROCESS_OUTCOME,
            TriggerFormat::Node(_) => NODE_INFORMATION,
            TriggerFormat::Ues(_) => UE_INFORMATION,
            TriggerFormat::OnDemand(_) => ON_DEMAND,
        }
    }

    /// Returns the trigger for prepared handovers of any UE.
    pub const fn handovers() -> Self {
        let process = MOBILITY;
        let breakpoint = HANDOVER_PREPARATION;
        Self { format: TriggerFormat::Process(ProcessTrigger { process, breakpoint, node: None, ues: None }) }
    }

    /// Returns the trigger for any change of a UE's RRC state.
    pub fn states() -> Self {
        let any = StateChange { to: RrcState::Any, or: None };
        let trigger = ChangeOf::RrcState(vec![any]);
        Self { format: TriggerFormat::Ues(vec![UeChange { condition: 1, trigger, ues: None, or: None }]) }
    }

    /// Returns the trigger for the RRC messages that ranlab's base stations copy, in NR or in LTE.
    pub fn messages(nr: bool) -> Self {
        let event = |(condition, copied): (u16, CopiedMessage)| MessageEvent {
            condition,
            message: MessageType::Rrc(copied.id(nr)),
            direction: Some(copied.direction()),
            ues: None,
            events: None,
            or: Some(LogicalOr::True),
        };
        let messages = (1..).zip(CopiedMessage::ALL).map(event).collect();
        Self { format: TriggerFormat::Messages(MessageTrigger { messages, ues: None }) }
    }

    /// Returns the trigger for changes of a cell's neighbours, or of the information about them.
    pub fn neighbours() -> Self {
        let change = NodeChange { condition: 1, change: NEIGHBOURS_CHANGE, cells: None, or: None };
        Self { format: TriggerFormat::Node(vec![change]) }
    }

    /// Returns the trigger for an on-demand report.
    pub const fn on_demand() -> Self {
        Self { format: TriggerFormat::OnDemand(OnDemandTrigger { on_demand: (), ues: None, cells: None }) }
    }
}

impl ActionDefinition {
    /// Returns an action that reports these parameters.
    pub fn report(style: i64, parameters: impl IntoIterator<Item = u32>) -> Self {
        let wanted = |id| super::WantedParameter { id, definition: None };
        Self { style, format: ActionFormat::Report(parameters.into_iter().map(wanted).collect()) }
    }

    /// Returns an action that sends inserts about handovers.
    pub fn handover_request() -> Self {
        let parameters = vec![super::WantedParameter { id: TARGET_CELL, definition: None }];
        let insert = super::InsertAction { indication: HANDOVER_REQUEST, parameters, ue: None };
        Self { style: MOBILITY_REQUEST, format: ActionFormat::Insert(insert) }
    }
}

/// Returns the target cell in a parameter tree.
///
/// # Errors
/// Fails if the cell is missing or invalid.
pub fn target_cell(parameters: &[Parameter]) -> Result<NrCgi, super::commands::NotAnOrder> {
    super::commands::target(parameters)
}

/// Returns the encoding of a call process id.
pub fn process_octets(id: u32) -> Bytes {
    let mut octets = Vec::new();
    // Ids from 1 on can be encoded.
    let _ = encode(&super::CallProcessId { id }, &mut octets);
    octets.into()
}
