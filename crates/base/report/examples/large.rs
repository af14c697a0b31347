//! Measures the cost of 10,000 points: `cargo run --release -p ranlab-report --example large`.
//!
//! Measures the points with a rig that does no work. Stores the results, reads them back, reports them and exports
//! them. Prints the seconds and the memory of each step with their limits (60 s, 300 MB), and fails if a limit is
//! exceeded.
//!
//! With a folder and a number as arguments, it measures that number of points instead, with three repeats each. `make
//! test-web` opens the result in a browser.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ranlab_campaign::export;
use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::renamed::Renames;
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::run::run;
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_report::report::{Context, write};
use ranlab_report::store::{Header, Load, Store};

const SECONDS_MAX: f64 = 60.0;
const MB_MAX: f64 = 300.0;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/large"), PathBuf::from);
    let points: usize = std::env::args().nth(2).map_or(Ok(10_000), |count| count.parse())?;
    let begun = Instant::now();
    let written = measure(&directory, points)?;
    let stored = begun.elapsed().as_secs_f64();
    let results = Store::read(&directory.join("large.db"))?.results(Load::Metrics)?;
    let report = write(&results, &Context::default(), &directory)?;
    std::fs::write(directory.join("points.parquet"), export::parquet(&export::points(&results)))?;
    let seconds = begun.elapsed().as_secs_f64();
    let peak = peak_mb().unwrap_or(f64::NAN);
    println!("{written} points: measured and stored in {stored:.1} s, reported in {:.1} s", seconds - stored);
    println!("total {seconds:.1} s (limit {SECONDS_MAX} s), memory peak {peak:.0} MB (limit {MB_MAX} MB)");
    println!("{}", report.html.display());
    let kept = seconds < SECONDS_MAX && peak < MB_MAX;
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures about `points` points: 100 numbers of workers, each with as many numbers of requests as necessary.
fn measure(directory: &Path, points: usize) -> Result<usize, Box<dyn Error>> {
    let list = |most: usize| (1..=most).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let workers = list(100);
    let requests = list((points / 100).max(1));
    let repeats = if points < 10_000 { 3 } else { 1 };
    let text = format!(
        "title = \"{points} points </script><script>window.hit=1</script>\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [{workers}]\n\
         \"load.requests\" = [{requests}]\n[measure]\nrepeats = {repeats}\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n\
         [[plot]]\ntype = \"heat\"\nx = \"load.workers\"\ny = \"load.requests\"\nz = \"throughput\"\n"
    );
    let rig = MockRig::default();
    let description = rig.describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = Scenario::parse(&text, "large.toml", &Overrides::default(), rigs)?;
    let plan = Plan::new(&scenario, &description);
    std::fs::create_dir_all(directory)?;
    let path = directory.join("large.db");
    for suffix in ["", "-wal", "-shm"] {
        let old = PathBuf::from(format!("{}{suffix}", path.display()));
        if old.exists() {
            std::fs::remove_file(old)?;
        }
    }
    let null = serde_json::Value::Null;
    let metrics = &description.metrics;
    let renames = &Renames::default();
    let keys = &description.keys;
    let header =
        Header { scenario: &scenario, plan: &plan, keys, metrics, host: &null, versions: &null, renames };
    let mut store = Store::open(&path, &header)?;
    let session = run(Box::new(rig), &scenario, &plan, &mut store, &Stop::never(), &mut |_| {})?;
    Ok(session.finished)
}

/// Returns the peak resident memory of this process, as the kernel reports it.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
}
