//! Third-party systems under test, for all rigs: profile with substituted values, commands, and read-back
//! values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::readback::Readings;
use crate::vbbu::OwnVbbu;
use crate::worker::Report;
use crate::{
    AnyComponent, AttachComponent, Config, Each, Foreign, MeterBy, ReadyWhen, RigContext, WorkerLocation,
};
use ranlab_campaign::plan::Plan;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{LimitViolation, Outcome, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use serde::Serialize;

use crate::experiment::profile::{PeerError, SystemProfile, UnreliableMetric};
use crate::experiment::readback;

/// Key that names a profile.
const PEER: &str = "sut.peer";
/// Key for the values that the profile requests.
const FILL: &str = "sut.fill";
/// Key that permits the profile's commands to run.
const RUN: &str = "sut.run";
/// Time for which a process of the system was stopped by a signal, in seconds.
pub const STOPPED_S: &str = "sut.stopped_s";

/// Returns the keys for a profile, effective if the key `path` has one of these values.
pub fn keys(path: &str, values: &[&str]) -> Vec<Key> {
    let peer = "its profile: a name from `bench list`, or the path of a file like those in peers/";
    let fill = "values requested by its profile, each \"name=value\", e.g. \"folder=/opt/flexran-rtc\"";
    vec![
        Key::new(PEER, Kind::Text, peer).optional().when(path, values),
        Key::new(
            RUN,
            Kind::Bool,
            "whether to run the profile's commands; default: true; false: it already runs",
        )
        .optional()
        .when(path, values),
        Key::new(FILL, Kind::List(Box::new(Kind::Text)), fill).optional().when(path, values),
    ]
}

/// Like [`keys`] without `sut.run`, for systems that are always started.
pub fn keys_of_started(path: &str, values: &[&str]) -> Vec<Key> {
    let mut all = keys(path, values);
    all.retain(|key| key.path != RUN);
    all
}

/// Returns the key for a rig without support for third-party systems; a scenario that uses it is rejected
/// with the reason.
pub fn refused_key(why: &str) -> Key {
    Key::new(PEER, Kind::Text, &format!("no profile can be measured here: {why}")).optional()
}

/// Returns `why` as an error if a point names a profile.
pub fn refused(settings: &BTreeMap<String, Value>, why: &str) -> Option<Result<String, String>> {
    settings
        .contains_key(PEER)
        .then(|| Err(format!("`{PEER}`: no profile can be measured by this rig: {why}")))
}

fn loaded<'a>(value: impl Fn(&str) -> Option<&'a Value>) -> Result<Option<SystemProfile>, PeerError> {
    let Some(name) = value(PEER).and_then(Value::text) else { return Ok(None) };
    let values: Vec<&str> = match value(FILL) {
        Some(Value::List(all)) => all.iter().filter_map(Value::text).collect(),
        Some(Value::Text(one)) => vec![one],
        _ => Vec::new(),
    };
    let peer = SystemProfile::load(name)?;
    let peer = if value(RUN) == Some(&Value::Bool(false)) { peer.running() } else { peer };
    peer.filled(values).map(Some)
}

/// Returns the profile of a run, with all values substituted.
pub fn peer(run: &Run<'_>) -> Result<Option<SystemProfile>, RigError> {
    loaded(|path| run.value(path)).map_err(|error| RigError::Rig(error.to_string()))
}

/// Returns the value of a setting: that of the profile if the scenario has the default, otherwise that of the scenario.
pub fn said(
    run: &Run<'_>,
    path: &str,
    default: &str,
    of: impl Fn(&SystemProfile) -> &str,
) -> Result<String, RigError> {
    let own = run.text(path).unwrap_or(default);
    let profile =
        peer(run)?.map(|peer| of(&peer).to_owned()).filter(|text| !text.is_empty() && own == default);
    match profile.unwrap_or_else(|| own.to_owned()) {
        said if said.is_empty() => {
            Err(RigError::Rig(format!("`{path}` is not set, and no profile sets it (`{PEER}`)")))
        }
        said => Ok(said),
    }
}

/// Returns the component that attaches to a running system or runs the profile's commands.
pub fn component(run: &Run<'_>) -> Result<AnyComponent, RigError> {
    let attach = AttachComponent::read(run, "sut")?;
    Ok(match peer(run)? {
        Some(peer) => part_of(peer, attach),
        None => AnyComponent::from(attach),
    })
}

/// Returns the component of a profile; metering settings of the scenario take precedence.
fn part_of(peer: SystemProfile, attach: AttachComponent) -> AnyComponent {
    let mut program = peer.program();
    if attach != AttachComponent::default() {
        let AttachComponent { pid, command, cgroup } = attach;
        program.meter = MeterBy { pid, command, cgroup: cgroup.map(Into::into), pid_file: None };
    }
    if peer.runs() || program.ready != ReadyWhen::default() || program.meter.pid_file.is_some() {
        return AnyComponent::from(program);
    }
    let MeterBy { pid, command, cgroup, .. } = program.meter;
    let cgroup = cgroup.map(|path| path.display().to_string());
    AnyComponent::from(AttachComponent { pid, command, cgroup })
}

/// Checks that a component may run third-party programs, and stores their output in the campaign's folder. Returns
/// whether the component keeps running between repeats.
pub fn admit(part: &mut AnyComponent, lab: &RigContext, host: &WorkerLocation) -> Result<bool, RigError> {
    match part.foreign() {
        Foreign::Plugin(plugin) if !lab.commands => {
            let why = format!("the plug-in {plugin} may not be run: this requires `--allow-commands`");
            return Err(RigError::Environment(why));
        }
        Foreign::Commands if !lab.commands => {
            return Err(RigError::Environment(
                "the profile's commands may not be run: this requires `--allow-commands`".to_owned(),
            ));
        }
        _ => {}
    }
    Ok(part.admit(lab.folder.as_deref().filter(|_| *host == WorkerLocation::Local)))
}

/// Reads counters at the beginning of a window; `None` if the system has none.
pub fn before(run: &Run<'_>) -> Result<Option<(Instant, Readings)>, RigError> {
    let mut all = readback::wanted(run)?;
    all.retain(|one| one.total);
    if all.is_empty() {
        return Ok(None);
    }
    // A failure to respond now is reported after the window.
    Ok(crate::readback::read(&all).ok().map(|readings| (Instant::now(), readings)))
}

/// Returns the outcome of a repeat after checks of the system. `ok` becomes `degraded` if the system was stopped,
/// printed a warning, does not respond, or reports contradictory values.
pub fn judge<'a>(
    recorder: &mut Recorder,
    outcome: Outcome,
    reports: impl Iterator<Item = &'a Report>,
    unread: Option<String>,
) -> Outcome {
    let reports: Vec<_> = reports.collect();
    let watched: Vec<_> = reports.iter().filter_map(|report| report.stops.as_ref()).collect();
    let stops = || watched.iter().copied().flatten();
    if !watched.is_empty() {
        recorder.scalar(STOPPED_S, stops().map(|stop| stop.seconds).fold(0.0, f64::max));
    }
    let stopped = stops().map(|stop| {
        let who = &stop.who;
        let seconds = stop.seconds;
        let from_s = stop.from_s;
        format!("{who} was stopped by a signal for {seconds:.1} s, from {from_s:.2} s into the window")
    });
    let printed = reports.iter().flat_map(|report| report.warnings.iter().cloned());
    let against: Vec<String> = stopped.chain(printed).chain(unread).collect();
    match outcome {
        Outcome::Ok => {
            recorder.judge(against.iter().map(|words| (Outcome::Degraded, LimitViolation::said(true, words))))
        }
        outcome => {
            against.iter().for_each(|words| recorder.also(words));
            outcome
        }
    }
}

/// Returns remarks on the profiles in use, a sentence each: unreliable metrics, and systems that do not
/// report what they received.
pub fn remarks(results: &Results) -> Vec<String> {
    let points = results.points.iter().map(|point| &point.point.settings);
    let named =
        points.filter_map(|settings| Some((settings.get(PEER)?.text()?, settings.contains_key("sut.rest"))));
    let mut sentences = Vec::new();
    for (name, has_query) in named.collect::<BTreeSet<_>>() {
        // A profile that no longer exists gives no remarks.
        let Ok(peer) = SystemProfile::load(name) else { continue };
        let of = format!("{} {}", peer.title, peer.version);
        if peer.read_back.is_empty() && !has_query {
            sentences.push(format!("{of} is not queried; its responses are the only evidence."));
        }
        let runs = || results.points.iter().flat_map(|point| &point.runs);
        let recorded =
            |one: &&UnreliableMetric| runs().any(|run| run.recording.metrics.contains_key(&one.metric));
        for UnreliableMetric { metric, why } in peer.distrust.iter().filter(recorded) {
            sentences.push(format!("`{metric}` is unreliable for {of}: {why}."));
        }
    }
    sentences
}

/// Command of a profile that will be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedCommand {
    /// Name of the profile.
    pub peer: String,
    /// Location at which the command runs.
    pub at: String,
    /// Purpose: `start`, `ready`, `reset`, `stop`; for a vBBU, `cu` or `du`.
    pub name: &'static str,
    /// Time at which the command runs, in words.
    pub when: &'static str,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working folder; `None` for the folder of the campaign.
    pub folder: Option<String>,
    /// Additional environment variables.
    pub environment: Vec<String>,
}

impl std::fmt::Display for PlannedCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}: `{}` {}: {:?}", self.peer, self.at, self.name, self.when, self.argv)?;
        if let Some(folder) = &self.folder {
            write!(f, " in {folder}")?;
        }
        if self.environment.is_empty() { Ok(()) } else { write!(f, " with {}", self.environment.join(" ")) }
    }
}

/// Returns the commands that a plan runs, without duplicates.
///
/// # Errors
/// Fails if a profile is invalid, or its commands would have to run on a worker that is reached over TCP.
pub fn commands(plan: &Plan) -> Result<Vec<PlannedCommand>, PeerError> {
    let mut all: Vec<PlannedCommand> = Vec::new();
    for point in &plan.points {
        let Some(peer) = loaded(|path| point.settings.get(path))? else { continue };
        let at = point.settings.get("sut.at").and_then(Value::text).unwrap_or("local").to_owned();
        let program = peer.program();
        let own = peer.vbbu.clone().unwrap_or_default();
        let vbbu = peer.vbbu.as_ref().map(OwnVbbu::commands);
        for (name, argv) in program.commands().into_iter().chain(vbbu.into_iter().flatten()) {
            let (folder, environment) = match name {
                "cu" | "du" => (&own.folder, &own.environment),
                _ => (&program.run.folder, &program.run.environment),
            };
            if at.starts_with("tcp://") {
                return Err(PeerError::OverTcp { peer: peer.name, at });
            }
            let planned = PlannedCommand {
                peer: peer.name.clone(),
                at: at.clone(),
                name,
                when: when(name, program.run.each, program.run.start.is_empty()),
                argv: argv.to_vec(),
                folder: folder.as_ref().map(|folder| folder.display().to_string()),
                environment: environment.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            };
            if !all.contains(&planned) {
                all.push(planned);
            }
        }
    }
    Ok(all)
}

/// Returns the notes of the profiles in a plan.
pub fn notes(plan: &Plan) -> Vec<String> {
    let peers =
        plan.points.iter().filter_map(|point| SystemProfile::load(point.settings.get(PEER)?.text()?).ok());
    let sentences: BTreeSet<String> = peers
        .flat_map(|peer| peer.notes.into_iter().map(move |note| format!("{}: {note}", peer.name)))
        .collect();
    sentences.into_iter().collect()
}

fn when(name: &str, each: Each, runs_already: bool) -> &'static str {
    match (name, each) {
        ("cu" | "du", _) => "before each repeat, in its node's namespace",
        ("ready", _) => "repeatedly until it succeeds, after each of the other commands",
        ("reset", _) if runs_already => "before each repeat",
        ("reset", Each::Campaign) => "before each repeat but the first",
        ("reset", Each::Repeat) => "never, since it is started for each repeat",
        ("start", Each::Campaign) => "once",
        ("start", Each::Repeat) => "before each repeat",
        (_, Each::Campaign) => "at the end",
        (_, Each::Repeat) => "after each repeat",
    }
}
