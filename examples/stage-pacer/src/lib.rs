//! A pacer of one's own, as a module that a base station runs in its sandbox: RLC holds what the radio sends in 4 ms.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown -p stage-pacer
//! ```
//!
//! What a module exports, and how it is signed and sent: `docs/how-to/controllers.md`, "A pacer of one's own".
#![cfg_attr(target_arch = "wasm32", no_std)]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// So much of what the radio sends may wait in RLC, ms.
const AHEAD_MS: u64 = 4;
/// So much may wait at least, bytes: a start, and what a slot of a good channel carries.
const FLOOR_BYTES: u64 = 22_000;
/// Time between two looks, µs.
const LOOK_US: u64 = 1_000;

/// What it has seen. A module is at one bearer and asked by one thread: these are cells, not locks.
struct Pacer {
    looked_us: AtomicU64,
    /// Bytes that RLC held then, and those that went there since.
    held: AtomicU64,
    passed: AtomicU64,
    /// Bytes that the radio sends in a millisecond.
    rate: AtomicU64,
}

impl Pacer {
    const fn new() -> Self {
        Self {
            looked_us: AtomicU64::new(0),
            held: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            rate: AtomicU64::new(0),
        }
    }

    fn admits(&self, packet_bytes: u64, bearer_bytes: u64, now_us: u64) -> bool {
        let elapsed = now_us.saturating_sub(self.looked_us.load(Relaxed));
        if elapsed >= LOOK_US {
            let sent = (self.held.load(Relaxed) + self.passed.load(Relaxed)).saturating_sub(bearer_bytes);
            let (now, before) = (sent.saturating_mul(1_000) / elapsed, self.rate.load(Relaxed));
            // Up at once, down slowly: rather a little too much than a slot with nothing to send.
            self.rate.store(if now > before { now } else { (before * 31 + now) / 32 }, Relaxed);
            self.looked_us.store(now_us, Relaxed);
            self.held.store(bearer_bytes, Relaxed);
            self.passed.store(0, Relaxed);
        }
        let most = (self.rate.load(Relaxed) * AHEAD_MS).max(FLOOR_BYTES);
        let admitted = bearer_bytes + packet_bytes <= most;
        if admitted {
            self.passed.fetch_add(packet_bytes, Relaxed);
        }
        admitted
    }
}

static PACER: Pacer = Pacer::new();

/// Whether a packet may go to RLC, whose bearer holds so many bytes: not 0.
#[unsafe(no_mangle)]
pub extern "C" fn admits(packet_bytes: u32, bearer_bytes: u64, now_us: u64) -> i32 {
    i32::from(PACER.admits(packet_bytes.into(), bearer_bytes, now_us))
}

/// There is nobody to tell: the sandbox takes the module out.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A radio that sends 10,000 bytes in a millisecond, and a source that always has packets.
    #[test]
    fn the_radio_is_never_dry_and_nothing_waits_long() {
        let (pacer, mut held) = (Pacer::new(), 0);
        for ms in 1..=1_000 {
            while pacer.admits(1_500, held, ms * 1_000) {
                held += 1_500;
            }
            assert!(held >= 10_000, "{held} bytes after {ms} ms");
            held -= 10_000;
            assert!(held <= 10_000 * AHEAD_MS, "{held} bytes wait after {ms} ms");
        }
        // When the radio becomes slow it is followed.
        for ms in 1_001..=2_000 {
            while pacer.admits(1_500, held, ms * 1_000) {
                held += 1_500;
            }
            held -= held.min(1_000);
        }
        assert!(held <= FLOOR_BYTES, "{held}");
    }
}
