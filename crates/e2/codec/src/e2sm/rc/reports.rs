//! Reports and inserts whose parameter trees are known, as values: copies of messages (report style 1), how a handover ended
//! (style 2), a cell's neighbours (style 3), a UE's state in RRC (style 4), and the question whether a UE may be handed over (insert style 3). The numbers are those of
//! FlexRIC, OpenAirInterface and onos, who agree.
use bytes::Bytes;

use super::commands::Order;
use super::control::ControlFormat;
use super::indication::{IndicationHeader, IndicationHeaderFormat, InsertHeader};
use super::messages::Said;
use super::parameter::{LogicalOr, Parameter, Value};
use super::subscription::{
    ActionDefinition, ActionFormat, ChangeOf, EventTrigger, MessageEvent, MessageTrigger, MessageType,
    NodeChange, OnDemandTrigger, ProcessTrigger, RrcState, StateChange, TriggerFormat, UeChange,
};
use crate::e2sm::common::{Cgi, NrCgi, UeId};
use crate::e2sm::per::{decode, encode};
use crate::per::Per;

/// Process: mobility of connected UEs.
pub const MOBILITY: u16 = 3;
/// Where that process can be watched and stopped: before the target cell is asked.
pub const HANDOVER_PREPARATION: u16 = 1;

/// Report style 1: copies of messages.
pub const MESSAGE_COPY: i64 = 1;
/// Report style 3: what changed at the node.
pub const NODE_INFORMATION: i64 = 3;
/// Change of the node: the neighbours of a cell.
pub const NEIGHBOURS_CHANGE: u16 = 2;
/// Report style 1: the message of RRC, as its octets.
pub const RRC_MESSAGE: u32 = 3;
/// Report style 1: whose it is, as PER of the UE's identity.
pub const MESSAGE_UE: u32 = 4;
/// Report style 2: how a process ended.
pub const PROCESS_OUTCOME: i64 = 2;
/// Report style 4: what became of UEs.
pub const UE_INFORMATION: i64 = 4;
/// Report style 5: who is there, once.
pub const ON_DEMAND: i64 = 5;
/// Insert style 3: mobility of connected UEs.
pub const MOBILITY_REQUEST: i64 = 3;
/// Indication of that insert style: a UE is about to be handed over.
pub const HANDOVER_REQUEST: u16 = 1;
/// Parameter of that indication, and of the control that answers it: a tree with the cell.
pub const TARGET_CELL: u32 = 1;

/// Report style 2: what the UE is called now, as PER of its identity.
pub const CURRENT_UE: u32 = 1;
/// Report style 2: what it was called before.
pub const OLD_UE: u32 = 2;
/// Report style 2: its state in RRC, a number of [`RrcState`].
pub const CURRENT_STATE: u32 = 3;
/// Report style 2: its state before.
pub const OLD_STATE: u32 = 4;
/// Report styles 1 and 2: where the UE is now, as PER of the cell's identity.
pub const CELL: u32 = 6;
/// Report style 4: the state in RRC that a UE came to, a number of [`RrcState`].
pub const STATE_CHANGED_TO: u32 = 202;

/// What report style 1 tells, numbers and names.
pub const MESSAGE_PARAMETERS: [(u32, &str); 3] =
    [(RRC_MESSAGE, "RRC Message"), (MESSAGE_UE, "UE ID"), (CELL, "Cell Global ID")];
/// What report style 2 tells.
pub const PROCESS_PARAMETERS: [(u32, &str); 5] = [
    (CURRENT_UE, "Current UE ID"),
    (OLD_UE, "Old UE ID"),
    (CURRENT_STATE, "Current RRC State"),
    (OLD_STATE, "Old RRC State"),
    (CELL, "Cell Global ID"),
];
/// What report style 4 tells.
pub const UE_PARAMETERS: [(u32, &str); 1] = [(STATE_CHANGED_TO, "RRC State Changed To")];
/// What insert style 3 asks.
pub const HANDOVER_PARAMETERS: [(u32, &str); 1] = [(TARGET_CELL, "Target Primary Cell ID")];

impl RrcState {
    /// As a parameter's value: connected 0, inactive 1, idle 2, any 3.
    pub const fn number(self) -> i64 {
        match self {
            Self::Connected => 0,
            Self::Inactive => 1,
            Self::Idle => 2,
            Self::Any => 3,
        }
    }

    /// The state of a UE by its number; `None` for any other, "any" among them.
    pub const fn of_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Connected),
            1 => Some(Self::Inactive),
            2 => Some(Self::Idle),
            _ => None,
        }
    }
}

/// How a handover ended, of which the cell tells that the UE left.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandedOver {
    /// What it is called in the target cell.
    pub ue: UeId,
    /// What it was called.
    pub old: UeId,
    /// The target cell.
    pub cell: Cgi,
}

fn octets<T: Per>(id: u32, value: &T) -> Parameter {
    let mut octets = Vec::new();
    // Identities that a node has are within their bounds; of another nothing is said.
    let _ = encode(value, &mut octets);
    Parameter::element(id, Value::Octets(octets.into()))
}

fn value<T: Per>(parameters: &[Parameter], id: u32) -> Option<T> {
    let found = parameters.iter().find(|it| it.id == id)?;
    let Some(Value::Octets(octets)) = found.scalar() else { return None };
    decode(octets.clone()).ok()
}

impl HandedOver {
    /// Its parameters, those of these numbers.
    pub fn parameters(&self, wanted: &[u32]) -> Vec<Parameter> {
        let connected = Value::Int(RrcState::Connected.number());
        let all = [
            octets(CURRENT_UE, &self.ue),
            octets(OLD_UE, &self.old),
            Parameter::element(CURRENT_STATE, connected.clone()),
            Parameter::element(OLD_STATE, connected),
            octets(CELL, &self.cell),
        ];
        all.into_iter().filter(|it| wanted.contains(&it.id)).collect()
    }

    /// What a report says; `None` if one of the identities is missing or none.
    pub fn read(parameters: &[Parameter]) -> Option<Self> {
        let (ue, old) = (value(parameters, CURRENT_UE)?, value(parameters, OLD_UE)?);
        Some(Self { ue, old, cell: value(parameters, CELL)? })
    }
}

/// The parameters of a copy of a message, those of these numbers.
pub fn message_copy(message: Said, ue: &UeId, cell: &Cgi, wanted: &[u32]) -> Vec<Parameter> {
    let copy = Bytes::from_static(message.octets(matches!(cell, Cgi::Nr(_))));
    let copy = Parameter::element(RRC_MESSAGE, Value::Octets(copy));
    let all = [copy, octets(MESSAGE_UE, ue), octets(CELL, cell)];
    all.into_iter().filter(|it| wanted.contains(&it.id)).collect()
}

/// Whose a copied message is, if the copy says so.
pub fn copied_from(parameters: &[Parameter]) -> Option<UeId> {
    value(parameters, MESSAGE_UE)
}

/// The parameters of a report that a UE came to a state.
pub fn state_changed(to: RrcState) -> Vec<Parameter> {
    vec![Parameter::element(STATE_CHANGED_TO, Value::Int(to.number()))]
}

/// The state that a report of a UE tells.
pub fn state_of(parameters: &[Parameter]) -> Option<RrcState> {
    let found = parameters.iter().find(|it| it.id == STATE_CHANGED_TO)?;
    if let Some(Value::Int(number)) = found.scalar() { RrcState::of_number(*number) } else { None }
}

/// The parameters by which an insert asks whether a UE may go to this cell.
pub fn handover_request(cell: NrCgi) -> Vec<Parameter> {
    match Order::Handover(cell).message().format {
        ControlFormat::Action(parameters) => parameters,
        ControlFormat::Actions(_) => Vec::new(),
    }
}

impl IndicationHeader {
    /// A UE is about to be handed over.
    pub const fn handover_request(ue: UeId) -> Self {
        let (style, indication) = (MOBILITY_REQUEST, HANDOVER_REQUEST);
        Self { format: IndicationHeaderFormat::Insert(InsertHeader { ue, style, indication }) }
    }
}

/// What [`EventTrigger::named`] knows.
pub const TRIGGERS: [&str; 5] = ["states", "handovers", "messages", "lte-messages", "neighbours"];

impl EventTrigger {
    /// A trigger by a name of [`TRIGGERS`].
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

    /// The report style that goes with it.
    pub const fn report_style(&self) -> i64 {
        match &self.format {
            TriggerFormat::Messages(_) => MESSAGE_COPY,
            TriggerFormat::Process(_) => PROCESS_OUTCOME,
            TriggerFormat::Node(_) => NODE_INFORMATION,
            TriggerFormat::Ues(_) => UE_INFORMATION,
            TriggerFormat::OnDemand(_) => ON_DEMAND,
        }
    }

    /// When a handover is prepared, of whichever UE.
    pub const fn handovers() -> Self {
        let (process, breakpoint) = (MOBILITY, HANDOVER_PREPARATION);
        Self { format: TriggerFormat::Process(ProcessTrigger { process, breakpoint, node: None, ues: None }) }
    }

    /// When a UE comes to another state in RRC, whichever.
    pub fn states() -> Self {
        let any = StateChange { to: RrcState::Any, or: None };
        let trigger = ChangeOf::RrcState(vec![any]);
        Self { format: TriggerFormat::Ues(vec![UeChange { condition: 1, trigger, ues: None, or: None }]) }
    }

    /// At messages of RRC that a base station of this project copies, of NR or of LTE.
    pub fn messages(nr: bool) -> Self {
        let event = |(condition, said): (u16, Said)| MessageEvent {
            condition,
            message: MessageType::Rrc(said.id(nr)),
            direction: Some(said.direction()),
            ues: None,
            events: None,
            or: Some(LogicalOr::True),
        };
        let messages = (1..).zip(Said::ALL).map(event).collect();
        Self { format: TriggerFormat::Messages(MessageTrigger { messages, ues: None }) }
    }

    /// When a cell has other neighbours, or knows something else of them.
    pub fn neighbours() -> Self {
        let change = NodeChange { condition: 1, change: NEIGHBOURS_CHANGE, cells: None, or: None };
        Self { format: TriggerFormat::Node(vec![change]) }
    }

    /// At once.
    pub const fn on_demand() -> Self {
        Self { format: TriggerFormat::OnDemand(OnDemandTrigger { on_demand: (), ues: None, cells: None }) }
    }
}

impl ActionDefinition {
    /// A report of these parameters.
    pub fn report(style: i64, parameters: impl IntoIterator<Item = u32>) -> Self {
        let wanted = |id| super::WantedParameter { id, definition: None };
        Self { style, format: ActionFormat::Report(parameters.into_iter().map(wanted).collect()) }
    }

    /// The question whether a UE may be handed over.
    pub fn handover_request() -> Self {
        let parameters = vec![super::WantedParameter { id: TARGET_CELL, definition: None }];
        let insert = super::InsertAction { indication: HANDOVER_REQUEST, parameters, ue: None };
        Self { style: MOBILITY_REQUEST, format: ActionFormat::Insert(insert) }
    }
}

/// The cell that a tree of parameters names as the target.
///
/// # Errors
/// There is none, or it is written as none.
pub fn target_cell(parameters: &[Parameter]) -> Result<NrCgi, super::commands::NotAnOrder> {
    super::commands::target(parameters)
}

/// The octets of a process's number.
pub fn process_octets(id: u32) -> Bytes {
    let mut octets = Vec::new();
    // Numbers from 1 on have an encoding.
    let _ = encode(&super::CallProcessId { id }, &mut octets);
    octets.into()
}
