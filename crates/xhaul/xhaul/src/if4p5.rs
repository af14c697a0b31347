//! IF4p5: OpenAirInterface's transport of functional split 7.1 (NGFI), one frame per OFDM symbol and port.
//!
//! Frames are raw Ethernet frames of type [`ETHERTYPE`], or UDP datagrams. A frame consists of a header of [`HEADER_SIZE`] bytes and
//! samples. The header has the byte order of the sender's processor, which is little-endian: OAI runs on x86-64 and arm64. The FFT kinds
//! have two bytes per subcarrier, I and Q in A-law, first for the lower half of the carrier, then for the upper half. PRACH has
//! [`PRACH_SIZE`] bytes of 16-bit samples, which exceed the 1500-byte payload of an Ethernet frame. A tick has no samples.
//!
//! Source: OAI's `if4_tools.h` and `if4_tools.c`. Reserved bits are written as zero and ignored on receipt.

use bytes::BufMut;

/// EtherType of raw frames, and first field of the header.
pub const ETHERTYPE: u16 = 0x080A;
/// Size of the header, bytes.
pub const HEADER_SIZE: usize = 12;
/// Size of a PRB in a symbol, bytes: 12 subcarriers of two bytes.
pub const PRB_SIZE: usize = 24;
/// Size of a PRACH occasion, bytes: 839 samples of two 16-bit parts.
pub const PRACH_SIZE: usize = 839 * 4;
/// Number of PRBs of the widest LTE carrier.
pub const PRBS_MAX: usize = 110;
/// Symbols per subframe: the number of frames of one port in a millisecond, sent back to back.
pub const SYMBOLS: u8 = 14;

/// Content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Uplink symbol in the frequency domain.
    UplinkFft,
    /// Downlink symbol in the frequency domain.
    DownlinkFft,
    /// Random access occasion.
    Prach,
    /// Random access occasion of bandwidth-reduced UEs with this coverage enhancement level, 0 to 3.
    PrachBr(u8),
    /// Tick without samples: maintains the uplink timing in subframes without uplink symbols.
    UplinkTick,
}

/// Frame with borrowed samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Type of the content.
    pub kind: Kind,
    /// System frame number, or OAI's counter of frames: 16 bits.
    pub frame: u16,
    /// Subframe, 0 to 9.
    pub subframe: u8,
    /// Symbol, 0 to 13.
    pub symbol: u8,
    /// Undecoded samples.
    pub samples: &'a [u8],
}

/// Reason why bytes are not a valid IF4p5 frame, or why a frame cannot be encoded. Unless stated otherwise, the sender's frame is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum If4p5Error {
    /// The header is incomplete.
    #[error("an IF4p5 header needs {HEADER_SIZE} bytes, not {0}")]
    TooShort(usize),
    /// The frame is of a different protocol, or has the byte order of a big-endian sender.
    #[error("the type of an IF4p5 message must be 0x080a in little endian, not {0:#06x}")]
    Type(u16),
    /// OAI does not define this kind.
    #[error("the sub-type of an IF4p5 message must be 0x19 or 0x20 to 0x26, not {0:#06x}")]
    SubType(u16),
    /// The subframe or symbol does not exist (when encoding: invalid argument of the caller).
    #[error("a subframe must be 0 to 9 and a symbol 0 to 13, not {subframe} and {symbol}")]
    Time {
        /// Subframe number.
        subframe: u8,
        /// Symbol number.
        symbol: u8,
    },
    /// No carrier has this number of samples (when encoding: invalid argument of the caller).
    #[error(
        "{0} octets of samples are invalid for the type of the message: a symbol has 24 octets for each of 1 to {PRBS_MAX} PRBs, \
         PRACH has {PRACH_SIZE} octets, and a tick has none"
    )]
    Samples(usize),
}

impl<'a> Frame<'a> {
    /// Decodes the payload of an Ethernet frame or of a datagram. Bytes after the samples of a PRACH frame or after a
    /// tick are padding.
    pub fn decode(payload: &'a [u8]) -> Result<Self, If4p5Error> {
        let too_short = If4p5Error::TooShort(payload.len());
        let (header, samples) = payload.split_first_chunk::<HEADER_SIZE>().ok_or(too_short)?;
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        if half(0) != ETHERTYPE {
            return Err(If4p5Error::Type(half(0)));
        }
        let kind = Kind::from_code(half(2))?;
        let status = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        // The fields have 16, 4 and 4 bits, so no bit is truncated.
        let frame = (status >> 6) as u16;
        let subframe = (status >> 22 & 0xF) as u8;
        let symbol = (status >> 26 & 0xF) as u8;
        let samples = match kind {
            Kind::UplinkFft | Kind::DownlinkFft => samples,
            Kind::Prach | Kind::PrachBr(_) => {
                samples.get(..PRACH_SIZE).ok_or(If4p5Error::Samples(samples.len()))?
            }
            Kind::UplinkTick => &[],
        };
        let decoded = Self { kind, frame, subframe, symbol, samples };
        decoded.check()?;
        Ok(decoded)
    }

    /// Appends header and samples.
    pub fn encode(&self, out: &mut impl BufMut) -> Result<(), If4p5Error> {
        self.check()?;
        out.put_u16_le(ETHERTYPE);
        out.put_u16_le(self.kind.code());
        out.put_u32_le(0);
        let time = u32::from(self.symbol) << 26 | u32::from(self.subframe) << 22;
        out.put_u32_le(time | u32::from(self.frame) << 6);
        out.put_slice(self.samples);
        Ok(())
    }

    /// Returns the encoded size in bytes.
    pub fn encoded_size(&self) -> usize {
        HEADER_SIZE + self.samples.len()
    }

    fn check(&self) -> Result<(), If4p5Error> {
        if self.subframe > 9 || self.symbol >= SYMBOLS {
            return Err(If4p5Error::Time { subframe: self.subframe, symbol: self.symbol });
        }
        let octets = self.samples.len();
        let fits = match self.kind {
            Kind::UplinkFft | Kind::DownlinkFft => {
                octets.is_multiple_of(PRB_SIZE) && (PRB_SIZE..=PRBS_MAX * PRB_SIZE).contains(&octets)
            }
            Kind::Prach => octets == PRACH_SIZE,
            Kind::PrachBr(level) => octets == PRACH_SIZE && level <= 3,
            Kind::UplinkTick => octets == 0,
        };
        if fits { Ok(()) } else { Err(If4p5Error::Samples(octets)) }
    }
}

impl Kind {
    const fn code(self) -> u16 {
        match self {
            Self::UplinkFft => 0x19,
            Self::DownlinkFft => 0x20,
            Self::Prach => 0x21,
            // `check` ensures a level below 4.
            Self::PrachBr(level) => 0x22 + level as u16,
            Self::UplinkTick => 0x26,
        }
    }

    const fn from_code(code: u16) -> Result<Self, If4p5Error> {
        Ok(match code {
            0x19 => Self::UplinkFft,
            0x20 => Self::DownlinkFft,
            0x21 => Self::Prach,
            0x22..=0x25 => Self::PrachBr((code - 0x22) as u8),
            0x26 => Self::UplinkTick,
            other => return Err(If4p5Error::SubType(other)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [Kind; 8] = [
        Kind::UplinkFft,
        Kind::DownlinkFft,
        Kind::Prach,
        Kind::PrachBr(0),
        Kind::PrachBr(1),
        Kind::PrachBr(2),
        Kind::PrachBr(3),
        Kind::UplinkTick,
    ];

    #[test]
    fn symbol_of_25_prbs_is_a_frame_of_630_bytes() {
        let samples = [0x55; 25 * PRB_SIZE];
        let frame =
            Frame { kind: Kind::DownlinkFft, frame: 0x1234, subframe: 7, symbol: 13, samples: &samples };
        let mut out = Vec::new();
        frame.encode(&mut out).unwrap();
        // The total size includes the addresses and the type before the payload, and the frame check sequence after it.
        assert_eq!(12 + 2 + out.len() + 4, 630);
        assert_eq!(out[..8], [0x0A, 0x08, 0x20, 0x00, 0, 0, 0, 0]);
        let status = 13_u32 << 26 | 7 << 22 | 0x1234 << 6;
        assert_eq!(out[8..12], status.to_le_bytes());
        assert_eq!(Frame::decode(&out), Ok(frame));
    }

    #[test]
    fn padding_after_a_tick_is_ignored() {
        let tick = Frame { kind: Kind::UplinkTick, frame: 1, subframe: 2, symbol: 0, samples: &[] };
        let mut out = Vec::new();
        tick.encode(&mut out).unwrap();
        out.resize(46, 0);
        assert_eq!(Frame::decode(&out), Ok(tick));
    }

    #[test]
    fn unsupported_frames_are_refused() {
        assert_eq!(Frame::decode(&[0; 11]), Err(If4p5Error::TooShort(11)));
        assert_eq!(Frame::decode(&[0x08, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Err(If4p5Error::Type(0x0A08)));
        let with = |kind, status: u32, samples: usize| {
            let mut octets = vec![0x0A, 0x08, kind, 0, 0, 0, 0, 0];
            octets.extend(status.to_le_bytes());
            octets.resize(HEADER_SIZE + samples, 0);
            Frame::decode(&octets).map(|_| ()).unwrap_err()
        };
        assert_eq!(with(0x27, 0, 0), If4p5Error::SubType(0x27));
        assert_eq!(with(0x20, 10 << 22, 24), If4p5Error::Time { subframe: 10, symbol: 0 });
        assert_eq!(with(0x20, 14 << 26, 24), If4p5Error::Time { subframe: 0, symbol: 14 });
        assert_eq!(with(0x20, 0, 0), If4p5Error::Samples(0));
        assert_eq!(with(0x19, 0, 25), If4p5Error::Samples(25));
        assert_eq!(with(0x21, 0, PRACH_SIZE - 1), If4p5Error::Samples(PRACH_SIZE - 1));
        let frame =
            Frame { kind: Kind::PrachBr(4), frame: 0, subframe: 0, symbol: 0, samples: &[0; PRACH_SIZE] };
        assert_eq!(frame.encode(&mut Vec::new()), Err(If4p5Error::Samples(PRACH_SIZE)));
    }

    proptest! {
        #[test]
        fn frames_round_trip_and_prefixes_never_panic(
            kind in 0..KINDS.len(), frame: u16, subframe in 0_u8..10, symbol in 0_u8..14, prbs in 1..=PRBS_MAX,
            octet: u8,
        ) {
            let size = match KINDS[kind] {
                Kind::UplinkFft | Kind::DownlinkFft => prbs * PRB_SIZE,
                Kind::UplinkTick => 0,
                _ => PRACH_SIZE,
            };
            let samples = vec![octet; size];
            let frame = Frame { kind: KINDS[kind], frame, subframe, symbol, samples: &samples };
            let mut out = Vec::new();
            frame.encode(&mut out).unwrap();
            prop_assert_eq!(out.len(), frame.encoded_size());
            prop_assert_eq!(Frame::decode(&out), Ok(frame));
            for end in 0..out.len() {
                // Samples of fewer PRBs are a valid frame of a narrower carrier.
                if let Ok(shorter) = Frame::decode(&out[..end]) {
                    prop_assert!(shorter.samples.len() < size && shorter.kind == frame.kind);
                }
            }
        }

        #[test]
        fn decode_never_panics(octets in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Frame::decode(&octets);
            let mut likely = vec![0x0A, 0x08];
            likely.extend(octets);
            let _ = Frame::decode(&likely);
        }
    }
}
