//! Events in order of time, in a heap whose nodes have four children.

use super::super::time::Ps;

/// Number of children of a node. With four, an event moves half as many levels as with two, and the least child is found without a branch.
const CHILDREN: usize = 4;

/// An event, in 24 bytes: smaller events are moved faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: Ps,
    /// Number of the event, times four, plus its kind. Events of one time happen in the order of their planning.
    rank: u64,
    pub(super) index: u32,
    pub(super) mark: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A source releases frames.
    Release,
    /// A packet arrives at its next stage, or at its destination.
    Arrive,
    /// A stage completes its current work. The mark shows whether the work changed in the meantime.
    Done,
    /// A stage must check again: a gate changed, credit was restored, or an interrupt is due.
    Wake,
}

impl Event {
    pub(super) fn kind(&self) -> Kind {
        match self.rank & 3 {
            0 => Kind::Release,
            1 => Kind::Arrive,
            2 => Kind::Done,
            _ => Kind::Wake,
        }
    }

    /// Time and rank as one number, which is compared without a branch.
    fn order(&self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.rank)
    }
}

/// Stands behind the last event, so that each node has four children or none.
const NONE: Event = Event { at: Ps::MAX, rank: u64::MAX, index: 0, mark: 0 };

/// Planned events.
#[derive(Debug)]
pub(super) struct Events {
    /// The heap, then [`NONE`] for missing children.
    heap: Vec<Event>,
    len: usize,
    /// Whether the first event of the heap is the current event. The next planned event then replaces it, which is faster than one removal
    /// and one insertion.
    current: bool,
    planned: u64,
}

impl Events {
    pub(super) fn new() -> Self {
        Self { heap: vec![NONE; CHILDREN], len: 0, current: false, planned: 0 }
    }

    /// Returns the next event, unless it is after `end`.
    #[inline(always)]
    pub(super) fn next(&mut self, end: Ps) -> Option<Event> {
        if self.current {
            self.remove();
        }
        let first = self.heap.first().copied().filter(|event| event.at <= end);
        self.current = first.is_some();
        first
    }

    #[inline(always)]
    pub(super) fn plan(&mut self, at: Ps, kind: Kind, index: u32, mark: u32) {
        self.planned += 1;
        let event = Event { at, rank: self.planned << 2 | kind as u64, index, mark };
        if std::mem::take(&mut self.current) {
            self.replace(event);
        } else {
            self.add(event);
        }
    }

    /// Returns the least child of a node, and its place.
    #[inline(always)]
    fn least(heap: &[Event], place: usize) -> Option<(u128, usize)> {
        let child = place * CHILDREN + 1;
        let [a, b, c, d] = heap.get(child..)?.first_chunk::<CHILDREN>()?.each_ref().map(Event::order);
        let left = if b < a { (b, child + 1) } else { (a, child) };
        let right = if d < c { (d, child + 3) } else { (c, child + 2) };
        Some(if right.0 < left.0 { right } else { left })
    }

    /// Replaces the first event. The new event is often among the next ones.
    #[inline(always)]
    fn replace(&mut self, event: Event) {
        let order = event.order();
        let heap = &mut self.heap[..];
        let mut place = 0;
        while let Some((least, child)) = Self::least(heap, place)
            && least < order
        {
            heap[place] = heap[child];
            place = child;
        }
        heap[place] = event;
    }

    /// Removes the first event. The last event replaces it, and nearly always belongs to the lowest level.
    #[inline(always)]
    fn remove(&mut self) {
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], NONE);
        let mut place = 0;
        while place * CHILDREN + 1 < self.len
            && let Some((_, child)) = Self::least(&self.heap, place)
        {
            self.heap[place] = self.heap[child];
            place = child;
        }
        if self.len > 0 {
            self.rise(place, last);
        }
    }

    fn add(&mut self, event: Event) {
        let place = self.len;
        self.len += 1;
        if self.heap.len() < self.len + CHILDREN {
            self.heap.resize(2 * self.heap.len() + CHILDREN, NONE);
        }
        self.rise(place, event);
    }

    #[inline(always)]
    fn rise(&mut self, mut place: usize, event: Event) {
        let order = event.order();
        while let Some(above) = place.checked_sub(1) {
            let parent = above / CHILDREN;
            if self.heap[parent].order() < order {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = event;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each step takes the next event and plans as many events as it says, some at equal times.
        #[test]
        fn events_come_in_order_of_time_and_planning(steps in prop::collection::vec(prop::collection::vec(0_u64..50, 0..4), 1..200)) {
            let mut events = Events::new();
            let mut expected = BTreeSet::new();
            let mut now = 0;
            let mut planned = 0;
            for step in std::iter::once(&vec![0; 20]).chain(&steps) {
                for delay in step {
                    events.plan(now + delay, Kind::Wake, planned, 0);
                    expected.insert((now + delay, planned));
                    planned += 1;
                }
                let Some(event) = events.next(Ps::MAX - 1) else { break };
                now = event.at;
                prop_assert_eq!(Some((event.at, event.index)), expected.pop_first());
            }
            while let Some(event) = events.next(Ps::MAX - 1) {
                prop_assert_eq!(Some((event.at, event.index)), expected.pop_first());
            }
            prop_assert!(expected.is_empty());
        }
    }

    #[test]
    fn events_after_the_end_remain() {
        let mut events = Events::new();
        events.plan(5, Kind::Done, 1, 2);
        assert_eq!(events.next(4), None);
        let event = events.next(5).unwrap();
        assert_eq!((event.at, event.kind(), event.index, event.mark), (5, Kind::Done, 1, 2));
        assert_eq!(events.next(Ps::MAX - 1), None);
    }
}
