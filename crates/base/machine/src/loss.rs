//! Reasons for the loss of a connection, as reported by the driver.

/// Reason why a connection was lost or could not be established.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkLoss {
    /// The address is invalid; no attempt will succeed.
    #[error("{0}")]
    BadAddress(String),
    /// Connecting failed; the text is the transport's error.
    #[error("{0}")]
    NotConnected(String),
    /// The peer closed the connection.
    #[error("the peer closed the connection")]
    ClosedByPeer,
    /// The connection failed; the text is the transport's error.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The peer does not frame its messages as configured.
    #[error("{0}")]
    Framing(String),
}
