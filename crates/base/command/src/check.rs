//! `ranlab check`: tests the conformance of a system, clause by clause. Each domain registers its checks; the format of the
//! output is the same for all.
use std::path::PathBuf;

use ranlab_lab::check::{Verdict, junit};
use serde_json::json;

use crate::exit::Failure;
use crate::output::{Format, Output};

/// Options of every check.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// List the checks with their clauses, without running them
    #[arg(long, global = true)]
    list: bool,
    /// Also write the verdicts to this file as JUnit XML
    #[arg(long, global = true)]
    junit: Option<PathBuf>,
}

/// Runs the checks of a system, or lists them. `clauses` contains the name and the clause of each check. `run` runs the
/// checks, and calls its second argument with each verdict.
///
/// # Errors
/// A check failed, no check could run, or `address` is missing.
pub fn run<A>(
    suite: &str,
    options: &Options,
    format: Format,
    address: Option<A>,
    clauses: &[(&str, &str)],
    run: impl FnOnce(A, &mut dyn FnMut(&Verdict) -> Result<(), Failure>) -> Result<Vec<Verdict>, Failure>,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    if options.list {
        return list(output, clauses);
    }
    // The address is optional only for a list.
    let address =
        address.ok_or_else(|| Failure::Usage("the address of the system to check is missing".to_owned()))?;
    let verdicts = run(address, &mut |verdict| print(&mut output, verdict))?;
    if let Some(file) = &options.junit {
        let written = std::fs::write(file, junit(suite, &verdicts));
        written.map_err(|error| Failure::Environment(format!("{}: {error}", file.display())))?;
    }
    let count = |kind: &str| verdicts.iter().filter(|verdict| verdict.verdict == kind).count();
    let [passed, failed, skipped] = ["passed", "failed", "skipped"].map(count);
    output.text(format_args!("{passed} passed, {failed} failed, {skipped} skipped"))?;
    output.finish(&json!({ "checks": verdicts, "passed": passed, "failed": failed, "skipped": skipped }))?;
    match (passed, failed) {
        (_, 1..) => Err(Failure::Check(format!("{failed} of {} checks failed", verdicts.len()))),
        (0, 0) => Err(Failure::Environment(format!("none of {} checks could run", verdicts.len()))),
        _ => Ok(()),
    }
}

/// Lists the checks, with their clauses.
fn list(mut output: Output, clauses: &[(&str, &str)]) -> Result<(), Failure> {
    let mut listed = Vec::new();
    for (name, clause) in clauses {
        let item = json!({ "name": name, "clause": clause });
        output.text(format_args!("{name} ({clause})"))?;
        output.item(&item)?;
        listed.push(item);
    }
    output.finish(&json!({ "checks": listed }))
}

fn print(output: &mut Output, verdict: &Verdict) -> Result<(), Failure> {
    output.text(format_args!(
        "{:<8} {}{} ({}){}",
        verdict.verdict,
        verdict.node.as_ref().map_or_else(String::new, |node| format!("{node}: ")),
        verdict.name,
        verdict.clause,
        verdict.why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
    ))?;
    output.item(verdict)?;
    // A check may take seconds. Without a flush, a pipe or a file would show nothing before the end.
    output.flush()
}
