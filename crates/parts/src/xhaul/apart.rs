//! The two ends of the midhaul's cable on two machines: each has its half of the network, of every flow the end that is there, and its
//! own clock, which whoever brings both up has compared with the campaign's.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::lab_trouble;
use super::topology::{Lab, MIDHAUL, in_namespace};
use crate::environment;
use crate::worker::Trouble;

/// How long senders wait at the beginning of a window: until the other machine has begun its own.
pub(super) const LEAD: Duration = Duration::from_secs(2);
/// How long before the end of a window they stop: until what they sent has arrived, and the other machine still takes it.
const TAIL: Duration = Duration::from_millis(500);
/// The shortest window in which something is sent.
pub const WINDOW_MIN: Duration = Duration::from_secs(3);
/// How long the other end may take to answer.
const PATIENCE: Duration = Duration::from_secs(6);
const LOOK: Duration = Duration::from_millis(50);
/// Nobody listens there.
const DISCARD_PORT: u16 = 9;
/// Before a window: what a clock that is behind ours says of it is after that.
const BEFORE_NS: i64 = 3_600_000_000_000;

/// One machine's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneEnd {
    /// The DUs' and the switch's, or the CU's.
    pub far: bool,
    /// How far this machine's clock is ahead of the campaign's, ns.
    pub ahead_ns: i64,
    /// How long a window is that is measured, ns.
    pub window_ns: u64,
}

impl OneEnd {
    /// When senders stop, since the window began.
    pub(super) fn until(self) -> Duration {
        Duration::from_nanos(self.window_ns).saturating_sub(TAIL)
    }

    /// Whether a node is on this machine.
    pub(super) fn has(self, node: &str) -> bool {
        self.far == matches!(node, "du" | "du2" | "tester")
    }
}

/// When a window began, and by whose clock times are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Epoch {
    /// By this machine's clock.
    pub(super) base_ns: u64,
    /// How far that is ahead of the campaign's; `None`: both ends are here.
    pub(super) ahead_ns: Option<i64>,
}

impl Epoch {
    /// What a packet bears that is sent at this time of this machine's: since the window began, or the campaign's time.
    pub(super) fn mark(self, at_ns: u64) -> u64 {
        match self.ahead_ns {
            None => at_ns.saturating_sub(self.base_ns),
            Some(ahead_ns) => at_ns.saturating_add_signed(-ahead_ns),
        }
    }

    /// Times of sending and of arrival since some moment before the window; `None`: the packet is of another window.
    pub(super) fn times(self, mark_ns: u64, at_ns: u64) -> Option<(u64, u64)> {
        let Some(ahead_ns) = self.ahead_ns else {
            return Some((mark_ns, at_ns.checked_sub(self.base_ns)?));
        };
        let own = self.mark(self.base_ns);
        // The other machine may have begun a little earlier, or still be in the window before.
        if mark_ns < own.saturating_add(LEAD.as_nanos() as u64 / 2) {
            return None;
        }
        let zero = own.saturating_add_signed(-BEFORE_NS);
        Some((mark_ns.checked_sub(zero)?, at_ns.saturating_add_signed(-ahead_ns).checked_sub(zero)?))
    }
}

/// The hardware address of a node elsewhere, which answers through the cable; asked for until it does.
///
/// # Errors
/// Nobody answers.
pub(super) fn address_of(lab: &Lab, from: &str, to: &str) -> Result<[u8; 6], Trouble> {
    let (from, to) = (lab.get(from)?, lab.get(to)?);
    let begun = Instant::now();
    let asker = in_namespace(&from.namespace, || UdpSocket::bind("0.0.0.0:0").map_err(environment))?;
    loop {
        // The kernel asks for the address, and drops this.
        let _ = asker.send_to(b"where", (to.ip, DISCARD_PORT));
        std::thread::sleep(LOOK);
        if let Some(found) = lab.testbed.neighbour(&from.namespace, MIDHAUL, to.ip).map_err(lab_trouble)? {
            return Ok(found);
        }
        if begun.elapsed() > PATIENCE {
            return Err(environment(format!(
                "live: the other end does not answer at {} through the cable: is it the one between the two ports of \
                 `live.midhaul_ports`?",
                to.ip
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_its_nodes_and_all_have_one() {
        let end = |far| OneEnd { far, ahead_ns: 0, window_ns: 4_000_000_000 };
        for node in ["v1", "v2", "v3", "server", "du", "du2", "tester"] {
            assert!(end(true).has(node) != end(false).has(node), "{node}");
        }
        assert!(end(true).has("du") && end(false).has("server"));
        assert_eq!(end(true).until(), Duration::from_millis(3_500));
    }

    #[test]
    fn two_clocks_tell_one_delay_and_other_windows_are_left_out() {
        let second = 1_000_000_000;
        let now = 1_800_000_000 * second;
        // The sender's clock is 5 s ahead of the campaign's, the receiver's 7 s behind.
        let sender = Epoch { base_ns: now + 5 * second, ahead_ns: Some(5_000_000_000) };
        let receiver = Epoch { base_ns: now - 7 * second, ahead_ns: Some(-7_000_000_000) };
        let at = |epoch: Epoch, since: u64| epoch.base_ns + since;
        let mark = sender.mark(at(sender, 2 * second));
        let (sent, came) = receiver.times(mark, at(receiver, 2 * second + 40_000)).unwrap();
        assert_eq!(came - sent, 40_000);
        // Of the window before.
        assert_eq!(receiver.times(sender.mark(at(sender, second / 2)), at(receiver, second)), None);
        // Here both ends have one clock.
        let here = Epoch { base_ns: now, ahead_ns: None };
        assert_eq!(here.times(here.mark(now + 3), now + 10), Some((3, 10)));
        assert_eq!(here.times(3, now - 1), None);
    }
}
