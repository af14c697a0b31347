//! Leases of subscriptions: a subscription with a lease ends unless the client renews it, so a client that
//! exits leaves nothing behind.
use super::Console;
use crate::northbound::{Call, Completion, Fault};
use ranlab_e2::Time;
use ranlab_e2::ric::IAppOutbox;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// Timer for leases; effects use ids from 1 upwards.
pub(super) const TIMER: u64 = u64::MAX;
/// Maximum lease, in seconds.
const LEASE_S_MAX: u32 = 3_600;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Renewal {
    subscriptions: Vec<u32>,
    lease_s: u32,
}

/// Returns the expiry of a lease that begins now.
pub(super) fn until(now: Time, lease_s: u32) -> Result<Time, Fault> {
    if !(1..=LEASE_S_MAX).contains(&lease_s) {
        return Err(Fault::new(422, format!("lease_s must be 1 to {LEASE_S_MAX} seconds")));
    }
    Ok(now + Duration::from_secs(lease_s.into()))
}

impl Console {
    /// Renews the leases of subscriptions; the response lists subscriptions without a lease and unknown subscriptions.
    pub(super) fn renew_leases(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let Renewal { subscriptions, lease_s } = call.body()?;
        let until = until(call.now, lease_s)?;
        if subscriptions.len() > super::SUBSCRIPTIONS_MAX {
            let most = super::SUBSCRIPTIONS_MAX;
            return Err(Fault::new(422, format!("a request may renew at most {most} subscriptions")));
        }
        let (renewed, unknown): (Vec<u32>, Vec<u32>) = subscriptions.into_iter().partition(|id| {
            let lease = self.subscriptions.get_mut(id).and_then(|held| held.lease.as_mut());
            lease.map(|lease| *lease = until).is_some()
        });
        Ok(Completion::Answer(json!({ "renewed": renewed, "unknown": unknown })))
    }

    /// Ensures that leases are checked no later than `at`.
    pub(super) fn wake_for_lease(&mut self, at: Time, out: &mut IAppOutbox) {
        if self.leases_at.is_none_or(|set| at < set) {
            self.leases_at = Some(at);
            out.wake_at(at, TIMER);
        }
    }

    /// Ends the subscriptions whose lease has expired.
    pub(super) fn end_leases(&mut self, now: Time, out: &mut IAppOutbox) {
        if self.leases_at.is_none_or(|at| now < at) {
            return;
        }
        self.leases_at = None;
        let leased = self.subscriptions.iter().filter_map(|(id, held)| Some((*id, held.lease?)));
        let (over, lasting): (Vec<_>, Vec<_>) = leased.partition(|(_, until)| *until <= now);
        over.into_iter().for_each(|(id, _)| self.end(id, out));
        if let Some(next) = lasting.into_iter().map(|(_, until)| until).min() {
            self.wake_for_lease(next, out);
        }
    }
}
