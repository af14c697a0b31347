use super::{EtherType, PacketError, split};

/// Size of a GRE header without optional fields, bytes.
pub const GRE_BYTES: usize = 4;
/// Size of a VXLAN header, bytes.
pub const VXLAN_BYTES: usize = 8;
/// UDP destination port of VXLAN (RFC 7348 §5).
pub const VXLAN_PORT: u16 = 4789;

const GRE_CHECKSUM: u16 = 0x8000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;
/// Bits that RFC 1701 used for routing, strict source route and recursion. A receiver discards packets with these bits
/// (RFC 2784 §2.3).
const GRE_RESERVED: u16 = 0x4c00;

/// A GRE packet (RFC 2784) with key and sequence number (RFC 2890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gre<'a> {
    /// Key, if present.
    pub key: Option<u32>,
    /// Sequence number, if present.
    pub sequence: Option<u32>,
    /// Checksum as received, if present.
    pub checksum: Option<u16>,
    /// Protocol of the payload.
    pub protocol: EtherType,
    /// Payload.
    pub payload: &'a [u8],
}

impl<'a> Gre<'a> {
    /// Decodes a packet that fills `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        const LAYER: &str = "GRE";
        let ([f0, f1, p0, p1], mut rest) = split::<GRE_BYTES>(LAYER, bytes)?;
        let flags = u16::from_be_bytes([*f0, *f1]);
        if flags & 7 != 0 {
            return Err(PacketError::Version { layer: LAYER, version: (flags & 7) as u8, expected: 0 });
        }
        if flags & GRE_RESERVED != 0 {
            return Err(PacketError::Reserved { layer: LAYER, bits: flags & GRE_RESERVED });
        }
        let mut word = |flag: u16| -> Result<Option<[u8; 4]>, PacketError> {
            if flags & flag == 0 {
                return Ok(None);
            }
            let (word, after) = split::<4>(LAYER, rest)?;
            rest = after;
            Ok(Some(*word))
        };
        let checksum = word(GRE_CHECKSUM)?.map(|[a, b, ..]| u16::from_be_bytes([a, b]));
        let key = word(GRE_KEY)?.map(u32::from_be_bytes);
        let sequence = word(GRE_SEQUENCE)?.map(u32::from_be_bytes);
        Ok(Self {
            key,
            sequence,
            checksum,
            protocol: EtherType(u16::from_be_bytes([*p0, *p1])),
            payload: rest,
        })
    }
}

/// GRE header with a key and no other optional field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GreHeader {
    /// Protocol of the payload.
    pub protocol: EtherType,
    /// Key (RFC 2890 §2.1).
    pub key: u32,
}

impl GreHeader {
    /// Encodes the header's eight bytes.
    #[must_use]
    pub const fn write(&self) -> [u8; GRE_BYTES + 4] {
        let [f0, f1] = GRE_KEY.to_be_bytes();
        let [p0, p1] = self.protocol.0.to_be_bytes();
        let [k0, k1, k2, k3] = self.key.to_be_bytes();
        [f0, f1, p0, p1, k0, k1, k2, k3]
    }
}

/// A VXLAN packet (RFC 7348 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vxlan<'a> {
    /// VXLAN network identifier, 24 bits; `None` if its valid flag is not set.
    pub vni: Option<u32>,
    /// Encapsulated Ethernet frame.
    pub frame: &'a [u8],
}

impl<'a> Vxlan<'a> {
    /// Decodes a packet that fills `bytes`; reserved fields are ignored on receipt, as the RFC requires.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let ([flags, _, _, _, v0, v1, v2, _], frame) = split::<VXLAN_BYTES>("VXLAN", bytes)?;
        let vni = u32::from_be_bytes([0, *v0, *v1, *v2]);
        Ok(Self { vni: (flags & 0x08 != 0).then_some(vni), frame })
    }
}

/// Encodes a VXLAN header with the low 24 bits of `vni`.
#[must_use]
pub const fn write_vxlan(vni: u32) -> [u8; VXLAN_BYTES] {
    let [_, v0, v1, v2] = vni.to_be_bytes();
    [0x08, 0, 0, 0, v0, v1, v2, 0]
}
