//! Reference midhaul: simulated maximum delays and proven bounds, for four schedulers.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ranlab_xhaul::{
    Curves, MS, Network, Options, Pattern, Ps, Report, Scheduler, Simulation, bounds, reference_gates,
    reference_network,
};

const PHASES: u64 = 30;

fn schedulers() -> [(&'static str, Scheduler); 4] {
    [
        ("FIFO", Scheduler::Fifo),
        ("strict priority", Scheduler::StrictPriority),
        ("preemption", Scheduler::Preemption { express_from: 7 }),
        ("gates", Scheduler::Gates(reference_gates())),
    ]
}

fn run(network: &Network, duration_ps: Ps, seed: u64) -> Report {
    Simulation::new(network, Options { duration_ps, seed }).unwrap().run()
}

/// Returns the network with every source moved to a random phase. Gated sources are not moved.
fn shift(network: &Network, seed: u64) -> Network {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let gated = network.stages.iter().any(|stage| {
        matches!(stage, ranlab_xhaul::Stage::Port(port) if matches!(port.scheduler, Scheduler::Gates(_)))
    });
    let mut shifted = network.clone();
    for flow in &mut shifted.flows {
        let Pattern::Periodic { period_ps, .. } = flow.pattern else { unreachable!() };
        if !(gated && flow.class == 7) {
            flow.offset_ps = random.next_u64() % period_ps;
        }
    }
    shifted
}

/// Returns the maximum delay of each flow over the phases, in µs.
fn worst_us(network: &Network) -> Vec<f64> {
    let mut worst = vec![0; network.flows.len()];
    for seed in 0..PHASES {
        let report = run(&shift(network, seed), 500 * MS, seed);
        for (worst, flow) in worst.iter_mut().zip(&report.flows) {
            *worst = (*worst).max(flow.delays.max_ps());
        }
    }
    worst.into_iter().map(|ps| ps as f64 / 1e6).collect()
}

#[test]
fn uplink_iq_delays_match_reference_and_reach_bounds() {
    // Simulated maximum and bound of the uplink IQ flow's delay, in µs.
    let reference = [(161.0, 163.0), (95.29, 95.29), (83.70, 84.24), (83.00, 83.00)];
    for ((name, scheduler), (expected, expected_bound)) in schedulers().into_iter().zip(reference) {
        let network = reference_network(&scheduler, false);
        let simulated = worst_us(&network);
        let bound = bounds(&network, Curves::TokenBuckets).unwrap();
        let tight = bounds(&network, Curves::Steps).unwrap();
        for (index, flow) in network.flows.iter().enumerate() {
            let bound = bound[index].delay_ps as f64 / 1e6;
            let tight = tight[index].delay_ps as f64 / 1e6;
            println!("{name:16} {:14} {:8.3} <= {tight:8.3} <= {bound:8.3}", flow.name, simulated[index]);
            assert!(simulated[index] <= tight && tight <= bound * 1.001, "{name} {}", flow.name);
        }
        let bound = bound[1].delay_ps as f64 / 1e6;
        assert!((simulated[1] / expected - 1.0).abs() < 0.01, "{name}: {} for {expected}", simulated[1]);
        assert!((bound / expected_bound - 1.0).abs() < 0.01, "{name}: {bound} for {expected_bound}");
        assert!(simulated[1] >= 0.9 * bound, "{name}: {} of {bound}", simulated[1]);
    }
}
