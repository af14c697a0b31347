//! How fast the simulation of the reference midhaul is, beside a bare heap of as many events in the same run; and two seeds on
//! two threads beside the same two one after the other. Both are told with what the repeats differ by: a busy machine shows.
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
        let mut shares = Vec::new();
        for seed in 0..REPEATS {
            let simulation = Simulation::new(&network, Options { duration_ps: S, seed })?;
            let start = Instant::now();
            let report = simulation.run();
            let rate = report.events as f64 / start.elapsed().as_secs_f64() / 1e6;
            let bare = bare_heap(report.events);
            (best, bare_best) = (best.max(rate), bare_best.max(bare));
            shares.push(rate / bare);
        }
        println!(
            "{name:16} {best:6.2} M events/s; a bare heap {bare_best:6.2}; {:.2} of it ({})",
            best / bare_best,
            spread(&mut shares)
        );
    }
    let mut gains = Vec::new();
    for seed in 0..REPEATS {
        gains.push(two_threads(seed * 2)?);
    }
    println!("two seeds on two threads: {} times one after the other", spread(&mut gains));
    Ok(())
}

/// The least, the median and the most.
fn spread(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    format!("{:.2} / {:.2} / {:.2}", at(0), at(values.len() / 2), at(values.len().saturating_sub(1)))
}

/// How many times faster two independent seeds are on two threads than on one.
fn two_threads(seed: u64) -> Result<f64, Box<dyn std::error::Error>> {
    let network = reference_network(&Scheduler::StrictPriority, false);
    let run = |seed| Simulation::new(&network, Options { duration_ps: S, seed }).map(|one| one.run().events);
    let start = Instant::now();
    let events = run(seed)? + run(seed + 1)?;
    let one_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let both = std::thread::scope(|scope| {
        let threads = [seed, seed + 1].map(|seed| scope.spawn(move || run(seed).map_err(|e| e.to_string())));
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread died".to_owned())?)
            .sum::<Result<u64, _>>()
    })?;
    let two_s = start.elapsed().as_secs_f64();
    assert_eq!(events, both, "threads change nothing");
    Ok(one_s / two_s)
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
