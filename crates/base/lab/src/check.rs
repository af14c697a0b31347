//! Common framework of all checks: named cases with their clauses, a verdict for each, and a capture of each failure.
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::rig;
use crate::worker::ComponentError;

/// Result of one check.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// Name of the check.
    pub name: &'static str,
    /// Clause of the specification.
    pub clause: &'static str,
    /// The checked E2 node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// `passed`, `failed` or `skipped`.
    pub verdict: &'static str,
    /// Fault of the peer, or reason why the check was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Capture file of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
}

pub enum CaseFailure {
    /// The peer violated the clause.
    Fails(String),
    /// The check is not possible here.
    Skipped(&'static str),
    /// The peer rejected something optional: the cause and the rejected item.
    Refused(String),
    /// The peer violated the clause. If the named earlier check did not pass, this check counts as skipped.
    Needs(&'static str, String),
    /// An error that ends all checks.
    Trouble(ComponentError),
}

pub type Outcome = Result<(), CaseFailure>;

pub fn fails<T>(why: impl Into<String>) -> Result<T, CaseFailure> {
    Err(CaseFailure::Fails(why.into()))
}

/// Name, clause, and function of a check.
pub type Case<P> = (&'static str, &'static str, fn(&mut P) -> Outcome);

/// The checked system, and the connection of a case to it.
pub trait CheckTarget {
    /// The peer that a case uses.
    type Peer;
    /// Prefix and extension of a capture's file name.
    const CAPTURE: (&'static str, &'static str);
    /// Returns the reason why no further check is possible, if there is one.
    fn ended(&self) -> Option<&'static str>;
    /// Returns the checked E2 node, if peers have names.
    fn node(&self) -> Option<String> {
        None
    }
    /// Returns whether the peer under test still responds. Called after each case.
    fn answers(&self, _peer: &mut Self::Peer) -> Result<bool, ComponentError> {
        Ok(true)
    }
    /// Returns the peer for the case with this number.
    fn peer(&self, number: usize) -> Result<Self::Peer, ComponentError>;
    /// Restores the initial state of the peer.
    fn leave(&self, peer: &mut Self::Peer) -> Result<(), ComponentError>;
    /// Writes the recorded traffic.
    fn capture(&self, peer: &Self::Peer, file: &Path) -> io::Result<()>;
}

/// Returns the selected cases, with their numbers among all cases.
pub fn chosen<'c, P>(
    cases: &'c [Case<P>],
    only: &[String],
) -> Result<Vec<(usize, &'c Case<P>)>, ComponentError> {
    let named = |case: &Case<P>, part: &String| case.0.to_lowercase().contains(&part.to_lowercase());
    if let Some(unknown) = only.iter().find(|part| !cases.iter().any(|case| named(case, part))) {
        let names: Vec<_> = cases.iter().map(|case| case.0).collect();
        return Err(rig(format!("no check has \"{unknown}\" in its name; available: {}", names.join("; "))));
    }
    let is_selected = |case: &Case<P>| only.is_empty() || only.iter().any(|part| named(case, part));
    Ok(cases.iter().enumerate().filter(|(_, case)| is_selected(case)).collect())
}

/// Creates the folder of captures.
pub fn folder(captures: &Path) -> Result<(), ComponentError> {
    std::fs::create_dir_all(captures).map_err(|error| unwritable(captures, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> ComponentError {
    rig(format!("{}: {error}", path.display()))
}

/// Runs the cases one by one. `report` is called with each verdict.
pub fn run<R: CheckTarget, E: From<ComponentError>>(
    rig: &R,
    cases: Vec<(usize, &Case<R::Peer>)>,
    captures: &Path,
    mut report: impl FnMut(&Verdict) -> Result<(), E>,
) -> Result<Vec<Verdict>, E> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    let mut silent_since: Option<String> = None;
    for (number, case) in cases {
        let verdict = if let Some(why) = &silent_since {
            skipped(rig, case, why.clone())
        } else {
            let open: Vec<&str> =
                verdicts.iter().filter(|v| v.verdict != "passed").map(|verdict| verdict.name).collect();
            let (verdict, answers) = verdict(rig, number, case, captures, &open)?;
            if !answers {
                let after = case.0;
                silent_since = Some(format!("it has not answered since the check \"{after}\""));
            }
            verdict
        };
        report(&verdict)?;
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

fn skipped<R: CheckTarget>(rig: &R, &(name, clause, _): &Case<R::Peer>, why: String) -> Verdict {
    Verdict { name, clause, node: rig.node(), verdict: "skipped", why: Some(why), capture: None }
}

/// Runs a case, and checks whether the peer still responds. `open` contains the names of earlier cases that did not
/// pass.
fn verdict<R: CheckTarget>(
    rig: &R,
    number: usize,
    entry: &Case<R::Peer>,
    captures: &Path,
    open: &[&str],
) -> Result<(Verdict, bool), ComponentError> {
    let &(name, clause, case) = entry;
    if let Some(why) = rig.ended() {
        return Ok((skipped(rig, entry, why.to_owned()), true));
    }
    let mut peer = rig.peer(number)?;
    let mut outcome = case(&mut peer);
    if rig.ended().is_none() {
        rig.leave(&mut peer)?;
    }
    let mut answers = true;
    if !matches!(outcome, Err(CaseFailure::Trouble(_))) {
        if let Some(ended) = rig.ended() {
            outcome = fails(with_reason(ended, outcome));
        } else if !rig.answers(&mut peer)? {
            answers = false;
            outcome = fails(with_reason("it stopped answering", outcome));
        }
    }
    let mut verdict = Verdict { name, clause, node: rig.node(), verdict: "passed", why: None, capture: None };
    match outcome {
        Ok(()) => {}
        Err(CaseFailure::Skipped(why)) => verdict = skipped(rig, entry, why.to_owned()),
        Err(CaseFailure::Refused(why)) => verdict = skipped(rig, entry, why),
        Err(CaseFailure::Needs(needed, why)) if open.contains(&needed) => {
            verdict = skipped(rig, entry, format!("it needs \"{needed}\", which did not pass: {why}"));
        }
        Err(CaseFailure::Trouble(trouble)) => return Err(trouble),
        Err(CaseFailure::Fails(why) | CaseFailure::Needs(_, why)) => {
            (verdict.verdict, verdict.why) = ("failed", Some(why));
            let (begin, end) = R::CAPTURE;
            let file = captures.join(format!("{begin}-{:02}.{end}", number + 1));
            rig.capture(&peer, &file).map_err(|error| unwritable(&file, &error))?;
            verdict.capture = Some(file);
        }
    }
    verdict.node = rig.node();
    Ok((verdict, answers))
}

/// Combines the reason why no further check is possible with the failure that shows it.
fn with_reason(ended: &str, outcome: Outcome) -> String {
    match outcome {
        Err(CaseFailure::Fails(why) | CaseFailure::Needs(_, why)) if why != ended => {
            format!("{ended}: {why}")
        }
        _ => ended.to_owned(),
    }
}

/// Returns name and clause of every case, in order of execution.
pub fn listed<P>(cases: &[Case<P>]) -> Vec<(&'static str, &'static str)> {
    cases.iter().map(|(name, clause, _)| (*name, *clause)).collect()
}

/// A test case of a JUnit file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// Name within the suite.
    pub name: String,
    /// Result of the test.
    pub result: TestResult,
}

/// Result of a test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestResult {
    /// The test case passed.
    Passed,
    /// The test case was not decided; the text is the reason.
    Skipped(String),
    /// The test case failed.
    Failed {
        /// Reason of the failure.
        why: String,
        /// Further details, such as a file name. May be empty.
        detail: String,
    },
}

/// Formats the verdicts as JUnit XML for CI services.
#[must_use]
pub fn junit(suite: &str, verdicts: &[Verdict]) -> String {
    let case = |verdict: &Verdict| {
        let why = verdict.why.clone().unwrap_or_default();
        let detail = verdict.capture.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let result = match verdict.verdict {
            "failed" => TestResult::Failed { why, detail },
            "skipped" => TestResult::Skipped(why),
            _ => TestResult::Passed,
        };
        let node = verdict.node.as_ref().map_or_else(String::new, |node| format!("{node}: "));
        TestCase { name: format!("{node}{} ({})", verdict.name, verdict.clause), result }
    };
    junit_of(suite, &verdicts.iter().map(case).collect::<Vec<_>>())
}

/// Formats test cases as JUnit XML.
#[must_use]
pub fn junit_of(suite: &str, cases: &[TestCase]) -> String {
    let failed = cases.iter().filter(|case| matches!(case.result, TestResult::Failed { .. })).count();
    let skipped = cases.iter().filter(|case| matches!(case.result, TestResult::Skipped(_))).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let total = cases.len();
    let suite = escaped(suite);
    out += &format!(
        "<testsuite name=\"{suite}\" tests=\"{total}\" failures=\"{failed}\" skipped=\"{skipped}\">\n"
    );
    for case in cases {
        out += &format!("  <testcase classname=\"{suite}\" name=\"{}\"", escaped(&case.name));
        out += &match &case.result {
            TestResult::Failed { why, detail } => {
                format!("><failure message=\"{}\">{}</failure></testcase>\n", escaped(why), escaped(detail))
            }
            TestResult::Skipped(why) => {
                format!("><skipped message=\"{}\"/></testcase>\n", escaped(why))
            }
            TestResult::Passed => "/>\n".to_owned(),
        };
    }
    out + "</testsuite>\n"
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // XML allows no other control characters.
            control if control.is_control() && !matches!(control, '\n' | '\t') => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_names_failures_and_escapes_peer_text() {
        let verdict = |verdict, why: Option<&str>| Verdict {
            name: "an <odd> name",
            clause: "1.2",
            node: None,
            verdict,
            why: why.map(str::to_owned),
            capture: None,
        };
        let verdicts = [
            verdict("passed", None),
            verdict("failed", Some("\"a\" & b\u{1}")),
            verdict("skipped", Some("no need")),
        ];
        let text = junit("check ric", &verdicts);
        assert!(text.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{text}");
        assert!(text.contains("<failure message=\"&quot;a&quot; &amp; b \">"), "{text}");
        assert!(text.contains("name=\"an &lt;odd&gt; name (1.2)\"/>"), "{text}");
        assert!(text.contains("<skipped message=\"no need\"/>"), "{text}");
    }
}
