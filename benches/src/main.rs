//! The promised numbers, each beside its bar: `make bench`. Exits 1 if a bar is missed.
//!
//! A promise is a ratio to a floor measured in the same run wherever that is possible, because ratios survive a change
//! of machine. `cargo run --release -p ranlab-benches -- WORD` runs only the groups whose name contains the word.

mod allocations;
mod codec;
mod report;

use report::Report;
use std::process::ExitCode;

type Bench = fn(&mut Report);

/// Each group adds its lines to the report. A new one: a function `fn bench_x(report: &mut Report)` and a line here.
const GROUPS: &[(&str, Bench)] =
    &[("codec indication", codec::bench_indication), ("codec control", codec::bench_control)];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut report = Report::default();
    for (name, bench) in GROUPS.iter().filter(|(name, _)| name.contains(&wanted)) {
        eprintln!("measuring {name} ...");
        bench(&mut report);
    }
    print!("{report}");
    report.exit_code()
}
