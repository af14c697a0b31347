//! Context of a subscription for decoding its indications.
use bytes::Bytes;

use super::per::Text;

/// Values that indications omit, because the subscription or the node's setup contains them. Empty bytes mean
/// unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// RAN function definition of the node.
    pub definition: Bytes,
    /// Action definition of the subscription.
    pub action: Bytes,
    /// ASN.1 text that the node uses, as detected so far. Decoding changes it when a message is only valid in another
    /// text.
    pub text: Text,
}

impl Context {
    /// Creates a context for a node whose text has not been detected.
    pub fn new(definition: Bytes, action: Bytes) -> Self {
        Self { definition, action, text: Text::default() }
    }
}
