//! Golden test of the meanings of scenarios. `points.txt` contains the values that each scenario resolves to, other than defaults. The
//! defaults are in docs/scenario.schema.json.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ranlab_campaign::plan::Plan;
use ranlab_campaign::rig::RigDescription;
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::schema::Presence;
use ranlab_lab::RigContext;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
}

/// Returns the number of points, and for every key with a non-default value its values in the order of the
/// points.
fn meaning(scenario: &Scenario, rig: &RigDescription) -> String {
    let points = Plan::new(scenario, rig).points;
    let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, value) in points.iter().flat_map(|point| &point.settings) {
        let seen = values.entry(path).or_default();
        if !seen.contains(&value.to_string()) {
            seen.push(value.to_string());
        }
    }
    for key in &rig.keys {
        if let Presence::Default(default) = &key.presence {
            values.retain(|path, seen| *path != key.path || *seen != [default.to_string()]);
        }
    }
    let mut text = format!("{} points of {}\n", points.len(), scenario.rig);
    for (path, seen) in values {
        let _ = writeln!(text, "  {path} = {}", seen.join(" | "));
    }
    text
}

#[test]
fn scenario_meanings_are_unchanged() {
    let rigs = ranlab_cli::domains::descriptions(&RigContext::new("ranlab"));
    let mut files = Vec::new();
    scenarios(&root().join("scenarios"), &mut files);
    files.sort();
    let mut now = String::new();
    for file in &files {
        let scenario = Scenario::load(file, &Overrides::default(), &rigs).unwrap();
        let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).unwrap();
        let name = file.strip_prefix(root()).unwrap().display();
        let _ = writeln!(now, "{name}: {}", meaning(&scenario, rig));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/domains/points.txt");
    if std::env::var_os("RANLAB_WRITE_POINTS").is_some() {
        std::fs::write(&golden, &now).unwrap();
    }
    let then = std::fs::read_to_string(&golden).unwrap();
    let then: BTreeSet<&str> = then.split("\n\n").collect();
    let now: BTreeSet<&str> = now.split("\n\n").collect();
    let gone: Vec<_> = then.difference(&now).collect();
    let come: Vec<_> = now.difference(&then).collect();
    assert!(
        gone.is_empty() && come.is_empty(),
        "if this is meant, run this test with RANLAB_WRITE_POINTS=1\nwas {gone:#?}\nis {come:#?}"
    );
}
