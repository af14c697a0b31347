//! NI: copies of the messages on a node's interfaces to other nodes. Implements O-RAN's E2SM-NI v01.00.
//!
//! A report contains a message in the encoding of its interface ([`crate::ap`]), with a header that has the interface
//! and the direction. Unlike in KPM and RC, the octet strings are CHOICEs that are not wrapped in a SEQUENCE. All octet
//! strings use aligned PER.
//!
//! An interface is identified by a node at one of its ends (§8.3.22). A trigger that names the E2 node itself means
//! all its interfaces of this type. The tables of the specification allow a trigger to omit identity, direction and
//! message, which means any; its syntax requires them. Here [`Kind::Nothing`] means any message, and
//! [`Direction::Both`] either direction.

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

/// OID of the model, from the ASN.1 module.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.1";
/// OID in the specification's table of RAN function names (§8.3.2).
pub const OID_OF_TABLE: &str = "1.3.6.1.4.1.53148.1.2.1";
/// RAN function id: the number of the model in its OID, as for KPM, RC and CCC.
pub const DEFAULT_FUNCTION_ID: u16 = 1;

/// The NI service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ni;

impl ServiceModel for Ni {
    const NAME: &'static str = "ni";
    const OID: &'static str = OID;
    const OTHER_OIDS: &'static [&'static str] = &[OID_OF_TABLE];
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    /// [`FunctionDescription::of_reports`] of a gNB, with NG and Xn.
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

    /// Requests every message to and from the 5G core as it occurs, independently of the period.
    fn periodic(_: Duration) -> Result<EventTrigger, SmError> {
        Ok(EventTrigger::Message(MessageEvent::any(Interface::Ng, NodeId::NOBODY)))
    }

    /// Requests every message of each interface; a trigger names one interface.
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
        let event = MessageEvent { node: NodeId::from_node(node), ..event };
        EventTrigger::Message(event).to_octets(encoding).map(Some)
    }

    fn period(_: &EventTrigger) -> Option<Duration> {
        None
    }

    /// Requests whole messages with their times.
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

    /// Mostly messages that ranlab's base stations send, otherwise bytes that are not messages.
    fn sample(seed: u64) -> (IndicationHeader, IndicationMessage) {
        let all = ap::messages::samples(seed).unwrap_or_default();
        let message = all.get(seed as usize % (all.len() + 2));
        let anywhere = MessageHeader {
            interface: Interface::Ng,
            node: NodeId::NOBODY,
            direction: Direction::Incoming,
            time: None,
        };
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the fallback is never
        // used.
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
