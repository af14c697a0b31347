//! What controllers tell whoever listens: messages under subjects, without an answer.

use bytes::Bytes;

/// Where messages go. It never waits: what cannot be taken is lost and counted there.
pub trait Bus: Send {
    /// Publishes a message, which is JSON.
    fn publish(&mut self, subject: &str, message: Bytes);
}

/// Nobody listens.
impl Bus for () {
    fn publish(&mut self, _: &str, _: Bytes) {}
}
