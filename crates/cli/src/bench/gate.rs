//! Decides whether a campaign passes or fails in CI: thresholds, a headline number, a JUnit file and the exit code.
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ranlab_campaign::expect::{Judged, Verdict, counts, in_words};
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::{Better, Outcome};
use ranlab_lab::check::{TestCase, TestResult, junit_of};

use crate::exit::Failure;
use crate::output::Output;

/// Arguments that determine when a run fails.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Gate {
    /// Also exit with 1 for these verdicts and outcomes: inconclusive, differs, unmeasurable, stale; degraded, misses_budget,
    /// overloaded, sut_failed, timeout, invalid
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "CI")]
    fail_on: Vec<FailOn>,
    /// Write the expectations as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "CI")]
    junit: Option<PathBuf>,
}

/// Verdict of an expectation, or outcome of a point, that fails a run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailOn(String);

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let verdicts =
            Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Holds).map(Verdict::name);
        let outcomes = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok).map(Outcome::name);
        let mut known: Vec<&str> = verdicts.chain(outcomes).collect();
        known.dedup();
        if known.contains(&text) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("\"{text}\" is not a verdict or an outcome; allowed are {}", known.join(", ")))
    }
}

impl Gate {
    fn fails_on(&self, name: &str) -> bool {
        self.fail_on.iter().any(|fail_on| fail_on.0 == name)
    }

    /// Returns whether a verdict fails the run.
    fn is_failure(&self, verdict: Verdict) -> bool {
        verdict == Verdict::Fails || self.fails_on(verdict.name())
    }

    /// Writes the JUnit file, if requested.
    pub(super) fn write_junit(&self, results: &Results, judged: &[Judged]) -> Result<(), Failure> {
        let Some(file) = &self.junit else { return Ok(()) };
        write(file, &junit_of(&results.scenario.title, &self.cases(results, judged)))
    }

    /// Returns one test case per expectation, and one per point with an outcome that fails the run.
    fn cases(&self, results: &Results, judged: &[Judged]) -> Vec<TestCase> {
        let expectation = |row: &Judged| {
            let statement = format!("{} at {}: {}", row.metric, row.place, row.paper);
            let line = format!("{}: measured {}, {}", row.verdict.name(), row.ours, row.reason);
            let why = line.trim_end_matches(", ").to_owned();
            let result = match row.verdict {
                verdict if self.is_failure(verdict) => TestResult::Failed { why, detail: row.source.clone() },
                Verdict::Holds => TestResult::Passed,
                _ => TestResult::Skipped(why),
            };
            TestCase { name: format!("{statement} [{}]", row.class.name()), result }
        };
        let point = |(point, outcome): (&PointResult, Outcome)| {
            let why = format!("{}: {}", outcome.name(), point.reason());
            let result = TestResult::Failed { why, detail: String::new() };
            TestCase { name: format!("point {}", point.point.label()), result }
        };
        judged.iter().map(expectation).chain(self.failing_points(results).map(point)).collect()
    }

    fn failing_points<'r>(
        &'r self,
        results: &'r Results,
    ) -> impl Iterator<Item = (&'r PointResult, Outcome)> {
        let with_outcome = results.points.iter().filter_map(|point| Some((point, point.outcome()?)));
        with_outcome.filter(|(_, outcome)| self.fails_on(outcome.name()))
    }

    /// Returns the reason why the run fails, if it does.
    pub(crate) fn decide(&self, results: &Results, judged: &[Judged]) -> Result<(), Failure> {
        let failed: Vec<&Judged> = judged.iter().filter(|row| self.is_failure(row.verdict)).collect();
        // The message names a failed required expectation before the others.
        if let Some(first) =
            failed.iter().find(|row| row.verdict == Verdict::Fails).or_else(|| failed.first())
        {
            return Err(Failure::Check(format!(
                "{} of {} expectations do not pass; the first has the verdict {}: {} at {} is {}, expected {}",
                failed.len(),
                judged.len(),
                first.verdict.name(),
                first.metric,
                first.place,
                first.ours,
                first.paper
            )));
        }
        let points = self.failing_points(results).count();
        if let Some((point, outcome)) = self.failing_points(results).next() {
            return Err(Failure::Check(format!(
                "{points} of {} points do not pass; the first has the outcome {}: {}: {}",
                results.points.len(),
                outcome.name(),
                point.point.label(),
                point.reason()
            )));
        }
        measured(results)
    }
}

/// Metrics whose limits `host.when_noisy` relaxes.
const EXCUSED: [&str; 3] = ["host.steal_share", "host.other_share", "tool.send_delay_us"];

/// Fails if no point has valid values. The exit code is 1 if the system under test is the cause, and 3 if this machine is.
fn measured(results: &Results) -> Result<(), Failure> {
    let outcomes: Vec<Outcome> = results.points.iter().filter_map(PointResult::outcome).collect();
    if outcomes.iter().any(|outcome| outcome.counts()) {
        return Ok(());
    }
    let why = results.points.first().map_or("the campaign has no point", |point| point.reason());
    let invalid = outcomes.iter().all(|outcome| *outcome == Outcome::Invalid);
    // `host.when_noisy` relaxes only limits for disturbances by other processes.
    let excused = invalid && EXCUSED.iter().any(|metric| why.contains(metric));
    let hint = if excused && results.scenario.settings.contains_key(ranlab_lab::experiment::keys::WHEN_NOISY)
    {
        format!(
            "; `{} = \"warn\"` keeps such numbers, with a warning",
            ranlab_lab::experiment::keys::WHEN_NOISY
        )
    } else {
        String::new()
    };
    let sentence = format!("no point could be measured: {why}{hint}");
    let machine = |outcome: &Outcome| matches!(outcome, Outcome::Invalid | Outcome::Unmeasurable);
    Err(if outcomes.iter().all(machine) { Failure::Environment(sentence) } else { Failure::Check(sentence) })
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text)
        .map_err(|error| Failure::Environment(format!("{} cannot be written: {error}", file.display())))
}

/// Prints the number of expectations for each verdict, and then each expectation; those that decide come first.
pub(crate) fn print_thresholds(output: &mut Output, judged: &[Judged]) -> Result<(), Failure> {
    if judged.is_empty() {
        return Ok(());
    }
    output.text(format_args!("expectations  {}", in_words(&counts(judged))))?;
    super::run::tell_judged(output, judged)
}

/// Returns the value of a metric at its best point, as the headline number of a campaign.
pub(super) fn headline(results: &Results, metric: &str) -> Option<(String, serde_json::Value)> {
    let better = results.metric(metric)?.better;
    let answers = results.points.iter().filter_map(|point| Some((point, results.answer(point, metric)?)));
    let answers: Vec<_> = answers.collect();
    let best = |first: f64, second: f64| match better {
        Better::Lower => second.total_cmp(&first),
        Better::Higher => first.total_cmp(&second),
        // The metric has no better direction, so the last point of the plan is used.
        Better::Neither => std::cmp::Ordering::Less,
    };
    let (point, answer) = answers.iter().max_by(|(_, first), (_, second)| best(first.value, second.value))?;
    let unit = results.unit(metric);
    let label = point.point.label();
    let place = match (answers.len(), better) {
        (1, _) => String::new(),
        (_, Better::Neither) => format!(" at {label}"),
        (all, _) => format!(" at {label}, the best of {all} points"),
    };
    let mut json = answer.json(unit);
    json["metric"] = metric.into();
    json["point"] = label.into();
    Some((format!("{metric} {}{place}", answer.sentence(unit)), json))
}

#[cfg(test)]
mod tests;
