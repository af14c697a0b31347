//! What waits at a port.

use std::collections::VecDeque;

use super::super::scheduler::CLASSES;

/// Packets that wait, by class.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) by_class: [VecDeque<u32>; CLASSES],
    /// Bit of each class that is not empty.
    pub(super) filled: u8,
}

impl Queues {
    pub(super) fn head(&self, class: usize) -> Option<u32> {
        self.by_class[class].front().copied()
    }

    pub(super) fn push(&mut self, class: usize, id: u32) {
        self.by_class[class].push_back(id);
        self.filled |= 1 << class;
    }

    pub(super) fn pop(&mut self, class: usize) -> Option<u32> {
        let id = self.by_class[class].pop_front();
        if self.by_class[class].is_empty() {
            self.filled &= !(1 << class);
        }
        id
    }
}
