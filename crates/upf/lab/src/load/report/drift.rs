//! Drift of rate and latency over a run.
use super::super::outcome::Second;

/// Returns the ratios of rate and latency between the last and the first third of the seconds. The last second is ignored, because it is
/// rarely complete.
pub(super) fn drift(seconds: &[Second], hold_s: f64) -> Option<[f64; 2]> {
    let hold = hold_s.ceil() as usize;
    let whole = seconds.get(hold..seconds.len().saturating_sub(1)).filter(|whole| whole.len() >= 6)?;
    let third = whole.len() / 3;
    let of = |part: &[Second]| {
        let answers: u64 = part.iter().map(|second| second.answers).sum();
        let latency: f64 = part.iter().map(|second| second.latency_us_sum).sum();
        let done = if hold == 0 { answers } else { part.iter().map(|second| second.cycles).sum() };
        (done as f64, latency / (answers as f64).max(1.0))
    };
    let first = of(&whole[..third]);
    let last = of(&whole[whole.len() - third..]);
    (first.0 > 0.0 && first.1 > 0.0).then(|| [last.0 / first.0, last.1 / first.1])
}
