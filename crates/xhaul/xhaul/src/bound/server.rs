//! Service guarantee of a stage for one flow's frames, and the maximum delay that follows from it.

use super::super::network::{Host, Network, Port};
use super::super::pattern::Pattern;
use super::super::scheduler::{CLASSES, Gates, Scheduler};
use super::super::time::Ps;
use super::curve::{Sum, Work, bytes, interrupting, is_express};
use super::{StageFlow, Theorem, shaped};

/// Maximum bytes on the wire of a preemptable frame that delay an express frame. A frame or a remainder of 123 bytes cannot be divided into
/// fragments of 60 and 64 bytes. A preamble and a gap are added.
const UNDIVIDED_WIRE_BYTES: u64 = 8 + 123 + 12;
/// Maximum delay that counts as bounded, in ps.
const DELAY_PS_MAX: Ps = 10 * super::super::time::S;
/// Maximum number of steps towards the end of a busy period.
const STEPS_MAX: u32 = 100_000;
/// Divisor for the precision of a search: the precision is the result divided by this number.
const PRECISION: Ps = 2_000;
/// Maximum number of evaluations in one search. Intervals beyond this number count with their worst case.
const TRIES_MAX: u32 = 20_000;

/// Service of a stage for one flow.
pub(super) struct Server {
    /// Work that arrives before or with the frame in its own queue.
    pub(super) own: Sum,
    /// Work of higher priority, which is served first at any time.
    pub(super) higher: Sum,
    /// Work that has already started when the frame arrives.
    pub(super) blocking: Ps,
    /// Smallest frame of the flow if it cannot be interrupted once it has started, otherwise zero.
    pub(super) undisturbed: Ps,
    pub(super) service: Service,
    /// Unit of a frame's work at this stage.
    pub(super) work: Work,
    pub(super) theorem: Theorem,
}

/// Time in which a stage serves a class.
#[derive(Debug)]
pub(super) enum Service {
    /// The class is served at all times.
    Always,
    /// The class is served within windows.
    Windows(GateWindows),
    /// The class is served for a share `of`/`all` of the time, after `ahead` units of other work.
    Share { ahead: Ps, of: u64, all: u64 },
    /// The class is served in the rounds of a round robin.
    Turns(DrrService),
}

/// Times at which a class is served: a gap, then a window, repeatedly.
#[derive(Debug)]
pub(super) struct GateWindows {
    pieces: Vec<(Ps, Ps)>,
    /// Time lost once, before the first gap.
    lead: Ps,
}

/// Service of deficit round robin to one class, in units of work: Tabatabaee and Le Boudec, "Deficit Round-Robin: A Second Network Calculus
/// Analysis" (2021), theorem 1.
#[derive(Debug)]
pub(super) struct DrrService {
    /// Quantum of the class.
    pub(super) quantum: Ps,
    /// Maximum deficit after a round. It is less than the longest frame of the class.
    pub(super) left: Ps,
    /// Sum of the quanta of all other classes, and sum of one deficit of each.
    pub(super) others: Ps,
    pub(super) others_left: Ps,
}

impl Service {
    /// Returns the maximum time to complete this much work. If frames cannot be interrupted, this is the time until the next frame starts.
    fn time_for(&self, work: Ps) -> Ps {
        match self {
            Self::Always | Self::Turns(_) => work,
            Self::Windows(windows) => windows.time_for(work),
            Self::Share { ahead, of, all } => {
                let time = (u128::from(work) + u128::from(*ahead)) * u128::from(*all);
                Ps::try_from(time.div_ceil(u128::from((*of).max(1)))).unwrap_or(Ps::MAX)
            }
        }
    }

    /// Returns the work of the class plus the work of other classes in the rounds that it needs.
    fn with_turns(&self, own: Ps) -> Ps {
        let Self::Turns(turns) = self else { return own };
        let whole = own.saturating_add(turns.left) / turns.quantum.max(1);
        let others = (whole + 1).saturating_mul(turns.others).saturating_add(turns.others_left);
        own.saturating_add(others)
    }

    /// Returns whether the service suffices for the work of the class (`own`) and for work of higher priority, both per second.
    fn keeps_up(&self, own: f64, higher: f64) -> bool {
        match self {
            Self::Always => own + higher < 1.0,
            Self::Windows(windows) => own + higher < windows.share(),
            Self::Share { of, all, .. } => own + higher < *of as f64 / (*all).max(1) as f64,
            Self::Turns(turns) => {
                let round = (turns.quantum + turns.others) as f64;
                own * round / turns.quantum.max(1) as f64 + higher < 1.0
            }
        }
    }

    /// Returns whether time is proportional to work, apart from a constant.
    fn is_straight(&self) -> bool {
        matches!(self, Self::Always | Self::Share { .. })
    }
}

impl Server {
    /// Returns the service of a port for `guest`, one server per known method. Each server gives a bound. `waits` contains the maximum
    /// delay of each class at this port, with the higher classes first. A value of 0 means that the delay is not known yet.
    pub(super) fn of_port(
        network: &Network,
        port: &Port,
        guest: &StageFlow,
        guests: &[StageFlow],
        waits: &[Ps; CLASSES],
    ) -> Vec<Self> {
        let work = bytes(port.ps_per_byte());
        let sum = |of: &dyn Fn(u8) -> bool, work| {
            Sum::new(network, guests.iter().filter(|other| of(other.class)), work, 0)
        };
        let smallest = work.of_frame(guest.arrival.envelope.smallest);
        let class = guest.class;
        let base = Self {
            own: sum(&|other| other == class, work),
            higher: sum(&|other| other > class, work),
            blocking: longest(guests, work, |other| other < class),
            undisturbed: smallest,
            service: Service::Always,
            work,
            theorem: Theorem::StrictPriority,
        };
        match &port.scheduler {
            Scheduler::Fifo => {
                let own = sum(&|_| true, work);
                vec![Self { own, higher: Sum::default(), blocking: 0, theorem: Theorem::Fifo, ..base }]
            }
            // Frames that have passed their regulators are sent with strict priority.
            Scheduler::StrictPriority => vec![base],
            Scheduler::Asynchronous => vec![Self { theorem: Theorem::Regulators, ..base }],
            Scheduler::Preemption { .. } => {
                let express = |other| is_express(&port.scheduler, other);
                if express(class) {
                    let undivided = UNDIVIDED_WIRE_BYTES * port.ps_per_byte();
                    let lower = longest(guests, work, |other| other < class && express(other));
                    let blocking = longest(guests, work, |other| !express(other)).min(undivided).max(lower);
                    return vec![Self { blocking, theorem: Theorem::Preemption, ..base }];
                }
                let between = sum(&|other| other > class && !express(other), work);
                let higher = between.and(sum(&express, interrupting(port.ps_per_byte())));
                vec![Self { higher, undisturbed: 0, theorem: Theorem::Preemption, ..base }]
            }
            Scheduler::Gates(gates) => {
                let equal = Self::in_own_windows(network, port, gates, guest, guests);
                let general = Self::behind_gates(network, gates, guest, guests, waits, base);
                equal.into_iter().chain([general]).collect()
            }
            Scheduler::DeficitRoundRobin { quanta } => {
                shaped::round_robin(network, quanta, guest, guests, waits, base)
            }
            Scheduler::CreditBased { idle_bps } => {
                let slopes = shaped::Slopes { idle_bps, link_bps: port.rate_bps, guests, waits, work };
                shaped::credit_based(network, &slopes, guest.class, base)
            }
        }
    }

    /// Returns the service of strict priority (`base`) after gates.
    fn behind_gates(
        network: &Network,
        gates: &Gates,
        guest: &StageFlow,
        guests: &[StageFlow],
        waits: &[Ps; CLASSES],
        base: Self,
    ) -> Self {
        let class = guest.class;
        let open = |other: u8| gates.entries.iter().map(move |entry| entry.open >> other & 1 == 1);
        let together = |other: u8| open(class).zip(open(other)).any(|(own, other)| own && other);
        let always_with = |other: u8| open(class).zip(open(other)).all(|(own, other)| !own || other);
        let blocking = longest(guests, base.work, |other| other < class && together(other));
        // Any frame that waits together with this class may be the frame that no longer fits the window.
        let guard =
            longest(guests, base.work, |other| other >= class && together(other) && always_with(other));
        let mut higher = Sum::default();
        for other in class + 1..CLASSES as u8 {
            if together(other) {
                // Work may have gathered behind closed gates before the frame's own queue began to fill.
                let gathered = if always_with(other) { 0 } else { waits[usize::from(other)] };
                let of_class = guests.iter().filter(|guest| guest.class == other);
                higher = higher.and(Sum::new(network, of_class, base.work, gathered));
            }
        }
        let windows = GateWindows::of_gates(gates, usize::from(class), blocking, guard);
        let undisturbed = if windows.is_some() { 0 } else { base.undisturbed };
        let service = windows.map_or(Service::Always, Service::Windows);
        Self { higher, blocking, undisturbed, service, theorem: Theorem::GateWindows, ..base }
    }

    /// Returns the service for frames of one size, after gates that open for their class alone. A window sends as many frames as fit,
    /// without a guard. `None` if the frames or the gates are different.
    fn in_own_windows(
        network: &Network,
        port: &Port,
        gates: &Gates,
        guest: &StageFlow,
        guests: &[StageFlow],
    ) -> Option<Self> {
        let class = guest.class;
        let alone =
            gates.entries.iter().all(|entry| entry.open >> class & 1 == 0 || entry.open == 1 << class);
        let own = || guests.iter().filter(|other| other.class == class);
        let size = guest.arrival.envelope.smallest;
        let equal = |other: &StageFlow| {
            other.arrival.envelope.largest == size && other.arrival.envelope.smallest == size
        };
        if !alone || !own().all(equal) {
            return None;
        }
        let work = bytes(port.ps_per_byte());
        let others = guests.iter().any(|other| other.class != class);
        let windows = GateWindows::of_equal_frames(gates, class, work.of_frame(size), port.gap_ps(), others)?;
        Some(Self {
            own: Sum::new(network, own(), work, 0),
            higher: Sum::default(),
            blocking: 0,
            undisturbed: 0,
            service: Service::Windows(windows),
            work,
            theorem: Theorem::EqualFrames,
        })
    }

    /// Returns the service of a host for any flow.
    pub(super) fn of_host(network: &Network, host: &Host, guest: &StageFlow, guests: &[StageFlow]) -> Self {
        let work = Work::Frame(host.service.max_ps() + host.sharing.max_ps());
        debug_assert!(guests.iter().any(|other| other.flow == guest.flow), "`guests` must contain `guest`");
        Self {
            own: Sum::new(network, guests.iter(), work, host.start_ps_max()),
            higher: Sum::default(),
            blocking: 0,
            undisturbed: 0,
            service: match host.contention {
                Some((period, busy, _)) if busy > 0 => {
                    Service::Windows(GateWindows { pieces: vec![(busy, period - busy)], lead: 0 })
                }
                _ => Service::Always,
            },
            work,
            theorem: Theorem::Host,
        }
    }

    /// Returns the maximum time from arrival until the last bit is sent, or the work is done. `None`: no bound.
    pub(super) fn delay_ps(&self) -> Option<Ps> {
        if !self.service.keeps_up(self.own.utilisation(), self.higher.utilisation()) {
            return None;
        }
        let busy = self.busy_ps()?;
        let mut best = 0;
        for pair in self.own.corners(busy).windows(2) {
            let from = pair[0];
            let to = pair[1];
            let first = self.end(self.own.at(from, false))?;
            let last = self.end(self.own.at(to, true))?;
            best = best.max(first.saturating_sub(from)).max(last.saturating_sub(to));
            let straight = self.higher.is_empty() && self.service.is_straight();
            if !straight || to - from < 3 {
                best = self.search(from, to, best)?;
            }
        }
        Some(best)
    }

    /// Returns an upper bound of the delay of frames that arrive between `from` and `to` in the busy period. If `best` is larger, returns
    /// `best`. All these frames are completed when the work that arrived until `to` is completed. The delay is therefore at most
    /// `end(own.at(to)) - from`. The search halves the interval until this bound is precise.
    fn search(&self, from: Ps, to: Ps, mut best: Ps) -> Option<Ps> {
        let mut open = vec![(from, to)];
        let mut tries = 0;
        while let Some((from, to)) = open.pop() {
            tries += 1;
            let above = self.end(self.own.at(to, true))?.saturating_sub(from);
            if above <= best {
                continue;
            }
            let precise = to - from <= (best / PRECISION).max(1);
            if precise || tries > TRIES_MAX {
                best = above;
                continue;
            }
            let middle = from + (to - from) / 2;
            best = best.max(self.end(self.own.at(middle, false))?.saturating_sub(middle));
            open.push((from, middle));
            open.push((middle, to));
        }
        Some(best)
    }

    /// Returns the time at which a frame is completed. `own` is the work that arrived since the start of the busy period, including the
    /// frame.
    fn end(&self, own: Ps) -> Option<Ps> {
        let own = self.service.with_turns(own.saturating_sub(self.undisturbed));
        let ahead = own.saturating_add(self.blocking);
        Some(self.least(|end| ahead.saturating_add(self.higher.at(end, false)))? + self.undisturbed)
    }

    /// Returns the maximum length of a busy period.
    fn busy_ps(&self) -> Option<Ps> {
        let own = |end| self.service.with_turns(self.own.at(end, false));
        let all = |end| own(end).saturating_add(self.higher.at(end, false));
        self.least(|end| self.blocking.saturating_add(all(end)))
    }

    /// Returns the first time at which all work that `arrived` until then can be completed.
    fn least(&self, arrived: impl Fn(Ps) -> Ps) -> Option<Ps> {
        let mut end = 0;
        for _ in 0..STEPS_MAX {
            let work = arrived(end);
            let next = self.service.time_for(work);
            if next > DELAY_PS_MAX {
                return None;
            }
            if next == end {
                return Some(end);
            }
            end = next;
        }
        None
    }
}

/// Returns the longest frame of the classes that `of` selects.
pub(super) fn longest(guests: &[StageFlow], work: Work, of: impl Fn(u8) -> bool) -> Ps {
    let chosen = guests.iter().filter(|guest| of(guest.class));
    chosen.map(|guest| work.of_frame(guest.arrival.envelope.largest)).max().unwrap_or(0)
}

impl GateWindows {
    /// Returns the windows in which `class` is certainly served: without `blocking` at the start and `guard` at the end. `None`: the class
    /// is always served.
    fn of_gates(gates: &Gates, class: usize, blocking: Ps, guard: Ps) -> Option<Self> {
        let windows = gates.windows(class)?;
        let cycle = gates.cycle_ps();
        let drift = u64::from(gates.clock.drift_ppb.unsigned_abs());
        let off = |ps: Ps| 1_000_000_000_u64.checked_div(drift).map_or(0, |share| ps / share + 8);
        let mut pieces: Vec<(Ps, Ps)> = Vec::new();
        // Gaps are shifted by a cycle: the first gap begins at the end of the previous cycle's last window.
        let mut closed_since = windows.last().map_or(0, |&(_, end)| end);
        let mut lost = 0;
        for (start, end) in windows {
            let gap = start + cycle - closed_since;
            let length = (end - start).saturating_sub(off(end - start));
            let served = length.saturating_sub(blocking + guard);
            lost += gap + off(gap) + off(end - start);
            if served == 0 {
                lost += length;
            } else {
                pieces.push((lost + blocking, served));
                lost = guard;
            }
            closed_since = end + cycle;
        }
        // Time lost after the last window is added to the gap before the first window.
        if let Some(first) = pieces.first_mut() {
            first.0 += lost;
        }
        Some(Self { pieces, lead: 0 })
    }

    /// Returns the windows of `class`, each with as many frames of length `frame` (including `gap`) as fit. If `others` is true, a frame of
    /// another class may have ended directly before a window. A frame that arrives within a window may find the rest of this one window too
    /// short.
    fn of_equal_frames(gates: &Gates, class: u8, frame: Ps, gap: Ps, others: bool) -> Option<Self> {
        let windows = gates.windows(usize::from(class))?;
        let drift = u64::from(gates.clock.drift_ppb.unsigned_abs());
        let off = |ps: Ps| 1_000_000_000_u64.checked_div(drift).map_or(0, |share| ps / share + 8);
        let cycle = gates.cycle_ps();
        let before = if others { gap } else { 0 };
        // Service may end up to `gap` after the window's end.
        let mut served_until = None;
        let mut pieces: Vec<(Ps, Ps)> = Vec::new();
        let mut first_start = 0;
        for (start, end) in windows {
            let length = (end - start).saturating_sub(off(end - start));
            let count = (length + gap).saturating_sub(before) / frame.max(1);
            if count == 0 {
                continue;
            }
            let begins = start + before;
            match served_until {
                None => first_start = begins,
                Some(until) => pieces.push((begins.saturating_sub(until) + 2 * off(cycle), 0)),
            }
            if let Some(last) = pieces.last_mut() {
                last.1 = count * frame;
            } else {
                pieces.push((0, count * frame));
            }
            served_until = Some(begins + count * frame);
        }
        let until = served_until?;
        pieces.first_mut()?.0 = (first_start + cycle).saturating_sub(until) + 2 * off(cycle);
        Some(Self { pieces, lead: frame })
    }

    /// Returns the share of the time with service.
    fn share(&self) -> f64 {
        let (gaps, served) = self.pieces.iter().fold((0, 0), |sum, piece| (sum.0 + piece.0, sum.1 + piece.1));
        served as f64 / ((gaps + served) as f64).max(1.0)
    }

    /// Returns the maximum time in which this much work is completed.
    fn time_for(&self, work: Ps) -> Ps {
        let served: Ps = self.pieces.iter().map(|piece| piece.1).sum();
        let cycle: Ps = self.pieces.iter().map(|piece| piece.0 + piece.1).sum();
        if work == 0 {
            return 0;
        }
        if served == 0 {
            return Ps::MAX;
        }
        let whole = (work - 1) / served;
        let rest = work - whole * served;
        let walk = |from: usize| {
            let mut left = rest;
            let mut time = 0;
            for &(gap, length) in self.pieces.iter().cycle().skip(from) {
                if left <= length {
                    return time + gap + left;
                }
                left -= length;
                time += gap + length;
            }
            time
        };
        let longest = (0..self.pieces.len()).map(walk).max().unwrap_or(0);
        whole.saturating_mul(cycle).saturating_add(longest).saturating_add(self.lead)
    }
}

/// Returns the maximum delay of a class that has exclusive windows at a gated port, if all frames of the class arrive and leave within
/// these windows. The periods of the sources must be multiples of the cycle, and no clock may drift. `None`: not proved.
pub(super) fn meets_window(
    network: &Network,
    port: &Port,
    gates: &Gates,
    guest: &StageFlow,
    guests: &[StageFlow],
) -> Option<Ps> {
    let class = guest.class;
    let exclusive =
        gates.entries.iter().all(|entry| entry.open >> class & 1 == 0 || entry.open == 1 << class);
    if usize::from(class) >= CLASSES || !exclusive || gates.clock.drift_ppb != 0 {
        return None;
    }
    let own = || guests.iter().filter(|other| other.class == class);
    let work = bytes(port.ps_per_byte());
    let server = Server {
        work,
        own: Sum::new(network, own(), work, 0),
        higher: Sum::default(),
        blocking: 0,
        undisturbed: 0,
        service: Service::Always,
        theorem: Theorem::MeetsWindow,
    };
    let gap = port.gap_ps();
    let delay = server.delay_ps()?;
    let mut latest = delay;
    let windows = gates.windows(usize::from(class))?;
    let cycle = gates.cycle_ps();
    for other in own() {
        let flow = &network.flows[other.flow];
        let (period_ps, releases, jitter_ps) = match &flow.pattern {
            Pattern::Periodic { period_ps, releases, jitter_ps, .. } => {
                (*period_ps, u64::from(*releases), *jitter_ps)
            }
            Pattern::Tdd { period_ps, slots, .. } => {
                (*period_ps, slots.iter().filter(|&&own| own).count() as u64, 0)
            }
            _ => return None,
        };
        if period_ps % cycle != 0 || flow.clock.drift_ppb != 0 {
            return None;
        }
        for index in 0..releases {
            let released = flow.clock.to_true(flow.offset_ps + flow.pattern.due(index)?);
            let first = gates.clock.local(released + other.delay.0) % cycle;
            let spread = other.delay.1 - other.delay.0 + jitter_ps;
            let inside = |&(start, end): &(Ps, Ps)| {
                let first = if first < start { first + cycle } else { first };
                // The gap after a frame of another window may still occupy the line.
                let waits = (start + gap).saturating_sub(first);
                // The gap after the last frame may extend into the next window.
                (first >= start && first + spread + waits + delay - gap <= end).then_some(waits)
            };
            latest = latest.max(delay + windows.iter().find_map(inside)?);
        }
    }
    Some(latest)
}

#[cfg(test)]
mod tests {
    use super::super::super::scheduler::GateEntry;
    use super::super::super::time::Clock;
    use super::*;

    #[test]
    fn blocking_and_guard_shorten_gate_windows() {
        let entries = [(30, 0), (20, 1), (10, 0), (25, 1), (15, 0)];
        let entries = entries.iter().map(|&(duration_ps, open)| GateEntry { duration_ps, open }).collect();
        let gates = Gates { entries, clock: Clock::default() };
        let windows = GateWindows::of_gates(&gates, 0, 2, 3).unwrap();
        assert_eq!(windows.pieces, [(45 + 2 + 3, 15), (3 + 10 + 2, 20)]);
        let windows = GateWindows::of_gates(&gates, 0, 10, 12).unwrap();
        assert_eq!(windows.pieces, [(45 + 20 + 10 + 10 + 12, 3)]);
    }

    #[test]
    fn maximum_work_time_starts_at_longest_gap() {
        let windows = GateWindows { pieces: vec![(10, 5), (30, 5)], lead: 0 };
        assert_eq!(windows.time_for(0), 0);
        assert_eq!(windows.time_for(5), 35);
        assert_eq!(windows.time_for(6), 46);
        assert_eq!(windows.time_for(10), 50);
        assert_eq!(windows.time_for(11), 81);
    }
}
