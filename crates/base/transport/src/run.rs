//! Runtime for drivers.
use std::future::Future;

/// Runs `main` on a current-thread runtime with a `LocalSet` for the drivers' tasks. Returns its result.
///
/// # Panics
/// Panics before `main` starts if the operating system provides no epoll instance (out of file descriptors).
pub fn run<T>(main: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // The runtime can fail only when it is created, and no driver can run without it.
    #[allow(clippy::expect_used)]
    let runtime = runtime.expect("an epoll instance for the runtime");
    tokio::task::LocalSet::new().block_on(&runtime, main)
}
