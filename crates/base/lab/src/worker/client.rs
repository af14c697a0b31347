//! The rig's side of the worker protocol: starts a worker at its location, sends requests, and ends it in any case.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ranlab_campaign::rig::{RigError, Stop};
use serde::de::DeserializeOwned;

mod group;

pub use group::WorkerGroup;

use super::{
    AnyComponent, ClockReading, Counters, FaultOwner, Hello, LINE_BYTES_MAX, Ready, Reply, Report, Request,
};
use crate::child::{Child, lines};
use crate::component::{START_WAIT, Waits};
use crate::lab::{RigContext, WorkerLocation};

/// Timeout of a worker's greeting. Includes the login over ssh.
const HELLO_WAIT: Duration = Duration::from_secs(15);
/// Timeout of a request.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// Grace time for a worker's exit, in addition to that of its component.
const END_WAIT: Duration = Duration::from_secs(2);
/// Timeout until a worker that closed its output has exited.
const LAST_WORDS_WAIT: Duration = Duration::from_secs(1);
/// Interval at which the stop flag is checked.
const SLICE: Duration = Duration::from_millis(20);
/// Number of requests to a remote clock. The fastest response counts.
const CLOCK_ROUNDS: usize = 16;

/// A worker and its component. Dropping it ends both.
pub struct Worker {
    /// Role of the component in this rig, for messages (`"base stations"`).
    pub role: &'static str,
    /// Location of the worker.
    pub host: WorkerLocation,
    /// Clock of the worker minus the local clock, in microseconds. Zero on this machine.
    pub clock_offset_us: f64,
    /// Maximum error of the clock offset, in microseconds. Zero on this machine.
    pub clock_error_us: f64,
    /// Change of the clock offset from the first measurement to the end of a window, in microseconds. Zero on this
    /// machine.
    pub clock_drift_us: f64,
    /// Addresses and process of the component.
    pub ready: Ready,
    /// Time limits of the component.
    waits: Waits,
    child: Option<Child>,
    to: Option<Box<dyn Write + Send>>,
    from: Receiver<io::Result<String>>,
    /// Whether a response is overdue. It may still arrive, and would be taken for the response to another request.
    owing: bool,
}

impl Worker {
    /// Starts a worker on a machine, and a component in it.
    pub fn start(
        lab: &RigContext,
        host: &WorkerLocation,
        role: &'static str,
        part: AnyComponent,
        stop: &Stop,
    ) -> Result<Self, RigError> {
        let mut worker = Self::start_idle(lab, host, role, stop)?;
        worker.bring_up(part, stop)?;
        Ok(worker)
    }

    /// Starts a worker without a component, and measures its clock offset.
    pub fn start_idle(
        lab: &RigContext,
        host: &WorkerLocation,
        role: &'static str,
        stop: &Stop,
    ) -> Result<Self, RigError> {
        let mut worker = Self::reach(lab, host, role)?;
        let hello: Hello = worker.ask(&Request::Hello, HELLO_WAIT, stop)?;
        if hello.version != env!("CARGO_PKG_VERSION") {
            return Err(RigError::Environment(format!(
                "the worker at {host} is version {}, this is {}; both must be the same",
                hello.version,
                env!("CARGO_PKG_VERSION")
            )));
        }
        if *host != WorkerLocation::Local {
            (worker.clock_offset_us, worker.clock_error_us) = worker.compare_clocks(stop)?;
        }
        Ok(worker)
    }

    /// Starts the worker's component.
    pub fn bring_up(&mut self, part: AnyComponent, stop: &Stop) -> Result<(), RigError> {
        self.waits = part.waits();
        self.ready = self.ask(&Request::start(&part)?, self.waits.start, stop)?;
        Ok(())
    }

    /// Resets the worker's component for the next repetition.
    pub fn reset(&mut self, stop: &Stop) -> Result<(), RigError> {
        self.ask(&Request::Reset, self.waits.start, stop)
    }

    /// Returns the component's current numbers.
    pub fn counters(&mut self, stop: &Stop) -> Result<Counters, RigError> {
        self.ask(&Request::Look, ANSWER_WAIT, stop)
    }

    /// Begins a measurement window.
    pub fn begin(&mut self, stop: &Stop) -> Result<(), RigError> {
        self.ask(&Request::Begin, ANSWER_WAIT, stop)
    }

    /// Ends the window. The offset of a remote clock is measured again, and its drift is added to the error.
    pub fn end(&mut self, stop: &Stop) -> Result<Report, RigError> {
        let report = self.ask(&Request::End, ANSWER_WAIT, stop)?;
        self.compare_again(stop)?;
        Ok(report)
    }

    fn compare_again(&mut self, stop: &Stop) -> Result<(), RigError> {
        if self.host != WorkerLocation::Local {
            let (offset_us, error_us) = self.compare_clocks(stop)?;
            self.clock_drift_us = offset_us - self.clock_offset_us;
            self.clock_error_us = error_with_drift(self.clock_error_us, error_us, self.clock_drift_us);
        }
        Ok(())
    }

    /// Polls the numbers until `enough` returns true.
    pub fn wait_until(
        &mut self,
        what: &str,
        patience: Duration,
        stop: &Stop,
        enough: impl FnMut(&Counters) -> bool,
    ) -> Result<Counters, RigError> {
        looked_until(|| self.counters(stop), what, patience, stop, enough)
    }

    fn reach(lab: &RigContext, host: &WorkerLocation, role: &'static str) -> Result<Self, RigError> {
        if let (Some(netns), true) = (&lab.netns, *host != WorkerLocation::Local) {
            return Err(RigError::Rig(format!(
                "the worker of the {role} at {host} cannot be started in the network namespace \"{netns}\", because this works \
                 only on this machine; start `ranlab worker --listen` in the namespace on {host}, and give its tcp:// address"
            )));
        }
        let mut command = match host {
            WorkerLocation::Tcp { address } => return Self::dial(address, host, role),
            WorkerLocation::Bus { .. } => match host.clone().resolve()?.first() {
                Some(first) => return Self::reach(lab, first, role),
                None => return Err(RigError::Environment(format!("no worker answers at {host}"))),
            },
            WorkerLocation::Local => match &lab.netns {
                None => Command::new(&lab.program),
                Some(netns) => {
                    let mut ip = Command::new("ip");
                    ip.args(["netns", "exec", netns]).arg(&lab.program);
                    ip
                }
            },
            WorkerLocation::Ssh { destination, program } => {
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
            return Err(lacking(&"its input or output is not a pipe"));
        };
        Ok(Self::over(role, host, Some(child), Box::new(to), from))
    }

    fn dial(address: &str, host: &WorkerLocation, role: &'static str) -> Result<Self, RigError> {
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
        host: &WorkerLocation,
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
            waits: Waits::default(),
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
        self.send_request(request)?;
        self.receive_response(patience, stop)
    }

    /// Sends a request. Its response has to be read before the next request.
    fn send_request(&mut self, request: &Request) -> Result<(), RigError> {
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

    /// Reads the response to a request.
    fn receive_response<T: DeserializeOwned>(
        &mut self,
        patience: Duration,
        stop: &Stop,
    ) -> Result<T, RigError> {
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
                    let role = self.role;
                    let host = &self.host;
                    let seconds = patience.as_secs();
                    let why = format!("the worker of the {role} at {host} did not answer within {seconds} s");
                    return Err(RigError::Rig(why));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let read = |line: String| serde_json::from_str(&line).map_err(|error| error.to_string());
        let reply = line.map_err(|error| error.to_string()).and_then(read).map_err(|error| {
            RigError::Rig(format!(
                "the worker of the {} at {} sent invalid JSON: {error}",
                self.role, self.host
            ))
        })?;
        self.owing = false;
        match reply {
            Reply::Ok(value) => serde_json::from_value(value).map_err(|error| {
                RigError::Rig(format!("the worker of the {} sent an invalid response: {error}", self.role))
            }),
            Reply::Error(trouble) => Err(match trouble.fault {
                FaultOwner::Sut => RigError::Sut(trouble.what),
                FaultOwner::Environment => RigError::Environment(trouble.what),
                FaultOwner::Rig => RigError::Rig(trouble.what),
            }),
        }
    }

    /// Returns the error for a worker that no longer responds.
    fn gone(&mut self) -> RigError {
        // The worker's output closes shortly before the worker exits.
        let how = match &mut self.child {
            _ if self.owing => Some("it did not answer an earlier request, which was abandoned".to_owned()),
            Some(child) => child.wait(LAST_WORDS_WAIT),
            None => None,
        };
        let how = how.map_or_else(String::new, |how| format!(": {how}"));
        RigError::Rig(format!("the worker of the {} at {} has ended{how}", self.role, self.host))
    }

    /// Measures the clock offset with Cristian's algorithm. Of several requests, the one with the shortest round trip is
    /// used. Its error is at most half of its round-trip time. Returns the offset and its maximum error, in microseconds.
    fn compare_clocks(&mut self, stop: &Stop) -> Result<(f64, f64), RigError> {
        let mut best = f64::INFINITY;
        let mut offset_us = 0.0;
        for _ in 0..CLOCK_ROUNDS {
            let before = unix_us();
            let begin = Instant::now();
            let clock: ClockReading = self.ask(&Request::Clock, ANSWER_WAIT, stop)?;
            let round_us = begin.elapsed().as_secs_f64() * 1e6;
            if round_us < best {
                best = round_us;
                offset_us = clock.unix_ns as f64 / 1e3 - (before + round_us / 2.0);
            }
        }
        Ok((offset_us, best / 2.0))
    }
}

/// Polls the numbers until `enough` returns true.
fn looked_until(
    mut look: impl FnMut() -> Result<Counters, RigError>,
    what: &str,
    patience: Duration,
    stop: &Stop,
    mut enough: impl FnMut(&Counters) -> bool,
) -> Result<Counters, RigError> {
    let deadline = Instant::now() + patience;
    loop {
        let numbers = look()?;
        if enough(&numbers) {
            return Ok(numbers);
        }
        if Instant::now() >= deadline {
            return Err(RigError::Sut(format!(
                "timed out after {} s waiting for {what} ({numbers:?})",
                patience.as_secs()
            )));
        }
        stop.sleep(SLICE)?;
    }
}

/// Returns the error of a clock offset that is used for a whole window. The offset was accurate to `first_us` at the
/// beginning of the window. At its end, a second measurement with accuracy `last_us` differed by `drift_us`.
fn error_with_drift(first_us: f64, last_us: f64, drift_us: f64) -> f64 {
    first_us.max(drift_us.abs() + last_us)
}

fn unix_us() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as f64 / 1e3
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker ends at the end of its input. The stop request is optional.
        if let Some(mut to) = self.to.take() {
            let _ = to.write_all(b"{\"op\":\"stop\"}\n").and_then(|()| to.flush());
        }
        let patience = self.waits.end + END_WAIT;
        match &mut self.child {
            Some(child) => drop(child.wait(patience)),
            // The response confirms that the component has ended. If another response is overdue, wait for the end of
            // the connection.
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
