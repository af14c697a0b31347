//! What a subscription to NI wants of messages, and whether one is it.
use super::{ACTION, Message};
use bytes::Bytes;
use ranlab_wire::ap::{Known, Value};
use ranlab_wire::e2ap::{ActionToBeSetup, Cause, RicActionId, RicActionType};
use ranlab_wire::e2sm::ni::{
    ADD_TIMESTAMP, ActionDefinition, ActionFormat, COMPLETE, ElementTest, MessageEvent, PARTIAL, Parameter,
    TARGET_IE, Test, Value as Wanted,
};
use ranlab_wire::e2sm::{Encoding, Octets};
use std::cmp::Ordering;

/// Whether a trigger can be decided: its message is of its interface, and of what it tests enough is known.
pub(super) fn is_sound(event: &MessageEvent) -> bool {
    let decidable = |test: &ElementTest| match (test.test, event.interface.known(test.id), &test.value) {
        (Test::Present, ..) => true,
        (Test::Equal | Test::Greater | Test::Less, Some(Known::Number(_)), value) => number(value).is_some(),
        (Test::Equal | Test::Contains, Some(Known::Octets), Wanted::Octets(_)) => true,
        _ => false,
    };
    event.message.interface() == event.interface && event.tests.iter().flatten().all(decidable)
}

const fn number(value: &Wanted) -> Option<i64> {
    match value {
        Wanted::Int(number) | Wanted::Enum(number) => Some(*number),
        _ => None,
    }
}

/// Whether a test holds of a message; not of one that lacks the element.
pub(super) fn holds(test: &ElementTest, message: &Message) -> bool {
    if test.test == Test::Present {
        return message.ie(test.id).is_some();
    }
    match (message.value(test.id), &test.value) {
        (Some(Value::Number(is)), wanted) => {
            let Some(wanted) = number(wanted) else { return false };
            let order = i128::from(is).cmp(&wanted.into());
            matches!(
                (test.test, order),
                (Test::Equal, Ordering::Equal)
                    | (Test::Greater, Ordering::Greater)
                    | (Test::Less, Ordering::Less)
            )
        }
        (Some(Value::Octets(is)), Wanted::Octets(wanted)) => match test.test {
            Test::Equal => is == *wanted,
            Test::Contains => wanted.is_empty() || is.windows(wanted.len()).any(|part| part == wanted),
            _ => false,
        },
        _ => false,
    }
}

/// An action that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) id: RicActionId,
    /// Whether the time is told.
    pub(super) time: bool,
    /// The element that is copied; the whole message without one.
    element: Option<u16>,
}

impl Action {
    /// What an action asks for, if it can be had. One without a definition asks for whole messages without their time.
    pub(super) fn read(action: &ActionToBeSetup) -> Result<Self, Cause> {
        let mut wanted = Self { id: action.id, time: false, element: None };
        if action.kind != RicActionType::Report {
            return Err(ACTION);
        }
        let Some(definition) = &action.definition else { return Ok(wanted) };
        let definition = ActionDefinition::decode_as(Encoding::Per, definition).map_err(|_| ACTION)?;
        let ActionFormat::Parameters(parameters) = definition.format else { return Err(ACTION) };
        for Parameter { id, value } in parameters.iter().flatten() {
            match (*id, value) {
                (ADD_TIMESTAMP, Wanted::Bool(time)) => wanted.time = *time,
                (TARGET_IE, Wanted::Int(ie)) if definition.style == PARTIAL => {
                    wanted.element = Some(u16::try_from(*ie).map_err(|_| ACTION)?);
                }
                _ => return Err(ACTION),
            }
        }
        match (definition.style, wanted.element) {
            (COMPLETE, None) | (PARTIAL, Some(_)) => Ok(wanted),
            _ => Err(ACTION),
        }
    }

    /// What of a message is copied; nothing if it lacks the element.
    pub(super) fn part(&self, whole: &Bytes, read: Option<&Message>) -> Option<Bytes> {
        match self.element {
            None => Some(whole.clone()),
            Some(id) => read?.ie(id).map(|ie| ie.value.clone()),
        }
    }
}
