//! Functional splits: the frames, rate and delay budget of a cell in one direction of the network.

use super::control::TAG_BYTES;
use super::pattern::{Pattern, WIRE_GAP_BYTES};
use super::tdd::{Direction, SYMBOLS, Tdd};
use super::time::{MS, Ps, S, US};

/// Size of Ethernet header and check sequence, in bytes.
const ETHERNET_BYTES: u32 = 14 + 4;
/// Size of IPv4 and UDP headers without options, in bytes.
const IP_UDP_BYTES: u32 = 20 + 8;
/// Minimum Ethernet payload. Shorter payloads are padded.
const ETHERNET_PAYLOAD_MIN: u32 = 46;
/// Size of OAI's IF4p5 (NGFI) header, in bytes.
const IF4P5_BYTES: u32 = 12;
/// Size of the eCPRI common header with PC_ID and SEQ_ID, in bytes.
const ECPRI_BYTES: u32 = 8;
/// Header size of an O-RAN user-plane message with one section (O-RAN.WG4.CUS 8.3), in bytes: application header, section header, and
/// compression header with its reserved byte.
const CUS_BYTES: u32 = 4 + 4 + 2;
/// Size of the header before time-domain samples, in bytes.
const TIME_DOMAIN_BYTES: u32 = 16;
/// Size of the nFAPI P7 header in bytes, and overhead of a TTI's messages in addition to transport blocks.
const NFAPI_BYTES: u32 = 16;
const NFAPI_TTI_BYTES: u32 = 96;
/// Overhead of a user's IP packet on F1-U: IPv4 (20), UDP (8), GTP-U with options and one extension (16),
/// PDCP with 18-bit numbers (3), SDAP (1).
pub const F1U_BYTES: u32 = 20 + 8 + 16 + 4;
/// One-way budgets of splits below and above the real-time half of the MAC, in ps. The values are the stricter limits of TR 38.801 annex A.
const FRONTHAUL_PS: Ps = 250 * US;
const MIDHAUL_PS: Ps = 1_500 * US;
/// Size of the samples in a PRACH frame of OAI (839 complex 16-bit samples), in bytes.
pub const IF4P5_PRACH_BYTES: u32 = 839 * 4;

/// A carrier in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carrier {
    /// Number of physical resource blocks, 1 to 275.
    pub prbs: u16,
    /// Subcarrier spacing in kHz: 15 (LTE, NR), 30 or 60.
    pub spacing_khz: u8,
    /// Number of antenna ports (splits 7.1 and 8) or layers (split 7.2x), 1 to 64.
    pub ports: u8,
    /// Sampling rate of a port in the time domain, in Hz; 1.92 to 491.52 MHz.
    pub sampling_hz: u32,
    /// Size of the transport blocks of a TTI or slot at full load, in bits; used for split 6.
    pub transport_bits: u32,
}

/// Functional split of the protocol stack, and the transport of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Option 8: samples in the time domain, 2 x 16 bit. A frame has as many samples as fit, rounded down to a power of two.
    Eight,
    /// Option 7.1 as OAI's IF4p5, with 8-bit A-law. Each symbol and port has a frame, and all symbols of a TTI are sent back to back.
    If4p5 {
        /// Whether frames are sent over UDP instead of raw Ethernet.
        udp: bool,
    },
    /// Option 7.1 over eCPRI: 2 x 16 bit, symbol by symbol.
    SevenOne,
    /// Option 7.2x (O-RAN CUS) over eCPRI, symbol by symbol, with block floating point or without compression.
    SevenTwo {
        /// Bits of the mantissa, 1 to 16. 16: uncompressed, without exponent.
        mantissa_bits: u8,
    },
    /// Option 6: transport blocks over nFAPI, TTI by TTI.
    Six,
    /// Option 2: F1-U, i.e. users' packets in GTP-U.
    Two {
        /// Rate of user data (UDP payload), in bit/s.
        user_bps: u64,
        /// UDP payload of a user's packet, in bytes.
        user_bytes: u16,
    },
}

/// Load of one direction of a cell on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Release times and sizes of the frames.
    pub pattern: Pattern,
    /// Rate of IQ data, transport blocks or F1-U packets, in bit/s.
    pub payload_bps: u64,
    /// Rate on the wire, in bit/s.
    pub wire_bps: u64,
    /// One-way budget in ps: the stricter limit of TR 38.801 annex A.
    pub budget_ps: Ps,
    /// Number of bytes by which a packet exceeds the MTU, so that it is fragmented. `None`: packets are not fragmented.
    pub fragmented_by: Option<u32>,
}

/// Reason why a cell's load cannot be calculated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// The carrier does not exist.
    #[error(
        "a carrier must have 1 to 275 PRBs of 15, 30 or 60 kHz, 1 to 64 ports, a sampling rate of 1.92 to 491.52 MHz and \
         transport blocks of up to 16 Mbit"
    )]
    Carrier,
    /// The mantissa is outside the range of block floating point.
    #[error("a mantissa must have 1 to 16 bits, not {0}")]
    Mantissa(u8),
    /// User data has no packets, or packets have no bytes.
    #[error("user data must have 10 kbit/s to 100 Gbit/s, in packets of 1 to 8900 bytes")]
    User,
    /// The MTU is outside the range of Ethernet.
    #[error("the MTU must be 576 to 9000 bytes, not {0}")]
    Mtu(u32),
    /// The smallest unit (one PRB) does not fit a frame.
    #[error("{split} needs an MTU of {need} bytes: its frames cannot be divided further")]
    Indivisible {
        /// Name of the split.
        split: &'static str,
        /// Required MTU, in bytes.
        need: u32,
    },
}

impl Split {
    /// Returns the one-way budget of the split's traffic, in ps (the stricter limit of TR 38.801 annex A).
    pub const fn budget_ps(self) -> Ps {
        match self {
            Self::Two { .. } => MIDHAUL_PS,
            _ => FRONTHAUL_PS,
        }
    }

    /// Returns the load of a carrier with this split in one direction of a TDD pattern. See [`load`](Self::load).
    pub fn load_in(self, carrier: &Carrier, mtu: u32, tdd: &Tdd, way: Direction) -> Result<Load, SplitError> {
        let load = self.load(carrier, mtu)?;
        Ok(load.duplexed(self, u64::from(carrier.slots_per_ms()), tdd, way))
    }

    /// Returns the load of a carrier with this split without TDD. Frames have at most `mtu` bytes of payload.
    pub fn load(self, carrier: &Carrier, mtu: u32) -> Result<Load, SplitError> {
        if !(576..=9000).contains(&mtu) {
            return Err(SplitError::Mtu(mtu));
        }
        carrier.check()?;
        match self {
            Self::Eight => Ok(time_domain(carrier, mtu)),
            Self::If4p5 { udp } => Ok(if4p5(carrier, mtu, udp)),
            Self::SevenOne => by_symbol(carrier, mtu, "split 7.1", 48, ECPRI_BYTES),
            Self::SevenTwo { mantissa_bits } => {
                if !(1..=16).contains(&mantissa_bits) {
                    return Err(SplitError::Mantissa(mantissa_bits));
                }
                // A PRB has 12 subcarriers with I and Q, and an exponent byte if the samples are compressed.
                let exponent = u32::from(mantissa_bits < 16);
                let prb = 3 * u32::from(mantissa_bits) + exponent;
                by_symbol(carrier, mtu, "split 7.2x", prb, ECPRI_BYTES + CUS_BYTES)
            }
            Self::Six => Ok(transport_blocks(carrier, mtu)),
            Self::Two { user_bps, user_bytes } => f1u(user_bps, user_bytes, mtu),
        }
    }
}

impl Load {
    /// Returns the load with an 802.1Q tag in each frame.
    pub fn tagged(mut self) -> Self {
        self.pattern.lengthen(TAG_BYTES);
        self.wire_bps = self.pattern.mean_bps().unwrap_or(0);
        self
    }

    /// Returns the load in the symbols that a TDD pattern gives to `way`. Samples in the time domain (split 8) and users' packets (split 2)
    /// do not follow the pattern.
    fn duplexed(mut self, split: Split, slots_per_ms: u64, tdd: &Tdd, way: Direction) -> Self {
        let Pattern::Periodic { frames, .. } = &self.pattern else { return self };
        let symbols = match split {
            Split::Eight | Split::Two { .. } => return self,
            Split::Six => tdd.scheduled(way),
            Split::If4p5 { .. } | Split::SevenOne | Split::SevenTwo { .. } => tdd.symbols(way),
        };
        let (together, frames) = match split {
            // The symbols of a slot are sent back to back.
            Split::If4p5 { .. } => (SYMBOLS as u32, frames[..frames.len() / SYMBOLS].to_vec()),
            _ => (1, frames.clone()),
        };
        let own = symbols.iter().filter(|&&own| own).count() as u64;
        self.payload_bps = self.payload_bps * own / symbols.len() as u64;
        let period_ps = tdd.slots() as u64 * MS / slots_per_ms;
        self.pattern = Pattern::Tdd { period_ps, slots: symbols, together, frames };
        self.wire_bps = self.pattern.mean_bps().unwrap_or(0);
        self
    }
}

impl Carrier {
    /// LTE carrier with 25 PRBs and one port, at full load.
    pub const LTE_5: Self =
        Self { prbs: 25, spacing_khz: 15, ports: 1, sampling_hz: 7_680_000, transport_bits: 18_336 };

    fn check(&self) -> Result<(), SplitError> {
        let fine = (1..=275).contains(&self.prbs)
            && matches!(self.spacing_khz, 15 | 30 | 60)
            && (1..=64).contains(&self.ports)
            && (1_920_000..=491_520_000).contains(&self.sampling_hz)
            && self.transport_bits <= 16_000_000;
        if fine { Ok(()) } else { Err(SplitError::Carrier) }
    }

    /// Returns the rate of user data at full load, in bit/s: the carrier's transport blocks in the slots that `tdd` gives to `way`.
    pub fn user_bps(&self, tdd: Option<&Tdd>, way: Direction) -> u64 {
        let full = u64::from(self.transport_bits) * 1000 * u64::from(self.slots_per_ms());
        let (own, all) = tdd.map_or((1, 1), |tdd| tdd.share(way));
        full * own / all
    }

    /// Returns the number of slots in a millisecond. An LTE subframe counts as one slot with 14 symbols.
    fn slots_per_ms(&self) -> u32 {
        u32::from(self.spacing_khz) / 15
    }
}

/// Returns the bytes on the wire of a frame with this Ethernet payload.
pub const fn wire_bytes(payload: u32) -> u32 {
    let padded = if payload < ETHERNET_PAYLOAD_MIN { ETHERNET_PAYLOAD_MIN } else { payload };
    padded + ETHERNET_BYTES + WIRE_GAP_BYTES
}

fn load(pattern: Pattern, payload_bps: u64, budget_ps: Ps) -> Load {
    let wire_bps = pattern.mean_bps().unwrap_or(0);
    Load { pattern, payload_bps, wire_bps, budget_ps, fragmented_by: None }
}

fn time_domain(carrier: &Carrier, mtu: u32) -> Load {
    let samples = 1_u32 << ((mtu - TIME_DOMAIN_BYTES) / 4).ilog2();
    let frames = vec![wire_bytes(samples * 4 + TIME_DOMAIN_BYTES); usize::from(carrier.ports)];
    let hz = u64::from(carrier.sampling_hz);
    // An integer number of frames is sent in an integer number of seconds, so the rate is exact.
    let common = greatest_common_divisor(carrier.sampling_hz, samples);
    let releases = carrier.sampling_hz / common;
    let seconds = samples / common;
    let (releases, period_ps) =
        if seconds <= 10 { (releases, u64::from(seconds) * S) } else { (1, u64::from(samples) * S / hz) };
    let pattern = Pattern::Periodic { period_ps, releases, frames, jitter_ps: 0 };
    load(pattern, hz * 32 * u64::from(carrier.ports), FRONTHAUL_PS)
}

fn if4p5(carrier: &Carrier, mtu: u32, udp: bool) -> Load {
    let header = IF4P5_BYTES + if udp { IP_UDP_BYTES } else { 0 };
    let symbol = u32::from(carrier.prbs) * 12 * 2;
    let one = divide(symbol, mtu - header).into_iter().map(|part| wire_bytes(part + header));
    let symbols = usize::from(carrier.ports) * 14;
    let frames: Vec<u32> = one.collect::<Vec<_>>().repeat(symbols);
    let period_ps = MS / u64::from(carrier.slots_per_ms());
    let pattern = Pattern::Periodic { period_ps, releases: 1, frames, jitter_ps: 0 };
    let payload_bps = u64::from(symbol) * 8 * symbols as u64 * 1000 * u64::from(carrier.slots_per_ms());
    load(pattern, payload_bps, FRONTHAUL_PS)
}

/// Returns frames of whole PRBs for each symbol, sent when the symbol is due. Ports or layers do not share frames.
fn by_symbol(
    carrier: &Carrier,
    mtu: u32,
    split: &'static str,
    prb: u32,
    header: u32,
) -> Result<Load, SplitError> {
    let fitting = (mtu - header) / prb;
    if fitting == 0 {
        return Err(SplitError::Indivisible { split, need: header + prb });
    }
    let prbs = u32::from(carrier.prbs);
    let one = divide(prbs, fitting).into_iter().map(|part| wire_bytes(part * prb + header));
    let frames = one.collect::<Vec<_>>().repeat(usize::from(carrier.ports));
    let releases = 14 * carrier.slots_per_ms();
    let pattern = Pattern::Periodic { period_ps: MS, releases, frames, jitter_ps: 0 };
    let payload_bps = u64::from(prbs * prb) * 8 * u64::from(carrier.ports) * u64::from(releases) * 1000;
    Ok(load(pattern, payload_bps, FRONTHAUL_PS))
}

fn transport_blocks(carrier: &Carrier, mtu: u32) -> Load {
    let payload = carrier.transport_bits.div_ceil(8) + NFAPI_TTI_BYTES;
    let header = NFAPI_BYTES + IP_UDP_BYTES;
    let frames: Vec<u32> =
        divide(payload, mtu - header).into_iter().map(|part| wire_bytes(part + header)).collect();
    let period_ps = MS / u64::from(carrier.slots_per_ms());
    let pattern = Pattern::Periodic { period_ps, releases: 1, frames, jitter_ps: 0 };
    let payload_bps = u64::from(payload) * 8 * 1000 * u64::from(carrier.slots_per_ms());
    load(pattern, payload_bps, FRONTHAUL_PS)
}

fn f1u(user_bps: u64, user_bytes: u16, mtu: u32) -> Result<Load, SplitError> {
    if !(1..=8900).contains(&user_bytes) || !(10_000..=100_000_000_000).contains(&user_bps) {
        return Err(SplitError::User);
    }
    let packet = u32::from(user_bytes) + IP_UDP_BYTES + F1U_BYTES;
    let gap_ps = (u128::from(user_bytes) * 8 * u128::from(S) / u128::from(user_bps)) as Ps;
    let frames = ip_fragments(packet, mtu).into_iter().map(wire_bytes).collect();
    let pattern = Pattern::Periodic { period_ps: gap_ps, releases: 1, frames, jitter_ps: 0 };
    let over = packet.checked_sub(mtu).filter(|&over| over > 0);
    let payload_bps = user_bps * u64::from(packet) / u64::from(user_bytes);
    Ok(Load { fragmented_by: over, ..load(pattern, payload_bps, MIDHAUL_PS) })
}

/// Returns the sizes of the IPv4 packets that carry a packet of `packet` octets (RFC 791). All fragments except the last contain a multiple
/// of 8 octets.
fn ip_fragments(packet: u32, mtu: u32) -> Vec<u32> {
    const HEADER: u32 = 20;
    if packet <= mtu {
        return vec![packet];
    }
    let part = (mtu - HEADER) / 8 * 8;
    let mut left = packet - HEADER;
    let mut fragments = Vec::new();
    while left > 0 {
        let next = left.min(part);
        fragments.push(next + HEADER);
        left -= next;
    }
    fragments
}

/// Divides `total` into the smallest number of parts of at most `most`. The parts differ by at most one.
fn divide(total: u32, most: u32) -> Vec<u32> {
    let parts = total.div_ceil(most).max(1);
    (0..parts).map(|index| total / parts + u32::from(index < total % parts)).collect()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LTE_20: Carrier =
        Carrier { prbs: 100, spacing_khz: 15, ports: 2, sampling_hz: 30_720_000, transport_bits: 150_752 };
    const NR_20: Carrier =
        Carrier { prbs: 51, spacing_khz: 30, ports: 2, sampling_hz: 30_720_000, transport_bits: 0 };
    const NR_100: Carrier =
        Carrier { prbs: 273, spacing_khz: 30, ports: 4, sampling_hz: 122_880_000, transport_bits: 1_280_000 };

    /// Returns (payload Mbit/s, wire Mbit/s, frames at once, bytes of the first frame without preamble and gap).
    fn row(split: Split, carrier: Carrier, mtu: u32) -> (f64, f64, usize, u32) {
        let load = split.load(&carrier, mtu).unwrap();
        let frames = load.pattern.frames(0);
        let rounded = |bps: u64| (bps as f64 / 1e5).round() / 10.0;
        (rounded(load.payload_bps), rounded(load.wire_bps), frames.len(), frames[0] - WIRE_GAP_BYTES)
    }

    #[test]
    fn loads_match_formulas() {
        let lte_20_1 = Carrier { ports: 1, ..LTE_20 };
        let bfp9 = Split::SevenTwo { mantissa_bits: 9 };
        let plain = Split::SevenTwo { mantissa_bits: 16 };
        let table = [
            (row(Split::If4p5 { udp: false }, Carrier::LTE_5, 1500), (67.2, 72.8, 14, 630)),
            (row(Split::If4p5 { udp: true }, Carrier::LTE_5, 1500), (67.2, 75.9, 14, 658)),
            (row(Split::If4p5 { udp: false }, lte_20_1, 1500), (268.8, 280.0, 28, 1230)),
            (row(Split::SevenOne, Carrier::LTE_5, 1500), (134.4, 139.6, 1, 1226)),
            (row(bfp9, LTE_20, 1500), (627.2, 652.3, 4, 1436)),
            (row(bfp9, NR_20, 1500), (639.7, 664.8, 2, 1464)),
            (row(bfp9, NR_100, 1500), (6849.0, 7150.1, 24, 1324)),
            (row(bfp9, NR_100, 9000), (6849.0, 6899.2, 4, 7680)),
            (row(plain, NR_100, 9000), (11741.2, 11841.5, 8, 6612)),
            (row(Split::Eight, Carrier::LTE_5, 1500), (245.8, 258.7, 1, 1058)),
            (row(Split::Eight, LTE_20, 1500), (1966.1, 2069.8, 2, 1058)),
            (row(Split::Eight, NR_100, 9000), (15728.6, 15832.3, 4, 8226)),
            (row(Split::Six, Carrier::LTE_5, 1500), (19.1, 20.4, 2, 1256)),
        ];
        for (computed, expected) in table {
            assert_eq!(computed, expected);
        }
    }

    #[test]
    fn tdd_carrier_sends_only_in_its_symbols() {
        let tdd = Tdd::default();
        let load = |split: Split, way| split.load_in(&NR_100, 9000, &tdd, way).unwrap();
        let mbps = |bps: u64| (bps as f64 / 1e5).round() / 10.0;
        let bfp9 = Split::SevenTwo { mantissa_bits: 9 };
        let down = load(bfp9, Direction::Down);
        let up = load(bfp9, Direction::Up);
        assert_eq!((mbps(down.payload_bps), mbps(up.payload_bps)), (5087.8, 1565.5));
        assert_eq!((mbps(down.wire_bps), mbps(up.wire_bps)), (5125.1, 1577.0));
        assert_eq!((down.pattern.check(), up.pattern.check()), (Ok(()), Ok(())));
        // The uplink begins after three slots, ten downlink symbols and two guard symbols.
        assert_eq!(up.pattern.due(0), Some(54 * 2500 * US / 70));
        // Time-domain samples and users' packets are sent without interruption.
        let full = Split::Eight.load(&NR_100, 9000).unwrap();
        assert_eq!(load(Split::Eight, Direction::Up), full);
        let burst = load(Split::If4p5 { udp: false }, Direction::Down);
        let Pattern::Tdd { together, frames, .. } = &burst.pattern else { panic!("{burst:?}") };
        assert_eq!((*together, frames.len(), burst.pattern.due(13)), (14, 4, Some(0)));
        let blocks = load(Split::Six, Direction::Up);
        assert_eq!((blocks.pattern.due(0), blocks.pattern.due(1)), (Some(2 * MS), Some(2 * MS + 2500 * US)));
        assert_eq!(NR_100.user_bps(Some(&tdd), Direction::Down), 2_560_000_000 * 52 / 70);
    }

    #[test]
    fn f1u_fragments_at_1470_bytes_unless_mtu_larger() {
        let split = Split::Two { user_bps: 13_000_000, user_bytes: 1470 };
        let load = split.load(&Carrier::LTE_5, 1500).unwrap();
        assert_eq!((load.fragmented_by, load.pattern.frames(0)), (Some(46), &[1538, 104][..]));
        let load = split.load(&Carrier::LTE_5, 1600).unwrap();
        assert_eq!((load.fragmented_by, load.pattern.frames(0)), (None, &[1584][..]));
        assert_eq!(load.wire_bps / 100_000, 140);
    }

    #[test]
    fn unsupported_split_is_refused() {
        let nothing = Carrier { prbs: 0, ..Carrier::LTE_5 };
        assert_eq!(Split::Eight.load(&nothing, 1500), Err(SplitError::Carrier));
        assert_eq!(Split::Eight.load(&Carrier::LTE_5, 9001), Err(SplitError::Mtu(9001)));
        let wide = Split::SevenTwo { mantissa_bits: 17 };
        assert_eq!(wide.load(&Carrier::LTE_5, 1500), Err(SplitError::Mantissa(17)));
        let silent = Split::Two { user_bps: 0, user_bytes: 1 };
        assert_eq!(silent.load(&Carrier::LTE_5, 1500), Err(SplitError::User));
    }

    proptest::proptest! {
        #[test]
        fn every_load_can_be_sent(
            prbs in 1_u16..276, spacing in 0..3_usize, ports in 1_u8..65, sampling_hz in 1_920_000_u32..491_520_000,
            mtu in 576_u32..9001, mantissa_bits in 1_u8..17, user_bytes in 1_u16..8901, bits in 0_u32..16_000_000,
        ) {
            let spacing_khz = [15, 30, 60][spacing];
            let carrier = Carrier { prbs, spacing_khz, ports, sampling_hz, transport_bits: bits };
            for split in [
                Split::Eight, Split::If4p5 { udp: true }, Split::SevenOne, Split::SevenTwo { mantissa_bits },
                Split::Six, Split::Two { user_bps: 1_000_000, user_bytes },
            ] {
                let load = split.load(&carrier, mtu).unwrap();
                proptest::prop_assert_eq!(load.pattern.check(), Ok(()), "{:?}", split);
                proptest::prop_assert!(load.wire_bps > load.payload_bps);
            }
        }
    }
}
