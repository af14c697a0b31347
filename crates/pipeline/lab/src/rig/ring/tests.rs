//! Tests the packet accounting of a window from the counters of tester and switch. The components themselves are tested
//! in `ranlab-pipeline-lab` and in `tests/e2e/ring.sh`.

use std::collections::BTreeMap;

use super::super::Pipeline;
use super::*;
use ranlab_campaign::value::Value;
use ranlab_lab::RigContext;
use ranlab_lab::experiment::fake;
use ranlab_lab::experiment::harness::{Experiment, RunningExperiment};

const SWITCH: [(&str, f64); 2] = [("updates_refused", 0.0), ("changes_refused", 0.0)];

fn recorded(
    outcome: &RingOutcome,
    counters: &RingCounters,
    best_mpps: f64,
    when_noisy: &str,
) -> (Judged, BTreeMap<String, f64>, String) {
    let lab = RigContext::new("ranlab");
    let set = [
        ("sut.tier", Value::from("ring")),
        (ranlab_lab::experiment::keys::WHEN_NOISY, Value::from(when_noisy)),
    ];
    let point = fake::point(&RunningExperiment::new(&lab, Pipeline), &set);
    let report = |numbers: &[(&str, f64)], detail| {
        let mut report = fake::report(1.0, 1.0, numbers);
        report.detail = detail;
        report
    };
    let detail = serde_json::to_value(counters).unwrap_or_default();
    let mut window = fake::window(&lab, Account::Sut, ENGINE, report(&SWITCH, detail));
    let own = report(&[], serde_json::to_value(outcome).unwrap_or_default());
    window.taken.append(&mut fake::window(&lab, Account::Tool, TESTER, own).taken);
    let itself = report(&[("tester_mpps", best_mpps)], serde_json::Value::Null);
    window.taken.append(&mut fake::window(&lab, Account::Tool, SELF_TEST, itself).taken);
    let mut recorder = Recorder::default();
    // The load is one packet per microsecond for 10 ms.
    let judged = Pipeline.record(&fake::run(&point), &window, &mut recorder);
    let recording = recorder.finish();
    (judged, recording.metrics, recording.reason)
}

/// Returns the outcome for 10,000 due packets. Of these, 20 are late, 30 find no space in the ring, and 1 is too long
/// for the buffers. 60 of the 9,949 sent packets do not return.
fn outcome() -> RingOutcome {
    RingOutcome {
        due: 10_000,
        sent: 9_949,
        late: 20,
        ring_full: 30,
        unfit: 1,
        received: 9_889,
        waiting: 16,
        took_ns: 10_000_000,
        ..RingOutcome::default()
    }
}

fn counters() -> RingCounters {
    RingCounters {
        received: 9_933,
        dropped: [("miss".to_owned(), 7), ("table 12".to_owned(), 9)].into(),
        on_purpose: 9,
        ring_full: 11,
        unfit: 2,
        ..RingCounters::default()
    }
}

#[test]
fn causes_of_loss_add_up_to_lost_packets() {
    let (judged, metrics, reason) = recorded(&outcome(), &counters(), 10.0, "invalid");
    assert_eq!(judged, Ok(Outcome::Degraded));
    let causes: f64 = CAUSES.iter().map(|(name, _)| metrics[*name]).sum();
    assert_eq!((metrics[LOST], causes + metrics[UNKNOWN], metrics[UNKNOWN]), (111.0, 111.0, 6.0));
    let of = |name: &str| metrics[name];
    assert_eq!(
        (of("lost_late"), of("lost_ring_full"), of("lost_too_long"), of("lost_in_ring")),
        (20.0, 30.0, 3.0, 16.0)
    );
    assert_eq!((of("lost_dropped"), of("lost_injected"), of("lost_return_ring_full")), (16.0, 9.0, 11.0));
    assert_eq!(of("lost_dropped_miss"), 7.0);
    // Packets that the generator did not send are not losses of the switch.
    assert!((of("loss_ratio") - 91.0 / 9_980.0).abs() < 1e-12 && of("tool.unsent_ratio") == 0.002);
    assert_eq!((of("carried_mpps"), of("tester_share")), (0.9889, 0.1));
    // Packets that return after the window are not counted as carried.
    let late = RingOutcome { window_ns: 10_000_000, received_in_window: 5_000, ..outcome() };
    assert_eq!(recorded(&late, &counters(), 10.0, "invalid").1["carried_mpps"], 0.5);
    for words in [
        "of 10000 packets, 111 did not come back: 20 not sent because the generator was late, 30 not sent because the ring",
        "9 dropped on purpose",
        "6 for an unknown reason; meanwhile 0.0 % of the CPU time was stolen",
        "dropped: table 12 9, miss 7",
    ] {
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn contradictory_counters_invalidate_the_repeat() {
    let more = RingCounters { on_purpose: 16, ..counters() };
    let (judged, _, _) = recorded(&outcome(), &more, 10.0, "invalid");
    assert!(
        matches!(&judged, Err(RigError::Rig(why)) if why.contains("60 packets are lost, but the causes reported by the system under test add up to 61")),
        "{judged:?}"
    );
    let short = RingOutcome { late: 19, ..outcome() };
    assert!(matches!(recorded(&short, &counters(), 10.0, "invalid").0, Err(RigError::Rig(_))));
}

/// Drops are described by core. If the sum lacks a core's counter, the repeat is invalid.
#[test]
fn core_counters_add_up_to_switch_counters() {
    let core = |received, miss: u64, ring_full| RingCounters {
        received,
        dropped: [("miss".to_owned(), miss)].into(),
        ring_full,
        ..RingCounters::default()
    };
    let cores = vec![core(5_000, 30, 4), core(4_933, 10, 0)];
    let all = RingCounters { cores, ..core(9_933, 40, 4) };
    let (judged, metrics, reason) = recorded(&outcome(), &all, 10.0, "invalid");
    assert_eq!((judged, metrics[UNKNOWN]), (Ok(Outcome::Degraded), 0.0));
    let words = "core 0 received 5000 and lost 34 of them, core 1 received 4933 and lost 10 of them";
    assert!(reason.contains(words), "{reason}");
    let wrong = RingCounters { ring_full: 5, ..all };
    let judged = recorded(&outcome(), &wrong, 10.0, "invalid").0;
    assert!(
        matches!(&judged, Err(RigError::Rig(why)) if why.contains("packet counters are inconsistent")),
        "{judged:?}"
    );
}

#[test]
fn load_above_tester_maximum_is_invalid() {
    let good = RingOutcome { due: 9_000, sent: 9_000, received: 9_000, ..RingOutcome::default() };
    let whole = RingCounters { received: 9_000, ..RingCounters::default() };
    assert_eq!(recorded(&good, &whole, 1.01, "invalid").0, Ok(Outcome::Ok));
    let (judged, metrics, reason) = recorded(&good, &whole, 0.99, "invalid");
    assert_eq!(judged, Ok(Outcome::Invalid));
    assert!(reason.starts_with("tester_share is 0.9") && metrics["lost"] == 0.0, "{reason}");
    assert_eq!(recorded(&good, &whole, 0.99, "warn").0, Ok(Outcome::Ok));
    let strange = RingOutcome { unknown: 1, ..good };
    assert_eq!(recorded(&strange, &whole, 10.0, "invalid").0, Ok(Outcome::Degraded));
}

#[test]
fn drops_are_described_by_table_and_summed_by_reason() {
    let place = |name: &str, count| (name.to_owned(), count);
    let own = RingCounters {
        dropped: [place("miss", 7), place("metered", 9)].into(),
        places: [
            place("uplink meter (metered)", 9),
            place("uplink route table 0 (miss)", 3),
            place("downlink route table 0 (miss)", 4),
        ]
        .into(),
        ..counters()
    };
    let (judged, metrics, reason) = recorded(&outcome(), &own, 10.0, "invalid");
    assert_eq!((judged, metrics["lost_dropped_miss"]), (Ok(Outcome::Degraded), 7.0));
    let words =
        "dropped: uplink meter (metered) 9, downlink route table 0 (miss) 4, uplink route table 0 (miss) 3";
    assert!(reason.contains(words), "{reason}");
}
