use super::{PacketError, split};

/// Size of the common header, bytes.
pub const SCTP_BYTES: usize = 12;
/// Size of a DATA chunk before its user data, bytes.
pub const SCTP_DATA_BYTES: usize = 16;

/// SCTP packet (RFC 9260 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sctp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Verification tag, chosen by the receiver for each association.
    pub verification_tag: u32,
    /// CRC-32C as received.
    pub checksum: u32,
    /// Bytes of the chunks.
    pub payload: &'a [u8],
}

impl<'a> Sctp<'a> {
    /// Decodes a packet that fills `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let (header, payload) = split::<SCTP_BYTES>("SCTP", bytes)?;
        let [s0, s1, d0, d1, v0, v1, v2, v3, c0, c1, c2, c3] = *header;
        Ok(Self {
            src_port: u16::from_be_bytes([s0, s1]),
            dst_port: u16::from_be_bytes([d0, d1]),
            verification_tag: u32::from_be_bytes([v0, v1, v2, v3]),
            checksum: u32::from_be_bytes([c0, c1, c2, c3]),
            payload,
        })
    }

    /// Returns the chunks in order, up to the first malformed or truncated chunk.
    pub fn chunks(&self) -> impl Iterator<Item = Result<SctpChunk<'a>, PacketError>> {
        let mut rest = self.payload;
        std::iter::from_fn(move || {
            let [kind, flags, l0, l1, ..] = *rest else { return None };
            let chunk = SctpChunk::value(rest, u16::from_be_bytes([l0, l1]).into());
            rest = chunk.map_or(&[], |(_, after)| after);
            Some(chunk.map(|(value, _)| SctpChunk { kind, flags, value }))
        })
    }
}

/// SCTP chunk (RFC 9260 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SctpChunk<'a> {
    /// Chunk type.
    pub kind: u8,
    /// Chunk flags.
    pub flags: u8,
    /// Bytes after the length field, without padding.
    pub value: &'a [u8],
}

impl<'a> SctpChunk<'a> {
    /// Type of a DATA chunk.
    pub const DATA: u8 = 0;
    /// Type of an I-DATA chunk (RFC 8260).
    pub const I_DATA: u8 = 64;
    /// Size of type, flags and length, bytes.
    const HEADER_BYTES: usize = 4;

    /// Returns the value of the chunk at the start of `bytes`, and the bytes after its padding.
    fn value(bytes: &'a [u8], announced: usize) -> Result<(&'a [u8], &'a [u8]), PacketError> {
        const LAYER: &str = "SCTP chunk";
        let least = Self::HEADER_BYTES;
        if announced < least {
            return Err(PacketError::Length { layer: LAYER, announced, least });
        }
        let truncated = PacketError::Truncated { layer: LAYER, needs: announced, has: bytes.len() };
        let value = bytes.get(least..announced).ok_or(truncated)?;
        Ok((value, bytes.get(announced.next_multiple_of(4)..).unwrap_or(&[])))
    }
}

/// A DATA chunk (RFC 9260 §3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SctpData<'a> {
    /// Whether this is the first fragment of its user message.
    pub begins: bool,
    /// Whether this is the last fragment of its user message.
    pub ends: bool,
    /// Transmission sequence number; fragments of a message have consecutive numbers.
    pub tsn: u32,
    /// Stream identifier.
    pub stream_id: u16,
    /// Stream sequence number, the same for all fragments of a message.
    pub stream_sequence: u16,
    /// Payload protocol identifier (IANA); 0 for none.
    pub payload_protocol: u32,
    /// The user data.
    pub payload: &'a [u8],
}

impl<'a> SctpData<'a> {
    /// Decodes a chunk. The caller checks its type.
    pub fn parse(chunk: &SctpChunk<'a>) -> Result<Self, PacketError> {
        let (header, payload) =
            split::<{ SCTP_DATA_BYTES - SctpChunk::HEADER_BYTES }>("SCTP DATA", chunk.value)?;
        let [t0, t1, t2, t3, i0, i1, n0, n1, p0, p1, p2, p3] = *header;
        Ok(Self {
            begins: chunk.flags & 2 != 0,
            ends: chunk.flags & 1 != 0,
            tsn: u32::from_be_bytes([t0, t1, t2, t3]),
            stream_id: u16::from_be_bytes([i0, i1]),
            stream_sequence: u16::from_be_bytes([n0, n1]),
            payload_protocol: u32::from_be_bytes([p0, p1, p2, p3]),
            payload,
        })
    }
}
