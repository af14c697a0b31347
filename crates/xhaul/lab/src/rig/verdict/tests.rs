//! Tests of verdict sentences, with given numbers and with simulated campaigns.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::time::Duration;

use ranlab_campaign::plan::Plan;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Finished;
use ranlab_campaign::rig::{Rig, Run};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_lab::RigContext;

use super::*;
use crate::rig::Xhaul;
use ranlab_lab::experiment::harness::RunningExperiment;

/// Returns the findings of a scenario with these lines. Each point has two repeats of 20 ms.
fn findings(lines: &str) -> String {
    let mut rig = RunningExperiment::new(&RigContext::new("no-such-program"), Xhaul);
    let text = format!("title = \"t\"\nrig = \"xhaul\"\n{lines}\n[measure]\nrepeats = 2\n");
    let rigs = [rig.describe()];
    let scenario = Scenario::parse(&text, "t", &Overrides::default(), &rigs).unwrap();
    let plan = Plan::new(&scenario, &rigs[0]);
    let mut runs = Vec::new();
    for (point, repeat) in plan.points.iter().flat_map(|point| [(point, 0), (point, 1)]) {
        let run = Run::new(point, repeat, 7, Duration::from_millis(20));
        let mut recorder = Recorder::default();
        rig.prepare(&run).unwrap();
        let outcome = rig.measure(&run, &mut recorder).unwrap();
        runs.push(Finished {
            point: point.index,
            repeat,
            position: u32::try_from(runs.len()).unwrap(),
            outcome,
            reason: String::new(),
            recording: recorder.finish(),
            started_unix_ms: 0,
            elapsed: run.duration,
        });
    }
    let [description] = rigs;
    rig.verdict(&Results::new(scenario, description.metrics, plan.points, runs)).join("\n")
}

#[test]
fn campaign_describes_breaking_points_and_delay_composition() {
    let lines = "[sut]\nscheduler = \"strict\"\n[sweep.axes]\n\"cells.count\" = [1, 2, 20]";
    let sentences = findings(lines);
    let first = sentences.lines().next().unwrap();
    assert!(first.starts_with("As set, ") && first.contains("cells meet their budgets"), "{sentences}");
    assert!(first.contains("with 20 cells, a limit is exceeded: a port is offered "), "{sentences}");
    assert!(
        sentences.contains("the slower direction, took up to ")
            && sentences.contains("(proven: never above "),
        "{sentences}"
    );
    assert!(sentences.contains("A frame of cell_ul takes "), "{sentences}");
}

#[test]
fn bounds_are_described_as_proven_per_option() {
    let sentences =
        findings("[sut]\ntier = \"bound\"\n[sweep.axes]\n\"sut.scheduler\" = [\"strict\", \"drr\"]");
    for option in ["With sut.scheduler = strict, ", "With sut.scheduler = drr, "] {
        assert!(sentences.contains(option), "{sentences}");
    }
    assert!(sentences.contains("(proven: never above ") && !sentences.contains("took up to"), "{sentences}");
}

#[test]
fn dominant_radio_delay_is_named() {
    let sentences = findings(
        "[user]\nkind = \"ping\"\ninterval = \"3ms\"\n[air]\non = true\n\
         [sweep.axes]\n\"net.testbed\" = [\"sriov-noa\", \"macvlan-noa\"]",
    );
    assert!(sentences.contains("Most of this time is spent in the radio"), "{sentences}");
    let hidden =
        sentences.lines().find(|line| line.starts_with("macvlan-noa against sriov-noa: before the radio"));
    assert!(hidden.is_some_and(|line| line.contains("the radio hides it")), "{sentences}");
    let difference = sentences.lines().find(|line| line.starts_with("rtt_ms: "));
    assert!(difference.is_some_and(|line| line.contains("too few repeats")), "{sentences}");
}

#[test]
fn delay_meets_the_classes_with_higher_limits() {
    use super::budgets::{against, classes};
    assert_eq!(classes(100.0, true), "802.1CM / High100, 250 us, High500");
    assert_eq!((classes(100.0, false).as_str(), classes(3.0, false).as_str()), ("eCPRI High25", "none"));
    assert!(against(300.0, Some(250.0)).starts_with("misses its budget of 250 us (TR 38.801"));
    // Packets of split 2 are judged by the budget of F1 only.
    assert_eq!(against(600.0, Some(1500.0)), "meets its budget of 1500 us (F1, TR 38.801 option 2)");
}

#[test]
fn differences_within_variation_are_not_reported() {
    let sentence = |change, spread| difference("rtt_ms", "macvlan-a", "baseline", change, spread, &[]);
    assert!(sentence(0.01, 0.02).contains("no difference shown"));
    assert!(sentence(-0.01, 0.02).contains("no difference shown"));
    assert!(sentence(0.03, 0.02).contains("is 3 % higher than of baseline"));
    assert!(sentence(-0.5, 0.02).contains("50 % lower"));
}

/// Returns the sentences for a live campaign with one point that has these numbers.
fn of_numbers(numbers: &[(&str, f64)]) -> String {
    let rig = RunningExperiment::new(&RigContext::new("no-such-program"), Xhaul);
    let rigs = [rig.describe()];
    let text = "title = \"t\"\nrig = \"xhaul\"\n[sut]\ntier = \"live\"\n[measure]\nrepeats = 1\n";
    let scenario = Scenario::parse(text, "t", &Overrides::default(), &rigs).unwrap();
    let plan = Plan::new(&scenario, &rigs[0]);
    let mut recorder = Recorder::default();
    numbers.iter().for_each(|(name, value)| recorder.scalar(name, *value));
    let run = Finished {
        point: 0,
        repeat: 0,
        position: 0,
        outcome: Outcome::Ok,
        reason: String::new(),
        recording: recorder.finish(),
        started_unix_ms: 0,
        elapsed: Duration::from_secs(1),
    };
    let [description] = rigs;
    stamped::sentences(&Results::new(scenario, description.metrics, plan.points, vec![run])).join("\n")
}

#[test]
fn clocks_and_their_errors_are_described() {
    let cards = [
        ("live.clock", 1.0),
        ("live.clock_error_us", 0.75),
        ("live.clock_drift_ppm", -2.5),
        ("cable_dl.sent", 9.0),
    ];
    let sentences = of_numbers(&cards);
    assert!(
        sentences.contains("stamped by the cards' own clocks (PHC) at one point")
            && sentences.contains("wrong by 0.75 us"),
        "{sentences}"
    );
    assert!(sentences.contains("up to 2.5 ppm") && !sentences.contains("before they left"), "{sentences}");
    let kernel = of_numbers(&[("live.clock", 0.0), ("cable_ul.sent", 9.0), ("cable_ul.early", 1.0)]);
    assert!(kernel.contains("stamped by the kernel at one point"), "{kernel}");
    assert!(kernel.contains("At one point frames arrived before they left"), "{kernel}");
    let two = of_numbers(&[("live.clock", 2.0), ("live.clock_error_us", 41.0), ("cell_dl.sent", 9.0)]);
    assert!(two.contains("on two machines at one point") && two.contains("wrong by 41 us"), "{two}");
    // A network inside one machine has one clock, so there is no sentence.
    assert_eq!(of_numbers(&[("live.clock", 0.0), ("cell_dl.sent", 9.0)]), "");
}

/// Scenario lines of a split-7.2x cell at 25 Gbit/s over two cables.
const FRONTHAUL: &str = "[sut]\nsharing = \"none\"\n[net]\nmbps = 25000.0\nmtu = 9000\n\
                         [cells]\nsplit = \"7.2x\"\ncarrier = \"nr-100\"\npacing = \"spread\"\n";

#[test]
fn radio_unit_counts_early_on_time_and_late_frames() {
    let windows = "t1a_up = \"196us\"\nt2a_up = [\"80us\", \"160us\"]\nta3_up = \"50us\"\nta4_up = [\"60us\", \"180us\"]\n";
    let sentences =
        findings(&format!("{FRONTHAUL}{windows}[sweep.axes]\n\"net.metres\" = [100, 10000, 12000]"));
    for words in [
        // Delays are 8.420 to 15.805 us at 100 m. They are 198 us longer at 10 km, and 238 us longer at 12 km.
        "With net.metres = 100, cell_dl: 100 % early, 0 % on time, 0 % late at the radio unit; frames arrive 187.6 to 180.2 us ahead of the air",
        "With net.metres = 10000, cell_dl: 0 % early, 100 % on time, 0 % late at the radio unit; frames arrive 88.6 to 81.2 us ahead",
        "With net.metres = 12000, cell_dl: 0 % early, 0 % on time, 100 % late at the radio unit; frames arrive 68.6 to 61.2 us ahead",
        "all are on time with T1a from 196.3 to 267.4 us (proven, T2a [80us, 160us])",
        "With net.metres = 10000, cell_ul: 0 % early, 100 % on time, 0 % late at the DU; frames arrive 157.4 to 164.8 us behind the air",
        "all are on time with Ta3 from -47.4 to 63.7 us (proven, Ta4 [60us, 180us])",
        "Budgets met, net.metres: 100 ✗, 10000 ✓, 12000 ✗.",
    ] {
        assert!(sentences.contains(words), "{words}\n{sentences}");
    }
}

#[test]
fn window_narrower_than_delay_variation_is_reported() {
    let windows = "t1a_up = \"100us\"\nt2a_up = [\"80us\", \"84us\"]\n";
    let sentences = findings(&format!("{FRONTHAUL}{windows}"));
    assert!(
        sentences
            .contains("no T1a makes all frames arrive on time: delays vary by 4.9 us more than the window T2a [80us, 84us] allows"),
        "{sentences}"
    );
    assert!(sentences.contains("% early, ") && !sentences.contains("cell_ul: "), "{sentences}");
}

#[test]
fn each_split_is_judged_by_its_own_budget() {
    let sentences = findings(
        "[cells]\nmbps = 13.0\n[background]\ndirection = \"both\"\n\
         [sweep.axes]\n\"cells.split\" = [\"7.1-if4p5\", \"2\"]\n\"sut.scheduler\" = [\"fifo\", \"strict\", \"ats\"]",
    );
    assert!(
        sentences
            .starts_with("Budgets met, cells.split = 7.1-if4p5, by sut.scheduler: fifo ✓, strict ✓, ats ✓."),
        "{sentences}"
    );
    assert!(
        sentences.contains("Budgets met, cells.split = 2, by sut.scheduler: fifo ✓, strict ✓, ats ✓."),
        "{sentences}"
    );
    let two = sentences
        .lines()
        .find(|line| line.starts_with("With cells.split = 2, sut.scheduler = fifo"))
        .unwrap();
    assert!(two.ends_with("meets its budget of 1500 us (F1, TR 38.801 option 2)."), "{two}");
    let narrow =
        findings("[cells]\nbudget = \"high25\"\n[sweep.axes]\n\"sut.scheduler\" = [\"fifo\", \"strict\"]");
    assert!(narrow.contains("No scheduler meets every budget everywhere: fifo, strict."), "{narrow}");
    assert!(
        sentences.contains("The simplest scheduler that meets every budget is fifo (proven)"),
        "{sentences}"
    );
    assert!(
        narrow.contains("Budgets met, sut.scheduler: fifo ✗, strict ✗.")
            && narrow.contains("misses its budget of 25 us (eCPRI High25)"),
        "{narrow}"
    );
}

#[test]
fn missing_and_unexpected_bounds_are_explained() {
    let sentences = findings(
        "[sut]\nsharing = \"none\"\n[cells]\nsplit = \"2\"\nmbps = 13.0\nclass = 0\n\
         [background]\ndirection = \"both\"\nclass = 7\n[sweep.axes]\n\"sut.scheduler\" = [\"fifo\", \"strict\"]",
    );
    let sentences = sentences
        .lines()
        .find(|line| line.contains("the bound of fifo"))
        .unwrap_or_else(|| panic!("{sentences}"));
    assert!(
        sentences.contains("one queue: horizontal distance")
            && sentences.contains("strict priority: residual service"),
        "{sentences}"
    );
    let tight = FRONTHAUL.replace("sharing = \"none\"", "scheduler = \"ats\"");
    let sentences = findings(&tight.replace("[cells]", "[cells]\ncount = 2"));
    assert!(sentences.contains("No bound at ") && sentences.contains("exceeds its regulator"), "{sentences}");
}
