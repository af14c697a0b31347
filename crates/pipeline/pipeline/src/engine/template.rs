//! Precomputed tunnel headers. To send a packet, the engine copies them and writes lengths, checksum and key.
use super::burst::{Meta, Slot};
use crate::declare::{Encapsulation, Port, Tunnel};
use crate::reference::{GTPU_PORT, TUNNEL_TTL, VXLAN_SOURCE_PORT};
use ranlab_packet::{
    ETHERNET_BYTES, EtherType, GreHeader, IPV4_BYTES, Ipv4Header, Protocol, UDP_BYTES, UdpHeader, VXLAN_PORT,
    checksum, write_ethernet, write_vxlan,
};

const IP: usize = ETHERNET_BYTES;
const UDP: usize = IP + IPV4_BYTES;
const GTP: usize = UDP + UDP_BYTES;
/// Length of all headers with a PDU session container, in bytes.
const GTP_BYTES: usize = GTP + 16;
const VXLAN_ALL_BYTES: usize = GTP + 8;
const GRE_ALL_BYTES: usize = UDP + 8;

/// A compiled tunnel.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Template {
    bytes: [u8; 64],
    /// One's complement sum of the IP header without length and checksum.
    sum: u32,
    kind: Encapsulation,
    pub(super) port: Port,
}

impl Template {
    pub(super) fn new(tunnel: &Tunnel) -> Self {
        let protocol = if tunnel.kind == Encapsulation::Gre { Protocol::GRE } else { Protocol::UDP };
        let src = tunnel.local;
        let dst = tunnel.remote;
        let mut ip =
            Ipv4Header { traffic_class: 0, payload_bytes: 0, ttl: TUNNEL_TTL, protocol, src, dst }.write();
        ip[2..4].fill(0);
        ip[10..12].fill(0);
        let udp =
            |src_port, dst_port| UdpHeader { src_port, dst_port, payload_bytes: 0, checksum: 0 }.write();
        let mut all = write_ethernet(tunnel.dst, tunnel.src, EtherType::IPV4).to_vec();
        all.extend(ip);
        match tunnel.kind {
            Encapsulation::Gtp { qfi } => {
                all.extend(udp(GTPU_PORT, GTPU_PORT));
                all.extend([0x34, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0, qfi & 0x3f, 0]);
            }
            Encapsulation::Vxlan => {
                all.extend(udp(VXLAN_SOURCE_PORT, VXLAN_PORT));
                all.extend(write_vxlan(0));
            }
            Encapsulation::Gre => all.extend(GreHeader { protocol: EtherType::IPV4, key: 0 }.write()),
        }
        let mut bytes = [0; 64];
        bytes[..all.len()].copy_from_slice(&all);
        Self { bytes, sum: checksum::sum(&ip, 0), kind: tunnel.kind, port: tunnel.port }
    }

    /// Writes the headers before a packet.
    #[inline(always)]
    pub(super) fn wrap(&self, slot: &mut Slot, meta: &mut Meta, key: u32) {
        match self.kind {
            Encapsulation::Gtp { .. } => {
                let (start, carried) = self.before_packet::<GTP_BYTES>(slot, meta);
                let header = slot.window_mut::<GTP_BYTES>(start);
                put16(header, UDP + 4, carried + 24);
                put16(header, GTP + 2, carried + 8);
                header[GTP + 4..GTP + 8].copy_from_slice(&key.to_be_bytes());
            }
            Encapsulation::Gre => {
                let (start, _) = self.before_packet::<GRE_ALL_BYTES>(slot, meta);
                let header = slot.window_mut::<GRE_ALL_BYTES>(start);
                put16(header, UDP + 2, if meta.ipv6 { EtherType::IPV6.0 } else { EtherType::IPV4.0 });
                header[UDP + 4..].copy_from_slice(&key.to_be_bytes());
            }
            Encapsulation::Vxlan => {
                let carried = meta.end - meta.start;
                let start = (meta.start as usize).saturating_sub(VXLAN_ALL_BYTES);
                self.outer::<VXLAN_ALL_BYTES>(slot, start, carried as u16);
                meta.start = start as u32;
                let header = slot.window_mut::<VXLAN_ALL_BYTES>(start);
                put16(header, UDP + 4, carried as u16 + 16);
                header[GTP + 4..GTP + 8].copy_from_slice(&(key << 8).to_be_bytes());
            }
        }
    }

    /// Replaces the Ethernet header of an IP packet, and removes its padding.
    #[inline(always)]
    fn before_packet<const N: usize>(&self, slot: &mut Slot, meta: &mut Meta) -> (usize, u16) {
        let start = (meta.l3 as usize).saturating_sub(N);
        self.outer::<N>(slot, start, meta.total as u16);
        (meta.start, meta.end) = (start as u32, meta.l3 + meta.total);
        (start, meta.total as u16)
    }

    /// Writes Ethernet and IP headers before `N` bytes of further headers and `carried` bytes of payload.
    #[inline(always)]
    fn outer<const N: usize>(&self, slot: &mut Slot, start: usize, carried: u16) {
        let total = carried + (N - ETHERNET_BYTES) as u16;
        let header = slot.window_mut::<N>(start);
        header.copy_from_slice(&self.bytes[..N]);
        put16(header, IP + 2, total);
        put16(header, IP + 10, !checksum::fold(self.sum + u32::from(total)));
    }
}

#[inline(always)]
fn put16<const N: usize>(header: &mut [u8; N], at: usize, value: u16) {
    header[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
