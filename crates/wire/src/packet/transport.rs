use super::{PacketError, split, take};

/// Octets of a UDP header.
pub const UDP_BYTES: usize = 8;
/// Octets of a TCP header without options.
pub const TCP_BYTES: usize = 20;

/// A UDP datagram (RFC 768).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// The checksum as it stands; 0 over IPv4 means none.
    pub checksum: u16,
    /// What the datagram carries, cut at its length.
    pub payload: &'a [u8],
}

impl<'a> Udp<'a> {
    /// Reads a datagram; octets after its length are left out.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
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
            payload: &take(LAYER, bytes, announced)?[UDP_BYTES..],
        })
    }
}

/// What a UDP header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Octets after the header; together at most 65,535.
    pub payload_bytes: u16,
    /// The checksum as it shall stand; 0 for none.
    pub checksum: u16,
}

impl UdpHeader {
    /// The header; a payload beyond 65,527 octets saturates the length.
    #[must_use]
    pub fn write(&self) -> [u8; UDP_BYTES] {
        let [s0, s1] = self.src_port.to_be_bytes();
        let [d0, d1] = self.dst_port.to_be_bytes();
        let [l0, l1] = self.payload_bytes.saturating_add(UDP_BYTES as u16).to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        [s0, s1, d0, d1, l0, l1, c0, c1]
    }
}

/// A TCP segment (RFC 9293 §3.1), as far as a middlebox reads it.
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
    /// Control bits, FIN lowest.
    pub flags: u8,
    /// Receive window.
    pub window: u16,
    /// The checksum as it stands.
    pub checksum: u16,
    /// What the segment carries.
    pub payload: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Reads a segment that fills `bytes`.
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
