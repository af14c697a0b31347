//! Searches the phases of sources that delay a flow the most.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::engine::{Options, Simulation};
use super::error::NetworkError;
use super::network::Network;
use super::time::{NS, Ps};

/// Parameters of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Number of random initial phases, of which the search improves the best. At least one is tried.
    pub starts: u32,
    /// Number of improvement rounds. In each round, every source is moved by a step in both directions. The step halves when no move
    /// improves the result.
    pub rounds: u32,
    /// Time for which sources send in each run, in ps.
    pub duration_ps: Ps,
    /// Seed of the phases and of the runs.
    pub seed: u64,
}

/// Largest delay that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstCase {
    /// Maximum delay of the flow, in ps.
    pub delay_ps: Ps,
    /// Offset of every flow's source with this delay, in ps.
    pub offsets_ps: Vec<Ps>,
    /// Number of simulation runs.
    pub runs: u64,
}

/// Searches the phases of the flows in `free` for the maximum delay of `flow`. All other sources keep their offsets. The result is a lower
/// bound of the true maximum, and is the same in each call. Indices without a flow are ignored.
pub fn worst_phase(
    network: &Network,
    flow: usize,
    free: &[usize],
    search: Search,
) -> Result<WorstCase, NetworkError> {
    network.check()?;
    let mut network = network.clone();
    let free: Vec<(usize, Ps)> = free
        .iter()
        .filter_map(|&index| Some((index, network.flows.get(index)?.pattern.cycle_ps())))
        .collect();
    let mut random = ChaCha8Rng::seed_from_u64(search.seed);
    let offsets = |network: &Network| network.flows.iter().map(|flow| flow.offset_ps).collect::<Vec<_>>();
    let mut runs = 0;
    let mut best = WorstCase { delay_ps: 0, offsets_ps: offsets(&network), runs: 0 };
    let mut consider = |network: &Network, best: &mut WorstCase| -> Result<bool, NetworkError> {
        let options = Options { duration_ps: search.duration_ps, seed: search.seed };
        let report = Simulation::new(network, options)?.run();
        runs += 1;
        let delay_ps = report.flows.get(flow).map_or(0, |flow| flow.delays.max_ps());
        let better = delay_ps > best.delay_ps;
        if better {
            *best = WorstCase { delay_ps, offsets_ps: offsets(network), runs: 0 };
        }
        Ok(better)
    };
    consider(&network, &mut best)?;
    for _ in 0..search.starts {
        for &(index, cycle) in &free {
            network.flows[index].offset_ps = random.next_u64() % cycle;
        }
        consider(&network, &mut best)?;
    }
    let mut step_share = 4;
    for _ in 0..search.rounds {
        let mut helped = false;
        for &(index, cycle) in &free {
            let step = (cycle / step_share).max(NS);
            for moved in [step, cycle.saturating_sub(step)] {
                for (flow, &offset) in network.flows.iter_mut().zip(&best.offsets_ps) {
                    flow.offset_ps = offset;
                }
                network.flows[index].offset_ps = (best.offsets_ps[index] + moved) % cycle;
                helped |= consider(&network, &mut best)?;
            }
        }
        if !helped {
            step_share *= 2;
        }
    }
    best.runs = runs;
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::super::time::MS;
    use super::super::{Curves, Scheduler, bounds, reference_network};
    use super::*;

    #[test]
    fn search_finds_larger_delay_than_first_phase() {
        let network = reference_network(&Scheduler::Fifo, false);
        let bound = bounds(&network, Curves::Steps).unwrap()[1].delay_ps;
        let search = Search { starts: 3, rounds: 12, duration_ps: 10 * MS, seed: 1 };
        let first = worst_phase(&network, 1, &[], Search { starts: 0, rounds: 0, ..search }).unwrap();
        let worst = worst_phase(&network, 1, &[1, 3, 4, 99], search).unwrap();
        assert!(worst.delay_ps > first.delay_ps && worst.delay_ps <= bound);
        assert!(worst.delay_ps * 100 >= bound * 97, "{} of {bound}", worst.delay_ps);
        assert_eq!(worst_phase(&network, 1, &[1, 3, 4], search).unwrap(), worst);
        assert_eq!((first.runs, worst.runs), (1, 1 + 3 + 12 * 3 * 2));
        assert_eq!(worst.offsets_ps[0], network.flows[0].offset_ps);
    }
}
