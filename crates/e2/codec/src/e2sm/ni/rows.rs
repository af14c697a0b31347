//! Messages as rows: one row per message.
use super::interface::{Direction, NodeId};
use super::messages::{IndicationHeader, IndicationMessage};
use crate::ap::{Interface, Message};
use crate::e2ap::TriggeringMessage;
use crate::e2sm::table::columns;
use crate::e2sm::{RowKey, Table};

/// A message of an interface, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Interface.
    pub interface: Interface,
    /// Node at one end of the interface.
    pub node: NodeId,
    /// Direction.
    pub direction: Direction,
    /// Name of the procedure, or its number; empty if the bytes are only a part of a message.
    pub procedure: String,
    /// Type of the message in its procedure.
    pub kind: Option<TriggeringMessage>,
    /// Identifiers of the UE in the message: short names and numbers.
    pub ue: Vec<(&'static str, u64)>,
    /// Length, in bytes.
    pub length: usize,
}

impl MessageRow {
    fn ues(&self) -> String {
        self.ue.iter().map(|(name, number)| format!("{name} {number}")).collect::<Vec<_>>().join(" ")
    }

    fn kind(&self) -> &'static str {
        match self.kind {
            Some(TriggeringMessage::Initiating) => "initiating",
            Some(TriggeringMessage::Successful) => "successful",
            Some(TriggeringMessage::Unsuccessful) => "unsuccessful",
            None => "",
        }
    }
}

/// Identifies the UE by the RAN node's (or CU's) identifier, low 32 bits.
fn key(row: &MessageRow) -> RowKey {
    row.ue.first().map_or(RowKey::Node, |(_, number)| RowKey::Ue { rnti: *number as u32 })
}

columns! { MessageRow, row => key(row), {
    "interface" [Text Label headline] = row.interface.name(),
    "end" [Text Label] = row.node.to_string(),
    "direction" [Text Label headline] = row.direction.name(),
    "procedure" [Text Label headline] = row.procedure.clone(),
    "message" [Text Label headline] = row.kind(),
    "ue_ids" [Text Label headline] = row.ues(),
    "length" [Unsigned Gauge "B" headline] = row.length as u64,
}}

/// Appends the rows of an indication.
pub(super) fn push(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
    let IndicationHeader::Message(header) = header;
    let IndicationMessage::Message(octets) = message;
    let read = Message::read(header.interface, octets).ok();
    table.push(&MessageRow {
        interface: header.interface,
        node: header.node,
        direction: header.direction,
        procedure: read.as_ref().map(Message::procedure_name).unwrap_or_default(),
        kind: read.as_ref().map(|it| it.kind),
        ue: read.as_ref().map(Message::ue_ids).unwrap_or_default(),
        length: octets.len(),
    });
}
