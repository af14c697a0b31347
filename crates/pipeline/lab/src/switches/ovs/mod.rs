//! Open vSwitch over DPDK or sockets. A database and a switch are started in a private network namespace, which
//! disappears with the switch. The generated configuration is loaded into the switch's bridge.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_pipeline::backends::{OVS_BRIDGE, Outcomes, TextConsumer, Translation, port_name, port_number};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::pipelines::Pipeline;

use self::control::Control;
use super::dpdk::{self, Resources};
use super::openflow::OpenFlow;
use super::tools::{self, Daemon};
use super::veth::{Flow, Wires};
use super::{
    Driver, Losses, SlowPathCounters, Switch, SwitchCounters, SwitchJob, capture_file, files, found,
    input_file, probe, settled, thread,
};
use crate::ring;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

mod control;

const VSWITCHD: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// Time limit until a daemon listens.
const START_WAIT: Duration = Duration::from_secs(30);
/// Timeout of a tool, in seconds.
const TOOL_S: &str = "--timeout=60";
/// Time limit until the daemon has noticed a new address.
const ROUTE_WAIT: Duration = Duration::from_secs(5);
/// A queue length that differs from the default. Setting it makes the switch stop and restart the device.
const OTHER_QUEUE: &str = "options:n_rxq_desc=1024";
/// Polling interval.
const POLL: Duration = Duration::from_millis(10);
/// OpenFlow version whose bundles may contain groups and flows.
const VERSION: &str = "-OOpenFlow15";
/// Prefix of the names of forwarding threads.
const FORWARDER: &str = "pmd-c";

/// Driver for Open vSwitch over DPDK.
pub(super) struct OvsDpdk;

impl Driver for OvsDpdk {
    fn name(&self) -> &'static str {
        "ovs-dpdk"
    }

    fn ready(&self) -> Result<(), ComponentError> {
        if Resources::here()?.huge { Ok(()) } else { Err(environment(dpdk::NO_HUGE_PAGES)) }
    }

    fn packets_max(&self) -> usize {
        dpdk::PACKETS_MAX
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let mut outcomes = Outcomes::default();
        let equivalences = job.backend.equivalences(&job.request());
        for direction in job.directions {
            let ingress = direction.ingress();
            let egress = direction.ingress().other();
            let input = input_file(job.folder, ingress);
            let sent = files::write(&input, (job.trace, ingress), &equivalences)?;
            let [back, out] = [ingress, egress].map(|port| capture_file(job.folder, port));
            let mut bridge = Bridge::start(job, Io::Dpdk)?;
            bridge.install(&job.backend.translate(&job.request()).map_err(rig)?)?;
            bridge.device(egress, &dpdk::records(egress as u32, &out))?;
            bridge.device(ingress, &dpdk::replays(ingress as u32, &input, false, Some(&back)))?;
            // The datapath creates a port before the switch knows it, and packets that arrive in this time are lost.
            // The replay therefore starts again.
            let counters =
                |bridge: &mut Bridge| bridge.counters(ingress).map(|(took, back)| (took, took + back));
            settled(sent, || counters(&mut bridge))?;
            let (before, _) = counters(&mut bridge)?;
            for port in [egress, ingress] {
                bridge.vsctl(&["set", "interface", port_name(port), OTHER_QUEUE])?;
            }
            settled(before + sent, || counters(&mut bridge))?;
            // Closing the devices completes the capture files.
            bridge.vsctl(&["del-port", port_name(ingress), "--", "del-port", port_name(egress)])?;
            bridge.end();
            files::read(&back, ingress, &equivalences, &mut outcomes)?;
            files::read(&out, egress, &equivalences, &mut outcomes)?;
        }
        Ok(outcomes)
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        let equivalences = job.backend.equivalences(&job.request());
        for direction in job.directions {
            let port = direction.ingress();
            files::write(&input_file(job.folder, port), (job.trace, port), &equivalences)?;
        }
        let mut bridge = Bridge::start(job, Io::Dpdk)?;
        bridge.install(&job.backend.translate(&job.request()).map_err(rig)?)?;
        let [access, core] = dpdk::measured(job.folder, job.directions);
        bridge.device(Port::Access, &access)?;
        bridge.device(Port::Core, &core)?;
        // Packets arrive as soon as the first port exists. The datapath keeps flows that it made for them without the second port, and
        // drops all later packets of these flows.
        bridge.control.say("revalidator/purge")?;
        bridge.forwarder = Some(thread::find(bridge.switch.pid(), FORWARDER)?);
        Ok(Box::new(bridge))
    }

    /// The first queue of a port belongs to the main thread, and the second to the forwarding thread.
    fn rings_back(&self) -> u16 {
        2
    }

    fn rings(&self, job: &SwitchJob<'_>, sockets: &[PathBuf; 2]) -> Result<Box<dyn Switch>, ComponentError> {
        let mut bridge = Bridge::start(job, Io::Dpdk)?;
        bridge.install(&job.backend.translate(&job.request()).map_err(rig)?)?;
        for port in [Port::Access, Port::Core] {
            bridge.device(port, &dpdk::memif(job, port as u32, &sockets[port as usize]))?;
        }
        bridge.forwarder = Some(thread::find(bridge.switch.pid(), FORWARDER)?);
        Ok(Box::new(bridge))
    }

    /// Packets that are replayed from files cannot be observed individually, so probing uses memif ports.
    fn visible(&self, job: &SwitchJob<'_>, pipeline: &Pipeline) -> Result<Histogram<u64>, ComponentError> {
        let sockets = ring::sockets(job.folder);
        let mut switch = self.rings(job, &sockets)?;
        let mut ports = ring::connected(&sockets, ring::Shape::one(job.ring, self.rings_back()))?;
        let seen = probe::by_rings(job, pipeline, &mut *switch, &mut ports);
        drop(switch);
        seen
    }

    fn io_ns(&self, job: &SwitchJob<'_>, length: Duration) -> Result<Option<f64>, ComponentError> {
        super::testpmd::io_ns(job, length).map(Some)
    }
}

/// Driver for Open vSwitch over sockets.
pub(super) struct Ovs;

impl Ovs {
    /// Starts a bridge with the pipeline between two veth pairs.
    fn between(job: &SwitchJob<'_>) -> Result<(Bridge, Wires), ComponentError> {
        let mut bridge = Bridge::start(job, Io::Sockets)?;
        bridge.install(&job.backend.translate(&job.request()).map_err(rig)?)?;
        let wires = Wires::to(bridge.switch.pid())?;
        for port in [Port::Access, Port::Core] {
            bridge.port(port, &[])?;
        }
        Ok((bridge, wires))
    }
}

impl Driver for Ovs {
    fn name(&self) -> &'static str {
        "ovs"
    }

    fn packets_max(&self) -> usize {
        usize::MAX
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let (_bridge, wires) = Self::between(job)?;
        wires.pass(job.trace, &job.backend.equivalences(&job.request()))
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        let (mut bridge, wires) = Self::between(job)?;
        bridge.forwarder = Some(thread::find(bridge.switch.pid(), "ovs-vswitchd")?);
        let flow = wires.flow(job.trace, &job.backend.equivalences(&job.request()));
        bridge.wires = Some((flow, wires));
        Ok(Box::new(bridge))
    }

    fn visible(&self, job: &SwitchJob<'_>, pipeline: &Pipeline) -> Result<Histogram<u64>, ComponentError> {
        let (mut bridge, wires) = Self::between(job)?;
        let mut apply_change = |change: &Translation| bridge.update(change);
        probe::visible(job, pipeline, probe::SEEN, &mut apply_change, &mut |port, frame| {
            wires.one(port, frame)
        })
    }

    /// Returns `None`, because the cost of input and output cannot be measured. The kernel's sockets and queues use CPU
    /// time on both sides, and the two shares cannot be separated.
    fn io_ns(&self, _: &SwitchJob<'_>, _: Duration) -> Result<Option<f64>, ComponentError> {
        Ok(None)
    }
}

/// The I/O type of a bridge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Io {
    Dpdk,
    Sockets,
}

/// An instance of Open vSwitch with one bridge.
struct Bridge {
    switch: Daemon,
    _database: Daemon,
    control: Control,
    openflow: Option<OpenFlow>,
    /// Memory and CPUs, if DPDK is used.
    resources: Option<Resources>,
    forwarder: Option<thread::Thread>,
    /// Packets in flight, and the links that transport them.
    wires: Option<(Flow, Wires)>,
    ingress: Vec<Port>,
    /// Whether flows match the ports of first fragments.
    keeps_ports: bool,
    folder: PathBuf,
    _folder: Folder,
}

impl Bridge {
    /// Starts the database and the switch, without a bridge.
    fn start(job: &SwitchJob<'_>, io: Io) -> Result<Self, ComponentError> {
        let mut own = Folder::default();
        let folder = own.made()?;
        let resources = if io == Io::Dpdk {
            OvsDpdk.ready()?;
            Some(Resources::here()?)
        } else {
            None
        };
        let at = |name: &str| folder.join(name);
        let database = at("conf.db");
        let socket = at("db.sock");
        tools::run(tools::program("ovsdb-tool").arg("create").arg(&database).arg(SCHEMA))?;
        let mut server = tools::program("ovsdb-server");
        server.arg(&database).arg(format!("--remote=punix:{}", socket.display()));
        server.args(["--no-chdir", "-vconsole:warn"]).arg(format!("--unixctl={}", at("db.ctl").display()));
        let mut server = Daemon::start("ovsdb-server", surroundings(&mut server, &folder))?;
        appears(&socket, &mut server)?;
        let arguments = resources.map_or_else(|| vec!["init".to_owned()], memory);
        tools::run(vsctl_command(&socket).arg("--no-wait").args(&arguments))?;
        // The namespace has no name and exists as long as the process.
        let mut command = tools::program("unshare");
        let program = if io == Io::Dpdk { VSWITCHD } else { "ovs-vswitchd" };
        command.args(["--net", "--"]).arg(found(program).unwrap_or_else(|| program.into()));
        command.arg(format!("unix:{}", socket.display()));
        command
            .args(["--no-chdir", "-vconsole:warn"])
            .arg(format!("--unixctl={}", at("switch.ctl").display()));
        dpdk::surroundings(&mut command, &folder);
        let mut switch = Daemon::start("ovs-vswitchd", surroundings(&mut command, &folder))?;
        appears(&at("switch.ctl"), &mut switch)?;
        let control = Control::connect(&at("switch.ctl"))?;
        let ingress = job.directions.iter().map(|direction| direction.ingress()).collect();
        let openflow = None;
        let forwarder = None;
        let wires = None;
        Ok(Self {
            switch,
            _database: server,
            control,
            openflow,
            resources,
            forwarder,
            wires,
            ingress,
            keeps_ports: false,
            folder,
            _folder: own,
        })
    }

    /// Runs `ovs-vsctl`.
    fn vsctl(&mut self, arguments: &[&str]) -> Result<String, ComponentError> {
        tools::run(vsctl_command(&self.folder.join("db.sock")).args(arguments))
            .map_err(|trouble| self.why(trouble))
    }

    /// If the switch has exited, returns its error, which explains more than the tool's error.
    fn why(&mut self, trouble: ComponentError) -> ComponentError {
        self.switch.check().err().unwrap_or(trouble)
    }

    /// Applies a configuration or a change of the configuration.
    fn install(&mut self, translation: &Translation) -> Result<(), ComponentError> {
        for text in &translation.texts {
            match text.reader {
                TextConsumer::OvsVsctl => {
                    for line in text.text.lines() {
                        self.vsctl(&words(line))?;
                    }
                }
                TextConsumer::IpBatch => self.ip(&text.text)?,
                TextConsumer::OvsAppctl => text.text.lines().try_for_each(|line| self.say(line))?,
                TextConsumer::OvsMeters => self.meters(&text.text)?,
                TextConsumer::OvsBundle => {
                    self.keep_ports_of_first_fragments()?;
                    self.bundle(&text.text)?;
                }
                reader => return Err(rig(format!("Open vSwitch does not read {reader:?}"))),
            }
        }
        Ok(())
    }

    /// Sends a command to the daemon. The daemon accepts a route only after it has noticed the interface address, so
    /// the command is retried.
    fn say(&mut self, line: &str) -> Result<(), ComponentError> {
        let deadline = Instant::now() + ROUTE_WAIT;
        loop {
            match self.control.say(line) {
                Err(_) if line.starts_with("ovs/route/") && Instant::now() < deadline => {
                    std::thread::sleep(POLL);
                }
                result => return result.map(drop),
            }
        }
    }

    /// Runs `ip` in the switch's network namespace.
    fn ip(&mut self, text: &str) -> Result<(), ComponentError> {
        let file = self.folder.join("ip");
        std::fs::write(&file, text).map_err(environment)?;
        let mut command = tools::program("nsenter");
        command
            .arg(format!("--net=/proc/{}/ns/net", self.switch.pid()))
            .args(["--", "ip", "-batch"])
            .arg(file);
        tools::run(&mut command).map(drop).map_err(|trouble| environment(trouble.what))
    }

    /// Makes flows match the ports of first fragments. By default, every fragment has ports 0.
    fn keep_ports_of_first_fragments(&mut self) -> Result<(), ComponentError> {
        if self.keeps_ports {
            return Ok(());
        }
        let bridge = format!("unix:{}", self.folder.join(format!("{OVS_BRIDGE}.mgmt")).display());
        let mut command = tools::program("ovs-ofctl");
        command.args([VERSION, TOOL_S, "set-frags"]).arg(bridge).arg("nx-match");
        tools::run(&mut command).map_err(|trouble| self.why(trouble))?;
        self.keeps_ports = true;
        Ok(())
    }

    fn meters(&mut self, text: &str) -> Result<(), ComponentError> {
        if self.openflow.is_none() {
            self.openflow = Some(OpenFlow::connect(&self.folder.join(format!("{OVS_BRIDGE}.mgmt")))?);
        }
        self.openflow.as_mut().map_or(Ok(()), |openflow| openflow.meters(text))
    }

    fn bundle(&mut self, text: &str) -> Result<(), ComponentError> {
        let file = self.folder.join("bundle");
        std::fs::write(&file, text).map_err(environment)?;
        let bridge = format!("unix:{}", self.folder.join(format!("{OVS_BRIDGE}.mgmt")).display());
        let mut command = tools::program("ovs-ofctl");
        command.args([VERSION, TOOL_S, "bundle"]).arg(bridge).arg(file);
        tools::run(&mut command).map(drop).map_err(|trouble| self.why(trouble))
    }

    /// Adds a DPDK port.
    fn device(&mut self, port: Port, device: &str) -> Result<(), ComponentError> {
        let devargs = format!("options:dpdk-devargs=\"{device}\"");
        self.port(port, &["type=dpdk", &devargs])
    }

    /// Adds a port.
    fn port(&mut self, port: Port, more: &[&str]) -> Result<(), ComponentError> {
        let name = port_name(port);
        let number = port_number(port);
        let request = format!("ofport_request={number}");
        let mut words = vec!["add-port", OVS_BRIDGE, name, "--", "set", "interface", name, &request];
        words.extend(more);
        self.vsctl(&words)?;
        let error = self.vsctl(&["get", "interface", name, "error"])?;
        if error.trim() != "[]" {
            let output = self.switch.last_words();
            let more = more.join(" ");
            return Err(sut(format!(
                "the switch refuses the port {name} ({more}): {}{output}",
                error.trim()
            )));
        }
        Ok(())
    }

    /// Returns the numbers of packets received and sent by a port.
    fn counters(&mut self, port: Port) -> Result<(u64, u64), ComponentError> {
        let text = self.control.say("dpctl/show -s netdev@ovs-netdev")?;
        port_counters(&text, port_name(port))
            .ok_or_else(|| sut(format!("the switch shows no counters of its port {}", port_name(port))))
    }

    fn end(&mut self) {
        self.switch.end();
    }
}

impl Switch for Bridge {
    fn read(&mut self) -> Result<SwitchCounters, ComponentError> {
        let mut reading = SwitchCounters::default();
        let text = self.control.say("dpctl/show -s netdev@ovs-netdev")?;
        for port in [Port::Access, Port::Core] {
            let (received, sent) = port_counters(&text, port_name(port)).ok_or_else(|| {
                sut(format!("the switch shows no counters of its port {}", port_name(port)))
            })?;
            reading.sent += sent;
            reading.received += if self.ingress.contains(&port) { received } else { 0 };
        }
        reading.slow = slow(&text);
        if let Some(forwarder) = &self.forwarder {
            reading.cpu_ns = forwarder.cpu_ns()?;
        }
        Ok(reading)
    }

    /// Reads losses from the counters of drop flows, per table. A revalidation first copies the datapath's counts to
    /// these counters.
    fn losses(&mut self) -> Result<Losses, ComponentError> {
        self.control.say("revalidator/wait")?;
        let bridge = format!("unix:{}", self.folder.join(format!("{OVS_BRIDGE}.mgmt")).display());
        let mut command = tools::program("ovs-ofctl");
        command.args([VERSION, TOOL_S, "dump-flows"]).arg(bridge);
        let tables = dropped(&tools::run(&mut command).map_err(|trouble| self.why(trouble))?);
        let text = self.control.say("dpctl/show -s netdev@ovs-netdev")?;
        let names = [Port::Access, Port::Core].map(port_name);
        let ring_full = names.iter().filter_map(|name| port_dropped(&text, name)).sum();
        Ok(Losses { tables, ring_full })
    }

    /// Applies a change and waits for a revalidation. The datapath caches the verdicts of the tables, so the change has
    /// no effect before it.
    fn update(&mut self, change: &Translation) -> Result<(), ComponentError> {
        self.install(change)?;
        self.control.say("revalidator/wait").map(drop)
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        self.switch.check()
    }

    fn huge_page_ratio(&self) -> f64 {
        self.resources.map_or(0.0, |resources| resources.huge_page_ratio())
    }
}

/// Returns the database settings for DPDK: memory, and the cores of its threads.
fn memory(resources: Resources) -> Vec<String> {
    let mut arguments = ["init", "--", "set", "Open_vSwitch", "."].map(str::to_owned).to_vec();
    let mask = |cpu: usize| format!("{:#x}", 1_u128 << cpu.min(127));
    let set = |name: &str, value: &str| format!("other_config:{name}=\"{value}\"");
    arguments.extend([
        set("dpdk-init", "true"),
        set("dpdk-lcore-mask", &mask(resources.main_cpu)),
        set("pmd-cpu-mask", &mask(resources.forward_cpu)),
        set("dpdk-extra", &resources.arguments().join(" ")),
    ]);
    if resources.huge {
        arguments.push(set("dpdk-socket-mem", &resources.memory_mb().to_string()));
    }
    arguments
}

/// Redirects all files of Open vSwitch into `folder`.
fn surroundings<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    for name in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR"] {
        command.env(name, folder);
    }
    command
}

fn vsctl_command(socket: &Path) -> Command {
    let mut command = tools::program("ovs-vsctl");
    command.arg(format!("--db=unix:{}", socket.display())).arg(TOOL_S);
    command
}

/// Splits a line of `ovs-vsctl` arguments. Arguments contain no blanks, and quotes are passed to the tool.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Waits until a daemon listens on its socket.
fn appears(socket: &PathBuf, daemon: &mut Daemon) -> Result<(), ComponentError> {
    let deadline = Instant::now() + START_WAIT;
    // The socket file exists before the daemon listens.
    while UnixStream::connect(socket).is_err() {
        daemon.check()?;
        if Instant::now() >= deadline {
            let path = socket.display();
            let s = START_WAIT.as_secs();
            return Err(sut(format!("{path} does not appear within {s} s{}", daemon.last_words())));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Parses `  port 2: access (dpdk: …)` and the following lines `RX packets:17 errors:0 …` and `TX packets:18 …`.
fn port_counters(text: &str, name: &str) -> Option<(u64, u64)> {
    let own = port_lines(text, name)?;
    let of = |line: &str, what: &str| {
        let number = line.trim_start().strip_prefix(what)?.split_whitespace().next()?;
        number.parse::<u64>().ok()
    };
    let mut received = None;
    let mut sent = None;
    for line in own {
        received = received.or_else(|| of(line, "RX packets:"));
        sent = sent.or_else(|| of(line, "TX packets:"));
    }
    Some((received?, sent?))
}

/// Returns the lines that follow the line of a port.
fn port_lines<'a>(text: &'a str, name: &str) -> Option<impl Iterator<Item = &'a str>> {
    let mut lines = text.lines().skip_while(|line| {
        let of = line.trim_start().strip_prefix("port ").and_then(|rest| rest.split_once(": "));
        of.is_none_or(|(_, rest)| rest.split([' ', '(']).next() != Some(name))
    });
    lines.next()?;
    Some(lines.take_while(|line| !line.trim_start().starts_with("port ")))
}

/// Returns the number of cache misses, which the tables handled (`missed`), and the number of lost packets. Both are in
/// the line ` lookups: hit:17 missed:2 lost:0`.
fn slow(text: &str) -> Option<SlowPathCounters> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lookups:"))?;
    let of =
        |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
    Some(SlowPathCounters { packets: of("missed:")?, lost: of("lost:") })
}

/// Returns the number of packets that a port could not send: `dropped:` in the port's line `TX packets`.
fn port_dropped(text: &str, name: &str) -> Option<u64> {
    let mut lines = port_lines(text, name)?;
    let line = lines.find(|line| line.trim_start().starts_with("TX packets:"))?;
    line.split_once("dropped:")?.1.split_whitespace().next()?.parse().ok()
}

/// Returns the packets dropped by flows, per table, from lines such as ` table=12, n_packets=3, …, priority=…
/// actions=drop`.
fn dropped(text: &str) -> BTreeMap<String, u64> {
    let mut tables = BTreeMap::new();
    for line in text.lines().filter(|line| line.trim_end().ends_with("actions=drop")) {
        let field = |name: &str| {
            let rest = line.split_once(name)?.1;
            rest.split([',', ' ']).next()?.parse::<u64>().ok()
        };
        // The field is omitted for table 0.
        let table = field("table=").unwrap_or(0);
        let packets = field("n_packets=").unwrap_or(0);
        if packets > 0 {
            *tables.entry(format!("table {table}")).or_default() += packets;
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_per_table_and_port() {
        let flows = " cookie=0x0, duration=1s, table=12, n_packets=3, n_bytes=180, priority=10 actions=drop\n \
                     cookie=0x0, duration=1s, table=12, n_packets=4, n_bytes=180, priority=9,ip actions=drop\n \
                     cookie=0x0, duration=1s, n_packets=1, n_bytes=60, priority=10 actions=drop\n \
                     cookie=0x0, duration=1s, table=13, n_packets=0, n_bytes=0, priority=10 actions=drop\n \
                     cookie=0x0, duration=1s, table=13, n_packets=9, n_bytes=9, priority=10 actions=output:2\n";
        assert_eq!(dropped(flows), [("table 0".to_owned(), 1), ("table 12".to_owned(), 7)].into());
        let ports = "  port 3: access (dpdk)\n    RX packets:17 errors:0 dropped:5\n    TX packets:18 errors:0 dropped:3 \
                     aborted:?\n  port 4: core (dpdk)\n";
        assert_eq!((port_dropped(ports, "access"), port_dropped(ports, "core")), (Some(3), None));
    }

    #[test]
    fn port_counters_parse() {
        let text = "netdev@ovs-netdev:\n  lookups: hit:0 missed:0 lost:0\n  flows: 0\n  port 0: ovs-netdev (tap)\n    \
                    RX packets:1 errors:0 dropped:0 overruns:0 frame:0\n    TX packets:2 errors:0 dropped:0\n  \
                    port 3: access (dpdk: configured_rx_queues=1)\n    RX packets:17 errors:0 dropped:0 overruns:? \
                    frame:?\n    TX packets:18 errors:0 dropped:3 aborted:? carrier:?\n    collisions:?\n  port 4: core2 (dpdk)\n";
        assert_eq!(port_counters(text, "access"), Some((17, 18)));
        assert_eq!(port_counters(text, "core"), None);
        assert_eq!(port_counters(text, "ovs-netdev"), Some((1, 2)));
        assert_eq!(port_counters("", "access"), None);
        assert_eq!(slow(text), Some(SlowPathCounters { packets: 0, lost: Some(0) }));
        let missed = text.replace("hit:0 missed:0 lost:0", "hit:9 missed:7 lost:2");
        assert_eq!(slow(&missed), Some(SlowPathCounters { packets: 7, lost: Some(2) }));
        assert_eq!(slow("lookups: hit:1"), None);
    }
}
