//! User-defined pacer, as a module that a base station runs in a sandbox. It lets RLC buffer only the data that the
//! radio sends in 4 ms.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown -p stage-pacer
//! ```
//!
//! `docs/how-to/controllers.md`, "A pacer of one's own", describes the exports of a module, and how to sign
//! and load it.
#![cfg_attr(target_arch = "wasm32", no_std)]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Amount of data that RLC may buffer, as the time in ms that the radio needs to send it.
const AHEAD_MS: u64 = 4;
/// Minimum amount of data that RLC may buffer, in bytes. It suffices for the start and for a slot with a good channel.
const FLOOR_BYTES: u64 = 22_000;
/// Interval of updates, in µs.
const LOOK_US: u64 = 1_000;

/// State of the pacer. A module serves one bearer and is called by one thread, so atomics without locks suffice.
struct Pacer {
    looked_us: AtomicU64,
    /// Bytes in RLC at the last update plus bytes sent to RLC since then.
    held: AtomicU64,
    passed: AtomicU64,
    /// Rate of the radio, in bytes per millisecond.
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
            let now = sent.saturating_mul(1_000) / elapsed;
            let before = self.rate.load(Relaxed);
            // The rate increases immediately and decreases slowly. Buffering slightly too much is better than leaving
            // a slot empty.
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

/// Returns non-zero if a packet may be passed to RLC, which buffers `bearer_bytes` for this bearer.
#[unsafe(no_mangle)]
pub extern "C" fn admits(packet_bytes: u32, bearer_bytes: u64, now_us: u64) -> i32 {
    i32::from(PACER.admits(packet_bytes.into(), bearer_bytes, now_us))
}

/// The sandbox unloads a module that panics, so the panic is not reported here.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test radio sends 10,000 bytes per millisecond, and the source always has packets.
    #[test]
    fn radio_always_has_data_and_queue_stays_short() {
        let pacer = Pacer::new();
        let mut held = 0;
        for ms in 1..=1_000 {
            while pacer.admits(1_500, held, ms * 1_000) {
                held += 1_500;
            }
            assert!(held >= 10_000, "the radio needs 10000 bytes, but has {held} after {ms} ms");
            held -= 10_000;
            assert!(
                held <= 10_000 * AHEAD_MS,
                "the buffer must stay short, but has {held} bytes after {ms} ms"
            );
        }
        // The rate of the radio decreases, and the pacer follows it.
        for ms in 1_001..=2_000 {
            while pacer.admits(1_500, held, ms * 1_000) {
                held += 1_500;
            }
            held -= held.min(1_000);
        }
        assert!(held <= FLOOR_BYTES, "{held}");
    }
}
