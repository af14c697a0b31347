//! Runs the standard trial of a seed: `cargo run -p ranlab-sim --example replay -- SEED [trace]`.
use ranlab_sim::{LinkProfile, Trial, World};

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(seed) = arguments.first().and_then(|seed| seed.parse().ok()) else {
        eprintln!("usage: replay SEED [trace]");
        return 2.into();
    };
    let mut world = World::new(seed, LinkProfile::default());
    if arguments.get(1).is_some_and(|a| a == "trace") {
        world.trace_to(|at, words| println!("{:>12.6} {words}", at.as_nanos() as f64 / 1e9));
    }
    match Trial::default().run_in(world) {
        Ok(outcome) => {
            println!("{outcome:?}");
            0.into()
        }
        Err(violation) => {
            eprintln!("{violation}");
            1.into()
        }
    }
}
