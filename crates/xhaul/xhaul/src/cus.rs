//! User-plane messages of the O-RAN fronthaul (O-RAN.WG4.CUS clause 8): what stands behind the eCPRI header of a message
//! of type 0, with one section and a compression header.

use bytes::BufMut;

/// Bytes of the application header, the section header and the compression header with its reserved byte.
pub const HEADER_SIZE: usize = 4 + 4 + 2;
/// Payload version of the user plane.
const PAYLOAD_VERSION: u8 = 1;
/// End bit of SEQ_ID: the message is whole, or the last part of one.
const END_BIT: u16 = 0x80;
/// Compression method block floating point.
const BLOCK_FLOATING_POINT: u8 = 1;
/// The greatest number of PRBs that the section header holds; above, 0 stands for all.
const PRBS_MAX: u16 = 255;

/// Header of a user-plane message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserPlane {
    /// Whether the data goes from the DU to the radio unit.
    pub down: bool,
    /// Number of the radio frame, modulo 256.
    pub frame: u8,
    /// Subframe of 1 ms, 0 to 9.
    pub subframe: u8,
    /// Slot of the subframe, 0 to 63.
    pub slot: u8,
    /// Symbol of the slot, 0 to 13.
    pub symbol: u8,
    /// Section, 0 to 4095.
    pub section: u16,
    /// First PRB, 0 to 1023.
    pub first_prb: u16,
    /// Number of PRBs, 1 to 255; 0: all of the carrier.
    pub prbs: u8,
    /// Bits of a sample's mantissa, 1 to 16; 16 is uncompressed.
    pub mantissa_bits: u8,
}

/// Reason why bytes are not a user-plane message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CusError {
    /// Too short.
    #[error("a user-plane message has at least {HEADER_SIZE} bytes, not {0}")]
    Short(usize),
    /// Unknown payload version.
    #[error("the payload version of the user plane is {PAYLOAD_VERSION}, not {0}")]
    Version(u8),
}

impl UserPlane {
    /// The header of the symbol with this number since the start of frame 0, in a carrier with this many slots a
    /// millisecond.
    pub fn at_symbol(down: bool, symbol: u64, slots_per_ms: u64) -> Self {
        let slot = symbol / 14;
        let subframe = slot / slots_per_ms.max(1);
        // Each is reduced to its field.
        Self {
            down,
            frame: (subframe / 10 % 256) as u8,
            subframe: (subframe % 10) as u8,
            slot: (slot % slots_per_ms.max(1)) as u8,
            symbol: (symbol % 14) as u8,
            section: 0,
            first_prb: 0,
            prbs: 0,
            mantissa_bits: 9,
        }
    }

    /// Sets the PRBs: `count` from `first` on; all of the carrier if they are more than the field holds.
    pub fn with_prbs(self, first: u16, count: u16) -> Self {
        match u8::try_from(count) {
            Ok(prbs) if count <= PRBS_MAX => Self { first_prb: first, prbs, ..self },
            _ => Self { first_prb: 0, prbs: 0, ..self },
        }
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_u8(u8::from(self.down) << 7 | PAYLOAD_VERSION << 4);
        out.put_u8(self.frame);
        out.put_u8(self.subframe << 4 | self.slot >> 2);
        out.put_u8(self.slot << 6 | self.symbol);
        out.put_u8((self.section >> 4) as u8);
        out.put_u8(((self.section & 0xF) << 4) as u8 | (self.first_prb >> 8 & 3) as u8);
        out.put_u8(self.first_prb as u8);
        out.put_u8(self.prbs);
        // A width of 16 bits is written as 0.
        let method = if self.mantissa_bits < 16 { BLOCK_FLOATING_POINT } else { 0 };
        out.put_u8(self.mantissa_bits << 4 | method);
        out.put_u8(0);
    }

    /// Decodes a header; returns the bytes behind it too. A section without compression header (static compression)
    /// has two bytes of samples there, which `mantissa_bits` then shows as a width.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), CusError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_SIZE>() else {
            return Err(CusError::Short(bytes.len()));
        };
        let version = header[0] >> 4 & 7;
        if version != PAYLOAD_VERSION {
            return Err(CusError::Version(version));
        }
        let width = header[8] >> 4;
        let message = Self {
            down: header[0] & 0x80 != 0,
            frame: header[1],
            subframe: header[2] >> 4,
            slot: (header[2] & 0xF) << 2 | header[3] >> 6,
            symbol: header[3] & 0x3F,
            section: u16::from(header[4]) << 4 | u16::from(header[5]) >> 4,
            first_prb: u16::from(header[5] & 3) << 8 | u16::from(header[6]),
            prbs: header[7],
            mantissa_bits: if width == 0 { 16 } else { width },
        };
        Ok((message, rest))
    }

    /// Number of the symbol since the start of frame 0, modulo 256 frames.
    pub fn symbol_number(&self, slots_per_ms: u64) -> u64 {
        let subframe = u64::from(self.frame) * 10 + u64::from(self.subframe);
        (subframe * slots_per_ms + u64::from(self.slot)) * 14 + u64::from(self.symbol)
    }
}

/// SEQ_ID of a message that is not fragmented: its number in the series of its eAxC, modulo 256, and the end bit.
pub const fn sequence_id(number: u64) -> u16 {
    ((number % 256) as u16) << 8 | END_BIT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn header_has_the_octets_of_the_specification() {
        // Symbol 3 of slot 1, subframe 7, frame 258.
        let symbol = ((2_587 * 2) + 1) * 14 + 3;
        let header = UserPlane::at_symbol(true, symbol, 2).with_prbs(0, 273);
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, [0x90, 2, 0x70, 0x43, 0, 0, 0, 0, 0x91, 0]);
        let part = UserPlane { down: false, mantissa_bits: 16, ..header }.with_prbs(137, 136);
        let mut out = Vec::new();
        part.encode(&mut out);
        assert_eq!(out, [0x10, 2, 0x70, 0x43, 0, 0, 137, 136, 0x00, 0]);
        assert_eq!(sequence_id(259), 0x0380);
        assert_eq!(header.symbol_number(2), symbol % (256 * 10 * 2 * 14));
    }

    #[test]
    fn other_versions_and_short_messages_are_refused() {
        assert_eq!(UserPlane::decode(&[0x90; 9]), Err(CusError::Short(9)));
        assert_eq!(UserPlane::decode(&[0xA0; 10]), Err(CusError::Version(2)));
    }

    proptest! {
        #[test]
        fn headers_round_trip(
            down: bool, symbol in 0_u64..10_000_000, first in 0_u16..1024, count in 1_u16..256, section in 0_u16..4096, mantissa_bits in 1_u8..17,
        ) {
            let header = UserPlane { section, mantissa_bits, ..UserPlane::at_symbol(down, symbol, 2).with_prbs(first, count) };
            let mut out = Vec::new();
            header.encode(&mut out);
            out.push(7);
            prop_assert_eq!(UserPlane::decode(&out), Ok((header, &[7][..])));
        }
    }
}
