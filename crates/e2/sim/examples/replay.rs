//! Runs the standard trial of a seed, or with `cluster` the trial of several RICs:
//! `cargo run -p ranlab-sim --example replay -- [cluster] SEED [trace]`.
use ranlab_sim::cluster::ClusterTrial;
use ranlab_sim::{LinkProfile, Trial, World};
use std::fmt::Debug;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let cluster = arguments.first().is_some_and(|it| it == "cluster");
    if cluster {
        arguments.remove(0);
    }
    let Some(seed) = arguments.first().and_then(|seed| seed.parse().ok()) else {
        eprintln!("usage: replay [cluster] SEED [trace]");
        return 2.into();
    };
    let mut world =
        if cluster { ClusterTrial::world(seed) } else { World::new(seed, LinkProfile::default()) };
    if arguments.get(1).is_some_and(|a| a == "trace") {
        world.trace_to(|at, words| println!("{:>12.6} {words}", at.as_nanos() as f64 / 1e9));
    }
    match cluster {
        true => print_outcome(ClusterTrial::default().run_in(world)),
        false => print_outcome(Trial::default().run_in(world)),
    }
}

fn print_outcome<T: Debug>(outcome: Result<T, ranlab_sim::Violation>) -> ExitCode {
    match outcome {
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
