//! Table of emulated descriptors.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::endpoint::Endpoint;

/// Number of descriptors that can be emulated. For a higher descriptor number, `socket` fails with `EMFILE`.
pub(crate) const DESCRIPTORS_MAX: usize = 65_536;

/// One bit per descriptor, which is the only cost for sockets that are not emulated.
static CARRIED: [AtomicU64; DESCRIPTORS_MAX / 64] = [const { AtomicU64::new(0) }; DESCRIPTORS_MAX / 64];
static ENDPOINTS: LazyLock<RwLock<HashMap<c_int, Arc<Endpoint>>>> = LazyLock::new(RwLock::default);

fn bit(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok()?;
    Some((CARRIED.get(fd / 64)?, 1 << (fd % 64)))
}

/// Returns the endpoint behind a descriptor, if it is emulated.
pub(crate) fn find(fd: c_int) -> Option<Arc<Endpoint>> {
    let (word, bit) = bit(fd)?;
    if word.load(Ordering::Acquire) & bit == 0 {
        return None;
    }
    ENDPOINTS.read().unwrap_or_else(PoisonError::into_inner).get(&fd).cloned()
}

/// Adds a descriptor of an endpoint. Returns `false` if its number is too large.
pub(crate) fn insert(fd: c_int, endpoint: &Arc<Endpoint>) -> bool {
    let Some((word, bit)) = bit(fd) else { return false };
    endpoint.lock().handles += 1;
    ENDPOINTS.write().unwrap_or_else(PoisonError::into_inner).insert(fd, Arc::clone(endpoint));
    word.fetch_or(bit, Ordering::Release);
    true
}

/// Removes a closed descriptor. Removing the last descriptor ends its endpoint.
pub(crate) fn remove(fd: c_int) {
    if find(fd).is_none() {
        return;
    }
    if let Some((word, bit)) = bit(fd) {
        word.fetch_and(!bit, Ordering::Release);
    }
    let removed = ENDPOINTS.write().unwrap_or_else(PoisonError::into_inner).remove(&fd);
    if let Some(endpoint) = removed {
        endpoint.release();
    }
}
