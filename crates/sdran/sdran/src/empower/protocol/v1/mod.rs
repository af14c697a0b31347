//! OpenEmpower v1: single, scheduled and triggered events.
//!
//! | phase | controller | base station |
//! |---|---|---|
//! | 1 initialisation | | hello, scheduled every 2 s; the connection closes after three intervals without one |
//! | 2 configuration | capabilities, UE reports, slices, then set slice | the responses |
//! | 3 reporting | cell measurement (scheduled), UE measurement (triggered, re-sent every 5 s) | reports; a report without its request's xid is discarded |
//! | 4 activation | | UE report, state 0 |
//! | 5 deactivation | | UE report, state 1 |
//!
//! A message consists of a header of [`HEADER_BYTES`] bytes, an event (3 bytes, 7 if scheduled) and a body. The
//! 16-bit length in the header includes the whole message.
mod tlv;

pub use tlv::{
    CellCaps, Features, MacPrbsReport, MacPrbsRequest, PlmnId, RNTI_LIST, RanCaps, RrcMeasureReport,
    RrcMeasureRequest, SliceRbgs, SliceScheduler, Tlv, UeIdentity,
};

use super::{EmpowerError, Mac, Reader, read_all, write_all};

/// TCP port of the controller.
pub const PORT: u16 = 2210;
/// Version in the header.
pub const VERSION: u8 = 1;
/// Size of a header, in bytes.
pub const HEADER_BYTES: usize = 24;
/// Maximum message size, in bytes.
pub const MAX_MESSAGE_BYTES: usize = u16::MAX as usize;
/// Size of a header and the smallest event, in bytes.
const MIN_MESSAGE_BYTES: usize = HEADER_BYTES + 3;

/// Numbers of actions. The action is the subject of a message.
pub mod action {
    ranlab_machine::codes! { u16:
        HELLO = 1 "Keep-alive.";
        CAPS = 2 "Capabilities.";
        UE_REPORT = 4 "UE arrivals and departures.";
        UE_MEASURE = 5 "UE measurements.";
        CELL_MEASURE = 6 "Cell load.";
        HANDOVER = 7 "Handover.";
        RAN_SETUP = 9 "Set-up of the RAN; reserved, its body is opaque.";
        RAN_MAC_SLICE = 10 "Slices.";
    }
}

/// Requested operation, or result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// No operation or result is specified.
    Unspecified,
    /// The request succeeded.
    Success,
    /// The request failed.
    Fail,
    /// The request is not supported.
    NotSupported,
    /// Request to add an object.
    Add,
    /// Request to remove an object.
    Remove,
    /// Request to set an object.
    Set,
    /// Any other number, which the protocol does not define.
    Other(u8),
}

impl From<u8> for Opcode {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Unspecified,
            1 => Self::Success,
            2 => Self::Fail,
            3 => Self::NotSupported,
            4 => Self::Add,
            5 => Self::Remove,
            6 => Self::Set,
            other => Self::Other(other),
        }
    }
}

impl From<Opcode> for u8 {
    fn from(opcode: Opcode) -> Self {
        match opcode {
            Opcode::Unspecified => 0,
            Opcode::Success => 1,
            Opcode::Fail => 2,
            Opcode::NotSupported => 3,
            Opcode::Add => 4,
            Opcode::Remove => 5,
            Opcode::Set => 6,
            Opcode::Other(number) => number,
        }
    }
}

/// Event type, which is the transmission schedule of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timing {
    /// The message is sent once.
    Single,
    /// The message is sent periodically.
    Scheduled {
        /// Period, in milliseconds.
        interval_ms: u32,
    },
    /// The message is triggered by an event.
    Triggered,
}

/// Sender of a message, encoded in bit 0 of the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The base station sent the message.
    Agent,
    /// The controller sent the message.
    Controller,
}

/// Identity of a base station. It has two bytes, which are zero in the published implementation, and a MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EnbId {
    /// Bytes before the address.
    pub prefix: [u8; 2],
    /// MAC address.
    pub mac: Mac,
}

impl EnbId {
    fn read(reader: &mut Reader<'_>) -> Result<Self, EmpowerError> {
        Ok(Self { prefix: reader.array("an eNB id")?, mac: Mac(reader.array("an eNB id")?) })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(&self.mac.0);
    }
}

impl From<Mac> for EnbId {
    fn from(mac: Mac) -> Self {
        Self { prefix: [0; 2], mac }
    }
}

/// Header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// Identity of the base station.
    pub enb: EnbId,
    /// Physical cell identity, or 0.
    pub cell: u16,
    /// Transaction id, which relates a message to a request.
    pub xid: u32,
    /// Flags without the sender bit, shifted right by one. They are 0 in the published implementation.
    pub reserved: u16,
    /// Sender of the message.
    pub sender: Sender,
    /// Sequence number of the sender.
    pub seq: u32,
}

/// A message with header and body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pdu {
    /// Header of the message.
    pub header: Header,
    /// Event type of the message.
    pub timing: Timing,
    /// Requested operation, or result of a request.
    pub opcode: Opcode,
    /// Body of the message.
    pub body: Body,
}

/// Identity of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SliceId {
    /// PLMN identity.
    pub plmn: PlmnId,
    /// DSCP of the slice's packets.
    pub dscp: u8,
    /// Padding, which is zero in the published implementation.
    pub padding: [u8; 3],
}

/// Handover command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandoverRequest {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// Target base station.
    pub target: EnbId,
    /// Physical cell identity of the target.
    pub target_pci: u16,
    /// Cause of the handover.
    pub cause: u8,
}

/// Handover result, sent by the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandoverResponse {
    /// Source base station.
    pub origin: EnbId,
    /// Physical cell identity of the source.
    pub origin_pci: u16,
    /// C-RNTI at the source.
    pub origin_rnti: u16,
    /// C-RNTI at the target.
    pub target_rnti: u16,
}

/// Body of a message, which depends on action and sender.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// Keep-alive, with four bytes without meaning.
    Hello(u32),
    /// Capability request, with four bytes without meaning.
    CapsRequest(u32),
    /// Capabilities of a base station.
    CapsResponse(Vec<Tlv>),
    /// Request for UE reports, with four bytes without meaning.
    UeReportRequest(u32),
    /// Report that a UE connected or disconnected. The first response may be empty.
    UeReport(Vec<Tlv>),
    /// Request that a UE starts or stops measurements.
    UeMeasureRequest(Vec<Tlv>),
    /// Measurement results of a UE.
    UeMeasureReport(Vec<Tlv>),
    /// Request for the cell utilization.
    CellMeasureRequest(Vec<Tlv>),
    /// Cell utilization.
    CellMeasureReport(Vec<Tlv>),
    /// Handover command.
    HandoverRequest(HandoverRequest),
    /// Handover result.
    HandoverResponse(HandoverResponse),
    /// Query, configuration (with TLVs) or removal of a slice. The opcode determines which one.
    SliceRequest(SliceId, Vec<Tlv>),
    /// Settings of a slice.
    SliceResponse(SliceId, Vec<Tlv>),
    /// Any other action.
    Opaque {
        /// Number of the action.
        action: u16,
        /// Content of the body.
        content: Vec<u8>,
    },
}

impl Body {
    /// Returns the action of the body.
    pub fn action(&self) -> u16 {
        match self {
            Self::Hello(_) => action::HELLO,
            Self::CapsRequest(_) | Self::CapsResponse(_) => action::CAPS,
            Self::UeReportRequest(_) | Self::UeReport(_) => action::UE_REPORT,
            Self::UeMeasureRequest(_) | Self::UeMeasureReport(_) => action::UE_MEASURE,
            Self::CellMeasureRequest(_) | Self::CellMeasureReport(_) => action::CELL_MEASURE,
            Self::HandoverRequest(_) | Self::HandoverResponse(_) => action::HANDOVER,
            Self::SliceRequest(..) | Self::SliceResponse(..) => action::RAN_MAC_SLICE,
            Self::Opaque { action, .. } => *action,
        }
    }

    fn read(what: u16, sender: Sender, mut reader: Reader<'_>) -> Result<Self, EmpowerError> {
        use Sender::{Agent, Controller};
        let tlvs = read_all;
        Ok(match (what, sender) {
            (action::HELLO, _) => Self::Hello(only_u32(reader)?),
            (action::CAPS, Controller) => Self::CapsRequest(only_u32(reader)?),
            (action::CAPS, Agent) => Self::CapsResponse(tlvs(reader)?),
            (action::UE_REPORT, Controller) => Self::UeReportRequest(only_u32(reader)?),
            (action::UE_REPORT, Agent) => Self::UeReport(tlvs(reader)?),
            (action::UE_MEASURE, Controller) => Self::UeMeasureRequest(tlvs(reader)?),
            (action::UE_MEASURE, Agent) => Self::UeMeasureReport(tlvs(reader)?),
            (action::CELL_MEASURE, Controller) => Self::CellMeasureRequest(tlvs(reader)?),
            (action::CELL_MEASURE, Agent) => Self::CellMeasureReport(tlvs(reader)?),
            (action::HANDOVER, Controller) => {
                let request = HandoverRequest {
                    rnti: reader.u16("an RNTI")?,
                    target: EnbId::read(&mut reader)?,
                    target_pci: reader.u16("a cell")?,
                    cause: reader.u8("a cause")?,
                };
                reader.end()?;
                Self::HandoverRequest(request)
            }
            (action::HANDOVER, Agent) => {
                let response = HandoverResponse {
                    origin: EnbId::read(&mut reader)?,
                    origin_pci: reader.u16("a cell")?,
                    origin_rnti: reader.u16("an RNTI")?,
                    target_rnti: reader.u16("an RNTI")?,
                };
                reader.end()?;
                Self::HandoverResponse(response)
            }
            (action::RAN_MAC_SLICE, _) => {
                let slice = SliceId {
                    plmn: reader.array("a PLMN")?,
                    dscp: reader.u8("a DSCP")?,
                    padding: reader.array("the padding of a slice")?,
                };
                match sender {
                    Controller => Self::SliceRequest(slice, tlvs(reader)?),
                    Agent => Self::SliceResponse(slice, tlvs(reader)?),
                }
            }
            (action, _) => Self::Opaque { action, content: reader.0.to_vec() },
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EmpowerError> {
        match self {
            Self::Hello(number) | Self::CapsRequest(number) | Self::UeReportRequest(number) => {
                out.extend_from_slice(&number.to_be_bytes());
            }
            Self::CapsResponse(tlvs)
            | Self::UeReport(tlvs)
            | Self::UeMeasureRequest(tlvs)
            | Self::UeMeasureReport(tlvs)
            | Self::CellMeasureRequest(tlvs)
            | Self::CellMeasureReport(tlvs) => write_all(tlvs, out)?,
            Self::HandoverRequest(request) => {
                out.extend_from_slice(&request.rnti.to_be_bytes());
                request.target.write(out);
                out.extend_from_slice(&request.target_pci.to_be_bytes());
                out.push(request.cause);
            }
            Self::HandoverResponse(response) => {
                response.origin.write(out);
                for number in [response.origin_pci, response.origin_rnti, response.target_rnti] {
                    out.extend_from_slice(&number.to_be_bytes());
                }
            }
            Self::SliceRequest(slice, tlvs) | Self::SliceResponse(slice, tlvs) => {
                out.extend_from_slice(&slice.plmn);
                out.push(slice.dscp);
                out.extend_from_slice(&slice.padding);
                write_all(tlvs, out)?;
            }
            Self::Opaque { content, .. } => out.extend_from_slice(content),
        }
        Ok(())
    }
}

fn only_u32(mut reader: Reader<'_>) -> Result<u32, EmpowerError> {
    let number = reader.u32("four bytes of padding")?;
    reader.end()?;
    Ok(number)
}

/// Returns the size in bytes of the message at the start of `octets`, or `None` until its length field is complete.
pub fn message_bytes(octets: &[u8]) -> Result<Option<usize>, EmpowerError> {
    if let Some(&given) = octets.get(1).filter(|version| **version != VERSION) {
        return Err(EmpowerError::Version { given, allowed: VERSION });
    }
    let Some(&[high, low]) = octets.get(22..HEADER_BYTES) else { return Ok(None) };
    let announced = usize::from(u16::from_be_bytes([high, low]));
    if announced < MIN_MESSAGE_BYTES {
        return Err(EmpowerError::Length { announced, least: MIN_MESSAGE_BYTES, most: MAX_MESSAGE_BYTES });
    }
    Ok(Some(announced))
}

/// Decodes one complete message.
pub fn decode(message: &[u8]) -> Result<Pdu, EmpowerError> {
    let announced = message_bytes(message)?.ok_or(EmpowerError::Truncated {
        what: "a header",
        need: HEADER_BYTES,
        have: message.len(),
    })?;
    let mut reader = Reader(message);
    let message = reader.take("a message", announced)?;
    reader.end()?;
    let mut reader = Reader(message);
    let kind = reader.u8("a type")?;
    let _version = reader.u8("a version")?;
    let enb = EnbId::read(&mut reader)?;
    let cell = reader.u16("a cell")?;
    let xid = reader.u32("an xid")?;
    let flags = reader.u16("flags")?;
    let seq = reader.u32("a sequence number")?;
    let _length = reader.u16("a length")?;
    let action = reader.u16("an action")?;
    let opcode = reader.u8("an opcode")?.into();
    let timing = match kind {
        1 => Timing::Single,
        2 => Timing::Scheduled { interval_ms: reader.u32("an interval")? },
        3 => Timing::Triggered,
        other => return Err(EmpowerError::EventType(other)),
    };
    let sender = if flags & 1 == 0 { Sender::Agent } else { Sender::Controller };
    let header = Header { enb, cell, xid, reserved: flags >> 1, sender, seq };
    Ok(Pdu { header, timing, opcode, body: Body::read(action, sender, reader)? })
}

impl Pdu {
    /// Appends the message. Appends nothing if it is too long.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EmpowerError> {
        let start = out.len();
        let result = self.write(start, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn write(&self, start: usize, out: &mut Vec<u8>) -> Result<(), EmpowerError> {
        let header = &self.header;
        let kind = match self.timing {
            Timing::Single => 1,
            Timing::Scheduled { .. } => 2,
            Timing::Triggered => 3,
        };
        out.extend_from_slice(&[kind, VERSION]);
        header.enb.write(out);
        out.extend_from_slice(&header.cell.to_be_bytes());
        out.extend_from_slice(&header.xid.to_be_bytes());
        let flags = (header.reserved << 1) | u16::from(header.sender == Sender::Controller);
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&header.seq.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.body.action().to_be_bytes());
        out.push(self.opcode.into());
        if let Timing::Scheduled { interval_ms } = self.timing {
            out.extend_from_slice(&interval_ms.to_be_bytes());
        }
        self.body.write(out)?;
        let len = out.len() - start;
        let most = MAX_MESSAGE_BYTES;
        let length =
            u16::try_from(len).map_err(|_| EmpowerError::Unencodable { what: "a message", len, most })?;
        out[start + 22..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
