//! Link types: the first header of a capture's packets.

/// First header of a packet, as registered by tcpdump (`LINKTYPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: four bytes in the byte order of the capturing machine.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// An IP packet of either version.
    pub const RAW: Self = Self(101);
    /// BSD loopback in network order.
    pub const LOOP: Self = Self(108);
    /// Linux's "any" device, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// An IPv4 packet.
    pub const IPV4: Self = Self(228);
    /// An IPv6 packet.
    pub const IPV6: Self = Self(229);
    /// PDUs exported by Wireshark, or recorded by this program.
    pub const EXPORTED: Self = Self(252);
    /// Linux's "any" device, version 2.
    pub const LINUX_SLL2: Self = Self(276);
    /// Values that some systems write for [`LinkType::RAW`].
    pub const OTHER_RAW: [Self; 2] = [Self(12), Self(14)];
}
