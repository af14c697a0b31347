//! One thread, one runtime: where drivers live.
use std::future::Future;

/// Runs `main` on a current-thread runtime with room for the drivers' tasks; returns what it returns.
///
/// # Panics
/// If the operating system gives no epoll instance (out of file descriptors), before anything has started.
pub fn run<T>(main: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Only the process's own start can fail here, and without a runtime there is nothing to go on with.
    #[allow(clippy::expect_used)]
    let runtime = runtime.expect("an epoll instance for the runtime");
    tokio::task::LocalSet::new().block_on(&runtime, main)
}
