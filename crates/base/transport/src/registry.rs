//! Registered third-party transports, by scheme.

use std::sync::{Arc, PoisonError, RwLock};

use super::Transport;

/// All registered transports. Schemes are global to the process.
static REGISTERED: RwLock<Vec<Arc<dyn Transport>>> = RwLock::new(Vec::new());

/// Reason why a transport cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another transport uses this scheme.
    #[error("{0}:// is another transport's scheme already")]
    Taken(String),
    /// The text is not a valid scheme.
    #[error("{0:?} is not a scheme: write lower-case letters, digits, + and -, a letter first")]
    Scheme(String),
}

/// Registers a transport for this process. From now on its addresses can be parsed, and every caller can listen at them
/// and connect to them.
pub fn register(transport: impl Transport) -> Result<(), RegisterError> {
    let scheme = transport.scheme().to_owned();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '+' || c == '-';
    if !scheme.starts_with(|c: char| c.is_ascii_lowercase()) || !scheme.chars().all(allowed) {
        return Err(RegisterError::Scheme(scheme));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let ours = ["tcp", "unix", "mem", "sctp", "shim", "tls"];
    if ours.contains(&&*scheme) || registered.iter().any(|other| other.scheme() == scheme) {
        return Err(RegisterError::Taken(scheme));
    }
    registered.push(Arc::new(transport));
    Ok(())
}

/// Returns the registered transport of a scheme.
pub(super) fn registered(scheme: &str) -> Option<Arc<dyn Transport>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.iter().find(|transport| transport.scheme() == scheme).cloned()
}
