//! Link layers: from a packet to what it carries.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::note::Note;
use super::{Endpoint, Transport};

/// Stacked VLAN tags that are skipped.
const MAX_VLAN_TAGS: usize = 4;

/// What a packet carries.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// An IP packet.
    Ip(&'a [u8]),
    /// A PDU exported by Wireshark or recorded by us.
    Exported(Exported<'a>),
    /// Nothing of interest: ARP and the like.
    Other,
}

/// A PDU of link type 252, with its tags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exported<'a> {
    pub(super) protocol: String,
    pub(super) transport: Transport,
    pub(super) source: Endpoint,
    pub(super) destination: Endpoint,
    pub(super) pdu: &'a [u8],
}

/// Takes the link layer off.
pub(super) fn unwrap(link_type: i32, data: &[u8]) -> Result<Content<'_>, Note> {
    match link_type {
        1 => ethernet(data.get(12..).ok_or(Note::Malformed("Ethernet"))?),
        // Null has the family in the order of the machine that captured, Loop in network order; both are small.
        0 | 108 => data.get(4..).map(by_ip_version).ok_or(Note::Malformed("loopback")),
        12 | 14 | 101 | 228 | 229 => Ok(by_ip_version(data)),
        113 => ethernet(data.get(14..).ok_or(Note::Malformed("Linux cooked"))?),
        276 => {
            let (head, rest) = data.split_at_checked(20).ok_or(Note::Malformed("Linux cooked"))?;
            by_ether_type([head[0], head[1]], rest)
        }
        252 => exported(data).map(Content::Exported).ok_or(Note::Malformed("exported PDU")),
        other => Err(Note::LinkType(other)),
    }
}

fn by_ip_version(data: &[u8]) -> Content<'_> {
    match data.first().map(|octet| octet >> 4) {
        Some(4 | 6) => Content::Ip(data),
        _ => Content::Other,
    }
}

/// From the EtherType on.
fn ethernet(data: &[u8]) -> Result<Content<'_>, Note> {
    match data {
        [a, b, rest @ ..] => by_ether_type([*a, *b], rest),
        _ => Err(Note::Malformed("Ethernet")),
    }
}

fn by_ether_type(mut ether_type: [u8; 2], mut rest: &[u8]) -> Result<Content<'_>, Note> {
    for _ in 0..=MAX_VLAN_TAGS {
        match u16::from_be_bytes(ether_type) {
            0x0800 | 0x86dd => return Ok(Content::Ip(rest)),
            0x8100 | 0x88a8 | 0x9100 => {
                let [_, _, a, b, inner @ ..] = rest else { return Err(Note::Malformed("VLAN")) };
                (ether_type, rest) = ([*a, *b], inner);
            }
            _ => return Ok(Content::Other),
        }
    }
    Ok(Content::Other)
}

/// Tags of Wireshark's exported PDUs: type and length of 16 bits, the value padded to 4 octets, type 0 last.
fn exported(data: &[u8]) -> Option<Exported<'_>> {
    let mut rest = data;
    let (mut protocol, mut transport) = (String::new(), Transport::Exported);
    let (mut source, mut destination) = (Endpoint::default(), Endpoint::default());
    loop {
        let [t1, t2, l1, l2, tail @ ..] = rest else { return None };
        let length = usize::from(u16::from_be_bytes([*l1, *l2]));
        let (value, tail) = tail.split_at_checked(length)?;
        rest = tail;
        match u16::from_be_bytes([*t1, *t2]) {
            0 => break,
            // Dissector by name, heuristic dissector, dissector table: which comes last counts.
            12..=14 => protocol = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned(),
            20 => source.address = Some(IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?))),
            21 => destination.address = Some(IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?))),
            22 => source.address = Some(IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?))),
            23 => destination.address = Some(IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?))),
            24 => {
                transport = match u32::from_be_bytes(*value.first_chunk()?) {
                    1 => Transport::Sctp,
                    2 => Transport::Tcp,
                    3 => Transport::Udp,
                    _ => Transport::Exported,
                }
            }
            25 => source.port = u32::from_be_bytes(*value.first_chunk()?) as u16,
            26 => destination.port = u32::from_be_bytes(*value.first_chunk()?) as u16,
            _ => {}
        }
    }
    Some(Exported { protocol, transport, source, destination, pdu: rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_layer_gives_its_ip_packet() {
        let ip: &[u8] = &[0x45, 1, 2, 3];
        let with = |head: &[u8]| [head, ip].concat();
        let wrapped: [(i32, Vec<u8>); 8] = [
            (1, with(&[&[0; 12][..], &[8, 0]].concat())),
            (1, with(&[&[0; 12][..], &[0x81, 0, 0, 5, 0x88, 0xa8, 0, 6, 8, 0]].concat())),
            (0, with(&[2, 0, 0, 0])),
            (108, with(&[0, 0, 0, 2])),
            (101, ip.to_vec()),
            (228, ip.to_vec()),
            (113, with(&[&[0; 14][..], &[8, 0]].concat())),
            (276, with(&[&[8, 0][..], &[0; 18]].concat())),
        ];
        for (link_type, data) in wrapped {
            assert_eq!(unwrap(link_type, &data), Ok(Content::Ip(ip)), "{link_type}");
        }
        assert_eq!(unwrap(147, ip), Err(Note::LinkType(147)));
    }

    #[test]
    fn no_cut_of_any_link_layer_panics() {
        let data =
            [0x81, 0, 0, 12, 0, 4, b'e', b'2', b'a', b'p', 0, 20, 0, 1, 9, 0, 25, 0, 2, 1, 1, 0, 0, 0, 0];
        for link_type in [0, 1, 12, 101, 108, 113, 228, 229, 252, 276] {
            for start in 0..data.len() {
                for end in start..data.len() {
                    let _ = unwrap(link_type, &data[start..end]);
                }
            }
        }
    }
}
