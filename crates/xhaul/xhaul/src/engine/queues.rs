//! Frame queues of a port.

use std::collections::VecDeque;

use super::super::scheduler::CLASSES;

/// Waiting packets, by class.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) by_class: [VecDeque<u32>; CLASSES],
    /// Bitmap of the classes that are not empty.
    pub(super) filled: u8,
}

impl Queues {
    pub(super) fn head(&self, class: usize) -> Option<u32> {
        self.by_class[class].front().copied()
    }

    /// Inserts a packet before the last `behind` packets.
    pub(super) fn push(&mut self, class: usize, id: u32, behind: usize) {
        let queue = &mut self.by_class[class];
        if behind == 0 {
            queue.push_back(id);
        } else {
            queue.insert(queue.len() - behind.min(queue.len()), id);
        }
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
