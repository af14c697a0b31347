//! A program of somebody else as a part: started by its own commands, waited for until it serves, watched and metered with
//! whatever it starts, its output kept, and ended with everything that it left behind.
//!
//! The worker that holds it is its supervisor: it adopts the program's orphans and ends with the campaign, however that ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ranlab_campaign::value::Value;
use ranlab_host::{Subject, kin};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::child::how_ended;
use crate::output::{Counted, Output, Wanted};
use crate::watch::Watch;
use crate::worker::{Report, Trouble};
use crate::{Described, Field, Running, environment, ready, rig, sut};

/// Between two looks whether something has happened.
const POLL: Duration = Duration::from_millis(20);
/// How long the kernel keeps a port for connections that are over (60 s), and some more.
const KEPT_MAX: Duration = Duration::from_secs(65);
/// Beside the times that a profile states.
const MARGIN: Duration = Duration::from_secs(2);

/// A program and how to treat it: what a profile says, filled in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProgramPart {
    /// As sentences call it.
    pub name: String,
    /// Its commands.
    pub run: Commands,
    /// When it serves.
    pub ready: ReadyWhen,
    /// What of it is metered.
    pub meter: MeterBy,
    /// The file that keeps its output; none: its last lines alone are kept.
    pub log: Option<PathBuf>,
    /// Lines of its output that qualify a result.
    pub warn: Vec<WarnLine>,
}

/// A line of a program's output that qualifies a result (`[[warn]]`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarnLine {
    /// Regular expression that the line matches.
    pub line: String,
    /// What the line means for the result.
    pub why: String,
}

/// Commands of a profile (`[run]`): lists of arguments, and no shell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Commands {
    /// Starts it; empty: it runs already. It may stay in the foreground, or end with success and leave others behind.
    pub start: Vec<String>,
    /// Ends it; empty: it gets SIGTERM.
    pub stop: Vec<String>,
    /// Gives one that stands a clean state, before each further repeat.
    pub reset: Vec<String>,
    /// How often it is started.
    pub each: Each,
    /// Working folder; none: the campaign's.
    pub folder: Option<PathBuf>,
    /// Added to our environment.
    pub environment: BTreeMap<String, String>,
    /// How long it may take to end, and a command to be done, before it is killed.
    pub grace: Span,
}

/// How often a program is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// For each repeat.
    #[default]
    Repeat,
    /// Once; `reset` comes before each further repeat.
    Campaign,
}

/// When a program serves (`[ready]`): when all of these hold that are said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadyWhen {
    /// This command ends with success.
    pub command: Vec<String>,
    /// These ports are open, as the kernel's tables say: `tcp:2210`, `udp:8805`, `sctp:36421`. No connection is made, which a
    /// controller could take for a base station.
    pub ports: Vec<String>,
    /// This URL (`http://…`) answers with success.
    pub url: String,
    /// A line of its output matches this regular expression.
    pub line: String,
    /// How long that may take.
    pub within: Span,
}

/// What of a program is metered (`[meter]`), by the first of these that is said; nothing: what was started, and whatever that
/// starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeterBy {
    /// A process.
    pub pid: Option<u32>,
    /// The file in which it writes its process number.
    pub pid_file: Option<PathBuf>,
    /// A control group, such as a container's.
    pub cgroup: Option<PathBuf>,
    /// Every process of that name.
    pub command: Option<String>,
}

/// A length of time as people write it: `5s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span(pub Option<Duration>);

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map(|span| Value::Span(span).to_string()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(Self(None)) };
        let allowed = ranlab_campaign::schema::Kind::Span.allowed();
        let wrong = || serde::de::Error::custom(format!("\"{text}\" must be {allowed}"));
        ranlab_campaign::value::parse_span(&text).map(|span| Self(Some(span))).ok_or_else(wrong)
    }
}

impl Commands {
    /// How long a command or an end may take.
    pub fn grace(&self) -> Duration {
        self.grace.0.unwrap_or(Duration::from_secs(5))
    }
}

impl ReadyWhen {
    /// How long it may take until it serves.
    pub fn within(&self) -> Duration {
        self.within.0.unwrap_or(Duration::from_secs(30))
    }
}

impl ProgramPart {
    /// Every command with its arguments, by name, in the order in which they are run.
    pub fn commands(&self) -> Vec<(&'static str, &[String])> {
        let all = [
            ("start", &self.run.start),
            ("ready", &self.ready.command),
            ("reset", &self.run.reset),
            ("stop", &self.run.stop),
        ];
        all.into_iter().filter(|(_, argv)| !argv.is_empty()).map(|(name, argv)| (name, &argv[..])).collect()
    }

    /// How long it may take to come up, with one command before, and again when it could not have its ports.
    pub(crate) fn start_wait(&self) -> Duration {
        (self.ready.within() + self.run.grace() * 2) * 2 + KEPT_MAX + MARGIN
    }

    /// How long it may take to go: a command that hangs, and a program that ignores SIGTERM.
    pub(crate) fn end_wait(&self) -> Duration {
        self.run.grace() * 2 + MARGIN
    }
}

impl Described for ProgramPart {
    fn described(&self) -> Vec<Field> {
        Vec::new()
    }

    fn get(&self, _name: &str) -> Option<Value> {
        None
    }

    /// All that it is, is of the worker's machine.
    fn locals(&self) -> Vec<&'static str> {
        let meter = (self.meter != MeterBy::default()).then_some("meter");
        self.commands().iter().map(|(name, _)| *name).chain(meter).collect()
    }
}

/// A program that is up.
pub(crate) struct Program {
    part: ProgramPart,
    output: Arc<Output>,
    watch: Watch,
    /// What is metered; `None`: nothing of it is known.
    subject: Option<Subject>,
    /// Children of this process that are not the program's.
    others: BTreeSet<u32>,
}

impl Program {
    /// Starts it and waits until it serves. Many take a port that the kernel keeps for connections that are over; one that does
    /// not is started once more when the kernel lets go.
    pub(crate) async fn start(part: ProgramPart) -> Result<Self, Trouble> {
        let starts = !part.run.start.is_empty();
        if let Some(port) = ready::taken(&part.ready).filter(|_| starts) {
            let name = &part.name;
            return Err(environment(format!(
                "{port} is open before {name} is started: somebody else serves there"
            )));
        }
        let kept = starts && ready::kept(&part.ready).is_some();
        match Self::come_up(part.clone()).await {
            Err(_) if kept => {
                let deadline = Instant::now() + KEPT_MAX;
                while ready::kept(&part.ready).is_some() && Instant::now() < deadline {
                    tokio::time::sleep(POLL).await;
                }
                Self::come_up(part).await
            }
            came => came,
        }
    }

    async fn come_up(part: ProgramPart) -> Result<Self, Trouble> {
        kin::adopt_orphans().map_err(environment)?;
        let others = kin::own_children(&BTreeSet::new()).into_iter().collect();
        let line = Some(&part.ready.line).filter(|line| !line.is_empty());
        let wanted = line.map(|line| Wanted::new(line)).transpose().map_err(rig)?;
        let counted = part.warn.iter().map(|warn| Counted::new(&warn.line)).collect::<Result<_, _>>();
        let output = Output::new(part.log.clone(), wanted).map_err(environment)?;
        let output = Arc::new(output.counting(counted.map_err(rig)?));
        let watch = Watch::start(&part.name, None, None, false);
        let mut program = Self { part, output, watch, subject: None, others };
        if program.part.run.start.is_empty() {
            program.reset_it().await?;
        } else {
            let mut command = program.command(&program.part.run.start);
            let child =
                program.output.spawn(&mut command).map_err(|error| program.cannot("start", &error))?;
            let below = Subject::Below { pid: std::process::id() };
            let launches = program.part.meter != MeterBy::default();
            program.subject = Some(below.clone());
            program.watch = Watch::start(&program.part.name, Some(below), Some(child), launches);
        }
        program.until_ready().await?;
        program.find().await?;
        Ok(program)
    }

    /// A command in its folder and environment, in a group of its own, that does not outlive this process.
    fn command(&self, argv: &[String]) -> Command {
        let (program, arguments) = argv.split_first().map_or(("", argv), |(program, rest)| (program, rest));
        let mut command = Command::new(program);
        command.args(arguments).envs(&self.part.run.environment).stdin(Stdio::null());
        if let Some(folder) = &self.part.run.folder {
            command.current_dir(folder);
        }
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        kin::die_with_us(&mut command);
        command
    }

    fn cannot(&self, which: &str, error: &std::io::Error) -> Trouble {
        let argv = self.part.commands().into_iter().find(|(name, _)| *name == which).map(|(_, argv)| argv);
        environment(format!(
            "{} cannot be started: `{which}` {:?}: {error}",
            self.part.name,
            argv.unwrap_or_default()
        ))
    }

    /// Runs a command until it ends; the error says how it failed, and its last lines.
    async fn done(&self, which: &str, argv: &[String]) -> Result<(), Trouble> {
        let mut child =
            self.output.spawn(&mut self.command(argv)).map_err(|error| self.cannot(which, &error))?;
        let deadline = Instant::now() + self.part.run.grace();
        let how = loop {
            match child.try_wait().map_err(environment)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => break how_ended(status),
                None if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                None => {
                    let _ = ranlab_host::kill_group(child.id());
                    let _ = child.wait();
                    break format!("it took longer than {} s", self.part.run.grace().as_secs_f64());
                }
            }
        };
        Err(sut(format!("`{which}` of {} {argv:?}: {how}{}", self.part.name, self.output.last_words())))
    }

    async fn reset_it(&self) -> Result<(), Trouble> {
        match &self.part.run.reset[..] {
            [] => Ok(()),
            argv => self.done("reset", argv).await,
        }
    }

    /// Whether it lives; the error has its last lines.
    fn alive(&self) -> Result<(), Trouble> {
        self.watch.check().map_err(|trouble| sut(format!("{trouble}{}", self.output.last_words())))
    }

    async fn until_ready(&self) -> Result<(), Trouble> {
        let (when, begun) = (&self.part.ready, Instant::now());
        loop {
            let lacks = match ready::lacks(when, &self.output) {
                None if when.command.is_empty() => None,
                None => self.done("ready", &when.command).await.err().map(|trouble| trouble.what),
                lacks => lacks,
            };
            self.alive()?;
            let Some(lacks) = lacks else { return Ok(()) };
            if begun.elapsed() >= when.within() {
                let within = when.within().as_secs_f64();
                let words = self.output.last_words();
                return Err(sut(format!(
                    "{} was not ready within {within} s: {lacks}{words}",
                    self.part.name
                )));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// What its profile says is metered, once it serves.
    async fn find(&mut self) -> Result<(), Trouble> {
        let Some(subject) = self.part.meter.subject().map_err(environment)? else { return Ok(()) };
        let main = self.watch.stop();
        self.subject = Some(subject.clone());
        self.watch = Watch::start(&self.part.name, Some(subject), main, false);
        Ok(())
    }

    /// Waits until nothing of it is left; who `asks` tells each process to end, also those that come up as others go.
    fn gone(&self, asks: bool) -> bool {
        let (mut asked, deadline) = (BTreeSet::new(), Instant::now() + self.part.run.grace());
        loop {
            kin::bury(&self.others);
            let children = kin::own_children(&self.others);
            if children.is_empty() || Instant::now() >= deadline {
                return children.is_empty();
            }
            for pid in children {
                if asks && asked.insert(pid) {
                    kin::ask_child(pid);
                }
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends it with all that it started: asked first, then killed.
    fn end(&mut self) {
        let main = self.watch.stop();
        if self.part.run.start.is_empty() {
            return;
        }
        let asks = self.part.run.stop.is_empty();
        if !asks {
            // What it says and how it ends is in the log; its end is part of the wait.
            drop(self.output.spawn(&mut self.command(&self.part.run.stop)));
        }
        if !self.gone(asks) && !asks {
            self.gone(true);
        }
        kin::end_children(&self.others);
        drop(main);
    }
}

impl MeterBy {
    /// Whom to meter; `None`: it is not said.
    fn subject(&self) -> Result<Option<Subject>, String> {
        Ok(match self {
            Self { pid: Some(pid), .. } => Some(Subject::Process { pid: *pid }),
            Self { pid_file: Some(file), .. } => {
                let text =
                    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()));
                let pid = text?.trim().parse();
                let pid = pid.map_err(|_| format!("{} holds no process number", file.display()))?;
                Some(Subject::Process { pid })
            }
            Self { cgroup: Some(path), .. } => Some(Subject::Cgroup { path: path.clone() }),
            Self { command: Some(name), .. } => Some(Subject::Command { name: name.clone() }),
            _ => None,
        })
    }
}

impl Running for Program {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn pid(&self) -> Option<u32> {
        match self.subject {
            Some(Subject::Process { pid }) => Some(pid),
            _ => self.watch.main_pid(),
        }
    }

    fn check(&mut self) -> Result<(), Trouble> {
        self.alive()
    }

    fn begin(&mut self) {
        self.watch.begin();
    }

    fn end(&mut self, report: &mut Report) {
        report.stops = Some(self.watch.stops());
        let counts = self.output.counts().into_iter().zip(&self.part.warn);
        report.warnings = counts
            .filter(|(count, _)| *count > 0)
            .map(|(count, warn)| {
                let WarnLine { line, why } = warn;
                format!("{} printed {count} lines like \"{line}\": {why}", self.part.name)
            })
            .collect();
    }

    fn reset(&mut self) -> Pin<Box<dyn Future<Output = Result<(), Trouble>> + '_>> {
        Box::pin(async {
            self.alive()?;
            self.reset_it().await?;
            self.until_ready().await
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        Self::end(self);
    }
}
