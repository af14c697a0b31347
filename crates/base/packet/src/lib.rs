//! Packets on a link or in a capture, without sockets: headers, tunnels, capture files, programs for XDP.
//!
//! | module | content |
//! |---|---|
//! | (root) | Ethernet with VLAN tags, IPv4, IPv6, UDP, TCP, SCTP, GRE and VXLAN |
//! | [`checksum`] | the Internet checksum |
//! | [`gtpu`] | GTP-U: tunnels between base stations and user plane functions |
//! | [`pcap`] | capture files, pcap and pcapng |
//! | [`memif`] | both endpoints of memif's control channel: packets in shared memory between two programs |
//! | [`ebpf`] | an assembler for the kernel's packet programs |
//!
//! Each header has a view (`parse`: borrowed, limited by its own length fields) and a writer (`write`: into a
//! caller's array, for use as a template). A view returns the fields as received; the forwarding code decides whether
//! they are acceptable. A wrong checksum is reported, but is not an error.
#![deny(missing_docs)]

mod bucket;
pub mod checksum;
pub mod ebpf;
mod ethernet;
mod frame;
pub mod gtpu;
mod ip;
pub mod memif;
pub mod pcap;
mod sctp;
mod transport;
mod tunnel;

pub use bucket::TokenBucket;
pub use ethernet::{
    Cooked, ETHERNET_BYTES, EtherType, Ethernet, Mac, NotAMac, VLAN_TAG_BYTES, VlanTag, write_ethernet,
};
pub use frame::UdpFrame;
pub use ip::{IPV4_BYTES, IPV6_BYTES, Ip, Ipv4, Ipv4Header, Ipv6, Ipv6Header, Protocol};
pub use sctp::{SCTP_BYTES, SCTP_DATA_BYTES, Sctp, SctpChunk, SctpData};
pub use transport::{
    TCP_BYTES, Tcp, UDP_BYTES, Udp, UdpHeader, udp_headers_bytes, write_udp, write_udp_marked,
};
pub use tunnel::{GRE_BYTES, Gre, GreHeader, VXLAN_BYTES, VXLAN_PORT, Vxlan, write_vxlan};

/// The reason why bytes are not a valid header. The cause is always the sender, or the program that truncated the
/// capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The bytes end within a header, or within the length that a header announces.
    #[error("{layer} needs {needs} bytes, {has} are available")]
    Truncated {
        /// Name of the truncated header.
        layer: &'static str,
        /// Needed or announced size, bytes.
        needs: usize,
        /// Available bytes from the start of the header.
        has: usize,
    },
    /// The version or type field belongs to another protocol.
    #[error("{layer} has version {version}, {expected} is allowed")]
    Version {
        /// Name of the affected header.
        layer: &'static str,
        /// Version or type in the header.
        version: u8,
        /// The only allowed value.
        expected: u8,
    },
    /// A length field is smaller than the header itself.
    #[error("{layer} announces {announced} bytes, its header alone takes {least}")]
    Length {
        /// Name of the affected header.
        layer: &'static str,
        /// Length field, bytes.
        announced: usize,
        /// Smallest valid value.
        least: usize,
    },
    /// A reserved bit is set that changes the layout in an undefined way.
    #[error("{layer} sets the reserved bits {bits:#06x}")]
    Reserved {
        /// Name of the affected header.
        layer: &'static str,
        /// The unexpected bits, in their positions.
        bits: u16,
    },
}

impl PacketError {
    /// Returns the name of the affected header.
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

/// Returns the first `N` bytes and the rest.
fn split<'a, const N: usize>(
    layer: &'static str,
    bytes: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), PacketError> {
    bytes.split_first_chunk().ok_or(PacketError::Truncated { layer, needs: N, has: bytes.len() })
}

/// Returns the first `needs` bytes of `bytes`.
fn take<'a>(layer: &'static str, bytes: &'a [u8], needs: usize) -> Result<&'a [u8], PacketError> {
    bytes.get(..needs).ok_or(PacketError::Truncated { layer, needs, has: bytes.len() })
}

#[cfg(test)]
mod tests;
