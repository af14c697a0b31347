use super::window::TOOL_CORES;
use super::*;
use crate::divide::stations;
use crate::experiment::account;
use crate::experiment::fake::{self, FakeBehaviour, Log};
use crate::worker::{ComponentError, Report, WorkerTrust};
use crate::{Component, Started};
use ranlab_campaign::metric::{Better, Metric, MetricKind};
use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recording;
use ranlab_campaign::rig::{RepeatTime, Stop};
use ranlab_campaign::schema::{Key, Kind};

crate::config! {
    /// A load for tests, which can be divided.
    pub struct Load {
        /// number of base stations
        nodes: u32 = 1;
    }
}

impl Component for Load {
    const TYPE: &'static str = "load";

    async fn start(&self, _: WorkerTrust) -> Started {
        Err(crate::rig("test workers start nothing"))
    }

    fn divide(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        let shares = stations(self.nodes, 0, None, places)?;
        Ok(shares.map(|(nodes, ..)| Self { nodes }).collect())
    }
}

/// Experiment with a system and a load; a search may change either.
struct Two;

impl Experiment for Two {
    fn describe(&self) -> RigDescription {
        let count = |path: &str| Key::new(path, Kind::Int { min: 0, max: 9 }, "of the tests").or(1);
        let scalar = |name: &str| Metric::new(name, "", MetricKind::Scalar, Better::Neither, "of the tests");
        let mut keys = vec![count("sut.size"), count("load.nodes"), count("load.unused")];
        keys.extend([keys::place("sut.at", "the system"), keys::load_places("the load")]);
        keys.extend(keys::host());
        let mut metrics = vec![scalar("sent"), scalar(TOOL_CORES), metric_of_places()];
        metrics.extend(noise::metrics());
        RigDescription {
            name: "two".to_owned(),
            aliases: Vec::new(),
            comment: "of the tests".to_owned(),
            keys,
            metrics,
            needs: Vec::new(),
            set_up: Duration::ZERO,
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: "",
        }
    }

    fn load(&self, run: &Run<'_>) -> Result<Option<AnyComponent>, RigError> {
        load_component(run, "load.nodes").map(Some)
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        stage.sut("system", "sut.at", load_component(run, "sut.size")?)?;
        let patience = Duration::from_millis(50);
        stage.wait("system", "the system up", patience, |numbers| numbers.get("alive") == Some(&1.0))?;
        stage.tool("load", "load.at", load_component(run, "load.nodes")?).map(drop)
    }

    fn send_delay_at_most(&self, _run: &Run<'_>) -> Option<Duration> {
        Some(SEND_DELAY)
    }

    fn record(&self, _run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let load = window.report("load")?;
        recorder.scalar("sent", load.number("sent")?);
        if let Ok(delay_us) = load.number("delay_us") {
            // 30 % of the packets have this delay.
            recorder.values("tool.send_delay_us", 5, 7);
            recorder.values("tool.send_delay_us", delay_us as u64, 3);
        }
        Ok(Outcome::Degraded)
    }
}

fn load_component(run: &Run<'_>, path: &str) -> Result<AnyComponent, RigError> {
    Ok(AnyComponent::from(Load { nodes: keys::int(run, path)? }))
}

/// Returns the rig, its point, and the log of requests to its workers.
fn two(system: FakeBehaviour, load: FakeBehaviour) -> (RunningExperiment<Two>, Point, Log) {
    shared(system, &[load])
}

/// Like `two`, with several locations of the load.
fn shared(system: FakeBehaviour, loads: &[FakeBehaviour]) -> (RunningExperiment<Two>, Point, Log) {
    let log = Log::default();
    let rig = RunningExperiment::new(&RigContext::new("no-such-program"), Two);
    let system = Value::Text(fake::worker("system", system, &log));
    let places: Vec<_> = loads.iter().map(|load| fake::worker("load", load.clone(), &log)).collect();
    let point = fake::point(&rig, &[("sut.at", system), ("load.at", Value::Text(places.join(",")))]);
    (rig, point, log)
}

fn up() -> FakeBehaviour {
    let report = fake::report(0.5, 1.0, &[("sent", 7.0)]);
    FakeBehaviour { look: [("alive", 1.0)].into(), report, ..FakeBehaviour::default() }
}

fn measure(rig: &mut RunningExperiment<Two>, run: &Run<'_>) -> (Result<Outcome, RigError>, Recording) {
    let mut recorder = Recorder::default();
    let outcome = rig.measure(run, &mut recorder);
    (outcome, recorder.finish())
}

fn requests(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

#[test]
fn components_start_in_order_and_stop_in_reverse() {
    let (mut rig, point, log) = two(up(), up());
    let run = fake::run(&point);
    rig.prepare(&run).unwrap();
    assert_eq!(requests(&log), ["system start", "load start"]);
    rig.warm_up(&run).unwrap();
    assert!(requests(&log).is_empty(), "without a warm-up, no request may be sent");
    let (outcome, recording) = measure(&mut rig, &run);
    assert_eq!(outcome, Ok(Outcome::Degraded));
    assert_eq!(requests(&log), ["system begin", "load begin", "load end", "system end"]);
    assert_eq!((recording.metrics["sent"], recording.metrics[TOOL_CORES]), (7.0, 0.5));
    // Both components run on one machine, so neither counts as other work.
    assert_eq!(recording.metrics["host.other_cores"], 0.0);
    assert!(!recording.metrics.contains_key(account::CPU_CORES), "the rig does not declare this metric");
    rig.tear_down();
    assert_eq!(requests(&log), ["load stop", "system stop"]);
    rig.tear_down();
    assert!(requests(&log).is_empty());
}

#[test]
fn late_load_makes_a_repeat_invalid() {
    let outcome = |delay_us: f64, when_noisy: &str| {
        let report = fake::report(0.5, 1.0, &[("sent", 7.0), ("delay_us", delay_us)]);
        let (mut rig, mut point, _) = two(up(), FakeBehaviour { report, ..up() });
        point.settings.insert(keys::WHEN_NOISY.to_owned(), Value::from(when_noisy));
        let (outcome, recording) = measure(&mut rig, &fake::run(&point));
        (outcome, recording.reason)
    };
    assert_eq!(outcome(900.0, "invalid").0, Ok(Outcome::Degraded));
    let (late, reason) = outcome(2_000.0, "invalid");
    assert_eq!(late, Ok(Outcome::Invalid));
    assert!(reason.starts_with("tool.send_delay_us_p99 is 2000, more than 1000"), "{reason}");
    assert_eq!(outcome(2_000.0, "warn").0, Ok(Outcome::Degraded));
    // A stalled generator is always invalid.
    assert_eq!(outcome(3_000_000.0, "warn").0, Ok(Outcome::Invalid));
}

#[test]
fn search_restarts_changed_component_and_dependents() {
    let (mut rig, point, log) = two(up(), up());
    rig.prepare(&fake::run(&point)).unwrap();
    requests(&log);
    let trial = |rig: &mut RunningExperiment<Two>, path: &str| {
        let mut point = point.clone();
        point.settings.insert(path.to_owned(), Value::Int(2));
        let mut run = fake::run(&point);
        run.warm_up = Duration::from_millis(1);
        measure(rig, &run).0.unwrap();
        requests(&log).join(", ")
    };
    let window = "system begin, load begin, load end, system end";
    assert_eq!(trial(&mut rig, "load.unused"), window);
    // After the change there is a warm-up; then the component keeps running.
    assert_eq!(trial(&mut rig, "load.nodes"), format!("load stop, load start, {window}, {window}"));
    assert_eq!(trial(&mut rig, "load.nodes"), window);
    // The load is set back to one base station and the system to size two, so both restart.
    let both = "load stop, system stop, system start, load start";
    assert_eq!(trial(&mut rig, "sut.size"), format!("{both}, {window}, {window}"));
}

#[test]
fn component_death_ends_the_window_with_an_error() {
    let (mut rig, point, log) = two(FakeBehaviour { dies: true, ..up() }, up());
    let mut run = fake::run(&point);
    run.duration = Duration::from_secs(3600);
    rig.prepare(&run).unwrap();
    let (outcome, recording) = measure(&mut rig, &run);
    assert_eq!(outcome, Err(RigError::Sut("the system has ended".to_owned())));
    assert!(recording.metrics.is_empty());
    assert!(!requests(&log).iter().any(|request| request.ends_with("end")));
}

#[test]
fn component_failure_at_window_end_is_an_error() {
    let (mut rig, point, _) = two(up(), FakeBehaviour { dies: true, ..up() });
    rig.prepare(&fake::run(&point)).unwrap();
    let (outcome, _) = measure(&mut rig, &fake::run(&point));
    assert_eq!(outcome, Err(RigError::Sut("the load has ended".to_owned())));
}

#[test]
fn failed_start_is_an_error_of_the_system() {
    let (mut rig, point, log) = two(FakeBehaviour { look: [("alive", 0.0)].into(), ..up() }, up());
    let error = rig.prepare(&fake::run(&point)).unwrap_err();
    assert!(matches!(&error, RigError::Sut(why) if why.contains("waiting for the system up")), "{error}");
    drop(rig);
    assert_eq!(requests(&log), ["system start", "system stop"]);
}

#[test]
fn stop_during_warm_up_stops_all_components() {
    let (mut rig, point, log) = two(up(), up());
    let stop = Stop::never();
    let point = {
        let load = fake::worker("load", FakeBehaviour { stops: Some(stop.clone()), ..up() }, &log);
        fake::point(&rig, &[("sut.at", point.settings["sut.at"].clone()), ("load.at", Value::Text(load))])
    };
    let mut run = fake::run(&point);
    (run.warm_up, run.stop) = (Duration::from_secs(3600), stop);
    rig.prepare(&run).unwrap();
    assert_eq!(rig.warm_up(&run), Err(RigError::Stopped));
    rig.tear_down();
    let expected = ["system start", "load start", "system begin", "load begin", "load stop", "system stop"];
    assert_eq!(requests(&log), expected);
}

#[test]
fn noise_is_judged_for_every_rig() {
    let noisy = FakeBehaviour { report: fake::report(0.5, 1.9, &[("sent", 7.0)]), ..up() };
    for (when, expected, disturbed) in
        [("invalid", Outcome::Invalid, None), ("warn", Outcome::Degraded, Some(&1.0))]
    {
        let (mut rig, mut point, _) = two(noisy.clone(), up());
        point.settings.insert(keys::WHEN_NOISY.to_owned(), when.into());
        rig.prepare(&fake::run(&point)).unwrap();
        let (outcome, recording) = measure(&mut rig, &fake::run(&point));
        assert_eq!(outcome, Ok(expected));
        assert_eq!(recording.metrics.get("host.disturbed"), disturbed, "{recording:?}");
    }
}

#[test]
fn missing_number_is_named_in_the_error() {
    let silent = FakeBehaviour { report: fake::report(0.5, 1.0, &[("alive", 1.0)]), ..up() };
    let (mut rig, point, _) = two(up(), silent);
    rig.prepare(&fake::run(&point)).unwrap();
    let (outcome, _) = measure(&mut rig, &fake::run(&point));
    assert_eq!(outcome, Err(RigError::Rig("the component reported no `sent`; it reported alive".to_owned())));
}

#[test]
fn divided_load_behaves_like_one_load() {
    let busy = |cpu_s, sent| FakeBehaviour { report: fake::report(cpu_s, 1.0, &[("sent", sent)]), ..up() };
    let (mut rig, mut point, log) = shared(up(), &[busy(0.5, 7.0), busy(0.125, 4.0)]);
    point.settings.insert("load.nodes".to_owned(), Value::Int(3));
    let run = fake::run(&point);
    let (outcome, recording) = measure(&mut rig, &run);
    assert_eq!(outcome, Ok(Outcome::Degraded));
    let metric = |name: &str| recording.metrics[name];
    assert_eq!((metric("sent"), metric(TOOL_CORES), metric("tool.cpu_cores_busiest")), (11.0, 0.625, 0.5));
    let of = |what| [what, what];
    let expected = [&["system start"], &of("load start")[..], &["system begin"], &of("load begin")].concat();
    let requests = requests(&log);
    assert_eq!(requests, [&expected[..], &of("load end"), &["system end"]].concat());
    // A search that changes neither component keeps both running.
    measure(&mut rig, &run).0.unwrap();
    assert!(!log.lock().unwrap().iter().any(|request| request.ends_with("start")));
}

#[test]
fn lost_location_invalidates_the_repeat() {
    let (mut rig, mut point, _) = shared(up(), &[up(), FakeBehaviour { vanishes: true, ..up() }]);
    point.settings.insert("load.nodes".to_owned(), Value::Int(2));
    let error = measure(&mut rig, &fake::run(&point)).0.unwrap_err();
    let places = keys::places(&fake::run(&point), "load.at").unwrap();
    let message = format!("the rig failed: the worker of the load at {} has ended", places[1]);
    assert_eq!((error.to_string(), error.outcome()), (message, Outcome::Invalid));
    let (mut rig, mut point, _) = shared(up(), &[FakeBehaviour { dies: true, ..up() }, up()]);
    point.settings.insert("load.nodes".to_owned(), Value::Int(2));
    let error = measure(&mut rig, &fake::run(&point)).0.unwrap_err().to_string();
    let places = keys::places(&fake::run(&point), "load.at").unwrap();
    assert_eq!(error, format!("the system under test failed: the load at {}: the load has ended", places[0]));
}

#[test]
fn load_smaller_than_its_locations_is_rejected() {
    let (mut rig, point, log) = shared(up(), &[up(), up()]);
    let message = "1 base stations cannot be divided among 2 places; at least 2 are needed";
    assert_eq!(rig.preview(&point.settings), Some(Err(message.to_owned())));
    assert_eq!(rig.prepare(&fake::run(&point)), Err(RigError::Rig(message.to_owned())));
    assert!(!requests(&log).iter().any(|request| request == "load start"));
    let mut list = point.settings.clone();
    list.insert("load.at".to_owned(), Value::List(vec!["local".into(), "nowhere".into()]));
    let why = rig.preview(&list).unwrap().unwrap_err();
    assert!(why.contains("`load.at`: \"nowhere\" is not a worker location"), "{why}");
    list.insert("load.at".to_owned(), "local".into());
    assert_eq!(rig.preview(&list), None);
}

#[test]
fn stalled_load_is_invalid() {
    for (stood_still_s, expected) in
        [(0.0, Outcome::Degraded), (0.005, Outcome::Degraded), (0.3, Outcome::Invalid)]
    {
        let report = Report { stood_still_s, ..up().report };
        let (mut rig, point, _log) = two(up(), FakeBehaviour { report, ..up() });
        let run = fake::run(&point);
        rig.prepare(&run).unwrap();
        let (outcome, recording) = measure(&mut rig, &run);
        assert_eq!(outcome, Ok(expected), "{}", recording.reason);
        assert_eq!(recording.metrics[noise::STALLED], stood_still_s);
    }
}
