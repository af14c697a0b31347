//! Tests of the rig, with the engine behind a worker in this process.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::collections::BTreeMap;

use super::*;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::rig::Rig;
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_command::scenario::resolve_paths;
use ranlab_lab::RigContext;
use ranlab_lab::experiment::fake;
use ranlab_lab::experiment::harness::{Account, RunningExperiment};

const ONLY_PIPELINE: ranlab_lab::Registry = ranlab_lab::Registry(&[&crate::PIPELINE]);

const NUMBERS: [(&str, f64); 5] = [
    ("mpps_per_core", 10.0),
    ("frame_bytes_mean", 64.0),
    ("updates_refused", 0.0),
    ("changes_refused", 0.0),
    ("core_imbalance", 1.0),
];

fn recorded(numbers: &[(&str, f64)]) -> (Result<Outcome, RigError>, BTreeMap<String, f64>) {
    let lab = RigContext::new("ranlab");
    let point = fake::point(&RunningExperiment::new(&lab, Pipeline), &[]);
    let window = fake::window(&lab, Account::Sut, ENGINE, fake::report(1.0, 1.0, numbers));
    let mut recorder = Recorder::default();
    let outcome = Pipeline.record(&fake::run(&point), &window, &mut recorder);
    (outcome, recorder.finish().metrics)
}

/// The window has one second, in which the switch applied 1,500 changes.
#[test]
fn applied_change_rate_is_recorded() {
    let numbers: Vec<_> = NUMBERS.into_iter().chain([("updates_sent", 1_500.0)]).collect();
    assert_eq!(recorded(&numbers).1["updates_per_s"], 1_500.0);
    assert!(!recorded(&NUMBERS).1.contains_key("updates_per_s"));
}

#[test]
fn missed_changes_degrade_a_repeat() {
    let of = |due: f64, sent: f64| {
        let numbers: Vec<_> =
            NUMBERS.into_iter().chain([("updates_due", due), ("updates_sent", sent)]).collect();
        recorded(&numbers)
    };
    let (outcome, metrics) = of(100_000.0, 26_146.0);
    assert_eq!((outcome, metrics["updates_applied_ratio"]), (Ok(Outcome::Degraded), 0.26146));
    assert_eq!((metrics["updates_offered_per_s"], metrics["updates_per_s"]), (100_000.0, 26_146.0));
    assert_eq!(of(1_000.0, 995.0).0, Ok(Outcome::Ok));
    assert_eq!(of(0.0, 0.0).0, Ok(Outcome::Ok), "no changes are requested");
}

#[test]
fn switch_that_drops_everything_fails() {
    let numbers: Vec<_> = NUMBERS.into_iter().chain([("drop_ratio", 1.0), ("trace_packets", 4.0)]).collect();
    let lab = RigContext::new("ranlab");
    let point = fake::point(&RunningExperiment::new(&lab, Pipeline), &[]);
    let mut report = fake::report(1.0, 1.0, &numbers);
    let dropped = [("not_ip".to_owned(), 800)].into();
    report.detail = serde_json::to_value(crate::RingCounters { dropped, ..Default::default() }).unwrap();
    let window = fake::window(&lab, Account::Sut, ENGINE, report);
    let mut recorder = Recorder::default();
    let outcome = Pipeline.record(&fake::run(&point), &window, &mut recorder);
    let recording = recorder.finish();
    assert_eq!(outcome, Ok(Outcome::Invalid));
    let reason = "4 of 4 packets of the trace are dropped (not IP: tagged or another EtherType)";
    assert!(recording.reason.starts_with(reason), "{}", recording.reason);
    assert!(!recording.metrics.contains_key("users_per_blade"));
}

#[test]
fn engine_report_determines_the_outcome() {
    let (outcome, metrics) = recorded(&NUMBERS);
    assert_eq!(outcome, Ok(Outcome::Ok));
    // 10 Mpps of 64 bytes are 5,120 Mbit/s. With 3 Mbit/s per user, each of 24 cores serves 1,706.7 users.
    assert!((metrics["users_per_blade"] - 5_120.0 / 3.0 * 24.0).abs() < 1e-6, "{metrics:?}");
    for (name, value, expected) in [
        ("updates_refused", 1.0, Outcome::Overloaded),
        ("changes_refused", 1.0, Outcome::Overloaded),
        ("core_imbalance", 1.3, Outcome::Degraded),
        ("core_imbalance", 1.2, Outcome::Ok),
    ] {
        let numbers = NUMBERS.map(|own| if own.0 == name { (name, value) } else { own });
        assert_eq!(recorded(&numbers).0, Ok(expected), "{name} = {value}");
    }
    for (missing, _) in NUMBERS {
        let numbers: Vec<_> = NUMBERS.into_iter().filter(|(name, _)| *name != missing).collect();
        let error = recorded(&numbers).0.unwrap_err().to_string();
        assert!(error.contains(&format!("the component reported no `{missing}`")), "{error}");
    }
}

#[test]
fn remote_engine_is_measured() {
    let mut rig = RunningExperiment::new(&RigContext::new("no-such-program"), Pipeline);
    let point = fake::point(
        &rig,
        &[
            ("pipeline.name", "mgw".into()),
            ("pipeline.user", Value::Int(30)),
            ("pipeline.handover", Value::Int(500)),
            ("sut.at", Value::Text(fake::real(ONLY_PIPELINE))),
            ("sut.isa", "baseline".into()),
            ("load.pkt-num", Value::Int(1_024)),
            ("load.verify", Value::Int(512)),
            (keys::WHEN_NOISY, "warn".into()),
        ],
    );
    let mut run = fake::run(&point);
    run.duration = Duration::from_millis(200);
    rig.prepare(&run).unwrap();
    let declared = rig.describe().metric_names();
    // A busy machine may disturb a whole window, so up to 20 windows are tried.
    let found = (0..20).find(|_| {
        let mut recorder = Recorder::default();
        let outcome = rig.measure(&run, &mut recorder).unwrap();
        let metrics = recorder.finish().metrics;
        assert!(outcome.counts() && metrics.keys().all(|name| declared.contains(name)), "{metrics:?}");
        assert_eq!(metrics["verified_packets"], 512.0);
        metrics["mpps"] > 0.0 && metrics["updates_sent"] > 0.0
    });
    assert!(found.is_some());
    // As in a search, a point with another pipeline restarts the engine. An invalid pipeline gives an error with a
    // reason.
    let mut other = point.clone();
    other.settings.insert("sut.cores".to_owned(), Value::Int(128));
    let mut recorder = Recorder::default();
    let error = rig.measure(&fake::run(&other), &mut recorder).unwrap_err();
    assert!(
        matches!(&error, RigError::Environment(why) if why.contains("128 cores are requested")),
        "{error}"
    );
}

#[test]
fn invalid_settings_are_rejected_before_start() {
    for (path, value, why) in [
        ("sut.engine", "eswitch", "`sut.engine` \"eswitch\" is only known from published figures"),
        (
            "sut.engine",
            "bess",
            "`ranlab bench config SCENARIO --engine bess --out DIR`, the switch is installed by: build https://",
        ),
        ("pipeline.name", "own", "[pipeline]: `pipeline.file` is missing"),
        ("sut.engine", "ovs", "`sut.tier` \"mem\" is not supported by \"ovs\"; supported: veth"),
        ("sut.tier", "nic", "`sut.tier` \"nic\" is not supported by \"native\""),
        ("pipeline.name", "carrier-pigeon", "[pipeline]"),
        ("load.dir", "sideways", "[load]"),
        ("sut.at", "mars", "`sut.at`: \"mars\" is not a worker location"),
        ("sut.isa", "quantum", "`isa` must be one of"),
    ] {
        let mut rig = RunningExperiment::new(&RigContext::new("no-such-program"), Pipeline);
        let point = fake::point(&rig, &[("pipeline.name", "portfwd".into()), (path, value.into())]);
        let error = rig.prepare(&fake::run(&point)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// A scenario can set every parameter of every pipeline. It has no key for a parameter that no pipeline has.
#[test]
fn scenario_keys_match_pipeline_parameters() {
    for pipeline in Declared::all() {
        let serde_json::Value::Object(map) = serde_json::to_value(&pipeline).unwrap() else {
            panic!("a pipeline should be a JSON object")
        };
        let name = map["name"].as_str().unwrap();
        assert!(NAMES.contains(&name));
        let of = |key: &Key| key.when.as_ref().is_some_and(|(_, names)| names.iter().any(|own| own == name));
        let parameters: Vec<Key> = parameters().into_iter().filter(of).collect();
        for parameter in &parameters {
            assert!(map.contains_key(parameter.name()), "{name} has no {}", parameter.name());
        }
        let offered = |key: &str| parameters.iter().any(|parameter| parameter.name() == key);
        let published = ["name", "core", "fakedrop", "decomposition"];
        for key in map.keys().filter(|key| !published.contains(&key.as_str())) {
            let address = key.contains("mac") || key.contains("ip") || key == "qfi";
            assert!(offered(key) || address, "{name}: {key} cannot be set");
        }
    }
}

/// The scenarios of published figures are valid. Each of their points has a pipeline and traffic.
#[test]
fn published_scenarios_are_valid() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/tipsy");
    let description = Pipeline.describe();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let rigs = std::slice::from_ref(&description);
        let mut scenario = Scenario::load(&path, &Overrides::default(), rigs)
            .unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        resolve_paths(&mut scenario, &path, |key| PATHS.contains(&key));
        assert!(!scenario.expects.is_empty() && !scenario.plots.is_empty(), "{}", path.display());
        for point in &Plan::new(&scenario, &description).points {
            let run = Run::new(point, 0, 1, Duration::ZERO);
            declared(&run).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            traffic(&run).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        files += 1;
    }
    assert!(files >= 12, "{files}");
}
