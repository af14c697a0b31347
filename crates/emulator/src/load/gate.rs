//! Where a load waits, when its sessions are set up, until it is told to go on: several loads begin as one.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Open unless [`shut`](Self::shut).
#[derive(Debug, Default)]
pub struct Gate {
    shut: AtomicBool,
    waiting: AtomicBool,
}

impl Gate {
    /// A gate that waits to be opened.
    pub fn shut() -> Self {
        Self { shut: AtomicBool::new(true), waiting: AtomicBool::new(false) }
    }

    /// Lets the load go on.
    pub fn open(&self) {
        self.shut.store(false, Relaxed);
    }

    /// Whether the load stands before it, set up.
    pub fn reached(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// Whether to wait: the load is here, and nobody has opened or stopped it.
    pub(super) fn holds(&self, stop: &AtomicBool) -> bool {
        self.waiting.store(true, Relaxed);
        self.shut.load(Relaxed) && !stop.load(Relaxed)
    }
}
