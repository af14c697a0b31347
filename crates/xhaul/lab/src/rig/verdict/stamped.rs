//! Clocks of a live measurement and their errors.

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};

use super::most;

/// Sections between two ports, as named in metrics.
const WAYS: [&str; 2] = ["cable_dl", "cable_ul"];

/// Returns a sentence per kind of clock. Returns no sentence if the whole network is inside one machine.
pub(super) fn sentences(results: &Results) -> Vec<String> {
    let by = |clock: f64| {
        let stamped = |point: &&PointResult| {
            most(point, "live.clock") == Some(clock)
                && WAYS.iter().any(|way| most(point, &format!("{way}.sent")).is_some())
        };
        results.points.iter().filter(stamped).collect::<Vec<_>>()
    };
    let cards = by(1.0);
    let kernel = by(0.0);
    let mut sentences = Vec::new();
    if !cards.is_empty() {
        let worst =
            |name: &str| cards.iter().flat_map(|point| point.values(name)).map(f64::abs).fold(0.0, f64::max);
        sentences.push(format!(
            "Between the given ports frames were stamped by the cards' own clocks (PHC) at {}: a figure of cable_* may be wrong by {} us \
             by the clocks, whose paces differed by up to {} ppm. Everything else was stamped by the kernel with one clock.",
            points(cards.len()),
            short(worst("live.clock_error_us")),
            short(worst("live.clock_drift_ppm"))
        ));
    }
    if !kernel.is_empty() {
        sentences.push(format!(
            "Between the given ports frames were stamped by the kernel at {}: one clock, so no error of clocks; what drivers and cards \
             take before and after their stamps is in the figures of cable_*.",
            points(kernel.len())
        ));
    }
    let two: Vec<_> = results.points.iter().filter(|point| most(point, "live.clock") == Some(2.0)).collect();
    if let Some(error) = two.iter().filter_map(|point| most(point, "live.clock_error_us")).reduce(f64::max) {
        sentences.push(format!(
            "The ends stood on two machines at {}, each stamped by its kernel; their clocks were compared through the workers' \
             connections, and a one-way figure may be wrong by {} us: no delay below that means anything, differences of delays do.",
            points(two.len()),
            short(error)
        ));
    }
    let early =
        |point: &&&PointResult| WAYS.iter().any(|way| most(point, &format!("{way}.early")) > Some(0.0));
    let contradicted = cards.iter().chain(&kernel).filter(early).count();
    if contradicted > 0 {
        sentences.push(format!(
            "At {} frames arrived before they left, by more than the clocks' stated error: these clocks are not what they are taken \
             for, and no figure of cable_* there means anything.",
            points(contradicted)
        ));
    }
    sentences
}

fn points(count: usize) -> String {
    if count == 1 { "one point".to_owned() } else { format!("{count} points") }
}
