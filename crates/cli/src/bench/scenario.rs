//! `bench new`, `check`, `list`: scenarios before they are run.
use std::path::{Path, PathBuf};

use ranlab_campaign::plan::Plan;
use ranlab_campaign::rig::{Rig, RigDescription};
use ranlab_campaign::scenario::{Unanswered, json_schema, starter, template, unanswered};
use ranlab_campaign::schema::nearest;
use ranlab_command::verb::{Context, Template};
use ranlab_lab::experiment::{profile, third_party::PlannedCommand};
use serde_json::json;

use super::{ScenarioArguments, about, lab, probe};
use crate::exit::Failure;
use crate::features;
use crate::output::Output;

/// Maximum number of points that `check` shows; `--format json` has all.
const SHOWN_MAX: usize = 20;

/// Arguments of `bench new`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab bench new e2-statistics > my.toml\n  ranlab bench new gate > gate.toml\n  ranlab bench new e2-statistics --all > my.toml"
)]
pub(super) struct New {
    /// Name of a rig (see `ranlab bench list`), or gate: a CI gate for a UPF
    rig: String,
    /// Print every setting, with its default, unit and meaning
    #[arg(long)]
    all: bool,
}

/// Arguments of `bench check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab bench check my.toml --set load.nodes=50")]
pub(super) struct Check {
    #[command(flatten)]
    reading: ScenarioArguments,
}

/// Arguments of `bench list`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab bench list\n  ranlab bench list e2-statistics\n  ranlab bench list --schema > scenario.schema.json"
)]
pub(super) struct List {
    /// Show the settings and the metrics of this rig
    rig: Option<String>,
    /// Print a JSON schema of all scenarios, for editors
    #[arg(long)]
    schema: bool,
}

pub(super) fn new(arguments: &New, context: &Context) -> Result<(), Failure> {
    let rigs = crate::domains::descriptions(&lab()?);
    let name = &arguments.rig;
    let mut templates = context.domains.iter().flat_map(|domain| domain.templates);
    let text = match (templates.find(|template| template.name == name), arguments.all) {
        (Some(template), false) => template.text.to_owned(),
        (Some(Template { rig, .. }), true) => {
            let why = format!(
                "`{name}` is a short scenario of rig {rig}; `bench new {rig} --all` writes every setting"
            );
            return Err(Failure::Usage(why));
        }
        (None, true) => template(find(&rigs, name)?),
        (None, false) => starter(find(&rigs, name)?),
    };
    let mut output = Output::new(context.format);
    output.text(text.trim_end())?;
    output.finish(&json!({ "rig": arguments.rig, "scenario": text }))
}

fn find<'a>(rigs: &'a [RigDescription], name: &str) -> Result<&'a RigDescription, Failure> {
    rigs.iter().find(|rig| rig.is(name)).ok_or_else(|| {
        if let Some(missing) = features::missing_rig(name) {
            return missing;
        }
        let names: Vec<&str> = rigs.iter().map(|rig| rig.name.as_str()).collect();
        let near = nearest(name, names.iter().copied());
        let near = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        Failure::Usage(format!("there is no rig \"{name}\"; {near}allowed are {}", names.join(", ")))
    })
}

pub(super) fn check(arguments: &Check, context: &Context) -> Result<(), Failure> {
    let (scenario, rig) = arguments.reading.read(context)?;
    let plan = Plan::new(&scenario, &rig);
    let questions = unanswered(&scenario, &plan.points);
    if !questions.is_empty() && arguments.reading.is_whole() {
        return Err(Failure::Usage(in_lines(&questions)));
    }
    let mut output = Output::new(context.format);
    output.text(&scenario.title)?;
    output.text(format_args!("rig {}: {}", rig.name, rig.comment))?;
    for (path, value) in &scenario.settings {
        output.text(format_args!("  {path:<28} {value}"))?;
    }
    tell_plan(&mut output, &plan)?;
    let commands = commands(&plan)?;
    tell_commands(&mut output, &commands)?;
    questions.iter().try_for_each(|question| output.text(format_args!("note: {question}")))?;
    let missing = probe::missing(&plan, &rig, &commands);
    missing.iter().try_for_each(|what| output.text(format_args!("missing on this machine: {what}")))?;
    ranlab_lab::experiment::third_party::notes(&plan)
        .iter()
        .try_for_each(|note| output.text(format_args!("note: {note}")))?;
    preview(&plan, &*super::rig(&lab()?, &scenario.rig)?, &mut |line| output.text(line))?;
    let picture = picture(&plan, &scenario.rig, &arguments.reading.scenario)?;
    picture.iter().try_for_each(|file| output.text(format_args!("picture  {}", file.display())))?;
    let mut object = json!({
        "title": scenario.title,
        "rig": scenario.rig,
        "points": plan.points,
        "repeats": plan.repeats,
        "expected_s": plan.expected().as_secs_f64(),
        "scenario": scenario,
        "missing": missing,
    });
    if !commands.is_empty() {
        object["commands"] = json!(commands);
    }
    output.finish(&object)
}

/// Writes the rig's drawing of the first point to the scenario's results folder; returns the file.
fn picture(plan: &Plan, rig: &str, scenario: &Path) -> Result<Option<PathBuf>, Failure> {
    let first = plan.points.first();
    let drawn = super::rig(&lab()?, rig)?;
    let Some(svg) = first.and_then(|point| drawn.picture(&point.settings)) else { return Ok(None) };
    let here = std::env::current_dir().unwrap_or_default();
    let file = super::run::default_folder(scenario, &here, false).join("picture.svg");
    let failed = |error: std::io::Error| {
        Failure::Environment(format!("{} cannot be written: {error}", file.display()))
    };
    file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::write(&file, svg).map_err(failed)?;
    Ok(Some(file))
}

/// Returns the expectations that no point can answer, one line each.
fn in_lines(questions: &[Unanswered]) -> String {
    let lines: Vec<String> = questions.iter().take(SHOWN_MAX).map(Unanswered::to_string).collect();
    lines.join("\n")
}

/// Returns the commands that third-party profiles in a plan run. Fails if the scenario or a profile is invalid.
pub(super) fn commands(plan: &Plan) -> Result<Vec<PlannedCommand>, Failure> {
    ranlab_lab::experiment::third_party::commands(plan).map_err(|error| Failure::Usage(error.to_string()))
}

/// Prints the commands of third-party profiles.
pub(super) fn tell_commands(output: &mut Output, commands: &[PlannedCommand]) -> Result<(), Failure> {
    if !commands.is_empty() {
        output.text("commands, run only with --allow-commands:")?;
    }
    commands.iter().try_for_each(|command| output.text(format_args!("  {command}")))
}

/// Prints the points of the plan and the expected duration.
pub(super) fn tell_plan(output: &mut Output, plan: &Plan) -> Result<(), Failure> {
    for point in plan.points.iter().take(SHOWN_MAX) {
        output.text(format_args!("  point {:<4} {}", point.index, point.label()))?;
    }
    if plan.points.len() > SHOWN_MAX {
        output.text(format_args!("  … and {} more", plan.points.len() - SHOWN_MAX))?;
    }
    output.text(format_args!(
        "{} points, {} repeats each, about {}",
        plan.points.len(),
        plan.repeats,
        about(plan.expected())
    ))
}

/// Prints the load of the first and the last point, and the points that cannot run. Fails if none can.
pub(super) fn preview(
    plan: &Plan,
    rig: &dyn Rig,
    print_line: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut refused = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for point in &plan.points {
        let Some(found) = rig.preview(&point.settings) else { continue };
        let ends = point.index == 0 || point.index + 1 == plan.points.len();
        match found {
            Err(why) => refused.push(format!("point {} ({}): {why}", point.index, point.label())),
            Ok(text) if ends && !seen.contains(&text) => {
                print_line(&format!("point {} ({}):", point.index, point.label()))?;
                text.lines().try_for_each(|line| print_line(&format!("  {line}")))?;
                seen.push(text);
            }
            Ok(_) => {}
        }
    }
    if let Some(first) = refused.first()
        && refused.len() == plan.points.len()
    {
        return Err(Failure::Usage(first.clone()));
    }
    for why in refused.iter().take(SHOWN_MAX) {
        print_line(&format!("cannot run: {why}"))?;
    }
    Ok(())
}

pub(super) fn list(arguments: &List, context: &Context) -> Result<(), Failure> {
    let mut peers = profile::names();
    peers.retain(|name| context.domains.iter().any(|domain| domain.profiles.contains(name)));
    let rigs = crate::domains::descriptions(&lab()?);
    let mut output = Output::new(context.format);
    if arguments.schema {
        let schema = json_schema(&rigs);
        let text = serde_json::to_string_pretty(&schema)
            .map_err(|error| Failure::Environment(format!("the schema cannot be written: {error}")))?;
        output.text(text)?;
        return output.finish(&schema);
    }
    if let Some(name) = &arguments.rig {
        show(&mut output, find(&rigs, name)?)?;
    } else {
        output.text("rigs (`ranlab bench new RIG` writes a scenario):")?;
        for rig in &rigs {
            let before = match &rig.aliases[..] {
                [] => String::new(),
                aliases => format!(" (also: {})", aliases.join(", ")),
            };
            output.text(format_args!("  {:<16} {}{before}", rig.name, rig.comment))?;
        }
        output.text("\nprofiles of other systems (for `sut.peer`):")?;
        for name in &peers {
            let peer = profile::SystemProfile::load(name)
                .map_err(|error| Failure::Environment(error.to_string()))?;
            output.text(format_args!("  {:<16} {} {}", peer.name, peer.title, peer.version))?;
        }
    }
    let object = |rig: &RigDescription| {
        json!({
            "name": rig.name,
            "aliases": rig.aliases,
            "comment": rig.comment,
            "keys": rig.keys.iter().map(|key| &key.path).collect::<Vec<_>>(),
            "metrics": rig.metrics,
            "needs": rig.needs,
        })
    };
    let chosen = rigs.iter().filter(|rig| arguments.rig.as_ref().is_none_or(|name| rig.is(name)));
    output.finish(&json!({ "rigs": chosen.map(object).collect::<Vec<_>>(), "peers": peers }))
}

fn show(output: &mut Output, rig: &RigDescription) -> Result<(), Failure> {
    output.text(format_args!("{}: {}\n\nsettings:", rig.name, rig.comment))?;
    for key in &rig.keys {
        output.text(format_args!("  {:<28} {} ({})", key.path, key.comment, key.kind.allowed()))?;
    }
    output.text("\nmetrics:")?;
    for metric in &rig.metrics {
        output.text(format_args!("  {:<28} {} [{}]", metric.name, metric.comment, metric.unit))?;
    }
    for need in &rig.needs {
        let how = need.met.as_ref().err().map_or("", String::as_str);
        output.text(format_args!("\nneeds {}: {} {how}", need.what, need.why))?;
    }
    Ok(())
}
