//! Several RICs that act as one, under a thousand seeded faults. Trials with wrong settings prove that the checker
//! finds violations.
use ranlab_e2::ric::directory::{ClaimLimits, DirectoryTimers};
use ranlab_sim::Violation;
use ranlab_sim::cluster::{ClusterLoad, ClusterOutcome, ClusterTrial};
use std::time::Duration;

/// Number of worlds, of eight faults each.
const SEEDS: u64 = 125;
const THREADS: u64 = 2;

fn run_all(trial: &ClusterTrial, seeds: u64) -> Vec<Result<ClusterOutcome, Violation>> {
    let run = |first: u64| (first..seeds).step_by(THREADS as usize).map(|seed| trial.run(seed));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || run(t).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no world may panic")).collect()
    })
}

#[test]
fn thousand_faults_leave_one_owner_per_node() {
    let results = run_all(&ClusterTrial::default(), SEEDS);
    let broken: Vec<_> = results.iter().filter_map(|it| it.as_ref().err()).map(ToString::to_string).collect();
    assert!(
        broken.is_empty(),
        "{} of {SEEDS} worlds violate an invariant:\n{}",
        broken.len(),
        broken.join("\n")
    );
    let sum = |what: fn(&ClusterOutcome) -> u64| results.iter().flatten().map(what).sum::<u64>();
    let faults = sum(|it| it.faults as u64);
    let acknowledged = sum(|it| it.acknowledged);
    println!(
        "{faults} faults, {} ownership intervals, {} elections, {} commits; {acknowledged} controls acknowledged, {} not; {} indications",
        sum(|it| it.intervals as u64),
        sum(|it| it.elections),
        sum(|it| it.commits as u64),
        sum(|it| it.refused),
        sum(|it| it.indications)
    );
    assert!(faults >= 1_000);
    assert!(
        sum(|it| it.intervals as u64) > SEEDS,
        "some nodes must change their owner for the trial to prove anything"
    );
    assert!(acknowledged > SEEDS && sum(|it| it.elections) > SEEDS / 4);
}

/// Orders of an iApp survive a crash of the RIC that received them, after any faults. In the end each RIC knows the
/// same orders.
#[test]
fn iapp_orders_reach_every_ric_despite_crash() {
    let results = run_all(&ClusterTrial { orders: true, ..ClusterTrial::default() }, SEEDS / 4);
    let broken: Vec<_> = results.iter().filter_map(|it| it.as_ref().err()).map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{} worlds violate an invariant:\n{}", broken.len(), broken.join("\n"));
    let orders: u64 = results.iter().flatten().map(|it| it.orders).sum();
    assert!(orders > SEEDS, "each world must have orders, but there are only {orders}");
}

/// A RIC that does not wait for the others serves nodes that other RICs may still command.
#[test]
fn checker_finds_two_owners_without_waiting() {
    let timers = DirectoryTimers::default().with(|it| it.wait = Duration::ZERO);
    assert_two_owners(&ClusterTrial { timers, ..ClusterTrial::default() });
}

/// A RIC that does not fence itself commands nodes that other RICs already serve.
#[test]
fn checker_finds_two_owners_without_fencing() {
    let timers = DirectoryTimers::default().with(|it| {
        (it.lease, it.close_after) = (Duration::from_secs(3_600), Duration::from_secs(7_200));
    });
    assert_two_owners(&ClusterTrial { timers, ..ClusterTrial::default() });
}

fn assert_two_owners(trial: &ClusterTrial) {
    let found =
        (0..SEEDS).find_map(|seed| trial.run(seed).err().filter(|it| it.what.contains("is owned by")));
    let found = found.unwrap_or_else(|| panic!("the checker must find a violation in {SEEDS} worlds"));
    let replay = format!("--example replay -- cluster {} trace", found.seed);
    assert!(found.to_string().ends_with(&replay), "{found}");
}

/// Each report is read once by each RIC, and written once to each xApp and to each other RIC.
#[test]
fn messages_per_report_grow_with_rics_and_xapps() {
    let seconds = Duration::from_secs;
    for (rics, xapps) in [(1, 4), (2, 4), (3, 6)] {
        let load = ClusterLoad { rics, nodes: 6, xapps, settle: seconds(5), counted: seconds(10) };
        let outcome = load.run(1).unwrap();
        let reports = outcome.delivered as f64 / xapps as f64;
        assert!(
            (reports / 120.0 - 1.0).abs() < 0.05,
            "{rics} RICs got {reports} reports of 6 nodes in 10 s instead of two per second and node"
        );
        let per_report = outcome.messages() as f64 / reports;
        let expected = (rics + xapps + rics - 1) as f64;
        assert!(
            (per_report / expected - 1.0).abs() < 0.02,
            "{rics} RICs needed {per_report} messages per report instead of {expected}"
        );
    }
}

/// Returns a trial in which all base stations connect at once, and the store serves less than 30 writes per second.
fn crowd() -> ClusterTrial {
    ClusterTrial {
        nodes: 200,
        xapps: 1,
        faults: 0,
        trouble: Duration::ZERO,
        recovery: Duration::from_secs(30),
        pace: Duration::from_millis(35),
        ..ClusterTrial::default()
    }
}

#[test]
fn slow_store_admits_base_stations_that_connect_at_once() {
    for result in run_all(&crowd(), 2) {
        result.unwrap_or_else(|violation| panic!("{violation}"));
    }
}

/// Without a window, heartbeats wait behind all claims. Leases expire, setups are refused, and all nodes start again
/// at the next RIC.
#[test]
fn base_stations_keep_moving_between_rics_without_claim_window() {
    let at_once = 1 << 20;
    let claims = ClaimLimits { least: at_once, most: at_once };
    assert!(run_all(&ClusterTrial { claims, ..crowd() }, 4).iter().all(Result::is_err));
}

#[test]
fn same_seed_gives_same_digest() {
    let trial = ClusterTrial::default();
    assert_eq!(trial.run(7), trial.run(7));
}
