//! Event triggers and actions of a subscription to NI, and matching of messages.
use super::{ACTION, Message};
use bytes::Bytes;
use ranlab_e2_codec::ap::{Known, Value};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, Cause, RicActionId, RicActionType};
use ranlab_e2_codec::e2sm::ni::{
    ADD_TIMESTAMP, ActionDefinition, ActionFormat, COMPLETE, ElementTest, MessageEvent, PARTIAL, Parameter,
    TARGET_IE, Test, Value as TestedValue,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::cmp::Ordering;

/// Returns whether a trigger can be evaluated: its message belongs to its interface, and each compared element has a
/// known, matching type.
pub(super) fn is_sound(event: &MessageEvent) -> bool {
    let decidable = |test: &ElementTest| match (test.test, event.interface.known(test.id), &test.value) {
        (Test::Present, ..) => true,
        (Test::Equal | Test::Greater | Test::Less, Some(Known::Number(_)), value) => number(value).is_some(),
        (Test::Equal | Test::Contains, Some(Known::Octets), TestedValue::Octets(_)) => true,
        _ => false,
    };
    event.message.interface() == event.interface && event.tests.iter().flatten().all(decidable)
}

const fn number(value: &TestedValue) -> Option<i64> {
    match value {
        TestedValue::Int(number) | TestedValue::Enum(number) => Some(*number),
        _ => None,
    }
}

/// Returns whether a test holds for a message. It does not hold if the element is missing.
pub(super) fn holds(test: &ElementTest, message: &Message) -> bool {
    if test.test == Test::Present {
        return message.ie(test.id).is_some();
    }
    match (message.value(test.id), &test.value) {
        (Some(Value::Number(is)), expected) => {
            let Some(expected) = number(expected) else { return false };
            let order = i128::from(is).cmp(&expected.into());
            matches!(
                (test.test, order),
                (Test::Equal, Ordering::Equal)
                    | (Test::Greater, Ordering::Greater)
                    | (Test::Less, Ordering::Less)
            )
        }
        (Some(Value::Octets(is)), TestedValue::Octets(expected)) => match test.test {
            Test::Equal => is == *expected,
            Test::Contains => expected.is_empty() || is.windows(expected.len()).any(|part| part == expected),
            _ => false,
        },
        _ => false,
    }
}

/// An admitted action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) id: RicActionId,
    /// Whether the time is reported.
    pub(super) time: bool,
    /// Element to copy; `None` copies the whole message.
    element: Option<u16>,
}

impl Action {
    /// Decodes an action and checks that it is supported. An action without definition requests whole messages
    /// without their time.
    pub(super) fn read(action: &ActionToBeSetup) -> Result<Self, Cause> {
        let mut result = Self { id: action.id, time: false, element: None };
        if action.kind != RicActionType::Report {
            return Err(ACTION);
        }
        let Some(definition) = &action.definition else { return Ok(result) };
        let definition = ActionDefinition::decode_as(Encoding::Per, definition).map_err(|_| ACTION)?;
        let ActionFormat::Parameters(parameters) = definition.format else { return Err(ACTION) };
        for Parameter { id, value } in parameters.iter().flatten() {
            match (*id, value) {
                (ADD_TIMESTAMP, TestedValue::Bool(time)) => result.time = *time,
                (TARGET_IE, TestedValue::Int(ie)) if definition.style == PARTIAL => {
                    result.element = Some(u16::try_from(*ie).map_err(|_| ACTION)?);
                }
                _ => return Err(ACTION),
            }
        }
        match (definition.style, result.element) {
            (COMPLETE, None) | (PARTIAL, Some(_)) => Ok(result),
            _ => Err(ACTION),
        }
    }

    /// Returns the bytes to copy, or `None` if the message lacks the element.
    pub(super) fn extract(&self, whole: &Bytes, read: Option<&Message>) -> Option<Bytes> {
        match self.element {
            None => Some(whole.clone()),
            Some(id) => read?.ie(id).map(|ie| ie.value.clone()),
        }
    }
}
