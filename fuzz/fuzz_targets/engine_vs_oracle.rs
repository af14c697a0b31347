//! Compares the packet engine, with narrow and wide instructions, with the oracle of each pipeline. Verdicts and bytes
//! must be equal for frames that the input damages, also after table changes. Runs under the address sanitizer.
//!
//! The input is a byte that selects the pipeline, followed by records. A record starts with a byte of flags:
//!
//! - bit 0 applies table changes before the frame,
//! - bit 1 selects bytes of the input instead of a frame of the pipeline's traffic,
//! - bits 2 to 4 are the number of damaged bytes,
//! - bit 5 truncates the frame.
//!
//! The number of a frame (or the length of the bytes) and the data for the flags follow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_pipeline::declare::{Event, Verdict, Port};
use ranlab_pipeline::engine::{BURST, Burst, Engine, Isa};
use ranlab_pipeline::pipelines::{Oracle, Pipeline};
use ranlab_pipeline::trace::{Directions, Trace, Traffic};
use std::sync::LazyLock;

/// Pipelines with small tables. Each input must be fast, and larger tables would not reach other code.
const PIPELINES: &[&str] = &[
    r#"{"name":"portfwd","mac-swap-upstream":"02:03:04:05:06:07"}"#,
    r#"{"name":"l2fwd","upstream-table-size":20,"fluct-table":4,"fakedrop":false}"#,
    r#"{"name":"l3fwd","upstream-l3-table-size":3,"family":"dual","fluct-group-table":9,"fakedrop":false}"#,
    r#"{"name":"encap","station":9,"endpoint":3,"fakedrop":false}"#,
    r#"{"name":"rlimit","user":9,"rate-limit":20000,"rate-burst":300}"#,
    r#"{"name":"acl","rule-num":50,"seed-file":"fw1","fakedrop":false}"#,
    r#"{"name":"nat","range-port-min":1,"range-port-max":9,"decomposition":"chain","fakedrop":false}"#,
    r#"{"name":"dcgw","vm":9,"host":3,"vm-conn":2,"server":3,"fakedrop":false}"#,
    r#"{"name":"mgw","family":"dual","user":9,"bst":3,"server":3,"fluct-user":5,"handover":9,"rate-limit":90000,"fakedrop":false}"#,
    r#"{"name":"mgw","user":9,"bst":3,"tunneling-method":"vxlan","handover":9,"rate-limit":90000}"#,
    r#"{"name":"bng","user":9,"cpe":3,"server":3,"user-conn":2,"fluct-user":4,"fw-rules":9,"fakedrop":false}"#,
    r#"{"name":"bng","user":9,"cpe":3,"tunneling-method":"vxlan","decomposition":"chain","fakedrop":false}"#,
    r#"{"name":"acl","rule-num":50,"family":"dual","fakedrop":false}"#,
    r#"{"name":"encap","station":9,"endpoint":3,"family":"dual","fakedrop":false}"#,
    r#"{"name":"nat","range-port-min":1,"range-port-max":9,"family":"dual","fakedrop":false}"#,
    r#"{"name":"dcgw","vm":9,"host":3,"vm-conn":2,"server":3,"family":"ipv6","fakedrop":false}"#,
    r#"{"name":"bng","user":9,"cpe":3,"server":3,"user-conn":2,"fluct-user":4,"fw-rules":9,"family":"dual","fakedrop":false}"#,
];

struct Case {
    pipeline: Pipeline,
    frames: Vec<(Port, Vec<u8>)>,
    events: Vec<Event>,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let case = |json: &&str| {
        let pipeline: Pipeline = serde_json::from_str(json).expect("the pipeline should be valid");
        let traffic = Traffic { pkt_num: 64, dir: Directions::Bidir, thread: 1, ..Traffic::default() };
        let trace = Trace::generate(&pipeline, &traffic).expect("the traffic should be valid");
        let frames = trace.iter().map(|(port, frame)| (port, frame.to_vec())).collect();
        let events = pipeline.events(0).expect("the parameters should be valid");
        Case { pipeline, frames, events }
    };
    PIPELINES.iter().map(case).collect()
});

/// The remaining bytes of the input.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn octet(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn frame(&mut self, flags: u8, case: &Case) -> (Port, Vec<u8>) {
        let number = self.octet();
        let (port, mut frame) = case.frames[usize::from(number) % case.frames.len()].clone();
        if flags & 2 != 0 {
            let length = usize::from(number).min(self.0.len());
            frame = self.0[..length].to_vec();
            self.0 = &self.0[length..];
        }
        for _ in 0..flags >> 2 & 7 {
            let at = usize::from(self.octet());
            let value = self.octet();
            if let Some(octet) = frame.get_mut(at) {
                *octet = value;
            }
        }
        if flags & 0x20 != 0 {
            frame.truncate(usize::from(self.octet()));
        }
        (port, frame)
    }
}

fn check(
    engines: &mut [(Engine, Burst)],
    oracle: &mut Oracle,
    now_ns: u64,
    frames: &mut Vec<(Port, Vec<u8>)>,
) {
    // The engine processes the packets of one port before the packets of the other port, and the oracle needs the same
    // order.
    frames.sort_by_key(|(port, _)| *port as usize);
    for (engine, burst) in engines.iter_mut() {
        burst.clear();
        burst.fill(frames.iter().map(|(port, frame)| (*port, &frame[..])));
        engine.process(now_ns, burst);
    }
    for (i, (port, frame)) in frames.iter_mut().enumerate() {
        let verdict = oracle.process(now_ns, *port, frame);
        for (_, burst) in engines.iter() {
            assert_eq!(burst.fate(i), Some(verdict));
            assert!(!matches!(verdict, Verdict::Sent(_)) || burst.frame(i) == &frame[..]);
        }
    }
    frames.clear();
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let case = &CASES[usize::from(input.octet()) % CASES.len()];
    let declaration = case.pipeline.build().expect("the pipeline should be valid");
    let mut oracle = case.pipeline.oracle().expect("the pipeline should be valid");
    let mut engines = Vec::new();
    let mut controls = Vec::new();
    for isa in [Isa::Baseline, Isa::Wide] {
        let (mut workers, control) =
            Engine::start(&declaration, 1, isa).expect("the engine should support the declaration");
        engines.push((workers.remove(0), Burst::new()));
        controls.push(control);
    }
    let mut events = case.events.iter().cycle();
    let mut now_ns = 0;
    let mut frames = Vec::new();
    while !input.0.is_empty() {
        let flags = input.octet();
        if flags & 1 != 0 || frames.len() == BURST {
            check(&mut engines, &mut oracle, now_ns, &mut frames);
            now_ns += 1_000_000 * u64::from(flags >> 6);
            // The number of events does not exceed the number that a worker applies before one burst.
            for event in events.by_ref().take(usize::from(flags >> 5)) {
                oracle.apply(event.what);
                controls
                    .iter_mut()
                    .for_each(|control| control.send(&event.changes).map(|_| ()).expect("the queue should have room"));
            }
        }
        frames.push(input.frame(flags, case));
    }
    check(&mut engines, &mut oracle, now_ns, &mut frames);
});
