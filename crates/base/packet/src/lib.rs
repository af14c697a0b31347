//! Packets as a switch or a capture sees them, without sockets: headers, tunnels, capture files, programs for XDP.
//!
//! | module | content |
//! |---|---|
//! | (root) | Ethernet with VLAN tags, IPv4, IPv6, UDP, TCP, SCTP, GRE and VXLAN |
//! | [`checksum`] | the Internet checksum |
//! | [`gtpu`] | GTP-U: tunnels between base stations and user plane functions |
//! | [`pcap`] | capture files, pcap and pcapng |
//! | [`ebpf`] | an assembler for the kernel's packet programs |
//!
//! Each header has a view (`parse`: borrowed, bounded by its own length fields) and a writer (`write`: into an array of the
//! caller, so that a header becomes a template). A view says what a header contains. Whether it is acceptable is decided by the
//! code that forwards the packet: a wrong checksum is reported, not refused.
#![deny(missing_docs)]

pub mod checksum;
pub mod ebpf;
mod ethernet;
pub mod gtpu;
mod ip;
pub mod pcap;
mod sctp;
mod transport;
mod tunnel;

pub use ethernet::{
    Cooked, ETHERNET_BYTES, EtherType, Ethernet, Mac, NotAMac, VLAN_TAG_BYTES, VlanTag, write_ethernet,
};
pub use ip::{IPV4_BYTES, IPV6_BYTES, Ip, Ipv4, Ipv4Header, Ipv6, Ipv6Header, Protocol};
pub use sctp::{SCTP_BYTES, SCTP_DATA_BYTES, Sctp, SctpChunk, SctpData};
pub use transport::{TCP_BYTES, Tcp, UDP_BYTES, Udp, UdpHeader, udp_headers_bytes, write_udp};
pub use tunnel::{GRE_BYTES, Gre, GreHeader, VXLAN_BYTES, VXLAN_PORT, Vxlan, write_vxlan};

/// Why bytes are no such header. Always the sender's fault (or that of whoever cut the capture).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The bytes end within a header or within the length that a header announces.
    #[error("{layer} needs {needs} octets, {has} are there")]
    Truncated {
        /// The header that is cut.
        layer: &'static str,
        /// Octets that the header takes or announces.
        needs: usize,
        /// Octets that follow from its start.
        has: usize,
    },
    /// A version or type field names another protocol.
    #[error("{layer} has version {version}, {expected} is allowed")]
    Version {
        /// The header in question.
        layer: &'static str,
        /// What stands there.
        version: u8,
        /// The one value that is allowed.
        expected: u8,
    },
    /// A length field is smaller than the header itself.
    #[error("{layer} announces {announced} octets, its header alone takes {least}")]
    Length {
        /// The header in question.
        layer: &'static str,
        /// What the length field says, in octets.
        announced: usize,
        /// The least it may say.
        least: usize,
    },
    /// A bit that the standard reserves changes the layout in a way nobody has defined.
    #[error("{layer} sets the reserved bits {bits:#06x}")]
    Reserved {
        /// The header in question.
        layer: &'static str,
        /// The offending bits, in place.
        bits: u16,
    },
}

impl PacketError {
    /// The header that is at fault.
    #[must_use]
    pub const fn layer(&self) -> &'static str {
        match self {
            Self::Truncated { layer, .. }
            | Self::Version { layer, .. }
            | Self::Length { layer, .. }
            | Self::Reserved { layer, .. } => layer,
        }
    }
}

/// The first `N` octets and what follows them.
fn split<'a, const N: usize>(
    layer: &'static str,
    bytes: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), PacketError> {
    bytes.split_first_chunk().ok_or(PacketError::Truncated { layer, needs: N, has: bytes.len() })
}

/// The first `needs` octets of `bytes`.
fn take<'a>(layer: &'static str, bytes: &'a [u8], needs: usize) -> Result<&'a [u8], PacketError> {
    bytes.get(..needs).ok_or(PacketError::Truncated { layer, needs, has: bytes.len() })
}

#[cfg(test)]
mod tests;
