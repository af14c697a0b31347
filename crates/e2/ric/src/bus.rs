//! Publish-only message bus of controllers.

use bytes::Bytes;

/// Message sink. It never blocks: messages without room are dropped and counted by the implementation.
pub trait Bus: Send {
    /// Publishes a JSON message under a subject.
    fn publish(&mut self, subject: &str, message: Bytes);
}

/// Discards all messages.
impl Bus for () {
    fn publish(&mut self, _: &str, _: Bytes) {}
}
