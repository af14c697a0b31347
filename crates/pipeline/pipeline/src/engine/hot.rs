//! What safe Rust cannot say: fetch a line early, run the same code with wider instructions, and put tables on huge
//! pages.
#![allow(unsafe_code)]

use super::Burst;

/// Which instructions the packet loops may use. Both run the same source; results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 and bit manipulation, where the processor has them; baseline elsewhere.
    Wide,
}

impl Isa {
    /// The widest that this machine has.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if ["avx2", "bmi1", "bmi2", "popcnt"].iter().all(|feature| has(feature)) {
            return Self::Wide;
        }
        Self::Baseline
    }
}

#[cfg(target_arch = "x86_64")]
fn has(feature: &str) -> bool {
    match feature {
        "avx2" => std::arch::is_x86_feature_detected!("avx2"),
        "bmi1" => std::arch::is_x86_feature_detected!("bmi1"),
        "bmi2" => std::arch::is_x86_feature_detected!("bmi2"),
        _ => std::arch::is_x86_feature_detected!("popcnt"),
    }
}

/// Instructions that were found to be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other machines have one way"))]
    wide: bool,
}

impl Width {
    /// The choice, as far as this machine has it.
    pub(super) fn of(isa: Isa) -> Self {
        Self { wide: isa == Isa::Wide && Isa::detect() == Isa::Wide }
    }
}

/// A loop over the packets of a burst.
pub(super) trait Loop {
    /// Takes the packets in `live` and says which go on. Must be `#[inline(always)]`, as all that it calls for each
    /// packet: it is compiled with the instructions of its caller. A closure cannot be made so.
    fn run(self, burst: &mut Burst, live: u64) -> u64;
}

/// Runs a loop with the chosen instructions.
#[inline]
pub(super) fn run<L: Loop>(width: Width, stage: L, burst: &mut Burst, live: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if width.wide {
        // SAFETY: a wide `Width` exists only if `Isa::detect` found every feature that `run_wide` is compiled with.
        return unsafe { run_wide(stage, burst, live) };
    }
    let _ = width;
    run_baseline(stage, burst, live)
}

#[inline(never)]
fn run_baseline<L: Loop>(stage: L, burst: &mut Burst, live: u64) -> u64 {
    stage.run(burst, live)
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_wide<L: Loop>(stage: L, burst: &mut Burst, live: u64) -> u64 {
    stage.run(burst, live)
}

/// Asks for the line of `value`, which will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch reads nothing that the program can see, and the reference is valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// How much memory tables take, and how much of it the kernel put on huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Of all tables that are large enough to ask, octets.
    pub asked_bytes: usize,
    /// Granted, octets.
    pub huge_bytes: usize,
}

/// A huge page of x86-64 and of 64-bit ARM with 4-KiB pages.
const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages under a table that has its content: an address that is looked up at random then costs a cache
/// miss, and not a walk through page tables on top. Transparent pages need neither privilege nor a reserve made at boot;
/// where the kernel refuses, the table stays as it is.
pub(super) fn settle<T>(memory: &mut Memory, table: &[T]) {
    let first = (table.as_ptr() as usize).next_multiple_of(HUGE_PAGE);
    let last = (table.as_ptr() as usize + size_of_val(table)) / HUGE_PAGE * HUGE_PAGE;
    for page in (first..last).step_by(HUGE_PAGE) {
        memory.asked_bytes += HUGE_PAGE;
        if collapse(page) {
            memory.huge_bytes += HUGE_PAGE;
        }
    }
}

/// Puts one aligned huge page under what is there.
#[cfg(all(target_os = "linux", not(miri)))]
fn collapse(page: usize) -> bool {
    let start = std::ptr::without_provenance_mut(page);
    // SAFETY: the caller passes a range within one of its own allocations; both pieces of advice keep its content and
    // its addresses, and tell by their result if the kernel does not follow.
    unsafe {
        libc::madvise(start, HUGE_PAGE, libc::MADV_HUGEPAGE) == 0
            && libc::madvise(start, HUGE_PAGE, libc::MADV_COLLAPSE) == 0
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn collapse(_: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::Port;

    /// Counts what it is given, with either instructions.
    struct Count<'a>(&'a mut u32);

    impl Loop for Count<'_> {
        #[inline(always)]
        fn run(self, burst: &mut Burst, live: u64) -> u64 {
            *self.0 += live.count_ones();
            prefetch(burst);
            live & !1
        }
    }

    #[test]
    fn a_loop_runs_with_the_instructions_that_are_there() {
        let mut burst = Burst::new();
        burst.push(Port::Core, &[1; 60]).unwrap();
        let mut count = 0;
        for isa in [Isa::Baseline, Isa::Wide] {
            assert_eq!(run(Width::of(isa), Count(&mut count), &mut burst, 0b111), 0b110);
        }
        assert_eq!((count, burst.len()), (6, 1));
    }

    /// Only whole huge pages within the table are asked for, and its content stays.
    #[test]
    fn a_table_keeps_its_content_on_huge_pages() {
        let table: Vec<u64> = (0..3 * HUGE_PAGE as u64 / 8 / if cfg!(miri) { 64 } else { 1 }).collect();
        let mut memory = Memory::default();
        settle(&mut memory, &table);
        settle(&mut memory, &table[..100]);
        let whole = if cfg!(miri) { 0..=1 } else { 2..=3 };
        assert!(whole.contains(&(memory.asked_bytes / HUGE_PAGE)), "{memory:?}");
        assert!(memory.huge_bytes <= memory.asked_bytes && memory.asked_bytes % HUGE_PAGE == 0);
        assert!(table.iter().enumerate().all(|(at, value)| *value == at as u64));
    }
}
