//! Messages of the O-RAN fronthaul (O-RAN.WG4.CUS): payload after the eCPRI header of a message of type 0 (user plane, clause 8) or type 2
//! (control plane, clause 7).

mod control;
mod user;

pub use control::{ControlPlane, SectionType};
pub use user::{HEADER_SIZE, SampleFormat, UserPlane};

/// Payload version of both planes.
const PAYLOAD_VERSION: u8 = 1;
/// End bit of SEQ_ID: the message is complete, or is the last part of a message.
const END_BIT: u16 = 0x80;
/// Size of the common fields of both planes, in bytes.
pub const APPLICATION_SIZE: usize = 4;
/// Number of symbols in a slot with the normal cyclic prefix.
const SLOT_SYMBOLS: u64 = 14;
/// Time after which the numbers in the header repeat: 256 radio frames of 10 ms.
pub const PERIOD_NS: u64 = 256 * FRAME_NS;
const FRAME_NS: u64 = 10_000_000;
const SUBFRAME_NS: u64 = 1_000_000;

/// First fields of both planes: direction of the data, filter, and the symbol to which the message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Application {
    /// Whether the data is sent from the DU to the radio unit. Control messages are always sent in this direction.
    pub down: bool,
    /// Filter: 0 for the standard channel, 1 and above for PRACH.
    pub filter: u8,
    /// Number of the radio frame, modulo 256.
    pub frame: u8,
    /// Subframe of 1 ms, 0 to 9.
    pub subframe: u8,
    /// Number of the slot in the subframe, 0 to 63.
    pub slot: u8,
    /// Number of the symbol in the slot, 0 to 13. For a control message, the first symbol.
    pub symbol: u8,
}

/// Reason why bytes are not a message of the O-RAN fronthaul.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CusError {
    /// The message is too short.
    #[error("the message needs at least {need} bytes, not {have}")]
    Short {
        /// Required size, in bytes.
        need: usize,
        /// Number of received bytes.
        have: usize,
    },
    /// Unknown payload version.
    #[error("payload version {0} is not supported; only {PAYLOAD_VERSION} is")]
    Version(u8),
    /// The subframe or symbol does not exist in a radio frame.
    #[error("a frame has subframes 0 to 9 and symbols 0 to 13, not {subframe} and {symbol}")]
    Symbol {
        /// Subframe number in the message.
        subframe: u8,
        /// Symbol number in the message.
        symbol: u8,
    },
}

impl Application {
    /// Returns the fields of a symbol, given its number since the start of frame 0. The carrier has `slots_per_ms` slots per millisecond.
    pub fn at_symbol(down: bool, symbol: u64, slots_per_ms: u64) -> Self {
        let slot = symbol / SLOT_SYMBOLS;
        let subframe = slot / slots_per_ms.max(1);
        // Each number is reduced modulo the range of its field.
        Self {
            down,
            filter: 0,
            frame: (subframe / 10 % 256) as u8,
            subframe: (subframe % 10) as u8,
            slot: (slot % slots_per_ms.max(1)) as u8,
            symbol: (symbol % SLOT_SYMBOLS) as u8,
        }
    }

    /// Returns the four bytes of the fields.
    pub const fn encode(&self) -> [u8; APPLICATION_SIZE] {
        [
            (self.down as u8) << 7 | PAYLOAD_VERSION << 4 | self.filter & 0xF,
            self.frame,
            self.subframe << 4 | self.slot >> 2,
            self.slot << 6 | self.symbol,
        ]
    }

    /// Decodes the fields. Also returns the bytes after them.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), CusError> {
        let Some((header, rest)) = bytes.split_first_chunk::<APPLICATION_SIZE>() else {
            return Err(CusError::Short { need: APPLICATION_SIZE, have: bytes.len() });
        };
        let version = header[0] >> 4 & 7;
        if version != PAYLOAD_VERSION {
            return Err(CusError::Version(version));
        }
        let application = Self {
            down: header[0] & 0x80 != 0,
            filter: header[0] & 0xF,
            frame: header[1],
            subframe: header[2] >> 4,
            slot: (header[2] & 0xF) << 2 | header[3] >> 6,
            symbol: header[3] & 0x3F,
        };
        let Self { subframe, symbol, .. } = application;
        if subframe > 9 || u64::from(symbol) >= SLOT_SYMBOLS {
            return Err(CusError::Symbol { subframe, symbol });
        }
        Ok((application, rest))
    }

    /// Returns the number of the symbol since the start of frame 0, modulo 256 frames.
    pub fn symbol_number(&self, slots_per_ms: u64) -> u64 {
        let subframe = u64::from(self.frame) * 10 + u64::from(self.subframe);
        (subframe * slots_per_ms + u64::from(self.slot)) * SLOT_SYMBOLS + u64::from(self.symbol)
    }

    /// Returns the time from the start of frame 0 to the start of the symbol, modulo [`PERIOD_NS`]. The first symbol of each half subframe
    /// has a longer cyclic prefix (TS 38.211, clause 5.3.1).
    pub fn air_ns(&self, slots_per_ms: u64) -> u64 {
        let symbol = u64::from(self.slot) * SLOT_SYMBOLS + u64::from(self.symbol);
        let longer = u64::from(symbol > 0) + u64::from(symbol > 7 * slots_per_ms);
        // Number of samples at a sampling rate of `slots_per_ms` times 30.72 MHz. A symbol has 2048 samples, and its prefix has 144.
        let samples = symbol * 2192 + longer * 16 * slots_per_ms;
        let start = u64::from(self.frame) * FRAME_NS + u64::from(self.subframe) * SUBFRAME_NS;
        start + samples * SUBFRAME_NS / (30_720 * slots_per_ms.max(1))
    }
}

/// Returns the SEQ_ID of a message that is not fragmented: the message's number in the series of its eAxC, modulo 256, and the end bit.
pub const fn sequence_id(number: u64) -> u16 {
    ((number % 256) as u16) << 8 | END_BIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbol_start_times_include_cyclic_prefixes() {
        let at = |symbol| Application::at_symbol(true, symbol, 2).air_ns(2);
        // At 30 kHz, the first symbol of a slot has a length of 35.677 us and an additional 0.521 us.
        assert_eq!(
            [at(0), at(1), at(2), at(14), at(15), at(28)],
            [0, 36_197, 71_875, 500_000, 536_197, 1_000_000]
        );
        let lte = |symbol| Application::at_symbol(true, symbol, 1).air_ns(1);
        assert_eq!([lte(7), lte(14), lte(140 * 256)], [500_000, 1_000_000, 0]);
    }

    #[test]
    fn unknown_versions_and_invalid_symbols_are_rejected() {
        assert_eq!(Application::decode(&[0x90; 3]), Err(CusError::Short { need: 4, have: 3 }));
        assert_eq!(Application::decode(&[0xA0; 4]), Err(CusError::Version(2)));
        assert_eq!(
            Application::decode(&[0x90, 0, 0xA0, 0]),
            Err(CusError::Symbol { subframe: 10, symbol: 0 })
        );
        assert_eq!(Application::decode(&[0x90, 0, 0, 14]), Err(CusError::Symbol { subframe: 0, symbol: 14 }));
        assert_eq!(sequence_id(259), 0x0380);
    }
}
