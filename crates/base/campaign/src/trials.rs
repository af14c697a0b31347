//! Trials of a search, stored as series of their repeat. Trials have no common clock, so their index takes the place of
//! the time.

use std::time::Duration;

use crate::record::Recording;
use crate::search::TrialOutcome;

/// Name of the series with the load of each trial (rate search), or its score (tuning).
pub const TRIED: &str = "search.tried";
const VALUES: &str = "search.tried_value";
const SHARES: &str = "search.tried_share";
const PASSES: &str = "search.tried_pass";

/// One trial of a rate search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchTrial {
    /// Load that was offered.
    pub load: f64,
    /// Value of the objective's metric at this load.
    pub value: f64,
    /// Share of the full duration.
    pub share: f64,
    /// Whether the objective was met.
    pub gave: TrialOutcome,
}

impl SearchTrial {
    /// Whether the trial took the full duration. Only such a trial bounds the result.
    pub fn full(&self) -> bool {
        self.share >= 1.0
    }
}

/// Stores the trials of a rate search in its final recording.
pub fn keep(recording: &mut Recording, tried: &[SearchTrial]) {
    let mut put = |name: &str, of: fn(&SearchTrial) -> f64| {
        let samples = (0..).zip(tried).map(|(at, trial)| (Duration::from_secs(at), of(trial)));
        recording.series.insert(name.to_owned(), samples.collect());
    };
    put(TRIED, |trial| trial.load);
    put(VALUES, |trial| trial.value);
    put(SHARES, |trial| trial.share);
    put(PASSES, |trial| match trial.gave {
        TrialOutcome::Pass => 1.0,
        TrialOutcome::Fail => 0.0,
        TrialOutcome::Unsent => -1.0,
    });
}

/// Returns the trials of a repeat, in order; empty without a rate search, or if its series were not loaded.
pub fn from_recording(recording: &Recording) -> Vec<SearchTrial> {
    let column = |name: &str| recording.series.get(name).into_iter().flatten().map(|(_, value)| *value);
    let pairs = column(TRIED).zip(column(VALUES)).zip(column(SHARES).zip(column(PASSES)));
    let gave = |pass: f64| match pass {
        1.0.. => TrialOutcome::Pass,
        0.0.. => TrialOutcome::Fail,
        _ => TrialOutcome::Unsent,
    };
    pairs.map(|((load, value), (share, pass))| SearchTrial { load, value, share, gave: gave(pass) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_round_trip() {
        let trial = |load, gave| SearchTrial { load, value: load / 100.0, share: 0.5, gave };
        let tried = [
            trial(200.0, TrialOutcome::Unsent),
            trial(100.0, TrialOutcome::Fail),
            trial(50.0, TrialOutcome::Pass),
        ];
        let mut recording = Recording::default();
        keep(&mut recording, &tried);
        assert_eq!(from_recording(&recording), tried);
        assert_eq!(
            recording.series[TRIED].len(),
            3,
            "the series keeps the name that earlier campaigns store"
        );
        assert!(from_recording(&Recording::default()).is_empty());
    }
}
