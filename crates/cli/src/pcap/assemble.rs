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
    if packet.cut {
        // The reader has taken note; half a PDU is none.
        return Ok(());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::writer::{PcapngWriter, Record};

    const DELETE: [u8; 22] = [0, 9, 0, 18, 0, 0, 2, 0, 29, 0, 5, 0, 0, 1, 0, 0, 0, 5, 0, 2, 0, 0x8e];

    fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28 + payload.len() as u8, 0, 0, 0x40, 0, 64, 17, 0, 0];
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40]);
        packet.extend(port.to_be_bytes());
        packet.extend([0, 8 + payload.len() as u8, 0, 0]);
        packet.extend(payload);
        packet
    }

    fn pdus(port: u16, payload: &[u8], trusting: bool) -> (usize, usize) {
        let (mut out, mut notes) = (Vec::new(), Notes::default());
        let data = datagram(port, payload);
        let packet =
            Packet { number: 1, link_type: 101, interface: None, time_us: None, cut: false, data: &data };
        Assembler::new(trusting).packet(&packet, &mut out, &mut notes);
        assert!(out.iter().all(|pdu| pdu.bytes == payload));
        (out.len(), notes.list().len())
    }

    #[test]
    fn a_datagram_is_a_pdu_on_our_ports_or_if_it_begins_like_one() {
        assert_eq!(pdus(E2_PORT, b"anything", false), (1, 0));
        assert_eq!(pdus(5000, &DELETE, false), (1, 0));
        assert_eq!(pdus(53, b"a DNS query", false), (0, 1));
        assert_eq!(pdus(53, b"what the user says is ours", true), (1, 0));
    }

    #[test]
    fn what_is_recorded_comes_back_and_what_is_cut_is_no_pdu() {
        let huge = vec![0; 300_000];
        let end = |octet, port| Endpoint { address: Some([octet, 0, 0, 1].into()), port };
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        for (side, pdu) in [(Side::E42, &DELETE[..]), (Side::E2, &huge), (Side::E2, &DELETE)] {
            let (source, destination) = (end(10, 5000), end(11, 6000));
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_micros(1_700_000_000_123_456);
            let transport = Transport::Sctp;
            writer.write(&Record { side, time, transport, source, destination, pdu }).unwrap();
        }
        let path = std::env::temp_dir().join(format!("ranlab-{}-unit.pcapng", std::process::id()));
        std::fs::write(&path, writer.into_inner()).unwrap();
        let (mut assembler, mut out, mut notes) = (Assembler::new(false), Vec::new(), Notes::default());
        let file = std::fs::File::open(&path).unwrap();
        let each = |packet: Packet<'_>, notes: &mut Notes| assembler.packet(&packet, &mut out, notes);
        crate::pcap::capture::read(file, &mut notes, each).unwrap();
        std::fs::remove_file(path).unwrap();
        let sides: Vec<_> = out.iter().map(|pdu| pdu.side).collect();
        assert_eq!(sides, [Some(Side::E42), Some(Side::E2)]);
        assert_eq!(out[0].bytes, &DELETE[..]);
        assert_eq!(out[0].time_us, Some(1_700_000_000_123_456));
        assert_eq!(out[0].flow.to_string(), "10.0.0.1:5000 -> 11.0.0.1:6000");
        assert_eq!(notes.list().len(), 1);
    }
}
