//! Event triggers and actions of a subscription to RC.
use super::super::elements::rc::Checked;
use super::policy::POLICIES_MAX;
use super::{ACTION, TRIGGER};
use ranlab_e2_codec::e2ap::{
    ActionToBeSetup, Cause, RicActionId, RicActionType, RicSubsequentAction, RicSubsequentActionType,
};
use ranlab_e2_codec::e2sm::common::Cgi;
use ranlab_e2_codec::e2sm::rc::messages::CopiedMessage;
use ranlab_e2_codec::e2sm::rc::policy;
use ranlab_e2_codec::e2sm::rc::reports::{
    HANDOVER_PREPARATION, HANDOVER_REQUEST, MESSAGE_COPY, MESSAGE_PARAMETERS, MOBILITY, MOBILITY_REQUEST,
    NEIGHBOURS_CHANGE, NODE_INFORMATION, ON_DEMAND, PROCESS_OUTCOME, PROCESS_PARAMETERS, TARGET_CELL,
    UE_INFORMATION, UE_PARAMETERS,
};
use ranlab_e2_codec::e2sm::rc::{
    ActionDefinition, ActionFormat, CellCondition, CellKind, ChangeOf, EventTrigger, InsertAction, LogicalOr,
    MessageEvent, MessageType, NodeChange, Policy, RrcState, TriggerFormat, UeChange, UeCondition, UeKind,
    WantedParameter,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::collections::BTreeSet;
use std::time::Duration;

/// Default time to wait for the response to an insert without a subsequent action. After that, the handover proceeds.
pub(super) const WAIT_DEFAULT: Duration = Duration::from_secs(1);

/// UEs that a condition names: a list of numbers, or all UEs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UeSelection(Option<BTreeSet<u32>>);

impl UeSelection {
    /// Reads conditions that name single UEs. Conditions for different UEs that are joined by "and" select no UE.
    fn new(conditions: Option<&[UeCondition]>) -> Result<Self, Cause> {
        let Some(conditions) = conditions else { return Ok(Self(None)) };
        let mut named = BTreeSet::new();
        let mut either = true;
        for condition in conditions {
            let UeKind::One(one) = &condition.ue else { return Err(TRIGGER) };
            let number = one.ue.number();
            if either {
                named.insert(number);
            } else {
                named.retain(|known| *known == number);
            }
            either = condition.or == Some(LogicalOr::True);
        }
        Ok(Self(Some(named)))
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.0.as_ref().is_none_or(|named| named.contains(&number))
    }
}

/// RRC states to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UeStateTrigger {
    /// Number of the condition.
    pub(super) condition: u16,
    to: Vec<RrcState>,
    pub(super) whose: UeSelection,
}

impl UeStateTrigger {
    fn new(change: &UeChange) -> Result<Self, Cause> {
        let ChangeOf::RrcState(states) = &change.trigger else { return Err(TRIGGER) };
        let to = states.iter().map(|state| state.to).collect();
        Ok(Self { condition: change.condition, to, whose: UeSelection::new(change.ues.as_deref())? })
    }

    /// Returns whether the end of a state is watched as well as its beginning.
    fn has_all(&self) -> bool {
        self.to.contains(&RrcState::Any)
    }

    pub(super) fn has(&self, state: RrcState, number: u32) -> bool {
        self.whose.has(number) && self.to.iter().any(|to| *to == state || *to == RrcState::Any)
    }
}

/// RRC messages to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Messages {
    /// Number of the condition.
    pub(super) condition: u16,
    said: CopiedMessage,
    whose: UeSelection,
}

impl Messages {
    /// Reads a condition. A message that never occurs here, or not in this direction, is refused.
    fn new(event: &MessageEvent, nr: bool) -> Result<Self, Cause> {
        let said = match event.message {
            MessageType::Rrc(message) => CopiedMessage::from_trigger(message, nr).ok_or(TRIGGER)?,
            MessageType::Interface(_) => return Err(TRIGGER),
        };
        if event.direction.is_some_and(|direction| direction != said.direction()) {
            return Err(TRIGGER);
        }
        Ok(Self { condition: event.condition, said, whose: UeSelection::new(event.ues.as_deref())? })
    }

    pub(super) fn has(&self, message: CopiedMessage, number: u32) -> bool {
        self.said == message && self.whose.has(number)
    }
}

/// Cells whose neighbours are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Neighbours {
    /// Number of the condition.
    pub(super) condition: u16,
    cells: Option<Vec<Cgi>>,
}

impl Neighbours {
    fn new(change: &NodeChange) -> Result<Self, Cause> {
        if change.change != NEIGHBOURS_CHANGE {
            return Err(TRIGGER);
        }
        let cells = change.cells.as_deref().map(cells).transpose()?;
        Ok(Self { condition: change.condition, cells })
    }

    pub(super) fn has(&self, cell: &Cgi) -> bool {
        self.cells.as_ref().is_none_or(|cells| cells.contains(cell))
    }
}

/// Event that triggers a report or insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trigger {
    /// A UE or the node sends an RRC message to the other.
    Messages(Vec<Messages>, UeSelection),
    /// The neighbours of a cell change.
    Neighbours(Vec<Neighbours>),
    /// A handover is prepared.
    Handover(UeSelection),
    /// A UE enters a state.
    States(Vec<UeStateTrigger>),
    /// On demand: one immediate report about these UEs, and about these cells (`None`: all cells).
    Now(UeSelection, Option<Vec<Cgi>>),
}

impl Trigger {
    /// Decodes an event trigger at a base station of NR or of LTE.
    pub(super) fn read(octets: &bytes::Bytes, nr: bool) -> Result<Self, Cause> {
        let trigger = EventTrigger::decode_as(Encoding::Per, octets).map_err(|_| TRIGGER)?;
        if trigger.refused().is_some() {
            return Err(TRIGGER);
        }
        match trigger.format {
            TriggerFormat::Messages(it) => {
                let messages = it.messages.iter().map(|event| Messages::new(event, nr));
                Ok(Self::Messages(messages.collect::<Result<_, _>>()?, UeSelection::new(it.ues.as_deref())?))
            }
            TriggerFormat::Node(changes) => {
                changes.iter().map(Neighbours::new).collect::<Result<_, _>>().map(Self::Neighbours)
            }
            TriggerFormat::Process(it) if (it.process, it.breakpoint) == (MOBILITY, HANDOVER_PREPARATION) => {
                UeSelection::new(it.ues.as_deref()).map(Self::Handover)
            }
            TriggerFormat::Ues(changes) => {
                changes.iter().map(UeStateTrigger::new).collect::<Result<_, _>>().map(Self::States)
            }
            TriggerFormat::OnDemand(it) => {
                let cells = it.cells.as_deref().map(cells).transpose()?;
                Ok(Self::Now(UeSelection::new(it.ues.as_deref())?, cells))
            }
            TriggerFormat::Process(_) => Err(TRIGGER),
        }
    }

    /// Returns the report style of the trigger.
    const fn style(&self) -> i64 {
        match self {
            Self::Messages(..) => MESSAGE_COPY,
            Self::Handover(_) => PROCESS_OUTCOME,
            Self::Neighbours(_) => NODE_INFORMATION,
            Self::States(_) => UE_INFORMATION,
            Self::Now(..) => ON_DEMAND,
        }
    }
}

fn cells(conditions: &[CellCondition]) -> Result<Vec<Cgi>, Cause> {
    let one = |condition: &CellCondition| match &condition.cell {
        CellKind::One(cell) => Ok(*cell),
        CellKind::Group(_) => Err(TRIGGER),
    };
    conditions.iter().map(one).collect()
}

/// Effect of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionKind {
    /// Report these parameters.
    Report(Vec<u32>),
    /// Send an insert before a handover.
    Ask {
        /// UE; `None` means any UE.
        ue: Option<u32>,
        /// Time to wait for the response.
        wait: Duration,
        /// Whether the handover proceeds without a response.
        goes_on: bool,
    },
    /// Apply these policies, each under its condition.
    Policies(Vec<(policy::PolicyEffect, policy::Condition)>),
}

/// An admitted action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) id: RicActionId,
    pub(super) does: ActionKind,
}

/// Decodes an action and checks that it is supported with this trigger.
pub(super) fn action(when: &Trigger, action: &ActionToBeSetup) -> Result<Action, Cause> {
    let definition = action.definition.as_ref().ok_or(ACTION)?;
    let definition = ActionDefinition::decode_as(Encoding::Per, definition).map_err(|_| ACTION)?;
    if definition.refused().is_some() {
        return Err(ACTION);
    }
    let does = match (action.kind, definition.format) {
        (RicActionType::Report, ActionFormat::Report(requested)) if definition.style == when.style() => {
            report(when, &requested)?
        }
        (RicActionType::Insert, ActionFormat::Insert(insert))
            if definition.style == MOBILITY_REQUEST && matches!(when, Trigger::Handover(_)) =>
        {
            question(&insert, action.subsequent)?
        }
        (RicActionType::Policy, ActionFormat::Policy(it)) => policies(when, definition.style, &it)?,
        _ => return Err(ACTION),
    };
    Ok(Action { id: action.id, does })
}

/// Returns the requested parameters that are available, or an error if all are unavailable. On-demand reports and
/// reports of neighbours have no parameters.
fn report(when: &Trigger, requested: &[WantedParameter]) -> Result<ActionKind, Cause> {
    let there: &[(u32, &str)] = match when {
        Trigger::Messages(..) => &MESSAGE_PARAMETERS,
        Trigger::Handover(_) => &PROCESS_PARAMETERS,
        Trigger::States(_) => &UE_PARAMETERS,
        Trigger::Now(..) | Trigger::Neighbours(_) => return Ok(ActionKind::Report(Vec::new())),
    };
    let requested: Vec<_> = requested.iter().map(|it| it.id).collect();
    let reported: Vec<_> = there.iter().map(|(id, _)| *id).filter(|id| requested.contains(id)).collect();
    if reported.is_empty() { Err(ACTION) } else { Ok(ActionKind::Report(reported)) }
}

fn question(insert: &InsertAction, subsequent: Option<RicSubsequentAction>) -> Result<ActionKind, Cause> {
    let asks =
        insert.indication == HANDOVER_REQUEST && insert.parameters.iter().any(|it| it.id == TARGET_CELL);
    if !asks {
        return Err(ACTION);
    }
    let wait = subsequent.map_or(WAIT_DEFAULT, |it| it.time_to_wait.span());
    let goes_on = subsequent.is_none_or(|it| it.kind == RicSubsequentActionType::Continue);
    Ok(ActionKind::Ask { ue: insert.ue.as_ref().map(|ue| ue.number()), wait, goes_on })
}

/// Checks policies. Quota policies require a trigger on all RRC states, and mobility policies a trigger on handovers.
fn policies(when: &Trigger, style: i64, policies: &[Policy]) -> Result<ActionKind, Cause> {
    let fits = match (style, when) {
        (policy::RESOURCES, Trigger::States(changes)) => changes.iter().all(UeStateTrigger::has_all),
        (policy::MOBILITY, Trigger::Handover(_)) => true,
        _ => false,
    };
    if !fits || policies.len() > POLICIES_MAX {
        return Err(ACTION);
    }
    policy::read(style, policies).map(ActionKind::Policies).map_err(|_| ACTION)
}
