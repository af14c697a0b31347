//! PDUs as Wireshark exports them, without their packets (link type 252). Tags name the endpoints of a PDU and its
//! dissector; the PDU follows.
//!
//! [`Recorder`] writes such captures, and Wireshark reads them without any setting. They describe two interfaces,
//! `e2` and `e42`, so that a reader knows the side of every PDU on any port.
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Endpoint, Flow, Side, Transport};
use ranlab_packet::pcap::{LinkType, PcapngWriter};

/// Maximum PDU length in the file. Readers reject longer packets, so a longer PDU is cut and its original length is stored.
const MAX_KEPT_BYTES: usize = 262_144 - 128;

const DISSECTOR: u16 = 12;
const HEURISTIC: u16 = 13;
const DISSECTOR_TABLE: u16 = 14;
const IPV4_SOURCE: u16 = 20;
const IPV4_DESTINATION: u16 = 21;
const IPV6_SOURCE: u16 = 22;
const IPV6_DESTINATION: u16 = 23;
const PORT_TYPE: u16 = 24;
const SOURCE_PORT: u16 = 25;
const DESTINATION_PORT: u16 = 26;
/// Transports, indexed by the value of [`PORT_TYPE`].
const PORT_TYPES: [Transport; 4] = [Transport::Exported, Transport::Sctp, Transport::Tcp, Transport::Udp];

/// A PDU with its tags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exported<'a> {
    pub(super) protocol: String,
    pub(super) flow: Flow,
    pub(super) pdu: &'a [u8],
}

impl<'a> Exported<'a> {
    /// Parses the tags and the PDU that follows them.
    pub(super) fn parse(data: &'a [u8]) -> Option<Self> {
        let mut rest = data;
        let mut protocol = String::new();
        let mut source = Endpoint::default();
        let mut destination = Endpoint::default();
        let mut transport = Transport::Exported;
        let v4 = |value: &[u8]| Some(IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?)));
        let v6 = |value: &[u8]| Some(IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?)));
        let number = |value: &[u8]| Some(u32::from_be_bytes(*value.first_chunk()?));
        loop {
            let [t0, t1, l0, l1, tail @ ..] = rest else { return None };
            let (value, tail) = tail.split_at_checked(u16::from_be_bytes([*l0, *l1]).into())?;
            rest = tail;
            match u16::from_be_bytes([*t0, *t1]) {
                0 => break,
                // If several dissector tags are present, the last one counts.
                DISSECTOR | HEURISTIC | DISSECTOR_TABLE => {
                    protocol = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
                }
                IPV4_SOURCE => source.address = Some(v4(value)?),
                IPV4_DESTINATION => destination.address = Some(v4(value)?),
                IPV6_SOURCE => source.address = Some(v6(value)?),
                IPV6_DESTINATION => destination.address = Some(v6(value)?),
                PORT_TYPE => {
                    let known = PORT_TYPES.get(number(value)? as usize);
                    transport = known.copied().unwrap_or(Transport::Exported);
                }
                SOURCE_PORT => source.port = number(value)? as u16,
                DESTINATION_PORT => destination.port = number(value)? as u16,
                _ => {}
            }
        }
        Some(Self { protocol, flow: Flow { transport, source, destination }, pdu: rest })
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { address: Some(address.ip()), port: address.port() }
    }
}

/// Writes E2 and E42 PDUs as a pcapng.
#[derive(Debug)]
pub struct Recorder<W> {
    out: PcapngWriter<W>,
    interfaces: [u32; 2],
}

impl<W: Write> Recorder<W> {
    /// Writes the file header. `out` should be buffered.
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = PcapngWriter::new(out)?;
        let interfaces =
            [out.interface(LinkType::EXPORTED, "e2")?, out.interface(LinkType::EXPORTED, "e42")?];
        Ok(Self { out, interfaces })
    }

    /// Appends one PDU, captured at `at_ns`, in nanoseconds since the epoch.
    pub fn write(&mut self, side: Side, at_ns: u64, flow: &Flow, pdu: &[u8]) -> io::Result<()> {
        let mut packet = Vec::with_capacity(96 + pdu.len().min(MAX_KEPT_BYTES));
        let mut tag = |kind: u16, value: &[u8]| {
            // Tag values are in network byte order in files of either byte order. The length includes the padding.
            let padded = value.len().next_multiple_of(4);
            packet.extend_from_slice(&kind.to_be_bytes());
            packet.extend_from_slice(&(padded as u16).to_be_bytes());
            packet.extend_from_slice(value);
            packet.resize(packet.len() + padded - value.len(), 0);
        };
        tag(DISSECTOR, b"e2ap");
        let ends =
            [(flow.source, IPV4_SOURCE, IPV6_SOURCE), (flow.destination, IPV4_DESTINATION, IPV6_DESTINATION)];
        for (end, v4, v6) in ends {
            match end.address {
                Some(IpAddr::V4(address)) => tag(v4, &address.octets()),
                Some(IpAddr::V6(address)) => tag(v6, &address.octets()),
                None => {}
            }
        }
        let port_type = PORT_TYPES.iter().position(|&transport| transport == flow.transport);
        tag(PORT_TYPE, &(port_type.unwrap_or(0) as u32).to_be_bytes());
        tag(SOURCE_PORT, &u32::from(flow.source.port).to_be_bytes());
        tag(DESTINATION_PORT, &u32::from(flow.destination.port).to_be_bytes());
        tag(0, &[]);
        let sent_bytes = packet.len() + pdu.len();
        packet.extend_from_slice(&pdu[..pdu.len().min(MAX_KEPT_BYTES)]);
        let interface = self.interfaces[usize::from(side == Side::E42)];
        self.out.packet(interface, at_ns, &packet, sent_bytes)
    }

    /// Flushes all data to the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the writer. Call [`Recorder::flush`] first.
    pub fn into_inner(self) -> W {
        self.out.into_inner()
    }
}
