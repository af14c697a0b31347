//! State of a flow during a simulation.

use rand_chacha::ChaCha8Rng;

use super::super::network::{Flow, Network, Stage, StageId};
use super::super::stats::Delays;
use super::super::time::Ps;
use super::report::{FlowReport, Segment};

#[derive(Debug)]
pub(super) struct FlowState {
    pub(super) releases: u64,
    pub(super) frames: u64,
    /// Number of released copies of frames, including the first copies.
    pub(super) copies: u64,
    /// Number of dropped copies of frames.
    pub(super) dropped: u64,
    pub(super) duplicates: u64,
    pub(super) early: u64,
    pub(super) late: u64,
    /// Index of the first segment of each copy's path.
    pub(super) first_segment: Vec<usize>,
    /// Bitmap of the frames that arrived, if frames have several copies.
    pub(super) arrived: Vec<u64>,
    /// Time of the next release of a Poisson flow, on the flow's clock.
    pub(super) poisson_ps: Ps,
    pub(super) delays: Delays,
    pub(super) wired: Option<Box<Delays>>,
    pub(super) segments: Vec<Segment>,
    pub(super) random: ChaCha8Rng,
}

impl FlowState {
    /// Returns the initial state of a flow.
    pub(super) fn new(network: &Network, flow: &Flow, random: ChaCha8Rng) -> Self {
        Self {
            releases: 0,
            frames: 0,
            copies: 0,
            dropped: 0,
            duplicates: 0,
            early: 0,
            late: 0,
            first_segment: first_segments(flow),
            arrived: Vec::new(),
            poisson_ps: 0,
            delays: Delays::new(),
            wired: ends_with_air(network, &flow.path).then(Box::default),
            segments: flow.paths().flatten().map(|&stage| Segment { stage, ..Segment::default() }).collect(),
            random,
        }
    }

    /// Returns the results of the flow.
    pub(super) fn report(self, flow: &Flow) -> FlowReport {
        let unfinished = self.unfinished();
        FlowReport {
            name: flow.name.clone(),
            sent: self.frames,
            dropped: self.frames - self.delays.count() - unfinished,
            unfinished,
            duplicates: self.duplicates,
            early: self.early,
            late: self.late,
            delays: self.delays,
            wired: self.wired,
            segments: self.segments,
        }
    }

    /// Returns whether this is the first copy of the frame that arrives, and records its arrival.
    pub(super) fn is_first(&mut self, sequence: u64) -> bool {
        let word = (sequence / 64) as usize;
        if word >= self.arrived.len() {
            self.arrived.resize(word + 1, 0);
        }
        let bit = 1 << (sequence % 64);
        let first = self.arrived[word] & bit == 0;
        self.arrived[word] |= bit;
        first
    }

    /// Returns the number of frames that have not arrived and have a copy still in flight.
    fn unfinished(&self) -> u64 {
        let under_way = self.copies - self.dropped - self.duplicates - self.delays.count();
        under_way.min(self.frames - self.delays.count())
    }
}

/// Returns the index of the first segment of each of a flow's paths.
fn first_segments(flow: &Flow) -> Vec<usize> {
    let mut next = 0;
    let first = |path: &[StageId]| {
        next += path.len();
        next - path.len()
    };
    flow.paths().map(first).collect()
}

/// Returns whether a path over wired stages ends with a radio link.
fn ends_with_air(network: &Network, path: &[StageId]) -> bool {
    path.len() > 1
        && path.last().is_some_and(|&last| matches!(network.stages[usize::from(last)], Stage::Air(_)))
}

/// Returns an exponentially distributed duration with this mean, derived from 64 random bits. It is at least 1 ps. The calculation uses
/// integers, because the last bit of `ln` differs between machines.
pub(super) fn exponential(mean_ps: Ps, random: u64) -> Ps {
    // -log2(u / 2^64) = leading zeros + 1 - log2(mantissa in 1..2). Repeated squaring yields the digits of the logarithm.
    let u = random | 1;
    let zeros = u64::from(u.leading_zeros());
    let mut mantissa = (u << zeros) >> 32;
    let mut fraction: u64 = 0;
    for _ in 0..24 {
        mantissa = (mantissa * mantissa) >> 31;
        fraction <<= 1;
        if mantissa >> 32 != 0 {
            mantissa >>= 1;
            fraction |= 1;
        }
    }
    let log2 = ((zeros + 1) << 24) - fraction;
    // The factor is ln 2 in units of 2^-32.
    (((u128::from(mean_ps) * u128::from(log2) * 2_977_044_472) >> 56) as Ps).max(1)
}

#[cfg(test)]
mod tests {
    use rand::{RngCore, SeedableRng};

    use super::*;

    #[test]
    fn exponential_durations_have_expected_mean_and_median() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut all: Vec<_> = (0..100_001).map(|_| exponential(1_000_000, random.next_u64())).collect();
        all.sort_unstable();
        let mean = all.iter().sum::<Ps>() / all.len() as u64;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        let median = all[50_000];
        assert!((686_000..700_000).contains(&median), "{median}");
    }
}
