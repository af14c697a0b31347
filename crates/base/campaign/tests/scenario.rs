//! Tests of the scenario language: errors of malformed files, inheritance, overrides, templates, the JSON schema.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::rig::{RepeatTime, Rig, RigDescription};
use ranlab_campaign::scenario::{Measure, Overrides, Scenario, json_schema, template};
use ranlab_campaign::value::Value;

fn rigs() -> Vec<RigDescription> {
    vec![MockRig::default().describe()]
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Each line of `tests/malformed/expected.txt` is `name: sentence`; `{}` is the file, `{dir}` its directory. A sentence
/// may be the beginning of the real one, if the rest is a list or another library's text.
#[test]
fn malformed_scenario_error_has_file_and_line() {
    let malformed = directory().join("malformed");
    let expected = std::fs::read_to_string(malformed.join("expected.txt")).unwrap();
    let mut wrong = Vec::new();
    for line in expected.lines() {
        let (name, sentence) = line.split_once(": ").unwrap();
        let path = malformed.join(format!("{name}.toml"));
        let expected = sentence
            .replace("{}", &path.display().to_string())
            .replace("{dir}", &malformed.display().to_string());
        match Scenario::load(&path, &Overrides::default(), &rigs()) {
            Ok(_) => wrong.push(format!("{name} was accepted")),
            Err(errors) => {
                let text = errors.to_string();
                if errors.0.len() != 1 || !text.starts_with(&expected) {
                    wrong.push(format!("{name}:\n   is {text}\n  not {expected}"));
                }
            }
        }
    }
    assert!(expected.lines().count() >= 30);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_errors_are_reported() {
    let text = "title = \"t\"\nrig = \"mock\"\n[load]\nworker = 1\nrate = \"x\"\n[measure]\nrepeat = 3\n";
    let errors = Scenario::parse(text, "a.toml", &Overrides::default(), &rigs()).unwrap_err();
    let lines: Vec<u32> = errors.0.iter().map(|error| error.line).collect();
    assert_eq!(lines, [4, 5, 7], "{errors}");
}

#[test]
fn set_option_overrides_extended_file() {
    let over =
        Overrides { sets: vec!["load.workers=7".to_owned(), "measure.repeats = 2".to_owned()], quick: false };
    let scenario = Scenario::load(&directory().join("scenarios/child.toml"), &over, &rigs()).unwrap();
    assert_eq!(scenario.title, "child");
    assert_eq!(scenario.settings["load.workers"], Value::Int(7));
    assert_eq!(scenario.settings["load.rate"], Value::Float(300.0), "from the parent");
    assert_eq!(scenario.settings["sut.lambda"], Value::Float(5.0), "the child's own");
    assert_eq!(scenario.measure.repeats, 2);
    let axes: Vec<&str> = scenario.sweep.axes.iter().map(|axis| axis.path.as_str()).collect();
    assert_eq!(axes, ["sut.sigma"], "a sweep is replaced as a whole");
    let sets = vec!["sweep.axes.sut.sigma=[0.1, 0.2, 0.3]".to_owned(), "sut.build=release".to_owned()];
    let over = Overrides { sets, quick: false };
    let scenario = Scenario::load(&directory().join("scenarios/child.toml"), &over, &rigs()).unwrap();
    assert_eq!(scenario.sweep.axes[0].values.len(), 3);
    assert_eq!(scenario.settings["sut.build"], Value::from("release"));
    let over = Overrides { sets: vec!["load.wrokers=7".to_owned()], quick: false };
    let errors = Scenario::load(&directory().join("scenarios/child.toml"), &over, &rigs()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "--set load.wrokers=7: unknown key `load.wrokers`; `load.workers` is the nearest"
    );
}

#[test]
fn axes_multiply_or_zip_in_file_order() {
    let points = |mode: &str| {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[sweep]\nmode = \"{mode}\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\nsut.sigma = [0.1, 0.2]\n"
        );
        let scenario = Scenario::parse(&text, "t", &Overrides::default(), &rigs()).unwrap();
        let plan = Plan::new(&scenario, &rigs()[0]);
        plan.points.iter().map(|point| point.label()).collect::<Vec<_>>()
    };
    assert_eq!(
        points("outer"),
        [
            "load.workers=1 sut.sigma=0.1",
            "load.workers=1 sut.sigma=0.2",
            "load.workers=2 sut.sigma=0.1",
            "load.workers=2 sut.sigma=0.2"
        ]
    );
    assert_eq!(points("joint"), ["load.workers=1 sut.sigma=0.1", "load.workers=2 sut.sigma=0.2"]);
    assert_eq!(points("none"), ["load.workers=1 sut.sigma=0.1"]);
}

#[test]
fn quick_keeps_axis_ends_and_required_points() {
    let over = Overrides { sets: Vec::new(), quick: true };
    let scenario = Scenario::load(&directory().join("scenarios/child.toml"), &over, &rigs()).unwrap();
    assert_eq!(scenario.sweep.axes[0].values, [0.0, 0.1, 0.4].map(Value::Float));
    assert!(scenario.quick && scenario.measure.repeats == 1);
    assert!(scenario.measure.duration.as_secs() <= 1);
}

#[test]
fn expected_duration_counts_every_repeat() {
    let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2, 3]\n[measure]\n\
                duration = \"8s\"\nwarm_up = \"2s\"\nrepeats = 4\n";
    let scenario = Scenario::parse(text, "t", &Overrides::default(), &rigs()).unwrap();
    let waits = RigDescription { repeat_time: RepeatTime::Windows, ..rigs()[0].clone() };
    assert_eq!(Plan::new(&scenario, &waits).expected().as_secs(), 120);
}

#[test]
fn new_scenario_names_all_keys_and_runs() {
    let rig = &rigs()[0];
    let text = template(rig);
    let scenario = Scenario::parse(&text, "new.toml", &Overrides::default(), &rigs()).unwrap();
    assert_eq!(scenario.sweep.axes.len(), 1);
    assert_eq!(scenario.plots.len(), 1);
    for key in &rig.keys {
        assert!(text.contains(key.name()) && text.contains(&key.comment), "{} is not in\n{text}", key.path);
    }
    let plain =
        Scenario::parse("title = \"t\"\nrig = \"mock\"\n", "t", &Overrides::default(), &rigs()).unwrap();
    for (path, value) in &plain.settings {
        assert_eq!(scenario.settings[path], *value, "{path}: the template writes the default");
    }
    // The starter's own duration is short.
    assert_eq!(scenario.measure, Measure { duration: Duration::from_secs(1), ..plain.measure });
}

#[test]
fn resolved_scenario_round_trips_as_json() {
    let scenario =
        Scenario::load(&directory().join("scenarios/child.toml"), &Overrides::default(), &rigs()).unwrap();
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
}

#[test]
fn json_schema_contains_every_key() {
    let schema = json_schema(&rigs());
    let rig = &schema["$defs"]["mock"];
    assert_eq!(schema["properties"]["rig"]["enum"], serde_json::json!(["mock"]));
    assert_eq!(schema["allOf"][0]["then"]["$ref"], "#/$defs/mock");
    assert_eq!(rig["properties"]["load"]["properties"]["workers"]["minimum"], 1);
    assert_eq!(rig["properties"]["load"]["properties"]["workers"]["default"], 1);
    assert_eq!(rig["properties"]["sut"]["properties"]["law"]["enum"][1], "queue");
    assert_eq!(rig["properties"]["measure"]["properties"]["repeats"]["maximum"], 1000);
    assert_eq!(rig["properties"]["rig"]["enum"], serde_json::json!(["mock"]));
    assert_eq!(rig["additionalProperties"], false);
    assert_eq!(rig["properties"]["sweep"]["properties"]["axes"]["$ref"], "#/$defs/mock.axes");
    assert!(schema["$defs"]["mock.axes"]["properties"]["load.workers"].is_object());
}

/// Regression test: an axis of the same key once took precedence over the setting without an error.
#[test]
fn command_line_setting_is_not_swept() {
    let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n\"load.rate\" = [100.0, 200.0]\n";
    let rig = MockRig::default().describe();
    let overrides = Overrides { sets: vec!["load.workers=7".to_owned()], quick: false };
    let scenario = Scenario::parse(text, "t.toml", &overrides, std::slice::from_ref(&rig)).unwrap();
    let points = Plan::new(&scenario, &rig).points;
    let of = |path: &str| points.iter().map(|point| point.settings[path].to_string()).collect::<Vec<_>>();
    assert_eq!(
        (of("load.workers"), of("load.rate")),
        (vec!["7".to_owned(); 2], vec!["100".to_owned(), "200".to_owned()])
    );
}
