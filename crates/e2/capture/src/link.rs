//! Link layers: the payload of a packet.
use ranlab_packet::{Cooked, EtherType, Ethernet, Ip, PacketError, VlanTag};

use super::exported::Exported;
use super::note::Note;
use ranlab_packet::pcap::LinkType;

/// Maximum number of VLAN tags that are skipped after the first tag.
const MAX_VLAN_TAGS: usize = 4;

/// EtherType of eCPRI (eCPRI 2.0, 3.1.1).
const ECPRI: EtherType = EtherType(0xaefe);
/// EtherType of IF4p5 over raw Ethernet, as used by OpenAirInterface. It is not registered for IF4p5.
const IF4P5: EtherType = EtherType(0x080a);

/// Payload of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// An IP packet.
    Ip(Ip<'a>),
    /// A PDU exported by Wireshark or recorded by this program.
    Exported(Exported<'a>),
    /// A packet of another protocol, such as ARP.
    Other,
}

/// Removes the link layer.
pub(super) fn unwrap(link_type: LinkType, data: &[u8]) -> Result<Content<'_>, Note> {
    match link_type {
        LinkType::ETHERNET => {
            let frame = Ethernet::parse(data)?;
            by_ether_type(frame.ether_type, frame.payload)
        }
        LinkType::NULL | LinkType::LOOP => by_version(data.get(4..).ok_or(Note::Malformed("loopback"))?),
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => by_version(data),
        other if LinkType::OTHER_RAW.contains(&other) => by_version(data),
        LinkType::LINUX_SLL => cooked(Cooked::parse_v1(data)),
        LinkType::LINUX_SLL2 => cooked(Cooked::parse_v2(data)),
        LinkType::EXPORTED => {
            Exported::parse(data).map(Content::Exported).ok_or(Note::Malformed("exported PDU"))
        }
        LinkType(other) => Err(Note::LinkType(other)),
    }
}

fn cooked(cooked: Result<Cooked<'_>, PacketError>) -> Result<Content<'_>, Note> {
    let cooked = cooked?;
    by_ether_type(cooked.ether_type, cooked.payload)
}

fn by_version(data: &[u8]) -> Result<Content<'_>, Note> {
    match data.first().map(|octet| octet >> 4) {
        Some(4 | 6) => Ok(Content::Ip(Ip::parse_captured(data)?)),
        _ => Ok(Content::Other),
    }
}

fn by_ether_type(mut ether_type: EtherType, mut rest: &[u8]) -> Result<Content<'_>, Note> {
    for _ in 0..=MAX_VLAN_TAGS {
        match ether_type {
            EtherType::IPV4 | EtherType::IPV6 => return Ok(Content::Ip(Ip::parse_captured(rest)?)),
            EtherType::VLAN | EtherType::SERVICE_VLAN | EtherType::OLD_SERVICE_VLAN => {
                (_, ether_type, rest) = VlanTag::parse(rest)?;
            }
            // The message type is in the second byte of the common header.
            ECPRI => return Err(Note::Ecpri(rest.get(1).copied().unwrap_or(0))),
            IF4P5 => return Err(Note::If4p5),
            _ => return Ok(Content::Other),
        }
    }
    Ok(Content::Other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_packet::{Ipv4Header, Protocol};

    #[test]
    fn ip_packet_is_found_in_every_link_layer() {
        let src = [10, 0, 0, 1].into();
        let dst = [10, 0, 0, 2].into();
        let payload_bytes = 2;
        let protocol = Protocol::SCTP;
        let head = Ipv4Header { traffic_class: 0, payload_bytes, ttl: 64, protocol, src, dst }.write();
        let packet = [&head[..], &[7, 8]].concat();
        let with = |head: &[u8]| [head, &packet, &[0; 9]].concat();
        let mac = [0; 12];
        let wrapped: [(u16, Vec<u8>); 10] = [
            (1, with(&[&mac[..], &[8, 0]].concat())),
            (1, with(&[&mac[..], &[0x81, 0, 0, 5, 0x88, 0xa8, 0, 6, 8, 0]].concat())),
            (1, with(&[&mac[..], &[0x91, 0, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat())),
            (0, with(&[2, 0, 0, 0])),
            (108, with(&[0, 0, 0, 2])),
            (12, packet.clone()),
            (101, packet.clone()),
            (228, packet.clone()),
            (113, with(&[&[0; 14][..], &[8, 0]].concat())),
            (276, with(&[&[8, 0][..], &[0; 18]].concat())),
        ];
        for (link_type, data) in wrapped {
            let Ok(Content::Ip(ip)) = unwrap(LinkType(link_type), &data) else { panic!("{link_type}") };
            assert_eq!((ip.dst, ip.protocol, ip.payload), (dst.into(), protocol, &[7, 8][..]), "{link_type}");
        }
        assert_eq!(unwrap(LinkType(147), &packet), Err(Note::LinkType(147)));
        assert_eq!(unwrap(LinkType::ETHERNET, &with(&[&mac[..], &[8, 6]].concat())), Ok(Content::Other));
        let frame = |rest: &[u8]| [&mac[..], rest].concat();
        assert_eq!(unwrap(LinkType::ETHERNET, &frame(&[0xae, 0xfe, 0x10, 2])), Err(Note::Ecpri(2)));
        assert_eq!(unwrap(LinkType::ETHERNET, &frame(&[8, 10, 0])), Err(Note::If4p5));
        assert_eq!(unwrap(LinkType::ETHERNET, &[0; 13]), Err(Note::Malformed("Ethernet")));
        // At most `MAX_VLAN_TAGS` tags may follow the first one.
        let tagged = |tags: usize| {
            let frame = with(&[&mac[..], &[0x81, 0, 0, 5].repeat(tags), &[8, 0]].concat());
            matches!(unwrap(LinkType::ETHERNET, &frame), Ok(Content::Ip(_)))
        };
        assert!(tagged(1 + MAX_VLAN_TAGS) && !tagged(2 + MAX_VLAN_TAGS));
    }
}
