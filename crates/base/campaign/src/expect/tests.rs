use super::*;
use crate::metric::Metric;
use crate::mock::{self, MockRig};
use crate::plan::Plan;
use crate::rig::{Better, Rig};
use crate::scenario::{Overrides, Scenario};

fn verdicts(quick: bool, expects: &str) -> Vec<(Verdict, String)> {
    verdicts_at(0.0, 2, quick, expects)
}

fn verdicts_at(noise: f64, repeats: u32, quick: bool, expects: &str) -> Vec<(Verdict, String)> {
    let text = format!(
        "[sut]\nnoise = {noise:?}\nsigma = 0.0\nkappa = 0.01\n[sweep.axes]\n\
         \"load.workers\" = [1, 2, 5, 10, 20]\n\"load.fails\" = [\"never\", \"crash\", \"disturbed\"]\n[measure]\nrepeats = {repeats}\n{expects}"
    );
    let judged = judge(&mock::campaign(&text, quick));
    judged
        .into_iter()
        .map(|judged| (judged.verdict, format!("{} | {} | {}", judged.paper, judged.ours, judged.reason)))
        .collect()
}

#[test]
fn each_type_of_law_is_judged() {
    use Verdict::*;
    let ok = "\"load.fails\" = \"never\"";
    let expects = format!(
        "[[expect]]\nwhere = {{ {ok}, \"load.workers\" = 1 }}\nmetric = \"throughput\"\nvalue = 1050.0\n\
         [[expect]]\nwhere = {{ {ok}, \"load.workers\" = 1 }}\nmetric = \"throughput\"\nvalue = 1200.0\n\
         [[expect]]\nwhere = {{ {ok}, \"load.workers\" = 1 }}\nmetric = \"throughput\"\nvalue = 1200.0\nrequired = true\n\
         [[expect]]\nwhere = {{ \"load.fails\" = \"crash\", \"load.workers\" = 1 }}\nmetric = \"throughput\"\nat_least = 1.0\nrequired = true\n\
         [[expect]]\nwhere = {{ {ok}, \"load.workers\" = 10 }}\nagainst = {{ \"load.workers\" = 1 }}\nmetric = \"throughput\"\nat_least = 5.0\n\
         [[expect]]\nwhere = {{ {ok} }}\nmetric = \"throughput\"\nalong = \"load.workers\"\nshape = \"peaked\"\n\
         [[expect]]\nwhere = {{ {ok} }}\nmetric = \"throughput\"\nalong = \"load.workers\"\norder = [10, 5, 2, 1]\n\
         [[expect]]\nwhere = {{ {ok} }}\nmetric = \"throughput\"\nalong = \"load.workers\"\nshape = \"linear\"\n\
         [[expect]]\nwhere = {{ {ok} }}\nmetric = \"sut.cpu_cores\"\nalong = \"load.workers\"\nshape = \"linear\"\n\
         [[expect]]\nwhere = {{ {ok} }}\nmetric = \"sut.cpu_cores\"\nalong = \"load.workers\"\nshape = \"sublinear\"\n\
         [[expect]]\nwhere = {{ \"load.workers\" = 3 }}\nmetric = \"throughput\"\nat_least = 1.0\n"
    );
    let verdicts = verdicts(false, &expects);
    let names: Vec<Verdict> = verdicts.iter().map(|(verdict, _)| *verdict).collect();
    assert_eq!(
        names,
        [
            Holds,
            Differs,
            Fails,
            Unmeasurable,
            Holds,
            Holds,
            Holds,
            // A curve that rises and falls is not a power law. The regression therefore has a wide interval.
            Inconclusive,
            Holds,
            Differs,
            Unmeasurable
        ],
        "{verdicts:#?}"
    );
    assert!(verdicts[3].1.contains("exited with signal 11"));
    assert!(verdicts[10].1.contains("no point of the sweep has load.workers = 3"));
}

/// Two repeats of a noisy system have an interval that is wider than the mean. It cannot decide whether the value is
/// 900 or 1,200 within a thousandth. Without this rule, both expectations would hold.
#[test]
fn interval_wider_than_tolerance_is_inconclusive() {
    let at = |value: f64, tolerance: f64| {
        format!(
            "[[expect]]\nwhere = {{ \"load.fails\" = \"never\", \"load.workers\" = 1 }}\nmetric = \"throughput\"\n\
             value = {value:?}\ntolerance = {tolerance:?}\nrequired = true\n"
        )
    };
    let expects = [at(900.0, 0.001), at(1200.0, 0.001), at(1000.0, 100.0), at(1e6, 0.001)].concat();
    let verdicts: Vec<Verdict> =
        verdicts_at(0.2, 2, false, &expects).into_iter().map(|(verdict, _)| verdict).collect();
    use Verdict::{Fails, Holds, Inconclusive};
    assert_eq!(verdicts, [Inconclusive, Inconclusive, Holds, Fails]);
}

/// Laws tested at 1 worker (1,000 per second) and at 10 (5,263).
const LAWS: [&str; 5] = [
    "where = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\nvalue = 1000.0\ntolerance = 0.5",
    "where = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\nat_least = 600.0\nat_most = 1400.0",
    "where = { \"load.fails\" = \"never\", \"load.workers\" = 10 }\nagainst = { \"load.workers\" = 1 }\nat_least = 3.0",
    "where = { \"load.fails\" = \"never\" }\nalong = \"load.workers\"\norder = [10, 5, 2, 1]",
    "where = { \"load.fails\" = \"never\" }\nalong = \"load.workers\"\nshape = \"peaked\"",
];

fn laws(noise: f64, repeats: u32) -> Vec<(Verdict, String)> {
    let law = |law: &str| format!("[[expect]]\nmetric = \"throughput\"\nrequired = true\n{law}\n");
    verdicts_at(noise, repeats, false, &LAWS.map(law).concat())
}

/// The means by themselves would give the verdict `holds` in every case.
#[test]
fn law_holds_only_if_whole_interval_fits() {
    use Verdict::{Holds, Inconclusive};
    let of =
        |found: Vec<(Verdict, String)>| -> Vec<Verdict> { found.into_iter().map(|(own, _)| own).collect() };
    assert_eq!(of(laws(0.01, 5)), [Holds; 5]);
    let alone = laws(0.01, 1);
    for (verdict, reason) in &alone {
        assert_eq!(*verdict, Inconclusive, "{reason}");
        assert!(reason.contains("one repeat shows no spread"), "{reason}");
    }
    // Without noise, all repeats give the same number, so one repeat suffices.
    assert_eq!(of(laws(0.0, 1)), [Holds; 5]);
    let noisy = laws(0.4, 3);
    assert_eq!(of(noisy.clone()), [Inconclusive; 5], "{noisy:#?}");
    assert!(noisy.iter().all(|(_, reason)| reason.contains("lies on both sides")), "{noisy:#?}");
}

/// Both points of a repeat share a seed. A kappa that is 1.5 times as large changes the metric by far less than the
/// spread of repeats. The change is still found, as an order and as a ratio. Equal points show no difference.
#[test]
fn paired_repeats_detect_smaller_changes() {
    let verdicts = |paired: bool, law: &str| {
        let text = format!(
            "[sut]\nnoise = 0.3\nsigma = 0.0\n[load]\nworkers = 20\n[sweep.axes]\n\
             \"sut.kappa\" = [0.0002, 0.0003]\n\"sut.build\" = [\"a\", \"b\"]\n[measure]\nrepeats = 4\npaired = {paired}\n\
             [[expect]]\nmetric = \"throughput\"\n{law}\n"
        );
        let judged = judge(&mock::campaign(&text, false)).remove(0);
        (judged.verdict, judged.ours)
    };
    use Verdict::{Differs, Holds};
    let order = "along = \"sut.kappa\"\norder = [0.0002, 0.0003]";
    let less = "where = { \"sut.kappa\" = 0.0003 }\nagainst = { \"sut.kappa\" = 0.0002 }\nat_most = 0.99";
    let same = "where = { \"sut.build\" = \"b\" }\nagainst = { \"sut.build\" = \"a\" }\nat_least = 1.01";
    for (law, expected) in [(order, Holds), (less, Holds), (same, Differs)] {
        let paired = verdicts(true, law);
        assert_eq!(paired.0, expected, "{paired:?}");
    }
    // By the scaling law, the ratio in every repeat is `(1 + 20 * 19 * 0.0002) / (1 + 20 * 19 * 0.0003)` = 0.9659.
    let ratio = verdicts(true, less).1;
    let alone = verdicts(false, less).1;
    assert!(ratio.starts_with("0.9659 times") && !alone.starts_with("0.9659"), "{ratio} {alone}");
}

/// Returns the verdict on a law for the throughput of 1 worker (1,000 per second). All repeats are disturbed.
fn disturbed(law: &str) -> Verdict {
    let text = format!(
        "[[expect]]\nwhere = {{ \"load.fails\" = \"disturbed\", \"load.workers\" = 1 }}\nmetric = \"throughput\"\n\
         {law}\nrequired = true\n"
    );
    verdicts(false, &text)[0].0
}

#[test]
fn disturbed_repeats_refute_only_unexplained_results() {
    use Verdict::{Fails, Holds, Inconclusive};
    assert_eq!(disturbed("value = 1000.0"), Holds);
    // Other work is assumed to use half of the machine, and the margin is 2. Together they explain a result of 1,000
    // per second if 4,000 are expected, but not if more are expected.
    assert_eq!(disturbed("at_least = 3900.0"), Inconclusive);
    assert_eq!(disturbed("at_least = 7000.0"), Fails);
    // Other work never makes a result faster.
    assert_eq!(disturbed("at_most = 900.0"), Fails);
    let ratio = "[[expect]]\nwhere = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\n\
                 against = { \"load.fails\" = \"disturbed\" }\nmetric = \"throughput\"\nat_least = 3.0\nrequired = true\n";
    let found = verdicts(false, ratio).remove(0);
    assert_eq!(found.0, Inconclusive, "{found:?}");
    assert!(found.1.contains("other work disturbed"), "{found:?}");
    let far = ratio.replace("at_least = 3.0", "at_least = 5.0");
    assert_eq!(verdicts(false, &far)[0].0, Fails);
}

/// Judges a law on one point with these values of `throughput`. The flag of a value marks its repeat as disturbed.
fn measured(law: &str, values: &[(f64, bool)], change: fn(Metric) -> Metric) -> Judged {
    let text = format!(
        "title = \"t\"\nrig = \"mock\"\n[[expect]]\nmetric = \"throughput\"\n{law}\nrequired = true\n"
    );
    let rig = MockRig::default().describe();
    let scenario = Scenario::parse(&text, "t", &Overrides::default(), std::slice::from_ref(&rig)).unwrap();
    let plan = Plan::new(&scenario, &rig);
    let finished = values.iter().enumerate().map(|(repeat, (value, disturbed))| {
        let mut recording = crate::record::Recording::default();
        recording.metrics.insert("throughput".to_owned(), *value);
        if *disturbed {
            recording.metrics.insert(crate::metric::DISTURBED.to_owned(), 1.0);
            recording.metrics.insert(crate::metric::OTHER_SHARE.to_owned(), 0.3);
        }
        crate::results::Finished {
            point: 0,
            repeat: repeat as u32,
            position: repeat as u32,
            outcome: crate::outcome::Outcome::Ok,
            reason: String::new(),
            recording,
            started_unix_ms: 0,
            elapsed: std::time::Duration::ZERO,
        }
    });
    let metrics = rig.metrics.into_iter().map(|one| if one.name == "throughput" { change(one) } else { one });
    judge(&Results::new(scenario, metrics.collect(), plan.points, finished.collect())).remove(0)
}

#[test]
fn disturbed_repeats_are_ignored_if_others_suffice() {
    let values = [(1000.0, false), (1001.0, false), (600.0, true), (610.0, true)];
    let found = measured("at_least = 990.0", &values, |metric| metric);
    assert_eq!((found.verdict, found.repeats), (Verdict::Holds, 2));
    let found = measured("at_least = 1100.0", &values, |metric| metric);
    assert_eq!((found.verdict, found.repeats), (Verdict::Fails, 2));
    // A single undisturbed repeat has no interval, so the disturbed repeats are used as well.
    let found = measured("at_least = 1100.0", &values[1..], |metric| metric);
    assert_eq!((found.verdict, found.repeats), (Verdict::Inconclusive, 3));
}

#[test]
fn disturbed_repeats_refute_counts_and_bounded_metrics() {
    let values = [(1000.0, true), (1001.0, true), (1002.0, true)];
    let verdict = |law, change| measured(law, &values, change).verdict;
    assert_eq!(verdict("at_least = 1100.0", |metric| metric), Verdict::Inconclusive);
    assert_eq!(verdict("at_least = 1100.0", Metric::counted), Verdict::Fails);
    assert_eq!(verdict("at_least = 1900.0", Metric::bounded), Verdict::Inconclusive);
    assert_eq!(verdict("at_least = 2100.0", Metric::bounded), Verdict::Fails);
    // Waiting for a CPU explains up to half a second of latency, and no more.
    let latency = |metric: Metric| Metric { unit: "us".to_owned(), better: Better::Lower, ..metric };
    assert_eq!(verdict("at_most = 1.0", latency), Verdict::Inconclusive);
    let seconds = |metric: Metric| Metric { unit: "ms".to_owned(), better: Better::Lower, ..metric };
    assert_eq!(verdict("at_most = 1.0", seconds), Verdict::Fails);
}

#[test]
fn expectations_are_counted_by_class() {
    let one = |extra: &str| {
        format!(
            "[[expect]]\nwhere = {{ \"load.fails\" = \"never\", \"load.workers\" = 1 }}\nmetric = \"throughput\"\n\
             {extra}\n"
        )
    };
    let expects = [
        one("at_least = 1.0"),
        one("at_least = 1e9\nsource = \"section 1\"\nclass = \"paper\"\ncause = \"a slower machine\""),
        one("at_least = 1.0\nsource = \"section 2\"\ntuned = \"sut.lambda = 1000\""),
    ];
    let text = format!("[sut]\nnoise = 0.0\n[measure]\nrepeats = 1\n{}", expects.concat());
    let text = text.replace("where = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\n", "");
    let judged = judge(&mock::campaign(&text, false));
    assert_eq!(judged[1].reason, "a slower machine");
    assert_eq!(judged[2].tuned, "sut.lambda = 1000");
    let words = in_words(&counts(&judged));
    assert_eq!(words, "paper: 0 of 1 hold, 1 differs; tuned: 1 of 1 hold; own: 1 of 1 hold");
}

#[test]
fn class_without_required_fields_is_refused() {
    for (written, sentence) in [
        ("class = \"paper\"", "needs `source`"),
        ("class = \"tuned\"\nsource = \"s\"", "needs `tuned`"),
        ("class = \"own\"\ntuned = \"sut.lambda\"", "belongs to"),
    ] {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[[expect]]\nmetric = \"throughput\"\nat_least = 1\n{written}\n"
        );
        let found = Scenario::parse(&text, "t", &Overrides::default(), &[MockRig::default().describe()]);
        let errors = found.unwrap_err().0;
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].sentence.contains(sentence), "{errors:?}");
    }
}

#[test]
fn quick_run_judges_required_expectations_only() {
    let one = "[[expect]]\nwhere = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\nmetric = \"throughput\"\nvalue = 1000.0\n";
    let verdicts = verdicts(true, &format!("{one}{one}required = true\n"));
    assert_eq!((verdicts[0].0, verdicts[1].0), (Verdict::Unmeasurable, Verdict::Holds), "{verdicts:?}");
}

#[test]
fn numbers_have_four_significant_digits() {
    for (number, text) in
        [(1234567.0, "1234567"), (1.23456, "1.235"), (0.000123456, "0.0001235"), (5.0, "5"), (100.0, "100")]
    {
        assert_eq!(short(number), text);
    }
}
