//! `ranlab check`: conformance, clause by clause, with a capture of every failure.
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;
use ranlab_e2_lab::check::{AgentCheck, RicCheck, agent_checks, check_agent, check_ric, ric_checks};
use ranlab_lab::check::{Verdict, junit};
use ranlab_sdk::transport::Address;
use ranlab_upf_lab::check::{UpfCheck, check_upf, upf_checks};

use crate::exit::Failure;
use crate::flags::Flags;
use crate::output::{Format, Output};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: CheckCommand,
    /// List the checks with their clauses, without running them
    #[arg(long, global = true)]
    list: bool,
    /// Also write the verdicts to this file as JUnit XML
    #[arg(long, global = true)]
    junit: Option<PathBuf>,
}

// Parsed once per process, so the size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Subcommand)]
enum CheckCommand {
    /// Check a user plane function: N4, and N3 if --n3 is given
    Upf(UpfArguments),
    /// Check a near-RT RIC, with emulated base stations that connect to it
    Ric(RicArguments),
    /// Check the E2 agent of a base station, with an emulated RIC that it connects to
    Agent(AgentArguments),
}

/// Arguments of `check upf`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check upf 127.0.0.8:8805 --n3 127.0.0.8:2152 --gnb 127.0.1.1:2152\n  ranlab check upf 127.0.0.7:8805 --n3 127.0.0.7:2152 --dialect open5gs --ue 10.45.0.2 --n6 routed://10.45.0.1:9 --only 'trap 3,echo'"
)]
struct UpfArguments {
    /// Address and port of the UPF's N4
    #[arg(value_name = "ADDRESS:PORT", value_parser = crate::args::socket_address, required_unless_present = "list")]
    address: Option<SocketAddr>,
    #[command(flatten)]
    check: Flags<UpfCheck>,
}

/// Arguments of `check ric`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check ric tcp://127.0.0.1:36421 --e42 tcp://127.0.0.1:36422 --junit ric.xml\n  ranlab check ric sctp://10.0.0.1:36421 --only setup,reset"
)]
struct RicArguments {
    /// Address of the RIC's listener for base stations
    #[arg(required_unless_present = "list")]
    address: Option<Address>,
    #[command(flatten)]
    check: Flags<RicCheck>,
}

/// Arguments of `check agent`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check agent tcp://127.0.0.1:36421 --junit agent.xml\n  ranlab check agent sctp://0.0.0.0:36421 --hostile\n  ranlab check agent shim:///run/ranlab:36421 --node \"001.01 411/du 0\""
)]
struct AgentArguments {
    /// Address on which the agent's connection is accepted
    #[arg(required_unless_present = "list")]
    address: Option<Address>,
    #[command(flatten)]
    check: Flags<AgentCheck>,
}

/// Runs the verb.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let mut output = Output::new(format);
    if arguments.list {
        return list(output, &arguments.what);
    }
    let (suite, verdicts) = match arguments.what {
        CheckCommand::Upf(it) => {
            let address = given(it.address)?;
            (
                "check upf",
                check_upf(address, &it.check.config, |verdict| print_verdict(&mut output, verdict))?,
            )
        }
        CheckCommand::Ric(it) => {
            let address = given(it.address)?;
            (
                "check ric",
                check_ric(&address, &it.check.config, |verdict| print_verdict(&mut output, verdict))?,
            )
        }
        CheckCommand::Agent(it) => {
            let listening = |at: &Address| -> Result<(), Failure> {
                eprintln!("waiting for an agent at {at}");
                Ok(())
            };
            let check = &it.check.config;
            let address = given(it.address)?;
            (
                "check agent",
                check_agent(&address, check, listening, |verdict| print_verdict(&mut output, verdict))?,
            )
        }
    };
    if let Some(file) = &arguments.junit {
        let written = std::fs::write(file, junit(suite, &verdicts));
        written.map_err(|error| Failure::Environment(format!("{}: {error}", file.display())))?;
    }
    let count = |kind: &str| verdicts.iter().filter(|verdict| verdict.verdict == kind).count();
    let [passed, failed, skipped] = ["passed", "failed", "skipped"].map(count);
    output.text(format_args!("{passed} passed, {failed} failed, {skipped} skipped"))?;
    output.finish(
        &serde_json::json!({ "checks": verdicts, "passed": passed, "failed": failed, "skipped": skipped }),
    )?;
    match (passed, failed) {
        (_, 1..) => Err(Failure::Check(format!("{failed} of {} checks failed", verdicts.len()))),
        (0, 0) => Err(Failure::Environment(format!("none of {} checks could be tried", verdicts.len()))),
        _ => Ok(()),
    }
}

/// Returns the address, which is optional only for a list.
fn given<A>(address: Option<A>) -> Result<A, Failure> {
    address.ok_or_else(|| Failure::Usage("the address of what is checked is missing".to_owned()))
}

/// Lists the checks, with their clauses.
fn list(mut output: Output, what: &CheckCommand) -> Result<(), Failure> {
    let checks = match what {
        CheckCommand::Upf(_) => upf_checks(),
        CheckCommand::Ric(_) => ric_checks(),
        CheckCommand::Agent(_) => agent_checks(),
    };
    for (name, clause) in &checks {
        output.text(format_args!("{name} ({clause})"))?;
        output.item(&serde_json::json!({ "name": name, "clause": clause }))?;
    }
    let listed = checks.iter().map(|(name, clause)| serde_json::json!({ "name": name, "clause": clause }));
    output.finish(&serde_json::json!({ "checks": listed.collect::<Vec<_>>() }))
}

fn print_verdict(output: &mut Output, verdict: &Verdict) -> Result<(), Failure> {
    output.text(format_args!(
        "{:<8} {}{} ({}){}",
        verdict.verdict,
        verdict.node.as_ref().map_or_else(String::new, |node| format!("{node}: ")),
        verdict.name,
        verdict.clause,
        verdict.why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
    ))?;
    output.item(verdict)?;
    // A check may take seconds, and a pipe or a file would otherwise show nothing until the last one.
    output.flush()
}
