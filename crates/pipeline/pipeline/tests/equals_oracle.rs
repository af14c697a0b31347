//! Every pipeline forwards like its oracle, byte by byte. The tests cover valid and damaged packets, changes during the
//! run, and both instruction sets.
#![allow(clippy::unwrap_used)] // a test may panic if it cannot continue
mod common;

use ranlab_machine::Random;
use ranlab_pipeline::declare::{DropReason, Verdict};
use ranlab_pipeline::engine::{BURST, Burst, Engine, Isa};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Sizes, Trace, Traffic};
use std::collections::BTreeMap;

/// Number of packets, which is small under Miri because Miri is slow.
const PACKETS: u64 = if cfg!(miri) { 512 } else { 100_000 };

fn pipeline(json: &str) -> Pipeline {
    serde_json::from_str(json).unwrap()
}

/// Runs all configurations with 100,000 packets in total. Returns the number of packets by verdict.
fn verify(configurations: &[&str]) -> BTreeMap<String, u64> {
    let mut fates = BTreeMap::new();
    for (json, seed) in configurations.iter().zip(1..) {
        run(&pipeline(json), PACKETS / configurations.len() as u64, seed, &mut fates);
    }
    fates
}

fn run(pipeline: &Pipeline, packets: u64, seed: u64, fates: &mut BTreeMap<String, u64>) {
    let declaration = pipeline.build().unwrap();
    let mut oracle = pipeline.oracle().unwrap();
    let mut engines: Vec<_> = [Isa::Baseline, Isa::Wide]
        .map(|isa| {
            let (mut workers, control) = Engine::start(&declaration, 1, isa).unwrap();
            (workers.remove(0), control, Burst::new())
        })
        .into_iter()
        .collect();
    let traffic = Traffic {
        pkt_num: packets,
        dir: Directions::Bidir,
        sizes: if seed.is_multiple_of(2) { Sizes::Imix } else { Sizes::Fixed },
        random_seed: seed,
        ..Traffic::default()
    };
    let trace = Trace::generate(pipeline, &traffic).unwrap();
    let events = pipeline.events(1).unwrap();
    let mut pending = events.iter().cycle();
    let mut random = Random::stream(seed, 77);
    let mut now_ns = 0;
    let frames: Vec<_> = trace.iter().collect();
    for chunk in frames.chunks(BURST) {
        now_ns += random.below(20_000);
        for event in pending.by_ref().take(random.below(6) as usize) {
            oracle.apply(event.what);
            for (_, control, _) in &mut engines {
                control.send(&event.changes).unwrap();
            }
        }
        let chunk: Vec<_> = chunk
            .iter()
            .map(|(port, frame)| {
                let mut frame = frame.to_vec();
                (0..random.below(3)).for_each(|_| common::damage(&mut frame, &mut random));
                (*port, frame)
            })
            .collect();
        for (engine, _, burst) in &mut engines {
            burst.clear();
            chunk.iter().for_each(|(port, frame)| burst.push(*port, frame).unwrap());
            engine.process(now_ns, burst);
        }
        // The engine processes the packets of one port before the packets of the other port. The oracle needs the same
        // order, because both ports share meters.
        let mut order: Vec<usize> = (0..chunk.len()).collect();
        order.sort_by_key(|&i| chunk[i].0 as usize);
        for i in order {
            let (port, received) = &chunk[i];
            let mut frame = received.clone();
            let verdict = oracle.process(now_ns, *port, &mut frame);
            *fates.entry(format!("{verdict:?}")).or_default() += 1;
            for (_, _, burst) in &engines {
                assert_eq!(burst.fate(i), Some(verdict), "{pipeline:?}\n{port:?} {received:02x?}");
                if matches!(verdict, Verdict::Sent(_)) {
                    assert_eq!(burst.frame(i), frame, "{pipeline:?}\n{port:?} {received:02x?}");
                }
            }
        }
    }
    let first = engines[0].0.counters();
    let second = engines[1].0.counters();
    assert_eq!(first, second);
    assert_eq!(first.received.iter().sum::<u64>(), packets);
    assert_eq!(first.sent.iter().sum::<u64>() + first.dropped.iter().sum::<u64>(), packets);
    assert_eq!(first.changes_refused, 0);
}

fn dropped(fates: &BTreeMap<String, u64>, reason: DropReason) -> u64 {
    fates.get(&format!("{:?}", Verdict::Dropped(reason))).copied().unwrap_or(0)
}

/// Checks that the traffic contains the cases that the pipeline distinguishes.
fn assert_met(fates: &BTreeMap<String, u64>, reasons: &[DropReason]) {
    for reason in if cfg!(miri) { &[] } else { reasons } {
        assert!(dropped(fates, *reason) > 10, "{reason:?} hardly occurred: {fates:?}");
    }
    let sent: u64 = fates.iter().filter(|(verdict, _)| verdict.starts_with("Sent")).map(|(_, n)| n).sum();
    assert!(sent > PACKETS / 10, "{fates:?}");
}

use DropReason::{
    Checksum, Denied, Fragment, HopLimit, Malformed, Metered, Miss, NotForUs, NotIp, NotTunnel,
};

#[test]
fn portfwd_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"portfwd"}"#,
        r#"{"name":"portfwd","mac-swap-upstream":"02:03:04:05:06:07","mac-swap-downstream":"12:13:14:15:16:17"}"#,
    ]);
    assert_met(&fates, &[Malformed]);
}

#[test]
fn l2fwd_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"l2fwd","fakedrop":false}"#,
        r#"{"name":"l2fwd","upstream-table-size":300,"downstream-table-size":70,"fluct-table":40}"#,
        r#"{"name":"l2fwd","upstream-table-size":3,"fluct-table":9,"decomposition":"chain","fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss]);
}

#[test]
fn l3fwd_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"l3fwd","fakedrop":false}"#,
        r#"{"name":"l3fwd","upstream-l3-table-size":700,"upstream-group-table-size":9,"prefix-lengths":"mixed",
            "downstream-l3-table-size":300,"downstream-group-table-size":5,"fluct-l3-table":30,
            "fluct-group-table":20,"fakedrop":false}"#,
        r#"{"name":"l3fwd","upstream-l3-table-size":400,"downstream-l3-table-size":400,"family":"dual",
            "prefix-lengths":"mixed","decomposition":"chain"}"#,
        r#"{"name":"l3fwd","upstream-l3-table-size":2,"family":"ipv6","fluct-l3-table":7,"fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotForUs, NotIp, Checksum, HopLimit]);
}

#[test]
fn encap_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"encap","fakedrop":false}"#,
        r#"{"name":"encap","station":400,"endpoint":30,"decomposition":"chain"}"#,
        r#"{"name":"encap","station":40,"endpoint":3,"family":"dual","fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotForUs, NotIp, Checksum, NotTunnel, Fragment]);
}

#[test]
fn rlimit_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"rlimit","user":100,"rate-limit":20000,"rate-burst":3000,"fakedrop":false}"#,
        r#"{"name":"rlimit","user":3,"rate-limit":4000000000000,"decomposition":"chain"}"#,
        r#"{"name":"rlimit","user":100,"family":"dual","rate-limit":20000,"rate-burst":3000,"fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotIp, Checksum, Metered]);
}

#[test]
fn acl_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"acl","rule-num":2,"fakedrop":false}"#,
        r#"{"name":"acl","rule-num":400,"fakedrop":false}"#,
        r#"{"name":"acl","rule-num":300,"seed-file":"fw1","decomposition":"chain","fakedrop":false}"#,
        r#"{"name":"fw","rule-num":1000,"seed-file":"ipc1"}"#,
        r#"{"name":"acl","rule-num":300,"seed-file":"fw1","family":"ipv6","fakedrop":false}"#,
        r#"{"name":"acl","rule-num":600,"family":"dual","decomposition":"chain","fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, NotIp, Checksum, Denied]);
}

#[test]
fn nat_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"nat","range-port-min":1,"range-port-max":3,"fakedrop":false}"#,
        r#"{"name":"nat","range-ipv4-max":"10.0.0.4","decomposition":"chain"}"#,
        r#"{"name":"nat","range-ipv4-max":"10.0.0.4","family":"ipv6","fakedrop":false}"#,
        r#"{"name":"nat","range-port-min":1,"range-port-max":3,"family":"dual","fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotIp, Checksum, HopLimit]);
}

#[test]
fn dcgw_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"dcgw","vm":30,"host":7,"vm-conn":3,"server":20,"fakedrop":false}"#,
        r#"{"name":"dcgw","decomposition":"chain"}"#,
        r#"{"name":"dcgw","vm":30,"host":7,"vm-conn":3,"server":20,"family":"dual","fakedrop":false}"#,
        r#"{"name":"dcgw","vm":3,"family":"ipv6","decomposition":"chain","fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotForUs, NotIp, Checksum, NotTunnel, Fragment, HopLimit]);
}

/// Valid packets with a translation are sent in both IP versions. Without this test, the oracle test might compare only
/// drops.
#[test]
fn translated_packets_are_sent_in_both_ip_versions() {
    for name in ["nat", "dcgw", "bng"] {
        for family in ["ipv4", "ipv6", "dual"] {
            let mut json = serde_json::json!({ "name": name, "family": family, "fakedrop": false });
            if name == "bng" {
                json["rate-limit"] = 4_000_000_000_000_u64.into();
            }
            let pipeline: Pipeline = serde_json::from_value(json).unwrap();
            let (mut workers, _control) =
                Engine::start(&pipeline.build().unwrap(), 1, Isa::detect()).unwrap();
            let traffic = Traffic { pkt_num: 6400, dir: Directions::Bidir, ..Traffic::default() };
            let trace = Trace::generate(&pipeline, &traffic).unwrap();
            let mut burst = Burst::new();
            for first in (0..trace.len()).step_by(BURST) {
                trace.load(first, &mut burst);
                workers[0].process(1_000_000 * first as u64, &mut burst);
            }
            assert_eq!(workers[0].counters().sent, [3200; 2], "{name} {family}");
        }
    }
}

#[test]
fn translation_keeps_ip_version() {
    let mut declaration = pipeline(r#"{"name":"nat","family":"dual"}"#).build().unwrap();
    let (key, _) = declaration.tables.nats[0].entries[0];
    let (_, value) = declaration.tables.nats[0].entries[1];
    declaration.tables.nats[0].entries.push((key, value));
    let error = Engine::start(&declaration, 1, Isa::detect()).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "the translation of 10.0.0.1 changes the IP version; both sides must have the same");
}

#[test]
fn mgw_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"mgw","user":300,"bst":40,"server":400,"nhop":8,"fluct-user":50,"handover":100,
            "fluct-server":30,"rate-limit":60000,"rate-burst":3000,"fakedrop":false}"#,
        r#"{"name":"mgw","user":60,"bst":4,"server":40,"tunneling-method":"vxlan","fluct-user":5,
            "handover":10,"fluct-server":3,"decomposition":"chain","rate-limit":1000000000,"fakedrop":false}"#,
        r#"{"name":"mgw","user":2,"fluct-user":5,"fluct-server":9,"rate-limit":1000000000}"#,
        r#"{"name":"mgw","user":300,"bst":40,"server":400,"nhop":8,"family":"dual","fluct-user":50,"handover":100,
            "fluct-server":30,"rate-limit":60000,"rate-burst":3000,"fakedrop":false}"#,
        r#"{"name":"mgw","user":60,"bst":4,"server":4,"family":"ipv6","tunneling-method":"vxlan","fluct-server":9,
            "decomposition":"chain","rate-limit":1000000000,"fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotForUs, NotIp, Checksum, NotTunnel, Fragment, HopLimit, Metered]);
}

#[test]
fn bng_engine_equals_oracle() {
    let fates = verify(&[
        r#"{"name":"bng","user":100,"cpe":20,"server":50,"user-conn":4,"fw-rules":60,"fluct-user":20,
            "fluct-server":20,"rate-limit":60000,"rate-burst":3000,"fakedrop":false}"#,
        r#"{"name":"bng","user":30,"cpe":3,"tunneling-method":"vxlan","decomposition":"chain",
            "rate-limit":1000000000,"fakedrop":false}"#,
        r#"{"name":"bng","rate-limit":1000000000}"#,
        r#"{"name":"bng","user":100,"cpe":20,"server":50,"user-conn":4,"fw-rules":60,"fluct-user":20,
            "fluct-server":20,"family":"dual","rate-limit":60000,"rate-burst":3000,"fakedrop":false}"#,
        r#"{"name":"bng","user":30,"cpe":3,"family":"ipv6","tunneling-method":"vxlan","decomposition":"chain",
            "fluct-user":9,"fluct-server":30,"rate-limit":1000000000,"fakedrop":false}"#,
    ]);
    assert_met(&fates, &[Malformed, Miss, NotForUs, NotIp, Checksum, NotTunnel, Fragment, HopLimit, Metered]);
}
