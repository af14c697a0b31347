//! State of a host during a simulation: interrupts, one core, work of higher priority.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use super::super::network::Host;
use super::super::time::Ps;

#[derive(Debug)]
pub(super) struct HostState<'n> {
    config: &'n Host,
    pub(super) backlog_max: u64,
    pub(super) dropped: u64,
    /// Packets that arrived and wait for the interrupt or wake-up.
    ring: VecDeque<u32>,
    armed: bool,
    queue: VecDeque<u32>,
    serving: Option<(u32, Ps)>,
    random: ChaCha8Rng,
}

impl<'n> HostState<'n> {
    pub(super) fn new(config: &'n Host, random: ChaCha8Rng) -> Self {
        Self {
            config,
            backlog_max: 0,
            dropped: 0,
            ring: VecDeque::new(),
            armed: false,
            queue: VecDeque::new(),
            serving: None,
            random,
        }
    }

    /// Adds a packet. Returns `false` if there is no room for it.
    pub(super) fn enqueue(&mut self, id: u32) -> bool {
        let waiting = self.ring.len() + self.queue.len();
        if waiting >= self.config.queue_frames_max as usize {
            self.dropped += 1;
            return false;
        }
        self.backlog_max = self.backlog_max.max(waiting as u64 + 1);
        // A thread that is awake handles further frames without another wake-up.
        let asleep = self.serving.is_none() && self.queue.is_empty();
        if self.config.coalescing_ps > 0 || (asleep && self.config.wakeup.max_ps() > 0) {
            self.ring.push_back(id)
        } else {
            self.queue.push_back(id)
        }
        true
    }

    /// Returns the time of the interrupt for the received frames, unless one is already planned.
    pub(super) fn arm(&mut self, now: Ps) -> Option<Ps> {
        if self.armed || self.ring.is_empty() {
            return None;
        }
        self.armed = true;
        Some(now + self.config.coalescing_ps + self.config.wakeup.sample(&mut self.random))
    }

    pub(super) fn interrupt(&mut self) {
        self.armed = false;
        self.queue.append(&mut self.ring);
    }

    /// Starts the next packet if the core is free, and returns its completion time.
    pub(super) fn start(&mut self, now: Ps) -> Option<Ps> {
        if self.serving.is_some() {
            return None;
        }
        let id = self.queue.pop_front()?;
        let service =
            self.config.service.sample(&mut self.random) + self.config.sharing.sample(&mut self.random);
        self.serving = Some((id, service));
        Some(self.config.end_of(now, service))
    }

    pub(super) fn done(&mut self) -> Option<(u32, Ps)> {
        self.serving.take()
    }
}

impl Host {
    /// Returns the maximum time from the arrival of a frame at an idle host to the start of its service, in ps.
    pub(crate) fn start_ps_max(&self) -> Ps {
        self.coalescing_ps + self.wakeup.max_ps()
    }

    /// Returns the completion time of `work` that starts at `now`, including work of higher priority on the same core.
    fn end_of(&self, now: Ps, work: Ps) -> Ps {
        let Some((period, busy, offset)) = self.contention else { return now + work };
        // Position of `now` in the period. The contention is periodic for the whole simulation.
        let phase = (now % period + period - offset % period) % period;
        let (start, phase) = if phase < busy { (now + busy - phase, busy) } else { (now, phase) };
        let before = period - phase;
        if work <= before {
            return start + work;
        }
        let rest = work - before;
        let free = period - busy;
        // The work is completed at the end of the last free interval, not after the busy time that follows.
        let whole = (rest - 1) / free;
        start + before + whole * period + busy + (rest - whole * free)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::time::Duration;
    use super::*;

    #[test]
    fn work_waits_for_higher_priority() {
        let host = Host {
            name: String::new(),
            service: Duration::Constant(1),
            sharing: Duration::Constant(0),
            coalescing_ps: 0,
            wakeup: Duration::Constant(0),
            contention: Some((100, 30, 10)),
            queue_frames_max: 1,
        };
        // The core is busy from 10 to 40, from 110 to 140, ...
        assert_eq!(host.end_of(0, 10), 10);
        assert_eq!(host.end_of(0, 11), 41);
        assert_eq!(host.end_of(15, 5), 45);
        assert_eq!(host.end_of(40, 70), 110);
        assert_eq!(host.end_of(40, 71), 141);
        assert_eq!(host.end_of(40, 211), 341);
    }
}
