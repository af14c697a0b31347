//! Control plane: encodes the section that schedules most channels (type 1), and decodes the header of all section types.

use bytes::BufMut;

use super::{APPLICATION_SIZE, Application, CusError};

/// Mask of the resource elements of a PRB. A section describes all of them.
const RE_MASK: u16 = 0xFFF;
/// Maximum number of PRBs in the section header. For more PRBs, the field is 0, which means all PRBs.
const PRBS_MAX: u16 = 255;

/// Content of the sections of a control message (table 7.3.1-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionType {
    /// Type 0: unused resources.
    Idle,
    /// Type 1: most channels, down and up.
    Data,
    /// Type 3: PRACH and channels of another numerology.
    Prach,
    /// Any other section type.
    Other(u8),
}

/// Control message of type 1 with one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlPlane {
    /// Direction and first symbol of the data.
    pub at: Application,
    /// Section number, 0 to 4095.
    pub section: u16,
    /// First PRB, 0 to 1023.
    pub first_prb: u16,
    /// Number of PRBs, 1 to 255. 0: all PRBs of the carrier.
    pub prbs: u8,
    /// Number of symbols, 1 to 14.
    pub symbols: u8,
    /// Bits of a sample's mantissa, 1 to 16. 16: uncompressed.
    pub mantissa_bits: u8,
}

impl SectionType {
    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Idle,
            1 => Self::Data,
            3 => Self::Prach,
            other => Self::Other(other),
        }
    }
}

impl ControlPlane {
    /// Size of a message with one section of type 1, in bytes.
    pub const SIZE: usize = APPLICATION_SIZE + 4 + 8;

    /// Returns the message that schedules all PRBs of some symbols of a slot.
    pub fn of_symbols(at: Application, symbols: u8, prbs: u16, mantissa_bits: u8) -> Self {
        let prbs = if prbs <= PRBS_MAX { prbs as u8 } else { 0 };
        Self { at, section: 0, first_prb: 0, prbs, symbols, mantissa_bits }
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&self.at.encode());
        // The fields are number of sections, section type, compression of the data, and a reserved byte. Compression is 0 for downlink,
        // where the user plane states it.
        out.put_slice(&[1, 1]);
        let compression = if self.mantissa_bits < 16 { self.mantissa_bits << 4 | 1 } else { 0 };
        out.put_slice(&[if self.at.down { 0 } else { compression }, 0]);
        out.put_u8((self.section >> 4) as u8);
        out.put_u8(((self.section & 0xF) << 4) as u8 | (self.first_prb >> 8 & 3) as u8);
        out.put_u8(self.first_prb as u8);
        out.put_u8(self.prbs);
        out.put_u16(RE_MASK << 4 | u16::from(self.symbols & 0xF));
        // No extension, and beam 0.
        out.put_u16(0);
    }

    /// Decodes the common fields of all control messages: the first symbol, the number of sections, the section type.
    pub fn header(bytes: &[u8]) -> Result<(Application, u8, SectionType), CusError> {
        let (at, rest) = Application::decode(bytes)?;
        match rest {
            [sections, section_type, ..] => Ok((at, *sections, SectionType::from_number(*section_type))),
            _ => Err(CusError::Short { need: APPLICATION_SIZE + 2, have: bytes.len() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_message_matches_specification() {
        let at = Application { down: false, filter: 0, frame: 118, subframe: 4, slot: 0, symbol: 0 };
        let mut out = Vec::new();
        ControlPlane::of_symbols(at, 14, 51, 16).encode(&mut out);
        assert_eq!(out, [0x10, 0x76, 0x40, 0, 1, 1, 0, 0, 0, 0, 0, 0x33, 0xFF, 0xFE, 0, 0]);
        assert_eq!(out.len(), ControlPlane::SIZE);
        assert_eq!(ControlPlane::header(&out), Ok((at, 1, SectionType::Data)));
        let mut wide = Vec::new();
        ControlPlane::of_symbols(at, 2, 273, 9).encode(&mut wide);
        assert_eq!((wide[6], wide[11], wide[13]), (0x91, 0, 0xF2));
        assert_eq!(ControlPlane::header(&out[..5]), Err(CusError::Short { need: 6, have: 5 }));
    }
}
