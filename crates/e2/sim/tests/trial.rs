//! The standard trial with many seeds, and a check that a seed determines the whole world.
use ranlab_sim::{Outcome, Trial, Violation};
use std::process::Command;

const SEEDS: u64 = 500;
const THREADS: u64 = 2;
/// Environment variable with a seed for the child process of a test, which prints the digest of that seed.
const CHILD: &str = "RANLAB_SIM_DIGEST_OF";

#[test]
fn five_hundred_random_worlds_keep_the_invariants() {
    let run = |first: u64| (first..SEEDS).step_by(THREADS as usize).map(|seed| Trial::default().run(seed));
    let results: Vec<Result<Outcome, Violation>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || run(t).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    let broken: Vec<String> =
        results.iter().filter_map(|r| r.as_ref().err()).map(ToString::to_string).collect();
    assert!(
        broken.is_empty(),
        "{} of {SEEDS} seeds violate an invariant:\n{}",
        broken.len(),
        broken.join("\n")
    );
    let sum = |what: fn(&Outcome) -> u64| results.iter().flatten().map(what).sum::<u64>();
    println!("{} PDUs, {} indications", sum(|o| o.delivered), sum(|o| o.indications));
    assert!(
        sum(|o| o.dropped) > SEEDS,
        "slow links must drop some indications for the trial to prove anything"
    );
}

#[test]
fn same_seed_gives_same_digest_in_any_process() {
    if let Some(seed) = std::env::var(CHILD).ok().and_then(|seed| seed.parse().ok()) {
        println!("digest {:?}", Trial::default().run(seed).map(|o| o.digest));
        return;
    }
    let digest = |seed: u64| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "same_seed_gives_same_digest_in_any_process", "--nocapture"])
            .env(CHILD, seed.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find_map(|l| l.split("digest Ok(").nth(1)).map(str::to_owned).expect(&text)
    };
    for seed in [3, 4] {
        assert_eq!(digest(seed), digest(seed), "seed {seed}");
    }
    assert_ne!(digest(3), digest(4));
}
