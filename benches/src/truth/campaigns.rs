//! Campaigns with rigs in virtual time. Counts how often their results cover the known answer.

use ranlab_campaign::answer::Answer;
use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::results::{MemoryJournal, Results};
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::stats::{student_quantile, summarise};

use super::{Counts, Row, each_seed, median};

/// Function that creates a rig. It is called once for each campaign.
pub(super) type Maker = fn() -> Box<dyn Rig>;

pub(super) fn mock() -> Box<dyn Rig> {
    Box::new(MockRig::default())
}

/// Question with a known answer.
pub(super) struct Question {
    /// Name of the row, which names the system and the question.
    pub(super) name: &'static str,
    /// Text of the scenario without title and rig. The suite sets `measure.seed`.
    pub(super) text: String,
    /// Metric that contains the answer.
    pub(super) metric: &'static str,
    /// True value of the answer.
    pub(super) truth: f64,
    /// Relative precision requested from a search. It is added to the width of the reference interval.
    pub(super) precision: f64,
    /// Function that creates the rig.
    pub(super) rig: Maker,
}

/// Runs a campaign in memory. Returns `None` if the scenario or its run fails, which counts as a miss.
pub(super) fn campaign(text: &str, seed: u64, maker: impl FnOnce() -> Box<dyn Rig>) -> Option<Results> {
    let rig = maker();
    let description = rig.describe();
    let overrides = Overrides { sets: vec![format!("measure.seed={}", seed + 1)], quick: false };
    let text = format!("title = \"truth\"\nrig = \"{}\"\n{text}", description.name);
    let rigs = std::slice::from_ref(&description);
    let scenario =
        Scenario::parse(&text, "truth.toml", &overrides, rigs).map_err(|error| eprintln!("{error}")).ok()?;
    let plan = Plan::new(&scenario, &description);
    let mut journal = MemoryJournal::default();
    ranlab_campaign::run::run(rig, &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {})
        .map_err(|error| eprintln!("{error}"))
        .ok()?;
    let metrics = ranlab_campaign::scenario::metrics(&description, &scenario);
    Some(Results::new(scenario, metrics, plan.points, journal.finished))
}

/// Runs a question with each seed.
pub(super) fn row(question: &Question, seeds: u64) -> Row {
    let answers: Vec<Option<(Answer, Vec<f64>)>> = each_seed(seeds, |seed| {
        let results = campaign(&question.text, seed, question.rig)?;
        let point = results.points.first()?;
        Some((results.answer(point, question.metric)?, point.values(question.metric)))
    });
    let covers = |(answer, _): &&(Answer, Vec<f64>)| {
        // The last digits of a sum depend on the order of its terms.
        let slack = question.truth.abs() * 1e-9;
        answer.interval.is_some_and(|(low, high)| (low - slack..=high + slack).contains(&question.truth))
    };
    let found: Vec<&(Answer, Vec<f64>)> = answers.iter().flatten().collect();
    let widths: Vec<f64> =
        found.iter().filter_map(|(answer, _)| answer.interval.map(|(low, high)| high - low)).collect();
    let width = median(widths);
    Row {
        name: question.name.to_owned(),
        truth: format!("{} {:.6}", question.metric, question.truth)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        seeds,
        count: found.iter().filter(|answer| covers(answer)).count() as u64,
        counts: Counts::Covered,
        width: Some(width / reference(question, &found)).filter(|ratio| ratio.is_finite()),
        disturbed: 0,
    }
}

/// Returns the width of the reference interval: Student's interval for the same number of repeats, with the
/// standard deviation of all repeats of all seeds.
fn reference(question: &Question, found: &[&(Answer, Vec<f64>)]) -> f64 {
    let all: Vec<f64> = found.iter().flat_map(|(_, values)| values.iter().copied()).collect();
    let n = found.first().map_or(0, |(answer, _)| answer.n);
    let spread = summarise(&all, 0.95).map_or(0.0, |summary| summary.deviation);
    let student = if n > 1 { student_quantile(0.975, (n - 1) as f64) } else { 0.0 };
    2.0 * student * spread / (n.max(1) as f64).sqrt() + question.precision * question.truth
}

const REPEATS: &str = "[measure]\nrepeats = 5\n";
const FLAT: &str = "sigma = 0.0\nkappa = 0.0\n";

fn search(kind: &str, more: &str) -> String {
    format!("[search]\ntype = \"{kind}\"\naxis = \"load.rate\"\nmin = 100\nmax = 4000\n{more}\n")
}

pub(super) fn rows(seeds: u64) -> Vec<Row> {
    questions().iter().map(|question| row(question, seeds)).collect()
}

fn questions() -> Vec<Question> {
    let one = |name, text: String, metric, truth, precision| Question {
        name,
        text,
        metric,
        truth,
        precision,
        rig: mock,
    };
    let server = |noise: f64| format!("[sut]\nnoise = {noise}\n{FLAT}");
    let queue =
        |rate: u32| format!("[sut]\nlaw = \"queue\"\n[load]\nrate = {rate}.0\nrequests = 20000\n{REPEATS}");
    // Sojourn time in an M/M/1 system with a service time of 100 us. It has an exponential distribution with mean 1 /
    // (1/service - rate).
    let sojourn = |p: f64, rate: f64| -(1.0 - p).ln() / (1.0 / 100.0 - rate / 1e6);
    vec![
        one("mock: throughput, noise 3 %", server(0.03) + REPEATS, "throughput", 1000.0, 0.0),
        one("mock: M/M/1 reply time, median", queue(5000), "rtt_us_p50", sojourn(0.5, 5000.0), 0.0),
        one("mock: M/M/1 reply time, p99", queue(5000), "rtt_us_p99", sojourn(0.99, 5000.0), 0.0),
        one(
            "mock: p99 with a stall of 1 s in 10 s",
            format!(
                "[sut]\nlaw = \"stall\"\nstall = \"1s\"\n[load]\nrate = 1000.0\nrequests = 10000\n{REPEATS}"
            ),
            "rtt_us_p99",
            STALL_P99_US,
            0.0,
        ),
        one(
            "ndr: capacity, noise 1 %",
            server(0.01) + REPEATS + &search("ndr", "precision = 0.005"),
            "search.load",
            1000.0,
            0.005,
        ),
        one(
            "ndr: capacity, no noise",
            server(0.0) + REPEATS + &search("ndr", "precision = 0.005"),
            "search.load",
            1000.0,
            0.005,
        ),
        one(
            "ndr: beyond the range",
            server(0.0) + REPEATS + &search("ndr", "").replace("4000", "800"),
            "search.load",
            1000.0,
            0.0,
        ),
        one(
            "ndr: generator sends 600",
            format!("{}[load]\nmost = 600.0\n{REPEATS}{}", server(0.0), search("ndr", "")),
            "search.load",
            1000.0,
            0.0,
        ),
        one(
            "pdr: 0.5 % may be lost",
            server(0.01) + REPEATS + &search("pdr", "precision = 0.005"),
            "search.load",
            1000.0 / 0.995,
            0.005,
        ),
        one(
            "knee: M/M/1 p99 within 2 ms",
            queue(5000) + &search("knee", "metric = \"rtt_us_p99\"\nat_most = 2000").replace("4000", "9900"),
            "search.load",
            knee(100.0, 2000.0),
            0.01,
        ),
        one(
            "knee, smallest: fastest enough for 900/s",
            format!("{}[load]\nrate = 900.0\n{REPEATS}{}", server(0.01), smallest()),
            "search.load",
            900.0 / FASTEST,
            0.01,
        ),
        one(
            "mlr: median capacity, noise 1 %",
            format!(
                "{}[measure]\nrepeats = 5\nduration = \"1s\"\n{}",
                server(0.01),
                search("mlr", "precision = 0.005\nloss_ratios = [0]\nsum = 21")
            ),
            "search.load",
            1000.0,
            0.005,
        ),
        one(
            "plr: 1 % lost on average",
            format!(
                "{}[measure]\nrepeats = 5\nduration = \"1s\"\n{}",
                server(0.03),
                search("plr", "target = 0.01\nbudget = \"3min\"")
            ),
            "search.load",
            critical(1000.0, 0.03, 0.01),
            0.01,
        ),
        one(
            "tune: best of five settings",
            format!(
                "[sut]\nnoise = 0.01\n[load]\nrate = 100.0\n{REPEATS}[search]\ntype = \"tune\"\nmetric = \"throughput\"\ntrials = 8\n[search.knobs]\n\"load.workers\" = [1, 2, 4, 8, 16]\n"
            ),
            "search.best",
            16_000.0 / (1.0 + 0.05 * 15.0 + 0.002 * 16.0 * 15.0),
            0.0,
        ),
    ]
}

/// 99th percentile of the delay with a stall of 1 s, in microseconds.
///
/// The stall delays all arrivals from its start until the backlog is served. At a load of 0.1, these are 1,111 of
/// 10,000 requests. Their delays decrease evenly from 1 s to 0, so the 100th largest delay is 0.91 s.
const STALL_P99_US: f64 = 1e6 * (1.0 - 100.0 * 0.9 / 1000.0);

/// Mean of 1 / (1 + noise) with a noise of 1 %. This is the ratio of the smallest sufficient capacity to the rate.
const FASTEST: f64 = 1.0 / 1.0001;

fn smallest() -> String {
    "[search]\ntype = \"knee\"\nfind = \"smallest\"\naxis = \"sut.lambda\"\nmin = 100\nmax = 4000\nmetric = \"loss_ratio\"\nat_most = 0\n".to_owned()
}

/// Returns the rate at which the 99th percentile of the sojourn time in an M/M/1 system is `at_most_us`.
fn knee(service_us: f64, at_most_us: f64) -> f64 {
    (1.0 / service_us - 100.0_f64.ln() / at_most_us) * 1e6
}

/// Returns the load at which a system with normally distributed capacity loses `target` on average. The load is found
/// by bisection over a numerical mean.
fn critical(capacity: f64, noise: f64, target: f64) -> f64 {
    const STEPS: i32 = 2_000;
    let lost = |load: f64| {
        let mut sum = 0.0;
        let mut weight = 0.0;
        for step in -STEPS..=STEPS {
            let z = f64::from(step) * 6.0 / f64::from(STEPS);
            let density = (-z * z / 2.0).exp();
            sum += density * ((load - capacity * (1.0 + noise * z)) / load).max(0.0);
            weight += density;
        }
        sum / weight
    };
    let mut low = capacity * 0.5;
    let mut high = capacity * 2.0;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if lost(middle) > target { high = middle } else { low = middle }
    }
    low
}
