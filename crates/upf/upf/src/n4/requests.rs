//! Pending requests: sequence numbers, timers, retransmission, duplicates.
use super::ledger::{Kind, Outcome, RequestEnd, RequestStats};
use crate::Time;
use crate::pfcp::{Cause, MAX_SEQUENCE};
use std::collections::VecDeque;
use std::time::Duration;

/// Timeout and number of retransmissions (§6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// T1: time after which a request without a response is retransmitted. Without retransmissions, the time after which it is lost.
    pub t1: Duration,
    /// N1: maximum number of retransmissions; 0 disables them.
    pub n1: u8,
}

impl Default for Retransmission {
    /// Returns 3 s and three retransmissions, which are common values. The standard leaves both open.
    fn default() -> Self {
        Self { t1: Duration::from_secs(3), n1: 3 }
    }
}

/// Error: the maximum number of requests is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{window} requests are pending, which is the limit")]
pub struct Full {
    /// Maximum number of pending requests.
    pub window: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Lost,
    Answered,
}

#[derive(Debug)]
struct Slot<T> {
    sequence: u32,
    phase: Phase,
    kind: Kind,
    intended: Time,
    sent: Time,
    attempts: u8,
    about: T,
    /// Copy of the datagram for retransmission. Empty if retransmissions are disabled.
    datagram: Vec<u8>,
}

impl<T: Copy> Slot<T> {
    fn done(&self, ended: Time, outcome: Outcome) -> RequestEnd<T> {
        RequestEnd {
            kind: self.kind,
            sequence: self.sequence,
            outcome,
            intended: self.intended,
            sent: self.sent,
            ended,
            attempts: self.attempts,
            about: self.about,
        }
    }
}

/// Classification of a response.
#[derive(Debug)]
pub(super) enum Answer<T> {
    First(RequestEnd<T>),
    Late(RequestEnd<T>),
    Duplicate,
    Unexpected,
}

/// Action of an expired timer.
#[derive(Debug)]
pub(super) enum Expired<T> {
    Again(Vec<u8>, T),
    Lost(RequestEnd<T>),
}

/// Table of the latest requests, by sequence number. The table has a fixed number of slots, and a later request reuses the slot of an
/// earlier one. The earlier request is then forgotten, so a response to it counts as unexpected.
#[derive(Debug)]
pub(super) struct Requests<T> {
    slots: Vec<Option<Slot<T>>>,
    next: u32,
    /// Number of pending requests.
    waiting: usize,
    policy: Retransmission,
    /// Deadlines of requests, in the order of sending, because T1 is the same for all requests.
    timers: VecDeque<(Time, u32, u8)>,
    pub(super) ledger: RequestStats,
}

/// Number of timers per slot above which timers of completed requests are removed.
const TIMERS_PER_SLOT: usize = 4;

impl<T: Copy> Requests<T> {
    /// Creates a table. `window` is rounded up to a power of two, so that sequence numbers map to slots when they
    /// wrap around.
    pub(super) fn new(window: usize, first: u32, policy: Retransmission) -> Self {
        let window = window.clamp(1, 1 << 20).next_power_of_two();
        let slots = (0..window).map(|_| None).collect();
        let next = first & MAX_SEQUENCE;
        let timers = VecDeque::new();
        let ledger = RequestStats::default();
        Self { slots, next, waiting: 0, policy, timers, ledger }
    }

    fn place(&self, sequence: u32) -> usize {
        sequence as usize & (self.slots.len() - 1)
    }

    /// Returns whether the window is full.
    pub(super) fn is_full(&self) -> bool {
        self.waiting >= self.slots.len()
    }

    /// Registers a request that is sent now, and returns its sequence number.
    pub(super) fn begin(&mut self, now: Time, intended: Time, kind: Kind, about: T) -> Result<u32, Full> {
        if self.waiting >= self.slots.len() {
            return Err(Full { window: self.slots.len() });
        }
        // Skips numbers whose slot has a pending request, so that one slow response does not block other requests. A free slot exists.
        while self.is_waiting(self.next) {
            self.next = (self.next + 1) & MAX_SEQUENCE;
        }
        let sequence = self.next;
        let at = self.place(sequence);
        self.next = (sequence + 1) & MAX_SEQUENCE;
        self.waiting += 1;
        let datagram = self.slots[at].take().map(|slot| slot.datagram).unwrap_or_default();
        let slot =
            Slot { sequence, phase: Phase::Waiting, kind, intended, sent: now, attempts: 1, about, datagram };
        self.slots[at] = Some(slot);
        self.start_timer(now, sequence, 1);
        let counts = self.ledger.of_mut(kind);
        counts.sent += 1;
        counts.pending += 1;
        Ok(sequence)
    }

    /// Sets the number of retransmissions, and returns the previous number. T1 cannot change, because deadlines are in the order of
    /// sending.
    pub(super) fn retransmit(&mut self, n1: u8) -> u8 {
        std::mem::replace(&mut self.policy.n1, n1)
    }

    /// Returns whether the slot of a sequence number has a pending request.
    fn is_waiting(&self, sequence: u32) -> bool {
        self.slots[self.place(sequence)].as_ref().is_some_and(|slot| slot.phase == Phase::Waiting)
    }

    /// Stores a copy of the datagram, if it may have to be retransmitted.
    pub(super) fn keep(&mut self, sequence: u32, datagram: &[u8]) {
        let at = self.place(sequence);
        if let (1.., Some(slot)) = (self.policy.n1, &mut self.slots[at]) {
            slot.datagram.clear();
            slot.datagram.extend_from_slice(datagram);
        }
    }

    fn start_timer(&mut self, now: Time, sequence: u32, attempt: u8) {
        if self.timers.len() >= TIMERS_PER_SLOT * self.slots.len() {
            let mut timers = std::mem::take(&mut self.timers);
            timers.retain(|&(_, sequence, attempt)| self.waits(sequence, attempt));
            self.timers = timers;
        }
        self.timers.push_back((now + self.policy.t1, sequence, attempt));
    }

    fn waits(&self, sequence: u32, attempt: u8) -> bool {
        let slot = self.slots[self.place(sequence)].as_ref();
        slot.is_some_and(|s| s.sequence == sequence && s.phase == Phase::Waiting && s.attempts == attempt)
    }

    /// Returns the subject of a request that is pending or has ended recently.
    pub(super) fn about(&self, sequence: u32) -> Option<T> {
        self.slots[self.place(sequence)]
            .as_ref()
            .filter(|slot| slot.sequence == sequence)
            .map(|slot| slot.about)
    }

    /// Counts a response and finds its request. `cause` is [`Cause::ACCEPTED`] for responses without a cause.
    pub(super) fn answered(&mut self, now: Time, sequence: u32, response: u8, cause: Cause) -> Answer<T> {
        self.ledger.responses += 1;
        let at = self.place(sequence);
        let slot = self.slots[at].as_mut().filter(|s| s.sequence == sequence && s.kind.answered_by(response));
        let Some(slot) = slot else {
            self.ledger.unexpected += 1;
            return Answer::Unexpected;
        };
        let counts = &mut self.ledger.by_kind[slot.kind as usize];
        match std::mem::replace(&mut slot.phase, Phase::Answered) {
            Phase::Answered => {
                counts.duplicate += 1;
                Answer::Duplicate
            }
            Phase::Lost => {
                counts.lost -= 1;
                counts.late += 1;
                *self.ledger.causes.entry(cause.0).or_default() += 1;
                Answer::Late(slot.done(now, Outcome::Late(cause)))
            }
            Phase::Waiting => {
                self.waiting -= 1;
                counts.pending -= 1;
                let outcome = if !cause.is_accepted() {
                    counts.rejected += 1;
                    *self.ledger.causes.entry(cause.0).or_default() += 1;
                    Outcome::Rejected(cause)
                } else if slot.attempts > 1 {
                    counts.retransmitted += 1;
                    Outcome::Retransmitted
                } else {
                    counts.ok += 1;
                    Outcome::Ok
                };
                Answer::First(slot.done(now, outcome))
            }
        }
    }

    /// Counts a response that matches no request.
    pub(super) fn unexpected(&mut self) {
        self.ledger.responses += 1;
        self.ledger.unexpected += 1;
    }

    /// Counts a response that cannot be decoded.
    pub(super) fn malformed(&mut self) {
        self.ledger.responses += 1;
        self.ledger.malformed += 1;
    }

    /// Returns the next timer that has expired by `now`.
    pub(super) fn expired(&mut self, now: Time) -> Option<Expired<T>> {
        loop {
            let &(deadline, sequence, attempt) = self.timers.front()?;
            let waits = self.waits(sequence, attempt);
            if waits && deadline > now {
                return None;
            }
            self.timers.pop_front();
            if !waits {
                continue;
            }
            let at = self.place(sequence);
            // The slot exists, because `waits` has found its request.
            let Some(slot) = &mut self.slots[at] else { continue };
            let counts = &mut self.ledger.by_kind[slot.kind as usize];
            // There is no copy of a datagram that was sent before retransmission was enabled.
            if slot.attempts <= self.policy.n1 && !slot.datagram.is_empty() {
                slot.attempts += 1;
                counts.retransmissions += 1;
                let again = Expired::Again(slot.datagram.clone(), slot.about);
                let attempts = slot.attempts;
                self.start_timer(now, sequence, attempts);
                return Some(again);
            }
            slot.phase = Phase::Lost;
            self.waiting -= 1;
            counts.pending -= 1;
            counts.lost += 1;
            return Some(Expired::Lost(slot.done(now, Outcome::Lost)));
        }
    }

    /// Returns the time at which [`Requests::expired`] has to be called next.
    pub(super) fn wake_at(&self) -> Option<Time> {
        self.timers.front().map(|(deadline, ..)| *deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::message_type::{HEARTBEAT_RESPONSE, SESSION_DELETION_RESPONSE};

    const T1: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn table(window: usize, n1: u8) -> Requests<u8> {
        Requests::new(window, MAX_SEQUENCE, Retransmission { t1: T1, n1 })
    }

    #[test]
    fn numbers_wrap_at_24_bits_within_window() {
        let mut requests = table(2, 0);
        assert_eq!(requests.begin(at(0), at(0), Kind::Heartbeat, 1), Ok(MAX_SEQUENCE));
        assert_eq!(requests.begin(at(0), at(0), Kind::Heartbeat, 2), Ok(0));
        assert_eq!(requests.begin(at(0), at(0), Kind::Heartbeat, 3), Err(Full { window: 2 }));
        let answer = requests.answered(at(1), MAX_SEQUENCE, HEARTBEAT_RESPONSE, Cause::ACCEPTED);
        assert!(matches!(answer, Answer::First(RequestEnd { outcome: Outcome::Ok, about: 1, .. })));
        assert_eq!(requests.begin(at(1), at(0), Kind::Heartbeat, 3), Ok(1));
        // Number 2 is skipped, because it would use the slot of number 0, which is pending.
        requests.answered(at(1), 1, HEARTBEAT_RESPONSE, Cause::ACCEPTED);
        assert_eq!(requests.begin(at(1), at(0), Kind::Heartbeat, 3), Ok(3));
        assert!(requests.ledger.balanced());
    }

    #[test]
    fn request_is_retransmitted_then_lost_then_late() {
        let mut requests = table(4, 1);
        let sequence = requests.begin(at(0), at(0), Kind::Deletion, 1).unwrap();
        requests.keep(sequence, &[7]);
        assert!(requests.expired(at(99)).is_none());
        assert!(matches!(requests.expired(at(100)), Some(Expired::Again(datagram, 1)) if datagram == [7]));
        assert!(requests.expired(at(199)).is_none());
        assert!(matches!(requests.expired(at(200)), Some(Expired::Lost(RequestEnd { attempts: 2, .. }))));
        assert_eq!((requests.ledger.counts(Kind::Deletion).lost, requests.wake_at()), (1, None));
        let late = requests.answered(at(300), sequence, SESSION_DELETION_RESPONSE, Cause::ACCEPTED);
        assert!(matches!(late, Answer::Late(RequestEnd { outcome: Outcome::Late(Cause::ACCEPTED), .. })));
        let again = requests.answered(at(301), sequence, SESSION_DELETION_RESPONSE, Cause::ACCEPTED);
        assert!(matches!(again, Answer::Duplicate));
        let foreign = requests.answered(at(302), sequence, HEARTBEAT_RESPONSE, Cause::ACCEPTED);
        assert!(matches!(foreign, Answer::Unexpected));
        let counts = requests.ledger.counts(Kind::Deletion);
        assert_eq!((counts.lost, counts.late, counts.duplicate, counts.retransmissions), (0, 1, 1, 1));
        assert!(requests.ledger.balanced());
    }

    #[test]
    fn timers_of_answered_requests_are_removed() {
        let mut requests = table(4, 0);
        for i in 0..10_000 {
            let sequence = requests.begin(at(0), at(0), Kind::Heartbeat, 0).unwrap();
            requests.answered(at(0), sequence, HEARTBEAT_RESPONSE, Cause::ACCEPTED);
            assert!(requests.timers.len() <= TIMERS_PER_SLOT * 4, "{i}");
        }
    }
}
