//! After a search, further trials run at given fractions of the load that the search found. Each measures a
//! distribution.

use crate::record::Recording;
use crate::rig::RigError;
use crate::scenario::Load;
use crate::scenario::search::metric;
use crate::search::mlr::GOALS_MAX;
use crate::value::short;

use super::{INVALID_RETRIES, Measured, Trials, offered};

impl Trials<'_, '_> {
    /// Runs a full trial at each share, the lowest first, because queues left by a higher load could affect the next
    /// trial. If a share cannot be measured, no distribution is recorded for it, and the cause is added to the reason
    /// that this repeat reports. The result of the search is unaffected.
    pub(super) fn after(&mut self, load: &Load, found: Measured) -> Result<Measured, RigError> {
        let (outcome, mut reason, mut recording) = found;
        let after = &load.after;
        // The result of a soak may exceed the maximum load of the search.
        let best = answer(&recording).filter(|_| outcome.counts()).map(|best| best.min(load.max));
        let Some(best) = best.filter(|_| !after.shares.is_empty()) else {
            return Ok((outcome, reason, recording));
        };
        let whole = self.whole(load);
        let mut shares = after.shares.clone();
        shares.sort_by(f64::total_cmp);
        for share in shares {
            if self.run.stop.now() {
                return Err(RigError::Stopped);
            }
            let at = if whole { (best * share).round().max(1.0) } else { best * share };
            let seen = self.tried(offered(&load.axis, at, whole), 1.0, INVALID_RETRIES)?;
            let own = seen.recording.distributions.get(&after.metric).filter(|_| seen.outcome.counts());
            let Some(distribution) = own.filter(|own| own.count() > 0) else {
                let why = if seen.reason.is_empty() { "there are no values" } else { &seen.reason };
                let words =
                    format!("{} at {} % of {}: {why}", after.metric, short(share * 100.0), short(best));
                reason = if reason.is_empty() { words } else { format!("{reason}; {words}") };
                continue;
            };
            recording.keep(&after.name(share), distribution.clone());
        }
        Ok((outcome, reason, recording))
    }
}

/// Returns the load that was found for the first goal with a result.
fn answer(recording: &Recording) -> Option<f64> {
    (0..GOALS_MAX).find_map(|goal| recording.metrics.get(&metric(goal, "load")).copied())
}
