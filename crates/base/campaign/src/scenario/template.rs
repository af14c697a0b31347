//! Templates of `bench new`: a rig's short scenario, or a scenario with every key, its default, its unit and its
//! meaning.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::description::RigDescription;
use crate::schema::{Key, Kind, Presence};

use super::core;

/// Returns the starter scenario of a rig: the settings that users usually vary and plot.
pub fn starter(rig: &RigDescription) -> String {
    format!(
        "# {}: {}\n# Every setting: ranlab bench new {} --all\n\n{}",
        rig.name, rig.comment, rig.name, rig.starter
    )
}

/// Returns the starter scenario with every key. Active keys have the starter's values or the defaults; commented keys
/// are options.
pub fn template(rig: &RigDescription) -> String {
    let (settings, axes, rest) = parts(rig.starter);
    let chosen = chosen(rig.starter);
    let mut text = String::new();
    // Writing to a String never fails.
    let _ = writeln!(text, "# {}: {}\n", rig.name, rig.comment);
    text.push_str(settings.split("\n[").next().unwrap_or_default().trim());
    text.push_str(
        "\n# about = \"a paragraph for the reader\"\n\
         # paper = { work = \"short name\", figure = \"1\" }     # what it reproduces\n\
         # extends = \"other.toml\"                            # this file is a change of that one\n",
    );
    let mut sections: Vec<&str> = Vec::new();
    for key in &rig.keys {
        if !sections.contains(&key.section()) {
            sections.push(key.section());
        }
    }
    for section in sections {
        let keys: Vec<&Key> = rig.keys.iter().filter(|key| key.section() == section).collect();
        write_section(&mut text, section, &keys, rig, &chosen);
    }
    let _ = writeln!(
        text,
        "\n[sweep]\nmode = \"outer\"                       # outer: every combination; joint: zipped; none"
    );
    text.push_str(axes);
    let measure = core::measure();
    write_section(&mut text, "measure", &measure.iter().collect::<Vec<_>>(), rig, &chosen);
    text.push_str("\n# What is measured:\n");
    for metric in &rig.metrics {
        let _ = writeln!(text, "#   {:<28} {} [{}]", metric.names().join(", "), metric.comment, metric.unit);
    }
    let _ = write!(text, "\n{rest}{MORE}");
    text
}

/// Further options of a scenario.
const MORE: &str = "
# Of a plot:
# type = \"lines\"                     # lines, bars, box, points, cdf, series, heat, usl, iso
# group_by = \"an axis\"
# log = \"xy\"

# [[expect]]
# where = { \"an axis\" = 1 }
# metric = \"one from above\"
# value = 1.0                         # or at_least, at_most; ratio with against; along with order or shape
# source = \"where the number was published\"
";

/// Splits a starter into its settings, its axes, and its plots with the remaining sections.
fn parts(starter: &str) -> (&str, &str, &str) {
    let at = |mark: &str| starter.find(mark).unwrap_or(starter.len());
    let axes = at("[sweep.axes]");
    let measure = at("[measure]");
    let plots = at("[[plot]]");
    let axes_to = measure.max(axes);
    (&starter[..axes], starter[axes..axes_to].trim_end(), &starter[plots.max(axes_to)..])
}

/// Returns the settings of a starter by path, as written there.
fn chosen(starter: &str) -> BTreeMap<String, String> {
    let table: toml::Table = toml::from_str(starter).unwrap_or_default();
    let sections = table.iter().filter_map(|(section, value)| Some((section, value.as_table()?)));
    sections
        .flat_map(|(section, values)| {
            values.iter().map(move |(name, value)| (format!("{section}.{name}"), value.to_string()))
        })
        .collect()
}

fn write_section(
    text: &mut String,
    section: &str,
    keys: &[&Key],
    rig: &RigDescription,
    chosen: &BTreeMap<String, String>,
) {
    let _ = writeln!(text, "\n[{section}]");
    for key in keys {
        let (mark, value) = match (chosen.get(&key.path), &key.presence) {
            (Some(value), _) => ("", value.clone()),
            (None, Presence::Default(value)) => ("", value.to_toml()),
            (None, Presence::Required) => ("", example(&key.kind)),
            (None, Presence::Optional) => ("# ", example(&key.kind)),
        };
        let exists = chosen.contains_key(&key.path) || applies(key, rig, chosen);
        let mark = if exists { mark } else { "# " };
        let line = format!("{mark}{} = {value}", key.name());
        let _ = writeln!(text, "{line:<36} # {}", explain(key));
    }
}

/// Describes a key: `base stations (count, a whole number of at least 1)`.
fn explain(key: &Key) -> String {
    let mut facts = Vec::new();
    if !key.unit.is_empty() {
        facts.push(key.unit.clone());
    }
    if !matches!(key.kind, Kind::Text | Kind::Bool) {
        facts.push(key.kind.allowed());
    }
    if let Some((on, values)) = &key.when {
        facts.push(format!("only if {on} is {}", values.join(" or ")));
    }
    if key.presence == Presence::Required {
        facts.push("required".to_owned());
    }
    if facts.is_empty() { key.comment.clone() } else { format!("{} ({})", key.comment, facts.join("; ")) }
}

/// Whether a key exists with the settings of the starter.
fn applies(key: &Key, rig: &RigDescription, chosen: &BTreeMap<String, String>) -> bool {
    let text = |value: &String| crate::value::Value::from(value.trim_matches('"'));
    let settings = chosen.iter().map(|(path, value)| (path.clone(), text(value))).collect();
    super::read::applies(key, &settings, &rig.keys)
}

fn example(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "true".to_owned(),
        Kind::Int { min, .. } => (*min).max(1).to_string(),
        Kind::Float { min, max } => format!("{:?}", 1.0_f64.clamp(*min, *max)),
        Kind::Span => "\"1s\"".to_owned(),
        Kind::Text => "\"text\"".to_owned(),
        Kind::Choice(choices) => format!("{:?}", choices.first().map_or("", String::as_str)),
        Kind::List(kind) => format!("[{}]", example(kind)),
        Kind::OneOrMore(kind) => example(kind),
    }
}
