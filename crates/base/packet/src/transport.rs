use super::{IPV4_BYTES, IPV6_BYTES, Ipv4Header, Ipv6Header, PacketError, Protocol, checksum, split, take};
use std::net::{IpAddr, SocketAddr};

/// Size of a UDP header, bytes.
pub const UDP_BYTES: usize = 8;
/// Size of a TCP header without options, bytes.
pub const TCP_BYTES: usize = 20;

/// A UDP datagram (RFC 768).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Checksum as received; 0 over IPv4 means none.
    pub checksum: u16,
    /// Payload, truncated at the datagram's length.
    pub payload: &'a [u8],
}

impl<'a> Udp<'a> {
    /// Decodes a datagram; bytes after its length are not part of it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<false>(bytes)
    }

    /// Like [`Udp::parse`], for an incomplete datagram: its first fragment, or the part in a capture.
    pub fn parse_captured(bytes: &'a [u8]) -> Result<Self, PacketError> {
        Self::read::<true>(bytes)
    }

    fn read<const CAPTURED: bool>(bytes: &'a [u8]) -> Result<Self, PacketError> {
        const LAYER: &str = "UDP";
        let ([s0, s1, d0, d1, l0, l1, c0, c1], _) = split::<UDP_BYTES>(LAYER, bytes)?;
        let announced = usize::from(u16::from_be_bytes([*l0, *l1]));
        if announced < UDP_BYTES {
            return Err(PacketError::Length { layer: LAYER, announced, least: UDP_BYTES });
        }
        Ok(Self {
            src_port: u16::from_be_bytes([*s0, *s1]),
            dst_port: u16::from_be_bytes([*d0, *d1]),
            checksum: u16::from_be_bytes([*c0, *c1]),
            payload: &take(LAYER, bytes, if CAPTURED { announced.min(bytes.len()) } else { announced })?
                [UDP_BYTES..],
        })
    }
}

/// Fields of a UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Bytes after the header; header and payload have at most 65,535 bytes together.
    pub payload_bytes: u16,
    /// Checksum to write; 0 for none.
    pub checksum: u16,
}

impl UdpHeader {
    /// Encodes the header; a payload of more than 65,527 bytes saturates the length.
    #[must_use]
    pub fn write(&self) -> [u8; UDP_BYTES] {
        let [s0, s1] = self.src_port.to_be_bytes();
        let [d0, d1] = self.dst_port.to_be_bytes();
        let [l0, l1] = self.payload_bytes.saturating_add(UDP_BYTES as u16).to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        [s0, s1, d0, d1, l0, l1, c0, c1]
    }
}

/// Returns the size of the IP and UDP headers of a datagram to `to`, bytes.
#[must_use]
pub const fn udp_headers_bytes(to: IpAddr) -> usize {
    UDP_BYTES + if to.is_ipv4() { IPV4_BYTES } else { IPV6_BYTES }
}

/// Writes the IP and UDP headers of a datagram to `head`, whose size must be [`udp_headers_bytes`]. Over IPv4 the UDP
/// checksum is 0 (none); IPv6 requires one (RFC 8200 §8.1). Returns `None` if the addresses have different versions,
/// the payload is too long, or `head` has the wrong size.
#[must_use]
pub fn write_udp(from: SocketAddr, to: SocketAddr, hops: u8, payload: &[u8], head: &mut [u8]) -> Option<()> {
    write_udp_marked(from, to, 0, hops, payload, head)
}

/// Writes headers like [`write_udp`], with a type of service or traffic class.
#[must_use]
pub fn write_udp_marked(
    from: SocketAddr,
    to: SocketAddr,
    traffic_class: u8,
    hops: u8,
    payload: &[u8],
    head: &mut [u8],
) -> Option<()> {
    let datagram = u16::try_from(UDP_BYTES + payload.len()).ok()?;
    let src_port = from.port();
    let dst_port = to.port();
    let mut udp = UdpHeader { src_port, dst_port, payload_bytes: datagram - UDP_BYTES as u16, checksum: 0 };
    let payload_bytes = datagram;
    let protocol = Protocol::UDP;
    let (ip_head, udp_head) = head.split_last_chunk_mut::<UDP_BYTES>()?;
    match (from.ip(), to.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let ip = Ipv4Header { traffic_class, payload_bytes, ttl: hops, protocol, src, dst };
            *<&mut [u8; IPV4_BYTES]>::try_from(ip_head).ok()? = ip.write();
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let next_header = protocol;
            let hop_limit = hops;
            let ip = Ipv6Header { traffic_class, payload_bytes, next_header, hop_limit, src, dst };
            *<&mut [u8; IPV6_BYTES]>::try_from(ip_head).ok()? = ip.write();
            let pseudo = checksum::pseudo_ipv6(src.octets(), dst.octets(), protocol.0, datagram.into());
            let sum = checksum::sum(payload, checksum::sum(&udp.write(), pseudo));
            // A checksum of 0 would mean "no checksum".
            udp.checksum = match !checksum::fold(sum) {
                0 => 0xffff,
                sum => sum,
            };
        }
        _ => return None,
    }
    *udp_head = udp.write();
    Some(())
}

/// TCP segment (RFC 9293 §3.1), with the fields that a middlebox needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Control bits; FIN is the lowest.
    pub flags: u8,
    /// Receive window.
    pub window: u16,
    /// Checksum as received.
    pub checksum: u16,
    /// Payload.
    pub payload: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Control bit FIN: the sender has no more data.
    pub const FIN: u8 = 1;
    /// Control bit SYN: the sender opens the connection.
    pub const SYN: u8 = 2;
    /// Control bit RST: the sender aborts the connection.
    pub const RST: u8 = 4;

    /// Decodes a segment that fills `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        const LAYER: &str = "TCP";
        let (header, _) = split::<TCP_BYTES>(LAYER, bytes)?;
        let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, offset, flags, w0, w1, c0, c1, ..] = *header;
        let header_bytes = usize::from(offset >> 4) * 4;
        if header_bytes < TCP_BYTES {
            return Err(PacketError::Length { layer: LAYER, announced: header_bytes, least: TCP_BYTES });
        }
        take(LAYER, bytes, header_bytes)?;
        Ok(Self {
            src_port: u16::from_be_bytes([s0, s1]),
            dst_port: u16::from_be_bytes([d0, d1]),
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            acknowledgment: u32::from_be_bytes([a0, a1, a2, a3]),
            flags,
            window: u16::from_be_bytes([w0, w1]),
            checksum: u16::from_be_bytes([c0, c1]),
            payload: &bytes[header_bytes..],
        })
    }
}
