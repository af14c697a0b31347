//! Delay bounds in networks with cyclic dependencies between flows. Simulations of random rings do not exceed the bounds.
//! A cycle without a fixed point is an error that names its stages.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ranlab_xhaul::{
    BoundError, CLASSES, Clock, Curves, Duration, Flow, GateEntry, Gates, MS, Network, Options, Pattern,
    Port, Ps, Scheduler, Simulation, Stage, StageId, TokenBucket, US, bounds,
};

/// Number of rings with bounds that are simulated.
const RINGS: u64 = 60;
/// Maximum number of random rings that are generated to find rings with bounds.
const SEEDS_MAX: u64 = 600;
const RATE_BPS: u64 = 1_000_000_000;

struct Random(ChaCha8Rng);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn scheduler(random: &mut Random) -> Scheduler {
    match random.below(7) {
        0 => Scheduler::Fifo,
        1 => Scheduler::StrictPriority,
        2 => Scheduler::Preemption { express_from: 4 },
        3 => Scheduler::DeficitRoundRobin { quanta: [1_538; CLASSES] },
        4 => {
            let mut idle_bps = [None; CLASSES];
            idle_bps[7] = Some(RATE_BPS * 2 / 5);
            Scheduler::CreditBased { idle_bps }
        }
        5 => Scheduler::Asynchronous,
        _ => {
            let entry = |open| GateEntry { duration_ps: 40 * US, open };
            Scheduler::Gates(Gates { entries: vec![entry(0xF0), entry(0x0F)], clock: Clock::default() })
        }
    }
}

fn flow(name: String, class: u8, path: Vec<StageId>, pattern: Pattern) -> Flow {
    Flow {
        name,
        class,
        path,
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

fn ports(count: usize, scheduler: &Scheduler) -> Vec<Stage> {
    let port = |index: usize| {
        Stage::Port(Port {
            scheduler: scheduler.clone(),
            propagation_ps: 500_000,
            forwarding: Duration::Uniform { min_ps: US, max_ps: 2 * US },
            queue_bytes_max: u64::MAX / 2,
            ..Port::new(format!("s{index}>s{}", (index + 1) % count), RATE_BPS)
        })
    };
    (0..count).map(port).collect()
}

/// Returns a random unidirectional ring. There are two flows per port, each of which enters there and passes two or more
/// ports.
fn ring(random: &mut Random) -> Network {
    let count = 3 + random.below(5) as usize;
    let scheduler = scheduler(random);
    let stages = ports(count, &scheduler);
    // Approximate load of a port by all its flows, in percent of its rate.
    let load = 5 + random.below(55);
    let flows = (0..2 * count).map(|index| {
        let hops = 2 + random.below(count as u64 - 2) as usize;
        let path: Vec<StageId> = (0..hops).map(|hop| ((index + hop) % count) as StageId).collect();
        let frame = 84 + random.below(1455) as u32;
        let burst = random.one_of(&[1, 1, 2, 4]);
        // There are 2 x count flows, and each passes half of the ports on average: about `count` flows per port.
        let gap_ps = u64::from(frame) * 8_000 * count as u64 * 100 / load;
        let period_ps = gap_ps * burst as u64;
        let mut flow = flow(
            format!("flow {index}"),
            random.one_of(&[0, 4, 7]),
            path,
            Pattern::burst(period_ps, burst, frame),
        );
        if scheduler == Scheduler::Asynchronous {
            let rate_bps = flow.pattern.mean_bps().unwrap() * 11 / 10 + 1;
            flow.regulator = Some(TokenBucket { burst_bytes: frame * burst as u32, rate_bps });
        }
        flow
    });
    let flows = flows.collect();
    Network { stages, flows }
}

#[test]
fn no_random_ring_exceeds_its_bound() {
    let mut found = 0;
    let mut refused = 0;
    let mut shares: Vec<f64> = Vec::new();
    let mut seed = 0;
    while found < RINGS {
        assert!(seed < SEEDS_MAX, "only {found} of {seed} rings have bounds");
        let mut random = Random(ChaCha8Rng::seed_from_u64(seed));
        let mut network = ring(&mut random);
        seed += 1;
        let bound = match bounds(&network, Curves::Steps) {
            Ok(bound) => bound,
            Err(BoundError::Circle { stages, .. }) => {
                refused += 1;
                assert!((3..=7).contains(&stages.len()), "{stages:?}");
                continue;
            }
            // A port is overloaded without a cyclic dependency: the flows of this ring form no cycle.
            Err(BoundError::Overload { .. } | BoundError::Unshaped { .. }) => continue,
            Err(other) => panic!("seed {seed}: {other}"),
        };
        found += 1;
        for phase in 0..4_u64 {
            for flow in &mut network.flows {
                flow.offset_ps = random.below(2 * MS);
            }
            let options = Options { duration_ps: 6 * MS, seed: seed ^ phase };
            let report = Simulation::new(&network, options).unwrap().run();
            for (flow, bound) in report.flows.iter().zip(&bound) {
                let most: Ps = flow.delays.max_ps();
                assert!(most <= bound.delay_ps, "seed {seed}: {most} of {}: {network:#?}", bound.delay_ps);
                assert!(flow.sent == 0 || flow.delays.min_ps() >= bound.least_ps, "seed {seed}");
                shares.push(most as f64 / bound.delay_ps as f64);
            }
        }
    }
    shares.sort_by(f64::total_cmp);
    let median = shares[shares.len() / 2];
    println!(
        "{found} rings with bounds of {seed}, {refused} refused; median of simulated over bound {median:.2}"
    );
    // The bounds are not much larger than the simulated delays.
    assert!(median > 0.1 && refused > 0, "{median} {refused}");
}

/// Returns a ring of `count` ports. Two flows with bursts of ten frames enter at each port and pass `hops` ports. `load`
/// is the load of each port, in percent.
fn circle(count: u16, hops: u16, load: u64) -> Network {
    let per_port = u64::from(2 * hops);
    let pattern = |frame: u32| Pattern::burst(u64::from(frame) * 8_000 * per_port * 1000 / load, 10, frame);
    let flows = (0..2 * count).map(|index| {
        let path = (0..hops).map(|hop| (index + hop) % count).collect();
        flow(format!("flow {index}"), 0, path, pattern(1000 + u32::from(index)))
    });
    Network { stages: ports(usize::from(count), &Scheduler::Fifo), flows: flows.collect() }
}

#[test]
fn ring_has_bounds_unless_overloaded() {
    let found = bounds(&circle(6, 5, 20), Curves::Steps).unwrap();
    // The bound exceeds the time to send the flow's burst.
    assert!(found.iter().all(|bound| bound.delay_ps > 80 * US && bound.delay_ps < 10 * MS), "{found:?}");
    let error = bounds(&circle(6, 5, 95), Curves::Steps).unwrap_err();
    let BoundError::Circle { stages, .. } = &error else { panic!("{error}") };
    let mut sorted = stages.clone();
    sorted.sort();
    assert_eq!(sorted, ["s0>s1", "s1>s2", "s2>s3", "s3>s4", "s4>s5", "s5>s0"]);
    assert!(error.to_string().contains("no delays below 100 ms"), "{error}");
}

#[test]
fn stages_before_and_after_a_cycle_have_bounds() {
    let mut network = circle(3, 2, 20);
    let [before, behind] = [3, 4];
    for name in ["before", "behind"] {
        network.stages.push(Stage::Port(Port::new(name, RATE_BPS)));
    }
    network.flows[0].path = vec![before, 0, 1, behind];
    let found = bounds(&network, Curves::Steps).unwrap();
    assert_eq!((found[0].hops_ps.len(), found[1].hops_ps.len()), (4, 2));
    assert!(found[0].delay_ps > found[1].delay_ps);
}
