//! Control plane: the section that schedules most channels (type 1), as it is written, and the header of all types.

use bytes::BufMut;

use super::{APPLICATION_SIZE, Application, CusError};

/// Resource elements of a PRB, all of which a section describes.
const RE_MASK: u16 = 0xFFF;
/// The greatest number of PRBs that the section header holds; above, 0 stands for all.
const PRBS_MAX: u16 = 255;

/// What the sections of a control message describe (table 7.3.1-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionType {
    /// 0: unused resources.
    Idle,
    /// 1: most channels, down and up.
    Data,
    /// 3: PRACH and channels of another numerology.
    Prach,
    /// Any other type.
    Other(u8),
}

/// Control message of type 1 with one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlPlane {
    /// Direction of the data, and its first symbol.
    pub at: Application,
    /// Section, 0 to 4095.
    pub section: u16,
    /// First PRB, 0 to 1023.
    pub first_prb: u16,
    /// Number of PRBs, 1 to 255; 0: all of the carrier.
    pub prbs: u8,
    /// Number of symbols, 1 to 14.
    pub symbols: u8,
    /// Bits of a sample's mantissa, 1 to 16; 16 is uncompressed.
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
    /// Bytes of a message with one section of type 1.
    pub const SIZE: usize = APPLICATION_SIZE + 4 + 8;

    /// The message that schedules all PRBs of symbols of a slot.
    pub fn of_symbols(at: Application, symbols: u8, prbs: u16, mantissa_bits: u8) -> Self {
        let prbs = if prbs <= PRBS_MAX { prbs as u8 } else { 0 };
        Self { at, section: 0, first_prb: 0, prbs, symbols, mantissa_bits }
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&self.at.encode());
        // Sections, their type, the compression of the data (0 down: the user plane states it), and a reserved byte.
        out.put_slice(&[1, 1]);
        let compression = if self.mantissa_bits < 16 { self.mantissa_bits << 4 | 1 } else { 0 };
        out.put_slice(&[if self.at.down { 0 } else { compression }, 0]);
        out.put_u8((self.section >> 4) as u8);
        out.put_u8(((self.section & 0xF) << 4) as u8 | (self.first_prb >> 8 & 3) as u8);
        out.put_u8(self.first_prb as u8);
        out.put_u8(self.prbs);
        out.put_u16(RE_MASK << 4 | u16::from(self.symbols & 0xF));
        // No extension; beam 0.
        out.put_u16(0);
    }

    /// Decodes the fields that control messages of all types have: the first symbol, the number of sections, their type.
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
    fn message_has_the_octets_of_the_specification() {
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
