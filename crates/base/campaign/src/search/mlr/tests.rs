use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use super::*;
use crate::search::{RateSearch, TrialOutcome};

const RANGE: (f64, f64) = (9e3, 14.88e6);
const CAPACITY: f64 = 5e6;
const WIDTH: f64 = 0.005;

fn usual(loss_ratio: f64) -> Goal {
    Goal { loss_ratio, exceed_ratio: 0.5, sum: 21.0 }
}

fn run(mut search: MlrSearch, mut loss: impl FnMut(Trial) -> f64) -> MlrSearch {
    while let Some(trial) = search.next_trial() {
        let loss = loss(trial);
        search.report(Reply::Loss(loss));
    }
    search
}

/// A device whose capacity varies from second to second, like that of a busy host.
struct Device {
    rng: ChaCha8Rng,
    capacity: Normal<f64>,
}

/// Returns the mean capacity of a seed's device: anywhere between two grid loads, on one of them, or just above it.
fn capacity(seed: u64) -> f64 {
    CAPACITY * (1.0 + WIDTH * (seed % 25) as f64 / 25.0)
}

impl Device {
    fn new(seed: u64, deviation: f64) -> Self {
        let capacity = Normal::new(capacity(seed), CAPACITY * deviation).unwrap();
        Self { rng: ChaCha8Rng::seed_from_u64(seed), capacity }
    }

    /// Returns the loss ratio over this number of seconds.
    fn loss(&mut self, load: f64, seconds: u32) -> f64 {
        let of = |_| f64::max(0.0, 1.0 - self.capacity.sample(&mut self.rng) / load);
        (0..seconds).map(of).sum::<f64>() / f64::from(seconds)
    }
}

/// Loss ratio of each goal, and the largest load that has at most this loss in the median second, relative to the
/// capacity.
const GOALS: [(f64, f64); 2] = [(0.0, 1.0), (0.005, 1.0 / 0.995)];

fn near(found: Option<f64>, truth: f64) -> usize {
    usize::from(found.is_some_and(|found| (found / truth - 1.0).abs() <= WIDTH))
}

/// Runs a search for both goals with each of a hundred seeds. Returns the number of right results for each goal, and
/// the mean duration of a search in seconds.
fn mlrsearch(deviation: f64) -> ([usize; 2], f64) {
    let mut hits = [0; 2];
    let mut spent = 0.0;
    for seed in 0..100 {
        let mut device = Device::new(seed, deviation);
        let search = MlrSearch::new(RANGE, WIDTH, false, &[usual(0.0), usual(0.005)], 1.0, 1200.0);
        let search = run(search, |trial| device.loss(trial.load, 1));
        spent += search.spent() / 100.0;
        for ((hits, found), (_, truth)) in hits.iter_mut().zip(search.found()).zip(GOALS) {
            assert!(found.precise, "{found:?}");
            let lower = found.lower.unwrap();
            let upper = found.upper.unwrap();
            assert!(upper - lower <= WIDTH * upper, "wider than requested: {found:?}");
            *hits += near(found.lower, truth * capacity(seed));
        }
    }
    (hits, spent)
}

/// Returns the same numbers for plain bisection, which relies on a single trial of `seconds` seconds.
fn bisection(deviation: f64, seconds: u32) -> ([usize; 2], f64) {
    let mut spent = 0.0;
    let hits = GOALS.map(|(loss_ratio, truth)| {
        let of_seed = |seed| {
            let mut device = Device::new(seed, deviation);
            let (mut low, mut high) = RANGE;
            while high - low > WIDTH * high {
                let load = f64::midpoint(low, high);
                *(if device.loss(load, seconds) <= loss_ratio { &mut low } else { &mut high }) = load;
                spent += f64::from(seconds) / 100.0;
            }
            near(Some(low), truth * capacity(seed))
        };
        (0..100).map(of_seed).sum()
    });
    (hits, spent)
}

/// Checks the claim in SPECIFICATION: `cargo test -p ranlab-campaign mlr -- --nocapture` prints the table.
#[test]
fn mlrsearch_beats_plain_bisection_on_noisy_device() {
    for deviation in [0.0025, 0.005, 0.01] {
        let (found, spent) = mlrsearch(deviation);
        println!(
            "capacity ± {deviation}: of 100 searches, right NDR and PDR: {found:?}, both in {spent:.0} s"
        );
        for seconds in [1, 21] {
            let (plain, spent) = bisection(deviation, seconds);
            println!("    bisection by trials of {seconds} s: right {plain:?}, both in {spent:.0} s");
            assert!(
                plain.iter().min() < found.iter().min(),
                "bisection by trials of {seconds} s must be right less often than MLRsearch"
            );
        }
        assert!(found.iter().all(|found| *found >= 95), "of 100 searches, only {found:?} are right");
    }
}

#[test]
fn steady_device_needs_few_trials_for_rfc_2544() {
    let goal = Goal { loss_ratio: 0.0, exceed_ratio: 0.0, sum: 1.0 };
    for capacity in [9.5e3, 1.234e6, 14.7e6] {
        let search = MlrSearch::new(RANGE, WIDTH, false, &[goal], 1.0 / 60.0, 1200.0);
        let search = run(search, |trial| f64::max(0.0, 1.0 - capacity / trial.load));
        let found = search.found()[0];
        let lower = found.lower.unwrap();
        let upper = found.upper.unwrap();
        assert!(lower <= capacity && capacity < upper && upper - lower <= WIDTH * upper * 1.001, "{found:?}");
        assert_eq!((found.precise, found.throughput), (true, Some(lower)));
        assert!(search.trials() <= 20 && search.spent() < 4.0, "{} {}", search.trials(), search.spent());
    }
}

#[test]
fn load_is_a_bound_once_verdict_is_certain() {
    let mut search = MlrSearch::new((1.0, 100.0), 0.01, false, &[usual(0.0)], 1.0, 1e3);
    let target = search.goals[0][2];
    let top = search.top;
    for second in 1..=21 {
        let class = search.class(top, &target);
        assert_eq!(class, if second <= 11 { Class::Open } else { Class::Lower }, "after {} s", second - 1);
        search.seen.entry(top).or_default().push((1.0, 0.0));
    }
    // A load with high loss in half of the time is still a lower bound. With one more second of high loss, it is not.
    search.seen.insert(top, (0..42).map(|second| (1.0, f64::from(second % 2))).collect());
    assert_eq!(search.class(top, &target), Class::Lower);
    search.seen.entry(top).or_default().push((1.0, 1.0));
    assert_eq!(search.class(top, &target), Class::Upper);
    // Short trials of low loss do not count by themselves. Short trials of high loss count, unless trials of low loss
    // excuse them.
    search.seen.insert(top, vec![(0.5, 0.0); 100]);
    assert_eq!(search.class(top, &target), Class::Open);
    search.seen.insert(top, vec![(0.5, 0.1); 22]);
    assert_eq!(search.class(top, &target), Class::Upper);
}

#[test]
fn uncertain_bound_of_result_is_measured_again() {
    let goal = usual(0.0);
    let search = MlrSearch::new((1.0, 100.0), 0.01, false, &[goal], 1.0, 1e3);
    let target = search.goals[0][2];
    let times = |good: f64, bad: f64| Times { good, bad };
    // Chance does not explain 11 of 11 seconds of low loss, nor 15 of 21. It can explain 11 of 21, although the RFC
    // classifies such a load as a lower bound.
    assert!(times(11.0, 0.0).clear(&target) && times(15.0, 6.0).clear(&target));
    assert!(!times(11.0, 10.0).clear(&target) && times(11.0, 10.0).class(&goal) == Class::Lower);
    assert!(times(42.0, 42.0).clear(&target), "after four duration sums the verdict is final");
    // If the goal allows no trial of high loss, chance cannot explain a verdict.
    let strict = Target { goal: Goal { exceed_ratio: 0.0, ..goal }, ..target };
    assert!(times(21.0, 0.0).clear(&strict) && times(20.0, 1.0).clear(&strict));
    // A load that fails only in the first ten seconds is a lower bound in the end. The search then tries the load above
    // it.
    let search = MlrSearch::new((1.0, 100.0), 0.01, false, &[goal], 1.0, 1e3);
    let mut bad = 10;
    let search = run(search, |trial| {
        let unlucky = trial.load <= 50.0 && trial.load > 49.7 && bad > 0;
        bad -= i32::from(unlucky);
        if unlucky { 0.01 } else { f64::max(0.0, 1.0 - 50.0 / trial.load) }
    });
    let found = search.found()[0];
    assert!(found.precise && found.lower.unwrap() > 49.5 && found.upper.unwrap() > 50.0, "{found:?}");
}

#[test]
fn higher_load_that_passes_by_chance_is_ignored() {
    // The device fails from a load of 50 on, but passes by chance between 60 and 65.
    let search = MlrSearch::new(
        (1.0, 100.0),
        0.01,
        false,
        &[Goal { loss_ratio: 0.0, exceed_ratio: 0.0, sum: 1.0 }],
        1.0,
        1e3,
    );
    let search =
        run(search, |trial| if trial.load < 50.0 || (60.0..65.0).contains(&trial.load) { 0.0 } else { 0.01 });
    let found = search.found()[0];
    let lower = found.lower.unwrap();
    let upper = found.upper.unwrap();
    assert!(lower < upper && upper <= 65.7, "{found:?}");
}

#[test]
fn results_beyond_range_or_generator_are_reported() {
    let goals = [usual(0.0), usual(0.1)];
    let new = || MlrSearch::new((10.0, 100.0), 0.01, true, &goals, 1.0, 1e4);
    let above = run(new(), |_| 0.0);
    assert!(
        above
            .found()
            .iter()
            .all(|found| (found.lower, found.upper, found.precise) == (Some(100.0), None, true))
    );
    let below = run(new(), |_| 0.05);
    let [none, all] = below.found()[..] else { panic!("two goals must give two results") };
    assert_eq!((none.lower, none.upper, none.precise), (None, Some(10.0), true));
    assert_eq!((all.lower, all.throughput, all.precise), (Some(100.0), Some(95.0), true));
    let mut search = new();
    while let Some(trial) = search.next_trial() {
        search.report(if trial.load > 40.0 { Reply::Unsent } else { Reply::Loss(0.0) });
    }
    assert_eq!(search.unsent(), Some(41.0));
    assert!(
        search.found().iter().all(|found| (found.lower, found.precise) == (Some(40.0), false)),
        "{:?}",
        search.found()
    );
    let mut search = new();
    while search.next_trial().is_some() {
        search.report(Reply::Unsent);
    }
    assert_eq!(
        (search.unsent(), search.found()[0]),
        (Some(10.0), Bounds { precise: false, ..search.found()[0] })
    );
}

#[test]
fn time_budget_is_kept_and_integer_loads_stay_integers() {
    let search = MlrSearch::new((1.0, 40.0), 0.001, true, &[usual(0.0)], 0.25, 7.0);
    let search = run(search, |trial| {
        assert_eq!(trial.load, trial.load.round());
        f64::max(0.0, 1.0 - 13.0 / trial.load)
    });
    assert!(search.spent() <= 7.0 && !search.found()[0].precise, "{}", search.spent());
    let search = MlrSearch::new((1.0, 40.0), 0.001, true, &[usual(0.0)], 0.25, 700.0);
    let found = run(search, |trial| f64::max(0.0, 1.0 - 13.0 / trial.load)).found()[0];
    assert_eq!((found.lower, found.upper, found.precise), (Some(13.0), Some(14.0), true));
}

/// Compares the results of two independent searches, so that an error in either of them is noticed.
#[test]
fn both_searches_agree_on_a_steady_device() {
    let mut plain = RateSearch::new(1.0, 1000.0, 0.01, 60);
    while let Some(trial) = plain.next_trial() {
        plain.report(if trial.load <= 423.7 { TrialOutcome::Pass } else { TrialOutcome::Fail });
    }
    let search = MlrSearch::new((1.0, 1000.0), 0.01, false, &[usual(0.0)], 1.0, 1e3);
    let found = run(search, |trial| f64::max(0.0, 1.0 - 423.7 / trial.load)).found()[0];
    assert!((found.lower.unwrap() / plain.found().lower.unwrap() - 1.0).abs() <= 0.02);
}

/// Expected values: `TargetStat.pessimistic_loss_ratio` of the authors' package MLRsearch 1.2.1 (PyPI) for the same trials.
#[test]
fn conditional_throughput_equals_reference_package() {
    let trials = |counts: &[(u32, f64, f64)]| -> Vec<(f64, f64)> {
        let expand = |&(count, time, loss): &(u32, f64, f64)| (0..count).map(move |_| (time, loss));
        counts.iter().flat_map(expand).collect()
    };
    let rising = |count: u32| (0..count).map(|step| (1.0, 0.01 * f64::from(step))).collect::<Vec<_>>();
    for (sum, exceed_ratio, full, reference) in [
        (21.0, 0.5, trials(&[(6, 1.0, 0.0), (5, 1.0, 0.004)]), 0.004),
        (21.0, 0.5, trials(&[(11, 1.0, 0.0)]), 0.0),
        (21.0, 0.5, trials(&[(10, 1.0, 0.0)]), 1.0),
        (21.0, 0.5, trials(&[(10, 1.0, 0.02), (11, 1.0, 0.0)]), 0.0),
        (21.0, 0.5, trials(&[(3, 1.0, 0.003), (8, 1.0, 0.0), (10, 1.0, 0.02), (9, 1.0, 0.5)]), 0.02),
        (4.0, 0.5, trials(&[(2, 1.0, 0.0), (2, 1.0, 0.3)]), 0.0),
        (1.0, 0.0, trials(&[(1, 1.0, 0.001), (1, 1.0, 0.002)]), 0.002),
        (10.0, 0.25, rising(8), 0.07),
        (10.0, 0.25, rising(7), 1.0),
        (3.0, 0.5, trials(&[(1, 2.0, 0.1), (1, 1.0, 0.0)]), 0.1),
        (3.0, 0.9, trials(&[(1, 1.0, 0.7)]), 0.7),
    ] {
        let goal = Goal { loss_ratio: 0.005, exceed_ratio, sum };
        let found = pessimistic_loss(full.clone(), &goal);
        assert!((found - reference).abs() < 1e-12, "{sum} {exceed_ratio} {full:?}: {found}, not {reference}");
    }
}
