//! Evaluates the laws of expectations. A law is tested on the confidence interval of the measured value, not on the
//! value. The law holds if the whole interval is in the allowed zone. It is broken if the whole interval is outside.
//! Otherwise the result is undecided. Example with a limit of at least 100: 105 to 110 holds, 90 to 95 is broken, 95 to
//! 105 is undecided.

use std::collections::BTreeMap;

use crate::answer::Answer;
use crate::results::{PointResult, Results};
use crate::scaling::growth_of;
use crate::scenario::{Expect, Law, Shape};
use crate::stats::{Estimate, Number};
use crate::value::Value;

use super::{short, words};

/// Result of the test of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LawOutcome {
    /// The law holds.
    Holds,
    /// The law does not hold.
    Broken,
    /// Undecided, with the reason.
    Unclear(&'static str),
}

const ONE_REPEAT: &str = "one repeat shows no spread: set `measure.repeats` to 3 or more";
const WIDE: &str =
    "the measured interval lies on both sides of the limit; more or quieter repeats are needed";

/// A law's finding.
pub(super) struct LawFinding {
    pub(super) told: LawOutcome,
    /// The measured value.
    pub(super) ours: String,
    /// Number of repeats, at the point that has the fewest.
    pub(super) repeats: usize,
    /// Position of the interval outside the allowed zone. `None` if a part of the interval is in the zone, if a single
    /// repeat has no interval, or if the law has no zone (orders and shapes).
    pub(super) beyond: Option<Beyond>,
}

/// An interval outside the allowed zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beyond {
    /// End of the interval that is nearest to the limit.
    pub(super) measured: f64,
    /// Bound of the allowed zone.
    pub(super) bound: f64,
}

/// Returns the position of an interval outside a zone. Returns `None` if a part of the interval is in the zone.
fn beyond(interval: Option<(f64, f64)>, (low, high): AllowedRange) -> Option<Beyond> {
    match interval? {
        (_, to) if to < low => Some(Beyond { measured: to, bound: low }),
        (from, _) if from > high => Some(Beyond { measured: from, bound: high }),
        _ => None,
    }
}

/// The finding, or the missing data.
type Finding = Result<LawFinding, String>;

/// Allowed range, both limits included.
type AllowedRange = (f64, f64);

/// Tests whether an interval lies in a zone.
fn within(interval: Option<(f64, f64)>, (low, high): AllowedRange) -> LawOutcome {
    match interval {
        None => LawOutcome::Unclear(ONE_REPEAT),
        Some((from, to)) if from >= low && to <= high => LawOutcome::Holds,
        Some((from, to)) if to < low || from > high => LawOutcome::Broken,
        Some(_) => LawOutcome::Unclear(WIDE),
    }
}

/// Whether a difference is above 0.
fn above_zero(difference: &Number, confidence: f64) -> LawOutcome {
    match within(difference.estimate.interval(confidence), (0.0, f64::INFINITY)) {
        LawOutcome::Holds if difference.estimate.value <= 0.0 => LawOutcome::Broken,
        outcome => outcome,
    }
}

/// Combines several conditions. If one is broken, the result is broken. Otherwise, if one is unclear, the result is
/// unclear.
fn all(outcomes: impl IntoIterator<Item = LawOutcome>) -> LawOutcome {
    let weight = |outcome: &LawOutcome| match outcome {
        LawOutcome::Holds => 0,
        LawOutcome::Unclear(_) => 1,
        LawOutcome::Broken => 2,
    };
    outcomes.into_iter().max_by_key(weight).unwrap_or(LawOutcome::Holds)
}

fn around(value: f64, tolerance: f64) -> AllowedRange {
    (value - tolerance * value.abs(), value + tolerance * value.abs())
}

fn bounds(at_least: Option<f64>, at_most: Option<f64>) -> AllowedRange {
    (at_least.unwrap_or(f64::NEG_INFINITY), at_most.unwrap_or(f64::INFINITY))
}

/// A measured point of a law.
struct MeasuredPoint<'a> {
    point: &'a PointResult,
    number: Number,
}

impl MeasuredPoint<'_> {
    fn at(&self, axis: &str) -> Result<f64, String> {
        let number = self.point.point.settings.get(axis).and_then(Value::number);
        number.ok_or_else(|| format!("`{axis}` is not a number at {}", self.point.point.label()))
    }
}

/// The law of an expectation, and its data.
struct LawQuery<'a> {
    results: &'a Results,
    expect: &'a Expect,
    confidence: f64,
}

/// Returns the result of an expectation; `Err` names the missing data.
pub(super) fn find(results: &Results, expect: &Expect) -> Finding {
    let query = LawQuery { results, expect, confidence: results.scenario.measure.confidence };
    match &expect.law {
        Law::Value { value, tolerance } => query.every(around(*value, *tolerance)),
        Law::Bounds { at_least, at_most } => query.every(bounds(*at_least, *at_most)),
        Law::Ratio { against, ratio, tolerance, at_least, at_most } => {
            let near = ratio.map_or((f64::NEG_INFINITY, f64::INFINITY), |ratio| around(ratio, *tolerance));
            let (low, high) = bounds(*at_least, *at_most);
            query.ratio(against, (low.max(near.0), high.min(near.1)))
        }
        Law::Order { along, order } => query.order(along, order),
        Law::Shape { along, shape, tolerance } => query.shape(along, *shape, *tolerance),
    }
}

impl LawQuery<'_> {
    /// Returns the points that match; each must have been measured.
    fn measured_points(&self, filter: &BTreeMap<String, Value>) -> Result<Vec<MeasuredPoint<'_>>, String> {
        let found: Result<Vec<MeasuredPoint<'_>>, String> = self
            .results
            .points
            .iter()
            .filter(|point| point.point.matches(filter))
            .map(|point| {
                let number = self.results.number(point, &self.expect.metric);
                Ok(MeasuredPoint { point, number: number.ok_or_else(|| missing(point))? })
            })
            .collect();
        if found.as_ref().is_ok_and(Vec::is_empty) {
            return Err(format!("no point of the sweep has {}", words(filter)));
        }
        found
    }

    /// Returns the mean over all points that match.
    fn mean(&self, filter: &BTreeMap<String, Value>) -> Result<Number, String> {
        let numbers: Vec<Number> =
            self.measured_points(filter)?.into_iter().map(|seen| seen.number).collect();
        Ok(Number::mean(&numbers))
    }

    fn words(&self, estimate: &Estimate) -> String {
        Answer::from_estimate(estimate, self.confidence).text()
    }

    /// Tests that all matching points lie in the zone. The result shows the first point outside, or else the first
    /// undecided one.
    fn every(&self, zone: AllowedRange) -> Finding {
        let seen = self.measured_points(&self.expect.filter)?;
        let one = |seen: &MeasuredPoint<'_>| within(seen.number.estimate.interval(self.confidence), zone);
        let told = all(seen.iter().map(one));
        let same = |told: LawOutcome, other: LawOutcome| {
            std::mem::discriminant(&told) == std::mem::discriminant(&other)
        };
        let shown = seen.iter().find(|seen| same(one(seen), told)).unwrap_or(&seen[0]);
        let mut ours = self.words(&shown.number.estimate);
        if seen.len() > 1 {
            ours.push_str(&format!(" at {}", shown.point.point.label()));
        }
        let told = one(shown);
        let beyond = beyond(shown.number.estimate.interval(self.confidence), zone);
        let repeats = seen.iter().map(|seen| seen.number.estimate.n).min().unwrap_or(0);
        Ok(LawFinding { told, ours, repeats, beyond })
    }

    fn ratio(&self, against: &BTreeMap<String, Value>, zone: AllowedRange) -> Finding {
        let mut filter = self.expect.filter.clone();
        filter.extend(against.clone());
        let ours = self.mean(&self.expect.filter)?;
        let theirs = self.mean(&filter)?;
        if theirs.estimate.value == 0.0 {
            return Err(format!("{} is 0 at {}", self.expect.metric, words(&filter)));
        }
        let (interval, paired) = ours.ratio(&theirs, self.confidence);
        let by = short(ours.estimate.value / theirs.estimate.value);
        let paired = if paired { ", from the ratio in each repeat" } else { "" };
        let ours_words = match interval {
            Some((low, high)) if low.is_infinite() || high.is_infinite() => {
                format!("{by} times, with an unbounded interval")
            }
            Some((low, high)) if low < high => {
                format!("{by} times ({} to {}{paired})", short(low), short(high))
            }
            _ => format!("{by} times"),
        };
        let repeats = ours.estimate.n.min(theirs.estimate.n);
        Ok(LawFinding {
            told: within(interval, zone),
            ours: ours_words,
            repeats,
            beyond: beyond(interval, zone),
        })
    }

    fn order(&self, along: &str, order: &[Value]) -> Finding {
        let means = order.iter().map(|value| {
            let mut filter = self.expect.filter.clone();
            filter.insert(along.to_owned(), value.clone());
            self.mean(&filter)
        });
        let means = means.collect::<Result<Vec<Number>, String>>()?;
        let falls = |pair: &[Number]| above_zero(&pair[0].minus(&pair[1]), self.confidence);
        let ours =
            order.iter().zip(&means).map(|(value, mean)| format!("{value}: {}", self.words(&mean.estimate)));
        Ok(LawFinding {
            told: all(means.windows(2).map(falls)),
            ours: ours.collect::<Vec<_>>().join(", "),
            repeats: means.iter().map(|mean| mean.estimate.n).min().unwrap_or(0),
            beyond: None,
        })
    }

    fn shape(&self, along: &str, shape: Shape, tolerance: f64) -> Finding {
        let mut points = Vec::new();
        for seen in self.measured_points(&self.expect.filter)? {
            points.push((seen.at(along)?, seen.number));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.len() < 2 || (shape == Shape::Peaked && points.len() < 3) {
            let needed = if shape == Shape::Peaked { 3 } else { 2 };
            return Err(format!(
                "a shape along {along} needs at least {needed} points, but there are {}",
                points.len()
            ));
        }
        let ys: Vec<Number> = points.iter().map(|(_, y)| y.clone()).collect();
        let first = &ys[0];
        let last = &ys[ys.len() - 1];
        let mut ours = format!("{} to {}", self.words(&first.estimate), self.words(&last.estimate));
        let told = match shape {
            Shape::Increasing => {
                all([self.rises(&ys, tolerance), above_zero(&last.minus(first), self.confidence)])
            }
            Shape::Decreasing => {
                all([self.falls(&ys, tolerance), above_zero(&first.minus(last), self.confidence)])
            }
            Shape::Flat => self.flat(&ys, tolerance),
            Shape::Peaked => {
                let inner = 1..ys.len() - 1;
                let top =
                    inner.max_by(|&a, &b| ys[a].estimate.value.total_cmp(&ys[b].estimate.value)).unwrap_or(1);
                let value = |point: &(f64, Number)| point.1.estimate.value;
                let largest = points.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
                let largest = largest.unwrap_or(&points[top]);
                ours = format!("largest, {}, at {}", self.words(&largest.1.estimate), short(largest.0));
                let beyond = |end: &Number| above_zero(&ys[top].minus(end), self.confidence);
                let slopes = [self.rises(&ys[..=top], tolerance), self.falls(&ys[top..], tolerance)];
                all(slopes.into_iter().chain([beyond(first), beyond(last)]))
            }
            Shape::Linear | Shape::Sublinear | Shape::Superlinear => {
                let points: Vec<(f64, Estimate)> = points.iter().map(|(x, y)| (*x, y.estimate)).collect();
                let growth = growth_of(&points, self.confidence)
                    .ok_or("a growth exponent needs numbers above 0 at two loads")?;
                ours =
                    format!("exponent {}", Answer::symmetric_of(growth.exponent, growth.half_width).text());
                let interval = growth.half_width.map(|half| (growth.exponent - half, growth.exponent + half));
                let zone = match shape {
                    Shape::Linear => (1.0 - tolerance, 1.0 + tolerance),
                    Shape::Sublinear => (f64::NEG_INFINITY, 1.0 - tolerance),
                    _ => (1.0 + tolerance, f64::INFINITY),
                };
                within(interval, zone)
            }
        };
        let repeats = ys.iter().map(|y| y.estimate.n).min().unwrap_or(0);
        Ok(LawFinding { told, ours, repeats, beyond: None })
    }

    /// Tests that no value is below its left neighbour by more than the tolerance.
    fn rises(&self, ys: &[Number], tolerance: f64) -> LawOutcome {
        let one = |pair: &[Number]| {
            let lowest = -tolerance * pair[0].estimate.value.abs();
            within(pair[1].minus(&pair[0]).estimate.interval(self.confidence), (lowest, f64::INFINITY))
        };
        all(ys.windows(2).map(one))
    }

    /// Tests that no value is above its left neighbour by more than the tolerance.
    fn falls(&self, ys: &[Number], tolerance: f64) -> LawOutcome {
        let mirrored: Vec<Number> = ys.iter().map(|y| Number::sum(&[(-1.0, y)])).collect();
        self.rises(&mirrored, tolerance)
    }

    /// Tests that every value is within the tolerance of the mean of all values.
    fn flat(&self, ys: &[Number], tolerance: f64) -> LawOutcome {
        let share = 1.0 / ys.len() as f64;
        let may = tolerance * Number::mean(ys).estimate.value.abs();
        all((0..ys.len()).map(|own| {
            let weight = |index: usize| if index == own { 1.0 - share } else { -share };
            let parts: Vec<_> = ys.iter().enumerate().map(|(index, y)| (weight(index), y)).collect();
            within(Number::sum(&parts).estimate.interval(self.confidence), (-may, may))
        }))
    }
}

fn missing(point: &PointResult) -> String {
    let outcome = point.outcome().map_or("not measured yet", |outcome| outcome.name());
    match point.reason() {
        "" => format!("the point is {outcome}"),
        reason => format!("the point is {outcome}: {reason}"),
    }
}
