//! The one place where the machines' time comes from.
use ranlab_e2::Time;
use std::sync::OnceLock;
use std::time::Instant;

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// The process's epoch: the moment somebody first asked.
pub(crate) fn epoch() -> Instant {
    *EPOCH.get_or_init(Instant::now)
}

/// Now, in the time of the machines. The same for all machines of the process.
pub fn now() -> Time {
    Time::from_nanos(u64::try_from(epoch().elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// What the clock on the wall shows: time since the Unix epoch; zero if it stands before it.
pub fn unix_time() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// What that clock showed, or will show, when the machines' time is `at`; as far from [`unix_time`] as `at` is from [`now`].
pub fn unix_time_at(at: Time) -> std::time::Duration {
    let (unix, now) = (unix_time(), now());
    if at > now { unix + at.since(now) } else { unix.saturating_sub(now.since(at)) }
}

/// The tokio instant of a machine's deadline.
pub(crate) fn instant(at: Time) -> tokio::time::Instant {
    (epoch() + std::time::Duration::from_nanos(at.as_nanos())).into()
}
