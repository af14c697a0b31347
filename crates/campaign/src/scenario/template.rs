//! `bench new`: a scenario with every key of a rig, its default, its unit and its meaning.

use std::fmt::Write;

use crate::description::RigDescription;
use crate::metric::MetricKind;
use crate::schema::{Key, Kind, Presence};

use super::core;

/// A complete scenario of a rig, ready to run: written keys are defaults, commented ones are choices.
pub fn template(rig: &RigDescription) -> String {
    let mut text = String::new();
    // Writing to a String never fails.
    let _ = writeln!(text, "# {}: {}\n", rig.name, rig.comment);
    let _ = writeln!(text, "title = {:?}\nrig = {:?}", format!("{}: my first study", rig.name), rig.name);
    text.push_str("# about = \"a paragraph for the reader\"\n");
    text.push_str("# paper = { work = \"short name\", figure = \"1\" }     # what it reproduces\n");
    text.push_str(
        "# extends = \"other.toml\"                            # this file is a change of that one\n",
    );
    let mut sections: Vec<&str> = Vec::new();
    for key in &rig.keys {
        if !sections.contains(&key.section()) {
            sections.push(key.section());
        }
    }
    for section in sections {
        let keys: Vec<&Key> = rig.keys.iter().filter(|key| key.section() == section).collect();
        write_section(&mut text, section, &keys, rig);
    }
    sweep(&mut text, rig);
    let measure = core::measure();
    write_section(&mut text, "measure", &measure.iter().collect::<Vec<_>>(), rig);
    plot(&mut text, rig);
    text
}

fn write_section(text: &mut String, section: &str, keys: &[&Key], rig: &RigDescription) {
    let _ = writeln!(text, "\n[{section}]");
    for key in keys {
        let (mark, value) = match &key.presence {
            Presence::Default(value) => ("", value.to_toml()),
            Presence::Required => ("", example(&key.kind)),
            Presence::Optional => ("# ", example(&key.kind)),
        };
        let mark = if applies_by_default(key, rig) { mark } else { "# " };
        let line = format!("{mark}{} = {value}", key.name());
        let _ = writeln!(text, "{line:<36} # {}", explain(key));
    }
}

/// `base stations (count, a whole number of at least 1)`.
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

fn applies_by_default(key: &Key, rig: &RigDescription) -> bool {
    super::read::applies(key, &std::collections::BTreeMap::new(), &rig.keys)
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
    }
}

/// An axis that the reader can edit.
fn sweep(text: &mut String, rig: &RigDescription) {
    text.push_str(
        "\n[sweep]\nmode = \"outer\"                       # outer: every combination; joint: zipped; none\n",
    );
    text.push_str(
        "[sweep.axes]                         # any key from above, with the values that it takes\n",
    );
    match first_number(rig) {
        Some(key) => {
            let start = match &key.presence {
                Presence::Default(value) => value.number().unwrap_or(1.0),
                Presence::Required | Presence::Optional => 1.0,
            };
            let values = axis_values(key, start);
            let _ = writeln!(text, "{:?} = [{}]", key.path, values.join(", "));
        }
        None => text.push_str("# \"load.size\" = [1, 10, 100]\n"),
    }
}

/// The default (or 1 where that is 0) and two larger values, as far as the key allows them.
fn axis_values(key: &Key, start: f64) -> Vec<String> {
    let start = if start > 0.0 { start } else { 1.0 };
    [1.0, 2.0, 4.0]
        .map(|factor| start * factor)
        .into_iter()
        .map(|number| match key.kind {
            Kind::Int { .. } => crate::value::Value::Int(number as i64),
            _ => crate::value::Value::Float(number),
        })
        .filter(|value| key.kind.accept(value).is_ok())
        .map(|value| value.to_toml())
        .collect()
}

/// The first number of the load; else the first one that is not off by default.
fn first_number(rig: &RigDescription) -> Option<&Key> {
    let number = |key: &&Key| {
        matches!(key.kind, Kind::Int { .. } | Kind::Float { .. }) && applies_by_default(key, rig)
    };
    rig.keys
        .iter()
        .filter(number)
        .find(|key| key.section() == "load")
        .or_else(|| rig.keys.iter().filter(number).find(|key| is_on(key)))
        .or_else(|| rig.keys.iter().find(number))
}

fn is_on(key: &Key) -> bool {
    matches!(&key.presence, Presence::Default(value) if value.number().is_some_and(|number| number > 0.0))
}

fn plot(text: &mut String, rig: &RigDescription) {
    let _ = writeln!(text, "\n# What is measured:");
    for metric in &rig.metrics {
        let _ = writeln!(text, "#   {:<28} {} [{}]", metric.names().join(", "), metric.comment, metric.unit);
    }
    // What others did on the machine is nobody's first question.
    let metric = rig.metrics.iter().find(|metric| !metric.name.starts_with("host."));
    let (Some(metric), Some(key)) = (metric, first_number(rig)) else { return };
    let y = match metric.kind {
        MetricKind::Histogram => format!("{}_p99", metric.name),
        _ => metric.name.clone(),
    };
    let _ = writeln!(text, "\n[[plot]]\nx = {:?}\ny = {y:?}", key.path);
    text.push_str(
        "# type = \"lines\"                     # lines, bars, box, points, cdf, series, heat, usl, iso\n\
         # group_by = \"an axis\"\n# log = \"xy\"\n",
    );
    let _ =
        writeln!(text, "\n# [[expect]]\n# where = {{ {:?} = 1 }}\n# metric = {y:?}\n# value = 1.0", key.path);
    text.push_str("# source = \"where the number was published\"\n");
}
