//! FD.io VPP. The driver starts VPP with a generated configuration in a private mount namespace, whose `/dev/shm`
//! disappears when VPP ends. The generated scripts are loaded by `vppctl exec`. Tier `mem` uses VPP's packet generator,
//! and tier `ring` its memif ports.
//!
//! VPP runs without workers, because each line of a script would stop them. VPP ends if a worker does not stop within a
//! second, which happens on shared CPUs. The main thread forwards as fast as a worker.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_pipeline::backends::vpp::answers::{self, Counters, Drops, LoadCheck};
use ranlab_pipeline::backends::{Outcomes, Text, TextConsumer, Translation, port_name};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::pipelines::Pipeline;

use super::tools::{self, Daemon};
use super::{
    Driver, Losses, Switch, SwitchCounters, SwitchJob, capture_file, dpdk, files, found, input_file, probe,
    settled, thread,
};
use crate::ring;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

/// The backend's name.
pub(super) const NAME: &str = "vpp";
/// Maximum number of packets of a stream. VPP copies them into buffers one by one.
const PACKETS_MAX: usize = 16_384;
/// Time limit until VPP responds.
const START_WAIT: Duration = Duration::from_secs(30);
/// Polling interval.
const POLL: Duration = Duration::from_millis(20);
/// Number of packets of a stream that does not end within a measurement.
const ENDLESS: &str = "1000000000000000";
/// Magic number of a pcap file with microseconds, the only kind that VPP reads.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
/// Plugins that the generated scripts need.
const PLUGINS: [&str; 8] = ["acl", "gre", "gtpu", "memif", "nat", "nat44_ei", "policer", "vxlan"];
/// Maximum number of folders in which plugins are searched.
const FOLDERS_MAX: usize = 64;

/// Driver for VPP.
pub(super) struct Vpp;

impl Driver for Vpp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn ready(&self) -> Result<(), ComponentError> {
        let missing = ["unshare", "mount"].into_iter().find(|program| found(program).is_none());
        missing.map_or(Ok(()), |program| {
            Err(environment(format!(
                "VPP needs the program `{program}` for private memory, but it is not installed"
            )))
        })
    }

    fn packets_max(&self) -> usize {
        PACKETS_MAX
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let mut outcomes = Outcomes::default();
        let equivalences = job.backend.equivalences(&job.request());
        for direction in job.directions {
            let ingress = direction.ingress();
            let input = input_file(job.folder, ingress);
            let sent = files::write(&input, (job.trace, ingress), &equivalences)?;
            in_microseconds(&input)?;
            let mut vpp = Instance::start(job)?;
            vpp.generators()?;
            vpp.configure(job)?;
            let outputs = [Port::Access, Port::Core].map(|port| (port, capture_file(job.folder, port)));
            for (port, path) in &outputs {
                let name = port_name(*port);
                let path = path.display();
                vpp.run(&format!("packet-generator capture {name} pcap {path} count {sent}"))?;
            }
            vpp.stream(ingress, &input, None, port_node())?;
            settled(sent, || {
                let counters = vpp.counters()?;
                let received = counters.port(ingress).received;
                Ok((received, counters.total()))
            })?;
            for (port, path) in &outputs {
                vpp.run(&format!("packet-generator capture {} disable", port_name(*port)))?;
                // If no packet was captured, the file does not exist.
                if path.exists() {
                    files::read(path, *port, &equivalences, &mut outcomes)?;
                    std::fs::remove_file(path).map_err(environment)?;
                }
            }
        }
        Ok(outcomes)
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        let mut vpp = Instance::start(job)?;
        vpp.generators()?;
        vpp.configure(job)?;
        vpp.forever(job, |_| port_node())?;
        Ok(Box::new(vpp))
    }

    fn rings(&self, job: &SwitchJob<'_>, sockets: &[PathBuf; 2]) -> Result<Box<dyn Switch>, ComponentError> {
        let mut vpp = Instance::start(job)?;
        for port in [Port::Access, Port::Core] {
            let id = port as u32 + 1;
            let name = port_name(port);
            let socket = sockets[port as usize].display();
            let role = if job.connects { "slave" } else { "master" };
            let size = 1_u32 << job.ring;
            vpp.run(&format!("create memif socket id {id} filename {socket}"))?;
            vpp.run(&format!("create interface memif id 0 socket-id {id} ring-size {size} {role}"))?;
            vpp.run(&format!("set interface name memif{id}/0 {name}"))?;
        }
        vpp.configure(job)?;
        Ok(Box::new(vpp))
    }

    /// The packet generator does not support single packets, so probing uses memif ports.
    fn visible(&self, job: &SwitchJob<'_>, pipeline: &Pipeline) -> Result<Histogram<u64>, ComponentError> {
        let sockets = ring::sockets(job.folder);
        let mut switch = self.rings(job, &sockets)?;
        let mut ports = ring::connected(&sockets, ring::Shape::one(job.ring, self.rings_back()))?;
        let seen = probe::by_rings(job, pipeline, &mut *switch, &mut ports);
        drop(switch);
        sockets.iter().for_each(|socket| drop(std::fs::remove_file(socket)));
        seen
    }

    /// Measures the cost of sending the same packets from the generator directly to the output of the other port.
    fn io_ns(&self, job: &SwitchJob<'_>, length: Duration) -> Result<Option<f64>, ComponentError> {
        let mut vpp = Instance::start(job)?;
        vpp.generators()?;
        for port in [Port::Access, Port::Core] {
            vpp.run(&format!("set interface state {} up", port_name(port)))?;
        }
        vpp.forever(job, |ingress| format!("node {}", port_name(ingress.other())))?;
        let before = vpp.read()?;
        std::thread::sleep(length);
        let after = vpp.read()?;
        let packets = after.sent.saturating_sub(before.sent);
        if packets == 0 {
            return Err(sut(format!(
                "VPP's packet generator moved no packet within {} ms",
                length.as_millis()
            )));
        }
        Ok(Some((after.cpu_ns - before.cpu_ns) as f64 / packets as f64))
    }
}

/// Returns the node where a stream enters. Its frames are processed as if they had arrived at the stream's port.
fn port_node() -> String {
    "node ethernet-input".to_owned()
}

/// Programs of an installation or a build folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    vpp: PathBuf,
    vppctl: PathBuf,
    /// Folder of plugins. `None`: VPP's default folder.
    plugins: Option<PathBuf>,
}

impl Programs {
    /// Finds the programs by their names, or in a folder and its `bin`.
    ///
    /// # Errors
    ///
    /// A program is missing.
    pub(super) fn find(build: Option<&Path>) -> Result<Self, ComponentError> {
        let program = |name: &str| match build {
            Some(folder) => {
                let candidates = [folder.join("bin").join(name), folder.join(name)];
                candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
                    let folder = folder.display();
                    environment(format!("`sut.build` {folder} has neither bin/{name} nor {name}"))
                })
            }
            None => found(name).ok_or_else(|| environment(format!("the program `{name}` is not in PATH"))),
        };
        let vpp = program("vpp")?;
        let plugins = plugins(&vpp);
        Ok(Self { vppctl: program("vppctl")?, plugins, vpp })
    }
}

/// Returns the folder `vpp_plugins` in `lib` or below it. `lib` is next to the folder of the program.
fn plugins(vpp: &Path) -> Option<PathBuf> {
    let vpp = vpp.canonicalize().ok()?;
    let lib = vpp.parent()?.parent()?.join("lib");
    let below = std::fs::read_dir(&lib).ok()?.flatten().take(FOLDERS_MAX).map(|entry| entry.path());
    [lib.clone()]
        .into_iter()
        .chain(below)
        .map(|folder| folder.join("vpp_plugins"))
        .find(|folder| folder.is_dir())
}

/// A running instance of VPP.
struct Instance {
    daemon: Daemon,
    vppctl: PathBuf,
    socket: PathBuf,
    folder: PathBuf,
    ingress: Vec<Port>,
    forwarder: Option<thread::Thread>,
    _folder: Folder,
}

impl Instance {
    fn start(job: &SwitchJob<'_>) -> Result<Self, ComponentError> {
        let programs = Programs::find(job.build)?;
        let mut own = Folder::default();
        let folder = own.made()?;
        let socket = folder.join("cli.sock");
        let configuration = folder.join("startup.conf");
        let cpu = dpdk::allowed_cpus().last().copied().unwrap_or(0);
        std::fs::write(&configuration, startup(&programs, &folder, cpu)).map_err(environment)?;
        // VPP creates two files in /dev/shm, and cannot remove them if it is killed. The private namespace removes
        // them.
        let mut command = tools::program("unshare");
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c"]);
        command.arg("mount -t tmpfs tmpfs /dev/shm && exec \"$0\" -c \"$1\"");
        command.arg(&programs.vpp).arg(&configuration);
        let daemon = Daemon::start("vpp", &mut command)?;
        let ingress = job.directions.iter().map(|direction| direction.ingress()).collect();
        let vppctl = programs.vppctl;
        let forwarder = None;
        let mut own = Self { daemon, vppctl, socket, folder, ingress, forwarder, _folder: own };
        own.answers()?;
        own.forwarder = Some(thread::find(own.daemon.pid(), "vpp_main")?);
        Ok(own)
    }

    /// Waits until VPP responds.
    fn answers(&mut self) -> Result<(), ComponentError> {
        let deadline = Instant::now() + START_WAIT;
        loop {
            self.daemon.check()?;
            match self.ask("show version") {
                Ok(version) if version.contains("vpp v") => return Ok(()),
                _ if Instant::now() >= deadline => {
                    let s = START_WAIT.as_secs();
                    return Err(sut(format!("VPP does not answer within {s} s{}", self.daemon.last_words())));
                }
                _ => std::thread::sleep(POLL),
            }
        }
    }

    /// Runs a command and returns its output.
    fn ask(&mut self, line: &str) -> Result<String, ComponentError> {
        let mut command = tools::program(&self.vppctl.to_string_lossy());
        command.arg("-s").arg(&self.socket).arg(line);
        let printed = tools::run(&mut command);
        printed.map_err(|trouble| self.daemon.check().err().unwrap_or(trouble))
    }

    /// Runs a command whose output is empty if it succeeds.
    fn run(&mut self, line: &str) -> Result<(), ComponentError> {
        let printed = self.ask(line)?;
        match printed.trim() {
            "" => Ok(()),
            // A command that creates an interface prints the name of the interface.
            name if line.starts_with("create ") && !name.contains(' ') => Ok(()),
            words => Err(sut(format!("VPP refuses `{line}`: {words}"))),
        }
    }

    /// Creates the ports of the packet generator.
    fn generators(&mut self) -> Result<(), ComponentError> {
        for port in [Port::Access, Port::Core] {
            let number = port as u32;
            self.run(&format!("create packet-generator interface pg{number}"))?;
            self.run(&format!("set interface name pg{number} {}", port_name(port)))?;
        }
        Ok(())
    }

    /// Loads the generated scripts, except the script that creates ports. Checks that VPP has accepted everything.
    fn configure(&mut self, job: &SwitchJob<'_>) -> Result<(), ComponentError> {
        let translation = job.backend.translate(&job.request()).map_err(rig)?;
        for text in translation.texts.iter().filter(|text| !creates_ports(text)) {
            self.load(text)?;
            self.check_loaded(&text.text)?;
        }
        Ok(())
    }

    /// Loads a script. VPP stops at the first line that it does not understand, and prints only the rest of that line.
    fn load(&mut self, text: &Text) -> Result<(), ComponentError> {
        if text.reader != TextConsumer::Vppctl {
            return Err(rig(format!("VPP does not read {:?}", text.reader)));
        }
        let file = self.folder.join(text.name);
        std::fs::write(&file, &text.text).map_err(environment)?;
        let printed = self.ask(&format!("exec {}", file.display()))?;
        let Some(line) = answers::refused_line(&text.text, &printed) else { return Ok(()) };
        let reason = self.ask(line)?;
        Err(sut(format!("VPP refuses the line `{line}`: {}", reason.trim())))
    }

    /// Compares the number of objects in VPP with the number in the script. This is needed because an unknown word in a
    /// rule ends the list of rules without an error.
    fn check_loaded(&mut self, script: &str) -> Result<(), ComponentError> {
        for check in LoadCheck::for_script(script) {
            let answer = self.ask(&check.show)?;
            let found = check.count(&answer);
            if found != Some(check.expected) {
                let found =
                    found.map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string());
                return Err(sut(format!(
                    "VPP has {found} entries in `{}`, but the script creates {}",
                    check.show, check.expected
                )));
            }
        }
        Ok(())
    }

    /// Starts a stream with the packets of a file.
    fn stream(
        &mut self,
        port: Port,
        input: &Path,
        limit: Option<&str>,
        to: String,
    ) -> Result<(), ComponentError> {
        let name = port_name(port);
        let limit = limit.map_or_else(String::new, |limit| format!("limit {limit} "));
        let number = port as u32;
        let path = input.display();
        self.run(&format!(
            "packet-generator new {{ name {name} {limit}source pg{number} {to} pcap {path} }}"
        ))?;
        self.run(&format!("packet-generator enable-stream {name}"))
    }

    /// Starts the endless streams of a measurement.
    fn forever(&mut self, job: &SwitchJob<'_>, to: impl Fn(Port) -> String) -> Result<(), ComponentError> {
        let equivalences = job.backend.equivalences(&job.request());
        for direction in job.directions {
            let port = direction.ingress();
            let input = input_file(job.folder, port);
            files::write(&input, (job.trace, port), &equivalences)?;
            in_microseconds(&input)?;
            self.stream(port, &input, Some(ENDLESS), to(port))?;
        }
        Ok(())
    }

    fn counters(&mut self) -> Result<Counters, ComponentError> {
        Ok(Counters::parse(&self.ask("show interface")?))
    }
}

impl Switch for Instance {
    fn read(&mut self) -> Result<SwitchCounters, ComponentError> {
        let counters = self.counters()?;
        let received = self.ingress.iter().map(|port| counters.port(*port).received).sum();
        let sent = [Port::Access, Port::Core].iter().map(|port| counters.port(*port).sent).sum();
        let cpu_ns = self.forwarder.as_ref().map_or(Ok(0), thread::Thread::cpu_ns)?;
        Ok(SwitchCounters { received, sent, cpu_ns, slow: None })
    }

    fn losses(&mut self) -> Result<Losses, ComponentError> {
        let dropped = self.counters()?.dropped;
        let Drops { causes, ring_full } = Drops::parse(&self.ask("show errors")?, dropped);
        Ok(Losses { tables: causes, ring_full })
    }

    fn update(&mut self, change: &Translation) -> Result<(), ComponentError> {
        change.texts.iter().try_for_each(|text| self.load(text))
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        self.daemon.check()
    }

    fn huge_page_ratio(&self) -> f64 {
        0.0
    }

    fn release(&mut self) -> Result<Option<f64>, ComponentError> {
        Ok(answers::release(&self.ask("show version")?))
    }
}

/// Returns whether a script creates ports. A driver that creates the ports itself skips this script.
fn creates_ports(text: &Text) -> bool {
    text.text.lines().any(|line| line.starts_with("create memif socket"))
}

/// Changes the magic number of a capture from nanoseconds to microseconds. This changes the meaning of its times, which
/// are not used.
fn in_microseconds(path: &Path) -> Result<(), ComponentError> {
    let failed = |error: std::io::Error| environment(format!("{}: {error}", path.display()));
    let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    file.write_all(&MICROSECONDS.to_le_bytes()).map_err(failed)
}

/// Returns VPP's configuration. It requests small pages, because VPP would otherwise raise the machine's number of huge
/// pages.
fn startup(programs: &Programs, folder: &Path, cpu: usize) -> String {
    let folder = folder.display();
    let path = programs.plugins.as_ref().map_or_else(String::new, |path| format!("path {} ", path.display()));
    let plugins: String =
        PLUGINS.iter().map(|name| format!("plugin {name}_plugin.so {{ enable }} ")).collect();
    format!(
        "unix {{ nodaemon nosyslog nobanner nocolor cli-listen {folder}/cli.sock runtime-dir {folder} log {folder}/vpp.log }}\n\
         api-segment {{ prefix ranlab }}\n\
         statseg {{ socket-name {folder}/stats.sock size 1G page-size 4K }}\n\
         memory {{ main-heap-size 1G main-heap-page-size 4K }}\n\
         buffers {{ buffers-per-numa 32768 page-size 4K }}\n\
         cpu {{ main-core {cpu} }}\n\
         plugins {{ {path}plugin default {{ disable }} {plugins}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_build_folder_is_an_environment_error() {
        let trouble = Programs::find(Some(Path::new("/no/such/build"))).unwrap_err();
        assert_eq!(trouble.fault, ranlab_lab::worker::FaultOwner::Environment);
        assert!(trouble.what.contains("/no/such/build has neither bin/vpp nor vpp"), "{trouble}");
    }
}
