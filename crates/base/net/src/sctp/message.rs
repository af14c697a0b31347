//! Properties of an SCTP message in addition to its bytes.

/// SCTP properties of a message (RFC 6458 §5.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageInfo {
    /// The stream's number.
    pub stream: u16,
    /// The payload protocol identifier, in host order.
    pub ppid: u32,
}

/// `SCTP_ASSOC_CHANGE` of linux/sctp.h.
pub(super) const ASSOC_CHANGE: u16 = 0x8001;
/// `SCTP_RESTART` of `sac_state`.
const RESTART: u16 = 2;

/// The kernel's notification about an association (RFC 6458 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// The peer has restarted without its earlier state (RFC 9260 §5.2). Later messages belong to a new
    /// association.
    Restarted,
    /// Any other notification. The next call to receive also reports a shutdown.
    Other,
}

impl Notification {
    /// Reads `sctp_assoc_change`: kind, flags, length, state.
    pub(super) fn read(octets: &[u8]) -> Self {
        let half = |at: usize| octets.get(at..)?.first_chunk().map(|half| u16::from_ne_bytes(*half));
        match (half(0), half(8)) {
            (Some(ASSOC_CHANGE), Some(RESTART)) => Self::Restarted,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_is_distinguished_from_other_notifications() {
        let notification = |kind: u16, state: u16| {
            let mut octets = vec![0; 20];
            octets[..2].copy_from_slice(&kind.to_ne_bytes());
            octets[8..10].copy_from_slice(&state.to_ne_bytes());
            octets
        };
        assert_eq!(Notification::read(&notification(ASSOC_CHANGE, RESTART)), Notification::Restarted);
        assert_eq!(Notification::read(&notification(ASSOC_CHANGE, 1)), Notification::Other);
        assert_eq!(Notification::read(&notification(ASSOC_CHANGE + 1, RESTART)), Notification::Other);
        assert_eq!(Notification::read(&notification(ASSOC_CHANGE, RESTART)[..9]), Notification::Other);
    }
}
