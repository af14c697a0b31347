//! HW: "hello world", a service model of this project that measures round trips and shows all four services.
//!
//! An xApp or iApp sends a [`Ping`] as a RIC control message; the RAN function echoes it, unchanged, in an indication
//! to every subscription whose trigger is [`HwTrigger::OnControl`]. Control carries no control header, an indication
//! no indication header: both are empty octet strings.
//!
//! | service | how |
//! |---|---|
//! | report | action type report, no definition: indications of type report carry a [`Ping`] |
//! | insert | action type insert, no definition: the same in indications of type insert |
//! | control | message [`Ping`] |
//! | policy | action type policy, definition [`HwPolicy`]: what is done with large pings, without asking again |

use bytes::Bytes;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.140.0";
/// The RAN function id that this project's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 140;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"HW_V0";
/// The RAN function revision that this project's agents announce.
pub const REVISION: u16 = 1;
/// Octets of the longest ping payload, and of the longest that a periodic trigger may ask for.
pub const PAYLOAD_SIZE_MAX: usize = 65_535;
/// Milliseconds of the longest period that a trigger may ask for: one hour.
pub const PERIOD_MS_MAX: u32 = 3_600_000;

/// A numbered message with the time of its departure: control message and indication message alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Ping {
    /// Number of the ping, given by its sender. An agent that reports periodically counts from zero.
    pub seq: u32,
    /// When its sender sent it, nanoseconds on the sender's own clock: only the sender can subtract from it.
    pub t_send_ns: u64,
    /// Anything, to give the message its size; at most [`PAYLOAD_SIZE_MAX`] octets.
    pub payload: Bytes,
}

/// The event trigger definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HwTrigger {
    /// Each control message is echoed.
    OnControl,
    /// The function sends pings of its own.
    Periodic {
        /// Interval between two pings in milliseconds, 1 to [`PERIOD_MS_MAX`].
        period_ms: u32,
        /// Octets of their payload, at most [`PAYLOAD_SIZE_MAX`]. The payload is zeros.
        payload_size: u16,
    },
}

/// The action definition of a policy: pings with a payload above the threshold are treated specially.
///
/// It holds for the pings of all controllers while the subscription lives; smaller pings are echoed as ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HwPolicy {
    /// Octets of payload; a ping with exactly as many is not yet above.
    pub threshold: u32,
    /// What happens to pings above it.
    pub action: HwPolicyAction,
}

impl HwPolicy {
    /// What the policy demands for a ping with `payload_size` octets; `None` if it is echoed as ever.
    pub const fn applies(&self, payload_size: usize) -> Option<HwPolicyAction> {
        if payload_size as u64 > self.threshold as u64 { Some(self.action) } else { None }
    }
}

/// What a policy does with a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HwPolicyAction {
    /// The control is acknowledged but not echoed.
    Ignore,
    /// The control is refused: a RIC control failure, no echo.
    Reject,
    /// It is echoed without its payload: same number, same time.
    EchoHeader,
    /// It is echoed two times.
    EchoTwice,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_applies_above_its_threshold() {
        let policy = HwPolicy { threshold: 100, action: HwPolicyAction::Reject };
        assert_eq!(policy.applies(100), None);
        assert_eq!(policy.applies(101), Some(HwPolicyAction::Reject));
    }
}
