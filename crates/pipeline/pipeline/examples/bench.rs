//! Measures the forwarding rate of one core from memory: packets per second of the thread's CPU time, in comparison
//! with a bare copy loop.
//!
//! `cargo run --release -p ranlab-pipeline --example bench [-- NAME]`.
//!
//! Every figure includes copying each packet from the trace into the burst. Every trace is verified with the oracle
//! first. Rates are the maximum over the repetitions, because other programs on the machine can only reduce them.
//! Copying and forwarding alternate, and ratios are the median over the repetitions.
//!
//! The copy loop shows the share of a core that the program receives. A hypervisor may give the sibling hyperthread to
//! another machine; both then run at little more than half of their rate.
#![allow(clippy::disallowed_methods, clippy::expect_used)] // a measurement needs a clock; the crate has none

use ranlab_pipeline::declare::{Direction, Verdict};
use ranlab_pipeline::engine::{BURST, Burst, Control, Engine, Isa};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Trace, Traffic};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Minimum number of packets in a trace. A larger trace has one packet per table entry, as published, rounded up to a
/// power of two. The environment variable `PACKETS` overrides the number.
///
/// The replayed trace competes with the tables for the cache. Packets from a network card do not compete, because they
/// are written to a small ring.
const TRACE_PACKETS: u64 = 1 << 14;
const REPEATS: u32 = 7;
const REPEAT_PACKETS: u64 = 3_000_000;
/// Number of packets of each trace that are compared with the oracle, which is slow.
const VERIFIED_PACKETS: usize = 4096;

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    println!("isa: {:?}", Isa::detect());
    for (name, json) in CASES {
        if !name.contains(&only) {
            continue;
        }
        let pipeline: Pipeline = serde_json::from_str(json).expect("the cases are valid");
        for dir in [Directions::Uplink, Directions::Downlink] {
            if dir == Directions::Downlink && !(name.starts_with("mgw") || name.starts_with("bng")) {
                continue;
            }
            let traffic = Traffic { pkt_num: trace_packets(&pipeline), dir, ..Traffic::default() };
            let trace = Trace::generate(&pipeline, &traffic).expect("the cases are valid");
            let wide_only = std::env::var_os("WIDE").is_some();
            for isa in [Isa::Wide, Isa::Baseline].into_iter().take(if wide_only { 1 } else { 2 }) {
                let [copy, rate, share] = forwarding_rate(&pipeline, &trace, isa);
                println!(
                    "{name:28} {dir:<9?} {isa:9?} {rate:7.1} Mpps   copy {copy:7.1} Mpps   {share:5.1} %   {} packets",
                    trace.len()
                );
            }
        }
    }
    if only.is_empty() || only == "updates" {
        updates();
    }
}

const CASES: &[(&str, &str)] = &[
    ("portfwd", r#"{"name":"portfwd"}"#),
    ("l2fwd 1k", r#"{"name":"l2fwd","upstream-table-size":1000}"#),
    ("l3fwd 10", r#"{"name":"l3fwd"}"#),
    (
        "l3fwd 10k mixed",
        r#"{"name":"l3fwd","upstream-l3-table-size":10000,"prefix-lengths":"mixed","upstream-group-table-size":16}"#,
    ),
    (
        "l3fwd 10k mixed chain",
        r#"{"name":"l3fwd","upstream-l3-table-size":10000,"prefix-lengths":"mixed","upstream-group-table-size":16,
            "decomposition":"chain"}"#,
    ),
    (
        "mgw 3 users",
        r#"{"name":"mgw","user":3,"bst":10,"server":100,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    ),
    (
        "mgw 300 users",
        r#"{"name":"mgw","user":300,"bst":40,"server":400,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    ),
    (
        "mgw 1M users",
        r#"{"name":"mgw","user":1000000,"bst":2000,"server":1000,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    ),
    (
        "bng 300 users",
        r#"{"name":"bng","user":300,"cpe":40,"server":400,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    ),
    ("nat 1001", r#"{"name":"nat"}"#),
    ("acl 100", r#"{"name":"acl","rule-num":100}"#),
    ("acl 1000", r#"{"name":"acl","rule-num":1000}"#),
    ("acl 10000", r#"{"name":"acl","rule-num":10000}"#),
    // Most packets of these cases are dropped, and each drop is counted by element.
    ("drops acl 1000", r#"{"name":"acl","rule-num":1000,"fakedrop":false}"#),
    ("drops meter", r#"{"name":"rlimit","user":300,"rate-limit":1500000,"rate-burst":20000}"#),
    ("acl fw1 100", r#"{"name":"acl","rule-num":100,"seed-file":"fw1"}"#),
    ("acl fw1 10000", r#"{"name":"acl","rule-num":10000,"seed-file":"fw1"}"#),
];

/// Returns three values: the rate of only copying the trace into bursts, the rate of forwarding it (both in Mpps), and
/// their ratio.
fn forwarding_rate(pipeline: &Pipeline, trace: &Trace, isa: Isa) -> [f64; 3] {
    let (mut engine, _control) = engine(pipeline, isa);
    verify(pipeline, trace, &mut engine);
    let mut burst = Burst::new();
    let before = engine.counters().sent.iter().sum::<u64>();
    let mut clock_ns = 0;
    let mut best = [0.0_f64; 2];
    let mut shares = Vec::new();
    for repeat in 0..=REPEATS {
        let copy = mpps(trace, &mut burst, &mut 0, |burst, _| {
            std::hint::black_box(burst);
        });
        let rate = mpps(trace, &mut burst, &mut clock_ns, |burst, now_ns| engine.process(now_ns, burst));
        // The first repetition only warms up the caches.
        if repeat > 0 {
            best = [best[0].max(copy), best[1].max(rate)];
            shares.push(100.0 * rate / copy);
        }
    }
    let counters = engine.counters();
    assert!(counters.sent.iter().sum::<u64>() - before > REPEAT_PACKETS, "too few packets were forwarded");
    let dropped = counters.dropped.iter().sum::<u64>();
    let received = counters.received.iter().sum::<u64>().max(1);
    if dropped * 100 > received {
        print!("[{:.0} % dropped] ", 100.0 * dropped as f64 / received as f64);
    }
    let acl = engine.acl_tables();
    let memory = engine.memory();
    if !acl.is_empty() && pipeline_is_acl(pipeline) {
        print!("[{} tuples] ", acl[0]);
    }
    if memory.asked_bytes > 0 {
        print!("[{} of {} MB on huge pages] ", memory.huge_bytes >> 20, memory.asked_bytes >> 20);
    }
    shares.sort_by(f64::total_cmp);
    [best[0], best[1], shares[shares.len() / 2]]
}

fn trace_packets(pipeline: &Pipeline) -> u64 {
    let given = std::env::var("PACKETS").ok().and_then(|text| text.parse().ok());
    given
        .filter(|packets: &u64| packets.is_power_of_two())
        .unwrap_or_else(|| pipeline.table_entries(Direction::Uplink).next_power_of_two().max(TRACE_PACKETS))
}

fn pipeline_is_acl(pipeline: &Pipeline) -> bool {
    matches!(pipeline, Pipeline::Acl(_))
}

fn engine(pipeline: &Pipeline, isa: Isa) -> (Engine, Control) {
    let declaration = pipeline.build().expect("the cases are valid");
    let (mut workers, control) = Engine::start(&declaration, 1, isa).expect("the cases fit the engine");
    (workers.remove(0), control)
}

fn verify(pipeline: &Pipeline, trace: &Trace, engine: &mut Engine) {
    let mut oracle = pipeline.oracle().expect("the cases are valid");
    let mut burst = Burst::new();
    for first in (0..VERIFIED_PACKETS).step_by(BURST) {
        burst.clear();
        let packets: Vec<_> = (first..first + BURST).filter_map(|i| trace.packet(i)).collect();
        packets
            .iter()
            .for_each(|(port, frame)| burst.push(*port, frame).expect("the burst should have room"));
        engine.process(first as u64, &mut burst);
        for (i, (port, frame)) in packets.iter().enumerate() {
            let mut expected = frame.to_vec();
            let verdict = oracle.process(first as u64, *port, &mut expected);
            assert_eq!(burst.fate(i), Some(verdict));
            assert!(!matches!(verdict, Verdict::Sent(_)) || burst.frame(i) == expected);
        }
    }
}

/// Returns packets per microsecond of CPU time.
fn mpps(trace: &Trace, burst: &mut Burst, now_ns: &mut u64, mut work: impl FnMut(&mut Burst, u64)) -> f64 {
    let mut done = 0;
    let start = cpu_ns();
    while done < REPEAT_PACKETS {
        for first in (0..trace.len()).step_by(BURST) {
            trace.load(first, burst);
            // The clock advances as if a core forwarded 20 Mpps.
            *now_ns += 50 * BURST as u64;
            work(burst, *now_ns);
            done += BURST as u64;
        }
    }
    done as f64 * 1e3 / (cpu_ns() - start) as f64
}

/// Returns the rate of the bare copy loop, in Mpps.
fn copied(trace: &Trace) -> f64 {
    mpps(trace, &mut Burst::new(), &mut 0, |burst, _| {
        std::hint::black_box(burst);
    })
}

/// Returns the CPU time of this thread. The scheduler's counter is not used, because it is only updated at ticks.
fn cpu_ns() -> u64 {
    ranlab_host::thread_cpu_ns().unwrap_or_else(|| START.elapsed().as_nanos() as u64)
}

static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

/// Measures the cost of 10,000 handovers and 10,000 server updates per second, and the time until they are visible.
fn updates() {
    let json = r#"{"name":"mgw","user":300,"bst":40,"server":400,"handover":10000,"fluct-server":5000,
                   "rate-limit":1000000000000,"rate-burst":4000000000}"#;
    let pipeline: Pipeline = serde_json::from_str(json).expect("the case is valid");
    let traffic = Traffic { pkt_num: trace_packets(&pipeline), ..Traffic::default() };
    let trace = Trace::generate(&pipeline, &traffic).expect("the case is valid");
    let events = pipeline.events(0).expect("the case is valid");
    assert_eq!(events.len(), 20_000);
    let mut idle = Vec::new();
    let mut busy = Vec::new();
    let mut latencies_ns = Vec::new();
    // Runs without and with updates alternate, so that other programs affect both to the same extent.
    for _ in 0..REPEATS {
        idle.push(run_with(&pipeline, &trace, &[], &mut latencies_ns));
        busy.push(run_with(&pipeline, &trace, &events, &mut latencies_ns));
    }
    let median = |shares: &mut Vec<f64>| {
        shares.sort_by(f64::total_cmp);
        shares[shares.len() / 2]
    };
    let idle = median(&mut idle);
    let busy = median(&mut busy);
    latencies_ns.sort_unstable();
    let at = |p: usize| latencies_ns[(latencies_ns.len() - 1) * p / 100] as f64 / 1e3;
    println!(
        "updates: {:.1} % of the copy loop without, {:.1} % with 20,000/s ({:+.1} %)",
        100.0 * idle,
        100.0 * busy,
        100.0 * (busy / idle - 1.0)
    );
    println!("visible after (us): p50 {:.1} p99 {:.1} max {:.1}", at(50), at(99), at(100));
}

/// Forwards for one second while another thread sends events at their times. Returns the forwarding rate relative to
/// the copy rate before and after.
fn run_with(
    pipeline: &Pipeline,
    trace: &Trace,
    events: &[ranlab_pipeline::declare::Event],
    latencies_ns: &mut Vec<u64>,
) -> f64 {
    let (mut engine, mut control) = engine(pipeline, Isa::detect());
    let stop = Arc::new(AtomicBool::new(false));
    let packets = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let copied_before = copied(trace);
            let mut burst = Burst::new();
            let mut index = 0;
            let start = cpu_ns();
            let mut now_ns = 0;
            while !stop.load(Ordering::Relaxed) {
                trace.load(index, &mut burst);
                index = (index + BURST) & (trace.len() - 1);
                now_ns += 50 * BURST as u64;
                engine.process(now_ns, &mut burst);
                packets.fetch_add(BURST as u64, Ordering::Relaxed);
            }
            let spent = cpu_ns() - start;
            assert_eq!(engine.counters().changes_refused, 0);
            let rate = packets.load(Ordering::Relaxed) as f64 * 1e3 / spent as f64;
            rate / f64::midpoint(copied_before, copied(trace))
        });
        // Wait until the worker has measured the copy loop.
        while packets.load(Ordering::Relaxed) == 0 {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        for event in events {
            // The thread sleeps between events, which leaves the core to the worker. With a spare core, it could spin
            // instead.
            let send_at = Duration::from_nanos(event.at_ns);
            while start.elapsed() < send_at {
                std::thread::sleep(send_at.saturating_sub(start.elapsed()).min(Duration::from_micros(50)));
            }
            let sent = Instant::now();
            let Ok(number) = control.send(&event.changes) else { continue };
            while control.visible() < number {
                std::hint::spin_loop();
            }
            latencies_ns.push(sent.elapsed().as_nanos() as u64);
        }
        std::thread::sleep(Duration::from_secs(1).saturating_sub(start.elapsed()));
        stop.store(true, Ordering::Relaxed);
        worker.join().unwrap_or(0.0)
    })
}
