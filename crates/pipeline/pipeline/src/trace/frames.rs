//! Frames with correct lengths and checksums, from which traces are built.
use crate::declare::{Encapsulation, TcpFlags};
use crate::reference::{GTPU_PORT, TUNNEL_TTL, VXLAN_SOURCE_PORT};
use ranlab_packet::{
    ETHERNET_BYTES, EtherType, GreHeader, IPV4_BYTES, IPV6_BYTES, Ipv4Header, Ipv6Header, Mac, Protocol,
    TCP_BYTES, UDP_BYTES, UdpHeader, VXLAN_PORT, checksum, write_ethernet, write_vxlan,
};
use std::net::{IpAddr, Ipv4Addr};

/// A source MAC that no pipeline reads.
pub(crate) const TESTER_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x01]);
const TTL: u8 = 64;

/// Address and port.
pub(crate) type Endpoint = (IpAddr, u16);

/// A packet between a user and a server of the same IP version.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) protocol: Protocol,
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    /// Required bits of a TCP header's bytes 12 and 13.
    pub(crate) flags: TcpFlags,
}

impl Packet {
    pub(crate) fn new(protocol: Protocol, from: Endpoint, to: Endpoint) -> Self {
        Self { protocol, from, to, flags: TcpFlags::default() }
    }

    pub(crate) fn udp(from: (impl Into<IpAddr>, u16), to: (impl Into<IpAddr>, u16)) -> Self {
        Self::new(Protocol::UDP, (from.0.into(), from.1), (to.0.into(), to.1))
    }

    pub(crate) fn tcp(from: Endpoint, to: Endpoint) -> Self {
        Self::new(Protocol::TCP, from, to)
    }

    /// Returns a frame of `bytes` bytes, or as many as its headers need.
    pub(crate) fn frame(&self, mac: Mac, bytes: usize) -> Vec<u8> {
        let packet = self.packet(bytes.saturating_sub(ETHERNET_BYTES));
        let mut out = write_ethernet(mac, TESTER_MAC, ether_type(&packet)).to_vec();
        out.extend(packet);
        out
    }

    /// Returns the IP packet with `bytes` bytes, or as many as its headers need.
    pub(crate) fn packet(&self, bytes: usize) -> Vec<u8> {
        let protocol = self.protocol;
        let least = if protocol == Protocol::TCP { TCP_BYTES } else { UDP_BYTES };
        let behind = |header: usize| bytes.saturating_sub(header).max(least) as u16;
        let (mut out, payload_bytes, pseudo) = match (self.from.0, self.to.0) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let payload_bytes = behind(IPV4_BYTES);
                let header = Ipv4Header { traffic_class: 0, payload_bytes, ttl: TTL, protocol, src, dst };
                let pseudo = checksum::pseudo_ipv4(src.octets(), dst.octets(), protocol.0, payload_bytes);
                (header.write().to_vec(), payload_bytes, pseudo)
            }
            (src, dst) => {
                let [src, dst] = [src, dst].map(|address| match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                });
                let payload_bytes = behind(IPV6_BYTES);
                let next_header = protocol;
                let hop_limit = TTL;
                let header = Ipv6Header { traffic_class: 0, payload_bytes, next_header, hop_limit, src, dst };
                let length = payload_bytes.into();
                let pseudo = checksum::pseudo_ipv6(src.octets(), dst.octets(), protocol.0, length);
                (header.write().to_vec(), payload_bytes, pseudo)
            }
        };
        out.extend(transport((protocol, self.flags), self.from.1, self.to.1, payload_bytes, pseudo));
        out
    }
}

/// A tunnel from the sender's point of view.
pub(crate) struct Ingress {
    pub(crate) kind: Encapsulation,
    pub(crate) key: u32,
    pub(crate) src: Ipv4Addr,
    pub(crate) dst: Ipv4Addr,
    pub(crate) src_mac: Mac,
    pub(crate) dst_mac: Mac,
}

impl Ingress {
    /// Encapsulates an IP packet like a base station, CPE or host.
    pub(crate) fn wrap(&self, packet: &[u8]) -> Vec<u8> {
        let mut payload = Vec::with_capacity(packet.len() + 50);
        let protocol = match self.kind {
            Encapsulation::Gtp { qfi } => {
                let bytes = (16 + packet.len()) as u16;
                payload.extend(udp_header(GTPU_PORT, GTPU_PORT, bytes));
                payload.extend([0x34, 255]);
                payload.extend((bytes - 8).to_be_bytes());
                payload.extend(self.key.to_be_bytes());
                // A PDU session container of type 1, uplink (TS 38.415 §5.5.2.2).
                payload.extend([0, 0, 0, 0x85, 1, 0x10, qfi & 0x3f, 0]);
                Protocol::UDP
            }
            Encapsulation::Vxlan => {
                let bytes = (8 + ETHERNET_BYTES + packet.len()) as u16;
                payload.extend(udp_header(VXLAN_SOURCE_PORT, VXLAN_PORT, bytes));
                payload.extend(write_vxlan(self.key));
                payload.extend(write_ethernet(self.dst_mac, self.src_mac, ether_type(packet)));
                Protocol::UDP
            }
            Encapsulation::Gre => {
                payload.extend(GreHeader { protocol: ether_type(packet), key: self.key }.write());
                Protocol::GRE
            }
        };
        payload.extend(packet);
        let src = self.src;
        let dst = self.dst;
        let payload_bytes = payload.len() as u16;
        let outer = Ipv4Header { traffic_class: 0, payload_bytes, ttl: TUNNEL_TTL, protocol, src, dst };
        let mut out = write_ethernet(self.dst_mac, self.src_mac, EtherType::IPV4).to_vec();
        out.extend(outer.write());
        out.extend(payload);
        out
    }
}

fn ether_type(packet: &[u8]) -> EtherType {
    if packet.first().is_some_and(|octet| octet >> 4 == 6) { EtherType::IPV6 } else { EtherType::IPV4 }
}

fn udp_header(src_port: u16, dst_port: u16, payload_bytes: u16) -> [u8; UDP_BYTES] {
    UdpHeader { src_port, dst_port, payload_bytes, checksum: 0 }.write()
}

fn transport(
    (protocol, flags): (Protocol, TcpFlags),
    src_port: u16,
    dst_port: u16,
    bytes: u16,
    pseudo: u32,
) -> Vec<u8> {
    let mut out = vec![0; bytes.into()];
    out[..2].copy_from_slice(&src_port.to_be_bytes());
    out[2..4].copy_from_slice(&dst_port.to_be_bytes());
    let field = if protocol == Protocol::TCP {
        out[12..14].copy_from_slice(&flag_bytes(flags, bytes));
        // The window is 8192, and the options are no-operations.
        out[14] = 0x20;
        let options = (usize::from(out[12] >> 4) * 4).min(out.len());
        out[TCP_BYTES..options].fill(1);
        16
    } else {
        out[4..6].copy_from_slice(&bytes.to_be_bytes());
        6
    };
    let sum = !checksum::fold(checksum::sum(&out, pseudo));
    let sum = if protocol == Protocol::UDP && sum == 0 { 0xffff } else { sum };
    out[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    out
}

/// Returns bytes 12 and 13 of the header of a TCP segment of `bytes` bytes: ACK and the required bits.
///
/// The data offset is the smallest value of at least 5 that has its required bits. If that value is longer than the
/// segment, the data offset is 5.
fn flag_bytes(TcpFlags { value, mask }: TcpFlags, bytes: u16) -> [u8; 2] {
    let fits = |offset: &u16| (offset << 12 ^ value) & mask & 0xf000 == 0 && offset * 4 <= bytes;
    let offset = (5..16).find(fits).unwrap_or(5);
    (offset << 12 | (0x0010 & !mask | value & mask) & 0x0fff).to_be_bytes()
}
