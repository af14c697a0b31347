//! Simulation of small networks with known results.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_xhaul::{
    CLASSES, Clock, Curves, DelayWindow, Duration, Flow, GateEntry, Gates, Host, MS, NS, Network,
    NetworkError, Options, Pattern, Port, Ps, Report, S, Scheduler, Shared, Simulation, Stage, StageId,
    TokenBucket, US, bounds, reference_gates, reference_network,
};

const GIGABIT: u64 = 1_000_000_000;
/// Duration of the inter-frame gap at 1 Gbit/s, in ns. It is not part of the last bit's delay.
const GAP_NS: u64 = 96;

fn port(name: &str, scheduler: Scheduler) -> Stage {
    Stage::Port(Port { scheduler, ..Port::new(name, GIGABIT) })
}

fn flow(class: u8, path: &[StageId], offset_ps: Ps, pattern: Pattern) -> Flow {
    Flow {
        name: format!("class {class}"),
        class,
        path: path.to_vec(),
        replicas: Vec::new(),
        shared: Default::default(),
        pattern,
        offset_ps,
        clock: Clock::default(),
        regulator: None,
        budget_ps: None,
        window: None,
    }
}

#[test]
fn store_and_forward_delays_the_last_bit_without_gaps() {
    // A frame of 520 bytes with preamble (4.16 us) passes three lines, and takes 2 us in each of two bridges.
    let bridge =
        |name| Stage::Port(Port { forwarding: Duration::Constant(2 * US), ..Port::new(name, GIGABIT) });
    let stages = vec![bridge("a"), bridge("b"), port("c", Scheduler::Fifo)];
    let network = Network { stages, flows: vec![flow(0, &[0, 1, 2], 0, Pattern::constant(200 * US, 532))] };
    let report = run(&network, 10 * MS);
    assert_eq!((max_ns(&report, 0), report.flows[0].delays.pdv_ps(1.0)), (16_480, 0));
    let bound = bounds(&network, Curves::Steps).unwrap().remove(0);
    assert_eq!((bound.delay_ps, bound.least_ps), (16_480 * NS, 16_480 * NS));
}

/// Returns a gate that is open for one frame of class 7 at the start of each cycle of 97.72 us.
fn narrow_gate() -> Scheduler {
    let entries = [(1_040, 0x80), (96_680, 0)];
    let entries = entries.map(|(ns, open)| GateEntry { duration_ps: ns * NS, open }).to_vec();
    Scheduler::Gates(Gates { entries, clock: Clock::default() })
}

#[test]
fn one_frame_window_sends_one_frame_per_cycle() {
    let cable = |stage| match stage {
        Stage::Port(port) => Stage::Port(Port { propagation_ps: 100 * NS, ..port }),
        other => other,
    };
    let over = |scheduler| Network {
        stages: vec![cable(port("10-1", Scheduler::Fifo)), cable(port("1-11", scheduler))],
        flows: vec![once(7, &[0, 1], 0, 142)],
    };
    assert_eq!(max_ns(&run(&over(narrow_gate()), MS), 0), 98_860);
    assert_eq!(max_ns(&run(&over(Scheduler::StrictPriority), MS), 0), 2_280);
    // The bound applies to a periodic flow at any phase.
    let mut network = over(narrow_gate());
    let reached = (0..200).map(|phase| {
        network.flows = vec![flow(7, &[0, 1], phase * 977 * NS, Pattern::constant(S / 1000, 142))];
        run(&network, 50 * MS).flows[0].delays.max_ps()
    });
    let reached = reached.max().unwrap();
    let bound = bounds(&network, Curves::Steps).unwrap()[0].delay_ps;
    assert!(reached <= bound && bound < reached + 2 * US, "{reached} {bound}");
}

/// Returns a flow with a single frame at time `at`.
fn once(class: u8, path: &[StageId], at: Ps, frame: u32) -> Flow {
    flow(class, path, 0, Pattern::Trace(vec![(at, frame)]))
}

fn run(network: &Network, duration_ps: Ps) -> Report {
    Simulation::new(network, Options { duration_ps, seed: 1 }).unwrap().run()
}

fn max_ns(report: &Report, flow: usize) -> Ps {
    report.flows[flow].delays.max_ps() / NS
}

#[test]
fn same_seed_has_same_digest_everywhere() {
    let mut network = reference_network(&Scheduler::Preemption { express_from: 7 }, false);
    network.flows.push(flow(2, &[6, 7], 0, Pattern::Poisson { gap_ps: 150 * US, frame: 700 }));
    let digest = |seed| {
        let network = network.clone();
        move || Simulation::new(&network, Options { duration_ps: 100 * MS, seed }).unwrap().run().digest
    };
    let here = digest(1)();
    let threads: Vec<_> =
        (0..4).map(|_| std::thread::scope(|scope| scope.spawn(digest(1)).join().unwrap())).collect();
    assert_eq!(threads, [here; 4]);
    assert_ne!(digest(2)(), here);
    // The expected digest was recorded once. It must be the same in all processes, on all machines, at all times.
    assert_eq!(here, 8_291_682_069_954_776_916);
}

#[test]
fn express_frame_fragments_preemptable_frame() {
    let network = Network {
        stages: vec![port("port", Scheduler::Preemption { express_from: 7 })],
        flows: vec![once(0, &[0], 0, 1538), once(7, &[0], 0, 84), once(7, &[0], 2 * US, 84)],
    };
    let report = run(&network, MS);
    // The preemptable frame is interrupted when 60 bytes are sent. Its fragment takes 8 + 60 + 4 + 12 = 84 bytes. The express frame then
    // takes 84 bytes.
    assert_eq!(max_ns(&report, 1), 2 * 84 * 8 - GAP_NS);
    // The second express frame arrives 656 ns (82 bytes, 74 of them MAC) after the start of the second fragment.
    assert_eq!(max_ns(&report, 2), (16 + 84) * 8 - GAP_NS);
    assert_eq!(max_ns(&report, 0), (1538 + 2 * 24 + 2 * 84) * 8 - GAP_NS);
}

#[test]
fn frame_of_up_to_143_bytes_is_not_preempted() {
    for (wire, waits) in [(143, 143), (144, 84)] {
        let network = Network {
            stages: vec![port("port", Scheduler::Preemption { express_from: 7 })],
            flows: vec![once(0, &[0], 0, wire), once(7, &[0], 0, 84)],
        };
        assert_eq!(max_ns(&run(&network, MS), 1), (waits + 84) * 8 - GAP_NS);
    }
}

#[test]
fn no_preemptable_frame_overtakes_an_interrupted_one() {
    let network = Network {
        stages: vec![port("port", Scheduler::Preemption { express_from: 7 })],
        flows: vec![once(0, &[0], 0, 1538), once(7, &[0], 2 * US, 84), once(6, &[0], 2 * US, 84)],
    };
    let report = run(&network, MS);
    assert_eq!(max_ns(&report, 0), (1538 + 24 + 84) * 8 - GAP_NS);
    assert_eq!(max_ns(&report, 2), (1538 + 24 + 84 + 84) * 8 - 2000 - GAP_NS);
}

#[test]
fn frame_waits_for_fitting_gate_window() {
    let network = Network {
        stages: vec![port("port", Scheduler::Gates(reference_gates()))],
        // 5 µs before the window of class 7 closes, a frame of 5.104 µs no longer fits. A frame of 5 µs does.
        flows: vec![
            once(7, &[0], 95 * US, 650),
            once(7, &[0], MS + 95 * US, 637),
            once(0, &[0], 99 * US, 1538),
        ],
    };
    let report = run(&network, 10 * MS);
    assert_eq!(max_ns(&report, 0), 905_000 + 5_200 - GAP_NS);
    assert_eq!(max_ns(&report, 1), 5_000);
    assert_eq!(max_ns(&report, 2), 1_000 + 12_304 - GAP_NS);
}

#[test]
fn drifting_gates_cross_all_source_phases() {
    let drifting = |drift_ppb| {
        let clock = Clock { offset_ps: 0, drift_ppb };
        let network = Network {
            stages: vec![port("port", Scheduler::Gates(Gates { clock, ..reference_gates() }))],
            flows: vec![flow(7, &[0], 10 * US, Pattern::constant(MS, 650))],
        };
        max_ns(&run(&network, 2 * S), 0)
    };
    assert_eq!(drifting(0), 5_200 - GAP_NS);
    // A drift of 100 ppm over 2 s is 200 µs, i.e. two windows of 100 µs.
    assert!(drifting(-100_000) > 100_000 && drifting(100_000) > 800_000);
}

#[test]
fn round_robin_shares_by_quanta() {
    let mut quanta = [1500; CLASSES];
    quanta[3] = 4500;
    let network = Network {
        stages: vec![Stage::Port(Port {
            scheduler: Scheduler::DeficitRoundRobin { quanta },
            queue_bytes_max: 100_000,
            ..Port::new("port", GIGABIT)
        })],
        flows: vec![
            flow(3, &[0], 0, Pattern::constant(5 * US, 1250)),
            flow(2, &[0], 0, Pattern::constant(5 * US, 625)),
            flow(1, &[0], 0, Pattern::constant(100 * US, 625)),
        ],
    };
    let report = run(&network, 100 * MS);
    let delivered = |flow: usize| report.flows[flow].delays.count() as f64;
    assert!(report.dropped[0] > 0 && report.flows[0].dropped + report.flows[1].dropped == report.dropped[0]);
    // The classes that need more than their share get bytes in the ratio 3 to 1. Class 1 needs less than its share and loses nothing.
    let ratio = delivered(0) * 1250.0 / (delivered(1) * 625.0);
    assert!((1.5..4.5).contains(&ratio), "{ratio}");
    assert_eq!((report.flows[2].dropped, report.flows[2].sent), (0, 1000));
}

#[test]
fn credit_limits_class_and_admits_others() {
    let mut idle_bps = [None; CLASSES];
    idle_bps[6] = Some(GIGABIT / 4);
    let network = Network {
        stages: vec![port("port", Scheduler::CreditBased { idle_bps })],
        flows: vec![
            flow(6, &[0], 0, Pattern::burst(10 * MS, 40, 1250)),
            flow(0, &[0], 0, Pattern::constant(20 * US, 1250)),
        ],
    };
    let report = run(&network, 100 * MS);
    // 40 frames of 10 µs each at a quarter of the rate: one frame each 40 µs.
    let last = max_ns(&report, 0);
    assert!((39 * 40_000..40 * 40_000 + 10_000).contains(&last), "{last}");
    assert!(max_ns(&report, 1) <= 30_000, "{}", max_ns(&report, 1));
}

#[test]
fn asynchronous_shaping_delays_only_bursts() {
    let mut burst = flow(6, &[0], 0, Pattern::burst(MS, 5, 1250));
    burst.regulator = Some(TokenBucket { burst_bytes: 1250, rate_bps: 100_000_000 });
    let network = Network {
        stages: vec![port("port", Scheduler::Asynchronous)],
        flows: vec![burst, flow(5, &[0], 5 * US, Pattern::constant(200 * US, 625))],
    };
    let report = run(&network, 100 * MS);
    // The shaper sends one frame of 10 µs each 100 µs.
    assert_eq!(max_ns(&report, 0), 410_000 - GAP_NS);
    assert_eq!(max_ns(&report, 1), 10_000 - GAP_NS);
}

#[test]
fn cut_through_forwards_after_header_unless_next_link_is_faster() {
    let line = |cut_through_bytes, next_bps| {
        let first =
            Port { cut_through_bytes, forwarding: Duration::Constant(US), ..Port::new("first", GIGABIT) };
        let network = Network {
            stages: vec![Stage::Port(first), Stage::Port(Port::new("next", next_bps))],
            flows: vec![once(0, &[0, 1], 0, 1250)],
        };
        max_ns(&run(&network, MS), 0)
    };
    assert_eq!(line(None, GIGABIT), 10_000 - GAP_NS + 1_000 + 10_000 - GAP_NS);
    assert_eq!(line(Some(64), GIGABIT), 512 + 1_000 + 10_000 - GAP_NS);
    // At 10 Gbit/s, 12 bytes take 9.6 ns.
    assert_eq!(line(Some(64), 10 * GIGABIT), 10_000 - GAP_NS + 1_000 + 990);
}

#[test]
fn host_delay_includes_interrupt_service_and_priority_work() {
    let host = Stage::Host(Host {
        name: "host".to_owned(),
        service: Duration::Constant(2 * US),
        sharing: Duration::Constant(0),
        coalescing_ps: 10 * US,
        wakeup: Duration::Constant(0),
        contention: Some((100 * US, 30 * US, 0)),
        queue_frames_max: 2,
    });
    let frames = vec![(40 * US, 84), (45 * US, 84), (46 * US, 84), (MS + 95 * US, 84)];
    let network = Network { stages: vec![host], flows: vec![flow(0, &[0], 0, Pattern::Trace(frames))] };
    let report = run(&network, 10 * MS);
    // The interrupt of the first frame is at 50 µs. The third frame finds the queue full. The last frame waits for its interrupt until 105
    // µs, and for the core until 130 µs.
    assert_eq!((report.flows[0].dropped, report.dropped[0], report.backlog_max[0]), (1, 1, 2));
    assert_eq!(report.flows[0].delays.min_ps(), 9 * US);
    assert_eq!(max_ns(&report, 0), 37_000);
}

#[test]
fn segments_add_up_to_the_delay() {
    let network = reference_network(&Scheduler::Preemption { express_from: 7 }, false);
    let report = run(&network, 100 * MS);
    for flow in &report.flows {
        assert_eq!((flow.dropped, flow.unfinished), (0, 0));
        let parts = flow.segments.iter().map(|part| part.waiting_ps + part.service_ps + part.transit_ps);
        assert_eq!(parts.sum::<u128>(), flow.delays.sum_ps());
    }
}

#[test]
fn background_in_opposite_direction_leaves_queue_unchanged() {
    let full = reference_network(&Scheduler::Fifo, false);
    let with = |flows: &[usize]| {
        let flows = flows.iter().map(|&flow| full.flows[flow].clone()).collect();
        run(&Network { flows, ..full.clone() }, 100 * MS).flows[0].delays.clone()
    };
    // Three cases: downlink IQ only, with background up (the published direction), and with background down.
    let alone = with(&[0]);
    let other = with(&[0, 4]);
    let shared = with(&[0, 5]);
    assert_eq!(alone, other);
    assert!(shared.max_ps() > alone.max_ps() + 5 * US);
}

#[test]
fn invalid_networks_are_rejected() {
    let fine = reference_network(&Scheduler::Fifo, false);
    let broken = |change: &dyn Fn(&mut Network)| {
        let mut network = fine.clone();
        change(&mut network);
        network.check().unwrap_err()
    };
    assert!(matches!(broken(&|network| network.flows[0].class = 8), NetworkError::Class { class: 8, .. }));
    assert!(matches!(broken(&|network| network.flows[0].path = vec![0, 0]), NetworkError::Path { .. }));
    assert!(matches!(broken(&|network| network.flows[0].path = vec![99]), NetworkError::Path { .. }));
    assert!(matches!(
        broken(&|network| network.flows[0].clock.drift_ppb = 100_001),
        NetworkError::Clock { .. }
    ));
    let narrow = Gates {
        entries: vec![
            GateEntry { duration_ps: 5 * US, open: 0x80 },
            GateEntry { duration_ps: MS, open: 0x7F },
        ],
        clock: Clock::default(),
    };
    let network = reference_network(&Scheduler::Gates(narrow), false);
    assert!(matches!(network.check(), Err(NetworkError::NeverSent { .. })));
    assert!(matches!(
        broken(&|network| network.stages[0] = Stage::Port(Port::new("slow", 1))),
        NetworkError::Rate { rate_bps: 1, .. }
    ));
}

/// Returns a network with two disjoint paths, of two and three lines. The first line of the first path is cut from 10 to 12 ms.
fn two_paths(replicas: Vec<Vec<StageId>>) -> Network {
    let line = |name, cut_ps| Stage::Port(Port { cut_ps, propagation_ps: US, ..Port::new(name, GIGABIT) });
    let cut = Some((10 * MS, 12 * MS));
    let stages =
        vec![line("a1", cut), line("a2", None), line("b1", None), line("b2", None), line("b3", None)];
    let spread = Pattern::constant(100 * US, 1250);
    Network { stages, flows: vec![Flow { replicas, ..flow(5, &[0, 1], 0, spread) }] }
}

#[test]
fn redundant_flow_loses_no_frame_at_single_cut() {
    let alone = run(&two_paths(Vec::new()), 50 * MS);
    // Frames of 9.904 us are sent each 100 us. Frames released from 10 ms to before 12 ms are lost.
    assert_eq!((alone.flows[0].sent, alone.flows[0].dropped, alone.flows[0].unfinished), (500, 20, 0));
    let network = two_paths(vec![vec![2, 3, 4]]);
    let both = &run(&network, 50 * MS).flows[0];
    assert_eq!((both.sent, both.dropped, both.unfinished, both.duplicates), (500, 0, 0, 480));
    // Frames use the longer path while the shorter one is cut.
    assert_eq!((both.delays.min_ps(), both.delays.max_ps()), (2 * 10_904 * NS, 3 * 10_904 * NS));
    let bound = &bounds(&network, Curves::Steps).unwrap()[0];
    assert_eq!((bound.least_ps, bound.delay_ps), (both.delays.min_ps(), both.delays.max_ps()));
    let segments = both.segments.iter().map(|segment| (segment.stage, segment.frames));
    assert_eq!(segments.collect::<Vec<_>>(), [(0, 480), (1, 480), (2, 500), (3, 500), (4, 500)]);
    let many = two_paths(vec![vec![2]; 4]);
    assert!(matches!(many.check(), Err(NetworkError::Replicas { paths: 5, .. })));
}

#[test]
fn frame_on_cut_link_is_lost() {
    let mut network = two_paths(Vec::new());
    // The frame is sent from 10 ms - 9.904 us to 10 ms. Its last bit leaves when the cut begins.
    for (earlier, lost) in [(9_904, 0), (9_903, 1)] {
        network.flows = vec![once(5, &[0, 1], 10 * MS - earlier * NS, 1250)];
        assert_eq!(run(&network, 50 * MS).flows[0].dropped, lost, "{earlier}");
    }
}

#[test]
fn frames_outside_their_window_are_early_or_late() {
    let line = Stage::Port(Port { propagation_ps: 10 * US, ..Port::new("line", GIGABIT) });
    let counts = |from_us: i64, to_us: i64| {
        let window = Some(DelayWindow { from_ps: from_us * 1_000_000, to_ps: to_us * 1_000_000 });
        // The three frames are released at once. Their delays are 19.904, 29.904 and 39.904 us.
        let flow = Flow { window, ..flow(7, &[0], 0, Pattern::burst(MS, 3, 1250)) };
        let report = run(&Network { stages: vec![line.clone()], flows: vec![flow] }, 10 * MS);
        (report.flows[0].early, report.flows[0].late)
    };
    assert_eq!(counts(0, 100), (0, 0));
    assert_eq!(counts(20, 39), (10, 10));
    assert_eq!(counts(50, 60), (30, 0));
    assert_eq!(counts(-20, -10), (0, 30));
}

#[test]
fn frames_are_copied_and_deduplicated_between_shared_lines() {
    let line = |name, cut_ps| Stage::Port(Port { cut_ps, propagation_ps: US, ..Port::new(name, GIGABIT) });
    let cut = Some((10 * MS, 12 * MS));
    let names = [("start", None), ("a1", cut), ("b1", None), ("b2", None), ("end", None)];
    let stages = names.map(|(name, cut_ps)| line(name, cut_ps)).to_vec();
    let redundant = Flow {
        replicas: vec![vec![0, 2, 3, 4]],
        shared: Shared { head: 1, tail: 1 },
        ..flow(5, &[0, 1, 4], 0, Pattern::constant(100 * US, 1250))
    };
    let other = flow(1, &[0, 1, 4], 50 * US, Pattern::constant(300 * US, 1250));
    let network = Network { stages, flows: vec![redundant, other] };
    let report = run(&network, 60 * MS);
    let [both, alone] = &report.flows[..] else { panic!("two flows") };
    assert_eq!((both.sent, both.dropped, both.unfinished, both.duplicates), (600, 0, 0, 580));
    // Frames are released at 50 us + k 300 us. Six of them are released while the line is cut.
    assert_eq!((alone.sent, alone.dropped), (200, 6));
    // Each line carries a frame only once.
    let loads = network.port_loads();
    let once = 1250 * 8 * 10_000;
    let more = once / 3;
    let expected = [once + more, once + more, once, once, once + more];
    assert_eq!(loads.iter().map(|load| load.1).collect::<Vec<_>>(), expected);
    let frames = both.segments.iter().map(|segment| segment.frames).collect::<Vec<_>>();
    assert_eq!(frames[..3], [600, 580, 580]);
    assert_eq!(frames[3..], [0, 600, 600, 20]);
    for (flow, bound) in report.flows.iter().zip(bounds(&network, Curves::Steps).unwrap()) {
        assert!(
            bound.least_ps <= flow.delays.min_ps() && flow.delays.max_ps() <= bound.delay_ps,
            "{bound:?}"
        );
        assert_eq!(bound.hops_ps.len(), if flow.name == "class 5" { 4 } else { 3 });
    }
    let wrong = Network {
        flows: vec![Flow { shared: Shared { head: 2, tail: 1 }, ..network.flows[0].clone() }],
        ..network
    };
    assert!(matches!(wrong.check(), Err(NetworkError::Path { .. })));
}
