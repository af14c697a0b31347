//! `make bench`: measures the performance that the project guarantees, and compares each value with its limit. Exits with
//! code 1 if a limit is exceeded.
//!
//! Where possible, a limit is a ratio to a baseline measured in the same run, because ratios depend less on the
//! machine.
//!
//! `cargo run --release -p ranlab-benches -- WORD` runs only the groups whose name contains the word. `truth [SEEDS
//! [GROUP]]` runs the truth suite instead (`make truth`).

mod allocations;
mod bare;
mod codec;
mod handles;
mod load;
mod ping;
mod process;
mod report;
mod system;
mod truth;

use report::Report;
use std::process::ExitCode;

type GroupFn = fn(&mut Report);

/// Benchmark groups, each of which adds lines to the report. To add a group, write `fn bench_x(report: &mut Report)`
/// and add a line here.
const GROUPS: &[(&str, GroupFn)] = &[
    ("codec indication", codec::bench_indication),
    ("codec control", codec::bench_control),
    ("codec kpm", codec::bench_kpm),
    ("forward", system::bench_forward),
    ("threads", system::bench_threads),
    ("ping", system::bench_ping),
    ("handles", handles::bench_handles),
    ("idle", system::bench_idle),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let filter = arguments.next().unwrap_or_default();
    if filter == "truth" {
        let seeds = arguments.next().and_then(|seeds| seeds.parse().ok()).unwrap_or(truth::SEEDS);
        return truth::run(seeds, &arguments.next().unwrap_or_default());
    }
    if let Some(code) = be_a_floor(&filter, &arguments.collect::<Vec<_>>()) {
        return code;
    }
    let mut report = Report::default();
    for (name, bench) in GROUPS.iter().filter(|(name, _)| name.contains(&filter)) {
        eprintln!("measuring {name} ...");
        bench(&mut report);
    }
    print!("{report}");
    report.exit_code()
}

/// Runs this program as a baseline for the RIC: `relay UPSTREAM DOWNSTREAM` or `echo ADDRESS`.
fn be_a_floor(role: &str, addresses: &[String]) -> Option<ExitCode> {
    let addresses: Vec<ranlab_sdk::transport::Address> =
        addresses.iter().filter_map(|a| a.parse().ok()).collect();
    let outcome = match (role, &addresses[..]) {
        ("relay", [upstream, downstream]) => {
            ranlab_sdk::run(bare::relay(upstream.clone(), downstream.clone()))
        }
        ("echo", [address]) => ranlab_sdk::run(bare::echo(address.clone())),
        _ => return None,
    };
    Some(if outcome.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
