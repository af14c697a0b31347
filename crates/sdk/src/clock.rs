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

/// The tokio instant of a machine's deadline.
pub(crate) fn instant(at: Time) -> tokio::time::Instant {
    (epoch() + std::time::Duration::from_nanos(at.as_nanos())).into()
}
