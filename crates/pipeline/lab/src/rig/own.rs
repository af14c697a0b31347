//! User-defined pipelines and traces, in files that a scenario names. The files are read here, so that workers receive
//! plain data.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use ranlab_campaign::keys;
use ranlab_campaign::point::Point;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_pipeline::pipelines::own::{
    FILE_BYTES_MAX, Own, ROUTES_BYTES_MAX, Recorded, SIZE, Source, UPDATES_PER_S_MAX, files,
};
use ranlab_pipeline::pipelines::{Pipeline, TABLE_MAX};
use ranlab_pipeline::trace::Traffic;

use ranlab_lab::experiment::keys;

/// Value of `pipeline.name` for a user-defined pipeline.
pub(super) const OWN: &str = "own";
const FILE: &str = "pipeline.file";
const WITH: &str = "pipeline.with";
const SIZE_KEY: &str = "pipeline.size";
const UPDATES: &str = "pipeline.updates";
const UPDATES_PER_S: &str = "pipeline.updates-per-s";
const TRACE: &str = "load.trace";

/// Returns the keys of a user-defined pipeline.
pub(super) fn pipeline_keys() -> Vec<Key> {
    let keys = keys! {
        (FILE, Kind::Text, "TOML file of the tables and elements (docs/how-to/own-pipelines.md), in the folder of the scenario").optional();
        (SIZE_KEY, Kind::Int { min: 1, max: TABLE_MAX.into() }, "value of the file's parameter `size`").optional();
        (WITH, Kind::OneOrMore(Box::new(Kind::Text)), "values of the file's other parameters, NAME=VALUE").optional();
    };
    let updates = keys! {
        (UPDATES, Kind::Text, "recorded route updates, relative to the scenario: lines SECONDS a PREFIX NEXTHOP and SECONDS w PREFIX; they change the uplink table of l3fwd, or the first forwarding table of an own pipeline").optional();
        (UPDATES_PER_S, Kind::Int { min: 0, max: UPDATES_PER_S_MAX as i64 }, "updates per second; 0: at the pace of the file").unit("1/s").optional();
    };
    let own = keys.into_iter().map(|key| key.when("pipeline.name", &[OWN]));
    own.chain(updates.into_iter().map(|key| key.when("pipeline.name", &[OWN, "l3fwd"]))).collect()
}

/// Reads recorded route updates if a run names any.
pub(super) fn updates(run: &Run<'_>) -> Result<Option<Recorded>, RigError> {
    let Some(file) = run.text(UPDATES) else { return Ok(None) };
    let text = text_of(Path::new(file), ROUTES_BYTES_MAX).map_err(wrong)?;
    let per_s = if run.value(UPDATES_PER_S).is_some() { keys::int(run, UPDATES_PER_S)? } else { 0 };
    Ok(Some(Recorded { file: file.to_owned(), text, per_s }))
}

fn wrong(what: impl std::fmt::Display) -> RigError {
    RigError::Rig(format!("[pipeline]: {what}"))
}

/// Returns the key that names capture files.
pub(super) fn trace_key() -> Key {
    let comment = "capture (pcap or pcapng), relative to the scenario, whose packets are sent instead of generated ones: all through the port of load.dir, or through the ports named like its interfaces; for bidir also two captures, access first";
    Key::new(TRACE, Kind::OneOrMore(Box::new(Kind::Text)), comment).optional()
}

/// Returns the capture files that a run sends.
pub(super) fn captures(run: &Run<'_>) -> Vec<PathBuf> {
    texts(run.value(TRACE)).into_iter().map(PathBuf::from).collect()
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::List(all)) => all.iter().filter_map(Value::text).collect(),
        Some(one) => one.text().into_iter().collect(),
        None => Vec::new(),
    }
}

/// Keys whose value is a file name relative to the scenario's folder.
pub const PATHS: &[&str] = &[FILE, UPDATES, TRACE];

/// Reads a user-defined pipeline with its filter sets, routing tables and updates.
pub(super) fn declared(run: &Run<'_>) -> Result<Pipeline, RigError> {
    let file = run
        .text(FILE)
        .ok_or_else(|| wrong(format!("`{FILE}` is missing: the TOML file of an own pipeline")))?;
    let path = Path::new(file);
    let text = text_of(path, FILE_BYTES_MAX).map_err(wrong)?;
    let mut texts_of_files = BTreeMap::new();
    for (name, most) in files(file, &text).map_err(wrong)? {
        let one = path.parent().unwrap_or_else(|| Path::new("")).join(&name);
        texts_of_files.insert(name, text_of(&one, most).map_err(wrong)?);
    }
    let mut with = BTreeMap::new();
    for pair in texts(run.value(WITH)) {
        let both =
            pair.split_once('=').and_then(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)));
        let (name, value) =
            both.ok_or_else(|| wrong(format!("`{WITH}` \"{pair}\" must be NAME=VALUE with a whole number")))?;
        with.insert(name.to_owned(), value);
    }
    if run.value(SIZE_KEY).is_some() {
        with.insert(SIZE.to_owned(), keys::int(run, SIZE_KEY)?);
    }
    let fakedrop = match run.value("pipeline.fakedrop") {
        Some(Value::Bool(fakedrop)) => Some(*fakedrop),
        _ => None,
    };
    let decomposition = serde_json::from_value(keys::text(run, "pipeline.decomposition")?.into());
    let decomposition = decomposition.map_err(wrong)?;
    let updates = updates(run)?;
    let file = file.to_owned();
    let source = Source { file, text, files: texts_of_files, updates, with, decomposition, fakedrop };
    Own::try_from(source).map(Pipeline::Own).map_err(wrong)
}

/// Reads a text of at most `most` bytes.
fn text_of(path: &Path, most: usize) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let file = std::fs::File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let mut text = String::new();
    file.take(most as u64 + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() > most {
        return Err(format!("{} is larger than the limit of {most} bytes", path.display()));
    }
    Ok(text)
}

/// Pipeline and traffic of a point of rig `pipeline`.
#[derive(Debug)]
pub struct Sent {
    /// Pipeline of the point.
    pub pipeline: Pipeline,
    /// Generated traffic, which is used unless `captures` names files.
    pub traffic: Traffic,
    /// Capture files that are sent instead of generated traffic.
    pub captures: Vec<PathBuf>,
}

/// Returns the pipeline and traffic of the first repeat of a point. `seed` is the campaign's seed.
///
/// # Errors
///
/// Fails if the settings, or the files that they name, are not a valid pipeline.
pub fn sent(point: &Point, seed: u64) -> Result<Sent, RigError> {
    let seed = ranlab_campaign::run::seed_of(seed, point.index, 0);
    let run = Run::new(point, 0, seed, std::time::Duration::ZERO);
    Ok(Sent { pipeline: super::declared(&run)?, traffic: super::traffic(&run)?, captures: captures(&run) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such
mod tests {
    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::rig::RigDescription;
    use ranlab_campaign::scenario::{Overrides, Scenario};
    use ranlab_command::scenario::resolve_paths;

    fn description() -> RigDescription {
        use ranlab_lab::experiment::harness::Experiment;
        super::super::Pipeline.describe()
    }

    fn scenario() -> Scenario {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/tipsy/own.toml");
        let mut scenario = Scenario::load(&file, &Overrides::default(), &[description()]).unwrap();
        resolve_paths(&mut scenario, &file, |key| PATHS.contains(&key));
        scenario
    }

    #[test]
    fn shipped_pipeline_is_read_relative_to_its_scenario() {
        let scenario = scenario();
        let points = Plan::new(&scenario, &description()).points;
        let first = sent(&points[0], scenario.measure.seed).unwrap();
        assert_eq!((first.pipeline.name(), first.traffic.pkt_num, first.captures.len()), (OWN, 16_384, 0));
        assert_eq!(first.pipeline.build().unwrap().tables.users.len(), 16);
    }

    #[test]
    fn file_errors_are_reported() {
        let scenario = scenario();
        let point = &Plan::new(&scenario, &description()).points[0];
        let read = |path: &str, value: Value| {
            let mut point = point.clone();
            point.settings.insert(path.to_owned(), value);
            sent(&point, 1).map(|sent| sent.captures).map_err(|error| error.to_string())
        };
        assert!(
            read(FILE, "/no/such/file.toml".into())
                .unwrap_err()
                .contains("/no/such/file.toml cannot be read")
        );
        assert!(read(FILE, "/".into()).unwrap_err().contains("/ is not a file"));
        // Reading this file would never end.
        assert!(read(FILE, "/dev/zero".into()).unwrap_err().contains("is not a file"));
        assert!(read(WITH, "breadth".into()).unwrap_err().contains("must be NAME=VALUE"));
        assert!(
            read(WITH, "breadth=3".into())
                .unwrap_err()
                .contains("no parameter \"breadth\"; allowed are size")
        );
        assert_eq!(read(TRACE, "x.pcap".into()).unwrap(), [PathBuf::from("x.pcap")]);
    }
}
