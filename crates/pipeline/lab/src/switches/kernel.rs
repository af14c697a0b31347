//! The kernel as a switch: nftables rules in an unnamed network namespace, between two veth pairs.

use std::time::Duration;

use ranlab_pipeline::backends::{Outcomes, TextConsumer, Translation, port_name};
use ranlab_pipeline::declare::Port;

use super::tools::{self, Daemon};
use super::veth::{Flow, Wires, apart, namespace};
use super::{Driver, Switch, SwitchCounters, SwitchJob};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

/// Driver for the kernel as a switch.
pub(super) struct Kernel;

impl Driver for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn packets_max(&self) -> usize {
        usize::MAX
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let router = Router::start(job)?;
        router.wires.pass(job.trace, &job.backend.equivalences(&job.request()))
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        let mut router = Router::start(job)?;
        router.flow = Some(router.wires.flow(job.trace, &job.backend.equivalences(&job.request())));
        Ok(Box::new(router))
    }

    /// Returns `None`, because the cost of input and output cannot be measured. The kernel's sockets and queues use CPU
    /// time on both sides, and the two shares cannot be separated.
    fn io_ns(&self, _: &SwitchJob<'_>, _: Duration) -> Result<Option<f64>, ComponentError> {
        Ok(None)
    }
}

/// A forwarding network namespace.
struct Router {
    flow: Option<Flow>,
    wires: Wires,
    holder: Daemon,
    ingress: Vec<Port>,
}

impl Router {
    fn start(job: &SwitchJob<'_>) -> Result<Self, ComponentError> {
        let mut command = tools::program("unshare");
        let holder =
            Daemon::start("the switch's namespace", command.args(["--net", "--", "sleep", "infinity"]))?;
        apart(holder.pid())?;
        let wires = Wires::to(holder.pid())?;
        for text in job.backend.translate(&job.request()).map_err(rig)?.texts {
            let TextConsumer::Nft = text.reader else {
                return Err(rig(format!("the kernel does not read {:?}", text.reader)));
            };
            let file = job.folder.join(text.name);
            std::fs::write(&file, &text.text).map_err(environment)?;
            let mut command = tools::program("nsenter");
            command.arg(format!("--net={}", namespace(holder.pid()).display()));
            tools::run(command.args(["--", "nft", "-f"]).arg(file))?;
        }
        let ingress = job.directions.iter().map(|direction| direction.ingress()).collect();
        Ok(Self { flow: None, wires, holder, ingress })
    }
}

impl Switch for Router {
    /// Reads the numbers of packets received and sent by the ports. The kernel forwards in the context of the sender.
    /// The CPU time is therefore measured for the sending thread, and includes the cost of sending.
    fn read(&mut self) -> Result<SwitchCounters, ComponentError> {
        let path = format!("/proc/{}/net/dev", self.holder.pid());
        let text = std::fs::read_to_string(&path).map_err(|error| sut(format!("{path}: {error}")))?;
        let mut reading = SwitchCounters::default();
        for port in [Port::Access, Port::Core] {
            let (received, sent) = port_counters(&text, port_name(port))
                .ok_or_else(|| sut(format!("{path}: no counters of {}", port_name(port))))?;
            reading.sent += sent;
            reading.received += if self.ingress.contains(&port) { received } else { 0 };
        }
        reading.cpu_ns = self.flow.as_ref().map_or(0, Flow::cpu_ns);
        Ok(reading)
    }

    fn update(&mut self, _: &Translation) -> Result<(), ComponentError> {
        Err(rig("changes of nftables are not written"))
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        self.holder.check()
    }

    fn huge_page_ratio(&self) -> f64 {
        0.0
    }
}

/// Returns the numbers of packets received and sent from a line of `/proc/net/dev`. These are the second and the tenth
/// number after the name.
fn port_counters(text: &str, name: &str) -> Option<(u64, u64)> {
    let own = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let mut numbers = own.split_whitespace().map(str::parse::<u64>);
    Some((numbers.nth(1)?.ok()?, numbers.nth(7)?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_counters_are_second_and_tenth_number() {
        let text = "Inter-|   Receive\n face |bytes    packets errs\n  core: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\naccess:9 8 7 6 5 4 3 2 1 0 0 0 0 0 0 0\n";
        assert_eq!(port_counters(text, "core"), Some((2, 10)));
        assert_eq!(port_counters(text, "access"), Some((8, 0)));
        assert_eq!(port_counters(text, "cor"), None);
    }
}
