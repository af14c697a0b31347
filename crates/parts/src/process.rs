//! Systems under test that are processes: our RIC, or one that somebody else started.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ranlab_host::{Subject, SubjectMeter};
use serde::{Deserialize, Serialize};

use super::{Running, environment, sut};
use crate::child::how_ended;
use crate::worker::Trouble;

/// How long the RIC may take until it listens.
const LISTEN_WAIT: Duration = Duration::from_secs(20);
/// A RIC whose worker was killed so hard that it could not take it down ends by itself.
const LIFE_MAX: &str = "24h";
/// How long it may take to end when asked.
const END_WAIT: Duration = Duration::from_secs(2);

/// Our RIC as a process of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RicPart {
    /// Listener for base stations; port 0: the system's choice, `unix`: a socket in a folder of the worker's.
    pub e2: String,
    /// Listener for xApps.
    pub e42: String,
    /// Version of E2AP.
    pub e2ap: String,
}

/// A running RIC.
pub(crate) struct Ric {
    child: Child,
    addresses: BTreeMap<String, String>,
    folder: Option<PathBuf>,
}

impl Ric {
    pub(crate) fn start(part: &RicPart) -> Result<Self, Trouble> {
        let program = std::env::current_exe().map_err(environment)?;
        let folder = folder_for([&part.e2, &part.e42])?;
        let place = |text: &String, name: &str| match &folder {
            Some(folder) if text == "unix" => format!("unix://{}", folder.join(name).display()),
            _ => text.clone(),
        };
        let (e2, e42) = (place(&part.e2, "e2"), place(&part.e42, "e42"));
        let mut command = Command::new(program);
        command
            .args(["ric", "--format", "ndjson", "--duration", LIFE_MAX, "--e2ap", &part.e2ap])
            .args(["--e2", &e2, "--e42", &e42])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let child = command.spawn().map_err(|error| environment(format!("cannot start the RIC: {error}")))?;
        let mut ric = Self { child, addresses: BTreeMap::new(), folder };
        ric.listen()?;
        Ok(ric)
    }

    /// Reads the addresses that it prints, and goes on reading so that it never waits for us.
    fn listen(&mut self) -> Result<(), Trouble> {
        let stdout = self.child.stdout.take().ok_or_else(|| environment("the RIC has no output"))?;
        let (sink, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // What it says later is not for us, but must be read.
                let _ = sink.send(line);
            }
        });
        let deadline = Instant::now() + LISTEN_WAIT;
        while self.addresses.len() < 2 {
            let wait = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = lines.recv_timeout(wait) else {
                let how =
                    self.child.try_wait().ok().flatten().map_or_else(|| "in time".to_owned(), how_ended);
                return Err(environment(format!("the RIC does not listen: {how}")));
            };
            let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if let (Some(name), Some(address)) = (said["listening"].as_str(), said["address"].as_str()) {
                self.addresses.insert(name.to_owned(), address.to_owned());
            }
        }
        Ok(())
    }
}

/// A folder of this process's alone, if one of the listeners is to be a Unix socket.
pub(crate) fn folder_for<'a>(
    addresses: impl IntoIterator<Item = &'a String>,
) -> Result<Option<PathBuf>, Trouble> {
    use std::os::unix::fs::DirBuilderExt;
    if !addresses.into_iter().any(|address| address == "unix") {
        return Ok(None);
    }
    let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(format!("ranlab-worker-{}", std::process::id()));
    // A leftover of an earlier process of that number is ours; anybody else's cannot be removed and is an error.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(|error| environment(format!("cannot make {}: {error}", folder.display())))?;
    Ok(Some(folder))
}

impl Running for Ric {
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Process { pid: self.child.id() })
    }

    fn addresses(&self) -> BTreeMap<String, String> {
        self.addresses.clone()
    }

    fn check(&mut self) -> Result<(), Trouble> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(sut(format!("the RIC is gone: {}", how_ended(status)))),
            Err(error) => Err(environment(error)),
        }
    }
}

impl Drop for Ric {
    fn drop(&mut self) {
        // It keeps nothing: killing is enough.
        let _ = self.child.kill();
        let deadline = Instant::now() + END_WAIT;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Something that runs already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum AttachPart {
    /// One process.
    Pid {
        /// Its number.
        pid: u32,
    },
    /// Every process of that name.
    Command {
        /// Name of the program file, without its folder.
        name: String,
    },
    /// Every process of a control group: a container, a service.
    Cgroup {
        /// Its folder below /sys/fs/cgroup.
        path: String,
    },
    /// Nothing of it can be metered: it runs elsewhere.
    Elsewhere,
}

/// What runs already, as its meters know it.
pub(crate) struct Attached {
    subject: Option<Subject>,
}

impl Attached {
    pub(crate) fn new(part: &AttachPart) -> Result<Self, Trouble> {
        let subject = match part {
            AttachPart::Pid { pid } => Some(Subject::Process { pid: *pid }),
            AttachPart::Command { name } => Some(Subject::Command { name: name.clone() }),
            AttachPart::Cgroup { path } => Some(Subject::Cgroup { path: path.into() }),
            AttachPart::Elsewhere => None,
        };
        if let Some(subject) = &subject {
            SubjectMeter::new(subject.clone()).map_err(environment)?;
        }
        Ok(Self { subject })
    }
}

impl Running for Attached {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn check(&mut self) -> Result<(), Trouble> {
        match &self.subject {
            Some(subject) => SubjectMeter::new(subject.clone()).map(|_| ()).map_err(sut),
            None => Ok(()),
        }
    }
}
