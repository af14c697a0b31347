//! The two things that safe Rust cannot say: fetch a line early, and run the same code with wider instructions.
#![allow(unsafe_code)]

use super::{Burst, Engine};

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

/// Runs the engine's loop with the chosen instructions.
#[inline]
pub(super) fn dispatch(engine: &mut Engine, wide: bool, now_ns: u64, burst: &mut Burst) {
    #[cfg(target_arch = "x86_64")]
    if wide {
        // SAFETY: `wide` is set only if `Isa::detect` found every feature that `run_wide` is compiled with.
        unsafe { run_wide(engine, now_ns, burst) };
        return;
    }
    let _ = wide;
    engine.run(now_ns, burst);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_wide(engine: &mut Engine, now_ns: u64, burst: &mut Burst) {
    engine.run(now_ns, burst);
}

/// Asks for the line of `value`, which will be read soon.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch reads nothing that the program can see, and the reference is valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
