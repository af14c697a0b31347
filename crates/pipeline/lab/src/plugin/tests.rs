//! Tests of plug-ins. Misbehaving plug-ins cause typed errors within a time limit. The Python example is verified and
//! measured.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::path::{Path, PathBuf};

use ranlab_pipeline::trace::Traffic;

use super::*;
use crate::pipeline::PipelineComponent;
use crate::ring::{RingCounters, RingOutcome, RingTesterComponent};
use ranlab_lab::OVER;
use ranlab_lab::RunningComponent;
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{FaultOwner, Report};

/// Time limit within which the caller of any misbehaving plug-in gets an error.
const TOLD: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Returns a program that misbehaves in the named way.
fn bad(folder: &mut Folder, name: &str) -> String {
    let path = folder.made().unwrap().join(name);
    if !path.exists() {
        std::os::unix::fs::symlink(root().join("crates/pipeline/lab/src/plugin/bad.sh"), &path).unwrap();
    }
    path.display().to_string()
}

fn portfwd() -> Option<JsonField<Pipeline>> {
    Some(JsonField(serde_json::from_str(r#"{"name":"portfwd"}"#).unwrap()))
}

fn traffic() -> JsonField<Traffic> {
    JsonField(Traffic { pkt_size: 128, pkt_num: 256, ..Traffic::default() })
}

fn switch(path: &str) -> PipelineComponent {
    PipelineComponent {
        pipeline: portfwd(),
        traffic: traffic(),
        engine: ENGINE.to_owned(),
        tier: "nic".to_owned(),
        plugin: Some(path.to_owned()),
        ..PipelineComponent::default()
    }
}

fn generator(path: &str) -> RingTesterComponent {
    RingTesterComponent {
        pipeline: portfwd(),
        traffic: traffic(),
        engine: "bare".to_owned(),
        plugin: Some(path.to_owned()),
        duration: Duration::from_millis(500),
        rate: 1_000,
        late_after: Duration::from_millis(400),
        drain: Duration::from_secs(3),
        ..RingTesterComponent::default()
    }
}

#[test]
fn misbehaving_switch_is_a_typed_error() {
    let mut folder = Folder::default();
    for (name, what) in [
        ("silent", "has not answered `hello` within"),
        ("dies", "it exited with code 3 before it answered `hello`; its last error output: \"no licence\""),
        ("nonsense", "its answer to `hello` is no JSON object: \"hello there\""),
        ("number", "its answer to `hello` does not have the id 1"),
        ("old", "it speaks version 0 of the protocol; allowed is 1"),
        ("neither", "its answer to `hello` is neither \"ok\": true nor"),
        ("endless", "its answer to `hello` cannot be read: a line of more than 65536 bytes"),
        ("floods", "{\\\"id\\\":9"),
        ("complains", "it refuses `configure`: \"I have no such switch\""),
        ("leaves", "it exited with code 0 before it answered `configure`"),
    ] {
        let begun = Instant::now();
        let trouble = PluginSwitch::start(&switch(&bad(&mut folder, name))).err().unwrap();
        assert!(trouble.what.contains(what), "{name}: {}", trouble.what);
        assert_eq!(trouble.fault, FaultOwner::Sut, "{name}");
        assert!(begun.elapsed() < TOLD, "{name}");
    }
    let none = PluginSwitch::start(&switch("/nowhere/plugin")).err().unwrap();
    assert_eq!(none.fault, FaultOwner::Environment);
    let mut counts = PluginSwitch::start(&switch(&bad(&mut folder, "counts"))).unwrap();
    counts.begin();
    let trouble = counts.check().unwrap_err();
    assert!(trouble.what.contains("lacks `received`, a whole number of at least 0"), "{trouble}");
}

#[test]
fn misbehaving_generator_is_a_rig_error() {
    let mut folder = Folder::default();
    let start = |path: &str| PluginTester::start(&generator(path));
    let trouble = start(&bad(&mut folder, "rateless")).err().unwrap();
    assert!(trouble.what.contains("lacks `rate_max`") && trouble.fault == FaultOwner::Rig, "{trouble}");
    let mut boasts = start(&bad(&mut folder, "boasts")).unwrap();
    boasts.begin();
    boasts.end(&mut Report::default());
    let trouble = boasts.check().unwrap_err();
    assert!(trouble.what.contains("of 5 packets sent, it reports 6 received"), "{trouble}");
    // This plug-in never reports the end of its run.
    let mut part = generator(&bad(&mut folder, "sleepy"));
    (part.duration, part.drain) = (Duration::ZERO, Duration::ZERO);
    let mut sleepy = PluginTester::start(&part).unwrap();
    sleepy.begin();
    let begun = Instant::now();
    while sleepy.counters()[OVER] == 0.0 {
        assert!(begun.elapsed() < TOLD);
        std::thread::sleep(POLL);
    }
    let trouble = sleepy.check().unwrap_err();
    assert!(trouble.what.contains("its run has not ended after 2 s"), "{trouble}");
}

/// The test runs `examples/plugin.py` in both roles. Every packet equals the oracle's and is accounted for.
#[test]
fn python_example_is_verified_and_measured() {
    let path = root().join("examples/plugin.py").display().to_string();
    if Command::new("python3").arg("--version").output().is_err() {
        ranlab_host::doctor::skipped("python3 is not installed");
        return;
    }
    let mut under_test = PluginSwitch::start(&switch(&path)).unwrap();
    let mut part = generator(&path);
    part.engine = ENGINE.to_owned();
    let mut testing = PluginTester::start(&part).unwrap();
    for _ in 0..2 {
        under_test.begin();
        testing.begin();
        let begun = Instant::now();
        while testing.counters()[OVER] == 0.0 {
            assert!(begun.elapsed() < TOLD, "the run must end in time");
            std::thread::sleep(POLL);
        }
        let mut ours = Report::default();
        let mut theirs = Report::default();
        testing.end(&mut ours);
        under_test.end(&mut theirs);
        testing.check().and_then(|()| under_test.check()).unwrap();
        let outcome: RingOutcome = serde_json::from_value(ours.detail).unwrap();
        let counters: RingCounters = serde_json::from_value(theirs.detail).unwrap();
        assert_eq!((outcome.due, outcome.sent + outcome.late, outcome.unknown), (500, 500, 0));
        assert_eq!((counters.received, outcome.unknown(&counters.ledger(0))), (outcome.sent, Ok(0)));
        assert_eq!(ours.numbers["verified_packets"], 256.0);
        let counted: u64 = ours.distributions["latency_ns"].iter().map(|(_, count)| count).sum();
        assert_eq!(counted, outcome.received);
    }
    drop(testing);
    // The example supports a single pipeline and rejects all others.
    let mut other = switch(&path);
    other.pipeline = Some(JsonField(serde_json::from_str(r#"{"name":"l2fwd"}"#).unwrap()));
    drop(under_test);
    let trouble = PluginSwitch::start(&other).err().unwrap();
    assert!(trouble.what.contains("it refuses `configure`: \"this switch passes packets on"), "{trouble}");
}
