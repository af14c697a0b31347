//! `ranlab sim --without`: effect of an xApp or a controller, from paired runs.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ranlab_campaign::rig::{Outcome, RigError, Run};
use ranlab_campaign::value::short;
use ranlab_e2_lab::rigs::virtual_time::Omitted;
use ranlab_e2_lab::rigs::virtual_time::ablation::{
    Difference, EffectVerdict, InWorld, SeedPair, differences, pair, spreads,
};
use serde_json::json;

use super::{Job, Record, page};
use crate::exit::Failure;
use crate::output::{Format, Output};

/// Maximum number of UEs in text; `--format json` has all.
const SHOWN_MAX: usize = 60;

/// Runs each seed twice, with and without a component.
pub(super) fn run(
    job: &Job,
    name: &str,
    mut record: Option<Record>,
    out: Option<&Path>,
    format: Format,
) -> Result<(), Failure> {
    let mut left_out = BTreeMap::new();
    // Some points may lack the component, but at least one point must have it.
    let mut why = String::new();
    for point in &job.plan.points {
        match Omitted::named(name, &point.settings) {
            Ok(without) => drop(left_out.insert(point.index, without)),
            Err(error) => why = error,
        }
    }
    if left_out.is_empty() {
        return Err(Failure::Usage(why));
    }
    let mut pairs: BTreeMap<usize, Vec<(u64, SeedPair)>> = BTreeMap::new();
    let keep = record.is_some();
    let work = |index: usize, run: &Run<'_>| left_out.get(&index).map(|without| pair(run, *without, keep));
    job.each(work, |index, run, pair| {
        match pair {
            None => Ok((Outcome::Ok, String::new())),
            Some(Ok(mut pair)) => {
                if let Some(record) = &mut record {
                    record.tables.take(index, run.seed, &pair.with, Some(&pair.without));
                    // The tables have copied these records.
                    (pair.with.kept, pair.without.kept) = Default::default();
                }
                let outcome = pair.with.outcome;
                pairs.entry(index).or_default().push((run.seed, pair));
                Ok((outcome, String::new()))
            }
            Some(Err(InWorld { error: RigError::Stopped, .. })) => Ok((Outcome::Timeout, String::new())),
            Some(Err(InWorld { error: RigError::Rig(error), .. })) => Err(Failure::Usage(error)),
            Some(Err(InWorld { without, error })) => {
                let mut replay = job.replay(index, run.seed);
                let mut world = "";
                if without != Omitted::Nobody {
                    (replay, world) = (format!("{replay} --without {name}"), "in the run without it: ");
                }
                Err(Failure::Check(format!("{world}{error}; to repeat it: {replay}")))
            }
        }
    })?;
    let files = Record::write(record.as_ref())?;
    print_effects(job, name, pairs, files, out, format)
}

fn print_effects(
    job: &Job,
    name: &str,
    pairs: BTreeMap<usize, Vec<(u64, SeedPair)>>,
    mut files: Vec<PathBuf>,
    out: Option<&Path>,
    format: Format,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    output.text(format_args!("{}: with {name} minus without, seed by seed", job.scenario.title))?;
    let mut points = Vec::new();
    let mut all = Vec::new();
    for (index, seeds) in pairs {
        let (seeds, pairs): (Vec<u64>, Vec<SeedPair>) = seeds.into_iter().unzip();
        let found = differences(&pairs, job.scenario.measure.confidence);
        let spreads = spreads(&found);
        let point = job.point(index);
        output.text(format_args!("point {index} {}, {} seeds", point.label(), pairs.len()))?;
        for difference in found.iter().take(SHOWN_MAX) {
            output.text(line(difference))?;
        }
        if found.len() > SHOWN_MAX {
            output.text(format_args!("  … and {} more", found.len() - SHOWN_MAX))?;
        }
        for spread in &spreads {
            let [least, _, median, _, most] = spread.quartiles.map(short);
            output.text(format_args!(
                "  {}: of all UEs {} gain, {} lose, {} the same, {} unclear; {least} to {most}, median {median}",
                spread.kpi, spread.gains, spread.loses, spread.same, spread.unclear
            ))?;
        }
        let digests =
            pairs.iter().map(|pair| [&pair.with, &pair.without].map(|it| format!("{:016x}", it.digest)));
        let runs: Vec<_> = seeds
            .iter()
            .zip(digests)
            .map(|(seed, digest)| json!({ "seed": seed, "digests": digest }))
            .collect();
        for run in &runs {
            output.text(format_args!(
                "  seed {}: digests {} and {}",
                run["seed"], run["digests"][0], run["digests"][1]
            ))?;
        }
        all.push((point.label(), pairs.len(), found.clone()));
        points.push(json!({
            "point": index,
            "axes": point.axes.iter().map(|(path, value)| (path.clone(), value.to_json())).collect::<serde_json::Map<_, _>>(),
            "differences": found,
            "spreads": spreads,
            "runs": runs,
        }));
    }
    if let Some(folder) = out {
        let seeds = all.first().map_or(0, |(_, seeds, _)| *seeds);
        let command = format!("{} --without {name} --seeds {seeds}", job.command);
        files.extend(page::write(folder, &job.scenario, name, &command, &all)?);
    }
    super::tell_files(&mut output, &files)?;
    let tables = super::tables_of(&files);
    let report = super::report_of(&files);
    output.finish(&json!({
        "virtual": true, "without": name, "tables": tables, "report": report, "points": points,
    }))
}

fn line(it: &Difference) -> String {
    let half = it.summary.half_width.map_or_else(String::new, |half| format!(" ± {}", short(half)));
    let who = who(it);
    let kpi = &it.of.kpi;
    let verdict = effect_word(it.verdict);
    let without = short(it.without);
    let with = short(it.with);
    let mean = short(it.summary.mean);
    format!("  {who} {kpi:<18} {without} -> {with}: {mean}{half}  {verdict}")
}

/// Returns the effect in one word.
pub(super) fn effect_word(verdict: EffectVerdict) -> &'static str {
    match verdict {
        EffectVerdict::Gains => "gains",
        EffectVerdict::Loses => "loses",
        EffectVerdict::Same => "the same",
        EffectVerdict::Unclear => "unclear",
    }
}

/// Formats the base station and the UE of a difference.
pub(super) fn who(it: &Difference) -> String {
    let station = if it.of.station > 1 { format!("station {} ", it.of.station) } else { String::new() };
    format!("{station}UE {}", it.of.ue)
}
