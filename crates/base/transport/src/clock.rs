//! Clock of the state machines ([`Machine`](ranlab_machine::Machine)).
use ranlab_machine::Time;
use std::sync::OnceLock;
use std::time::Instant;

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// Returns the epoch of the process: the time of the first call.
pub(crate) fn epoch() -> Instant {
    *EPOCH.get_or_init(Instant::now)
}

/// Returns the current time for state machines. All machines of the process use the same clock.
pub fn now() -> Time {
    Time::from_nanos(u64::try_from(epoch().elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the time since the Unix epoch by the wall clock, or zero if the clock is before the epoch.
pub fn unix_time() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// Converts a time of [`now`] to the time since the Unix epoch, by the current offset between [`now`] and [`unix_time`].
pub fn unix_time_at(at: Time) -> std::time::Duration {
    let unix = unix_time();
    let now = now();
    if at > now { unix + at.since(now) } else { unix.saturating_sub(now.since(at)) }
}

/// Converts a deadline of a machine to a tokio instant.
pub(crate) fn instant(at: Time) -> tokio::time::Instant {
    (epoch() + std::time::Duration::from_nanos(at.as_nanos())).into()
}
