use super::*;
use crate::pipelines::Pipeline;
use std::collections::BTreeMap;

const BOTH: &[Direction] = &[Direction::Uplink, Direction::Downlink];

/// Declarations in a program: keys and actions of its tables, and parameters of its actions.
struct Declared {
    tables: BTreeMap<String, (Vec<String>, Vec<String>)>,
    actions: BTreeMap<String, usize>,
}

fn between<'a>(text: &'a str, open: &str, close: char) -> &'a str {
    text.split_once(open).and_then(|(_, rest)| rest.split_once(close)).map_or("", |(inner, _)| inner)
}

fn declared(program: &str) -> Declared {
    let words = |text: &str| -> Vec<String> {
        text.split(';').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let tables = program.split("    table ").skip(1).map(|text| {
        let name = text.split_whitespace().next().unwrap().to_owned();
        (name, (words(between(text, "key = {", '}')), words(between(text, "actions = {", '}'))))
    });
    let actions = program.split("    action ").skip(1).map(|text| {
        let name = text.split('(').next().unwrap().to_owned();
        let parameters = between(text, "(", ')');
        (name, if parameters.trim().is_empty() { 0 } else { parameters.split(',').count() })
    });
    Declared { tables: tables.collect(), actions: actions.collect() }
}

/// Checks program and entries for consistency without a compiler. Braces are balanced, and applied tables are declared.
/// Every entry has its table's keys in the correct form and its action's parameters.
fn sound(program: &str, entries: &str, name: &str) {
    for (open, close) in [('{', '}'), ('(', ')')] {
        assert_eq!(program.matches(open).count(), program.matches(close).count(), "{name}");
    }
    let Declared { tables, actions } = declared(program);
    for applied in program.split(".apply()").filter_map(|text| text.rsplit(['!', '(', ' ']).next()) {
        let known = tables.contains_key(applied) || applied.is_empty() || !applied.contains('_');
        assert!(known || !applied.starts_with("up_") && !applied.starts_with("down_"), "{name}: {applied}");
    }
    for (keys, of) in tables.values() {
        assert!(!keys.is_empty() && of.iter().all(|action| actions.contains_key(action)), "{name}: {of:?}");
    }
    for entry in entries.lines().filter(|line| line.starts_with("table_add")) {
        let words: Vec<&str> = entry.split_whitespace().collect();
        let arrow = words.iter().position(|word| *word == "=>").unwrap();
        let (keys, of) = &tables[words[1]];
        assert!(of.iter().any(|action| action == words[2]), "{entry}");
        assert_eq!(arrow - 3, keys.len(), "{entry}");
        for (key, word) in keys.iter().zip(&words[3..arrow]) {
            let form = match key.rsplit(' ').next().unwrap() {
                "ternary" => word.contains("&&&"),
                "range" => word.contains("->"),
                "lpm" => word.contains('/'),
                _ => !word.contains(['&', '/', '>']),
            };
            assert!(form, "{entry}: {word} is no {key}");
        }
        let priority = usize::from(keys.iter().any(|key| key.ends_with("ternary")));
        assert_eq!(words.len() - arrow - 1, actions[words[2]] + priority, "{entry}");
    }
    let meters = entries.lines().filter(|line| line.starts_with("meter_set_rates users ")).count();
    assert_eq!(meters > 0, program.contains("MeterType.bytes"), "{name}");
}

#[test]
fn programs_and_entries_are_consistent() {
    for pipeline in Pipeline::all() {
        let declaration = pipeline.build().unwrap();
        let request = BackendRequest { declaration: &declaration, directions: BOTH };
        let texts =
            P4.translate(&request).unwrap_or_else(|error| panic!("{}: {error}", pipeline.name())).texts;
        let entries = texts.get(1).map_or("", |text| text.text.as_str());
        sound(&texts[0].text, entries, pipeline.name());
    }
}

#[test]
fn ipv6_entries_are_rejected() {
    for json in [
        r#"{"name":"l3fwd","family":"dual"}"#,
        r#"{"name":"mgw","family":"ipv6"}"#,
        r#"{"name":"nat","family":"ipv6"}"#,
    ] {
        let declaration = serde_json::from_str::<Pipeline>(json).unwrap().build().unwrap();
        let error = P4
            .translate(&BackendRequest { declaration: &declaration, directions: BOTH })
            .unwrap_err()
            .to_string();
        assert!(error.contains("this version does not write IPv6 for it"), "{error}");
    }
}
