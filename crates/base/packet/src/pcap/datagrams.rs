//! UDP datagrams of one port in a capture.
use std::io::{self, Read};
use std::net::SocketAddr;

use super::link_type::LinkType;
use super::packets::{self, Event, Packet};
use crate::{Cooked, EtherType, Ethernet, Ip, PacketError, Protocol, Udp, VlanTag};

/// Maximum number of VLAN tags that are skipped.
const MAX_VLAN_TAGS: usize = 5;

/// A UDP datagram from a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Microseconds since the epoch, if the capture has a time.
    pub time_us: Option<u64>,
    /// Address and port of the sender.
    pub source: SocketAddr,
    /// Address and port of the receiver.
    pub destination: SocketAddr,
    /// Payload of the datagram.
    pub payload: &'a [u8],
}

/// Packets of a capture that yielded no complete datagram, counted by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Fragments of datagrams; they are not reassembled.
    pub fragments: u64,
    /// Packets that the capture has truncated.
    pub cut: u64,
    /// Packets that cannot be read, or whose link type is unknown.
    pub unreadable: u64,
    /// Irregularities of the file.
    pub faults: u64,
}

/// Reason why a packet has no datagram.
enum Without {
    Fragment,
    Cut,
    Unreadable,
}

impl From<PacketError> for Without {
    fn from(_: PacketError) -> Self {
        Self::Unreadable
    }
}

/// Calls `each` for every whole UDP datagram from or to a port. Returns the numbers of skipped packets.
///
/// # Errors
/// Fails only with errors of the operating system.
pub fn read_datagrams(
    source: impl Read + Send,
    port: u16,
    mut each: impl FnMut(Datagram<'_>),
) -> io::Result<Skipped> {
    let mut skipped = Skipped::default();
    packets::read(source, |event| match event {
        Event::Fault(..) => skipped.faults += 1,
        Event::Packet(packet) => match datagram(&packet, port) {
            Ok(Some(datagram)) => each(datagram),
            Ok(None) => {}
            Err(Without::Fragment) => skipped.fragments += 1,
            Err(Without::Cut) => skipped.cut += 1,
            Err(Without::Unreadable) => skipped.unreadable += 1,
        },
    })?;
    Ok(skipped)
}

fn datagram<'a>(packet: &Packet<'a>, port: u16) -> Result<Option<Datagram<'a>>, Without> {
    let Some(ip) = ip(packet.link_type, packet.data)? else { return Ok(None) };
    if ip.protocol != Protocol::UDP {
        return Ok(None);
    }
    if ip.is_fragment {
        return Err(Without::Fragment);
    }
    let udp = Udp::parse_captured(ip.payload)?;
    if udp.src_port != port && udp.dst_port != port {
        return Ok(None);
    }
    if packet.cut {
        return Err(Without::Cut);
    }
    Ok(Some(Datagram {
        time_us: packet.time_us,
        source: SocketAddr::new(ip.src, udp.src_port),
        destination: SocketAddr::new(ip.dst, udp.dst_port),
        payload: udp.payload,
    }))
}

/// Returns the IP packet within a link-layer frame; `None` if there is another protocol.
fn ip(link_type: LinkType, data: &[u8]) -> Result<Option<Ip<'_>>, Without> {
    let (mut ether_type, mut rest) = match link_type {
        LinkType::ETHERNET => {
            let frame = Ethernet::parse(data)?;
            (frame.ether_type, frame.payload)
        }
        LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => {
            let is_first = link_type == LinkType::LINUX_SLL;
            let cooked = if is_first { Cooked::parse_v1(data) } else { Cooked::parse_v2(data) }?;
            (cooked.ether_type, cooked.payload)
        }
        LinkType::NULL | LinkType::LOOP => {
            return by_version(data.get(4..).ok_or(Without::Unreadable)?);
        }
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => return by_version(data),
        other if LinkType::OTHER_RAW.contains(&other) => return by_version(data),
        _ => return Err(Without::Unreadable),
    };
    for _ in 0..MAX_VLAN_TAGS {
        match ether_type {
            EtherType::IPV4 | EtherType::IPV6 => return Ok(Some(Ip::parse_captured(rest)?)),
            EtherType::VLAN | EtherType::SERVICE_VLAN | EtherType::OLD_SERVICE_VLAN => {
                (_, ether_type, rest) = VlanTag::parse(rest)?;
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn by_version(data: &[u8]) -> Result<Option<Ip<'_>>, Without> {
    match data.first().map(|octet| octet >> 4) {
        Some(4 | 6) => Ok(Some(Ip::parse_captured(data)?)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::PcapWriter;
    use super::*;
    use std::net::Ipv4Addr;

    /// Builds an IPv4 packet that contains a UDP datagram.
    fn packet(ports: (u16, u16), protocol: u8, fragment: bool, payload: &[u8]) -> Vec<u8> {
        let len = (28 + payload.len()) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend([0, 0, if fragment { 0x20 } else { 0 }, 0, 64, protocol, 0, 0]);
        packet.extend(Ipv4Addr::new(10, 0, 0, 1).octets());
        packet.extend(Ipv4Addr::new(10, 0, 0, 2).octets());
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        packet.extend((len - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        packet
    }

    fn found(link_type: LinkType, head: &[u8], packets: &[Vec<u8>]) -> (Vec<(u16, u16, Vec<u8>)>, Skipped) {
        let mut writer = PcapWriter::new(Vec::new(), link_type).unwrap();
        for (at, packet) in packets.iter().enumerate() {
            writer.packet(at as u64 * 1_000, &[head, packet.as_slice()].concat()).unwrap();
        }
        let file = writer.into_inner();
        let mut all = Vec::new();
        let skipped = read_datagrams(&file[..], 8_805, |datagram| {
            all.push((datagram.source.port(), datagram.destination.port(), datagram.payload.to_vec()));
        });
        (all, skipped.unwrap())
    }

    #[test]
    fn datagrams_of_the_port_are_found() {
        let (all, skipped) = found(
            LinkType::RAW,
            &[],
            &[
                packet((40_000, 8_805), 17, false, b"request"),
                packet((8_805, 40_000), 17, false, b"response"),
                packet((53, 53), 17, false, b"another port"),
                packet((8_805, 8_805), 6, false, b"another protocol"),
                packet((8_805, 8_805), 17, true, b"fragment"),
                vec![0x45],
            ],
        );
        assert_eq!(all, [(40_000, 8_805, b"request".to_vec()), (8_805, 40_000, b"response".to_vec())]);
        assert_eq!(skipped, Skipped { fragments: 1, unreadable: 1, ..Skipped::default() });
    }

    #[test]
    fn link_layers_are_removed() {
        let one = [packet((8_805, 8_805), 17, false, b"x")];
        let ethernet = [&[0; 12][..], &[0x08, 0]].concat();
        let tagged = [&[0; 12][..], &[0x81, 0, 0, 7, 0x08, 0]].concat();
        let other = [&[0; 12][..], &[0x08, 6]].concat();
        assert_eq!(found(LinkType::ETHERNET, &ethernet, &one).0.len(), 1);
        assert_eq!(found(LinkType::ETHERNET, &tagged, &one).0.len(), 1);
        assert_eq!(found(LinkType::ETHERNET, &other, &one), (Vec::new(), Skipped::default()));
        assert_eq!(found(LinkType::NULL, &[2, 0, 0, 0], &one).0.len(), 1);
        assert_eq!(found(LinkType(9_999), &[], &one).1.unreadable, 1);
    }
}
