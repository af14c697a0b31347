//! Heap of all planned events, ordered by time. Events of the same time are ordered by when they were planned.
use ranlab_e2::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Planned events, earliest first.
#[derive(Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    next_seq: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Time,
    seq: u64,
    what: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.seq)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), next_seq: 0 }
    }
}

impl<T> EventQueue<T> {
    /// Plans an event at a time.
    pub fn plan(&mut self, at: Time, what: T) {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.heap.push(Reverse(Entry { at, seq, what }));
    }

    /// Returns the time of the next event.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Removes and returns the next event that is due no later than `end`.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, T)> {
        if self.heap.peek()?.0.at > end {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simultaneous_events_keep_planning_order() {
        let mut agenda = EventQueue::default();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            agenda.plan(Time::from_nanos(at), what);
        }
        let until = |agenda: &mut EventQueue<char>, end| {
            std::iter::from_fn(|| agenda.pop_until(Time::from_nanos(end))).map(|(_, c)| c).collect::<String>()
        };
        assert_eq!((until(&mut agenda, 8), until(&mut agenda, 9)), ("abcd".into(), "e".into()));
    }
}
