//! Truth suite (`make truth`): systems with a known answer, measured in the same way as by a user.
//!
//! For each rig and search, the suite counts how often the reported interval covers the truth. It also reports the
//! width of the interval and the number of false claims.
//!
//! The reference interval is Student's interval for the same number of repeats with the *known* standard deviation (of
//! all repeats of all seeds). The precision requested from a search is added to it. An interval that covers the truth
//! only because it is much wider is not acceptable.

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

/// Default number of seeds per row.
pub(crate) const SEEDS: u64 = 1_000;
/// Minimum share of seeds whose interval covers the truth.
const COVERED_MIN: f64 = 0.930;
/// Maximum ratio of the median interval width to the reference.
const WIDTH_MAX: f64 = 1.5;
/// Maximum share of seeds with a false claim.
const FALSE_MAX: f64 = 0.070;
/// Minimum share of seeds in which a true difference is found.
const FOUND_MIN: f64 = 0.930;

/// Quantity that a row counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Counts {
    /// Intervals that cover the truth.
    Covered,
    /// False claims.
    False,
    /// True differences found.
    Found,
}

/// Line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Name of the rig, search or decision.
    pub(crate) name: String,
    /// Known answer, as text.
    pub(crate) truth: String,
    /// Number of seeds.
    pub(crate) seeds: u64,
    /// Number of seeds with the counted property.
    pub(crate) count: u64,
    /// Property that is counted.
    pub(crate) counts: Counts,
    /// Median ratio of the interval width to the reference, or `None` if the interval is one-sided or has no width.
    pub(crate) width: Option<f64>,
    /// Number of seeds that could not be measured because other work on the machine disturbed them too often.
    pub(crate) disturbed: u64,
}

/// Result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Fails,
    /// Other work disturbed the machine.
    Disturbed,
}

impl Row {
    fn verdict(&self) -> Verdict {
        if self.disturbed > 0 && self.count + self.disturbed == self.seeds {
            Verdict::Disturbed
        } else if self.holds() {
            Verdict::Holds
        } else {
            Verdict::Fails
        }
    }

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
        let verdict = match self.verdict() {
            Verdict::Holds => "holds",
            Verdict::Fails => "FAILS",
            Verdict::Disturbed => "not measured: the machine is busy",
        };
        write!(
            f,
            "{:<44} {:<34} {counts:<8} {:>5} of {:<5} {sign} {bar:<5} {width:>6}  {verdict}",
            self.name, self.truth, self.count, self.seeds
        )
    }
}

/// Function that returns the rows of a kind, measured with a number of seeds.
type Group = fn(u64) -> Vec<Row>;

/// Runs the suite with `seeds` seeds per row and prints its table. Exits with 1 if a row misses its limit. Exits with 3
/// if no row misses its limit but the machine was too busy to measure some row.
pub(crate) fn run(seeds: u64, filter: &str) -> ExitCode {
    let groups: [(&str, Group); 5] = [
        ("mock", campaigns::rows),
        ("fits", fits::rows),
        ("claims", claims::rows),
        ("simulated", simulated::rows),
        ("live", live::rows),
    ];
    println!(
        "{:<44} {:<34} {:<8} {:>14} {:>8} {:>6}",
        "system and question", "truth", "counts", "seeds", "limit", "width"
    );
    let mut verdicts = Vec::new();
    for (_, rows) in groups.iter().filter(|(name, _)| name.contains(filter)) {
        for row in rows(seeds) {
            println!("{row}");
            verdicts.push(row.verdict());
        }
    }
    if verdicts.contains(&Verdict::Fails) {
        ExitCode::FAILURE
    } else if verdicts.contains(&Verdict::Disturbed) {
        ExitCode::from(3)
    } else {
        ExitCode::SUCCESS
    }
}

/// Calls a function for each seed, on all cores. Returns the results in the order of the seeds.
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
