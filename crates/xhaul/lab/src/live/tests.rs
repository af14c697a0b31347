//! Tests of live networks. They are skipped if namespaces are not permitted.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use super::*;
use ranlab_lab::worker::FaultOwner;

fn flow(role: &str, way: Segment) -> LiveFlow {
    LiveFlow {
        role: role.to_owned(),
        way,
        raw: false,
        payloads: vec![400; 3],
        period_ns: 2_000_000,
        releases: 1,
        timer_ns: 0,
        budget_ns: Some(1),
    }
}

fn component(flows: Vec<LiveFlow>) -> XhaulComponent {
    XhaulComponent {
        cost_batches: 0,
        rate_bps: 100_000_000,
        flows: JsonField(flows),
        ..XhaulComponent::default()
    }
}

/// Returns whether networks cannot be created here, and prints the reason.
fn impossible() -> bool {
    let lacks = ranlab_host::netns::lacking();
    if let Some(lack) = lacks.first() {
        ranlab_host::doctor::skipped(lack);
    }
    !lacks.is_empty()
}

/// Reads windows until all these metrics are present and above 0, because a busy machine may delay a whole window.
fn found(live: &mut RunningNetwork, names: &[&str]) -> Report {
    let mut report = Report::default();
    for _ in 0..20 {
        report = Report::default();
        live.begin();
        std::thread::sleep(Duration::from_millis(200));
        live.end(&mut report);
        live.check().unwrap();
        if names.iter().all(|name| report.numbers.get(*name).is_some_and(|value| *value > 0.0)) {
            return report;
        }
    }
    panic!("{names:?} are missing in {report:?}");
}

/// Two networks at the same time must have separate namespaces, addresses and queues.
#[test]
fn concurrent_networks_are_isolated() {
    if impossible() {
        return;
    }
    let both = |flows: Vec<LiveFlow>| RunningNetwork::start(&component(flows)).unwrap();
    let mut first = both(vec![flow("cell_dl", Segment::CellDown), flow("cell_ul", Segment::CellUp)]);
    let mut second = both(vec![flow("cell_dl", Segment::CellDown), flow("user", Segment::Echo)]);
    second.begin();
    let report = found(&mut first, &["cell_dl.sent", "cell_ul.sent", "cell_dl.delay_us_p99", "cu_dl.mbps"]);
    // No packet of the other network may arrive.
    assert_eq!((report.numbers["cell_dl.malformed"], report.numbers["cell_ul.malformed"]), (0.0, 0.0));
    assert!(!report.numbers.contains_key("rtt_ms") && !report.distributions["cell_ul_ns"].is_empty());
    // Every frame exceeds a budget of one nanosecond.
    assert_eq!(report.numbers["cell_dl.late_ratio"], 1.0);
    second.end(&mut Report::default());
    let names: Vec<_> = [&first, &second].iter().map(|live| live.lab.namespaces()).collect();
    assert!(names.iter().all(|count| *count >= 3), "{names:?}");
    drop(first);
    let echoed = found(&mut second, &["rtt_ms", "cell_dl.sent"]);
    assert!(echoed.numbers["live.namespaces"] >= 4.0);
}

#[test]
fn vbbus_share_card_and_taps_record_frames_at_switch() {
    if impossible() {
        return;
    }
    let flows = vec![
        flow("cell_dl", Segment::CellDown),
        flow("neighbour_dl", Segment::NeighbourDown),
        flow("background_ul", Segment::BackgroundUp),
    ];
    let part = XhaulComponent {
        sharing: JsonField(LiveSharing::Bridge),
        taps: true,
        busy_ns: Some(JsonField((10_000_000, 1_000_000))),
        cost_batches: 50,
        ..component(flows)
    };
    let mut live = RunningNetwork::start(&part).unwrap();
    let names =
        ["cell_dl.tap_in_us_p99", "cell_dl.tap_out_us_p99", "neighbour_dl.sent", "background_ul.sent"];
    let report = found(&mut live, &names);
    for name in ["cost_ns_dl", "cost_ul_of_port"] {
        assert!(report.numbers[name] > 0.0, "{name}: {:?}", report.numbers);
    }
}

#[test]
fn invalid_network_is_rejected_with_reason() {
    let Err(trouble) = RunningNetwork::start(&XhaulComponent { cpu_quota: 9.0, ..component(Vec::new()) })
    else {
        panic!("an invalid network was accepted")
    };
    assert_eq!(trouble.fault, FaultOwner::Environment);
    assert!(trouble.what.contains("`cu.cpu_quota`"), "{trouble}");
}
