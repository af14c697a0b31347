//! Plug-ins: external programs that drive a third-party switch or packet generator. They receive requests as JSON lines
//! (docs/how-to/plugins.md). Each request has one response, limited in size and time.
//!
//! An error of a plug-in ends its measurement point with a typed error. Errors are an invalid response, no response, an
//! exit, or too much output. A plug-in cannot block the caller, and it ends with this process.

mod declared;
mod switch;
mod tester;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use ranlab_host::process_tree;
use ranlab_pipeline::backends::{Equivalence, Outcomes, compare, port_name};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::Trace;
use serde_json::{Map, Value, json};

use crate::switches::{files, input_file};
use ranlab_lab::child::Child;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

pub(crate) use switch::PluginSwitch;
pub(crate) use tester::PluginTester;

/// The value of `sut.engine` for a switch driven by a plug-in.
pub(crate) const ENGINE: &str = "plugin";
/// Version of the protocol.
const VERSION: u64 = 1;
/// Maximum length of a line in either direction, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Timeout of the greeting, and of requests that a plug-in can answer immediately.
const ANSWER_WAIT: Duration = Duration::from_secs(if cfg!(test) { 6 } else { 10 });
/// Timeout of configuring a plug-in, and of one pass over a trace.
const CONFIGURE_WAIT: Duration = Duration::from_secs(120);
/// Time limit for the exit of a plug-in that closed its output.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Maximum number of error output lines read from a plug-in that exited.
const COMPLAINTS_MAX: usize = 64;
/// Polling interval for the state of a plug-in.
const POLL: Duration = Duration::from_millis(20);
/// Maximum number of characters quoted from an invalid response.
const QUOTE_MAX: usize = 200;

/// Roles of a plug-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Switch,
    Generator,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Generator => "generator",
        }
    }

    /// Classifies an error of a plug-in. A switch is the system under test, and a generator is part of the measurement.
    fn fault(self, what: String) -> ComponentError {
        match self {
            Self::Switch => sut(what),
            Self::Generator => rig(what),
        }
    }
}

/// A running plug-in.
struct Plugin {
    role: Role,
    path: String,
    child: Child,
    told: SyncSender<Vec<u8>>,
    said: Receiver<io::Result<String>>,
    complaints: Receiver<io::Result<String>>,
    /// Last line of the plug-in's error output.
    complaint: String,
    next: u64,
    /// Optional features that the plug-in states in its greeting.
    features: Vec<String>,
}

impl Plugin {
    /// Starts the program and exchanges greetings.
    fn start(path: &str, role: Role) -> Result<Self, ComponentError> {
        let mut command = Command::new(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process_tree::die_with_us(&mut command);
        let cannot = |error: io::Error| environment(format!("the plug-in {path} cannot be started: {error}"));
        let mut child = Child::start_apart(&mut command).map_err(cannot)?;
        let closed = || rig("the plug-in has no pipes");
        let mut input = child.input().ok_or_else(closed)?;
        let said = child.lines(LINE_BYTES_MAX).ok_or_else(closed)?;
        let complaints = child.complaints(LINE_BYTES_MAX).ok_or_else(closed)?;
        // A plug-in that does not read its input blocks only this thread. The thread ends when the pipe closes.
        let (told, waiting) = sync_channel::<Vec<u8>>(1);
        std::thread::spawn(move || {
            while let Ok(line) = waiting.recv() {
                if input.write_all(&line).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        });
        let path = path.to_owned();
        let complaint = String::new();
        let features = Vec::new();
        let mut own = Self { role, path, child, told, said, complaints, complaint, next: 1, features };
        let hello = own.ask("hello", json!({"version": VERSION, "role": role.name()}), ANSWER_WAIT)?;
        let version = hello.get("version").and_then(Value::as_u64);
        if version != Some(VERSION) {
            let theirs =
                version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
            return Err(own.wrong(&format!("it speaks {theirs} of the protocol; allowed is {VERSION}")));
        }
        let features = hello.get("features").and_then(Value::as_array).into_iter().flatten();
        own.features = features.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        Ok(own)
    }

    fn can(&self, feature: &str) -> bool {
        self.features.iter().any(|own| own == feature)
    }

    /// Sends a request and waits for its response, whose status must be `ok`.
    fn ask(
        &mut self,
        what: &str,
        with: Value,
        patience: Duration,
    ) -> Result<Map<String, Value>, ComponentError> {
        self.listen();
        if let Ok(line) = self.said.try_recv() {
            let line = line.unwrap_or_else(|error| error.to_string());
            return Err(self.wrong(&format!("it sent a line without a request: {}", quoted(&line))));
        }
        let number = self.next;
        self.next += 1;
        let Value::Object(mut request) = with else { return Err(rig("a request must be a JSON object")) };
        request.insert("id".to_owned(), number.into());
        request.insert("do".to_owned(), what.into());
        let mut line = serde_json::to_vec(&request).map_err(rig)?;
        line.push(b'\n');
        if line.len() > LINE_BYTES_MAX || self.told.try_send(line).is_err() {
            return Err(self.wrong(&format!("it does not read its input (`{what}`)")));
        }
        let deadline = Instant::now() + patience;
        loop {
            self.listen();
            match self.said.recv_timeout(POLL) {
                Ok(Ok(line)) => return self.reply(what, number, &line),
                Ok(Err(error)) => {
                    return Err(self.wrong(&format!("its answer to `{what}` cannot be read: {error}")));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    let s = patience.as_secs_f64();
                    return Err(self.wrong(&format!("it has not answered `{what}` within {s} s")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let how =
                        self.child.wait(LAST_WORDS).unwrap_or_else(|| "it closed its output".to_owned());
                    self.last_words();
                    return Err(self.wrong(&format!("{how} before it answered `{what}`")));
                }
            }
        }
    }

    fn reply(&mut self, what: &str, number: u64, line: &str) -> Result<Map<String, Value>, ComponentError> {
        let Ok(Value::Object(reply)) = serde_json::from_str(line) else {
            return Err(self.wrong(&format!("its answer to `{what}` is no JSON object: {}", quoted(line))));
        };
        if reply.get("id").and_then(Value::as_u64) != Some(number) {
            let quote = quoted(line);
            return Err(self.wrong(&format!("its answer to `{what}` does not have the id {number}: {quote}")));
        }
        match (reply.get("ok").and_then(Value::as_bool), reply.get("error").and_then(Value::as_str)) {
            (Some(true), _) => Ok(reply),
            (Some(false), Some(why)) => Err(self.wrong(&format!("it refuses `{what}`: {}", quoted(why)))),
            _ => Err(self.wrong(&format!(
                "its answer to `{what}` is neither \"ok\": true nor \"ok\": false with an \"error\": {}",
                quoted(line)
            ))),
        }
    }

    /// Returns a counter from a response.
    fn count(&self, what: &str, reply: &Map<String, Value>, name: &str) -> Result<u64, ComponentError> {
        reply.get(name).and_then(Value::as_u64).ok_or_else(|| {
            self.wrong(&format!("its answer to `{what}` lacks `{name}`, a whole number of at least 0"))
        })
    }

    /// Returns an error if the plug-in has exited.
    fn check(&mut self) -> Result<(), ComponentError> {
        self.listen();
        self.child.ended().map_or(Ok(()), |how| Err(self.wrong(&how)))
    }

    /// Reads the plug-in's error output, so that the plug-in does not block on a full pipe.
    fn listen(&mut self) {
        loop {
            match self.complaints.try_recv() {
                Ok(Ok(line)) => self.complaint = line,
                Ok(Err(_)) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }

    /// Reads the remaining error output of a plug-in that has exited.
    fn last_words(&mut self) {
        for _ in 0..COMPLAINTS_MAX {
            match self.complaints.recv_timeout(POLL * 10) {
                Ok(Ok(line)) => self.complaint = line,
                _ => return,
            }
        }
    }

    fn wrong(&self, what: &str) -> ComponentError {
        let last = if self.complaint.is_empty() {
            String::new()
        } else {
            format!("; its last error output: {}", quoted(&self.complaint))
        };
        self.role.fault(format!("the plug-in {}: {what}{last}", self.path))
    }

    /// Configures the pipeline and its traffic, through files in a folder.
    fn configure(&mut self, job: &PluginTask<'_>) -> Result<Map<String, Value>, ComponentError> {
        let declared = job.folder.join("pipeline.json");
        declared::write(&declared, &job.pipeline.build().map_err(rig)?)?;
        let mut trace = Map::new();
        for port in [Port::Access, Port::Core] {
            let path = input_file(job.folder, port);
            let packets = files::write(&path, (job.trace, port), job.equivalences)?;
            trace.insert(port_name(port).to_owned(), json!({"pcap": path, "packets": packets}));
        }
        let sockets = job.sockets.map(|both| {
            let of = |port: Port| both[port as usize].display().to_string();
            json!({"access": of(Port::Access), "core": of(Port::Core)})
        });
        let request = json!({
            "pipeline": job.pipeline, "declared": declared, "trace": trace, "memif": sockets, "folder": job.folder,
        });
        self.ask("configure", request, CONFIGURE_WAIT)
    }
}

impl Drop for Plugin {
    /// Also ends the processes that the plug-in has started.
    fn drop(&mut self) {
        self.child.end();
        // The process group may already be empty.
        let _ = ranlab_host::kill_group(self.child.id());
    }
}

/// Pipeline, traffic and connection that a plug-in is configured with.
struct PluginTask<'a> {
    pipeline: &'a Pipeline,
    trace: &'a Trace,
    folder: &'a std::path::Path,
    /// Tier ring: socket paths of the switch's ports, access first.
    sockets: Option<&'a [std::path::PathBuf; 2]>,
    /// Allowed differences between the switch's packets and the oracle's.
    equivalences: &'a [Equivalence],
}

/// Compares a switch's output with the oracle. Returns the number of compared packets.
fn verified(job: &PluginTask<'_>, found: &Outcomes) -> Result<u64, ComponentError> {
    let expected =
        Outcomes::expected(job.pipeline, job.trace, usize::MAX, job.equivalences).map_err(environment)?;
    compare(&expected, found).map_err(|mismatch| sut(format!("nothing is measured: {mismatch}")))?;
    Ok(job.trace.len() as u64)
}

fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(QUOTE_MAX).collect();
    format!("{cut:?}{}", if cut.len() < text.len() { " …" } else { "" })
}
