use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::results::MemoryJournal;
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::scenario::{Overrides, Scenario};

use super::*;

/// Returns the results of a mock rig with the failure mode `fails` and the expectation `expect`.
fn results(fails: &str, expect: &str) -> Results {
    let text = format!(
        "title = \"<t>\"\nrig = \"mock\"\n[sut]\nnoise = 0.0\n[load]\nfails = \"{fails}\"\n[measure]\nrepeats = 1\n{expect}"
    );
    let rig = MockRig::default();
    let scenario = Scenario::parse(&text, "t", &Overrides::default(), &[rig.describe()]).unwrap();
    let plan = Plan::new(&scenario, &rig.describe());
    let metrics = rig.describe().metrics;
    let mut journal = MemoryJournal::default();
    ranlab_campaign::run::run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {})
        .unwrap();
    Results::new(scenario, metrics, plan.points, journal.finished)
}

fn code(gate: &Gate, results: &Results) -> u8 {
    let judged = ranlab_campaign::expect::judge(results);
    gate.decide(results, &judged).map_or_else(|failure| failure.code(), |()| 0)
}

fn fail_on(names: &[&str]) -> Gate {
    Gate { fail_on: names.iter().map(|name| name.parse().unwrap()).collect(), junit: None }
}

const MISSED: &str = "[[expect]]\nmetric = \"throughput\"\nat_least = 1e9\n";

#[test]
fn exit_codes_distinguish_failures_of_system_and_machine() {
    let required = format!("{MISSED}required = true\n");
    for (fails, expect, expected) in [
        ("never", "", 0),
        ("never", MISSED, 0),
        ("never", required.as_str(), 1),
        ("crash", "", 1),
        ("missing", "", 3),
        ("busy", "", 3),
    ] {
        assert_eq!(code(&Gate::default(), &results(fails, expect)), expected, "{fails} {expect}");
    }
}

#[test]
fn fail_on_adds_verdicts_and_outcomes() {
    let missed = results("never", MISSED);
    assert_eq!(code(&fail_on(&["inconclusive"]), &missed), 0);
    assert_eq!(code(&fail_on(&["inconclusive", "differs"]), &missed), 1);
    assert_eq!(code(&fail_on(&["degraded"]), &missed), 1, "a load above the capacity must fail the gate");
    assert_eq!(code(&fail_on(&["overloaded"]), &missed), 0);
    assert!("holds".parse::<FailOn>().unwrap_err().contains("inconclusive"));
}

#[test]
fn junit_has_a_case_per_expectation_and_failing_point() {
    let results = results("never", MISSED);
    let judged = ranlab_campaign::expect::judge(&results);
    let cases = Gate::default().cases(&results, &judged);
    assert!(matches!(&cases[..], [TestCase { result: TestResult::Skipped(_), .. }]), "{cases:?}");
    let cases = fail_on(&["differs", "degraded"]).cases(&results, &judged);
    assert!(cases.iter().all(|case| matches!(case.result, TestResult::Failed { .. })), "{cases:?}");
    assert_eq!(cases.len(), 2);
}

#[test]
fn headline_names_the_best_point() {
    let results = results("never", "[sweep.axes]\n\"load.workers\" = [1, 20, 2]\n");
    let (sentence, json) = headline(&results, "throughput").unwrap();
    assert!(sentence.contains("at load.workers=20, the best of 3 points"), "{sentence}");
    assert_eq!(json["metric"], "throughput");
    let (sentence, _) = headline(&results, "rtt_us_p50").unwrap();
    assert!(!sentence.contains("load.workers=1,"), "{sentence}");
}
