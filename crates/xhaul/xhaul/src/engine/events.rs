//! Queue of planned events, ordered by time and rank.

use super::Event;

/// Number of children of an entry. With four, the heap has half the levels of a binary heap, and the four comparisons of a level do not
/// wait for each other.
const CHILDREN: usize = 4;

/// Heap whose first entry is the next event.
#[derive(Debug, Default)]
pub(super) struct Events {
    entries: Vec<Event>,
}

impl Events {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity) }
    }

    pub(super) fn first(&self) -> Option<Event> {
        self.entries.first().copied()
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: Event) {
        let mut hole = self.entries.len();
        self.entries.push(event);
        while let Some(parent) = hole.checked_sub(1).map(|before| before / CHILDREN) {
            if self.entries[parent].order() <= event.order() {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = event;
    }

    /// Replaces the first event by another one, which is faster than removing the first and adding the other.
    pub(super) fn replace_first(&mut self, event: Event) {
        let order = event.order();
        let mut hole = 0;
        while let Some((child, least)) = self.least_child(hole) {
            if order <= least.order() {
                break;
            }
            self.entries[hole] = least;
            hole = child;
        }
        if let Some(entry) = self.entries.get_mut(hole) {
            *entry = event;
        }
    }

    /// Removes the first event.
    pub(super) fn remove_first(&mut self) {
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.replace_first(last);
        }
    }

    /// Returns the index and the value of the least child of an entry.
    fn least_child(&self, parent: usize) -> Option<(usize, Event)> {
        let first = CHILDREN * parent + 1;
        let children = self.entries.get(first..)?;
        if let Some([a, b, c, d]) = children.first_chunk() {
            let left = if b.order() < a.order() { (1, b) } else { (0, a) };
            let right = if d.order() < c.order() { (3, d) } else { (2, c) };
            let (offset, least) = if right.1.order() < left.1.order() { right } else { left };
            return Some((first + offset, *least));
        }
        let (offset, least) = children.iter().enumerate().min_by_key(|(_, child)| child.order())?;
        Some((first + offset, *least))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::Kind;
    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push(u64),
        Replace(u64),
        Remove,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![3 => (0..50_u64).prop_map(Step::Push), 3 => (0..50_u64).prop_map(Step::Replace), 2 => Just(Step::Remove)]
    }

    proptest! {
        #[test]
        fn first_event_is_least_after_any_steps(steps in prop::collection::vec(step(), 0..400)) {
            let mut events = Events::default();
            let mut model = BTreeSet::new();
            for (rank, step) in steps.into_iter().enumerate() {
                let planned = |at| Event::new(at, rank as u64, Kind::Done, 7, 9);
                match step {
                    Step::Push(at) => {
                        events.push(planned(at));
                        model.insert(planned(at).order());
                    }
                    Step::Replace(at) => {
                        if model.pop_first().is_some() {
                            model.insert(planned(at).order());
                        }
                        events.replace_first(planned(at));
                    }
                    Step::Remove => {
                        model.pop_first();
                        events.remove_first();
                    }
                }
                prop_assert_eq!(events.first().map(|event| event.order()), model.first().copied());
                prop_assert_eq!(events.entries.len(), model.len());
            }
        }
    }
}
