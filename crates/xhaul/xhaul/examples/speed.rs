//! Measures the speed of the simulation of the reference midhaul. For comparison, it also measures a bare heap with the same number of
//! events. A second part runs two seeds on two threads, and then the same two seeds one after the other. If other programs use the two
//! processors, the speed-up is below two. Therefore arithmetic without memory accesses runs in the same way, alternating with the
//! simulation. Its speed-up is the maximum on this machine. Each figure is printed with the spread of its repetitions, which is larger on a
//! busy machine.
//!
//! `cargo run --release -p ranlab-xhaul --example speed`
#![allow(clippy::disallowed_methods, reason = "a stopwatch around the model, not in it")]

use std::collections::BinaryHeap;
use std::time::Instant;

use ranlab_xhaul::{Options, S, Scheduler, Simulation, reference_gates, reference_network};

const REPEATS: u64 = 5;
/// Number of seeds that one thread simulates, one after the other.
const SEEDS: u64 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schedulers = [
        ("FIFO", Scheduler::Fifo),
        ("strict priority", Scheduler::StrictPriority),
        ("preemption", Scheduler::Preemption { express_from: 7 }),
        ("gates", Scheduler::Gates(reference_gates())),
    ];
    for (name, scheduler) in schedulers {
        let network = reference_network(&scheduler, false);
        let mut best = 0.0_f64;
        let mut bare_best = 0.0_f64;
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
            "{name:16} simulation {best:6.2} M events/s, bare heap {bare_best:6.2} M events/s, ratio {:.2} (min / median / max: {})",
            best / bare_best,
            spread(&mut shares)
        );
    }
    let network = reference_network(&Scheduler::StrictPriority, false);
    let one =
        |seed| Simulation::new(&network, Options { duration_ps: S, seed }).map_or(0, |one| one.run().events);
    let run = |turn| (turn * SEEDS..(turn + 1) * SEEDS).map(one).sum();
    let mut gains = Vec::new();
    let mut machine = Vec::new();
    let mut shares = Vec::new();
    for seed in 0..REPEATS {
        let before = two_threads(arithmetic, seed * 2)?;
        let gain = two_threads(run, seed * 2)?;
        let given = f64::midpoint(before, two_threads(arithmetic, seed * 2)?);
        gains.push(gain);
        machine.push(given);
        shares.push(gain / given);
    }
    println!(
        "speed-up by two threads (min / median / max), {SEEDS} seeds each: simulation {}, arithmetic {}, ratio of both {}",
        spread(&mut gains),
        spread(&mut machine),
        spread(&mut shares)
    );
    Ok(())
}

/// Returns minimum, median and maximum.
fn spread(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    format!("{:.2} / {:.2} / {:.2}", at(0), at(values.len() / 2), at(values.len().saturating_sub(1)))
}

/// Returns the speed-up of two independent seeds on two threads compared with one thread. `run` returns a number that must not depend on
/// the number of threads.
fn two_threads(run: impl Fn(u64) -> u64 + Sync, seed: u64) -> Result<f64, &'static str> {
    let start = Instant::now();
    let sequential = run(seed).wrapping_add(run(seed + 1));
    let one_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let run = &run;
    let both = std::thread::scope(|scope| {
        let threads = [seed, seed + 1].map(|seed| scope.spawn(move || run(seed)));
        threads.into_iter().try_fold(0_u64, |sum, thread| Some(sum.wrapping_add(thread.join().ok()?)))
    })
    .ok_or("a thread panicked")?;
    let two_s = start.elapsed().as_secs_f64();
    assert_eq!(sequential, both, "the number of threads must not change the result");
    Ok(one_s / two_s)
}

/// Calculates with registers only, for about as long as a run of the simulation.
fn arithmetic(seed: u64) -> u64 {
    (0..150_000_000).fold(seed | 1, |state, _| {
        let state = state ^ (state << 13);
        let state = state ^ (state >> 7);
        state ^ (state << 17)
    })
}

/// Returns the speed of a heap, in million events per second. The heap has as many entries as the reference has on average, with the same
/// keys as in the simulation.
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
