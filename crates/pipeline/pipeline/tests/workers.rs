//! Several workers forward packets while they receive changes, and never wait. Each verdict must equal that of an oracle
//! with the same changes as the worker had applied at that point.
#![allow(clippy::unwrap_used)] // a test may panic if it cannot continue
use ranlab_pipeline::declare::{Event, Port, UserId, Verdict};
use ranlab_pipeline::engine::{BURST, Burst, Engine, Isa};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::rss::RssHash;
use ranlab_pipeline::trace::{Directions, Trace, Traffic};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

const BURSTS: usize = 400;
const NS_PER_BURST: u64 = 3_000;

/// Results of a worker for one burst, with the number of updates applied before the burst.
struct Did {
    updates: u64,
    packets: Vec<(Verdict, u64)>,
}

fn digest(frame: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.hash(&mut hasher);
    hasher.finish()
}

/// Returns the packets of burst `number` of an endless replay.
///
/// The engine processes the packets of one port before the packets of the other port. The oracle needs the same order,
/// because both ports share meters.
fn packets(part: &Trace, number: usize) -> Vec<(Port, &[u8])> {
    let first = number * BURST % (part.len() / BURST * BURST);
    let mut packets: Vec<_> = part.range(first, BURST).collect();
    packets.sort_by_key(|(port, _)| *port as usize);
    packets
}

/// Progress of workers and control. On a busy machine, neither side may advance far ahead of the other. Only the test
/// waits for this; the engine never waits.
#[derive(Default)]
struct Pace {
    bursts: AtomicU64,
    sent: AtomicU64,
}

/// Maximum number of updates that may be missing when a burst begins.
const BEHIND: u64 = 16;

fn work(engine: &mut Engine, part: &Trace, pace: &Pace, events: usize) -> Vec<Did> {
    let mut burst = Burst::new();
    let one = |number: usize| {
        while pace.sent.load(Ordering::Relaxed) + BEHIND < (number * events / BURSTS) as u64 {
            std::thread::yield_now();
        }
        burst.clear();
        burst.fill(packets(part, number).into_iter());
        engine.process(number as u64 * NS_PER_BURST, &mut burst);
        pace.bursts.fetch_add(1, Ordering::Relaxed);
        let outcome = |i| (burst.fate(i).unwrap(), digest(burst.frame(i)));
        Did { updates: engine.counters().updates, packets: (0..burst.len()).map(outcome).collect() }
    };
    (0..BURSTS).map(one).collect()
}

/// Replays a worker's bursts and updates in its order.
fn replay(pipeline: &Pipeline, part: &Trace, events: &[Event], did: &[Did]) {
    let mut oracle = pipeline.oracle().unwrap();
    let mut applied = 0;
    for (number, did) in did.iter().enumerate() {
        while applied < did.updates {
            oracle.apply(events[applied as usize].what);
            applied += 1;
        }
        for ((port, frame), (verdict, digest_of)) in packets(part, number).into_iter().zip(&did.packets) {
            let mut expected = frame.to_vec();
            let expected_fate = oracle.process(number as u64 * NS_PER_BURST, port, &mut expected);
            assert_eq!(expected_fate, *verdict, "burst {number} after {applied} updates");
            assert!(
                !matches!(verdict, Verdict::Sent(_)) || digest(&expected) == *digest_of,
                "burst {number}"
            );
        }
    }
}

fn run(json: &str, workers: usize, users: u32) {
    let pipeline: Pipeline = serde_json::from_str(json).unwrap();
    let declaration = pipeline.build().unwrap();
    let traffic = Traffic { pkt_num: 16_384, dir: Directions::Bidir, ..Traffic::default() };
    let trace = Trace::generate(&pipeline, &traffic).unwrap();
    let parts = RssHash::new(&declaration, workers).unwrap().divide(&trace);
    let busy = parts.iter().all(|part| part.len() >= BURST);
    assert!(busy, "each worker must get at least one burst of packets");
    let (mut engines, mut control) = Engine::start(&declaration, workers, Isa::detect()).unwrap();
    let events = pipeline.events(0).unwrap();
    let pace = Pace::default();
    let did: Vec<Vec<Did>> = std::thread::scope(|scope| {
        let threads: Vec<_> = engines
            .iter_mut()
            .zip(&parts)
            .map(|(engine, part)| scope.spawn(|| work(engine, part, &pace, events.len())))
            .collect();
        // The events are spread over the progress of the workers and not over time, so that a slow machine applies as
        // many events.
        for (number, event) in events.iter().enumerate() {
            let start_at = (number * BURSTS * workers / events.len()) as u64;
            while pace.bursts.load(Ordering::Relaxed) < start_at {
                std::thread::yield_now();
            }
            control.send(&event.changes).unwrap();
            pace.sent.fetch_add(1, Ordering::Relaxed);
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (did, part) in did.iter().zip(&parts) {
        assert!(did.last().unwrap().updates > 10, "too few changes arrived during the run");
        replay(&pipeline, part, &events, did);
    }
    for user in (0..users).map(UserId) {
        let used = |engine: &&Engine| engine.usage(user).is_some_and(|usage| usage.packets != [0; 2]);
        assert!(engines.iter().filter(used).count() <= 1, "{user:?} has meters on several workers");
    }
    assert!(engines.iter().all(|engine| engine.counters().changes_refused == 0));
}

#[test]
fn mobile_gateway_runs_on_two_workers() {
    let json = r#"{"name":"mgw","user":300,"bst":40,"server":50,"nhop":8,"fluct-user":40,"handover":400,
        "fluct-server":100,"rate-limit":40000000,"rate-burst":3000,"fakedrop":false}"#;
    run(json, 2, 300);
}

#[test]
fn broadband_gateway_runs_on_three_workers() {
    let json = r#"{"name":"bng","user":100,"cpe":20,"server":50,"user-conn":3,"fw-rules":20,"fluct-user":40,
        "fluct-server":60,"rate-limit":40000000,"rate-burst":3000}"#;
    run(json, 3, 100);
}
