use super::window::TOOL_CORES;
use super::*;
use crate::fake::{self, Acts, Log};
use crate::sut;
use ranlab_campaign::metric::{Better, Metric, MetricKind};
use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recording;
use ranlab_campaign::schema::{Key, Kind};
use ranlab_parts::FleetPart;

/// A system and a load; a search may change either.
struct Two;

impl Experiment for Two {
    fn describe(&self) -> RigDescription {
        let count = |path: &str| Key::new(path, Kind::Int { min: 0, max: 9 }, "of the tests").or(1);
        let scalar = |name: &str| Metric::new(name, "", MetricKind::Scalar, Better::Neither, "of the tests");
        let mut keys = vec![count("sut.size"), count("load.nodes"), count("load.unused")];
        keys.extend([keys::place("sut.at", "the system"), keys::place("load.at", "the load")]);
        keys.extend(keys::host());
        let mut metrics = vec![scalar("sent"), scalar(TOOL_CORES)];
        metrics.extend(noise::metrics());
        RigDescription {
            name: "two".to_owned(),
            aliases: Vec::new(),
            comment: "of the tests".to_owned(),
            keys,
            metrics,
            needs: Vec::new(),
            set_up: Duration::ZERO,
            starter: "",
        }
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Stage<'_>) -> Result<(), RigError> {
        let part = |path: &str| {
            Ok::<_, RigError>(Part::Fleet(FleetPart { nodes: keys::int(run, path)?, ..FleetPart::default() }))
        };
        stage.sut("system", "sut.at", part("sut.size")?)?;
        let patience = Duration::from_millis(50);
        stage.wait("system", "the system up", patience, |numbers| numbers.get("alive") == Some(&1.0))?;
        stage.tool("load", "load.at", part("load.nodes")?).map(drop)
    }

    fn record(
        &self,
        _run: &Run<'_>,
        window: &Window<'_>,
        recorder: &mut Recorder,
    ) -> Result<Outcome, RigError> {
        recorder.scalar("sent", window.report("load")?.number("sent")?);
        Ok(Outcome::Degraded)
    }
}

/// The rig, its point, and what its workers were asked.
fn two(system: Acts, load: Acts) -> (Bench<Two>, Point, Log) {
    let log = Log::default();
    let rig = Bench::new(&Lab::new("no-such-program"), Two);
    let places = [fake::worker("system", system, &log), fake::worker("load", load, &log)];
    let [system, load] = places.map(Value::Text);
    let point = fake::point(&rig, &[("sut.at", system), ("load.at", load)]);
    (rig, point, log)
}

fn up() -> Acts {
    let report = fake::report(0.5, 1.0, &[("sent", 7.0)]);
    Acts { look: [("alive", 1.0)].into(), report, ..Acts::default() }
}

fn measure(rig: &mut Bench<Two>, run: &Run<'_>) -> (Result<Outcome, RigError>, Recording) {
    let mut recorder = Recorder::new(run.duration, Duration::ZERO);
    let outcome = rig.measure(run, &mut recorder);
    (outcome, recorder.finish())
}

fn asked(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

#[test]
fn parts_come_up_in_order_and_go_in_reverse_and_the_last_one_is_measured_by_all() {
    let (mut rig, point, log) = two(up(), up());
    let run = fake::run(&point);
    rig.prepare(&run).unwrap();
    assert_eq!(asked(&log), ["system start", "load start"]);
    rig.warm_up(&run).unwrap();
    assert!(asked(&log).is_empty(), "no warm-up was asked for");
    let (outcome, recording) = measure(&mut rig, &run);
    assert_eq!(outcome, Ok(Outcome::Degraded));
    assert_eq!(asked(&log), ["system begin", "load begin", "load end", "system end"]);
    assert_eq!((recording.metrics["sent"], recording.metrics[TOOL_CORES]), (7.0, 0.5));
    // Both are on one machine, and what they use is not foreign.
    assert_eq!(recording.metrics["host.foreign_cores"], 0.0);
    assert!(!recording.metrics.contains_key(sut::CPU_CORES), "the rig does not say that it measures it");
    rig.tear_down();
    assert_eq!(asked(&log), ["load stop", "system stop"]);
    rig.tear_down();
    assert!(asked(&log).is_empty());
}

#[test]
fn a_search_brings_up_anew_what_it_changed_and_what_came_after_it() {
    let (mut rig, point, log) = two(up(), up());
    rig.prepare(&fake::run(&point)).unwrap();
    asked(&log);
    let trial = |rig: &mut Bench<Two>, path: &str| {
        let mut point = point.clone();
        point.settings.insert(path.to_owned(), Value::Int(2));
        let mut run = fake::run(&point);
        run.warm_up = Duration::from_millis(1);
        measure(rig, &run).0.unwrap();
        asked(&log).join(", ")
    };
    let window = "system begin, load begin, load end, system end";
    assert_eq!(trial(&mut rig, "load.unused"), window);
    // After a change it is warmed up again, and then it stands.
    assert_eq!(trial(&mut rig, "load.nodes"), format!("load stop, load start, {window}, {window}"));
    assert_eq!(trial(&mut rig, "load.nodes"), window);
    // Both of them: the load back to one, and the system to two.
    let both = "load stop, system stop, system start, load start";
    assert_eq!(trial(&mut rig, "sut.size"), format!("{both}, {window}, {window}"));
}

#[test]
fn a_part_that_dies_in_the_window_is_the_error_and_the_window_is_not_waited_for() {
    let (mut rig, point, log) = two(Acts { dies: true, ..up() }, up());
    let mut run = fake::run(&point);
    run.duration = Duration::from_secs(3600);
    rig.prepare(&run).unwrap();
    let (outcome, recording) = measure(&mut rig, &run);
    assert_eq!(outcome, Err(RigError::Sut("the system is gone".to_owned())));
    assert!(recording.metrics.is_empty());
    assert!(!asked(&log).iter().any(|asked| asked.ends_with("end")));
}

#[test]
fn a_part_that_ends_badly_with_the_window_is_an_error_too() {
    let (mut rig, point, _) = two(up(), Acts { dies: true, ..up() });
    rig.prepare(&fake::run(&point)).unwrap();
    let (outcome, _) = measure(&mut rig, &fake::run(&point));
    assert_eq!(outcome, Err(RigError::Sut("the load is gone".to_owned())));
}

#[test]
fn a_part_that_never_comes_up_is_the_systems_fault_and_nothing_follows_it() {
    let (mut rig, point, log) = two(Acts { look: [("alive", 0.0)].into(), ..up() }, up());
    let error = rig.prepare(&fake::run(&point)).unwrap_err();
    assert!(
        matches!(&error, RigError::Sut(why) if why.contains("the system up did not happen within")),
        "{error}"
    );
    drop(rig);
    assert_eq!(asked(&log), ["system start", "system stop"]);
}

#[test]
fn a_stop_in_the_warm_up_is_heard_and_everything_goes() {
    let (mut rig, point, log) = two(up(), up());
    let stop = Stop::never();
    let point = {
        let load = fake::worker("load", Acts { stops: Some(stop.clone()), ..up() }, &log);
        fake::point(&rig, &[("sut.at", point.settings["sut.at"].clone()), ("load.at", Value::Text(load))])
    };
    let mut run = fake::run(&point);
    (run.warm_up, run.stop) = (Duration::from_secs(3600), stop);
    rig.prepare(&run).unwrap();
    assert_eq!(rig.warm_up(&run), Err(RigError::Stopped));
    rig.tear_down();
    let expected = ["system start", "load start", "system begin", "load begin", "load stop", "system stop"];
    assert_eq!(asked(&log), expected);
}

#[test]
fn noise_is_judged_once_for_every_rig() {
    let noisy = Acts { report: fake::report(0.5, 1.9, &[("sent", 7.0)]), ..up() };
    for (when, expected, disturbed) in
        [("invalid", Outcome::Invalid, None), ("warn", Outcome::Degraded, Some(&1.0))]
    {
        let (mut rig, mut point, _) = two(noisy.clone(), up());
        point.settings.insert(noise::WHEN_NOISY.to_owned(), when.into());
        rig.prepare(&fake::run(&point)).unwrap();
        let (outcome, recording) = measure(&mut rig, &fake::run(&point));
        assert_eq!(outcome, Ok(expected));
        assert_eq!(recording.metrics.get("host.disturbed"), disturbed, "{recording:?}");
    }
}

#[test]
fn what_a_part_does_not_report_is_an_error_that_names_it() {
    let silent = Acts { report: fake::report(0.5, 1.0, &[("alive", 1.0)]), ..up() };
    let (mut rig, point, _) = two(up(), silent);
    rig.prepare(&fake::run(&point)).unwrap();
    let (outcome, _) = measure(&mut rig, &fake::run(&point));
    assert_eq!(outcome, Err(RigError::Rig("the part reported no `sent`; it reported alive".to_owned())));
}
