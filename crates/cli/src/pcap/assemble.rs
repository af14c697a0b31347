//! From packets to PDUs: the one place that knows all transports.
use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use serde::Serialize;

use super::capture::Packet;
use super::note::{Note, Notes};
use super::sctp::Sctp;
use super::tcp::Tcp;
use super::{E2_PORT, E42_PORT, Side, ip, link};

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Endpoint {
    /// Unknown for recordings of Unix sockets.
    pub address: Option<IpAddr>,
    /// Of the transport.
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

/// What carried a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // Their names say it all.
pub enum Transport {
    Sctp,
    Tcp,
    Udp,
    /// Not said: an exported PDU without a port type.
    Exported,
    /// A file that holds one PDU.
    File,
}

/// From where to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// What carried it.
    pub transport: Transport,
    /// Who sent.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
}

impl Flow {
    /// The connection: the same for both directions.
    #[must_use]
    pub fn connection(self) -> Self {
        let (source, destination) = (self.source.min(self.destination), self.source.max(self.destination));
        Self { source, destination, ..self }
    }

    /// Which protocol the ports tell: 36422 is E42, anything else E2.
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

/// A PDU as it went over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// From where to where.
    pub flow: Flow,
    /// When its last octet was captured, in microseconds since the epoch.
    pub time_us: Option<u64>,
    /// What the capture itself says about the protocol: our own recordings do.
    pub side: Option<Side>,
    /// Its octets.
    pub bytes: Bytes,
}

/// Joins what packets carry; memory is bounded whatever the capture holds.
#[derive(Debug, Default)]
pub struct Assembler {
    sctp: Sctp,
    tcp: Tcp,
    /// Every datagram and payload protocol is taken for ours, because the user said so.
    trusting: bool,
}

impl Assembler {
    /// `trusting`: the user says that the capture holds nothing but E2 or E42.
    pub fn new(trusting: bool) -> Self {
        Self { trusting, ..Self::default() }
    }

    /// Appends the PDUs that `packet` completes.
    pub fn packet(&mut self, packet: &Packet<'_>, out: &mut Vec<Pdu>, notes: &mut Notes) {
        if let Err(note) = self.try_packet(packet, out, notes) {
            notes.add(note, "packet", packet.number);
        }
    }

    fn try_packet(&mut self, packet: &Packet<'_>, out: &mut Vec<Pdu>, notes: &mut Notes) -> Result<(), Note> {
        let ip_packet = match link::unwrap(packet.link_type, packet.data)? {
            link::Content::Other => return Ok(()),
            link::Content::Exported(exported) => return exported_pdu(packet, &exported, out),
            link::Content::Ip(ip_packet) => ip_packet,
        };
        let segment = ip::unwrap(ip_packet)?;
        let transport = match segment.protocol {
            132 => Transport::Sctp,
            6 => Transport::Tcp,
            17 => Transport::Udp,
            _ => return Ok(()),
        };
        let malformed = Note::Malformed(match transport {
            Transport::Sctp => "SCTP",
            Transport::Tcp => "TCP",
            _ => "UDP",
        });
        let [s1, s2, d1, d2, ..] = segment.payload else { return Err(malformed) };
        let end = |address, port| Endpoint { address: Some(address), port: u16::from_be_bytes(port) };
        let source = end(segment.source, [*s1, *s2]);
        let destination = end(segment.destination, [*d1, *d2]);
        let place = Place {
            flow: Flow { transport, source, destination },
            time_us: packet.time_us,
            number: packet.number,
        };
        match transport {
            Transport::Sctp => self.sctp.packet(&place, segment.payload, self.trusting, out, notes),
            Transport::Tcp => self.tcp.segment(&place, segment.payload, out, notes),
            _ => self.datagram(&place, segment.payload, out),
        }
    }

    fn datagram(&self, place: &Place, segment: &[u8], out: &mut Vec<Pdu>) -> Result<(), Note> {
        let (head, payload) = segment.split_first_chunk::<8>().ok_or(Note::Malformed("UDP"))?;
        let length = usize::from(u16::from_be_bytes([head[4], head[5]])).saturating_sub(8);
        let payload = payload.get(..length).unwrap_or(payload);
        if !self.trusting && !place.flow.has_our_port() && !begins_like_e2ap(payload) {
            return Err(Note::OtherDatagram);
        }
        out.push(place.pdu(Bytes::copy_from_slice(payload)));
        Ok(())
    }

    /// Accounts for what the end of the capture leaves incomplete.
    pub fn finish(&mut self, out: &mut Vec<Pdu>, notes: &mut Notes) {
        self.sctp.finish(notes);
        self.tcp.finish(out, notes);
    }
}

/// The packet that is being taken apart.
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

fn exported_pdu(packet: &Packet<'_>, exported: &link::Exported<'_>, out: &mut Vec<Pdu>) -> Result<(), Note> {
    // Dissector tables name a protocol by its SCTP payload protocol or port.
    if !["e2ap", "sctp.ppi", "sctp.port", ""].contains(&exported.protocol.as_str()) {
        return Err(Note::OtherExported(exported.protocol.clone()));
    }
    let side = match packet.interface {
        Some("e2") => Some(Side::E2),
        Some("e42") => Some(Side::E42),
        _ => None,
    };
    let flow =
        Flow { transport: exported.transport, source: exported.source, destination: exported.destination };
    out.push(Pdu { flow, time_us: packet.time_us, side, bytes: Bytes::copy_from_slice(exported.pdu) });
    Ok(())
}

/// Kind, a procedure code that E2AP, E42 or our extension has, criticality, all with zero padding.
pub(super) fn begins_like_e2ap(octets: &[u8]) -> bool {
    matches!(octets, [0x00 | 0x20 | 0x40, 1..=20 | 200, 0x00 | 0x40 | 0x80, _, ..])
}
