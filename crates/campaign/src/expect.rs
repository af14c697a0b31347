//! Verdicts: what a paper says against what was measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metric::DISTURBED;
use crate::results::Results;
use crate::scaling::growth;
use crate::scenario::{Expect, Law, Shape};
use crate::stats::Summary;
use crate::value::Value;

/// What became of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not, and need not: an absolute value from other hardware. Never tuned to.
    Differs,
    /// Our interval is wider than the tolerance and touches it, or other work disturbed repeats that the scenario keeps
    /// all the same: more or quieter repeats would tell.
    Inconclusive,
    /// Something is missing; the reason says what.
    Unmeasurable,
    /// It does not, and was marked `required`.
    Fails,
}

impl Verdict {
    /// Every verdict, in the order in which a reader wants to know them.
    pub const ALL: [Self; 5] =
        [Self::Holds, Self::Differs, Self::Inconclusive, Self::Fails, Self::Unmeasurable];

    /// As results spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Inconclusive => "inconclusive",
            Self::Unmeasurable => "unmeasurable",
            Self::Fails => "fails",
        }
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

/// Whether a law holds (`None`: the measurement is too wide to tell) and what was measured; `Err`: what is missing.
type Finding = Result<(Option<bool>, String), String>;

fn judge_one(results: &Results, expect: &Expect) -> Judged {
    let finding = if results.scenario.quick && !expect.required {
        Err("a quick run judges only required expectations".to_owned())
    } else {
        find(results, expect)
    };
    let (verdict, ours, reason) = match finding {
        Err(missing) => (Verdict::Unmeasurable, "-".to_owned(), missing),
        Ok((Some(true), ours)) => (Verdict::Holds, ours, String::new()),
        Ok((None, ours)) => {
            (Verdict::Inconclusive, ours, "our interval is wider than the tolerance".to_owned())
        }
        Ok((Some(false), ours)) if disturbed(results, expect) => {
            (Verdict::Inconclusive, ours, DISTURBED_WHY.to_owned())
        }
        Ok((Some(false), ours)) if expect.required => {
            (Verdict::Fails, ours, "required, and not so".to_owned())
        }
        Ok((Some(false), ours)) => {
            (Verdict::Differs, ours, "other hardware or software than the paper's".to_owned())
        }
    };
    let place = if expect.filter.is_empty() { "everywhere".to_owned() } else { words(&expect.filter) };
    Judged {
        metric: expect.metric.clone(),
        place,
        paper: paper(expect),
        ours,
        verdict,
        reason,
        source: expect.source.clone(),
    }
}

/// Whether other work disturbed one of the repeats that an expectation is judged by: they cannot refute it.
fn disturbed(results: &Results, expect: &Expect) -> bool {
    let mut filters = vec![expect.filter.clone()];
    if let Law::Ratio { against, .. } = &expect.law {
        let mut filter = expect.filter.clone();
        filter.extend(against.clone());
        filters.push(filter);
    }
    filters.iter().any(|filter| {
        let mut runs = results.matching(filter).flat_map(|point| &point.runs);
        runs.any(|run| run.recording.metrics.get(DISTURBED).is_some_and(|share| *share > 0.0))
    })
}

fn words(filter: &BTreeMap<String, Value>) -> String {
    filter.iter().map(|(path, value)| format!("{path} = {value}")).collect::<Vec<_>>().join(", ")
}

/// A number with four significant digits.
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A mean with the half width of its interval, both to the digits that the interval leaves: `1009 ± 24`.
pub fn with_interval(mean: f64, half: Option<f64>) -> String {
    let Some(half) = half.filter(|half| *half > 0.0 && half.is_finite() && mean.is_finite()) else {
        return short(mean);
    };
    // Two digits of the interval; none of the mean beyond them.
    let digits = (1 - half.log10().floor() as i32).clamp(0, 12) as usize;
    format!("{mean:.digits$} ± {half:.digits$}")
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

fn find(results: &Results, expect: &Expect) -> Finding {
    match &expect.law {
        Law::Value { value, tolerance } => every(results, expect, |summary| {
            let (low, high) = summary.interval();
            let within = tolerance * value.abs();
            let meets = low <= value + within && high >= value - within;
            // An interval that meets the tolerance and is wider would meet nearly anything.
            (!meets || summary.half_width.is_none_or(|half| half <= within)).then_some(meets)
        }),
        Law::Bounds { at_least, at_most } => every(results, expect, |summary| {
            let above = at_least.is_none_or(|bound| summary.mean >= bound);
            Some(above && at_most.is_none_or(|bound| summary.mean <= bound))
        }),
        Law::Ratio { against, ratio, tolerance, at_least, at_most } => {
            let mut filter = expect.filter.clone();
            filter.extend(against.clone());
            let ours = mean(results, &expect.filter, &expect.metric)?;
            let theirs = mean(results, &filter, &expect.metric)?;
            if theirs == 0.0 {
                return Err(format!("{} is 0 at {}", expect.metric, words(&filter)));
            }
            let by = ours / theirs;
            let holds = ratio.is_none_or(|ratio| (by - ratio).abs() <= tolerance * ratio.abs())
                && at_least.is_none_or(|bound| by >= bound)
                && at_most.is_none_or(|bound| by <= bound);
            Ok((Some(holds), format!("{} times", short(by))))
        }
        Law::Order { along, order } => {
            let mut means = Vec::with_capacity(order.len());
            for value in order {
                let mut filter = expect.filter.clone();
                filter.insert(along.clone(), value.clone());
                means.push(mean(results, &filter, &expect.metric)?);
            }
            let holds = means.windows(2).all(|pair| pair[0] > pair[1]);
            let ours: Vec<String> =
                order.iter().zip(&means).map(|(value, mean)| format!("{value}: {}", short(*mean))).collect();
            Ok((Some(holds), ours.join(", ")))
        }
        Law::Shape { along, shape, tolerance } => shaped(results, expect, along, *shape, *tolerance),
    }
}

/// All matching points must hold; shown is the first that does not, or else the first that cannot be told.
fn every(results: &Results, expect: &Expect, holds: impl Fn(&Summary) -> Option<bool>) -> Finding {
    // How much a finding matters: a law is broken by one point that breaks it.
    let weight = |held: Option<bool>| held.map_or(1, |held| if held { 0 } else { 2 });
    let mut shown: Option<(Option<bool>, String)> = None;
    let mut points = 0;
    for point in results.matching(&expect.filter) {
        points += 1;
        let Some(summary) = point.summary(&expect.metric, results.scenario.measure.confidence) else {
            return Err(missing(
                point.outcome().map_or("not measured yet", |outcome| outcome.name()),
                point.reason(),
            ));
        };
        let ours = with_interval(summary.mean, summary.half_width);
        let held = holds(&summary);
        if shown.as_ref().is_none_or(|(earlier, _)| weight(held) > weight(*earlier)) {
            shown =
                Some((held, if points > 1 { format!("{ours} at {}", point.point.label()) } else { ours }));
        }
    }
    shown.ok_or_else(|| format!("no point of the sweep has {}", words(&expect.filter)))
}

fn missing(outcome: &str, reason: &str) -> String {
    if reason.is_empty() {
        format!("the point is {outcome}")
    } else {
        format!("the point is {outcome}: {reason}")
    }
}

/// The mean over all points that match; each must have been measured.
fn mean(results: &Results, filter: &BTreeMap<String, Value>, metric: &str) -> Result<f64, String> {
    let mut means = Vec::new();
    for point in results.matching(filter) {
        let summary = point.summary(metric, 0.95).ok_or_else(|| {
            missing(point.outcome().map_or("not measured yet", |outcome| outcome.name()), point.reason())
        })?;
        means.push(summary.mean);
    }
    if means.is_empty() {
        return Err(format!("no point of the sweep has {}", words(filter)));
    }
    Ok(means.iter().sum::<f64>() / means.len() as f64)
}

fn shaped(results: &Results, expect: &Expect, along: &str, shape: Shape, tolerance: f64) -> Finding {
    let mut points = Vec::new();
    for point in results.matching(&expect.filter) {
        let x = point.point.settings.get(along).and_then(Value::number);
        let x = x.ok_or_else(|| format!("`{along}` is no number at {}", point.point.label()))?;
        let summary =
            point.summary(&expect.metric, results.scenario.measure.confidence).ok_or_else(|| {
                missing(point.outcome().map_or("not measured yet", |o| o.name()), point.reason())
            })?;
        points.push((x, summary.mean));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() < 2 || (shape == Shape::Peaked && points.len() < 3) {
        return Err(format!("{} points along {along} show no shape", points.len()));
    }
    let ys: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let rises = |ys: &[f64]| ys.windows(2).all(|pair| pair[1] >= pair[0] - tolerance * pair[0].abs());
    let falls = |ys: &[f64]| ys.windows(2).all(|pair| pair[1] <= pair[0] + tolerance * pair[0].abs());
    let mean = ys.iter().sum::<f64>() / ys.len() as f64;
    let (first, last) = (ys[0], ys[ys.len() - 1]);
    let exponent = growth(&points, 0.95).map(|growth| growth.exponent);
    let grows = |holds: &dyn Fn(f64) -> bool| match exponent {
        Some(exponent) => Ok((Some(holds(exponent)), format!("exponent {}", short(exponent)))),
        None => Err("a growth exponent needs numbers above 0 at two loads".to_owned()),
    };
    let ends = format!("{} to {}", short(first), short(last));
    match shape {
        Shape::Increasing => Ok((Some(rises(&ys) && last > first), ends)),
        Shape::Decreasing => Ok((Some(falls(&ys) && last < first), ends)),
        Shape::Flat => Ok((Some(ys.iter().all(|y| (y - mean).abs() <= tolerance * mean.abs())), ends)),
        Shape::Linear => grows(&|exponent| (exponent - 1.0).abs() <= tolerance),
        Shape::Sublinear => grows(&|exponent| exponent < 1.0 - tolerance),
        Shape::Superlinear => grows(&|exponent| exponent > 1.0 + tolerance),
        Shape::Peaked => {
            let top = ys.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(index, _)| index);
            let holds = top > 0 && top + 1 < ys.len() && rises(&ys[..=top]) && falls(&ys[top..]);
            Ok((Some(holds), format!("largest, {}, at {}", short(ys[top]), short(points[top].0))))
        }
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
        verdicts_at(0.0, quick, expects)
    }

    fn verdicts_at(noise: f64, quick: bool, expects: &str) -> Vec<(Verdict, String)> {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = {noise:?}\nsigma = 0.0\nkappa = 0.01\n[sweep.axes]\n\
             \"load.workers\" = [1, 2, 5, 10, 20]\n\"load.fails\" = [\"never\", \"crash\", \"disturbed\"]\n[measure]\nrepeats = 2\n{expects}"
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
             [[expect]]\nwhere = {{ \"load.workers\" = 3 }}\nmetric = \"throughput\"\nat_least = 1.0\n"
        );
        let verdicts = verdicts(false, &expects);
        let names: Vec<Verdict> = verdicts.iter().map(|(verdict, _)| *verdict).collect();
        assert_eq!(
            names,
            [Holds, Differs, Fails, Unmeasurable, Holds, Holds, Holds, Differs, Unmeasurable],
            "{verdicts:#?}"
        );
        assert!(verdicts[3].1.contains("exited with signal 11"));
        assert!(verdicts[8].1.contains("no point of the sweep has load.workers = 3"));
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
            verdicts_at(0.2, false, &expects).into_iter().map(|(verdict, _)| verdict).collect();
        use Verdict::{Fails, Holds, Inconclusive};
        assert_eq!(told, [Inconclusive, Inconclusive, Holds, Fails]);
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
