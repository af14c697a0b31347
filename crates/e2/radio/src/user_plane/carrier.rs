//! Carriers: bandwidth, numerology, duplex mode, and transport block sizes.

use super::mcs::{McsTable, lte_i_tbs_up};
use super::tbs_lte::lte_tbs;
use super::tbs_nr::{NrBlock, nr_tbs};

/// Radio access technology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rat {
    /// LTE, with subcarriers of 15 kHz and TTIs of 1 ms.
    Lte,
    /// NR, with the numerologies 0 to 2.
    Nr,
}

/// Downlink or uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Base station to UE.
    Down,
    /// UE to base station.
    Up,
}

/// Duplex mode: how the two directions share the spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duplex {
    /// Both directions in each slot.
    Fdd,
    /// Alternating slots: `down` downlink slots, one mixed slot, then `up` uplink slots (TS 38.331 TDD-UL-DL-Pattern).
    Tdd {
        /// Number of downlink slots per period.
        down: u8,
        /// Downlink data symbols of the mixed slot, 0 to 12, without control symbols.
        mixed_down_symbols: u8,
        /// Uplink data symbols of the mixed slot, 0 to 12.
        mixed_up_symbols: u8,
        /// Number of uplink slots per period.
        up: u8,
    },
}

/// A carrier. Create one with [`lte`](Self::lte) or [`nr`](Self::nr) and change fields as needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Carrier {
    /// Radio access technology.
    pub rat: Rat,
    /// Numerology μ: subcarriers of 15·2^μ kHz and slots of 1 ms / 2^μ. It is 0 for LTE, and 0 to 2 for NR below 6 GHz.
    pub numerology: u8,
    /// Number of PRBs, the same in both directions.
    pub prbs: u16,
    /// Duplex mode; TDD requires NR.
    pub duplex: Duplex,
    /// MCS table.
    pub table: McsTable,
    /// Number of downlink layers, 1 to 4 (NR). The uplink and LTE have one layer.
    pub layers: u8,
    /// Data symbols of a full slot in either direction (NR), 1 to 14. The other symbols are control symbols.
    pub symbols: u8,
    /// Number of DMRS resource elements per PRB and slot (NR).
    pub dmrs: u8,
}

/// Reason why a carrier is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CarrierError {
    /// No bandwidth has this number of PRBs.
    #[error("no {rat:?} bandwidth of numerology {numerology} has {prbs} PRBs; allowed are {allowed:?}")]
    Prbs {
        /// Radio access technology of the carrier.
        rat: Rat,
        /// Numerology of the carrier.
        numerology: u8,
        /// Requested number of PRBs.
        prbs: u16,
        /// Numbers of PRBs that bandwidths have.
        allowed: &'static [u16],
    },
    /// The technology does not have this numerology.
    #[error("the numerology is {0}; 0 is allowed for LTE, 0 to 2 for NR below 6 GHz")]
    Numerology(u8),
    /// TDD was requested for LTE, or the pattern exceeds 5 ms or has no slot of a direction.
    #[error("TDD requires NR, a period of 1 to 20 slots, and at least 1 slot in each direction")]
    Tdd,
    /// Layers, symbols or reference signals are out of bounds.
    #[error(
        "a carrier must have 1 to 4 layers (LTE: 1), 1 to 14 data symbols and 0 to 24 DMRS elements per PRB"
    )]
    Shape,
}

const LTE_PRBS: &[u16] = &[6, 15, 25, 50, 75, 100];
/// Numbers of PRBs in frequency range 1, from 5 to 100 MHz, by numerology (TS 38.101-1 Table 5.3.2-1).
const NR_PRBS: [&[u16]; 3] = [
    &[25, 52, 79, 106, 133, 160, 188, 216, 242, 270],
    &[11, 24, 38, 51, 65, 78, 92, 106, 119, 133, 162, 189, 217, 245, 273],
    &[11, 18, 24, 31, 38, 44, 51, 58, 65, 79, 93, 107, 121, 135],
];
/// Maximum slots of a TDD period.
const TDD_SLOTS_MAX: u32 = 20;
/// Slots from data to its HARQ feedback. A downlink retransmission follows in slot n + 8 at the earliest.
pub(crate) const HARQ_FEEDBACK_SLOTS: u64 = 4;
/// Time from a grant to its data, in slots: K2 of NR, n + 4 of LTE.
pub(crate) const K2_SLOTS: u64 = 4;

impl Carrier {
    /// Returns an LTE FDD carrier, for example with 25, 50 or 100 PRBs (5, 10, 20 MHz).
    pub const fn lte(prbs: u16) -> Self {
        Self {
            rat: Rat::Lte,
            numerology: 0,
            prbs,
            duplex: Duplex::Fdd,
            table: McsTable::Qam64,
            layers: 1,
            symbols: 12,
            dmrs: 12,
        }
    }

    /// Returns an NR FDD carrier.
    pub const fn nr(numerology: u8, prbs: u16) -> Self {
        Self { rat: Rat::Nr, numerology, ..Self::lte(prbs) }
    }

    /// Returns an NR carrier in band n78 as in OpenAirInterface: 30 kHz, and periods of 5 ms with 7 downlink slots,
    /// one mixed slot and 2 uplink slots. The mixed slot carries no downlink data, so 106 PRBs at MCS 20 give 64.5
    /// Mbit/s.
    pub const fn n78(prbs: u16) -> Self {
        let duplex = Duplex::Tdd { down: 7, mixed_down_symbols: 0, mixed_up_symbols: 0, up: 2 };
        Self { duplex, ..Self::nr(1, prbs) }
    }

    /// Returns the duration of a slot, in µs.
    pub const fn slot_us(&self) -> u64 {
        1000 >> self.numerology
    }

    /// Returns the number of HARQ processes of a UE in each direction.
    pub const fn harq_processes(&self) -> u8 {
        match self.rat {
            Rat::Lte => 8,
            Rat::Nr => 16,
        }
    }

    /// Returns the kind of a slot in a direction.
    pub(crate) fn kind(&self, slot: u64, direction: Direction) -> SlotKind {
        let Duplex::Tdd { down, mixed_down_symbols, mixed_up_symbols, up } = self.duplex else {
            return SlotKind::Full;
        };
        let place = (slot % (u64::from(down) + 1 + u64::from(up))) as u8;
        let mixed = |symbols| if symbols > 0 { SlotKind::Mixed } else { SlotKind::None };
        match direction {
            Direction::Down if place < down => SlotKind::Full,
            Direction::Down if place == down => mixed(mixed_down_symbols),
            Direction::Up if place > down => SlotKind::Full,
            Direction::Up if place == down => mixed(mixed_up_symbols),
            _ => SlotKind::None,
        }
    }

    /// Returns the share of slots that carry data in a direction. A mixed slot counts by its share of symbols.
    pub(crate) fn share(&self, direction: Direction) -> f64 {
        let Duplex::Tdd { down, mixed_down_symbols, mixed_up_symbols, up } = self.duplex else {
            return 1.0;
        };
        let (full, mixed) = match direction {
            Direction::Down => (down, mixed_down_symbols),
            Direction::Up => (up, mixed_up_symbols),
        };
        let slots = f64::from(full) + f64::from(mixed) / f64::from(self.symbols);
        slots / f64::from(down + 1 + up)
    }

    /// Returns the first slot from `slot` on in which HARQ feedback or a grant can be sent in a direction.
    pub(crate) fn next(&self, slot: u64, direction: Direction) -> u64 {
        let control =
            |slot: &u64| self.duplex == Duplex::Fdd || self.kind(*slot, direction) == SlotKind::Full;
        (slot..slot + u64::from(TDD_SLOTS_MAX)).find(control).unwrap_or(slot)
    }

    /// Returns the size of a transport block in bits, or zero for no PRBs.
    pub fn tbs(&self, direction: Direction, symbols: u8, mcs: u8, prbs: u16) -> u32 {
        match self.rat {
            Rat::Lte => {
                let up = direction == Direction::Up;
                let i_tbs = if up { lte_i_tbs_up(mcs) } else { self.table.lte_i_tbs_down(mcs) };
                lte_tbs(i_tbs, prbs)
            }
            Rat::Nr => {
                let (modulation, rate_q11) = self.table.scheme(mcs);
                let layers = if direction == Direction::Down { self.layers } else { 1 };
                let dmrs = self.dmrs;
                let overhead = 0;
                let scaling_log2 = 0;
                nr_tbs(&NrBlock { prbs, symbols, dmrs, overhead, modulation, rate_q11, layers, scaling_log2 })
            }
        }
    }

    /// Checks that the carrier is valid.
    pub fn check(&self) -> Result<(), CarrierError> {
        let allowed = match (self.rat, self.numerology) {
            (Rat::Lte, 0) => LTE_PRBS,
            (Rat::Nr, 0..=2) => NR_PRBS[usize::from(self.numerology)],
            _ => return Err(CarrierError::Numerology(self.numerology)),
        };
        if !allowed.contains(&self.prbs) {
            let rat = self.rat;
            let numerology = self.numerology;
            let prbs = self.prbs;
            return Err(CarrierError::Prbs { rat, numerology, prbs, allowed });
        }
        if let Duplex::Tdd { down, mixed_down_symbols, mixed_up_symbols, up } = self.duplex {
            let symbols = mixed_down_symbols <= 12 && mixed_up_symbols <= 12;
            let slots = u32::from(down) + 1 + u32::from(up);
            if self.rat == Rat::Lte || down == 0 || up == 0 || slots > TDD_SLOTS_MAX || !symbols {
                return Err(CarrierError::Tdd);
            }
        }
        let layers = if self.rat == Rat::Lte { 1..=1 } else { 1..=4 };
        if !layers.contains(&self.layers) || !(1..=14).contains(&self.symbols) || self.dmrs > 24 {
            return Err(CarrierError::Shape);
        }
        Ok(())
    }
}

/// Resources of a slot for one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotKind {
    None,
    Mixed,
    Full,
}

/// Transport block sizes of a carrier in bytes, computed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocks {
    down: [Sizes; 2],
    up: [Sizes; 2],
}

impl Blocks {
    pub(crate) fn new(carrier: &Carrier) -> Self {
        let (down, up) = match carrier.duplex {
            Duplex::Fdd => (0, 0),
            Duplex::Tdd { mixed_down_symbols, mixed_up_symbols, .. } => {
                (mixed_down_symbols, mixed_up_symbols)
            }
        };
        let sizes = |direction, symbols| Sizes::new(carrier, direction, symbols);
        Self {
            down: [sizes(Direction::Down, down), sizes(Direction::Down, carrier.symbols)],
            up: [sizes(Direction::Up, up), sizes(Direction::Up, carrier.symbols)],
        }
    }

    pub(crate) fn sizes(&self, direction: Direction, kind: SlotKind) -> &Sizes {
        let pair = if direction == Direction::Down { &self.down } else { &self.up };
        &pair[usize::from(kind == SlotKind::Full)]
    }
}

/// Sizes in bytes for one kind of slot, by MCS and PRBs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Sizes in bytes, with `prbs + 1` entries for each MCS.
    bytes: Vec<u32>,
    prbs: u16,
}

impl Sizes {
    fn new(carrier: &Carrier, direction: Direction, symbols: u8) -> Self {
        let prbs = carrier.prbs;
        let row = |mcs| (0..=prbs).map(move |prbs| carrier.tbs(direction, symbols, mcs, prbs) / 8);
        Self { bytes: (0..=carrier.table.highest()).flat_map(row).collect(), prbs }
    }

    fn row(&self, mcs: u8) -> &[u32] {
        let width = usize::from(self.prbs) + 1;
        let first = usize::from(mcs) * width;
        self.bytes.get(first..first + width).unwrap_or(&[])
    }

    pub(crate) fn bytes(&self, mcs: u8, prbs: u16) -> u32 {
        self.row(mcs).get(usize::from(prbs)).copied().unwrap_or(0)
    }

    /// Returns the size of a block with all PRBs.
    pub(crate) fn whole(&self, mcs: u8) -> u32 {
        self.bytes(mcs, self.prbs)
    }

    /// Returns the smallest number of PRBs, at most `limit`, that carries `need` bytes, and the bytes that these PRBs
    /// carry.
    pub(crate) fn fit(&self, mcs: u8, need: u32, limit: u16) -> (u16, u32) {
        let row = self.row(mcs);
        let limit = usize::from(limit.min(self.prbs));
        let Some(most) = row.get(limit).copied() else { return (0, 0) };
        if need >= most {
            return (limit as u16, most);
        }
        // Sizes are nearly proportional to the number of PRBs, so the estimate is off by one or two PRBs.
        let mut prbs = (u64::from(need) * limit as u64 / u64::from(most)) as usize;
        while row[prbs] < need {
            prbs += 1;
        }
        while prbs > 1 && row[prbs - 1] >= need {
            prbs -= 1;
        }
        (prbs as u16, row[prbs])
    }
}
