//! What is known of a subscription when its indications are read.
use bytes::Bytes;

use super::per::Text;

/// Values that indications leave out, because the subscription or the node's setup has them. Empty bytes: unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// RAN function definition of the node.
    pub definition: Bytes,
    /// Action definition of the subscription.
    pub action: Bytes,
    /// ASN.1 text that the node writes, as far as its messages have shown it. Decoding changes it once a message is complete
    /// in the other text alone.
    pub text: Text,
}

impl Context {
    /// A context of a node whose text is not known yet.
    pub fn new(definition: Bytes, action: Bytes) -> Self {
        Self { definition, action, text: Text::default() }
    }
}
