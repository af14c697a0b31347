//! Verdicts on expectations: compares published statements with the measurement.

mod count;
mod laws;
mod noise;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::named::named;
use crate::results::Results;
use crate::scenario::{Class, Expect, Law};
use crate::value::Value;

pub use crate::value::short;
pub use count::{Count, counts, in_words};
use laws::LawOutcome;

named! {
    /// Result of an expectation.
    pub enum Verdict {
        /// The expectation holds for the whole interval.
        Holds = "holds",
        /// The expectation does not hold, and need not hold, because it is an absolute value from other hardware. No
        /// setting is tuned to reach it.
        Differs = "differs",
        /// The measurement does not decide. The measured interval may lie on both sides of the expected value. A single
        /// repeat may have no interval. Other work may have disturbed repeats that the scenario keeps. More or quieter
        /// repeats would decide.
        Inconclusive = "inconclusive",
        /// The expectation does not hold, and was marked `required`.
        Fails = "fails",
        /// The result was measured with another file format, scenario or behaviour of the rig, so it does not represent
        /// today's measurements.
        Stale = "stale",
        /// Data is missing; the reason names it.
        Unmeasurable = "unmeasurable",
    }
}

/// An expectation with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Name of the metric.
    pub metric: String,
    /// Readable name of the point.
    #[serde(rename = "where")]
    pub place: String,
    /// Expected value or law, in words.
    pub paper: String,
    /// The measured value.
    pub ours: String,
    /// Number of repeats; with several points, the smallest number. 0 without a measurement.
    pub repeats: usize,
    /// Source: the published work or the author.
    pub class: Class,
    /// The setting that was chosen to meet the expectation, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tuned: String,
    /// Whether a miss is a failure.
    pub required: bool,
    /// Verdict on the expectation.
    pub verdict: Verdict,
    /// Reason, if the expectation does not hold.
    pub reason: String,
    /// Source of the expected value, such as a figure or a page of the published work.
    pub source: String,
}

/// Computes the verdict of every expectation of the scenario. A quick run includes only required expectations.
pub fn judge(results: &Results) -> Vec<Judged> {
    results.scenario.expects.iter().map(|expect| judge_one(results, expect)).collect()
}

fn judge_one(results: &Results, expect: &Expect) -> Judged {
    let finding = if results.scenario.quick && !expect.required {
        Err("a quick run judges only required expectations".to_owned())
    } else {
        noise::find(results, expect)
    };
    let kept = results.kept.as_ref();
    let caveat = kept.and_then(|kept| kept.caveat.as_deref());
    let stale = results.stale.as_deref();
    let (verdict, reason) = match &finding {
        _ if stale.is_some() => (Verdict::Stale, stale.unwrap_or_default()),
        Err(missing) => (Verdict::Unmeasurable, missing.as_str()),
        Ok(_) if caveat.is_some() => (Verdict::Inconclusive, caveat.unwrap_or_default()),
        Ok(found) => match found.told {
            LawOutcome::Holds => (Verdict::Holds, ""),
            LawOutcome::Unclear(why) => (Verdict::Inconclusive, why),
            LawOutcome::Broken if expect.required => (Verdict::Fails, "required, but does not hold"),
            LawOutcome::Broken => (Verdict::Differs, cause(expect)),
        },
    };
    let place = if expect.filter.is_empty() { "everywhere".to_owned() } else { words(&expect.filter) };
    let (ours, repeats) = match &finding {
        Err(_) => ("-".to_owned(), 0),
        Ok(found) => (found.ours.clone(), found.repeats),
    };
    Judged {
        metric: expect.metric.clone(),
        place,
        paper: paper(expect),
        ours,
        repeats,
        class: expect.class,
        tuned: expect.tuned.clone(),
        required: expect.required,
        verdict,
        reason: reason.to_owned(),
        source: expect.source.clone(),
    }
}

/// Returns the cause of a deviation that the scenario states, or a general phrase.
fn cause(expect: &Expect) -> &str {
    match (expect.cause.as_str(), expect.class, &expect.law) {
        ("", Class::Own, _) => "does not hold here",
        ("", _, Law::Value { .. } | Law::Bounds { .. }) => {
            "an absolute value of other hardware and software; no other cause is known"
        }
        ("", ..) => "no cause is known",
        (cause, ..) => cause,
    }
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
mod tests;
