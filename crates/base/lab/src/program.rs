//! A third-party program as a component. It is started by its own commands, and awaited until it is ready. It is
//! watched and metered with all of its child processes, and ended together with all leftovers. Its output is kept.
//!
//! The worker that runs it adopts the program's orphaned processes, and ends with the campaign in any case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ranlab_campaign::value::Value;
use ranlab_host::{Subject, process_tree};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::child::how_ended;
use crate::output::{Counted, ExpectedLine, Output};
use crate::watch::ProcessWatch;
use crate::worker::{ComponentError, Report};
use crate::{ConfigFields, Field, RunningComponent, environment, ready, rig, sut};

/// Interval at which a program is polled.
const POLL: Duration = Duration::from_millis(20);
/// Time for which the kernel occupies a port for closed connections (60 s), with a margin.
const KEPT_MAX: Duration = Duration::from_secs(65);
/// Margin added to the timeouts of a profile.
const MARGIN: Duration = Duration::from_secs(2);

/// A program and its handling: a profile with placeholders filled in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProgramComponent {
    /// Name used in messages.
    pub name: String,
    /// Commands of the program.
    pub run: Commands,
    /// Conditions under which the program is ready.
    pub ready: ReadyWhen,
    /// Selection of metered processes.
    pub meter: MeterBy,
    /// Log file of the program's output. If it is `None`, only the last lines are kept.
    pub log: Option<PathBuf>,
    /// Output lines that cast doubt on a result.
    pub warn: Vec<WarnLine>,
}

/// An output line that casts doubt on a result (`[[warn]]`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarnLine {
    /// Regular expression for the line.
    pub line: String,
    /// Meaning of the line for the result.
    pub why: String,
}

/// Commands of a profile (`[run]`), as argument lists; no shell is used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Commands {
    /// Starts the program. Empty if it is already running. The command may stay in the foreground, or exit with success
    /// and leave processes behind.
    pub start: Vec<String>,
    /// Ends the program. If empty, the program gets SIGTERM.
    pub stop: Vec<String>,
    /// Resets a running program before each further repetition.
    pub reset: Vec<String>,
    /// Frequency of starts: once per repetition, or once per campaign.
    pub each: Each,
    /// Working folder; `None` for the folder of the campaign.
    pub folder: Option<PathBuf>,
    /// Variables added to the environment.
    pub environment: BTreeMap<String, String>,
    /// Maximum time for the program to end, and for a command to complete, before it is killed.
    pub grace: Span,
}

/// Frequency of starts of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// Started once per repetition.
    #[default]
    Repeat,
    /// Started once per campaign. `reset` runs before each further repetition.
    Campaign,
}

/// Readiness conditions of a program (`[ready]`). All configured conditions must be met.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadyWhen {
    /// This command succeeds.
    pub command: Vec<String>,
    /// These ports are open according to the kernel's tables: `tcp:2210`, `udp:8805`, `sctp:36421`. No connection is
    /// made, because a controller could take it for a base station.
    pub ports: Vec<String>,
    /// This URL (`http://…`) responds with success.
    pub url: String,
    /// An output line matches this regular expression.
    pub line: String,
    /// Timeout for all conditions.
    pub within: Span,
}

/// Selection of metered processes (`[meter]`); the first configured field counts. Without any, the started process and
/// its descendants are metered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeterBy {
    /// Process id of the metered process.
    pub pid: Option<u32>,
    /// File to which the program writes its process id.
    pub pid_file: Option<PathBuf>,
    /// Control group of the metered processes, such as a container's.
    pub cgroup: Option<PathBuf>,
    /// Name of the metered processes.
    pub command: Option<String>,
}

/// A duration in text form, such as `5s`.
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
    /// Returns the timeout of commands and of the program's end.
    pub fn grace(&self) -> Duration {
        self.grace.0.unwrap_or(Duration::from_secs(5))
    }
}

impl ReadyWhen {
    /// Returns the timeout until the program is ready.
    pub fn within(&self) -> Duration {
        self.within.0.unwrap_or(Duration::from_secs(30))
    }
}

impl ProgramComponent {
    /// Returns all commands with their arguments, by name, in the order of execution.
    pub fn commands(&self) -> Vec<(&'static str, &[String])> {
        let all = [
            ("start", &self.run.start),
            ("ready", &self.ready.command),
            ("reset", &self.run.reset),
            ("stop", &self.run.stop),
        ];
        all.into_iter().filter(|(_, argv)| !argv.is_empty()).map(|(name, argv)| (name, &argv[..])).collect()
    }

    /// Returns the maximum time to start, including a reset command and a second attempt if a port was occupied.
    pub fn start_wait(&self) -> Duration {
        (self.ready.within() + self.run.grace() * 2) * 2 + KEPT_MAX + MARGIN
    }

    /// Returns the maximum time to end, with a hanging stop command and a program that ignores SIGTERM.
    pub fn end_wait(&self) -> Duration {
        self.run.grace() * 2 + MARGIN
    }
}

impl ConfigFields for ProgramComponent {
    fn described(&self) -> Vec<Field> {
        Vec::new()
    }

    fn get(&self, _name: &str) -> Option<Value> {
        None
    }

    /// Returns the names of the fields in use, because all of them refer to the worker's machine.
    fn locals(&self) -> Vec<&'static str> {
        let meter = (self.meter != MeterBy::default()).then_some("meter");
        self.commands().iter().map(|(name, _)| *name).chain(meter).collect()
    }
}

/// A running program.
pub struct Program {
    part: ProgramComponent,
    output: Arc<Output>,
    watch: ProcessWatch,
    /// Subject of the metering. `None` if nothing is known about it.
    subject: Option<Subject>,
    /// Child processes of this process that do not belong to the program.
    others: BTreeSet<u32>,
}

impl Program {
    /// Starts the program and waits until it is ready. If it fails because a port is occupied by closed connections, it
    /// is started again after the kernel has released the port.
    pub async fn start(part: ProgramComponent) -> Result<Self, ComponentError> {
        let starts = !part.run.start.is_empty();
        if let Some(port) = ready::taken(&part.ready).filter(|_| starts) {
            let name = &part.name;
            return Err(environment(format!(
                "{port} is open before {name} is started: another program listens there"
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

    async fn come_up(part: ProgramComponent) -> Result<Self, ComponentError> {
        process_tree::adopt_orphans().map_err(environment)?;
        let others = process_tree::own_children(&BTreeSet::new()).into_iter().collect();
        let line = Some(&part.ready.line).filter(|line| !line.is_empty());
        let of = |key: &'static str| move |error| rig(format!("`{key}`: {error}"));
        let expected = line.map(|line| ExpectedLine::new(line)).transpose().map_err(of("ready.line"))?;
        let counted =
            part.warn.iter().map(|warn| Counted::new(&warn.line)).collect::<Result<_, regex::Error>>();
        let output = Output::new(part.log.clone(), expected).map_err(environment)?;
        let output = Arc::new(output.counting(counted.map_err(of("warn.line"))?));
        let watch = ProcessWatch::start(&part.name, None, None, false);
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
            program.watch = ProcessWatch::start(&program.part.name, Some(below), Some(child), launches);
        }
        program.until_ready().await?;
        program.find().await?;
        Ok(program)
    }

    /// Builds a command with folder and environment, in a separate process group that ends with this process.
    fn command(&self, argv: &[String]) -> Command {
        let (program, arguments) = argv.split_first().map_or(("", argv), |(program, rest)| (program, rest));
        let mut command = Command::new(program);
        command.args(arguments).envs(&self.part.run.environment).stdin(Stdio::null());
        if let Some(folder) = &self.part.run.folder {
            command.current_dir(folder);
        }
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        process_tree::die_with_us(&mut command);
        command
    }

    fn cannot(&self, which: &str, error: &std::io::Error) -> ComponentError {
        let argv = self.part.commands().into_iter().find(|(name, _)| *name == which).map(|(_, argv)| argv);
        environment(format!(
            "{} cannot be started: `{which}` {:?}: {error}",
            self.part.name,
            argv.unwrap_or_default()
        ))
    }

    /// Runs a command to its end. The error contains its exit status and last output lines.
    async fn done(&self, which: &str, argv: &[String]) -> Result<(), ComponentError> {
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

    async fn reset_it(&self) -> Result<(), ComponentError> {
        match &self.part.run.reset[..] {
            [] => Ok(()),
            argv => self.done("reset", argv).await,
        }
    }

    /// Returns an error with the last output lines if the program has ended.
    fn alive(&self) -> Result<(), ComponentError> {
        self.watch.check().map_err(|trouble| sut(format!("{trouble}{}", self.output.last_words())))
    }

    async fn until_ready(&self) -> Result<(), ComponentError> {
        let when = &self.part.ready;
        let begun = Instant::now();
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

    /// Finds the metered processes after the program is ready.
    async fn find(&mut self) -> Result<(), ComponentError> {
        let Some(subject) = self.part.meter.subject().map_err(environment)? else { return Ok(()) };
        let main = self.watch.stop();
        self.subject = Some(subject.clone());
        self.watch = ProcessWatch::start(&self.part.name, Some(subject), main, false);
        Ok(())
    }

    /// Waits until no process is left. If `asks` is set, sends SIGTERM to each process, including ones that appear
    /// meanwhile.
    fn gone(&self, asks: bool) -> bool {
        let mut signalled = BTreeSet::new();
        let deadline = Instant::now() + self.part.run.grace();
        loop {
            process_tree::bury(&self.others);
            let children = process_tree::own_children(&self.others);
            if children.is_empty() || Instant::now() >= deadline {
                return children.is_empty();
            }
            for pid in children {
                if asks && signalled.insert(pid) {
                    process_tree::ask_child(pid);
                }
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends the program with all processes that it started: SIGTERM first, then SIGKILL.
    fn end(&mut self) {
        let main = self.watch.stop();
        if self.part.run.start.is_empty() {
            return;
        }
        let asks = self.part.run.stop.is_empty();
        if !asks {
            // The output and exit status of the stop command are in the log. Its end is part of the wait.
            drop(self.output.spawn(&mut self.command(&self.part.run.stop)));
        }
        if !self.gone(asks) && !asks {
            self.gone(true);
        }
        process_tree::end_children(&self.others);
        drop(main);
    }
}

impl MeterBy {
    /// Returns the subject of the metering, or `None` if it is not configured.
    fn subject(&self) -> Result<Option<Subject>, String> {
        Ok(match self {
            Self { pid: Some(pid), .. } => Some(Subject::Process { pid: *pid }),
            Self { pid_file: Some(file), .. } => {
                let text =
                    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()));
                let pid = text?.trim().parse();
                let pid = pid.map_err(|_| format!("{} contains no process id", file.display()))?;
                Some(Subject::Process { pid })
            }
            Self { cgroup: Some(path), .. } => Some(Subject::Cgroup { path: path.clone() }),
            Self { command: Some(name), .. } => Some(Subject::Command { name: name.clone() }),
            _ => None,
        })
    }
}

impl RunningComponent for Program {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn pid(&self) -> Option<u32> {
        match self.subject {
            Some(Subject::Process { pid }) => Some(pid),
            _ => self.watch.main_pid(),
        }
    }

    fn check(&mut self) -> Result<(), ComponentError> {
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

    fn reset(&mut self) -> Pin<Box<dyn Future<Output = Result<(), ComponentError>> + '_>> {
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
