//! Counts allocations, so that "allocation-free" is measured and not claimed.
#![allow(unsafe_code)] // a global allocator cannot be had without

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed on, unchanged, to the system's allocator, which keeps the contract; counting touches
// neither the memory nor the allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` with this `layout`, since `alloc` and `realloc` hand on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as for `dealloc`, and the caller promises that `new_size` is valid.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// Allocations and reallocations of the whole process while `work` runs.
pub(crate) fn during(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Relaxed);
    work();
    ALLOCATIONS.load(Relaxed) - before
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_allocation_counts() {
        assert!(super::during(|| drop(std::hint::black_box(Box::new(1u8)))) > 0);
    }
}
