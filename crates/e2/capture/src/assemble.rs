//! Assembly of packets into PDUs: the only module that handles all transports.
use bytes::Bytes;
use ranlab_packet::{Ip, Protocol, Tcp, Udp};

use super::exported::Exported;
use super::findings::Findings;
use super::note::Note;
use super::pdu::{Endpoint, Flow, Pdu, Place, Transport, begins_like_e2ap};
use super::sctp::Associations;
use super::tcp::Streams;
use super::{Side, link};
use ranlab_packet::pcap::{Event, Packet};

/// Registered port of PFCP (TS 29.244 5.2.1).
const PFCP_PORT: u16 = 8805;

/// Maximum bytes of unfinished messages over all connections. At the limit, a connection that needs more memory loses
/// its unfinished data.
pub const MAX_HELD_BYTES: usize = 256 << 20;

/// Reassembles PDUs from the packets of a capture, within bounded memory.
#[derive(Debug)]
pub struct Assembler {
    sctp: Associations,
    tcp: Streams,
    /// Whether every datagram and every SCTP payload protocol counts as E2AP (set by the user).
    trusting: bool,
}

impl Assembler {
    /// Creates an assembler. With `trusting`, the user states that the capture contains only E2 or E42.
    pub fn new(trusting: bool) -> Self {
        let sctp = Associations::new(MAX_HELD_BYTES / 2);
        let tcp = Streams::new(MAX_HELD_BYTES / 2);
        Self { sctp, tcp, trusting }
    }

    /// Processes the next event of a capture: appends the PDUs that a packet completes, or notes an irregularity.
    pub fn event(&mut self, event: Event<'_>, found: &mut Findings) {
        match event {
            Event::Packet(packet) => self.packet(&packet, found),
            Event::Fault(fault, packet) => found.note(fault.into(), packet),
        }
    }

    /// Appends the PDUs that `packet` completes.
    pub fn packet(&mut self, packet: &Packet<'_>, found: &mut Findings) {
        if let Err(note) = self.try_packet(packet, found) {
            found.note(note, packet.number);
        }
    }

    fn try_packet(&mut self, packet: &Packet<'_>, found: &mut Findings) -> Result<(), Note> {
        let ip = match link::unwrap(packet.link_type, packet.data)? {
            link::Content::Other => return Ok(()),
            link::Content::Exported(exported) => return exported_pdu(packet, exported, found),
            link::Content::Ip(ip) if ip.is_fragment => return Err(Note::IpFragment),
            link::Content::Ip(ip) => ip,
        };
        let place = |transport, ports| Place::new(packet, flow(transport, &ip, ports));
        match ip.protocol {
            Protocol::SCTP => {
                let sctp = ranlab_packet::Sctp::parse(ip.payload)?;
                let place = place(Transport::Sctp, (sctp.src_port, sctp.dst_port));
                self.sctp.packet(&place, &sctp, self.trusting, found)
            }
            Protocol::TCP => {
                let segment = Tcp::parse(ip.payload)?;
                let place = place(Transport::Tcp, (segment.src_port, segment.dst_port));
                self.tcp.segment(&place, &segment, found)
            }
            Protocol::UDP => {
                let datagram = Udp::parse_captured(ip.payload)?;
                let place = place(Transport::Udp, (datagram.src_port, datagram.dst_port));
                if !self.trusting
                    && let Some(note) = user_plane(&place.flow, datagram.payload)
                {
                    return Err(note);
                }
                let ours = self.trusting || place.flow.has_our_port() || begins_like_e2ap(datagram.payload);
                if !ours {
                    return Err(Note::OtherDatagram);
                }
                found.pdus.extend(place.whole(packet, datagram.payload));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes messages that the end of the capture leaves incomplete.
    pub fn finish(&mut self, found: &mut Findings) {
        self.sctp.finish(found);
        self.tcp.finish(found);
    }

    /// Bytes of unfinished messages in memory, including their overhead; at most [`MAX_HELD_BYTES`].
    pub fn held_bytes(&self) -> usize {
        self.sctp.held_bytes() + self.tcp.held_bytes()
    }
}

/// Returns a note if the ports are those of a user-plane protocol. Some messages of these protocols start like E2AP.
fn user_plane(flow: &Flow, datagram: &[u8]) -> Option<Note> {
    // GTP-U and PFCP both have their message type in the second byte.
    let message_type = datagram.get(1).copied().unwrap_or(0);
    let has = |port| flow.source.port == port || flow.destination.port == port;
    if has(PFCP_PORT) {
        Some(Note::Pfcp(message_type))
    } else if has(ranlab_packet::gtpu::PORT) {
        Some(Note::Gtpu(message_type))
    } else {
        None
    }
}

fn flow(transport: Transport, ip: &Ip<'_>, (source, destination): (u16, u16)) -> Flow {
    let source = Endpoint { address: Some(ip.src), port: source };
    Flow { transport, source, destination: Endpoint { address: Some(ip.dst), port: destination } }
}

fn exported_pdu(packet: &Packet<'_>, exported: Exported<'_>, found: &mut Findings) -> Result<(), Note> {
    // Dissector tables name a protocol by its SCTP payload protocol or port, so these names can mean E2AP.
    if !["e2ap", "sctp.ppi", "sctp.port", ""].contains(&exported.protocol.as_str()) {
        return Err(Note::OtherExported(exported.protocol));
    }
    let side = match packet.interface {
        Some("e2") => Some(Side::E2),
        Some("e42") => Some(Side::E42),
        _ => None,
    };
    let pdu = Place::new(packet, exported.flow).whole(packet, exported.pdu);
    found.pdus.extend(pdu.map(|pdu| Pdu { side, ..pdu }));
    Ok(())
}

impl Place {
    fn new(packet: &Packet<'_>, flow: Flow) -> Self {
        Self { flow, time_us: packet.time_us, number: packet.number }
    }

    /// Returns the PDU in a packet, or `None` for a truncated packet, which the reader has already noted.
    fn whole(&self, packet: &Packet<'_>, octets: &[u8]) -> Option<Pdu> {
        (!packet.cut).then(|| self.pdu(Bytes::copy_from_slice(octets)))
    }
}
