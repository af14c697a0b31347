//! Modulation and coding tables of TS 38.214 §5.1.3.1 and §5.2.2.1 and of TS 36.213 §7.1.7.1 and §8.6.1, with the
//! SINR that each row needs.

use super::math::{exp, from_db, ln};

/// A table of modulation and coding schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum McsTable {
    /// Table 1, up to 64QAM, MCS 0 to 28: TS 38.214 Table 5.1.3.1-1 (LTE: TS 36.213 Table 7.1.7.1-1).
    #[default]
    Qam64,
    /// Table 2, up to 256QAM, MCS 0 to 27: TS 38.214 Table 5.1.3.1-2 (LTE: TS 36.213 Table 7.1.7.1-1A).
    Qam256,
}

/// Highest MCS index of any table.
pub const MCS_MAX: u8 = 28;
/// Highest CQI.
pub const CQI_MAX: u8 = 15;

/// Code rates of table 1, in units of 1/2048. The bits per symbol follow from the MCS borders below.
#[rustfmt::skip]
static RATES_64: [u16; 29] = [
    240, 314, 386, 502, 616, 758, 898, 1052, 1204, 1358,
    680, 756, 868, 980, 1106, 1232, 1316,
    876, 932, 1034, 1134, 1232, 1332, 1438, 1544, 1644, 1746, 1820, 1896,
];
#[rustfmt::skip]
static RATES_256: [u16; 28] = [
    240, 386, 616, 898, 1204,
    756, 868, 980, 1106, 1232, 1316,
    932, 1034, 1134, 1232, 1332, 1438, 1544, 1644, 1746,
    1365, 1422, 1508, 1594, 1682, 1770, 1833, 1896,
];
/// Bits per symbol and code rate in units of 1/2048, for CQI 1 to 15 (TS 38.214 Tables 5.2.2.1-2 and -3).
#[rustfmt::skip]
static CQI_64: [(u8, u16); 15] = [
    (2, 156), (2, 240), (2, 386), (2, 616), (2, 898), (2, 1204), (4, 756), (4, 980), (4, 1232),
    (6, 932), (6, 1134), (6, 1332), (6, 1544), (6, 1746), (6, 1896),
];
#[rustfmt::skip]
static CQI_256: [(u8, u16); 15] = [
    (2, 156), (2, 386), (2, 898), (4, 756), (4, 980), (4, 1232), (6, 932), (6, 1134), (6, 1332),
    (6, 1544), (6, 1746), (8, 1422), (8, 1594), (8, 1770), (8, 1896),
];
/// SINR in dB at which 10 % of large blocks fail, for table 1 with additive white noise. The values are from
/// 5G-LENA's link curves.
#[rustfmt::skip]
static NEEDED_64: [f64; 29] = [
    -1.01, -0.61, 0.21, 1.20, 1.95, 2.68, 3.44, 4.03, 4.83, 5.61, 6.26, 6.97, 7.71, 8.50, 9.31, 10.26, 10.82,
    11.57, 12.19, 13.14, 14.00, 14.83, 15.75, 16.62, 17.66, 18.47, 19.65, 20.61, 22.64,
];
/// SINR in dB at which 10 % of large blocks fail, for table 2. Rows that are also in table 1 have the same value.
#[rustfmt::skip]
static NEEDED_256: [f64; 28] = [
    -1.01, 0.21, 1.95, 3.44, 4.83, 6.97, 7.71, 8.50, 9.31, 10.26, 10.82,
    12.19, 13.14, 14.00, 14.83, 15.75, 16.62, 17.66, 18.47, 19.65,
    20.82, 21.44, 22.42, 23.28, 24.34, 25.25, 26.42, 27.08,
];
/// I_TBS values of LTE's 256QAM table for the PDSCH.
#[rustfmt::skip]
static LTE_I_256: [u8; 28] = [
    0, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33,
];

/// Steepness of the block error curve of large blocks, in 1/dB.
const SLOPE: f64 = 11.0;

impl McsTable {
    /// Returns the highest index that can carry new data.
    pub fn highest(self) -> u8 {
        match self {
            Self::Qam64 => 28,
            Self::Qam256 => 27,
        }
    }

    /// Returns bits per symbol and code rate (in units of 1/2048) of an MCS index. Higher indices count as the highest.
    pub fn scheme(self, mcs: u8) -> (u8, u16) {
        let mcs = mcs.min(self.highest());
        let (rates, borders): (&[u16], [u8; 3]) = match self {
            Self::Qam64 => (&RATES_64, [10, 17, 29]),
            Self::Qam256 => (&RATES_256, [5, 11, 20]),
        };
        let modulation = 2 + 2 * borders.iter().filter(|border| mcs >= **border).count() as u8;
        (modulation, rates[usize::from(mcs)])
    }

    /// Returns bits per symbol and code rate (in units of 1/2048) of a CQI, or `None` for CQI 0, which means out of range.
    pub fn cqi_scheme(self, cqi: u8) -> Option<(u8, u16)> {
        let table = if self == Self::Qam64 { &CQI_64 } else { &CQI_256 };
        table.get(usize::from(cqi.checked_sub(1)?)).copied()
    }

    /// Returns the highest MCS whose efficiency does not exceed the efficiency of a CQI, or `None` for CQI 0.
    pub fn mcs_of_cqi(self, cqi: u8) -> Option<u8> {
        let efficiency = |(bits, rate): (u8, u16)| u32::from(bits) * u32::from(rate);
        let target = efficiency(self.cqi_scheme(cqi)?);
        // The efficiency of table 1 falls slightly from MCS 16 to MCS 17, but no CQI lies between the two. The search
        // can therefore stop at the first MCS above the target. CQI 1 gets MCS 0, although MCS 0 exceeds its
        // efficiency.
        Some(
            (1..=self.highest())
                .take_while(|mcs| efficiency(self.scheme(*mcs)) <= target)
                .last()
                .unwrap_or(0),
        )
    }

    /// Returns the SINR in dB at which one of ten blocks with this MCS fails.
    pub fn needed_db(self, mcs: u8) -> f64 {
        let mcs = usize::from(mcs.min(self.highest()));
        match self {
            Self::Qam64 => NEEDED_64[mcs],
            Self::Qam256 => NEEDED_256[mcs],
        }
    }

    /// Returns the I_TBS of an LTE MCS in the downlink.
    pub fn lte_i_tbs_down(self, mcs: u8) -> u8 {
        let mcs = mcs.min(self.highest());
        match (self, mcs) {
            (Self::Qam64, 0..=9) => mcs,
            (Self::Qam64, 10..=16) => mcs - 1,
            (Self::Qam64, _) => mcs - 2,
            (Self::Qam256, _) => LTE_I_256[usize::from(mcs)],
        }
    }
}

/// Returns the I_TBS of an LTE MCS in the uplink, with 64QAM enabled (TS 36.213 Table 8.6.1-1).
pub fn lte_i_tbs_up(mcs: u8) -> u8 {
    match mcs.min(MCS_MAX) {
        mcs @ 0..=10 => mcs,
        mcs @ 11..=20 => mcs - 1,
        mcs => mcs - 2,
    }
}

/// Returns the probability that a block with this MCS fails at an effective SINR in dB. The curve is logistic, with
/// one failure in ten at the needed SINR.
pub fn block_error_rate(table: McsTable, mcs: u8, sinr_db: f64) -> f64 {
    1.0 / (1.0 + exp(SLOPE * (sinr_db - half_db(table, mcs))))
}

/// Returns the SINR in dB at which half of the blocks fail.
fn half_db(table: McsTable, mcs: u8) -> f64 {
    table.needed_db(mcs) - ln(9.0) / SLOPE
}

/// Tables for decoding and CQI, computed once per MCS table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoder {
    /// SINR at which half of the blocks fail, by MCS, as a factor.
    half: Vec<f32>,
    /// SINR from which each CQI is reported, as a factor; the first entry is CQI 1.
    cqi: Vec<f32>,
    /// Assigned MCS, by CQI.
    mcs: Vec<u8>,
    /// Factors on the SINR, indexed by the upper bits of a uniform number. A block is decoded if its SINR times a
    /// random factor reaches `half`, which gives the logistic curve.
    dither: Vec<f32>,
}

const DITHER_STEPS: usize = 1 << 12;

impl Decoder {
    pub(crate) fn new(table: McsTable) -> Self {
        let mcs: Vec<u8> = (0..=CQI_MAX).map(|cqi| table.mcs_of_cqi(cqi).unwrap_or(0)).collect();
        // CQI 1 and CQI 2 share MCS 0 in table 1. CQI 1 therefore starts 2 dB lower, where an MCS with its code rate
        // would start.
        let needed = |cqi: u8| match (table.mcs_of_cqi(cqi), table.mcs_of_cqi(cqi + 1)) {
            (Some(own), Some(next)) if own == next => table.needed_db(own) - 2.0,
            (Some(own), _) => table.needed_db(own),
            (None, _) => f64::INFINITY,
        };
        let dither = (0..DITHER_STEPS).map(|step| {
            let u = (step as f64 + 0.5) / DITHER_STEPS as f64;
            // A block fails if u < BLER(SINR), which means SINR + ln(u / (1 - u)) / slope < half, in dB.
            from_db(ln(u / (1.0 - u)) / SLOPE) as f32
        });
        Self {
            half: (0..=table.highest()).map(|mcs| from_db(half_db(table, mcs)) as f32).collect(),
            cqi: (1..=CQI_MAX).map(|cqi| from_db(needed(cqi)) as f32).collect(),
            dither: dither.collect(),
            mcs,
        }
    }

    /// Returns the CQI of an SINR. The search starts at the last CQI, because channels change slowly.
    pub(crate) fn cqi(&self, sinr: f32, last: u8) -> u8 {
        let mut cqi = usize::from(last);
        while cqi < self.cqi.len() && sinr >= self.cqi[cqi] {
            cqi += 1;
        }
        while cqi > 0 && sinr < self.cqi[cqi - 1] {
            cqi -= 1;
        }
        cqi as u8
    }

    pub(crate) fn mcs(&self, cqi: u8) -> u8 {
        self.mcs[usize::from(cqi.min(CQI_MAX))]
    }

    /// Returns whether a block is decoded at an effective SINR; `bits` are random.
    pub(crate) fn decodes(&self, mcs: u8, sinr: f32, bits: u64) -> bool {
        let step = (bits >> 52) as usize % DITHER_STEPS;
        sinr * self.dither[step] >= self.half[usize::from(mcs).min(self.half.len() - 1)]
    }

    /// Returns the SINR at which a share of blocks fails.
    pub(crate) fn sinr_for(&self, mcs: u8, share: f64) -> f32 {
        let share = share.clamp(1e-12, 1.0 - 1e-12);
        self.half[usize::from(mcs).min(self.half.len() - 1)]
            * from_db(ln((1.0 - share) / share) / SLOPE) as f32
    }
}
