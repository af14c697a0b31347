//! From packets to PDUs: the one place that knows all transports.
use bytes::Bytes;

use super::note::{Note, Notes};
use super::packets::Packet;
use super::pdu::{Endpoint, Flow, Pdu, Place, Transport, begins_like_e2ap};
use super::sctp::Sctp;
use super::tcp::Tcp;
use super::{Side, ip, link};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::E2_PORT;
    use crate::writer::{PcapngWriter, Record};

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
        crate::packets::read(file, &mut notes, each).unwrap();
        std::fs::remove_file(path).unwrap();
        let sides: Vec<_> = out.iter().map(|pdu| pdu.side).collect();
        assert_eq!(sides, [Some(Side::E42), Some(Side::E2)]);
        assert_eq!(out[0].bytes, &DELETE[..]);
        assert_eq!(out[0].time_us, Some(1_700_000_000_123_456));
        assert_eq!(out[0].flow.to_string(), "10.0.0.1:5000 -> 11.0.0.1:6000");
        assert_eq!(notes.list().len(), 1);
    }
}
