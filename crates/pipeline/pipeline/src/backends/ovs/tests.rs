use std::path::Path;

use super::*;
use crate::declare::{Direction, TunnelId, UserId};
use crate::pipelines::Pipeline;

const BOTH: &[Direction] = &[Direction::Uplink, Direction::Downlink];

/// Compares a text with a golden file. `RANLAB_BLESS=1` writes the file instead.
fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/backends").join(name);
    if std::env::var_os("RANLAB_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(expected == found, "{} differs:\n{found}", path.display());
}

/// Small pipelines that contain every element of TIPSY's ten pipelines.
const SMALL: [&str; 10] = [
    r#"{"name":"portfwd","mac-swap-upstream":"02:00:00:00:00:07"}"#,
    r#"{"name":"l2fwd"}"#,
    r#"{"name":"l3fwd","upstream-l3-table-size":3,"family":"dual"}"#,
    r#"{"name":"encap","station":2}"#,
    r#"{"name":"rlimit","user":2}"#,
    r#"{"name":"acl","rule-num":4,"seed-file":"ipc1","family":"dual"}"#,
    r#"{"name":"nat","range-port-min":1000,"range-port-max":1001,"fakedrop":false}"#,
    r#"{"name":"dcgw","vm":2,"vm-conn":1}"#,
    r#"{"name":"mgw","user":2,"bst":2,"server":2}"#,
    r#"{"name":"bng","user":2,"cpe":2,"server":2,"fw-rules":2}"#,
];

#[test]
fn translated_pipelines_match_golden_files() {
    for json in SMALL {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let declaration = pipeline.build().unwrap();
        let request = BackendRequest { declaration: &declaration, directions: BOTH };
        let text = OvsDpdk.translate(&request).unwrap().whole();
        assert_eq!(Ovs.translate(&request).unwrap().whole(), text);
        golden(&format!("ovs-{}.txt", pipeline.name()), &text);
        if let Ok(text) = crate::backends::Kernel.translate(&request) {
            golden(&format!("kernel-{}.txt", pipeline.name()), &text.whole());
        }
    }
}

#[test]
fn translated_changes_match_golden_files() {
    let mut all = String::new();
    for json in [
        r#"{"name":"mgw","user":2,"bst":2,"handover":1,"fluct-user":1,"fluct-server":1}"#,
        r#"{"name":"bng","user":2,"fluct-user":1}"#,
        r#"{"name":"l3fwd","fluct-l3-table":1,"fluct-group-table":1}"#,
        r#"{"name":"l2fwd","fluct-table":1}"#,
    ] {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let declaration = pipeline.build().unwrap();
        let request = BackendRequest { declaration: &declaration, directions: BOTH };
        for event in pipeline.events(0).unwrap() {
            let text = OvsDpdk.update(&request, &event.changes).unwrap().whole();
            all.push_str(&format!("# {} {:?}\n{text}", pipeline.name(), event.what));
        }
    }
    golden("ovs-changes.txt", &all);
}

/// The configuration of a third-party switch has the same tables, but no registers, tunnels or names of ranlab. All its
/// flows are marked.
#[test]
fn third_party_switch_gets_plain_openflow() {
    let mut able = Vec::new();
    for json in SMALL {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let declaration = pipeline.build().unwrap();
        let request = BackendRequest { declaration: &declaration, directions: BOTH };
        match OpenFlow.translate(&request) {
            Ok(text) => {
                let whole = text.whole();
                for line in whole.lines().filter(|line| line.starts_with("flow ")) {
                    assert!(line.starts_with(&format!("flow add cookie={COOKIE:#x},table=")), "{line}");
                    assert!(!line.contains("reg") && !line.contains("tun_"), "{line}");
                }
                golden(&format!("openflow-{}.txt", pipeline.name()), &whole);
                able.push(pipeline.name());
            }
            Err(refused) => assert!(refused.to_string().contains("by OpenFlow alone"), "{refused}"),
        }
    }
    assert_eq!(able, ["portfwd", "l2fwd", "l3fwd", "rlimit", "acl", "nat"]);
    let mut all = String::new();
    for json in [
        r#"{"name":"l3fwd","fluct-l3-table":2,"fluct-group-table":1}"#,
        r#"{"name":"l2fwd","fluct-table":2}"#,
    ] {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let declaration = pipeline.build().unwrap();
        // If packets arrive from one direction only, its tables follow table 0 without a gap.
        let request = BackendRequest { declaration: &declaration, directions: &[Direction::Downlink] };
        for event in pipeline.events(0).unwrap() {
            all += &OpenFlow.update(&request, &event.changes).unwrap().whole();
        }
    }
    golden("openflow-changes.txt", &all);
    assert!(all.contains(&format!("delete_strict cookie={COOKIE:#x}/{COOKIE_MASK:#x},table=")), "{all}");
}

#[test]
fn limits_are_reported_as_reasons() {
    let lacks = |json: &str| {
        let declaration = serde_json::from_str::<Pipeline>(json).unwrap().build().unwrap();
        OvsDpdk
            .translate(&BackendRequest { declaration: &declaration, directions: BOTH })
            .unwrap_err()
            .to_string()
    };
    let many = lacks(r#"{"name":"mgw","user":262145}"#);
    assert!(many.contains("meter: 262145 meters are required, it supports 262144"), "{many}");
    let many = lacks(r#"{"name":"acl","rule-num":65001}"#);
    assert!(many.contains("ACL: 65001 rules are required, it supports 65000"), "{many}");
    let declaration = serde_json::from_str::<Pipeline>(r#"{"name":"mgw"}"#).unwrap().build().unwrap();
    let request = BackendRequest { declaration: &declaration, directions: BOTH };
    let attach = Change::Attach { user: UserId(9), tunnel: TunnelId(0) };
    assert!(OvsDpdk.update(&request, &[attach]).is_err());
}
