//! A rig with known true values, for tests of the harness.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, StandardNormal};

use crate::record::Recorder;
use crate::rig::{
    DISTURBED, LimitViolation, Metric, Outcome, RepeatTime, Rig, RigDescription, RigError, Run,
};
use crate::schema::Kind;
use crate::usl::Usl;
use crate::{keys, metrics};

/// A rig that follows the laws in its settings. All results depend only on the seed, the point and the repeat.
#[derive(Debug, Default, Clone)]
pub struct MockRig {
    up: bool,
}

impl Rig for MockRig {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "mock".to_owned(),
            aliases: Vec::new(),
            comment: "a simulated system that follows known laws, to try out and test the harness".to_owned(),
            keys: keys! {
                ("sut.law", Kind::choice(&["usl", "queue", "stall"]), "behaviour of the system: usl (universal scaling law), queue (M/M/1), stall (a queue with one pause)").or("usl");
                ("sut.lambda", Kind::positive(), "throughput of one worker").unit("1/s").or(1000.0).when("sut.law", &["usl"]);
                ("sut.sigma", Kind::positive(), "contention").or(0.05).when("sut.law", &["usl"]);
                ("sut.kappa", Kind::positive(), "crosstalk").or(0.002).when("sut.law", &["usl"]);
                ("sut.cap", Kind::positive(), "maximum throughput, as of a link").unit("1/s").optional().when("sut.law", &["usl"]);
                ("sut.noise", Kind::share(), "relative standard deviation of throughput").or(0.03).when("sut.law", &["usl"]);
                ("sut.service_us", Kind::positive(), "mean service time").unit("us").or(100.0).when("sut.law", &["queue", "stall"]);
                ("sut.stall", Kind::Span, "one pause of the server").or(Duration::from_millis(500)).when("sut.law", &["stall"]);
                ("sut.build", Kind::Text, "name of the variant; changes nothing").or("a");
                ("load.workers", Kind::Int { min: 1, max: 100_000 }, "concurrency").unit("workers").or(1);
                ("load.rate", Kind::positive(), "offered rate").unit("1/s").or(5000.0);
                ("load.requests", Kind::Int { min: 1, max: 10_000_000 }, "number of requests per repeat").or(2000);
                ("load.rate_max", Kind::positive(), "maximum rate of the generator").unit("1/s").optional().formerly("load.most");
                ("load.takes", Kind::Span, "wall-clock time of a repeat").or(Duration::ZERO);
                ("load.fails", Kind::choice(&["never", "crash", "hang", "panic", "missing", "disturbed", "busy"]), "injected fault").or("never");
            },
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::ZERO,
            repeat_time: RepeatTime::Setting("load.takes"),
            response_timeout: None,
            starter: include_str!("mock.toml"),
        }
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.up = true;
        match run.text("load.fails") {
            Some("missing") => Err(RigError::Environment("a part that does not exist".to_owned())),
            _ => Ok(()),
        }
    }

    fn warm_up(&mut self, _run: &Run<'_>) -> Result<(), RigError> {
        Ok(())
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        run.stop.sleep(run.span("load.takes").unwrap_or_default())?;
        match run.text("load.fails") {
            Some("crash") => return Err(RigError::Sut("exited with signal 11".to_owned())),
            Some("hang") => run.stop.sleep(Duration::from_secs(3600))?,
            // Simulates a defect of a rig.
            #[allow(clippy::panic)]
            Some("panic") => panic!("a defect of the rig"),
            Some("disturbed") => recorder.scalar(DISTURBED, 1.0),
            Some("busy") => {
                let steal = LimitViolation::above("host.steal_share", 0.36, 0.02);
                let steal = steal.map(|breach| breach.set_by("host.steal_at_most"));
                return Ok(recorder.judge([(Outcome::Invalid, steal)]));
            }
            _ => {}
        }
        let mut rng = ChaCha8Rng::seed_from_u64(run.seed);
        let offered = run.number("load.rate").unwrap_or(1.0);
        let rate = run.number("load.rate_max").map_or(offered, |most| offered.min(most));
        recorder.scalar("tool.unsent_ratio", 1.0 - rate / offered.max(rate));
        match run.text("sut.law") {
            Some("queue") => queue(run, recorder, &mut rng, rate, Duration::ZERO),
            Some("stall") => queue(run, recorder, &mut rng, rate, run.span("sut.stall").unwrap_or_default()),
            _ => Ok(usl(run, recorder, &mut rng, rate)),
        }
    }

    fn tear_down(&mut self) {
        self.up = false;
    }
}

fn metrics() -> Vec<Metric> {
    metrics! {
        Scalar Higher "throughput" "1/s" "requests done in a second".exact_when("sut.noise", &["0"]);
        Scalar Lower "loss_ratio" "" "share of requests lost";
        Scalar Lower "tool.unsent_ratio" "" "requests that the generator left out".unsent_share();
        Series Lower "sut.cpu_cores" "cores" "cores that the system keeps busy";
        Histogram Lower "rtt_us" "us" "reply time from the intended send time";
        Histogram Lower "rtt_us_service" "us" "reply time from the actual send time";
        Histogram Neither "send_delay_us" "us" "send delay of the generator" .formerly("lateness_us");
    }
}

/// Records the throughput of the scaling law with noise. Load beyond this throughput is lost.
fn usl(run: &Run<'_>, recorder: &mut Recorder, rng: &mut ChaCha8Rng, rate: f64) -> Outcome {
    let number = |path| run.number(path).unwrap_or_default();
    let workers = number("load.workers");
    let law = Usl { lambda: number("sut.lambda"), sigma: number("sut.sigma"), kappa: number("sut.kappa") };
    let noise: f64 = StandardNormal.sample(rng);
    let capacity = law.at(workers) * (1.0 + number("sut.noise") * noise).max(0.0);
    let capacity = run.number("sut.cap").map_or(capacity, |cap| capacity.min(cap));
    recorder.scalar("throughput", capacity);
    let lost = ((rate - capacity) / rate).max(0.0);
    recorder.scalar("loss_ratio", lost);
    for second in 0..10 {
        let wobble: f64 = StandardNormal.sample(rng);
        recorder.sample("sut.cpu_cores", run.duration * second / 10, workers * (0.9 + 0.01 * wobble));
    }
    for _ in 0..100 {
        let latency: f64 = Exp::new(capacity.max(1.0) / 1e6).map_or(0.0, |exp| exp.sample(rng));
        recorder.value("rtt_us", latency as u64);
    }
    recorder.judge([(Outcome::Degraded, LimitViolation::above("loss_ratio", lost, 0.0))])
}

/// Simulates a single server with exponential service fed by Poisson arrivals (M/M/1) in virtual time, started in
/// equilibrium.
fn queue(
    run: &Run<'_>,
    recorder: &mut Recorder,
    rng: &mut ChaCha8Rng,
    rate: f64,
    stall: Duration,
) -> Result<Outcome, RigError> {
    let service_us = run.number("sut.service_us").unwrap_or(1.0);
    let requests = run.number("load.requests").unwrap_or(1.0) as u64;
    let load = rate * service_us / 1e6;
    let refuse = |_| RigError::Rig("rate and service time must be above 0".to_owned());
    let gap = Exp::new(rate / 1e6).map_err(refuse)?;
    let service = Exp::new(1.0 / service_us).map_err(refuse)?;
    // In equilibrium, the waiting time is 0 with probability 1 - load, otherwise it is exponential.
    let mut free_us = match Exp::new((1.0 - load).max(1e-9) / service_us) {
        Ok(waiting) if load < 1.0 && rng.random::<f64>() < load => waiting.sample(rng),
        _ => 0.0,
    };
    let mut now_us = 0.0;
    let mut busy_us = 0.0;
    let stall_at = requests / 2;
    for request in 0..requests {
        now_us += gap.sample(rng);
        let pause = if request == stall_at { stall.as_micros() as f64 } else { 0.0 };
        let work = service.sample(rng);
        let sent_us = if stall.is_zero() { now_us } else { f64::max(now_us, free_us) };
        free_us = f64::max(now_us, free_us) + work + pause;
        busy_us += work;
        // Rounding loses fractions of a microsecond; the resulting bias is below that of the histogram.
        recorder.value("rtt_us", (free_us - now_us).round() as u64);
        recorder.value("rtt_us_service", (free_us - sent_us).round() as u64);
        recorder.value("send_delay_us", (sent_us - now_us).round() as u64);
    }
    recorder.scalar("throughput", requests as f64 / free_us * 1e6);
    recorder.scalar("loss_ratio", 0.0);
    recorder.sample("sut.cpu_cores", run.duration / 2, busy_us / now_us.max(1.0));
    let busy = LimitViolation::said(
        load >= 1.0,
        &format!("`load.rate` is {load} times the rate that the server can serve"),
    );
    Ok(recorder.judge([(Outcome::Overloaded, busy)]))
}

/// Runs a campaign of the mock in memory; `text` is the scenario without title and rig.
#[cfg(test)]
pub(crate) fn campaign(text: &str, quick: bool) -> crate::results::Results {
    let rig = MockRig::default();
    let text = format!("title = \"t\"\nrig = \"mock\"\n{text}");
    let overrides = crate::scenario::Overrides { sets: Vec::new(), quick };
    let scenario = crate::scenario::Scenario::parse(&text, "t", &overrides, &[rig.describe()]).unwrap();
    let plan = crate::plan::Plan::new(&scenario, &rig.describe());
    let metrics = rig.describe().metrics;
    let mut journal = crate::results::MemoryJournal::default();
    let stop = crate::rig::Stop::never();
    crate::run::run(Box::new(rig), &scenario, &plan, &mut journal, &stop, &mut |_| {}).unwrap();
    crate::results::Results::new(scenario, metrics, plan.points, journal.finished)
}
