//! Fits a loss function to the trials. The posterior of its two parameters is integrated over a grid that narrows
//! around the critical load.

use super::shape::{Shape, ln_below, ln_density};

/// Number of spreads to evaluate over the whole range, and again over the range of the relevant spreads.
const SPREADS: usize = 14;
/// Number of positions at which the most likely critical load of a spread is first searched.
const COARSE: usize = 16;
/// Number of steps of the golden-section search from the best coarse position.
const GOLDEN: u32 = 30;
/// Number of critical loads of a spread over which the posterior is integrated.
const CELLS: usize = 24;
/// Distance of a logarithmic likelihood from its maximum above which it counts as zero. Likelihoods below `exp(-14)`, a
/// millionth of the maximum, are ignored.
const NOTHING: f64 = 14.0;
/// Probability outside the interval at each end.
const OUTSIDE: f64 = 0.005;
/// Shape of the gamma distribution by which the loss of a trial varies around the curve, because packets are lost in
/// bursts. With a mean of m lost packets, the variance is `m + m * m / BURSTS`, and not m as for independent losses. A trial
/// is therefore at most as strong evidence as this number of independently lost packets.
const BURSTS: f64 = 1.0;

/// Mean number of lost packets below which losses are single events without bursts.
const LEAST: f64 = 0.05;
/// Maximum dispersion of the losses of trials.
const DISPERSION_MAX: f64 = 1_000.0;

/// Result of a trial, as evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Evidence {
    pub(super) load: f64,
    /// Packets that were sent.
    pub(super) packets: f64,
    /// Packets that were lost.
    pub(super) lost: f64,
    /// Logarithm of the trial's seconds, cached because every grid position needs it.
    ln_seconds: f64,
}

impl Evidence {
    pub(super) fn new(load: f64, packets: f64, lost: f64) -> Self {
        Self { load, packets, lost, ln_seconds: (packets / load).ln() }
    }
}

/// Assumptions about a device: onset of its losses, and reason of the differences between trials at one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    /// Packets are lost in independent bursts.
    Bursts(Shape),
    /// The capacity differs in each trial, normally distributed about the mean. Exactly the load above the capacity is
    /// lost.
    Wavers,
}

impl Device {
    /// Returns the shape of the mean losses.
    const fn shape(self) -> Shape {
        match self {
            Self::Bursts(shape) => shape,
            Self::Wavers => Shape::Erf,
        }
    }
}

/// Result of one function for the critical load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Critical {
    /// Mean of the posterior, computed from logarithms.
    pub load: f64,
    /// 0.5 % quantile of the posterior.
    pub low: f64,
    /// 99.5 % quantile of the posterior.
    pub high: f64,
}

/// Lower and upper end of a range, as logarithms.
type Range = (f64, f64);

/// A cell of the posterior: the logarithm of a critical load, and the logarithm of the product of its likelihood and the
/// width of the cell.
type Place = (f64, f64);

/// Fits a device to the trials. Returns the posterior of the critical load, and the logarithm of the maximum likelihood of
/// all trials.
///
/// - `target`: loss ratio at the critical load.
/// - `loads`: smallest and largest critical load.
///
/// The posterior is integrated over the critical load and over the spread, both on a logarithmic scale. Each spread has a
/// separate range of critical loads. If losses set in sharply, this range is narrow, and a common grid would miss it.
pub(super) fn fit(device: Device, evidence: &[Evidence], target: f64, loads: (f64, f64)) -> (Critical, f64) {
    let range: Range = (loads.0.ln(), loads.1.ln());
    let all: Range = (range.1 + 1e-6_f64.ln(), range.1);
    let columns = |spreads: Range, weight: f64| -> Vec<Vec<Place>> {
        let of = |at: usize| {
            let ln_spread = place(spreads, at, SPREADS);
            let of = |ln_load| likelihood(device, evidence, target.ln(), ln_load, ln_spread) * weight;
            column(range, &of)
        };
        (0..SPREADS).map(of).collect()
    };
    let first = columns(all, 1.0);
    let worth: Vec<Place> = first.iter().map(|column| likeliest(column)).collect();
    let (best, most) = (0..SPREADS)
        .fold((0, f64::NEG_INFINITY), |best, at| if worth[at].1 > best.1 { (at, worth[at].1) } else { best });
    let peak = worth[best].0;
    let spread = place(all, best, SPREADS);
    let dispersion = match device {
        Device::Bursts(shape) => dispersion(shape, evidence, target.ln(), peak, spread),
        // The model itself describes the differences between trials, so there is no additional dispersion.
        Device::Wavers => 1.0,
    };
    let counts = |at: &usize| worth[*at].1 > most - NOTHING * dispersion;
    let from = (0..SPREADS).find(counts);
    let to = (0..SPREADS).rev().find(counts);
    let width = (all.1 - all.0) / SPREADS as f64;
    let edge = |cells: f64| width.mul_add(cells, all.0).clamp(all.0, all.1);
    let closer = (edge(from.unwrap_or(0) as f64 - 1.0), edge(to.unwrap_or(SPREADS) as f64 + 2.0));
    let mut places: Vec<Place> = columns(closer, 1.0 / dispersion).into_iter().flatten().collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    (critical(&places, range), likelihood(device, evidence, target.ln(), peak, spread))
}

/// Returns the middle of a cell.
fn place(range: Range, cell: usize, cells: usize) -> f64 {
    (range.1 - range.0).mul_add((cell as f64 + 0.5) / cells as f64, range.0)
}

fn likeliest(places: &[Place]) -> Place {
    let nowhere = (0.0, f64::NEG_INFINITY);
    places.iter().copied().fold(nowhere, |best, place| if place.1 > best.1 { place } else { best })
}

/// Returns the critical loads of one spread that have a relevant likelihood; empty if no load has.
fn column(range: Range, of: &dyn Fn(f64) -> f64) -> Vec<Place> {
    let coarse = (0..COARSE).map(|cell| (cell, of(place(range, cell, COARSE))));
    let best = coarse.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|best| best.1.is_finite());
    let Some((best, _)) = best else { return Vec::new() };
    let cell = (range.1 - range.0) / COARSE as f64;
    let edge = |cells: f64| cell.mul_add(cells, range.0).clamp(range.0, range.1);
    let (peak, most) = golden((edge(best as f64 - 1.0), edge(best as f64 + 2.0)), of);
    let out = |sign: f64| {
        let mut step = 1e-7;
        loop {
            let at = sign.mul_add(step, peak);
            if at <= range.0 || at >= range.1 || of(at) < most - NOTHING {
                return at.clamp(range.0, range.1);
            }
            step *= 3.0;
        }
    };
    let around = (out(-1.0), out(1.0));
    let share = ((around.1 - around.0) / CELLS as f64).max(f64::MIN_POSITIVE).ln();
    let cells = (0..CELLS).map(|cell| place(around, cell, CELLS));
    cells.map(|ln_load| (ln_load, of(ln_load) + share)).collect()
}

/// Returns the position of the largest value between two ends, and the value.
fn golden((mut low, mut high): Range, of: &dyn Fn(f64) -> f64) -> Place {
    let share = (5.0_f64.sqrt() - 1.0) / 2.0;
    let mut a = high - share * (high - low);
    let mut b = low + share * (high - low);
    let mut of_a = of(a);
    let mut of_b = of(b);
    for _ in 0..GOLDEN {
        if of_a > of_b {
            (high, b, of_b) = (b, a, of_a);
            a = high - share * (high - low);
            of_a = of(a);
        } else {
            (low, a, of_a) = (a, b, of_b);
            b = low + share * (high - low);
            of_b = of(b);
        }
    }
    if of_a > of_b { (a, of_a) } else { (b, of_b) }
}

/// Returns mean and quantiles of positions in the order of their loads.
fn critical(places: &[Place], range: Range) -> Critical {
    let most = likeliest(places).1;
    let weight = |place: &Place| (place.1 - most).exp();
    let whole: f64 = places.iter().map(weight).sum();
    let mean = places.iter().map(|place| place.0 * weight(place)).sum::<f64>() / whole;
    let quantile = |share: f64, beyond: f64| {
        let mut left = share * whole;
        let found = places.iter().find(|place| {
            left -= weight(place);
            left <= 0.0
        });
        found.map_or(beyond, |place| place.0).exp()
    };
    if !(whole > 0.0 && mean.is_finite()) {
        let low = range.0.exp();
        let high = range.1.exp();
        return Critical { load: (low * high).sqrt(), low, high };
    }
    Critical { load: mean.exp(), low: quantile(OUTSIDE, range.0), high: quantile(1.0 - OUTSIDE, range.1) }
}

/// Returns the logarithm of the packets per second lost at a load, for a critical load and a spread. `None` if there is
/// no such function.
fn curve(shape: Shape, ln_target: f64, ln_load: f64, ln_spread: f64) -> Option<impl Fn(f64) -> f64> {
    let capacity = capacity(shape, ln_target, ln_load, ln_spread)?;
    let spread = ln_spread.exp();
    Some(move |load: f64| ln_spread + shape.ln_loss((load - capacity) / spread))
}

/// Returns the capacity of the function with this critical load and spread: `load - spread * f⁻¹(target * load / spread)`,
/// where f is the loss function of the shape. Returns `None` if this is not above 0.
fn capacity(shape: Shape, ln_target: f64, ln_load: f64, ln_spread: f64) -> Option<f64> {
    let capacity = ln_spread.exp().mul_add(-shape.load_of(ln_target + ln_load - ln_spread), ln_load.exp());
    (capacity > 0.0).then_some(capacity)
}

/// Returns the ratio of the observed variance of trials' losses to the assumed variance, at the most likely curve. The
/// ratio is at least 1. The weight of each trial is divided by it, because a device that loses whole seconds gives less
/// evidence than a device that loses single packets.
fn dispersion(shape: Shape, evidence: &[Evidence], ln_target: f64, ln_load: f64, ln_spread: f64) -> f64 {
    let Some(curve) = curve(shape, ln_target, ln_load, ln_spread) else { return 1.0 };
    let of = |trial: &Evidence| {
        let mean = (curve(trial.load) + trial.ln_seconds).exp().max(LEAST);
        (trial.lost - mean).powi(2) / (mean + mean * mean / BURSTS)
    };
    let freedom = evidence.len().saturating_sub(2).max(1) as f64;
    let all = evidence.iter().map(of).sum::<f64>() / freedom;
    if all.is_finite() { all.clamp(1.0, DISPERSION_MAX) } else { DISPERSION_MAX }
}

/// Returns the logarithm of the likelihood of the trials' losses.
fn likelihood(device: Device, evidence: &[Evidence], ln_target: f64, ln_load: f64, ln_spread: f64) -> f64 {
    let shape = device.shape();
    let all: f64 = match device {
        Device::Bursts(_) => {
            let Some(curve) = curve(shape, ln_target, ln_load, ln_spread) else { return f64::NEG_INFINITY };
            let of = |trial: &Evidence| {
                let ln_mean = curve(trial.load) + trial.ln_seconds;
                let ln_all = (BURSTS + ln_mean.exp()).ln();
                trial.lost * (ln_mean - ln_all) + BURSTS * (BURSTS.ln() - ln_all)
            };
            evidence.iter().map(of).sum()
        }
        Device::Wavers => {
            let Some(capacity) = capacity(shape, ln_target, ln_load, ln_spread) else {
                return f64::NEG_INFINITY;
            };
            let spread = ln_spread.exp();
            let of = |trial: &Evidence| {
                // Capacity that corresponds to one packet.
                let packet = trial.load / trial.packets;
                let wide = spread.mul_add(spread, packet * packet / 4.0).sqrt();
                let away = (trial.load - trial.lost * packet - capacity) / wide;
                if trial.lost > 0.0 { ln_density(away) + (packet / wide).ln() } else { ln_below(-away) }
            };
            evidence.iter().map(of).sum()
        }
    };
    if all.is_nan() { f64::NEG_INFINITY } else { all }
}
