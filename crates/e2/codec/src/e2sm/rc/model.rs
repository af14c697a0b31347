//! Implements [`ServiceModel`] for RC, so that RC can be in the registry of service models.
use std::time::Duration;

use bytes::Bytes;

use super::reports::{STATE_CHANGED_TO, UE_INFORMATION};
use super::rows::{self, ParameterRow};
use super::*;
use crate::e2sm::per::sample;
use crate::e2sm::table::Row;
use crate::e2sm::{Column, Encoding, Octets, Offer, ServiceModel, SmError, Table};

/// The RC service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rc;

impl ServiceModel for Rc {
    const NAME: &'static str = "rc";
    const OID: &'static str = OID;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    /// Encoded [`FunctionDefinition::of_station`] of a base station that knows the RRC states of its UEs.
    const DEFINITION: &'static [u8] = include_bytes!("definition.per");
    const REVISION: u16 = 1;
    const CUSTOMARY: bool = false;

    type Trigger = EventTrigger;
    type Action = ActionDefinition;
    type Header = IndicationHeader;
    type Message = IndicationMessage;
    type ControlHeader = ControlHeader;
    type Control = ControlMessage;
    type Outcome = ControlOutcome;

    fn offers(definition: &Bytes) -> Result<Vec<Offer>, SmError> {
        Ok(FunctionDefinition::decode_as(Encoding::Per, definition)?.offers())
    }

    /// RC reports events, independently of the period: here each change of a UE's RRC state.
    fn periodic(_: Duration) -> Result<EventTrigger, SmError> {
        Ok(EventTrigger::states())
    }

    fn period(_: &EventTrigger) -> Option<Duration> {
        None
    }

    /// Requests the new RRC state of UEs.
    fn action(definition: &Bytes, period: Duration) -> Result<Option<ActionDefinition>, SmError> {
        Self::action_at(&EventTrigger::states(), definition, period)
    }

    /// Requests all parameters that a node offers in the report style of the trigger.
    fn action_at(
        trigger: &EventTrigger,
        definition: &Bytes,
        _: Duration,
    ) -> Result<Option<ActionDefinition>, SmError> {
        let definition = FunctionDefinition::decode_as(Encoding::Per, definition)?;
        let style = trigger.report_style();
        let offers = |it: &&ReportStyle| it.style == style && it.action_format == 1;
        let offered = definition.reports.iter().flatten().find(offers);
        let offered =
            offered.ok_or(SmError::Absent("report style that can be monitored at this base station"))?;
        let numbers: Vec<_> = match style {
            // Other implementations offer further parameters in this style, but a monitor shows the state.
            UE_INFORMATION => vec![STATE_CHANGED_TO],
            _ => offered.parameters.iter().flatten().map(|it| it.id).collect(),
        };
        // An action requires at least one parameter, even in a style that has none.
        let numbers = if numbers.is_empty() { vec![1] } else { numbers };
        Ok(Some(ActionDefinition::report(style, numbers)))
    }

    fn columns() -> Vec<Column> {
        ParameterRow::columns()
    }

    fn tabulate(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
        rows::push(header, message, table);
    }

    fn check_control(header: &ControlHeader, control: &ControlMessage) -> Result<(), SmError> {
        let order = match commands::Order::read(header, control) {
            Ok(order) => order,
            Err(fault @ commands::NotAnOrder::OutOfRange { .. }) => {
                return Err(SmError::Order(fault.to_string()));
            }
            // Other styles, and parameters of another dialect, cannot be checked. They are accepted.
            Err(_) => return Ok(()),
        };
        order.check().map_err(|fault| SmError::Order(fault.to_string()))
    }

    fn check_offered(
        definition: &Bytes,
        header: &ControlHeader,
        control: &ControlMessage,
    ) -> Result<(), SmError> {
        let Ok(definition) = FunctionDefinition::decode_as(Encoding::Per, definition) else { return Ok(()) };
        let mut ordered = Vec::new();
        if let HeaderFormat::Action(header) = &header.format {
            ordered.push((header.style, header.action));
        }
        if let ControlFormat::Actions(styles) = &control.format {
            let of_style = |it: &StyleActions| -> Vec<_> {
                it.actions.iter().map(|action| (it.style, action.action)).collect()
            };
            ordered.extend(styles.iter().flat_map(of_style));
        }
        let missing = ordered.into_iter().find(|(style, action)| !definition.lists_control(*style, *action));
        match missing {
            Some((style, action)) => Err(SmError::NotOffered {
                what: format!("RC style {style} action {action}"),
                offered: definition.controls_text(),
            }),
            None => Ok(()),
        }
    }

    fn control_targets(encoding: Encoding, header: &Bytes, message: &Bytes) -> Option<Vec<String>> {
        targets::control_targets(encoding, header, message)
    }

    fn sample(seed: u64) -> (IndicationHeader, IndicationMessage) {
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the fallback is never
        // used.
        let report = IndicationHeaderFormat::Report(ReportHeader { condition: None });
        let header = sample(seed).unwrap_or(IndicationHeader { format: report });
        let none = IndicationFormat::Insert(Vec::new());
        (header, sample(seed).unwrap_or(IndicationMessage { format: none }))
    }
}
