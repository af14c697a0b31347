//! User plane: encodes one section with a compression header, and decodes any number of sections.

use bytes::BufMut;

use super::{APPLICATION_SIZE, Application, CusError};

/// Total size of the application header, the section header, and the compression header with its reserved byte.
pub const HEADER_SIZE: usize = APPLICATION_SIZE + SECTION_SIZE + COMPRESSION_SIZE;
const SECTION_SIZE: usize = 4;
const COMPRESSION_SIZE: usize = 2;
/// Number of the compression method "block floating point".
const BLOCK_FLOATING_POINT: u8 = 1;
/// Maximum number of PRBs in the section header. For more PRBs, the field is 0, which means all PRBs.
const PRBS_MAX: u16 = 255;
/// Maximum number of PRBs of a carrier (TS 38.101-1, clause 5.3.2).
const CARRIER_PRBS_MAX: usize = 275;

/// Header of a user-plane message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserPlane {
    /// Direction and symbol of the data.
    pub at: Application,
    /// Section number, 0 to 4095.
    pub section: u16,
    /// First PRB, 0 to 1023.
    pub first_prb: u16,
    /// Number of PRBs, 1 to 255. 0: all PRBs of the carrier.
    pub prbs: u8,
    /// Bits of a sample's mantissa, 1 to 16. 16: uncompressed.
    pub mantissa_bits: u8,
}

/// Encoding of the samples in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleFormat {
    /// Bits of I and of Q each, 1 to 16.
    pub bits: u8,
    /// Whether each PRB has a byte with a parameter, such as the exponent of block floating point.
    pub parameter: bool,
    /// Whether a compression header states the format. Otherwise the format is static and set by management.
    pub stated: bool,
}

impl UserPlane {
    /// Returns the header of a symbol, given its number since the start of frame 0. The carrier has `slots_per_ms` slots per millisecond.
    pub fn at_symbol(down: bool, symbol: u64, slots_per_ms: u64) -> Self {
        let at = Application::at_symbol(down, symbol, slots_per_ms);
        Self { at, section: 0, first_prb: 0, prbs: 0, mantissa_bits: 9 }
    }

    /// Sets `count` PRBs, starting at `first`. Sets all PRBs of the carrier if `count` exceeds the field's range.
    pub fn with_prbs(self, first: u16, count: u16) -> Self {
        match u8::try_from(count) {
            Ok(prbs) if count <= PRBS_MAX => Self { first_prb: first, prbs, ..self },
            _ => Self { first_prb: 0, prbs: 0, ..self },
        }
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&self.at.encode());
        out.put_u8((self.section >> 4) as u8);
        out.put_u8(((self.section & 0xF) << 4) as u8 | (self.first_prb >> 8 & 3) as u8);
        out.put_u8(self.first_prb as u8);
        out.put_u8(self.prbs);
        // A width of 16 bits is encoded as 0.
        let method = if self.mantissa_bits < 16 { BLOCK_FLOATING_POINT } else { 0 };
        out.put_u8(self.mantissa_bits << 4 | method);
        out.put_u8(0);
    }

    /// Decodes a header with a compression header. Also returns the bytes after it. Use [`SampleFormat::find`] for messages that may have
    /// no compression header.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), CusError> {
        let short = CusError::Short { need: HEADER_SIZE, have: bytes.len() };
        let (at, rest) = Application::decode(bytes)?;
        let (header, rest) = rest.split_first_chunk::<{ SECTION_SIZE + COMPRESSION_SIZE }>().ok_or(short)?;
        let width = header[4] >> 4;
        let message = Self {
            at,
            section: u16::from(header[0]) << 4 | u16::from(header[1]) >> 4,
            first_prb: u16::from(header[1] & 3) << 8 | u16::from(header[2]),
            prbs: header[3],
            mantissa_bits: if width == 0 { 16 } else { width },
        };
        Ok((message, rest))
    }
}

impl SampleFormat {
    /// Finds the encoding of a message's samples: the format with which the sections fill the message exactly. Returns `None` if no format
    /// does. Also returns `None` if the only section has all PRBs of a carrier of unknown size and no compression header.
    pub fn find(message: &[u8]) -> Option<Self> {
        let sections = message.get(APPLICATION_SIZE..)?;
        if let Some(format) = Self::stated(sections) {
            return Some(format);
        }
        let formats = (1..=16)
            .rev()
            .flat_map(|bits| [false, true].map(|parameter| Self { bits, parameter, stated: false }));
        let mut fitting = formats.filter(|format| format.fills(sections));
        fitting.next()
    }

    /// Returns the format in the compression header of the first section, if all sections then fill the message.
    fn stated(mut sections: &[u8]) -> Option<Self> {
        let mut first = None;
        while !sections.is_empty() {
            let (header, rest) = sections.split_first_chunk::<{ SECTION_SIZE + COMPRESSION_SIZE }>()?;
            let bits = if header[4] >> 4 == 0 { 16 } else { header[4] >> 4 };
            // The methods "no compression" and "modulation compression" have no parameter.
            let parameter = match header[4] & 0xF {
                0 | 4 => false,
                1..=3 => true,
                _ => return None,
            };
            let format = Self { bits, parameter, stated: true };
            first = first.or(Some(format));
            sections = behind(rest, header[3], format.prb_bytes())?;
        }
        first
    }

    fn fills(self, mut sections: &[u8]) -> bool {
        while !sections.is_empty() {
            let Some((header, rest)) = sections.split_first_chunk::<SECTION_SIZE>() else { return false };
            // The section has all PRBs of the carrier. Their number is unknown, and therefore also the size of a PRB.
            if header[3] == 0 {
                return false;
            }
            match behind(rest, header[3], self.prb_bytes()) {
                Some(next) => sections = next,
                None => return false,
            }
        }
        true
    }

    /// Returns the size of a PRB in bytes. A PRB has twelve samples of I and Q.
    const fn prb_bytes(self) -> usize {
        3 * self.bits as usize + self.parameter as usize
    }
}

/// Returns the bytes after the samples of a section. A section with all PRBs of a carrier is the last section.
fn behind(samples: &[u8], prbs: u8, prb_bytes: usize) -> Option<&[u8]> {
    if prbs > 0 {
        return samples.get(usize::from(prbs) * prb_bytes..);
    }
    let whole = samples.len().is_multiple_of(prb_bytes) && samples.len() / prb_bytes <= CARRIER_PRBS_MAX;
    (whole && !samples.is_empty()).then_some(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encoded_header_matches_specification() {
        // The symbol is symbol 3 of slot 1, subframe 7, frame 258.
        let symbol = ((2_587 * 2) + 1) * 14 + 3;
        let header = UserPlane::at_symbol(true, symbol, 2).with_prbs(0, 273);
        let mut out = Vec::new();
        header.encode(&mut out);
        assert_eq!(out, [0x90, 2, 0x70, 0x43, 0, 0, 0, 0, 0x91, 0]);
        let up = Application { down: false, ..header.at };
        let part = UserPlane { at: up, mantissa_bits: 16, ..header }.with_prbs(137, 136);
        let mut out = Vec::new();
        part.encode(&mut out);
        assert_eq!(out, [0x10, 2, 0x70, 0x43, 0, 0, 137, 136, 0x00, 0]);
        assert_eq!(header.at.symbol_number(2), symbol % (256 * 10 * 2 * 14));
        assert_eq!(UserPlane::decode(&out[..9]), Err(CusError::Short { need: 10, have: 9 }));
    }

    /// Returns a message with sections of these numbers of PRBs. Each PRB has `prb` bytes.
    fn message(sections: &[u8], prb: usize, compression: Option<u8>) -> Vec<u8> {
        let mut out = Application::at_symbol(true, 0, 2).encode().to_vec();
        for &prbs in sections {
            out.extend([0, 0, 0, prbs]);
            out.extend(compression.map(|header| [header, 0]).into_iter().flatten());
            let count = if prbs == 0 { 273 } else { usize::from(prbs) };
            // Real samples are not zero, so neither are these.
            out.extend((0..count * prb).map(|index| (index * 37 % 251) as u8 | 1));
        }
        out
    }

    #[test]
    fn formats_are_found_with_and_without_compression_header() {
        let found = |sections: &[u8], prb, compression| {
            let format = SampleFormat::find(&message(sections, prb, compression));
            format.map(|format| (format.bits, format.parameter, format.stated))
        };
        assert_eq!(found(&[0], 28, Some(0x91)), Some((9, true, true)));
        assert_eq!(found(&[51], 48, Some(0)), Some((16, false, true)));
        assert_eq!(found(&[100, 173], 28, Some(0x91)), Some((9, true, true)));
        // Static format: 51 PRBs of 16-bit samples without compression, as a 20 MHz O-RU sends them.
        assert_eq!(found(&[51], 48, None), Some((16, false, false)));
        assert_eq!(found(&[51], 28, None), Some((9, true, false)));
        assert_eq!(found(&[20, 31], 43, None), Some((14, true, false)));
        assert_eq!(found(&[0], 28, None), None);
        assert_eq!(SampleFormat::find(&[0x90, 0, 0]), None);
        let mut cut = message(&[51], 48, None);
        cut.truncate(100);
        assert_eq!(SampleFormat::find(&cut), None);
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
