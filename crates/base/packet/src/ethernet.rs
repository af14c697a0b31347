use super::{PacketError, split, take};
use std::fmt;

/// Size of an Ethernet header without tags, bytes.
pub const ETHERNET_BYTES: usize = 14;
/// Size of a VLAN tag, bytes.
pub const VLAN_TAG_BYTES: usize = 4;

/// A MAC address (IEEE 802 EUI-48).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns a locally administered unicast address for our ports. Different indices give different addresses.
    pub fn local(index: u32) -> Self {
        let [a, b, c, d] = index.to_be_bytes();
        Self([0x02, 0x4d, a, b, c, d])
    }

    /// Returns the address as the low 48 bits of an integer; the first byte is the most significant.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// Creates an address from the low 48 bits of an integer, the inverse of [`Mac::to_u64`]. Higher bits are ignored.
    #[must_use]
    pub const fn from_u64(value: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = value.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// Returns whether the address is a group address (IEEE 802: the lowest bit of the first byte).
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a MAC address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a MAC address; write six bytes like 02:4d:00:00:00:01")]
pub struct NotAMac(String);

impl std::str::FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let wrong = || NotAMac(text.to_owned());
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() <= 2).ok_or_else(wrong)?;
            *octet = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_none() { Ok(Self(octets)) } else { Err(wrong()) }
    }
}

/// EtherType: payload type of an Ethernet frame (IEEE 802 registry).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    ranlab_machine::codes! { Self:
        IPV4 = 0x0800 "IPv4 (RFC 894).";
        ARP = 0x0806 "ARP (RFC 826).";
        VLAN = 0x8100 "A customer VLAN tag (IEEE 802.1Q).";
        SERVICE_VLAN = 0x88a8 "A service VLAN tag (IEEE 802.1ad).";
        OLD_SERVICE_VLAN = 0x9100 "A service VLAN tag from before IEEE 802.1ad.";
        BRIDGED = 0x6558 "Transparent Ethernet bridging: an Ethernet frame within GRE.";
        IPV6 = 0x86dd "IPv6 (RFC 2464).";
    }
}

/// Tag control information of IEEE 802.1Q §9.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// VLAN identifier, 0 to 4095.
    pub vlan_id: u16,
}

impl VlanTag {
    /// Decodes the bytes after the EtherType of a tag. Returns the tag, the EtherType after it, and the rest.
    pub fn parse(bytes: &[u8]) -> Result<(Self, EtherType, &[u8]), PacketError> {
        let ([c0, c1, t0, t1], rest) = split::<VLAN_TAG_BYTES>("VLAN tag", bytes)?;
        let ether_type = EtherType(u16::from_be_bytes([*t0, *t1]));
        Ok((Self::from_u16(u16::from_be_bytes([*c0, *c1])), ether_type, rest))
    }

    /// Decodes the two bytes of tag control information.
    #[must_use]
    pub const fn from_u16(tci: u16) -> Self {
        Self { priority: (tci >> 13) as u8, drop_eligible: tci & 0x1000 != 0, vlan_id: tci & 0x0fff }
    }

    /// Encodes the two bytes of tag control information; bits beyond a field's width are truncated.
    #[must_use]
    pub const fn to_u16(self) -> u16 {
        (self.priority as u16 & 7) << 13 | (self.drop_eligible as u16) << 12 | self.vlan_id & 0x0fff
    }
}

/// Ethernet header with at most one VLAN tag. A second tag stays in the payload, with its own EtherType.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ethernet<'a> {
    /// Destination address.
    pub dst: Mac,
    /// Source address.
    pub src: Mac,
    /// The outermost VLAN tag.
    pub vlan: Option<VlanTag>,
    /// EtherType after the tag.
    pub ether_type: EtherType,
    /// All bytes after the header, including padding.
    pub payload: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// Decodes a frame without its frame check sequence.
    pub fn parse(frame: &'a [u8]) -> Result<Self, PacketError> {
        let (header, mut payload) = split::<ETHERNET_BYTES>("Ethernet", frame)?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *header;
        let mut ether_type = EtherType(u16::from_be_bytes([t0, t1]));
        let mut vlan = None;
        if matches!(ether_type, EtherType::VLAN | EtherType::SERVICE_VLAN) {
            let tag;
            (tag, ether_type, payload) = VlanTag::parse(payload)?;
            vlan = Some(tag);
        }
        let dst = Mac([d0, d1, d2, d3, d4, d5]);
        let src = Mac([s0, s1, s2, s3, s4, s5]);
        Ok(Self { dst, src, vlan, ether_type, payload })
    }
}

/// Encodes an untagged Ethernet header.
#[must_use]
pub const fn write_ethernet(dst: Mac, src: Mac, ether_type: EtherType) -> [u8; ETHERNET_BYTES] {
    let [a, b, c, d, e, f] = dst.0;
    let [g, h, i, j, k, l] = src.0;
    let [m, n] = ether_type.0.to_be_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
}

/// Frame of a capture on Linux's "any" device: a special header replaces the link-layer header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cooked<'a> {
    /// EtherType of the payload. For links that are not similar to Ethernet, it can be a number of another registry.
    pub ether_type: EtherType,
    /// All bytes after the header.
    pub payload: &'a [u8],
}

impl<'a> Cooked<'a> {
    /// Decodes version 1 (`LINKTYPE_LINUX_SLL`), which has the protocol in the last field.
    pub fn parse_v1(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<16>(bytes, 14)
    }

    /// Decodes version 2 (`LINKTYPE_LINUX_SLL2`), which has the protocol in the first field.
    pub fn parse_v2(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<20>(bytes, 0)
    }

    fn read<const N: usize>(bytes: &'a [u8], protocol_at: usize) -> Result<Self, PacketError> {
        let head = take("Linux cooked", bytes, N)?;
        let ether_type = EtherType(u16::from_be_bytes([head[protocol_at], head[protocol_at + 1]]));
        Ok(Self { ether_type, payload: &bytes[N..] })
    }
}
