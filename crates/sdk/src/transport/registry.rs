//! What strangers have brought, by scheme.

use std::sync::{Arc, PoisonError, RwLock};

use super::Transport;

/// What strangers have brought. Schemes are the process's, as names of memory listeners are: hence one table for all.
static REGISTERED: RwLock<Vec<Arc<dyn Transport>>> = RwLock::new(Vec::new());

/// A transport cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Addresses with this scheme mean another transport already.
    #[error("{0}:// is another transport's scheme already")]
    Taken(String),
    /// No scheme of an address.
    #[error("{0:?} is no scheme: write lower-case letters, digits, + and -, a letter first")]
    Scheme(String),
}

/// Makes a transport known to the process: from now on its addresses parse, and every handle listens and connects there.
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

/// What a stranger has brought under a scheme.
pub(super) fn registered(scheme: &str) -> Option<Arc<dyn Transport>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.iter().find(|transport| transport.scheme() == scheme).cloned()
}
