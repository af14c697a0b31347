//! NVS as in FlexRIC: exponential averages of the slices' shares are compared with the reserved shares. The slot goes
//! to the slice with the largest lag.

use super::{SliceParams, SliceSpec};

/// Weight of a slot in the averages.
const BETA: f64 = 0.001;
/// Minimum difference in lag by which a slice must exceed the best slice so far.
const MARGIN: f64 = 0.001;
/// Maximum weight of one choice in the averages. A choice that applies to many slots would otherwise replace all
/// history.
const BETA_MAX: f64 = 0.05;

#[derive(Debug)]
pub(super) struct Nvs {
    slices: Vec<Lag>,
    beta: f64,
    mbps_per_byte: f64,
    /// Slices considered in this slot, as bits.
    considered: u32,
}

#[derive(Debug)]
struct Lag {
    params: SliceParams,
    /// Average share (capacity slices), or average rate in Mbit/s (rate slices).
    average: f64,
    /// Rate slices: average rate in the slots that the slice had, in Mbit/s.
    effective: f64,
    /// Rate slices: weight of a slot in `effective`.
    beta_effective: f64,
}

impl Nvs {
    pub(super) fn new(slices: &[SliceSpec], mbps_per_byte: f64) -> Self {
        let lag = |slice: &SliceSpec| match slice.params {
            // The average starts at its target, so that there is no transient.
            params @ SliceParams::Rate { required_mbps, reference_mbps } => Lag {
                params,
                average: required_mbps,
                effective: reference_mbps,
                beta_effective: (BETA * reference_mbps / required_mbps).min(1.0),
            },
            params => {
                let average = if let SliceParams::Capacity(share) = params { share } else { 1.0 };
                Lag { params, average, effective: 0.0, beta_effective: 0.0 }
            }
        };
        Self { slices: slices.iter().map(lag).collect(), beta: BETA, mbps_per_byte, considered: 0 }
    }

    /// Sets the number of slots to which a choice applies.
    pub(super) fn hold(&mut self, slots: f64) {
        self.beta = (BETA * slots).min(BETA_MAX);
        for slice in &mut self.slices {
            if let SliceParams::Rate { required_mbps, reference_mbps } = slice.params {
                slice.beta_effective = (self.beta * reference_mbps / required_mbps).min(1.0);
            }
        }
    }

    /// Returns the slice that gets the slot. With sharing, each slice without data is skipped and its average is
    /// frozen. Without sharing, this applies to rate slices only. A capacity slice without data can then win a slot,
    /// which is wasted.
    pub(super) fn choose(&mut self, active: u32, sharing: bool) -> Option<u8> {
        self.considered = 0;
        let mut best: Option<(usize, f64)> = None;
        for (index, slice) in self.slices.iter().enumerate() {
            let is_rate = matches!(slice.params, SliceParams::Rate { .. });
            if active & (1 << index) == 0 && (sharing || is_rate) {
                continue;
            }
            self.considered |= 1 << index;
            let weight = slice.weight();
            if best.is_none_or(|(_, most)| weight > most + MARGIN) {
                best = Some((index, weight));
            }
        }
        let chosen = best.map(|(index, _)| index as u8);
        if chosen.is_none() {
            self.considered = 0;
        }
        chosen
    }

    /// Called at the end of the slot: updates the averages with the bytes that the chosen slice sent.
    pub(super) fn served(&mut self, chosen: u8, bytes: u32) {
        let rate = f64::from(bytes) * self.mbps_per_byte;
        for (index, slice) in self.slices.iter_mut().enumerate() {
            if self.considered & (1 << index) == 0 {
                continue;
            }
            let is_chosen = index == usize::from(chosen);
            let got = match (is_chosen, slice.params) {
                (false, _) => 0.0,
                (true, SliceParams::Rate { .. }) => {
                    slice.effective += slice.beta_effective * (rate - slice.effective);
                    rate
                }
                (true, _) => 1.0,
            };
            slice.average += self.beta * (got - slice.average);
        }
    }
}

impl Lag {
    fn weight(&self) -> f64 {
        let due = match self.params {
            SliceParams::Capacity(share) => share,
            SliceParams::Rate { required_mbps, reference_mbps } => {
                required_mbps * (self.effective / reference_mbps).min(1.0)
            }
            SliceParams::Static { .. } | SliceParams::Edf { .. } | SliceParams::Quota { .. } => 0.0,
        };
        due / self.average.max(f64::MIN_POSITIVE)
    }
}
