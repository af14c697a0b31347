//! Frames with right lengths and checksums, from which traces are made.
use crate::declare::Encapsulation;
use crate::reference::{GTPU_PORT, TUNNEL_TTL, VXLAN_SOURCE_PORT};
use ranlab_wire::packet::{
    ETHERNET_BYTES, EtherType, GreHeader, IPV4_BYTES, IPV6_BYTES, Ipv4Header, Ipv6Header, Mac, Protocol,
    TCP_BYTES, UDP_BYTES, UdpHeader, VXLAN_PORT, checksum, write_ethernet, write_vxlan,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A source that no pipeline looks at.
pub(crate) const TESTER_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x01]);
const TTL: u8 = 64;

/// A packet of a user or server.
#[derive(Clone, Copy)]
pub(crate) struct Packet4 {
    pub(crate) src: Ipv4Addr,
    pub(crate) dst: Ipv4Addr,
    pub(crate) protocol: Protocol,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
}

impl Packet4 {
    /// A frame of `bytes` octets, or as many as its headers need.
    pub(crate) fn frame(&self, dst: Mac, src: Mac, bytes: usize) -> Vec<u8> {
        let mut out = write_ethernet(dst, src, EtherType::IPV4).to_vec();
        out.extend(self.packet(bytes.saturating_sub(ETHERNET_BYTES)));
        out
    }

    /// The bare packet of `bytes` octets, or as many as its headers need.
    pub(crate) fn packet(&self, bytes: usize) -> Vec<u8> {
        let tcp = self.protocol == Protocol::TCP;
        let least = if tcp { TCP_BYTES } else { UDP_BYTES };
        let payload_bytes = bytes.saturating_sub(IPV4_BYTES).max(least) as u16;
        let (src, dst, protocol) = (self.src, self.dst, self.protocol);
        let mut out =
            Ipv4Header { traffic_class: 0, payload_bytes, ttl: TTL, protocol, src, dst }.write().to_vec();
        let pseudo = checksum::pseudo_ipv4(src.octets(), dst.octets(), protocol.0, payload_bytes);
        out.extend(transport(protocol, self.src_port, self.dst_port, payload_bytes, pseudo));
        out
    }
}

/// An IPv6 packet with UDP or TCP.
#[derive(Clone, Copy)]
pub(crate) struct Packet6 {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) protocol: Protocol,
    pub(crate) ports: (u16, u16),
}

impl Packet6 {
    /// A frame of `bytes` octets, or as many as its headers need.
    pub(crate) fn frame(&self, dst: Mac, src: Mac, bytes: usize) -> Vec<u8> {
        let mut out = write_ethernet(dst, src, EtherType::IPV6).to_vec();
        out.extend(self.packet(bytes.saturating_sub(ETHERNET_BYTES)));
        out
    }

    /// The bare packet of `bytes` octets, or as many as its headers need.
    pub(crate) fn packet(&self, bytes: usize) -> Vec<u8> {
        let least = if self.protocol == Protocol::TCP { TCP_BYTES } else { UDP_BYTES };
        let payload_bytes = bytes.saturating_sub(IPV6_BYTES).max(least) as u16;
        let (src, dst, next_header) = (self.src, self.dst, self.protocol);
        let header = Ipv6Header { traffic_class: 0, payload_bytes, next_header, hop_limit: TTL, src, dst };
        let mut out = header.write().to_vec();
        let pseudo = checksum::pseudo_ipv6(src.octets(), dst.octets(), next_header.0, payload_bytes.into());
        out.extend(transport(next_header, self.ports.0, self.ports.1, payload_bytes, pseudo));
        out
    }
}

/// Address and port.
pub(crate) type Endpoint = (IpAddr, u16);

/// A bare packet with TCP of either version, both sides of which have the same, of `bytes` octets or as many as its
/// headers need.
pub(crate) fn tcp(from: Endpoint, to: Endpoint, bytes: usize) -> Vec<u8> {
    let protocol = Protocol::TCP;
    match (from, to) {
        ((IpAddr::V4(src), src_port), (IpAddr::V4(dst), dst_port)) => {
            Packet4 { src, dst, protocol, src_port, dst_port }.packet(bytes)
        }
        ((src, src_port), (dst, dst_port)) => {
            let six = |address| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            Packet6 { src: six(src), dst: six(dst), protocol, ports: (src_port, dst_port) }.packet(bytes)
        }
    }
}

/// The same in a frame.
pub(crate) fn tcp_frame(mac: Mac, from: Endpoint, to: Endpoint, bytes: usize) -> Vec<u8> {
    let packet = tcp(from, to, bytes.saturating_sub(ETHERNET_BYTES));
    let mut out = write_ethernet(mac, TESTER_MAC, ether_type(&packet)).to_vec();
    out.extend(packet);
    out
}

/// An IPv6 frame with UDP of `bytes` octets, or as many as its headers need.
pub(crate) fn frame6(mac: Mac, src: Ipv6Addr, dst: Ipv6Addr, ports: (u16, u16), bytes: usize) -> Vec<u8> {
    Packet6 { src, dst, protocol: Protocol::UDP, ports }.frame(mac, TESTER_MAC, bytes)
}

/// A tunnel as traffic enters it.
pub(crate) struct Ingress {
    pub(crate) kind: Encapsulation,
    pub(crate) key: u32,
    pub(crate) src: Ipv4Addr,
    pub(crate) dst: Ipv4Addr,
    pub(crate) src_mac: Mac,
    pub(crate) dst_mac: Mac,
}

impl Ingress {
    /// Wraps a bare packet as a base station, CPE or host does.
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
        let (src, dst, payload_bytes) = (self.src, self.dst, payload.len() as u16);
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

fn transport(protocol: Protocol, src_port: u16, dst_port: u16, bytes: u16, pseudo: u32) -> Vec<u8> {
    let mut out = vec![0; bytes.into()];
    out[..2].copy_from_slice(&src_port.to_be_bytes());
    out[2..4].copy_from_slice(&dst_port.to_be_bytes());
    let field = if protocol == Protocol::TCP {
        // Data offset 5, ACK, window 8192.
        out[12..16].copy_from_slice(&[0x50, 0x10, 0x20, 0]);
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
