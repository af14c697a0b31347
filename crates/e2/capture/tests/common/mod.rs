//! Packets of a capture, and the PDUs assembled from them.
#![allow(dead_code, clippy::unwrap_used)] // no test file uses all helpers; helpers may unwrap, like tests

use bytes::Bytes;
use ranlab_e2_capture::{Assembler, Findings};
use ranlab_packet::pcap::LinkType;
use ranlab_packet::pcap::Packet;
use ranlab_packet::{Ipv4Header, Ipv6Header, Protocol, UdpHeader};

/// A subscription delete request with request 1/0 and function 142.
pub(crate) const DELETE: [u8; 22] = [0, 9, 0, 18, 0, 0, 2, 0, 29, 0, 5, 0, 0, 1, 0, 0, 0, 5, 0, 2, 0, 0x8e];

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const BEGIN: u8 = 2;
pub(crate) const END: u8 = 1;

pub(crate) fn v4(protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let src = [10, 0, 0, 1].into();
    let dst = [10, 0, 0, 2].into();
    let payload_bytes = payload.len() as u16;
    let head = Ipv4Header { traffic_class: 0, payload_bytes, ttl: 64, protocol, src, dst }.write();
    [&head[..], payload].concat()
}

pub(crate) fn v6(protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let src = "fd00::1".parse().unwrap();
    let dst = "fd00::2".parse().unwrap();
    let payload_bytes = payload.len() as u16;
    let next_header = protocol;
    let head = Ipv6Header { traffic_class: 0, payload_bytes, next_header, hop_limit: 64, src, dst }.write();
    [&head[..], payload].concat()
}

/// Returns a TCP segment from port 40000 to port 36421.
pub(crate) fn segment(sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x9c, 0x40, 0x8e, 0x45];
    octets.extend(sequence.to_be_bytes());
    octets.extend([0, 0, 0, 0, 5 << 4, flags, 0x20, 0, 0, 0, 0, 0]);
    octets.extend(payload);
    octets
}

pub(crate) fn tcp(sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    v4(Protocol::TCP, &segment(sequence, flags, payload))
}

pub(crate) fn udp(dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let payload_bytes = payload.len() as u16;
    let head = UdpHeader { src_port: 40_000, dst_port, payload_bytes, checksum: 0 }.write();
    v4(Protocol::UDP, &[&head[..], payload].concat())
}

/// Returns a DATA chunk with the n-th message of a stream.
pub(crate) fn data(flags: u8, tsn: u32, n: u16, payload_protocol: u32, payload: &[u8]) -> Vec<u8> {
    let mut chunk = vec![0, flags];
    chunk.extend((16 + payload.len() as u16).to_be_bytes());
    chunk.extend(tsn.to_be_bytes());
    chunk.extend([0, 3]);
    chunk.extend(n.to_be_bytes());
    chunk.extend(payload_protocol.to_be_bytes());
    chunk.extend(payload);
    chunk.resize(chunk.len().next_multiple_of(4), 0);
    chunk
}

/// Returns an SCTP packet with a SACK and then `chunks`, between ports that are not registered for E2AP.
pub(crate) fn sctp(tag: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut octets = vec![0x9c, 0x40, 0x13, 0x88];
    octets.extend(tag.to_be_bytes());
    octets.extend([0, 0, 0, 0, 3, 0, 0, 4]);
    octets.extend(chunks.concat());
    v4(Protocol::SCTP, &octets)
}

pub(crate) fn packet(number: u64, link_type: LinkType, data: &[u8]) -> Packet<'_> {
    Packet {
        number,
        link_type,
        interface: None,
        time_us: None,
        time_ns: None,
        cut: false,
        whole_bytes: data.len() as u32,
        data,
    }
}

/// Returns the PDUs and notes that result from bare IP packets.
pub(crate) fn assembled(packets: &[Vec<u8>], trusting: bool) -> (Vec<Bytes>, Vec<String>) {
    let mut assembler = Assembler::new(trusting);
    let mut found = Findings::default();
    for (number, data) in (1..).zip(packets) {
        assembler.packet(&packet(number, LinkType::RAW, data), &mut found);
    }
    assembler.finish(&mut found);
    let notes = found.notes.list().into_iter().map(|note| note.note).collect();
    (found.pdus.into_iter().map(|pdu| pdu.bytes).collect(), notes)
}
