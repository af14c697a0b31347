//! A midhaul cable between two machines. Each machine has one half of the network, one end of every flow, and its own clock. The code that
//! starts both ends measures the offset of each clock to the clock of the campaign.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::lab_trouble;
use super::topology::{LiveTopology, MIDHAUL, in_namespace};
use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

/// Time that senders wait at the start of a window, so that the other machine has also begun its window.
pub(super) const LEAD: Duration = Duration::from_secs(2);
/// Time before the end of a window at which senders stop, so that the other machine still receives all packets.
const TAIL: Duration = Duration::from_millis(500);
/// Minimum duration of a window in which packets are sent.
pub const WINDOW_MIN: Duration = Duration::from_secs(3);
/// Maximum time to wait until the other end responds.
const PATIENCE: Duration = Duration::from_secs(6);
const LOOK: Duration = Duration::from_millis(50);
/// UDP discard port, on which no process listens.
const DISCARD_PORT: u16 = 9;
/// Time from the origin of send and arrival times to the start of the window, in nanoseconds. Times therefore stay positive if the clock of
/// the other machine is behind.
const BEFORE_NS: i64 = 3_600_000_000_000;

/// End of the cable on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneEnd {
    /// Whether this is the end of the DUs and the switch. Otherwise it is the end of the CU.
    pub far: bool,
    /// Offset of this machine's clock to the clock of the campaign, in nanoseconds. It is positive if this clock is ahead.
    pub ahead_ns: i64,
    /// Length of a measurement window, in nanoseconds.
    pub window_ns: u64,
}

impl OneEnd {
    /// Returns the time after the start of the window at which senders stop.
    pub(super) fn until(self) -> Duration {
        Duration::from_nanos(self.window_ns).saturating_sub(TAIL)
    }

    /// Returns whether a node is on this machine.
    pub(super) fn has(self, node: &str) -> bool {
        self.far == matches!(node, "du" | "du2" | "tester")
    }
}

/// Start of a window, and the clock to which times refer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Epoch {
    /// Start of the window on the clock of this machine.
    pub(super) base_ns: u64,
    /// Offset of this machine's clock to the clock of the campaign, in nanoseconds. `None` if both ends are on this machine.
    pub(super) ahead_ns: Option<i64>,
}

impl Epoch {
    /// Returns the time stamp for a packet that is sent at `at_ns` on the clock of this machine. It is the time since the start of the
    /// window, or the time of the campaign if there are two machines.
    pub(super) fn mark(self, at_ns: u64) -> u64 {
        match self.ahead_ns {
            None => at_ns.saturating_sub(self.base_ns),
            Some(ahead_ns) => at_ns.saturating_add_signed(-ahead_ns),
        }
    }

    /// Returns the send time and the arrival time relative to a common origin before the window. Returns `None` if the packet belongs to
    /// another window.
    pub(super) fn times(self, mark_ns: u64, at_ns: u64) -> Option<(u64, u64)> {
        let Some(ahead_ns) = self.ahead_ns else {
            return Some((mark_ns, at_ns.checked_sub(self.base_ns)?));
        };
        let own = self.mark(self.base_ns);
        // The other machine may have begun slightly earlier, or may still be in the previous window.
        if mark_ns < own.saturating_add(LEAD.as_nanos() as u64 / 2) {
            return None;
        }
        let zero = own.saturating_add_signed(-BEFORE_NS);
        Some((mark_ns.checked_sub(zero)?, at_ns.saturating_add_signed(-ahead_ns).checked_sub(zero)?))
    }
}

/// Returns the hardware address of a remote node. Sends requests over the cable until the node replies.
///
/// # Errors
/// The node does not reply.
pub(super) fn address_of(lab: &LiveTopology, from: &str, to: &str) -> Result<[u8; 6], ComponentError> {
    let from = lab.get(from)?;
    let to = lab.get(to)?;
    let begun = Instant::now();
    let asker = in_namespace(&from.namespace, || UdpSocket::bind("0.0.0.0:0").map_err(environment))?;
    loop {
        // The kernel resolves the hardware address before it can send this packet, which the receiver discards.
        let _ = asker.send_to(b"where", (to.ip, DISCARD_PORT));
        std::thread::sleep(LOOK);
        if let Some(found) = lab.testbed.neighbour(&from.namespace, MIDHAUL, to.ip).map_err(lab_trouble)? {
            return Ok(found);
        }
        if begun.elapsed() > PATIENCE {
            return Err(environment(format!(
                "live: the other end does not answer at {} through the cable: check that the cable connects the two ports of \
                 `live.midhaul_ports`",
                to.ip
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_is_on_exactly_one_machine() {
        let end = |far| OneEnd { far, ahead_ns: 0, window_ns: 4_000_000_000 };
        for node in ["v1", "v2", "v3", "server", "du", "du2", "tester"] {
            assert!(end(true).has(node) != end(false).has(node), "{node}");
        }
        assert!(end(true).has("du") && end(false).has("server"));
        assert_eq!(end(true).until(), Duration::from_millis(3_500));
    }

    #[test]
    fn delay_is_independent_of_clock_offsets() {
        let second = 1_000_000_000;
        let now = 1_800_000_000 * second;
        // The clock of the sender is 5 s ahead of the clock of the campaign. The clock of the receiver is 7 s behind.
        let sender = Epoch { base_ns: now + 5 * second, ahead_ns: Some(5_000_000_000) };
        let receiver = Epoch { base_ns: now - 7 * second, ahead_ns: Some(-7_000_000_000) };
        let at = |epoch: Epoch, since: u64| epoch.base_ns + since;
        let mark = sender.mark(at(sender, 2 * second));
        let (sent, came) = receiver.times(mark, at(receiver, 2 * second + 40_000)).unwrap();
        assert_eq!(came - sent, 40_000);
        // The packet belongs to the previous window.
        assert_eq!(receiver.times(sender.mark(at(sender, second / 2)), at(receiver, second)), None);
        // Both ends are on this machine and share a clock.
        let here = Epoch { base_ns: now, ahead_ns: None };
        assert_eq!(here.times(here.mark(now + 3), now + 10), Some((3, 10)));
        assert_eq!(here.times(3, now - 1), None);
    }
}
