//! Radio channel of one UE: a mean-reverting random walk of the signal-to-noise ratio, and values derived from it.

use crate::fixed::Reciprocal;

/// A signal-to-noise ratio, in units of 1/256 dB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Snr(pub i32);

impl Snr {
    /// Returns the ratio in dB. The conversion is exact, because 256 is a power of two.
    pub fn db(self) -> f32 {
        self.0 as f32 / 256.0
    }

    /// Returns the ratio that is nearest to a value in dB.
    pub(crate) fn nearest(db: f64) -> Self {
        Self((db * 256.0).round() as i32)
    }

    const fn from_db(db: i32) -> Self {
        Self(db * 256)
    }

    /// Returns the wideband CQI, 1 to 15. It increases every 2.1 dB from -6.7 dB on, according to link-level curves
    /// for 10 % BLER.
    fn cqi(self) -> u8 {
        // 122 / 65536 is 1 / 2.1 dB in units of 1/256 dB; the offset puts CQI 1 at -6.7 dB.
        (((self.0 + 2240) * 122) >> 16).clamp(1, 15) as u8
    }
}

/// Channel of a UE as reported by its base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RadioStats {
    /// Signal-to-noise ratio of the PUSCH.
    pub pusch_snr: Snr,
    /// Signal-to-noise ratio of the PUCCH.
    pub pucch_snr: Snr,
    /// Wideband channel quality indicator, 1 to 15 (TS 38.214 table 5.2.2.1-2).
    pub wb_cqi: u8,
    /// Downlink MCS index of table 1 (64QAM, 0 to 28).
    pub dl_mcs1: u8,
    /// Uplink MCS index of table 1.
    pub ul_mcs1: u8,
    /// Downlink MCS index of table 2 (256QAM, 0 to 27).
    pub dl_mcs2: u8,
    /// Uplink MCS index of table 2.
    pub ul_mcs2: u8,
    /// Power headroom, dB, -23 to 40 (TS 38.133 §10.1.17).
    pub phr_db: i8,
}

/// Random walk of a channel, and its present value.
#[derive(Debug, Clone)]
pub(crate) struct Radio {
    mean: Snr,
    dl: Snr,
    /// Additional loss of the uplink compared with the downlink, in units of 1/256 dB.
    ul_loss: i32,
}

/// Change of a channel in one step, the same for all UEs of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChannelStep {
    /// Share by which the channel returns to its mean, in units of 1/1024.
    reversion: i32,
    /// Maximum random change, in units of 1/256 dB.
    excursion: i32,
}

impl ChannelStep {
    /// Returns the change over `slots`. The random part grows with the root of time until the walk no longer depends
    /// on its past.
    pub(crate) fn over(slots: u64) -> Self {
        let slots = slots.min(1024) as u32;
        Self { reversion: slots as i32, excursion: (48 * slots.isqrt() as i32).min(1024) }
    }
}

/// Channel quality of one direction, as the scheduler uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quality {
    /// Bytes that one PRB carries in one slot, in units of 1/256 byte.
    pub(crate) bytes_per_prb_q8: u64,
    /// Reciprocal of the bytes per PRB that remain after the headers of transport blocks of eight PRBs.
    pub(crate) net_bytes_per_prb_q8: Reciprocal,
}

const WORST: Snr = Snr::from_db(-8);
const BEST: Snr = Snr::from_db(30);

impl Radio {
    /// Creates a channel from random `bits`. Its mean is between 2 and 24 dB, and its uplink is 1 to 7 dB worse.
    pub(crate) fn new(bits: u64) -> Self {
        let mean = Snr(2 * 256 + (bits & 0xffff) as i32 * (22 * 256) / 0x1_0000);
        Self { mean, dl: mean, ul_loss: 256 + ((bits >> 16) & 0x5ff) as i32 }
    }

    /// Moves the channel by one step, using the lowest 32 of the random `bits`.
    pub(crate) fn advance(
        &mut self,
        drift: ChannelStep,
        bits: u64,
        stats: &mut RadioStats,
    ) -> (Quality, Quality) {
        // The noise is the sum of two uniform numbers. It is symmetric around zero, from -4095 to 4095.
        let noise = (bits & 0xfff) as i32 + ((bits >> 12) & 0xfff) as i32 - 0xfff;
        let pull = ((self.mean.0 - self.dl.0) * drift.reversion) >> 10;
        let moved = Snr(self.dl.0 + pull + ((noise * drift.excursion) >> 12));
        self.dl = moved.clamp(WORST, BEST);
        let ripple = ((bits >> 24) & 0xff) as i32 - 128;
        let ul = Snr(self.dl.0 - self.ul_loss + ripple).clamp(WORST, BEST);
        let pucch = Snr(ul.0 + 2 * 256 - ripple);

        let dl_row = &ROWS[usize::from(self.dl.cqi())];
        let ul_row = &ROWS[usize::from(ul.cqi())];
        *stats = RadioStats {
            pusch_snr: ul,
            pucch_snr: pucch,
            wb_cqi: self.dl.cqi(),
            dl_mcs1: dl_row.mcs1,
            ul_mcs1: ul_row.mcs1,
            dl_mcs2: dl_row.mcs2,
            ul_mcs2: ul_row.mcs2,
            phr_db: (2 * (ul.0 >> 8) - 10).clamp(-23, 40) as i8,
        };
        (dl_row.quality, ul_row.quality)
    }
}

struct Row {
    mcs1: u8,
    mcs2: u8,
    quality: Quality,
}

/// Link adaptation by CQI: the MCS of both tables with about the efficiency of the CQI, and the bytes per PRB. The
/// bytes are efficiency x 144 resource elements (12 subcarriers x 12 symbols) / 8, with the efficiency of TS 38.214
/// table 5.2.2.1-2.
const ROWS: [Row; 16] = [
    row(0, 0, 702), // CQI 0 is out of range; the walk never gives it
    row(0, 0, 702),
    row(0, 0, 1080),
    row(2, 1, 1737),
    row(4, 2, 2772),
    row(6, 3, 4041),
    row(8, 4, 5418),
    row(11, 5, 6804),
    row(13, 7, 8820),
    row(15, 9, 11088),
    row(18, 11, 12582),
    row(20, 13, 15309),
    row(22, 15, 17982),
    row(24, 17, 20844),
    row(26, 19, 23571),
    row(28, 20, 25596),
];

/// Headers of a transport block of eight PRBs, per PRB, in units of 1/256 byte.
const HEADERS_PER_PRB_Q8: u64 = 192;

const fn row(mcs1: u8, mcs2: u8, bytes_per_prb_q8: u64) -> Row {
    let net = Reciprocal::new(bytes_per_prb_q8 - HEADERS_PER_PRB_Q8);
    Row { mcs1, mcs2, quality: Quality { bytes_per_prb_q8, net_bytes_per_prb_q8: net } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cqi_increases_with_snr() {
        assert_eq!(WORST.cqi(), 1);
        assert_eq!(BEST.cqi(), 15);
        let cqis: Vec<u8> = (-8..=30).map(|db| Snr::from_db(db).cqi()).collect();
        assert!(cqis.is_sorted());
        assert_eq!(Snr::from_db(8).cqi(), 7);
    }

    #[test]
    fn higher_cqi_carries_more_bytes() {
        assert!(ROWS[1..].is_sorted_by(|a, b| a.quality.bytes_per_prb_q8 < b.quality.bytes_per_prb_q8));
        assert!(ROWS.is_sorted_by(|a, b| a.mcs1 <= b.mcs1 && a.mcs2 <= b.mcs2));
    }

    #[test]
    fn random_walk_returns_to_its_mean() {
        let mut radio = Radio::new(0);
        radio.dl = BEST;
        let mut stats = RadioStats::default();
        // These bits give no noise, because both halves sum to the centre.
        for _ in 0..100 {
            radio.advance(ChannelStep::over(100), 0xfff, &mut stats);
        }
        assert!((radio.dl.0 - radio.mean.0).abs() < 64, "{radio:?}");
    }
}
