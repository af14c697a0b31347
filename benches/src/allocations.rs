//! Counts allocations, to measure that a path is free of allocations.
#![allow(unsafe_code)] // a global allocator cannot be had without

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is forwarded unchanged to the system's allocator, which fulfils the contract. Counting does not
// access the memory or the allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller guarantees the properties of `layout` that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` was allocated by `System` with this `layout`, because `alloc` and `realloc`
        // forward.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: `pointer` was allocated by `System` with this `layout`. The caller guarantees that `new_size` is
        // valid.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// Returns the number of allocations and reallocations of the whole process while `work` runs.
pub(crate) fn during(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Relaxed);
    work();
    ALLOCATIONS.load(Relaxed) - before
}

#[cfg(test)]
mod tests {
    #[test]
    fn allocation_is_counted() {
        assert!(super::during(|| drop(std::hint::black_box(Box::new(1u8)))) > 0);
    }
}
