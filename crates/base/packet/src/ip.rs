use super::{PacketError, checksum, split, take};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Size of an IPv4 header without options, bytes.
pub const IPV4_BYTES: usize = 20;
/// Size of the fixed IPv6 header, bytes.
pub const IPV6_BYTES: usize = 40;
/// Maximum number of IPv6 extension headers that are skipped.
const EXTENSIONS_MAX: usize = 16;

/// Payload type of an IP packet (IANA protocol numbers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    ranlab_machine::codes! { Self:
        ICMP = 1 "ICMP.";
        TCP = 6 "TCP.";
        UDP = 17 "UDP.";
        GRE = 47 "GRE.";
        ICMPV6 = 58 "ICMP for IPv6.";
        SCTP = 132 "SCTP.";
    }
}

/// An IPv4 packet (RFC 791).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4<'a> {
    /// Differentiated services and congestion notification.
    pub traffic_class: u8,
    /// Total length field: size of the packet including the header, bytes.
    pub total_bytes: u16,
    /// Identification, for reassembly.
    pub id: u16,
    /// Do not fragment.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// Offset of this fragment, bytes.
    pub fragment_offset_bytes: u16,
    /// Time to live, in hops.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Header checksum as received.
    pub checksum: u16,
    /// Whether the header checksum is correct.
    pub checksum_ok: bool,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Complete header, including options.
    pub header: &'a [u8],
    /// Payload, truncated at the total length.
    pub payload: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// Decodes a packet; bytes after its total length (Ethernet padding) are not part of it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<false>(bytes)
    }

    /// Like [`Ipv4::parse`], for a packet from a capture. It can be truncated, or have a total length of 0 because
    /// the network card segments it later.
    pub fn parse_captured(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<true>(bytes)
    }

    fn read<const CAPTURED: bool>(bytes: &'a [u8]) -> Result<Self, PacketError> {
        const LAYER: &str = "IPv4";
        let (fixed, _) = split::<IPV4_BYTES>(LAYER, bytes)?;
        let [first, traffic_class, l0, l1, i0, i1, f0, f1, ttl, protocol, c0, c1, addresses @ ..] = *fixed;
        if first >> 4 != 4 {
            return Err(PacketError::Version { layer: LAYER, version: first >> 4, expected: 4 });
        }
        let header_bytes = usize::from(first & 15) * 4;
        let total_bytes = u16::from_be_bytes([l0, l1]);
        if header_bytes < IPV4_BYTES {
            return Err(PacketError::Length { layer: LAYER, announced: header_bytes, least: IPV4_BYTES });
        }
        let announced = if CAPTURED && total_bytes == 0 { bytes.len() } else { total_bytes.into() };
        if announced < header_bytes {
            return Err(PacketError::Length { layer: LAYER, announced, least: header_bytes });
        }
        let packet = take(LAYER, bytes, if CAPTURED { announced.min(bytes.len()) } else { announced })?;
        let header = take(LAYER, packet, header_bytes)?;
        let payload = &packet[header_bytes..];
        let [s0, s1, s2, s3, d0, d1, d2, d3] = addresses;
        let fragment = u16::from_be_bytes([f0, f1]);
        Ok(Self {
            traffic_class,
            total_bytes,
            id: u16::from_be_bytes([i0, i1]),
            dont_fragment: fragment & 0x4000 != 0,
            more_fragments: fragment & 0x2000 != 0,
            fragment_offset_bytes: (fragment & 0x1fff) << 3,
            ttl,
            protocol: Protocol(protocol),
            checksum: u16::from_be_bytes([c0, c1]),
            checksum_ok: checksum::verifies(header),
            src: Ipv4Addr::new(s0, s1, s2, s3),
            dst: Ipv4Addr::new(d0, d1, d2, d3),
            header,
            payload,
        })
    }

    /// Returns whether this packet is a fragment of a datagram, including the first one.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset_bytes != 0
    }
}

/// Fields of an IPv4 header without options. Identification is 0 and fragmentation forbidden (RFC 6864 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Differentiated services and congestion notification.
    pub traffic_class: u8,
    /// Bytes after the header; header and payload have at most 65,535 bytes together.
    pub payload_bytes: u16,
    /// Time to live, in hops.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
}

impl Ipv4Header {
    /// Encodes the header with its checksum; a payload of more than 65,515 bytes saturates the total length.
    #[must_use]
    pub fn write(&self) -> [u8; IPV4_BYTES] {
        let mut out = [0; IPV4_BYTES];
        out[0] = 0x45;
        out[1] = self.traffic_class;
        out[2..4].copy_from_slice(&self.payload_bytes.saturating_add(IPV4_BYTES as u16).to_be_bytes());
        out[6] = 0x40;
        out[8] = self.ttl;
        out[9] = self.protocol.0;
        out[12..16].copy_from_slice(&self.src.octets());
        out[16..20].copy_from_slice(&self.dst.octets());
        let sum = checksum::checksum(&out);
        out[10..12].copy_from_slice(&sum.to_be_bytes());
        out
    }
}

/// IPv6 packet (RFC 8200); extension headers are part of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6<'a> {
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Protocol after the fixed header.
    pub next_header: Protocol,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Bytes after the fixed header, truncated at the payload length.
    pub payload: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// Decodes a packet; bytes after its payload length are not part of it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<false>(bytes)
    }

    /// Like [`Ipv6::parse`], for a packet from a capture. It can be truncated, or have a payload length of 0 because
    /// the network card segments it later.
    pub fn parse_captured(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<true>(bytes)
    }

    fn read<const CAPTURED: bool>(bytes: &'a [u8]) -> Result<Self, PacketError> {
        const LAYER: &str = "IPv6";
        let (fixed, rest) = split::<IPV6_BYTES>(LAYER, bytes)?;
        let [v0, v1, v2, v3, l0, l1, next_header, hop_limit, addresses @ ..] = fixed;
        let word = u32::from_be_bytes([*v0, *v1, *v2, *v3]);
        let version = (word >> 28) as u8;
        if version != 6 {
            return Err(PacketError::Version { layer: LAYER, version, expected: 6 });
        }
        let payload = match usize::from(u16::from_be_bytes([*l0, *l1])) {
            0 if CAPTURED => rest,
            announced if CAPTURED => &rest[..announced.min(rest.len())],
            announced => take(LAYER, rest, announced)?,
        };
        let mut src = [0; 16];
        let mut dst = [0; 16];
        src.copy_from_slice(&addresses[..16]);
        dst.copy_from_slice(&addresses[16..]);
        Ok(Self {
            traffic_class: (word >> 20) as u8,
            flow_label: word & 0x000f_ffff,
            next_header: Protocol(*next_header),
            hop_limit: *hop_limit,
            src: src.into(),
            dst: dst.into(),
            payload,
        })
    }
}

/// IP packet of either version from a capture: addresses, protocol and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip<'a> {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Whether this packet is a fragment of a datagram, including the first one.
    pub is_fragment: bool,
    /// Payload after the IPv6 extension headers. For a fragment, the bytes after the fragment header.
    pub payload: &'a [u8],
}

impl<'a> Ip<'a> {
    /// Decodes a packet that a capture may have truncated, like [`Ipv4::parse_captured`] and
    /// [`Ipv6::parse_captured`].
    pub fn parse_captured(bytes: &'a [u8]) -> Result<Self, PacketError> {
        if bytes.first().is_none_or(|first| first >> 4 != 6) {
            let ip = Ipv4::parse_captured(bytes)?;
            let src = ip.src.into();
            let dst = ip.dst.into();
            let is_fragment = ip.is_fragment();
            return Ok(Self { src, dst, protocol: ip.protocol, is_fragment, payload: ip.payload });
        }
        let ip = Ipv6::parse_captured(bytes)?;
        let src = ip.src.into();
        let dst = ip.dst.into();
        let protocol = ip.next_header;
        Self { src, dst, protocol, is_fragment: false, payload: ip.payload }.behind_extensions()
    }

    /// Skips the extension headers of RFC 8200 §4.
    fn behind_extensions(mut self) -> Result<Self, PacketError> {
        const LAYER: &str = "IPv6 extension";
        for _ in 0..EXTENSIONS_MAX {
            // Hop-by-hop, routing, fragment, authentication, destination options.
            let (0 | 43 | 44 | 51 | 60) = self.protocol.0 else { break };
            let ([next, length, offset_0, offset_1], _) = split::<4>(LAYER, self.payload)?;
            let bytes = match self.protocol.0 {
                44 => 8,
                // The authentication header counts 4-byte units after the first 8 bytes, the other headers count
                // 8-byte units after the first 8 bytes.
                51 => 8 + usize::from(*length) * 4,
                _ => 8 + usize::from(*length) * 8,
            };
            take(LAYER, self.payload, bytes)?;
            // Fragment offset and "more fragments". An atomic fragment (RFC 6946: both are 0) has the whole datagram.
            self.is_fragment =
                self.protocol.0 == 44 && u16::from_be_bytes([*offset_0, *offset_1]) & 0xfff9 != 0;
            (self.protocol, self.payload) = (Protocol(*next), &self.payload[bytes..]);
            if self.is_fragment {
                break;
            }
        }
        Ok(self)
    }
}

/// Fields of a fixed IPv6 header; the flow label is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Traffic class.
    pub traffic_class: u8,
    /// Bytes after the fixed header.
    pub payload_bytes: u16,
    /// Protocol after the fixed header.
    pub next_header: Protocol,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
}

impl Ipv6Header {
    /// Encodes the header.
    #[must_use]
    pub fn write(&self) -> [u8; IPV6_BYTES] {
        let mut out = [0; IPV6_BYTES];
        out[..4].copy_from_slice(&(6 << 28 | u32::from(self.traffic_class) << 20).to_be_bytes());
        out[4..6].copy_from_slice(&self.payload_bytes.to_be_bytes());
        out[6] = self.next_header.0;
        out[7] = self.hop_limit;
        out[8..24].copy_from_slice(&self.src.octets());
        out[24..].copy_from_slice(&self.dst.octets());
        out
    }
}
