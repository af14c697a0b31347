//! The truth suite (`make truth`): systems whose answer is known, measured as a user measures. For each rig and each search it
//! counts how often the stated interval covers the truth, how wide that interval is, and how often a claim is false.
//!
//! A reference interval is Student's over as many repeats with the *known* spread (that of all repeats of all seeds), plus
//! the precision that the search was asked for. An interval that covers by being far wider than that is no answer.

mod campaigns;
mod claims;
mod fits;
mod live;
mod simulated;

use std::fmt;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds of each row, unless the command line gives another number.
pub(crate) const SEEDS: u64 = 1_000;
/// Fewest of 1,000 seeds whose interval covers the truth.
const COVERED_MIN: f64 = 0.930;
/// Most that the median interval may be wider than the reference.
const WIDTH_MAX: f64 = 1.5;
/// Most of 1,000 seeds with a false claim.
const FALSE_MAX: f64 = 0.070;
/// Fewest of 1,000 seeds in which a true difference is claimed.
const FOUND_MIN: f64 = 0.930;

/// What a row counts, and its bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Counts {
    /// Intervals that cover the truth.
    Covered,
    /// Claims that are false.
    False,
    /// True differences that were found.
    Found,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Rig, search or decision.
    pub(crate) name: String,
    /// The known answer, in words.
    pub(crate) truth: String,
    /// Seeds that were run.
    pub(crate) seeds: u64,
    /// How many of them count.
    pub(crate) count: u64,
    /// What is counted.
    pub(crate) counts: Counts,
    /// Median width of the intervals by the reference; `None`: an open end, or nothing that has a width.
    pub(crate) width: Option<f64>,
}

impl Row {
    fn holds(&self) -> bool {
        let share = self.count as f64 / self.seeds.max(1) as f64;
        let kept = match self.counts {
            Counts::Covered => share >= COVERED_MIN,
            Counts::False => share <= FALSE_MAX,
            Counts::Found => share >= FOUND_MIN,
        };
        kept && self.width.is_none_or(|width| width <= WIDTH_MAX)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (counts, sign, bar) = match self.counts {
            Counts::Covered => ("covered", ">=", COVERED_MIN),
            Counts::False => ("false", "<=", FALSE_MAX),
            Counts::Found => ("found", ">=", FOUND_MIN),
        };
        let bar = (bar * self.seeds as f64).round();
        let width = self.width.map_or_else(|| "-".to_owned(), |width| format!("{width:.2}"));
        let verdict = if self.holds() { "holds" } else { "FAILS" };
        write!(
            f,
            "{:<44} {:<34} {counts:<8} {:>5} of {:<5} {sign} {bar:<5} {width:>6}  {verdict}",
            self.name, self.truth, self.count, self.seeds
        )
    }
}

/// Rows of a kind, with this many seeds each.
type Group = fn(u64) -> Vec<Row>;

/// Runs the suite with this many seeds and prints its table. Exits 1 if a row misses its bar.
pub(crate) fn run(seeds: u64, wanted: &str) -> ExitCode {
    let groups: [(&str, Group); 5] = [
        ("mock", campaigns::rows),
        ("fits", fits::rows),
        ("claims", claims::rows),
        ("simulated", simulated::rows),
        ("live", live::rows),
    ];
    println!(
        "{:<44} {:<34} {:<8} {:>14} {:>8} {:>6}",
        "system and question", "truth", "counts", "seeds", "bar", "width"
    );
    let mut all_hold = true;
    for (_, rows) in groups.iter().filter(|(name, _)| name.contains(wanted)) {
        for row in rows(seeds) {
            println!("{row}");
            all_hold &= row.holds();
        }
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Calls a function for each seed, on all cores. The results stand in the order of the seeds.
pub(crate) fn each_seed<T: Send>(seeds: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::with_capacity(seeds as usize));
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let result = one(seed);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((seed, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns the median, or NaN for an empty list.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
