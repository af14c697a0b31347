//! NI: copies of the messages at a node's interfaces to others; O-RAN's E2SM-NI v01.00.
//!
//! A report is a message in the encoding of its interface ([`crate::ap`]), with a header that says at which interface and which way it
//! went. Other than with KPM and RC the octet strings are CHOICEs without a SEQUENCE around them. All in aligned PER.
//!
//! An interface is named by a node at which it ends (§8.3.22); a trigger that names the node itself means all interfaces
//! of the type that it has. The text's tables let a trigger leave out identity, direction and message, which means any;
//! its syntax demands them: what stands for any message is [`Kind::Nothing`], for either direction [`Direction::Both`].

mod function;
mod interface;
mod messages;
mod parameter;
mod rows;

use std::time::Duration;

use bytes::Bytes;

use super::kpm::TimeStamp;
use super::per::sample;
use super::table::Row;
use super::{Column, Encoding, Octets, ServiceModel, SmError, Table};
use crate::ap;
use crate::e2ap::GlobalE2NodeId;

pub use crate::ap::Interface;
pub use function::*;
pub use interface::*;
pub use messages::*;
pub use parameter::*;
pub use rows::MessageRow;

/// The OID by which nodes offer the model: as in the text's module.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.1";
/// The OID in the text's table of a function's name (§8.3.2).
pub const OID_OF_TABLE: &str = "1.3.6.1.4.1.53148.1.2.1";
/// The RAN function id: the model's own number in its OID, as KPM's, RC's and CCC's are.
pub const DEFAULT_FUNCTION_ID: u16 = 1;

/// NI: the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ni;

impl ServiceModel for Ni {
    const NAME: &'static str = "ni";
    const OID: &'static str = OID;
    const OTHER_OIDS: &'static [&'static str] = &[OID_OF_TABLE];
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    /// [`FunctionDescription::of_reports`] of a gNB: at NG and Xn.
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

    /// Every message to and from the core of 5G, as it comes, whatever the period.
    fn periodic(_: Duration) -> Result<EventTrigger, SmError> {
        Ok(EventTrigger::Message(MessageEvent::any(Interface::Ng, NodeId::NOBODY)))
    }

    /// Every message of each interface: a trigger is of one.
    fn triggers(_: Duration) -> Result<Vec<EventTrigger>, SmError> {
        let any = |interface| EventTrigger::Message(MessageEvent::any(interface, NodeId::NOBODY));
        Ok(Interface::ALL.map(any).to_vec())
    }

    fn at(
        encoding: Encoding,
        trigger: &Bytes,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError> {
        let EventTrigger::Message(event) = EventTrigger::decode_as(encoding, trigger)?;
        let description = FunctionDescription::decode_as(encoding, definition)?;
        if !description.reports(event.interface) {
            return Ok(None);
        }
        if event.node != NodeId::NOBODY {
            return Ok(Some(trigger.clone()));
        }
        let event = MessageEvent { node: NodeId::of(node), ..event };
        EventTrigger::Message(event).to_octets(encoding).map(Some)
    }

    fn period(_: &EventTrigger) -> Option<Duration> {
        None
    }

    /// Whole messages, with their times.
    fn action(_: &Bytes, _: Duration) -> Result<Option<ActionDefinition>, SmError> {
        Ok(Some(ActionDefinition::complete()))
    }

    fn columns() -> Vec<Column> {
        MessageRow::columns()
    }

    fn tabulate(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
        table.tstamp_us = time_us(header);
        rows::push(header, message, table);
    }

    fn tstamp_us(encoding: Encoding, header: &[u8], message: &[u8]) -> Option<i64> {
        let _ = message;
        time_us(&IndicationHeader::decode_as(encoding, &Bytes::copy_from_slice(header)).ok()?)
    }

    /// Mostly messages that this project's base stations send, else octets that are none.
    fn sample(seed: u64) -> (IndicationHeader, IndicationMessage) {
        let all = ap::messages::samples(seed).unwrap_or_default();
        let message = all.get(seed as usize % (all.len() + 2));
        let anywhere = MessageHeader {
            interface: Interface::Ng,
            node: NodeId::NOBODY,
            direction: Direction::Incoming,
            time: None,
        };
        // Their constraints have values, so there is always one.
        let IndicationHeader::Message(header) = sample(seed).unwrap_or(IndicationHeader::Message(anywhere));
        let interface = message.map_or(header.interface, |it| it.interface);
        let octets = message.and_then(|it| it.to_octets().ok());
        let none = || sample(seed).unwrap_or(IndicationMessage::Message(Bytes::new()));
        (
            IndicationHeader::Message(MessageHeader { interface, ..header }),
            octets.map_or_else(none, IndicationMessage::Message),
        )
    }
}

fn time_us(IndicationHeader::Message(header): &IndicationHeader) -> Option<i64> {
    TimeStamp::V3(u64::from_be_bytes(header.time?)).unix_us()
}
