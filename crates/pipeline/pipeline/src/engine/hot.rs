//! Unsafe or platform-specific code: prefetching, wide instructions, and huge pages for tables.
#![allow(unsafe_code)]

use super::Burst;

/// Instruction set of the packet loops. Both variants are compiled from the same source and give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// The architecture's baseline, which every processor supports.
    Baseline,
    /// AVX2 and bit manipulation if the processor supports them, otherwise the baseline.
    Wide,
}

impl Isa {
    /// Returns the widest instruction set of this machine.
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

/// Proof that the instruction set of a loop was detected.
#[derive(Debug, Clone, Copy)]
pub(super) struct IsaToken {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other machines have one way"))]
    wide: bool,
}

impl IsaToken {
    /// Returns the requested instruction set, limited to the support of this machine.
    pub(super) fn for_isa(isa: Isa) -> Self {
        Self { wide: isa == Isa::Wide && Isa::detect() == Isa::Wide }
    }
}

/// A loop over the packets of a burst.
pub(super) trait Loop {
    /// Processes the packets in `live`. Returns the packets that continue.
    ///
    /// The implementation must be `#[inline(always)]`, like every function that it calls per packet, because it is
    /// compiled with the caller's instruction set. Closures cannot have this attribute.
    fn run(self, burst: &mut Burst, live: u64) -> u64;
}

/// Runs a loop with the chosen instruction set.
#[inline]
pub(super) fn run<L: Loop>(width: IsaToken, stage: L, burst: &mut Burst, live: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if width.wide {
        // SAFETY: a wide `IsaToken` exists only if `Isa::detect` found every feature that `run_wide` is compiled with.
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

/// Prefetches the cache line of `value`.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch has no visible effect, and the reference is valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Memory size of tables, and the part of it that is on huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Total size of tables for which huge pages were requested, in bytes.
    pub asked_bytes: usize,
    /// Size that was granted, in bytes.
    pub huge_bytes: usize,
}

/// Size of a huge page on x86-64, and on 64-bit ARM with 4-KiB pages.
const HUGE_PAGE: usize = 2 << 20;

/// Requests huge pages for a filled table. A random lookup then costs only a cache miss, without an additional page
/// table walk. Transparent huge pages need neither privileges nor a reservation at boot. If the kernel refuses, the
/// table is unchanged.
pub(super) fn request_huge_pages<T>(memory: &mut Memory, table: &[T]) {
    let first = (table.as_ptr() as usize).next_multiple_of(HUGE_PAGE);
    let last = (table.as_ptr() as usize + size_of_val(table)) / HUGE_PAGE * HUGE_PAGE;
    for page in (first..last).step_by(HUGE_PAGE) {
        memory.asked_bytes += HUGE_PAGE;
        if collapse(page) {
            memory.huge_bytes += HUGE_PAGE;
        }
    }
}

/// Constant of linux/mman.h, which musl's headers lack.
#[cfg(all(target_os = "linux", not(miri)))]
const MADV_COLLAPSE: libc::c_int = 25;

/// Replaces existing pages by one aligned huge page.
#[cfg(all(target_os = "linux", not(miri)))]
fn collapse(page: usize) -> bool {
    let start = std::ptr::without_provenance_mut(page);
    // SAFETY: the caller passes a range within one of its allocations. Both madvise calls keep content and
    // addresses, and report by their result if the kernel refuses.
    unsafe {
        libc::madvise(start, HUGE_PAGE, libc::MADV_HUGEPAGE) == 0
            && libc::madvise(start, HUGE_PAGE, MADV_COLLAPSE) == 0
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

    /// Loop that counts its calls, for either instruction set.
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
    fn packet_loop_runs_with_each_instruction_set() {
        let mut burst = Burst::new();
        burst.push(Port::Core, &[1; 60]).unwrap();
        let mut count = 0;
        for isa in [Isa::Baseline, Isa::Wide] {
            assert_eq!(run(IsaToken::for_isa(isa), Count(&mut count), &mut burst, 0b111), 0b110);
        }
        assert_eq!((count, burst.len()), (6, 1));
    }

    /// Only huge pages that are completely inside the table are requested. The content of the table is preserved.
    #[test]
    fn huge_pages_preserve_table_content() {
        let table: Vec<u64> = (0..3 * HUGE_PAGE as u64 / 8 / if cfg!(miri) { 64 } else { 1 }).collect();
        let mut memory = Memory::default();
        request_huge_pages(&mut memory, &table);
        request_huge_pages(&mut memory, &table[..100]);
        let whole = if cfg!(miri) { 0..=1 } else { 2..=3 };
        assert!(whole.contains(&(memory.asked_bytes / HUGE_PAGE)), "{memory:?}");
        assert!(memory.huge_bytes <= memory.asked_bytes && memory.asked_bytes % HUGE_PAGE == 0);
        assert!(table.iter().enumerate().all(|(at, value)| *value == at as u64));
    }
}
