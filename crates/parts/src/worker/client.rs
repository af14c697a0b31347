//! The rig's end: starts a worker wherever it belongs, asks it, and lets go of it in any case.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ranlab_campaign::rig::{RigError, Stop};
use serde::de::DeserializeOwned;

mod crew;

pub use crew::Crew;

use super::{Clock, Fault, Hello, LINE_BYTES_MAX, Numbers, Part, Ready, Reply, Report, Request};
use crate::child::{Child, lines};
use crate::lab::{Host, Lab};
use crate::{LEAVE_WAIT, START_WAIT};

/// How long a worker may take to say who it is; ssh has to log in.
const HELLO_WAIT: Duration = Duration::from_secs(15);
/// How long a question may take.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// How long a worker may take to end by itself, beyond what its part may.
const END_WAIT: Duration = Duration::from_secs(2);
/// How long a worker that has closed its output may take to be gone.
const LAST_WORDS_WAIT: Duration = Duration::from_secs(1);
/// Between two looks at what may stop us.
const SLICE: Duration = Duration::from_millis(20);
/// How often a remote clock is asked; the quickest answer counts.
const CLOCK_ROUNDS: usize = 16;

/// A worker and the part that it holds; dropping it takes both down.
pub struct Worker {
    /// What the part is to this rig, for messages (`"base stations"`).
    pub role: &'static str,
    /// Where it runs.
    pub host: Host,
    /// Its clock minus ours; zero on this machine.
    pub clock_offset_us: f64,
    /// How wrong that may be; zero on this machine.
    pub clock_error_us: f64,
    /// How much further it is from ours at the end of a window than when it was first asked; zero on this machine.
    pub clock_drift_us: f64,
    /// Where the part listens, and its process.
    pub ready: Ready,
    /// How long its part may take to serve, and to be gone.
    start_wait: Duration,
    end_wait: Duration,
    child: Option<Child>,
    to: Option<Box<dyn Write + Send>>,
    from: Receiver<io::Result<String>>,
    /// The answer to a question has not come: it may still, and would pass for another one's.
    owing: bool,
}

impl Worker {
    /// Starts a worker on a machine and brings a part up in it.
    pub fn start(
        lab: &Lab,
        host: &Host,
        role: &'static str,
        part: Part,
        stop: &Stop,
    ) -> Result<Self, RigError> {
        let mut worker = Self::meet(lab, host, role, stop)?;
        worker.bring_up(part, stop)?;
        Ok(worker)
    }

    /// Starts a worker that holds nothing yet; its clock is known.
    pub fn meet(lab: &Lab, host: &Host, role: &'static str, stop: &Stop) -> Result<Self, RigError> {
        let mut worker = Self::reach(lab, host, role)?;
        let hello: Hello = worker.ask(&Request::Hello, HELLO_WAIT, stop)?;
        if hello.version != env!("CARGO_PKG_VERSION") {
            return Err(RigError::Environment(format!(
                "the worker at {host} is version {}, this is {}; both must be the same",
                hello.version,
                env!("CARGO_PKG_VERSION")
            )));
        }
        if *host != Host::Local {
            (worker.clock_offset_us, worker.clock_error_us) = worker.compare_clocks(stop)?;
        }
        Ok(worker)
    }

    /// Brings its part up.
    pub fn bring_up(&mut self, part: Part, stop: &Stop) -> Result<(), RigError> {
        (self.start_wait, self.end_wait) = (part.start_wait(), part.end_wait());
        self.ready = self.ask(&Request::Start { part: Box::new(part) }, self.start_wait, stop)?;
        Ok(())
    }

    /// Gives its part a clean state for a further repeat.
    pub fn reset(&mut self, stop: &Stop) -> Result<(), RigError> {
        self.ask(&Request::Reset, self.start_wait, stop)
    }

    /// The part's numbers now.
    pub fn look(&mut self, stop: &Stop) -> Result<Numbers, RigError> {
        self.ask(&Request::Look, ANSWER_WAIT, stop)
    }

    /// A measured window begins.
    pub fn begin(&mut self, stop: &Stop) -> Result<(), RigError> {
        self.ask(&Request::Begin, ANSWER_WAIT, stop)
    }

    /// The window ends. A clock elsewhere is asked again: what it ran away meanwhile adds to its error.
    pub fn end(&mut self, stop: &Stop) -> Result<Report, RigError> {
        let report = self.ask(&Request::End, ANSWER_WAIT, stop)?;
        self.compare_again(stop)?;
        Ok(report)
    }

    fn compare_again(&mut self, stop: &Stop) -> Result<(), RigError> {
        if self.host != Host::Local {
            let (offset_us, error_us) = self.compare_clocks(stop)?;
            self.clock_drift_us = offset_us - self.clock_offset_us;
            self.clock_error_us = error_with_drift(self.clock_error_us, error_us, self.clock_drift_us);
        }
        Ok(())
    }

    /// Looks until `enough` says so.
    pub fn wait_until(
        &mut self,
        what: &str,
        patience: Duration,
        stop: &Stop,
        enough: impl FnMut(&Numbers) -> bool,
    ) -> Result<Numbers, RigError> {
        looked_until(|| self.look(stop), what, patience, stop, enough)
    }

    fn reach(lab: &Lab, host: &Host, role: &'static str) -> Result<Self, RigError> {
        if let (Some(netns), true) = (&lab.netns, *host != Host::Local) {
            return Err(RigError::Rig(format!(
                "the worker of the {role} at {host} cannot be put into the network namespace \"{netns}\": that is done on this \
                 machine alone; start `ranlab worker --listen` in it there, and name that with tcp://"
            )));
        }
        let mut command = match host {
            Host::Tcp { address } => return Self::dial(address, host, role),
            Host::Bus { .. } => match host.clone().met()?.first() {
                Some(first) => return Self::reach(lab, first, role),
                None => return Err(RigError::Environment(format!("no worker answers at {host}"))),
            },
            Host::Local => match &lab.netns {
                None => Command::new(&lab.program),
                Some(netns) => {
                    let mut ip = Command::new("ip");
                    ip.args(["netns", "exec", netns]).arg(&lab.program);
                    ip
                }
            },
            Host::Ssh { destination, program } => {
                let mut ssh = Command::new(&lab.ssh);
                ssh.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", destination, program]);
                ssh
            }
        };
        command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped());
        let lacking = |why: &dyn std::fmt::Display| {
            RigError::Environment(format!("cannot start the worker of the {role} at {host}: {why}"))
        };
        let mut child = Child::start_apart(&mut command).map_err(|error| lacking(&error))?;
        let (Some(to), Some(from)) = (child.input(), child.lines(LINE_BYTES_MAX)) else {
            return Err(lacking(&"no pipes"));
        };
        Ok(Self::over(role, host, Some(child), Box::new(to), from))
    }

    fn dial(address: &str, host: &Host, role: &'static str) -> Result<Self, RigError> {
        let lacking = |why: io::Error| {
            RigError::Environment(format!(
                "no worker listens at tcp://{address}: {why}; start `ranlab worker --listen {address}` there"
            ))
        };
        let at = address.to_socket_addrs().map_err(lacking)?.next();
        let at = at.ok_or_else(|| lacking(io::ErrorKind::NotFound.into()))?;
        let stream = TcpStream::connect_timeout(&at, ANSWER_WAIT).map_err(lacking)?;
        stream.set_nodelay(true).map_err(lacking)?;
        let reader = stream.try_clone().map_err(lacking)?;
        Ok(Self::over(role, host, None, Box::new(stream), lines(reader, LINE_BYTES_MAX)))
    }

    fn over(
        role: &'static str,
        host: &Host,
        child: Option<Child>,
        to: Box<dyn Write + Send>,
        from: Receiver<io::Result<String>>,
    ) -> Self {
        Self {
            role,
            host: host.clone(),
            clock_offset_us: 0.0,
            clock_error_us: 0.0,
            clock_drift_us: 0.0,
            ready: Ready::default(),
            start_wait: START_WAIT,
            end_wait: LEAVE_WAIT,
            child,
            to: Some(to),
            from,
            owing: false,
        }
    }

    fn ask<T: DeserializeOwned>(
        &mut self,
        request: &Request,
        patience: Duration,
        stop: &Stop,
    ) -> Result<T, RigError> {
        self.tell(request)?;
        self.hear(patience, stop)
    }

    /// Asks; the answer is to be heard before anything else is asked.
    fn tell(&mut self, request: &Request) -> Result<(), RigError> {
        let mut line = serde_json::to_string(request).map_err(|error| RigError::Rig(error.to_string()))?;
        line.push('\n');
        let sent = match self.to.as_mut().filter(|_| !self.owing) {
            Some(to) => to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_ok(),
            None => false,
        };
        if !sent {
            return Err(self.gone());
        }
        self.owing = true;
        Ok(())
    }

    /// The answer to what was asked.
    fn hear<T: DeserializeOwned>(&mut self, patience: Duration, stop: &Stop) -> Result<T, RigError> {
        let deadline = Instant::now() + patience;
        let line = loop {
            match self.from.recv_timeout(SLICE) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Disconnected) => {
                    self.owing = false;
                    return Err(self.gone());
                }
                Err(RecvTimeoutError::Timeout) if stop.now() => return Err(RigError::Stopped),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    let (role, host, seconds) = (self.role, &self.host, patience.as_secs());
                    let why = format!("the worker of the {role} at {host} did not answer within {seconds} s");
                    return Err(RigError::Rig(why));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let read = |line: String| serde_json::from_str(&line).map_err(|error| error.to_string());
        let reply = line.map_err(|error| error.to_string()).and_then(read).map_err(|error| {
            RigError::Rig(format!(
                "the worker of the {} at {} answers no JSON: {error}",
                self.role, self.host
            ))
        })?;
        self.owing = false;
        match reply {
            Reply::Ok(value) => serde_json::from_value(value).map_err(|error| {
                RigError::Rig(format!("the worker of the {} answers oddly: {error}", self.role))
            }),
            Reply::Error(trouble) => Err(match trouble.fault {
                Fault::Sut => RigError::Sut(trouble.what),
                Fault::Environment => RigError::Environment(trouble.what),
                Fault::Rig => RigError::Rig(trouble.what),
            }),
        }
    }

    /// Why it cannot be asked any more.
    fn gone(&mut self) -> RigError {
        // Its output closes a moment before it ends.
        let how = match &mut self.child {
            _ if self.owing => Some("a question to it was given up".to_owned()),
            Some(child) => child.wait(LAST_WORDS_WAIT),
            None => None,
        };
        let how = how.map_or_else(String::new, |how| format!(": {how}"));
        RigError::Rig(format!("the worker of the {} at {} has ended{how}", self.role, self.host))
    }

    /// Cristian's algorithm: of some questions the one with the shortest round trip tells the offset best; it is wrong
    /// by half of that round trip at most. The offset, and how wrong it may be, us.
    fn compare_clocks(&mut self, stop: &Stop) -> Result<(f64, f64), RigError> {
        let (mut best, mut offset_us) = (f64::INFINITY, 0.0);
        for _ in 0..CLOCK_ROUNDS {
            let (before, begin) = (unix_us(), Instant::now());
            let clock: Clock = self.ask(&Request::Clock, ANSWER_WAIT, stop)?;
            let round_us = begin.elapsed().as_secs_f64() * 1e6;
            if round_us < best {
                best = round_us;
                offset_us = clock.unix_ns as f64 / 1e3 - (before + round_us / 2.0);
            }
        }
        Ok((offset_us, best / 2.0))
    }
}

/// Looks until `enough` says so.
fn looked_until(
    mut look: impl FnMut() -> Result<Numbers, RigError>,
    what: &str,
    patience: Duration,
    stop: &Stop,
    mut enough: impl FnMut(&Numbers) -> bool,
) -> Result<Numbers, RigError> {
    let deadline = Instant::now() + patience;
    loop {
        let numbers = look()?;
        if enough(&numbers) {
            return Ok(numbers);
        }
        if Instant::now() >= deadline {
            return Err(RigError::Sut(format!(
                "{what} did not happen within {} s ({numbers:?})",
                patience.as_secs()
            )));
        }
        stop.sleep(SLICE)?;
    }
}

/// An offset that was right within `first_us` at the start and is taken for a whole window, at whose end another one was
/// found, right within `last_us`.
fn error_with_drift(first_us: f64, last_us: f64, drift_us: f64) -> f64 {
    first_us.max(drift_us.abs() + last_us)
}

fn unix_us() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as f64 / 1e3
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input is what a worker ends at; the word before it is a courtesy.
        if let Some(mut to) = self.to.take() {
            let _ = to.write_all(b"{\"op\":\"stop\"}\n").and_then(|()| to.flush());
        }
        let patience = self.end_wait + END_WAIT;
        match &mut self.child {
            Some(child) => drop(child.wait(patience)),
            // Its answer says that the part is gone; behind one that is late for another question, the connection's end.
            None => {
                let deadline = Instant::now() + patience;
                let left = || deadline.saturating_duration_since(Instant::now());
                while self.from.recv_timeout(left()).is_ok() && self.owing {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
