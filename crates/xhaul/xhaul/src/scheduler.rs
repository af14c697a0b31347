//! Schedulers of a port: configuration, and the tables derived from a gate control list.

use std::ops::Range;

use super::time::{Clock, Ps, S};

/// Number of traffic classes of a port. Class 7 has the highest priority.
pub const CLASSES: usize = 8;
/// Maximum number of entries in a gate control list.
pub const GATE_ENTRIES_MAX: usize = 1024;
/// Bytes that one preemption adds to a frame on the wire: the fragment's check sequence (4), a gap (12) and a
/// preamble (8); IEEE 802.3 clause 99.
pub const WIRE_PREEMPTION_BYTES: u32 = 24;
/// Minimum quantum of a round robin. It limits the number of rounds before a port sends a frame.
const QUANTUM_BYTES_MIN: u32 = 64;

/// Scheduler: selects a port's next frame. Frames of one class always keep their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduler {
    /// One queue for all classes.
    Fifo,
    /// Strict priority: the class with the highest priority is sent first. A started frame is completed (IEEE 802.1Q 8.6.8.1, 802.1CM
    /// profile A).
    StrictPriority,
    /// Deficit round robin over the classes. Each class has a quantum of bytes per round.
    DeficitRoundRobin {
        /// Quantum of each class, in bytes on the wire; at least 64.
        quanta: [u32; CLASSES],
    },
    /// Strict priority in which frames of express classes interrupt other frames (IEEE 802.1Qbu, 802.3br, 802.1CM profile B).
    Preemption {
        /// Lowest express class, 1 to 7.
        express_from: u8,
    },
    /// Strict priority with gates (IEEE 802.1Qbv). A frame that would not be complete before its gate closes must wait.
    Gates(Gates),
    /// Strict priority with credit-based shapers (IEEE 802.1Qav).
    CreditBased {
        /// Idle slope of each class, in bit/s. `None`: the class is not shaped.
        idle_bps: [Option<u64>; CLASSES],
    },
    /// Strict priority with asynchronous traffic shaping (IEEE 802.1Qcr): flows with a
    /// [`regulator`](super::Flow::regulator) wait until they conform to it.
    Asynchronous,
}

/// A gate control list on the clock of its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates {
    /// Entries of a cycle, in order.
    pub entries: Vec<GateEntry>,
    /// Clock of the list. The offset of the clock shifts the cycle.
    pub clock: Clock,
}

/// One entry of a gate control list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateEntry {
    /// Duration of the entry, in ps; at least 1.
    pub duration_ps: Ps,
    /// Bitmap of the open classes: bit 7 is class 7.
    pub open: u8,
}

/// Burst and rate that a flow may send, in bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Maximum burst, in bytes on the wire; at least the flow's largest frame.
    pub burst_bytes: u32,
    /// Rate on the wire, in bit/s; at least 1.
    pub rate_bps: u64,
}

/// Reason why a scheduler is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// The quantum is too small.
    #[error("a quantum must be at least {QUANTUM_BYTES_MIN} bytes, not {0}")]
    Quantum(u32),
    /// All classes are express classes, or the class does not exist.
    #[error("the lowest express class must be 1 to 7, not {0}")]
    Express(u8),
    /// The list has no entries or too many, an entry has no duration, or the cycle is longer than 10 s.
    #[error(
        "a gate control list must have 1 to {GATE_ENTRIES_MAX} entries, each of at least 1 ps and all together of at most 10 s"
    )]
    Gates,
    /// The shaper never gains credit, or gains more than the link can send.
    #[error("an idle slope must be above 0 and at most the link's rate, not {0} bit/s")]
    IdleSlope(u64),
}

impl Scheduler {
    pub(super) fn check(&self, link_bps: u64) -> Result<(), SchedulerError> {
        match self {
            Self::Fifo | Self::StrictPriority | Self::Asynchronous => Ok(()),
            Self::DeficitRoundRobin { quanta } => quanta
                .iter()
                .find(|&&quantum| quantum < QUANTUM_BYTES_MIN)
                .map_or(Ok(()), |&quantum| Err(SchedulerError::Quantum(quantum))),
            Self::Preemption { express_from } => match express_from {
                1..=7 => Ok(()),
                other => Err(SchedulerError::Express(*other)),
            },
            Self::Gates(gates) => gates.check(),
            Self::CreditBased { idle_bps } => idle_bps
                .iter()
                .flatten()
                .find(|&&slope| slope == 0 || slope > link_bps)
                .map_or(Ok(()), |&slope| Err(SchedulerError::IdleSlope(slope))),
        }
    }

    /// Returns the queue of a class. FIFO has one queue for all classes.
    pub(super) fn queue(&self, class: u8) -> usize {
        match self {
            Self::Fifo => 0,
            _ => usize::from(class).min(CLASSES - 1),
        }
    }
}

impl Gates {
    /// Returns the length of a cycle, in ps.
    pub fn cycle_ps(&self) -> Ps {
        self.entries.iter().map(|entry| entry.duration_ps).sum()
    }

    /// Returns the windows of `class` in a cycle that begins when the class is closed. Each window is (start, end) on the gates' clock. An
    /// end may be after the end of the cycle. `None`: the class never closes. Empty: it never opens.
    pub(super) fn windows(&self, class: usize) -> Option<Vec<(Ps, Ps)>> {
        let open = |entry: &GateEntry| entry.open >> class & 1 == 1;
        // Starts after an entry in which the gate is closed, so that no window crosses the start.
        let closed = self.entries.iter().position(|entry| !open(entry))?;
        let mut at = self.entries[..=closed].iter().map(|entry| entry.duration_ps).sum::<Ps>();
        let mut windows: Vec<(Ps, Ps)> = Vec::new();
        let rest = self.entries[closed + 1..].iter().chain(&self.entries[..=closed]);
        for entry in rest {
            let end = at + entry.duration_ps;
            if open(entry) {
                match windows.last_mut() {
                    Some(last) if last.1 == at => last.1 = end,
                    _ => windows.push((at, end)),
                }
            }
            at = end;
        }
        Some(windows)
    }

    /// Returns the longest window of `class`, in ps. `Ps::MAX` if the class never closes.
    pub(super) fn longest_ps(&self, class: usize) -> Ps {
        match self.windows(class) {
            None => Ps::MAX,
            Some(windows) => windows.iter().map(|(start, end)| end - start).max().unwrap_or(0),
        }
    }

    fn check(&self) -> Result<(), SchedulerError> {
        let durations = || self.entries.iter().map(|entry| entry.duration_ps);
        let count = (1..=GATE_ENTRIES_MAX).contains(&self.entries.len());
        if !count || durations().any(|ps| ps == 0 || ps > 10 * S) || durations().sum::<Ps>() > 10 * S {
            return Err(SchedulerError::Gates);
        }
        Ok(())
    }
}

/// Gate control list with precalculated times for look-ups.
#[derive(Debug, Clone)]
pub(super) struct GateTable {
    cycle_ps: Ps,
    /// For each entry: its end in the cycle, its bitmap, and for each class the time for which the gate stays open after this end.
    entries: Vec<(Ps, u8, [Ps; CLASSES])>,
    clock: Clock,
    /// Index of the entry that was looked up last. Most look-ups find this entry again, without a division.
    current: usize,
    /// Beginning and end of that entry, on the gates' clock.
    current_local: Range<Ps>,
}

/// State of the gates at one moment.
pub(super) struct GateState<'t> {
    pub(super) open: u8,
    now: Ps,
    /// End of the current entry, on the gates' clock.
    end_local: Ps,
    after: &'t [Ps; CLASSES],
    clock: Clock,
}

impl GateState<'_> {
    /// Returns the time of the next entry, at least 1 ps from now, ps of true time.
    pub(super) fn next_at(&self) -> Ps {
        self.clock.to_true(self.end_local).max(self.now + 1)
    }

    /// Returns the time for which the open gate of `class` stays open, in ps of true time.
    pub(super) fn left_ps(&self, class: usize) -> Ps {
        match self.after[class] {
            Ps::MAX => Ps::MAX,
            after => self.clock.to_true(self.end_local + after) - self.now,
        }
    }
}

impl GateTable {
    pub(super) fn new(gates: &Gates) -> Self {
        let cycle_ps = gates.cycle_ps();
        let mut end = 0;
        let entries = gates.entries.iter().enumerate().map(|(index, entry)| {
            end += entry.duration_ps;
            let following = gates.entries.iter().cycle().skip(index + 1).take(gates.entries.len());
            let mut after = [0; CLASSES];
            for (class, after) in after.iter_mut().enumerate() {
                let open = following.clone().take_while(|next| next.open >> class & 1 == 1);
                *after = open.map(|next| next.duration_ps).sum::<Ps>();
                if *after == cycle_ps {
                    *after = Ps::MAX;
                }
            }
            (end, entry.open, after)
        });
        Self { cycle_ps, entries: entries.collect(), clock: gates.clock, current: 0, current_local: 0..0 }
    }

    pub(super) fn state(&mut self, now: Ps) -> GateState<'_> {
        let local = self.clock.local(now);
        if !self.current_local.contains(&local) {
            self.look_up(local);
        }
        let (_, open, after) = &self.entries[self.current];
        GateState { open: *open, now, end_local: self.current_local.end, after, clock: self.clock }
    }

    /// Finds the entry that applies at `local`.
    fn look_up(&mut self, local: Ps) {
        let at = local % self.cycle_ps;
        let cycle = local - at;
        // The last entry ends with the cycle, so the search always finds an entry.
        self.current = self.entries.partition_point(|&(end, ..)| end <= at).min(self.entries.len() - 1);
        let begin = self.current.checked_sub(1).map_or(0, |previous| self.entries[previous].0);
        self.current_local = cycle + begin..cycle + self.entries[self.current].0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::time::US;
    use super::*;

    fn gates(entries: &[(Ps, u8)]) -> Gates {
        let entries = entries.iter().map(|&(us, open)| GateEntry { duration_ps: us * US, open }).collect();
        Gates { entries, clock: Clock::default() }
    }

    #[test]
    fn windows_merge_across_entries_and_cycle_end() {
        let gates = gates(&[(10, 0x81), (20, 0x01), (30, 0x80), (40, 0x80)]);
        assert_eq!(gates.windows(7), Some(vec![(30 * US, 110 * US)]));
        assert_eq!(gates.windows(0), Some(vec![(100 * US, 130 * US)]));
        assert_eq!(gates.windows(3), Some(vec![]));
        assert_eq!(gates.longest_ps(7), 80 * US);
    }

    #[test]
    fn gate_table_gives_remaining_open_time() {
        let mut table = GateTable::new(&gates(&[(10, 0x81), (20, 0x01), (30, 0x81)]));
        let state = table.state(35 * US);
        assert_eq!((state.open, state.next_at()), (0x81, 60 * US));
        assert_eq!(state.left_ps(7), 35 * US);
        assert_eq!(state.left_ps(0), Ps::MAX);
    }

    #[test]
    fn gates_follow_clock_of_their_port() {
        let mut gates = gates(&[(10, 0x80), (90, 0x01)]);
        gates.clock.offset_ps = 5 * US as i64;
        let mut table = GateTable::new(&gates);
        assert_eq!(table.state(4 * US).open, 0x80);
        assert_eq!(table.state(4 * US).next_at(), 5 * US);
        assert_eq!(table.state(5 * US).open, 0x01);
    }

    #[test]
    fn invalid_schedulers_are_rejected() {
        assert_eq!(Scheduler::Preemption { express_from: 0 }.check(1), Err(SchedulerError::Express(0)));
        assert_eq!(Scheduler::Gates(gates(&[])).check(1), Err(SchedulerError::Gates));
        let mut quanta = [1500; CLASSES];
        quanta[2] = 1;
        assert_eq!(Scheduler::DeficitRoundRobin { quanta }.check(1), Err(SchedulerError::Quantum(1)));
        let mut idle_bps = [None; CLASSES];
        idle_bps[5] = Some(2);
        assert_eq!(Scheduler::CreditBased { idle_bps }.check(1), Err(SchedulerError::IdleSlope(2)));
    }
}
