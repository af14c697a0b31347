//! No simulated delay exceeds its bound, in random feed-forward networks with all kinds of stages that have bounds. Schedulers with rounds,
//! credit or regulators are tested in separate networks in addition to the mixed ones.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ranlab_xhaul::{
    BoundError, CLASSES, Clock, Curves, Duration, Flow, GateEntry, Gates, Host, MS, NS, Network,
    NetworkError, Options, Pattern, Port, Ps, Quantiles, Scheduler, Simulation, Stage, StageId, TokenBucket,
    US, bounds,
};

const SCENARIOS: u64 = 1000;
/// Number of networks with shaping schedulers.
const SHAPED: u64 = 600;
/// Maximum number of random networks. Networks that are overloaded or never send a frame do not count.
const SEEDS_MAX: u64 = 3 * SCENARIOS;

/// Random number generator, and the number of schedulers to choose from.
struct Random(ChaCha8Rng, u64);

/// Number of schedulers: FIFO, strict priority, preemption and gates; or also round robin, credit and regulators.
const PLAIN: u64 = 4;
const ALL: u64 = 10;

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn clock(&mut self) -> Clock {
        if self.below(3) > 0 {
            return Clock::default();
        }
        let offset_ps = self.below(2 * US) as i64 - US as i64;
        Clock { offset_ps, drift_ppb: self.below(200_001) as i32 - 100_000 }
    }

    fn scheduler(&mut self, rate_bps: u64) -> Scheduler {
        match self.below(self.1) {
            0 => Scheduler::Fifo,
            1 => Scheduler::StrictPriority,
            2 => Scheduler::Preemption { express_from: 1 + self.below(7) as u8 },
            4 | 5 => {
                let mut quanta = [0; CLASSES];
                quanta.fill_with(|| 64 + self.below(6000) as u32);
                Scheduler::DeficitRoundRobin { quanta }
            }
            6 | 7 => {
                let mut idle_bps = [None; CLASSES];
                idle_bps.fill_with(|| (self.below(2) == 0).then(|| rate_bps * (5 + self.below(45)) / 100));
                Scheduler::CreditBased { idle_bps }
            }
            8 | 9 => Scheduler::Asynchronous,
            _ => {
                let frame_ps = 1538 * 8 * (1_000_000_000_000 / rate_bps);
                let count = 1 + self.below(3);
                let mut open_before = 0;
                let mut entries: Vec<GateEntry> = (0..count)
                    .map(|_| {
                        let duration_ps = 3 * frame_ps + self.below(100 * US);
                        let open = self.below(256) as u8;
                        open_before |= open;
                        GateEntry { duration_ps, open }
                    })
                    .collect();
                // Classes that are closed in all other entries get a window.
                entries.push(GateEntry { duration_ps: 4 * frame_ps + 50 * US, open: !open_before });
                Scheduler::Gates(Gates { entries, clock: self.clock() })
            }
        }
    }

    /// Returns the cost of sharing a network card: zero, or a distribution.
    fn sharing(&mut self) -> Duration {
        let most = 200 * NS + self.below(600 * NS);
        let points = [(0.0, 0), (0.9, 100 * NS), (1.0, most)];
        match self.below(2) {
            0 => Duration::Constant(0),
            _ => Duration::Drawn(Quantiles::new(&points).unwrap()),
        }
    }

    fn stage(&mut self, index: usize) -> Stage {
        if self.below(7) == 0 {
            return Stage::Host(Host {
                name: format!("host {index}"),
                service: Duration::Uniform { min_ps: 500 * NS, max_ps: 500 * NS + self.below(1000 * NS) },
                sharing: self.sharing(),
                coalescing_ps: self.one_of(&[0, 5 * US]),
                wakeup: Duration::Constant(0),
                contention: self.one_of(&[None, Some((100 * US, 30 * US, 7 * US))]),
                queue_frames_max: u32::MAX,
            });
        }
        let rate_bps =
            self.one_of(&[100_000_000, 1_000_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000]);
        let min_ps = self.below(2 * US);
        let max_ps = min_ps + self.one_of(&[0, US]);
        Stage::Port(Port {
            propagation_ps: self.below(US),
            forwarding: Duration::Uniform { min_ps, max_ps },
            cut_through_bytes: self.one_of(&[None, None, Some(64)]),
            scheduler: self.scheduler(rate_bps),
            queue_bytes_max: u64::MAX / 2,
            ..Port::new(format!("port {index}"), rate_bps)
        })
    }

    fn flow(&mut self, index: usize, stages: &[Stage], sharing: u64) -> Flow {
        let mut path: Vec<StageId> = (0..stages.len() as StageId).filter(|_| self.below(2) == 0).collect();
        path.truncate(5);
        if path.is_empty() {
            path.push(self.below(stages.len() as u64) as StageId);
        }
        let slowest = path.iter().map(|&stage| match &stages[usize::from(stage)] {
            Stage::Port(port) => port.rate_bps,
            _ => 1_000_000_000,
        });
        let slowest = slowest.min().unwrap();
        let frame = 84 + self.below(1455) as u32;
        let count = self.one_of(&[1, 1, 1, 3, 14]);
        // Each flow gets at most a fair share of the slowest link.
        let share = 20 + self.below(60);
        let gap_ps = u64::from(frame) * 8_000_000 * 1_000_000 / slowest * sharing * 100 / share;
        let period_ps = gap_ps * count;
        let frames = vec![frame; count as usize];
        let pattern = match self.below(6) {
            0 => Pattern::Periodic { period_ps, releases: count as u32, frames: vec![frame], jitter_ps: 0 },
            1 => Pattern::Timer { timer_ps: 300 * US, gap_ps, frame },
            2 => {
                let slots = vec![true, true, false, false, true, false];
                let together = self.one_of(&[1, 2, 3]);
                Pattern::Tdd { period_ps: 6 * period_ps, slots, together, frames }
            }
            3 => Pattern::Periodic { period_ps, releases: 1, frames, jitter_ps: self.below(gap_ps) },
            _ => Pattern::Periodic { period_ps, releases: 1, frames, jitter_ps: 0 },
        };
        let regulator = (self.1 == ALL && self.below(3) > 0).then(|| TokenBucket {
            burst_bytes: frame * (1 + self.below(2 * count) as u32).max(count as u32 / 2),
            rate_bps: pattern.mean_bps().unwrap().max(1) * (102 + self.below(100)) / 100 + 1,
        });
        Flow {
            name: format!("flow {index}"),
            class: self.below(8) as u8,
            path,
            replicas: Vec::new(),
            shared: Default::default(),
            pattern,
            offset_ps: 0,
            clock: self.clock(),
            regulator,
            budget_ps: None,
            window: None,
        }
    }
}

fn random_network(random: &mut Random) -> Network {
    let stages: Vec<_> = (0..2 + random.below(6) as usize).map(|index| random.stage(index)).collect();
    let count = 2 + random.below(7);
    let flows = (0..count as usize).map(|index| random.flow(index, &stages, count)).collect();
    Network { stages, flows }
}

/// Returns, for each flow, the maximum simulated delay over a few phases as a share of its bound. `None` if there are no bounds.
fn shares(seed: u64, schedulers: u64) -> Option<Vec<f64>> {
    let mut random = Random(ChaCha8Rng::seed_from_u64(seed), schedulers);
    let mut network = random_network(&mut random);
    let bound = match bounds(&network, Curves::Steps) {
        Ok(bound) => bound,
        Err(
            BoundError::Overload { .. }
            | BoundError::Unshaped { .. }
            | BoundError::Network(NetworkError::NeverSent { .. }),
        ) => return None,
        Err(other) => panic!("seed {seed}: {other}"),
    };
    let mut shares = vec![0.0_f64; network.flows.len()];
    for phase in 0..4 {
        for flow in &mut network.flows {
            flow.offset_ps = if phase == 0 { 3 * US } else { random.below(2 * MS) };
        }
        let report =
            Simulation::new(&network, Options { duration_ps: 6 * MS, seed: seed ^ phase }).unwrap().run();
        for (index, flow) in report.flows.iter().enumerate() {
            let least = bound[index].least_ps;
            let most = bound[index].delay_ps;
            let context = || format!("seed {seed} phase {phase} {}: {network:#?}", flow.name);
            assert_eq!(flow.sent, flow.delays.count(), "{}", context());
            assert!(flow.delays.max_ps() <= most, "{} of {most}: {}", flow.delays.max_ps(), context());
            assert!(flow.sent == 0 || flow.delays.min_ps() >= least, "{least}: {}", context());
            shares[index] = shares[index].max(flow.delays.max_ps() as f64 / most as f64);
        }
    }
    Some(shares)
}

/// Returns the shares of `scenarios` networks, sorted.
fn shares_of(scenarios: u64, schedulers: u64) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    let mut found = 0;
    let mut seed: Ps = 0;
    while found < scenarios {
        assert!(seed < SEEDS_MAX, "only {found} of {seed} random networks have bounds");
        if let Some(shares) = shares(seed, schedulers) {
            found += 1;
            all.extend(shares);
        }
        seed += 1;
    }
    all.sort_by(f64::total_cmp);
    let at = |share: f64| at(&all, share);
    println!(
        "{} flows in {scenarios} networks of {seed}: simulated maximum over bound: q10 {:.2}, median {:.2}, q90 {:.2}, max {:.4}",
        all.len(),
        at(0.1),
        at(0.5),
        at(0.9),
        at(1.0)
    );
    all
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64) as usize]
}

#[test]
fn no_random_network_exceeds_its_bound() {
    let all = shares_of(SCENARIOS, PLAIN);
    // Four phases do not find every worst case, but useless bounds would be far above the simulated delays.
    assert!(at(&all, 0.5) > 0.3 && at(&all, 1.0) > 0.99);
}

#[test]
fn no_shaped_network_exceeds_its_bound() {
    let all = shares_of(SHAPED, ALL);
    assert!(at(&all, 0.5) > 0.2 && at(&all, 1.0) > 0.99);
}

fn port(scheduler: Scheduler) -> Stage {
    Stage::Port(Port { scheduler, ..Port::new("port", 1_000_000_000) })
}

fn flow(class: u8, path: &[StageId], pattern: Pattern) -> Flow {
    Flow {
        name: format!("class {class}"),
        class,
        path: path.to_vec(),
        replicas: Vec::new(),
        shared: Default::default(),
        pattern,
        offset_ps: 0,
        clock: Clock::default(),
        regulator: None,
        budget_ps: None,
        window: None,
    }
}

/// Simulates some phases of the other flows. Returns the maximum delay of the first flow as a share of its bound.
fn reached(network: &Network) -> f64 {
    let bound = bounds(network, Curves::Steps).unwrap()[0].delay_ps;
    let mut most = 0;
    for phase in 0..200_u64 {
        let mut network = network.clone();
        for (index, flow) in network.flows.iter_mut().enumerate().skip(1) {
            flow.offset_ps = (phase * 7_919 * (index as u64 + 1) * NS * 10) % (200 * US);
        }
        network.flows[0].offset_ps = 100 * US;
        let report = Simulation::new(&network, Options { duration_ps: 3 * MS, seed: phase }).unwrap().run();
        most = most.max(report.flows[0].delays.max_ps());
    }
    assert!(most <= bound, "{most} of {bound}");
    most as f64 / bound as f64
}

#[test]
fn delay_of_credit_shaped_class_is_close_to_bound() {
    let mut idle_bps = [None; CLASSES];
    idle_bps[6] = Some(250_000_000);
    let network = Network {
        stages: vec![port(Scheduler::CreditBased { idle_bps })],
        flows: vec![
            flow(6, &[0], Pattern::burst(10 * MS, 40, 1250)),
            flow(0, &[0], Pattern::constant(20 * US, 1250)),
        ],
    };
    // 40 frames at a quarter of the rate, after one frame that had begun: 1.6 ms.
    assert!(reached(&network) > 0.95, "{}", reached(&network));
}

#[test]
fn delay_of_round_robin_class_is_close_to_bound() {
    let quanta = [1_500; CLASSES];
    let network = Network {
        stages: vec![port(Scheduler::DeficitRoundRobin { quanta })],
        flows: vec![
            flow(5, &[0], Pattern::burst(2 * MS, 10, 1000)),
            flow(3, &[0], Pattern::burst(2 * MS, 60, 1000)),
            flow(1, &[0], Pattern::burst(2 * MS, 60, 1000)),
        ],
    };
    assert!(reached(&network) > 0.8, "{}", reached(&network));
}

#[test]
fn second_regulator_adds_delay_only_after_a_queue() {
    // The bucket's rate is slightly above the flow's mean rate. After one queue the flow no longer conforms.
    let bucket = Some(TokenBucket { burst_bytes: 5 * 1000, rate_bps: 40_400_000 });
    let regulated = |class, path: &[StageId]| Flow {
        regulator: bucket,
        ..flow(class, path, Pattern::burst(MS, 5, 1000))
    };
    let of = |first: Scheduler, path: &[StageId]| {
        let stages = vec![port(first.clone()), port(first), port(Scheduler::Asynchronous)];
        let rest = flow(0, path, Pattern::constant(30 * US, 1500));
        Network { stages, flows: vec![regulated(6, path), regulated(6, path), rest] }
    };
    let last = |network: &Network| bounds(network, Curves::Steps).map(|bounds| bounds[0].delay_ps);
    // With regulators everywhere, or at the second hop only, the delay is at most the delay of the two queues.
    let strict = last(&Network {
        stages: vec![port(Scheduler::StrictPriority), port(Scheduler::StrictPriority)],
        ..of(Scheduler::StrictPriority, &[0, 1])
    });
    let everywhere = of(Scheduler::Asynchronous, &[0, 2]);
    assert!(last(&everywhere).unwrap() <= strict.clone().unwrap() * 2);
    assert!(reached(&everywhere) > 0.4, "{}", reached(&everywhere));
    assert!(last(&of(Scheduler::StrictPriority, &[0, 2])).is_ok());
    let late = last(&of(Scheduler::StrictPriority, &[0, 1, 2]));
    assert!(matches!(late, Err(BoundError::Unshaped { .. })), "{late:?}");
    // If the bucket has room for all frames, no frame waits.
    let mut roomy = of(Scheduler::StrictPriority, &[0, 1, 2]);
    for flow in &mut roomy.flows {
        flow.regulator = flow.regulator.map(|bucket| TokenBucket { rate_bps: 100_000_000, ..bucket });
    }
    assert!(last(&roomy).is_ok());
}

/// The gate windows fit a whole number of frames, as in synthesised schedules. They have no guard time, and little or no spare time.
#[test]
fn delays_with_exact_windows_never_exceed_bound() {
    let mut tightest = 0.0_f64;
    let mut bounded = 0;
    for seed in 0..300 {
        let mut random = Random(ChaCha8Rng::seed_from_u64(seed), PLAIN);
        let frame = 84 + random.below(1400);
        let gap_ps = 96 * NS;
        let count = 1 + random.below(3);
        let mut entries = Vec::new();
        for _ in 0..=random.below(2) {
            let spare = random.one_of(&[0, 0, gap_ps, 700 * NS]);
            let duration_ps = count * frame * 8 * NS - gap_ps + spare;
            entries.push(GateEntry { duration_ps, open: 0x80 });
            entries.push(GateEntry {
                duration_ps: 20 * US + random.below(100 * US),
                open: random.one_of(&[0, 0x7F]),
            });
        }
        let cycle: Ps = entries.iter().map(|entry| entry.duration_ps).sum();
        let clock = random.clock();
        let mut flows =
            vec![flow(7, &[0, 1], Pattern::burst(cycle * 3, 1 + random.below(3) as usize, frame as u32))];
        flows.push(flow(7, &[0, 1], Pattern::constant(cycle * 2 + random.below(50 * US), frame as u32)));
        if random.below(2) == 0 {
            flows.push(flow(1, &[1], Pattern::constant(cycle * 2, 1000)));
        }
        let gates = Scheduler::Gates(Gates { entries, clock });
        let mut network = Network { stages: vec![port(Scheduler::Fifo), port(gates)], flows };
        let Ok(bound) = bounds(&network, Curves::Steps) else { continue };
        bounded += 1;
        for phase in 0..8 {
            for flow in &mut network.flows {
                flow.offset_ps = random.below(2 * MS);
            }
            let report =
                Simulation::new(&network, Options { duration_ps: 20 * MS, seed: phase }).unwrap().run();
            for (flow, bound) in report.flows.iter().zip(&bound) {
                assert!(
                    flow.delays.max_ps() <= bound.delay_ps,
                    "seed {seed}: {} {network:#?}",
                    bound.delay_ps
                );
                tightest = tightest.max(flow.delays.max_ps() as f64 / bound.delay_ps as f64);
            }
        }
    }
    assert!(bounded > 100 && tightest > 0.8, "{bounded} {tightest}");
}
