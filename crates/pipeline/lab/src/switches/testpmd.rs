//! DPDK's testpmd as a switch that only forwards. It is the baseline, and shows the cost of input and output for all
//! other DPDK switches.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use ranlab_host::process_tree;
use ranlab_pipeline::backends::{Outcomes, TextConsumer, Translation};
use ranlab_pipeline::declare::Port;

use super::dpdk::{self, Resources};
use super::{
    Driver, Losses, Switch, SwitchCounters, SwitchJob, capture_file, files, found, input_file, settled,
    thread, tools,
};
use ranlab_lab::child::Child;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

/// The backend's name.
pub(super) const NAME: &str = "testpmd";
/// Name of the program.
const PROGRAM: &str = "dpdk-testpmd";
/// Timeout for the start of testpmd and for each response.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Maximum length of a line of testpmd's output, in bytes.
const LINE_BYTES_MAX: usize = 4_096;
/// A line that testpmd prints when it forwards.
const FORWARDS: &str = "packet forwarding packets/burst";
/// Number of buffers, which is sufficient for a trace in memory on each side and the packets in flight.
const BUFFERS: &str = "--total-num-mbufs=45056";
/// Names of forwarding threads, by DPDK version.
const FORWARDERS: [&str; 3] = ["lcore-worker", "rte-worker", "dpdk-worker"];

/// Driver for testpmd.
pub(super) struct Testpmd;

impl Driver for Testpmd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn packets_max(&self) -> usize {
        dpdk::PACKETS_MAX
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let mut outcomes = Outcomes::default();
        for direction in job.directions {
            let ingress = direction.ingress();
            let egress = direction.ingress().other();
            let input = input_file(job.folder, ingress);
            let sent = files::write(&input, (job.trace, ingress), &[])?;
            let [back, out] = [ingress, egress].map(|port| capture_file(job.folder, port));
            let mut devices = [Port::Access, Port::Core].map(|port| {
                if port == ingress {
                    dpdk::replays(port as u32, &input, false, Some(&back))
                } else {
                    dpdk::records(port as u32, &out)
                }
            });
            let mut running = Running::start(job, &mut devices)?;
            settled(sent, || running.counters().map(|all| (all[ingress as usize].0, all[0].1 + all[1].1)))?;
            running.quit()?;
            files::read(&back, ingress, &[], &mut outcomes)?;
            files::read(&out, egress, &[], &mut outcomes)?;
        }
        Ok(outcomes)
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        for direction in job.directions {
            let port = direction.ingress();
            files::write(&input_file(job.folder, port), (job.trace, port), &[])?;
        }
        Ok(Box::new(Running::start(job, &mut dpdk::measured(job.folder, job.directions))?))
    }

    fn rings(&self, job: &SwitchJob<'_>, sockets: &[PathBuf; 2]) -> Result<Box<dyn Switch>, ComponentError> {
        let device = |port: Port| dpdk::memif(job, port as u32, &sockets[port as usize]);
        Ok(Box::new(Running::start(job, &mut [Port::Access, Port::Core].map(device))?))
    }

    fn io_ns(&self, job: &SwitchJob<'_>, length: Duration) -> Result<Option<f64>, ComponentError> {
        io_ns(job, length).map(Some)
    }
}

/// Measures the CPU time of reading a job's packets from memory and discarding them, in nanoseconds per packet. The
/// input files must exist.
pub(super) fn io_ns(job: &SwitchJob<'_>, length: Duration) -> Result<f64, ComponentError> {
    if found(PROGRAM).is_none() {
        return Err(environment(format!(
            "the program `{PROGRAM}`, which measures input and output, is not installed: apt install dpdk-dev"
        )));
    }
    let mut running = Running::start(job, &mut dpdk::measured(job.folder, job.directions))?;
    let before = running.read()?;
    std::thread::sleep(length);
    let after = running.read()?;
    let packets = after.received.saturating_sub(before.received);
    if packets == 0 {
        return Err(sut(format!("`{PROGRAM}` moved no packet within {} ms", length.as_millis())));
    }
    Ok((after.cpu_ns - before.cpu_ns) as f64 / packets as f64)
}

/// A running instance that is controlled over its standard input.
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    said: Receiver<io::Result<String>>,
    complaints: Receiver<io::Result<String>>,
    resources: Resources,
    forwarder: Option<thread::Thread>,
    ingress: Vec<Port>,
}

impl Running {
    fn start(job: &SwitchJob<'_>, devices: &mut [String; 2]) -> Result<Self, ComponentError> {
        let resources = Resources::here()?;
        let main = resources.main_cpu;
        let forward = resources.forward_cpu;
        // With a single CPU, both threads share it. DPDK still requires two logical cores.
        let cores =
            if main == forward { format!("0@{main},1@{main}") } else { format!("0@{main},1@{forward}") };
        // The output is a pipe. `stdbuf` prevents block buffering, which would delay every line.
        let mut command = tools::program("stdbuf");
        command.args(["-oL", PROGRAM, "--lcores", &cores]).args(resources.arguments());
        if resources.huge {
            command.args(["-m", &resources.memory_mb().to_string()]);
        }
        for device in devices {
            command.arg("--vdev").arg(device);
        }
        // `--no-flush-rx` keeps packets that already wait at the start. `--disable-link-check` is needed because memif
        // devices have no link until a peer connects.
        command.args(["--", "-i", BUFFERS, "--disable-link-check", "--no-flush-rx"]).args(arguments(job)?);
        dpdk::surroundings(&mut command, job.folder);
        process_tree::die_with_us(
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()),
        );
        let cannot = |error: io::Error| environment(format!("{PROGRAM} cannot be started: {error}"));
        let mut child = Child::start_apart(&mut command).map_err(cannot)?;
        let closed = || rig("the program has no pipes");
        let input = Some(child.input().ok_or_else(closed)?);
        let said = child.lines(LINE_BYTES_MAX).ok_or_else(closed)?;
        let complaints = child.complaints(LINE_BYTES_MAX).ok_or_else(closed)?;
        let ingress = job.directions.iter().map(|direction| direction.ingress()).collect();
        let mut own = Self { child, input, said, complaints, resources, forwarder: None, ingress };
        own.say("start")?;
        own.until(|line| line.contains(FORWARDS))?;
        own.forwarder = Some(thread::find_any(own.child.id(), &FORWARDERS)?);
        Ok(own)
    }

    fn say(&mut self, words: &str) -> Result<(), ComponentError> {
        let Some(input) = &mut self.input else { return Err(rig("it is already shutting down")) };
        let written = input.write_all(format!("{words}\n").as_bytes());
        written.map_err(|error| self.gone(&error.to_string()))
    }

    /// Reads lines until one matches `last`. The result does not include that line.
    fn until(&mut self, last: impl Fn(&str) -> bool) -> Result<Vec<String>, ComponentError> {
        let deadline = Instant::now() + ANSWER_WAIT;
        let mut lines = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(Ok(line)) if last(&line) => return Ok(lines),
                Ok(Ok(line)) => lines.push(line),
                Ok(Err(error)) => return Err(self.gone(&error.to_string())),
                Err(_) => return Err(self.gone(&lines.last().cloned().unwrap_or_default())),
            }
        }
    }

    /// Returns the error for a missing response. It contains the exit status and the error output.
    fn gone(&mut self, otherwise: &str) -> ComponentError {
        let how = self.child.wait(Duration::from_millis(200));
        let complaints: Vec<String> = self.complaints.try_iter().flatten().collect();
        let from = complaints.len().saturating_sub(4);
        let how = how.unwrap_or_else(|| format!("it does not answer ({otherwise})"));
        let last = &complaints[from..];
        sut(format!("{PROGRAM}: {how}; last output: {}", last.join(" / ")))
    }

    /// Returns the numbers of packets received and sent, per port.
    fn counters(&mut self) -> Result<[(u64, u64); 2], ComponentError> {
        self.complaints.try_iter().for_each(drop);
        self.say("show port stats all")?;
        let mut both = [(0, 0); 2];
        for own in &mut both {
            let rule = |line: &str| line.contains("####") && !line.contains("statistics");
            let lines = self.until(rule)?;
            let of = |what: &str| lines.iter().find_map(|line| counter(line, what));
            let missing = || sut(format!("{PROGRAM} shows no counters"));
            *own = (of("RX-packets:").ok_or_else(missing)?, of("TX-packets:").ok_or_else(missing)?);
        }
        Ok(both)
    }

    /// Returns the number of packets that both ports received but did not send because a ring was full.
    fn unsent(&mut self) -> Result<u64, ComponentError> {
        self.say("show fwd stats all")?;
        let lines = self.until(|line| line.starts_with("  ++++") && !line.contains("Accumulated"))?;
        let mut all = lines.iter().filter_map(|line| counter(line, "TX-dropped:"));
        all.next_back().ok_or_else(|| {
            sut(format!("{PROGRAM} does not report the number of packets that it could not send"))
        })
    }

    /// Ends testpmd by its command, so that its capture files are complete.
    fn quit(&mut self) -> Result<(), ComponentError> {
        self.say("quit")?;
        drop(self.input.take());
        let ended = self.child.wait(ANSWER_WAIT);
        ended.map(drop).ok_or_else(|| sut(format!("{PROGRAM} does not quit")))
    }
}

/// Returns the number after `what` in a line such as `  RX-packets: 17         RX-missed: 0`.
fn counter(line: &str, what: &str) -> Option<u64> {
    line.split_once(what)?.1.split_whitespace().next()?.parse().ok()
}

/// Returns the arguments that the backend generates. They are also used to measure input and output for other switches.
fn arguments(job: &SwitchJob<'_>) -> Result<Vec<String>, ComponentError> {
    let own = job.backend.translate(&job.request()).ok();
    let text = own.and_then(|all| all.texts.into_iter().find(|text| text.reader == TextConsumer::Testpmd));
    Ok(match text {
        Some(text) => text.text.lines().map(str::to_owned).collect(),
        None => ["--forward-mode=io", "--nb-cores=1"].map(str::to_owned).to_vec(),
    })
}

impl Switch for Running {
    fn read(&mut self) -> Result<SwitchCounters, ComponentError> {
        let both = self.counters()?;
        let received = self.ingress.iter().map(|port| both[*port as usize].0).sum();
        let cpu_ns = self.forwarder.as_ref().map_or(Ok(0), thread::Thread::cpu_ns)?;
        Ok(SwitchCounters { received, sent: both[0].1 + both[1].1, cpu_ns, slow: None })
    }

    fn losses(&mut self) -> Result<Losses, ComponentError> {
        Ok(Losses { ring_full: self.unsent()?, ..Losses::default() })
    }

    fn update(&mut self, _: &Translation) -> Result<(), ComponentError> {
        Err(rig(format!("{PROGRAM} has no tables to change")))
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        if self.child.ended().is_some() { Err(self.gone("")) } else { Ok(()) }
    }

    fn huge_page_ratio(&self) -> f64 {
        self.resources.huge_page_ratio()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_counters_parse() {
        assert_eq!(
            counter("  RX-packets: 1000       RX-missed: 0          RX-bytes:  64000", "RX-packets:"),
            Some(1000)
        );
        assert_eq!(counter("  RX-errors: 0", "RX-packets:"), None);
    }
}
