//! OpenEmpower v2. Requests create, update or delete something, and have responses.
//!
//! The base station first sends a hello, which is a request with its period. The controller responds, and requests capabilities, then UE
//! reports. A message consists of a header of [`HEADER_BYTES`] bytes and TLVs. The 32-bit length in the header includes the whole message.
//! The length of a TLV includes its four header bytes. The published controller keeps **one connection per source address**. A second
//! connection from the same address closes the first one.
mod tlv;

pub use tlv::{
    CapabilitiesCell, HelloPeriod, MacPrbReport, MeasurementId, ReportAmount, ReportInterval, Tlv,
    UeIdentity, UeMeasurementConfig, UeMeasurementReport, UeStatus,
};

use super::{EmpowerError, Mac, Reader, read_all, write_all};

/// TCP port of the controller.
pub const PORT: u16 = 5533;
/// Version in the header.
pub const VERSION: u8 = 2;
/// Size of a header, in bytes.
pub const HEADER_BYTES: usize = 24;
/// Size of the largest accepted message, in bytes. The length field would allow 4 GiB.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// Highest action number. The field has 14 bits.
pub const MAX_ACTION: u16 = 0x3fff;

/// Numbers of actions. The action is the subject of a message.
pub mod action {
    ranlab_machine::codes! { u16:
        HELLO = 0 "Keep-alive.";
        CAPABILITIES = 1 "Capabilities.";
        UE_REPORTS = 2 "UE arrivals and departures.";
        UE_MEASUREMENTS = 3 "UE measurements.";
        MAC_PRB_UTILIZATION = 4 "Cell load.";
    }
}

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Undefined, which requests to get a value.
    Undefined,
    /// Request to update an object.
    Update,
    /// Request to create an object.
    Create,
    /// Request to delete an object.
    Delete,
}

/// Result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The request succeeded.
    Success,
    /// The request failed.
    Fail,
    /// Any other number (2 or 3), which the protocol does not define.
    Other(u8),
}

/// Request or response, with its two additional bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Request with its operation.
    Request(Operation),
    /// Response with its result.
    Response(Outcome),
}

/// A message with header and TLVs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pdu {
    /// Whether the message is a request or a response.
    pub kind: Kind,
    /// Lower seven bits of the flags. They are 0 in the published implementation.
    pub reserved: u8,
    /// Number of the action; see [`action`]. At most [`MAX_ACTION`].
    pub action: u16,
    /// Two bytes before the device address. They are 0 in the published implementation.
    pub padding: [u8; 2],
    /// Address of the base station.
    pub device: Mac,
    /// Sequence number of the sender.
    pub seq: u32,
    /// Transaction id.
    pub xid: u32,
    /// TLVs of the body.
    pub tlvs: Vec<Tlv>,
}

impl Pdu {
    /// Creates a message with the reserved bits of the published implementation.
    pub fn new(kind: Kind, action: u16, device: Mac, seq: u32, xid: u32, tlvs: Vec<Tlv>) -> Self {
        Self { kind, reserved: 0, action, padding: [0; 2], device, seq, xid, tlvs }
    }

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
        let (message_type, bits) = match self.kind {
            Kind::Request(Operation::Undefined) => (0, 0),
            Kind::Request(Operation::Update) => (0, 1),
            Kind::Request(Operation::Create) => (0, 2),
            Kind::Request(Operation::Delete) => (0, 3),
            Kind::Response(Outcome::Success) => (0x80, 0),
            Kind::Response(Outcome::Fail) => (0x80, 1),
            Kind::Response(Outcome::Other(bits)) => (0x80, u16::from(bits & 3)),
        };
        if self.action > MAX_ACTION {
            let len = usize::from(self.action);
            let most = usize::from(MAX_ACTION);
            return Err(EmpowerError::Unencodable { what: "an action", len, most });
        }
        out.extend_from_slice(&[VERSION, message_type | (self.reserved & 0x7f)]);
        out.extend_from_slice(&((bits << 14) | self.action).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.padding);
        out.extend_from_slice(&self.device.0);
        out.extend_from_slice(&self.seq.to_be_bytes());
        out.extend_from_slice(&self.xid.to_be_bytes());
        write_all(&self.tlvs, out)?;
        let len = out.len() - start;
        let most = MAX_MESSAGE_BYTES;
        if len > most {
            return Err(EmpowerError::Unencodable { what: "a message", len, most });
        }
        // The length fits, because it is at most 64 KiB.
        out[start + 4..start + 8].copy_from_slice(&(len as u32).to_be_bytes());
        Ok(())
    }
}

/// Returns the size in bytes of the message at the start of `octets`, or `None` until its length field is complete.
pub fn message_bytes(octets: &[u8]) -> Result<Option<usize>, EmpowerError> {
    if let Some(&given) = octets.first().filter(|version| **version != VERSION) {
        return Err(EmpowerError::Version { given, allowed: VERSION });
    }
    let Some(length) = octets.get(4..).and_then(|rest| rest.first_chunk::<4>()) else { return Ok(None) };
    let announced = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if !(HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&announced) {
        return Err(EmpowerError::Length { announced, least: HEADER_BYTES, most: MAX_MESSAGE_BYTES });
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
    let _version = reader.u8("a version")?;
    let flags = reader.u8("flags")?;
    let tsrc = reader.u16("an action")?;
    let _length = reader.u32("a length")?;
    let padding = reader.array("padding")?;
    let device = Mac(reader.array("a device")?);
    let seq = reader.u32("a sequence number")?;
    let xid = reader.u32("an xid")?;
    let kind = match (flags & 0x80 != 0, tsrc >> 14) {
        (false, 0) => Kind::Request(Operation::Undefined),
        (false, 1) => Kind::Request(Operation::Update),
        (false, 2) => Kind::Request(Operation::Create),
        (false, _) => Kind::Request(Operation::Delete),
        (true, 0) => Kind::Response(Outcome::Success),
        (true, 1) => Kind::Response(Outcome::Fail),
        (true, 2) => Kind::Response(Outcome::Other(2)),
        (true, _) => Kind::Response(Outcome::Other(3)),
    };
    let tlvs = read_all(reader)?;
    Ok(Pdu { kind, reserved: flags & 0x7f, action: tsrc & MAX_ACTION, padding, device, seq, xid, tlvs })
}

#[cfg(test)]
mod tests;
