//! Checks of the published scenario language: the schema is current, and every scenario of the repository
//! conforms to it.
#![allow(clippy::unwrap_used, reason = "test helpers may panic, like tests")]

use std::path::{Path, PathBuf};

use ranlab_campaign::plan::Plan;
use ranlab_campaign::scenario::{Overrides, Scenario, json_schema, unanswered};
use ranlab_lab::RigContext;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lab() -> RigContext {
    RigContext::new("ranlab")
}

/// Returns the schema, as printed by `ranlab bench list --schema`.
fn schema() -> Value {
    json_schema(&ranlab_cli::domains::descriptions(&lab()))
}

/// Returns the paths of all scenarios below scenarios/.
fn scenarios() -> Vec<PathBuf> {
    let mut folders = vec![root().join("scenarios")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|ending| ending.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("toml") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    files
}

#[test]
fn expectations_and_figures_refer_to_existing_points() {
    let rigs = ranlab_cli::domains::descriptions(&lab());
    let mut found = Vec::new();
    for file in scenarios() {
        let scenario = Scenario::load(&file, &Overrides::default(), &rigs).unwrap();
        let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).unwrap();
        let questions = unanswered(&scenario, &Plan::new(&scenario, rig).points);
        found.extend(questions.into_iter().map(|question| format!("{}: {question}", file.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn published_schema_is_current() {
    let file = root().join("docs/scenario.schema.json");
    if std::env::var_os("RANLAB_WRITE_SCHEMA").is_some() {
        std::fs::write(&file, serde_json::to_string_pretty(&schema()).unwrap() + "\n").unwrap();
    }
    // The order of members depends on other crates in the build (serde_json's `preserve_order`), so values are compared instead of text.
    let published: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(
        published == schema(),
        "docs/scenario.schema.json is not current: run `ranlab bench list --schema > docs/scenario.schema.json`, \
         or this test with RANLAB_WRITE_SCHEMA=1"
    );
}

#[test]
fn repository_scenarios_are_accepted() {
    let rigs = ranlab_cli::domains::descriptions(&lab());
    for file in scenarios() {
        for quick in [false, true] {
            let overrides = Overrides { quick, ..Overrides::default() };
            let scenario = match Scenario::load(&file, &overrides, &rigs) {
                Ok(scenario) => scenario,
                Err(errors) => panic!("{}: {errors}", file.display()),
            };
            let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).unwrap();
            assert!(!Plan::new(&scenario, rig).points.is_empty(), "{}", file.display());
        }
    }
}

#[test]
fn repository_scenarios_conform_to_the_schema() {
    let schema = schema();
    for file in scenarios() {
        let text = std::fs::read_to_string(&file).unwrap();
        let scenario: toml::Table = text.parse().unwrap();
        let scenario = serde_json::to_value(scenario).unwrap();
        let offences = offences(&schema, &schema, &scenario, "");
        assert!(offences.is_empty(), "{}: {offences:?}", file.display());
    }
}

#[test]
fn schema_and_checker_reject_the_same() {
    let schema = schema();
    for (text, where_) in [
        ("rig = \"controller\"\n[load]\nnode = 3", "/load/node"),
        ("rig = \"controller\"\n[load]\nnodes = \"three\"", "/load/nodes"),
        ("rig = \"controller\"\n[load]\nnodes = 0", "/load/nodes"),
        ("rig = \"controller\"\n[sweep.axes]\n\"load.node\" = [1]", "/sweep/axes/load.node"),
        ("rig = \"e2-rtt\"\n[load]\ninterval = \"5\"", "/load/interval"),
        ("rig = \"controler\"", "/rig"),
        ("title = \"neither rig nor extends\"", ""),
    ] {
        let scenario = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        let offences = offences(&schema, &schema, &scenario, "");
        assert!(offences.iter().any(|offence| offence == where_), "{text}: {offences:?}");
    }
}

#[test]
fn earlier_keys_conform_to_the_schema() {
    let schema = schema();
    for text in [
        "rig = \"upf\"\n[load]\noctets = 64\n[sweep.axes]\n\"load.flat_out\" = [true, false]",
        "rig = \"sd-ran\"\n[host]\nforeign_at_most = 0.2\n[[plot]]\nx = \"load.honour\"\ny = \"lateness_us_p99\"\nfilter = { \"load.settle\" = \"9s\" }",
    ] {
        let scenario = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        assert_eq!(offences(&schema, &schema, &scenario, ""), [""; 0], "{text}");
    }
}

/// Returns the positions at which a value violates a schema, for the JSON Schema keywords used here. An independent validator gives the
/// same result for every scenario. This function avoids the need for network access in tests.
fn offences(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let object = schema.as_object().unwrap();
    for (word, rule) in object {
        let here = || vec![at.to_owned()];
        let valid = |of: &Value| offences(root, of, value, at).is_empty();
        found.extend(match word.as_str() {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "default"
            | "then"
            | "additionalProperties"
            | "deprecated"
            | "x-renamed" => Vec::new(),
            "$ref" => {
                let path = rule.as_str().unwrap().trim_start_matches('#');
                offences(root, root.pointer(path).unwrap(), value, at)
            }
            "type" if !has_type(rule.as_str().unwrap(), value) => here(),
            "const" if value != rule => here(),
            "enum" if !rule.as_array().unwrap().contains(value) => here(),
            "minimum" if value.as_f64() < rule.as_f64() => here(),
            "maximum" if value.as_f64() > rule.as_f64() => here(),
            "minItems" if (value.as_array().unwrap().len() as u64) < rule.as_u64().unwrap() => here(),
            "pattern" if !is_span(value.as_str().unwrap_or_default()) => here(),
            "required" => {
                let missing = |name: &Value| value.get(name.as_str().unwrap()).is_none();
                if rule.as_array().unwrap().iter().any(missing) { here() } else { Vec::new() }
            }
            "anyOf" if !rule.as_array().unwrap().iter().any(valid) => here(),
            "allOf" => rule.as_array().unwrap().iter().flat_map(|of| offences(root, of, value, at)).collect(),
            "if" if valid(rule) => offences(root, &object["then"], value, at),
            "items" => value
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|item| offences(root, rule, item, at))
                .collect(),
            "properties" => properties(root, schema, value, at),
            "type" | "const" | "enum" | "minimum" | "maximum" | "minItems" | "pattern" | "anyOf" | "if" => {
                Vec::new()
            }
            other => panic!("this test does not support the schema keyword {other}"),
        });
    }
    found
}

fn properties(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let members = value.as_object().into_iter().flatten();
    members
        .flat_map(|(name, member)| {
            let at = format!("{at}/{name}");
            match schema["properties"].get(name) {
                Some(rule) => offences(root, rule, member, &at),
                None if closed => vec![at],
                None => Vec::new(),
            }
        })
        .collect()
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{other} is not a type of JSON schema"),
    }
}

/// Returns whether a text is a duration, the only pattern in the schema.
fn is_span(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    text.len() > unit.len() && matches!(unit.trim_start(), "ns" | "us" | "ms" | "s" | "min" | "h")
}
