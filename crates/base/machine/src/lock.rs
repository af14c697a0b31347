//! Access to a mutex.
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A panicked holder leaves at most one statistic incomplete, which does not justify a second panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
