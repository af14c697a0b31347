//! RC as a model of the registry.
use std::time::Duration;

use bytes::Bytes;

use super::reports::{STATE_CHANGED_TO, UE_INFORMATION};
use super::rows::{self, ParameterRow};
use super::*;
use crate::e2sm::per::sample;
use crate::e2sm::table::Row;
use crate::e2sm::{Column, Encoding, Octets, ServiceModel, SmError, Table};

/// RC: the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rc;

impl ServiceModel for Rc {
    const NAME: &'static str = "rc";
    const OID: &'static str = OID;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    /// [`FunctionDefinition::of_station`] of a base station that knows its UEs' state in RRC.
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

    /// RC reports as things happen, whatever the period: here whenever a UE comes to another state in RRC.
    fn periodic(_: Duration) -> Result<EventTrigger, SmError> {
        Ok(EventTrigger::states())
    }

    fn period(_: &EventTrigger) -> Option<Duration> {
        None
    }

    /// The state in RRC that UEs come to.
    fn action(definition: &Bytes, _: Duration) -> Result<Option<ActionDefinition>, SmError> {
        let definition = FunctionDefinition::decode_as(Encoding::Per, definition)?;
        let style = |it: &ReportStyle| it.style == UE_INFORMATION && it.action_format == 1;
        let offered = definition.reports.iter().flatten().any(style);
        let action = || ActionDefinition::report(UE_INFORMATION, [STATE_CHANGED_TO]);
        offered.then(|| Some(action())).ok_or(SmError::Absent("report style that a monitor could use"))
    }

    fn columns() -> Vec<Column> {
        ParameterRow::columns()
    }

    fn tabulate(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
        rows::push(header, message, table);
    }

    fn sample(seed: u64) -> (IndicationHeader, IndicationMessage) {
        // Their constraints have values, so there is always one.
        let report = IndicationHeaderFormat::Report(ReportHeader { condition: None });
        let header = sample(seed).unwrap_or(IndicationHeader { format: report });
        let none = IndicationFormat::Insert(Vec::new());
        (header, sample(seed).unwrap_or(IndicationMessage { format: none }))
    }
}
