//! The iApp `monitor` with the wall clock, which it needs to interpret the time stamps of reports.
use std::time::Duration;

use ranlab_ric::monitor::{Monitor, MonitorConfig, MonitorHandle};
use ranlab_sdk::wire::e2sm::Model;

use ranlab_lab::rig;
use ranlab_lab::worker::ComponentError;

/// Interval at which the iApp's clock is set again, because the wall clock may have been adjusted.
const CLOCK_EVERY: Duration = Duration::from_secs(1);

/// Starts a monitor iApp whose clock is set as long as the monitor is used. Must be called inside a `LocalSet`.
///
/// # Errors
///
/// Returns an error if a model does not report with this period.
pub(crate) fn start(
    models: Vec<&'static dyn Model>,
    period: Duration,
) -> Result<(Monitor, MonitorHandle), ComponentError> {
    let period_ms = u32::try_from(period.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX);
    let (iapp, handle) = Monitor::new(MonitorConfig { models, period_ms }).map_err(rig)?;
    let monitor = handle.clone();
    tokio::task::spawn_local(async move {
        while !monitor.is_alone() {
            monitor.set_clock(ranlab_sdk::now(), ranlab_sdk::unix_time());
            tokio::time::sleep(CLOCK_EVERY).await;
        }
    });
    Ok((iapp, handle))
}
