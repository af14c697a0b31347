//! Verdicts: what a paper says against what was measured.

mod laws;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metric::DISTURBED;
use crate::named::named;
use crate::results::Results;
use crate::scenario::{Expect, Law};
use crate::value::Value;

pub use crate::value::short;
use laws::Told;

named! {
    /// What became of an expectation.
    pub enum Verdict {
        /// It does, with the whole interval.
        Holds = "holds",
        /// It does not, and need not: an absolute value from other hardware. Never tuned to.
        Differs = "differs",
        /// Our interval lies on both sides of what is expected, there is a single repeat and so no interval, or other work
        /// disturbed repeats that the scenario keeps all the same: more or quieter repeats would tell.
        Inconclusive = "inconclusive",
        /// It does not, and was marked `required`.
        Fails = "fails",
        /// Something is missing; the reason says what.
        Unmeasurable = "unmeasurable",
    }
}

/// An expectation with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Which metric.
    pub metric: String,
    /// Where, as people read it.
    #[serde(rename = "where")]
    pub place: String,
    /// What the paper says.
    pub paper: String,
    /// What we measured.
    pub ours: String,
    /// Repeats behind it, of several points the fewest; 0 if nothing was measured.
    pub repeats: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, if it does not hold.
    pub reason: String,
    /// Where the paper's number stands.
    pub source: String,
}

/// Judges every expectation of the scenario. A quick run judges only required ones.
pub fn judge(results: &Results) -> Vec<Judged> {
    results.scenario.expects.iter().map(|expect| judge_one(results, expect)).collect()
}

/// Of an expectation that does not hold in repeats that should not count.
const DISTURBED_WHY: &str = "not so, but other work disturbed the repeats: a quiet machine would tell";

fn judge_one(results: &Results, expect: &Expect) -> Judged {
    let finding = if results.scenario.quick && !expect.required {
        Err("a quick run judges only required expectations".to_owned())
    } else {
        laws::find(results, expect)
    };
    let caveat = results.kept.as_ref().and_then(|kept| kept.caveat.as_deref());
    let (verdict, reason) = match &finding {
        Err(missing) => (Verdict::Unmeasurable, missing.as_str()),
        Ok(found) => match found.told {
            _ if caveat.is_some() => (Verdict::Inconclusive, caveat.unwrap_or_default()),
            Told::Holds => (Verdict::Holds, ""),
            Told::Unclear(why) => (Verdict::Inconclusive, why),
            Told::Broken if disturbed(results, expect) => (Verdict::Inconclusive, DISTURBED_WHY),
            Told::Broken if expect.required => (Verdict::Fails, "required, and not so"),
            Told::Broken if results.scenario.published(&expect.source) => {
                (Verdict::Differs, "other hardware or software than the paper's")
            }
            Told::Broken => (Verdict::Differs, "not so here"),
        },
    };
    let reason = reason.to_owned();
    let (ours, repeats) = finding.map_or_else(|_| ("-".to_owned(), 0), |found| (found.ours, found.repeats));
    let place = if expect.filter.is_empty() { "everywhere".to_owned() } else { words(&expect.filter) };
    let (metric, source) = (expect.metric.clone(), expect.source.clone());
    Judged { metric, place, paper: paper(expect), ours, repeats, verdict, reason, source }
}

/// Whether other work disturbed one of the repeats that an expectation is judged by: they cannot refute it.
fn disturbed(results: &Results, expect: &Expect) -> bool {
    let mut filters = vec![expect.filter.clone()];
    if let Law::Ratio { against, .. } = &expect.law {
        let mut filter = expect.filter.clone();
        filter.extend(against.clone());
        filters.push(filter);
    }
    let confidence = results.scenario.measure.confidence;
    filters.iter().any(|filter| {
        let mut points = results.matching(filter);
        points.any(|point| point.summary(DISTURBED, confidence).is_some_and(|share| share.max > 0.0))
    })
}

fn words(filter: &BTreeMap<String, Value>) -> String {
    filter.iter().map(|(path, value)| format!("{path} = {value}")).collect::<Vec<_>>().join(", ")
}

fn paper(expect: &Expect) -> String {
    let range = |at_least: Option<f64>, at_most: Option<f64>| {
        let parts: Vec<String> = [("≥", at_least), ("≤", at_most)]
            .into_iter()
            .filter_map(|(sign, bound)| Some(format!("{sign} {}", short(bound?))))
            .collect();
        parts.join(", ")
    };
    match &expect.law {
        Law::Value { value, tolerance } => format!("{} ± {} %", short(*value), short(tolerance * 100.0)),
        Law::Bounds { at_least, at_most } => range(*at_least, *at_most),
        Law::Ratio { against, ratio, tolerance, at_least, at_most } => {
            let by = ratio.map_or_else(
                || range(*at_least, *at_most),
                |ratio| format!("{} ± {} %", short(ratio), short(tolerance * 100.0)),
            );
            format!("{by} times that at {}", words(against))
        }
        Law::Order { along, order } => {
            format!("{along}: {}", order.iter().map(Value::to_string).collect::<Vec<_>>().join(" > "))
        }
        Law::Shape { along, shape, .. } => format!("{} along {along}", shape.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRig;
    use crate::plan::Plan;
    use crate::results::MemoryJournal;
    use crate::rig::{Rig, Stop};
    use crate::scenario::{Overrides, Scenario};

    fn verdicts(quick: bool, expects: &str) -> Vec<(Verdict, String)> {
        verdicts_at(0.0, 2, quick, expects)
    }

    fn verdicts_at(noise: f64, repeats: u32, quick: bool, expects: &str) -> Vec<(Verdict, String)> {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = {noise:?}\nsigma = 0.0\nkappa = 0.01\n[sweep.axes]\n\
             \"load.workers\" = [1, 2, 5, 10, 20]\n\"load.fails\" = [\"never\", \"crash\", \"disturbed\"]\n[measure]\nrepeats = {repeats}\n{expects}"
        );
        let rig = MockRig::default();
        let over = Overrides { sets: Vec::new(), quick };
        let scenario = Scenario::parse(&text, "t", &over, &[rig.describe()]).unwrap();
        let plan = Plan::new(&scenario, &rig.describe());
        let (mut journal, metrics) = (MemoryJournal::default(), rig.describe().metrics);
        crate::run::run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
        let judged = judge(&Results::new(scenario, metrics, plan.points, journal.finished));
        judged
            .into_iter()
            .map(|judged| (judged.verdict, format!("{} | {} | {}", judged.paper, judged.ours, judged.reason)))
            .collect()
    }

    #[test]
    fn each_law_gets_its_verdict() {
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
                // What rises and falls is no power law: the regression's own interval says so.
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

    /// Two repeats of a noisy system: an interval wider than the mean itself says nothing about 900 or 1,200 within a
    /// thousandth, and would be said to hold for both.
    #[test]
    fn an_interval_wider_than_the_tolerance_tells_nothing() {
        let at = |value: f64, tolerance: f64| {
            format!(
                "[[expect]]\nwhere = {{ \"load.fails\" = \"never\", \"load.workers\" = 1 }}\nmetric = \"throughput\"\n\
                 value = {value:?}\ntolerance = {tolerance:?}\nrequired = true\n"
            )
        };
        let expects = [at(900.0, 0.001), at(1200.0, 0.001), at(1000.0, 100.0), at(1e6, 0.001)].concat();
        let told: Vec<Verdict> =
            verdicts_at(0.2, 2, false, &expects).into_iter().map(|(verdict, _)| verdict).collect();
        use Verdict::{Fails, Holds, Inconclusive};
        assert_eq!(told, [Inconclusive, Inconclusive, Holds, Fails]);
    }

    /// What each law says at 1 worker (1,000 a second) and at 10 (5,263).
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

    /// The means alone would say that all of these hold, in every case.
    #[test]
    fn a_law_holds_with_its_whole_interval_or_not() {
        use Verdict::{Holds, Inconclusive};
        let of =
            |told: Vec<(Verdict, String)>| -> Vec<Verdict> { told.into_iter().map(|(own, _)| own).collect() };
        assert_eq!(of(laws(0.01, 5)), [Holds; 5]);
        let alone = laws(0.01, 1);
        for (verdict, told) in &alone {
            assert_eq!(*verdict, Inconclusive, "{told}");
            assert!(told.contains("one repeat tells nothing of the spread"), "{told}");
        }
        // Without noise the number is the same whenever it is measured.
        assert_eq!(of(laws(0.0, 1)), [Holds; 5]);
        let noisy = laws(0.4, 3);
        assert_eq!(of(noisy.clone()), [Inconclusive; 5], "{noisy:#?}");
        assert!(noisy.iter().all(|(_, told)| told.contains("lies on both sides")), "{noisy:#?}");
    }

    /// One seed for a repeat at both points: half as much again of kappa is far less than what repeats differ by, and is told
    /// all the same, as an order and as a ratio; and a difference that is none is told to be none.
    #[test]
    fn paired_repeats_tell_what_alone_they_cannot() {
        let verdicts = |paired: bool, law: &str| {
            let text = format!(
                "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.3\nsigma = 0.0\n[load]\nworkers = 20\n[sweep.axes]\n\
                 \"sut.kappa\" = [0.0002, 0.0003]\n\"sut.build\" = [\"a\", \"b\"]\n[measure]\nrepeats = 4\npaired = {paired}\n\
                 [[expect]]\nmetric = \"throughput\"\n{law}\n"
            );
            let rig = MockRig::default();
            let scenario = Scenario::parse(&text, "t", &Overrides::default(), &[rig.describe()]).unwrap();
            let plan = Plan::new(&scenario, &rig.describe());
            let (mut journal, metrics) = (MemoryJournal::default(), rig.describe().metrics);
            crate::run::run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {})
                .unwrap();
            let judged = judge(&Results::new(scenario, metrics, plan.points, journal.finished)).remove(0);
            (judged.verdict, judged.ours)
        };
        use Verdict::{Differs, Holds};
        let order = "along = \"sut.kappa\"\norder = [0.0002, 0.0003]";
        let less = "where = { \"sut.kappa\" = 0.0003 }\nagainst = { \"sut.kappa\" = 0.0002 }\nat_most = 0.99";
        let same = "where = { \"sut.build\" = \"b\" }\nagainst = { \"sut.build\" = \"a\" }\nat_least = 1.01";
        for (law, told) in [(order, Holds), (less, Holds), (same, Differs)] {
            let paired = verdicts(true, law);
            assert_eq!(paired.0, told, "{paired:?}");
        }
        // (1 + 20 * 19 * 0.0002) / (1 + 20 * 19 * 0.0003), in every repeat.
        let ratio = verdicts(true, less).1;
        let alone = verdicts(false, less).1;
        assert!(ratio.starts_with("0.9659 times") && !alone.starts_with("0.9659"), "{ratio} {alone}");
    }

    /// What somebody else's work did to a repeat that was kept is no failure of the system.
    #[test]
    fn disturbed_repeats_refute_nothing() {
        let at = |fails: &str, value: f64| {
            format!(
                "[[expect]]\nwhere = {{ \"load.fails\" = \"{fails}\", \"load.workers\" = 1 }}\nmetric = \"throughput\"\n\
                 value = {value:?}\nrequired = true\n"
            )
        };
        let ratio = "[[expect]]\nwhere = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\n\
                     against = { \"load.fails\" = \"disturbed\" }\nmetric = \"throughput\"\nat_least = 5.0\nrequired = true\n";
        let expects =
            [at("never", 1.0), at("disturbed", 1.0), at("disturbed", 1000.0), ratio.to_owned()].concat();
        let told = verdicts(false, &expects);
        use Verdict::{Fails, Holds, Inconclusive};
        let names: Vec<Verdict> = told.iter().map(|(verdict, _)| *verdict).collect();
        assert_eq!(names, [Fails, Inconclusive, Holds, Inconclusive], "{told:#?}");
        assert!(told[1].1.contains("other work disturbed"), "{told:#?}");
    }

    #[test]
    fn a_quick_run_judges_only_what_is_required() {
        let one = "[[expect]]\nwhere = { \"load.fails\" = \"never\", \"load.workers\" = 1 }\nmetric = \"throughput\"\nvalue = 1000.0\n";
        let verdicts = verdicts(true, &format!("{one}{one}required = true\n"));
        assert_eq!((verdicts[0].0, verdicts[1].0), (Verdict::Unmeasurable, Verdict::Holds), "{verdicts:?}");
    }

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (1234567.0, "1234567"),
            (1.23456, "1.235"),
            (0.000123456, "0.0001235"),
            (5.0, "5"),
            (100.0, "100"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
