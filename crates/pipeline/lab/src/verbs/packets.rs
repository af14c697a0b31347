//! `bench trace` and `bench config`. `bench trace` writes the packets of a scenario of rig `pipeline`, with their
//! expected results. `bench config` writes configurations of other switches. The files are for testers and machines
//! that ranlab does not control.
use std::path::{Path, PathBuf};

use ranlab_campaign::plan::Plan;
use ranlab_campaign::rig::RigError;
use ranlab_command::exit::Failure;
use ranlab_command::output::Output;
use ranlab_command::scenario::ScenarioArguments;
use ranlab_command::verb::{Context, Run};
use ranlab_pipeline::backends::{self, Backend, BackendRequest};
use ranlab_pipeline::declare::Direction;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Headers, Trace as Packets};
use serde_json::json;

use crate::Sent;
use crate::captured::{self, Written};

/// Name of the rig whose scenarios contain packets.
const RIG: &str = "pipeline";

/// Arguments of `bench trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ranlab bench trace scenarios/tipsy/own.toml --out own.pcapng\n  \
                  ranlab bench trace my.toml --set load.dir=uplink --out up.pcap\n\n\
                  A pcapng file has both ports, as interfaces `access` and `core`. If packets enter by both ports, there is one pcap\n\
                  file per port. FILE-expected has the packets that must leave, by port.")]
pub(super) struct Trace {
    #[command(flatten)]
    reading: ScenarioArguments,
    /// Index of the point, as listed by `bench check`
    #[arg(long, default_value_t = 0)]
    point: usize,
    /// File for the packets (.pcap or .pcapng)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Arguments of `bench config`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab bench config scenarios/tipsy/fig11-mgw.toml --engine vpp --out vpp"
)]
pub(super) struct Config {
    #[command(flatten)]
    reading: ScenarioArguments,
    /// Index of the point, as listed by `bench check`
    #[arg(long, default_value_t = 0)]
    point: usize,
    /// Target switch; docs/reference/backends.md lists what each one supports
    #[arg(long, value_name = "ENGINE")]
    engine: String,
    /// Folder for the files; it is created
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Run for Trace {
    fn run(self, context: &Context) -> Result<(), Failure> {
        trace(&self, context)
    }
}

impl Run for Config {
    fn run(self, context: &Context) -> Result<(), Failure> {
        config(&self, context)
    }
}

fn trace(arguments: &Trace, context: &Context) -> Result<(), Failure> {
    let sent = sent(&arguments.reading, arguments.point, context)?;
    let headers = captured::headers(&sent.pipeline, &sent.traffic, &sent.captures).map_err(usage)?;
    let packets = match &headers {
        Some(headers) => headers.trace.clone(),
        None => packets(&sent)?,
    };
    let expected = captured::expected(&sent.pipeline, &packets).map_err(usage)?;
    let beside = captured::beside(&arguments.out, "expected");
    let write = |path: &Path, packets: &Packets| {
        captured::write(path, packets).map_err(|error| Failure::Environment(error.to_string()))
    };
    let mut output = Output::new(context.format);
    let entering = write(&arguments.out, &packets)?;
    print_files(&mut output, &entering, "enter")?;
    let leaving = write(&beside, &expected.leaves)?;
    print_files(&mut output, &leaving, "leave")?;
    output.text(format_args!("{} of {} packets are dropped", expected.dropped, packets.len()))?;
    for (reason, count) in &expected.reasons {
        output.text(format_args!("  {count}: {}", reason.meaning()))?;
    }
    let named = headers.as_ref().map(|headers| print_headers(&mut output, &sent, headers)).transpose()?;
    notes(&sent).iter().try_for_each(|note| output.text(format_args!("note: {note}")))?;
    let reasons: serde_json::Map<_, _> =
        expected.reasons.iter().map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
    let summary = json!({
        "pipeline": sent.pipeline.name(),
        "sent": entering,
        "expected": leaving,
        "dropped": expected.dropped,
        "dropped_by_reason": reasons,
        "headers": named,
        "notes": notes(&sent),
    });
    output.finish(&summary)
}

/// Prints the number of packets of a header trace that match the rule named in the trace. Returns these numbers.
fn print_headers(output: &mut Output, sent: &Sent, headers: &Headers) -> Result<serde_json::Value, Failure> {
    if headers.without_ports > 0 {
        output.text(format_args!(
            "{} headers of other protocols than TCP and UDP have ports that no packet can carry, and are left out",
            headers.without_ports
        ))?;
    }
    let direction = directions(sent.traffic.dir).first().copied().unwrap_or(Direction::Uplink);
    let matches = headers.matches(&sent.pipeline, direction);
    if let Some(found) = matches {
        output.text(format_args!(
            "{} of {} headers match the rule that the trace names for them; {} of these match no earlier rule",
            found.matching, found.named, found.first
        ))?;
    }
    Ok(json!({
        "without_ports": headers.without_ports,
        "named": matches.map(|found| found.named),
        "matching": matches.map(|found| found.matching),
        "first": matches.map(|found| found.first),
    }))
}

/// Returns one sentence for each kind of input that the pipeline reads but ignores.
fn notes(sent: &Sent) -> &[String] {
    match &sent.pipeline {
        Pipeline::Own(own) => own.notes(),
        _ => &[],
    }
}

fn print_files(output: &mut Output, files: &[Written], how: &str) -> Result<(), Failure> {
    files.iter().try_for_each(|file| {
        output.text(format_args!(
            "{}: {} packets that {how} through {}",
            file.path.display(),
            file.packets,
            file.port
        ))
    })
}

fn config(arguments: &Config, context: &Context) -> Result<(), Failure> {
    let backend = backend(&arguments.engine)?;
    let sent = sent(&arguments.reading, arguments.point, context)?;
    let declaration = sent.pipeline.build().map_err(usage)?;
    let request = BackendRequest { declaration: &declaration, directions: directions(sent.traffic.dir) };
    let translation = backend.translate(&request).map_err(usage)?;
    let out = &arguments.out;
    let failed = |error: std::io::Error| Failure::Environment(format!("{}: {error}", out.display()));
    std::fs::create_dir_all(out).map_err(failed)?;
    let mut output = Output::new(context.format);
    let mut files = Vec::new();
    for text in &translation.texts {
        let ending = if text.name.contains('.') { "" } else { ".txt" };
        let path = out.join(format!("{}{ending}", text.name));
        std::fs::write(&path, &text.text).map_err(failed)?;
        output.text(format_args!(
            "{}: {} lines for {}",
            path.display(),
            text.text.lines().count(),
            text.reader
        ))?;
        files.push(path);
    }
    let differs: Vec<&str> = backend.equivalences(&request).iter().map(|one| one.meaning()).collect();
    differs
        .iter()
        .try_for_each(|one| output.text(format_args!("packets of this switch may differ: {one}")))?;
    notes(&sent).iter().try_for_each(|note| output.text(format_args!("note: {note}")))?;
    output.text(format_args!("{} is installed by: {}", backend.title(), backend.install()))?;
    let summary = json!({
        "engine": backend.name(),
        "pipeline": sent.pipeline.name(),
        "files": files,
        "differs": differs,
        "install": backend.install(),
    });
    output.finish(&summary)
}

fn backend(name: &str) -> Result<&'static dyn Backend, Failure> {
    backends::named(name).ok_or_else(|| {
        let names: Vec<&str> = backends::all().iter().map(|backend| backend.name()).collect();
        Failure::Usage(format!(
            "no configuration is written for \"{name}\"; allowed are {}",
            names.join(", ")
        ))
    })
}

const fn directions(all: Directions) -> &'static [Direction] {
    match all {
        Directions::Uplink => &[Direction::Uplink],
        Directions::Downlink => &[Direction::Downlink],
        Directions::Bidir => &[Direction::Uplink, Direction::Downlink],
    }
}

/// Returns the pipeline and traffic of a point of a scenario.
fn sent(reading: &ScenarioArguments, number: usize, context: &Context) -> Result<Sent, Failure> {
    let (scenario, rig) = reading.read(context)?;
    if rig.name != RIG {
        return Err(Failure::Usage(format!(
            "rig {} sends no packets of a pipeline; rig {RIG} does",
            rig.name
        )));
    }
    let mut points = Plan::new(&scenario, &rig).points;
    if number >= points.len() {
        let what = format!("there is no point {number}; allowed are 0 to {}", points.len().saturating_sub(1));
        return Err(Failure::Usage(what));
    }
    let point = points.swap_remove(number);
    crate::sent(&point, scenario.measure.seed).map_err(|error| match error {
        RigError::Environment(why) => Failure::Environment(why),
        RigError::Rig(why) => Failure::Usage(why),
        other => Failure::Usage(other.to_string()),
    })
}

fn packets(sent: &Sent) -> Result<Packets, Failure> {
    if sent.captures.is_empty() {
        return Packets::generate(&sent.pipeline, &sent.traffic).map_err(usage);
    }
    captured::read(&sent.captures, sent.traffic.dir).map_err(usage)
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}
