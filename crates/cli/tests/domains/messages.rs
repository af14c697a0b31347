//! Golden test of messages to workers: `messages.jsonl` has the message that starts each component, with the default of each
//! field. A worker of another version reads the same `type` and keys.

use std::path::Path;

use ranlab_cli::domains::REGISTRY;
use ranlab_lab::worker::Request;
use serde_json::json;

#[test]
fn messages_to_workers_are_unchanged() {
    let lines: Vec<String> = REGISTRY
        .components()
        .map(|component| {
            let part = REGISTRY
                .component(required(component.name))
                .unwrap_or_else(|error| panic!("{}: {error}", component.name));
            let part = serde_json::to_value(part).unwrap();
            let line = serde_json::to_string(&Request::Start { part: part.clone() }).unwrap();
            // What was written is read as the same component.
            let Request::Start { part: read } = serde_json::from_str(&line).unwrap() else {
                panic!("{line}")
            };
            assert_eq!(serde_json::to_value(REGISTRY.component(read).unwrap()).unwrap(), part, "{line}");
            line
        })
        .collect();
    let now = lines.join("\n") + "\n";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/domains/messages.jsonl");
    if std::env::var_os("RANLAB_WRITE_MESSAGES").is_some() {
        std::fs::write(&golden, &now).unwrap();
    }
    let then = std::fs::read_to_string(&golden).unwrap();
    let changed: Vec<_> = now.lines().filter(|line| !then.lines().any(|other| other == *line)).collect();
    assert!(
        changed.is_empty() && now.lines().count() == then.lines().count(),
        "if this is meant, run this test with RANLAB_WRITE_MESSAGES=1\n{changed:#?}"
    );
}
