//! A PDU in a capture, with its endpoints and capture time.
use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use serde::Serialize;

use super::{E2_PORT, E42_PORT, Side};

/// One endpoint of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Endpoint {
    /// IP address of the endpoint; unknown for recordings of Unix sockets.
    pub address: Option<IpAddr>,
    /// Transport port of the endpoint.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            Some(address) => write!(f, "{address}:{}", self.port),
            None => write!(f, "*:{}", self.port),
        }
    }
}

/// Transport of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names are descriptive.
pub enum Transport {
    Sctp,
    Tcp,
    Udp,
    /// Unknown transport: an exported PDU without a port type.
    Exported,
    /// A file that contains a single PDU.
    File,
}

/// Transport, source and destination of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// Transport of the flow.
    pub transport: Transport,
    /// Endpoint that sends the PDU.
    pub source: Endpoint,
    /// Endpoint that receives the PDU.
    pub destination: Endpoint,
}

impl Flow {
    /// Returns the connection of the flow, which is equal for both directions.
    #[must_use]
    pub fn connection(self) -> Self {
        let source = self.source.min(self.destination);
        let destination = self.source.max(self.destination);
        Self { source, destination, ..self }
    }

    /// Returns the protocol according to the ports: E42 for port 36422, E2 for all others. A captured setup has precedence.
    pub fn side(&self) -> Side {
        if self.has_port(E42_PORT) { Side::E42 } else { Side::E2 }
    }

    fn has_port(&self, port: u16) -> bool {
        self.source.port == port || self.destination.port == port
    }

    pub(super) fn has_our_port(&self) -> bool {
        self.has_port(E2_PORT) || self.has_port(E42_PORT)
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.transport == Transport::File {
            return f.write_str("file");
        }
        write!(f, "{} -> {}", self.source, self.destination)
    }
}

/// A PDU as sent on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// Transport, source and destination of the PDU.
    pub flow: Flow,
    /// Capture time of the PDU's last byte, in microseconds since the epoch.
    pub time_us: Option<u64>,
    /// Protocol stated in the capture itself, as in recordings by this program.
    pub side: Option<Side>,
    /// Encoded PDU.
    pub bytes: Bytes,
}

/// Origin of the packet that is being processed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) flow: Flow,
    pub(super) time_us: Option<u64>,
    pub(super) number: u64,
}

impl Place {
    pub(super) fn pdu(&self, bytes: Bytes) -> Pdu {
        Pdu { flow: self.flow, time_us: self.time_us, side: None, bytes }
    }
}

/// Checks whether bytes begin like an E2AP PDU: PDU kind, procedure code (E2AP, E42 or this project's extension) and
/// criticality, with zero padding.
pub(super) fn begins_like_e2ap(octets: &[u8]) -> bool {
    matches!(octets, [0x00 | 0x20 | 0x40, 1..=20 | 200, 0x00 | 0x40 | 0x80, _, ..])
}
