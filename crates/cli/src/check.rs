//! `ranlab check`: conformance, clause by clause, with a capture of every failure.
use std::net::SocketAddr;

use clap::Subcommand;
use ranlab_parts::check::{UpfCheck, check_upf};

use crate::exit::Failure;
use crate::flags::Flags;
use crate::output::{Format, Output};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A user plane function: N4, and N3 where --n3 is given
    Upf(UpfArguments),
}

/// Arguments of `check upf`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check upf 127.0.0.8:8805 --n3 127.0.0.8:2152 --gnb 127.0.1.1:2152\n  ranlab check upf 127.0.0.7:8805 --n3 127.0.0.7:2152 --dialect open5gs --ue 10.45.0.2 --n6 routed://10.45.0.1:9 --only 'trap 3,echo'"
)]
struct UpfArguments {
    /// The UPF's N4
    address: SocketAddr,
    #[command(flatten)]
    check: Flags<UpfCheck>,
}

/// Runs the verb.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let What::Upf(arguments) = arguments.what;
    let mut output = Output::new(format);
    let verdicts = check_upf(arguments.address, &arguments.check.config, |verdict| {
        output.text(format_args!(
            "{:<8} {} ({}){}",
            verdict.verdict,
            verdict.name,
            verdict.clause,
            verdict.why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
        ))?;
        output.item(verdict)
    })?;
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
