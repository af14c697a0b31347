//! Selects the class that sends next: priorities, rounds, gates, credit, regulators.

use std::collections::BTreeMap;

use super::super::network::Port;
use super::super::pattern::INTER_FRAME_GAP_BYTES;
use super::super::scheduler::{CLASSES, GateTable, Scheduler, TokenBucket};
use super::super::time::{Ps, S};
use super::Packet;
use super::queues::Queues;

/// Next frame of a port.
pub(super) enum Picked {
    /// The first frame of this class.
    Class(usize),
    /// The remainder of an interrupted frame.
    Interrupted(u32),
    /// No frame may be sent before this time.
    Later(Ps),
    /// There is no frame to send.
    Nothing,
}

/// State of a scheduler.
#[derive(Debug)]
pub(super) enum Shaping {
    /// No state, for FIFO, strict priority and preemption.
    Priority,
    Rounds {
        quanta: [u32; CLASSES],
        deficit: [u64; CLASSES],
        turn: usize,
        fresh: bool,
    },
    Gates(GateTable),
    Credits(Box<[Option<Credit>; CLASSES]>),
    Regulators {
        /// Eligibility time of the last frame of each group.
        last: BTreeMap<(u32, u8), Ps>,
        /// Time at which the bucket of each flow was empty.
        empty: BTreeMap<u32, i128>,
    },
}

/// Credit of a shaped class, in units of 10^-12 bit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Credit {
    idle_bps: i128,
    link_bps: i128,
    value: i128,
    since: Ps,
    /// Time at which the current transmission ends.
    sending_until: Ps,
    waiting: bool,
}

impl Shaping {
    pub(super) fn new(port: &Port) -> Self {
        match &port.scheduler {
            Scheduler::Fifo | Scheduler::StrictPriority | Scheduler::Preemption { .. } => Self::Priority,
            Scheduler::DeficitRoundRobin { quanta } => {
                Self::Rounds { quanta: *quanta, deficit: [0; CLASSES], turn: 0, fresh: true }
            }
            Scheduler::Gates(gates) => Self::Gates(GateTable::new(gates)),
            Scheduler::CreditBased { idle_bps } => Self::Credits(Box::new(
                idle_bps.map(|slope| slope.map(|slope| Credit::new(slope, port.rate_bps))),
            )),
            Scheduler::Asynchronous => Self::Regulators { last: BTreeMap::new(), empty: BTreeMap::new() },
        }
    }

    /// Returns the time when a frame that arrives now from stage `from` becomes eligible (IEEE 802.1Qcr 8.6.11.3). There is one group for
    /// each reception port and class. The frames of a group keep their order.
    pub(super) fn eligible(
        &mut self,
        now: Ps,
        packet: &Packet,
        (from, bucket): (u32, Option<TokenBucket>),
    ) -> Ps {
        let Self::Regulators { last, empty } = self else { return now };
        let last = last.entry((from, packet.class)).or_insert(0);
        let Some(bucket) = bucket else {
            *last = now.max(*last);
            return *last;
        };
        let duration = |bytes: u32| i128::from(bytes) * 8 * i128::from(S) / i128::from(bucket.rate_bps);
        let filling = duration(bucket.burst_bytes);
        let emptied = empty.entry(packet.flow).or_insert(-filling);
        let conforming = *emptied + duration(packet.wire);
        let full = *emptied + filling;
        let at = conforming.max(i128::from(now.max(*last)));
        *emptied = if at < full { conforming } else { conforming + at - full };
        // Times are below 2^63 ps, because the simulated duration is bounded.
        *last = at as Ps;
        *last
    }

    /// Records that a packet joins the queue of `class`.
    pub(super) fn enqueued(&mut self, now: Ps, class: usize, was_empty: bool) {
        if let Self::Credits(credits) = self
            && let Some(credit) = &mut credits[class]
            && was_empty
        {
            credit.advance(now);
            credit.waiting = true;
        }
    }

    /// Records that a packet of `class` occupies the line for `sending`, and whether further packets of the class wait.
    pub(super) fn started(&mut self, now: Ps, class: usize, sending: Ps, waiting: bool) {
        if let Self::Credits(credits) = self
            && let Some(credit) = &mut credits[class]
        {
            credit.advance(now);
            credit.sending_until = now + sending;
            credit.waiting = waiting;
        }
    }

    pub(super) fn pick(&mut self, now: Ps, queues: &Queues, packets: &[Packet], ps_per_byte: Ps) -> Picked {
        let wire = |id: u32| u64::from(packets[id as usize].wire);
        match self {
            Self::Priority => Picked::Class(highest(queues.filled)),
            Self::Rounds { quanta, deficit, turn, fresh } => loop {
                match queues.head(*turn).map(wire) {
                    // The round of the class starts or continues.
                    Some(bytes) => {
                        if std::mem::take(fresh) {
                            deficit[*turn] += u64::from(quanta[*turn]);
                        }
                        if let Some(left) = deficit[*turn].checked_sub(bytes) {
                            deficit[*turn] = left;
                            return Picked::Class(*turn);
                        }
                    }
                    None => deficit[*turn] = 0,
                }
                *turn = (*turn + CLASSES - 1) % CLASSES;
                *fresh = true;
            },
            Self::Gates(table) => {
                let state = table.state(now);
                let mut open = queues.filled & state.open;
                while open != 0 {
                    let class = highest(open);
                    let fits = queues.head(class).is_some_and(|id| {
                        let sending = (wire(id) - u64::from(INTER_FRAME_GAP_BYTES)) * ps_per_byte;
                        sending <= state.left_ps(class)
                    });
                    if fits {
                        return Picked::Class(class);
                    }
                    open &= !(1 << class);
                }
                Picked::Later(state.next_at())
            }
            Self::Credits(credits) => {
                for credit in credits.iter_mut().flatten() {
                    credit.advance(now);
                }
                let waiting = (0..CLASSES).rev().filter(|class| queues.filled >> class & 1 == 1);
                let ready_at =
                    waiting.map(|class| (credits[class].map_or(now, |credit| credit.ready_at()), class));
                first_ready(now, ready_at)
            }
            Self::Regulators { .. } => {
                let heads = (0..CLASSES).rev().filter_map(|class| Some((queues.head(class)?, class)));
                first_ready(now, heads.map(|(id, class)| (packets[id as usize].eligible, class)))
            }
        }
    }
}

/// Returns the highest class whose bit is set. At least one bit must be set.
fn highest(classes: u8) -> usize {
    CLASSES - 1 - classes.leading_zeros() as usize
}

/// Returns the first class that is ready now, or the time when the first class will be ready.
fn first_ready(now: Ps, ready_at: impl Iterator<Item = (Ps, usize)>) -> Picked {
    let mut earliest = None;
    for (at, class) in ready_at {
        if at <= now {
            return Picked::Class(class);
        }
        earliest = Some(earliest.map_or(at, |earliest: Ps| earliest.min(at)));
    }
    earliest.map_or(Picked::Nothing, Picked::Later)
}

impl Credit {
    fn new(idle_bps: u64, link_bps: u64) -> Self {
        let idle_bps = i128::from(idle_bps);
        let link_bps = i128::from(link_bps);
        Self { idle_bps, link_bps, value: 0, since: 0, sending_until: 0, waiting: false }
    }

    /// Advances the credit to `now`. The credit decreases during sending and increases during waiting. An idle class loses positive credit.
    fn advance(&mut self, now: Ps) {
        let sending = self.sending_until.clamp(self.since, now.max(self.since)) - self.since;
        let rest = now.saturating_sub(self.since) - sending;
        self.value += i128::from(sending) * (self.idle_bps - self.link_bps);
        if rest > 0 {
            let risen = self.value + i128::from(rest) * self.idle_bps;
            self.value = if self.waiting { risen } else { risen.min(0) };
        }
        self.since = self.since.max(now);
    }

    /// Returns the time at which the credit is no longer negative.
    fn ready_at(&self) -> Ps {
        // The quotient is not negative, and is below a frame's duration divided by the slope.
        self.since + (((-self.value).max(0) + self.idle_bps - 1) / self.idle_bps) as Ps
    }
}
