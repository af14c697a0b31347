use crate::mock::MockRig;
use crate::results::{MemoryJournal, Results};
use crate::rig::RepeatTime;
use crate::scenario::{Overrides, SweepMode};

use super::*;

mod disturbed;

fn scenario(text: &str) -> Scenario {
    let text = format!("title = \"t\"\nrig = \"mock\"\n{text}");
    match Scenario::parse(&text, "test.toml", &Overrides::default(), &[MockRig::default().describe()]) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    }
}

fn run_all(text: &str) -> (Results, SessionSummary, Vec<Event>) {
    let scenario = scenario(text);
    let rig = MockRig::default();
    let plan = Plan::new(&scenario, &rig.describe());
    let mut journal = MemoryJournal::default();
    let mut events = Vec::new();
    let metrics = rig.describe().metrics;
    let session =
        run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |event| events.push(event))
            .unwrap();
    (Results::new(scenario, metrics, plan.points, journal.finished), session, events)
}

#[test]
fn repeats_are_interleaved_and_shuffled_by_seed() {
    let scenario = scenario("[sweep.axes]\n\"load.workers\" = [1, 2, 3, 4, 5, 6]\n[measure]\nrepeats = 3");
    let plan = Plan::new(&scenario, &MockRig::default().describe());
    let first = order(&scenario, &plan);
    assert_eq!(first, order(&scenario, &plan));
    for (repeat, block) in first.chunks(6).enumerate() {
        let mut points: Vec<usize> = block.iter().map(|(point, _)| *point).collect();
        assert!(block.iter().all(|(_, own)| *own == repeat as u32));
        points.sort_unstable();
        assert_eq!(points, [0, 1, 2, 3, 4, 5]);
    }
    assert_ne!(
        first[..6].iter().map(|(p, _)| p).collect::<Vec<_>>(),
        first[6..12].iter().map(|(p, _)| p).collect::<Vec<_>>()
    );
}

#[test]
fn every_outcome_is_stored_and_campaign_continues() {
    let (results, session, events) = run_all(
        "[load]\nrate = 500.0\n[sweep.axes]\n\"load.fails\" = [\"never\", \"crash\", \"panic\", \"missing\", \"hang\"]\n\
         [measure]\nrepeats = 2\ntimeout = \"100ms\"",
    );
    let outcomes: Vec<Outcome> = results.points.iter().map(|point| point.outcome().unwrap()).collect();
    use Outcome::*;
    assert_eq!(outcomes, [Ok, SutFailed, Invalid, Unmeasurable, Timeout]);
    assert_eq!((session.finished, session.stopped), (10, false));
    assert_eq!(results.points[1].reason(), "the system under test failed: exited with signal 11");
    assert_eq!(results.points[2].reason(), "the rig panicked: a defect of the rig");
    assert!(results.points[1].summary("throughput", 0.95).is_none(), "a failed point has no numbers");
    assert!(matches!(events[0], Event::Started { to_do: 10, done_before: 0, .. }));
    assert!(matches!(events.last(), Some(Event::Finished { left: 0, .. })));
}

#[test]
fn finished_repeats_are_not_measured_again() {
    let scenario = scenario("[sweep.axes]\n\"load.workers\" = [1, 2, 3]\n[measure]\nrepeats = 2");
    let plan = Plan::new(&scenario, &MockRig::default().describe());
    let mut journal = MemoryJournal::default();
    let stop = Stop::never();
    let mut seen = 0;
    let session = run(Box::new(MockRig::default()), &scenario, &plan, &mut journal, &stop, &mut |event| {
        if matches!(event, Event::Finished { .. }) {
            seen += 1;
            if seen == 4 {
                stop.request_stop();
            }
        }
    });
    assert_eq!(session.unwrap(), SessionSummary { finished: 4, stopped: true });
    let again = Stop::never();
    let rest =
        run(Box::new(MockRig::default()), &scenario, &plan, &mut journal, &again, &mut |_| {}).unwrap();
    assert_eq!(rest, SessionSummary { finished: 2, stopped: false });
    let mut whole = MemoryJournal::default();
    run(Box::new(MockRig::default()), &scenario, &plan, &mut whole, &again, &mut |_| {}).unwrap();
    for (ours, theirs) in journal.finished.iter().zip(&whole.finished) {
        assert_eq!((ours.point, ours.repeat, ours.position), (theirs.point, theirs.repeat, theirs.position));
        assert_eq!(ours.recording, theirs.recording);
    }
}

#[test]
fn axis_enables_keys_of_its_values() {
    let scenario = scenario("[sweep.axes]\n\"sut.law\" = [\"usl\", \"queue\"]");
    let plan = Plan::new(&scenario, &MockRig::default().describe());
    assert!(
        plan.points[0].settings.contains_key("sut.sigma")
            && !plan.points[0].settings.contains_key("sut.service_us")
    );
    assert!(
        !plan.points[1].settings.contains_key("sut.sigma")
            && plan.points[1].settings.contains_key("sut.service_us")
    );
    assert_eq!(scenario.sweep.mode, SweepMode::Outer);
}

#[test]
fn rate_search_finds_capacity_of_each_point() {
    let (results, ..) = run_all(
        "[sut]\nnoise = 0.0\nkappa = 0.0\nsigma = 0.0\n[sweep.axes]\n\"load.workers\" = [1, 4]\n[measure]\nrepeats = 2\n\
         [search]\ntype = \"ndr\"\naxis = \"load.rate\"\nmin = 100.0\nmax = 100000.0\nprecision = 0.005",
    );
    for (point, capacity) in results.points.iter().zip([1000.0, 4000.0]) {
        let found = point.summary("search.load", 0.95).unwrap().mean;
        assert!(found <= capacity && found > 0.99 * capacity, "{found} of {capacity}");
        assert_eq!(point.values("loss_ratio"), [0.0, 0.0]);
    }
}

/// The capacity of 1,000 per second varies by 1 % between trials. Half of the trials lose nothing at a load of 1,000.
/// Half of them lose at most 1 % at a load of 1,010.
#[test]
fn mlrsearch_meets_several_goals_despite_outlier_trials() {
    let sut = "[sut]\nnoise = 0.01\nkappa = 0.0\nsigma = 0.0\n[load]\nworkers = 1\n";
    let search =
        "[search]\ntype = \"mlr\"\naxis = \"load.rate\"\nmin = 100.0\nmax = 4000.0\nprecision = 0.002\n";
    let (results, ..) = run_all(&format!(
        "{sut}[measure]\nduration = \"1s\"\nrepeats = 10\n{search}loss_ratios = [0, 0.01]\nsum = 41"
    ));
    let point = &results.points[0];
    for (name, truth) in [("search.load", 1000.0), ("search.goal_2.load", 1010.0)] {
        let found = point.summary(name, 0.95).unwrap();
        assert_eq!(found.n, 10);
        assert!((found.mean / truth - 1.0).abs() < 0.004, "{name}: {found:?}");
    }
    let uppers = point.values("search.goal_2.upper");
    let loads = point.values("search.goal_2.load");
    assert!(uppers.iter().zip(&loads).all(|(upper, load)| upper > load && upper - load < 0.0021 * upper));
    assert!(point.values("search.throughput").iter().all(|rate| (980.0..=1010.0).contains(rate)));
    let trials = point.values("search.trials");
    assert!(trials.iter().all(|trials| (82.0..1200.0).contains(trials)), "{trials:?}");
    // Load that the generator cannot send ends the search, as in a bisection. A budget that is too small is reported.
    let most = format!("{sut}most = 800.0\n[measure]\nrepeats = 1\n{search}");
    let (results, ..) = run_all(&most);
    let reason = results.points[0].reason();
    assert!(reason.contains("the load generator, not the system, gave up at"), "{reason}");
    for (budget, says) in [
        ("18min", "loss_ratio ≤ 0: trials within the budget of 18min did not reach the requested precision"),
        (
            "4min",
            "trials within the budget of 4min gave no verdict on any load: a verdict needs up to 21 trials of 10s; \
             increase `search.budget`",
        ),
    ] {
        let (results, ..) = run_all(&format!("{sut}[measure]\nrepeats = 1\n{search}budget = \"{budget}\""));
        assert_eq!(results.points[0].reason(), says);
    }
}

#[test]
fn search_accepts_one_to_four_different_goals() {
    let rigs = [MockRig::default().describe()];
    for ratios in ["[]", "[0, 0.0]", "[0, 0.1, 0.2, 0.3, 0.4]"] {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[search]\ntype = \"mlr\"\naxis = \"load.rate\"\nmin = 1\nmax = 2\n\
             loss_ratios = {ratios}"
        );
        let errors = Scenario::parse(&text, "t.toml", &Overrides::default(), &rigs).unwrap_err().to_string();
        let sentence = "`search.loss_ratios` must be 1 to 4 different ratios, such as [0, 0.005]";
        assert!(errors.contains("t.toml:8") && errors.contains(sentence), "{errors}");
    }
}

/// 4 workers carry 4,000 per second. The generator sends at most 1,500 of them.
#[test]
fn unsent_load_invalidates_point_and_bounds_search() {
    let sut =
        "[sut]\nnoise = 0.0\nkappa = 0.0\nsigma = 0.0\n[load]\nworkers = 4\nmost = 1500.0\nrate = 2000.0\n";
    let (results, ..) = run_all(&format!("{sut}[measure]\nrepeats = 2"));
    let point = &results.points[0];
    assert_eq!(point.outcome(), Some(Outcome::Invalid), "{}", point.reason());
    assert!(
        point.reason().starts_with("25 % of the load was not sent (`tool.unsent_ratio`"),
        "{}",
        point.reason()
    );
    assert!(point.values("throughput").is_empty());
    let (results, ..) = run_all(&format!(
        "{sut}[measure]\nrepeats = 2\n[search]\ntype = \"ndr\"\naxis = \"load.rate\"\nmin = 100.0\nmax = 100000.0"
    ));
    let point = &results.points[0];
    let found = point.summary("search.load", 0.95).unwrap();
    assert!((1450.0..=1520.0).contains(&found.mean), "{found:?}");
    assert!(point.values("search.upper").is_empty());
    assert!(
        point.reason().contains("or above: the load generator, not the system, gave up at"),
        "{}",
        point.reason()
    );
    let (results, ..) = run_all(&format!(
        "{sut}[measure]\nrepeats = 1\n[search]\ntype = \"ndr\"\naxis = \"load.rate\"\nmin = 3000.0\nmax = 9000.0"
    ));
    assert_eq!(results.points[0].outcome(), Some(Outcome::Invalid), "{}", results.points[0].reason());
}

#[test]
fn knee_search_finds_largest_load_within_objective() {
    // In an M/M/1 system with a service time of 100 us, the 99th percentile is `100 us * ln(100) / (1 - load)`. It is 2 ms at
    // a load of 0.77, which is 7,700 requests per second.
    let (results, ..) = run_all(
        "[sut]\nlaw = \"queue\"\n[load]\nrequests = 50000\n[measure]\nrepeats = 3\n[search]\ntype = \"knee\"\naxis = \"load.rate\"\n\
         min = 1000.0\nmax = 9900.0\nmetric = \"rtt_us_p99\"\nat_most = 2000.0",
    );
    let found = results.points[0].summary("search.load", 0.95).unwrap();
    assert!((7200.0..8200.0).contains(&found.mean), "{found:?}");
}

#[test]
fn tuning_finds_best_setting_within_trial_budget() {
    let (results, ..) = run_all(
        "[sut]\nnoise = 0.0\n[measure]\nrepeats = 1\n[search]\ntype = \"tune\"\nmetric = \"throughput\"\ntrials = 12\n\
         [search.knobs]\n\"load.workers\" = [1, 2, 4, 8, 16, 32]\n\"sut.sigma\" = [0.01, 0.5]",
    );
    let point = &results.points[0];
    assert!(
        point.reason().contains("load.workers = 16") && point.reason().contains("sut.sigma = 0.01"),
        "{}",
        point.reason()
    );
    assert_eq!(point.values("search.trials"), [12.0]);
}

/// Returns the quantile p (0.99 for the 99th percentile) of the reply time in an M/M/1 system:
/// `-ln(1 - p) / (1 / service - rate)`.
fn sojourn_us(p: f64, service_us: f64, rate: f64) -> f64 {
    -(1.0 - p).ln() / (1.0 / service_us - rate / 1e6)
}

#[test]
fn intervals_contain_values_of_queueing_theory() {
    let mut held = 0;
    let mut all = 0;
    for seed in 0..12 {
        let (results, ..) = run_all(&format!(
            "[sut]\nlaw = \"queue\"\n[load]\nrequests = 20000\n[sweep.axes]\n\"load.rate\" = [3000.0, 5000.0, 7000.0]\n\
             [measure]\nrepeats = 10\nseed = {seed}"
        ));
        for point in &results.points {
            let rate = point.point.settings["load.rate"].number().unwrap();
            for (name, p) in [("rtt_us_p50", 0.5), ("rtt_us_p90", 0.9), ("rtt_us_p99", 0.99)] {
                let summary = point.summary(name, 0.95).unwrap();
                let (low, high) = summary.interval();
                let truth = sojourn_us(p, 100.0, rate);
                assert!(
                    (summary.mean / truth - 1.0).abs() < 0.08,
                    "{name} at {rate}: {summary:?}, truth {truth}"
                );
                held += u32::from(low <= truth && truth <= high);
                all += 1;
            }
        }
    }
    assert!(
        f64::from(held) >= 0.92 * f64::from(all),
        "only {held} of {all} intervals contain the true value"
    );
}

#[test]
fn stalled_server_has_true_p99() {
    // 2,000 requests are sent in 0.4 s before a stall of 0.5 s, so half of all requests wait for the end of the stall.
    let (results, ..) = run_all("[sut]\nlaw = \"stall\"\n[measure]\nrepeats = 5");
    let point = &results.points[0];
    assert!(point.summary("rtt_us_p99", 0.95).unwrap().mean > 450_000.0);
    assert!(point.summary("rtt_us_service_p99", 0.95).unwrap().mean < 2_000.0);
}

/// A rig that records the load time before the window, and the requested recording time.
#[derive(Debug)]
struct Clocked(Duration);

impl Rig for Clocked {
    fn describe(&self) -> crate::rig::RigDescription {
        MockRig::default().describe()
    }
    fn prepare(&mut self, _run: &crate::rig::Run<'_>) -> Result<(), RigError> {
        Ok(())
    }
    fn warm_up(&mut self, run: &crate::rig::Run<'_>) -> Result<(), RigError> {
        self.0 = run.warm_up;
        Ok(())
    }
    fn measure(
        &mut self,
        run: &crate::rig::Run<'_>,
        recorder: &mut crate::record::Recorder,
    ) -> Result<Outcome, RigError> {
        recorder.scalar("throughput", self.0.as_secs_f64());
        recorder.scalar("loss_ratio", run.duration.as_secs_f64());
        Ok(Outcome::Ok)
    }
    fn tear_down(&mut self) {}
}

#[test]
fn computed_points_take_no_window_time() {
    let scenario = scenario("[measure]\nrepeats = 2\nwarm_up = \"1s\"\nduration = \"10s\"");
    let mut described = MockRig::default().describe();
    described.set_up = Duration::from_secs(1);
    let expected = |repeat_time| {
        let described = crate::description::RigDescription { repeat_time, ..described.clone() };
        Plan::new(&scenario, &described).expected().as_secs()
            / (2 * Plan::new(&scenario, &described).points.len() as u64)
    };
    assert_eq!(expected(RepeatTime::Windows), 12);
    assert_eq!(expected(RepeatTime::Window), 11);
    assert_eq!(expected(RepeatTime::Setting("load.takes")), 1);
    assert_eq!(expected(RepeatTime::ComputedWhen("sut.law", &["usl"])), 1);
    assert_eq!(expected(RepeatTime::ComputedWhen("sut.law", &["queue"])), 12);
}

/// A rate or a histogram must exclude the data of the trimmed time.
#[test]
fn trimmed_time_is_under_load_but_not_recorded() {
    let scenario = scenario("[measure]\nrepeats = 1\nwarm_up = \"1s\"\nduration = \"10s\"\ntrim = \"2s\"");
    let described = MockRig::default().describe();
    let described = crate::description::RigDescription { repeat_time: RepeatTime::Windows, ..described };
    let plan = Plan::new(&scenario, &described);
    let each = Duration::from_secs(1 + 2 + 6) + described.set_up;
    assert_eq!(
        plan.expected(),
        each * plan.points.len() as u32,
        "the trimmed time at the end is not waited for"
    );
    let mut journal = MemoryJournal::default();
    let rig = Box::new(Clocked(Duration::ZERO));
    run(rig, &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
    let metrics = &journal.finished[0].recording.metrics;
    assert_eq!(
        (metrics["throughput"], metrics["loss_ratio"]),
        (3.0, 6.0),
        "recording must start after 1 s of warm-up and 2 s of trim, and last 10 - 2 * 2 s"
    );
}

/// In an M/M/1 system with a service time of 100 us, reply times are exponential with a mean of `100 us / (1 - load)`.
#[test]
fn latency_is_measured_at_shares_of_found_load() {
    let (results, ..) = run_all(
        "[sut]\nlaw = \"queue\"\n[load]\nrequests = 200000\n[measure]\nrepeats = 2\n[search]\ntype = \"knee\"\naxis = \"load.rate\"\n\
         metric = \"rtt_us_p50\"\nat_most = 600\nmin = 100\nmax = 9900\nlatency_at = [0.9, 0.1, 0.5, 1]\nlatency_of = \"rtt_us\"",
    );
    let point = &results.points[0];
    let mean = |name: &str| point.summary(name, 0.95).unwrap().mean;
    let found = mean("search.load");
    for (share, name) in
        [(0.1, "search.at_10"), (0.5, "search.at_50"), (0.9, "search.at_90"), (1.0, "search.at_100")]
    {
        let delay = 100.0 / (1.0 - share * found / 10_000.0);
        for (suffix, quantile) in [("p50", 0.5), ("p75", 0.75), ("p99", 0.99), ("p999", 0.999_f64)] {
            let truth = -delay * (1.0 - quantile).ln();
            let own = mean(&format!("{name}.rtt_us_{suffix}"));
            assert!((own / truth - 1.0).abs() < 0.2, "{name} {suffix}: {own} for {truth}");
        }
        assert!(point.runs[0].recording.distributions.contains_key(&format!("{name}.rtt_us")));
    }
    let rig = MockRig::default().describe();
    let metrics = crate::scenario::metrics(&rig, &results.scenario);
    assert!(metrics.iter().any(|metric| metric.name == "search.at_10.rtt_us" && metric.unit == "us"));
}

#[test]
fn invalid_shares_and_distributions_are_refused() {
    for (keys, sentence) in [
        (
            "latency_at = [0]",
            "`search.latency_at` must be at most 8 different shares above 0, such as [0.1, 0.5, 0.9, 1]",
        ),
        (
            "latency_at = [0.5, 0.5]\nlatency_of = \"rtt_us\"",
            "`search.latency_at` must be at most 8 different",
        ),
        (
            "latency_at = [0.5]",
            "`search.latency_of`: `latency_ns` is not a distribution of rig \"mock\"; it has rtt_us",
        ),
    ] {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[search]\ntype = \"ndr\"\naxis = \"load.rate\"\nmin = 1\nmax = 2\n{keys}\n"
        );
        let rigs = [MockRig::default().describe()];
        let errors = Scenario::parse(&text, "t.toml", &Overrides::default(), &rigs).unwrap_err().to_string();
        assert!(errors.contains(sentence), "{errors}");
    }
}

/// The capacity varies by 0.5 % around 1,000: a load of 997.5 loses 0.1 % on average.
#[test]
fn soak_estimates_critical_load_with_interval() {
    let soak = "[sut]\nkappa = 0.0\nsigma = 0.0\nnoise = 0.005\n[measure]\nduration = \"1s\"\nrepeats = 3\n[search]\ntype = \"plr\"\n\
                axis = \"load.rate\"\nmin = 100.0\nmax = 4000.0\ntarget = 1e-3\nbudget = \"2min\"";
    let (results, ..) = run_all(soak);
    let point = &results.points[0];
    for (low, high) in
        point.values("search.critical_low").into_iter().zip(point.values("search.critical_high"))
    {
        assert!(low < 997.5 && 997.5 < high && high - low < 30.0, "{low} to {high}");
    }
    for name in ["search.load", "search.critical_stretch", "search.critical_erf"] {
        assert!(point.values(name).iter().all(|load| (985.0..1010.0).contains(load)), "{name}");
    }
    assert_eq!(point.values("search.trials"), [120.0; 3]);
    let reason = point.reason();
    assert!(
        reason.contains("0.001 is lost on average at") && reason.contains("from 120 trials in 2min"),
        "{reason}"
    );
    // Load that cannot be sent, and a capacity that is too small, are reported.
    let (results, ..) = run_all(&soak.replace("max = 4000.0", "max = 700.0"));
    assert!(
        results.points[0].reason().contains("the true value may be above"),
        "{}",
        results.points[0].reason()
    );
    let (results, ..) = run_all(&format!("[load]\nmost = 800.0\n{soak}"));
    assert!(results.points[0].reason().contains("could not send loads"), "{}", results.points[0].reason());
}

#[test]
fn stop_after_repeat_stores_repeat_and_resume_continues() {
    let scenario = scenario("[sweep.axes]\n\"load.workers\" = [1, 2, 3]\n[measure]\nrepeats = 1");
    let plan = Plan::new(&scenario, &MockRig::default().describe());
    let mut journal = MemoryJournal::default();
    let stop = Stop::never();
    let session = |journal: &mut MemoryJournal, asks: bool| {
        run(Box::new(MockRig::default()), &scenario, &plan, journal, &stop, &mut |event| {
            if asks && matches!(event, Event::Measuring { .. }) {
                stop.request_stop_after_repeat();
            }
        })
        .unwrap()
    };
    assert_eq!(session(&mut journal, true), SessionSummary { finished: 1, stopped: true });
    assert!(journal.finished[0].outcome.counts(), "a stop request must not disturb the running repeat");
    assert_eq!(
        session(&mut journal, false),
        SessionSummary { finished: 0, stopped: true },
        "the stop request must hold until `go_on`"
    );
    stop.go_on();
    assert_eq!(session(&mut journal, false), SessionSummary { finished: 2, stopped: false });
}

#[test]
fn every_window_is_reported_with_the_searched_setting() {
    let (results, _, events) = run_all(
        "[sut]\nlaw = \"queue\"\n[load]\nrequests = 5000\n[measure]\nrepeats = 1\n[search]\ntype = \"knee\"\naxis = \"load.rate\"\n\
         min = 1000.0\nmax = 9900.0\nmetric = \"rtt_us_p99\"\nat_most = 2000.0",
    );
    let tried = crate::trials::from_recording(&results.points[0].runs[0].recording);
    let windows: Vec<&Window> = events
        .iter()
        .filter_map(|event| if let Event::Measured { window, .. } = event { Some(window) } else { None })
        .collect();
    assert!(!tried.is_empty(), "{:?}", results.points[0].reason());
    let loads: Vec<f64> = windows.iter().filter_map(|window| window.settings["load.rate"].number()).collect();
    assert_eq!(loads, tried.iter().map(|trial| trial.load).collect::<Vec<_>>());
    assert!(windows.iter().all(|window| window.metrics.contains_key("rtt_us_p99")));
}

/// A system that carries 3,000 per second. Beyond that, it is overloaded and measures nothing.
struct Port;

impl Rig for Port {
    fn describe(&self) -> crate::rig::RigDescription {
        MockRig::default().describe()
    }

    fn prepare(&mut self, _run: &crate::rig::Run<'_>) -> Result<(), RigError> {
        Ok(())
    }

    fn warm_up(&mut self, _run: &crate::rig::Run<'_>) -> Result<(), RigError> {
        Ok(())
    }

    fn measure(
        &mut self,
        run: &crate::rig::Run<'_>,
        recorder: &mut crate::record::Recorder,
    ) -> Result<Outcome, RigError> {
        let rate = run.number("load.rate").unwrap();
        if rate > 3000.0 {
            return Ok(Outcome::Overloaded);
        }
        recorder.scalar("loss_ratio", 0.0);
        Ok(Outcome::Ok)
    }

    fn tear_down(&mut self) {}
}

fn run_port(search: &str) -> Results {
    let text =
        format!("[measure]\nrepeats = 2\n[search]\naxis = \"load.rate\"\nmin = 100\nmax = 9000\n{search}");
    let scenario = scenario(&text);
    let plan = Plan::new(&scenario, &Port.describe());
    let mut journal = MemoryJournal::default();
    run(Box::new(Port), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
    Results::new(scenario, Port.describe().metrics, plan.points, journal.finished)
}

#[test]
fn overloaded_trial_fails_and_search_continues() {
    let results = run_port("type = \"knee\"\nmetric = \"loss_ratio\"\nat_most = 0.5");
    let answer = results.answer(&results.points[0], "search.load").unwrap();
    let (low, high) = answer.interval.unwrap();
    assert!(low <= 3000.0 && high > 3000.0 && high - low < 40.0, "{answer:?}");
    assert_eq!(results.points[0].outcome(), Some(Outcome::Ok));
}

#[test]
fn open_ended_search_reports_bound_and_reason() {
    use crate::answer::{Bound, LimitedBy};
    let sut = "[sut]\nnoise = 0.0\nkappa = 0.0\nsigma = 0.0\n";
    let search =
        "[measure]\nrepeats = 3\n[search]\ntype = \"ndr\"\naxis = \"load.rate\"\nmin = 100\nmax = 800\n";
    let answer = |text: &str| {
        let (results, ..) = run_all(text);
        results.answer(&results.points[0], "search.load").unwrap()
    };
    let range = answer(&format!("{sut}{search}"));
    assert_eq!((range.bound, range.limited_by, range.value), (Bound::AtLeast, Some(LimitedBy::Range), 800.0));
    assert_eq!((range.text().as_str(), range.half_width), ("≥ 800", None));
    // The result is the load that was sent, not the requested one.
    let sent = answer(&format!("{sut}[load]\nmost = 600.0\n{search}"));
    assert_eq!((sent.bound, sent.limited_by), (Bound::AtLeast, Some(LimitedBy::Generator)));
    assert!((sent.value - 600.0).abs() < 6.0 && sent.value <= 600.0, "{sent:?}");
    // The result is open if the budget ends after the lower bound is confirmed, but before the upper bound is.
    let all = (950..1050).step_by(13).flat_map(|lambda| (8..15).map(move |trials| (lambda, trials)));
    let budgets = all.filter_map(|(lambda, trials)| {
        let sut = sut.replace("[sut]", &format!("[sut]\nlambda = {lambda}"));
        let text = format!("{sut}{search}trials = {trials}\n").replace("max = 800", "max = 3000");
        let (results, ..) = run_all(&text);
        results.answer(&results.points[0], "search.load").filter(|answer| answer.bound == Bound::AtLeast)
    });
    let limits: Vec<_> = budgets.map(|answer| answer.limited_by).collect();
    assert!(!limits.is_empty() && limits.iter().all(|limit| *limit == Some(LimitedBy::Budget)), "{limits:?}");
}

#[test]
fn smallest_passing_value_is_found_or_bounded_by_range() {
    use crate::answer::Bound;
    let text = |min: u32| {
        format!(
            "[sut]\nnoise = 0.0\n[load]\nrate = 900.0\n[measure]\nrepeats = 2\n[search]\ntype = \"knee\"\nfind = \"smallest\"\n\
             axis = \"sut.lambda\"\nmin = {min}\nmax = 4000\nmetric = \"loss_ratio\"\nat_most = 0"
        )
    };
    let answer = |min: u32| {
        let (results, ..) = run_all(&text(min));
        results.answer(&results.points[0], "search.load").unwrap()
    };
    let (low, high) = answer(100).interval.unwrap();
    assert!(low < 900.0 && (900.0..910.0).contains(&high), "{low} to {high}");
    let open = answer(1000);
    assert_eq!((open.bound, open.text().as_str()), (Bound::AtMost, "≤ 1000"));
}

#[test]
fn loss_within_allowed_ratio_counts_as_ok() {
    let (results, ..) = run_all(
        "[sut]\nnoise = 0.0\nkappa = 0.0\nsigma = 0.0\n[measure]\nrepeats = 1\n[search]\ntype = \"pdr\"\naxis = \"load.rate\"\n\
         min = 100\nmax = 4000\nloss_ratio = 0.01\nprecision = 0.001",
    );
    assert_eq!(results.points[0].outcome(), Some(Outcome::Ok), "{}", results.points[0].reason());
}
