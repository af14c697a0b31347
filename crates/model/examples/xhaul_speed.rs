//! How fast the simulation of the reference midhaul is, beside a bare heap of as many events in the same run.
//!
//! `cargo run --release -p ranlab-model --example xhaul_speed`
#![allow(clippy::disallowed_methods, reason = "a stopwatch around the model, not in it")]

use std::collections::BinaryHeap;
use std::time::Instant;

use ranlab_model::xhaul::{Options, S, Scheduler, Simulation, reference_gates, reference_network};

const REPEATS: u64 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schedulers = [
        ("FIFO", Scheduler::Fifo),
        ("strict priority", Scheduler::StrictPriority),
        ("preemption", Scheduler::Preemption { express_from: 7 }),
        ("gates", Scheduler::Gates(reference_gates())),
    ];
    for (name, scheduler) in schedulers {
        let network = reference_network(&scheduler, false);
        let (mut best, mut bare_best) = (0.0_f64, 0.0_f64);
        for seed in 0..REPEATS {
            let simulation = Simulation::new(&network, Options { duration_ps: S, seed })?;
            let start = Instant::now();
            let report = simulation.run();
            best = best.max(report.events as f64 / start.elapsed().as_secs_f64() / 1e6);
            bare_best = bare_best.max(bare_heap(report.events));
        }
        println!(
            "{name:16} {best:6.2} M events/s; a bare heap {bare_best:6.2}; {:.2} of it",
            best / bare_best
        );
    }
    Ok(())
}

/// M events/s of a heap with as many entries as the reference has on average, keyed as the simulation's.
fn bare_heap(events: u64) -> f64 {
    let mut heap: BinaryHeap<std::cmp::Reverse<(u64, u64, u32, u32)>> = BinaryHeap::with_capacity(1024);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for index in 0..32 {
        heap.push(std::cmp::Reverse((index, index, 0, 0)));
    }
    let start = Instant::now();
    for sequence in 0..events {
        let Some(std::cmp::Reverse((at, ..))) = heap.pop() else { break };
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        heap.push(std::cmp::Reverse((at + state % 10_000_000, sequence, 1, 2)));
    }
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(heap.len(), 32, "every event had a successor");
    events as f64 / seconds / 1e6
}
