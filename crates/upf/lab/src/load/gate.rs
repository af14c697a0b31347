//! A gate at which a load waits after its setup, so that several loads start together.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Gate that is open unless it was created with [`shut`](Self::shut).
#[derive(Debug, Default)]
pub struct StartGate {
    shut: AtomicBool,
    waiting: AtomicBool,
}

impl StartGate {
    /// Creates a closed gate.
    pub fn shut() -> Self {
        Self { shut: AtomicBool::new(true), waiting: AtomicBool::new(false) }
    }

    /// Opens the gate.
    pub fn open(&self) {
        self.shut.store(false, Relaxed);
    }

    /// Returns whether the load has reached the gate.
    pub fn reached(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// Marks the gate as reached. Returns whether the load has to wait, because the gate is closed and the load was not stopped.
    pub(super) fn holds(&self, stop: &AtomicBool) -> bool {
        self.waiting.store(true, Relaxed);
        self.shut.load(Relaxed) && !stop.load(Relaxed)
    }
}
