//! User-defined pacers and schedulers. They are signed modules that TRAFFIC control loads over REST and that run in a
//! sandbox.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use crate::lab;
use crate::station;

use bytes::Bytes;
use ed25519_dalek::{Signer, SigningKey};
use lab::cell::MockCell;
use lab::{Lab, escaped};
use ranlab_e2::ric::Method;
use ranlab_radio::user_plane::Carrier;
use ranlab_ran::node::{NodeKind, identity};
use ranlab_ran::radio::{FlowPlan, RadioConfig, SharedRadio, TrafficKind, quantile};
use ranlab_ric::bus::Bus;
use ranlab_ric::traffic::Traffic;
use serde_json::{Value as Json, json};
use station::{HOME, template};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Pacer that keeps at most 30,000 bytes in RLC.
const PACER: &str = r#"(module (func (export "admits") (param i32 i64 i64) (result i32)
    (i64.lt_u (local.get 1) (i64.const 30000))))"#;
/// Scheduler that selects the last queue with a packet.
const SCHEDULER: &str = r#"(module (memory (export "memory") 1)
    (func (export "queues") (result i32) (i32.const 64))
    (func (export "pick") (param i32 i64) (result i32)
        (loop $next
            (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
            (br_if $next (i32.and (i32.ge_s (local.get 0) (i32.const 0))
                (i32.eqz (i32.load offset=68 (i32.mul (local.get 0) (i32.const 32)))))))
        (local.get 0)))"#;
/// Pacer that passes packets, and enters an endless loop after a while.
const ENDLESS: &str = r#"(module (global $calls (mut i32) (i32.const 0))
    (func (export "admits") (param i32 i64 i64) (result i32)
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (loop $on (br_if $on (i32.gt_u (global.get $calls) (i32.const 100))))
        (i32.const 1)))"#;

struct Nobody;

impl Bus for Nobody {
    fn publish(&mut self, _: &str, _: Bytes) {}
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns a signed module in the form that the REST API expects.
fn signed(wasm: &[u8], by: &SigningKey) -> String {
    json!({ "wasm": hex(wasm), "signature": hex(&by.sign(wasm).to_bytes()) }).to_string()
}

struct World {
    lab: Lab,
    radio: SharedRadio,
    bearer: String,
}

impl World {
    /// Creates a base station whose UE has a call in parallel with a download.
    fn new(trusted: &[SigningKey]) -> Self {
        let mut lab = Lab::new(Box::new(Traffic::new(10 * MS, Box::new(Nobody)).unwrap()));
        let flows = vec![FlowPlan::new(TrafficKind::Voip), FlowPlan::new(TrafficKind::Tcp(3_000_000))];
        let stage_keys = trusted.iter().map(|key| key.verifying_key().to_bytes()).collect();
        let radio = RadioConfig { flows, stage_keys, ..RadioConfig::new(Carrier::n78(106), 1) };
        let (agent, radio) = template(NodeKind::Gnb, radio).agent(0, lab.now).unwrap();
        let id = identity(NodeKind::Gnb, HOME, 0).0;
        lab.adopt(agent, MockCell::default(), id);
        let bearer = format!("nodes/{}/bearers/1/1", escaped(&id));
        let mut world = Self { lab, radio: radio.unwrap(), bearer };
        world.pass(300 * MS);
        world
    }

    fn pass(&mut self, time: Duration) {
        let end = self.lab.now + time;
        while self.lab.now < end {
            self.lab.pass(MS);
            self.radio.lock().unwrap().pass(self.lab.now);
        }
    }

    fn put(&mut self, role: &str, body: &str) -> (u16, Json) {
        let path = format!("{}/stages/{role}", self.bearer);
        self.lab.ask(Method::Put, &path, body)
    }

    fn stages(&mut self) -> Json {
        self.pass(50 * MS);
        self.lab.get(&self.bearer.clone())["stages"].clone()
    }

    /// Returns the median times that the call's packets spend in RLC and in queues, in microseconds.
    fn voice(&mut self) -> (u64, u64) {
        self.pass(2 * SECOND);
        self.radio.lock().unwrap().begin();
        self.pass(2 * SECOND);
        let meter = self.radio.lock().unwrap().meter();
        let voice = meter.flows.iter().find(|flow| flow.what == "voip").unwrap();
        (quantile(&voice.rlc_us, 0.5).unwrap(), quantile(&voice.tc_us, 0.5).unwrap())
    }
}

#[test]
fn custom_pacer_and_scheduler_reduce_voice_delay() {
    let mut world = World::new(&[SigningKey::from_bytes(&[1; 32]), key()]);
    world.pass(10 * SECOND);
    let (before, _) = world.voice();
    assert!(
        before > 100_000,
        "packets of the call must wait in RLC behind the download, but wait only {before} us"
    );
    for (path, body) in [
        ("queues/1", r#"{"capacity_bytes": 100000}"#),
        ("filters/1", r#"{"protocol": 17, "destination_port": 2112, "queue": 1}"#),
    ] {
        let path = format!("{}/{path}", world.bearer);
        world.lab.put(&path, body);
    }
    for (role, text) in [("pacer", PACER), ("scheduler", SCHEDULER)] {
        let (status, answer) = world.put(role, &signed(&wat::parse_str(text).unwrap(), &key()));
        assert_eq!(status, 200, "{answer}");
    }
    let (rlc, queue) = world.voice();
    assert!(
        rlc < 10_000 && queue < 3_000,
        "packets of the call wait {rlc} us in RLC and {queue} us in their queue"
    );
    // The counters of the pacer and of the scheduler are reported.
    let states = world.stages();
    for (stage, role) in states.as_array().unwrap().iter().zip(["pacer", "scheduler"]) {
        let number = |name: &str| stage[name].as_u64().unwrap();
        assert_eq!((&stage["role"], &stage["failed"]), (&json!(role), &Json::Null), "{stage}");
        let instructions = number("fuel") / number("calls");
        assert!(number("calls") > 1_000 && (2..500).contains(&instructions), "{stage}");
    }
    assert!(states[0]["refusals"].as_u64().unwrap() > 100, "{states}");
    // After the stages are removed, the delays are as long as before.
    for role in ["pacer", "scheduler"] {
        let path = format!("{}/stages/{role}", world.bearer);
        assert_eq!(world.lab.ask(Method::Delete, &path, "").0, 200);
    }
    assert_eq!(world.stages(), json!([]));
    world.pass(5 * SECOND);
    assert!(world.voice().0 > 100_000);
}

#[test]
fn endless_stage_is_unloaded_and_reported() {
    let mut world = World::new(&[key()]);
    assert_eq!(world.put("pacer", &signed(&wat::parse_str(ENDLESS).unwrap(), &key())).0, 200);
    world.pass(2 * SECOND);
    let states = world.stages();
    assert!(states[0]["failed"].as_str().is_some_and(|why| why.contains("fuel")), "{states}");
    assert_eq!(states[0]["calls"], json!(101), "a failed stage must not be called again");
    // No pacer is configured, so packets pass again, and the download continues.
    let rate = world.radio.lock().unwrap().cell().flows(1).unwrap()[1].delivered.1;
    world.pass(SECOND);
    let bytes = world.radio.lock().unwrap().cell().flows(1).unwrap()[1].delivered.1 - rate;
    assert!(
        bytes * 8 > 30_000_000,
        "the download must continue without a pacer, but has only {bytes} bytes in a second"
    );
    assert_eq!(world.put("pacer", &signed(&wat::parse_str(PACER).unwrap(), &key())).0, 200);
    assert_eq!(world.stages()[0]["failed"], Json::Null);
}

#[test]
fn invalid_module_is_rejected_without_change() {
    let mut world = World::new(&[key()]);
    let pacer = wat::parse_str(PACER).unwrap();
    assert_eq!(world.put("pacer", &signed(&pacer, &key())).0, 200);
    let admits = |inside: &str| {
        let text = format!(
            r#"(module {inside} (func (export "admits") (param i32 i64 i64) (result i32) (i32.const 1)))"#
        );
        signed(&wat::parse_str(text).unwrap(), &key())
    };
    let long = format!(r#"(memory 1) (data (i32.const 0) "{}")"#, "a".repeat(16_000));
    let other_key = signed(&pacer, &SigningKey::from_bytes(&[8; 32]));
    let changed = json!({ "wasm": hex(&pacer[..8]), "signature": hex(&key().sign(&pacer).to_bytes()) });
    for (role, body, status, reason, words) in [
        ("pacer", other_key, 403, "untrusted", "none of the 1 keys"),
        ("pacer", changed.to_string(), 403, "untrusted", "none of the 1 keys"),
        ("pacer", signed(b"(module)", &key()), 409, "invalid", "the module"),
        ("pacer", signed(&pacer[..8], &key()), 409, "invalid", "admits"),
        ("scheduler", signed(&pacer, &key()), 409, "invalid", "pick"),
        ("pacer", admits(r#"(import "env" "time" (func))"#), 409, "invalid", "import"),
        ("pacer", admits("(memory 21)"), 409, "invalid", "memory"),
        ("pacer", admits("(table 257 funcref)"), 409, "invalid", "table"),
        ("pacer", admits("(func (drop (f32.const 1)))"), 409, "invalid", "floating"),
        ("pacer", admits("(func $start) (start $start)"), 409, "invalid", "start"),
        ("pacer", admits(&long), 409, "invalid", "16000"),
    ] {
        let (answered, answer) = world.put(role, &body);
        assert_eq!((answered, &answer["reason"]), (status, &json!(reason)), "{words}: {answer}");
        assert!(answer["detail"].as_str().unwrap().contains(words), "{words}: {answer}");
    }
    for body in ["{}", r#"{"wasm": "0", "signature": ""}"#, r#"{"wasm": "zz", "signature": "00"}"#] {
        assert_eq!(world.put("pacer", body).0, 422, "{body}");
    }
    assert_eq!(world.put("shaper", &signed(&pacer, &key())).0, 404);
    let states = world.stages();
    assert_eq!((states.as_array().unwrap().len(), &states[0]["bytes"]), (1, &json!(pacer.len())), "{states}");
    // Without a configured key, every module is rejected.
    let (status, answer) = World::new(&[]).put("pacer", &signed(&pacer, &key()));
    assert_eq!((status, &answer["reason"]), (403, &json!("untrusted")), "{answer}");
}
