//! What SCTP says about a message beside its bytes.

/// What SCTP says about a message (RFC 6458 §5.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageInfo {
    /// The stream's number.
    pub stream: u16,
    /// The payload protocol identifier, in host order.
    pub ppid: u32,
}
