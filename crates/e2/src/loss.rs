//! How a connection ends: the driver's word to a machine.

/// Why a connection is lost or could not be made, as the driver has seen it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkLoss {
    /// The address cannot be understood: no attempt will succeed.
    #[error("{0}")]
    BadAddress(String),
    /// Nobody answers there, in the transport's words.
    #[error("{0}")]
    NotConnected(String),
    /// The peer has closed the connection.
    #[error("the peer closed the connection")]
    ClosedByPeer,
    /// The connection broke, in the transport's words.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The peer does not mark its messages as agreed.
    #[error("{0}")]
    Framing(String),
}
