//! Tests with a tester and a device under test at the two ends of rings, including three kinds of loss with a known
//! cause.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::time::{Duration, Instant};

use ranlab_pipeline::trace::Traffic;

use super::device::{BARE, RingDevice};
use super::{RingCounters, RingOutcome, RingTesterComponent, RunningTester};
use crate::pipeline::{Instructions, PipelineComponent};
use ranlab_lab::OVER;
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::{FaultOwner, Report};
use ranlab_lab::{AnyComponent, RunningComponent};

fn under_test(engine: &str, json: &str) -> PipelineComponent {
    PipelineComponent {
        pipeline: Some(JsonField(serde_json::from_str(json).unwrap())),
        traffic: JsonField(Traffic { pkt_size: 128, pkt_num: 1_024, ..Traffic::default() }),
        engine: engine.to_owned(),
        tier: "ring".to_owned(),
        isa: Instructions::Baseline,
        verify: 512,
        ..PipelineComponent::default()
    }
}

fn bare() -> PipelineComponent {
    under_test(BARE, r#"{"name":"portfwd"}"#)
}

/// Returns a tester that sends 20,000 packets/s for half a second. Its timeouts allow for a shared machine.
fn tester(device: &dyn RunningComponent, part: &PipelineComponent) -> RingTesterComponent {
    let at = device.addresses();
    RingTesterComponent {
        pipeline: part.pipeline.clone(),
        traffic: part.traffic.clone(),
        engine: part.engine.clone(),
        access: at["access"].clone(),
        core: at["core"].clone(),
        ring: part.ring,
        cores: part.cores,
        duration: Duration::from_millis(500),
        rate: 20_000,
        late_after: Duration::from_millis(200),
        drain: Duration::from_secs(3),
        ..RingTesterComponent::default()
    }
}

/// Runs a window of device and tester, as a rig does.
fn window(device: &mut RingDevice, testing: &mut RunningTester) -> (RingOutcome, RingCounters, Report) {
    device.begin();
    testing.begin();
    let begun = Instant::now();
    while testing.counters()[OVER] == 0.0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run must end in time");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut ours = Report::default();
    let mut theirs = Report::default();
    testing.end(&mut ours);
    device.end(&mut theirs);
    testing.check().unwrap();
    device.check().unwrap();
    assert!(!ours.distributions["latency_ns"].is_empty());
    (ours.detail().unwrap(), theirs.detail().unwrap(), theirs)
}

fn unknown(outcome: &RingOutcome, counters: &RingCounters) -> u64 {
    outcome.unknown(&counters.ledger(outcome.waiting)).unwrap()
}

#[test]
fn device_drops_are_attributed_to_device() {
    let part = PipelineComponent { drop_every: 1_000, ..bare() };
    let mut device = RingDevice::start(&part).unwrap();
    let mut testing = RunningTester::start(&tester(&device, &part)).unwrap();
    let mut taken = 0;
    for _ in 0..2 {
        let (outcome, counters, _) = window(&mut device, &mut testing);
        let before = taken / 1_000;
        taken += counters.received;
        assert_eq!(counters.received, outcome.sent);
        assert_eq!((counters.on_purpose, outcome.due), (taken / 1_000 - before, 10_000));
        assert_eq!((outcome.sent - outcome.received, unknown(&outcome, &counters)), (counters.on_purpose, 0));
    }
}

#[test]
fn stalled_device_fills_rings() {
    let part = PipelineComponent { hang_after: Some(100), ring: 4, ..bare() };
    let mut device = RingDevice::start(&part).unwrap();
    let quick = Duration::from_millis(50);
    let mut testing =
        RunningTester::start(&RingTesterComponent { drain: quick, ..tester(&device, &part) }).unwrap();
    let (outcome, counters, _) = window(&mut device, &mut testing);
    // The device took 100 packets. 16 packets wait in the uplink ring, the only ring in use.
    assert_eq!((counters.received, outcome.received, outcome.waiting), (100, 100, 16));
    assert_eq!((outcome.sent, outcome.ring_full), (116, 10_000 - outcome.late - 116));
    assert_eq!(unknown(&outcome, &counters), 0);
}

#[test]
fn late_generator_is_reported_as_late() {
    let part = bare();
    let mut device = RingDevice::start(&part).unwrap();
    let stall = Duration::from_millis(400);
    let mut testing = RunningTester::start(&RingTesterComponent { stall, ..tester(&device, &part) }).unwrap();
    let (outcome, counters, _) = window(&mut device, &mut testing);
    // At least the packets due during the pause of 200 ms are late: one packet per 50 us. More are late if other
    // processes used the CPU.
    assert!(outcome.late >= 3_990, "{outcome:?}");
    assert_eq!(outcome.late + outcome.sent + outcome.ring_full, 10_000);
    assert_eq!((outcome.sent, unknown(&outcome, &counters)), (outcome.received, 0));
}

#[test]
fn engine_is_verified_and_changed_and_drops_have_reasons() {
    let json = r#"{"name":"mgw","user":30,"bst":4,"server":9,"handover":500,"rate-limit":1000000,"rate-burst":20000}"#;
    let part = PipelineComponent { verify: 64, ..under_test("native", json) };
    let mut device = RingDevice::start(&part).unwrap();
    let mut testing = RunningTester::start(&tester(&device, &part)).unwrap();
    let (outcome, counters, report) = window(&mut device, &mut testing);
    assert_eq!(unknown(&outcome, &counters), 0, "{outcome:?} {counters:?}");
    // Each user sends about 85 kB/s, below the limit of 1 MB/s.
    assert!(outcome.received > 0 && report.numbers["verified_packets"] == 64.0);
    assert!(report.numbers["updates_sent"] > 0.0 && !report.distributions["update_applied_ns"].is_empty());
    let slow = PipelineComponent { verify: 0, ..under_test("native", &json.replace("1000000", "1000")) };
    let mut device = RingDevice::start(&slow).unwrap();
    let mut testing = RunningTester::start(&tester(&device, &slow)).unwrap();
    let (outcome, counters, _) = window(&mut device, &mut testing);
    assert_eq!(unknown(&outcome, &counters), 0);
    let metered = outcome.sent - outcome.received - counters.ring_full;
    assert_eq!(counters.dropped["metered"], metered);
    assert_eq!(counters.places, [("uplink meter (metered)".to_owned(), metered)].into());
    assert!(counters.dropped["metered"] > 0, "{counters:?}");
}

/// Two cores are verified and changed as one device. Their counters add up to the counters of the device.
#[test]
fn two_cores_share_traffic_and_counters_add_up() {
    let json =
        r#"{"name":"mgw","user":30,"bst":4,"server":9,"handover":200,"rate-limit":1000,"rate-burst":20000}"#;
    let part = PipelineComponent { verify: 512, cores: 2, ..under_test("native", json) };
    let mut device = RingDevice::start(&part).unwrap();
    let mut testing = RunningTester::start(&tester(&device, &part)).unwrap();
    for _ in 0..2 {
        let (outcome, counters, report) = window(&mut device, &mut testing);
        assert_eq!(unknown(&outcome, &counters), 0, "{outcome:?} {counters:?}");
        assert!(counters.adds_up() && counters.cores.len() == 2, "{counters:?}");
        assert_eq!(counters.received, outcome.sent);
        assert!(counters.cores.iter().all(|core| core.received > 0 && core.dropped["metered"] > 0));
        assert!(report.numbers["verified_packets"] == 512.0 && report.numbers["core_imbalance"] >= 1.0);
        assert!(report.numbers["updates_sent"] > 0.0 && report.numbers["changes_refused"] == 0.0);
    }
    // Each core drops one of a hundred packets.
    let part = PipelineComponent { cores: 3, drop_every: 100, ..under_test(BARE, json) };
    let mut device = RingDevice::start(&part).unwrap();
    let mut testing = RunningTester::start(&tester(&device, &part)).unwrap();
    let (outcome, counters, _) = window(&mut device, &mut testing);
    assert_eq!(counters.on_purpose, counters.cores.iter().map(|core| core.received / 100).sum::<u64>());
    assert_eq!((outcome.sent - outcome.received, unknown(&outcome, &counters)), (counters.on_purpose, 0));
}

#[test]
fn tester_measures_itself_and_reconnects_to_next_device() {
    let part = bare();
    let alone = RingTesterComponent {
        pipeline: part.pipeline.clone(),
        traffic: part.traffic.clone(),
        ..Default::default()
    };
    let mut testing = RunningTester::start(&alone).unwrap();
    let mut report = Report::default();
    testing.begin();
    testing.end(&mut report);
    testing.check().unwrap();
    assert!(report.numbers["tester_mpps"] > 0.0 && !testing.counters().contains_key(OVER));
    let mut device = RingDevice::start(&part).unwrap();
    for run in [3, 4] {
        // Each trial of a search has a new tester.
        let mut testing =
            RunningTester::start(&RingTesterComponent { run, ..tester(&device, &part) }).unwrap();
        let (outcome, counters, _) = window(&mut device, &mut testing);
        assert_eq!((outcome.unknown, unknown(&outcome, &counters)), (0, 0));
    }
    let mut testing = RunningTester::start(&tester(&device, &part)).unwrap();
    testing.begin();
    drop(device);
    let begun = Instant::now();
    while testing.counters()[OVER] == 0.0 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    testing.end(&mut report);
    let trouble = testing.check().unwrap_err();
    assert_eq!(trouble.fault, FaultOwner::Sut, "{trouble}");
}

#[test]
fn invalid_ring_settings_are_rejected() {
    let many = RingDevice::start(&PipelineComponent { cores: 17, ..bare() }).err().unwrap();
    assert!(many.fault == FaultOwner::Environment && many.what.contains("`sut.cores` is 17"), "{many}");
    let part = PipelineComponent { cores: 2, ..bare() };
    let device = RingDevice::start(&part).unwrap();
    // This tester offers one ring to a switch that needs two.
    let few =
        RunningTester::start(&RingTesterComponent { cores: 1, ..tester(&device, &part) }).err().unwrap();
    assert!(few.fault == FaultOwner::Sut && few.what.contains("2 are needed, one for each core"), "{few}");
    drop(device);
    let part = bare();
    let device = RingDevice::start(&part).unwrap();
    let too_long = RingTesterComponent {
        rate: 100_000_000,
        duration: Duration::from_secs(60),
        ..tester(&device, &part)
    };
    let mut testing = RunningTester::start(&too_long).unwrap();
    testing.begin();
    testing.end(&mut Report::default());
    assert!(testing.check().unwrap_err().what.contains("packets are requested"));
    // A scenario from an untrusted source cannot use a tester with local sockets.
    let part = AnyComponent::from(tester(&device, &part));
    let started =
        ranlab_transport::run(async move { part.start(ranlab_lab::worker::WorkerTrust::PartsOnly).await });
    assert!(started.err().unwrap().what.contains("memory of one machine"));
}
